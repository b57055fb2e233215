// Sums over rows of what rules on sets of columns look at, so that parts of a table add up.
#include "kernels.h"
#include "loops.h"

#include <algorithm>
#include <vector>

namespace privsieve {
namespace {

// [code-sums]
// Rows at a time: their sums are below 2^28, and their codes stay in a cache for each class.
constexpr size_t AT_A_TIME = 4096;
// So many classes are looked at one after another, each of all rows; more are told apart row by row.
constexpr size_t FEW_CLASSES = 8;

// All bits of the rows of one class, none of the others: so that no row is a branch.
void mask_of(const std::int32_t* label, size_t rows, size_t of, u16* mask) {
    for (size_t i = 0; i < rows; i++) mask[i] = u16(-(label[i] == std::int32_t(of)));
}

u32 masked_sum(const u16* code, const u16* mask, size_t rows) {
    u32 sum = 0;
    for (size_t i = 0; i < rows; i++) sum += u32(code[i] & mask[i]);
    return sum;
}

// Sums of one column, each row added to its class.
void sums_by_row(const u16* code, const std::int32_t* label, size_t rows, std::vector<i64>& sums) {
    std::fill(sums.begin(), sums.end(), 0);
    for (size_t i = 0; i < rows; i++) sums[size_t(label[i])] += code[i];
}

}  // namespace

void code_sums(Matrix<u16> codes, const std::int32_t* label, size_t classes, i64* sums) {
    const size_t d = codes.rows, n = codes.columns;
    std::fill_n(sums, classes * d, 0);
    if (classes > FEW_CLASSES) {
        std::vector<i64> own(classes);
        for (size_t j = 0; j < d; j++) {
            sums_by_row(codes[j], label, n, own);
            for (size_t c = 0; c < classes; c++) sums[c * d + j] = own[c];
        }
        return;
    }
    u16 mask[FEW_CLASSES][AT_A_TIME];
    for (size_t from = 0; from < n; from += AT_A_TIME) {
        const size_t rows = std::min(AT_A_TIME, n - from);
        for (size_t c = 0; c < classes; c++) mask_of(label + from, rows, c, mask[c]);
        for (size_t j = 0; j < d; j++)
            for (size_t c = 0; c < classes; c++)
                sums[c * d + j] += masked_sum(codes[j] + from, mask[c], rows);
    }
}
// [/code-sums]

namespace {

// [cell-sums]
constexpr size_t MOST = 4096, BLOCK = 1024, NONE = ~size_t(0);

// Rows of one class by the cell of some columns.
struct Tally {
    const Bins& in;
    size_t bits = in.grid == 4 ? 2 : in.grid == 8 ? 3 : 4;
    // One table: that of three columns fills half of the first cache.
    std::vector<u32> count = std::vector<u32>(MOST);
    std::vector<i64> weighed = std::vector<i64>(MOST);
    u16 place[BLOCK] = {};

    // The cells of some rows: the bins of all columns, one behind the other.
    void find(const size_t* columns, size_t size, size_t from, size_t rows) {
        std::fill_n(place, rows, u16(0));
        for (size_t k = 0; k < size; k++) {
            const u8* bin = in.bins[columns[k]] + from;
            for (size_t i = 0; i < rows; i++)
                place[i] = u16((place[i] << bits | bin[i]) & (MOST - 1));
        }
    }

    void add(const size_t* columns, size_t size, size_t from, size_t rows) {
        find(columns, size, from, rows);
        if (in.weight) {
            for (size_t i = 0; i < rows; i++) weighed[place[i]] += in.weight[from + i];
            return;
        }
        for (size_t i = 0; i < rows; i++) count[place[i]]++;
    }

    // The cells of rows `from` to `end`.
    void run(const size_t* columns, size_t size, size_t from, size_t end, i64* cells) {
        const size_t many = size_t(1) << (bits * size);
        for (; from < end; from += BLOCK) add(columns, size, from, std::min(BLOCK, end - from));
        for (size_t k = 0; k < many; k++) {
            cells[k] = in.weight ? weighed[k] : i64(count[k]);
            weighed[k] = 0;
            count[k] = 0;
        }
    }
};

// One pass over three columns counts three pairs: sets of three that hold each pair once, nearly.
struct Cover {
    size_t d;
    std::vector<u8> done = std::vector<u8>(d * d);

    bool open(size_t j, size_t l) const { return !done[j * d + l]; }
    void close(size_t j, size_t l) { done[j * d + l] = done[l * d + j] = 1; }

