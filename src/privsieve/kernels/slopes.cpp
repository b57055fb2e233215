// Rules on slopes of two columns: the best cut of a x + b y, for ten public a and b.
#include "kernels.h"

#include <algorithm>
#include <vector>

namespace privsieve {
namespace {

// [slopes]
constexpr size_t SIDE = 64, LARGEST = 3, SPAN = (LARGEST + 1) * (SIDE - 1) + 1;

struct Slopes {
    const Bins& in;
    size_t classes = in.labellings.columns;
    std::vector<i64> count = std::vector<i64>(classes * SIDE * SIDE);
    std::vector<i64> value = std::vector<i64>(SIDE * SIDE), turned = value;

    // Rows by cell, class by class.
    void tally(size_t j, size_t l) {
        const u8 *x = in.bins[j], *y = in.bins[l];
        std::fill(count.begin(), count.end(), 0);
        for (size_t c = 0; c < classes; c++) {
            i64* out = count.data() + c * SIDE * SIDE;
            for (size_t i = size_t(in.starts[c]); i < size_t(in.starts[c + 1]); i++)
                out[(x[i] & (SIDE - 1)) * SIDE + (y[i] & (SIDE - 1))] += in.weight ? in.weight[i] : 1;
        }
    }

    // Cells under one labelling, also with the columns changed about.
    void weigh(size_t v) {
        std::fill(value.begin(), value.end(), 0);
        for (size_t c = 0; c < classes; c++)
            for (size_t k = 0; k < SIDE * SIDE; k++)
                value[k] += in.labellings[v][c] * count[c * SIDE * SIDE + k];
        for (size_t a = 0; a < SIDE; a++)
            for (size_t b = 0; b < SIDE; b++) turned[b * SIDE + a] = value[a * SIDE + b];
    }

    // Twice the best cut of steep x + y, and of steep x - y.
    static i64 both(const i64* cells, size_t steep) {
        i64 rising[SPAN] = {}, falling[SPAN] = {};
        for (size_t a = 0; a < SIDE; a++)
            for (size_t b = 0; b < SIDE; b++) {
                const i64 here = cells[a * SIDE + b];
                rising[steep * a + b] += here;
                falling[steep * a + SIDE - 1 - b] += here;
            }
        return std::max(cut(rising), cut(falling));
    }

    // The largest |above - below|; a cut may have all on one side.
    static i64 cut(const i64* line) {
        i64 below = 0, least = 0, most = 0;
        for (size_t z = 0; z < SPAN; z++) {
            below += line[z];
            least = std::min(least, below);
            most = std::max(most, below);
        }
        return std::max(2 * most - below, below - 2 * least);
    }

    i64 best(size_t j, size_t l) {
        i64 top = 0;
        if (in.bins.columns < SIDE * SIDE) return of_rows(j, l);
        tally(j, l);
        for (size_t v = 0; v < in.labellings.rows; v++) {
            weigh(v);
            for (size_t steep = 1; steep <= LARGEST; steep++) {
                top = std::max(top, both(value.data(), steep));
                if (steep > 1) top = std::max(top, both(turned.data(), steep));
            }
        }
        return top;
    }

    // The same, of rows that are fewer than cells: each is added to the ten lines itself.
    i64 of_rows(size_t j, size_t l) const {
        const u8 *x = in.bins[j], *y = in.bins[l];
        i64 top = 0;
        for (size_t v = 0; v < in.labellings.rows; v++) {
            i64 lines[2 * (2 * LARGEST - 1)][SPAN] = {};
            for (size_t c = 0; c < classes; c++)
                for (size_t i = size_t(in.starts[c]); i < size_t(in.starts[c + 1]); i++) {
                    const i64 here = in.labellings[v][c] * (in.weight ? in.weight[i] : 1);
                    const size_t a = x[i] & (SIDE - 1), b = y[i] & (SIDE - 1);
                    auto* line = lines;
                    for (size_t steep = 1; steep <= LARGEST; steep++)
                        for (size_t turn = 0; turn < 1 + (steep > 1); turn++) {
                            const size_t at = turn ? steep * b : steep * a, beside = turn ? a : b;
                            (*line++)[at + beside] += here;
                            (*line++)[at + SIDE - 1 - beside] += here;
                        }
                }
            for (const auto& line : lines) top = std::max(top, cut(line));
        }
        return top;
    }
};

}  // namespace

void slope_best(const Bins& in, i64* best) {
    Slopes slopes{in};
    for (size_t j = 0; j < in.bins.rows; j++)
        for (size_t l = j + 1; l < in.bins.rows; l++) *best++ = slopes.best(j, l);
}
// [/slopes]

}  // namespace privsieve
