#include "csv.h"

#include <algorithm>
#include <cstring>

namespace privsieve::csv {

struct Scratch {
    std::string decoded, held;
    std::vector<Text> fields;
};

static Text stripped(Text text) {
    const size_t first = text.find_first_not_of(" \t");
    if (first == Text::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

std::int32_t Distinct::id(Text text) {
    const auto found = known.find(text);
    if (found != known.end()) return found->second;
    const auto fresh = std::int32_t(held.size());
    held.emplace_back(text);
    known.emplace(held.back(), fresh);
    return fresh;
}

Records::Records(Form&& given)
    : form(std::move(given)), part_of(form.need, -1),
      apart(Text("0123456789+-.eE").find(form.delimiter) == Text::npos) {}

void Records::add(size_t position, Part&& part) {
    part_of[position] = std::int64_t(parts.size());
    parts.push_back(std::move(part));
}

void Records::add_number(size_t position, const Part& rule) { add(position, Part(rule)); }

void Records::add_levels(size_t position, const std::vector<std::string>& texts, const u16* codes,
                         u16 other) {
    Part part{LEVELS, other};
    part.place = levels.size();
    add(position, std::move(part));
    levels.emplace_back();
    for (size_t at = 0; at < texts.size(); at++) {
        keys.push_back(texts[at]);
        levels.back().emplace(keys.back(), codes[at]);
    }
}

void Records::add_text(size_t position) {
    Part part{TEXT, 0};
    part.place = many_texts++;
    add(position, std::move(part));
}

// [csv-cell] a cell's code, or the id of its text, by its own text and its part of the domain
void Records::cell(Text text, size_t at, size_t row, Found& found) const {
    const Part& part = parts[at];
    u16& code = found.codes[at * found.rows + row];
    if (part.kind < LEVELS) {
        code = graded(part, number(text, form.decimal));
    } else if (part.kind == LEVELS) {
        const Levels& known = levels[part.place];
        const auto level = known.find(plain(stripped(text)));
        code = level == known.end() ? part.missing : level->second;
    } else {
        found.ids[part.place * found.rows + row] = found.texts[part.place].id(stripped(text));
        code = 0;
    }
}

void Records::blank(size_t row, Found& found) const {
    for (size_t at = 0; at < parts.size(); at++) cell({}, at, row, found);
}

// [/csv-cell]

// [csv-line] a line is read into its own places, whatever the others hold
// How many fields a line without quotes has; a number is read before its end is known.
size_t Records::fields(Text line, size_t row, Found& found) const {
    const char *p = line.data(), *end = p + line.size();
    for (size_t many = 1;; many++, p++) {
        const std::int64_t at = many <= part_of.size() ? part_of[many - 1] : -1;
        const bool fast = at >= 0 && apart && parts[size_t(at)].kind < LEVELS;
        double value;
        const char* stop = fast ? leading_number(p, end, form.decimal, value) : nullptr;
        if (stop && (stop == end || *stop == form.delimiter)) {
            found.codes[size_t(at) * found.rows + row] = graded(parts[size_t(at)], value);
        } else {
            const void* next = std::memchr(p, form.delimiter, size_t(end - p));
            stop = next ? static_cast<const char*>(next) : end;
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
        if (many < part_of.size() && part_of[many] >= 0)
            cell(text, size_t(part_of[many]), row, found);
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
    Found found{Buffer<u16>(parts.size() * rows), Buffer<std::int32_t>(many_texts * rows),
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
