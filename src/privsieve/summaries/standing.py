"""Standing: one row for each unit, as counts of the codes of each column by class.

What stands beside a choice is counted in units: of a person with several rows the one counts that
stands for the person, so that a unit is in one cell of each column and moves no more than a row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from itertools import chain
from operator import add

import numpy as np

from privsieve.public.columns import Label
from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch, Part, Passes
from privsieve.summaries.persons import by_person
from privsieve.summaries.rules import Runs


def standing(batches: Iterable[Batch], key: int, *, domain: Domain) -> Runs:
    """Per column, how many units of each class have each code; one class where there are none.

    >>> domain = Domain.box(0, 1, columns=1)
    >>> rows = np.arange(3, dtype=np.uint64)
    >>> three = Batch(np.array([[5], [5], [9]], np.uint16), np.array([0, 1, 1]), rows, rows)
    >>> [part.tolist() for part in standing([three], 7, domain=domain).table[1:]]
    [[5, 9], [[1, 1], [0, 1]]]
    """
    held: Iterable[Batch] = batches
    if domain.person is not None:
        # [one-each] which row stands for a person depends on the person's own rows and tag
        held = (batch.take(np.flatnonzero(first)) for batch, _weight, first in by_person(
            Passes.of(batches), domain.rows_per_person, key))
    classes = domain.classes if isinstance(domain.target, Label) else 1
    parts: Iterable[Batch] = chain([Batch.empty(len(domain.columns))], held)
    if classes == 1:
        parts = (replace(part, label=np.zeros_like(part.label)) for part in parts)
    return reduce(add, (Runs.of(Part.of(part, classes)) for part in parts))
