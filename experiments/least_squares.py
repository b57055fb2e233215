"""Private least squares: error against m and epsilon, beside the bounds of Theorems 1 to 3.

    python experiments/least_squares.py [--short]

A made-up world in which everything is known: x is uniform on [0, 1], the kernel has the 60
eigenfunctions sqrt(2) cos(pi j x) with eigenvalues proportional to 1 / j^2, kappa = M = 1, and the
truth is L^r g.  The excess error of a fit is exact; the noise adds twice its squared scale.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privsieve.methods.ridge import choice
from privsieve.methods.ridge.sensitivity import of_predictions
from privsieve.papers.kernel_ridge import printed_sensitivity
from privsieve.public.canonical import exact
from protocol import write

FEATURES = 60
SMOOTH = (0.25, 0.5, 1.0)
#: What Theorem 3 says of the error's slope in m, for each smoothness.
CLAIMED = {0.25: -2 / 9, 0.5: -1 / 3, 1.0: -1 / 3}
RECORDS = [round(10 ** (2 + step / 2)) for step in range(9)]  # 100 to 10^6
CHUNK = 50_000


@dataclass(frozen=True)
class World:
    """A truth of smoothness r: half of the target's range, with uniform noise of the other half."""

    r: float

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """Their sum is a half: the kernel is at most 1."""
        mu = 1 / np.arange(1, FEATURES + 1) ** 2
        return mu / mu.sum() / 2

    @cached_property
    def g(self) -> np.ndarray:
        """Of the truth L^r g, which is at most a half."""
        g = np.arange(1, FEATURES + 1) ** -0.6
        return g * 0.5 / (np.sqrt(2) * self.eigenvalues**self.r * g).sum()

    @property
    def truth(self) -> np.ndarray:
        """Coefficients of the eigenfunctions."""
        return self.eigenvalues**self.r * self.g

    @property
    def length(self) -> float:
        """The squared length of g, which the bounds call G."""
        return float(self.g @ self.g)

    @property
    def floor(self) -> float:
        """The error of the truth itself: the variance of the target's noise."""
        return 1 / 12

    def moments(self, m: int, seed: int) -> Moments:
        """Sums of products of a fresh table of m records."""
        rng = np.random.default_rng([m, seed, round(100 * self.r)])
        made = Moments(np.zeros((FEATURES, FEATURES)), np.zeros(FEATURES), 0.0, 0)
        for at in range(0, m, CHUNK):
            x = rng.random(min(CHUNK, m - at))
            e = np.sqrt(2) * np.cos(np.pi * np.outer(x, np.arange(1, FEATURES + 1)))
            y = e @ self.truth + rng.uniform(-0.5, 0.5, len(x))
            made = Moments(made.products + e.T @ e, made.target + e.T @ y,
                           made.square + float(y @ y), made.m + len(x))
        return made

    def excess(self, coefficients: np.ndarray) -> float:
        """Exactly how much worse than the truth a function is, over all x."""
        off = coefficients - self.truth
        return float(off @ off)


@dataclass(frozen=True)
class Moments:
    """What a fit needs of a table."""

    products: np.ndarray
    target: np.ndarray
    square: float
    m: int

    def fit(self, lam: float, eigenvalues: np.ndarray) -> np.ndarray:
        """Coefficients of the minimiser, in the eigenfunctions."""
        root = np.sqrt(eigenvalues)
        system = root[:, None] * self.products * root / self.m + lam * np.eye(FEATURES)
        return root * np.linalg.solve(system, root * self.target / self.m)

    def error(self, coefficients: np.ndarray) -> float:
        """Mean squared error on the table itself."""
        return float(coefficients @ self.products @ coefficients
                     - 2 * coefficients @ self.target + self.square) / self.m


def paper_noise(m: int, epsilon: float, lam: float) -> float:
    """The variance of the noise as printed."""
    return 2 * (printed_sensitivity(m, lam) / epsilon) ** 2


def our_noise(m: int, epsilon: float, lam: float) -> float:
    """The variance of ours."""
    return 2 * float(of_predictions(lam, m) / exact(epsilon, "epsilon")) ** 2


def mean_excess(world: World, m: int, lam: float, repeats: int) -> float:
    """Of fits without noise."""
    return float(np.mean([world.excess(world.moments(m, seed).fit(lam, world.eigenvalues))
                          for seed in range(repeats)]))


