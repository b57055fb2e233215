// Rules on one column against cuts of a number, and pairs of rows in the order of both.
#pragma once
#include "kernels.h"

namespace privsieve {

// For each cut between classes c and c + 1, and each column: twice the largest n |covariance|.
template <class Count> void rank_intervals(const RunsView<Count>& runs, const u8* kind, i64* out);

// The same, the largest over all cuts of the label by value.
void cut_intervals(Matrix<u16> codes, const u16* label, const u8* kind, i64* out);

// Pairs of rows in the same order of code and label, less pairs in opposite order.
void concordance(Matrix<u16> codes, const u16* label, const u8* kind, i64* out);

}  // namespace privsieve
