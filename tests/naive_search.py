"""The best set of items by trying all of them: the oracle of the exact search."""

from __future__ import annotations

from itertools import combinations

from naive_containment import feasible, fits, told_apart


def best(rows, y, hidden, weights, rule, d):
    """The value of the best set that keeps the rule; -1 if not even the empty set does."""
    items = range(d)
    sets = [set(S) for size in range(len(items) + 1) for S in combinations(items, size)]
    return max((score(rows, y, hidden, weights, S) for S in sets if keeps(rows, y, S, rule)),
               default=-1)


def score(rows, y, hidden, weights, S):
    """The sum of weights; without them, cross-class pairs that are told apart."""
    return told_apart(rows, y, hidden, S) if weights is None else sum(weights[j] for j in S)


def keeps(rows, y, S, rule):
    """Whether somebody stays, few enough leave, and somebody who stays holds each item."""
    return rule.suppress < len(rows) and feasible(rows, y, S, rule) and all(
        fits(rows, y, S - {j}, j, rule) for j in S)
