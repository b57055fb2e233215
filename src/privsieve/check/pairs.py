"""For each method two made-up tables that differ in one row, to be told apart.

They are public, and worst pairs or near to it: the changed row moves what the method computes as
far as one row can.  `privsieve audit` and the tests attack a method on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.public.columns import Flag, Number
from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch

Codes = npt.NDArray[np.uint16]

TOP = 65535  # the last code of a column
TWO = Domain.box(0, 1, columns=2)
#: Two public rows, one of each class: against them a row's vector can be as long as any.
CORNERS = (np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0, 1]))


@dataclass(frozen=True)
class Pair:
    """A method's plan but for epsilon, and two neighbouring tables for it."""

    method: str
    domain: Domain
    options: Mapping[str, Any]
    first: Batch
    second: Batch

    def attacked(self, epsilon: object) -> Callable[[Batch], Any]:
        """The method as it is shipped, from rows to what a release says, at this epsilon.

        >>> run = pair("rule-sieve").attacked(1)
        >>> run(pair("rule-sieve").first) in [("x0",), ("x1",)]
        True
        """
        from privsieve.methods import plan
        from privsieve.noise.streams import system
        from privsieve.release import said

        made = plan(self.method, self.domain, epsilon=epsilon, rows=len(self.first),
                    allow_weak=True, **self.options)
        noise = system()

        def run(table: Batch) -> Any:
            return seen(said(made, made.mechanism(made.summarise([table], noise.key()), noise)))

        return run


def seen(said: Mapping[str, Any]) -> Any:
    """What an attacker sees of a release: numbers as a vector, or names.

    >>> seen({"selected": ["age"], "candidate": 1}), seen({"selected": ["age"]})
    ((1, 'age'), ('age',))
    """
    for key in ("values", "cells"):
        if key in said:
            return np.array(said[key]["q"], dtype=np.float64)
    candidate = (said["candidate"],) if "candidate" in said else ()
    return (*candidate, *said["selected"])


def pair(method: str) -> Pair:
    """The pair of a method.

    >>> len(pair("block-fwell").first), pair("felp").options["beta"]
    (6, 1)
    """
    from privsieve.methods import options_of

    options_of(method)  # refuses a name that is none
    return _PAIRS[method](method)


def table(codes: npt.ArrayLike, label: npt.ArrayLike) -> Batch:
    """Rows as the reader would give them; each is a unit."""
    made = np.asfortranarray(np.array(codes, dtype=np.uint16))
    row = np.arange(len(made), dtype=np.uint64)
    return Batch(made, np.array(label, dtype=np.int32), row, row)


def sides() -> tuple[Codes, Codes, npt.NDArray[np.int64]]:
    """Row 1 leaves the first column's side for the second's: one unit of both scores."""
    label = np.arange(12) % 2
    first = np.stack([label, label], axis=1)
    first[[1, 3], 1] = 0  # rows 1 and 3 contradict the second column
    second = first.copy()
    second[1] = [0, 1]  # row 1 contradicts the first instead
    return (first * TOP).astype(np.uint16), (second * TOP).astype(np.uint16), label


def block() -> tuple[Codes, Codes, npt.NDArray[np.int64]]:
    """Six rows of which three make a block: the last row turns its block's vector around."""
    middle, places = 0.1, (0.05, 0.085, 0.1025, 0.115, 0.15)
    first = np.array([[place, place] for place in places] + [[middle, 1.0]])
    second = first.copy()
    second[5] = [1.0, middle]
    return (np.floor(first * TOP).astype(np.uint16), np.floor(second * TOP).astype(np.uint16),
            np.array([0, 0, 0, 0, 0, 1]))


def corners(rows: int = 20) -> tuple[Codes, Codes, npt.NDArray[np.int64]]:
    """Rows against two public corners; the last row's vector is turned from one side to another."""
    c = 0.387890  # where a vector of weights is moved most
    ends = []
    for sign in (1, -1):
        codes = np.tile(np.array([0, TOP // 2]), (rows, 1))
        codes[-1] = np.round((1 - np.array([-c, sign * math.sqrt(1 - c * c)])) / 2 * TOP)
        ends.append(codes.astype(np.uint16))
    return ends[0], ends[1], np.zeros(rows, dtype=np.int64)


def _of(tables: Callable[[], tuple[Codes, Codes, npt.NDArray[np.int64]]], **options: Any,
        ) -> Callable[[str], Pair]:
    """A pair in two columns of numbers, under a label that stays."""
    def made(method: str) -> Pair:
        first, second, label = tables()
        return Pair(method, TWO, options, table(first, label), table(second, label))

    return made


def _model(method: str) -> Pair:
    """Two rows at one end, of which one has its target at the other end."""
    domain = Domain((Flag("x0"),), target=Number("y", 0, 10))
    first, second = (table([[1], [1]], [TOP, y]) for y in (0, TOP))
    return Pair(method, domain, {"kernel": "linear", "lam": 100}, first, second)


def _counts(method: str) -> Pair:
    """One row of three moves from a cell to the other."""
    first, second = (table([[0], [code], [1]], [0, 0, 0]) for code in (0, 1))
    return Pair(method, Domain((Flag("ill"),)), {}, first, second)


_RULES = {"depth": 1, "class_prior": None}
_PAIRS: Mapping[str, Callable[[str], Pair]] = {
    "rule-sieve": _of(sides, k=1, **_RULES),
    "block-fwell": _of(block, k=1, block=3, repeats=1),
    "noisy-top-k": _of(sides, k=1, class_prior=None),
    "private-tuning": _of(sides, candidates=[
        {"method": "rule-sieve", "k": 1, **_RULES},
        {"method": "rule-sieve", "k": 1, "depth": 1, "class_prior": 0.5}]),
    "output-fwell": _of(corners, k=1, lam="0.1", reference=CORNERS),
    "objective-fwell": _of(block, k=1, block=3, lam="0.3"),
    "felp": _of(corners, k=1, reference=CORNERS, beta=1, repeats=2),
    "kernel-ridge": _model,
    "noisy-histogram": _counts,
}
