// Included once per instruction set with LOOPS, LOOPS_NAME defined; the rules of loops_body.h hold.
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

void reach(const double* __restrict row, size_t many, double* __restrict low,
           double* __restrict high) {
    for (size_t j = 0; j < many; j++) {
        low[j] = row[j] < low[j] ? row[j] : low[j];
        high[j] = row[j] > high[j] ? row[j] : high[j];
    }
}

// What a rounded number is off by: the scaled number itself has up to three roundings, and what
// is below float32 is less than 1e-40.
ALWAYS_INLINE double off(double exact, double coarse) {
    return __builtin_fabs(exact - coarse) + exact * 0x1p-50 + 1e-40;
}

// The sum over all j of part(j), a block at a time so that both loops are vectors.
template <class Part> ALWAYS_INLINE double sum_of(size_t many, Part part) {
    constexpr size_t SOME = 128;
    double total = 0;
    Doubles sums[2] = {};
    for (size_t first = 0; first < many; first += SOME) {
        const size_t some = many - first < SOME ? many - first : SOME;
        double parts[SOME];
        for (size_t j = 0; j < some; j++) parts[j] = part(first + j);
        size_t j = 0;
        for (; j + 2 * PER_WORDS <= some; j += 2 * PER_WORDS) {
            sums[0] += load<Doubles>(parts + j);
            sums[1] += load<Doubles>(parts + j + PER_WORDS);
        }
        for (; j < some; j++) total += parts[j];
    }
    const Doubles both = sums[0] + sums[1];
    for (size_t lane = 0; lane < PER_WORDS; lane++) total += both[lane];
    return total;
}

double to_bytes(const double* __restrict row, const double* __restrict low, double scale,
                size_t many, std::uint8_t* __restrict out) {
    return sum_of(many, [=](size_t j) __attribute__((always_inline)) {
        const double exact = (row[j] - low[j]) * scale;  // 255 and some last bits at the most
        const i32 coarse = i32(exact + 0.5);
        out[j] = std::uint8_t(coarse);
        return off(exact, double(coarse));
    });
}

double to_floats(const double* __restrict row, const double* __restrict low, double scale,
                 size_t many, bool squares, float* __restrict out) {
    const auto rounded = [=](size_t j) __attribute__((always_inline)) {
        const double exact = (row[j] - low[j]) * scale;
        const float coarse = float(exact);
        out[j] = coarse;
        return off(exact, double(coarse));
    };
    if (!squares) return sum_of(many, rounded);
    return sum_of(many, [=](size_t j) __attribute__((always_inline)) {
        const double one = rounded(j);
        return one * one;
    });
}

// The sum of the |differences| of each eight bytes.
ALWAYS_INLINE Words sad(Words a, Words b) {
#if defined(__AVX512BW__)
    typedef char Signed __attribute__((vector_size(64)));
    return Words(__builtin_ia32_psadbw512(Signed(a), Signed(b)));
#elif defined(__AVX2__)
    typedef char Signed __attribute__((vector_size(32)));
    return Words(__builtin_ia32_psadbw256(Signed(a), Signed(b)));
#else
    const Bytes x = Bytes(a), y = Bytes(b), above = Bytes(x > y);
    const Words d = Words((above & (x - y)) | (~above & (y - x)));
    const u64 low = 0x00FF00FF00FF00FFu;
    return (((d & low) + ((d >> 8) & low)) * 0x0001000100010001u) >> 48;
#endif
}

void bytes(const u64* panels, size_t many, size_t eights, const u64* asked, float* far,
           size_t stride) {
    constexpr size_t HALF = PANEL / 2 / PER_WORDS;  // vectors of the even rows, and of the odd
    for (size_t p = 0; p < many; p++)
        for (size_t first = 0; first < ASKED; first += BY_BYTES) {
            Words sum[BY_BYTES][2 * HALF] = {};
            const u64* from = panels + p * eights * PANEL;
            for (size_t c = 0; c < eights; c++, from += PANEL)
                for (size_t q = 0; q < BY_BYTES; q++) {
                    const Words one = asked[c * ASKED + first + q] - Words{};
                    for (size_t v = 0; v < 2 * HALF; v++)
                        sum[q][v] += sad(load<Words>(from + v * PER_WORDS), one);
                }
            for (size_t q = 0; q < BY_BYTES; q++)
                for (size_t v = 0; v < HALF; v++) {
                    const Ints both = Ints(sum[q][v] | (sum[q][HALF + v] << 32));
                    const Floats out = __builtin_convertvector(both, Floats);
                    __builtin_memcpy(far + (first + q) * stride + p * PANEL + v * PER_FLOATS, &out,
                                     sizeof out);
                }
        }
}

template <bool SQUARES> ALWAYS_INLINE Floats term(Floats a, Floats b) {
    const Floats gap = a - b;
    return SQUARES ? gap * gap : Floats(Ints(gap) & 0x7FFFFFFF);
}

template <bool SQUARES>
ALWAYS_INLINE void floats_as(const float* panels, size_t many, size_t columns, const float* asked,
                             float* far, size_t stride) {
    constexpr size_t PARTS = PANEL / PER_FLOATS;
    for (size_t p = 0; p < many; p++)
        for (size_t first = 0; first < ASKED; first += BY_FLOATS) {
            Floats total[BY_FLOATS][PARTS] = {};
            for (size_t begin = 0; begin < columns; begin += STRETCH) {
                const size_t end = columns - begin < STRETCH ? columns : begin + STRETCH;
                Floats sum[BY_FLOATS][PARTS] = {};
                for (size_t j = begin; j < end; j++) {
                    const float* from = panels + (p * columns + j) * PANEL;
                    for (size_t q = 0; q < BY_FLOATS; q++) {
                        const Floats one = asked[j * ASKED + first + q] - Floats{};
                        for (size_t v = 0; v < PARTS; v++)
                            sum[q][v] += term<SQUARES>(load<Floats>(from + v * PER_FLOATS), one);
                    }
                }
                for (size_t q = 0; q < BY_FLOATS; q++)
                    for (size_t v = 0; v < PARTS; v++) total[q][v] += sum[q][v];
            }
            for (size_t q = 0; q < BY_FLOATS; q++)
                __builtin_memcpy(far + (first + q) * stride + p * PANEL, total[q], sizeof total[q]);
        }
}

