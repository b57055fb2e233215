// Maximal sets by a search over items: all of them, or the heaviest.
#include "mining_miner.h"

namespace privsieve {
namespace {

constexpr i64 NODES = i64(1) << 62;
constexpr size_t CAP = size_t(1) << 22;  // sets and ties that are kept before the search ends

// In the caller's items, each set increasing, the sets in lexicographic order.
Sets sorted(Sets found, const std::vector<i32>& original) {
    for (i32& item : found.items) item = original[size_t(item)];
    const i32* items = found.items.data();
    const std::vector<i64>& at = found.indptr;
    for (size_t s = 0; s < found.size(); s++)
        std::sort(found.items.begin() + at[s], found.items.begin() + at[s + 1]);
    std::vector<size_t> order(found.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return std::lexicographical_compare(items + at[a], items + at[a + 1], items + at[b],
                                            items + at[b + 1]);
    });
    Sets out;
    out.items.reserve(found.items.size());
    for (size_t s : order) {
        out.items.insert(out.items.end(), items + at[s], items + at[s + 1]);
        out.indptr.push_back(i64(out.items.size()));
        out.support.push_back(found.support[s]);
    }
    return out;
}

}  // namespace

Sets all_maximal(const Columns& columns, i64 k, size_t cap, Watch& watch) {
    Miner miner(columns, nullptr, {k, 1, cap, NODES, 0}, cap, watch);
    miner.run(columns);
    return watch.ended == Ended::ALL ? sorted(std::move(miner.found), miner.original) : Sets();
}

Top top_by_items(const Columns& columns, const i64* weight, TopRule rule, Watch& watch) {
    Miner miner(columns, weight, rule, CAP, watch);
    miner.run(columns);
    const Sets sets = sorted(std::move(miner.found), miner.original);
    std::vector<i64> value(sets.size());
    for (size_t s = 0; s < sets.size(); s++)
        for (i64 t = sets.indptr[s]; t < sets.indptr[s + 1]; t++)
            value[s] += weight[sets.items[size_t(t)]];
    std::vector<size_t> order(sets.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return value[a] > value[b]; });
    if (order.size() > rule.r) order.resize(rule.r);
    Top out;
    out.bound = watch.ended == Ended::ALL ? 0 : std::accumulate(
        weight, weight + columns.items, i64(0));
    for (size_t s : order) {
        const auto begin = sets.items.begin();
        out.sets.items.insert(out.sets.items.end(), begin + sets.indptr[s],
                              begin + sets.indptr[s + 1]);
        out.sets.indptr.push_back(i64(out.sets.items.size()));
        out.sets.support.push_back(sets.support[s]);
        out.value.push_back(value[s]);
        out.bound = std::max(out.bound, value[s]);
    }
    out.nodes = miner.visited;
    return out;
}

}  // namespace privsieve
