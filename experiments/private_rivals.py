"""Other ways to choose columns with differential privacy, at the same epsilon as ours.

Each function takes a table whose columns lie in 0..1, the rows that may choose, epsilon and a
generator, and returns the positions of k columns. A class is a whole number from 0; a number lies
in 0..1. Noise is NumPy's: these are experiments, not releases. Neighbours differ in one replaced
row, as ours do, and the number of rows is public.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from unseen import Unseen

#: Cells of a column, and of a target that is a number, in the tables of the synthesizer.
CELLS, TARGET_CELLS = 4, 8
#: Trees of the forest, their depth (of 2, 3 and 5 the one that did best on five sets), and the
#: random rows on which its use of columns is measured.
TREES, DEPTH, PROBES = 10, 3, 200


def code_target(table: Unseen, rows: np.ndarray) -> np.ndarray:
    """Return the target in 0..1: a number as one column, two classes as one, others as flags."""
    y = table.y[rows]
    if table.number:
        return y[:, None]
    classes = int(table.y.max()) + 1
    if classes == 2:
        return y[:, None].astype(float)
    return (y[:, None] == np.arange(classes)).astype(float)


def choose_by_frank_wolfe(table: Unseen, rows: np.ndarray, epsilon: float,
                          rng: np.random.Generator) -> tuple[int, ...]:
    """Choose the corners of k private Frank-Wolfe steps for squared loss in the L1 ball.

    The paper (Talwar, Thakurta, Zhang 2015) may choose a corner twice. Here each step chooses among
    the columns that are not chosen yet, which favours it: no step is lost. Columns and target are
    centred by their true means, which are not paid for; that favours it, too.

    Privacy, if the means are public: a score is a sum over rows of x (y - w x). Here |x| <= a and
    |y| <= b follow from the means, and w is known from the steps before. A row adds at most
    a (b + a |w|) in size, with |w| in L1, so a replaced row moves a score by at most twice that.
    Each step is a noisy maximum with epsilon / k, as in `kendall.py`.
    """
    X, Y = table.X[rows], code_target(table, rows)
    means, target_means = X.mean(axis=0), Y.mean(axis=0)
    X, Y = X - means, Y - target_means
    a, b = (float(np.maximum(m, 1 - m).max()) for m in (means, target_means))
    weights = np.zeros((X.shape[1], Y.shape[1]))
    chosen: list[int] = []
    for step in range(table.k):
        slope = X.T @ (Y - X @ weights)
        moves = 2 * a * (b + a * np.abs(weights).sum())
        corners = np.stack([slope, -slope])
        noisy = corners + rng.exponential(2 * moves * table.k / epsilon, corners.shape)
        noisy[:, chosen] = -np.inf
        sign, j, c = np.unravel_index(np.argmax(noisy), noisy.shape)
        weights *= 1 - 2 / (step + 2)
        weights[j, c] += (1 - 2 * sign) * 2 / (step + 2)
        chosen.append(int(j))
    return tuple(chosen)


def choose_by_forest(table: Unseen, rows: np.ndarray, epsilon: float,
                     rng: np.random.Generator) -> tuple[int, ...]:
    """Choose the columns that a private forest of diffprivlib uses most.

    Its guarantee is for rows that are added or removed: a replaced row costs twice, so the forest
    gets half of epsilon. What it uses is measured on random rows, which costs nothing: how often
    its answer changes when a column is shuffled. It knows classes only; a number becomes the class
    "above the middle of the bounds".
    """
    from diffprivlib.models import RandomForestClassifier

    y = (table.y[rows] > 0.5).astype(int) if table.number else table.y[rows]
    classes = np.arange(2 if table.number else int(table.y.max()) + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forest = RandomForestClassifier(
            TREES, epsilon=epsilon / 2, bounds=(0, 1), classes=classes, max_depth=DEPTH,
            random_state=int(rng.integers(2**31))).fit(table.X[rows], y)
        d = table.X.shape[1]
        probes = rng.random((PROBES, d))
        # a block of rows for each column, in which that column is shuffled
        shuffled = np.tile(probes, (d, 1)).reshape(d, PROBES, d)
        for j in range(d):
            shuffled[j, :, j] = rng.permutation(probes[:, j])
        answers = forest.predict_proba(shuffled.reshape(-1, d)).reshape(d, PROBES, -1)
        changes = np.abs(answers - forest.predict_proba(probes)).sum(axis=(1, 2))
    return pick_largest(changes, table.k, rng)


def choose_by_synthesizer(table: Unseen, rows: np.ndarray, epsilon: float,
                          rng: np.random.Generator) -> tuple[int, ...]:
    """Make synthetic rows from private tables of each column by the target; SelectKBest on them.

    The synthesizer is the star of PrivBayes: every column hangs on the target alone, which is what
    a choice of single columns needs. A replaced row moves two cells of each of the d tables by 1:
    2 d in L1, which is the scale of the Laplace noise times epsilon.
    """
    from sklearn.feature_selection import f_classif, f_regression

    X, y = table.X[rows], table.y[rows]
    n, d = X.shape
    cells = np.minimum((X * CELLS).astype(int), CELLS - 1)
    levels = TARGET_CELLS if table.number else int(table.y.max()) + 1
    target = np.minimum((y * levels).astype(int), levels - 1) if table.number else y
    counts = np.stack([np.bincount(cells[:, j] * levels + target, minlength=CELLS * levels)
                       for j in range(d)]).reshape(d, CELLS, levels)
    noisy = np.maximum(counts + rng.laplace(scale=2 * d / epsilon, size=counts.shape), 0)
    shares = noisy.sum(axis=(0, 1))
    shares = shares / shares.sum() if shares.sum() else np.full(levels, 1 / levels)
    drawn = np.sort(rng.choice(levels, n, p=shares))
    synthetic = np.zeros((n, d))
    for level, many in enumerate(np.bincount(drawn, minlength=levels)):
        at = drawn == level
        for j in range(d):
            weights = noisy[j, :, level]
            weights = weights / weights.sum() if weights.sum() else np.full(CELLS, 1 / CELLS)
            synthetic[at, j] = rng.permutation(np.repeat(
                np.arange(CELLS), rng.multinomial(many, weights)))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        scores, _ = (f_regression if table.number else f_classif)(synthetic, drawn)
    return pick_largest(np.nan_to_num(scores, nan=-1, posinf=1e300), table.k, rng)


def pick_largest(scores: np.ndarray, k: int, rng: np.random.Generator) -> tuple[int, ...]:
    """Return the positions of the k largest scores; equal scores in random order."""
    order = rng.permutation(len(scores))
    return tuple(int(j) for j in order[np.argsort(-scores[order], kind="stable")[:k]])


RIVALS: dict[str, Callable[[Unseen, np.ndarray, float, np.random.Generator], tuple[int, ...]]] = {
    "Frank-Wolfe": choose_by_frank_wolfe,
    "private forest": choose_by_forest,
    "synthesizer + SelectKBest": choose_by_synthesizer,
}
