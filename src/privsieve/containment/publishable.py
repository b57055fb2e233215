"""Publishable columns: three profiles, each a rule, ways to choose, and a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from privsieve.containment.choice import (
    OF_SETS,
    Choice,
    Objective,
    choice_of,
    modular_order,
    named,
    weights,
)
from privsieve.containment.forward import Patterns, forward, pair_area
from privsieve.containment.greedy import demand_rule, greedy
from privsieve.containment.labelled import Bools, Codes, Ints, Labelled, narrowed
from privsieve.containment.maximal import Mining, maximal
from privsieve.errors import NothingFits, ParameterError, SchemaError
from privsieve.kernels.patterns import Rule, class_counts
from privsieve.rows.matrix import Items

MUTUAL = "mutual-information"
#: How each profile chooses.  What is promised is said of the rule, whatever the roles are.
PROFILES = {
    "few": "at most 30 columns, added one by one, that predict best; each group has rows of at "
           "least two classes",
    "most": "of large sets of columns, and of few, the one that ranks the classes of unseen rows "
            "best; each group has rows of at least two classes, and where only presences count the "
            "k rows may be the same few for everybody (see the hub figure)",
    "strict": "k-anonymity: every published cell counts as known, whether it is yes or no; fewer "
              "columns are left, and equal rows may be of one class unless l asks for more",
}
#: Seconds for the heaviest set of profile "most"; the best that was seen by then is completed.
SECONDS = 60.0
#: Distinct rows by which choices are compared at most (`ridge.pair_area`).
COMPARED = 2048


def publishable(table: Labelled, rule: Rule, profile: str = "few", *,
                label_rows: Bools | None = None) -> Choice:
    """Columns that may be published, in the manner of a profile.

    Parameters
    ----------
    table : items and classes; with `sources` a group is k distinct sources (not with "most").
        Items that are `counted` are part of the choice, and refused if they break the rule.
    rule : Rule
        k, classes, and what may be known; the profile sets the model, and at least two classes to
        a group in "few" and "most".
    profile : "few", "most" or "strict"
    label_rows : mask, optional
        the rows whose classes may be used to compare columns.

    "most" and "strict" choose in several ways, and compare.  Ctrl-C ends the one that goes on with
    its best so far; the others may be ended in turn.

    Examples
    --------
    >>> items = Items.dense([[1, 1], [1, 0], [1, 1], [0, 0], [0, 1], [0, 0]])
    >>> table = Labelled(items, np.array([1, 1, 0, 1, 0, 0], np.int32))
    >>> publishable(table, Rule(k=3, classes=2), "strict").selected
    (0,)
    """
    items, y = table.items, table.y
    if profile not in PROFILES:
        raise ParameterError(f"profile is {profile!r}; it can be {', '.join(PROFILES)}")
    if len(np.unique(y if label_rows is None else y[label_rows])) < 2:
        raise SchemaError("the labels that may be used are of one class; a profile chooses columns "
                          "that predict the class: give labels of at least two")
    rule = rule_of(profile, rule)
    demand_rule(items, rule, y)
    if table.sources is not None:
        _demand_sources(table, rule)
    if profile == "few":
        return forward(table, rule, label_rows=label_rows)
    if table.sources is not None and profile == "most":
        raise ParameterError("profile is 'most', which counts rows; people and sources are counted "
                             "in 'few' and 'strict'")
    choices: list[Choice] = []
    try:
        for one in _ways(table, rule, label_rows):
            choices.append(one)  # noqa: PERF402  # an interrupt must leave what is there
        few = choices[2] if profile == "most" and len(choices) > 2 else None
        best = best_by_prediction(items, y, rule.classes, choices, label_rows, instead=few)
    except KeyboardInterrupt:
        if not choices:
            raise
        return replace(choices[0], complete=False)
    return replace(best, complete=all(one.complete for one in choices))


def rule_of(profile: str, rule: Rule) -> Rule:
    """The rule that a profile keeps.

    >>> rule_of("strict", Rule(k=5, classes=2)).model, rule_of("few", Rule(5, 2)).l_diversity
    ('k-anonymity', 2)
    """
    if profile == "strict":
        return replace(rule, model="k-anonymity")
    return replace(rule, model="containment", l_diversity=max(2, rule.l_diversity))


def _ways(table: Labelled, rule: Rule, label_rows: Bools | None) -> Iterator[Choice]:
    """What "most" and "strict" compare; ties go to what comes first."""
    if table.sources is not None:
        yield by_sources(table, rule, MUTUAL, label_rows=label_rows)
        yield forward(table, rule, label_rows=label_rows)
        return

    def heaviest_first(objective: str, prefix: Sequence[int] = table.counted) -> Choice:
        return greedy(table.items, table.y, rule, objective, label_rows=label_rows, prefix=prefix)

    if rule.model == "k-anonymity":
        yield heaviest_first(MUTUAL)
        yield heaviest_first("distinct")
    else:
        yield _heaviest(table, rule, label_rows)
        yield heaviest_first(MUTUAL)
    if not rule.suppress:
        few = forward(table, rule, label_rows=label_rows)
        yield few
        yield heaviest_first(MUTUAL, few.selected)


def _heaviest(table: Labelled, rule: Rule, label_rows: Bools | None) -> Choice:
    """The heaviest maximal set, completed; with a prefix, what of it can follow that."""
    items, y, prefix = table.items, table.y, table.counted
    among = Mining(time_limit=SECONDS, complete=not prefix)
    mined = maximal(items, y, rule, MUTUAL, among, label_rows=label_rows)
    if not prefix:
        return mined
    worth = weights(items, y, rule.classes, MUTUAL, label_rows).values
    order = np.lexsort((worth, np.isin(np.arange(len(items)), mined.selected)))
    chosen = greedy(items, y, rule, (np.argsort(order) + 1) * (worth > 0), prefix=prefix)
    described = choice_of(items, y, rule, chosen.selected, MUTUAL, label_rows=label_rows)
    return replace(described, complete=mined.complete and chosen.complete)


def best_by_prediction(items: Items, y: Codes, classes: int, choices: Sequence[Choice],
                       label_rows: Bools | None = None, *, instead: Choice | None = None,
                       ) -> Choice:
    """The choice that ranks the classes of unseen rows best; ties to the first.

    `instead` is taken if it is behind by no more than the chance of a sample can do.
    """
    marked = np.ones(items.rows, bool) if label_rows is None else label_rows
    if marked.sum() < 3:  # without a pair of them nothing is left to learn from
        return choices[0]
    areas = {one: pair_area(items.take(one), y, classes, marked)
             for one in dict.fromkeys(choice.selected for choice in choices)}
    best = max(choices, key=lambda choice: areas[choice.selected])
    area, rows, chance = areas[best.selected], int(marked.sum()), 0.0
    if rows > COMPARED:  # the standard error of an area of a sample, by its smaller class
        sizes = np.bincount(y[marked])
        chance = math.sqrt(area * (1 - area) * rows / (int(sizes[sizes > 0].min()) * COMPARED))
    return best if instead is None or area - areas[instead.selected] > chance else instead


def by_method(table: Labelled, rule: Rule, method: str, objective: Objective, seconds: float, *,
              label_rows: Bools | None = None) -> Choice:
    """What a method chooses that somebody named; `seconds` are for those that search.

    >>> items, y = Items.dense([[1, 1], [1, 0], [1, 1], [0, 0]]), np.array([1, 1, 0, 0], np.int32)
    >>> by_method(Labelled(items, y), Rule(k=2, classes=2), "greedy", "hamming", 60).selected
    (0, 1)
    """
    items, y = table.items, table.y
    if table.sources is not None:
        return by_sources(table, rule, objective, label_rows=label_rows)
    if method == "maximal":
        return maximal(items, y, rule, objective, Mining(time_limit=seconds), label_rows=label_rows)
    if method == "exact":
        from privsieve.containment.exact import exact

        return exact(items, y, rule, objective, seconds, label_rows=label_rows)
    return greedy(items, y, rule, objective, label_rows=label_rows, prefix=table.counted)


def by_sources(table: Labelled, rule: Rule, objective: Objective, *,
               label_rows: Bools | None = None) -> Choice:
    """A greedy choice by weights whose groups are of k distinct sources.

    >>> items, y = Items.dense([[1, 1], [1, 0], [0, 1], [0, 0]]), np.array([1, 1, 0, 0], np.int32)
    >>> table = Labelled(items, y, sources=np.array([0, 0, 1, 2], np.int32))
    >>> by_sources(table, Rule(k=2, classes=2), "hamming").selected
    (1,)
    """
    items, y, prefix = table.items, table.y, table.counted
    if rule.suppress or named(objective) in OF_SETS:
        raise ParameterError("sources are counted by weights only, and without suppress; leave it "
                             "out, or take profile 'few'")
    _demand_sources(table, rule)
    demand_rule(items, rule, y)
    values = weights(items, y, rule.classes, objective, label_rows).values
    crowd, selected, complete = Patterns.of(table, rule), [*prefix], True
    rest = np.setdiff1d(np.flatnonzero(values > 0), prefix)
    try:
        for item in modular_order(values, rest).tolist():
            if crowd.admits(items, item):
                crowd = crowd.with_item(items, item)
                selected.append(item)
            elif rule.stop == "break":
                break
    except KeyboardInterrupt:
        if not selected:
            raise
        complete = False
    choice = choice_of(items, y, rule, sorted(selected), objective, label_rows=label_rows)
    return replace(choice, complete=complete)


def _demand_sources(table: Labelled, rule: Rule) -> None:
    """Refuse rows of too few sources; where the class may be known, of each class."""
    assert table.sources is not None
    y, there = table.y * rule.labelled, table.sources >= 0
    pairs = np.unique(np.stack([y[there], table.sources[there]]), axis=1)[0]
    size = np.bincount(pairs, minlength=int(y.max(initial=0)) + 1)[np.unique(y)]
    small = int((size < rule.k).sum())
    what = "people" if table.people else "sources"
    if small and rule.labelled:
        raise ParameterError(
            f"{small} of {len(size)} classes have rows of fewer than k = {rule.k} {what}, and the "
            f"class may be known; a class takes at least {rule.k}: merge classes, leave the target "
            "unpublished, choose another target, or ask for less")
    if small:
        raise SchemaError(f"the rows are of {size[0]} {what} and k is {rule.k}; ask for at most "
                          f"{size[0]}")


def demand_some(table: Labelled, rule: Rule, choice: Choice) -> None:
    """Refuse a choice of no column, with the largest k that one column would keep."""
    if choice.selected:
        return
    if not choice.complete:
        raise NothingFits(f"the search ended before it found a column that keeps k = {rule.k}; "
                          "give it more time (--time-limit SECONDS)")
    # of columns that somebody has, however few their classes
    some = np.flatnonzero(np.diff(table.items.indptr)).tolist()
    largest = largest_k(table.items.take(some), table.y,
                        replace(narrowed(rule, some), l_diversity=1))
    raise NothingFits(f"no column keeps k = {rule.k} in all rows and says something about the "
                      f"classes; one alone keeps at most k = {largest}: ask for less, cut the "
                      "columns more coarsely, or let some rows be left out (--suppress N)")


def largest_k(items: Items, y: Codes, rule: Rule) -> int:
    """The largest k that some item alone would keep under the rest of the rule; 0 for none.

    >>> items = Items.dense([[1, 1], [1, 0], [1, 0], [0, 0]])
    >>> largest_k(items, np.zeros(4, np.int32), Rule(k=4, classes=1))
    3
    """
    held = class_counts(items.indptr, items.indices, np.ascontiguousarray(y, np.int32),
                        rule.classes)
    totals = np.bincount(y, minlength=rule.classes)
    known = np.full(len(items), rule.model == "k-anonymity")
    if rule.absent is not None:
        known |= rule.absent
    size = np.full(len(items), _crowd(totals, labelled=rule.labelled))
    for counts, told in ((held, True), (totals - held, known)):
        rows = _crowd(counts, labelled=rule.labelled)
        diverse = (counts > 0).sum(axis=1) >= rule.l_diversity
        size = np.where((rows > 0) & told, np.minimum(size, rows * diverse), size)
    return int(size.max(initial=0))


def _crowd(counts: Ints, *, labelled: bool) -> Ints:
    """The rows of all classes, or of the smallest one that is there; 0 for none."""
    rows: Ints = counts.sum(axis=-1)
    if labelled:
        rows = np.where(counts > 0, counts, rows[..., None]).min(axis=-1)
    return rows
