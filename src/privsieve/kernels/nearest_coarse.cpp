// Coarse copies of rows of numbers, in bytes and in float32, for a filter of near rows.
#include "nearest.h"

#include <cmath>
#include <cstring>

namespace privsieve {
namespace {

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

}  // namespace privsieve
