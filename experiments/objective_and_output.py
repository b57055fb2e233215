"""Is noise in the objective better than noise on the weights?  Both at the same true epsilon.

    python experiments/objective_and_output.py [--short]

writes a dated table into `results/`: some minutes; `--short` takes one.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

import protocol
from privsieve.local.constants import output
from privsieve.local.solver import minimise
from privsieve.methods import plan
from privsieve.methods.objective_fwell import Perturbing, perturbed
from privsieve.noise.streams import replay
from privsieve.noise.values import VectorNoise
from privsieve.public.domain import Domain
from privsieve.public.plan import Cost
from privsieve.rows import open_source
from privsieve.rows.batch import batches

if TYPE_CHECKING:
    from collections.abc import Callable

    from privsieve.noise.streams import Noise

LAMS = ("0.001", "0.01", "0.03", "0.1", "0.3")
EPSILONS = ("0.1", "1", "10", "100")
REPEATS, DRAWS = 2, 10
#: How vectors are made of a table: in blocks, or of each row against two public corners.
KINDS = ("blocks of 6", "corners")
ARMS = ("printed", "output", "objective")


@dataclass(frozen=True)
class Table:
    """Columns between 0 and 1, two classes, and how many columns are named."""

    name: str
    X: np.ndarray
    y: np.ndarray
    k: int


@cache
def tables() -> tuple[Table, ...]:
    """The breast-cancer table that comes with scikit-learn, and a made-up one."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(3000)
    label = rng.integers(0, 2, 3000)
    table = rng.standard_normal((3000, 20))
    table[:, [2, 7, 11, 13]] += np.array([1, -0.8, 0.6, -0.5]) * (label[:, None] - 0.5)
    return (Table("breast cancer", X / X.max(axis=0), y, 3),
            Table("made up", np.clip(table / 8 + 0.5, 0, 1), label, 4))


def vectors(table: Table, train: np.ndarray, kind: str, seed: int) -> np.ndarray:
    """The rows of the problem, as both methods make them."""
    columns = table.X.shape[1]
    corners = ([[0.0] * columns, [1.0] * columns], [0, 1]) if kind == "corners" else None
    domain = Domain.box(0, 1, columns=columns)
    planned = plan("objective-fwell", domain, k=table.k, epsilon=1, rows=len(train),
                   reference=None if corners is None else tuple(map(np.array, corners)))
    held = batches(open_source(table.X[train], y=table.y[train]), domain, rows=len(train),
                   entropy=replay(seed).bytes)
    return planned.summarise.keywords["learning"].stacked(planned.summarise(held, seed + 1))


def arms(Z: np.ndarray, lam: str, epsilon: str) -> dict[str, Callable[[Noise], np.ndarray]]:
    """What each way releases of these rows, in all at this epsilon.

    "printed" is noise on the weights for a move of 2 / (lam N), which is more than is needed.
    """
    count, columns = Z.shape
    cost = Cost.of(epsilon, allow_weak=True)
    w = minimise(Z, float(lam)).w.tolist()

    def on_weights(moved: Fraction) -> Callable[[Noise], np.ndarray]:
        law = VectorNoise.of(columns, moved, cost)
        return lambda noise: np.array(law.add(w, noise)) * 2.0**law.grid.exponent

    by = Perturbing.of(lam, count, columns, cost.epsilon)
    return {
        "printed": on_weights(2 / (Fraction(lam) * count)),
        "output": on_weights(output(lam, count, columns)),
        "objective": lambda noise: np.array(perturbed(Z, by, noise)) * 2.0**by.exponent,
    }


class Judge:
    """How well two classifiers do on the named columns of the test rows."""

    def __init__(self, table: Table, train: np.ndarray, test: np.ndarray) -> None:
        self.table, self.train, self.test = table, train, test
        self._known: dict[tuple[int, ...], float] = {}

    def __call__(self, weights: np.ndarray) -> float:
        """The mean of two accuracies; each set of columns is judged once."""
        chosen = tuple(sorted(np.argsort(-weights, kind="stable")[:self.table.k].tolist()))
        if chosen not in self._known:
            self._known[chosen] = self._judge(list(chosen))
        return self._known[chosen]

    def _judge(self, columns: list[int]) -> float:
        from sklearn.neighbors import KNeighborsClassifier
        from sklearn.svm import LinearSVC

        X, y = self.table.X[:, columns], self.table.y
        return float(np.mean([
            machine.fit(X[self.train], y[self.train]).score(X[self.test], y[self.test])
            for machine in (KNeighborsClassifier(3), LinearSVC(C=1, random_state=0))]))


def one_fold(table: Table, kind: str, fold: tuple[np.ndarray, np.ndarray], seed: int,
             grid: tuple[tuple[str, ...], tuple[str, ...], int]) -> dict[str, list[float]]:
    """Relative error and accuracy of each arm, by lam and epsilon, each a mean over draws."""
    lams, epsilons, draws = grid
    train, test = fold
    Z, results = vectors(table, train, kind, seed), {}
    known = Judge(table, train, test)

    def judge(weights: np.ndarray) -> float:
        return known(np.abs(weights) if kind == "corners" else weights)

    for lam in lams:
        w = minimise(Z, float(lam)).w
        results[f"{lam} exact"] = [0.0, judge(w)]
        for epsilon in epsilons:
            for arm, release in arms(Z, lam, epsilon).items():
                drawn = [release(replay(1000 * seed + draw)) for draw in range(draws)]
                far = [float(np.linalg.norm(v - w) / np.linalg.norm(w)) for v in drawn]
                results[f"{lam} {epsilon} {arm}"] = [float(np.mean(far)),
                                                     float(np.mean([judge(v) for v in drawn]))]
    return results