void floats(const float* panels, size_t many, size_t columns, const float* asked, bool squares,
            float* far, size_t stride) {
    squares ? floats_as<true>(panels, many, columns, asked, far, stride)
            : floats_as<false>(panels, many, columns, asked, far, stride);
}

// Each lane keeps its smallest and where it was; floats that are not negative are in the order of
// their bits.
struct Lowest {
    Ints low = 0x7FFFFFFF - Ints{}, at = Ints{};
    ALWAYS_INLINE void see(Ints next, Ints places) {
        const Ints less = next < low;
        low = (less & next) | (~less & low);
        at = (less & places) | (~less & at);
    }
};

size_t lowest(const float* far, size_t many) {
    constexpr size_t AT_ONCE = 4;
    Lowest of[AT_ONCE];
    Ints places = {};
    size_t k = 0;
    for (; k + AT_ONCE * PER_FLOATS <= many; k += AT_ONCE * PER_FLOATS)
        for (size_t v = 0; v < AT_ONCE; v++, places += 1)
            of[v].see(load<Ints>(far + k + v * PER_FLOATS), places);
    for (; k + PER_FLOATS <= many; k += PER_FLOATS, places += 1)
        of[0].see(load<Ints>(far + k), places);
    for (size_t v = 1; v < AT_ONCE; v++) of[0].see(of[v].low, of[v].at);
    i32 best = 0x7FFFFFFF;
    size_t found = 0;
    for (size_t lane = 0; lane < PER_FLOATS; lane++)
        if (of[0].low[lane] < best)
            best = of[0].low[lane], found = size_t(of[0].at[lane]) * PER_FLOATS + lane;
    for (; k < many; k++) {
        i32 bits;
        __builtin_memcpy(&bits, far + k, sizeof bits);
        if (bits < best) best = bits, found = k;
    }
    return found;
}

template <bool SQUARES>
ALWAYS_INLINE size_t within_as(const float* far, const float* wide, size_t many, float base,
                               i32 from, i32* found) {
    constexpr size_t SOME = 64, FEW = 16;
    size_t out = 0;
    const auto inside = [&](size_t k) __attribute__((always_inline)) {
        const float bound = base + wide[k];
        return far[k] <= (SQUARES ? bound * bound : bound);
    };
    const auto take = [&](size_t first, size_t last) __attribute__((always_inline)) {
        for (size_t k = first; k < last; k++) {
            found[out] = from + i32(k);
            out += inside(k);
        }
    };
    size_t first = 0;
    for (; first + SOME <= many; first += SOME) {  // most stretches hold none
        i32 any = 0;
        for (size_t k = 0; k < SOME; k++) any |= inside(first + k);
        if (!any) continue;
        for (size_t few = first; few < first + SOME; few += FEW) {
            any = 0;
            for (size_t k = 0; k < FEW; k++) any |= inside(few + k);
            if (any) take(few, few + FEW);
        }
    }
    take(first, many);
    return out;
}

size_t within(const float* far, const float* wide, size_t many, float base, bool squares,
              i32 from, i32* found) {
    return squares ? within_as<true>(far, wide, many, base, from, found)
                   : within_as<false>(far, wide, many, base, from, found);
}

template <bool SQUARES>
ALWAYS_INLINE double apart_as(const double* a, const double* b, size_t many) {
    constexpr size_t AT_ONCE = 4;
    typedef std::int64_t Longs __attribute__((vector_size(WIDTH)));
    Doubles sum[AT_ONCE] = {};
    size_t j = 0;
    for (; j + AT_ONCE * PER_WORDS <= many; j += AT_ONCE * PER_WORDS)
        for (size_t v = 0; v < AT_ONCE; v++) {
            const Doubles gap = load<Doubles>(a + j + v * PER_WORDS) -
                                load<Doubles>(b + j + v * PER_WORDS);
            sum[v] += SQUARES ? gap * gap : Doubles(Longs(gap) & 0x7FFFFFFFFFFFFFFF);
        }
    for (; j + PER_WORDS <= many; j += PER_WORDS) {
        const Doubles gap = load<Doubles>(a + j) - load<Doubles>(b + j);
        sum[0] += SQUARES ? gap * gap : Doubles(Longs(gap) & 0x7FFFFFFFFFFFFFFF);
    }
    if (j < many) {  // the rest is a vector with zeros behind it
        double gaps[PER_WORDS] = {};
        for (size_t k = 0; j + k < many; k++) gaps[k] = a[j + k] - b[j + k];
        const Doubles gap = load<Doubles>(gaps);
        sum[1] += SQUARES ? gap * gap : Doubles(Longs(gap) & 0x7FFFFFFFFFFFFFFF);
    }
    const Doubles all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    double total = 0;
    for (size_t lane = 0; lane < PER_WORDS; lane++) total += all[lane];
    return total;
}

double apart(const double* a, const double* b, size_t many, bool squares) {
    return squares ? apart_as<true>(a, b, many) : apart_as<false>(a, b, many);
}

}  // namespace

extern const NearLoops LOOPS = {LOOPS_NAME, reach,  to_bytes, to_floats, bytes,
                                floats,     lowest, within,   apart};

}  // namespace privsieve
