"""Scores of columns, one file each, and the facts that NoisyTopK needs about a score.

::

    rows --of, +--> summary --values--> one integer a column
                                        sensitivity: how far one unit moves any of them

A score counts rows into integers that add up, makes one integer a column of them, and proves how
far one unit can move it.  It never meets noise.  One that was made has agreed to its domain: what
it cannot measure it refuses in `__post_init__`, before the charge, in words that name the thing and
the way out.  From there on nothing raises.  docs/add-a-selector.md shows how to write one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from privsieve.errors import DomainError, ParameterError
from privsieve.public.domain import Domain
from privsieve.summaries import Summary

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from privsieve.rows.batch import Batch

#: Where each score lives: module and class.  A file is imported when its score is asked for.
SCORES = {
    "mean-difference": ("mean_difference", "MeanDifference"),
    "class-counts": ("class_counts", "ClassCounts"),
    "correlation": ("correlation", "Correlation"),
}

#: Rows of a person that can be told apart by their weight: sums stay exact.
MOST_ROWS = 4096


@dataclass(frozen=True)
class Public:
    """The public facts for a score: the domain and the number of units.

    >>> from privsieve.public.domain import Domain
    >>> public = Public(Domain.box(0, 1, columns=3), units=50)
    >>> public.replace, public.weight
    (True, 1)
    """

    domain: Domain
    units: int

    def __post_init__(self) -> None:
        if self.domain.rows_per_person > MOST_ROWS:
            raise DomainError(f"table.rows_per_person is {self.domain.rows_per_person}; write "
                              f"at most {MOST_ROWS}")

    @property
    def replace(self) -> bool:
        """Whether neighbours replace a unit (else they add or remove one)."""
        return self.domain.replaces

    @property
    def weight(self) -> int:
        """The most that the rows of one unit weigh together: 1 for a row, L for a person."""
        return self.domain.unit_weight


class Weights(Protocol):
    """Signed integer class weights, public or released, for each way to cut the classes in two."""

    @property
    def weights(self) -> Sequence[tuple[int, ...]]:
        """Per cut, the weight of each class; its sign is the side."""

    @property
    def squares(self) -> Sequence[int]:
        """Per cut, the sum over units of squared weights: how far chance goes."""

    @property
    def largest(self) -> int:
        """No weight is larger."""


class ScoreSummary(Summary, Protocol):
    """The summary of a score: integers of some rows."""

    @property
    def classes(self) -> Sequence[int]:
        """Return the total weight of each class; empty without classes."""


S = TypeVar("S", bound=ScoreSummary)


class Score(Protocol[S]):
    """A score for one domain.

    A class sets `weighed` as a plain constant, or computes it from `public`.  For `privsieve audit`
    it may say `worst_rows`: two neighbouring tables of two columns and a target from 0 to 1.
    """

    @property
    def weighed(self) -> bool:
        """Whether `values` and `sensitivity` need class weights (else they get None)."""

    def zero(self) -> S:
        """Return the summary of no rows."""

    def of(self, batch: Batch, weight: npt.NDArray[np.int64] | None) -> S:
        """Summarise some rows by their weights; None means 1 for each row."""

    def values(self, summary: S, weights: Weights | None) -> list[int]:
        """Return one exact integer for each column."""

    def sensitivity(self, weights: Weights | None) -> int:
        """Bound how far a neighbouring table moves a value."""


def score_of(name: object, public: Public) -> Score[Any]:
    """Return the score of this name; refuse a domain that it cannot measure.

    >>> from privsieve.public.domain import Domain
    >>> score_of("class-counts", Public(Domain.box(0, 1, columns=3), units=50)).weighed
    True
    """
    if not isinstance(name, str) or name not in SCORES:
        raise ParameterError(f"score is {name!r}; choose one of: {', '.join(SCORES)}")
    score: Score[Any] = score_class(name)(public)
    return score


def score_class(name: str) -> Any:
    """Return the class of a score."""
    module, kind = SCORES[name]
    return getattr(import_module(f"privsieve.summaries.scores.{module}"), kind)
