// Rules on one column against cuts of a number, and pairs of rows in the order of both.
#include "ranks.h"

#include <algorithm>
#include <vector>

namespace privsieve {
namespace {

// [ranks]
constexpr size_t CODES = 65536;
constexpr u16 MISSING = 65535;

// Rows per code: of all of them, `low` lie below the cut.
struct Halves {
    std::vector<i64> low, all;
    i64 n = 0, r = 0;
    void clear(size_t many) {
        low.assign(many, 0);
        all.assign(many, 0);
        n = r = 0;
    }
    // n times what a code adds to the covariance; over all codes these add up to 0.
    i64 operator[](size_t k) const { return n * low[k] - r * all[k]; }
};

// Twice the largest |sum of the values inside| over the rules of a column's kind.
i64 best_rule(const Halves& value, const u16* code, size_t many, u8 kind) {
    i64 best = 0, apart = 0;
    if (kind == 2) {
        for (size_t k = 0; k < many; k++) best += std::abs(value[k]);
        return best;
    }
    if (kind == 3) {
        for (size_t k = 0; k < many; k++) best = std::max(best, 2 * std::abs(value[k]));
        return best;
    }
    if (kind == 1 && many && code[many - 1] == MISSING) apart = value[--many];
    i64 sum = 0, low = 0, high = 0, up = 0, down = 0;
    if (kind == 0) {  // the values add up to 0, so that yes and no are worth the same
        for (size_t k = 0; k < many; k++) {
            sum += value[k];
            low = std::min(low, sum);
            high = std::max(high, sum);
        }
        return 2 * (high - low);
    }
    for (size_t k = 0; k < many; k++) {
        sum += value[k];
        low = std::min(low, sum);
        high = std::max(high, sum);
        up = std::max(up, sum - low);
        down = std::max(down, high - sum);
    }
    return std::max({2 * up - sum, sum + 2 * down, std::abs(sum)}) + std::abs(apart);
}

// The rows in the order of their labels.
std::vector<u32> by_label(const u16* label, size_t n) {
    std::vector<size_t> place(CODES + 1);
    for (size_t i = 0; i < n; i++) place[label[i] + 1]++;
    for (size_t c = 0; c < CODES; c++) place[c + 1] += place[c];
    std::vector<u32> order(n);
    for (size_t i = 0; i < n; i++) order[place[label[i]]++] = u32(i);
    return order;
}

// The distinct codes of a column in their order, and where each stands.
struct Distinct {
    std::vector<u16> code;
    std::vector<u32> place = std::vector<u32>(CODES);
    std::vector<u8> seen = std::vector<u8>(CODES);
    void of(const u16* column, size_t n) {
        code.clear();
        std::fill(seen.begin(), seen.end(), u8(0));
        for (size_t i = 0; i < n; i++) seen[column[i]] = 1;
        for (size_t c = 0; c < CODES; c++)
            if (seen[c]) {
                place[c] = u32(code.size());
                code.push_back(u16(c));
            }
    }
};

// How many of the values put in are below a place: a Fenwick tree.
struct Tree {
    std::vector<i64> sum;
    void clear(size_t many) { sum.assign(many + 1, 0); }
    void put(size_t place) {
        for (size_t k = place + 1; k < sum.size(); k += k & (~k + 1)) sum[k]++;
    }
    i64 below(size_t place) const {
        i64 many = 0;
        for (size_t k = place; k; k &= k - 1) many += sum[k];
        return many;
    }
};

// Concordant less discordant pairs of one column; pairs that are equal in either count nothing.
i64 agreement(const u16* column, const std::vector<u32>& order, const u16* label, u8 kind,
              const Distinct& distinct, Tree& tree) {
    const size_t n = order.size();
    tree.clear(distinct.code.size());
    i64 found = 0, inside = 0;
    for (size_t first = 0, last; first < n; first = last) {
        for (last = first; last < n && label[order[last]] == label[order[first]]; last++) {
            const u16 code = column[order[last]];
            if (kind == 1 && code == MISSING) continue;
            const size_t at = distinct.place[code];
            found += tree.below(at) - (inside - tree.below(at + 1));
        }
        for (size_t i = first; i < last; i++) {
            const u16 code = column[order[i]];
            if (kind == 1 && code == MISSING) continue;
            tree.put(distinct.place[code]);
            inside++;
        }
    }
    return found;
}

}  // namespace

template <class Count> void rank_intervals(const RunsView<Count>& runs, const u8* kind, i64* out) {
    const size_t d = runs.columns, classes = runs.classes;
    Halves value;
    for (size_t j = 0; j < d; j++) {
        const size_t first = size_t(runs.indptr[j]), many = size_t(runs.indptr[j + 1]) - first;
        const Count* count = runs.count + first * classes;
        value.clear(many);
        for (size_t k = 0; k < many; k++)
            for (size_t c = 0; c < classes; c++) value.all[k] += i64(count[k * classes + c]);
        for (size_t k = 0; k < many; k++) value.n += value.all[k];
        for (size_t c = 0; c + 1 < classes; c++) {
            for (size_t k = 0; k < many; k++) {
                value.low[k] += i64(count[k * classes + c]);
                value.r += i64(count[k * classes + c]);
            }
            out[c * d + j] = best_rule(value, runs.code + first, many, kind[j]);
        }
    }
}

void cut_intervals(Matrix<u16> codes, const u16* label, const u8* kind, i64* out) {
    const size_t d = codes.rows, n = codes.columns;
    const std::vector<u32> order = by_label(label, n);
    Distinct distinct;
    Halves value;
    for (size_t j = 0; j < d; j++) {
        distinct.of(codes[j], n);
        value.clear(distinct.code.size());
        value.n = i64(n);
        for (size_t i = 0; i < n; i++) value.all[distinct.place[codes[j][i]]]++;
        out[j] = 0;
        for (size_t i = 0; i < n; i++) {
            value.low[distinct.place[codes[j][order[i]]]]++;
            value.r++;
            if (i + 1 < n && label[order[i]] != label[order[i + 1]])
                out[j] = std::max(out[j], best_rule(value, distinct.code.data(),
                                                    distinct.code.size(), kind[j]));
        }
    }
}

void concordance(Matrix<u16> codes, const u16* label, const u8* kind, i64* out) {
    const size_t d = codes.rows, n = codes.columns;
    const std::vector<u32> order = by_label(label, n);
    Distinct distinct;
    Tree tree;
    for (size_t j = 0; j < d; j++) {
        out[j] = 0;
        if (kind[j] >= 2) continue;
        distinct.of(codes[j], n);
        out[j] = agreement(codes[j], order, label, kind[j], distinct, tree);
    }
}
// [/ranks]

template void rank_intervals(const RunsView<std::int32_t>&, const u8*, i64*);
template void rank_intervals(const RunsView<i64>&, const u8*, i64*);

}  // namespace privsieve
