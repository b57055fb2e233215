#include "covers.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace privsieve::exact {

namespace {

constexpr i64 ROUNDS = 100, CHECKS = 20000;  // of the local search
constexpr size_t CLOSING = size_t(1) << 18;   // vertices coloured for the bound of one open node
constexpr i64 POLL = i64(1) << 18;            // words read between two looks at the clock
constexpr i64 ANY = std::numeric_limits<i64>::max();  // a budget that nothing exceeds

// Which pairs of candidates may still stand together.
struct Graph {
    size_t many, words;
    std::vector<u64> bits;
    explicit Graph(size_t n, bool full = false)
        : many(n), words((n + 63) / 64), bits(n * words, full ? ~u64(0) : 0) {}
    const u64* row(size_t i) const { return bits.data() + i * words; }
    bool has(size_t i, size_t j) const { return row(i)[j / 64] >> j % 64 & 1; }
    void flip(size_t i, size_t j) {
        bits[i * words + j / 64] ^= u64(1) << j % 64;
        bits[j * words + i / 64] ^= u64(1) << i % 64;
    }
    Graph pick(const std::vector<u32>& some) const {
        Graph part(some.size());
        for (size_t i = 0; i < some.size(); i++)
            for (size_t j = 0; j < i; j++) if (has(some[i], some[j])) part.flip(i, j);
        return part;
    }
};

struct Set {
    std::vector<u32> columns;
    i64 value = 0;
};

// Classes of candidates no two of which stand together: a set has at most one of each.  Weights
// fall, so that a class pays for its first member and with it for any.
struct Colouring {
    i64 total = 0;
    std::vector<u32> left;  // candidates that did not fit the budget
};

Colouring colour(const Graph& graph, const std::vector<i64>& weight, i64 budget) {
    Colouring out;
    std::vector<u64> friends;  // by class: who stands together with a member
    for (size_t i = 0; i < graph.many; i++) {
        size_t a = 0;
        while (a < friends.size() && friends[a + i / 64] >> i % 64 & 1) a += graph.words;
        if (a == friends.size()) {
            if (weight[i] > budget - out.total) {
                out.left.push_back(u32(i));
                continue;
            }
            friends.resize(friends.size() + graph.words, 0);
            out.total += weight[i];
        }
        for (size_t w = 0; w < graph.words; w++) friends[a + w] |= graph.row(i)[w];
    }
    return out;
}

template <class T> std::vector<T> taken(const std::vector<T>& from, const std::vector<u32>& some) {
    std::vector<T> out;
    for (const u32 i : some) out.push_back(from[i]);
    return out;
}

class Search {
  public:
    Search(const Covers& covers_, i64 most_, const Late& late_)
        : covers(covers_), most(most_), late(late_) {}
    Found run(const std::vector<i64>& start);

  private:
    const Covers& covers;
    const i64 most;
    const Late& late;
    State empty;
    std::vector<u32> all;     // columns that keep the rule alone
    std::vector<u32> chosen;  // on the way down
    Set best;
    i64 nodes = 0, checks = 0, work = 0;
    u64 drawn = 0;
    bool stopped = false;

