"""What a forecast says is found is what is found; a delta is taken only where more is."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from privsieve.noise.approximate import gumbel_scale
from privsieve.noise.race import Race, better, recall

ROOT = Path(__file__).parents[1]
TINY = Fraction(1, 10**6)
#: d, k and gaps in scales of the pure race, as in the review that found a delta to be worse.
TABLE = [(30, 8), (100, 8), (100, 9), (100, 10), (100, 12), (100, 14), (100, 20)]
GAPS = (1, 2, 3, 4, 6, 8)


def tail(law, x):
    """P(X > x)."""
    if law == "gumbel":
        return -np.expm1(-np.exp(-x))
    return np.exp(-np.maximum(x, 0))


def drawn(law, rng, size):
    """Standard noise, made of uniforms by inversion."""
    return rng.exponential(1, size) if law == "exponential" else rng.gumbel(0, 1, size)


def exactly(law, d, k, gap):
    """The share found, without error but that of a sum over 400 quantiles of one noise."""
    from scipy.stats import binom

    u = (np.arange(400) + 0.5) / 400
    x = gap - (np.log(u) if law == "exponential" else np.log(-np.log(u)))
    before = np.arange(k)[None]
    mine = binom.pmf(before, k - 1, tail(law, x - gap)[:, None])
    theirs = binom.cdf(k - 1 - before, d - k, tail(law, x)[:, None])
    return float((mine * theirs).sum(1).mean())


@pytest.mark.parametrize("law", ["exponential", "gumbel"])
@pytest.mark.parametrize(("d", "k", "near"), [(30, 8, .03), (100, 20, .02), (40, 20, .02),
                                              (30, 3, .06)])
def test_a_forecast_is_what_is_found(law, d, k, near):
    """Over 4,000 races the share found is that of the forecast, or a few per cent more."""
    rng = np.random.default_rng(7)
    for gap in (0, 1, 3, 6):
        noisy = drawn(law, rng, (4000, d))
        noisy[:, :k] += gap
        share = (np.argpartition(-noisy, k - 1, axis=1)[:, :k] < k).mean()

        assert recall(law, d, k, gap) - 0.02 < share < recall(law, d, k, gap) + near


@pytest.mark.parametrize(("d", "k"), TABLE)
def test_a_delta_never_finds_less(d, k):
    """At each gap of the review's table a race with a delta finds as many as the pure one."""
    pure, other = (Race(d, k, 1, Fraction(1), delta=delta) for delta in (Fraction(0), TINY))
    for gap in GAPS:
        reach = gap * float(pure.scale)
        shares = [exactly(race.kind, d, k, reach / float(race.scale)) for race in (pure, other)]

        assert shares[1] >= shares[0] - 1e-9
        assert other.share(d, k, reach) >= pure.share(d, k, reach) - 1e-9
    assert other.account == "approximate"


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("4", "1e-6"), ("0.1", "1e-6"),
                                                ("1", "1e-9"), ("8", "1e-4")])
def test_what_is_said_to_be_better_is(epsilon, delta):
    """Where a forecast finds a Gumbel race better, the exact shares do too, at every gap."""
    taken = 0
    for d in (10, 30, 100, 1000):
        for k in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15):
            if 2 * k > d:
                continue
            times = float(gumbel_scale(k, Fraction(epsilon), Fraction(delta))
                          * Fraction(epsilon) / (2 * k))
            if better(times, d, k):
                taken += 1
                for gap in (0.5, *GAPS):
                    assert (exactly("gumbel", d, k, gap / times)
                            >= exactly("exponential", d, k, gap) - 1e-9)

    assert taken > 0


def test_the_table_of_the_documents_is_computed():
    """docs/how-much-epsilon.md holds the table that the code gives."""
    sys.path.insert(0, str(ROOT / "experiments"))
    import when_a_delta

    text = (ROOT / "docs" / "how-much-epsilon.md").read_text(encoding="utf-8")

    assert "\n".join(when_a_delta.rows()) in text


@pytest.mark.parametrize("d", [1, 2, 5, 17, 18, 40])
def test_gaussian_noise_is_taken_only_where_it_is_shorter(d):
    """In the mean and in the mean square it is below that of Gamma length; its rho is known."""
    from privsieve.noise.values import VectorNoise
    from privsieve.public.plan import Cost

    pure, noisy = (VectorNoise.of(d, Fraction(1), Cost.of(1, delta=delta)) for delta in (0, "1e-6"))
    beta = 1 / float(pure.scale)
    if not noisy.delta:
        assert d < 18
        assert noisy == pure
        return
    mean = math.sqrt(2) * math.exp(math.lgamma((d + 1) / 2) - math.lgamma(d / 2))

    assert mean * float(noisy.scale) < d / beta
    assert d * float(noisy.scale) ** 2 < d * (d + 1) / beta**2
    assert noisy.rho == noisy.grid.sensitivity**2 / (2 * noisy.scale**2)


def test_a_smaller_scale_alone_is_not_better():
    """For d=30, k=8, epsilon 1 and delta 1e-6 a scale that is a little smaller finds no more."""
    assert not better(15.132 / 16, 30, 8)
    assert better(float(gumbel_scale(8, Fraction(1), TINY)) / 16, 30, 8)


def test_the_law_does_not_depend_on_the_sensitivity():
    """A plan for scores that move by 1 and the race for scores that move by 9999 take one law."""
    for k in range(1, 15):
        small, large = (Race(30, k, s, Fraction(1), delta=TINY) for s in (1, 9999))

        assert (small.kind, small.account, small.rho) == (large.kind, large.account, large.rho)
        assert large.scale == 9999 * small.scale
