"""PublishableColumns: the choice of columns as a scikit-learn selector."""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from privsieve.containment.choose import MUTUAL, Choice, gap, named
from privsieve.containment.knowledge import numbered
from privsieve.containment.labelled import Bools, Labelled
from privsieve.containment.publishable import PROFILES, by_method, demand_some, publishable
from privsieve.errors import ParameterError, SchemaError
from privsieve.kernels.patterns import Rule
from privsieve.public.attackers import COUNTED
from privsieve.public.canonical import read_flag
from privsieve.public.domain import Box, Domain
from privsieve.public.option import (
    as_given,
    estimator,
    option,
    read_options,
    seconds,
    whole,
    word_or_names,
)
from privsieve.public.printed import Printed, PrintedEstimator
from privsieve.report.brief import listed, summary
from privsieve.rows.arrays import array_of
from privsieve.rows.items import Reading, table_of
from privsieve.rows.matrix import Items
from privsieve.rows.source import names_of, typed
from privsieve.telling.document import Document, Text

__all__ = ["PublishableColumns"]

#: The methods beside the profiles.
METHODS = ("greedy", "maximal", "exact")
#: Absences count if the kind of a column tells an attacker the absence of the other values.
BY_KIND = "by kind"


@dataclass(frozen=True, repr=False)
class Published(Printed):
    """Columns that may be published together.

    columns : all names that could have been chosen.
    selected : names of columns of the table, in its order; a column is here if any item of it is.
    items : names of the items that were chosen, such as "smoker" or "ward=A".
    level : rows in the smallest group.
    objective, bound, proved : how good the choice is, no choice is better than, the two are equal.
    suppressed : rows that have to be left out.
    complete : False where time or Ctrl-C ended the search before it was done.
    absent : items of which it may be known that a person lacks them; of all others only presences.
    counted : what k counts: rows, or people (sources) who may have several.
    """

    columns: tuple[str, ...]
    selected: tuple[str, ...]
    items: tuple[str, ...]
    level: int
    objective: Fraction | None
    bound: Fraction | None
    proved: bool
    suppressed: int
    complete: bool = True
    absent: tuple[str, ...] = ()
    counted: str = "rows"

    def _document(self) -> Document:
        facts = [("selected", listed(self.selected)), ("items", listed(self.items)),
                 ("known", Text("presences and absences" if self.absent == self.items else
                                f"presences, and absences of {listed(self.absent)}"
                                if self.absent else "presences only")),
                 ("k counts", self.counted),
                 ("level", f"{self.level} rows in the smallest group"),
                 ("left out", f"{self.suppressed} rows")]
        if self.proved or not self.complete:
            facts.append(("search", "no other choice is better: proved" if self.proved else
                          "stopped early: another choice may be better"))
        return summary(f"Published: {len(self.selected)} of {len(self.columns)} columns", facts)

    @property
    def gap(self) -> Fraction | None:
        """Return how much better another choice may be, as a share; None without a bound."""
        if self.bound is None:
            return None
        return gap(Choice((), self.level, self.objective, self.bound))

    @property
    def partial(self) -> tuple[str, ...]:
        """The selected columns of which only some items may be published."""
        return tuple(name for name in self.selected if name not in self.items)


