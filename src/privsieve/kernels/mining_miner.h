// The search over items, depth first, rarest first, each node a table of bits.
//
// A node stands for a set P.  Its table has the rows that hold all of P as columns of bits, and as
// its lines the tail: the items that may still join P.  A second table of the same lines has the
// maximal sets found so far that contain P.  Both shrink together on the way down, so that "is P
// with this tail inside a known set" is a short conjunction, however many sets are known.
#pragma once
#include "loops.h"
#include "mining.h"
#include "mining_bits.h"
#include "mining_worth.h"

#include <memory>
#include <numeric>

namespace privsieve {
namespace {

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

}  // namespace
}  // namespace privsieve
