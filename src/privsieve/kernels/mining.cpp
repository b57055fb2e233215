// Maximal sets, all of them or the heaviest, by a search over items: depth first, rarest first.
//
// A node stands for a set P.  Its table has the rows that hold all of P as columns of bits, and as
// its lines the tail: the items that may still join P.  A second table of the same lines has the
// maximal sets found so far that contain P.  Both shrink together on the way down, so that "is P
// with this tail inside a known set" is a short conjunction, however many sets are known.
#include "loops.h"
#include "mining.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>

namespace privsieve {
namespace {

// The bits of `from` where `by` is 1, closed up: the columns that go down to a child.
u64 pick_slow(u64 from, u64 by) {
    u64 out = 0;
    for (u64 bit = 1; by; by &= by - 1, bit <<= 1)
        if (from & by & -by) out |= bit;
    return out;
}

#define CLOSE_UP(pick)                                            \
    u64 open = 0;                                                 \
    unsigned fill = 0;                                            \
    for (size_t w = 0; w < words; w++) {                          \
        if (!by[w]) continue;                                     \
        const u64 bits = pick(from[w], by[w]);                    \
        const unsigned many = unsigned(__builtin_popcountll(by[w])); \
        open |= bits << fill;                                     \
        if ((fill += many) < 64) continue;                        \
        *out++ = open;                                            \
        fill -= 64;                                               \
        open = fill ? bits >> (many - fill) : 0;                  \
    }                                                             \
    if (fill) *out = open;

void close_up_base(const u64* from, const u64* by, size_t words, u64* out) { CLOSE_UP(pick_slow) }

#ifdef PRIVSIEVE_X86
__attribute__((target("bmi2,popcnt"))) void close_up_bmi2(const u64* from, const u64* by,
                                                          size_t words, u64* out) {
    CLOSE_UP(__builtin_ia32_pext_di)
}
#endif

}  // namespace

std::vector<CloseUp> close_ups() {
    std::vector<CloseUp> found;
#ifdef PRIVSIEVE_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt"))
        found.push_back(close_up_bmi2);
#endif
    found.push_back(close_up_base);
    return found;
}

namespace {

// Lines of bits, one for each item of the tail.
struct Bits {
    std::vector<u64> bits;
    size_t used = 0, words = 0;  // columns, and words of a line
    u64* line(size_t t) { return bits.data() + t * words; }
    void reset(size_t lines, size_t columns) {
        used = columns;
        words = words_of(columns);
        bits.assign(lines * words, 0);
    }
    void set(size_t t, size_t column) { line(t)[column >> 6] |= u64(1) << (column & 63); }
    // Room for one column more.
    void grow(size_t lines) {
        if (used++ < words * 64) return;
        const size_t wide = words * 2 + 1;
        std::vector<u64> moved(lines * wide);
        for (size_t t = 0; t < lines; t++)
            std::copy_n(line(t), words, moved.begin() + i64(t * wide));
        bits.swap(moved);
        words = wide;
    }
};

// The items of each row, increasing.
struct RowLists {
    std::vector<i64> start;
    std::vector<i32> held;
    RowLists() = default;
    // `order` says which items are kept; from then on they are places in it.
    RowLists(const Columns& columns, const std::vector<i32>& order) : start(columns.rows + 1) {
        for (i32 j : order)
            for (i64 t = columns.indptr[j]; t < columns.indptr[j + 1]; t++)
                start[size_t(columns.indices[t]) + 1]++;
        std::partial_sum(start.begin(), start.end(), start.begin());
        held.resize(size_t(start.back()));
        std::vector<i64> next(start.begin(), start.end() - 1);
        for (size_t i = 0; i < order.size(); i++) {
            const i64 end = columns.indptr[order[i] + 1];
            for (i64 t = columns.indptr[order[i]]; t < end; t++)
                held[size_t(next[size_t(columns.indices[t])]++)] = i32(i);
        }
    }
    const i32* last(i32 row) const { return held.data() + start[size_t(row) + 1] - 1; }
};

struct Node {
    std::vector<i32> tail;
    std::vector<i64> support;  // of P with each item of the tail, increasing
    Bits rows, known;
    std::vector<i64> count;  // what follows is scratch
    std::vector<size_t> child;
    std::vector<u64> some;
};

// What a set must be worth to be of interest; without weights all are.
class Worth {
    const TopRule rule;
    std::vector<i64> best;  // a heap, its least in front
    std::vector<i64> row;   // scratch
    bool asked = false;     // or all sets are of interest
    std::vector<i64> weight;

public:
    i64 path = 0;             // of the path
    explicit Worth(TopRule rule) : rule(rule) {}
    void weigh(const i64* weights, const std::vector<i32>& items) {
        asked = weights;
        if (asked)
            for (i32 j : items) weight.push_back(weights[j]);
    }
    i64 of(i32 item) const { return asked ? weight[size_t(item)] : 0; }
    bool too_light(i64 value) const {
        return asked && (value < rule.least || (best.size() == rule.r && value < best[0]));
    }
    bool too_light(const std::vector<i32>& tail) const {
        i64 sum = path;
        for (i32 item : tail) sum += of(item);
        return too_light(sum);
    }
    // Whether fewer than k rows have enough in common with path and tail.
    bool too_light(const Bits& rows, const std::vector<i32>& tail) {
        if (!asked) return false;
        row.assign(rows.used, path);
        for (size_t t = 0; t < tail.size(); t++)
            for (size_t w = 0; w < rows.words; w++)
                for (u64 word = rows.bits[t * rows.words + w]; word; word &= word - 1)
                    row[w * 64 + size_t(__builtin_ctzll(word))] += of(tail[t]);
        std::nth_element(row.begin(), row.begin() + (rule.k - 1), row.end(), std::greater<i64>());
        return too_light(row[size_t(rule.k - 1)]);
    }
    void found(i64 value) {
        if (!asked) return;
        best.push_back(value);
        std::push_heap(best.begin(), best.end(), std::greater<i64>());
        if (best.size() <= rule.r) return;
        std::pop_heap(best.begin(), best.end(), std::greater<i64>());
        best.pop_back();
    }
};

class Miner {
    const TopRule rule;
    const i64 k;
    const size_t cap;
    Watch& watch;
    Worth worth;
    const Loops& loops = best_loops();
    const CloseUp close_up = close_ups().front();
    RowLists lists;
    std::vector<i32> path, mark;
    std::vector<i64> count;  // rows that an item shares with the root's
    std::vector<i32> role;   // its place in the root's tail, plus one
    std::vector<std::vector<i32>> holders;  // the sets found that hold an item
    std::vector<std::unique_ptr<Node>> nodes;

public:
    std::vector<i32> original;  // items that are frequent, rarest first: elsewhere, places here
    Sets found;
    i64 visited = 0;
    // With weights, of items that weigh something, only the `rule.r` heaviest sets and their ties.
    Miner(const Columns& columns, const i64* weight, TopRule rule, size_t cap, Watch& watch)
        : rule(rule), k(rule.k), cap(cap), watch(watch), worth(rule) {
        for (size_t j = 0; j < columns.items; j++)
            if (columns.support(j) >= k && (!weight || weight[j] > 0)) original.push_back(i32(j));
        std::stable_sort(original.begin(), original.end(), [&](i32 a, i32 b) {
            return columns.support(size_t(a)) < columns.support(size_t(b));
        });
        worth.weigh(weight, original);
        lists = RowLists(columns, original);
        mark.assign(original.size(), -1);
        holders.resize(original.size());
        count.resize(original.size());
        role.resize(original.size());
    }

