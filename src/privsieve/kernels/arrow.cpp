#include "arrow.h"
#include "csv.h"

#include <type_traits>

namespace privsieve::arrow {

static constexpr double NONE = std::numeric_limits<double>::quiet_NaN();
static constexpr i64 DAY = 86'400'000'000, FAR = i64(1) << 62;
static constexpr u64 NEAR = 1 << 16;

static bool bit(const u8* bits, size_t at) { return bits[at / 8] >> (at % 8) & 1; }

static bool is_there(const ArrowArray& cells, size_t at) {
    return !cells.buffers[0] || bit(static_cast<const u8*>(cells.buffers[0]), at);
}

void Whole::spread() {
    if (keys.empty() || u64(keys.back()) - u64(keys.front()) >= NEAR) return;
    direct.assign(size_t(keys.back() - keys.front()) + 1, other);
    for (size_t at = 0; at < keys.size(); at++) direct[size_t(keys[at] - keys.front())] = codes[at];
}

u16 Whole::of(i64 key) const {
    const auto found = std::lower_bound(keys.begin(), keys.end(), key);
    return found != keys.end() && *found == key ? codes[size_t(found - keys.begin())] : other;
}

// [arrow-values] the number that a cell says, as NumPy converts it
struct Half {
    u16 bits;
    operator double() const {
        const int power = bits >> 10 & 31;
        const double part = bits & 1023;
        double size = power ? std::ldexp(1024 + part, power - 25) : std::ldexp(part, -24);
        if (power == 31) size = part ? NONE : std::numeric_limits<double>::infinity();
        return bits >> 15 ? -size : size;
    }
};

template <class T> struct Plain {
    double operator()(T cell) const { return double(cell); }
};

// Days since 1970, of steps of so many microseconds; or of so many parts of one.
template <class T, i64 STEP, i64 PARTS = 1> struct Days {
    double operator()(T cell) const {
        constexpr i64 FURTHEST = FAR / STEP;
        const i64 ticks = cell;
        if (ticks == std::numeric_limits<i64>::min()) return NONE;
        const i64 near = std::min(std::max(ticks, -FURTHEST), FURTHEST) * STEP;
        const i64 down = near / PARTS - (PARTS > 1 && near % PARTS < 0);
        return double(down) / double(DAY);
    }
};
// [/arrow-values]

// [arrow-linear] `graded` of the linear kind without a branch; an infinite value is at an end first
template <class T, class Value>
static void linear(const T* cells, size_t rows, const Grade& grade, Value value, u16* out) {
    const double least = grade.least, most = grade.most, low = grade.low, step = grade.step;
    const double top = grade.top;
    const u16 missing = grade.missing;
    for (size_t i = 0; i < rows; i++) {
        const double x = value(cells[i]);
        double cut = x < least ? least : x;
        cut = cut > most ? most : cut;
        double scaled = (cut - low) * step;
        scaled = scaled > 0 ? scaled : 0;
        scaled = scaled < top ? scaled : top;
        out[i] = x - x == 0 ? u16(int(scaled)) : missing;
    }
}
// [/arrow-linear]

template <class T, class Value>
static void numbers(const T* cells, size_t rows, const Rule& rule, Value value, u16* out) {
    if (rule.grade.way == LINEAR && rule.grade.gone.empty())
        return linear(cells, rows, rule.grade, value, out);
    for (size_t i = 0; i < rows; i++) out[i] = graded(rule.grade, value(cells[i]));
}

// Where a text of a column lies: between two offsets, or behind a view, which holds a short one.
template <class T> struct Offsets {
    const T* ends;
    const char* held;
    explicit Offsets(const ArrowArray& cells)
        : ends(static_cast<const T*>(cells.buffers[1])),
          held(static_cast<const char*>(cells.buffers[2])) {}
    csv::Text operator()(size_t at) const {
        return {held + ends[at], size_t(ends[at + 1] - ends[at])};
    }
};

struct Views {
    struct View {
        std::int32_t size;
        char begin[4];
        std::int32_t buffer, offset;
    };
    const View* views;
    const void** held;
    explicit Views(const ArrowArray& cells)
        : views(static_cast<const View*>(cells.buffers[1])), held(cells.buffers + 2) {}
    csv::Text operator()(size_t at) const {
        const View& view = views[at];
        if (view.size <= 12) return {reinterpret_cast<const char*>(&view) + 4, size_t(view.size)};
        return {static_cast<const char*>(held[view.buffer]) + view.offset, size_t(view.size)};
    }
};

// [arrow-text] a text that may be listed is decoded as Python does it
template <class Texts>
static void texts(const ArrowArray& cells, i64 from, size_t rows, const Rule& rule, u16* out,
                  std::vector<i64>& asked) {
#if defined(PRIVSIEVE_CSV)
    const Texts text_at(cells);
    const bool listed = !rule.text->words.none();  // numbers and dates are ASCII
    std::string decoded;
    for (size_t i = 0; i < rows; i++) {
        const bool there = is_there(cells, size_t(from) + i);
        csv::Text text = there ? text_at(size_t(from) + i) : csv::Text{};
        u8 high = 0;
        if (listed)
            for (const char c : text) high |= u8(c);
        if (high & 0x80) {
            csv::decode(text, {}, decoded);
            text = decoded;
        }
        const std::int32_t code = rule.text->code(text, rule.signs);
        out[i] = u16(code < 0 ? 0 : code);
        if (code < 0) asked.push_back(i64(i));
    }
#else
    (void)cells, (void)from, (void)rows, (void)rule, (void)out, (void)asked;
#endif
}
// [/arrow-text]

// [arrow-whole] a cell's place among listed whole numbers, by the number that it is
template <class T, class Code>
static void each_listed(const T* cells, size_t rows, u16 other, Code code, u16* out) {
    for (size_t i = 0; i < rows; i++) {
        if constexpr (std::is_integral_v<T>) {
            out[i] = code(i64(cells[i]));
        } else {
            const double x = cells[i];
            const bool fits = x >= -0x1p63 && x < 0x1p63 && x == std::floor(x);
            out[i] = fits ? code(i64(x)) : other;
        }
    }
}

template <class T> static void listed(const T* cells, size_t rows, const Whole& whole, u16* out) {
    const u16 other = whole.other;
    if (whole.direct.empty())
        return each_listed(cells, rows, other, [&](i64 key) { return whole.of(key); }, out);
    const u16* direct = whole.direct.data();
    const u64 first = u64(whole.keys.front()), size = whole.direct.size();
    each_listed(cells, rows, other, [=](i64 key) {
        const u64 at = u64(key) - first;
        return at < size ? direct[at] : other;
    }, out);
}
// [/arrow-whole]

template <class T, class Value = Plain<T>>
static void cells_of(const ArrowArray& cells, i64 from, size_t rows, const Rule& rule, u16* out) {
    const T* first = static_cast<const T*>(cells.buffers[1]) + from;
    if (rule.how == WHOLE) listed(first, rows, rule.whole, out);
    else numbers(first, rows, rule, Value{}, out);
}

// [arrow-column] each place of `out` is written by the cell of its own row, and by its null bit
void Columns::column(const ArrowArray& cells, i64 from, size_t rows, const Rule& rule,
                     u16* out, std::vector<i64>& asked) const {
    switch (rule.type) {
    case 'c': cells_of<std::int8_t>(cells, from, rows, rule, out); break;
    case 'C': cells_of<u8>(cells, from, rows, rule, out); break;
    case 's': cells_of<std::int16_t>(cells, from, rows, rule, out); break;
    case 'S': cells_of<u16>(cells, from, rows, rule, out); break;
    case 'i': cells_of<std::int32_t>(cells, from, rows, rule, out); break;
    case 'I': cells_of<u32>(cells, from, rows, rule, out); break;
    case 'l': cells_of<std::int64_t>(cells, from, rows, rule, out); break;
    case 'L': cells_of<u64>(cells, from, rows, rule, out); break;
    case 'e': cells_of<Half>(cells, from, rows, rule, out); break;
    case 'f': cells_of<float>(cells, from, rows, rule, out); break;
    case 'g': cells_of<double>(cells, from, rows, rule, out); break;
    case 'D': cells_of<std::int32_t, Days<std::int32_t, DAY>>(cells, from, rows, rule, out); break;
    case '0': cells_of<i64, Days<i64, 1'000'000>>(cells, from, rows, rule, out); break;
    case '3': cells_of<i64, Days<i64, 1000>>(cells, from, rows, rule, out); break;
    case '6': cells_of<i64, Days<i64, 1>>(cells, from, rows, rule, out); break;
    case '9': cells_of<i64, Days<i64, 1, 1000>>(cells, from, rows, rule, out); break;
    case 'u': case 'z': texts<Offsets<std::int32_t>>(cells, from, rows, rule, out, asked); break;
    case 'U': case 'Z': texts<Offsets<i64>>(cells, from, rows, rule, out, asked); break;
    case 'v': texts<Views>(cells, from, rows, rule, out, asked); break;
    default:
        for (size_t i = 0; i < rows; i++)
            out[i] = rule.whole.codes[bit(static_cast<const u8*>(cells.buffers[1]),
                                          size_t(from) + i)];
    }
    const auto* valid = static_cast<const u8*>(cells.buffers[0]);
    if (!valid || !cells.null_count) return;
    const u16 missing = rule.how == NUMBER ? rule.grade.missing : rule.whole.other;
    for (size_t i = 0, at = size_t(from); i < rows; i++, at++) {
        if (at % 8 == 0 && valid[at / 8] == 255 && i + 8 <= rows) {
            i += 7, at += 7;
            continue;
        }
        const u16 keep = bit(valid, at) ? 65535 : 0;
        out[i] = u16((out[i] & keep) | (missing & ~keep));
    }
}
// [/arrow-column]

Rule& Columns::add(char type, How how) {
    rules.emplace_back();
    rules.back().type = type;
    rules.back().how = how;
    return rules.back();
}

size_t Columns::add_number(char type, Grade&& grade) {
    add(type, NUMBER).grade = std::move(grade);
    return rules.size() - 1;
}

size_t Columns::add_whole(char type, Whole&& whole) {
    Rule& rule = add(type, WHOLE);
    rule.whole = std::move(whole);
    rule.whole.spread();
    return rules.size() - 1;
}

size_t Columns::add_bits(u16 no, u16 yes, u16 missing) {
    Rule& rule = add('b', BITS);
    rule.whole.other = missing;
    rule.whole.codes = {no, yes};
    return rules.size() - 1;
}

size_t Columns::add_text(char type, std::shared_ptr<const csv::CellRule> text, csv::Signs signs) {
    Rule& rule = add(type, TEXTS);
    rule.whole.other = text->grade.missing;
    rule.text = std::move(text);
    rule.signs = signs;
    return rules.size() - 1;
}

bool Columns::fits(const ArrowArray& batch, size_t columns, size_t rows) {
    return batch.release && size_t(batch.n_children) == columns && rows <= size_t(batch.length);
}

Asked Columns::read(const ArrowArray& batch, const std::int32_t* which, Window window,
                    u16* out) const {
    Asked asked(size_t(batch.n_children));
    for (size_t j = 0; window.rows && j < size_t(batch.n_children); j++) {
        if (which[j] < 0) continue;
        const ArrowArray& cells = *batch.children[j];
        column(cells, cells.offset + batch.offset + i64(window.from), window.rows,
               rules[size_t(which[j])], out + j * window.stride, asked[j]);
    }
    return asked;
}

}  // namespace privsieve::arrow
