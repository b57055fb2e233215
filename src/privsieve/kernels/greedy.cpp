// Greedy choices of items, and counts of items by class.
#include "patterns.h"

#include <algorithm>
#include <queue>

namespace privsieve::pattern {

// Whether even the empty set breaks the rule.
bool keeps_nothing(const Items& items, const Rule& rule) {
    std::vector<i64> size(rule.classes);
    for (size_t i = 0; i < items.rows; i++) size[size_t(items.label[i]) % rule.classes]++;
    i64 left = 0, distinct = 0;
    for (const i64 rows : size) {
        if (!rows || (rule.labelled ? rows : i64(items.rows)) < rule.k) continue;
        left += rows;
        distinct++;
    }
    if (distinct < rule.diversity) left = 0;
    return i64(items.rows) - left > rule.suppress;
}

// Label by label, one pass over the items; two labels in small integers need no table.
template <class Label> static void count_labels(const Items& items, size_t codes, i64* out) {
    const std::vector<Label> label(items.label, items.label + items.rows);
    for (size_t j = 0; j < items.many; j++) {
        const i32 *at = items.indices + items.indptr[j], *end = items.indices + items.indptr[j + 1];
        i64* mine = out + j * codes;
        std::fill_n(mine, codes, 0);
        if (codes == 2) {
            for (; at < end; at++) mine[1] += label[size_t(*at)];
            mine[0] = items.support(j) - mine[1];
        } else {
            for (; at < end; at++) mine[label[size_t(*at)]]++;
        }
    }
}

void class_counts(const Items& items, size_t codes, i64* out) {
    if (codes <= 256) count_labels<u8>(items, codes, out);
    else count_labels<u32>(items, codes, out);
}

static bool take(Patterns& state, size_t item) {
    if (state.hopeless(item)) return false;
    state.count(item);
    const bool good = state.keeps(item);
    if (good) state.accept(item);
    else state.forget();
    return good;
}

std::vector<i64> greedy(const Items& items, const i64* order, size_t many, const Rule& rule,
                        const Stop& stop) {
    std::vector<i64> accepted;
    if (keeps_nothing(items, rule)) return accepted;
    Patterns state(items, rule);
    for (size_t a = 0; a < many && !stop(); a++)
        if (take(state, size_t(order[a]))) accepted.push_back(order[a]);
        else if (!rule.skip) break;
    return accepted;
}

// The prefix, or its first part up to the item that does not fit.
static bool begin(Patterns& state, const std::vector<i64>& prefix, std::vector<i64>& accepted) {
    for (i64 item : prefix) {
        if (!take(state, size_t(item))) return false;
        accepted.push_back(item);
    }
    return true;
}

namespace {
struct Hope {  // a candidate, and a bound on what it adds
    i64 gain;
    size_t position, round;  // the round in which the bound was exact
    bool operator<(const Hope& other) const {
        return gain != other.gain ? gain < other.gain : position > other.position;
    }
};
}  // namespace

std::vector<i64> lazy_distinct(const Items& items, const i64* candidates, size_t many,
                               const std::vector<i64>& prefix, const Rule& rule, const Stop& stop) {
    std::vector<i64> accepted;
    if (keeps_nothing(items, rule)) return accepted;
    Patterns state(items, rule);
    if (!begin(state, prefix, accepted)) return accepted;
    std::priority_queue<Hope> hopes;
    const auto hope = [&](size_t position) {
        state.count(size_t(candidates[position]));
        const i64 gain = state.told_apart();
        state.forget();
        if (gain > 0) hopes.push({gain, position, accepted.size()});
    };
    for (size_t a = 0; a < many && !stop(); a++)
        if (!rule.skip || !state.hopeless(size_t(candidates[a]))) hope(a);
    while (!hopes.empty() && !stop()) {
        const Hope best = hopes.top();
        hopes.pop();
        if (best.round < accepted.size()) hope(best.position);
        else if (take(state, size_t(candidates[best.position])))
            accepted.push_back(candidates[best.position]);
        else if (!rule.skip) break;
    }
    return accepted;
}

std::vector<i64> class_errors(const Items& items, const i64* candidates, size_t many,
                              const std::vector<i64>& prefix, const Rule& rule, const Stop& stop) {
    std::vector<i64> accepted, more(many);
    if (keeps_nothing(items, rule)) return accepted;
    Patterns state(items, rule);
    if (!begin(state, prefix, accepted)) return accepted;
    std::vector<i64> left(candidates, candidates + many);
    while (!left.empty()) {
        for (size_t a = 0; a < left.size(); a++) {
            if (stop()) return accepted;
            state.count(size_t(left[a]));
            more[a] = state.more_errors();
            state.forget();
        }
        bool grew = false;
        while (!grew && !left.empty() && !stop()) {
            const auto least = std::min_element(more.begin(), more.begin() + i64(left.size()));
            const size_t best = size_t(least - more.begin());
            grew = take(state, size_t(left[best]));
            if (grew) accepted.push_back(left[best]);
            else if (!rule.skip) return accepted;
            left.erase(left.begin() + i64(best));
            more.erase(more.begin() + i64(best));
            more.push_back(0);
        }
        if (!grew) break;
    }
    return accepted;
}

}  // namespace privsieve::pattern
