"""How often the best subset of a linear model is found, exactly, beside a rival of NeurIPS 2025.

Its tables: columns of which each follows the one before it (AR(rho)), five that matter, a signal of
five times the noise, all clipped at half a standard deviation.  Scores and values are the integers
of this package, drawn from as its races do; the default of RuleSieve is what a release runs. The
rival's two laws are in closed form, in doubles.

    python experiments/best_subset.py [--short] [--columns 100]
"""

from __future__ import annotations

import argparse
import datetime as dt
import math
import time
from dataclasses import replace
from itertools import combinations, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from privsieve.methods import plan
from privsieve.noise.streams import replay
from privsieve.public.columns import Label, Number
from privsieve.public.domain import Domain
from privsieve.rows import open_source
from privsieve.rows.batch import batches

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from privsieve.noise.race import Race
    from privsieve.public.plan import Plan

RESULTS = Path(__file__).parent / "results"
#: Columns that matter, how much stronger they are than noise, and what all is clipped at.
K, SNR, CLIP = 5, 5, 0.5
#: The rival's ridge and the length of its weights; of the others it tries this number beside some.
RIDGE, RADIUS, OTHERS, TRIED = 120.0, 1.1, 25, 400
RHOS = (0.1, 0.5, 0.8)
ROWS = {100: (1000, 2000, 3000, 5000, 10_000, 20_000), 1000: (3000, 5000, 10_000)}
#: Draws from one race.
DRAWS = 500
#: Draws by the whole mechanism of RuleSieve, and tables, by how many columns there are.
WHOLE, TABLES = {100: 3, 1000: 2}, {100: 5, 1000: 2}


class Table(NamedTuple):
    """Columns, a target and the columns that make it."""

    X: np.ndarray
    y: np.ndarray
    planted: tuple[int, ...]


class Hits(NamedTuple):
    """The share of draws that name all that matter and nothing else, and of these columns found."""

    exact: float
    share: float


def autoregressive(seed: Sequence[int], n: int, p: int, rho: float) -> Table:
    """The rival's tables: every second column matters, from the second on."""
    rng = np.random.default_rng([11, *seed])
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + math.sqrt(1 - rho**2) * X[:, j]
    planted = tuple(range(1, 2 * K + 1, 2))
    signal = X[:, planted].sum(axis=1) / math.sqrt(K)
    noise = rng.standard_normal(n)
    scale = np.linalg.norm(signal) / (math.sqrt(SNR) * np.linalg.norm(noise))
    return Table(X, signal + scale * noise, planted)


def summarised(table: Table, *bounds: float, **options: object) -> tuple[Plan, object]:
    """A plan at epsilon 1 for columns between bounds, or without, and the summary of a table."""
    n, p = table.X.shape
    target = Number("y", *bounds) if table.y.dtype.kind == "f" else Label("y", (-1, 1))
    domain = Domain([Number(f"x{j}", *bounds) for j in range(p)], target=target)
    planned = plan(domain=domain, k=K, epsilon=1, rows=n, **options)  # type: ignore[arg-type]
    rows = batches(open_source(table.X, table.y), planned.coding, rows=n, entropy=replay(1).bytes)
    return planned, planned.summarise(rows, 1)


def drawn(scores: Sequence[int], race: Race, draws: int, rng: np.random.Generator) -> np.ndarray:
    """The places of what a race names, once a row; exponential noise of its scale, in doubles."""
    top = max(scores)
    gap = np.array([float((score - top) / race.scale) for score in scores])
    noisy = gap + rng.exponential(size=(draws, len(gap)))
    return np.argpartition(-noisy, race.k - 1, axis=1)[:, :race.k]


def hits(named: np.ndarray, planted: tuple[int, ...]) -> Hits:
    """Of many draws; a row is the columns that one names."""
    right = np.isin(named, planted).sum(axis=1)
    return Hits(float((right == K).mean()), float(right.mean() / K))


def by_sieve(table: Table, **options: object) -> Hits:
    """RuleSieve, by draws of its whole mechanism; no bounds."""
    planned, summary = summarised(table, method="rule-sieve", **options)
    named = [planned.mechanism(summary, replay(seed))
             for seed in range(WHOLE.get(table.X.shape[1], 2))]
    return hits(np.array(named), table.planted)


def by_default(table: Table, _rng: np.random.Generator) -> Hits:
    """RuleSieve as it is where nothing is asked for."""
    return by_sieve(table)


def by_correlation(table: Table, rng: np.random.Generator) -> Hits:
    """NoisyTopK; bounds clip."""
    planned, moments = summarised(table, -CLIP, CLIP, method="noisy-top-k", score="correlation")
    terms = planned.mechanism.keywords["terms"]  # type: ignore[attr-defined]
    race = replace(terms.race, sensitivity=terms.scored.sensitivity(None))
    return hits(drawn(terms.scored.values(moments, None), race, DRAWS, rng), table.planted)


def by_ranks(table: Table, _rng: np.random.Generator) -> Hits:
    """RuleSieve by ranks of the target; of 1,000 columns each alone, for time."""
    deep = {} if table.X.shape[1] <= 100 else {"depth": 1}
    return by_sieve(table, numeric="ranks", **deep)


# the rival


