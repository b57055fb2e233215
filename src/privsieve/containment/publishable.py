"""Choose publishable columns by one of three profiles, or by a method."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from privsieve.containment.choose import (
    MUTUAL,
    OF_SETS,
    Choice,
    Objective,
    choice_of,
    demand_rule,
    exact,
    greedy,
    maximal,
    modular_order,
    named,
    weights_of,
)
from privsieve.containment.forward import Patterns, forward, pair_area
from privsieve.containment.labelled import Labelled
from privsieve.errors import NothingFits, ParameterError, SchemaError
from privsieve.kernels.patterns import Rule

#: How each profile chooses.
PROFILES = {
    "few": "at most 30 columns that predict best, added one by one; each group has rows of at "
           "least two classes",
    "most": "the set of columns, large or small, that best ranks the classes of unseen rows; each "
            "group has rows of at least two classes.  Where only presences count, the same k rows "
            "may be in every group (see `same rows`)",
    "strict": "k-anonymity: an attacker may know every published cell, yes or no; this leaves "
              "fewer columns.  Equal rows may all have one class; --l-diversity 2 forbids this",
}
#: Seconds for the heaviest set of profile "most"; then the best set so far is completed.
SECONDS = 60.0
#: Distinct rows by which choices are compared at most (`pair_area`).
COMPARED = 2048


def publishable(table: Labelled, rule: Rule, profile: str = "few") -> Choice:
    """Choose columns that may be published, in the manner of a profile.

    Parameters
    ----------
    table : items and classes; with `sources` a group is k distinct sources (not with "most").
        Items that are `counted` are part of the choice, and refused if they break the rule.
    rule : k, classes, and what may be known; the profile sets the model, and at least two classes
        to a group in "few" and "most".
    profile : "few", "most" or "strict"

    "most" and "strict" choose in several ways, and compare.  Ctrl-C ends the current way with its
    best set so far; the next ways may be ended in turn.

    Examples
    --------
    >>> from privsieve.rows.matrix import Items
    >>> items = Items.dense([[1, 1], [1, 0], [1, 1], [0, 0], [0, 1], [0, 0]])
    >>> table = Labelled(items, np.array([1, 1, 0, 1, 0, 0], np.int32))
    >>> publishable(table, Rule(k=3, classes=2), "strict").selected
    (0,)
    """
    if profile not in PROFILES:
        raise ParameterError(f"profile is {profile!r}; it can be {', '.join(PROFILES)}")
    if len(np.unique(table.y[table.labelled])) < 2:
        raise SchemaError("all usable labels are of one class; a profile chooses columns that "
                          "predict the class: give labels of at least two classes")
    rule = rule_of(profile, rule)
    demand_rule(table, rule)
    _demand_sources(table, rule)
    if profile == "few":
        return forward(table, rule)
    if table.sources is not None and profile == "most":
        raise ParameterError("profile is 'most', which counts only rows; to count people or "
                             "sources, choose 'few' or 'strict'")
    choices: list[Choice] = []
    try:
        for choice in _ways(table, rule):
            choices.append(choice)  # noqa: PERF402  # an interrupt must leave what is there
        few = choices[2] if profile == "most" and len(choices) > 2 else None
        best = best_by_prediction(table, rule.classes, choices, instead=few)
    except KeyboardInterrupt:
        if not choices:
            raise
        return replace(choices[0], complete=False)
    return replace(best, complete=all(choice.complete for choice in choices))


def rule_of(profile: str, rule: Rule) -> Rule:
    """Return the rule that a profile keeps.

    >>> rule_of("strict", Rule(k=5, classes=2)).model, rule_of("few", Rule(5, 2)).l_diversity
    ('k-anonymity', 2)
    """
    if profile == "strict":
        return replace(rule, model="k-anonymity")
    return replace(rule, model="containment", l_diversity=max(2, rule.l_diversity))


def _ways(table: Labelled, rule: Rule) -> Iterator[Choice]:
    """Yield what "most" and "strict" compare; ties go to what comes first."""
    if table.sources is not None:
        yield by_sources(table, rule, MUTUAL)
        yield forward(table, rule)
        return
    yield greedy(table, rule) if rule.model == "k-anonymity" else _heaviest(table, rule)
    yield greedy(table, rule, "distinct" if rule.model == "k-anonymity" else MUTUAL)
    if not rule.suppress:
        few = forward(table, rule)
        yield few
        yield greedy(table, rule, prefix=few.selected)


def _heaviest(table: Labelled, rule: Rule) -> Choice:
    """Return the heaviest maximal set, completed; after a prefix, the items of it that fit."""
    mined = maximal(table, rule, MUTUAL, SECONDS, complete=not table.counted)
    if not table.counted:
        return mined
    weights = weights_of(table, rule, MUTUAL).values
    order = np.lexsort((weights, np.isin(np.arange(len(weights)), mined.selected)))
    chosen = greedy(table, rule, (np.argsort(order) + 1) * (weights > 0))
    return replace(choice_of(table, rule, chosen.selected, MUTUAL),
                   complete=mined.complete and chosen.complete)


def best_by_prediction(table: Labelled, classes: int, choices: Sequence[Choice], *,
                       instead: Choice | None = None) -> Choice:
    """Return the choice that ranks the classes of unseen rows best; ties to the first.

    `instead` is returned if its area is lower by at most the error of a sample.
    """
    marked = table.labelled
    if marked.sum() < 3:  # without a pair of them nothing is left to learn from
        return choices[0]
    areas = {selected: pair_area(table.items.take(selected), table.y, classes, marked)
             for selected in dict.fromkeys(choice.selected for choice in choices)}
    best = max(choices, key=lambda choice: areas[choice.selected])
    area, rows, chance = areas[best.selected], int(marked.sum()), 0.0
    if rows > COMPARED:  # the standard error of an area of a sample, by its smaller class
        sizes = np.bincount(table.y[marked])
        chance = math.sqrt(area * (1 - area) * rows / (int(sizes[sizes > 0].min()) * COMPARED))
    return best if instead is None or area - areas[instead.selected] > chance else instead


def by_method(table: Labelled, rule: Rule, method: str, objective: Objective, seconds: float | None,
              ) -> Choice:
    """Choose by a named method; `seconds` limit a search.

    >>> from privsieve.rows.matrix import Items
    >>> items, y = Items.dense([[1, 1], [1, 0], [1, 1], [0, 0]]), np.array([1, 1, 0, 0], np.int32)
    >>> by_method(Labelled(items, y), Rule(k=2, classes=2), "greedy", "hamming", 60).selected
    (0, 1)
    """
    if table.sources is not None:
        if method != "greedy":
            raise ParameterError("only few, strict and greedy count people or sources; choose one "
                                 "of them, or give a table with one row a person")
        return by_sources(table, rule, objective)
    if method == "maximal":
        return maximal(table, rule, objective, seconds)
    if method == "exact":
        return exact(table, rule, objective, seconds)
    return greedy(table, rule, objective)


def by_sources(table: Labelled, rule: Rule, objective: Objective) -> Choice:
    """Choose greedily by weights, with groups of k distinct sources.

    >>> from privsieve.rows.matrix import Items
    >>> items, y = Items.dense([[1, 1], [1, 0], [0, 1], [0, 0]]), np.array([1, 1, 0, 0], np.int32)
    >>> table = Labelled(items, y, sources=np.array([0, 0, 1, 2], np.int32))
    >>> by_sources(table, Rule(k=2, classes=2), "hamming").selected
    (1,)
    """
    items, selected, complete = table.items, [*table.counted], True
    if rule.suppress or named(objective) in OF_SETS:
        raise ParameterError("to count people or sources, suppress must be 0 and weights must give "
                             "each item a score; change these, or choose profile 'few'")
    _demand_sources(table, rule)
    demand_rule(table, rule)
    values = weights_of(table, rule, objective).values
    grouping, rest = Patterns.of(table, rule), np.setdiff1d(np.flatnonzero(values > 0), selected)
    try:
        for item in modular_order(values, rest).tolist():
            if grouping.admits(items, item):
                grouping = grouping.with_item(items, item)
                selected.append(item)
    except KeyboardInterrupt:
        if not selected:
            raise
        complete = False
    return replace(choice_of(table, rule, selected, objective), complete=complete)


def _demand_sources(table: Labelled, rule: Rule) -> None:
    """Refuse rows of too few sources; where the class may be known, of each class."""
    if table.sources is None:
        return
    y, there = table.y * rule.labelled, table.sources >= 0
    pairs = np.unique(np.stack([y[there], table.sources[there]]), axis=1)[0]
    size = np.bincount(pairs, minlength=int(y.max(initial=0)) + 1)[np.unique(y)]
    small = int((size < rule.k).sum())
    what = "people" if table.people else "sources"
    if small and rule.labelled:
        raise ParameterError(
            f"{small} of {len(size)} classes have fewer than k = {rule.k} {what}, and an attacker "
            f"may know the class; each class needs at least {rule.k}: merge classes, leave the "
            "target unpublished, choose another target, or choose a smaller k")
    if small:
        raise SchemaError(f"the table has {size[0]} {what}, but k is {rule.k}; choose at most "
                          f"{size[0]}")


def demand_some(table: Labelled, rule: Rule, choice: Choice) -> None:
    """Refuse a choice of no column, with the largest k that one column would keep."""
    if choice.selected:
        return
    if not choice.complete:
        raise NothingFits(f"the search ended before it found a column that keeps k = {rule.k}; "
                          "give it more time (--time-limit SECONDS)")
    support = np.diff(table.items.indptr)
    known = np.full(len(support), rule.model == "k-anonymity")
    known |= False if rule.absent is None else rule.absent
    lacking = np.where(known & (support < table.items.rows), table.items.rows - support, support)
    largest = int(np.minimum(support, lacking).max(initial=0))
    raise NothingFits(f"no column keeps k = {rule.k} in all rows and helps to predict the class; "
                      f"one column alone keeps at most k = {largest}: choose a smaller k, cut the "
                      "columns more coarsely, or let some rows be left out (--suppress N)")
