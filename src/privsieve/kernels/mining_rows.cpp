// The r heaviest maximal sets: depth first over rows, which the heaviest sets share.
//
// A node stands for the set I that its rows have in common.  Its other rows lie in order of what
// they have in common with I, and a child takes one of them as the weakest row of its cover: only
// stronger ones may follow, and one that contains all of the child's set joins at once.  A child
// whose set lies inside a row that was passed over is a copy of an earlier one.  So every closed
// set is met at most once, and the need-th strongest row bounds all that is below.
#include "loops.h"
#include "mining.h"

#include <algorithm>
#include <memory>
#include <numeric>

namespace privsieve {
namespace {

using Line = std::vector<i32>;

// The distinct rows, as lists of the items that are kept, in lexicographic order.
struct Rows {
    std::vector<i32> item;  // what is kept, as the caller counts
    std::vector<i64> weight, value, many;
    std::vector<i64> indptr{0}, column;  // item j is in the rows of holders[column[j] ..]
    std::vector<i32> items, holders;
    std::vector<u64> classes;  // of the rows that are equal, `words` a row
    size_t words = 1;
    size_t size() const { return many.size(); }

    Rows(const Columns& columns, const i32* y, const i64* weights, TopRule rule) {
        if (rule.l > 1)
            for (size_t i = 0; i < columns.rows; i++)
                words = std::max(words, size_t(y[i]) / 64 + 1);
        for (size_t j = 0; j < columns.items; j++)
            if (weights[j] > 0 && columns.support(j) >= rule.k) item.push_back(i32(j));
        for (i32 j : item) weight.push_back(weights[j]);
        std::vector<Line> lines(columns.rows);
        for (size_t j = 0; j < item.size(); j++)
            for (i64 t = columns.indptr[item[j]]; t < columns.indptr[item[j] + 1]; t++)
                lines[size_t(columns.indices[t])].push_back(i32(j));
        merge(lines, y, rule.l > 1);
        transpose();
    }

private:
    void merge(const std::vector<Line>& lines, const i32* y, bool diverse) {
        std::vector<size_t> order(lines.size());
        std::iota(order.begin(), order.end(), size_t(0));
        std::sort(order.begin(), order.end(),
                  [&](size_t a, size_t b) { return lines[a] < lines[b]; });
        for (size_t t = 0; t < order.size(); t++) {
            const Line& line = lines[order[t]];
            if (!t || line != lines[order[t - 1]]) {
                i64 sum = 0;
                for (i32 j : line) sum += weight[size_t(j)];
                value.push_back(sum);
                many.push_back(0);
                items.insert(items.end(), line.begin(), line.end());
                indptr.push_back(i64(items.size()));
                classes.resize(classes.size() + words);
            }
            many.back()++;
            const size_t label = diverse ? size_t(y[order[t]]) : 0;
            classes[classes.size() - words + label / 64] |= u64(1) << (label % 64);
        }
    }

    void transpose() {
        column.assign(item.size() + 1, 0);
        for (i32 j : items) column[size_t(j) + 1]++;
        std::partial_sum(column.begin(), column.end(), column.begin());
        std::vector<i64> next(column.begin(), column.end() - 1);
        holders.resize(items.size());
        for (size_t i = 0; i < size(); i++)
            for (i64 t = indptr[i]; t < indptr[i + 1]; t++)
                holders[size_t(next[size_t(items[size_t(t)])]++)] = i32(i);
    }
};

struct Row {
    i32 id;
    i64 value;  // of what it has in common with the node's set
};

struct Node {
    std::vector<u64> set, classes;  // bits of the root child's items; classes of the cover
    i64 value = 0, many = 0;        // of the set; rows of its cover
    std::vector<i32> cover, passed;
    std::vector<Row> rows;  // strongest first
};

struct Best {
    i64 value, support;
    Line set;
};

class Search {
    const Rows& rows;
    const TopRule rule;
    Watch& watch;
    const Loops& loops = best_loops();
    bool flat;                  // all weights are 1
    size_t words = 0;           // of a set below the current root child
    std::vector<i32> local;     // the root child's items
    std::vector<i64> weight;    // their weights
    std::vector<u64> bits;      // what each row has of them, `words` a row
    std::vector<i64> common;    // scratch: by row, then by item
    std::vector<u64> some;
    std::vector<std::unique_ptr<Node>> nodes;

public:
    std::vector<Best> best;
    i64 visited = 0, bound = 0;

