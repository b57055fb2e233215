// Two-column rules on the public grid: the best four-cell rule, and what it adds to both columns.
#include "pairs.h"

#include <limits>

namespace privsieve {
namespace {

using pairs::each_pair;
using pairs::Histograms;

// [pairs]
// What one column says by itself: for each labelling its indicators' sums, and its best rule.
struct Margins {
    const Bins& in;
    size_t d = in.bins.rows, G = in.grid, classes = in.labellings.columns;
    std::vector<i64> sums = std::vector<i64>(in.labellings.rows * d * G);
    std::vector<i64> best = std::vector<i64>(in.labellings.rows * d);

    explicit Margins(const Bins& in) : in(in) {
        const Histograms histograms{in};
        std::vector<i64> q(classes * (G - 1) * (G - 1));
        i64 cell[256];
        for (size_t j = 0; j < d; j++)
            for (size_t c = 0; c < classes; c++) {
                const size_t first = size_t(in.starts[c]), rows = size_t(in.starts[c + 1]) - first;
                const u8* x = in.bins[j] + first;
                if (in.weight) histograms.weighted(x, x, in.weight + first, rows, cell);
                else histograms.plain(x, x, rows, cell);
                add(j, c, cell);
            }
        for (size_t v = 0; v < in.labellings.rows; v++)
            for (size_t j = 0; j < d; j++)
                for (size_t a = 0; a < G; a++) {
                    const i64 gap = std::abs(2 * of(v, j)[a] - of(v, j)[G - 1]);
                    best[v * d + j] = std::max(best[v * d + j], gap);
                }
    }

    i64* of(size_t v, size_t j) { return &sums[(v * d + j) * G]; }

    void add(size_t j, size_t c, const i64* cell) {
        i64 up_to = 0;
        for (size_t a = 0; a < G; a++) {
            up_to += cell[a * 17];
            const i64 here = in.nominal[j] && a < G - 1 ? cell[a * 17] : up_to;
            for (size_t v = 0; v < in.labellings.rows; v++)
                of(v, j)[a] += in.labellings[v][c] * here;
        }
    }

    // The best four-cell rule on columns j and l under labelling v, from their joint counts.
    i64 four_cells(size_t v, size_t j, size_t l, const i64* q) {
        const size_t K = G - 1;
        const i64 *A = of(v, j), *B = of(v, l), T = A[K];
        i64 top = 0;
        for (size_t a = 0; a < G; a++)
            for (size_t b = 0; b < G; b++) {
                i64 both = a == K ? B[b] : A[a];
                if (a < K && b < K) {
                    both = 0;
                    for (size_t c = 0; c < classes; c++)
                        both += in.labellings[v][c] * q[(c * K + a) * K + b];
                }
                top = std::max(top, std::abs(both) + std::abs(A[a] - both) +
                                        std::abs(B[b] - both) + std::abs(T - A[a] - B[b] + both));
            }
        return top;
    }
};

}  // namespace

void pair_gain(const Bins& in, i64* gain) {
    const size_t d = in.bins.rows, many = in.labellings.rows;
    std::fill_n(gain, d, d > 1 && many ? std::numeric_limits<i64>::min() : 0);
    Margins margins(in);
    each_pair(in, [&](size_t j, size_t l, const i64* q) {
        for (size_t v = 0; v < many; v++) {
            const i64 alone = std::max(margins.best[v * d + j], margins.best[v * d + l]);
            const i64 more = margins.four_cells(v, j, l, q) - alone;
            gain[j] = std::max(gain[j], more);
            gain[l] = std::max(gain[l], more);
        }
    });
}

void pair_best(const Bins& in, i64* best) {
    const size_t d = in.bins.rows;
    Margins margins(in);
    each_pair(in, [&](size_t j, size_t l, const i64* q) {
        i64& top = best[j * (2 * d - j - 1) / 2 + (l - j - 1)] = 0;
        for (size_t v = 0; v < in.labellings.rows; v++)
            top = std::max(top, margins.four_cells(v, j, l, q));
    });
}
// [/pairs]

}  // namespace privsieve
