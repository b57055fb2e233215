"""Numbers: what pages say of weights, formulas and tables of counts that left with noise.

A number is shown as far as its noise lets anybody read it, and no finer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import isqrt, prod
from typing import Any, NamedTuple

from markupsafe import Markup

from privsieve.public.canonical import EXACT
from privsieve.public.planned import settings
from privsieve.release import ANSWERS, KINDS, NoiseLaw, number
from privsieve.report.page import MANY, Piece, bar, clean, count, name, rounded, table
from privsieve.report.private import PrivatePage

#: More weights than this are a file for a machine: the page shows the first ones.
_MOST = 300
#: More bars of one column than this are left to release.json.
_BARS = 60
#: How the laws of noise are called by people.
LAWS = {"gamma-norm": "a random direction, and a length after the Gamma law",
        "gaussian": "a Gaussian on each number",
        "laplace": "a Laplace on each number",
        "discrete-laplace": "a discrete Laplace on each count",
        "discrete-gaussian": "a discrete Gaussian on each count"}


class ShownNoise(NamedTuple):
    """The law of the noise, and the standard deviation of that of one number."""

    law: str
    each: Fraction

    @classmethod
    def of_law(cls, noise: NoiseLaw) -> ShownNoise:
        """The noise that a release tells of."""
        return cls(noise.law, number(noise.each))

    @property
    def words(self) -> str:
        """The law in words."""
        return LAWS.get(self.law) or clean(self.law)

    def shown(self, value: Fraction, *, whole: bool = False) -> str:
        """A number that has this noise, no finer than the second digit of it; a count is whole.

        >>> ShownNoise("gaussian", Fraction("0.0123")).shown(Fraction("-0.53219"))
        '−0.532'
        >>> ShownNoise("gaussian", Fraction(2800)).shown(Fraction(1234567))
        '1,234,600'
        """
        place = last_place(self.each)
        return plain(rounded(value, max(place, 0) if whole else place, ROUND_HALF_EVEN))

    def of(self, added: int) -> ShownNoise:
        """The noise of a sum of some numbers, whose noises do not depend on one another.

        >>> float(ShownNoise("laplace", Fraction(2)).of(9).each)
        6.0
        """
        # the root in four decimals, rounded up
        root = Fraction(isqrt(added * 10**8 - 1) + 1 if added else 0, 10**4)
        return ShownNoise(self.law, self.each * root)


class Span(NamedTuple):
    """What the width of bars around zero stands for: it holds zero, all numbers and the noise.

    >>> span = Span.over([Fraction(3), Fraction(-1, 2)], Fraction(1))
    >>> span, span.at(Fraction(0))
    (Span(low=Fraction(-1, 1), high=Fraction(3, 1)), 25.0)
    """

    low: Fraction
    high: Fraction

    @classmethod
    def over(cls, values: Sequence[Fraction], each: Fraction) -> Span:
        """The span of these numbers and their noise."""
        return cls(min(-each, *values), max(each, *values))

    def at(self, value: Fraction) -> float:
        """Where a number lies, in per cent of the width."""
        return float(100 * (value - self.low) / (self.high - self.low))

    def pieces(self, value: Fraction, each: Fraction, kind: str) -> list[Piece]:
        """A bar from zero, over the band of one standard deviation on each side of zero."""
        low, high = sorted((self.at(Fraction(0)), self.at(value)))
        return [Piece(self.at(-each), self.at(each), "f3"), Piece(low, high, kind)]


class _NumbersPage(PrivatePage):
    """What pages of numbers with noise say alike."""

    @cached_property
    def content(self) -> Any:
        """What was released, read as its kind."""
        return KINDS[self.release["kind"]].read(self.release)

    @cached_property
    def noise(self) -> ShownNoise:
        """The noise on each number."""
        return ShownNoise.of_law(self.content.noise)

    def amount(self, key: str) -> Fraction | None:
        """A public number of the forecast; None where it does not stand there."""
        return number(self.forecast[key]) if key in self.forecast else None


class Weighed(NamedTuple):
    """A column with its released weight, and whether it was chosen."""

    name: str
    value: Fraction
    chosen: bool


@dataclass(frozen=True)
class WeightsPage(_NumbersPage):
    """What a page says of released weights."""

    @cached_property
    def weights(self) -> list[Weighed]:
        """The chosen ones first, then the larger ones."""
        chosen = set(self.content.selected)
        weights = [Weighed(column, value, column in chosen) for column, value in
                   zip(self.release["columns"], self.content.values.exact, strict=True)]
        return sorted(weights, key=lambda one: (not one.chosen, -one.value, one.name))

    @property
    def chosen(self) -> list[str]:
        """The names of the chosen columns, the largest weight first."""
        return [one.name for one in self.weights if one.chosen]

    @property
    def clear(self) -> int:
        """How many weights are farther from zero than two standard deviations of the noise."""
        return sum(abs(one.value) > 2 * self.noise.each for one in self.weights)

    @property
    def bars(self) -> Markup:
        """The weights, drawn."""
        return bars("Released weights", self.weights[:_MOST], self.noise, chosen=True)


@dataclass(frozen=True)
class RegressionPage(_NumbersPage):
    """What a page says of a formula, or of answers of one that stays behind."""

    @property
    def features(self) -> list[tuple[str, Markup]]:
        """The public parameters of the map."""
        return [(clean(key), name(value)) for key, value in settings(
            {key: value for key, value in self.content.features.items() if key != "map"})]

    @cached_property
    def noise(self) -> ShownNoise:
        """The noise on each number, or on each answer."""
        noise = ShownNoise.of_law(self.content.noise)
        # what leaves is on another scale; the forecast speaks of an answer
        each = self.amount("noise_each") if self.content.map == ANSWERS else None
        return noise if each is None else ShownNoise(noise.law, each)

    @cached_property
    def answers(self) -> list[str] | None:
        """The answers as far as their noise lets; None where a formula was released."""
        if self.content.answers is None:
            return None
        return [self.noise.shown(number(text)) for text in self.content.answers]

    @property
    def bars(self) -> Markup | None:
        """The weight of each column, where a number belongs to one, and not too many."""
        labels = labels_of(self.domain) if self.content.map == "linear" else []
        if len(labels) != len(self.content.values) or not 0 < len(labels) <= _MOST:
            return None
        weights = [Weighed(label, value, chosen=True) for label, value in
                   zip(labels, self.content.values.exact, strict=True)]
        return bars("The weight of each column, the farthest from zero first",
                    sorted(weights, key=lambda one: (-abs(one.value), one.name)), self.noise)


class TableAxis(NamedTuple):
    """A column of the table: a label for each of its cells, and how many units are counted there.

    The counts are sums of released ones, and may be below zero.
    """

    name: str
    labels: Sequence[str]
    counts: Sequence[int]


@dataclass(frozen=True)
class HistogramPage(_NumbersPage):
    """What a page says of a table of counts."""

    @cached_property
    def axes(self) -> list[TableAxis]:
        """The columns of the table, with their sums."""
        held = self.content.cells
        sums = margins(held.shape, held.q, range(prod(held.shape)) if isinstance(held.place, str)
                       else held.place)
        parts = [*self.domain["columns"], self.target]
        declared = {part["name"]: part for part in parts if part}
        return [TableAxis(axis, labels(declared.get(axis, {}), held.bins.get(axis), len(counts)),
                          counts) for axis, counts in zip(held.names, sums, strict=True)]

    @property
    def choice(self) -> Mapping[str, str] | None:
        """How the columns were chosen before, and for which part of the cost."""
        return self.release["plan"]["settings"].get("choice")  # type: ignore[no-any-return]

    @property
    def product(self) -> str:
        """The number of cells, as a product."""
        product = " × ".join(count(len(axis.labels)) for axis in self.axes[:MANY])
        return f"{product} × …" if len(self.axes) > MANY else product

    @property
    def cells_of_columns(self) -> Iterator[list[Markup | str]]:
        """Each column, its labels, and how many they are."""
        for axis in self.axes:
            shown = Markup(", ").join(clean(text) for text in axis.labels[:8])
            if len(axis.labels) > 8:
                shown = Markup("{}, … {}").format(shown, clean(axis.labels[-1]))
            yield [name(axis.name), shown, count(len(axis.labels))]

    def added(self, axis: TableAxis) -> int:
        """How many cells make one sum of a column: at most those that are held."""
        held = self.content.cells
        return max(1, min(int(held.many) // len(axis.labels), len(held.q)))

    @property
    def sums(self) -> list[int]:
        """How many cells make a sum, where it is more than one."""
        return sorted({added for added in map(self.added, self.axes) if added > 1})

    def bars(self, axis: TableAxis) -> Markup:
        """A column alone, drawn; what noise made negative is shown as zero."""
        noise = self.noise.of(self.added(axis))
        counts = [max(0, one) for one in axis.counts]
        largest = max([*counts, 1])
        return table(
            Markup("Rows by {}").format(name(axis.name)),
            [f"Value (standard deviation of the noise: {up(noise.each)})", "Rows"],
            [[bar(clean(label) or "(empty)", [Piece(0, 100 * held / largest)]),
              noise.shown(Fraction(held), whole=True)]
             for label, held in list(zip(axis.labels, counts, strict=True))[:_BARS]])


def page(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> bytes:
    """The page of weights, of a formula, or of a table of counts."""
    pages = {"weights": WeightsPage, "regression": RegressionPage, "histogram": HistogramPage}
    kind = release["kind"]
    return pages[kind](release, certificate).document("private", kind, up=up)


def bars(caption: str, weights: Sequence[Weighed], noise: ShownNoise, *, chosen: bool = False,
         ) -> Markup:
    """A table of numbers with noise, each a bar from zero; chosen ones are marked and told."""
    span = Span.over([one.value for one in weights], noise.each)
    rows = [[bar(name(one.name), span.pieces(one.value, noise.each, "f1" if one.chosen else "f2"),
                 span.at(Fraction(0))),
             *([Markup('<span class="nb">chosen</span>') if one.chosen else "–"] * chosen),
             noise.shown(one.value)] for one in weights]
    return table(caption, ["Column (line: zero; band: noise)", *["Chosen"] * chosen, "Weight"],
                 rows, words=2 if chosen else 1)


def margins(shape: Sequence[int], q: Sequence[int], place: Iterable[int]) -> list[list[int]]:
    """For each column the sums over all others, of the cells that are held.

    >>> margins([2, 3], [1, 2, 3, 10, 20, 30], range(6)), margins([2, 3], [3, 30], [2, 5])
    ([[6, 60], [11, 22, 33]], [[3, 30], [0, 0, 33]])
    """
    sums: list[list[int]] = []
    held: Iterable[tuple[int, int]] = zip(place, q, strict=True)
    for cells in reversed(shape):
        column, above = [0] * cells, Counter[int]()
        for cell, counted in held:
            outer, level = divmod(cell, cells)
            column[level] += counted
            above[outer] += counted
        sums.append(column)
        held = above.items()
    return sums[::-1]


def labels(declared: Mapping[str, Any], bins: Sequence[str] | None, cells: int) -> list[str]:
    """A label for each cell of a column, from what is public.

    >>> labels({"kind": "flag"}, None, 2), labels({"kind": "number"}, ["0", "5", "10"], 3)
    (['no', 'yes'], ['0 to 5', '5 to 10', 'missing'])
    """
    kind, values = declared.get("kind"), [str(one) for one in declared.get("values", ())]
    if kind == "flag":
        said = ["no", "yes"]
    elif values:
        said = [*values, *(["other"] if kind == "category" else [])]
    elif bins is not None:
        said = [f"{low} to {high}" for low, high in pairwise(map(_edge, bins))]
        said += ["missing"] * (len(said) < cells)
    else:
        said = [f"bin {at}" for at in range(1, cells + 1)]
    if len(said) != cells:
        raise ValueError("the cells of a column are not those that its domain and bins give")
    return said


def labels_of(domain: Mapping[str, Any]) -> list[str]:
    """What the numbers of a linear map belong to: the constant, then columns and their levels.

    >>> labels_of({"columns": [{"kind": "number", "name": "age", "missing": "level"},
    ...                        {"kind": "category", "name": "ward", "values": ["A"]}]})
    ['(constant)', 'age', 'age: missing', 'ward: A', 'ward: other']
    """
    said = ["(constant)"]
    for column in domain["columns"]:
        if column["kind"] == "category":
            said += [f"{column['name']}: {value}" for value in (*column["values"], "other")]
            continue
        said.append(column["name"])
        if column.get("missing") == "level":
            said.append(f"{column['name']}: missing")
    return said


def _edge(text: str) -> str:
    """An edge as a number in four digits or whole, or as the date that it is."""
    try:
        value = float(text)
    except ValueError:
        return text
    return f"{value:,.0f}" if abs(value) >= 10**4 else f"{value:.4g}"


def up(value: Fraction) -> str:
    """An amount that is bad news, in two digits, rounded up.

    >>> up(Fraction("0.01231")), up(Fraction(26671)), up(Fraction(0))
    ('0.013', '27,000', '0')
    """
    return plain(rounded(value, last_place(value), ROUND_CEILING)) if value > 0 else "0"


def last_place(value: Fraction) -> int:
    """The power of ten of the second digit that matters; 0 where there is none."""
    if value <= 0:
        return 0
    return EXACT.divide(Decimal(value.numerator), Decimal(value.denominator)).adjusted() - 1


def plain(value: Decimal) -> str:
    """Digits without an exponent, thousands parted, with the sign of print.

    >>> plain(Decimal("-1.2E+4")), plain(Decimal("-0.00")), plain(Decimal("0.50"))
    ('−12,000', '0.00', '0.50')
    """
    text = f"{abs(value):,f}"
    return f"−{text}" if value < 0 and text.strip("0.,") else text
