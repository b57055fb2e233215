// Coarse copies of rows of numbers, in bytes and in float32, for a filter of near rows.
#include "nearest.h"
#include "loops.h"

#include <cmath>
#include <cstring>
#include <numeric>

namespace privsieve {
namespace {

using i32 = std::int32_t;
constexpr size_t REACHED = 1024;  // columns whose ends stay in the first cache
constexpr size_t SEEN = 15;       // rows that tell where most of a column lies
constexpr double LARGEST = 1e100;
// Room for the few roundings of a bound, and the last bits of float32 and of float64.
constexpr double ROOM = 1 + 1e-6, HALF = 0x1p-24, LAST = 0x1p-53;

struct Coarse : Copies {
    using Copies::Copies;
    size_t columns() const { return search.rows.columns; }

    void widen(size_t s, double off) {
        wide[s] = float((squares() ? std::sqrt(off) : off) * grow * ROOM *
                        (1 + 4 * double(columns()) * LAST));
    }

    double apart(size_t s, size_t k) const override {
        return search.loops->apart(at(s), at(k), columns(), squares());
    }

    // [order] The distance that decides: column by column from the left.
    double exactly(size_t s, size_t k) const override {
        const double *a = at(s), *b = at(k);
        double far = 0;
        for (size_t j = 0; j < columns(); j++) {
            const double gap = a[j] - b[j];
            far += squares() ? gap * gap : std::fabs(gap);
        }
        return far;
    }
};

struct AsBytes : Coarse {
    const size_t eights;
    std::vector<u64> words;

    AsBytes(const Search& search, const ByClass& sorted, const Ends& ends)
        : Coarse(search, sorted), eights((columns() + 7) / 8), words(panels * PANEL * eights) {
        if (ends.range > 1e-250) scale = 255 / ends.range;
        std::vector<u8> levels(eights * 8);
        const size_t rows = search.rows.rows;
        for (size_t s = 0; s < rows; s++) {
            const double off = search.loops->to_bytes(at(s), ends.low.data(), scale, columns(),
                                                      levels.data());
            u64* const to = words.data() + s / PANEL * eights * PANEL + word_place(s % PANEL);
            for (size_t c = 0; c < eights; c++) std::memcpy(to + c * PANEL, &levels[c * 8], 8);
            // the scaled numbers themselves have three roundings
            widen(s, off + double(columns()) * 0x1p-42);
        }
    }

    void lines(size_t group, float* far) const override {
        const size_t first = group * ASKED;
        search.loops->bytes(words.data(), panels, eights,
                            words.data() + first / PANEL * eights * PANEL +
                                word_place(first % PANEL),
                            far);
    }
};

struct AsFloats : Coarse {
    std::vector<float> numbers;

    AsFloats(const Search& search, const ByClass& sorted, const Ends& ends)
        : Coarse(search, sorted), numbers(panels * PANEL * columns()) {
        if (ends.range > 1e-250) scale = 0x1p40 / ends.range;  // small squares are not lost
        const std::vector<double> middle = middles();
        // terms, a stretch and the stretches are added with one rounding each
        const double roundings =
            double(std::min(columns(), STRETCH) + columns() / STRETCH + 6) * HALF;
        grow = 1 / (1 - roundings);
        tiny = 1e-20 * std::sqrt(double(columns()));  // squares that are below float32
        std::vector<float> row(columns());
        for (size_t s = 0; s < search.rows.rows; s++) {
            const double off = search.loops->to_floats(at(s), middle.data(), scale, columns(),
                                                       squares(), row.data());
            float* const to = numbers.data() + s / PANEL * columns() * PANEL + s % PANEL;
            for (size_t j = 0; j < columns(); j++) to[j * PANEL] = row[j];
            widen(s, off);
        }
    }

    // Numbers in the midst of most of a column, where float32 tells more: the medians of some rows.
    std::vector<double> middles() const {
        const size_t rows = search.rows.rows, some = std::min(SEEN, rows);
        std::vector<double> found(columns()), column(some);
        for (size_t j = 0; j < columns(); j++) {
            for (size_t i = 0; i < some; i++) column[i] = search.rows[rows * i / some][j];
            std::nth_element(column.begin(), column.begin() + i64(some / 2), column.end());
            found[j] = column[some / 2];
        }
        return found;
    }

    void lines(size_t group, float* far) const override {
        const size_t first = group * ASKED;
        search.loops->floats(numbers.data(), panels, columns(),
                             numbers.data() + first / PANEL * columns() * PANEL + first % PANEL,
                             squares(), far);
    }
};


// Copies of rows of 0 and 1.  Columns that many rows hold are packed in words, which are compared;
// each other column has the list of its rows, which are counted.
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

Ends::Ends(const Search& search) {
    const Matrix<double>& x = search.rows;
    low.assign(x[0], x[0] + x.columns);
    std::vector<double> high(low);
    for (size_t j = 0; j < x.columns; j += REACHED)
        for (size_t i = 0; i < x.rows; i++)
            taken &= search.loops->reach(x[i] + j, std::min(x.columns - j, REACHED), LARGEST,
                                         &low[j], &high[j]);
    for (size_t j = 0; j < x.columns; j++) range = std::max(range, high[j] - low[j]);
}

std::unique_ptr<Copies> as_bytes(const Search& search, const ByClass& sorted, const Ends& ends) {
    return std::make_unique<AsBytes>(search, sorted, ends);
}

std::unique_ptr<Copies> as_floats(const Search& search, const ByClass& sorted, const Ends& ends) {
    return std::make_unique<AsFloats>(search, sorted, ends);
}

std::unique_ptr<Copies> as_bits(const Search& search, const ByClass& sorted) {
    auto copies = std::make_unique<AsBits>(search, sorted);
    if (!copies->taken) copies.reset();
    return copies;
}

}  // namespace privsieve
