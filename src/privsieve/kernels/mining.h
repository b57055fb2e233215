// Maximal sets of items.  Their meaning is said in `mining.py`, once.
#pragma once
#include "arrays.h"

#include <chrono>
#include <vector>

namespace privsieve {

using i32 = std::int32_t;

inline size_t words_of(size_t bits) { return (bits + 63) / 64; }

// The rows that hold item j are indices[indptr[j] .. indptr[j + 1]), increasing.
struct Columns {
    const i64* indptr;
    const i32* indices;
    size_t items, rows;
    i64 support(size_t j) const { return indptr[j + 1] - indptr[j]; }
};

enum class Ended : int { ALL = 0, LIMIT = 1, INTERRUPTED = 2 };

// Says when to end early.  It is asked often, reads the clock seldom, and asks `interrupted`,
// which needs the interpreter, some twenty times a second.
class Watch {
    using Clock = std::chrono::steady_clock;
    Clock::time_point end, next;
    bool (*interrupted)();
    unsigned asked = 0;

public:
    Ended ended = Ended::ALL;
    Watch(double seconds, bool (*interrupted)())  // no limit below 0
        : end(Clock::time_point::max()), next(Clock::now()), interrupted(interrupted) {
        if (seconds >= 0) end = next + std::chrono::microseconds(i64(seconds * 1e6));
    }
    bool look() {
        if (ended != Ended::ALL) return true;
        if (++asked % 64) return false;
        const Clock::time_point now = Clock::now();
        if (now >= end) ended = Ended::LIMIT;
        if (now < next) return ended != Ended::ALL;
        next = now + std::chrono::milliseconds(50);
        if (interrupted()) ended = Ended::INTERRUPTED;
        return ended != Ended::ALL;
    }
};

// The ways to close up a line of bits that this machine has, the best first.
using CloseUp = void (*)(const u64*, const u64*, size_t, u64*);
std::vector<CloseUp> close_ups();

// Sets one after the other: set s is items[indptr[s] .. indptr[s + 1]).
struct Sets {
    std::vector<i64> indptr{0}, support;
    std::vector<i32> items;
    size_t size() const { return support.size(); }
};

// Every maximal set of support >= k, in lexicographic order; more than `cap` end it (LIMIT).
Sets all_maximal(const Columns& columns, i64 k, size_t cap, Watch& watch);

struct TopRule {
    i64 k, l;  // a set's rows must be at least k, and of at least l classes
    size_t r;
    i64 nodes, least;  // nodes to look at; sets that are worth less are not asked for
};

struct Top {
    Sets sets;
    std::vector<i64> value;
    i64 bound, nodes;  // no set is worth more than `bound`
};

// The r maximal sets of largest weight, the largest first.
Top top_by_rows(const Columns& columns, const i32* y, const i64* weight, TopRule rule,
                Watch& watch);
Top top_by_items(const Columns& columns, const i64* weight, TopRule rule, Watch& watch);

}  // namespace privsieve
