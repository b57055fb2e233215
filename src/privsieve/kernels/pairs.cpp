// Two-column rules on the public grid: the best four-cell rule, and what it adds to both columns.
#include "kernels.h"
#include "loops.h"
#include "threads.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

namespace privsieve {
namespace {

using i16 = std::int16_t;
using i32 = std::int32_t;

// [joint-counts]
constexpr size_t TILE = 4;     // columns on either side of a tile
constexpr size_t CHUNK = 256;  // words: a tile's planes then stay in the second cache

// Where each class begins in a plane of bits, in words.
std::vector<size_t> class_words(const Bins& in) {
    std::vector<size_t> words(1);
    for (size_t c = 0; c < in.labellings.columns; c++)
        words.push_back(words[c] + size_t(in.starts[c + 1] - in.starts[c] + 255) / 256 * 4);
    return words;
}

// One bit per row for each indicator of each column, class by class.
struct Planes {
    const Bins& in;
    size_t K = in.grid - 1, classes = in.labellings.columns;
    const Loops& loops = best_loops();
    std::vector<size_t> words = class_words(in);
    std::vector<u64> bits = std::vector<u64>(in.bins.rows * K * words[classes]);

    Planes(const Bins& in, size_t threads) : in(in) {
        share(threads, in.bins.rows, [&](size_t, size_t j) {
            for (size_t c = 0; c < classes; c++) build(j, c);
        });
    }

    u64* plane(size_t j, size_t a) { return &bits[(j * K + a) * words[classes]]; }

    // Bit k of the bins of 64 rows.  Rows past the end are in the last bin: in no indicator.
    static void slices(const u8* x, size_t rows, size_t many, u64* slice) {
        u8 padded[64];
        if (rows < 64) {
            std::memset(padded, 255, 64);
            if (rows) std::memcpy(padded, x, rows);
            x = padded;
        }
        for (size_t k = 0; k < many; k++) slice[k] = 0;
        for (size_t part = 0; part < 8; part++) {
            u64 bytes;
            std::memcpy(&bytes, x + 8 * part, 8);
            for (size_t k = 0; k < many; k++) {
                const u64 ones = bytes >> k & 0x0101010101010101u;
                slice[k] |= ((ones * 0x0102040810204080u) >> 56) << (8 * part);
            }
        }
    }

    void build(size_t j, size_t c) {
        const size_t first = size_t(in.starts[c]), rows = size_t(in.starts[c + 1]) - first;
        const size_t many = in.grid == 4 ? 2 : in.grid == 8 ? 3 : 4;
        for (size_t w = words[c], done = 0; w < words[c + 1]; w++, done += 64) {
            u64 slice[4];
            const size_t left = done < rows ? rows - done : 0;
            slices(in.bins[j] + first + (left ? done : 0), left, many, slice);
            for (size_t a = 0; a < K; a++) {
                u64 at_most = ~u64(0), equal = ~u64(0);
                for (size_t k = 0; k < many; k++) {
                    at_most = a >> k & 1 ? ~slice[k] | at_most : ~slice[k] & at_most;
                    equal &= a >> k & 1 ? slice[k] : ~slice[k];
                }
                plane(j, a)[w] = in.nominal[j] ? equal : at_most;
            }
        }
    }

    void chunk(size_t j, size_t l, size_t from, size_t len, i64* q) {
        for (size_t a = 0; a < K; a++)
            loops.count_and_many(plane(j, a) + from, plane(l, 0) + from, words[classes], K, len,
                                 q + a * K);
    }

