// The code of a number: the ways of `cells.NumberRule`, one by one.
#pragma once
#include "arrays.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace privsieve {

enum Kind { LINEAR, LOG, AROUND, LEVELS, TEXT };  // numbers first

struct Part {
    Kind kind;
    u16 missing;
    u16 top = 0;
    double low = 0, step = 0;
    std::vector<double> edges{};
    double least = -std::numeric_limits<double>::infinity();
    double most = std::numeric_limits<double>::infinity();
    size_t place = 0;  // among the levels, or among the texts
};

// [around] a sign, an octave and 9 bits of the distance from `near`: see `cells.log_linear`
inline u16 around(double away, u16 top) {
    constexpr i64 MIDDLE = 32768, SMALLEST = 512 * (1023 - 20) - 1;
    u64 bits;
    std::memcpy(&bits, &away, 8);
    const i64 octaves = i64(bits << 1 >> 44);
    const i64 steps = std::min<i64>(std::max<i64>(octaves - SMALLEST, 0), top - MIDDLE);
    return u16(bits >> 63 ? MIDDLE - steps : MIDDLE + steps);
}
// [/around]

// [graded] cut off at `least` and `most`, then graded; what is not finite is missing
inline u16 graded(const Part& part, double value) {
    if (!std::isfinite(value)) return part.missing;
    value = std::min(std::max(value, part.least), part.most);
    if (part.kind == AROUND) return around(value - part.low, part.top);
    if (part.kind == LOG) {
        const auto above = std::upper_bound(part.edges.begin(), part.edges.end(), value);
        return u16(std::min<i64>(above - part.edges.begin(), part.top));
    }
    const double scaled = (value - part.low) * part.step;
    return u16(scaled < 0 ? 0 : scaled > part.top ? part.top : scaled);
}
// [/graded]

}  // namespace privsieve
