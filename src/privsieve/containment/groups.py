"""Groups of rows that speak of one person or source, so that a crowd is one of sources, not rows.

Five copies of one message hide nobody from its sender.  `numbered` takes a column that names the
source of each row; each source then counts once in a group.  A row without a source (-1) is
nobody's: it counts nothing in a group, and needs one like every row.

*What k promises then.*  Every row that is published, nobody's too, has in its group rows of at
least k different sources.  Whoever knows what one row of a person says, or any part of it, finds
all rows that fit.  The group of that row is among them: what fits the whole row fits every part of
it.  So the rows that are found are of at least k people.  Nothing more follows.  Of these rows many
may be of one person, so that no guess at a row is bounded; and whoever knows several rows of a
person finds k people for each of them, which is no promise for all of them at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privsieve.containment.knowledge import Knowledge
from privsieve.containment.labelled import Codes, Ints, Labelled, narrowed
from privsieve.containment.measures import Crowd, Survey, crowd
from privsieve.errors import SchemaError
from privsieve.kernels.patterns import Rule
from privsieve.rows.cells import texts
from privsieve.rows.matrix import Items


def numbered(sources: Any) -> Codes:
    """Number the sources of the rows 0, 1, ... in the order in which they appear; -1 for none.

    >>> numbered(["b", None, "a", "b"]).tolist()
    [0, -1, 1, 0]
    """
    given, known = np.asarray(sources, object), dict[str, int]()
    if given.ndim != 1:
        raise SchemaError(f"sources has {given.ndim} dimensions; give one source for each row")
    return np.array([known.setdefault(text, len(known)) if text else -1
                     for text in texts(given.tolist())], np.int32)


@dataclass(frozen=True)
class SourceCrowds:
    """How well the rows hide among other sources; `count` is how many sources there are.

    containment : against who knows what a person has; equal : and what the person lacks.
    """

    count: int
    containment: Crowd
    equal: Crowd


def source_crowds(items: Items, sources: Codes, k: int, y: Codes | None = None, *,
                  survey: Survey | None = None) -> SourceCrowds:
    """Levels and risks counted in distinct sources; the chance is to find the right source.

    With the classes `y` of the rows, these may be known, too.  With a survey of a sample the groups
    of its rows only are counted (not those of equal rows, which all are).

    >>> found = source_crowds(Items.dense([[1], [1], [1]]), np.array([0, 0, 1], np.int32), 2)
    >>> found.count, found.containment.level, found.containment.highest
    (2, 2, 0.5)
    """
    groups = Knowledge(items, None, () if y is None else (y,), sources).groups()
    sizes = groups.sizes(None if survey is None else survey.who)
    return SourceCrowds(len(np.unique(sources[sources >= 0])), crowd(sizes, k, items.rows),
                        crowd(groups.equals(), k))


def sources_at(table: Labelled, rule: Rule, selected: Sequence[int]) -> Ints:
    """The distinct sources in each row's group, if these columns are published."""
    part, known = table.items.take(selected), narrowed(rule, selected)
    return Knowledge.of(part, known, table.y, table.sources).groups().sizes()
