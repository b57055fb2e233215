"""Noise for many counts: the exact law, digit by digit, and what it promises."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import opendp.prelude as dp
import pytest
from scipy import stats

from privsieve.errors import ParameterError
from privsieve.noise import discrete
from privsieve.noise.discrete import LARGEST_COUNT, above, noisy, threshold, two_sided
from privsieve.noise.streams import Noise, replay, system
from test_density import MILLIONTH, SCALES, lawful

MEANS = [Fraction(1, 100), Fraction(3, 10), Fraction(2), Fraction(31, 3), Fraction(10**6)]


class Served(Noise):
    """Given bytes, then other given bytes without end."""

    def __init__(self, first, rest=b"\0"):
        self.left, self.rest = first, rest

    def bytes(self, count):
        served, self.left = self.left[:count], self.left[count:]
        return served + self.rest * (count - len(served))


def law(mean, far=400):
    """P(Z = z) by its formula."""
    q = math.exp(-1 / mean)
    return {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-far, far + 1)}


@pytest.mark.parametrize(("off", "right"), SCALES)
@pytest.mark.parametrize("mean", [Fraction(3, 10), Fraction(4)])
def test_two_sided(mean, off, right):
    """P(Z = z) is proportional to exp(-|z| / mean)."""
    assert right == lawful(two_sided(mean * off, 20_000, replay(2)).tolist(), law(mean))


def test_opendp_draws_alike():
    """The same law as OpenDP's discrete Laplace, by their counts of 40,000 draws each."""
    dp.enable_features("contrib")
    peer = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int),
                             scale=3.0)
    values = np.clip(two_sided(Fraction(3), 40_000, replay(3)), -15, 15)
    other = np.clip(peer([0] * 40_000), -15, 15)
    both = [np.bincount(drawn + 15, minlength=31) for drawn in (values, other)]
    off = np.bincount(np.clip(two_sided(Fraction(4), 40_000, replay(3)), -15, 15) + 15)

    assert stats.chi2_contingency(both).pvalue > MILLIONTH
    assert stats.chi2_contingency([off, both[1]]).pvalue < MILLIONTH


@pytest.mark.parametrize("mean", MEANS)
def test_every_digit_is_the_comparison_of_real_numbers(mean):
    """Draws from given words are those that 400 decimals of each chance give: 300 of each mean."""
    count, digits = 300, discrete._digits(mean)
    words = replay(5).bytes(8 * count * (digits + 1))
    uniform = [int.from_bytes(words[i:i + 8]) for i in range(0, len(words), 8)]
    expected = [0] * count
    with mpmath.workdps(400):
        for i in range(digits):
            power = mpmath.mpf(2**i * mean.denominator) / mean.numerator
            chance = 1 / (1 + mpmath.exp(power))
            for j in range(count):
                expected[j] += (uniform[i * count + j] < chance * 2**64) << i

    assert expected == discrete._geometric(mean, count, Served(words)).tolist()


@pytest.mark.parametrize(("next_bytes", "head"), [(b"\0", True), (b"\xff", False)])
def test_a_word_at_the_chance_is_read_on(next_bytes, head):
    """Where the first word holds the chance itself, the digits after it decide."""
    words = np.array([discrete._edge(Fraction(3))], np.uint64)

    assert [head] == discrete._heads(Fraction(3), words, Served(b"", next_bytes)).tolist()


def test_what_lies_beyond_the_digits_is_drawn():
    """A first word of 0 reads on, and may add a multiple of 2^digits."""
    mean = Fraction(1, 100)  # no digit: G is 0 unless a number is below exp(-100)
    assert 0 == discrete._digits(mean)
    small = b"\0" * 8 + (1).to_bytes(16)  # about 2^-191: -log U is 132.4
    larger = b"\0" * 8 + (2**62).to_bytes(8)  # 2^-66: 45.7

    assert [1, 0] == [discrete._geometric(mean, 1, Served(words, b"\0\1"))[0]
                      for words in (small, larger)]


def test_counts_are_clamped():
    """An answer is an integer far below 2^53, however large a count is."""
    noisy_counts = noisy(np.array([2**60, -(2**60)]), Fraction(1), system())

    assert [LARGEST_COUNT, -LARGEST_COUNT] == noisy_counts.tolist()


@pytest.mark.parametrize("mean", [0, -1, 2**30 + 1])
def test_noise_that_does_not_fit_is_refused(mean):
    """No noise, or far too much of it, is refused."""
    with pytest.raises(ParameterError, match="larger epsilon"):
        two_sided(Fraction(mean), 1, replay(1))