    void tile(size_t j0, size_t j1, size_t l0, size_t l1, i64* q) {
        std::fill_n(q, TILE * TILE * classes * K * K, 0);
        for (size_t c = 0; c < classes; c++)
            for (size_t from = words[c]; from < words[c + 1]; from += CHUNK)
                for (size_t j = j0; j < j1; j++)
                    for (size_t l = std::max(l0, j + 1); l < l1; l++)
                        chunk(j, l, from, std::min(CHUNK, words[c + 1] - from),
                              q + (((j - j0) * TILE + l - l0) * classes + c) * K * K);
    }
};

// Calls visit(thread, j0, j1, l0, l1) for every tile of pairs j < l.
template <class Visit> void each_tile(size_t d, size_t threads, Visit visit) {
    const size_t tiles = (d + TILE - 1) / TILE;
    share(threads, tiles * tiles, [&](size_t w, size_t task) {
        const size_t j0 = task / tiles * TILE, l0 = task % tiles * TILE;
        if (j0 <= l0) visit(w, j0, std::min(d, j0 + TILE), l0, std::min(d, l0 + TILE));
    });
}

// Calls visit(thread, j, l, joint counts) for every pair j < l.
template <class Visit> void each_pair(const Bins& in, size_t threads, Visit visit) {
    Planes planes(in, threads);
    const size_t size = in.labellings.columns * planes.K * planes.K;
    std::vector<i64> all(threads * TILE * TILE * size);
    each_tile(in.bins.rows, threads, [&](size_t w, size_t j0, size_t j1, size_t l0, size_t l1) {
        i64* q = all.data() + w * TILE * TILE * size;
        planes.tile(j0, j1, l0, l1, q);
        for (size_t j = j0; j < j1; j++)
            for (size_t l = std::max(l0, j + 1); l < l1; l++)
                visit(w, j, l, q + ((j - j0) * TILE + l - l0) * size);
    });
}
// [/joint-counts]

// [pairs]
// Up to so many rows sweeps are faster than tables; a table of classes serves all labellings.
size_t swept_to(size_t grid, size_t many) { return 8192 / grid / (many > 1 ? 3 : 1); }

// From so many rows on planes are faster than tables.
size_t planes_from(size_t grid) {
    if (grid == 16) return best_loops().counts_fast ? 8192 : ~size_t(0);
    return grid == 8 ? 1024 : 256;
}

// What one column says by itself: for each labelling its indicators' sums, and its best rule.
struct Margins {
    const Bins& in;
    size_t d = in.bins.rows, G = in.grid, classes = in.labellings.columns;
    std::vector<i64> sums = std::vector<i64>(in.labellings.rows * d * G);
    std::vector<i64> best = std::vector<i64>(in.labellings.rows * d);

    Margins(const Bins& in, size_t threads) : in(in) {
        share(threads, d, [&](size_t, size_t j) {
            for (size_t c = 0; c < classes; c++) {
                i64 cell[4][SIDE] = {};  // four tables, so that equal neighbours do not wait
                for (i64 i = in.starts[c]; i < in.starts[c + 1]; i++)
                    cell[i & 3][in.bins[j][i]] += in.weight ? in.weight[i] : 1;
                for (size_t a = 0; a < SIDE; a++) cell[0][a] += cell[1][a] + cell[2][a] + cell[3][a];
                add(j, c, cell[0]);
            }
        });
        for (size_t v = 0; v < in.labellings.rows; v++)
            for (size_t j = 0; j < d; j++)
                for (size_t a = 0; a < G; a++) {
                    const i64 gap = std::abs(2 * of(v, j)[a] - of(v, j)[G - 1]);
                    best[v * d + j] = std::max(best[v * d + j], gap);
                }
    }

    i64* of(size_t v, size_t j) { return sums.data() + (v * d + j) * G; }

    void add(size_t j, size_t c, const i64* cell) {
        i64 up_to = 0;
        for (size_t a = 0; a < G; a++) {
            up_to += cell[a];
            const i64 here = in.nominal[j] && a < G - 1 ? cell[a] : up_to;
            for (size_t v = 0; v < in.labellings.rows; v++)
                of(v, j)[a] += in.labellings[v][c] * here;
        }
    }

