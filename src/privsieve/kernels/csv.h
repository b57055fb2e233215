// Lines of a CSV file as codes.  Their meaning is said in `csv.py`, once.
#pragma once
#include "cell.h"

#include <unordered_map>

namespace privsieve::csv {

struct Form {
    char delimiter;
    Signs signs;
    std::vector<u16> points;  // the character of each byte; empty: UTF-8
    size_t width, need;       // so many fields; width 0: at least `need`
    size_t longest;
};

// The line in UTF-8, what is broken replaced, as Python's decoders do it.
void decode(Text line, const std::vector<u16>& points, std::string& out);

// Cuts a line with quotes into fields, as Python's strict `csv` does; `held` has their texts.
bool unquote(Text line, char delimiter, std::string& held, std::vector<Text>& fields);

// The different texts of a column, in the order in which they come.
struct Distinct {
    std::deque<std::string> held;
    std::unordered_map<Text, std::int32_t> known;
    std::int32_t id(Text text);
};

// The codes of some lines; and the ids of texts that have no code yet (-1: the code is known).
struct Found {
    Buffer<u16> codes;
    Buffer<std::int32_t> ids;
    std::vector<Distinct> texts;
    size_t rows, end;  // how many lines, and where the next begins
};

using Rules = std::vector<std::shared_ptr<const CellRule>>;

class Records {
    Form form;
    Rules rules;  // null: a text that is told apart
    std::vector<std::int64_t> rule_of;  // by the position of a field; -1: not read
    std::vector<std::int64_t> text_of;  // by the rule: among the texts; -1: none is kept
    size_t many_texts = 0;
    bool apart;  // the delimiter is no part of a number

    void cell(Text text, size_t part, size_t row, Found& found) const;
    void blank(size_t row, Found& found) const;
    size_t fields(Text line, size_t row, Found& found) const;
    bool record(Text line, size_t row, Found& found, struct Scratch& scratch) const;

public:
    explicit Records(Form&& form);
    // The rule of a field; without one its texts are told apart.
    void add(size_t position, std::shared_ptr<const CellRule> rule);
    size_t width() const { return rules.size(); }
    size_t texts() const { return many_texts; }
    // At most `most` of the lines that begin at `start`.
    Found read(Text block, size_t start, size_t most) const;
};

}  // namespace privsieve::csv
