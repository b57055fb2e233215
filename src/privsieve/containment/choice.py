"""Choice: a set of items that keeps k, and how good it is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Choice:
    """Items that may be published together.

    selected : positions of items, increasing.
    level : the containment level of the projection (the smallest group).
    objective : what was maximised, as the paper reports it (an average over cross-class pairs).
    bound : no feasible set has a larger objective; None where nobody looked.
    proved : whether `objective` equals `bound`.
    suppressed : rows that are left out so that k holds.
    complete : False where time or Ctrl-C ended the search before it was done.
    """

    selected: tuple[int, ...]
    level: int
    objective: Fraction | None = None
    bound: Fraction | None = None
    proved: bool = False
    suppressed: int = 0
    complete: bool = True
