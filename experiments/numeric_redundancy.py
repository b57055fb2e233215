"""What the default does for a number where columns repeat each other: "auto" beside ranks.

    python experiments/numeric_redundancy.py [--short] [--only planted|real]

writes a dated table into `results/`: about ten minutes; `--short` takes two.

planted : generated tables, causes with copies among them; the share of what was planted that is
    named.
real : a column of a real table is the target; R2 of two regressors on fresh splits, beside random
    columns. The target's own near copies stay in the table: they are what repeats.
"""

from __future__ import annotations

import argparse

import numpy as np

import protocol
from privsieve.methods import plan
from privsieve.noise.streams import replay
from privsieve.public.domain import Domain
from privsieve.rows import open_source
from privsieve.rows.batch import batches
from rule_sieve_regression import TABLES

#: Seeds begin here: nobody designed by those of other experiments.
FRESH = 8300
#: Splits of one table overlap: errors are larger than those of independent ones by about this.
OVERLAP = 1.5
#: Units times epsilon for each column that is chosen.
STRENGTHS = (50, 100, 200, 400, 1000, 3000)
WAYS = {
    "auto": ("rule-sieve", {}),
    "ranks": ("rule-sieve", {"numeric": "ranks"}),
    "correlation": ("noisy-top-k", {"score": "correlation"}),
}
#: Real tables, the columns that are made targets in turn, and how many columns are sought.
REAL = (("wdbc", (3, 21, 27), 3), ("wdbc", (3, 21, 27), 5), ("waveform", (4, 10), 4),
        ("sonar", (20, 40), 4))


def choose(X, y, bounds, way, k, strength, *, seed, draws):
    """What some draws of noise choose."""
    n, d = X.shape
    domain = Domain.box(0, 1, columns=d, target=bounds)
    method, options = way
    epsilon = f"{-(-10**9 * strength * k // n) / 10**9:.9f}"  # rounded up
    planned = plan(method, domain, k=k, epsilon=epsilon, rows=n, allow_weak=True, **options)
    held = planned.summarise(batches(open_source(X, y), planned.coding, rows=n,
                                     entropy=replay(0).bytes),
                             replay(seed).key())
    return [tuple(planned.mechanism(held, replay(f"{seed} {strength} {i}"))) for i in range(draws)]


# planted