class Fit(NamedTuple):
    """Sums of clipped products, and the rows."""

    A: np.ndarray
    b: np.ndarray
    square: float
    n: int

    def losses(self, sets: np.ndarray) -> np.ndarray:
        """Half the mean squared error of the best short weights of each set, and their ridge."""
        lam, turn = np.linalg.eigh(self.A[sets[:, :, None], sets[:, None, :]])
        lam, side = lam + RIDGE, np.einsum("sij,si->sj", turn, self.b[sets])
        low = np.zeros(len(sets))
        high = np.linalg.norm(side, axis=1) / RADIUS
        long = (side**2 / lam**2).sum(axis=1) > RADIUS**2
        for _ in range(50):
            middle = (low + high) / 2
            over = (side**2 / (lam + middle[:, None])**2).sum(axis=1) > RADIUS**2
            low, high = np.where(over, middle, low), np.where(over, high, middle)
        beta = side / (lam + np.where(long, high, 0.0)[:, None])
        full_losses: np.ndarray = self.square + (beta * (lam * beta - 2 * side)).sum(axis=1)
        return full_losses / (2 * self.n)

    @property
    def moves(self) -> float:
        """How far one row moves a loss."""
        return CLIP**2 * (1 + RADIUS * math.sqrt(K))**2 / (2 * self.n)


def by_rival(table: Table, _rng: np.random.Generator) -> tuple[Hits, Hits]:
    """The chance of the planted set, by its two methods: the best R sets, and by mistakes.

    It is in their favour: the best sets with several mistakes are looked for among 25 columns
    and up to 400 of their sets, and what is found is never better than the best there is.
    """
    X, y = (np.clip(array, -CLIP, CLIP) for array in (table.X, table.y))
    return chances_of_rival(Fit(X.T @ X, X.T @ y, float(y @ y), len(y)), table.planted)


def chances_of_rival(fit: Fit, true: tuple[int, ...]) -> tuple[Hits, Hits]:
    """Return the chance that each of its methods names exactly the columns that matter."""
    p = len(fit.b)
    rest = [j for j in range(p) if j not in true]
    best = [fit.losses(np.array([true])), fit.losses(np.array(
        [[*(k for k in true if k != out), new] for out in true for new in rest]))]
    near = sorted(rest, key=lambda j: -abs(fit.b[j]))[:OTHERS]
    best += [fit.losses(np.array([
        [*(k for k in true if k not in out), *new] for out in combinations(true, many)
        for new in islice(combinations(near, many), TRIED)])) for many in range(2, K + 1)]
    # all in units of the exponential mechanism at epsilon 1
    planted, *others = (-loss / (2 * fit.moves) for loss in best)
    listed = np.concatenate([planted, others[0], [others[1].max()]])
    tail = math.log(math.comb(p, K) - len(listed)) + min(others[1].max(), others[0].min())
    top = np.exp(planted[0] - np.logaddexp.reduce([*listed, tail]))
    classes = [math.log(math.comb(p - K, many) * math.comb(K, many)) + log.max()
               for many, log in enumerate([planted, *others])]
    mistakes = np.exp(planted[0] - np.logaddexp.reduce(classes))
    return Hits(float(top), math.nan), Hits(float(mistakes), math.nan)


WAYS: dict[str, Callable[[Table, np.random.Generator], Hits | tuple[Hits, Hits]]] = {
    "RuleSieve": by_default, "RuleSieve, ranks": by_ranks,
    "NoisyTopK, correlation": by_correlation, "rival": by_rival}
COLUMNS = (*list(WAYS)[:-1], "rival, best R", "rival, mistakes")


def row(p: int, rho: float, n: int, tables: int) -> str:
    """A line of the result."""
    counts: list[list[Hits]] = []
    for seed in range(tables):
        table = autoregressive((seed, p, n, int(10 * rho)), n, p, rho)
        rng = np.random.default_rng([seed, n])
        shares: list[Hits] = []
        for way in WAYS.values():
            result = way(table, rng)
            shares += [result] if isinstance(result, Hits) else result
        counts.append(shares)
    cells = []
    for at in range(len(COLUMNS)):
        exact, hits = np.array([share[at] for share in counts]).T
        error = exact.std(ddof=1) / math.sqrt(tables) if tables > 1 else math.nan
        share = "" if math.isnan(hits[0]) else f"; {hits.mean():.2f}"
        cells.append(f"{exact.mean():.2f} ({error:.2f}){share}")
    return f"| {p} | {rho} | {n:,} | " + " | ".join(cells) + " |"


def main() -> None:
    """Write a dated table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--short", action="store_true", help="one table, few rows")
    parser.add_argument("--columns", nargs="*", type=int, default=list(ROWS))
    arguments = parser.parse_args()
    tables = {100: 1, 1000: 1} if arguments.short else TABLES
    lines = [f"| p | rho | n | {' | '.join(COLUMNS)} |", "|---" * (3 + len(COLUMNS)) + "|"]
    for p in arguments.columns:
        for rho in RHOS:
            for n in ROWS[p][:2] if arguments.short else ROWS[p]:
                began = time.process_time()
                lines.append(row(p, rho, n, tables[p]))
                print(lines[-1], f"{time.process_time() - began:.0f} s", flush=True)
    many = " and ".join(f"{tables[p]} tables of {p}" for p in arguments.columns)
    text = (f"# The best subset of five, at epsilon 1 ({many} columns a line)\n\nShare of draws "
            "with exactly the planted columns (standard error over tables); share of the five. "
            f"{' and '.join(str(WHOLE[p]) for p in arguments.columns)} draws of RuleSieve, {DRAWS} "
            "of NoisyTopK; the rival in closed form.\n\n" + "\n".join(lines) + "\n")
    if set(arguments.columns) == set(ROWS):
        ending = "_short" if arguments.short else ""
        today = dt.datetime.now(dt.UTC).date().isoformat()
        (RESULTS / f"best_subset{ending}_{today}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
