"""The peer of synthetic rows: MST over private-pgm (`mbi`), which keeps one- and two-way margins.

MST (McKenna, Miklau, Sheldon 2021) measures every column alone, draws a spanning tree of pairs by
the exponential mechanism, measures its pairs, and fits a graphical model to all of it.  The fit
and the rows are those of `mbi`; the package brings no mechanism, so that the three steps are
written here, without the paper's compression of rare levels.  Noise is NumPy's: this is no
release.  A replaced row moves two counts of a margin, so that its sensitivities are those of
replace-one.
"""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it speaks of float32 and of a cache
        import jax
        import mbi
except ImportError:  # it brings jax, and is installed by those who want the comparison
    mbi = None

ITERATIONS = 2000


def version() -> str:
    """What is measured against, for the head of a result."""
    if mbi is None:
        return "without mbi"
    from importlib.metadata import version as of

    return f"mbi {of('mbi')}"


def rho_of(epsilon: float, delta: float) -> float:
    """The largest rho whose zCDP is (epsilon, delta)-DP (Canonne, Kamath, Steinke 2020).

    >>> round(rho_of(1.0, 1e-9), 5)
    0.01497
    """
    low, high = 0.0, epsilon
    for _ in range(60):
        rho = (low + high) / 2
        low, high = (rho, high) if _delta(rho, epsilon) <= delta else (low, rho)
    return low


def _delta(rho: float, epsilon: float) -> float:
    alpha = 1 + np.exp(np.linspace(math.log(1e-3), math.log(1e6), 20_000))
    log = (alpha - 1) * (alpha * rho - epsilon) + alpha * np.log1p(-1 / alpha) - np.log(alpha - 1)
    return float(np.exp(log.min()))


def mst(cells: np.ndarray, sizes: list[int], epsilon: float, delta: float,
        rng: np.random.Generator) -> np.ndarray:
    """As many synthetic rows as there are, as cells."""
    names = [f"x{j}" for j in range(len(sizes))]
    domain = mbi.Domain(names, sizes)
    n, rho = len(cells), rho_of(epsilon, delta)

    def margin(*columns: int) -> np.ndarray:
        shape = [sizes[j] for j in columns]
        place = np.ravel_multi_index(tuple(cells[:, j] for j in columns), shape)
        return np.bincount(place, minlength=math.prod(shape)).astype(float)

    def measured(cliques: list[tuple[int, ...]]) -> list[Any]:
        # a third of rho for all of them; one row moves a margin by sqrt(2)
        sigma = math.sqrt(2) * math.sqrt(3 * len(cliques) / (2 * rho))
        return [mbi.LinearMeasurement(margin(*c) + rng.normal(0, sigma, math.prod(
            sizes[j] for j in c)), tuple(names[j] for j in c), sigma) for c in cliques]

    def fitted(log: list[Any]) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return mbi.estimation.MirrorDescent().estimate(domain, log, known_total=n,
                                                           iters=ITERATIONS)

    log = measured([(j,) for j in range(len(sizes))])
    log += measured(_tree(log, margin, sizes, math.sqrt(8 * rho / 3 / (len(sizes) - 1)), rng))
    rows = fitted(log).synthetic_data(rows=n).to_dict()
    return np.column_stack([rows[name] for name in names])


def _tree(log: list[Any], margin: Any, sizes: list[int], epsilon: float,
          rng: np.random.Generator) -> list[tuple[int, ...]]:
    """A spanning tree, an edge at a time: the pair that independence fits worst, by exponential."""
    alone = [np.maximum(np.asarray(column.noisy_measurement), 0) for column in log]
    alone = [column / max(column.sum(), 1) for column in alone]
    pairs = list(itertools.combinations(range(len(sizes)), 2))
    n = margin(0).sum()
    # what the model of the margins alone says of a pair is their product
    total_score = {(a, b): np.abs(margin(a, b) - n * np.outer(alone[a], alone[b]).ravel()).sum()
                   for a, b in pairs}
    parents, edges = list(range(len(sizes))), []
    for _ in range(len(sizes) - 1):
        open_pairs = [(a, b) for a, b in pairs if parents[a] != parents[b]]
        score = np.array([total_score[pair] for pair in open_pairs])
        # a replaced row moves two counts of a margin by 1, and so the distance by 2
        chance = np.exp((score - score.max()) * epsilon / (2 * 2))
        a, b = open_pairs[rng.choice(len(score), p=chance / chance.sum())]
        edges.append((a, b))
        parents = [parents[a] if p == parents[b] else p for p in parents]
    return edges


def quiet() -> None:
    """JAX in double precision, as its own advice is for exact fits."""
    if mbi is not None:
        jax.config.update("jax_enable_x64", True)
