"""AllCuts: rules on pairs of columns that have no grid, by every cut between two codes.

A number without bounds has codes, and no public bins that its values would spread over.  So a pair
with such a column is cut wherever two of its rows differ.  The best of all cuts is the best of a
family that no row decides; see `cuts.proof.md`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from privsieve import kernels
from privsieve.kernels.cuts import cut_best
from privsieve.summaries import Summary

if TYPE_CHECKING:
    from privsieve.rows.batch import Part
    from privsieve.summaries.rules import Layout

Ints = npt.NDArray[np.int64]
#: Codes of a bin of a number without bounds, where scores are for many classes at once.
ZOOMS = tuple(4**power for power in range(7))


@dataclass(frozen=True, eq=False, repr=False)
class AllCuts(Summary):
    """The codes of all rows, by class.

    `valued` holds the pairs of labellings that were asked for: they are gains, and sets.
    """

    codes: npt.NDArray[np.uint16]
    starts: Ints
    weight: Ints | None
    valued: dict[bytes, Ints] = field(default_factory=dict)

    @classmethod
    def of(cls, part: Part) -> AllCuts:
        """Keep the codes of a part."""
        return cls(part.codes, part.starts, part.weight)

    def __add__(self, other: AllCuts) -> AllCuts:
        pieces, weights = [], []
        for c in range(len(self.starts) - 1):
            for one in (self, other):
                rows = slice(one.starts[c], one.starts[c + 1])
                pieces.append(one.codes[:, rows])
                weights.append(None if one.weight is None else one.weight[rows])
        joined = [w for w in weights if w is not None]
        return AllCuts(np.ascontiguousarray(np.concatenate(pieces, axis=1)),
                       self.starts + other.starts, np.concatenate(joined) if joined else None)

    # [all-cuts]
    def pairs(self, labellings: Ints, layout: Layout) -> Ints:
        """Twice the best rule of each labelling and pair; 0 where both have a grid."""
        asked = labellings.tobytes()
        if asked not in self.valued:
            wanted = np.zeros(len(self.codes), np.uint8)
            wanted[list(layout.gridless)] = 1
            self.valued[asked] = cut_best(self.codes, self.starts, self.weight, labellings,
                                          layout.kind, wanted)
        return self.valued[asked]

    def gain(self, labellings: Ints, layout: Layout) -> Ints:
        """For each column what the best partner adds to the better of both, doubled.

        Only pairs with a column that has no grid count; without one: 0.
        """
        first, second = np.triu_indices(len(self.codes), 1)
        counted = np.isin(first, layout.gridless) | np.isin(second, layout.gridless)
        alone = self._alone(labellings, layout)
        more = self.pairs(labellings, layout) - np.maximum(alone[:, first], alone[:, second])
        best, gain = more.max(axis=0, initial=0)[counted], np.zeros(len(self.codes), np.int64)
        for column in (first[counted], second[counted]):
            np.maximum.at(gain, column, best)
        return gain

    def _alone(self, labellings: Ints, layout: Layout) -> Ints:
        """Twice the best single cut of each column, or its best single level."""
        indptr, _code, count = kernels.runs(self.codes, self.starts, self.weight)
        value = labellings @ count.T.astype(np.int64)
        best = np.zeros((len(labellings), len(self.codes)), np.int64)
        for j, nominal in enumerate(layout.nominal):
            here = value[:, indptr[j]:indptr[j + 1]]
            total = here.sum(axis=1, keepdims=True)
            inside = here if nominal else here.cumsum(axis=1)
            best[:, j] = np.abs(np.concatenate([2 * inside - total, total], 1)).max(axis=1)
        return best
    # [/all-cuts]


def windows(code: npt.NDArray[np.uint16], count: npt.NDArray[np.signedinteger], bins: int,
            ) -> Iterator[Ints]:
    """How much of each class lies in each bin of a number without bounds, on its many grids.

    So many bins of 1, 4, 16, .. codes, from every eighth of them on, of which the first and the
    last hold all that lies beyond.
    """
    known = code.astype(np.int64)
    level = np.concatenate([np.zeros((1, count.shape[1]), np.int64),
                            count.cumsum(axis=0, dtype=np.int64)])
    for wide in ZOOMS:
        # [zooms] one that begins nowhere near a code is no finer than one that does
        hop = wide * bins // 2
        begins = np.unique((known // hop)[:, None] - np.arange(2)) * hop
        for begin in begins.tolist() or [0]:
            ends = np.searchsorted(known, begin + wide * np.arange(1, bins))
            yield np.diff(level[np.concatenate([[0], ends, [len(known)]])], axis=0)
