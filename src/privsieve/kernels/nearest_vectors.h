// Vectors that compare to bits, add differences of bytes and count bits, which loops do not become.
#pragma once
#include "nearest_loops.h"

namespace privsieve {
namespace {

using u64 = std::uint64_t;
using i32 = std::int32_t;
#define ALWAYS_INLINE inline __attribute__((always_inline))

// How wide a vector is, and how many rows are looked up at once: their sums stay in registers.
#if defined(__AVX512BW__)
constexpr size_t WIDTH = 64, BY_BYTES = 8, BY_FLOATS = 8;
#elif defined(__AVX2__)
constexpr size_t WIDTH = 32, BY_BYTES = 2, BY_FLOATS = 4;
#else
constexpr size_t WIDTH = 16, BY_BYTES = 1, BY_FLOATS = 2;
#endif

typedef unsigned char Bytes __attribute__((vector_size(WIDTH)));
typedef u64 Words __attribute__((vector_size(WIDTH)));
typedef i32 Ints __attribute__((vector_size(WIDTH)));
typedef float Floats __attribute__((vector_size(WIDTH)));
typedef double Doubles __attribute__((vector_size(WIDTH)));
constexpr size_t PER_WORDS = WIDTH / 8, PER_FLOATS = WIDTH / 4;

template <class V, class T> ALWAYS_INLINE V load(const T* from) {
    V v;
    __builtin_memcpy(&v, from, sizeof v);
    return v;
}

// Bit l says whether a <= b in lane l.
#if defined(__AVX512BW__)
ALWAYS_INLINE u64 at_most(Floats a, Floats b) {
    return std::uint16_t(__builtin_ia32_cmpps512_mask(a, b, 2, -1, 4));
}
ALWAYS_INLINE u64 equal(Doubles a, Doubles b) {
    return std::uint8_t(__builtin_ia32_cmppd512_mask(a, b, 0, -1, 4));
}
#elif defined(__AVX2__)
ALWAYS_INLINE u64 at_most(Floats a, Floats b) {
    return u64(__builtin_ia32_movmskps256(Floats(a <= b)));
}
ALWAYS_INLINE u64 equal(Doubles a, Doubles b) {
    return u64(__builtin_ia32_movmskpd256(Doubles(a == b)));
}
#elif defined(__SSE2__)
ALWAYS_INLINE u64 at_most(Floats a, Floats b) {
    return u64(__builtin_ia32_movmskps(Floats(a <= b)));
}
ALWAYS_INLINE u64 equal(Doubles a, Doubles b) {
    return u64(__builtin_ia32_movmskpd(Doubles(a == b)));
}
#else
template <class V> ALWAYS_INLINE u64 bits_of(V truth, size_t lanes) {
    u64 bits = 0;
    for (size_t l = 0; l < lanes; l++) bits |= u64(truth[l] & 1) << l;
    return bits;
}
ALWAYS_INLINE u64 at_most(Floats a, Floats b) { return bits_of(a <= b, PER_FLOATS); }
ALWAYS_INLINE u64 equal(Doubles a, Doubles b) { return bits_of(a == b, PER_WORDS); }
#endif

// The sum of the |differences| of each eight bytes.
ALWAYS_INLINE Words sad(Words a, Words b) {
#if defined(__AVX512BW__)
    typedef char Signed __attribute__((vector_size(64)));
    return Words(__builtin_ia32_psadbw512(Signed(a), Signed(b)));
#elif defined(__AVX2__)
    typedef char Signed __attribute__((vector_size(32)));
    return Words(__builtin_ia32_psadbw256(Signed(a), Signed(b)));
#elif defined(__SSE2__)
    typedef char Signed __attribute__((vector_size(16)));
    return Words(__builtin_ia32_psadbw128(Signed(a), Signed(b)));
#else
    const Bytes x = Bytes(a), y = Bytes(b), above = Bytes(x > y);
    const Words d = Words((above & (x - y)) | (~above & (y - x)));
    const u64 low = 0x00FF00FF00FF00FFu;
    return (((d & low) + ((d >> 8) & low)) * 0x0001000100010001u) >> 48;
#endif
}

// The bits that are set, of each word.
ALWAYS_INLINE Words count(Words v) {
#if defined(__AVX512VPOPCNTDQ__)
    for (size_t l = 0; l < PER_WORDS; l++) v[l] = u64(__builtin_popcountll(v[l]));
    return v;
#elif defined(__AVX2__)
    typedef char Signed __attribute__((vector_size(32)));
    const Signed of_four = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
                            0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
    const u64 low = 0x0F0F0F0F0F0F0F0Fu;
    return sad(Words(__builtin_ia32_pshufb256(of_four, Signed(v & low)) +
                     __builtin_ia32_pshufb256(of_four, Signed((v >> 4) & low))),
               Words{});
#else
    v -= (v >> 1) & 0x5555555555555555u;
    v = (v & 0x3333333333333333u) + ((v >> 2) & 0x3333333333333333u);
    return sad((v + (v >> 4)) & 0x0F0F0F0F0F0F0F0Fu, Words{});
#endif
}

}  // namespace
}  // namespace privsieve
