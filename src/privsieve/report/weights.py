"""Weights: what a page says of a released weight for each column."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from markupsafe import Markup

from privsieve.report import frame
from privsieve.report.claim import Column, Common, common_of
from privsieve.report.markup import count, facts, name, names, pair, paragraph, points, section
from privsieve.report.values import Noise, amount, bars, noise_of, numbers_of, up

#: More chosen names than this stand in the table only.
_MANY = 30
#: More weights than this are a file for a machine: the page shows the first ones.
_MOST = 300


class Weight(NamedTuple):
    """A column with its released weight, and whether it was chosen."""

    name: str
    value: Fraction
    chosen: bool


class WeightsPage(NamedTuple):
    """All that the public edition may say; made of release.json and certificate.json."""

    common: Common
    chosen: tuple[Column, ...]
    weights: tuple[Weight, ...]
    noise: Noise
    length: Fraction | None
    longest: Fraction | None

    @property
    def clear(self) -> int:
        """How many weights are farther from zero than two standard deviations of the noise."""
        return sum(abs(one.value) > 2 * self.noise.each for one in self.weights)


def page_of(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> WeightsPage:
    """The page of released weights, the chosen ones first, then the larger ones."""
    common, forecast = common_of(release, certificate), release.get("forecast") or {}
    chosen = set(release["selected"])
    weights = [Weight(column, value, column in chosen) for column, value in
               zip(release["columns"], numbers_of(release), strict=True)]
    weights.sort(key=lambda one: (not one.chosen, -one.value, one.name))
    return WeightsPage(common, common.declared(one.name for one in weights if one.chosen),
                       tuple(weights), noise_of(release), amount(forecast, "noise_length"),
                       amount(forecast, "longest"))


def page(told: WeightsPage) -> bytes:
    """The whole page."""
    d, about = len(told.weights), frame.outcome(told.common)
    first = name(told.chosen[0].name) if told.chosen else "A column"
    return frame.page(told.common, frame.Words(
        title=f"How much do {d} columns say about the outcome?",
        question=Markup("How much does each column say about {}?").format(about),
        asked=(Markup("How much does {} say about {}, as a weight?").format(
                   f"each of {count(d)} columns" if d > 1 else "the one column", about),
               Markup("feature weighting, <i>d</i>&nbsp;=&nbsp;{}, with the {} largest chosen"
                      ).format(d, len(told.chosen))),
        answered=(_answered(told), Markup(
            "noise with a standard deviation of {} on each; a weight beyond two of them stands "
            "out, and of noise alone about 1 in 20 does").format(up(told.noise.each))),
        unprotected=(Markup(
            "<b>The values in these columns.</b> Only their weights may leave: to share rows or "
            "counts of them is another question, with a cost of its own."),
            "the claim is about the vector of weights, and what is worked out from it"),
        result="vector of weights",
        covered="vector of weights",
        sections=(("cols", "The weights", _weights(told)),
                  ("read", "How to read them", _read(told))),
        good=("How strong the noise is", _good(told)),
        limits=(Markup(
            "<b>The cells of the table.</b> The weight of {} says almost nothing about anybody. "
            "Its values would.").format(first),),
        learnt="If a column goes with the outcome, that is learnt about everybody who has such a "
               "value, in the table or not.",
        silent="weight without noise, count, accuracy, warning or running time",
        parameters=(("columns", f"{len(told.chosen)} chosen of {d}"),
                    ("law of the noise", told.noise.words))))


def _answered(told: WeightsPage) -> Markup:
    d, k = len(told.weights), len(told.chosen)
    said = "1 weight" if d == 1 else f"{count(d)} weights"
    said += f", of which {count(told.clear)} stand{'s' * (told.clear == 1)} out from the noise"
    if k > _MANY:
        return Markup('{}; the {} largest stand first in <a href="#cols">the table below</a>'
                      ).format(said, count(k))
    largest = "largest is that of" if k == 1 else f"{k} largest are those of"
    return Markup('{}; the {}: <span class="names">{}</span>').format(
        said, largest, names(one.name for one in told.chosen))


def _weights(told: WeightsPage) -> Markup:
    d, shown = len(told.weights), told.weights[:_MOST]
    order = "The chosen columns stand first; the larger weight goes before. " if d > 1 else ""
    more = [paragraph(f"The other {count(d - _MOST)} weights stand in release.json.")] if (
        d > _MOST) else []
    return section(
        "cols", "The weight" if d == 1 else f"The {count(d)} weights",
        pair(order + "Band: one standard deviation of the noise on each side of zero. A weight "
             "inside of it may be noise alone.",
             f"noise: {told.noise.words}; standard deviation {up(told.noise.each)} each"),
        bars("Released weights", "Column (line: zero; band: noise)",
             [(one.name, one.value, one.chosen) for one in shown], told.noise, chosen=True),
        *more,
        frame.declared("What was public about the chosen ones before", told.chosen[:_MOST]))


def _read(told: WeightsPage) -> Markup:
    about = frame.outcome(told.common)
    return section(
        "read", "What a weight means, and what it does not",
        points([
            Markup("<b>Above zero:</b> in this column a row lies, as a rule, farther from the "
                   "nearest row of another class of {} than from the nearest of its own. The "
                   "column helps to tell the classes apart.").format(about),
            Markup("<b>Near zero, or below:</b> the column does not help, or what it says is said "
                   "by others already: columns that go together share their weight."),
            Markup("<b>Comparable:</b> every column was brought to the same scale by its declared "
                   "bounds. Bounds that are too wide make a weight smaller."),
            Markup("<b>Not a cause,</b> not a share of {}, and no probability: the column "
                   "with the larger weight is the better sign, not the stronger reason.").format(
                       about),
        ]),
        paragraph("Whatever is worked out from these weights alone (a rank, a choice of more or "
                  "fewer columns, a sum) costs nothing more."))


def _good(told: WeightsPage) -> Markup:
    d = len(told.weights)
    rows: list[tuple[str, str]] = [
        ("Noise on each weight", f"standard deviation {up(told.noise.each)}")]
    if told.length is not None:
        rows.append(("Noise on all together", f"about {up(told.length)} long"))
    if told.longest is not None:
        rows.append(("The weights without noise", f"at most {up(told.longest)} long, together"))
    rows.append(("Beyond two standard deviations",
                 f"{count(told.clear)} of {count(d)} released weights"))
    return section(
        "good", "How strong the noise is", *frame.warned(told.common),
        pair(Markup("The noise was known before the first row was read, from public numbers "
                    "alone. {}").format(_strength(told)),
             "lengths are Euclidean; the expected length of the noise, and a bound that holds for "
             "every table"),
        facts("Noise and weights", rows),
        paragraph(f"Of {count(d)} weights that are noise alone, about 1 in 20 would still lie "
                  "beyond two standard deviations. How far the weights of this very table are "
                  "from their noise is not known here: to measure it would cost more of the "
                  "budget."))


def _strength(told: WeightsPage) -> str:
    """The noise against the longest that the weights can be, in words."""
    if told.length is None or told.longest is None:
        return "How long the weights can be without it, this release does not say."
    if told.length >= told.longest:
        return ("It is longer than the weights without it can be: what is seen here is close to "
                "noise alone.")
    return (f"All together it is about {up(100 * told.length / told.longest)} % as long as the "
            "weights without it can be; most tables have shorter ones.")
