// Joint counts of the indicators of two columns, for rules on pairs.
#pragma once
#include "kernels.h"
#include "loops.h"
#include "threads.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace privsieve {
namespace pairs {

// [joint-counts]
constexpr size_t TILE = 4;     // columns on either side of a tile
constexpr size_t CHUNK = 256;  // words: a tile's planes then stay in the second cache

// Cells to counts of indicators: sums up to a bound for an ordered axis, levels for a nominal one.
inline void indicators(const i64* cell, size_t K, bool row_nominal, bool column_nominal, i64* q) {
    for (size_t a = 0; a < K; a++) {
        i64 along = 0;
        for (size_t b = 0; b < K; b++) {
            along = column_nominal ? cell[a * 16 + b] : along + cell[a * 16 + b];
            q[a * K + b] = along + (row_nominal || !a ? 0 : q[(a - 1) * K + b]);
        }
    }
}

// Joint histograms of two columns of nibbles.  Four tables, so that equal neighbours do not wait.
struct Histograms {
    const Bins& in;
    size_t K = in.grid - 1, classes = in.labellings.columns;

    static void plain(const u8* x, const u8* y, size_t rows, i64* cell) {
        u32 h[4][256] = {};
        size_t i = 0;
        for (; i + 8 <= rows; i += 8) {
            u64 a, b;
            std::memcpy(&a, x + i, 8);
            std::memcpy(&b, y + i, 8);
            for (u64 both = a << 4 | b, k = 0; k < 8; k++, both >>= 8) h[k & 3][both & 255]++;
        }
        for (; i < rows; i++) h[0][(x[i] << 4 | y[i]) & 255]++;
        for (size_t k = 0; k < 256; k++) cell[k] = i64(h[0][k]) + h[1][k] + h[2][k] + h[3][k];
    }

    static void weighted(const u8* x, const u8* y, const i64* w, size_t rows, i64* cell) {
        i64 h[4][256] = {};
        for (size_t i = 0; i < rows; i++) h[i & 3][(x[i] << 4 | y[i]) & 255] += w[i];
        for (size_t k = 0; k < 256; k++) cell[k] = h[0][k] + h[1][k] + h[2][k] + h[3][k];
    }

    void pair(size_t j, size_t l, i64* q) const {
        i64 cell[256];
        for (size_t c = 0; c < classes; c++) {
            const size_t first = size_t(in.starts[c]), rows = size_t(in.starts[c + 1]) - first;
            const u8 *x = in.bins[j] + first, *y = in.bins[l] + first;
            if (in.weight) weighted(x, y, in.weight + first, rows, cell);
            else plain(x, y, rows, cell);
            indicators(cell, K, in.nominal[j], in.nominal[l], q + c * K * K);
        }
    }

    void tile(size_t j0, size_t j1, size_t l0, size_t l1, i64* q) const {
        for (size_t j = j0; j < j1; j++)
            for (size_t l = std::max(l0, j + 1); l < l1; l++)
                pair(j, l, q + ((j - j0) * TILE + l - l0) * classes * K * K);
    }
};

// One bit per row for each indicator of each column, class by class.
struct Planes {
    const Bins& in;
    size_t K = in.grid - 1, classes = in.labellings.columns;
    const Loops& loops = best_loops();
    std::vector<size_t> words = layout();
    std::vector<u64> bits = std::vector<u64>(in.bins.rows * K * words[classes]);

    Planes(const Bins& in, size_t threads) : in(in) {
        share(threads, in.bins.rows, [&](size_t, size_t j) {
            for (size_t c = 0; c < classes; c++) build(j, c);
        });
    }

    std::vector<size_t> layout() const {
        std::vector<size_t> words(1);
        for (size_t c = 0; c < classes; c++)
            words.push_back(words[c] + size_t(in.starts[c + 1] - in.starts[c] + 255) / 256 * 4);
        return words;
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
template <class Counts, class Visit>
void each_pair(const Bins& in, size_t threads, Counts counts, Visit visit) {
    const size_t size = in.labellings.columns * counts.K * counts.K;
    std::vector<i64> all(threads * TILE * TILE * size);
    each_tile(in.bins.rows, threads, [&](size_t w, size_t j0, size_t j1, size_t l0, size_t l1) {
        i64* q = all.data() + w * TILE * TILE * size;
        counts.tile(j0, j1, l0, l1, q);
        for (size_t j = j0; j < j1; j++)
            for (size_t l = std::max(l0, j + 1); l < l1; l++)
                visit(w, j, l, q + ((j - j0) * TILE + l - l0) * size);
    });
}

// Planes and histograms count the same; which is faster depends on the machine and the grid.
template <class Visit> void each_pair(const Bins& in, size_t threads, Visit visit) {
    if (in.weight || (in.grid == 16 && !best_loops().counts_fast))
        each_pair(in, threads, Histograms{in}, visit);
    else each_pair(in, threads, Planes(in, threads), visit);
}
// [/joint-counts]

}  // namespace pairs
}  // namespace privsieve
