// Two-column rules that tell any number of classes apart, by how much they beat both columns alone.
#include "pairs.h"

namespace privsieve {
namespace {

// [class-gain]
// n times how much of each class is in a set of rows, less what its share of all rows would be.
struct Classes {
    const Bins& in;
    size_t d = in.bins.rows, K = in.grid - 1, classes = in.labellings.columns;
    std::vector<i64> size = std::vector<i64>(classes), surplus = std::vector<i64>(d * K * classes);
    std::vector<i64> best = std::vector<i64>(d), both = std::vector<i64>(classes);
    i64 total = 0;

    explicit Classes(const Bins& in) : in(in) {
        for (size_t c = 0; c < classes; c++)
            for (i64 i = in.starts[c]; i < in.starts[c + 1]; i++)
                size[c] += in.weight ? in.weight[i] : 1;
        for (const i64 rows : size) total += rows;
        for (size_t j = 0; j < d; j++) alone(j);
    }

    i64* of(size_t j, size_t a) { return surplus.data() + (j * K + a) * classes; }

    // Rows of each class inside a set (`step` apart) become their surplus.
    void centre(const i64* inside, size_t step, i64* out) const {
        i64 all = 0;
        for (size_t c = 0; c < classes; c++) all += inside[c * step];
        for (size_t c = 0; c < classes; c++) out[c] = total * inside[c * step] - size[c] * all;
    }

    // The best set of classes takes each whose surplus is above zero.
    template <class Surplus> i64 value(Surplus of) const {
        i64 sum = 0;
        for (size_t c = 0; c < classes; c++) sum += std::max(i64(0), of(c));
        return sum;
    }

    void alone(size_t j) {
        const size_t G = K + 1;
        std::vector<i64> bin(classes * G), inside(classes);
        for (size_t c = 0; c < classes; c++)
            for (i64 i = in.starts[c]; i < in.starts[c + 1]; i++)
                bin[c * G + (in.bins[j][i] & (G - 1))] += in.weight ? in.weight[i] : 1;
        for (size_t a = 0; a < K; a++) {
            for (size_t c = 0; c < classes; c++)
                inside[c] = (in.nominal[j] ? 0 : inside[c]) + bin[c * G + a];
            const i64* s = of(j, a);
            centre(inside.data(), 1, of(j, a));
            best[j] = std::max(best[j], value([&](size_t c) { return s[c]; }));
        }
    }

    // Sets of the four cells; a set and the rest have the same value, and so seven are all.
    i64 four_cells(size_t j, size_t l, const i64* q) {
        i64 top = 0;
        for (size_t a = 0; a < K; a++)
            for (size_t b = 0; b < K; b++) {
                centre(q + a * K + b, K * K, both.data());
                const i64 *A = of(j, a), *B = of(l, b), *Q = both.data();
                top = std::max({top, value([&](size_t c) { return A[c]; }),
                                value([&](size_t c) { return B[c]; }),
                                value([&](size_t c) { return Q[c]; }),
                                value([&](size_t c) { return A[c] - Q[c]; }),
                                value([&](size_t c) { return B[c] - Q[c]; }),
                                value([&](size_t c) { return A[c] + B[c] - Q[c]; }),
                                value([&](size_t c) { return A[c] + B[c] - 2 * Q[c]; })});
            }
        return top;
    }
};

}  // namespace

void class_gain(const Bins& in, i64* gain) {
    Classes classes(in);
    std::fill_n(gain, classes.d, 0);
    pairs::each_pair(in, [&](size_t j, size_t l, const i64* q) {
        const i64 more =
            classes.four_cells(j, l, q) - std::max(classes.best[j], classes.best[l]);
        gain[j] = std::max(gain[j], more);
        gain[l] = std::max(gain[l], more);
    });
}
// [/class-gain]

}  // namespace privsieve
