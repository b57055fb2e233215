#include "csv.h"

#include <algorithm>
#include <cstring>

namespace privsieve::csv {

struct Scratch {
    std::string decoded, held;
    std::vector<Text> fields;
};

std::int32_t Distinct::id(Text text) {
    const auto found = known.find(text);
    if (found != known.end()) return found->second;
    const auto fresh = std::int32_t(held.size());
    held.emplace_back(text);
    known.emplace(held.back(), fresh);
    return fresh;
}

Records::Records(Form&& given)
    : form(std::move(given)), rule_of(form.need, -1),
      apart(Text("0123456789+-.eE").find(form.delimiter) == Text::npos) {}

void Records::add(size_t position, std::shared_ptr<const CellRule> rule) {
    rule_of[position] = std::int64_t(rules.size());
    text_of.push_back(!rule || rule->asks ? std::int64_t(many_texts++) : -1);
    rules.push_back(std::move(rule));
}

// [csv-cell] a cell's code, or the id of its text, by its own text and its part of the domain
void Records::cell(Text text, size_t at, size_t row, Found& found) const {
    const CellRule* rule = rules[at].get();
    const std::int32_t code = rule ? rule->code(text, form.signs) : -1;
    found.codes[at * found.rows + row] = u16(code < 0 ? 0 : code);
    if (text_of[at] < 0) return;
    const size_t kept = size_t(text_of[at]);
    found.ids[kept * found.rows + row] = code < 0 ? found.texts[kept].id(stripped(text)) : -1;
}

void Records::blank(size_t row, Found& found) const {
    for (size_t at = 0; at < rules.size(); at++) cell({}, at, row, found);
}

// [/csv-cell]

// Where a character stands first, or the end: most fields are short.
static const char* next_sign(const char* p, const char* end, char sign) {
    const u64 eight = 0x0101010101010101u * u8(sign);
    for (u64 bytes; end - p >= 8; p += 8) {
        std::memcpy(&bytes, p, 8);
        bytes ^= eight;
        const u64 zero = (bytes - 0x0101010101010101u) & ~bytes & 0x8080808080808080u;
        if (zero) return p + __builtin_ctzll(zero) / 8;
    }
    while (p < end && *p != sign) p++;
    return p;
}

// [csv-line] a line is read into its own places, whatever the others hold
// How many fields a line without quotes has; a number is read before its end is known.
size_t Records::fields(Text line, size_t row, Found& found) const {
    const char *p = line.data(), *end = p + line.size();
    for (size_t many = 1;; many++, p++) {
        const std::int64_t at = many <= rule_of.size() ? rule_of[many - 1] : -1;
        const CellRule* rule = at < 0 ? nullptr : rules[size_t(at)].get();
        double value;
        const char* stop = rule && apart && rule->reads == NUMBERS && !rule->asks
                               ? leading_number(p, end, form.signs.decimal, value) : nullptr;
        if (stop && (stop == end || *stop == form.delimiter)) {
            found.codes[size_t(at) * found.rows + row] = graded(rule->grade, value);
        } else {
            stop = next_sign(p, end, form.delimiter);
            if (at >= 0) cell(Text(p, size_t(stop - p)), size_t(at), row, found);
        }
        if (stop == end) return many;
        p = stop;
    }
}

// Whether a line is a record; if not, what was written of it is to be written again.
bool Records::record(Text line, size_t row, Found& found, Scratch& scratch) const {
    if (line.empty() || line.size() > form.longest) return false;
    u8 high = 0, quote = 0, nul = 0;
    for (const char c : line) {
        high |= u8(c);
        quote |= u8(c == '"');
        nul |= u8(c == 0);
    }
    if (nul) return false;
    if (high & 0x80) {
        decode(line, form.points, scratch.decoded);
        line = scratch.decoded;
    }
    if (line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) return false;
    size_t many = 0;
    const auto take = [&](Text text) {
        if (many < rule_of.size() && rule_of[many] >= 0)
            cell(text, size_t(rule_of[many]), row, found);
        many++;
    };
    if (quote) {
        if (!unquote(line, form.delimiter, scratch.held, scratch.fields)) return false;
        for (const Text text : scratch.fields) take(text);
    } else {
        many = fields(line, row, found);
    }
    return form.width ? many == form.width : many >= form.need;
}

static size_t line_end(Text block, size_t start) {
    const size_t end = block.find('\n', start);
    return end == Text::npos ? block.size() : end;
}

Found Records::read(Text block, size_t start, size_t most) const {
    size_t rows = 0;
    for (size_t p = start; p < block.size() && rows < most; rows++) p = line_end(block, p) + 1;
    Found found{Buffer<u16>(rules.size() * rows), Buffer<std::int32_t>(many_texts * rows),
                std::vector<Distinct>(many_texts), rows, start};
    Scratch scratch;
    for (size_t row = 0; row < rows; row++) {
        const size_t end = line_end(block, found.end);
        if (!record(block.substr(found.end, end - found.end), row, found, scratch))
            blank(row, found);
        found.end = std::min(end + 1, block.size());
    }
    return found;
}
// [/csv-line]

}  // namespace privsieve::csv
