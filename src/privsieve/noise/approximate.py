"""Approximate: the noise for a given delta; every rounding favours privacy.

All formulas are evaluated in balls; the results are rational numbers on the safe side of the true
ones.  The theorems are in `approximate.proof.md`.

A Gumbel race of m names is m choices by the exponential mechanism.  The privacy loss of each choice
lies in an interval of known length eta.  A recursion over a lattice of epsilons computes the joint
loss of m such choices, each depending on the ones before, in integers.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, floor, isqrt, log, log1p, log10, sqrt
from typing import Any, NamedTuple

from flint import arb, fmpq

from privsieve.errors import ParameterError
from privsieve.noise.balls import arithmetic

#: Working precision; binary places of a rho; significant binary digits of a rounded scale.
PRECISION, PLACES, DIGITS = 512, 128, 64
#: A rho is searched to this many binary digits.
SEARCH = 40
#: The smallest sigma that is tried, in units of 2^-32; too much noise does no harm.
_SMALLEST = 2**22
#: More choices are sized by zCDP: the time of the recursion grows with their square.
MOST = 100
#: Points of the lattice in an interval of eta: at least, at most, and over all choices together.
COARSEST, FINEST, POINTS = 6, 48, 480
#: Binary places of a delta and of a weight; decimal digits of a scale.
DELTA, WEIGHT, SCALE = 96, 60, 4


@lru_cache(maxsize=512)
def concentrated(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the rho whose zCDP implies (epsilon, delta)-DP, rounded down.

    >>> round(float(concentrated(Fraction(1), Fraction(1, 10**6))), 7)
    0.024356
    """
    _check(epsilon, delta)
    # [lower-end] by the plain tail bound, which holds for certain
    low = int(by_tail(epsilon, delta) * 2**PLACES)
    high = 2 * low + 2**SEARCH
    while _implies(_rho(high), epsilon, delta):
        low, high = high, 2 * high
    # [bisect-rho] `low` always holds for certain; `high` was not shown to hold.
    while high - low > max(1, low >> SEARCH):
        middle = (low + high) // 2
        if _implies(_rho(middle), epsilon, delta):
            low = middle
        else:
            high = middle
    return _rho(low)