    // The best four-cell rule on columns j and l under labelling v, from their joint counts.
    i64 four_cells(size_t v, size_t j, size_t l, const i64* q) {
        const size_t K = G - 1;
        const i64 *A = of(v, j), *B = of(v, l), T = A[K];
        i64 top = 0;
        for (size_t a = 0; a < G; a++)
            for (size_t b = 0; b < G; b++) {
                i64 both = a == K ? B[b] : A[a];
                if (a < K && b < K) {
                    both = 0;
                    for (size_t c = 0; c < classes; c++)
                        both += in.labellings[v][c] * q[(c * K + a) * K + b];
                }
                top = std::max(top, std::abs(both) + std::abs(A[a] - both) +
                                        std::abs(B[b] - both) + std::abs(T - A[a] - B[b] + both));
            }
        return top;
    }
};

// Rows sorted by one column pass by, and the sums of all indicators of some partners grow in
// the lanes of a vector.  T holds the sum of all |weights|.
template <class T> struct Sweeps {
    static constexpr size_t LANES = SIDE;
    const Bins& in;
    size_t G = in.grid, together = LANES / G, classes = in.labellings.columns, n = in.bins.columns;
    size_t levels = power(G, together);
    std::vector<size_t> columns = alike();  // in groups: ordered ones, then nominal ones
    std::vector<u16> code = std::vector<u16>(columns.size() / together * n);
    std::vector<T> steps[2], all = std::vector<T>(columns.size() / together * LANES);
    std::vector<T> own = std::vector<T>(n);

    // Rows by the bins of one column, and what lies on either side of each of its cuts.
    struct Sorted {
        std::vector<u32> order, ends;
        std::vector<T> sides;
    };

    static constexpr size_t NONE = ~size_t(0);

    static size_t power(size_t base, size_t times) {
        return times ? base * power(base, times - 1) : 1;
    }

    explicit Sweeps(const Bins& in) : in(in) {
        for (size_t at = 0; at < columns.size(); at++) {
            u16* out = code.data() + at / together * n;
            for (size_t c = 0; c < classes; c++)
                for (auto i = size_t(in.starts[c]); i < size_t(in.starts[c + 1]); i++) {
                    if (at % together == 0) out[i] = u16(c);
                    out[i] = u16(out[i] * G + (columns[at] == NONE ? 0 : in.bins[columns[at]][i]));
                }
        }
    }

    std::vector<size_t> alike() const {
        std::vector<size_t> found;
        for (int nominal = 0; nominal < 2; nominal++) {
            for (size_t j = 0; j < in.bins.rows; j++)
                if ((in.nominal[j] != 0) == (nominal != 0)) found.push_back(j);
            while (found.size() % together) found.push_back(NONE);
        }
        return found;
    }

    // What a row adds by itself, and what a row of each code adds to the lanes.
    void weigh(const i64* labelling) {
        for (size_t c = 0; c < classes; c++)
            std::fill(own.begin() + in.starts[c], own.begin() + in.starts[c + 1], T(labelling[c]));
        for (int nominal = 0; nominal < 2; nominal++) {
            steps[nominal].assign(classes * levels * LANES, 0);
            for (size_t at = 0; at < classes * levels; at++)
                for (size_t lane = 0; lane < LANES; lane++) {
                    const size_t bin = at / power(G, together - 1 - lane / G) % G, a = lane % G;
                    if (a == G - 1 || (nominal ? bin == a : bin <= a))
                        steps[nominal][at * LANES + lane] = T(labelling[at / levels]);
                }
        }
        std::fill(all.begin(), all.end(), T(0));
        for (size_t g = 0; g * together < columns.size(); g++)
            for (size_t i = 0; i < n; i++)
                for (size_t lane = 0; lane < LANES; lane++)
                    all[g * LANES + lane] += of(g)[code[g * n + i] * LANES + lane];
    }

    const T* of(size_t group) const {
        const size_t first = columns[group * together];
        return steps[in.nominal[first] != 0].data();
    }

    void sort(const u8* bin, Sorted& by) const {
        auto& [order, ends, sides] = by;
        std::fill(ends.begin(), ends.end(), 0);
        for (size_t i = 0; i < n; i++) ends[bin[i]]++;
        u32 before = 0;
        for (u32& end : ends) std::swap(end, before), before += end;
        for (size_t i = 0; i < n; i++) order[ends[bin[i]]++] = u32(i);
    }

    // What lies on either side of each cut of the sorted column, whatever the other one is.
    void measure(bool alone, Sorted& by) const {
        auto& [order, ends, sides] = by;
        i64 whole = 0, below = 0;
        for (const T one : own) whole += one;
        for (size_t a = 0, i = 0; a < G; a++) {
            if (alone) below = 0;
            for (; i < ends[a]; i++) below += own[order[i]];
            const i64 above = whole - below;
            const i64 four[4] = {below, std::abs(below), above, std::abs(above)};
            std::copy_n(four, 4, sides.begin() + i64(4 * a));
        }
    }

    static auto sweep() {
        if constexpr (sizeof(T) == 2) return best_loops().sweep16;
        else return best_loops().sweep32;
    }

    // Calls visit(w, j, l, what rules that cut column j reach) for every pair, in one of both orders.
    template <class Visit> void each(size_t threads, Visit visit) const {
        std::vector<Sorted> sorted(
            threads, {std::vector<u32>(n), std::vector<u32>(G), std::vector<T>(4 * G)});
        share(threads, columns.size(), [&](size_t w, size_t at) {
            const size_t j = columns[at];
            if (j == NONE) return;
            T best[LANES];
            Sorted& by = sorted[w];
            sort(in.bins[j], by);
            const SortedRows rows{by.order.data(), by.ends.data(), G, in.nominal[j] != 0};
            measure(rows.alone, by);
            for (size_t g = at / together; g * together < columns.size(); g++) {
                sweep()(rows, code.data() + g * n, of(g), all.data() + g * LANES, by.sides.data(), best);
                for (size_t k = 0; k < together; k++) {
                    const size_t other = g * together + k, l = columns[other];
                    if (other <= at || l == NONE) continue;
                    visit(w, j, l, i64(*std::max_element(best + k * G, best + (k + 1) * G)));
                }
            }
        });
    }
};

// Pairs of columns that use at most two bins: each has only one cut to try.
struct Halves {
    const Bins& in;
    size_t d = in.bins.rows, classes = in.labellings.columns;
    std::vector<size_t> words = class_words(in), columns;
    std::vector<u8> is = std::vector<u8>(d);
    std::vector<u64> bits;   // of each of `columns`, class by class: the rows in its upper bin
    std::vector<i64> upper;  // of each of `columns`, for each class: how many

