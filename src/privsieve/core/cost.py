"""What a release costs: exact fractions in, integer units stored."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from privsieve.errors import ParameterError

#: Units per 1: the ledger adds integers, so no sum depends on its order.
EPSILON_UNITS = 10**9
DELTA_UNITS = 10**18

#: Above this a claim says little; it needs `allow_weak`.
WEAK_EPSILON = 10
#: Above this it says nothing at all, and is refused.
LARGEST_EPSILON = 1000

_NUMBER = re.compile(r"\+?[0-9]{1,18}(\.[0-9]{0,30})?([eE][+-]?[0-9]{1,2})?")


def exact(value: object, name: str) -> Fraction:
    """Read a privacy parameter as the fraction that its decimal text says.

    >>> exact(0.1, "epsilon")
    Fraction(1, 10)
    >>> exact("1e-6", "epsilon")
    Fraction(1, 1000000)
    """
    if isinstance(value, Fraction):
        return value
    text = str(value).strip(" ")
    if isinstance(value, bool) or not _NUMBER.fullmatch(text):
        raise ParameterError(f"{name} is {text!r}; write a positive decimal number such as 0.5")
    return Fraction(text)


@dataclass(frozen=True)
class Cost:
    """A cost in pure epsilon, exact to the ledger's unit of 1e-9.

    >>> Cost.of("0.3").units
    300000000
    """

    epsilon: Fraction

    @classmethod
    def of(cls, epsilon: object, *, allow_weak: bool = False) -> Cost:
        """Check an epsilon that a person wrote."""
        value = exact(epsilon, "epsilon")
        if value <= 0:
            raise ParameterError(f"epsilon is {epsilon}; it must be larger than 0")
        if value * EPSILON_UNITS % 1:
            raise ParameterError(f"epsilon is {epsilon}; nine decimals are kept: shorten it")
        if value > LARGEST_EPSILON:
            raise ParameterError(
                f"epsilon is {epsilon}; above {LARGEST_EPSILON} nothing is promised to anybody"
            )
        if value > WEAK_EPSILON and not allow_weak:
            raise ParameterError(
                f"epsilon is {epsilon}; above {WEAK_EPSILON} the promise is weak: "
                "choose a smaller one, or say allow_weak (--allow-weak)"
            )
        return cls(value)

    @property
    def units(self) -> int:
        """Integer units of 1e-9, rounded up: a charge is never too small."""
        return -(-self.epsilon * EPSILON_UNITS // 1)

    @property
    def text(self) -> str:
        """The decimal text, exact.

        >>> Cost.of("0.50").text
        '0.5'
        """
        return decimal(self.units)


def decimal(units: int) -> str:
    """Units of 1e-9 as a decimal text.

    >>> decimal(2_500_000_000), decimal(3_000_000_000), decimal(0)
    ('2.5', '3', '0')
    """
    whole, rest = divmod(units, EPSILON_UNITS)
    return f"{whole}.{rest:09d}".rstrip("0").rstrip(".")
