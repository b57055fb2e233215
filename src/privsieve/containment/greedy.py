"""Greedy choices: accept one item after the other while the rule holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from privsieve.containment.choice import (
    Choice,
    Objective,
    choice_of,
    coded,
    kept_rows,
    modular_order,
    named,
    weights,
)
from privsieve.containment.labelled import Bools, Codes, cells, rows_of
from privsieve.errors import ParameterError
from privsieve.kernels import patterns
from privsieve.kernels.patterns import Rule
from privsieve.rows.matrix import Items


def greedy(items: Items, y: Codes, rule: Rule, objective: Objective = "mutual-information", *,
           label_rows: Bools | None = None, prefix: Sequence[int] = ()) -> Choice:
    """Items that keep the rule, the best first; `prefix` is accepted before all others.

    `objective` is what `weights` takes (heaviest item first, the paper's Algorithm 2), "distinct"
    (most cross-class pairs told apart, Algorithm 3) or "class-errors" (the classification metric).
    Items of no weight are not chosen.  We differ from the paper in `Rule.stop`: "skip" passes
    over an item that does not fit, where the paper stops; what broke k breaks it for ever, so
    the result is a set to which no item of weight can be added (unless rows may be left out: they
    count in the objective, but an item that only they hold is dropped).  Ctrl-C ends the choice
    with the items of by then, which keep the rule as well.

    >>> toy = Items.dense([[1, 0, 1], [1, 1, 1], [0, 0, 1], [0, 1, 0]])
    >>> choice = greedy(toy, np.array([1, 1, 0, 0], np.int32), Rule(k=2, classes=2), "hamming")
    >>> choice.selected, choice.level, choice.objective
    ((0, 2), 2, Fraction(3, 2))
    """
    demand_rule(items, rule, y)
    first = np.asarray(prefix, np.int64).reshape(-1)
    label, rest = coded(y, rule.classes, label_rows), np.setdiff1d(np.arange(len(items)), first)
    if named(objective) == "distinct":
        accepted = patterns.lazy_distinct(cells(items), label, rest, rule, first)
    elif named(objective) == "class-errors":
        order = modular_order(weights(items, y, rule.classes, "hamming", label_rows).values, rest)
        accepted = patterns.class_errors(cells(items), label, order, rule, first)
    else:
        values = weights(items, y, rule.classes, objective, label_rows).values
        order = modular_order(values, rest[values[rest] > 0])
        accepted = patterns.greedy(cells(items), label, np.concatenate([first, order]), rule)
    accepted, complete = patterns.finished(accepted)
    if not complete and not len(accepted):
        raise KeyboardInterrupt  # it came before there was anything to give
    if complete and accepted[:len(first)].tolist() != first.tolist():
        raise ParameterError(f"the prefix of {len(first)} items does not keep k = {rule.k}; "
                             "leave some of it out")
    if rule.suppress:  # what only left-out rows hold is an empty column to all who see it
        stays = kept_rows(items, y, rule, accepted.tolist())
        seen = np.array([stays[rows_of(items, j)].any() for j in accepted], np.bool_)
        seen[:len(first)] = True
        accepted = accepted[seen]
    choice = choice_of(items, y, rule, accepted, objective, label_rows=label_rows)
    return replace(choice, complete=complete)


def demand_rule(items: Items, rule: Rule, y: Codes | None = None) -> None:
    """Refuse a rule that protects nobody, or that no table of this size can keep.

    Where classes may be known, `y` is asked for, and a class of fewer than k rows is refused,
    unless its rows may be left out.

    >>> demand_rule(Items.dense([[1], [1]]), Rule(k=3, classes=2))
    Traceback (most recent call last):
    ...
    privsieve.errors.ParameterError: k is 3 but there are 2 rows; ask for at most 2
    """
    if rule.k < 2:
        raise ParameterError(f"k is {rule.k}: a group of one protects nobody; ask for at least 2")
    if rule.k > items.rows:
        raise ParameterError(f"k is {rule.k} but there are {items.rows} rows; ask for at most "
                             f"{items.rows}")
    if not 1 <= rule.l_diversity <= rule.classes:
        raise ParameterError(f"l_diversity is {rule.l_diversity}; with {rule.classes} classes it "
                             f"can be 1 to {rule.classes}")
    if not 0 <= rule.suppress <= items.rows - rule.k:
        raise ParameterError(f"suppress is {rule.suppress}; of {items.rows} rows at most "
                             f"{items.rows - rule.k} can go and leave k = {rule.k}")
    for name, asked, known in (("stop", rule.stop, ("skip", "break")),
                               ("model", rule.model, ("containment", "k-anonymity"))):
        if asked not in known:
            raise ParameterError(f"{name} is {asked!r}; it can be {known[0]!r} or {known[1]!r}")
    if rule.labelled and y is not None:
        size = np.bincount(y, minlength=rule.classes)
        small = size[(size > 0) & (size < rule.k)]
        if small.sum() > rule.suppress:
            raise ParameterError(
                f"{len(small)} of {np.count_nonzero(size)} classes have fewer than k = {rule.k} "
                f"rows, {small.sum()} in all, and the class may be known; a class takes at least "
                f"{rule.k} rows: merge classes, leave the target unpublished, choose another "
                "target, ask for less, or let these rows be left out")