    Search(const Rows& rows, TopRule rule, Watch& watch) : rows(rows), rule(rule), watch(watch) {
        flat = std::all_of(rows.weight.begin(), rows.weight.end(), [](i64 w) { return w == 1; });
    }

    void run() {
        Node& top = node(0);
        top.classes.assign(rows.words, 0);
        for (size_t i = 0; i < rows.size(); i++) top.rows.push_back({i32(i), rows.value[i]});
        sort(top.rows);
        node(1);
        for (size_t t = first(top); t < top.rows.size(); t++) {
            if (top.rows[t].value < threshold()) break;
            bound = top.rows[t].value;
            if (ended()) return;
            if (root_child(top, t)) settle(1);
            if (watch.ended != Ended::ALL) return;
        }
        bound = 0;
    }

private:
    Node& node(size_t depth) {
        if (depth == nodes.size()) nodes.push_back(std::make_unique<Node>());
        return *nodes[depth];
    }

    static void sort(std::vector<Row>& rows) {
        std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
            return a.value > b.value || (a.value == b.value && a.id < b.id);
        });
    }

    bool ended() {
        if (++visited > rule.nodes) watch.ended = Ended::LIMIT;
        return watch.look();
    }

    i64 threshold() const {
        return std::max(rule.least, best.size() < rule.r ? 0 : best.back().value);
    }

    bool holds(i64 many, const std::vector<u64>& classes) const {
        if (many < rule.k) return false;
        i64 found = 0;
        for (u64 word : classes) found += __builtin_popcountll(word);
        return found >= rule.l;
    }

    void join(Node& at, i32 row) const {
        at.cover.push_back(row);
        at.many += rows.many[size_t(row)];
        for (size_t w = 0; w < rows.words; w++)
            at.classes[w] |= rows.classes[size_t(row) * rows.words + w];
    }

    // The first row that, with all the stronger ones, makes the cover large enough.
    size_t first(const Node& at) {
        i64 many = at.many;
        some = at.classes;
        for (size_t t = 0; t < at.rows.size(); t++) {
            const size_t id = size_t(at.rows[t].id);
            many += rows.many[id];
            for (size_t w = 0; w < rows.words; w++) some[w] |= rows.classes[id * rows.words + w];
            if (holds(many, some)) return t;
        }
        return at.rows.size();
    }

    i64 worth(const u64* set, const u64* row) const {
        if (flat) return loops.count_and(set, row, words);
        i64 sum = 0;
        for (size_t w = 0; w < words; w++)
            for (u64 both = set[w] & row[w]; both; both &= both - 1)
                sum += weight[w * 64 + size_t(__builtin_ctzll(both))];
        return sum;
    }

    bool inside(const u64* set, const u64* row) const {
        for (size_t w = 0; w < words; w++)
            if (set[w] & ~row[w]) return false;
        return true;
    }

    // The node of one row, of which everything below is a part; false if it is a copy.
    bool root_child(const Node& top, size_t t) {
        Node& at = *nodes[1];
        const size_t row = size_t(top.rows[t].id);
        local.assign(rows.items.begin() + rows.indptr[row],
                     rows.items.begin() + rows.indptr[row + 1]);
        common.assign(rows.size(), 0);
        for (i32 j : local)
            for (i64 e = rows.column[size_t(j)]; e < rows.column[size_t(j) + 1]; e++)
                common[size_t(rows.holders[size_t(e)])] += rows.weight[size_t(j)];
        at.value = top.rows[t].value;
        at.many = 0;
        at.cover.clear();
        at.passed.clear();
        at.rows.clear();
        at.classes.assign(rows.words, 0);
        join(at, i32(row));
        const i64 least = threshold();
        for (size_t b = 0; b < top.rows.size() && top.rows[b].value >= least; b++) {
            const i32 id = top.rows[b].id;
            const i64 value = common[size_t(id)];
            if (b == t || value < least) continue;
            if (b > t) at.passed.push_back(id);
            else if (value == at.value) join(at, id);
            else at.rows.push_back({id, value});
        }
        for (i32 id : at.passed)
            if (common[size_t(id)] == at.value) return false;
        lay_out(at);
        sort(at.rows);
        return true;
    }

    // Bits of the rows that matter below a root child.
    void lay_out(Node& at) {
        words = words_of(local.size());
        weight.assign(words * 64, 0);
        at.set.assign(words, 0);
        bits.assign(rows.size() * words, 0);
        for (size_t c = 0; c < local.size(); c++) {
            const size_t j = size_t(local[c]);
            weight[c] = rows.weight[j];
            at.set[c >> 6] |= u64(1) << (c & 63);
            for (i64 e = rows.column[j]; e < rows.column[j + 1]; e++)
                bits[size_t(rows.holders[size_t(e)]) * words + (c >> 6)] |= u64(1) << (c & 63);
        }
    }

