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
from math import expm1, sqrt
from typing import NamedTuple

import numpy as np

from papers.kernel_ridge import printed_sensitivity
from privsieve.errors import ParameterError
from privsieve.methods.ridge.sensitivity import of_predictions, suggest_lambda
from privsieve.public.canonical import exact
from protocol import write

FEATURES = 60
SMOOTH = (0.25, 0.5, 1.0)
#: What Theorem 3 says of the error's slope in m, for each smoothness.
CLAIMED = {0.25: -2 / 9, 0.5: -1 / 3, 1.0: -1 / 3}
RECORDS = [round(10 ** (2 + step / 2)) for step in range(9)]  # 100 to 10^6
CHUNK = 50_000
#: Up to here exp(epsilon) - 1 <= 2 epsilon, by which the paper's bounds are derived.
LARGEST_EPSILON = 1.25


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
        new_moments = Moments(np.zeros((FEATURES, FEATURES)), np.zeros(FEATURES), 0.0, 0)
        for at in range(0, m, CHUNK):
            x = rng.random(min(CHUNK, m - at))
            e = np.sqrt(2) * np.cos(np.pi * np.outer(x, np.arange(1, FEATURES + 1)))
            y = e @ self.truth + rng.uniform(-0.5, 0.5, len(x))
            new_moments = Moments(new_moments.products + e.T @ e, new_moments.target + e.T @ y,
                                  new_moments.square + float(y @ y), new_moments.m + len(x))
        return new_moments

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


# The rules and bounds of Nie and Wang 2017.  r and G are assumptions about the truth f*: f* = L^r g
# with |g|^2 = G, where L averages the kernel over the points.

class EpsilonChoice(NamedTuple):
    """An epsilon and a lam, of nine decimals at most: as they are read elsewhere."""

    epsilon: float
    lam: float


def suggest(m: int, r: float, epsilon: object = None) -> EpsilonChoice:
    """The rule of Theorem 3 for m records; of Theorem 2 where epsilon is given.

    The first lets epsilon fall with m as slowly as its bound allows: it is a small epsilon, and a
    lam that suits it.  Both are for a prediction at one point.
    """
    _check(m, r)
    if epsilon is None:
        chosen = round(m ** -min(1 / 3, 4 * r / (3 + 6 * r)), 9)
        strength = m * chosen
    else:
        chosen, strength = float(exact(epsilon, "epsilon")), float(m)
    return EpsilonChoice(chosen, round(strength ** (-2 / min(4, 3 + 2 * r)), 9))


def error_bound(m: int, epsilon: float, lam: float, r: float, G: float = 1.0,
                sizes: tuple[float, float] = (1.0, 1.0)) -> float:
    """The bound of Theorem 3 on a private prediction's expected excess squared error.

    `sizes` are kappa and M: bounds of the kernel's root and of the target.
    It holds for the noise of the paper and for ours, which is less.  The paper's sample term,
    8 sqrt(2 pi) M^2 / sqrt(m), is left out: its expectation is 0, for the function that it is about
    does not depend on the rows.  Above M^2 it says nothing that zero does not.
    """
    noise, ridge = _terms(m, epsilon, lam, r, (G, *sizes))
    # [theorem-3]
    return 8 * sizes[1] ** 2 * epsilon + noise + ridge


def fixed_epsilon_bound(m: int, epsilon: float, lam: float, r: float,
                        G: float = 1.0, sizes: tuple[float, float] = (1.0, 1.0)) -> float:
    """The bound of Theorem 2: expected error above (1 + 2 epsilon) times that of the truth.

    The factor 1 + 2 epsilon of the last term is lost in print, and kept here.
    """
    noise, ridge = _terms(m, epsilon, lam, r, (G, *sizes))
    # [theorem-2]
    return noise + (1 + 2 * epsilon) * ridge


