"""Approximate: what a delta buys, computed so that each rounding is on the side of privacy.

All formulas are evaluated in balls; what leaves is a rational number on the safe side of the true
one.  The theorems are in `approximate.proof.md`.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import exp, isqrt, log1p

from flint import arb, fmpq

from privsieve.errors import ParameterError
from privsieve.noise.streams import arithmetic

#: Working precision; binary places of a rho; significant binary digits of a rounded scale.
PRECISION, PLACES, DIGITS = 512, 128, 64
#: A rho is searched to this many binary digits.
SEARCH = 40
#: The smallest sigma that is tried, in units of 2^-32: more noise than asked for is no harm.
_SMALLEST = 2**22


@lru_cache(maxsize=512)
def concentrated(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The rho whose zCDP implies (epsilon, delta)-DP, rounded down.

    >>> round(float(concentrated(Fraction(1), Fraction(1, 10**6))), 7)
    0.024356
    """
    _check(epsilon, delta)
    # [lower-end] by the plain tail bound, which holds for certain
    low = int(by_tail(epsilon, delta) * 2**PLACES)
    high = 2 * low + 2**SEARCH
    while _implies(_rho(high), epsilon, delta):
        low, high = high, 2 * high
    # [bisect-rho] `low` always holds for certain; `high` is what was not shown to hold.
    while high - low > max(1, low >> SEARCH):
        middle = (low + high) // 2
        if _implies(_rho(middle), epsilon, delta):
            low = middle
        else:
            high = middle
    return _rho(low)


def by_tail(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A rho whose zCDP implies (epsilon, delta)-DP by Markov's inequality, rounded down.

    >>> round(float(by_tail(Fraction(1), Fraction(1, 10**6))), 7)
    0.0174689
    """
    with arithmetic(PRECISION):
        log = -ball(delta).log()
        root = (log + ball(epsilon)).sqrt() - log.sqrt()
        # [rho] rounded down: less is spent than is allowed
        units = (root * root * 2**PLACES).lower().floor().unique_fmpz()
    return _rho(int(units))


def _rho(units: int) -> Fraction:
    return Fraction(units, 2**PLACES)


def _implies(rho: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether rho-zCDP is (epsilon, delta)-DP, for certain."""
    order = _order(float(rho), float(epsilon))
    with arithmetic(PRECISION):
        x = arb(order)
        # [tilted] x is alpha - 1; any x gives a bound
        exponent = (x * ((1 + x) * ball(rho) - ball(epsilon))
                    + x * x.log() - (1 + x) * (1 + x).log())
        return bool(exponent <= ball(delta).log())


def _order(rho: float, epsilon: float) -> float:
    """About the x with the least bound: where (1 + 2 x) rho + log(x / (1 + x)) is epsilon."""
    low, high = -700.0, 700.0  # of log x
    for _ in range(60):
        middle = (low + high) / 2
        x = exp(middle)
        if (1 + 2 * x) * rho - log1p(1 / x) < epsilon:
            low = middle
        else:
            high = middle
    return exp(high)


def concentrated_sigma(rho: Fraction) -> Fraction:
    """Sigma of the Gaussian that is rho-zCDP at sensitivity 1, rounded up.

    >>> concentrated_sigma(Fraction(1, 2))
    Fraction(1, 1)
    """
    if rho <= 0:
        raise ParameterError(f"rho is {rho}; it must be larger than 0")
    return root_up(1 / (2 * rho))  # [zcdp-sigma]


def analytic_sigma(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Sigma of the Gaussian that is (epsilon, delta)-DP at sensitivity 1, rounded up.

    >>> round(float(analytic_sigma(Fraction(1), Fraction(1, 10**6))), 6)
    4.224679
    """
    _check(epsilon, delta)
    low, high = 0, _SMALLEST
    while not _private(_sigma(high), epsilon, delta):
        low, high = high, 2 * high
    # [bisect] `high` always holds for certain; `low` is what was not shown to hold.
    while high - low > max(1, high >> DIGITS // 2):
        middle = (low + high) // 2
        if _private(_sigma(middle), epsilon, delta):
            high = middle
        else:
            low = middle
    return _sigma(high)


def _sigma(units: int) -> Fraction:
    return Fraction(units, 2 ** (DIGITS // 2))


def _private(sigma: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether a Gaussian at sensitivity 1 is (epsilon, delta)-DP, for certain."""
    with arithmetic(PRECISION):
        half, shift = ball(1 / (2 * sigma)), ball(epsilon * sigma)
        # [analytic]
        lost = _phi(half - shift) - ball(epsilon).exp() * _phi(-half - shift)
        return bool(lost <= ball(delta))


def _phi(x: arb) -> arb:
    """The distribution function of the standard normal."""
    return (-x / arb(2).sqrt()).erfc() / 2


def root_up(square: Fraction) -> Fraction:
    """The square root of a positive fraction, rounded up after 64 binary digits.

    >>> root_up(Fraction(9, 4)), float(root_up(Fraction(2)))
    (Fraction(3, 2), 1.4142135623730951)
    """
    # [root] (p / q)^(1/2) = (p q)^(1/2) / q, and an integer root can be rounded up exactly
    product = square.numerator * square.denominator
    shift = max(0, DIGITS - product.bit_length() // 2 + 1)
    root = isqrt((product << 2 * shift) - 1) + 1
    return Fraction(root, square.denominator << shift)


def rounded_down(value: Fraction) -> Fraction:
    """A positive fraction with 64 significant binary digits, not above this one.

    >>> rounded_down(Fraction(1, 3)) < Fraction(1, 3), rounded_down(Fraction(5, 2))
    (True, Fraction(5, 2))
    """
    unit = _unit(value)
    return value // unit * unit


def rounded_up(value: Fraction) -> Fraction:
    """A positive fraction with 64 significant binary digits, not below this one.

    >>> rounded_up(Fraction(1, 3)) > Fraction(1, 3), rounded_up(Fraction(5, 2))
    (True, Fraction(5, 2))
    """
    unit = _unit(value)
    return -(-value // unit) * unit


def _unit(value: Fraction) -> Fraction:
    length = value.numerator.bit_length() - value.denominator.bit_length()
    return Fraction(2) ** (length - DIGITS)


def ball(value: Fraction) -> arb:
    """A ball that contains the fraction."""
    return arb(fmpq(value.numerator, value.denominator))


def _check(epsilon: Fraction, delta: Fraction) -> None:
    if epsilon <= 0 or not 0 < delta < 1:
        raise ParameterError(f"epsilon is {epsilon} and delta is {delta}; epsilon must be larger "
                             "than 0, and delta must lie between 0 and 1")
