// The innermost loops, compiled once for each instruction set; the machine picks at run time.
#pragma once
#include <cstddef>
#include <cstdint>

namespace privsieve {

struct Loops {
    const char* name;
    bool counts_fast;  // popcount in hardware vectors: bit planes then beat every histogram
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
    // how many codes are below `bound`
    std::int64_t (*count_below)(const std::uint16_t* code, size_t rows, std::uint16_t bound);
    // bit i = (low <= code[i] <= high), in ceil(rows / 64) words; what is past the end is 0
    void (*between)(const std::uint16_t* code, size_t rows, std::uint16_t low, std::uint16_t high,
                    std::uint64_t* bits);
    // L1 distance of two rows of codes; `kinds` as in blocks.h, or null if all are numbers
    std::uint64_t (*apart)(const std::uint16_t* a, const std::uint16_t* b,
                           const std::uint16_t* kinds, size_t many);
    // sums[j] += |x - miss| - |x - hit|, by column
    void (*lean)(const std::uint16_t* x, const std::uint16_t* const miss_hit[2],
                 const std::uint16_t* kinds, size_t many, std::int32_t* sums);
};

extern const Loops loops_base;
#ifdef PRIVSIEVE_X86
extern const Loops loops_avx2, loops_avx512;
#endif

// The sets of loops that this machine can run, the best first; returns how many.
int runnable(const Loops* found[3]);
const Loops& best_loops();

}  // namespace privsieve
