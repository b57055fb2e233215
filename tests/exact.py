"""Exact laws of races for a few scores: the oracle of the mechanisms.

Everything follows from one chain.  Let A_0 say how likely it is that all others lose against a
noisy score x, and A_r how likely that the r-th last of a list is less than x with all that is
below it in the list's order; then A_r(x) sums A_(r-1) over the values of that score up to x.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np
from numpy.polynomial import Polynomial

from privsieve.noise.values import added, gamma_drawn


def exponential_order(scores, order, mean):
    """P(the list `order` is the ranking of the best) with real exponential noise.

    In z = exp(-x / mean) a distribution function is 1 - c z from its own score on, 0 before; so
    each A is a polynomial in z between two scores.
    """
    scale = [math.exp(s / mean) for s in scores]
    starts = sorted(set(scores))
    pieces = []
    for start in starts:
        outside = [c for j, c in enumerate(scale) if j not in order]
        alive = all(s <= start for j, s in enumerate(scores) if j not in order)
        factors = [Polynomial([1, -c]) for c in outside]
        pieces.append(math.prod(factors, start=Polynomial([1.0])) if alive else Polynomial([0.0]))
    for winner in reversed(order):
        below, level = [], 0.0
        for i, start in enumerate(starts):
            z = math.exp(-start / mean)
            density = pieces[i] * scale[winner] if scores[winner] <= start else Polynomial([0.0])
            grown = density.integ()
            below.append(level + grown(z) - grown)
            after = math.exp(-starts[i + 1] / mean) if i + 1 < len(starts) else 0.0
            level = below[-1](after)
        pieces = below
    return pieces[-1](0.0)


def geometric_order(scores, order, mean):
    """P(the list `order` is the ranking of the best), geometric noise, ties to the lower index."""
    return _integer_order(order, *_geometric(tuple(scores), mean))


@lru_cache(maxsize=2)
def _geometric(scores, mean):
    q = math.exp(-1 / mean)
    values = np.arange(min(scores), max(scores) + math.ceil(45 * mean) + 2)
    return _at_each(
        scores, values,
        lambda z: np.where(z >= 0, (1 - q) * q ** np.maximum(z, 0.0), 0.0),
        lambda z: np.where(z >= 0, 1 - q ** np.maximum(z + 1.0, 0), 0.0))


def _at_each(scores, values, chance, up_to):
    """For each score and value x: P(s + noise = x), and P(s + noise <= x) and <= x - 1."""
    return ([chance(values - s) for s in scores],
            [(up_to(values - s), up_to(values - 1 - s)) for s in scores])


def _integer_order(order, chances, below):
    """The chain for noise on integers."""
    # `loses[i]` is for a winner with this value; where it has the higher index it needs one more.
    last = order[-1]
    loses = np.ones(len(chances[0]))
    for j in range(len(chances)):
        if j not in order:
            loses = loses * below[j][last > j]
    for better, winner in itertools.zip_longest(reversed(order[:-1]), reversed(order)):
        total = np.cumsum(chances[winner] * loses)
        if better is None:
            return float(total[-1])
        loses = np.concatenate([[0.0], total[:-1]]) if better > winner else total
    raise AssertionError


def gumbel_order(scores, order, scale):
    """P(the list `order` is the ranking of the best) with Gumbel noise: choices one by one."""
    left = [math.exp((s - max(scores)) / scale) for s in scores]
    total, actual_order = math.fsum(left), 1.0
    for winner in order:
        actual_order *= left[winner] / total
        total -= left[winner]
    return actual_order


def set_law(scores, k, mean, order_law):
    """P(S) for each set S of k positions, in lexicographic order."""
    positions = range(len(scores))
    return {chosen: sum(order_law(scores, order, mean) for order in itertools.permutations(chosen))
            for chosen in itertools.combinations(positions, k)}


def order_law(scores, k, mean, law):
    """P(list) for each ordered list of k positions."""
    return {order: law(scores, order, mean)
            for order in itertools.permutations(range(len(scores)), k)}


LAWS = {"exponential": geometric_order, "gumbel": gumbel_order}


def top_k_law(scores, k, sensitivity, epsilon, *, ordered=False, mechanism="exponential"):
    """The law of the product's mechanism, by definition: the cheaper side, and its noise."""
    d, law = len(scores), LAWS[mechanism]
    everybody = tuple(range(d))
    if ordered:
        scale = 2 * min(k, d - 1) * sensitivity / epsilon
        return order_law(scores, k, scale, law) if scale else {everybody: 1.0}
    if k == d:
        return {everybody: 1.0}
    if k <= d - k:
        return set_law(scores, k, 2 * k * sensitivity / epsilon, law)
    left = set_law([-s for s in scores], d - k, 2 * (d - k) * sensitivity / epsilon, law)
    return {tuple(j for j in everybody if j not in out): p for out, p in left.items()}


def gamma_norm(w, beta, k, noise):
    """Integers with the noise of `gamma`, of any rate and on any grid."""
    return added(w, gamma_drawn(len(w), beta, k, noise))
