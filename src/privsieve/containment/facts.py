"""Facts: what anybody could work out from a published table, as its release says it.

Nothing here is counted from a row or a column that stayed behind: all of it is of the written
file.  So a release, and the report that is made of it, give away no more than the table does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privsieve.containment.breaking import MOST_COLUMNS, gains
from privsieve.containment.known import as_known
from privsieve.containment.measures import Crowd, cells, crowd
from privsieve.kernels.patterns import levels, pattern_table, superset_counts
from privsieve.public.canonical import Json
from privsieve.rows.matrix import Items

if TYPE_CHECKING:
    from privsieve.containment.publish import Projection


Label = tuple[str, npt.NDArray[np.int32], Sequence[str]]

#: Pairs of patterns, and cells, that may be compared to learn what each column costs.
MOST_PAIRS, MOST_CELLS = 5 * 10**10, 2 * 10**9
#: Shares are kept as decimals, rounded up: a risk is never told too small.
_PARTS = 10**9


def facts(table: Projection, claim: Mapping[str, Any]) -> dict[str, Json]:
    """Crowds for each stranger, what each column costs, and how often a crowd has one class.

    Strangers: `known` knows what the roles say of the columns; `known_class` the class, too;
    `all` every cell; `all_class` and the class; `everything` also what is sensitive.

    >>> from privsieve.containment.publish import Projection
    >>> table = Projection(("x0", "x1"), np.array([[1, 1], [1, 0], [1, 0]], np.uint8))
    >>> claim = {"k": 2, "absent": [], "model": "containment", "roles": {"target_known": False}}
    >>> found = facts(table, claim)
    >>> found["items"], found["strangers"]["known"]["bins"]
    ([['x0', 3, 1], ['x1', 1, 3]], [[1, 1, 1], [2, None, 2]])
    """
    items, k = Items.dense(table.cells, table.names), claim["k"]
    hidden = set(items.names if claim["model"] == "k-anonymity" else claim["absent"])
    absent = np.array([name in hidden for name in items.names], np.bool_)
    label = None if table.target is None else _label(table.target, table.labels or ())
    strangers = _strangers(table, items, absent, label)
    with_class = claim["roles"]["target_known"]
    promised = "known_class" if with_class else "known"
    crowds = {who: crowd(sizes, k) for who, sizes in strangers.items()}
    patterns = len(np.unique(table.cells, axis=0))
    without = _without(as_known(items, absent, label if with_class else None), items, patterns)
    return {
        "rows": items.rows, "patterns": patterns, "promised": promised,
        "strangers": {who: _said(found, k) for who, found in crowds.items()},
        **_one_class(items, absent, label),
        "items": [[name, rows, None if without is None else
                   without.get(name, crowds[promised].level)]
                  for name, rows in zip(items.names, np.diff(items.indptr).tolist(), strict=True)],
    }


def _strangers(table: Projection, items: Items, absent: npt.NDArray[np.bool_],
               label: Label | None) -> dict[str, npt.NDArray[np.int64]]:
    """The crowd of each row, for each stranger."""
    def sizes(known: Items) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        found = levels(cells(known), np.zeros(items.rows, np.int32), 1)
        return found.group, found.equal

    found = {}
    found["known"], found["all"] = sizes(as_known(items, absent, None))
    whole = items
    if label is not None:
        whole = as_known(items, None, label)
        found["known_class"], found["all_class"] = sizes(as_known(items, absent, label))
    for name, texts in table.sensitive:
        whole = as_known(whole, None, _label(name, texts))
    if table.sensitive:
        found["everything"] = sizes(whole)[1]
    return found


def _label(name: str, texts: Sequence[str]) -> Label:
    values, codes = np.unique(np.array(texts, dtype=object), return_inverse=True)
    return name, codes.astype(np.int32), values.tolist()


def _without(known: Items, items: Items, patterns: int) -> dict[str, int] | None:
    """The promised level without each column; None where that would take too long.

    What it takes depends on the published table alone, which everybody has.
    """
    told = (len(items) <= MOST_COLUMNS and len(items) * patterns**2 <= MOST_PAIRS
            and items.rows * len(items)**2 <= MOST_CELLS)
    return gains(known) if told else None


def _one_class(items: Items, absent: npt.NDArray[np.bool_], label: Label | None,
               ) -> dict[str, Json]:
    """Rows whose whole crowd has one class, for who knows the columns alone; None of no class."""
    if label is None:
        return {"one_class": None}
    _, codes, values = label
    table = pattern_table(cells(items), codes, len(values), absent)
    classes = (superset_counts(table.masks, table.counts) > 0).sum(axis=1)
    return {"one_class": int(table.counts.sum(axis=1)[classes == 1].sum())}


def _said(found: Crowd, k: int) -> dict[str, Json]:
    average = -int(-found.average * _PARTS // 1)
    return {"level": found.level, "below": found.below, "alone": dict(found.sizes).get(1, 0),
            "average": f"{average // _PARTS}.{average % _PARTS:09d}", "bins": _bins(found, k)}


def _bins(found: Crowd, k: int) -> list[list[int | None]]:
    """How many rows have a crowd from this size to that; the first bin is what k forbids."""
    starts = [1, *_starts(k, found.sizes[-1][0])]
    sizes = np.array([size for size, _ in found.sizes])
    rows = np.array([rows for _, rows in found.sizes])
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
