"""How much n x epsilon RuleSieve needs where the target is a number.

Generated tables with planted columns; for each way the recall of the planted columns along a grid
of epsilons, and where its envelope reaches 80 % of the way from guessing to 1.  Noise is replayed.

    python experiments/rule_sieve_regression.py [--short]
"""

from __future__ import annotations

import argparse
import datetime as dt
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from privsieve.methods import plan
from privsieve.methods.rule_sieve_numeric import scored
from privsieve.noise.race import Race, top_k
from privsieve.noise.streams import replay
from privsieve.public.domain import Domain
from privsieve.rows import open_source
from privsieve.rows.batch import batches

if TYPE_CHECKING:
    from collections.abc import Callable

    from privsieve.methods.rule_sieve import Rules
    from privsieve.public.plan import Plan

RESULTS = Path(__file__).parent / "results"
GRID = [10 ** (e / 6) for e in range(6, 25)]  # n x epsilon from 10 to 10,000
LEVEL = 0.8


@dataclass(frozen=True)
class Made:
    """A generated table: columns in [0, 1], a target, its planted columns and its bounds."""

    X: np.ndarray
    y: np.ndarray
    planted: frozenset[int]
    bounds: tuple[float, float]


def _placed(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.random((n, d)), rng.choice(d, k, replace=False)


def prod(rng: np.random.Generator, n: int = 2000, d: int = 20) -> Made:
    """Two columns between -1 and 1 act through their product; noise of 0.1."""
    X, at = _placed(rng, n, d, 2)
    a, b = 2 * X[:, at].T - 1
    return Made(X, a * b + 0.1 * rng.normal(size=n), frozenset(at.tolist()), (-5, 5))


def quad(rng: np.random.Generator, n: int = 2000, d: int = 30) -> Made:
    """Three columns between -1 and 1 act through their squares; noise of 0.2."""
    X, at = _placed(rng, n, d, 3)
    y = ((2 * X[:, at] - 1) ** 2).sum(axis=1) + 0.2 * rng.normal(size=n)
    return Made(X, y, frozenset(at.tolist()), (-5, 10))


def hetero(rng: np.random.Generator, n: int = 2000, d: int = 30) -> Made:
    """Two columns decide how far the target spreads, and not where it lies."""
    X, at = _placed(rng, n, d, 2)
    y = np.exp(1.5 * (X[:, at].sum(axis=1) - 1)) * rng.normal(size=n)
    return Made(X, y, frozenset(at.tolist()), (-30, 30))


def friedman1(rng: np.random.Generator, n: int = 2000, d: int = 30) -> Made:
    """Friedman's first function of five columns, noise of 1."""
    X, at = _placed(rng, n, d, 5)
    a, b, c, e, f = X[:, at].T
    y = 10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * e + 5 * f
    return Made(X, y + rng.normal(size=n), frozenset(at.tolist()), (-50, 100))


def heavy(rng: np.random.Generator, n: int = 1500, d: int = 50) -> Made:
    """A sum of five normal columns and t(1.5) noise; bounds of 20 either way."""
    Z, at = rng.normal(size=(n, d)), rng.choice(d, 5, replace=False)
    y = Z[:, at].sum(axis=1) + rng.standard_t(1.5, size=n)
    return Made(np.clip(Z / 8 + 0.5, 0, 1), y, frozenset(at.tolist()), (-20, 20))


TABLES: dict[str, Callable[[np.random.Generator], Made]] = {
    "prod": prod, "quad": quad, "friedman1": friedman1, "heavy": heavy, "hetero": hetero}
WAYS = ("ranks", "median-cut")
#: What was found of the prototype on tables of the same names: at 80 %, with its interval.
BEFORE = {"prod": (215, 201, 231), "quad": (293, 250, 330), "friedman1": (717, 655, 779),
          "heavy": (1401, 1087, 1660), "hetero": (628, 486, 751)}


def recalls(table: Made, way: str, draws: int, seed: int) -> list[float]:
    """Mean recall at each n x epsilon of the grid."""
    n, d = table.X.shape
    k, domain = len(table.planted), Domain.box(0, 1, columns=d, target=table.bounds)
    source = open_source(table.X, table.y)
    actual_hits, summary = [], None
    for at, strength in enumerate(GRID):
        planned = plan("rule-sieve", domain, k=k, rows=n, numeric=way, joint="none",
                       epsilon=f"{strength / n:.9f}", allow_weak=True)
        if summary is None:
            rows = batches(source, planned.coding, rows=n, entropy=replay(0).bytes)
            summary = planned.summarise(rows, replay(seed).key())
            score = None if way == "median-cut" else scored(summary, rules_of(planned))
        hits = 0
        for i in range(draws):
            noise = replay(f"{seed} {at} {i}")
            # The mechanism, with its scores made once: they do not depend on epsilon.
            chosen = (planned.mechanism(summary, noise) if score is None else
                      top_k(score[0], Race(len(score[0]), k, score[1], planned.cost.epsilon),
                            noise))
            hits += len(table.planted.intersection(chosen))
        actual_hits.append(hits / draws / k)
    return actual_hits


def rules_of(planned: Plan) -> Rules:
    """The public parameters of a plan."""
    return planned.mechanism.keywords["rules"]  # type: ignore[attr-defined]


def need(curve: np.ndarray, chance: float) -> float:
    """Where the rising envelope of a curve reaches the level, between points by logarithms."""
    top = np.maximum.accumulate(curve)
    goal = chance + LEVEL * (1 - chance)
    if top[-1] < goal:
        return np.inf
    i = int(np.argmax(top >= goal))
    if i == 0:
        return GRID[0]
    share = (goal - top[i - 1]) / (top[i] - top[i - 1])
    return float(np.exp(np.log(GRID[i - 1]) + share * np.log(GRID[i] / GRID[i - 1])))


def interval(curves: np.ndarray, chance: float) -> tuple[float, float]:
    """5 % to 95 % over bootstrapped tables."""
    rng = np.random.default_rng(0)
    drawn = [need(curves[rng.integers(0, len(curves), len(curves))].mean(axis=0), chance)
             for _ in range(200)]
    low, high = np.quantile(drawn, [0.05, 0.95], method="nearest")
    return float(low), float(high)


def row(name: str, ways: tuple[str, ...], tables: int, draws: int) -> str:
    """A line of the result: what each way needs."""
    cells = []
    for way in ways:
        sets = [TABLES[name](np.random.default_rng([seed, 9])) for seed in range(tables)]
        many = 5 if way == "median-cut" else draws  # its scores are made anew in each draw
        curves = np.array([recalls(table, way, many, seed) for seed, table in enumerate(sets)])
        chance = len(sets[0].planted) / sets[0].X.shape[1]
        middle, (low, high) = need(curves.mean(axis=0), chance), interval(curves, chance)
        cells.append(f"{middle:.0f} [{low:.0f}, {high:.0f}], {curves.mean(axis=0)[-1]:.2f}")
    before = "{} [{}, {}]".format(*BEFORE[name])
    return f"| {name} | " + " | ".join(cells) + f" | {before} |"


def main() -> None:
    """Write a dated table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--short", action="store_true", help="few tables and draws")
    parser.add_argument("--only", nargs="*", default=list(TABLES))
    parser.add_argument("--ways", nargs="*", default=list(WAYS))
    arguments = parser.parse_args()
    tables, draws = (3, 5) if arguments.short else (12, 20)
    lines = [f"| table | {' | '.join(arguments.ways)} | prototype |",
             "|---" * (2 + len(arguments.ways)) + "|"]
    for name in arguments.only:
        began = time.time()
        lines.append(row(name, tuple(arguments.ways), tables, draws))
        print(lines[-1], f"{time.time() - began:.0f} s", flush=True)
    if arguments.only == list(TABLES) and arguments.ways == list(WAYS):
        ending = "_short" if arguments.short else ""
        today = dt.datetime.now(dt.UTC).date().isoformat()
        text = (f"# n x epsilon at 80 % of the way from guessing to all ({tables} tables, {draws} "
                "draws)\n\nWith 5 % to 95 % over tables, and the recall at 10,000; 5 draws for "
                "median-cut.\n\n" + "\n".join(lines) + "\n")
        (RESULTS / f"rule_sieve_regression{ending}_{today}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
