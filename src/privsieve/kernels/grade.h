// The code of a number: the ways of `cells.NumberRule`, one by one.
#pragma once
#include "arrays.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

namespace privsieve {

enum Way { LINEAR, LOG, AROUND };

// How numbers become codes.
struct Grade {
    Way way = LINEAR;
    u16 missing = 0, top = 0;
    double low = 0, step = 0;  // LOG: the logarithm of the first edge, and edges for a unit of it
    std::shared_ptr<const std::vector<double>> edges{};
    double least = -std::numeric_limits<double>::infinity();
    double most = std::numeric_limits<double>::infinity();
    std::vector<double> gone{};  // numbers that stand for none
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

// [edges] how many edges are at or below a value.  A logarithm says where to look, and edges decide;
// where they are far apart and the logarithm is a thousandth of their distance away from the next
// one, no rounding of either can move the value to the other side.
inline size_t edges_below(const Grade& grade, double value) {
    constexpr double DENSE = 1e8, SMALL = 1e-290, AWAY = 1e-3;
    const std::vector<double>& edges = *grade.edges;
    const double far = (std::log2(value) - grade.low) * grade.step + 1;
    if (grade.step < DENSE && edges.front() > SMALL && far > 0 && far < double(edges.size())) {
        const size_t down = size_t(far);
        if (far - double(down) > AWAY && far - double(down) < 1 - AWAY) return down;
    }
    size_t at = far > 0 ? far < double(edges.size()) ? size_t(far) : edges.size() : 0;
    for (int tries = 0; tries < 4; tries++) {
        if (at < edges.size() && edges[at] <= value) at++;
        else if (at > 0 && edges[at - 1] > value) at--;
        else return at;
    }
    return size_t(std::upper_bound(edges.begin(), edges.end(), value) - edges.begin());
}
// [/edges]

// [graded] cut off at `least` and `most`, then graded; what is not finite, or gone, is missing
inline u16 graded(const Grade& grade, double value) {
    if (!std::isfinite(value)) return grade.missing;
    for (const double one : grade.gone)
        if (value == one) return grade.missing;
    value = std::min(std::max(value, grade.least), grade.most);
    if (grade.way == AROUND) return around(value - grade.low, grade.top);
    if (grade.way == LOG) return u16(std::min<size_t>(edges_below(grade, value), grade.top));
    const double scaled = (value - grade.low) * grade.step;
    return u16(scaled < 0 ? 0 : scaled > grade.top ? grade.top : scaled);
}
// [/graded]

}  // namespace privsieve