def cell(values: list[float]) -> str:
    """A mean and its standard error, in three digits."""
    return f"{np.mean(values):.3g} ({protocol.corrected_error(values):.1g})"


def tabulate(folds: list[dict[str, list[float]]], lams: tuple[str, ...],
             epsilons: tuple[str, ...]) -> list[str]:
    """Relative errors by lam, and accuracies over all lam."""
    lines = ["Relative error of the weights: printed / output / objective.", "",
             "| lam | " + " | ".join(f"epsilon {epsilon}" for epsilon in epsilons) + " |",
             "|---" * (len(epsilons) + 1) + "|"]
    for lam in lams:
        cells = [" / ".join(cell([fold[f"{lam} {epsilon} {arm}"][0] for fold in folds])
                            for arm in ARMS) for epsilon in epsilons]
        lines.append(f"| {lam} | " + " | ".join(cells) + " |")
    exact = [float(np.mean([fold[f"{lam} exact"][1] for lam in lams])) for fold in folds]
    lines += ["", f"Accuracy with the named columns, over all lam (without noise: {cell(exact)}).",
              "", "| | " + " | ".join(f"epsilon {epsilon}" for epsilon in epsilons) + " |",
              "|---" * (len(epsilons) + 1) + "|"]
    means = {(arm, epsilon): [float(np.mean([fold[f"{lam} {epsilon} {arm}"][1] for lam in lams]))
                              for fold in folds] for arm in ARMS for epsilon in epsilons}
    lines += [f"| {arm} | " + " | ".join(cell(means[arm, epsilon]) for epsilon in epsilons) + " |"
              for arm in ARMS]
    lines.append("| objective less output | " + " | ".join(
        cell([a - b for a, b in zip(means["objective", epsilon], means["output", epsilon],
                                    strict=True)]) for epsilon in epsilons) + " |")
    lines += [f"| {arm}, at its best lam | " + " | ".join(
        best(folds, lams, f"{epsilon} {arm}") for epsilon in epsilons) + " |" for arm in ARMS[1:]]
    return [*lines, ""]


def best(folds: list[dict[str, list[float]]], lams: tuple[str, ...], what: str) -> str:
    """The accuracy at the lam where it is largest on the mean, and that lam."""
    by = {lam: [fold[f"{lam} {what}"][1] for fold in folds] for lam in lams}
    lam = max(lams, key=lambda lam: float(np.mean(by[lam])))
    return f"{cell(by[lam])} at {lam}"


HEAD = """\
# Noise in the objective, or on the weights

Both at the same true epsilon, of the same rows; mean (standard error, for folds that overlap) over
{folds} folds, {draws} draws of noise in each. "Output": noise on the weights, for how far a unit
can move them. "Printed": the same for a move of 2 / (lam N), which is more than is needed.
"Objective": noise in the problem. Relative error: the distance from the minimiser without noise,
over that one's length. Accuracy: the mean of three nearest neighbours and a linear support vector
machine (C = 1), trained without privacy on the k columns of largest weight. "Blocks of 6": hits and
misses in random blocks, cut once. "Corners": each row against two public rows, all low of class 0
and all high of class 1; weights then say a direction, and the largest are those without signs.
Bounds of columns are the table's own and are taken as public here. Noise is replayed from a seed:
these are experiments, no releases. The best lam of an arm is chosen after the fact, which flatters
both.

"""


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--short", action="store_true")
    short = parser.parse_args().short
    grid = (("0.001", "0.1"), ("1", "10"), 2) if short else (LAMS, EPSILONS, DRAWS)
    repeats = 1 if short else REPEATS
    memory = protocol.Memory(f"objective_and_output{'_short' if short else ''}")
    lines = [HEAD.format(folds=repeats * protocol.FOLDS, draws=grid[2])]
    for table in tables():
        for kind in KINDS:
            folds = []
            for repeat in range(repeats):
                for number, fold in enumerate(protocol.splits(table.y, repeat)):
                    seed = 10 * repeat + number
                    folds.append(memory.cell(
                        (table.name, kind, seed, *grid),
                        lambda t=table, k=kind, f=fold, s=seed: one_fold(t, k, f, s, grid)))
                    print(table.name, kind, seed, file=sys.stderr, flush=True)
            size = len(vectors(table, fold[0], kind, 0))
            sizes = f"N = {size}, d = {table.X.shape[1]}, k = {table.k}"
            lines += [f"## {table.name}: {kind}, {sizes}", "", *tabulate(folds, *grid[:2])]
    protocol.write("objective_and_output", "\n".join(lines), short=short)


if __name__ == "__main__":
    main()
