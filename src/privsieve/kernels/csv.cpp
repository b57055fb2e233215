#include "csv.h"

#include <algorithm>
#include <cstring>

namespace privsieve::csv {

// More characters in a field are refused by Python's `csv`.
static constexpr size_t LARGEST_FIELD = 131072;

static void append(std::string& out, u16 point) {
    if (point < 0x80) {
        out += char(point);
        return;
    }
    if (point < 0x800) {
        out += char(0xC0 | point >> 6);
    } else {
        out += char(0xE0 | point >> 12);
        out += char(0x80 | (point >> 6 & 0x3F));
    }
    out += char(0x80 | (point & 0x3F));
}

// How many bytes at p belong together: a character (`good`), or the beginning of one.
static size_t together(const u8* p, const u8* end, bool& good) {
    const u8 lead = *p;
    const size_t size = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2
                        : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    good = size > 0;
    if (size <= 1) return 1;
    const u8 low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const u8 high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    for (size_t k = 1; k < size; k++) {
        const u8 from = k == 1 ? low : 0x80, to = k == 1 ? high : 0xBF;
        good = p + k < end && p[k] >= from && p[k] <= to;
        if (!good) return k;
    }
    return size;
}

void decode(Text line, const std::vector<u16>& points, std::string& out) {
    out.clear();
    if (!points.empty()) {
        for (const char c : line) append(out, points[u8(c)]);
        return;
    }
    const u8 *p = reinterpret_cast<const u8*>(line.data()), *end = p + line.size();
    while (p < end) {
        bool good;
        const size_t size = together(p, end, good);
        if (good) out.append(reinterpret_cast<const char*>(p), size);
        else append(out, 0xFFFD);
        p += size;
    }
}

static bool too_long(Text field) {
    size_t characters = 0;
    for (const char c : field) characters += (u8(c) & 0xC0) != 0x80;
    return characters > LARGEST_FIELD;
}

namespace {
enum class State { FIELD, PLAIN, QUOTED, CLOSED, ENDED };
}

bool unquote(Text line, char delimiter, std::string& held, std::vector<Text>& fields) {
    held.clear();
    held.reserve(line.size());  // views of it stay good
    fields.clear();
    State state = State::FIELD;
    size_t start = 0;
    const auto close = [&] {
        fields.push_back(Text(held).substr(start));
        start = held.size();
        return !too_long(fields.back());
    };
    if (line[0] == '\r') state = State::ENDED;
    for (const char c : line) {
        if (state == State::QUOTED) {
            if (c == '"') state = State::CLOSED;
            else held += c;
        } else if (state == State::ENDED) {
            if (c != '\r') return false;
        } else if (c == '\r' || c == delimiter) {
            if (!close()) return false;
            state = c == '\r' ? State::ENDED : State::FIELD;
        } else if (state == State::CLOSED) {
            if (c != '"') return false;
            held += c;
            state = State::QUOTED;
        } else if (state == State::FIELD && c == '"') {
            state = State::QUOTED;
        } else {
            held += c;
            state = State::PLAIN;
        }
    }
    if (state == State::QUOTED) return false;
    return state == State::ENDED || close();
}

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
