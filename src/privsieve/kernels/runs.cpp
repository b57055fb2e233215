// Sorted distinct codes with their count per class; their sum; interval scores from them.
#include "kernels.h"
#include "loops.h"

#include <algorithm>
#include <vector>

namespace privsieve {
namespace {

constexpr size_t CODES = 65536;
// Rows that two bytes can count; of fewer than a quarter of the codes it is not worth it.
constexpr size_t MOST = 65535, FEW = CODES / 4;
constexpr u16 MISSING = 65535;

// One dense table per class and one byte per code that occurs: a store is cheaper than setting a bit.
template <class Count> struct Tables {
    std::vector<Count> count;
    std::vector<u8> seen = std::vector<u8>(CODES);
    std::vector<u16> brief = std::vector<u16>(CODES);
    size_t classes;
    explicit Tables(size_t classes) : count(classes * CODES), classes(classes) {}

    void add(const u16* code, size_t rows, const i64* weight, size_t label) {
        Count* h = count.data() + label * CODES;
        u8* flag = seen.data();
        for (; !weight && rows >= FEW; code += std::min(rows, MOST), rows -= std::min(rows, MOST))
            add_many(code, std::min(rows, MOST), h);
        for (size_t i = 0; i < rows; i++) {
            h[code[i]] += weight ? Count(weight[i]) : Count(1);
            flag[code[i]] = 1;
        }
    }

    // A table of two bytes a code stays in a cache that cores share; it is added up in one sweep.
    void add_many(const u16* code, size_t rows, Count* h) {
        u16* few = brief.data();
        u8* flag = seen.data();
        for (size_t i = 0; i < rows; i++) few[code[i]]++;
        for (size_t c = 0; c < CODES; c++) {
            h[c] += Count(few[c]);
            flag[c] |= few[c] != 0;
            few[c] = 0;
        }
    }

    // Writes what was added, from place m on, and forgets it; returns the next place.
    size_t take(Runs<Count>& out, size_t m) {
        return classes == 2 ? take<2>(out, m) : take<0>(out, m);
    }

    template <size_t FIXED> size_t take(Runs<Count>& out, size_t m) {
        const size_t many = FIXED ? FIXED : classes;
        u64 found[CODES / 64];
        best_loops().pack(seen.data(), CODES / 64, found);
        std::fill(seen.begin(), seen.end(), u8(0));
        Count *from = count.data(), *to = out.count.at(m * many);
        u16* to_code = out.code.at(m);
        for (size_t w = 0; w < CODES / 64; w++)
            for (u64 bits = found[w]; bits; bits &= bits - 1) {
                const size_t code = w * 64 + size_t(__builtin_ctzll(bits));
                *to_code++ = u16(code);
                for (size_t c = 0; c < many; c++) {
                    *to++ = from[c * CODES + code];
                    from[c * CODES + code] = 0;
                }
            }
        return size_t(to_code - out.code.at(0));
    }
};

// The signed weight of each code under one labelling.  Two classes are worth their own code.
template <class Count, size_t FIXED> struct Signed {
    const RunsView<Count>& runs;
    const i64* weight;
    i64 operator[](size_t k) const {
        const size_t classes = FIXED ? FIXED : runs.classes;
        i64 sum = 0;
        for (size_t c = 0; c < classes; c++) sum += i64(runs.count[k * classes + c]) * weight[c];
        return sum;
    }
};

// [intervals]
template <class V> i64 ordered(V value, size_t first, size_t last) {
    i64 sum = 0, low = 0, high = 0, up = 0, down = 0;
    for (size_t k = first; k < last; k++) {
        sum += value[k];
        low = std::min(low, sum);
        high = std::max(high, sum);
        up = std::max(up, sum - low);
        down = std::max(down, high - sum);
    }
    return std::max({2 * up - sum, sum + 2 * down, std::abs(sum)});
}

template <class V> i64 any_subset(V value, size_t first, size_t last) {
    i64 sum = 0;
    for (size_t k = first; k < last; k++) sum += std::abs(value[k]);
    return sum;
}

template <class V> i64 one_level(V value, size_t first, size_t last) {
    i64 total = 0, best = 0;
    for (size_t k = first; k < last; k++) total += value[k];
    for (size_t k = first; k < last; k++) best = std::max(best, std::abs(2 * value[k] - total));
    return std::max(best, std::abs(total));
}

template <class V> i64 column(V value, const u16* code, size_t first, size_t last, u8 kind) {
    if (kind == 2) return any_subset<V>(value, first, last);
    if (kind == 3) return one_level<V>(value, first, last);
    if (kind == 1 && first < last && code[last - 1] == MISSING)
        return ordered<V>(value, first, last - 1) + std::abs(value[last - 1]);
    return ordered<V>(value, first, last);
}
// [/intervals]

}  // namespace

template <class Count> Runs<Count> runs(const std::vector<ClassRows>& parts, size_t classes) {
    const size_t d = parts.front().codes.rows;
    size_t n = 0;
    for (const ClassRows& part : parts) n += part.codes.columns;
    Runs<Count> out(d, d * std::min(n, CODES), classes);
    Tables<Count> tables(classes);
    size_t m = out.indptr[0] = 0;
    for (size_t j = 0; j < d; j++) {
        for (const auto& [codes, starts, weight] : parts)
            for (size_t c = 0; c < classes; c++)
                tables.add(codes[j] + starts[c], size_t(starts[c + 1] - starts[c]),
                           weight ? weight + starts[c] : nullptr, c);
        m = tables.take(out, m);
        out.indptr[j + 1] = i64(m);
    }
    out.cut(m);
    return out;
}

// The runs of one column together, from place m on; returns the next place.
template <size_t FIXED, class Count>
static size_t merge_column(const RunsView<Count>& a, const RunsView<Count>& b, size_t j,
                           Runs<Count>& out, size_t m) {
    const size_t classes = FIXED ? FIXED : a.classes;
    size_t x = size_t(a.indptr[j]), y = size_t(b.indptr[j]);
    const size_t xs = size_t(a.indptr[j + 1]), ys = size_t(b.indptr[j + 1]);
    const auto of_a = [&](size_t c) { return a.count[x * classes + c]; };
    const auto of_b = [&](size_t c) { return b.count[y * classes + c]; };
    const auto put = [&](u16 code, auto count) {
        out.code[m] = code;
        for (size_t c = 0; c < classes; c++) out.count[m * classes + c] = count(c);
        m++;
    };
    while (x < xs && y < ys) {
        const u16 left = a.code[x], right = b.code[y];
        // Mostly so: of many rows each part has nearly all codes.
        if (left == right) put(left, [&](size_t c) { return Count(of_a(c) + of_b(c)); }), x++, y++;
        else if (left < right) put(left, of_a), x++;
        else put(right, of_b), y++;
    }
    for (; x < xs; x++) put(a.code[x], of_a);
    for (; y < ys; y++) put(b.code[y], of_b);
    return m;
}

template <class Count>
Runs<Count> merge_runs(const RunsView<Count>& a, const RunsView<Count>& b) {
    const size_t d = a.columns;
    Runs<Count> out(d, size_t(a.indptr[d] + b.indptr[d]), a.classes);
    size_t m = out.indptr[0] = 0;
    for (size_t j = 0; j < d; j++) {
        m = a.classes == 2 ? merge_column<2>(a, b, j, out, m) : merge_column<0>(a, b, j, out, m);
        out.indptr[j + 1] = i64(m);
    }
    out.cut(m);
    return out;
}

template <class Count>
void interval(const RunsView<Count>& runs, Matrix<i64> labellings, const u8* kind, i64* out) {
    const size_t d = runs.columns;
    for (size_t l = 0; l < labellings.rows; l++)
        for (size_t j = 0; j < d; j++) {
            const size_t first = size_t(runs.indptr[j]), last = size_t(runs.indptr[j + 1]);
            out[l * d + j] = runs.classes == 2
                ? column(Signed<Count, 2>{runs, labellings[l]}, runs.code, first, last, kind[j])
                : column(Signed<Count, 0>{runs, labellings[l]}, runs.code, first, last, kind[j]);
        }
}

// [ranks]
// The value of each code against a cut: n times what it adds to the covariance, where of n rows r
// lie below the cut.  Over all codes these add up to 0.
struct Below {
    std::vector<i64> low, all;  // rows of each code: those below the cut, and all
    i64 n = 0, r = 0;
    i64 operator[](size_t k) const { return n * low[k] - r * all[k]; }
};

template <class Count> void rank_intervals(const RunsView<Count>& runs, const u8* kind, i64* out) {
    const size_t d = runs.columns, classes = runs.classes;
    for (size_t j = 0; j < d; j++) {
        const size_t first = size_t(runs.indptr[j]), many = size_t(runs.indptr[j + 1]) - first;
        const Count* count = runs.count + first * classes;
        Below value{std::vector<i64>(many), std::vector<i64>(many)};
        for (size_t k = 0; k < many * classes; k++) value.all[k / classes] += i64(count[k]);
        for (const i64 rows : value.all) value.n += rows;
        for (size_t c = 0; c + 1 < classes; c++) {
            for (size_t k = 0; k < many; k++) {
                value.low[k] += i64(count[k * classes + c]);
                value.r += i64(count[k * classes + c]);
            }
            out[c * d + j] = column<const Below&>(value, runs.code + first, 0, many, kind[j]);
        }
    }
}
// [/ranks]

using std::int32_t;
template void rank_intervals(const RunsView<int32_t>&, const u8*, i64*);
template void rank_intervals(const RunsView<i64>&, const u8*, i64*);
template Runs<int32_t> runs(const std::vector<ClassRows>&, size_t);
template Runs<i64> runs(const std::vector<ClassRows>&, size_t);
template Runs<int32_t> merge_runs(const RunsView<int32_t>&, const RunsView<int32_t>&);
template Runs<i64> merge_runs(const RunsView<i64>&, const RunsView<i64>&);
template void interval(const RunsView<int32_t>&, Matrix<i64>, const u8*, i64*);
template void interval(const RunsView<i64>&, Matrix<i64>, const u8*, i64*);

}  // namespace privsieve