    explicit Halves(const Bins& in) : in(in) {
        for (size_t j = 0; j < d && !in.weight; j++)
            if ((is[j] = two(j))) columns.push_back(j);
        bits.assign(columns.size() * words[classes], 0);
        upper.assign(columns.size() * classes, 0);
        for (size_t at = 0; at < columns.size(); at++) build(at);
    }

    std::pair<u8, u8> ends(size_t j) const {
        u8 low = 255, high = 0;
        for (size_t i = 0; i < in.bins.columns; i++)
            low = std::min(low, in.bins[j][i]), high = std::max(high, in.bins[j][i]);
        return {low, high};
    }

    bool two(size_t j) const {
        const auto [low, high] = ends(j);
        bool all = true;
        for (size_t i = 0; i < in.bins.columns; i++)
            all &= (in.bins[j][i] == low) | (in.bins[j][i] == high);
        return all;
    }

    void build(size_t at) {
        const u8* x = in.bins[columns[at]];
        const auto [low, high] = ends(columns[at]);
        for (size_t c = 0; c < classes; c++) {
            const auto first = size_t(in.starts[c]), rows = size_t(in.starts[c + 1]) - first;
            u64* plane = bits.data() + at * words[classes] + words[c];
            for (size_t i = 0; i < rows; i++) plane[i / 64] |= u64(x[first + i] > low) << i % 64;
            for (size_t i = 0; i < rows; i++) upper[at * classes + c] += x[first + i] > low;
        }
    }

