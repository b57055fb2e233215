// The code of a text: `cells.CellRule` in C++.  What it means is said there, once.
#pragma once
#include "grade.h"

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace privsieve::csv {

using Text = std::string_view;

// The decimal sign, what may stand between groups of three digits (0: nothing), and which signs of a
// limit are read as its number: 1 for `<`, 2 for `>`, 3 for both.
struct Signs {
    char decimal = '.', thousands = 0;
    u8 limits = 0;
};

// The number that a text says, by the rule of `cells.number_cell`; NaN where it says none.
double number(Text text, Signs signs);

// Reads a number at p, without signs between digits; returns its end, or null.
const char* leading_number(const char* p, const char* end, char decimal, double& value);

// Writes a whole number as `canonical.plain` does; other texts stay.
Text plain(Text text);

// Without blanks around it.
Text stripped(Text text);

// Texts that have a code, by open addressing.
class Words {
    struct Slot {
        u64 hash = 0;
        Text text{};
        std::int32_t code = -1;
    };
    std::deque<std::string> held;
    std::vector<Slot> slots;
    std::int32_t find(Text text) const;

public:
    Words(const std::vector<std::string>& texts, const u16* codes);
    Words(const Words&) = delete;
    bool none() const { return held.empty(); }
    // The code of a text, or of how `plain` writes it; -1: it has none.
    std::int32_t code(Text text) const;
};

// A way to write a date: each step is a letter of `YymdHMS` as 1 to 7, or a literal character.
struct DateForm {
    std::string steps;
    size_t width = 0;
    explicit DateForm(std::string found);
    // Whether a text is a date in this form, and its days since 1970.
    bool read(Text text, double& days) const;
};

enum Reads { LISTED, NUMBERS, DATES };

struct CellRule {
    Reads reads;
    Words words;
    Grade grade;  // of listed texts only `missing` counts: the code of all others
    std::vector<DateForm> forms;
    bool asks;  // what is not known here is looked at by Python
    // The code of a cell; -1: Python looks at it.
    std::int32_t code(Text text, Signs signs) const;
};

}  // namespace privsieve::csv
