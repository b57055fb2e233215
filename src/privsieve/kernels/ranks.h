// Rules on one column against cuts of a number.
#pragma once
#include "kernels.h"

namespace privsieve {

// For each cut between classes c and c + 1, and each column: twice the largest n |covariance|.
template <class Count> void rank_intervals(const RunsView<Count>& runs, const u8* kind, i64* out);

}  // namespace privsieve
