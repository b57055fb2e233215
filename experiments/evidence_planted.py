"""The planted tables of the best-subset paper (NeurIPS 2025), both halves, with more rivals.

    python experiments/evidence_planted.py [--short] [--out FILE]

appends a line for each table and method to `results/evidence_planted_DATE.csv`; lines that are
there are not measured again. The half `squares` is that of `best_subset.py`, whose tables and
methods are used. In the half `hinge` the target is a sign, drawn with the logistic function of the
same signal, and the rival's loss is the hinge loss. All methods have epsilon 1; one row is
replaced.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if __name__ == "__main__":  # before NumPy is imported: threads cost more here than they bring
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import numpy as np

import best_subset as base
import evidence
from kendall import RankCorrelations, choose_by_kendall
from privsieve.noise.streams import replay

if TYPE_CHECKING:
    from collections.abc import Callable

    from privsieve.public.plan import Plan

#: The ridge of the paper's hinge loss, the steps of its solver, and sets that are solved at once.
HINGE_RIDGE, STEPS, BLOCK = 100.0, 30, 64
#: Rows by half and number of columns, and tables of each size; all first tables come first.
ROWS = {("squares", 100): (2000, 5000), ("hinge", 100): (2000, 5000),
        ("squares", 1000): (3000,), ("hinge", 1000): (3000,)}
TABLES = {100: 2, 1000: 1}
#: Draws of a method whose noise is drawn.
DRAWS = 10
FIELDS = ("half", "columns", "rho", "rows", "table", "method", "exact", "share")


def signed(table: base.Table, seed: int) -> base.Table:
    """Return the table with a sign for its target: the paper's labels."""
    rng = np.random.default_rng([13, seed])
    y = np.where(rng.random(len(table.y)) < 1 / (1 + np.exp(-table.y)), 1, -1)
    return base.Table(table.X, y, table.planted)


