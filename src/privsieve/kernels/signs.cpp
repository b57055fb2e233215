// The bit planes of the signs on both sides of the median cuts.
#include "kernels.h"
#include "loops.h"

#include <algorithm>
#include <vector>

namespace privsieve {
namespace {

// [split]
constexpr u16 MISSING = 65535;
constexpr u8 WITH_MISSING = 1, NOMINAL = 2;

// Sets the signs of one class's rows that share the cut's code; returns the zero row or -1.
i64 settle_ties(const std::vector<u64>& tied, Ids ids, const Cut& cut, u64 column, u64 key,
                u64* plane) {
    i64 zero = -1;
    u64 unit[64], keys[64];
    for (size_t w = 0; w < tied.size(); w++) {
        size_t many = 0;
        for (u64 bits = tied[w]; bits; bits &= bits - 1)
            unit[many++] = ids.unit[w * 64 + size_t(__builtin_ctzll(bits))];
        best_loops().hash(unit, many, column << 40, key, keys);
        many = 0;
        u64 above = 0;
        for (u64 bits = tied[w]; bits; bits &= bits - 1, many++) {
            const int at = __builtin_ctzll(bits);
            u64 higher = keys[many] > cut.key;  // no branch: which way it goes is a coin
            if (keys[many] == cut.key) {
                const u64 row = ids.row[w * 64 + size_t(at)];
                const bool middle = row == cut.row && cut.count % 2;
                if (middle) zero = i64(w * 64) + at;
                higher = row >= cut.row && !middle;
            }
            above |= higher << at;
        }
        plane[w] |= above;
    }
    return zero;
}

}  // namespace

i64 sign_plane(Matrix<u16> codes, size_t column, Matrix<i64> layout, Ids ids, u64 key, Cut cut,
               u8 kind, u64* plane, u64* mask) {
    const i64 *starts = layout[0], *words = layout[1];
    const size_t classes = layout.columns - 1;
    const u16 high = kind == WITH_MISSING ? u16(MISSING - 1) : MISSING;
    std::vector<u64> tied;
    i64 zero = -1;
    std::fill(plane, plane + words[classes], 0);
    if (mask) std::fill(mask, mask + words[classes], 0);
    if (kind >= NOMINAL || !cut.count) return zero;
    for (size_t c = 0; c < classes; c++) {
        const size_t first = size_t(starts[c]), rows = size_t(starts[c + 1]) - first;
        const u16* code = codes[column] + first;
        u64* bits = plane + words[c];
        if (cut.code < high) best_loops().between(code, rows, u16(cut.code + 1), high, bits);
        tied.assign((rows + 63) / 64, 0);
        best_loops().between(code, rows, cut.code, cut.code, tied.data());
        const Ids here{ids.unit + first, ids.row + first};
        const i64 found = settle_ties(tied, here, cut, column, key, bits);
        if (found >= 0) zero = words[c] * 64 + found;
        if (mask) best_loops().between(code, rows, 0, high, mask + words[c]);
    }
    if (mask && zero >= 0) mask[zero >> 6] &= ~(u64(1) << (zero & 63));
    return zero;
}
// [/split]

}  // namespace privsieve
