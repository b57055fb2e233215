"""Closed: what each column that stays behind would do.  PRIVATE: for who holds the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from privsieve.containment.measures import cells
from privsieve.kernels.patterns import Rule, pattern_table, superset_counts
from privsieve.public.canonical import Json

if TYPE_CHECKING:
    from privsieve.containment.publish import Labelled

#: So many closed items are looked at, and so many pairs of patterns are compared, in all.
MOST_CLOSED, MOST_PAIRS = 256, 5 * 10**10


def closed(table: Labelled, rule: Rule, selected: Sequence[int]) -> dict[str, Json]:
    """The smallest crowd with each closed item, and the rows that would lose theirs.

    Counted on all rows of the table.  The largest crowds come first; each is
    [name, smallest crowd, rows below k, rows whose crowd has too few classes].  Where classes may
    be known, a crowd is of one class.

    >>> import numpy as np
    >>> from privsieve.containment.publish import Labelled
    >>> from privsieve.rows.matrix import Items
    >>> from privsieve.kernels.patterns import Rule
    >>> items = Items.dense([[1, 1], [1, 0], [1, 0]], ["age", "ill"])
    >>> made = closed(Labelled(items, np.zeros(3, np.int32), ("all",)), Rule(k=2, classes=1), [0])
    >>> made["closed"], made["passed_over"]
    ([['ill', 1, 1, 0]], 0)
    """
    chosen = set(selected)
    rest = [j for j in range(len(table.items)) if j not in chosen]
    found: list[list[Json]] = []
    pairs = 0
    for j in rest[:MOST_CLOSED]:
        if pairs > MOST_PAIRS:
            break
        patterns, level, below, poor = _with(table, rule, [*selected, j])
        found.append([table.items.names[j], level, below, poor])
        pairs += patterns**2
    found.sort(key=lambda one: (-one[1], one[2], one[3], one[0]))  # type: ignore[operator]
    return {"rows": table.items.rows, "items": len(table.items),
            "columns": len(set(table.items.origin)), "classes": rule.l_diversity,
            "closed": found, "passed_over": len(rest) - len(found)}


def _with(table: Labelled, rule: Rule, positions: Sequence[int]) -> tuple[int, int, int, int]:
    """How many patterns these items make, the smallest crowd, and how many rows fail k or l."""
    absent = None if rule.absent is None else rule.absent[list(positions)]
    masks, counts, _ = pattern_table(cells(table.items.take(positions)), table.y, rule.classes,
                                     absent)
    crowd = counts if rule.model == "k-anonymity" else superset_counts(masks, counts)
    poor = (crowd > 0).sum(axis=1) < rule.l_diversity
    rows, size = ((counts[counts > 0], crowd[counts > 0]) if rule.labelled else
                  (counts.sum(axis=1), crowd.sum(axis=1)))
    return (len(masks), int(size.min(initial=table.items.rows)), int(rows[size < rule.k].sum()),
            int(counts[poor].sum()))
