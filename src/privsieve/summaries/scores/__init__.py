"""Scores: what a column is worth, one file each.  This dict is the list; there is no other.

A score counts rows into integers that add up, makes one integer a column of them, and proves how
far one unit can move it.  It never meets noise.  docs/add-a-selector.md shows how to write one.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from privsieve.errors import ParameterError

if TYPE_CHECKING:
    from privsieve.summaries.scores.contract import Public, Score

#: Where each score lives: module and class.  A file is imported when its score is asked for.
SCORES = {
    "mean-difference": ("mean_difference", "MeanDifference"),
    "disagreement": ("disagreement", "Disagreement"),
    "class-counts": ("class_counts", "ClassCounts"),
    "correlation": ("correlation", "Correlation"),
    "mutual-information": ("mutual_information", "MutualInformation"),
}


def score_of(name: object, public: Public) -> Score[Any]:
    """The score of this name for these public facts; refuses what it cannot measure.

    >>> from privsieve.public.domain import Domain
    >>> from privsieve.summaries.scores.contract import Public
    >>> score_of("disagreement", Public(Domain.box(0, 1, columns=3), units=50)).weighed
    False
    """
    if not isinstance(name, str) or name not in SCORES:
        raise ParameterError(f"score is {name!r}; known are: {', '.join(SCORES)}")
    module, kind = SCORES[name]
    made: Score[Any] = getattr(import_module(f"privsieve.summaries.scores.{module}"), kind)(public)
    return made
