// Votes of blocks and of units: nearest hits and misses among few rows.  See `blocks.py`.
#pragma once
#include "arrays.h"

namespace privsieve {

// Rows, one after another; those of unit u are starts[u] to starts[u + 1].
struct Rows {
    Matrix<u16> codes;
    const std::int32_t* label;
    const i64* starts;
    size_t units;
};

// Block b has the units order[starts[b]] to order[starts[b + 1]].
struct Blocks {
    const i64 *order, *starts;
    size_t many;
};

// kinds : null for numbers; else 65535 where all codes differ fully (row 0) or 65535 does (row 1)
// tau : the largest vote; 0 votes by signs
// each : null, or room for the sum of each voter, who then does not vote
struct Ballot {
    const u16* kinds;
    i64 tau;
    std::int32_t* each = nullptr;
};

void block_votes(const Rows& rows, const Blocks& blocks, const Ballot& ballot, i64* votes);
void reference_votes(const Rows& rows, const Rows& reference, const Ballot& ballot, i64* votes);

// Row place[i] of `out` is column i of `codes`.
void deal(Matrix<u16> codes, const i64* place, u16* out);

}  // namespace privsieve
