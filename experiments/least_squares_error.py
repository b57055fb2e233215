"""How far a private least-squares model errs, by epsilon and size, on a made-up table.

    python experiments/least_squares_error.py            # a minute
    python experiments/least_squares_error.py --short    # seconds

Friedman's function of five of ten uniform columns, with normal noise of deviation 1, cut to 0..30.
Errors are root mean squares on 10,000 fresh rows, in the target's unit; means over drawn tables,
one release of each, and after +- their standard errors.  `lam` is "auto".
"""

from __future__ import annotations

import argparse

import numpy as np

import privsieve as ps
from privsieve.fit import fit
from privsieve.methods import plan
from privsieve.methods.ridge.ridge import Released
from privsieve.noise.streams import replay
from privsieve.rows import open_source

LOW, HIGH, COLUMNS = 0.0, 30.0, 10
KERNELS = {"linear": {"kernel": "linear"}, "cosine": {"kernel": "cosine"},
           "rbf, 100 features": {"kernel": "rbf", "features": 100},
           "the same, delta 1e-9": {"kernel": "rbf", "features": 100, "delta": "1e-9"}}
EPSILONS = ("0.1", "0.3", "1", "3", "10")
DOMAIN = ps.Domain.box(0, 1, columns=COLUMNS, target=(LOW, HIGH))


def table(rng, n):
    """Columns and target."""
    X = rng.random((n, COLUMNS))
    true = (10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3]
            + 5 * X[:, 4])
    return X, np.clip(true + rng.normal(0, 1, n), LOW, HIGH)


def error(fitted, test):
    """Root of the mean square on fresh rows."""
    X, y = test
    return float(np.sqrt(np.mean((Released.of(fitted).predict(open_source(X)) - y) ** 2)))


def cell(options, n, epsilon, seeds):
    """Errors of one release on each of some tables."""
    errors = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        X, y = table(rng, n)
        planned = plan("kernel-ridge", DOMAIN, epsilon=epsilon, rows=n, **options)
        errors.append(error(fit(planned, open_source(X, y), noise=replay(seed)),
                            table(rng, 10_000)))
    return np.array(errors)


def main():
    """Print a table for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="one size, two tables")
    short = parser.parse_args().short
    for n, count in ((2000, 10), (20_000, 10), (200_000, 5)) if not short else ((2000, 2),):
        _X, y = table(np.random.default_rng(0), 10_000)
        print(f"\n{n:,} rows; the middle of the range errs by {np.sqrt(np.mean((15 - y)**2)):.2f},"
              f" the mean by {y.std():.2f}\n".replace(",", " ", 1))
        print("| kernel | " + " | ".join(f"epsilon {epsilon}" for epsilon in EPSILONS) + " |")
        print("|---" * (len(EPSILONS) + 1) + "|")
        for name, options in KERNELS.items():
            cells = [cell(options, n, epsilon, range(count)) for epsilon in EPSILONS]
            print(f"| {name} | " + " | ".join(
                f"{some.mean():.2f} ± {some.std(ddof=1) / np.sqrt(count):.2f}"
                for some in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
