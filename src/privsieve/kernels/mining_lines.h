// The distinct rows of a table of items.
#pragma once
#include "mining.h"

#include <algorithm>
#include <numeric>

namespace privsieve {
namespace {

using Line = std::vector<i32>;

// The distinct rows, as lists of the items that are kept, in lexicographic order.
struct Rows {
    std::vector<i32> item;  // what is kept, as the caller counts
    std::vector<i64> weight, value, many;
    std::vector<i64> indptr{0}, column;  // item j is in the rows of holders[column[j] ..]
    std::vector<i32> items, holders;
    std::vector<u64> classes;  // of the rows that are equal, `words` a row
    size_t words = 1;
    size_t size() const { return many.size(); }

    Rows(const Columns& columns, const i32* y, const i64* weights, TopRule rule) {
        if (rule.l > 1)
            for (size_t i = 0; i < columns.rows; i++)
                words = std::max(words, size_t(y[i]) / 64 + 1);
        for (size_t j = 0; j < columns.items; j++)
            if (weights[j] > 0 && columns.support(j) >= rule.k) item.push_back(i32(j));
        for (i32 j : item) weight.push_back(weights[j]);
        std::vector<Line> lines(columns.rows);
        for (size_t j = 0; j < item.size(); j++)
            for (i64 t = columns.indptr[item[j]]; t < columns.indptr[item[j] + 1]; t++)
                lines[size_t(columns.indices[t])].push_back(i32(j));
        merge(lines, y, rule.l > 1);
        transpose();
    }

private:
    void merge(const std::vector<Line>& lines, const i32* y, bool diverse) {
        std::vector<size_t> order(lines.size());
        std::iota(order.begin(), order.end(), size_t(0));
        std::sort(order.begin(), order.end(),
                  [&](size_t a, size_t b) { return lines[a] < lines[b]; });
        for (size_t t = 0; t < order.size(); t++) {
            const Line& line = lines[order[t]];
            if (!t || line != lines[order[t - 1]]) {
                i64 sum = 0;
                for (i32 j : line) sum += weight[size_t(j)];
                value.push_back(sum);
                many.push_back(0);
                items.insert(items.end(), line.begin(), line.end());
                indptr.push_back(i64(items.size()));
                classes.resize(classes.size() + words);
            }
            many.back()++;
            const size_t label = diverse ? size_t(y[order[t]]) : 0;
            classes[classes.size() - words + label / 64] |= u64(1) << (label % 64);
        }
    }

    void transpose() {
        column.assign(item.size() + 1, 0);
        for (i32 j : items) column[size_t(j) + 1]++;
        std::partial_sum(column.begin(), column.end(), column.begin());
        std::vector<i64> next(column.begin(), column.end() - 1);
        holders.resize(items.size());
        for (size_t i = 0; i < size(); i++)
            for (i64 t = indptr[i]; t < indptr[i + 1]; t++)
                holders[size_t(next[size_t(items[size_t(t)])]++)] = i32(i);
    }
};

}  // namespace
}  // namespace privsieve
