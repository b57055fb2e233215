// Rules on pairs of columns without a grid: all cuts of both.
#include "cuts.h"
#include "kernels.h"
#include "loops.h"

#include <algorithm>
#include <vector>

namespace privsieve {

int runnable_cuts(const CutLoops* found[3]) {
    const Loops* sets[3];
    const int many = runnable(sets);
    for (int i = 0; i < many; i++) {
        found[i] = &cut_base;
#ifdef PRIVSIEVE_X86
        if (sets[i] == &loops_avx512) found[i] = &cut_avx512;
        if (sets[i] == &loops_avx2) found[i] = &cut_avx2;
#endif
    }
    return many;
}

namespace {

// [cuts]
// A column: the place of each row's code among those that there are, and the rows in their order.
struct Ranked {
    std::vector<u16> leaf;
    std::vector<u32> order;
    size_t leaves = 0;
    bool nominal;

    Ranked(const u16* code, size_t n, u8 kind) : leaf(n), order(n), nominal(kind >= 2) {
        std::vector<u32> first(CODES + 1), place(CODES);
        for (size_t i = 0; i < n; i++) first[code[i] + 1]++;
        for (size_t c = 0; c < CODES; c++) {
            place[c] = u32(leaves);
            leaves += first[c + 1] > 0;
            first[c + 1] += first[c];
        }
        for (size_t i = 0; i < n; i++) {
            leaf[i] = u16(place[code[i]]);
            order[first[code[i]]++] = u32(i);
        }
    }

    static constexpr size_t CODES = 65536;
};

// Few leaves are one small block; then blocks have their full size.
CutShape shape_of(size_t leaves, size_t rows) {
    size_t shift = 3, blocks = 1, low = 0, up = 0;
    for (; shift < CUT_SHIFT && size_t(1) << shift < leaves; shift += 2) low = 4 * low + 1;
    for (; blocks << shift < leaves; blocks *= 4) up = 4 * up + 1;
    blocks = std::max<size_t>(1, (leaves + (size_t(1) << shift) - 1) >> shift);
    return {shift, blocks, low, up, rows > CUT_ROWS ? blocks : 1};
}

// Room for any two columns of so many rows.
template <class Value> struct Room {
    size_t rows;
    Buffer<u16> leaf{rows}, block{rows};
    Buffer<CutRow<Value>> row{rows};
    Buffer<Value> moved{rows};
    Buffer<u8> last{rows}, eights;

    explicit Room(size_t passing)
        : rows(std::min(passing, CUT_ROWS)),
          eights((rows + CUT_EIGHTS * (passing > CUT_ROWS ? CUT_BLOCKS + 1 : 2)) * 8 *
                     sizeof(Value) + CUT_ALIGNED) {}

    CutRoom<Value> view() {
        const size_t past = reinterpret_cast<size_t>(eights.at(0)) % CUT_ALIGNED;
        return {leaf.at(0),  row.at(0),  moved.at(0),
                block.at(0), last.at(0), eights.at(CUT_ALIGNED - past)};
    }
};

// Sums of no more than this fit 32 bits where three of them are added up.
constexpr i64 NARROW = i64(1) << 29;

// One labelling.
template <class Value> struct Pairs {
    const CodeTable& in;
    const std::vector<Ranked>& columns;
    Value (*sweep)(const CutSweep<Value>&);
    Room<Value> room{2 * in.codes.columns};
    std::vector<Value> value = std::vector<Value>(in.codes.columns), passing{};
    std::vector<std::vector<Value>> weight = std::vector<std::vector<Value>>(columns.size());
    std::vector<u32> row{}, group{};
    Value total = 0;

    void weigh(size_t v) {
        for (size_t c = 0; c < in.labellings.columns; c++)
            for (size_t i = size_t(in.starts[c]); i < size_t(in.starts[c + 1]); i++) {
                value[i] = Value(in.labellings[v][c] * (in.weight ? in.weight[i] : 1));
                total += value[i];
            }
        for (size_t j = 0; j < columns.size(); j++) {
            const CutShape shape = shape_of(columns[j].leaves, 0);
            weight[j].assign(shape.blocks << shape.shift, 0);
            for (size_t i = 0; i < value.size(); i++) weight[j][columns[j].leaf[i]] += value[i];
        }
    }

    void passes(u32 i, u32 whose, Value v) {
        row.push_back(i), group.push_back(whose), passing.push_back(v);
    }

    // The rows in the order in which this column sweeps: a level that is set against all others
    // leaves before the next one passes.
    void line_up(const Ranked& x) {
        row.clear(), group.clear(), passing.clear();
        const size_t n = x.order.size();
        for (size_t from = 0, to = 0; from < n; from = to) {
            const u32 whose = x.leaf[x.order[from]];
            for (; to < n && x.leaf[x.order[to]] == whose; to++)
                passes(x.order[to], 2 * whose, value[x.order[to]]);
            for (size_t t = from; x.nominal && t < to; t++)
                passes(x.order[t], 2 * whose + 1, -value[x.order[t]]);
        }
        group.push_back(~u32(0));
    }

    i64 best(size_t tree) {
        const Ranked& y = columns[tree];
        return sweep({row.size(), row.data(), group.data(), passing.data(), y.leaf.data(), y.leaves,
                      weight[tree].data(), total, y.nominal, shape_of(y.leaves, row.size()),
                      room.view()});
    }
};

// The tree is over the column of fewer codes; either gives the same.
template <class Value>
void one_labelling(Pairs<Value> pairs, size_t v, const u8* wanted, i64* best) {
    const size_t d = pairs.columns.size();
    pairs.weigh(v);
    for (size_t j = 0; j < d; j++) {
        pairs.line_up(pairs.columns[j]);
        for (size_t l = 0; l < d; l++) {
            const size_t mine = pairs.columns[j].leaves, other = pairs.columns[l].leaves;
            if (l == j || mine < other || (mine == other && l < j)) continue;
            const size_t low = std::min(j, l), high = std::max(j, l);
            best[low * (2 * d - low - 1) / 2 + high - low - 1] =
                wanted[j] || wanted[l] ? pairs.best(l) : 0;
        }
    }
}

i64 sizes(const CodeTable& in, size_t v) {
    i64 sum = 0;
    for (size_t c = 0; c < in.labellings.columns; c++)
        for (size_t i = size_t(in.starts[c]); i < size_t(in.starts[c + 1]); i++)
            sum += std::abs(in.labellings[v][c]) * (in.weight ? in.weight[i] : 1);
    return sum;
}

}  // namespace

void cut_best(const CodeTable& in, const u8* wanted, size_t loops, i64* best) {
    const size_t d = in.codes.rows, n = in.codes.columns, many = d ? d * (d - 1) / 2 : 0;
    const CutLoops* found[3];
    runnable_cuts(found);
    std::vector<Ranked> columns;
    for (size_t j = 0; j < d; j++) columns.emplace_back(in.codes[j], n, in.kind[j]);
    for (size_t v = 0; v < in.labellings.rows; v++, best += many) {
        if (sizes(in, v) <= NARROW)
            one_labelling(Pairs<std::int32_t>{in, columns, found[loops]->narrow}, v, wanted, best);
        else
            one_labelling(Pairs<i64>{in, columns, found[loops]->wide}, v, wanted, best);
    }
}
// [/cuts]

}  // namespace privsieve
