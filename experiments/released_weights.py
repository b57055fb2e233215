"""Released weights: how far they are from those without noise, and what they are good for.

    python experiments/released_weights.py [--short]

Generated tables with planted columns, the same for all methods.  For each epsilon: the length of
the noise in the released weights over the length of those without it, and the share of planted
columns among the largest; beside them the methods that release no weights.  `--short` takes few
tables and less than a minute, all of them some minutes.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import protocol
from privsieve.methods import plan
from privsieve.noise.streams import replay
from privsieve.public.domain import Domain
from privsieve.rows import open_source
from privsieve.rows.batch import batches

if TYPE_CHECKING:
    from collections.abc import Callable

    Table = tuple[np.ndarray, np.ndarray, set[int]]

ROWS, COLUMNS, PUBLIC, DRAWS = 20_000, 20, 200, 5
EPSILONS = ("0.1", "0.3", "1", "3", "10")
#: So large that the noise is far below any weight: what is released is what the table says.
ALMOST_NONE = 1000
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "OutputFWELL": ("output-fwell", {}),
    "FELP": ("felp", {}),
    "OutputFWELL, 200 public rows": ("output-fwell", {"reference": PUBLIC}),
    "BlockFWELL": ("block-fwell", {}),
    "RuleSieve": ("rule-sieve", {}),
}


def shifted(rng: np.random.Generator) -> Table:
    """Four of the columns are normal and shifted between the classes by 1 to 0.3 deviations."""
    y = rng.integers(0, 2, ROWS + PUBLIC)
    X = rng.standard_normal((len(y), COLUMNS))
    planted = rng.choice(COLUMNS, 4, replace=False)
    X[:, planted] += np.linspace(1, 0.3, 4) * rng.choice([-1, 1], 4) * (y[:, None] - 0.5)
    return np.clip(X / 8 + 0.5, 0, 1), y, set(planted.tolist())


def crossed(rng: np.random.Generator) -> Table:
    """Two of the columns decide the class by exclusive or, with a tenth of the labels flipped."""
    X = rng.random((ROWS + PUBLIC, COLUMNS))
    planted = rng.choice(COLUMNS, 2, replace=False)
    y = (X[:, planted] > 0.5).sum(axis=1) % 2 ^ (rng.random(len(X)) < 0.1)
    return X, y, set(planted.tolist())


TABLES: dict[str, Callable[[np.random.Generator], Table]] = {"shifted": shifted, "crossed": crossed}


def measured(make: Callable[[np.random.Generator], Table], method: str, seed: int,
             ) -> list[list[float]]:
    """For each epsilon: the noise over the weights (0 where there are none), and the recall."""
    X, y, planted = make(np.random.default_rng(seed))
    domain = Domain.box(0, 1, columns=COLUMNS)
    name, options = METHODS[method]
    if "reference" in options:
        options = {**options, "reference": (X[ROWS:], y[ROWS:])}
    read = list(batches(open_source(X[:ROWS], y[:ROWS]), domain, rows=ROWS,
                        entropy=replay(seed).bytes))
    plans = {epsilon: plan(name, domain, k=len(planted), epsilon=epsilon, rows=ROWS,
                           allow_weak=True, **options) for epsilon in (*EPSILONS, ALMOST_NONE)}
    summary = plans[ALMOST_NONE].summarise(read, replay(seed).key())
    return [_at(plans[epsilon], plans[ALMOST_NONE], summary, planted, seed) for epsilon in EPSILONS]


def _at(planned: Any, quiet: Any, summary: Any, planted: set[int], seed: int) -> list[float]:
    noise = replay(10**6 + seed)
    drawn = [planned.mechanism(summary, noise) for _ in range(DRAWS)]
    if planned.kind != "weights":
        return [0.0, float(np.mean([len(planted & set(output))
                                    for output in drawn]) / len(planted))]
    true = numbers(quiet, quiet.mechanism(summary, noise))
    weights = [numbers(planned, output) for output in drawn]
    far = np.mean([np.linalg.norm(weight - true) for weight in weights]) / np.linalg.norm(true)
    kept = [len(planted & set(np.argsort(-weight)[: len(planted)].tolist())) for weight in weights]
    return [float(far), float(np.mean(kept) / len(planted))]


def numbers(planned: Any, q: tuple[int, ...]) -> np.ndarray:
    """What leaves, as doubles."""
    return np.array(q) * float(Fraction(2) ** planned.says(q)["values"]["exponent"])


def write_figure(values: np.ndarray) -> str:
    """Means with standard errors over tables."""
    mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return " | ".join(f"{a:.2f} ± {b:.2f}" for a, b in zip(mean, error, strict=True))


def main() -> None:
    """Measure and write down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="three tables")
    arguments = parser.parse_args()
    memory = protocol.Memory("released_weights")
    many = 3 if arguments.short else 20
    text = f"{ROWS} rows, {COLUMNS} columns; {many} tables, {DRAWS} draws each"
    parts = [f"## Released weights\n\n{text}; ± is the standard error over tables.\n"]
    head = "| method | " + " | ".join(f"epsilon {e}" for e in EPSILONS) + " |\n|---" + (
        "|---" * len(EPSILONS)) + "|\n"
    for name, make in TABLES.items():
        results = {method: np.array([memory.cell((name, method, seed),
                                                 partial(measured, make, method, seed))
                                     for seed in range(many)]) for method in METHODS}
        parts += [f"### {name}: noise over weights\n\n{head}" + "".join(
            f"| {method} | {write_figure(cells[:, :, 0])} |\n" for method, cells in results.items()
            if METHODS[method][0] in ("output-fwell", "felp")),
            f"### {name}: share of planted columns that are found\n\n{head}" + "".join(
            f"| {method} | {write_figure(cells[:, :, 1])} |\n"
            for method, cells in results.items())]
        print("\n".join(parts[-2:]), flush=True)
    protocol.write("released_weights", "\n".join(parts), short=arguments.short)


if __name__ == "__main__":
    main()
