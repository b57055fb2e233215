// All cuts of two columns: what one column's rows do to a tree over the codes of the other.
#pragma once
#include <cstddef>
#include <cstdint>

namespace privsieve {

// The tree's leaves lie in blocks that a processor keeps close at hand, and over the blocks is a
// tree of its own.  A node above the leaves has four children, which stand as in a heap: those of c
// from 4c + 1 on.
struct CutShape {
    size_t shift;   // of a leaf's place that gives its block
    size_t blocks;  // at most CUT_BLOCKS
    size_t low, up;  // where the lowest children stand, in a block and over the blocks
    size_t kept;  // blocks that stand at once: one, or all
};
constexpr size_t CUT_SHIFT = 9, CUT_BLOCKS = 65536 >> CUT_SHIFT, CUT_ALIGNED = 64;
// Eights of a block: its leaves, and two for each of 1 + 4 + 16 + 64 children; over the blocks there
// are 1 + 4 + 16 + 64 + 256 of them.
constexpr size_t CUT_CHILDREN = 85, CUT_LEAVES = size_t(1) << CUT_SHIFT;
constexpr size_t CUT_EIGHTS = CUT_LEAVES + 2 * CUT_CHILDREN;
static_assert(CUT_EIGHTS >= 2 * (1 + 4 + 16 + 64 + 256), "room over the blocks");
// Rows that pass at once: what they do to the blocks, and then what the blocks do above.
constexpr size_t CUT_ROWS = size_t(1) << 17;

// A row as its block knows it: whether it begins a run, the rows of one group in one block.
template <class Value> struct CutRow {
    Value value;
    std::uint16_t leaf;
    bool fresh;
};

// What is written and read on the way, of as many rows as pass at once.
template <class Value> struct CutRoom {
    std::uint16_t* leaf;   // of a row
    CutRow<Value>* row;    // block by block
    Value* moved;          // of a run, block by block: the sum of its rows
    std::uint16_t* block;  // of a run, in the order in which they pass
    std::uint8_t* last;    // of a run: whether its group ends with it
    void* eights;          // of a run, then of the kept blocks, then over them; aligned
};

// Rows pass one by one, in groups of one code; `group` has one more entry, which no group has.
template <class Value> struct CutSweep {
    size_t rows;
    const std::uint32_t *row, *group;
    const Value* value;
    const std::uint16_t* leaf;  // of each row that `row` names: its place among the tree's codes
    size_t leaves;
    const Value* weight;  // of each leaf, and 0 to the end of the last block: the sum of its rows
    Value total;
    bool alone;  // a leaf is set against all others; else all up to it count
    CutShape shape;
    CutRoom<Value> room;
};

// Twice the best rule on four cells, over all cuts of both columns.
struct CutLoops {
    const char* name;
    std::int32_t (*narrow)(const CutSweep<std::int32_t>& in);
    std::int64_t (*wide)(const CutSweep<std::int64_t>& in);
};

extern const CutLoops cut_base;
#ifdef PRIVSIEVE_X86
extern const CutLoops cut_avx2, cut_avx512;
#endif

// The sets of loops that this machine can run, the best first; returns how many.
int runnable_cuts(const CutLoops* found[3]);

}  // namespace privsieve