@estimator
class PublishableColumns(PrintedEstimator, SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Choose columns that may be published: each row's group has at least k rows.

    few: at most 30 columns, added one by one; every group has two classes.
    most: the set of columns, large or small, that predicts best; every group has two classes.
    strict: k-anonymity: an attacker may know every published cell, yes or no.
    greedy: add the best column that still keeps k, again and again.
    maximal: the columns of largest total weight that k rows have, then others that keep k.
    exact: the best columns, with a proof, or with a bound if time ran out.

    After `fit`, it has its parameters, `n_features_in_`, `feature_names_in_` (for frames) and
    `release_`.  `transform` returns the chosen columns in the order of the rows.  Do not publish
    this result: `privsieve publish` shuffles the rows and writes a certificate.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 1], [0, 0, 0], [0, 1, 1], [0, 1, 0]])
    >>> PublishableColumns(k=3, method="strict").fit(X, [1, 1, 0, 0, 0, 1]).release_.level
    3
    """

    k: int = option(default=5, kw_only=False, read=whole,
                    says="the least number of rows in each row's group")
    method: str = option(default="few",
                         says="few, most, strict, greedy, maximal or exact: how to choose")
    weights: Any = option(
        default=MUTUAL, read=as_given,
        says="the score of a column, for greedy, maximal and exact: mutual-information, hamming, "
             "or a number for each item; also distinct (greedy, exact: separate the most pairs of "
             "different classes) or class-errors (greedy: the fewest rows outside the majority "
             "class of equal rows)")
    absent: Any = option(
        default=BY_KIND, read=word_or_names,
        says="columns for which an attacker may know what a person lacks: all, none, names, or by "
             "kind (in tables of cells: categories, numbers, dates, yes or no)")
    l_diversity: int = option(
        default=1, read=whole,
        says="the least number of classes in each group; the class does not define groups")
    target_known: bool = option(
        default=False, read=read_flag,
        says="an attacker may also know the class, because it is published: each group has k rows "
             "of the row's class")
    model: str = option(
        default="containment",
        says="containment: an attacker knows what a person has (and lacks, for `absent`); "
             "k-anonymity: an attacker knows every cell")
    suppress: int = option(default=0, read=whole, says="the number of rows that may be left out")
    time_limit: float | None = option(
        default=60, read=seconds,
        says="seconds for maximal and exact; then the best set so far is used")
    domain: Domain | str | os.PathLike[str] | None = option(
        read=as_given,
        default=None,
        says="the public facts about a table of cells, or the path of a domain file; if it names a "
             "person, each group has k people")

    def fit(self, X: Any, y: Any = None, *, label_rows: Any = None, sources: Any = None) -> Self:
        """Choose columns.

        Parameters
        ----------
        X : array of zeros and ones, sparse matrix, frame, or path
            the table; k holds on all its rows.
        y : labels, or the name of a column
            the class of each row.
        label_rows : mask, optional
            the rows whose labels may be used to compare columns (the training rows); all by
            default.
        sources : one for each row, optional
            the person or source of each row, or None: each group then has k distinct sources.
            If the domain names a person, leave this out.
        """
        options = copy(self)
        for name, value in read_options(type(self), self.get_params(deep=False)).items():
            setattr(options, name, value)
        if hasattr(X, "__array__") and not hasattr(X, "shape"):
            X = array_of(X)
        domain = None if self.domain is None else Domain.of(self.domain)
        table, classes = _opened(X, y, domain, (options.k, sources))
        items = table.items
        if label_rows is not None:
            table = replace(table, marked=_mask(label_rows, items.rows))
        named = names_of(X)
        columns = _columns(X, named, y, items, domain)
        _demand_cells(items.rows, len(columns))
        rule = options._rule(items, len(classes))  # noqa: SLF001  # a copy of self
        choice = options._choose(table, rule)  # noqa: SLF001  # as above
        demand_some(table, rule, choice)
        chosen = {items.origin[j] for j in choice.selected}
        self.release_ = Published(
            columns, tuple(name for name in columns if name in chosen),
            tuple(items.names[j] for j in choice.selected), choice.level, choice.objective,
            choice.bound, choice.proved, choice.suppressed, choice.complete,
            tuple(items.names[j] for j in choice.selected
                  if rule.model == "k-anonymity" or (rule.absent is not None and rule.absent[j])),
            COUNTED[table.counts][1] if table.counts else "rows")
        self.n_features_in_ = len(columns)
        if named is not None:
            self.feature_names_in_ = np.array(columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def transform(self, X: Any) -> Any:
        """Return the chosen columns of X."""
        check_is_fitted(self, "release_")
        chosen = typed(super().transform(X), X)
        if self.release_.partial:
            raise ParameterError(
                f"only some items of column {self.release_.partial[0]!r} may be published (see "
                "release_.items); use `privsieve publish`, or cut the table into columns of yes "
                "and no first")
        return chosen

    def _rule(self, items: Items, classes: int) -> Rule:
        return Rule(self.k, classes, model=self.model,  # type: ignore[arg-type]  # checked later
                    l_diversity=self.l_diversity, absent=_absent(self.absent, items),
                    suppress=self.suppress, labelled=self.target_known)

    def _choose(self, table: Labelled, rule: Rule) -> Choice:
        """Choose by the profile or the method; a method named wrongly is refused with all names."""
        if self.method in PROFILES:
            if named(self.weights) != MUTUAL or self.model != "containment":
                raise ParameterError(f"method is {self.method!r}, which has its own weights and "
                                     "model; leave out weights and model, or choose greedy")
            return publishable(table, rule, self.method)
        if self.method not in METHODS:
            raise ParameterError(f"method is {self.method!r}; it can be "
                                 f"{', '.join([*PROFILES, *METHODS])}")
        if rule.classes < 2 and isinstance(self.weights, str):
            raise SchemaError("the labels are of one class, or y is missing; give y with at least "
                              "two classes, or weights as numbers")
        return by_method(table, rule, self.method, self.weights, self.time_limit)

    def _get_support_mask(self) -> Bools:
        check_is_fitted(self, "release_")
        chosen = set(self.release_.selected)
        return np.array([name in chosen for name in self.release_.columns])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


def _demand_cells(rows: int, columns: int) -> None:
    if not columns:
        raise SchemaError(f"the table has 0 feature(s) (shape=({rows}, 0)) while a minimum of 1 is "
                          "required; give at least one column")
    if not rows:
        raise SchemaError("the table has no rows; give at least one")


def _mask(label_rows: Any, rows: int) -> Bools:
    mask = np.asarray(label_rows)
    if mask.dtype != np.bool_ or mask.shape != (rows,):
        raise SchemaError("label_rows must be true or false for each row")
    if not mask.any():
        raise SchemaError("label_rows marks no row; mark at least one of each class")
    return mask


def _absent(absent: Any, items: Items) -> Bools | None:
    """Return the items whose absence may be known; a list has names of columns."""
    words = {BY_KIND: items.absent, "all": [True] * len(items), "none": ()}
    if isinstance(absent, str) and absent in words:
        mask = np.array(words[absent], bool)
        return mask if mask.any() else None
    names = {absent} if isinstance(absent, str) else set(absent)
    unknown = sorted(names - set(items.origin), key=str)
    if unknown:
        raise SchemaError(f"absent names {unknown[0]!r}, but the table has no such column; correct "
                          "the name, or write 'by kind', 'all' or 'none'")
    return np.array([name in names for name in items.origin], bool)


def _opened(X: Any, y: Any, domain: Domain | None, counting: tuple[int, Any],
            ) -> tuple[Labelled, Sequence[Any]]:
    """Return a table with its sources, and its classes; `asked` holds k and the sources."""
    k, sources = counting
    people = domain is not None and domain.person is not None
    if people and sources is not None:
        raise ParameterError("you gave sources, but the domain names a person; leave out one of "
                             "them")
    table = table_of(X, y, Reading(domain, k=k, sources=None if sources is None else
                                   numbered(sources)))
    return Labelled(table.items, table.y, sources=table.sources, people=people), table.classes


def _columns(X: Any, named: tuple[str, ...] | None, y: Any, items: Items,
             domain: Domain | None) -> tuple[str, ...]:
    """Return the columns of the table in order, also those without an item."""
    if named is not None:
        return tuple(name for name in named if not (isinstance(y, str) and name == y))
    if domain is not None and not isinstance(domain, Box):
        return domain.names
    if len(np.shape(X)) == 2:
        return tuple(f"x{j}" for j in range(np.shape(X)[1]))
    return tuple(dict.fromkeys(items.origin))
