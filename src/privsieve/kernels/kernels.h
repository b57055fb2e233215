// The kernels: arrays in, arrays out.  Their meaning is said in `__init__.py`, once.
#pragma once
#include "arrays.h"

#include <vector>

namespace privsieve {

template <class Count> struct RunsView {
    const i64* indptr;
    const u16* code;
    const Count* count;
    size_t columns, classes;
};

template <class Count> struct Runs {
    Buffer<i64> indptr;
    Buffer<u16> code;
    Buffer<Count> count;
    size_t columns, size, classes;
    Runs(size_t columns, size_t size, size_t classes)
        : indptr(columns + 1), code(size), count(size * classes), columns(columns), size(size),
          classes(classes) {}
    void cut(size_t used) {
        size = used;
        code.resize(used);
        count.resize(used * classes);
    }
};

// Some rows: where each class begins, and what a row weighs (null: 1).
struct ClassRows {
    Matrix<u16> codes;
    const i64 *starts, *weight;
};

template <class Count> Runs<Count> runs(const std::vector<ClassRows>& parts, size_t classes);

template <class Count>
Runs<Count> merge_runs(const RunsView<Count>& a, const RunsView<Count>& b);

template <class Count>
void interval(const RunsView<Count>& runs, Matrix<i64> labellings, const u8* kind, i64* out);

// For each cut between classes c and c + 1, and each column: twice the largest n |covariance|.
template <class Count> void rank_intervals(const RunsView<Count>& runs, const u8* kind, i64* out);

struct Cut {
    u16 code = 0;
    u64 key = 0, row = 0;
    i64 count = 0;
};

struct Ids {
    const u64 *unit, *row;
};

// One column's plane, and its mask unless that is null; returns the place of the zero row or -1.
i64 sign_plane(Matrix<u16> codes, size_t column, Matrix<i64> layout, Ids ids, u64 key, Cut cut,
               u8 kind, u64* plane, u64* mask);

struct Signs {
    Matrix<u64> planes;
    const u64* masks;  // null: every row has a sign, but for the zero rows
    const i64 *zeros, *words, *rows;
    Matrix<i64> labellings;
};

void sign_products(const Signs& signs, bool triples, size_t threads, i64* best);

// Sums each product in each class; sets are in lexicographic order.  Labels are not read.
void product_sums(const Signs& signs, bool triples, i64* sums);

struct Bins {
    Matrix<u8> bins;
    const i64 *starts, *weight;
    Matrix<i64> labellings;
    size_t grid;
    const u8* nominal;
};

void pair_gain(const Bins& bins, size_t threads, i64* gain);
void pair_best(const Bins& bins, size_t threads, i64* best);

void code_sums(Matrix<u16> codes, const std::int32_t* label, size_t classes, i64* sums);
// Counts the rows of each class in each cell of each pair.  It does not read labels or `nominal`.
void cell_sums(const Bins& bins, i64* cells);

// Rows of a column that share a code; a column's place is the feature that its keys are of.
struct Tie {
    size_t column;
    u16 code;
};

// How many rows of a tie have each of the top bits of a key.
constexpr int TOP_BITS = 12;
void tie_counts(Matrix<u16> codes, const u64* unit, u64 key, Tie tie, i64* counts);

// The keys and rows of a tie whose keys have these top bits (any, below 0), behind those there are.
void tied(Matrix<u16> codes, Ids ids, u64 key, Tie tie, i64 top, std::vector<u64>& keys,
          std::vector<u64>& rows);

}  // namespace privsieve
