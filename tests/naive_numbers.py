"""What the kernels and scores of a numeric target compute, by loops: the oracle."""

from __future__ import annotations

from naive import MISSING, four_cells, signs, subsets, times


def rules(column, kind):
    """Every rule on a column of this kind, as the set of codes at which it says yes."""
    values = sorted(set(column))
    if kind == 3:
        return [set(), *({c} for c in values)]
    if kind == 2:
        return [set(some) for size in range(len(values) + 1) for some in subsets(values, size)]
    known = [c for c in values if kind == 0 or c != MISSING]
    inside = [set(known[a:b]) for a in range(len(known) + 1) for b in range(a, len(known) + 1)]
    inside += [set(known) - rule for rule in inside]
    return inside + ([rule | {MISSING} for rule in inside] if kind == 1 else [])


def covariance(column, below, kind):
    """The largest |n (inside and below) - (inside) (below)| over all rules."""
    n, r, best = len(column), sum(below), 0
    for rule in rules(column, kind):
        both = sum(x in rule and low for x, low in zip(column, below, strict=True))
        best = max(best, abs(n * both - r * sum(x in rule for x in column)))
    return best


def below_rank(order, r):
    """For each row whether it is among the lowest r of an order."""
    return [i in set(order[:r]) for i in range(len(order))]


def score(columns, order, ranks, grid, degree):
    """8 n times the best rule of ordered columns on distinct codes; rows in the order of y.

    `order` lists rows by the target, `columns[j][i]` are codes without ties; without ranks only
    pairs and products count.
    """
    n, d = len(order), len(columns)
    v = signs(order, n)
    best = [max((8 * covariance(c, below_rank(order, r), 0) for r in ranks), default=-10**9)
            for c in columns]
    bins = [[x * grid // 65536 for x in c] for c in columns]
    planes = [signs(sorted(range(n), key=c.__getitem__), n) for c in columns]
    for j in range(d):
        for k in range(d):
            if k != j:
                alone = max(one_cut(bins[j], v, grid), one_cut(bins[k], v, grid))
                gain = four_cells(bins[j], bins[k], v, grid, (0, 0)) - alone
                best[j] = max(best[j], n * gain)
    for size in (2, 3)[:degree - 1]:
        for chosen in subsets(range(d), size):
            total = abs(sum(w * times(planes[k][i] for k in chosen) for i, w in enumerate(v)))
            for j in chosen:
                best[j] = max(best[j], n * total)
    return best


def one_cut(bins, v, grid):
    """Twice the best rule on one column of the grid."""
    return max(abs(sum(w if x <= a else -w for x, w in zip(bins, v, strict=True)))
               for a in range(grid))
