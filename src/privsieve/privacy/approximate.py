"""Approximate: what a delta buys, computed so that each rounding is on the side of privacy.

All formulas are evaluated in balls; what leaves is a rational number on the safe side of the true
one.  The theorems are in `approximate.proof.md`.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from flint import arb, fmpq

from privsieve.errors import ParameterError
from privsieve.privacy.noise import arithmetic

#: Working precision; binary places of a rho; significant binary digits of a rounded scale.
PRECISION, PLACES, DIGITS = 512, 128, 64
#: The smallest sigma that is tried, in units of 2^-32: more noise than asked for is no harm.
_SMALLEST = 2**22


def concentrated(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The rho whose zCDP implies (epsilon, delta)-DP, rounded down.

    >>> round(float(concentrated(Fraction(1), Fraction(1, 10**6))), 7)
    0.0174689
    """
    _check(epsilon, delta)
    with arithmetic(PRECISION):
        log = -_arb(delta).log()
        root = (log + _arb(epsilon)).sqrt() - log.sqrt()
        # [rho] rounded down: less is spent than is allowed
        units = (root * root * 2**PLACES).lower().floor().unique_fmpz()
    return Fraction(int(units), 2**PLACES)


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
        half, shift = _arb(1 / (2 * sigma)), _arb(epsilon * sigma)
        # [analytic]
        lost = _phi(half - shift) - _arb(epsilon).exp() * _phi(-half - shift)
        return bool(lost <= _arb(delta))


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


def _arb(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))


def _check(epsilon: Fraction, delta: Fraction) -> None:
    if epsilon <= 0 or not 0 < delta < 1:
        raise ParameterError(f"epsilon is {epsilon} and delta is {delta}; epsilon must be larger "
                             "than 0, and delta must lie between 0 and 1")