# what it promises


def tables_of(n, cells=3):
    """All vectors of counts of n rows."""
    return [c for c in itertools.product(range(n + 1), repeat=cells) if sum(c) == n]


def neighbours(n, cells=3):
    """All pairs of tables of n rows that differ in one."""
    return [(a, b) for a in tables_of(n, cells) for b in tables_of(n, cells)
            if sum(abs(x - y) for x, y in zip(a, b, strict=True)) == 2]


def joint(laws):
    """The law of independent answers."""
    law = np.ones(1)
    for single_law in laws:
        law = np.multiply.outer(law, single_law).ravel()
    return law


def test_all_neighbours_stay_within_epsilon():
    """All tables of three rows in 3 cells, neighbours, answers: e^epsilon, and attained."""
    epsilon, reach = 0.7, np.arange(-30, 36)
    q = math.exp(-epsilon / 2)

    def log_law(counts):
        each = [np.abs(reach - c) * math.log(q) for c in counts]
        return sum(np.meshgrid(*each, indexing="ij")).ravel()

    worst = max(np.abs(log_law(a) - log_law(b)).max() for a, b in neighbours(3))

    assert worst == pytest.approx(epsilon, abs=1e-12)


def named(count, q, least, far=90):
    """The law of one cell with a threshold: no trace, or a value from the threshold on."""
    if not count:
        return np.array([1.0] + [0.0] * far)
    values = (1 - q) / (1 + q) * q ** np.abs(np.arange(least, least + far) - count).astype(float)
    return np.append(1 - values.sum(), values)


def excess(a, b, q, least, epsilon):
    """The delta that one pair of tables needs."""
    first, second = (joint([named(c, q, least) for c in table]) for table in (a, b))
    return np.maximum(first - math.exp(epsilon) * second, 0).sum()


@pytest.mark.parametrize("n", [2, 3])
def test_all_neighbours_stay_within_delta(n):
    """With the threshold every pair needs at most delta; with one less, some pair needs more."""
    epsilon, delta = Fraction(1), Fraction(1, 100)
    least, q = threshold(2 / epsilon, 1, delta), math.exp(-0.5)

    def worst(least):
        return max(max(excess(a, b, q, least, 1.0), excess(b, a, q, least, 1.0))
                   for a, b in neighbours(n))

    assert worst(least) <= delta < worst(least - 1)


def spread(rows):
    """How a unit's rows may lie in cells that nobody else is in, with some of them elsewhere."""
    return {tuple(piece for piece in parts if piece)
            for parts in itertools.combinations_with_replacement(range(rows + 1), rows)
            if sum(parts) <= rows}


@pytest.mark.parametrize(("epsilon", "delta"), [
    (2, Fraction(1, 1000)), (1, Fraction(1, 10)), (Fraction(1, 50), Fraction(1, 10)),
    (Fraction(1, 10), Fraction(9, 10)), (9, Fraction(1, 10**6))])
@pytest.mark.parametrize(("most", "sides"), [(1, 1), (1, 2), (2, 1), (2, 2), (4, 1), (4, 2)])
def test_units_of_several_rows_stay_within_delta(most, sides, epsilon, delta):
    """However a unit's rows leave and fill cells that nobody else is in, delta is enough."""
    mean = sides * most / Fraction(epsilon)
    least, q, worst = threshold(mean, most, delta), math.exp(-1 / mean), 0.0
    for left, filled in itertools.product(spread(most), spread(most)):
        if sides == 1 and left and filled:
            continue
        # A name tells the tables apart for certain, whatever the value that stands with it.
        chance = ([(q ** float(least - t) / (1 + q), True) for t in left]
                  + [(q ** float(least - t) / (1 + q), False) for t in filled])
        first, second = (joint([np.array([1 - p, p]) if here == mine else np.array([1.0, 0.0])
                                for p, here in chance]) if chance else np.array([1.0])
                         for mine in (True, False))
        worst = max(worst, np.maximum(first - math.exp(epsilon) * second, 0).sum())

    assert worst <= delta * (1 + 1e-12)


def test_only_what_reaches_the_threshold_is_named():
    """Cells without a row are never named; those far above the threshold always are."""
    counts = np.array([0, 900, 3, 0, 500])
    nothing = np.flatnonzero(counts)
    where, what = above(counts[nothing], Fraction(2), 60, system())

    assert [1, 4] == nothing[where].tolist()
    assert (np.abs(what - [900, 500]) < 100).all()
