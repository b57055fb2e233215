// The largest weighted sum of products of two or three sign columns.
#include "kernels.h"
#include "loops.h"
#include "threads.h"

#include <algorithm>
#include <vector>

namespace privsieve {
namespace {

// [products]
constexpr size_t TILE = 8;     // columns on either side of a tile
constexpr size_t CHUNK = 512;  // words: a tile's planes then stay in the second cache
constexpr size_t NONE = ~size_t(0);

// Calls visit(thread, j, l, m, sums by class) for every product; j is NONE for products of two.
template <class Visit> struct Sweep {
    const Signs& in;
    Visit& visit;
    size_t thread = 0;
    size_t d = in.planes.rows, width = in.planes.columns, classes = in.labellings.columns;
    const Loops& loops = best_loops();
    std::vector<u64> left = std::vector<u64>(TILE * CHUNK), left_mask = left;
    std::vector<i64> unlike = std::vector<i64>(TILE * TILE * classes), known = unlike;
    std::vector<i64> sum = std::vector<i64>(classes);

    const u64* mask(size_t j) const { return in.masks + j * width; }

    // The left factor A_j A_l of a tile (A_l alone if j is NONE), on one chunk of words.
    void factor(size_t j, size_t l, size_t place, size_t from, size_t len) {
        u64* q = left.data() + place * CHUNK;
        std::copy_n(in.planes[l] + from, len, q);
        if (j != NONE)
            for (size_t w = 0; w < len; w++) q[w] ^= in.planes[j][from + w];
        if (!in.masks) return;
        u64* known_here = left_mask.data() + place * CHUNK;
        std::copy_n(mask(l) + from, len, known_here);
        if (j != NONE)
            for (size_t w = 0; w < len; w++) known_here[w] &= mask(j)[from + w];
        for (size_t w = 0; w < len; w++) q[w] &= known_here[w];
    }

    void count_chunk(size_t j, size_t l0, size_t m0, size_t c, size_t from, size_t len) {
        const size_t l1 = std::min(d, l0 + TILE), m1 = std::min(d, m0 + TILE);
        for (size_t l = std::max(l0, j + 1); l < l1; l++) {
            factor(j, l, l - l0, from, len);
            const u64 *q = left.data() + (l - l0) * CHUNK, *n = left_mask.data() + (l - l0) * CHUNK;
            for (size_t m = std::max(m0, l + 1); m < m1; m++) {
                const size_t place = ((l - l0) * TILE + m - m0) * classes + c;
                const u64* p = in.planes[m] + from;
                if (in.masks) {
                    unlike[place] += loops.count_masked(q, n, p, mask(m) + from, len);
                    known[place] += loops.count_and(n, mask(m) + from, len);
                } else {
                    unlike[place] += loops.count_xor(q, p, len);
                }
            }
        }
    }

    // A zero row was counted as if its bit 0 meant -1: take it out, once.
    void drop_zero(i64 zero, size_t j, size_t l, size_t m) {
        const auto bit = [&](size_t k) { return in.planes[k][zero >> 6] >> (zero & 63) & 1; };
        const u64 parity = bit(l) ^ bit(m) ^ (j == NONE ? 0 : bit(j));
        const i64* after = std::upper_bound(in.words, in.words + classes + 1, zero >> 6);
        sum[size_t(after - in.words) - 1] -= parity ? -1 : 1;
    }

    void add_up(size_t j, size_t l, size_t m, const i64* unlike_here, const i64* known_here) {
        for (size_t c = 0; c < classes; c++)
            sum[c] = (in.masks ? known_here[c] : in.rows[c]) - 2 * unlike_here[c];
        if (!in.masks) {
            const i64 x = in.zeros[l], y = in.zeros[m], z = j == NONE ? -1 : in.zeros[j];
            if (x >= 0) drop_zero(x, j, l, m);
            if (y >= 0 && y != x) drop_zero(y, j, l, m);
            if (z >= 0 && z != x && z != y) drop_zero(z, j, l, m);
        }
        visit(thread, j, l, m, sum.data());
    }

    void tile(size_t j, size_t l0, size_t m0) {
        std::fill(unlike.begin(), unlike.end(), 0);
        std::fill(known.begin(), known.end(), 0);
        for (size_t c = 0; c < classes; c++)
            for (size_t from = size_t(in.words[c]); from < size_t(in.words[c + 1]); from += CHUNK)
                count_chunk(j, l0, m0, c, from, std::min(CHUNK, size_t(in.words[c + 1]) - from));
        for (size_t l = std::max(l0, j + 1); l < std::min(d, l0 + TILE); l++)
            for (size_t m = std::max(m0, l + 1); m < std::min(d, m0 + TILE); m++) {
                const size_t place = ((l - l0) * TILE + m - m0) * classes;
                add_up(j, l, m, unlike.data() + place, known.data() + place);
            }
    }

    void run(size_t j, size_t l0) {
        for (size_t m0 = l0; m0 < d; m0 += TILE) tile(j, l0, m0);
    }
};

template <class Visit>
void each_product(const Signs& signs, bool triples, size_t threads, Visit visit) {
    const size_t d = signs.planes.rows, tiles = (d + TILE - 1) / TILE;
    std::vector<Sweep<Visit>> sweeps(threads, Sweep<Visit>{signs, visit});
    for (size_t w = 0; w < threads; w++) sweeps[w].thread = w;
    share(threads, (triples ? d : 1) * tiles, [&](size_t w, size_t task) {
        const size_t j = triples ? task / tiles : NONE, first = (j + 1) / TILE;  // NONE + 1 is 0
        if (task % tiles >= first) sweeps[w].run(j, task % tiles * TILE);
    });
}

}  // namespace

void sign_products(const Signs& signs, bool triples, size_t threads, i64* best) {
    const Matrix<i64>& by = signs.labellings;
    const size_t d = signs.planes.rows;
    std::vector<i64> bests(threads * d);
    each_product(signs, triples, threads, [&](size_t w, size_t j, size_t l, size_t m, const i64* sum) {
        i64 top = 0, *own = bests.data() + w * d;
        for (size_t v = 0; v < by.rows; v++) {
            i64 total = 0;
            for (size_t c = 0; c < by.columns; c++) total += by[v][c] * sum[c];
            top = std::max(top, std::abs(total));
        }
        own[l] = std::max(own[l], top);
        own[m] = std::max(own[m], top);
        if (j != NONE) own[j] = std::max(own[j], top);
    });
    std::fill_n(best, d, 0);
    for (size_t k = 0; k < threads * d; k++) best[k % d] = std::max(best[k % d], bests[k]);
}

void product_sums(const Signs& signs, bool triples, i64* sums) {
    const size_t d = signs.planes.rows, classes = signs.labellings.columns;
    const auto pair = [](size_t j, size_t l, size_t of) {
        return j * (2 * of - j - 1) / 2 + l - j - 1;
    };
    each_product(signs, triples, 1, [&](size_t, size_t j, size_t l, size_t m, const i64* sum) {
        size_t at = pair(l, m, d);
        if (j != NONE) {
            const size_t left = d - j;  // sets that begin before j come first
            at = d * (d - 1) * (d - 2) / 6 - left * (left - 1) * (left - 2) / 6 +
                 pair(l - j - 1, m - j - 1, left - 1);
        }
        // A bit 1 was counted as -1: of three signs the product is then the other one.
        for (size_t c = 0; c < classes; c++)
            sums[at * classes + c] = j == NONE ? sum[c] : -sum[c];
    });
}
// [/products]

}  // namespace privsieve