def generalisation_gap(epsilon: object, G: float = 1.0) -> float:
    """Theorem 1: how far an epsilon-private choice's mean on its rows can be from that on others.

    G bounds the expected value of what is averaged, which is never negative.  The paper has
    2 G epsilon, for epsilon below 1; this is the number before it was rounded up.
    """
    value = exact(epsilon, "epsilon")
    if value < 0 or not G >= 0:
        raise ParameterError(f"epsilon is {epsilon} and G is {G}; neither may be negative")
    return expm1(float(value)) * G


def _terms(m: int, epsilon: float, lam: float, r: float, sizes: tuple[float, float, float],
           ) -> tuple[float, float]:
    """Noise three times, and approximation: what both bounds have."""
    G, kappa, M = sizes
    _check(m, r)
    if not (0 < epsilon <= LARGEST_EPSILON and 0 < lam <= 1 and G > 0 and kappa > 0 and M > 0):
        raise ParameterError(f"epsilon is {epsilon}, lam is {lam}, G is {G}, kappa is {kappa} and "
                             f"M is {M}; the bound is derived for epsilon up to {LARGEST_EPSILON} "
                             "and lam up to 1, all above 0")
    longest = M / sqrt(lam)
    noise = 24 * (longest * kappa**2 * (kappa + 1) / (lam * m * epsilon)) ** 2
    return noise, lam ** min(1, 2 * r) * (kappa ** (4 * r - 2) + kappa ** (4 * r - 4) + 2) * G


def _check(m: int, r: float) -> None:
    if m < 1 or not r > 0:
        raise ParameterError(f"m is {m} and r is {r}; give at least one record, and r above 0: how "
                             "smooth the truth is (0.5: it lies in the kernel's space)")


def rule_rows(world: World, records: list[int], repeats: int) -> list[tuple[float, ...]]:
    """m, epsilon, lam, excess without noise, with the paper's and with ours, and the bound."""
    rows = []
    for m in records:
        epsilon, lam = suggest(m, world.r)
        plain = mean_excess(world, m, lam, repeats if m < 10**5 else 2)
        rows.append((m, epsilon, lam, plain, plain + paper_noise(m, epsilon, lam),
                     plain + our_noise(m, epsilon, lam),
                     error_bound(m, epsilon, lam, world.r, world.length)))
    return rows


def slope(rows: list[tuple[float, ...]], column: int) -> float:
    """Of a column against m, both logarithms, over the last five."""
    last = np.log([(row[0], row[column]) for row in rows[-5:]])
    return float(np.polyfit(last[:, 0], last[:, 1], 1)[0])


def both_rules(m: int, epsilon: float, repeats: int) -> list[tuple[str, float, float, float]]:
    """Ways to choose, each with epsilon, lam and the total error that is measured: r is a half."""
    world = World(0.5)
    ways = [("Theorem 3, its own epsilon", *suggest(m, 0.5)),
            ("Theorem 2", *suggest(m, 0.5, epsilon)),
            ("noise against ridge", epsilon, suggest_lambda(m, epsilon))]
    return [(name, e, lam, mean_excess(world, m, lam, repeats) + our_noise(m, e, lam))
            for name, e, lam in ways]


def gap(m: int, epsilon: float, repeats: int) -> tuple[float, float]:
    """Theorem 1: error on all x less error on the table, of one noisy prediction; and its bound.

    The noise is the same on both sides; it enters the bound, through the mean of what is averaged.
    """
    world, lam = World(0.5), suggest_lambda(m, epsilon)
    gaps, whole = [], []
    for seed in range(repeats):
        table = world.moments(m, seed)
        by = table.fit(lam, world.eigenvalues)
        everywhere = world.excess(by) + world.floor
        gaps.append(everywhere - table.error(by))
        whole.append(everywhere + our_noise(m, epsilon, lam))
    return float(np.mean(gaps)), generalisation_gap(epsilon, float(np.mean(whole)))


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
            bound = fixed_epsilon_bound(m, epsilon, lam, 0.5, World(0.5).length)
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