    u64 draw(u64 below) { return mix64(drawn++) % below; }
    bool poll(i64 cost) {
        work += cost;
        if (!stopped && work >= POLL) work = 0, stopped = late(nodes, best.value);
        return stopped;
    }
    bool take(Set& set, State& s, u32 x);
    bool take_heaviest(Set& set, State& s, std::vector<u32>& rest, const std::vector<i64>& noise);
    Set complete(const std::vector<u32>& first, const std::vector<i64>& noise);
    void improve();
    bool thin(const State& s, const std::vector<u32>& list, Graph& graph);
    i64 descend(const State& s, i64 value, std::vector<u32> list, Graph graph);
    i64 branch(const State& s, i64 value, const std::vector<u32>& list, const Graph& graph,
               const std::vector<i64>& weight);
    i64 open(const Graph& graph, const std::vector<i64>& weight, std::vector<u8> allowed,
             const std::vector<u32>& waiting) const;
};

bool Search::take(Set& set, State& s, u32 x) {
    checks++;
    poll(covers.cost(s));
    if (!covers.keeps(s, x)) return false;
    State next;
    set.value += covers.gain(s, x);
    covers.add(s, x, next);
    std::swap(s, next);
    set.columns.push_back(x);
    return true;
}

// Takes one more column, or with fixed weights all that fit; false at the end.
bool Search::take_heaviest(Set& set, State& s, std::vector<u32>& rest,
                           const std::vector<i64>& noise) {
    std::vector<std::pair<i64, u32>> order;
    for (const u32 x : rest) {
        const i64 gain = covers.gain(s, x);
        if (gain) order.push_back({-(gain + (gain >> 9) * noise[x]), x});
    }
    std::sort(order.begin(), order.end());
    rest.clear();
    bool found = false;
    for (const auto& [key, x] : order) {
        if (stopped) return false;
        if (found && covers.counts_pairs()) rest.push_back(x);
        else if (take(set, s, x)) found = true;
    }
    return found && !rest.empty();
}

Set Search::complete(const std::vector<u32>& first, const std::vector<i64>& noise) {
    Set set;
    State s = empty;
    for (const u32 x : first) if (!stopped) take(set, s, x);
    std::vector<u32> rest;
    std::vector<u8> in(covers.columns.size(), 0);
    for (const u32 x : set.columns) in[x] = 1;
    for (const u32 x : all) if (!in[x]) rest.push_back(x);
    while (take_heaviest(set, s, rest, noise)) {}
    return set;
}

// Local search: drop a share, complete in a disturbed order, go on from what is nearly as good.
void Search::improve() {
    Set now = best;
    for (i64 round = 0; round < ROUNDS && checks < CHECKS && !stopped; round++) {
        if (best.columns.size() == all.size()) return;
        const u64 share = 5 + draw(36);
        std::vector<u32> kept;
        std::vector<i64> noise(covers.columns.size(), 0);
        for (const u32 x : now.columns) if (draw(100) >= share) kept.push_back(x);
        for (const u32 x : all) noise[x] = i64(draw(512));
        Set next = complete(kept, noise);
        if (next.value > best.value) best = next;
        if (next.value >= now.value - (now.value >> 6)) now = std::move(next);
    }
}

// Cuts pairs that do not keep the rule together with what is chosen; false if stopped midway.
bool Search::thin(const State& s, const std::vector<u32>& list, Graph& graph) {
    State with;
    for (size_t i = 0; i < list.size(); i++) {
        covers.add(s, list[i], with);
        for (size_t j = i + 1; j < list.size(); j++) {
            if (!graph.has(i, j)) continue;
            if (!covers.keeps(with, list[j])) graph.flip(i, j);
            if (poll(covers.cost(with))) return false;
        }
    }
    return true;
}

// The best set of those chosen and any of `list`; returns a bound on all of them.
i64 Search::descend(const State& s, i64 value, std::vector<u32> list, Graph graph) {
    nodes++;
    if (value > best.value) best = {chosen, value};
    std::vector<i64> weight;
    for (const u32 x : list) weight.push_back(covers.gain(s, x));
    if (covers.counts_pairs()) {
        std::vector<u32> order;
        for (u32 i = 0; i < list.size(); i++) if (weight[i]) order.push_back(i);
        std::stable_sort(order.begin(), order.end(),
                         [&](u32 a, u32 b) { return weight[a] > weight[b]; });
        list = taken(list, order), weight = taken(weight, order), graph = graph.pick(order);
    }
    const i64 total = std::accumulate(weight.begin(), weight.end(), value);
    if (std::min(total, covers.most()) <= best.value) return best.value;
    stopped = stopped || (most && nodes > most);
    if (poll(POLL)) return std::min(total, covers.most());
    if (colour(graph, weight, best.value - value).left.empty()) return best.value;
    if (!thin(s, list, graph)) {
        const i64 bound = value + colour(graph, weight, ANY).total;
        return std::max(best.value, std::min(bound, covers.most()));
    }
    return branch(s, value, list, graph, weight);
}

// A better set has one of the candidates that the budget left over; `chosen` grows by the last.
i64 Search::branch(const State& s, i64 value, const std::vector<u32>& list, const Graph& graph,
                   const std::vector<i64>& weight) {
    std::vector<u32> left = colour(graph, weight, best.value - value).left;
    std::vector<u8> allowed(list.size(), 1);
    for (const u32 b : left) allowed[b] = 0;
    State next;
    for (size_t t = 0; t < left.size(); t++) {
        const u32 b = left[t];
        std::vector<u32> some;
        for (u32 j = 0; j < list.size(); j++) if (allowed[j] && graph.has(b, j)) some.push_back(j);
        covers.add(s, list[b], next);
        chosen.push_back(list[b]);
        i64 bound = descend(next, value + weight[b], taken(list, some), graph.pick(some));
        chosen.pop_back();
        allowed[b] = 1;
        if (!stopped) continue;
        bound = std::min(bound, value + weight[b] +
                                    colour(graph.pick(some), taken(weight, some), ANY).total);
        left.erase(left.begin(), left.begin() + i64(t) + 1);
        bound = std::max(bound, value + open(graph, weight, allowed, left));
        return std::max(best.value, std::min(bound, covers.most()));
    }
    return best.value;
}

// A bound on what the candidates that were not branched on would add.
i64 Search::open(const Graph& graph, const std::vector<i64>& weight, std::vector<u8> allowed,
                 const std::vector<u32>& waiting) const {
    if (waiting.empty()) return 0;
    const i64 coarse = colour(graph, weight, ANY).total;
    if (waiting.size() * graph.many > CLOSING) return coarse;
    i64 fine = 0;
    for (const u32 b : waiting) {
        std::vector<u32> some;
        for (u32 j = 0; j < graph.many; j++) if (allowed[j] && graph.has(b, j)) some.push_back(j);
        fine = std::max(fine, weight[b] + colour(graph.pick(some), taken(weight, some), ANY).total);
        allowed[b] = 1;
    }
    return std::min(coarse, fine);
}

// `start` is increasing.
Found Search::run(const std::vector<i64>& start) {
    if (!covers.root(empty)) return {{}, -1, -1, true, 0};
    for (u32 x = 0; x < covers.columns.size(); x++) if (covers.keeps(empty, x)) all.push_back(x);
    std::vector<u32> first;
    for (const u32 x : all)
        for (const i64 item : covers.columns[x].items)
            if (std::binary_search(start.begin(), start.end(), item)) {
                first.push_back(x);
                break;
            }
    const std::vector<i64> calm(covers.columns.size(), 0);
    best = complete({}, calm);
    Set given = complete(first, calm);
    if (given.value > best.value) best = std::move(given);
    improve();
    const i64 bound = std::max(best.value, descend(empty, 0, all, Graph(all.size(), true)));
    std::vector<i64> selected;
    for (const u32 x : best.columns)
        for (const i64 item : covers.columns[x].items) selected.push_back(item);
    std::sort(selected.begin(), selected.end());
    return {selected, best.value, bound, bound == best.value, nodes};
}

}  // namespace

Found search(const Items& items, const i64* weights, const Rule& rule, const std::vector<i64>& start,
             i64 most, const Late& late) {
    const Covers covers(items, weights, rule);
    return Search(covers, most, late).run(start);
}

}  // namespace privsieve::exact
