"""What the scores of NoisyTopK compute, by loops over rows: their oracle.

Rows are plain: `columns[j][i]` is a code, `label[i]` a class or the code of a numeric target,
`weight[i]` what a row counts for.  A kind is n(umber), m(issing level), f(lag), or the number of
levels of a category.
"""

from __future__ import annotations

from itertools import chain, combinations, product
from math import isqrt

TOP, MISSING = 65535, 65535


def level(code, kind, grid):
    """The public part in which a code lies."""
    if kind == "n":
        return code * grid // 65536
    if kind == "m":
        return "missing" if code == MISSING else code * grid // 65535
    return code


def width(kind, grid):
    """How many levels a column may have."""
    return {"n": grid, "m": grid + 1, "f": 2}.get(kind, kind)


def chance(levels, squares, scale):
    """What the sum over levels reaches where classes do not matter."""
    return scale * isqrt(636_620 * levels * squares // 1_000_000)


def sets(items):
    """All subsets."""
    items = sorted(items, key=str)
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))


def class_counts(column, kind, label, weight, cuts, squares, scale):
    """The best set of levels against the rest: every set is tried."""
    levels = [level(code, kind, 16) for code in column]
    return max(
        max(sum(t[c] * w * (1 if v in chosen else -1)
                for v, c, w in zip(levels, label, weight, strict=True))
            for chosen in sets(set(levels)))
        - chance(width(kind, 16), square, scale)
        for t, square in zip(cuts, squares, strict=True))


def mean_difference(column, kind, label, weight, cuts, squares, scale):
    """The weighted difference of codes; levels without a mean take the best sides."""
    best = []
    for t, square in zip(cuts, squares, strict=True):
        total, free = 0, {}
        for code, c, w in zip(column, label, weight, strict=True):
            if kind == "n":
                total += t[c] * w * (2 * code - TOP)
            elif kind == "f":
                total += t[c] * w * (TOP if code else -TOP)
            elif kind == "m" and code != MISSING:
                total += t[c] * w * (2 * code - (TOP - 1))
            else:
                free.setdefault(code, []).append(t[c] * w * TOP)
        off = TOP * chance(kind, square, scale) if isinstance(kind, int) else 0
        best.append(max(abs(total + sum(sum(free[v]) * (1 if v in chosen else -1) for v in free))
                        for chosen in sets(free)) - off)
    return max(best)


def value(code, kind):
    """A code as a number; what is missing is in the middle."""
    if kind == "f":
        return TOP * code
    return 32767 if kind == "m" and code == MISSING else code


def correlation(column, kind, label, weight):
    """The better of x and of a constant, where y is centred on the best of 65 numbers."""
    y = [2 * value(code, "n") - TOP for code in label]
    rules = [[TOP] * len(y), *signed(column, kind)]
    return min(4096 * 32 // (32 + abs(b))
               * max(abs(sum(w * x * (32 * t - TOP * b)
                             for x, t, w in zip(rule, y, weight, strict=True)))
                     for rule in rules)
               for b in range(-32, 33))


def signed(column, kind):
    """A number from its middle; of a category each way to give its levels a sign."""
    if not isinstance(kind, int):
        return [[2 * value(code, kind) - TOP for code in column]]
    there = sorted(set(column))
    return [[TOP * dict(zip(there, signs, strict=True))[code] for code in column]
            for signs in product((-1, 1), repeat=len(there))]
