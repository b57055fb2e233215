// Included once per instruction set with LOOPS, LOOPS_NAME defined; the rules of loops_body.h hold.
#include "cuts.h"

namespace privsieve {
namespace {

using u32 = std::uint32_t;
using u16 = std::uint16_t;

// Vectors that the machine has: wider ones are compared number by number.
#if defined(__AVX512F__)
constexpr size_t WIDTH = 64;
#elif defined(__AVX2__)
constexpr size_t WIDTH = 32;
#else
constexpr size_t WIDTH = 16;
#endif

// [cut-tree]
// Eight numbers.
template <class Value> struct Eight {
    static constexpr size_t BYTES = 8 * sizeof(Value) < WIDTH ? 8 * sizeof(Value) : WIDTH;
    static constexpr size_t PARTS = 8 * sizeof(Value) / BYTES, EACH = BYTES / sizeof(Value);
    typedef Value Part __attribute__((vector_size(BYTES)));
    Part part[PARTS];

    static inline Eight of(const Value (&given)[8]) {
        Eight out;
        for (size_t k = 0; k < 8; k++) out.part[k / EACH][k % EACH] = given[k];
        return out;
    }
    static inline Eight all(Value v) {
        Eight out;
        for (size_t p = 0; p < PARTS; p++) out.part[p] = Part{} + v;
        return out;
    }
    inline Eight operator+(const Eight& other) const {
        Eight out;
        for (size_t p = 0; p < PARTS; p++) out.part[p] = part[p] + other.part[p];
        return out;
    }
    // Where `mask` has all bits, this; where it has none, 0.
    inline Eight operator&(const Eight& mask) const {
        Eight out;
        for (size_t p = 0; p < PARTS; p++) out.part[p] = part[p] & mask.part[p];
        return out;
    }
    // Where `mask` has all bits, the opposite.
    inline Eight turned(const Eight& mask) const {
        Eight out;
        for (size_t p = 0; p < PARTS; p++) out.part[p] = (part[p] ^ mask.part[p]) - mask.part[p];
        return out;
    }
    static inline Eight larger(const Eight& x, const Eight& y) {
        Eight out;
        for (size_t p = 0; p < PARTS; p++)
            out.part[p] = x.part[p] > y.part[p] ? x.part[p] : y.part[p];
        return out;
    }
};

// With the sweep at a cut a of its column and at b in the tree's: F is the weight of the rows below
// both, A and L are those of all rows below a and below b, T of all.  A tree over b keeps the largest
//     F   -F   F-L   L-F   2F-L   L-2F   (and two that nobody reads).
// Each is a sum over leaves from the first to b, so that of a child the largest such sum counts, and
// the sum of all of it for those after it.  Where leaves stand alone nothing is summed.  F and L-F are
// of different rows: nothing here passes the sum of all sizes, and what is judged not three times that.
template <class Value, bool ALONE> struct Sweep {
    using Lanes = Eight<Value>;
    struct Child {
        Lanes top, sum;
    };
    // Of one block: where its next row goes, and the group of the last one.
    struct Dealt {
        u32 row, group;
    };
    static constexpr u32 NONE = ~u32(0);
    // Rows, or runs, that go up together.
    static constexpr size_t ABREAST = 4;
    // A run of so many rows changes leaves only; then the block is grown anew.
    static constexpr ptrdiff_t FLOOD = 64;

    explicit Sweep(const CutSweep<Value>& given) : in(given) {}

    const CutSweep<Value>& in;
    const CutShape& shape = in.shape;
    const CutRoom<Value>& room = in.room;
    Lanes* tops = static_cast<Lanes*>(room.eights);
    Lanes* leaves = tops + (in.rows < CUT_ROWS ? in.rows : CUT_ROWS);
    Child* above = reinterpret_cast<Child*>(leaves + shape.kept * CUT_EIGHTS);
    Dealt dealt[CUT_BLOCKS];
    u32 begins[CUT_BLOCKS + 1];

    const Lanes minus = Lanes::of({0, -1, 0, -1, 0, -1, 0, -1});
    const Lanes twice = Lanes::of({0, 0, 0, 0, -1, -1, 0, 0});
    const Lanes later = Lanes::of({0, 0, -1, -1, -1, -1, 0, 0});
    const Lanes zero = Lanes::all(0);
    // Four cells with a free sign each; of a rule and its opposite one is counted.
    const Lanes one = Lanes::all(in.total).turned(Lanes::of({-1, 0, 0, -1, 0, -1, 0, -1}));
    const Lanes two = Lanes::all(in.total).turned(minus);
    // Of a block, when it is grown anew.
    const size_t used = shape.blocks > 1 ? CUT_LEAVES : (in.leaves + 7) / 8 * 8;
    Lanes best = zero;
    Value A = 0;

    // What a row adds to its leaf where it passes the sweep.
    inline Lanes moved(Value v) const {
        const Lanes signs = Lanes::all(v).turned(minus);
        return signs + (signs & twice);
    }

    // The largest of eight leaves, and of four children.
    static inline Lanes of_leaves(const Lanes* leaf) {
        Lanes sum = leaf[0], top = sum;
        for (size_t i = 1; i < 8; i++) {
            sum = ALONE ? leaf[i] : sum + leaf[i];
            top = Lanes::larger(top, sum);
        }
        return top;
    }
    static inline Lanes of_children(const Child* child) {
        Lanes sum = child[0].sum, top = Lanes::larger(child[0].top, sum + child[1].top);
        sum = sum + child[1].sum;
        top = Lanes::larger(top, sum + child[2].top);
        return Lanes::larger(top, sum + child[2].sum + child[3].top);
    }

    // Some children's tops are others, and their sums so much more: level by level, so that they do
    // not wait for each other.  Of two in one node the later one knows what the earlier one did.
    template <size_t MANY>
    static inline void climb(Child* heap, size_t (&at)[MANY], Lanes (&top)[MANY],
                             const Lanes (&by)[MANY]) {
        while (at[0])
            for (size_t r = 0; r < MANY; r++) {
                Child& child = heap[at[r]];
                child.top = top[r];
                if (!ALONE) child.sum = child.sum + by[r];
                at[r] = (at[r] - 1) >> 2;
                top[r] = of_children(heap + 4 * at[r] + 1);
            }
    }

    // All above the lowest children.
    static void grow(Child* heap, size_t lowest) {
        for (size_t at = lowest; at-- > 0;) {
            const Child* child = heap + 4 * at + 1;
            heap[at].top = of_children(child);
            heap[at].sum = child[0].sum + child[1].sum + child[2].sum + child[3].sum;
        }
    }

    // All above the first leaves.
    void grow_block(const Lanes* leaf, Child* heap, size_t many) const {
        for (size_t at = 0; at < many; at += 8, leaf += 8) {
            Lanes sum = leaf[0];
            for (size_t k = 1; k < 8; k++) sum = sum + leaf[k];
            heap[shape.low + at / 8] = {of_leaves(leaf), ALONE ? zero : sum};
        }
        grow(heap, shape.low);
    }

    // Before any row has passed F is 0.
    void plant(size_t block, Lanes* leaf, Child* heap) {
        const size_t many = size_t(1) << shape.shift;
        const Value* weight = in.weight + block * many;
        const Lanes sign = Lanes::of({0, 0, -1, 0, -1, 0, 0, 0});
        for (size_t i = 0; i < many; i++) leaf[i] = Lanes::all(weight[i]).turned(sign) & later;
        grow_block(leaf, heap, many);
        above[shape.up + block] = heap[0];
    }

    void plant_above() {
        const size_t end = 4 * shape.up + 1;
        for (size_t at = shape.up + shape.blocks; at < end; at++) above[at] = {zero, zero};
        grow(above, shape.up);
        judge(above[0].top, 0, Lanes::all(-1));
    }

    // Rows from one to another, dealt to their blocks; returns how many runs they are.
    size_t deal(size_t from, size_t to) {
        const u32 *row = in.row + from, *group = in.group + from;
        const Value* value = in.value + from;
        const size_t many = to - from, shift = shape.shift, mask = (size_t(1) << shift) - 1;
        const CutRoom<Value> here = room;
        find(row, many);
        size_t runs = 0;
        for (size_t t = 0; t < many; t++) {
            const size_t leaf = here.leaf[t], j = leaf >> shift;
            Dealt& block = dealt[j];
            const bool fresh = block.group != group[t];
            here.row[block.row++] = {value[t], u16(leaf & mask), fresh};
            block.group = group[t];
            here.block[runs] = u16(j);
            runs += fresh;
            here.last[runs - 1] = group[t] != group[t + 1];
        }
        return runs;
    }

    // The leaves of rows, and how many rows each block has.
    void find(const u32* row, size_t many) {
        const u16* leaf = in.leaf;
        u16* found = room.leaf;
        u32 counts[CUT_BLOCKS] = {};
        for (size_t t = 0; t < many; t++) {
            found[t] = leaf[row[t]];
            counts[found[t] >> shape.shift]++;
        }
        begins[0] = 0;
        for (size_t j = 0; j < shape.blocks; j++) {
            dealt[j] = {begins[j], NONE};
            begins[j + 1] = begins[j] + counts[j];
        }
    }

    // The same where there is one block: a run is a group.
    size_t deal_one(size_t from, size_t to) {
        const u32 *row = in.row + from, *group = in.group + from;
        const Value* value = in.value + from;
        const size_t many = to - from;
        const u16* leaf = in.leaf;
        const CutRoom<Value> here = room;
        size_t runs = 0;
        for (size_t t = 0; t < many; t++) {
            const bool fresh = !t || group[t] != group[t - 1];
            here.row[t] = {value[t], leaf[row[t]], fresh};
            here.block[runs] = 0, runs += fresh;
            here.last[runs - 1] = group[t] != group[t + 1];
        }
        begins[0] = 0, begins[1] = u32(many);
        return runs;
    }

    // Rows of a block change leaves, and all above them.
    template <size_t MANY>
    inline void change(const CutRow<Value>* row, Lanes* leaf, Child* heap, Lanes (&top)[MANY]) {
        Lanes by[MANY];
        size_t at[MANY];
        for (size_t r = 0; r < MANY; r++) {
            by[r] = moved(row[r].value);
            Lanes* here = leaf + row[r].leaf;
            *here = *here + by[r];
            top[r] = of_leaves(leaf + (row[r].leaf & ~7));
            at[r] = shape.low + (row[r].leaf >> 3);
        }
        climb(heap, at, top, by);
    }

    // The run that is under way.
    struct Run {
        size_t at;
        Value sum;
    };
    inline void tell(const Run& run, const Lanes& top) {
        tops[run.at] = top;
        room.moved[run.at] = run.sum;
    }

    // Some rows of a block, one after another in what is told.
    template <size_t MANY>
    inline void some(const CutRow<Value>* row, Lanes* leaf, Child* heap, Run& run) {
        Lanes top[MANY];
        change(row, leaf, heap, top);
        for (size_t r = 0; r < MANY; r++) {
            run = {run.at + row[r].fresh, row[r].value + (row[r].fresh ? 0 : run.sum)};
            tell(run, top[r]);
        }
    }

    static inline bool some_fresh(const CutRow<Value>* row) {
        bool any = false;
        for (size_t r = 0; r < ABREAST; r++) any |= row[r].fresh;
        return any;
    }

    // What the rows of a block do to it.  Whether a run goes on for long is looked at once.
    void pass(size_t block, Lanes* leaf, Child* heap) {
        const CutRow<Value>*row = room.row + begins[block], *end = room.row + begins[block + 1];
        Run run{begins[block] - size_t(1), 0};
        for (const CutRow<Value>* seen = row; end - row >= ptrdiff_t(ABREAST);) {
            if (row >= seen && !some_fresh(row)) {
                for (seen = row; seen < end && !seen->fresh;) seen++;
                if (seen - row >= FLOOD) {
                    flood(row, seen, leaf, heap, run);
                    row = seen;
                    continue;
                }
            }
            some<ABREAST>(row, leaf, heap, run);
            row += ABREAST;
        }
        for (; row < end; row++) some<1>(row, leaf, heap, run);
    }

    // Rows that go on with a run.
    void flood(const CutRow<Value>* row, const CutRow<Value>* end, Lanes* leaf, Child* heap,
               Run& run) {
        for (; row < end; row++) {
            leaf[row->leaf] = leaf[row->leaf] + moved(row->value);
            run.sum += row->value;
        }
        grow_block(leaf, heap, used);
        tell(run, heap[0].top);
    }

    inline void judge(const Lanes& top, Value a, const Lanes& whether) {
        // No leaf at all: b below all codes.
        const Lanes held = Lanes::larger(top, zero), past = Lanes::all(-2 * a).turned(minus);
        const Lanes rest = Lanes::larger(one + (past & twice), two + past);
        best = Lanes::larger(best, (held + held + rest) & whether);
    }

    // What runs do above the blocks, in the order in which they pass.
    template <size_t MANY> inline void change_above(size_t first) {
        Lanes by[MANY], top[MANY];
        Value passed[MANY];
        size_t at[MANY];
        for (size_t r = 0; r < MANY; r++) {
            const size_t j = room.block[first + r], run = dealt[j].row++;
            __builtin_prefetch(tops + run + 2);
            by[r] = moved(room.moved[run]);
            passed[r] = A += room.moved[run];
            top[r] = tops[run];
            at[r] = shape.up + j;
        }
        climb(above, at, top, by);
        for (size_t r = 0; r < MANY; r++)
            judge(top[r], passed[r], Lanes::all(-Value(room.last[first + r])));
    }

    void pass_above(size_t runs) {
        size_t i = 0;
        for (size_t j = 0; j < shape.blocks; j++) dealt[j].row = begins[j];
        for (; i + ABREAST <= runs; i += ABREAST) change_above<ABREAST>(i);
        for (; i < runs; i++) change_above<1>(i);
    }

    Value sweep() {
        for (size_t from = 0, to = 0; from < in.rows; from = to) {
            to = in.rows - from < CUT_ROWS ? in.rows : from + CUT_ROWS;
            const size_t runs = shape.blocks > 1 ? deal(from, to) : deal_one(from, to);
            for (size_t j = 0; j < shape.blocks; j++) {
                Lanes* leaf = leaves + (shape.kept > 1 ? j : 0) * CUT_EIGHTS;
                Child* heap = reinterpret_cast<Child*>(leaf + CUT_LEAVES);
                if (!from) plant(j, leaf, heap);
                pass(j, leaf, heap);
            }
            if (!from) plant_above();
            pass_above(runs);
        }
        Value found = 0;
        for (size_t k = 0; k < 6; k++) {
            const Value lane = best.part[k / Lanes::EACH][k % Lanes::EACH];
            found = lane > found ? lane : found;
        }
        return found;
    }
};
// [/cut-tree]

template <class Value> Value sweep(const CutSweep<Value>& in) {
    return in.alone ? Sweep<Value, true>(in).sweep() : Sweep<Value, false>(in).sweep();
}

std::int32_t narrow(const CutSweep<std::int32_t>& in) { return sweep(in); }
std::int64_t wide(const CutSweep<std::int64_t>& in) { return sweep(in); }

}  // namespace

extern const CutLoops LOOPS = {LOOPS_NAME, narrow, wide};

}  // namespace privsieve