    void run(const Columns& columns) {
        if (original.empty() && i64(columns.rows) >= k) emit({}, i64(columns.rows));
        for (size_t i = 0; i < original.size(); i++) {
            const size_t j = size_t(original[i]);
            const i32* rows = columns.indices + columns.indptr[j];
            path.clear();
            worth.path = 0;
            push(i32(i));
            if (ended()) return;
            if (root(rows, columns.support(j))) mine(0);
            std::vector<i32>().swap(holders[i]);
            if (watch.ended != Ended::ALL) return;
        }
    }

private:
    Node& node(size_t depth) {
        if (depth == nodes.size()) nodes.push_back(std::make_unique<Node>());
        return *nodes[depth];
    }

    void push(i32 item) {
        path.push_back(item);
        worth.path += worth.of(item);
    }

    bool ended() {
        if (++visited > rule.nodes) watch.ended = Ended::LIMIT;
        return watch.look();
    }

    // The path with the tail from `a` on is maximal, unless it is too light for a set to be known.
    void emit(const std::vector<i32>& tail, i64 support, size_t a = 0) {
        i64 value = worth.path;
        for (size_t t = a; t < tail.size(); t++) value += worth.of(tail[t]);
        if (worth.too_light(value)) return;
        worth.found(value);
        if (found.size() == cap) watch.ended = Ended::LIMIT;
        if (watch.ended != Ended::ALL) return;
        const i32 id = i32(found.size());
        found.items.insert(found.items.end(), path.begin(), path.end());
        found.items.insert(found.items.end(), tail.begin() + i64(a), tail.end());
        for (size_t t = size_t(found.indptr.back()); t < found.items.size(); t++)
            holders[size_t(found.items[t])].push_back(id);
        found.indptr.push_back(i64(found.items.size()));
        found.support.push_back(support);
    }

