// Counts of the patterns that contain a pattern, and of those that it contains.
//
// A pattern that contains another holds its rarest bit, so only the list of that bit is read.  Few
// patterns are compared one by one; for many, a plane for each bit answers 64 patterns at a time.
#include "patterns.h"

#include <algorithm>
#include <numeric>

namespace privsieve::pattern {

namespace {

constexpr size_t WORDS = 64, BLOCK = 64 * WORDS;  // of a plane
constexpr size_t FEW = 16;                        // patterns that ask: for fewer no planes are made
constexpr size_t HELD = 8;                        // entries of lists at a time, for each pattern

template <class Use> inline void each_bit(const u64* mask, size_t words, Use use) {
    for (size_t w = 0; w < words; w++)
        for (u64 rest = mask[w]; rest; rest &= rest - 1)
            use(w * 64 + size_t(__builtin_ctzll(rest)));
}

class Around {
  public:
    Around(const Asked& asked, const Bits& table, i64* over, i64* under)
        : asked(asked), table(table), over(over), under(under), W(table.words), support(W * 64),
          ones(table.many), mine(asked.many), begins(W * 64 + 1), wanted(W), slot(W * 64) {}

    void run(const Stop& stop) {
        std::fill_n(over, asked.many * table.codes, 0);
        if (under) std::fill_n(under, table.many, 0);
        order_table();
        deal();
        for (size_t w = 0; w < W; w++) {
            for (u64 rest = wanted[w]; rest;) {
                rest &= ~read_lists(w, rest);
                for (const List& one : lists) {
                    if (stop && stop()) return;
                    match(one, &waiting[begins[one.bit]], begins[one.bit + 1] - begins[one.bit]);
                }
            }
        }
    }

  private:
    struct List {
        size_t bit, start;
    };
    const Asked asked;
    const Bits table;
    i64 *const over, *const under;
    const size_t W;
    std::vector<u32> support, ones, mine;  // of each bit; bits of the table's patterns, and asked
    std::vector<u32> order;                // the table's patterns, those of most bits first
    std::vector<u32> waiting;              // what is asked by its rarest bit, fewest bits first
    std::vector<size_t> begins;            // of each bit's part of them
    std::vector<u64> wanted;               // the bits that have one
    std::vector<List> lists;
    std::vector<u32> held;  // their patterns, one list after the other

    struct Word {
        u32 at;
        u64 bits;
    };
    std::vector<Word> parts;      // the words of some that ask
    std::vector<size_t> ends;     // of each one's
    std::vector<u32> slot, used;  // the plane of a bit; the bits that have one
    std::vector<u64> join, slots, planes;
    u64 left[WORDS];  // the patterns of a block that are left

    // What counts for nothing is passed over.
    void order_table() {
        for (size_t q = 0; q < table.many; q++) {
            const i64* rows = table.counts + q * table.codes;
            if (!under && std::all_of(rows, rows + table.codes, [](i64 c) { return !c; })) continue;
            order.push_back(u32(q));
            each_bit(table.masks + q * W, W, [&](size_t bit) { ones[q]++, support[bit]++; });
        }
        std::stable_sort(order.begin(), order.end(),
                         [&](u32 a, u32 b) { return ones[a] > ones[b]; });
    }

    // Deals what is asked to its rarest bits; what has no bit is answered here.
    void deal() {
        constexpr u32 NONE = ~u32(0);
        std::vector<u32> rarest(asked.many, NONE), by_size;
        for (size_t p = 0; p < asked.many; p++) {
            u32 best = NONE;
            each_bit(asked.masks + p * W, W, [&](size_t bit) {
                mine[p]++;
                if (best == NONE || support[bit] < support[best]) best = u32(bit);
            });
            if (best == NONE) {
                for (u32 q : order) add(p, q);
            } else if (support[best]) {
                rarest[p] = best;
                by_size.push_back(u32(p));
                begins[best + 1]++;
                wanted[best / 64] |= u64(1) << best % 64;
            }
        }
        std::partial_sum(begins.begin(), begins.end(), begins.begin());
        std::stable_sort(by_size.begin(), by_size.end(),
                         [&](u32 a, u32 b) { return mine[a] < mine[b]; });
        waiting.resize(by_size.size());
        std::vector<size_t> next(begins.begin(), begins.end() - 1);
        for (u32 p : by_size) waiting[next[rarest[p]]++] = p;
    }

    // Lists of some of these bits of a word, as many as bounded memory holds; which these are.
    u64 read_lists(size_t w, u64 rest) {
        lists.clear();
        u64 taken = 0;
        size_t size = 0, next[64];
        for (; rest; rest &= rest - 1) {
            const size_t bit = w * 64 + size_t(__builtin_ctzll(rest));
            if (taken && size + support[bit] > HELD * order.size()) break;
            lists.push_back({bit, size});
            next[bit % 64] = size;
            size += support[bit];
            taken |= u64(1) << bit % 64;
        }
        held.resize(std::max(held.size(), size));
        for (u32 q : order)
            for (u64 here = table.masks[q * W + w] & taken; here; here &= here - 1)
                held[next[__builtin_ctzll(here)]++] = q;
        return taken;
    }

