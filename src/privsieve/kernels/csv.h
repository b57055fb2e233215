// Lines of a CSV file as codes.  Their meaning is said in `csv.py`, once.
#pragma once
#include "grade.h"

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace privsieve::csv {

using Text = std::string_view;

struct Form {
    char delimiter, decimal;
    std::vector<u16> points;  // the character of each byte; empty: UTF-8
    size_t width, need;       // so many fields; width 0: at least `need`
    size_t longest;
};

// The number that a text says, by the rule of `cells.NUMBER`; NaN where it says none.
double number(Text text, char decimal);

// The same of what stands at p, followed by anything; returns its end, or null.
const char* leading_number(const char* p, const char* end, char decimal, double& value);

// A whole number without plus sign, point and zeros after it, as `canonical.plain` writes it; other
// texts as they are.
Text plain(Text text);

// The line in UTF-8, what is broken replaced, as Python's decoders do it.
void decode(Text line, const std::vector<u16>& points, std::string& out);

// Fields of a line that holds quotes, as Python's `csv` cuts them (strict); false: it refuses.
// Their texts stand in `held`.
bool unquote(Text line, char delimiter, std::string& held, std::vector<Text>& fields);

using Levels = std::unordered_map<Text, u16>;

// The different texts of a column, in the order in which they come.
struct Distinct {
    std::deque<std::string> held;
    std::unordered_map<Text, std::int32_t> known;
    std::int32_t id(Text text);
};

// What is read of some lines: a code for each part and line, an id for each text and line.
struct Found {
    Buffer<u16> codes;
    Buffer<std::int32_t> ids;
    std::vector<Distinct> texts;
    size_t rows, end;  // how many lines, and where the next begins
};

class Records {
    Form form;
    std::vector<Part> parts;
    std::vector<std::int64_t> part_of;  // by the position of a field; -1: not read
    std::vector<Levels> levels;
    std::deque<std::string> keys;
    size_t many_texts = 0;
    bool apart;  // the delimiter is no part of a number

    void add(size_t position, Part&& part);
    void cell(Text text, size_t part, size_t row, Found& found) const;
    void blank(size_t row, Found& found) const;
    size_t fields(Text line, size_t row, Found& found) const;
    bool record(Text line, size_t row, Found& found, struct Scratch& scratch) const;

public:
    explicit Records(Form&& form);
    // Values are first cut off at `least` and `most`.
    void add_number(size_t position, const Part& rule);
    void add_levels(size_t position, const std::vector<std::string>& texts, const u16* codes,
                    u16 other);
    void add_text(size_t position);
    size_t width() const { return parts.size(); }
    size_t texts() const { return many_texts; }
    // At most `most` of the lines that begin at `start`.
    Found read(Text block, size_t start, size_t most) const;
};

}  // namespace privsieve::csv
