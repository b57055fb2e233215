#include "cell.h"

#include <charconv>
#include <cstring>
#include <limits>

namespace privsieve::csv {

static constexpr double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
static constexpr double NONE = std::numeric_limits<double>::quiet_NaN();
static constexpr i64 FAR = 100'000'000;  // no line is so long
static constexpr i64 EXACT = 19;         // digits that fit 64 bits
static constexpr i64 DIVISORS = 28;      // powers of five that fit 63 bits

struct Fives {
    u64 of[DIVISORS];
    constexpr Fives() : of{1} {
        for (i64 k = 1; k < DIVISORS; k++) of[k] = of[k - 1] * 5;
    }
};
static constexpr Fives FIVES;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Whether eight bytes are digits, and the number that they write (the first is the lowest byte).
static bool eight_digits(u64 bytes) {
    return (((bytes + 0x4646464646464646u) | (bytes - 0x3030303030303030u)) &
            0x8080808080808080u) == 0;
}

static u64 eight(u64 bytes) {
    bytes -= 0x3030303030303030u;
    bytes = bytes * 10 + (bytes >> 8);
    return ((bytes & 0x000000FF000000FFu) * 0x000F424000000064u +
            (bytes >> 16 & 0x000000FF000000FFu) * 0x0000271000000001u) >> 32;
}

// Runs of digits: the first 19 that count are in `mantissa`.
struct Digits {
    u64 mantissa = 0;
    i64 counted = 0, seen = 0;  // digits after leading zeros, and all
    const char* take(const char* p, const char* end) {
        const char* start = p;
        if (!counted)
            while (p < end && *p == '0') p++;
        for (u64 bytes; counted + 8 <= EXACT && end - p >= 8; counted += 8, p += 8) {
            std::memcpy(&bytes, p, 8);
            if (!eight_digits(bytes)) break;
            mantissa = mantissa * 100'000'000 + eight(bytes);
        }
        for (; p < end && is_digit(*p); p++, counted++)
            if (counted < EXACT) mantissa = mantissa * 10 + u64(*p - '0');
        seen += p - start;
        return p;
    }
};

// The exponent that begins at p; null if it does not end as one.
static const char* exponent(const char* p, const char* end, i64& power) {
    p++;
    const bool minus = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    if (p == end || !is_digit(*p)) return nullptr;
    i64 found = 0;
    for (; p < end && is_digit(*p); p++)
        if (found < FAR) found = found * 10 + (*p - '0');
    power += minus ? -found : found;
    return p;
}

// mantissa / 10^fives, rounded once: a quotient of 64 bits, of which 53 stay, ties to even.
static double quotient(u64 mantissa, i64 fives) {
    const u64 five = FIVES.of[fives];
    const int up = __builtin_clzll(mantissa), down = __builtin_clzll(five);
    const u64 over = mantissa << up, under = five << down;
    const int half = over >= under;
    const unsigned __int128 whole = static_cast<unsigned __int128>(over) << 64 >> half;
    const u64 found = u64(whole / under);  // its highest bit is set
    const bool rest = whole % under != 0;
    u64 kept = found >> 11;
    const u64 cut = found & 2047;
    kept += cut > 1024 || (cut == 1024 && (rest || (kept & 1)));
    const u64 power = u64(1023 + 11 + half + down - up - 64 - fives) << 52;
    double scale;
    std::memcpy(&scale, &power, 8);
    return double(kept) * scale;
}

// Rounded correctly whatever the length; `leading` is the place of the first digit.
static double rounded(const char* p, const char* end, char decimal, i64 leading) {
    std::string copy;
    if (decimal != '.') {
        copy.assign(p, end);
        for (char& c : copy)
            if (c == decimal) c = '.';
        p = copy.data();
        end = p + copy.size();
    }
    double value = 0;
    const auto done = std::from_chars(p, end, value);
    // Out of range is too large or too small; the place of the first digit says which.
    if (done.ec == std::errc::result_out_of_range) return leading > 0 ? NONE : 0.0;
    return value;
}

const char* leading_number(const char* p, const char* end, char decimal, double& value) {
    const bool minus = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    const char* start = p;
    Digits digits;
    p = digits.take(p, end);
    i64 power = 0;
    if (p < end && *p == decimal) {
        const i64 whole = digits.seen;
        p = digits.take(p + 1, end);
        power = whole - digits.seen;
    }
    if (!digits.seen) return nullptr;
    if (p < end && (*p == 'e' || *p == 'E') && !(p = exponent(p, end, power))) return nullptr;
    const u64 mantissa = digits.mantissa;
    if (!digits.counted) value = 0;
    else if (digits.counted > EXACT) value = rounded(start, p, decimal, power + digits.counted);
    // Both are exact, so that one operation rounds once.
    else if (mantissa <= u64(1) << 53 && power >= -22 && power <= 22)
        value = power < 0 ? double(mantissa) / POWERS[-power] : double(mantissa) * POWERS[power];
    else if (power < 0 && power > -DIVISORS) value = quotient(mantissa, -power);
    else value = rounded(start, p, decimal, power + digits.counted);
    if (minus) value = -value;
    return p;
}

// [cell-number]
// A number with signs between its groups of three digits; NaN where it is none.
static double grouped(Text text, Signs signs) {
    std::string digits;
    size_t p = 0, run = 0, groups = 0;
    if (!text.empty() && (text[0] == '-' || text[0] == '+')) digits += text[p++];
    for (; p < text.size() && text[p] != signs.decimal; p++) {
        if (is_digit(text[p])) {
            digits += text[p];
            run++;
        } else {
            if (text[p] != signs.thousands || !run || run > 3 || (groups && run != 3)) return NONE;
            groups++;
            run = 0;
        }
    }
    if (!groups || run != 3) return NONE;
    for (; p < text.size(); p++) {
        if (text[p] != signs.decimal && !is_digit(text[p])) return NONE;
        digits += text[p];
    }
    double value = NONE;
    const char* end = digits.data() + digits.size();
    return leading_number(digits.data(), end, signs.decimal, value) == end ? value : NONE;
}

double number(Text text, Signs signs) {
    text = stripped(text);
    if (!text.empty() && ((signs.limits & 1 && text[0] == '<') || (signs.limits & 2 && text[0] == '>'))) {
        text.remove_prefix(1);
        if (!text.empty() && text[0] == '=') text.remove_prefix(1);
        text = stripped(text);
    }
    const char* end = text.data() + text.size();
    double value = NONE;
    if (leading_number(text.data(), end, signs.decimal, value) == end) return value;
    return signs.thousands ? grouped(text, signs) : NONE;
}
// [/cell-number]

// [csv-plain]
Text plain(Text text) {
    const size_t size = text.size();
    const bool sign = size && (text[0] == '+' || text[0] == '-');
    const size_t first = sign;
    size_t p = first;
    while (p < size && is_digit(text[p])) p++;
    const size_t whole = p;
    const bool zero = whole > first && text[first] == '0';
    if (whole == first || (zero && whole > first + 1)) return text;
    if (p < size) {
        if (text[p++] != '.') return text;
        while (p < size && text[p] == '0') p++;
        if (p < size) return text;
    }
    const size_t start = sign && text[0] == '-' && !zero ? 0 : first;
    return text.substr(start, whole - start);
}
// [/csv-plain]

}  // namespace privsieve::csv
