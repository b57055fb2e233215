// Sums over the patterns that contain a pattern.
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
// A block of patterns turned on its side: for each bit, which of them have it.
struct Block {
    static constexpr size_t WORDS = 64, SIZE = 64 * WORDS;
    std::vector<u64> planes;
    std::vector<u32> many;
    u64 found[WORDS];

    explicit Block(size_t bits) : planes(bits * WORDS), many(bits) {}

    void fill(const Bits& table, const u32* patterns, size_t size) {
        std::fill(planes.begin(), planes.end(), 0);
        std::fill(many.begin(), many.end(), 0);
        for (size_t a = 0; a < size; a++) {
            const u64* mask = table.masks + patterns[a] * table.words;
            for (size_t w = 0; w < table.words; w++) {
                for (u64 rest = mask[w]; rest; rest &= rest - 1) {
                    const size_t bit = w * 64 + size_t(__builtin_ctzll(rest));
                    planes[bit * WORDS + a / 64] |= u64(1) << a % 64;
                    many[bit]++;
                }
            }
        }
    }

    // Which patterns of the block have all bits of this mask; whether they are still to be checked.
    bool candidates(const u64* mask, size_t words, size_t size) {
        constexpr u32 FEW = 32;  // then checking one by one is cheaper than more planes
        size_t rarest = many.size();
        for (size_t w = 0; w < words; w++) {
            for (u64 rest = mask[w]; rest; rest &= rest - 1) {
                const size_t bit = w * 64 + size_t(__builtin_ctzll(rest));
                if (rarest == many.size() || many[bit] < many[rarest]) rarest = bit;
            }
        }
        for (size_t a = 0; a < WORDS; a++) {
            const size_t full = a * 64 + 64 <= size ? 64 : a * 64 < size ? size - a * 64 : 0;
            found[a] = full == 64 ? ~u64(0) : (u64(1) << full) - 1;
        }
        if (rarest == many.size()) return false;
        std::copy_n(&planes[rarest * WORDS], WORDS, found);
        if (many[rarest] <= FEW) return true;
        for (size_t w = 0; w < words; w++) {
            for (u64 rest = mask[w]; rest; rest &= rest - 1) {
                const u64* plane = &planes[(w * 64 + size_t(__builtin_ctzll(rest))) * WORDS];
                u64 any = 0;
                for (size_t a = 0; a < WORDS; a++) any |= found[a] &= plane[a];
                if (!any) return false;
            }
        }
        return false;
    }
};
}  // namespace

// Largest masks first: what contains a mask is no smaller, so later blocks need not be looked at.
void superset_counts(const Bits& table, i64* out) {
    const size_t W = table.words, C = table.codes;
    std::fill_n(out, table.many * C, 0);
    std::vector<u32> order(table.many), ones(table.many);
    std::iota(order.begin(), order.end(), 0);
    for (size_t p = 0; p < table.many; p++) {
        for (size_t w = 0; w < W; w++) ones[p] += u32(__builtin_popcountll(table.masks[p * W + w]));
    }
    std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return ones[a] > ones[b]; });
    Block block(W * 64);
    for (size_t start = 0; start < table.many; start += Block::SIZE) {
        const size_t size = std::min(Block::SIZE, table.many - start);
        block.fill(table, &order[start], size);
        for (size_t a = table.many; a-- > 0 && ones[order[a]] <= ones[order[start]];) {
            const u64* mask = table.masks + order[a] * W;
            const bool check = block.candidates(mask, W, size);
            i64* mine = out + order[a] * C;
            for (size_t b = 0; b < Block::WORDS; b++) {
                for (u64 rest = block.found[b]; rest; rest &= rest - 1) {
                    const size_t q = order[start + b * 64 + size_t(__builtin_ctzll(rest))];
                    if (check && !inside(mask, table.masks + q * W, W)) continue;
                    for (size_t c = 0; c < C; c++) mine[c] += table.counts[q * C + c];
                }
            }
        }
    }
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
        const i64* mine = &group[p * C];
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
