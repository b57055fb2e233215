#include "cell.h"

namespace privsieve::csv {

static constexpr i64 DAY = 86'400'000'000;

Text stripped(Text text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

static u64 eight_bytes(const char* p) {
    u64 found;
    std::memcpy(&found, p, 8);
    return found;
}

static u64 hash_of(Text text) {
    const char* p = text.data();
    const size_t size = text.size();
    u64 first = 0, last = 0;
    if (size >= 8) {
        last = eight_bytes(p + size - 8);
        for (size_t at = 0; at + 8 <= size; at += 8) first = mix64(first ^ eight_bytes(p + at));
    } else {
        for (size_t at = 0; at < size; at++) first = first << 8 | u8(p[at]);
    }
    return mix64(first ^ (last + size) * 0x9E3779B97F4A7C15u);
}

// [cell-words] a listed text has its code, in its own spelling or in that of `plain`
Words::Words(const std::vector<std::string>& texts, const u16* codes) {
    size_t size = 4;
    while (size < 2 * texts.size()) size *= 2;
    slots.resize(size);
    for (size_t k = 0; k < texts.size(); k++) {
        if (plain(texts[k]).size() != texts[k].size()) continue;  // no cell is read as it
        const Text text = held.emplace_back(texts[k]);
        size_t at = hash_of(text) & (size - 1);
        while (slots[at].code >= 0 && slots[at].text != text) at = (at + 1) & (size - 1);
        if (slots[at].code < 0) slots[at] = {hash_of(text), text, codes[k]};
    }
}

std::int32_t Words::find(Text text) const {
    const u64 hash = hash_of(text);
    for (size_t at = hash;; at++) {
        const Slot& slot = slots[at & (slots.size() - 1)];
        if (slot.code < 0 || (slot.hash == hash && slot.text == text)) return slot.code;
    }
}

std::int32_t Words::code(Text text) const {
    if (held.empty()) return -1;
    const std::int32_t found = find(text);
    if (found >= 0) return found;
    const Text same = plain(text);
    return same.size() == text.size() ? -1 : find(same);
}
// [/cell-words]

DateForm::DateForm(std::string found) : steps(std::move(found)) {
    for (const char step : steps) width += step == 1 ? 4 : step < 8 ? 2 : 1;
}

// Days from 1970-01-01 to a day of the calendar that `datetime` has.
static i64 days_since_1970(i64 year, i64 month, i64 day) {
    year -= month <= 2;
    const i64 of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    const i64 era = (year >= 0 ? year : year - 399) / 400, in_era = year - era * 400;
    return era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + of_year - 719468;
}

static i64 days_of(i64 year, i64 month) {
    if (month == 2) return year % 4 == 0 && (year % 100 || year % 400 == 0) ? 29 : 28;
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

// [cell-date] each field has its full width, so that no other reading of the text is left
bool DateForm::read(Text text, double& days) const {
    if (text.size() != width) return false;
    i64 found[8] = {0, 0, 0, 1, 1, 0, 0, 0};  // year, short year, month, day, clock
    const char* p = text.data();
    for (const char step : steps) {
        if (u8(step) >= 8) {
            if (*p++ != step) return false;
            continue;
        }
        i64 value = 0;
        for (int digits = step == 1 ? 4 : 2; digits; digits--, p++) {
            if (*p < '0' || *p > '9') return false;
            value = value * 10 + (*p - '0');
        }
        found[u8(step)] = value;
    }
    const auto [none, full, two, month, day, hour, minute, second] = found;
    (void)none;
    // A year of two digits, as `strptime` reads it.
    const i64 year = steps.find(char(2)) == std::string::npos ? full : two + (two < 69 ? 2000 : 1900);
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > days_of(year, month) ||
        hour > 23 || minute > 59 || second > 59)
        return false;
    const i64 clock = (hour * 60 + minute) * 60 + second;
    days = double(days_since_1970(year, month, day) * DAY + clock * 1'000'000) / double(DAY);
    return true;
}
// [/cell-date]

// [cell-code] a cell's code, by its own text and its part of the domain
std::int32_t CellRule::code(Text text, Signs signs) const {
    text = stripped(text);
    const std::int32_t word = words.code(text);
    if (word >= 0) return word;
    if (reads == NUMBERS) return graded(grade, number(text, signs));
    double days;
    for (const DateForm& form : forms)
        if (form.read(text, days)) return graded(grade, days);
    return asks && !text.empty() ? -1 : grade.missing;
}
// [/cell-code]

}  // namespace privsieve::csv