    // Stores the node's set if its cover suffices; else goes on to its children.
    void settle(size_t depth) {
        Node& at = *nodes[depth];
        if (holds(at.many, at.classes)) return store(at);
        if (at.value <= threshold()) return;  // what is below is worth less
        node(depth + 1);
        for (size_t t = first(at); t < at.rows.size() && at.rows[t].value >= threshold(); t++) {
            if (ended()) return;
            if (child(at, t, *nodes[depth + 1])) settle(depth + 1);
            if (watch.ended != Ended::ALL) return;
        }
    }

    bool child(const Node& at, size_t t, Node& below) {
        const u64* row = &bits[size_t(at.rows[t].id) * words];
        below.set.resize(words);
        for (size_t w = 0; w < words; w++) below.set[w] = at.set[w] & row[w];
        const u64* set = below.set.data();
        for (size_t b = t + 1; b < at.rows.size(); b++)
            if (inside(set, &bits[size_t(at.rows[b].id) * words])) return false;
        for (i32 id : at.passed)
            if (inside(set, &bits[size_t(id) * words])) return false;
        const i64 least = threshold();
        below.value = at.rows[t].value;
        below.many = at.many;
        below.cover = at.cover;
        below.classes = at.classes;
        below.passed = at.passed;
        below.rows.clear();
        join(below, at.rows[t].id);
        for (size_t b = t + 1; b < at.rows.size(); b++)
            if (at.rows[b].value >= least) below.passed.push_back(at.rows[b].id);
        for (size_t b = 0; b < t; b++) {
            const i32 id = at.rows[b].id;
            const i64 value = worth(set, &bits[size_t(id) * words]);
            if (value == below.value) join(below, id);
            else if (value >= least) below.rows.push_back({id, value});
        }
        sort(below.rows);
        return true;
    }

    void store(const Node& at) {
        Best one{at.value, at.many, {}};
        for (size_t c = 0; c < local.size(); c++)
            if (at.set[c >> 6] >> (c & 63) & 1) one.set.push_back(local[c]);
        const auto before = [](const Best& a, const Best& b) {
            return a.value > b.value || (a.value == b.value && a.set < b.set);
        };
        if (best.size() == rule.r && !before(one, best.back())) return;
        if (!maximal(at, one.set)) return;
        best.insert(std::upper_bound(best.begin(), best.end(), one, before), one);
        if (best.size() > rule.r) best.pop_back();
    }

    // Whether no other item keeps enough of the cover.
    bool maximal(const Node& at, const Line& set) {
        if (at.many == rule.k) return true;  // it would be in all rows, hence in the set
        common.assign(rows.item.size(), 0);
        for (i32 id : at.cover)
            for (i64 t = rows.indptr[size_t(id)]; t < rows.indptr[size_t(id) + 1]; t++)
                common[size_t(rows.items[size_t(t)])] += rows.many[size_t(id)];
        for (i32 j : set) common[size_t(j)] = 0;
        for (size_t j = 0; j < common.size(); j++)
            if (common[j] >= rule.k && diverse(at, i32(j))) return false;
        return true;
    }

    bool diverse(const Node& at, i32 item) {
        some.assign(rows.words, 0);
        for (i32 id : at.cover) {
            const auto begin = rows.items.begin() + rows.indptr[size_t(id)];
            const auto end = rows.items.begin() + rows.indptr[size_t(id) + 1];
            if (!std::binary_search(begin, end, item)) continue;
            for (size_t w = 0; w < rows.words; w++)
                some[w] |= rows.classes[size_t(id) * rows.words + w];
        }
        return holds(rule.k, some);
    }
};

}  // namespace

Top top_by_rows(const Columns& columns, const i32* y, const i64* weight, TopRule rule,
                Watch& watch) {
    const Rows rows(columns, y, weight, rule);
    Search search(rows, rule, watch);
    search.run();
    Top out;
    for (const Best& one : search.best) {
        for (i32 j : one.set) out.sets.items.push_back(rows.item[size_t(j)]);
        out.sets.indptr.push_back(i64(out.sets.items.size()));
        out.sets.support.push_back(one.support);
        out.value.push_back(one.value);
    }
    out.bound = std::max(search.bound, out.value.empty() ? 0 : out.value[0]);
    out.nodes = search.visited;
    return out;
}

}  // namespace privsieve
