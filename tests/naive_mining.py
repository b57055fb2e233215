"""What the mining kernels compute, from all sets of items: the oracle of both implementations.

`rows[i]` is the set of items that row i holds, `y[i]` its class.
"""

from __future__ import annotations

from itertools import combinations


def cover(rows, S):
    """The rows that hold all of S."""
    return [i for i, row in enumerate(rows) if S <= row]


def frequent(rows, y, items, k, classes=1):
    """Every set of these items that k rows hold, rows of enough classes."""
    sets = [frozenset(S) for size in range(len(items) + 1) for S in combinations(items, size)]
    return [S for S in sets if len(cover(rows, S)) >= k
            and (classes == 1 or len({y[i] for i in cover(rows, S)}) >= classes)]


def maximal(rows, y, items, k, classes=1):
    """Those of them that are inside no other, in lexicographic order, with their support."""
    family = frequent(rows, y, items, k, classes)
    outer = [S for S in family if not any(S < other for other in family)]
    return sorted((sorted(S), len(cover(rows, S))) for S in outer)


def heaviest(rows, y, weight, k, classes=1, r=1):
    """The r heaviest of them, of items that weigh something: (set, support, weight)."""
    items = [j for j, w in enumerate(weight) if w > 0]
    sets = [(S, support, sum(weight[j] for j in S))
            for S, support in maximal(rows, y, items, k, classes)]
    return sorted(sets, key=lambda set_of_items: (-set_of_items[2], set_of_items[0]))[:r]
