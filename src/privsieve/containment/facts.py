"""Facts: what anybody could work out from a published table, as its release says it.

Nothing here is counted from a row or a column that stayed behind: `items` are those of the written
file.  So a release, and the report that is made of it, give away no more than the table does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privsieve.containment.breaking import MOST_COLUMNS, gains
from privsieve.containment.measures import disclosure_risk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privsieve.containment.measures import Crowd, Risk
    from privsieve.core.canonical import Json
    from privsieve.core.items import Items

#: Pairs of patterns, and cells, that may be compared to learn what each column costs.
MOST_PAIRS, MOST_CELLS = 5 * 10**10, 2 * 10**9
#: Shares are kept as decimals, rounded up: a risk is never told too small.
_PARTS = 10**9


def facts(items: Items, labels: Sequence[str] | None, k: int) -> tuple[Risk, dict[str, Json]]:
    """Sizes of crowds, what each column costs, and how many rows are found, of published items.

    >>> from privsieve.core.items import Items
    >>> _, found = facts(Items.dense([[1, 1], [1, 0], [1, 0]]), None, 2)
    >>> found["items"], found["has"]["bins"]
    ([['x0', 3, 1], ['x1', 1, 3]], [[1, 1, 1], [2, None, 2]])
    """
    risk = disclosure_risk(items, labels, k=k)
    held = np.diff(items.indptr).tolist()
    # What this takes depends on the published table alone, which everybody has.
    told = (len(items) <= MOST_COLUMNS and len(items) * risk.patterns**2 <= MOST_PAIRS
            and items.rows * len(items)**2 <= MOST_CELLS)
    without = gains(items) if told else {}
    level = risk.containment.level
    return risk, {
        "rows": items.rows,
        "patterns": risk.patterns,
        "has": {**_crowd(risk.containment), "bins": _bins(risk.containment, k)},
        "all": {**_crowd(risk.prosecutor), "alone": risk.unique},
        "one_class": risk.one_class,
        "one_class_equals": risk.one_class_equals,
        "items": [[name, rows, without.get(name, level) if told else None]
                  for name, rows in zip(items.names, held, strict=True)],
    }


def _crowd(crowd: Crowd) -> dict[str, Json]:
    average = -int(-crowd.average * _PARTS // 1)
    return {"level": crowd.level, "below": crowd.below,
            "average": f"{average // _PARTS}.{average % _PARTS:09d}"}


def _bins(crowd: Crowd, k: int) -> list[list[int | None]]:
    """How many rows have a crowd from this size to that; the first bin is what k forbids."""
    starts = [1, *_starts(k, crowd.sizes[-1][0])]
    sizes = np.array([size for size, _ in crowd.sizes])
    rows = np.array([rows for _, rows in crowd.sizes])
    counts = np.bincount(np.searchsorted(starts, sizes, side="right") - 1, rows, len(starts))
    ends = [*(start - 1 for start in starts[1:]), None]
    return [[low, high, int(count)] for low, high, count in zip(starts, ends, counts, strict=True)]


def _starts(k: int, largest: int) -> Iterator[int]:
    """The first size of each bin from k on: k, then 1, 2 or 5 times a power of ten."""
    yield k
    unit = 1
    while True:
        for start in (unit, 2 * unit, 5 * unit):
            if start > largest:
                return
            if start > k:
                yield start
        unit *= 10
