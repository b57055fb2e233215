// The innermost loops of nearest rows, compiled once for each instruction set as those of loops.h.
#pragma once
#include <cstddef>
#include <cstdint>

namespace privsieve {

// Rows lie in panels of 16, so that a vector holds one column of neighbouring rows; 8 rows are
// looked up at once, so that a panel is read once for all of them.
constexpr size_t PANEL = 16, ASKED = 8;
constexpr size_t STRETCH = 256;  // columns that a float32 sum adds up before it goes to the total

// Where in a panel of words those of a row begin: those of even rows come first, because the
// sums of an even and of an odd row are put together from two vectors.
constexpr size_t word_place(size_t row) { return row % 2 * (PANEL / 2) + row / 2; }
// The smallest of a line are kept apart so many times.
constexpr size_t LANES = 64;

struct NearLoops {
    // the smallest and the largest of each column so far; whether no size is above `most`
    bool (*reach)(const double* row, size_t many, double most, double* low, double* high);
    // bit j = row[j]; whether all are 0 or 1
    bool (*ones)(const double* row, size_t many, std::uint64_t* bits);
    // (row - low) * scale, rounded to bytes or to float32, and the sum of what is rounded off, or
    // of its squares
    double (*to_bytes)(const double* row, const double* low, double scale, size_t many,
                       std::uint8_t* out);
    double (*to_floats)(const double* row, const double* low, double scale, size_t many,
                        bool squares, float* out);
    // far[q * stride + k] = sum of |differences| of bytes, where stride = many * PANEL.  A panel
    // has 16 words for each 8 columns, `word_place` says whose.  `asked` points to the words of
    // the first of the rows that are looked up.
    void (*bytes)(const std::uint64_t* panels, size_t many, size_t eights,
                  const std::uint64_t* asked, float* far);
    // The same of bits: how many differ, 64 columns a word.
    void (*bits)(const std::uint64_t* panels, size_t many, size_t words,
                 const std::uint64_t* asked, float* far);
    // The same of float32 numbers, |differences| or the root of squares: 16 a column in a panel.
    void (*floats)(const float* panels, size_t many, size_t columns, const float* asked,
                   bool squares, float* far);
    // Each number goes to one of the lanes, which keep the smallest; none is negative or NaN.
    void (*lows)(const float* far, size_t many, float* lanes);
    // the places k with far[k] <= base + wide[k], `from` added to each
    size_t (*within)(const float* far, const float* wide, size_t many, float base,
                     std::int32_t from, std::int32_t* found);
    // the distance of two rows, added up in any order
    double (*apart)(const double* a, const double* b, size_t many, bool squares);
};

}  // namespace privsieve