def rule_rows(world: World, records: list[int], repeats: int) -> list[tuple[float, ...]]:
    """m, epsilon, lam, excess without noise, with the paper's and with ours, and the bound."""
    rows = []
    for m in records:
        epsilon, lam = choice.suggest(m, world.r)
        plain = mean_excess(world, m, lam, repeats if m < 10**5 else 2)
        rows.append((m, epsilon, lam, plain, plain + paper_noise(m, epsilon, lam),
                     plain + our_noise(m, epsilon, lam),
                     choice.error_bound(m, epsilon, lam, world.r, world.length)))
    return rows


def slope(rows: list[tuple[float, ...]], column: int) -> float:
    """Of a column against m, both logarithms, over the last five."""
    last = np.log([(row[0], row[column]) for row in rows[-5:]])
    return float(np.polyfit(last[:, 0], last[:, 1], 1)[0])


def both_rules(m: int, epsilon: float, repeats: int) -> list[tuple[str, float, float, float]]:
    """Ways to choose, each with epsilon, lam and the total error that is measured: r is a half."""
    world = World(0.5)
    ways = [("Theorem 3, its own epsilon", *choice.suggest(m, 0.5)),
            ("Theorem 2", *choice.suggest(m, 0.5, epsilon)),
            ("noise against ridge", epsilon, choice.suggest_lambda(m, epsilon))]
    return [(name, e, lam, mean_excess(world, m, lam, repeats) + our_noise(m, e, lam))
            for name, e, lam in ways]


def gap(m: int, epsilon: float, repeats: int) -> tuple[float, float]:
    """Theorem 1: error on all x less error on the table, of one noisy prediction; and its bound.

    The noise is the same on both sides; it enters the bound, through the mean of what is averaged.
    """
    world, lam = World(0.5), choice.suggest_lambda(m, epsilon)
    found, whole = [], []
    for seed in range(repeats):
        table = world.moments(m, seed)
        by = table.fit(lam, world.eigenvalues)
        everywhere = world.excess(by) + world.floor
        found.append(everywhere - table.error(by))
        whole.append(everywhere + our_noise(m, epsilon, lam))
    return float(np.mean(found)), choice.generalisation_gap(epsilon, float(np.mean(whole)))


def report(*, short: bool) -> str:
    """All tables."""
    repeats, records = (2, RECORDS[:-2]) if short else (10, RECORDS)
    lines = ["## Theorem 3: its rule for epsilon and lambda", "",
             "| r | claimed slope | paper's | ours | m | no noise | paper's | ours | bound |",
             "|---" * 9 + "|"]
    for r in SMOOTH:
        rows = rule_rows(World(r), records, repeats)
        m, _, _, *errors = rows[-1]
        lines.append(f"| {r} | {CLAIMED[r]:.3f} | {slope(rows, 4):.3f} | {slope(rows, 5):.3f} | "
                     f"{m} | " + " | ".join(f"{error:.3g}" for error in errors) + " |")
    lines += ["", "The slopes are over the last five m; errors are at the largest.", "",
              "## Both rules for lambda, r = 0.5, our noise", "",
              "| m | epsilon | way | its epsilon | lambda | total error |", "|---" * 6 + "|"]
    for m in (1000, 10_000, 100_000):
        for epsilon in (0.1, 1.0):
            lines += [f"| {m} | {epsilon} | {name} | {e:.3g} | {lam:.3g} | {error:.3g} |"
                      for name, e, lam, error in both_rules(m, epsilon, repeats)]
    lines += ["", "## Theorem 2: a fixed epsilon, lambda by its rule, r = 0.5", "",
              "| m | epsilon | error - (1 + 2 epsilon) of the truth's | bound |", "|---" * 4 + "|"]
    for m in (1000, 10_000, 100_000):
        for epsilon in (0.1, 1.0):
            _, (_, _, lam, error), _ = both_rules(m, epsilon, repeats)
            bound = choice.fixed_epsilon_bound(m, epsilon, lam, 0.5, World(0.5).length)
            lines.append(f"| {m} | {epsilon} | {error - 2 * epsilon / 12:.3g} | {bound:.3g} |")
    lines += ["", "## Theorem 1: error on all x less error on the table", "",
              "| m | epsilon | measured | bound |", "|---" * 4 + "|"]
    for m in (1000, 10_000):
        for epsilon in (0.01, 0.1, 1.0):
            measured, bound = gap(m, epsilon, repeats)
            lines.append(f"| {m} | {epsilon} | {measured:.2g} | {bound:.2g} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write a dated result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--short", action="store_true", help="two tables for each figure")
    short = parser.parse_args().short
    text = report(short=short)
    print(text)
    write("least_squares", text, short=short)


if __name__ == "__main__":
    main()