@dataclass(frozen=True, eq=False)
class HingeFit:
    """Clipped columns and signs, of which the rival minimises the hinge loss."""

    X: np.ndarray
    y: np.ndarray

    @property
    def b(self) -> np.ndarray:
        """The products of the columns with the signs."""
        return self.X.T @ self.y

    @property
    def moves(self) -> float:
        """How far a replaced row moves a loss: a row's loss lies in 0..1 + CLIP RADIUS sqrt(K)."""
        return (1 + base.CLIP * base.RADIUS * math.sqrt(base.K)) / len(self.y)

    def losses(self, sets: np.ndarray) -> np.ndarray:
        """Return the mean hinge loss of the best short weights of each set, and their ridge."""
        rows = self.X * self.y[:, None]
        return np.concatenate([_hinge(rows[:, block].transpose(1, 0, 2)) for block in
                               np.array_split(sets, -(-len(sets) // BLOCK))])


def _hinge(rows: np.ndarray) -> np.ndarray:
    """Minimise by projected steps; rows are signed and come by set."""
    sets, n, _ = rows.shape
    ridge, radius = HINGE_RIDGE / n, base.RADIUS
    slope = rows.mean(axis=1)
    weights = radius * slope / np.linalg.norm(slope, axis=1, keepdims=True)
    best = np.full(sets, np.inf)
    for step in range(STEPS):
        margins = np.matmul(rows, weights[:, :, None])[:, :, 0]
        loss = np.maximum(1 - margins, 0).mean(axis=1) + ridge * (weights**2).sum(axis=1)
        best = np.minimum(best, loss)
        active = (margins < 1).astype(rows.dtype)
        slope = -np.matmul(active[:, None, :], rows)[:, 0] / n + 2 * ridge * weights
        weights = weights - 3 / (1 + step) ** .75 * slope
        length = np.linalg.norm(weights, axis=1, keepdims=True)
        weights *= radius / np.maximum(radius, length)
    return best


def by_default(table: base.Table, _rng: np.random.Generator) -> base.Hits:
    """RuleSieve with its defaults; it gets no bounds."""
    return draw_releases(table, *base.summarised(table, method="rule-sieve"))


def by_means(table: base.Table, _rng: np.random.Generator) -> base.Hits:
    """NoisyTopK by mean-difference; bounds clip."""
    return draw_releases(table, *base.summarised(
        table, -base.CLIP, base.CLIP, method="noisy-top-k", score="mean-difference"))


def draw_releases(table: base.Table, plan: Plan, summary: object) -> base.Hits:
    """Return what some draws of the whole mechanism name."""
    named = [plan.mechanism(summary, replay(seed)) for seed in range(DRAWS)]
    return base.hits(np.array(named), table.planted)


def by_kendall(table: base.Table, rng: np.random.Generator) -> base.Hits:
    """DPKendall at epsilon 1; it needs no bounds."""
    sizes = RankCorrelations(table.X, table.y)
    return base.hits(np.array([choose_by_kendall(sizes, base.K, 1.0, rng) for _ in range(DRAWS)]),
                     table.planted)


def by_hinge_rival(table: base.Table, _rng: np.random.Generator) -> tuple[base.Hits, base.Hits]:
    """The paper's two methods on the hinge loss, in its favour as in `best_subset.by_rival`."""
    X = np.clip(table.X, -base.CLIP, base.CLIP)
    return base.chances_of_rival(HingeFit(X, table.y), table.planted)


#: Each way, and the names of what it returns.
WAYS: dict[str, dict[tuple[str, ...], Callable]] = {
    "squares": {("RuleSieve",): by_default, ("NoisyTopK, correlation",): base.by_correlation,
                ("Kendall",): by_kendall,
                ("best subset, top R", "best subset, mistakes"): base.by_rival},
    "hinge": {("RuleSieve",): by_default, ("NoisyTopK, mean-difference",): by_means,
              ("Kendall",): by_kendall,
              ("best subset, top R", "best subset, mistakes"): by_hinge_rival},
}


def measure(half: str, p: int, rho: float, n: int, seed: int) -> list[dict]:
    """Return a line for each method on one table."""
    table = base.autoregressive((seed, p, n, int(10 * rho)), n, p, rho)
    if half == "hinge":
        table = signed(table, seed)
    lines = []
    for names, way in WAYS[half].items():
        answers = way(table, np.random.default_rng([seed, n]))
        for name, hits in zip(names, answers if len(names) > 1 else [answers], strict=True):
            lines.append({"half": half, "columns": p, "rho": rho, "rows": n, "table": seed,
                          "method": name, "exact": f"{hits.exact:.3f}",
                          "share": "" if math.isnan(hits.share) else f"{hits.share:.3f}"})
    return lines


def main() -> None:
    """Measure the tables that are not in the file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--short", action="store_true", help="100 columns, one table")
    parser.add_argument("--total", type=float, default=1200, help="seconds of CPU for the run")
    parser.add_argument("--out", type=Path, default=evidence.newest("evidence_planted"))
    options = parser.parse_args()
    known = {(line["half"], int(line["columns"]), float(line["rho"]), int(line["rows"]),
              int(line["table"])) for line in evidence.read_lines(options.out)}
    tables = {100: 1} if options.short else TABLES
    sizes = [(seed, half, p, rho, n) for seed in range(max(TABLES.values()))
             for (half, p), rows in ROWS.items() for n in rows for rho in base.RHOS
             if seed < tables.get(p, 0)]
    for seed, half, p, rho, n in sizes:
        if (half, p, rho, n, seed) in known or time.process_time() > options.total:
            continue
        began = time.process_time()
        evidence.append_lines(options.out, measure(half, p, rho, n, seed), FIELDS)
        print(half, p, rho, n, seed, f"{time.process_time() - began:.1f} s", file=sys.stderr,
              flush=True)


if __name__ == "__main__":
    main()
