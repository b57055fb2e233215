"""FWELL and its ensemble, the originals: exact, and NOT private.

One row may be the miss of all others, so that no noise worth adding makes these weights private.
Their private kin is `BlockFWELL`, where a row meets few others only.
"""
# ruff: noqa: PLR0917  six arguments are allowed by the house

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from privsieve.kernels.nearest import nearest
from privsieve.kernels.orderings import among, orderings
from privsieve.local.margins import margins
from privsieve.local.solver import minimise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privsieve.kernels.nearest import F64, I32, Metric
    from privsieve.local.margins import I64

__all__ = ["REMEMBERED", "Weights", "ensemble", "fwell", "sample_size", "within"]

#: Neighbours that are remembered for resamples without and with replacement: of these nearly
#: always one is in the sample (without, all eight are missing once in 10^8 at beta = 0.9).
REMEMBERED = {False: 8, True: 16}


class Weights(NamedTuple):
    """The weight of each column; the exact ones are no farther than `error` (Euclidean)."""

    w: F64
    error: float


def fwell(X: F64, label: I32, lam: float, metric: Metric = "manhattan") -> Weights:
    """The minimiser of mean ``log(1 + exp(-w.z)) + lam |w|^2`` over the margins z of all rows.

    Departs from the paper's Algorithm 1, whose steps of unit length do not end at a minimiser.

    >>> X = np.array([[0.0, 0.5], [0.1, 0.0], [0.9, 0.5], [1.0, 0.0]])
    >>> fwell(X, np.array([0, 0, 1, 1], np.int32), 0.1).w.round(2).tolist()
    [0.99, -0.62]
    """
    found = minimise(margins(X, *nearest(X, label, metric)), lam)
    return Weights(found.w, found.gradient / (2 * lam))


def ensemble(
    X: F64, label: I32, lam: float, metric: Metric, samples: Sequence[I64], most: int = 8
) -> Weights:
    """The mean of the weights of `fwell` over samples of the rows.

    Neighbours are found once, `most` of each kind: the nearest in a sample is the first of them
    that it holds.  A row that was drawn twice counts twice, and is no neighbour of itself.

    >>> X = np.array([[0.0, 0.5], [0.1, 0.0], [0.9, 0.5], [1.0, 0.0]])
    >>> y = np.array([0, 0, 1, 1], np.int32)
    >>> all(ensemble(X, y, 0.1, "manhattan", [np.arange(4)]).w == fwell(X, y, 0.1).w)
    True
    """
    near = orderings(X, label, metric, most)
    total, error = np.zeros(X.shape[1]), 0.0
    for sample in samples:
        members, times = np.unique(sample, return_counts=True)
        hit, miss = within(X, label, metric, near, members)
        z = margins(X, hit, miss, members)
        found = minimise(np.repeat(z, times, axis=0), lam)
        total += found.w
        error += found.gradient / (2 * lam)
    return Weights(total / len(samples), error / len(samples))


def within(
    X: F64, label: I32, metric: Metric, near: tuple[I64, I64], members: I64
) -> tuple[I64, I64]:
    """The nearest hit and miss of each member among the members (rising).

    `near` are orderings of the whole table; where no neighbour of a row's is a member, and the
    ordering does not show all, the members are searched.

    >>> X, y = np.array([[0.0], [1.0], [3.0], [9.0]]), np.array([0, 0, 0, 1], np.int32)
    >>> near = orderings(X, y, "manhattan", 1)
    >>> [part.tolist() for part in within(X, y, "manhattan", near, np.array([0, 2, 3]))]
    [[2, 0, -1], [3, 3, 2]]
    """
    inside = np.zeros(len(X), bool)
    inside[members] = True
    found = []
    for side, ordering in enumerate(near):
        known = ordering[members]
        held = (known >= 0) & inside[known]
        first = np.take_along_axis(known, held.argmax(axis=1)[:, None], axis=1)[:, 0]
        first = np.where(held.any(axis=1), first, -1)
        # An ordering that ends in -1 names every neighbour that there is.
        late = np.flatnonzero(~held.any(axis=1) & (known[:, -1] >= 0))
        if len(late):
            first[late] = among(X, label, metric, members[late], members)[side]
        found.append(first)
    return found[0], found[1]


def sample_size(n: int, beta: object) -> int:
    """Rows in a sample: beta of n rounded up, beta read as the decimal that is written.

    >>> sample_size(569, 0.9), sample_size(100, 0.29)
    (513, 29)
    """
    return ceil(Fraction(str(beta)) * n)