    // The node of one item, from its row lists; false if nothing is below it.
    bool root(const i32* rows, i64 support) {
        Node& at = node(0);
        const i32 i = path[0];
        at.tail.clear();
        for (i64 t = 0; t < support; t++)
            for (const i32* held = lists.last(rows[t]); *held > i; held--)
                if (!count[size_t(*held)]++) at.tail.push_back(*held);
        size_t kept = 0;
        for (i32 j : at.tail) {
            const i64 c = count[size_t(j)];
            if (c == support) push(j);
            else if (c >= k) at.tail[kept++] = j;
            else count[size_t(j)] = 0;
        }
        at.tail.resize(kept);
        std::sort(at.tail.begin(), at.tail.end(), [&](i32 a, i32 b) {
            const i64 x = count[size_t(a)], y = count[size_t(b)];
            return x < y || (x == y && a < b);
        });
        at.support.resize(kept);
        for (size_t t = 0; t < kept; t++) {
            at.support[t] = count[size_t(at.tail[t])];
            role[size_t(at.tail[t])] = i32(t) + 1;
        }
        const bool below =
            !worth.too_light(at.tail) && !inside_known(at) && root_rows(at, rows, support);
        for (i32 j : at.tail) count[size_t(j)] = role[size_t(j)] = 0;
        for (i32 j : path) count[size_t(j)] = 0;
        return below;
    }

    // Lists the known sets that contain the path; true if one has the whole tail as well.  What is
    // in all rows of an item is in all maximal sets that hold it.
    bool inside_known(Node& at) {
        at.known.reset(at.tail.size(), 0);
        for (i32 id : holders[size_t(path[0])]) {
            at.child.clear();
            for (i64 t = found.indptr[size_t(id)]; t < found.indptr[size_t(id) + 1]; t++) {
                const i32 part = role[size_t(found.items[size_t(t)])];
                if (part > 0) at.child.push_back(size_t(part) - 1);
            }
            if (at.child.size() == at.tail.size()) return true;
            if (at.child.empty()) continue;
            at.known.grow(at.tail.size());
            for (size_t t : at.child) at.known.set(t, at.known.used - 1);
        }
        return false;
    }

    bool root_rows(Node& at, const i32* rows, i64 support) {
        if (at.tail.empty()) {
            emit({}, support);
            return false;
        }
        at.rows.reset(at.tail.size(), size_t(support));
        for (i64 t = 0; t < support; t++)
            for (const i32* held = lists.last(rows[t]); *held > path[0]; held--) {
                const i32 part = role[size_t(*held)];
                if (part > 0) at.rows.set(size_t(part) - 1, size_t(t));
            }
        return true;
    }

