// Rules on one column against cuts of a number.
#include "ranks.h"

#include <algorithm>
#include <vector>

namespace privsieve {
namespace {

// [ranks]
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
// [/ranks]

template void rank_intervals(const RunsView<std::int32_t>&, const u8*, i64*);
template void rank_intervals(const RunsView<i64>&, const u8*, i64*);

}  // namespace privsieve
