// The heaviest set of items that keeps a rule: branch and bound.
#pragma once
#include "covers.h"

#include <functional>

namespace privsieve::exact {

// Whether to end, told how many sets were looked at and the best value.
using Late = std::function<bool(i64 nodes, i64 best)>;

struct Found {
    std::vector<i64> selected;
    i64 value, bound;  // -1 if not even the empty set keeps the rule
    bool proved;
    i64 nodes;
};

// `weights` may be null: pairs told apart are then counted.  At most `most` nodes (0: no limit),
// and no more after `late` says so.
Found search(const Items& items, const i64* weights, const Rule& rule, const std::vector<i64>& start,
             i64 most, const Late& late);

}  // namespace privsieve::exact