def by_tail(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a rho whose zCDP implies (epsilon, delta)-DP by Markov's inequality, rounded down.

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
    """Return whether rho-zCDP is (epsilon, delta)-DP, for certain."""
    order = _order(float(rho), float(epsilon))
    with arithmetic(PRECISION):
        x = arb(order)
        # [tilted] x is alpha - 1; any x gives a bound
        exponent = (x * ((1 + x) * ball(rho) - ball(epsilon))
                    + x * x.log() - (1 + x) * (1 + x).log())
        return bool(exponent <= ball(delta).log())


def _order(rho: float, epsilon: float) -> float:
    """Approximate the x with the least bound: (1 + 2 x) rho + log(x / (1 + x)) is epsilon."""
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
    """Return the sigma of the Gaussian that is rho-zCDP at sensitivity 1, rounded up.

    >>> concentrated_sigma(Fraction(1, 2))
    Fraction(1, 1)
    """
    if rho <= 0:
        raise ParameterError(f"rho is {rho}; it must be larger than 0")
    return root_up(1 / (2 * rho))  # [zcdp-sigma]


def analytic_sigma(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the sigma of the Gaussian that is (epsilon, delta)-DP at sensitivity 1, rounded up.

    >>> round(float(analytic_sigma(Fraction(1), Fraction(1, 10**6))), 6)
    4.224679
    """
    _check(epsilon, delta)
    low, high = 0, _SMALLEST
    while not _private(_sigma(high), epsilon, delta):
        low, high = high, 2 * high
    # [bisect] `high` always holds for certain; `low` was not shown to hold.
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
    """Return whether a Gaussian at sensitivity 1 is (epsilon, delta)-DP, for certain."""
    with arithmetic(PRECISION):
        half, shift = ball(1 / (2 * sigma)), ball(epsilon * sigma)
        # [analytic]
        lost = _phi(half - shift) - ball(epsilon).exp() * _phi(-half - shift)
        return bool(lost <= ball(delta))


def _phi(x: arb) -> arb:
    """Return the distribution function of the standard normal."""
    return (-x / arb(2).sqrt()).erfc() / 2


def root_up(square: Fraction) -> Fraction:
    """Return the square root of a positive fraction, rounded up after 64 binary digits.

    >>> root_up(Fraction(9, 4)), float(root_up(Fraction(2)))
    (Fraction(3, 2), 1.4142135623730951)
    """
    # [root] (p / q)^(1/2) = (p q)^(1/2) / q, and an integer root can be rounded up exactly
    product = square.numerator * square.denominator
    shift = max(0, DIGITS - product.bit_length() // 2 + 1)
    root = isqrt((product << 2 * shift) - 1) + 1
    return Fraction(root, square.denominator << shift)


def rounded_down(value: Fraction) -> Fraction:
    """Round a positive fraction down to 64 significant binary digits.

    >>> rounded_down(Fraction(1, 3)) < Fraction(1, 3), rounded_down(Fraction(5, 2))
    (True, Fraction(5, 2))
    """
    unit = _unit(value)
    return value // unit * unit


def rounded_up(value: Fraction) -> Fraction:
    """Round a positive fraction up to 64 significant binary digits.

    >>> rounded_up(Fraction(1, 3)) > Fraction(1, 3), rounded_up(Fraction(5, 2))
    (True, Fraction(5, 2))
    """
    unit = _unit(value)
    return -(-value // unit) * unit


def _unit(value: Fraction) -> Fraction:
    length = value.numerator.bit_length() - value.denominator.bit_length()
    return Fraction(2) ** (length - DIGITS)


def ball(value: Fraction) -> arb:
    """Return a ball that contains the fraction."""
    return arb(fmpq(value.numerator, value.denominator))


def _check(epsilon: Fraction, delta: Fraction) -> None:
    if epsilon <= 0 or not 0 < delta < 1:
        raise ParameterError(f"epsilon is {epsilon} and delta is {delta}; epsilon must be larger "
                             "than 0, and delta must lie between 0 and 1")


# --- many choices ---------------------------------------------------------------------------------

class Lattice(NamedTuple):
    """The constants of a recursion of `choices` steps, as integers, or as floats for a search.

    lost : the delta at epsilon + n h, where h = eta / fine and n starts at -choices fine
    rise, fall : for t = i h, the probabilities of the losses t and t - eta
    back : exp(-eta)
    slack : the most that a t between two points adds, for each unit by which delta falls
    unit : the weight 1
    """

    choices: int
    fine: int
    shift: Fraction  # epsilon / h
    lost: Any
    rise: list[Any]
    fall: list[Any]
    back: Any
    slack: Any
    unit: Any

    @classmethod
    def of(cls, choices: int, eta: Fraction, epsilon: Fraction, *, exact: bool) -> Lattice:
        """Compute the constants, on the side of privacy if `exact`."""
        import numpy as np

        fine = min(FINEST, max(COARSEST, POINTS // choices))
        number: Callable[[arb, int], Any] = _above if exact else _near
        with arithmetic(PRECISION):
            h, whole = ball(eta / fine), ball(eta)
            c = (-whole).exp()
            # [start] 1 - exp(e) where e is negative
            near, size = ball(epsilon), choices * fine
            negative = min(size, ceil(-epsilon * fine / eta) - 1)
            lost = [number(1 - (near + n * h).exp(), DELTA) for n in range(-size, negative + 1)]
            lost += [number(arb(0), DELTA)] * (2 * size + 1 - len(lost))
            up = [(i * h - whole).exp() for i in range(fine + 1)]
            return cls(
                choices, fine, epsilon * fine / eta, np.array(lost, object if exact else float),
                # [two-point]
                [number((1 - u) / (1 - c), WEIGHT) for u in up],
                [number((u - c) / (1 - c), WEIGHT) for u in up],
                _below(c, WEIGHT) if exact else _near(c, WEIGHT),
                # [between]
                number((h / 4).tanh() / (1 - c), WEIGHT), 2**WEIGHT if exact else 1.0)

    def round_up(self, value: Any) -> Any:
        """Round up a product with a weight to the units of a delta."""
        return value if self.unit == 1.0 else -(-value >> WEIGHT)


def lost(choices: int, eta: Fraction, epsilon: Fraction, *, exact: bool = True) -> Fraction:
    """Return a delta for which `choices` adaptive choices of range eta are (epsilon, delta)-DP.

    Without `exact`, return nearly that number, in a tenth of the time.

    >>> lost(3, Fraction(1, 3), Fraction(1))
    Fraction(0, 1)
    >>> round(float(lost(3, Fraction(1, 2), Fraction(1))), 4)
    0.0031
    """
    lattice = Lattice.of(choices, eta, epsilon, exact=exact)
    for step in range(1, choices + 1):
        reach = (choices - step) * lattice.fine
        # [window] farther out the delta is that of no noise or of no loss, as initialised
        first = max(-reach, ceil(-step * lattice.fine - lattice.shift))
        last = min(reach, floor(step * lattice.fine - lattice.shift))
        if first <= last:
            at = choices * lattice.fine
            lattice.lost[at + first:at + last + 1] = _step(lattice, at + first, at + last + 1)
    result = lattice.lost[choices * lattice.fine]
    return Fraction(int(result), 2**DELTA) if exact else Fraction(float(result))


def _step(lattice: Lattice, first: int, end: int) -> Any:
    """Return the deltas with one more choice, at the places from `first` to before `end`."""
    import numpy as np

    r, values = lattice.fine, lattice.lost
    # [mean] at each t = i h
    means = [lattice.rise[i] * values[first - i:end - i]
             + lattice.fall[i] * values[first - i + r:end - i + r] for i in range(r + 1)]
    # [concave] from i h to (i + 1) h
    falls = values[first - r:end + r - 1] - values[first - r + 1:end + r]
    behind = np.minimum(lattice.back * falls[r:], lattice.unit * falls[r:])
    rises = lattice.round_up(lattice.slack * np.maximum(lattice.unit * falls[:-r] - behind, 0))
    starts = range(r - 1, -1, -1)
    sums = [np.maximum(means[i], means[i + 1]) + rises[start:start + end - first]
            for i, start in enumerate(starts)]
    return lattice.round_up(np.maximum.reduce(sums))


@lru_cache(maxsize=512)
def gumbel_scale(choices: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the scale at which a Gumbel race of `choices` names is (epsilon, delta)-DP.

    Its sensitivity is 1.

    >>> gumbel_scale(20, Fraction(1), Fraction(1, 10**6))
    Fraction(1877, 100)
    """
    if choices < 1:
        raise ParameterError(f"the number of choices is {choices}; write at least 1")
    rho = concentrated(epsilon, delta)
    # [at-most] both are enough: the pure scale, and that of zCDP
    known = [2 * choices / epsilon]
    if rho:
        known.append(root_up(choices / (2 * rho)))
    least = min(known)
    if choices > MOST:
        return least
    start = _searched(choices, epsilon, delta, least)
    unit = Fraction(10) ** (floor(log10(start)) + 1 - SCALE)
    for above in range(5):
        tried = (ceil(start / unit) + above) * unit
        # [certified]
        if tried < least and lost(choices, 2 / tried, epsilon) <= delta:
            return tried
    return least


def _searched(choices: int, epsilon: Fraction, delta: Fraction, least: Fraction) -> Fraction:
    """Approximate the least scale in floats; the caller checks the result exactly."""
    def root(scale: Fraction) -> float:
        # nearly linear in the scale
        delta_at = lost(choices, 2 / scale, epsilon, exact=False)
        return sqrt(-log(min(max(float(delta_at), 1e-290), 1.0)))

    wanted = sqrt(-log(delta))
    before, now = least * Fraction(99, 100), least * Fraction(9, 10)
    high = root(before)
    for _ in range(8):
        here = root(now)
        if here == high:
            break
        slope = (now - before) / Fraction(here - high)
        before, high = now, here
        now = min(max(now + Fraction(wanted - here) * slope, now / 2), least)
        now = now.limit_denominator(10**9) or before
        if abs(now - before) < before / 10**5:
            break
    return now


def _above(x: arb, places: int) -> int:
    units: Any = (x * arb(2)**places).upper().ceil().unique_fmpz()
    return max(0, int(units))


def _below(x: arb, places: int) -> int:
    units: Any = (x * arb(2)**places).lower().floor().unique_fmpz()
    return int(units)


def _near(x: arb, _places: int) -> float:
    return max(0.0, float(x.mid()))
