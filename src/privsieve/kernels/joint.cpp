// Rules on three and four columns: the best signs of the cells that one cut of each column makes.
#include "kernels.h"

#include <algorithm>
#include <vector>

namespace privsieve {
namespace {

// [joint]
constexpr size_t power(size_t base, size_t exponent) {
    return exponent ? base * power(base, exponent - 1) : 1;
}

template <size_t SIZE, size_t G> struct Sets {
    static constexpr size_t CELLS = power(G, SIZE);
    const Bins& in;
    i64* best;
    size_t d = in.bins.rows, n = in.bins.columns, classes = in.labellings.columns;
    std::vector<std::vector<u8>> code = std::vector<std::vector<u8>>(SIZE, std::vector<u8>(n));
    std::vector<i64> count = std::vector<i64>(classes * CELLS), value = std::vector<i64>(CELLS);
    u8 nominal[SIZE] = {};

    // Rows by cell, class by class; four tables, so that equal neighbours do not wait.
    void tally(const u8* before, const u8* last) {
        for (size_t c = 0; c < classes; c++) {
            const size_t first = size_t(in.starts[c]), end = size_t(in.starts[c + 1]);
            i64* out = &count[c * CELLS];
            std::fill_n(out, CELLS, 0);
            if (in.weight) {
                for (size_t i = first; i < end; i++) out[place(before[i], last[i])] += in.weight[i];
                continue;
            }
            u32 table[4][CELLS] = {};
            for (size_t i = first; i < end; i++) table[i & 3][place(before[i], last[i])]++;
            for (size_t k = 0; k < CELLS; k++)
                out[k] = i64(table[0][k]) + table[1][k] + table[2][k] + table[3][k];
        }
    }

    size_t place(u8 before, u8 last) const { return size_t(before) * G + (last & (G - 1)); }

    // Tables over the columns from AXIS on, all cut at the same places: the largest sum of |cell|.
    // A cut never lowers it, so every column is cut.
    template <size_t AXIS> i64 cut(const i64* tables) const {
        constexpr size_t MANY = power(2, AXIS), EACH = power(G, SIZE - AXIS), REST = EACH / G;
        i64 top = 0;
        if constexpr (AXIS == SIZE) {
            for (size_t t = 0; t < MANY; t++) top += std::abs(tables[t]);
        } else {
            i64 all[MANY * REST] = {}, sides[2 * MANY * REST] = {};
            for (size_t t = 0; t < MANY; t++)
                for (size_t k = 0; k < EACH; k++) all[t * REST + k % REST] += tables[t * EACH + k];
            for (size_t a = 0; a + 1 < G; a++) {
                for (size_t t = 0; t < MANY; t++)
                    for (size_t k = t * REST; k < (t + 1) * REST; k++) {
                        const i64 here = tables[t * EACH + a * REST + k - t * REST];
                        sides[k] = (nominal[AXIS] ? 0 : sides[k]) + here;
                        sides[MANY * REST + k] = all[k] - sides[k];
                    }
                top = std::max(top, cut<AXIS + 1>(sides));
            }
        }
        return top;
    }

    void weigh() {
        *best = 0;
        for (size_t v = 0; v < in.labellings.rows; v++) {
            for (size_t k = 0; k < CELLS; k++) {
                value[k] = 0;
                for (size_t c = 0; c < classes; c++)
                    value[k] += in.labellings[v][c] * count[c * CELLS + k];
            }
            *best = std::max(*best, cut<0>(value.data()));
        }
        best++;
    }

    // Every set that begins with the DEPTH columns whose cells are code[DEPTH].
    template <size_t DEPTH> void sets(size_t from) {
        for (size_t j = from; j + SIZE <= d + DEPTH; j++) {
            nominal[DEPTH] = in.nominal[j];
            const u8 *before = code[DEPTH].data(), *last = in.bins[j];
            if constexpr (DEPTH + 1 == SIZE) {
                tally(before, last);
                weigh();
            } else {
                for (size_t i = 0; i < n; i++) code[DEPTH + 1][i] = u8(place(before[i], last[i]));
                sets<DEPTH + 1>(j + 1);
            }
        }
    }
};

}  // namespace

void joint_best(const Bins& in, size_t size, i64* best) {
    if (size == 3) Sets<3, 8>{in, best}.sets<0>(0);
    else Sets<4, 4>{in, best}.sets<0>(0);
}
// [/joint]

}  // namespace privsieve
