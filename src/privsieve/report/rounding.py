"""Rounding against ourselves: risks up, protection down, ranges outwards."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

#: Digits of e^epsilon that are computed: far more than are shown.
_EXACT = Context(prec=60)
#: Above this cost the factor is a number that nobody reads.
LARGEST_FACTOR = 25


def factor(epsilon: Fraction) -> str | None:
    """e^epsilon in three digits, rounded up; None where it says nothing to anybody.

    >>> from fractions import Fraction
    >>> factor(Fraction(1, 2)), factor(Fraction(10)), factor(Fraction(26))
    ('1.65', '22,100', None)
    """
    if epsilon > LARGEST_FACTOR:
        return None
    return _plain(_digits(_power(epsilon), 3, ROUND_CEILING))


def belief(epsilon: Fraction, before: Fraction) -> tuple[Decimal, Decimal]:
    """How sure somebody can become who was `before` sure, in per cent, rounded outwards.

    Odds change by the factor e^epsilon at most, in either direction.

    >>> from fractions import Fraction
    >>> [percent(end) for end in belief(Fraction(1, 2), Fraction(1, 2))]
    ['37 %', '63 %']
    >>> [percent(end) for end in belief(Fraction(5), Fraction(1, 100))]
    ['0.0068 %', '60 %']
    """
    power = _power(epsilon)
    sure, unsure = Decimal(before.numerator), Decimal(before.denominator - before.numerator)
    low = _EXACT.divide(100 * sure, _EXACT.add(sure, _EXACT.multiply(unsure, power)))
    much = _EXACT.multiply(sure, power)
    high = _EXACT.divide(100 * much, _EXACT.add(much, unsure))
    return _digits(low, 2, ROUND_FLOOR), min(_digits(high, 2, ROUND_CEILING), Decimal(100))


def percent(value: Decimal) -> str:
    """A percentage for people, as it was rounded.

    >>> percent(Decimal("63")), percent(Decimal("1E-7"))
    ('63 %', '0 %')
    """
    return "0 %" if value < Decimal("0.001") else f"{_plain(value)} %"


def share_up(part: int, whole: int) -> str:
    """A share that is bad news, in per cent, rounded up.

    >>> share_up(0, 300), share_up(1, 3000), share_up(299, 300), share_up(41, 1000)
    ('0 %', '0.1 %', '100 %', '5 %')
    """
    if 0 < part * 100 < whole:
        tenths = -(-part * 1000 // whole)
        return f"{tenths // 10}.{tenths % 10} %" if tenths < 10 else "1 %"
    return f"{-(-part * 100 // whole)} %"


def down(percent_found: int, count: int) -> int:
    """How many of so many, from a percentage, rounded down.

    >>> down(99, 6), down(50, 3)
    (5, 1)
    """
    return percent_found * count // 100


def _power(epsilon: Fraction) -> Decimal:
    return _EXACT.exp(_EXACT.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator)))


def _digits(value: Decimal, count: int, how: str) -> Decimal:
    """So many digits that matter, or whole numbers above them."""
    if not value:
        return value
    place = min(value.adjusted() - count + 1, 0) if count == 2 else value.adjusted() - count + 1
    return value.quantize(Decimal(1).scaleb(place), rounding=how, context=_EXACT)


def _plain(value: Decimal) -> str:
    """Digits without an exponent, thousands parted."""
    text = f"{value:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
