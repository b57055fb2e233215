"""FWELL and its ensemble, the originals: exact, and NOT private.

One row may be the miss of all others, so that no noise worth adding makes these weights private.
Their private kin is `BlockFWELL`, where a row meets few others only.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from privsieve.kernels.nearest import TOGETHER, nearest, nearest_in
from privsieve.local.margins import I64, margins
from privsieve.local.progress import shown
from privsieve.local.solver import minimise

if TYPE_CHECKING:
    from privsieve.kernels.nearest import F64, I32, Metric

__all__ = ["Weights", "ensemble", "fwell", "sample_size"]


class Weights(NamedTuple):
    """The weight of each column; the exact ones are no farther than `error` (Euclidean)."""

    w: F64
    error: float

    def __repr__(self) -> str:
        return object.__repr__(self)  # its fields are private


def fwell(
    X: F64, label: I32, lam: float, metric: Metric = "manhattan", *, verbose: int = 0,
    begins: I64 | None = None,
) -> Weights:
    """The minimiser of mean ``log(1 + exp(-w.z)) + lam |w|^2`` over the margins z of all rows.

    `begins` says which columns of X are one, where `spread` made them.

    Departs from the paper's Algorithm 1, whose steps of unit length do not end at a minimiser.

    >>> X = np.array([[0.0, 0.5], [0.1, 0.0], [0.9, 0.5], [1.0, 0.0]])
    >>> fwell(X, np.array([0, 0, 1, 1], np.int32), 0.1).w.round(2).tolist()
    [0.99, -0.62]
    """
    with shown("neighbours", len(X), verbose) as done:
        hit, miss = nearest(X, label, metric, done=done)
    found = minimise(margins(X, hit, miss, begins=begins), lam)
    return Weights(found.w, found.gradient / (2 * lam))


def ensemble(
    X: F64, label: I32, lam: float, metric: Metric, samples: Sequence[I64], *, verbose: int = 0,
    begins: I64 | None = None,
) -> Weights:
    """The mean of the weights of `fwell` over samples of the rows.

    A row that was drawn twice counts twice, and is no neighbour of itself.  One search finds the
    neighbours in all samples.

    >>> X = np.array([[0.0, 0.5], [0.1, 0.0], [0.9, 0.5], [1.0, 0.0]])
    >>> y = np.array([0, 0, 1, 1], np.int32)
    >>> all(ensemble(X, y, 0.1, "manhattan", [np.arange(4)]).w == fwell(X, y, 0.1).w)
    True
    """
    drawn = np.zeros((len(X), len(samples)), bool)
    for r, sample in enumerate(samples):
        drawn[sample, r] = True
    searches = -(-len(samples) // TOGETHER)
    with shown("neighbours", len(X) * searches, verbose) as done:
        hit, miss = nearest_in(X, label, metric, drawn, done=done)
    total, error = np.zeros(X.shape[1] if begins is None else len(begins)), 0.0
    for r, sample in enumerate(samples):
        members, times = np.unique(sample, return_counts=True)
        z = margins(X, hit[members, r], miss[members, r], members, begins)
        found = minimise(np.repeat(z, times, axis=0), lam)
        total += found.w
        error += found.gradient / (2 * lam)
    return Weights(total / len(samples), error / len(samples))


def sample_size(n: int, beta: object) -> int:
    """Rows in a sample: beta of n rounded up, beta read as the decimal that is written.

    >>> sample_size(569, 0.9), sample_size(100, 0.29)
    (513, 29)
    """
    return ceil(Fraction(str(beta)) * n)
