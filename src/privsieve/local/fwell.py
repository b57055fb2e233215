"""FWELL and its ensemble, the originals: exact, and NOT private.

One row may be the miss of all others, so that no noise worth adding makes these weights private.
Their private kin is `BlockFWELL`, where a row meets few others only.
"""
# ruff: noqa: PLR0917  six arguments are allowed by the house

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from privsieve.kernels import implementation
from privsieve.kernels.nearest import nearest
from privsieve.kernels.orderings import among, orderings
from privsieve.local.margins import margins
from privsieve.local.solver import minimise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privsieve.kernels.nearest import F64, I32, Metric
    from privsieve.local.margins import I64

__all__ = ["REMEMBERED", "Weights", "ensemble", "fwell", "sample_size", "searched", "within"]

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

    A row that was drawn twice counts twice, and is no neighbour of itself.  Without the C++
    kernels the neighbours of all rows are put in order once, `most` of each kind.

    >>> X = np.array([[0.0, 0.5], [0.1, 0.0], [0.9, 0.5], [1.0, 0.0]])
    >>> y = np.array([0, 0, 1, 1], np.int32)
    >>> all(ensemble(X, y, 0.1, "manhattan", [np.arange(4)]).w == fwell(X, y, 0.1).w)
    True
    """
    # Twenty searches in C++ take a third of the time of one ordering in NumPy, and that takes a
    # tenth of twenty searches in NumPy.  The neighbours are the same.
    look = (
        partial(searched, X, label, metric)
        if implementation() == "native"
        else partial(within, X, label, metric, orderings(X, label, metric, most))
    )
    total, error = np.zeros(X.shape[1]), 0.0
    for sample in samples:
        members, times = np.unique(sample, return_counts=True)
        z = margins(X, *look(members), members)
        found = minimise(np.repeat(z, times, axis=0), lam)
        total += found.w
        error += found.gradient / (2 * lam)
    return Weights(total / len(samples), error / len(samples))


def searched(X: F64, label: I32, metric: Metric, members: I64) -> tuple[I64, I64]:
    """The nearest hit and miss of each member among the members (rising), by a search of them.

    >>> X, y = np.array([[0.0], [1.0], [3.0], [9.0]]), np.array([0, 0, 0, 1], np.int32)
    >>> [part.tolist() for part in searched(X, y, "manhattan", np.array([0, 2, 3]))]
    [[2, 0, -1], [3, 3, 2]]
    """
    hit, miss = nearest(X[members], label[members], metric)
    return np.where(hit < 0, -1, members[hit]), np.where(miss < 0, -1, members[miss])


def within(
    X: F64, label: I32, metric: Metric, near: tuple[I64, I64], members: I64
) -> tuple[I64, I64]:
    """The same by `near`, the orderings of the whole table: the first that is a member.

    Where no remembered neighbour of a row is a member, and there may be others, the members are
    searched.

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