    void mine(size_t depth) {
        Node& at = *nodes[depth];
        size_t seen = found.size(), inside = known_from(at);
        i64 support, rest = worth.path;
        for (i32 item : at.tail) rest += worth.of(item);
        const size_t whole = frequent_from(at, support);
        for (size_t a = 0; a < inside; a++) {
            if (ended()) return;
            if (worth.too_light(rest)) return;
            rest -= worth.of(at.tail[a]);
            // What would contain this set has an earlier item, and was found.
            if (a == whole) return emit(at.tail, support, a);
            const size_t length = path.size();
            const i64 path_worth = worth.path;
            push(at.tail[a]);
            if (child(at, a, node(depth + 1))) mine(depth + 1);
            path.resize(length);
            worth.path = path_worth;
            for (; seen < found.size(); seen++) inside = std::min(inside, learn(at, a + 1, seen));
        }
    }

    // From where on the tail is inside one known set.
    size_t known_from(Node& at) {
        if (!at.known.used) return at.tail.size();
        at.some.assign(at.known.words, ~u64(0));
        for (size_t a = at.tail.size(); a; a--) {
            u64 any = 0;
            for (size_t w = 0; w < at.known.words; w++)
                any |= at.some[w] &= at.known.line(a - 1)[w];
            if (!any) return a;
        }
        return 0;
    }

    // From where on the tail as a whole is frequent with P, and its support.
    size_t frequent_from(Node& at, i64& support) {
        size_t a = at.tail.size() - 1;
        const size_t words = at.rows.words;
        at.some.assign(at.rows.line(a), at.rows.line(a) + words);
        for (support = at.support[a]; a; a--) {
            const u64* line = at.rows.line(a - 1);
            const i64 count = loops.count_and(at.some.data(), line, words);
            if (count < k) break;
            support = count;
            for (size_t w = 0; w < words; w++) at.some[w] &= line[w];
        }
        return a;
    }

    // Makes the node of P with tail[a]; false if nothing is below it.
    bool child(Node& at, size_t a, Node& below) {
        const size_t q = at.tail.size(), words = at.rows.words;
        at.count.assign(q, 0);
        loops.count_and_many(at.rows.line(a), at.rows.line(a + 1), words, q - a - 1, words,
                             at.count.data() + a + 1);
        at.child.clear();
        at.some.assign(at.known.line(a), at.known.line(a) + at.known.words);
        for (size_t b = a + 1; b < q; b++) {
            if (at.count[b] < k) continue;
            if (at.count[b] < at.support[a]) {
                at.child.push_back(b);
                continue;
            }
            push(at.tail[b]);  // in every row of the child, hence in all known sets that hold it
        }
        i64 most = worth.path;
        for (size_t b : at.child) most += worth.of(at.tail[b]);
        if (worth.too_light(most)) return false;
        if (child_inside_known(at)) return false;
        if (at.child.empty()) {
            emit({}, at.support[a]);
            return false;
        }
        std::sort(at.child.begin(), at.child.end(), [&](size_t x, size_t y) {
            return at.count[x] < at.count[y] || (at.count[x] == at.count[y] && x < y);
        });
        descend(at, a, below);
        return !worth.too_light(below.rows, below.tail);
    }

    bool child_inside_known(const Node& at) {
        for (size_t w = 0; w < at.known.words; w++) {
            u64 all = at.some[w];
            for (size_t t = 0; t < at.child.size() && all; t++)
                all &= at.known.bits[at.child[t] * at.known.words + w];
            if (all) return true;
        }
        return false;
    }

