"""What the kernels compute, by loops over lists: the oracle of both implementations.

Rows are plain: `columns[j][i]` is a code, `label[i]` a class, `v[i]` a signed weight.
"""

from __future__ import annotations

import numpy as np

BITS = 2**64
MISSING = 65535


def mix64(z):
    """The finaliser of splitmix64 on one integer."""
    z = (z + 0x9E3779B97F4A7C15) % BITS
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % BITS
    z = (z ^ z >> 27) * 0x94D049BB133111EB % BITS
    return z ^ z >> 31


def tie_key(unit, feature, key):
    """The key of one unit in one feature."""
    return mix64(key ^ mix64(unit * 0x100000001B3 % BITS ^ feature * 2**40 % BITS))


def runs(column, label, weight, classes):
    """Sorted distinct codes of a column, each with its weight in every class."""
    starts = {}
    for code, c, w in zip(column, label, weight, strict=True):
        starts.setdefault(code, [0] * classes)[c] += w
    return [(code, starts[code]) for code in sorted(starts)]


def interval(column, v, kind):
    """Twice the best one-column rule: every rule is tried."""
    values = sorted(set(column))
    if kind == 3:
        rules = [{c} for c in values] + [set()]
        return max(abs(rule_sum(column, v, rule)) for rule in rules)
    if kind == 2:
        return sum(abs(sum(w for x, w in zip(column, v, strict=True) if x == c)) for c in values)
    apart = 0
    if kind == 1:
        apart = abs(sum(w for x, w in zip(column, v, strict=True) if x == MISSING))
        rest = [(x, w) for x, w in zip(column, v, strict=True) if x != MISSING]
        column, v = [x for x, _ in rest], [w for _, w in rest]
        values = [c for c in values if c != MISSING]
    rules = [set(values[a:b]) for a in range(len(values) + 1) for b in range(a, len(values) + 1)]
    return max(abs(rule_sum(column, v, rule)) for rule in rules) + apart


def rule_sum(column, v, inside):
    """The weight inside a set of codes less the weight outside."""
    return sum(w if x in inside else -w for x, w in zip(column, v, strict=True))


def ranking(column, feature, unit, row, key):
    """The rows that are not missing, in the order (code, tie key, row)."""
    return sorted(range(len(column)),
                  key=lambda i: (column[i], tie_key(unit[i], feature, key), row[i]))


def present(column, kind):
    """The rows whose code is not missing."""
    return [i for i, x in enumerate(column) if kind == 0 or (kind == 1 and x != MISSING)]


def median_cut(column, feature, unit, row, key, kind):
    """Code, tie key, row and count of the record of middle rank."""
    here = set(present(column, kind))
    if not here:
        return 0, 0, 0, 0
    order = [i for i in ranking(column, feature, unit, row, key) if i in here]
    middle = order[len(here) // 2]
    return column[middle], tie_key(unit[middle], feature, key), row[middle], len(here)


def cuts(codes, unit, row, key, kind):
    """The median cuts of columns, as arrays."""
    cuts_of_columns = [median_cut(column, j, unit.tolist(), row.tolist(), key, kind[j])
                       for j, column in enumerate(codes.tolist())]
    return tuple(np.array(values, dtype) for values, dtype in zip(
        zip(*cuts_of_columns, strict=True) if cuts_of_columns else [()] * 4,
        (np.uint16, np.uint64, np.uint64, np.int64), strict=True))


def signs(order, rows):
    """Signs by rank: -1 for the lower half, 0 for the middle of an odd number, else +1."""
    half, sign = len(order) // 2, [0] * rows
    for i in order[:half]:
        sign[i] = -1
    for i in order[len(order) - half:]:
        sign[i] = 1
    return sign


def products(columns, labellings, degree):
    """For each sign column the largest |sum v A_j A_k ..| over distinct other columns."""
    best = [0] * len(columns)
    for chosen in subsets(range(len(columns)), degree):
        for v in labellings:
            total = abs(sum(w * times(columns[k][i] for k in chosen) for i, w in enumerate(v)))
            for j in chosen:
                best[j] = max(best[j], total)
    return best


def times(factors):
    """The product of some numbers."""
    result = 1
    for x in factors:
        result *= x
    return result


def subsets(items, size):
    """All subsets of a size, as tuples."""
    if size == 0:
        return [()]
    return [(x, *rest) for k, x in enumerate(items) for rest in subsets(items[k + 1:], size - 1)]


def indicator(x, a, grid, nominal):
    """Whether a bin is in the a-th public indicator; the last holds everything."""
    return a == grid - 1 or (x == a if nominal else x <= a)


def alone(column, v, grid, nominal):
    """Twice the best two-cell rule of one column."""
    return max(abs(sum(w if indicator(x, a, grid, nominal) else -w
                       for x, w in zip(column, v, strict=True))) for a in range(grid))


def four_cells(x, y, v, grid, nominal):
    """Twice the best four-cell rule of two columns: cell sums, each by its own sign."""
    best = 0
    for a in range(grid):
        for b in range(grid):
            cell = {}
            for p, q, w in zip(x, y, v, strict=True):
                place = indicator(p, a, grid, nominal[0]), indicator(q, b, grid, nominal[1])
                cell[place] = cell.get(place, 0) + w
            best = max(best, sum(abs(w) for w in cell.values()))
    return best


def pair_best(bins, labellings, grid, nominal):
    """The best four-cell rule of every pair, in the order 01, 02, .., 12, .."""
    return [max(four_cells(bins[j], bins[k], v, grid, (nominal[j], nominal[k]))
                for v in labellings) for j, k in subsets(range(len(bins)), 2)]


def pair_gain(bins, labellings, grid, nominal):
    """How much a column and its best partner beat both alone."""
    gain = []
    for j in range(len(bins)):
        gains = [four_cells(bins[j], bins[k], v, grid, (nominal[j], nominal[k]))
                 - max(alone(bins[j], v, grid, nominal[j]), alone(bins[k], v, grid, nominal[k]))
                 for k in range(len(bins)) if k != j for v in labellings]
        gain.append(max(gains, default=0))
    return gain


def code_sums(codes, label, classes):
    """The sum of each column's codes in each class."""
    return [[sum(code for code, of in zip(column, label, strict=True) if of == c)
             for column in codes] for c in range(classes)]


def cell_sums(bins, label, weight, classes, size, grid):
    """The weight of the rows of each class in each cell of every set of columns."""
    sums = []
    for chosen in subsets(range(len(bins)), size):
        for c in range(classes):
            for cell in choices(range(grid), size):
                sums.append(sum(w for i, w in enumerate(weight) if label[i] == c and all(
                    bins[j][i] == b for j, b in zip(chosen, cell, strict=True))))
    return sums


def product_sums(signs, label, classes, size):
    """The sum over the rows of each class of every product of signs."""
    return [sum(times(signs[j][i] for j in chosen) for i, of in enumerate(label) if of == c)
            for chosen in subsets(range(len(signs)), size) for c in range(classes)]


def choices(items, size):
    """All ways to take an item `size` times, as tuples."""
    return [()] if size == 0 else [(x, *rest) for x in items for rest in choices(items, size - 1)]
