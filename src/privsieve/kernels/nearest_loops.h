// The innermost loops of nearest rows, compiled once for each instruction set as those of loops.h.
#pragma once
#include <cstddef>
#include <cstdint>

namespace privsieve {

// Rows lie in panels of 16, so that a vector holds one column of neighbouring rows; 8 rows are
// looked up at once, so that a panel is read once for all of them.
constexpr size_t PANEL = 16, ASKED = 8;
constexpr size_t STRETCH = 256;  // columns that a float32 sum adds up before it goes to the total

struct NearLoops {
    const char* name;
    // the smallest and the largest of each column so far
    void (*reach)(const double* row, size_t many, double* low, double* high);
    // (row - low) * scale, rounded to bytes or to float32, and the sum of what is rounded off, or
    // of its squares; each part is at least what it is in the reals
    double (*to_bytes)(const double* row, const double* low, double scale, size_t many,
                       std::uint8_t* out);
    double (*to_floats)(const double* row, const double* low, double scale, size_t many,
                        bool squares, float* out);
    // far[q * stride + k] = sum of |differences| of bytes.  A panel has 128 bytes for each 8
    // columns: the 8 bytes of rows 0, 2, .., 14, then those of rows 1, 3, .., 15.
    // `asked` holds 8 bytes of each row that is looked up, for each 8 columns.
    void (*bytes)(const std::uint64_t* panels, size_t many, size_t eights,
                  const std::uint64_t* asked, float* far, size_t stride);
    // The same of float32 numbers, |differences| or squares: 16 a column in a panel, 8 in `asked`.
    void (*floats)(const float* panels, size_t many, size_t columns, const float* asked,
                   bool squares, float* far, size_t stride);
    // the place of the smallest; none is negative or NaN, and `many` is not 0
    size_t (*lowest)(const float* far, size_t many);
    // the places k with far[k] <= base + wide[k], or <= its square, `from` added to each
    size_t (*within)(const float* far, const float* wide, size_t many, float base, bool squares,
                     std::int32_t from, std::int32_t* found);
    // the distance of two rows, added up in any order
    double (*apart)(const double* a, const double* b, size_t many, bool squares);
};

extern const NearLoops near_base;
#ifdef PRIVSIEVE_X86
extern const NearLoops near_avx2, near_avx512;
#endif

}  // namespace privsieve
