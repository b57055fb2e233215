// What a search over items has of its rows: their items, and tables of bits that shrink.
#pragma once
#include "mining.h"

#include <algorithm>
#include <numeric>

namespace privsieve {
namespace {

// The bits of `from` where `by` is 1, closed up: the columns that go down to a child.
inline u64 pick_slow(u64 from, u64 by) {
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

using CloseUp = void (*)(const u64*, const u64*, size_t, u64*);

// The ways that this machine has, the best first.
inline std::vector<CloseUp> close_ups() {
    std::vector<CloseUp> found;
#ifdef PRIVSIEVE_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt"))
        found.push_back(close_up_bmi2);
#endif
    found.push_back(close_up_base);
    return found;
}

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

}  // namespace
}  // namespace privsieve
