// Sets of items by the rows that each of their patterns covers: what the exact search works on.
#pragma once
#include "patterns.h"

namespace privsieve::exact {

using pattern::i32;
using pattern::Items;
using pattern::Rule;

// A set of columns.  A pattern that rows show has a cover: the rows that hold all of it, and lack
// what it lacks of columns whose absence is known.
struct State {
    std::vector<u32> columns;
    std::vector<u64> cover;    // by pattern, one bit a row
    std::vector<u32> pattern;  // by row
    std::vector<u32> size;     // rows by pattern
    std::vector<u8> out;       // by pattern (and class, if known): whether its rows are left out
    std::vector<i64> counts;   // table rows by pattern and class, where pairs are counted
    i64 left_out = 0;          // table rows
    size_t many() const { return size.size(); }
};

// The table as the search sees it: columns that can be chosen, equal ones as one, heaviest first;
// and rows that are equal on all of them as one row with a count, most frequent first.
class Covers {
  public:
    struct Column {
        i64 weight;
        bool absent;
        std::vector<u32> rows;
        std::vector<i64> items;
    };
    std::vector<Column> columns;

    Covers(const Items& items, const i64* weights, const Rule& rule);
    bool root(State& s) const;                             // false: not even the empty set keeps
    bool keeps(const State& s, u32 x) const;
    bool add(const State& s, u32 x, State& next) const;    // false: too many rows would be left out
    i64 gain(const State& s, u32 x) const;
    i64 most() const { return pairs_only ? pairs : sum; }  // no set is worth more
    i64 cost(const State& s) const { return i64(s.many() * words) + 1; }
    bool counts_pairs() const { return pairs_only; }

  private:
    enum class Fill { none, few, enough };
    Rule rule;
    const bool pairs_only;
    size_t rows = 0, words = 0;
    i64 pairs = 0, sum = 0;
    std::vector<i64> count;              // table rows by row
    std::vector<u32> label;
    std::vector<u64> bits, large, plane, classes;
    std::vector<u8> depth;               // planes that a word needs

    void collect(const Items& items, const i64* weights);
    void shrink(const Items& items);
    void lay_out();
    template <bool INVERSE> Fill fill(const u64* cover, const u64* column) const;
    template <bool INVERSE> Fill fill_classes(const u64* cover, const u64* column) const;
    template <bool INVERSE> bool diverse(const u64* cover, const u64* column) const;
    bool stays(const u64* cover, size_t kind) const;
    i64 at_word(u64 z, size_t a) const;
    const u64* nothing() const { return bits.data() + columns.size() * words; }
    size_t kinds() const { return rule.labelled ? rule.classes : 1; }
    size_t out_at(const State& s, u32 r) const {
        return s.pattern[r] * kinds() + label[r] % kinds();
    }
    void tally(State& s) const;
    bool peel(State& s) const;
    bool wasted(const State& s) const;
};

// Whether to end, told how many sets were looked at and the best value.
using Late = std::function<bool(i64 nodes, i64 best)>;

struct Found {
    std::vector<i64> selected;
    i64 value, bound;  // -1 if not even the empty set keeps the rule
    bool proved;
    i64 nodes;
};

// Without weights it counts pairs.  It ends after `most` nodes (0: no limit), or when `late` is true.
Found search(const Items& items, const i64* weights, const Rule& rule, const std::vector<i64>& start,
             i64 most, const Late& late);

}  // namespace privsieve::exact
