// Patterns of the rows on the items accepted so far, and what one more item does to them.
#pragma once
#include "arrays.h"

#include <functional>
#include <vector>

namespace privsieve::pattern {

using i32 = std::int32_t;

// Items by the rows that hold them, and the class of each row.
struct Items {
    const i64* indptr;
    const i32* indices;
    size_t many;
    const i32* label;
    size_t rows;
    i64 support(size_t item) const { return indptr[item + 1] - indptr[item]; }
};

// What `Rule` says in patterns.py; labels from `classes` on are hidden from scores.
struct Rule {
    i64 k, diversity, suppress;
    size_t classes, codes;
    bool skip, equal, labelled;
    const u8* absent;
};

// A table of patterns: bits of W words each, rows per code.
struct Bits {
    const u64* masks;
    size_t many, words;
    const i64* counts;
    size_t codes;
};

// Patterns that are asked for, and how many rows stand for each.
struct Asked {
    const u64* masks;
    size_t many;
    const i64* rows;
};

struct Patterns {
    size_t many = 0;           // patterns
    std::vector<u32> touched;  // those of them with rows of the item that was counted last
    std::vector<u32> code;     // of each row: its pattern, then its label in the lowest bits
    std::vector<u32> whole;    // rows by pattern and label
    std::vector<u32> inside;   // those of them that hold the item
    std::vector<u32> size;     // rows by pattern
    std::vector<u32> part;     // those of them that hold the item
    std::vector<u64> masks;
    size_t words = 1, bits = 0;
    unsigned shift = 0;        // bits of a label

    Patterns(const Items& items, const Rule& rule);
    void count(size_t item);
    void forget();
    bool keeps(size_t item);         // whether the rule holds with the item that was counted
    void accept(size_t item);        // the item that was counted is in
    i64 told_apart() const;          // pairs that the item that was counted would tell apart
    i64 more_errors() const;         // what it would add to the classification errors
    bool hopeless(size_t item) const;
    const u64* mask(size_t p) const { return masks.data() + p * words; }

  private:
    struct Share {  // a pattern's rows on one side of the item that was counted
        u32 pattern, rows;
    };
    struct Need {  // what the groups on a side must have; of one class, or of all
        i64 k, diversity;
        size_t label;
    };
    static constexpr size_t ALL = ~size_t(0);
    const Items items;
    const Rule rule;
    const size_t seen_words;    // of a set of classes
    std::vector<Share> shares;
    std::vector<u64> side;      // masks of the shares, side by side
    std::vector<u64> seen;      // their classes, as bits
    std::vector<u64> join;
    std::vector<u32> next;

    void room(size_t patterns, size_t more_bits);
    void set(size_t p, size_t bit) { masks[p * words + bit / 64] |= u64(1) << bit % 64; }
    u32 rows_of(size_t p, size_t label, bool held) const {
        const size_t at = p << shift | label;
        return held ? inside[at] : whole[at] - inside[at];
    }
    u32 rows_of_class(size_t p, size_t c, bool held) const {  // hidden labels, too
        u32 found = 0;
        for (; c < rule.codes; c += rule.classes) found += rows_of(p, c, held);
        return found;
    }
    void split(size_t p, bool held, size_t label);
    size_t distinct(const u64* classes) const;
    bool covered(bool held);
    bool covered(bool held, const Need& need);
    bool lone(i64 k) const;
    size_t ones(const Share& one) const;
    bool enough(size_t a, const Need& need);
    i64 alone(size_t p, bool held) const;
    bool alone_keeps();
    bool suppressed_keeps(bool both);
    i64 errors(size_t p, bool held) const;
};

bool keeps_nothing(const Items& items, const Rule& rule);
void class_counts(const Items& items, size_t classes, i64* out);
// Whether the user has had enough: asked at each candidate; what was accepted by then is given.
using Stop = std::function<bool()>;
std::vector<i64> greedy(const Items& items, const i64* order, size_t many, const Rule& rule,
                        const Stop& stop);
std::vector<i64> lazy_distinct(const Items& items, const i64* candidates, size_t many,
                               const std::vector<i64>& prefix, const Rule& rule, const Stop& stop);
std::vector<i64> class_errors(const Items& items, const i64* candidates, size_t many,
                              const std::vector<i64>& prefix, const Rule& rule, const Stop& stop);
// over: counts of all patterns that contain an asked one.  under, or null: rows of those inside.
void around(const Asked& asked, const Bits& table, i64* over, i64* under, const Stop& stop);
void superset_counts(const Bits& table, i64* out);
i64 peel(const Bits& table, const Rule& rule, u8* stays);  // by pattern and code

}  // namespace privsieve::pattern