    void descend(Node& at, size_t a, Node& below) {
        const size_t q = at.child.size();
        size_t known = 0;
        for (u64 word : at.some) known += size_t(__builtin_popcountll(word));
        below.tail.resize(q);
        below.support.resize(q);
        below.rows.reset(q, size_t(at.support[a]));
        below.known.reset(q, known);
        for (size_t t = 0; t < q; t++) {
            const size_t b = at.child[t];
            below.tail[t] = at.tail[b];
            below.support[t] = at.count[b];
            close_up(at.rows.line(b), at.rows.line(a), at.rows.words, below.rows.line(t));
            if (known) close_up(at.known.line(b), at.some.data(), at.known.words,
                                below.known.line(t));
        }
    }

    // Notes a set found below for the tail from `a` on; returns from where on the tail is inside.
    size_t learn(Node& at, size_t a, size_t id) {
        const size_t q = at.tail.size();
        for (i64 t = found.indptr[id]; t < found.indptr[id + 1]; t++)
            mark[size_t(found.items[size_t(t)])] = i32(id);
        size_t first = a;
        while (first < q && mark[size_t(at.tail[first])] != i32(id)) first++;
        if (first == q) return q;
        at.known.grow(q);
        size_t from = q;
        for (size_t t = q; t-- > first;) {
            if (mark[size_t(at.tail[t])] != i32(id)) continue;
            at.known.set(t, at.known.used - 1);
            if (from == t + 1) from = t;
        }
        return from;
    }
};

constexpr i64 NODES = i64(1) << 62;
constexpr size_t CAP = size_t(1) << 22;  // sets and ties that are kept before the search ends

// In the caller's items, each set increasing, the sets in lexicographic order.
Sets sorted(Sets found, const std::vector<i32>& original) {
    for (i32& item : found.items) item = original[size_t(item)];
    const i32* items = found.items.data();
    const std::vector<i64>& at = found.indptr;
    for (size_t s = 0; s < found.size(); s++)
        std::sort(found.items.begin() + at[s], found.items.begin() + at[s + 1]);
    std::vector<size_t> order(found.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return std::lexicographical_compare(items + at[a], items + at[a + 1], items + at[b],
                                            items + at[b + 1]);
    });
    Sets out;
    out.items.reserve(found.items.size());
    for (size_t s : order) {
        out.items.insert(out.items.end(), items + at[s], items + at[s + 1]);
        out.indptr.push_back(i64(out.items.size()));
        out.support.push_back(found.support[s]);
    }
    return out;
}

}  // namespace

Sets all_maximal(const Columns& columns, i64 k, size_t cap, Watch& watch) {
    Miner miner(columns, nullptr, {k, 1, cap, NODES, 0}, cap, watch);
    miner.run(columns);
    return watch.ended == Ended::ALL ? sorted(std::move(miner.found), miner.original) : Sets();
}

Top top_by_items(const Columns& columns, const i64* weight, TopRule rule, Watch& watch) {
    Miner miner(columns, weight, rule, CAP, watch);
    miner.run(columns);
    const Sets sets = sorted(std::move(miner.found), miner.original);
    std::vector<i64> value(sets.size());
    for (size_t s = 0; s < sets.size(); s++)
        for (i64 t = sets.indptr[s]; t < sets.indptr[s + 1]; t++)
            value[s] += weight[sets.items[size_t(t)]];
    std::vector<size_t> order(sets.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return value[a] > value[b]; });
    if (order.size() > rule.r) order.resize(rule.r);
    Top out;
    out.bound = watch.ended == Ended::ALL ? 0 : std::accumulate(
        weight, weight + columns.items, i64(0));
    for (size_t s : order) {
        const auto begin = sets.items.begin();
        out.sets.items.insert(out.sets.items.end(), begin + sets.indptr[s],
                              begin + sets.indptr[s + 1]);
        out.sets.indptr.push_back(i64(out.sets.items.size()));
        out.sets.support.push_back(sets.support[s]);
        out.value.push_back(value[s]);
        out.bound = std::max(out.bound, value[s]);
    }
    out.nodes = miner.visited;
    return out;
}

}  // namespace privsieve
