// What a set must weigh to be of interest.
#pragma once
#include "mining_bits.h"

#include <functional>

namespace privsieve {
namespace {

// What a set must be worth to be of interest; without weights all are.
class Worth {
    const TopRule rule;
    std::vector<i64> best;  // a heap, its least in front
    std::vector<i64> row;   // scratch
    bool asked = false;     // or all sets are of interest
    std::vector<i64> weight;

public:
    i64 path = 0;             // of the path
    explicit Worth(TopRule rule) : rule(rule) {}
    void weigh(const i64* weights, const std::vector<i32>& items) {
        asked = weights;
        if (asked)
            for (i32 j : items) weight.push_back(weights[j]);
    }
    i64 of(i32 item) const { return asked ? weight[size_t(item)] : 0; }
    bool too_light(i64 value) const {
        return asked && (value < rule.least || (best.size() == rule.r && value < best[0]));
    }
    bool too_light(const std::vector<i32>& tail) const {
        i64 sum = path;
        for (i32 item : tail) sum += of(item);
        return too_light(sum);
    }
    // Whether fewer than k rows have enough in common with path and tail.
    bool too_light(const Bits& rows, const std::vector<i32>& tail) {
        if (!asked) return false;
        row.assign(rows.used, path);
        for (size_t t = 0; t < tail.size(); t++)
            for (size_t w = 0; w < rows.words; w++)
                for (u64 word = rows.bits[t * rows.words + w]; word; word &= word - 1)
                    row[w * 64 + size_t(__builtin_ctzll(word))] += of(tail[t]);
        std::nth_element(row.begin(), row.begin() + (rule.k - 1), row.end(), std::greater<i64>());
        return too_light(row[size_t(rule.k - 1)]);
    }
    void found(i64 value) {
        if (!asked) return;
        best.push_back(value);
        std::push_heap(best.begin(), best.end(), std::greater<i64>());
        if (best.size() <= rule.r) return;
        std::pop_heap(best.begin(), best.end(), std::greater<i64>());
        best.pop_back();
    }
};

}  // namespace
}  // namespace privsieve