    // The column that closes most pairs with both; NONE where there is none.
    size_t third(size_t j, size_t l) const {
        size_t best = NONE, most = 0;
        for (size_t m = 0; m < d; m++) {
            if (m == j || m == l) continue;
            const size_t more = size_t(open(j, m)) + open(l, m);
            if (more > most) best = m, most = more;
        }
        return best;
    }
};

struct Sums {
    const Bins& in;
    i64* out;
    size_t d = in.bins.rows, classes = in.labellings.columns;
    Tally tally{in};

    i64* of(size_t j, size_t l) {
        return out + (j * (2 * d - j - 1) / 2 + l - j - 1) * classes * in.grid * in.grid;
    }

    void pair(const size_t* columns, i64* cells) {
        for (size_t c = 0; c < classes; c++)
            tally.run(columns, 2, size_t(in.starts[c]), size_t(in.starts[c + 1]),
                      cells + c * in.grid * in.grid);
    }

    // Pairs whose cells are sums of those of three columns.
    void all_pairs() {
        Cover cover{d};
        for (size_t j = 0; j < d; j++)
            for (size_t l = j + 1; l < d; l++) {
                if (!cover.open(j, l)) continue;
                const size_t m = cover.third(j, l);
                size_t three[3] = {j, l, m};
                if (m == NONE) pair(three, of(j, l));
                else std::sort(three, three + 3), split(three, cover);
                cover.close(j, l);
            }
    }

    void split(const size_t* three, Cover& cover) {
        const size_t G = in.grid;
        i64 cells[MOST];
        for (size_t leave = 0; leave < 3; leave++) {
            const size_t j = three[leave == 0], l = three[leave == 2 ? 1 : 2];
            if (cover.open(j, l)) std::fill_n(of(j, l), classes * G * G, 0);
        }
        for (size_t c = 0; c < classes; c++) {
            tally.run(three, 3, size_t(in.starts[c]), size_t(in.starts[c + 1]), cells);
            for (size_t leave = 0; leave < 3; leave++) {
                const size_t j = three[leave == 0], l = three[leave == 2 ? 1 : 2];
                if (cover.open(j, l)) fold(cells, leave, of(j, l) + c * G * G);
            }
        }
        for (size_t leave = 0; leave < 3; leave++)
            cover.close(three[leave == 0], three[leave == 2 ? 1 : 2]);
    }

    // Sums over the column that is left out.
    void fold(const i64* cells, size_t leave, i64* pair) const {
        const size_t G = in.grid;
        for (size_t a = 0; a < G; a++)
            for (size_t b = 0; b < G; b++)
                for (size_t z = 0; z < G; z++)
                    pair[leave == 0 ? b * G + z : a * G + (leave == 1 ? z : b)] +=
                        cells[(a * G + b) * G + z];
    }
};

}  // namespace

void cell_sums(const Bins& in, i64* cells) {
    Sums{in, cells}.all_pairs();
}
// [/cell-sums]

namespace {

// [ties]
// Calls visit(place of a row, its key) for the rows of a tie.
template <class Visit>
void each_tied(Matrix<u16> codes, const u64* unit, u64 key, Tie tie, Visit visit) {
    constexpr size_t ROWS = 4096;
    const u16* code = codes[tie.column];
    u64 bits[ROWS / 64], units[64], keys[64];
    for (size_t from = 0; from < codes.columns; from += ROWS) {
        const size_t rows = std::min(ROWS, codes.columns - from), words = (rows + 63) / 64;
        std::fill_n(bits, words, u64(0));
        best_loops().between(code + from, rows, tie.code, tie.code, bits);
        for (size_t w = 0; w < words; w++) {
            size_t many = 0;
            for (u64 left = bits[w]; left; left &= left - 1)
                units[many++] = unit[from + w * 64 + size_t(__builtin_ctzll(left))];
            if (!many) continue;
            best_loops().hash(units, many, u64(tie.column) << 40, key, keys);
            many = 0;
            for (u64 left = bits[w]; left; left &= left - 1)
                visit(from + w * 64 + size_t(__builtin_ctzll(left)), keys[many++]);
        }
    }
}

}  // namespace

void tie_counts(Matrix<u16> codes, const u64* unit, u64 key, Tie tie, i64* counts) {
    std::fill_n(counts, size_t(1) << TOP_BITS, 0);
    each_tied(codes, unit, key, tie, [&](size_t, u64 found) { counts[found >> (64 - TOP_BITS)]++; });
}

void tied(Matrix<u16> codes, Ids ids, u64 key, Tie tie, i64 top, std::vector<u64>& keys,
          std::vector<u64>& rows) {
    each_tied(codes, ids.unit, key, tie, [&](size_t i, u64 found) {
        if (top >= 0 && i64(found >> (64 - TOP_BITS)) != top) return;
        keys.push_back(found);
        rows.push_back(ids.row[i]);
    });
}
// [/ties]

}  // namespace privsieve
