"""The heaviest set of items that keeps a rule, by branch and bound.

Items, `y` and the rule are those of `patterns`.
"""
# ruff: noqa: PLR0917  six arguments are allowed by the house

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from privsieve.kernels import covers_twin
from privsieve.kernels.contract import (
    I32,
    I64,
    Cells,
    demand_array,
    demand_equal,
    demand_whole,
    native,
)
from privsieve.kernels.patterns import Rule, rule_facts

__all__ = ["I32", "Effort", "Found", "search"]

#: The most nodes or milliseconds: the clock reaches so far.
MOST = 1 << 40

_search = native(covers_twin.search)


class Effort(NamedTuple):
    """When to end without a proof; 0 is no limit.  A proof that was found first knows of neither.

    nodes : sets looked at.
    milliseconds : time.
    told : hears, now and then, how many sets were looked at and the best value.
    """

    nodes: int = 0
    milliseconds: int = 0
    told: Callable[[int, int], object] | None = None


class Found(NamedTuple):
    """A set, and what is known of all others.

    selected : increasing.
    value : sum of weights, or pairs of rows of different class that are told apart.
    bound : no set that keeps the rule has a larger value.  Both are -1 if not even the empty does.
    proved : whether they are equal.
    nodes : how many sets were looked at.
    """

    selected: I64
    value: int
    bound: int
    proved: bool
    nodes: int


def search(
    items: Cells,
    y: I32,
    weights: I64 | None,
    rule: Rule,
    start: I64 | None = None,
    effort: Effort = Effort(),  # noqa: B008  it is frozen
) -> Found:
    """The heaviest set that keeps the rule; without weights, the one that tells most pairs apart.

    The search begins with the best of greedy choice, `start` as far as it keeps the rule and
    completed, and a local search from there; its twin begins with `start` alone, and is slow.
    Items of weight 0 are never chosen.  An interrupt ends the search like a limit does.

    >>> from privsieve.kernels.patterns import Rule
    >>> toy = np.array([0, 2, 4, 6]), np.array([0, 1, 2, 3, 1, 2], np.int32)
    >>> y = np.zeros(4, np.int32)
    >>> [int(part) for part in search(toy, y, np.array([2, 2, 3]), Rule(2, 1))[1:4]]
    [4, 4, 1]
    """
    start = np.empty(0, np.int64) if start is None else start
    demand_array("start", start, np.int64, 1)
    start = np.sort(start)
    facts, absent = rule_facts(items, y, start, rule)
    if weights is not None:
        demand_array("weights", weights, np.int64, 1)
        demand_equal("weights and items", len(weights), len(items[0]) - 1)
        total = sum(weights.tolist())
        if (weights < 0).any() or total >= 1 << 62:
            raise ValueError("weights must not be negative, and sum to less than 2^62")
    ends = [demand_whole(name, number, 0, MOST)
            for name, number in zip(effort._fields, effort[:2], strict=False)]
    facts = np.append(facts, np.array(ends, np.int64))
    return Found(*_search(items, y, weights, facts, absent, (start, effort.told)))
