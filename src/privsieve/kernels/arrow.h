// Columns of Arrow as codes.  Their meaning is said in `rows/arrow.py`, once.
#pragma once
#include "cell.h"

namespace privsieve::arrow {

// The C data interface of Arrow, as its specification prints it.
struct ArrowArray {
    std::int64_t length, null_count, offset, n_buffers, n_children;
    const void** buffers;
    ArrowArray** children;
    ArrowArray* dictionary;
    void (*release)(ArrowArray*);
    void* private_data;
};

// Whole numbers that have a code; all other cells have the code `other`.
struct Whole {
    u16 other = 0;
    std::vector<i64> keys{};  // rising; those of unsigned numbers as the same bits
    std::vector<u16> codes{};
    std::vector<u16> direct{};  // from the first key on, where the keys are near to each other
    void spread();
    u16 of(i64 key) const;
};

// How cells become codes: as numbers, listed whole numbers, true and false, or texts.
enum How { NUMBER, WHOLE, BITS, TEXTS };

struct Rule {
    char type = 0;  // of the cells: a letter of Arrow's format strings, or a digit for a time
    How how = NUMBER;
    Grade grade{};
    Whole whole{};
    std::shared_ptr<const csv::CellRule> text{};
    csv::Signs signs{};
};

// So many rows of a batch, from one on; rows of their codes lie `stride` apart.
struct Window {
    size_t from, rows, stride;
};

// The rows of a column that Python looks at.
using Asked = std::vector<std::vector<i64>>;

class Columns {
    std::vector<Rule> rules;

    Rule& add(char type, How how);
    void column(const ArrowArray& cells, i64 from, size_t rows, const Rule& rule, u16* out,
                std::vector<i64>& asked) const;

public:
    // Each gives the place of its rule.
    size_t add_number(char type, Grade&& grade);
    size_t add_whole(char type, Whole&& whole);
    size_t add_bits(u16 no, u16 yes, u16 missing);
    size_t add_text(char type, std::shared_ptr<const csv::CellRule> rule, csv::Signs signs);
    size_t size() const { return rules.size(); }
    // Whether a batch has so many columns, and at least so many rows.
    static bool fits(const ArrowArray& batch, size_t columns, size_t rows);
    // A row of `out` for each column that has a rule; -1: it has none, and its row stays.
    Asked read(const ArrowArray& batch, const std::int32_t* which, Window window, u16* out) const;
};

}  // namespace privsieve::arrow
