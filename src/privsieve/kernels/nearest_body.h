// Included by loops_body.h, whose rules hold.
#include "nearest_vectors.h"

namespace privsieve {
namespace {

bool reach(const double* __restrict row, size_t many, double most, double* __restrict low,
           double* __restrict high) {
    i32 wrong = 0;
    for (size_t j = 0; j < many; j++) {
        low[j] = row[j] < low[j] ? row[j] : low[j];
        high[j] = row[j] > high[j] ? row[j] : high[j];
        wrong |= !(__builtin_fabs(row[j]) <= most);
    }
    return !wrong;
}

bool ones(const double* __restrict row, size_t many, u64* __restrict bits) {
    bool taken = true;
    size_t j = 0;
    for (; j + 64 <= many; j += 64) {
        u64 word = 0, zeros = 0;
        for (size_t l = 0; l < 64; l += PER_WORDS) {
            const Doubles x = load<Doubles>(row + j + l);
            word |= equal(x, Doubles{} + 1) << l;
            zeros |= equal(x, Doubles{}) << l;
        }
        bits[j / 64] = word;
        taken &= (word | zeros) == ~u64(0);
    }
    for (; j < many; j++) {
        bits[j / 64] |= u64(row[j] == 1) << j % 64;
        taken &= row[j] == 0 || row[j] == 1;
    }
    return taken;
}

// What a rounded number is off by: the scaled number itself has up to three roundings, and what
// is below float32 is less than 1e-40.
ALWAYS_INLINE double off(double exact, double coarse) {
    return __builtin_fabs(exact - coarse) + __builtin_fabs(exact) * 0x1p-50 + 1e-40;
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
        return __builtin_fabs(exact - double(coarse));
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

// part(panel's word, asked word), added up over all words.
template <class Part>
ALWAYS_INLINE void sums(const u64* panels, size_t many, size_t words, const u64* asked, float* far,
                        Part part) {
    constexpr size_t HALF = PANEL / 2 / PER_WORDS;  // vectors of the even rows, and of the odd
    const size_t stride = many * PANEL;
    for (size_t p = 0; p < many; p++)
        for (size_t first = 0; first < ASKED; first += BY_BYTES) {
            Words sum[BY_BYTES][2 * HALF] = {};
            const u64* from = panels + p * words * PANEL;
            for (size_t c = 0; c < words; c++, from += PANEL)
                for (size_t q = 0; q < BY_BYTES; q++) {
                    const Words one = asked[c * PANEL + word_place(first + q)] - Words{};
                    for (size_t v = 0; v < 2 * HALF; v++)
                        sum[q][v] += part(load<Words>(from + v * PER_WORDS), one);
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

void bytes(const u64* panels, size_t many, size_t eights, const u64* asked, float* far) {
    sums(panels, many, eights, asked, far,
         [](Words a, Words b) __attribute__((always_inline)) { return sad(a, b); });
}

void bits(const u64* panels, size_t many, size_t words, const u64* asked, float* far) {
    sums(panels, many, words, asked, far,
         [](Words a, Words b) __attribute__((always_inline)) { return count(a ^ b); });
}

template <bool SQUARES> ALWAYS_INLINE Floats term(Floats a, Floats b) {
    const Floats gap = a - b;
    return SQUARES ? gap * gap : Floats(Ints(gap) & 0x7FFFFFFF);
}

template <bool SQUARES>
ALWAYS_INLINE void floats_as(const float* panels, size_t many, size_t columns, const float* asked,
                             float* far) {
    constexpr size_t PARTS = PANEL / PER_FLOATS;
    const size_t stride = many * PANEL;
    for (size_t p = 0; p < many; p++)
        for (size_t first = 0; first < ASKED; first += BY_FLOATS) {
            Floats total[BY_FLOATS][PARTS] = {};
            for (size_t begin = 0; begin < columns; begin += STRETCH) {
                const size_t end = columns - begin < STRETCH ? columns : begin + STRETCH;
                Floats sum[BY_FLOATS][PARTS] = {};
                for (size_t j = begin; j < end; j++) {
                    const float* from = panels + (p * columns + j) * PANEL;
                    for (size_t q = 0; q < BY_FLOATS; q++) {
                        const Floats one = asked[j * PANEL + first + q] - Floats{};
                        for (size_t v = 0; v < PARTS; v++)
                            sum[q][v] += term<SQUARES>(load<Floats>(from + v * PER_FLOATS), one);
                    }
                }
                for (size_t q = 0; q < BY_FLOATS; q++)
                    for (size_t v = 0; v < PARTS; v++) total[q][v] += sum[q][v];
            }
            for (size_t q = 0; q < BY_FLOATS; q++) {
                float* const to = far + (first + q) * stride + p * PANEL;
                __builtin_memcpy(to, total[q], sizeof total[q]);
                for (size_t k = 0; SQUARES && k < PANEL; k++) to[k] = __builtin_sqrtf(to[k]);
            }
        }
}

void floats(const float* panels, size_t many, size_t columns, const float* asked, bool squares,
            float* far) {
    squares ? floats_as<true>(panels, many, columns, asked, far)
            : floats_as<false>(panels, many, columns, asked, far);
}

void lows(const float* far, size_t many, float* lanes) {
    constexpr size_t PARTS = LANES / PER_FLOATS;
    Floats low[PARTS];
    __builtin_memcpy(low, lanes, sizeof low);
    size_t k = 0;
    for (; k + LANES <= many; k += LANES)
        for (size_t v = 0; v < PARTS; v++) {
            const Floats next = load<Floats>(far + k + v * PER_FLOATS);
            low[v] = next < low[v] ? next : low[v];
        }
    __builtin_memcpy(lanes, low, sizeof low);
    for (size_t l = 0; k < many; k++, l++) lanes[l] = far[k] < lanes[l] ? far[k] : lanes[l];
}

size_t within(const float* far, const float* wide, size_t many, float base, i32 from, i32* found) {
    constexpr size_t SOME = 64;
    size_t out = 0, first = 0;
    for (; first + SOME <= many; first += SOME) {  // most stretches hold none
        u64 bits = 0;
        for (size_t k = 0; k < SOME; k += PER_FLOATS)
            bits |= at_most(load<Floats>(far + first + k), load<Floats>(wide + first + k) + base)
                    << k;
        for (; bits; bits &= bits - 1)
            found[out++] = from + i32(first) + __builtin_ctzll(bits);
    }
    for (; first < many; first++)
        if (far[first] <= wide[first] + base) found[out++] = from + i32(first);
    return out;
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
    double total = 0;
    if (j < many && many >= PER_WORDS) {  // the last vector, but for what has been added
        Longs lane;
        for (size_t l = 0; l < PER_WORDS; l++) lane[l] = std::int64_t(l);
        const Longs rest = lane >= std::int64_t(PER_WORDS - (many - j));
        const Doubles gap = load<Doubles>(a + many - PER_WORDS) -
                            load<Doubles>(b + many - PER_WORDS);
        const Doubles part = SQUARES ? gap * gap : Doubles(Longs(gap) & 0x7FFFFFFFFFFFFFFF);
        sum[1] += Doubles(Longs(part) & rest);
    } else {
        for (; j < many; j++) {
            const double gap = a[j] - b[j];
            total += SQUARES ? gap * gap : __builtin_fabs(gap);
        }
    }
    const Doubles all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    for (size_t lane = 0; lane < PER_WORDS; lane++) total += all[lane];
    return total;
}

double apart(const double* a, const double* b, size_t many, bool squares) {
    return squares ? apart_as<true>(a, b, many) : apart_as<false>(a, b, many);
}

constexpr NearLoops near = {reach, ones, to_bytes, to_floats, bytes, bits, floats, lows, within, apart};

}  // namespace
}  // namespace privsieve