    // Calls visit(w, labelling, j, l, best four-cell rule) for every pair of them.
    template <class Visit> void each(size_t threads, Visit visit) const {
        const size_t size = words[classes], many = columns.size();
        std::vector<std::vector<i64>> counts(threads, std::vector<i64>(classes * many));
        share(threads, many, [&](size_t w, size_t at) {
            std::vector<i64>& both = counts[w];
            std::fill(both.begin(), both.end(), 0);
            for (size_t c = 0; c < classes && at + 1 < many; c++) {
                const u64* plane = bits.data() + at * size + words[c];
                best_loops().count_and_many(plane, plane + size, size, many - at - 1,
                                            words[c + 1] - words[c], &both[c * many + at + 1]);
            }
            for (size_t other = at + 1; other < many; other++)
                for (size_t v = 0; v < in.labellings.rows; v++)
                    visit(w, v, columns[at], columns[other], value(v, at, other, both));
        });
    }

    // both : of `at` and each other column, class by class
    i64 value(size_t v, size_t at, size_t other, const std::vector<i64>& both) const {
        i64 all = 0, A = 0, B = 0, AB = 0;
        for (size_t c = 0; c < classes; c++) {
            const i64 weight = in.labellings[v][c];
            all += weight * (in.starts[c + 1] - in.starts[c]);
            A += weight * upper[at * classes + c];
            B += weight * upper[other * classes + c];
            AB += weight * both[c * columns.size() + other];
        }
        return std::abs(AB) + std::abs(A - AB) + std::abs(B - AB) + std::abs(all - A - B + AB);
    }
};

// Rows by the cells of two columns, for each class.  T holds the sum of all |weights|.
template <class T> struct Cells {
    static constexpr size_t PLACES = 256;
    const Bins& in;
    const std::vector<u8>& done;  // of each column: pairs of those that are need no tables
    size_t classes = in.labellings.columns, many = in.labellings.rows;
    size_t tables = many == 1 ? 1 : classes;
    std::vector<T> count = std::vector<T>(tables * PLACES), weights = weighing();

    Cells(const Bins& in, const std::vector<u8>& done) : in(in), done(done) {}

    std::vector<T> weighing() const {
        if (many == 1) return {1};
        return std::vector<T>(in.labellings.data, in.labellings.data + many * classes);
    }

    // Four tables, so that equal neighbours do not wait.
    void add(const u8* x, const u8* y, size_t c, T (*h)[PLACES]) const {
        const T weight = many == 1 ? T(in.labellings[0][c]) : T(1);
        auto i = size_t(in.starts[c]);
        const auto end = size_t(in.starts[c + 1]);
        if (in.weight) {
            for (; i < end; i++) h[i & 3][(x[i] << 4 | y[i]) & 255] += weight * T(in.weight[i]);
            return;
        }
        for (; i + 8 <= end; i += 8) {
            u64 a, b;
            std::memcpy(&a, x + i, 8);
            std::memcpy(&b, y + i, 8);
            for (u64 both = a << 4 | b, k = 0; k < 8; k++, both >>= 8) h[k & 3][both & 255] += weight;
        }
        for (; i < end; i++) h[0][(x[i] << 4 | y[i]) & 255] += weight;
    }

    void tally(size_t j, size_t l) {
        for (size_t t = 0; t < tables; t++) {
            T h[4][PLACES] = {};
            for (size_t c = t; c < (many == 1 ? classes : t + 1); c++) add(in.bins[j], in.bins[l], c, h);
            for (size_t k = 0; k < PLACES; k++)
                count[t * PLACES + k] = h[0][k] + h[1][k] + h[2][k] + h[3][k];
        }
    }

    static auto best_cells() {
        if constexpr (sizeof(T) == 4) return best_loops().best_cells32;
        else return best_loops().best_cells64;
    }

    // Calls visit(labelling, value) for a pair, unless both of its columns are done.
    template <class Visit> void pair(size_t j, size_t l, Visit visit) {
        if (done[j] && done[l]) return;
        tally(j, l);
        const Cuts cuts{in.grid, in.nominal[j] != 0, in.nominal[l] != 0};
        for (size_t v = 0; v < many; v++)
            visit(v, best_cells()(count.data(), weights.data() + v * tables, tables, cuts));
    }
};

template <class T, class Visit>
void tabled(const Bins& in, const std::vector<u8>& done, size_t threads, Visit visit) {
    std::vector<Cells<T>> cells(threads, Cells<T>(in, done));
    each_tile(in.bins.rows, threads, [&](size_t w, size_t j0, size_t j1, size_t l0, size_t l1) {
        for (size_t j = j0; j < j1; j++)
            for (size_t l = std::max(l0, j + 1); l < l1; l++)
                cells[w].pair(j, l, [&](size_t v, i64 value) { visit(w, v, j, l, value); });
    });
}

// The most that one labelling weighs; past all bounds where it could overflow.
i64 heaviest(const Bins& in) {
    constexpr i64 LARGE = i64(1) << 30;
    i64 most = 0;
    for (size_t v = 0; v < in.labellings.rows; v++) {
        i64 sum = 0;
        for (size_t c = 0; c < in.labellings.columns; c++) {
            const i64 weight = std::abs(in.labellings[v][c]);
            i64 rows = in.starts[c + 1] - in.starts[c];
            if (in.weight) rows = std::accumulate(in.weight + in.starts[c], in.weight + in.starts[c + 1], i64(0));
            if (weight > LARGE || rows > LARGE) return i64(1) << 62;
            sum += weight * rows;
        }
        most = std::max(most, sum);
    }
    return most;
}

template <class T, class Visit>
void swept(const Bins& in, Margins& margins, size_t threads, Visit visit) {
    const size_t d = in.bins.rows;
    Sweeps<T> sweeps(in);
    for (size_t v = 0; v < in.labellings.rows; v++) {
        sweeps.weigh(in.labellings[v]);
        sweeps.each(threads, [&](size_t w, size_t j, size_t l, i64 top) {
            visit(w, v, std::min(j, l), std::max(j, l), std::max(top, margins.best[v * d + l]));
        });
    }
}

// Calls visit(thread, labelling, j, l, best four-cell rule) for every pair j < l.
template <class Visit>
void each_value(const Bins& in, Margins& margins, size_t threads, Visit visit) {
    const size_t many = in.labellings.rows, rows = in.bins.columns;
    if (!many) return;
    const i64 most = heaviest(in);
    const bool small = most < (i64(1) << 31);
    const Halves halves(in);
    if (halves.columns.size() == in.bins.rows) return halves.each(threads, visit);
    if (!in.weight && small && in.labellings.columns <= 16 && rows <= swept_to(in.grid, many))
        return most < (1 << 15) ? swept<i16>(in, margins, threads, visit)
                                : swept<i32>(in, margins, threads, visit);
    if (!in.weight && rows >= planes_from(in.grid))
        return each_pair(in, threads, [&](size_t w, size_t j, size_t l, const i64* q) {
            for (size_t v = 0; v < many; v++) visit(w, v, j, l, margins.four_cells(v, j, l, q));
        });
    halves.each(threads, visit);
    small ? tabled<i32>(in, halves.is, threads, visit) : tabled<i64>(in, halves.is, threads, visit);
}

}  // namespace

void pair_gain(const Bins& in, size_t threads, i64* gain) {
    const size_t d = in.bins.rows;
    const i64 least = d > 1 && in.labellings.rows ? std::numeric_limits<i64>::min() : 0;
    std::vector<i64> gains(threads * d, least);
    Margins margins(in, threads);
    each_value(in, margins, threads, [&](size_t w, size_t v, size_t j, size_t l, i64 value) {
        const i64 more = value - std::max(margins.best[v * d + j], margins.best[v * d + l]);
        i64* own = gains.data() + w * d;
        own[j] = std::max(own[j], more);
        own[l] = std::max(own[l], more);
    });
    std::fill_n(gain, d, least);
    for (size_t k = 0; k < threads * d; k++) gain[k % d] = std::max(gain[k % d], gains[k]);
}

void pair_best(const Bins& in, size_t threads, i64* best) {
    const size_t d = in.bins.rows;
    std::fill_n(best, d * (d - (d > 0)) / 2, 0);
    Margins margins(in, threads);
    each_value(in, margins, threads, [&](size_t, size_t, size_t j, size_t l, i64 value) {
        i64& top = best[j * (2 * d - j - 1) / 2 + (l - j - 1)];  // of one pair one thread knows
        top = std::max(top, value);
    });
}
// [/pairs]

}  // namespace privsieve
