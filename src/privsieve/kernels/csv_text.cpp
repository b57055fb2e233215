#include "csv.h"

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

}  // namespace privsieve::csv
