// The innermost loops, compiled once for each instruction set; the machine picks at run time.
#pragma once
#include "nearest_loops.h"

namespace privsieve {

// Rows by the bins of one column; a bin that is `alone` does not count those before it.
struct SortedRows {
    const std::uint32_t *order, *ends;  // of each bin, where its rows end
    size_t grid;
    bool alone;
};

// How a table of two columns is cut: the places in use on either side, and whether each stands alone.
struct Cuts {
    size_t grid;
    bool row_alone, column_alone;
};

constexpr size_t SIDE = 16;  // places on a side of a table

struct Loops {
    const char* name;
    bool counts_fast;  // popcount in hardware vectors: bit planes then beat every histogram
    const NearLoops& near;
    // popcount(a ^ b), popcount(a & b), popcount((a & m) ^ (b & n)) over whole words
    std::int64_t (*count_xor)(const std::uint64_t* a, const std::uint64_t* b, size_t words);
    std::int64_t (*count_and)(const std::uint64_t* a, const std::uint64_t* b, size_t words);
    std::int64_t (*count_masked)(const std::uint64_t* a, const std::uint64_t* n,
                                 const std::uint64_t* b, const std::uint64_t* m, size_t words);
    // sums[b] += popcount(a & plane b) for `many` planes, `stride` words apart
    void (*count_and_many)(const std::uint64_t* a, const std::uint64_t* b, size_t stride, size_t many,
                           size_t words, std::int64_t* sums);
    // bit i = flag[i], which is 0 or 1
    void (*pack)(const std::uint8_t* flag, size_t words, std::uint64_t* bits);
    // the tie keys of some units: mix64(key ^ mix64(unit * P ^ place))
    void (*hash)(const std::uint64_t* unit, size_t many, std::uint64_t place, std::uint64_t key,
                 std::uint64_t* out);
    // bit i = (low <= code[i] <= high), in ceil(rows / 64) words; what is past the end is 0
    void (*between)(const std::uint16_t* code, size_t rows, std::uint16_t low, std::uint16_t high,
                    std::uint64_t* bits);
    // L1 distance of two rows of codes; `kinds` as in blocks.h, or null if all are numbers
    std::uint64_t (*apart)(const std::uint16_t* a, const std::uint16_t* b,
                           const std::uint16_t* kinds, size_t many);
    // sums[j] += |x - miss| - |x - hit|, by column
    void (*lean)(const std::uint16_t* x, const std::uint16_t* const miss_hit[2],
                 const std::uint16_t* kinds, size_t many, std::int32_t* sums);
    // best[lane] = the largest sum of |cell| over four cells: both sides of a cut of the sorted
    // column, both sides of the lane's indicator.  `steps` has SIDE values for each code, `all` is
    // their sum over all rows, `sides` has the sum of each side of a cut and its absolute value.
    template <class T>
    using Sweep = void (*)(const SortedRows& rows, const std::uint16_t* code, const T* steps,
                           const T* all, const T* sides, T* best);
    Sweep<std::int16_t> sweep16;
    Sweep<std::int32_t> sweep32;
    // The largest sum of |cell| over four cells of the weighted sum of 16 x 16 tables.
    template <class T>
    using BestCells = std::int64_t (*)(const T* counts, const T* weights, size_t classes,
                                       const Cuts& cuts);
    BestCells<std::int32_t> best_cells32;
    BestCells<std::int64_t> best_cells64;
};

extern const Loops loops_base;
#ifdef PRIVSIEVE_X86
extern const Loops loops_avx2, loops_avx512;
#endif

// The sets of loops that this machine can run, the best first; returns how many.
int runnable(const Loops* found[3]);
const Loops& best_loops();

}  // namespace privsieve
