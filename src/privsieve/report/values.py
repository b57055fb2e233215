"""Values: numbers that were released with noise, as far as the noise lets anybody read them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from math import isqrt
from typing import Any, NamedTuple

from markupsafe import Markup

from privsieve.report.charts import Piece, bar
from privsieve.report.markup import clean, name, table

#: What a release can hold; more would be an attack on the time that a page takes.
_TEXT = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?")
_EXPONENTS = range(-1074, 971)
#: Digits that are computed: far more than are shown.
_EXACT = Context(prec=60)
#: A noise has so many digits that matter; a number is shown no finer than those.
_DIGITS = 2
_CHOSEN = Markup('<span class="nb">chosen</span>')
#: How the laws of noise are called by people.
LAWS = {"gamma-norm": "a random direction, and a length after the Gamma law",
        "gaussian": "a Gaussian on each number",
        "laplace": "a Laplace on each number",
        "discrete-laplace": "a discrete Laplace on each count",
        "discrete-gaussian": "a discrete Gaussian on each count"}


class Noise(NamedTuple):
    """The law of the noise, and the standard deviation of that of one number."""

    law: str
    each: Fraction

    @property
    def words(self) -> str:
        """The law in words."""
        return LAWS.get(self.law) or clean(self.law)

    def shown(self, value: Fraction, *, whole: bool = False) -> str:
        """A number that has this noise, no finer than the second digit of it; a count is whole.

        >>> Noise("gaussian", Fraction("0.0123")).shown(Fraction("-0.53219"))
        '−0.532'
        >>> Noise("gaussian", Fraction(2800)).shown(Fraction(1234567))
        '1,234,600'
        """
        place = max(_place(self.each), 0) if whole else _place(self.each)
        rounded = _decimal(value).quantize(Decimal(1).scaleb(place), rounding=ROUND_HALF_EVEN,
                                           context=_EXACT)
        return plain(rounded)

    def of(self, added: int) -> Noise:
        """The noise of a sum of so many numbers, whose noises do not depend on one another.

        >>> float(Noise("laplace", Fraction(2)).of(9).each)
        6.0
        """
        return Noise(self.law, self.each * _root_up(added))


def read(text: object) -> Fraction:
    """A decimal text of a release, exactly; a longer one than privsieve writes raises.

    >>> read("-1.5e-3")
    Fraction(-3, 2000)
    """
    if not isinstance(text, str) or not _TEXT.fullmatch(text):
        raise ValueError("a number of the release is not one that privsieve writes")
    return Fraction(text)


def noise_of(release: Mapping[str, Any]) -> Noise:
    """The noise that a release tells of."""
    return Noise(str(release["noise"]["law"]), read(release["noise"]["each"]))


def numbers_of(release: Mapping[str, Any]) -> tuple[Fraction, ...]:
    """The released numbers, exactly."""
    values = release["values"]
    if values["exponent"] not in _EXPONENTS:
        raise ValueError("the numbers of the release lie on no grid of doubles")
    step = Fraction(2) ** values["exponent"]
    return tuple(q * step for q in values["q"])


def amount(said: Mapping[str, Any], key: str) -> Fraction | None:
    """A public number of a forecast; None where it does not stand there.

    >>> amount({"longest": "0.5"}, "longest"), amount({}, "longest")
    (Fraction(1, 2), None)
    """
    return read(said[key]) if key in said else None


def up(value: Fraction) -> str:
    """An amount that is bad news, in two digits, rounded up.

    >>> up(Fraction("0.01231")), up(Fraction(26671)), up(Fraction(0))
    ('0.013', '27,000', '0')
    """
    if value <= 0:
        return "0"
    found = _decimal(value)
    return plain(found.quantize(Decimal(1).scaleb(_place(value)), rounding=ROUND_CEILING,
                                context=_EXACT))


def plain(value: Decimal) -> str:
    """Digits without an exponent, thousands parted, with the sign of print.

    >>> plain(Decimal("-1.2E+4")), plain(Decimal("-0.00")), plain(Decimal("0.50"))
    ('−12,000', '0.00', '0.50')
    """
    text = f"{abs(value):,f}"
    return f"−{text}" if value < 0 and text.strip("0.,") else text


class Span(NamedTuple):
    """What the width of bars around zero stands for: it holds zero, all numbers and the noise.

    >>> span = Span.over([Fraction(3), Fraction(-1, 2)], Noise("gaussian", Fraction(1)))
    >>> span, span.at(Fraction(0))
    (Span(low=Fraction(-1, 1), high=Fraction(3, 1)), 25.0)
    """

    low: Fraction
    high: Fraction

    @classmethod
    def over(cls, values: Sequence[Fraction], noise: Noise) -> Span:
        """The span of these numbers and their noise."""
        return cls(min(-noise.each, *values), max(noise.each, *values))

    def at(self, value: Fraction) -> float:
        """Where a number lies, in per cent of the width."""
        return float(100 * (value - self.low) / (self.high - self.low))

    def pieces(self, value: Fraction, noise: Noise, kind: str) -> list[Piece]:
        """A bar from zero, over the band of one standard deviation on each side of zero."""
        low, high = sorted((self.at(Fraction(0)), self.at(value)))
        return [Piece(self.at(-noise.each), self.at(noise.each), "f3"), Piece(low, high, kind)]


def bars(caption: str, head: str, weights: Sequence[tuple[str, Fraction, bool]], noise: Noise,
         *, chosen: bool = False) -> Markup:
    """A table of numbers with noise, each a bar from zero; chosen ones are marked and told."""
    span = Span.over([value for _, value, _ in weights], noise)
    rows = [[bar(name(label), span.pieces(value, noise, "f1" if mark else "f2"),
                 span.at(Fraction(0))),
             *([_CHOSEN if mark else "–"] if chosen else []), noise.shown(value)]
            for label, value, mark in weights]
    return table(caption, [head, *(["Chosen"] if chosen else []), "Weight"], rows,
                 words=2 if chosen else 1)


def _place(value: Fraction) -> int:
    """The place of the last digit that matters; 0 where there is none."""
    if value <= 0:
        return 0
    return _decimal(value).adjusted() - _DIGITS + 1


def _decimal(value: Fraction) -> Decimal:
    return _EXACT.divide(Decimal(value.numerator), Decimal(value.denominator))


def _root_up(number: int) -> Fraction:
    """The square root in four decimals, rounded up."""
    return Fraction(isqrt(number * 10**8 - 1) + 1 if number else 0, 10**4)