    void add(size_t p, size_t q) {
        const size_t C = table.codes;
        for (size_t c = 0; c < C; c++) over[p * C + c] += table.counts[q * C + c];
        if (under) under[q] += asked.rows[p];
    }

    // The table's patterns with a bit, against what waits for it.
    void match(const List& list, const u32* p, size_t many) {
        const size_t size = support[list.bit];
        for (size_t at = 0; at < size; at += BLOCK) {
            const u32* q = &held[list.start + at];
            while (many && mine[p[many - 1]] > ones[*q]) many--;  // larger than all that follow
            const size_t here = std::min(BLOCK, size - at);
            if (many < FEW || here < 64) alone(list.bit, q, here, p, many);
            else turned(list.bit, q, here, p, many);
        }
    }

    // The words of each pattern that asks; that of its rarest further bit rules most out, and leads.
    void take_apart(size_t bit, const u32* p, size_t many) {
        parts.clear();
        ends.clear();
        for (size_t a = 0; a < many; a++) {
            const u64* mask = asked.masks + p[a] * W;
            const size_t start = parts.size();
            size_t lead = start;
            u32 fewest = ~u32(0);
            for (size_t w = 0; w < W; w++) {
                if (!mask[w]) continue;
                each_bit(mask + w, 1, [&](size_t b) {
                    const size_t other = w * 64 + b;
                    if (other == bit || support[other] >= fewest) return;
                    fewest = support[other];
                    lead = parts.size();
                });
                parts.push_back({u32(w), mask[w]});
            }
            std::swap(parts[start], parts[lead]);
            ends.push_back(parts.size());
        }
    }

    void alone(size_t bit, const u32* q, size_t size, const u32* p, size_t many) {
        take_apart(bit, p, many);
        for (size_t b = 0; b < size; b++) {
            const u64* mask = table.masks + q[b] * W;
            for (size_t a = 0, t = 0; a < many && mine[p[a]] <= ones[q[b]]; t = ends[a++]) {
                while (t < ends[a] && !(parts[t].bits & ~mask[parts[t].at])) t++;
                if (t == ends[a]) add(p[a], q[b]);
            }
        }
    }

    // Planes for the further bits of what asks, the rarest first, so that few of them leave nothing.
    void make_planes(size_t bit, const u32* q, size_t size, const u32* p, size_t many) {
        join.assign(W, 0);
        for (size_t a = 0; a < many; a++)
            for (size_t w = 0; w < W; w++) join[w] |= asked.masks[p[a] * W + w];
        join[bit / 64] &= ~(u64(1) << bit % 64);
        used.clear();
        each_bit(join.data(), W, [&](size_t other) { used.push_back(u32(other)); });
        std::sort(used.begin(), used.end(), [&](u32 a, u32 b) {
            return support[a] != support[b] ? support[a] < support[b] : a < b;
        });
        for (size_t s = 0; s < used.size(); s++) slot[used[s]] = u32(s);
        planes.assign(used.size() * WORDS, 0);
        for (size_t b = 0; b < size; b++) {
            for (size_t w = 0; w < W; w++) {
                const u64 word = table.masks[q[b] * W + w] & join[w];
                each_bit(&word, 1, [&](size_t other) {
                    planes[slot[w * 64 + other] * WORDS + b / 64] |= u64(1) << b % 64;
                });
            }
        }
    }

    void turned(size_t bit, const u32* q, size_t size, const u32* p, size_t many) {
        make_planes(bit, q, size, p, many);
        const size_t words = (size + 63) / 64;
        slots.resize((used.size() + 63) / 64);  // of one that asks
        for (size_t a = 0; a < many; a++) {
            std::fill(slots.begin(), slots.end(), 0);
            each_bit(asked.masks + p[a] * W, W, [&](size_t other) {
                if (other != bit) slots[slot[other] / 64] |= u64(1) << slot[other] % 64;
            });
            std::fill_n(left, words, ~u64(0));
            if (size % 64) left[words - 1] = (u64(1) << size % 64) - 1;
            u64 any = 1;
            for (size_t v = 0; v < slots.size() && any; v++) {
                for (u64 rest = slots[v]; rest && any; rest &= rest - 1) {
                    const u64* plane = &planes[(v * 64 + size_t(__builtin_ctzll(rest))) * WORDS];
                    any = 0;
                    for (size_t b = 0; b < words; b++) any |= left[b] &= plane[b];
                }
            }
            if (any) each_bit(left, words, [&](size_t b) { add(p[a], q[b]); });
        }
    }
};
}  // namespace

void around(const Asked& asked, const Bits& table, i64* over, i64* under, const Stop& stop) {
    Around(asked, table, over, under).run(stop);
}

void superset_counts(const Bits& table, i64* out) {
    around({table.masks, table.many, nullptr}, table, out, nullptr, nullptr);
}

static bool inside(const u64* small, const u64* large, size_t words) {
    for (size_t w = 0; w < words; w++)
        if (small[w] & ~large[w]) return false;
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
