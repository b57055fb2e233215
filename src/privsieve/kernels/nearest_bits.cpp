// Copies of rows of 0 and 1 that tell the columns that differ.  Columns that many rows hold are
// packed in words, of which all pairs of rows are compared; of the others each has the list of its
// holders, and what two rows share is counted along the lists.
#include "nearest.h"
#include "loops.h"

#include <numeric>

namespace privsieve {
namespace {

using i32 = std::int32_t;
// Of the rows so many hold a column whose list takes the time of its bits, which grows with the
// square.  Of the cells so many are 1 where no list is looked for.
constexpr double LISTED = 0.04, DENSE = 0.1;

// Numbers by their owner: those of owner i are at from[i] to from[i + 1].
struct Lists {
    std::vector<size_t> from;
    std::vector<i32> held;
    explicit Lists(size_t owners) : from(owners + 1) {}
};

struct AsBits : Copies {
    const Loops& loops = best_loops();
    const size_t columns, words;
    size_t packed = 0;  // words of the columns that are compared
    bool taken = true;
    std::vector<u64> bits, panel_bits;
    std::vector<float> shared;  // how many columns of a row are in lists
    Lists columns_of, holders;

    AsBits(const Search& search, const ByClass& sorted)
        : Copies(search, sorted), columns(search.rows.columns), words((columns + 63) / 64),
          bits(panels * PANEL * words), shared(panels * PANEL), columns_of(panels * PANEL),
          holders(columns) {
        for (size_t s = 0; s < search.rows.rows; s++)
            taken &= search.loops->ones(this->Copies::at(s), columns, bits.data() + s * words);
        const size_t ones = size_t(loops.count_and(bits.data(), bits.data(), bits.size()));
        const double cells = double(search.rows.rows) * double(columns);
        if (search.filter == Filter::bytes || double(ones) > DENSE * cells) all_packed();
        else some_listed(search.filter == Filter::floats ? 2 : LISTED, ones);
        work = double(search.rows.rows) * double(search.rows.rows) * double(packed);
    }

    const u64* at(size_t place) const { return bits.data() + place * words; }
    u64& word(size_t s, size_t c) {
        return panel_bits[(s / PANEL * packed + c) * PANEL + word_place(s % PANEL)];
    }

    void all_packed() {
        packed = words;
        panel_bits.resize(panels * PANEL * packed);
        for (size_t s = 0; s < search.rows.rows; s++)
            for (size_t c = 0; c < words; c++) word(s, c) = at(s)[c];
    }

    template <class Do> void each(size_t s, Do act) const {
        for (size_t w = 0; w < words; w++)
            for (u64 left = at(s)[w]; left; left &= left - 1)
                act(w * 64 + size_t(__builtin_ctzll(left)));
    }

    // Columns that more than this share of the rows hold are packed.
    void some_listed(double share, size_t ones) {
        const size_t rows = search.rows.rows;
        std::vector<size_t> many(columns), place(columns, columns);
        std::vector<i32>& held = columns_of.held;
        held.resize(ones);
        size_t end = 0, kept = 0;
        for (size_t s = 0; s < stride(); s++) {
            each(s, [&](size_t j) { held[end++] = i32(j), many[j]++; });
            columns_of.from[s + 1] = end;
        }
        for (size_t j = 0; j < columns; j++)
            if (double(many[j]) > share * double(rows)) place[j] = packed++, many[j] = 0;
        packed = (packed + 63) / 64;
        panel_bits.resize(panels * PANEL * packed);
        std::partial_sum(many.begin(), many.end(), holders.from.begin() + 1);
        holders.held.resize(holders.from[columns]);
        std::vector<size_t> next(holders.from);
        for (size_t s = 0, t = 0; s < stride(); s++) {
            for (; t < columns_of.from[s + 1]; t++) {
                const size_t j = size_t(held[t]);
                if (place[j] < columns) word(s, place[j] / 64) |= u64(1) << place[j] % 64;
                else held[kept++] = i32(j), holders.held[next[j]++] = i32(s);
            }
            columns_of.from[s + 1] = kept;
            shared[s] = float(kept - columns_of.from[s]);
        }
        held.resize(kept);
    }

    void lines(size_t group, float* far) const override {
        const size_t first = group * ASKED;
        search.loops->bits(panel_bits.data(), panels, packed,
                           panel_bits.data() + first / PANEL * packed * PANEL +
                               word_place(first % PANEL),
                           far);
        for (size_t s = first; s < first + ASKED; s++, far += stride()) {
            if (columns_of.held.empty()) continue;
            for (size_t k = 0; k < stride(); k++) far[k] += shared[s] + shared[k];
            for (size_t t = columns_of.from[s]; t < columns_of.from[s + 1]; t++) {
                const size_t j = size_t(columns_of.held[t]);
                for (size_t h = holders.from[j]; h < holders.from[j + 1]; h++)
                    far[holders.held[h]] -= 2;
            }
        }
    }

    // A count is a count in any order.
    double apart(size_t s, size_t k) const override {
        return double(loops.count_xor(at(s), at(k), words));
    }
    double exactly(size_t s, size_t k) const override { return apart(s, k); }
};

}  // namespace

std::unique_ptr<Copies> as_bits(const Search& search, const ByClass& sorted) {
    auto copies = std::make_unique<AsBits>(search, sorted);
    if (!copies->taken) copies.reset();
    return copies;
}

}  // namespace privsieve
