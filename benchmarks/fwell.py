"""FWELL's whole fit against scikit-rebate's ReliefF, and an ensemble's search against one."""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

import privsieve as ps
from measure import Goal, call, paired
from nearest import table
from privsieve.kernels.nearest import nearest, nearest_in

try:
    from skrebate import ReliefF
except ImportError:  # a peer that need not be here
    ReliefF = None

#: Rows, columns, and the most searches that 20 samples may take.
SAMPLES, SIZES = 20, ((3343, 20, 3), (203, 12_600, 2))


def samples(rows, columns, limit, runs):
    """20 samples of 90 % without replacement; each is then searched alone, and must agree."""
    X, y = table(rows, columns)
    rng = np.random.default_rng(0)
    drawn = np.zeros((rows, SAMPLES), bool)
    for r in range(SAMPLES):
        drawn[rng.choice(rows, -(-9 * rows // 10), replace=False), r] = True
    ratio, single, ours = paired(lambda: [nearest(X, y, "manhattan") for _ in range(4)],
                                 lambda: [nearest_in(X, y, "manhattan", drawn) for _ in range(4)],
                                 runs)
    nearest_rows = nearest_in(X, y, "manhattan", drawn)
    for r in range(SAMPLES):
        members = np.flatnonzero(drawn[:, r])
        for whole, row in zip(nearest_rows, nearest(X[members], y[members], "manhattan"),
                              strict=True):
            assert (whole[members, r] == members[row]).all()
    return Goal(f"{SAMPLES} samples / one search, {rows} x {columns}", ratio, limit,
                f"one {single * 250:.2f} ms, ours {ours * 250:.2f} ms, identical to each alone")


def relief(rows, columns, limit, runs):
    """A fit of both; a long one of theirs runs once."""
    X, y = table(rows, columns)
    ours = call(lambda: ps.FWELL(5).fit(X, y), 15)
    spent = []
    for _ in range(runs):
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ReliefF(n_features_to_select=5).fit(X, y)
        spent.append(time.process_time() - start)
    theirs = sorted(spent)[runs // 2]
    return Goal(f"FWELL.fit / scikit-rebate's ReliefF, {rows} x {columns}", ours / theirs, limit,
                f"ReliefF {theirs:.2f} s{', one run' if runs == 1 else ''}, "
                f"ours {ours * 1000:.2f} ms")


def goals(*, short):
    """The short form times ReliefF on a tenth of the wide table's columns."""
    for size in SIZES:
        yield samples(*size, 3 if short else 7)
    if ReliefF is None:
        return
    yield relief(569, 30, 1 / 150, 3 if short else 7)
    yield relief(203, 1260 if short else 12_600, 1 / 300, 1)


if __name__ == "__main__":
    for goal in goals(short="--short" in sys.argv):
        print(f"{goal.ratio:.5f} of {goal.limit:.5f}  {goal.name}  [{goal.detail}]", flush=True)
