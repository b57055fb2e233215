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

namespace {
// Rows by pattern and code, which leave by pattern; by pattern and code where that may be known.
struct Peeling {
    const size_t C;
    const Rule& rule;
    u8* stays;
    std::vector<i64> group, rest;  // rows in each group that are still counted; and those of each
    std::vector<size_t> leaving;   // patterns of which some rows leave

    Peeling(const Bits& table, const Rule& by, u8* out)
        : C(table.codes), rule(by), stays(out), group(table.many * C),
          rest(table.counts, table.counts + table.many * C) {
        superset_counts(table, group.data());
        std::fill_n(stays, group.size(), 1);
    }

    bool any(size_t p) const { return std::count(stays + p * C, stays + p * C + C, 1); }

    void check(size_t p) {
        const i64* mine = group.data() + p * C;
        const i64 rows = std::accumulate(mine, mine + C, i64(0));
        const bool diverse = i64(C) - std::count(mine, mine + C, 0) >= rule.diversity;
        bool less = false;
        for (size_t c = 0; c < C; c++) {
            if (diverse && (rule.labelled ? mine[c] : rows) >= rule.k) continue;
            less |= stays[p * C + c] && rest[p * C + c];
            stays[p * C + c] = 0;
        }
        if (less) leaving.push_back(p);
    }

    // How many rows of the last of those leave, by code; these are counted no more.
    size_t next(std::vector<i64>& many) {
        const size_t p = leaving.back();
        leaving.pop_back();
        for (size_t c = 0; c < C; c++) {
            many[c] = stays[p * C + c] ? 0 : rest[p * C + c];
            rest[p * C + c] -= many[c];
        }
        return p;
    }
};
}  // namespace

// Rows that leave before all groups that remain are large enough; ends early above `suppress`.
i64 peel(const Bits& table, const Rule& rule, u8* stays) {
    const size_t W = table.words, C = table.codes;
    Peeling left(table, rule, stays);
    for (size_t p = 0; p < table.many; p++) left.check(p);
    std::vector<i64> many(C);
    i64 lost = 0;
    while (!left.leaving.empty()) {
        const size_t gone = left.next(many);
        lost += std::accumulate(many.begin(), many.end(), i64(0));
        if (rule.suppress >= 0 && lost > rule.suppress) return lost;
        for (size_t p = 0; p < table.many; p++) {
            if (!left.any(p) || !inside(table.masks + p * W, table.masks + gone * W, W)) continue;
            for (size_t c = 0; c < C; c++) left.group[p * C + c] -= many[c];
            left.check(p);
        }
    }
    return lost;
}

}  // namespace privsieve::pattern
