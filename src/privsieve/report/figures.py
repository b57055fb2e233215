"""Figures: numbers for readers, rounded so that protection never looks stronger; and names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction

from privsieve.public.canonical import EXACT, power, short
from privsieve.telling.document import Text, literal, names

#: A line lists at most this many names; more are in a table only.
MANY = 30


def listed(texts: Sequence[object], key: str) -> Text:
    """Return names, or a link to their table if there are many."""
    return names(texts) if len(texts) <= MANY else Text(f"see [the table below|#{key}]")


def pairs(settings: Iterable[tuple[object, object]]) -> Text:
    """Return names and their values in a line."""
    return Text(", ".join(f"{literal(key)} {literal(value)}" for key, value in settings))


def count(number: int) -> str:
    """Return a whole number with thousands separators.

    >>> count(12480)
    '12,480'
    """
    return f"{number:,}"


def some(number: int) -> str:
    """Return a count, or "none" for 0."""
    return count(number) if number else "none"


def plural(number: int, noun: str) -> str:
    """Return a number of things in words.

    >>> plural(1, "column"), plural(1200, "column")
    ('1 column', '1,200 columns')
    """
    return f"1 {noun}" if number == 1 else f"{count(number)} {noun}s"


def capital(text: str) -> str:
    """Return a text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def belief(epsilon: Fraction, before: Fraction) -> tuple[Decimal, Decimal]:
    """Return how sure an attacker can become who was `before` sure: in per cent, rounded outwards.

    The odds change by a factor of at most e^epsilon, in either direction.

    >>> from fractions import Fraction
    >>> [percent(end) for end in belief(Fraction(1, 2), Fraction(1, 2))]
    ['37 %', '63 %']
    >>> [percent(end) for end in belief(Fraction(5), Fraction(1, 100))]
    ['0.0068 %', '60 %']
    """
    times = power(epsilon)
    sure, unsure = Decimal(before.numerator), Decimal(before.denominator - before.numerator)
    low = EXACT.divide(100 * sure, EXACT.add(sure, EXACT.multiply(unsure, times)))
    much = EXACT.multiply(sure, times)
    high = EXACT.divide(100 * much, EXACT.add(much, unsure))
    return _two(low, ROUND_FLOOR), min(_two(high, ROUND_CEILING), Decimal(100))


def percent(value: Decimal) -> str:
    """Return a rounded percentage as text.

    >>> percent(Decimal("63")), percent(Decimal("1E-7"))
    ('63 %', '0 %')
    """
    return "0 %" if value < Decimal("0.001") else f"{short(value)} %"


def share_up(number: int, whole: int) -> str:
    """Return a share that is bad news, in per cent, rounded up.

    >>> share_up(0, 300), share_up(1, 3000), share_up(299, 300), share_up(41, 1000)
    ('0 %', '0.1 %', '100 %', '5 %')
    """
    if 0 < number * 100 < whole:
        tenths = -(-number * 1000 // whole)
        return f"{tenths // 10}.{tenths % 10} %" if tenths < 10 else "1 %"
    return f"{-(-number * 100 // whole)} %"


def rounded(value: Fraction, place: int, how: str) -> Decimal:
    """Return a number whose last digit is at this power of ten."""
    exact = EXACT.divide(Decimal(value.numerator), Decimal(value.denominator))
    return exact.quantize(Decimal(1).scaleb(place), rounding=how, context=EXACT)


def up(value: Fraction) -> str:
    """Return an amount that is bad news, in two digits, rounded up.

    >>> up(Fraction("0.01231")), up(Fraction(26671)), up(Fraction(0))
    ('0.013', '27,000', '0')
    """
    return digits(rounded(value, last_place(value), ROUND_CEILING)) if value > 0 else "0"


def last_place(value: Fraction) -> int:
    """Return the power of ten of the second significant digit; 0 for a value of 0."""
    if value <= 0:
        return 0
    return EXACT.divide(Decimal(value.numerator), Decimal(value.denominator)).adjusted() - 1


def digits(value: Decimal) -> str:
    """Return digits without an exponent, with thousands separators and a typographic minus.

    >>> digits(Decimal("-1.2E+4")), digits(Decimal("-0.00")), digits(Decimal("0.50"))
    ('−12,000', '0.00', '0.50')
    """
    text = f"{abs(value):,f}"
    return f"−{text}" if value < 0 and text.strip("0.,") else text


def _two(value: Decimal, how: str) -> Decimal:
    """Return a number with two significant digits, or a whole number if it is larger."""
    place = min(value.adjusted() - 1, 0)
    return value.quantize(Decimal(1).scaleb(place), rounding=how, context=EXACT)