def causes(rng, n=3000):
    """Three causes of a number in four near copies each, among thirty columns."""
    cause = rng.standard_normal((n, 3))
    X = rng.standard_normal((n, 30))
    X[:, :12] = np.repeat(cause, 4, axis=1) + .3 * rng.standard_normal((n, 12))
    return (np.clip(X / 8 + .5, 0, 1), cause.sum(axis=1) + .5 * rng.standard_normal(n), (-20, 20),
            3, lambda chosen: len({j // 4 for j in chosen if j < 12}) / 3)


def repeated(rng, n=5700):
    """Five causes of a number among 21 columns, the strongest in eight near copies."""
    cause = rng.standard_normal((n, 5))
    X = rng.standard_normal((n, 21))
    X[:, :8] = cause[:, :1] + .3 * rng.standard_normal((n, 8))
    X[:, 8:12] = cause[:, 1:]
    y = cause @ [1, .6, .6, .5, .5] + .5 * rng.standard_normal(n)
    return (np.clip(X / 8 + .5, 0, 1), y, (-20, 20), 5,
            lambda chosen: len({max(j, 7) for j in chosen if j < 12}) / 5)


def planted(name):
    """A generated table of the experiment on ranks, with the share of its columns as quality."""
    def make(rng):
        table = TABLES[name](rng)
        k = len(table.planted)
        return (table.X, table.y, table.bounds, k,
                lambda chosen: len(table.planted.intersection(chosen)) / k)
    return make


PLANTED = {"three causes in four copies, 3 of 30": causes,
           "five causes, one in eight copies, 5 of 21": repeated,
           **{name: planted(name) for name in TABLES}}


def planted_lines(tables, draws, strengths):
    """For each kind of table a line a way: mean and standard error over tables."""
    yield "\n| table | way | " + " | ".join(map(str, strengths)) + " |"
    yield "|---" * (2 + len(strengths)) + "|"
    for name, make in PLANTED.items():
        new_tables = [make(np.random.default_rng([seed, 43]))
                      for seed in range(FRESH, FRESH + tables)]
        for way, way_options in WAYS.items():
            cells = []
            for strength in strengths:
                qualities = [np.mean([quality(columns) for columns in choose(
                    X, y, bounds, way_options, k, strength, seed=seed, draws=draws)])
                    for seed, (X, y, bounds, k, quality) in enumerate(new_tables)]
                cells.append(f"{np.mean(qualities):.2f} "
                             f"({np.std(qualities, ddof=1) / tables**.5:.2f})")
            yield f"| {name} | {way} | " + " | ".join(cells) + " |"
        X, _, _, k, quality = new_tables[0]
        rng = np.random.default_rng(1)
        chance = np.mean([quality(rng.choice(X.shape[1], k, replace=False)) for _ in range(2000)])
        yield f"| {name} | random | {chance:.2f}" + " |" * len(strengths)


# real


def r2(X, y, train, test, chosen):
    """The mean R2 of two regressors: linear, and ten neighbours."""
    from sklearn.linear_model import LinearRegression
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(X[train][:, chosen])
    learn, ask = (scaler.transform(X[rows][:, chosen]) for rows in (train, test))
    return float(np.mean([learner.fit(learn, y[train]).score(ask, y[test])
                          for learner in (LinearRegression(), KNeighborsRegressor(10))]))


def real(name, target, k, sizes):
    """R2 by way and strength, a number for each split; then that of random columns."""
    splits, draws, strengths = sizes
    whole, _ = protocol.scaled(name)
    X, y = np.delete(whole, target, axis=1), whole[:, target]
    scores = {(way, strength): [] for way in WAYS for strength in strengths}
    guessed = []
    for seed in range(FRESH, FRESH + splits):
        rng = np.random.default_rng([seed, 5])
        order = rng.permutation(len(y))
        test, train = order[:len(y) * 3 // 10], order[len(y) * 3 // 10:]
        for (way, strength), held in scores.items():
            chosen = choose(X[train], y[train], (0, 1), WAYS[way], k, strength, seed=seed,
                            draws=draws)
            held.append(np.mean([r2(X, y, train, test, list(column)) for column in chosen]))
        guessed.append(np.mean([r2(X, y, train, test, rng.choice(X.shape[1], k, replace=False))
                                for _ in range(20)]))
    return {at: np.array(held) for at, held in scores.items()}, np.array(guessed)


def cell(values):
    """Mean and standard error over splits that overlap."""
    return f"{values.mean():.3f} ({OVERLAP * values.std(ddof=1) / len(values)**.5:.3f})"


def real_lines(sizes):
    """One table for each target."""
    strengths = sizes[2]
    for name, targets, k in REAL:
        for target in targets:
            scores, guessed = real(name, target, k, sizes)
            yield f"\n### {name}, column {target}, k = {k}; random columns {cell(guessed)}\n"
            yield "| | " + " | ".join(map(str, strengths)) + " |"
            yield "|---" * (len(strengths) + 1) + "|"
            for way in WAYS:
                yield f"| {way} | " + " | ".join(cell(scores[way, s]) for s in strengths) + " |"
            for other in ("ranks", "correlation", None):
                less = [scores["auto", s] - (guessed if other is None else scores[other, s])
                        for s in strengths]
                yield f"| auto less {other or 'random'} | " + " | ".join(map(cell, less)) + " |"


HEAD = """\
By units times epsilon for each column chosen. Planted: {tables} tables, {draws} draws of noise
each, mean (standard error over tables). Real: {splits} splits, {draws} draws, mean R2 (standard
error, {OVERLAP} times that of independent splits); bounds are the columns' own and are treated as
public here.
"""


def main():
    """Measure and write down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", choices=("planted", "real"))
    arguments = parser.parse_args()
    tables, splits, draws = (3, 4, 1) if arguments.short else (10, 10, 2)
    parts = {"planted": lambda: planted_lines(tables, draws, STRENGTHS),
             "real": lambda: real_lines((splits, draws, STRENGTHS))}
    text = HEAD.format(OVERLAP=OVERLAP, tables=tables, splits=splits, draws=draws)
    for name, lines in parts.items():
        if arguments.only in (None, name):
            text += f"\n## {name}\n"
            for line in lines():
                print(line, flush=True)
                text += line + "\n"
    if arguments.only is None:
        protocol.write("numeric_redundancy", text, short=arguments.short)


if __name__ == "__main__":
    main()
