// Which rows leave until all groups are large enough.
#include "patterns.h"

#include <algorithm>
#include <numeric>

namespace privsieve::pattern {

static bool inside(const u64* small, const u64* large, size_t words) {
    for (size_t w = 0; w < words; w++) {
        if (small[w] & ~large[w]) return false;
    }
    return true;
}

// Rows that leave before all groups that remain are large enough; ends early above `suppress`.
i64 peel(const Bits& table, const Rule& rule, u8* stays) {
    const size_t W = table.words, C = table.codes;
    std::vector<i64> group(table.many * C);
    superset_counts(table, group.data());
    const auto small = [&](size_t p) {
        i64 rows = 0, classes = 0;
        for (size_t c = 0; c < C; c++) {
            rows += group[p * C + c];
            classes += group[p * C + c] > 0;
        }
        return rows < rule.k || classes < rule.diversity;
    };
    std::vector<size_t> leaving;
    const auto check = [&](size_t p) {
        if (!stays[p] || !small(p)) return;
        stays[p] = 0;
        leaving.push_back(p);
    };
    std::fill_n(stays, table.many, 1);
    for (size_t p = 0; p < table.many; p++) check(p);
    i64 lost = 0;
    while (!leaving.empty()) {
        const size_t gone = leaving.back();
        leaving.pop_back();
        for (size_t c = 0; c < C; c++) lost += table.counts[gone * C + c];
        if (rule.suppress >= 0 && lost > rule.suppress) return lost;
        for (size_t p = 0; p < table.many; p++) {
            if (!stays[p] || !inside(table.masks + p * W, table.masks + gone * W, W)) continue;
            for (size_t c = 0; c < C; c++) group[p * C + c] -= table.counts[gone * C + c];
            check(p);
        }
    }
    return lost;
}

}  // namespace privsieve::pattern
