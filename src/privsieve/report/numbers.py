"""Numbers: released numbers on pages, rounded to the digits that their noise leaves readable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_EVEN
from fractions import Fraction
from math import isqrt
from typing import Any, NamedTuple

from privsieve.release import ANSWERS, KINDS, NoiseLaw, number
from privsieve.report.figures import digits, last_place, rounded, up
from privsieve.report.frame import Known
from privsieve.report.private import private
from privsieve.telling.document import Bar, DataTable, Piece, Text, literal, name

#: The page shows at most this many numbers; the others are in release.json.
MOST = 300
#: The laws of noise in words.
LAWS = {"gamma-norm": "a random direction, and a length after the Gamma law",
        "gaussian": "a Gaussian on each number",
        "laplace": "a Laplace on each number",
        "discrete-laplace": "a discrete Laplace on each count",
        "discrete-gaussian": "a discrete Gaussian on each count"}


class NoiseFigure(NamedTuple):
    """The law of the noise, and its standard deviation on one number."""

    law: str
    each: Fraction

    @classmethod
    def of_law(cls, noise: NoiseLaw) -> NoiseFigure:
        """Return the noise of a release."""
        return cls(noise.law, number(noise.each))

    def text_of(self, value: Fraction, *, whole: bool = False) -> str:
        """Return a number, no finer than the second digit of its noise; a count stays whole.

        >>> NoiseFigure("gaussian", Fraction("0.0123")).text_of(Fraction("-0.53219"))
        '−0.532'
        >>> NoiseFigure("gaussian", Fraction(2800)).text_of(Fraction(1234567))
        '1,234,600'
        """
        place = last_place(self.each)
        return digits(rounded(value, max(place, 0) if whole else place, ROUND_HALF_EVEN))

    def of_sum(self, added: int) -> NoiseFigure:
        """Return the noise of a sum of some numbers with independent noises.

        >>> float(NoiseFigure("laplace", Fraction(2)).of_sum(9).each)
        6.0
        """
        # the root in four decimals, rounded up
        root = Fraction(isqrt(added * 10**8 - 1) + 1 if added else 0, 10**4)
        return NoiseFigure(self.law, self.each * root)


class Weighed(NamedTuple):
    """A column with its released weight, and whether it was chosen."""

    name: str
    value: Fraction
    chosen: bool


def numbers(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> Known:
    """Return what all pages of numbers with noise fill in."""
    content: Any = KINDS[release["kind"]].read(release)
    forecast, noise = release["forecast"], NoiseFigure.of_law(content.noise)
    if forecast and getattr(content, "map", None) == ANSWERS and "noise_each" in forecast:
        # the released numbers have another scale; the forecast gives the noise of an answer
        noise = NoiseFigure(noise.law, number(forecast["noise_each"]))
    return {
        **private(release, certificate), "content": content, "noise": noise,
        "law": Text(LAWS.get(noise.law) or literal(noise.law)), "each": up(noise.each),
        "noise_length": up(number(forecast["noise_length"])) if "noise_length" in forecast else "",
        **{key: lambda key=key: up(number(forecast[key]))
           for key in ("longest", "noise_prediction", "expected_error")},
    }


def weight_table(caption: str, weights: Sequence[Weighed], noise: NoiseFigure, *,
                 chosen: bool = False) -> DataTable:
    """Return a table of numbers, each a bar over a band of one standard deviation around zero."""
    values = [weight.value for weight in weights]
    low, high = min(-noise.each, *values), max(noise.each, *values)

    def place(value: Fraction) -> float:
        return float(100 * (value - low) / (high - low))

    zero = place(Fraction(0))
    band = Piece(place(-noise.each), place(noise.each), "f3")
    rows: list[list[str | Bar]] = [
        [Bar(name(weight.name), [band, Piece(min(zero, at), max(zero, at),
                                             "f1" if weight.chosen else "f2")], zero),
         *(["chosen" if weight.chosen else "–"] * chosen), noise.text_of(weight.value)]
        for weight in weights for at in [place(weight.value)]]
    return DataTable(caption, ["Column (line: zero; band: noise)", *["Chosen"] * chosen, "Weight"],
                     rows, words=2 if chosen else 1)
