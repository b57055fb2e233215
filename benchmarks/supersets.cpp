// The sums over containing patterns as 0.1.0 had them, for `check`: each pattern is held against
// all blocks of larger ones.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

struct Bits {
    const u64* masks;
    size_t many, words;
    const i64* counts;
    size_t codes;
};

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
static void superset_counts(const Bits& table, i64* out) {
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

extern "C" void sums(const u64* masks, size_t many, size_t words, const i64* counts, i64* out) {
    superset_counts({masks, many, words, counts, 1}, out);
}
