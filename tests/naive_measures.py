"""Measures, groups and leave-one-out errors by loops: `rows[i]` is the set of items of row i."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def group(rows, i):
    """The rows that hold all that row i holds."""
    return [h for h, row in enumerate(rows) if rows[i] <= row]


def equals(rows, i):
    """The rows that hold just what row i holds."""
    return [h for h, row in enumerate(rows) if rows[i] == row]


def one_class(rows, y, crowd):
    """Rows whose group has one class."""
    return sum(len({y[h] for h in crowd(rows, i)}) == 1 for i in range(len(rows)))


def chances(sizes):
    """The largest and the average chance that a row is found in a group of its size."""
    risks = [Fraction(1, size) for size in sizes]
    return float(max(risks)), float(sum(risks) / len(risks))


def classification_metric(rows, y, k):
    """One for each row of a small pattern, and for each row of a minority class."""
    total = 0
    for i in range(len(rows)):
        labels = sorted(y[h] for h in equals(rows, i))
        most = max(labels, key=labels.count)
        total += len(labels) < k or y[i] != most
    return total


def hub(rows, k):
    """Rows in every group; rows left, below k, and alone without the k busiest."""
    groups = [set(group(rows, i)) for i in range(len(rows))]
    held = [sum(h in group for group in groups) for h in range(len(rows))]
    busiest = sorted(range(len(rows)), key=lambda h: (-held[h], h))[:k]
    left = [i for i in range(len(rows)) if i not in busiest]
    sizes = [len(groups[i] - set(busiest)) for i in left]
    return (held.count(len(rows)), len(left), sum(size < k for size in sizes), sizes.count(1))


def guesses(matrix, targets, lam, out):
    """What a ridge regression says of the rows `out`, which it did not see."""
    rest = np.setdiff1d(np.arange(len(matrix)), out)
    X, Y = matrix[rest].astype(float), targets[rest].astype(float)
    means, mean = X.mean(axis=0), Y.mean(axis=0)
    penalised = np.concatenate([X - means, np.sqrt(lam) * np.eye(X.shape[1])])
    padded = np.concatenate([Y - mean, np.zeros((X.shape[1], *Y.shape[1:]))])
    coefficients = np.linalg.lstsq(penalised, padded, rcond=None)[0]
    return mean + (matrix[out] - means) @ coefficients


def loo_error(matrix, targets, lam):
    """The squared error of a guess about each row, per row."""
    errors = [guesses(matrix, targets, lam, [i]) - targets[[i]] for i in range(len(matrix))]
    return sum((error**2).sum() for error in errors) / len(matrix)


def pair_area(matrix, y, classes, penalties):
    """The mean over classes of the share of pairs that are ranked rightly, of the best penalty."""
    areas = []
    for lam in penalties:
        shares = []
        for label in range(0 if classes > 2 else 1, classes):
            target = y == label
            right = [0.0]
            for a in np.flatnonzero(target):
                for b in np.flatnonzero(~target):
                    ours, other = np.rint(guesses(matrix, target, lam, [a, b]) * 1e9)
                    right.append((ours > other + 2) + (abs(ours - other) <= 2) / 2)
            shares.append(sum(right) / max(1, len(right) - 1))
        areas.append(sum(shares) / len(shares))
    return max(areas)
