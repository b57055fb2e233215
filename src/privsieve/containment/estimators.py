"""The estimators of containment, as scikit-learn knows them: one a method, and the profiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.containment.choice import Choice
from privsieve.containment.exact import exact
from privsieve.containment.greedy import Rule, greedy
from privsieve.containment.maximal import Mining, maximal
from privsieve.containment.publishable import by_sources, publishable
from privsieve.containment.selector import BY_KIND, ContainmentSelector
from privsieve.errors import ParameterError, SchemaError
from privsieve.rows.matrix import Items

Codes = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

__all__ = ["ExactContainment", "GreedyContainment", "MaximalContainment", "PublishableColumns"]


class GreedyContainment(ContainmentSelector):
    """Take the best column that still keeps k, again and again.

    Parameters
    ----------
    k : int
        each row's group has at least so many rows.
    weights : name or numbers
        what a column is worth: "mutual-information", "hamming", "excess", "youden", or a number
        for each item.
    objective : "weights", "distinct" or "class-errors"
        take the heaviest column, the one that tells most pairs of different class apart, or the
        one that leaves fewest rows outside the majority of their equals.
    stop : "skip" or "break"
        pass over a column that does not fit, or end there (as the paper prints it).
    model : "containment" or "k-anonymity"
        whether the attacker knows what a person has, or what the person lacks as well.
    absent : "by kind", "all", "none" or names of columns
        columns of which the attacker may know that a person lacks them: by kind those of
        categories, numbers, dates and answers of yes or no in tables of cells.
    l_diversity : int
        each group has at least so many classes, counted without knowing a row's class.
    suppress : int
        so many rows may be left out.
    target_known : bool
        the class of a row may be known as well, for it is published: each group has k rows of the
        row's class.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 0]])
    >>> GreedyContainment(k=2).fit(X, [1, 1, 0, 0]).release_.selected
    ('x0',)
    """

    def __init__(
        self,
        k: int = 5,
        *,
        weights: Any = "mutual-information",
        objective: str = "weights",
        stop: str = "skip",
        model: str = "containment",
        absent: Any = BY_KIND,
        l_diversity: int = 1,
        suppress: int = 0,
        target_known: bool = False,
    ) -> None:
        self.k = k
        self.weights = weights
        self.objective = objective
        self.stop = stop
        self.model = model
        self.absent = absent
        self.l_diversity = l_diversity
        self.suppress = suppress
        self.target_known = target_known

    def _choose(self, items: Items, y: Codes, rule: Rule, label_rows: Bools | None,
                sources: Codes | None) -> Choice:
        objective = _objective(self.objective, self.weights, ("distinct", "class-errors"))
        _demand_classes(rule, objective)
        if sources is not None:
            return by_sources(items, y, rule, objective, sources=sources,
                              label_rows=label_rows)
        return greedy(items, y, rule, objective, label_rows=label_rows)


class MaximalContainment(ContainmentSelector):
    """Take the best set of columns that k rows hold all of, and add what still keeps k.

    Parameters
    ----------
    k : int
        each row's group has at least so many rows.
    weights : name or numbers
        as in `GreedyContainment`.
    objective : "weights", "size", "distinct" or "class-errors"
        which set is the best: the heaviest, the largest, the one that tells most pairs of
        different class apart, or leaves fewest rows outside the majority of their equals.
    r : int or None
        of the r largest sets only (the paper: 20); None compares all.
    complete : bool
        whether greedy choice adds columns to it.
    l_diversity : int
        each group has at least so many classes.
    absent : "by kind", "all", "none" or names of columns
        as in `GreedyContainment`; these columns are left to the completion.
    time_limit : seconds, optional
        the best set that was seen by then is taken, and completed.
    target_known : bool
        as in `GreedyContainment`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1, 1, 0, 0, 1], [1, 1, 0, 0, 1], [1, 0, 1, 1, 1], [1, 0, 1, 1, 1]])
    >>> MaximalContainment(k=2, objective="size").fit(X, [1, 0, 1, 0]).release_.level
    2
    """

    def __init__(
        self,
        k: int = 5,
        *,
        weights: Any = "mutual-information",
        objective: str = "weights",
        r: int | None = 20,
        complete: bool = True,
        l_diversity: int = 1,
        absent: Any = BY_KIND,
        time_limit: float | None = None,
        target_known: bool = False,
    ) -> None:
        self.k = k
        self.weights = weights
        self.objective = objective
        self.r = r
        self.complete = complete
        self.l_diversity = l_diversity
        self.absent = absent
        self.time_limit = time_limit
        self.target_known = target_known

    def _choose(self, items: Items, y: Codes, rule: Rule, label_rows: Bools | None,
                sources: Codes | None) -> Choice:
        _demand_rows(sources)
        objective = _objective(self.objective, self.weights, ("size", "distinct", "class-errors"))
        _demand_classes(rule, objective)
        if not self.complete and rule.absent is not None and rule.absent.all():
            raise ParameterError("complete is False, and maximal sets are mined only of columns of "
                                 "which absences are not known: here are none; give complete=True, "
                                 "or say with absent what is not known")
        return maximal(items, y, rule, objective,
                       Mining(self.r, self.complete, self.time_limit), label_rows=label_rows)


class ExactContainment(ContainmentSelector):
    """Find the best columns that keep k, with a proof, or a bound where time was short.

    Parameters
    ----------
    k : int
        each row's group has at least so many rows.
    weights : name or numbers
        as in `GreedyContainment`; "hamming" is the paper's problem.
    objective : "weights" or "distinct"
        the heaviest set, or the one that tells most pairs of different class apart.
    model, absent, l_diversity, suppress
        as in `GreedyContainment`.
    time_limit : seconds or None
        the best set that was found by then is given with a bound on all others.
    second_opinion : bool
        let OR-Tools solve it, too, and compare (extra `exact`).
    target_known : bool
        as in `GreedyContainment`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1, 0, 1], [1, 1, 1], [0, 0, 1], [0, 1, 0]])
    >>> release = ExactContainment(k=2).fit(X, [1, 1, 0, 0]).release_
    >>> release.selected, release.objective, release.proved
    (('x0', 'x2'), Fraction(3, 2), True)
    """

    def __init__(
        self,
        k: int = 5,
        *,
        weights: Any = "hamming",
        objective: str = "weights",
        model: str = "containment",
        absent: Any = BY_KIND,
        l_diversity: int = 1,
        suppress: int = 0,
        time_limit: float | None = 60,
        second_opinion: bool = False,
        target_known: bool = False,
    ) -> None:
        self.k = k
        self.weights = weights
        self.objective = objective
        self.model = model
        self.absent = absent
        self.l_diversity = l_diversity
        self.suppress = suppress
        self.time_limit = time_limit
        self.second_opinion = second_opinion
        self.target_known = target_known

    def _choose(self, items: Items, y: Codes, rule: Rule, label_rows: Bools | None,
                sources: Codes | None) -> Choice:
        _demand_rows(sources)
        objective = _objective(self.objective, self.weights, ("distinct",))
        _demand_classes(rule, objective)
        return exact(items, y, rule, objective, label_rows=label_rows, time_limit=self.time_limit,
                     second_opinion=self.second_opinion)


class PublishableColumns(ContainmentSelector):
    """Choose columns by what they are for: few, most, or strict.

    Parameters
    ----------
    k : int
        each row's group has at least so many rows.
    profile : "few", "most" or "strict"
        few: at most 30 columns, added one by one; every group has two classes.
        most: of large sets and of few columns, what predicts best; every group has two classes.
        strict: k-anonymity, where every published cell counts as known, yes or no.
    l_diversity : int
        each group has at least so many classes; at least two in "few" and "most".
    absent, target_known
        as in `GreedyContainment`; in "strict" all absences are known anyway.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 1], [0, 0, 0], [0, 1, 1], [0, 1, 0]])
    >>> PublishableColumns(k=3, profile="strict").fit(X, [1, 1, 0, 0, 0, 1]).release_.level
    3
    """

    def __init__(
        self,
        k: int = 5,
        *,
        profile: str = "few",
        l_diversity: int = 1,
        absent: Any = BY_KIND,
        target_known: bool = False,
    ) -> None:
        self.k = k
        self.profile = profile
        self.l_diversity = l_diversity
        self.absent = absent
        self.target_known = target_known

    def _choose(self, items: Items, y: Codes, rule: Rule, label_rows: Bools | None,
                sources: Codes | None) -> Choice:
        return publishable(items, y, rule, self.profile, label_rows=label_rows, sources=sources)


def _objective(objective: str, weights: Any, others: tuple[str, ...]) -> Any:
    """What the functions below take: a word, or weights."""
    if objective not in ("weights", *others):
        raise ParameterError(f"objective is {objective!r}; it can be weights, {', '.join(others)}")
    if objective != "weights":
        return objective
    if isinstance(weights, str) and weights in others:
        raise ParameterError(f"weights is {weights!r}; give objective={weights!r}")
    return weights


def _demand_classes(rule: Rule, objective: Any) -> None:
    if rule.classes < 2 and isinstance(objective, str) and objective != "size":
        raise SchemaError("the labels are of one class, or y is missing; give y with at least two "
                          "classes, or weights as numbers")


def _demand_rows(sources: Codes | None) -> None:
    if sources is not None:
        raise ParameterError("sources are counted by GreedyContainment and PublishableColumns "
                             "only; take one of these")
