// Included once per instruction set with LOOPS, LOOPS_NAME defined.  Everything has internal
// linkage and no library header with inline functions is used: a function compiled for a newer
// machine must never be linked in for an older one.
#include "loops.h"
#include "nearest_body.h"

namespace privsieve {
namespace {

using u16 = std::uint16_t;

#ifdef __AVX512VPOPCNTDQ__
constexpr bool COUNTS_FAST = true;  // the compiler counts eight words with one instruction
#else
constexpr bool COUNTS_FAST = false;
#endif

// The bits of all words at(i, its type): as vectors, and the rest word by word.
template <class At> ALWAYS_INLINE std::int64_t ones_of(size_t words, At at) {
    Words vectors = {};
    u64 sum = 0;
    size_t i = 0;
    for (; !COUNTS_FAST && i + PER_WORDS <= words; i += PER_WORDS) vectors += count(at(i, Words{}));
    for (; i < words; i++) sum += u64(__builtin_popcountll(at(i, u64())));
    for (size_t lane = 0; lane < PER_WORDS; lane++) sum += vectors[lane];
    return std::int64_t(sum);
}
#define ONES_OF(words, expression)                                                \
    ones_of(words, [=](size_t i, auto type) __attribute__((always_inline)) {      \
        const auto at = [i](const u64* from) __attribute__((always_inline)) {     \
            return load<decltype(type)>(from + i);                                \
        };                                                                        \
        return expression;                                                        \
    })

std::int64_t count_xor(const u64* a, const u64* b, size_t words) {
    return ONES_OF(words, at(a) ^ at(b));
}

std::int64_t count_and(const u64* a, const u64* b, size_t words) {
    return ONES_OF(words, at(a) & at(b));
}

std::int64_t count_masked(const u64* a, const u64* n, const u64* b, const u64* m, size_t words) {
    return ONES_OF(words, (at(a) & at(m)) ^ (at(b) & at(n)));
}

// Planes are counted N at a time: one load of `a` and one wait for the sums serve all of them.
template <int N>
ALWAYS_INLINE void count_and_some(const u64* a, const u64* b, size_t stride, size_t words,
                                  std::int64_t* sums) {
    u64 sum[N] = {};
    for (size_t i = 0; i < words; i++)
        for (int k = 0; k < N; k++)
            sum[k] += u64(__builtin_popcountll(a[i] & b[size_t(k) * stride + i]));
    for (int k = 0; k < N; k++) sums[k] += std::int64_t(sum[k]);
}

void count_and_many(const u64* a, const u64* b, size_t stride, size_t many, size_t words,
                    std::int64_t* sums) {
    size_t k = 0;
    for (; COUNTS_FAST && k + 4 <= many; k += 4)
        count_and_some<4>(a, b + k * stride, stride, words, sums + k);
    if (COUNTS_FAST && many - k == 3) count_and_some<3>(a, b + k * stride, stride, words, sums + k);
    else
        for (; k < many; k++) sums[k] += count_and(a, b + k * stride, words);
}

// Eight bytes of 0 or 1 become eight bits: the product moves byte k to bit 56 + k.
ALWAYS_INLINE u64 gather(const unsigned char* flag) {
    u64 bits = 0;
    for (int k = 0; k < 8; k++) {
        u64 bytes;
        __builtin_memcpy(&bytes, flag + 8 * k, 8);
        bits |= ((bytes * 0x0102040810204080u) >> 56) << (8 * k);
    }
    return bits;
}

void pack(const std::uint8_t* flag, size_t words, u64* bits) {
    for (size_t w = 0; w < words; w++) bits[w] = gather(flag + 64 * w);
}

ALWAYS_INLINE u64 mixed(u64 z) {
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

void hash(const u64* unit, size_t many, u64 place, u64 key, u64* out) {
    for (size_t i = 0; i < many; i++) out[i] = mixed(key ^ mixed(unit[i] * 0x100000001b3u ^ place));
}

void between(const u16* code, size_t rows, u16 low, u16 high, u64* bits) {
    const u16 span = u16(high - low);
    unsigned char flag[64];
    size_t i = 0;
    for (; i + 64 <= rows; i += 64) {
        for (int k = 0; k < 64; k++) flag[k] = u16(code[i + size_t(k)] - low) <= span;
        *bits++ = gather(flag);
    }
    if (i == rows) return;
    u64 last = 0;
    for (size_t k = i; k < rows; k++) last |= u64(u16(code[k] - low) <= span) << (k - i);
    *bits = last;
}

// How far two codes are apart.  `level` and `top` are 0 or 65535, by column: in a column with
// `level` any two codes are all of the grid apart, in one with `top` code 65535 is, from any other.
template <bool PLAIN> ALWAYS_INLINE u16 gap(u16 a, u16 b, u16 level, u16 top) {
    const u16 high = a > b ? a : b, low = a > b ? b : a;
    if (PLAIN) return u16(high - low);
    const u16 other = a != b ? 65535 : 0, end = high == 65535 ? 65535 : 0;
    return u16(u16(high - low) | (other & (level | (top & end))));
}

template <bool PLAIN>
ALWAYS_INLINE u64 apart_as(const u16* a, const u16* b, const u16* kinds, size_t many) {
    u64 total = 0;
    for (size_t first = 0; first < many; first += 65536) {  // a 32-bit sum cannot overflow
        const size_t last = many - first < 65536 ? many : first + 65536;
        std::uint32_t sum = 0;
        for (size_t j = first; j < last; j++)
            sum += gap<PLAIN>(a[j], b[j], PLAIN ? 0 : kinds[j], PLAIN ? 0 : kinds[many + j]);
        total += sum;
    }
    return total;
}

u64 apart(const u16* a, const u16* b, const u16* kinds, size_t many) {
    return kinds ? apart_as<false>(a, b, kinds, many) : apart_as<true>(a, b, kinds, many);
}

template <bool PLAIN>
ALWAYS_INLINE void lean_as(const u16* x, const u16* const miss_hit[2], const u16* kinds,
                           size_t many, std::int32_t* sums) {
    const u16 *miss = miss_hit[0], *hit = miss_hit[1];
    for (size_t j = 0; j < many; j++) {
        const u16 level = PLAIN ? 0 : kinds[j], top = PLAIN ? 0 : kinds[many + j];
        sums[j] += std::int32_t(gap<PLAIN>(x[j], miss[j], level, top)) -
                   std::int32_t(gap<PLAIN>(x[j], hit[j], level, top));
    }
}

void lean(const u16* x, const u16* const miss_hit[2], const u16* kinds, size_t many,
          std::int32_t* sums) {
    kinds ? lean_as<false>(x, miss_hit, kinds, many, sums)
          : lean_as<true>(x, miss_hit, kinds, many, sums);
}

// Some vectors of 256 bits, side by side.  Halves, not an array: they stay in registers.
template <class T, size_t MANY> struct Side {
    Side<T, MANY / 2> low, high;

    static ALWAYS_INLINE Side all(T x) { return {low_of::all(x), low_of::all(x)}; }
    static ALWAYS_INLINE Side load(const T* from) {
        return {low_of::load(from), low_of::load(from + low_of::LANES)};
    }
    ALWAYS_INLINE void store(T* to) const { low.store(to), high.store(to + low_of::LANES); }
    ALWAYS_INLINE Side operator+(Side y) const { return {low + y.low, high + y.high}; }
    ALWAYS_INLINE Side operator-(Side y) const { return {low - y.low, high - y.high}; }
    ALWAYS_INLINE Side larger(Side y) const { return {low.larger(y.low), high.larger(y.high)}; }

    typedef Side<T, MANY / 2> low_of;
    static constexpr size_t LANES = 2 * low_of::LANES;
};

template <class T> struct Side<T, 1> {
    typedef T V __attribute__((vector_size(32)));
    static constexpr size_t LANES = 32 / sizeof(T);
    V one;

    static ALWAYS_INLINE Side all(T x) { return {V{} + x}; }
    static ALWAYS_INLINE Side load(const T* from) {
        Side found;
        __builtin_memcpy(&found.one, from, sizeof found.one);
        return found;
    }
    ALWAYS_INLINE void store(T* to) const { __builtin_memcpy(to, &one, sizeof one); }
    ALWAYS_INLINE Side operator+(Side y) const { return {one + y.one}; }
    ALWAYS_INLINE Side operator-(Side y) const { return {one - y.one}; }
    ALWAYS_INLINE Side larger(Side y) const { return {one > y.one ? one : y.one}; }
};

template <class T, size_t LANES> using Lanes32 = Side<T, LANES * sizeof(T) / 32>;

// |a| + |b| = max(|a + b|, |a - b|): the two cells on one side of a bound.
template <class S> ALWAYS_INLINE S both(S a, S b) {
    const S apart = a - b, sum = a + b, none = a - a;
    return apart.larger(none - apart).larger(sum.larger(none - sum));
}

// The same of a cell and the rest of its side, of which the sum and its size are known.
template <class S, class T> ALWAYS_INLINE S cells(S cell, const T* side) {
    const S apart = cell - (S::all(side[0]) - cell), none = cell - cell;
    return apart.larger(none - apart).larger(S::all(side[1]));
}

// No value on the way passes the sum of all rows' |weights|, which fits: each is of disjoint cells.
template <class T>
void sweep(const SortedRows& rows, const u16* code, const T* steps, const T* all,
                         const T* sides, T* best) {
    typedef Lanes32<T, SIDE> S;
    S sum = S::all(0), top = sum;
    const S inside = S::load(all);
    std::uint32_t i = 0;
    for (size_t a = 0; a + 1 < rows.grid; a++, sides += 4) {
        if (rows.alone) sum = S::all(0);
        for (; i < rows.ends[a]; i++) sum = sum + S::load(steps + SIDE * code[rows.order[i]]);
        const S rest = inside - sum;
        top = top.larger(cells(sum, sides) + cells(rest, sides + 2));
    }
    top.store(best);
}

// Bins of 16 places to indicators: sums up to a place, or places by themselves; the last is all.
template <class T> ALWAYS_INLINE void along(T* row, size_t grid, bool nominal) {
    T sum = 0;
    for (size_t b = 0; b < SIDE; b++) {
        sum += row[b];
        row[b] = !nominal ? sum : b + 1 < grid ? row[b] : 0;
    }
    row[SIDE - 1] = sum;
}

template <class T> ALWAYS_INLINE void across(T* table, size_t grid, bool nominal) {
    typedef Lanes32<T, SIDE> S;
    S sum = S::all(0);
    for (size_t a = 0; a < SIDE; a++) {
        T* row = table + a * SIDE;
        sum = sum + S::load(row);
        if (!nominal || a + 1 == SIDE) sum.store(row);
        else if (a + 1 >= grid) S::all(0).store(row);
    }
}

template <class T>
std::int64_t best_cells(const T* counts, const T* weights, size_t classes,
                                      const Cuts& cuts) {
    typedef Lanes32<T, SIDE> S;
    constexpr size_t PLACES = SIDE * SIDE;
    T q[PLACES] = {}, tops[SIDE];
    for (size_t c = 0; c < classes; c++)
        for (size_t k = 0; k < PLACES; k++) q[k] += counts[c * PLACES + k] * weights[c];
    for (size_t a = 0; a < cuts.grid; a++) along(q + a * SIDE, cuts.grid, cuts.column_alone);
    across(q, cuts.grid, cuts.row_alone);
    const T* last = q + PLACES - SIDE;
    const S inside = S::load(last), whole = S::all(last[SIDE - 1]);
    S top = S::all(0);
    for (size_t a = 0; a < cuts.grid; a++) {
        const T* row = a + 1 < cuts.grid ? q + a * SIDE : last;
        const S here = S::load(row), below = S::all(row[SIDE - 1]), rest = inside - here;
        top = top.larger(both(here, below - here) + both(rest, whole - below - rest));
    }
    top.store(tops);
    T best = 0;
    for (const T one : tops) best = one > best ? one : best;
    return best;
}

}  // namespace

extern const Loops LOOPS = {LOOPS_NAME, COUNTS_FAST, near, count_xor, count_and, count_masked,
                            count_and_many, pack, hash, between, apart, lean,
                            sweep<std::int16_t>, sweep<std::int32_t>,
                            best_cells<std::int32_t>, best_cells<std::int64_t>};

}  // namespace privsieve
