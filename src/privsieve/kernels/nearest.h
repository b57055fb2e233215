// The nearest row of the same class and of any other class, in all rows or in samples.
#pragma once
#include "arrays.h"
#include "nearest_loops.h"
#include "threads.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace privsieve {

enum class Metric { manhattan, euclidean, hamming };

// Which copies exclude rows before exact distances.  Rows of 0 and 1 have bits, or lists of columns.
enum class Filter { by_data, bytes, floats };

struct Search {
    Matrix<double> rows;
    const std::int32_t* label;
    Metric metric;
    Filter filter;
    const NearLoops* loops;
    const u64* drawn;  // bit r of entry i: row i is in sample r; null for one sample of all
    size_t samples;
};

// Rows sorted by class: row[s] is at place s, and its class has the places first[s] to last[s].
struct ByClass {
    std::vector<size_t> row, first, last;
    ByClass(const std::int32_t* label, size_t rows);
};

// Copies of all rows, by place, that tell distances roughly: the copies' distance is off by at
// most wide[s] + wide[k], in units of 1 / scale, and by the roundings that `grow` and `tiny` say.
struct Copies {
    const Search& search;
    const ByClass& sorted;
    double scale = 1, grow = 1, tiny = 0;
    size_t panels;
    std::vector<float> wide;
    double work;  // how many differences of numbers or words all pairs have

    Copies(const Search& search, const ByClass& sorted)
        : search(search), sorted(sorted), panels((search.rows.rows + PANEL - 1) / PANEL),
          wide(panels * PANEL),
          work(double(search.rows.rows) * double(search.rows.rows) * double(search.rows.columns)) {}
    virtual ~Copies() = default;

    size_t stride() const { return panels * PANEL; }
    const double* at(size_t place) const { return search.rows[sorted.row[place]]; }
    bool squares() const { return search.metric == Metric::euclidean; }

    // far[q * stride + k]: the copies' distance of places group * ASKED + q and k.
    virtual void lines(size_t group, float* far) const = 0;
    // The distance added up in any order, and in the order that decides.
    virtual double apart(size_t s, size_t k) const = 0;
    virtual double exactly(size_t s, size_t k) const = 0;
};

// found[0][i * samples + r], found[1][..] are the hit and the miss of row i in sample r, or -1.
// False where a number is refused: one above 1e100 in size, or not 0 or 1 under `hamming`.
bool nearest(const Search& search, i64* const found[2]);

// The ends of the columns; false where a number is refused.
struct Ends {
    std::vector<double> low;
    double range = 0;
    bool taken = true;
    explicit Ends(const Search& search);
};
std::unique_ptr<Copies> as_bytes(const Search& search, const ByClass& sorted, const Ends& ends);
std::unique_ptr<Copies> as_floats(const Search& search, const ByClass& sorted, const Ends& ends);
// Null where a number is refused.
std::unique_ptr<Copies> as_bits(const Search& search, const ByClass& sorted);

}  // namespace privsieve
