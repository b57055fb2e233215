"""The middle of a selection's page: the columns, what the protection means, how good it is."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from markupsafe import Markup

from privsieve.report.charts import Cost, Piece, bar, costs
from privsieve.report.markup import (
    clean,
    count,
    joined,
    name,
    pair,
    paragraph,
    section,
    table,
)
from privsieve.report.rounding import belief, down, percent

if TYPE_CHECKING:
    from privsieve.report.selection import Forecast, SelectionPage

#: How sure somebody is before, in the table of beliefs.
_BEFORE = (Fraction(1, 2), Fraction(1, 10), Fraction(1, 100))


def columns(told: SelectionPage) -> Markup:
    """The names, and what was declared of them."""
    if told.ordered:
        order = pair("The first name stands for the column that came out best. The order was paid "
                     "for; there are still no scores, which would tell more and cost more.",
                     "the claim covers the ordered list; scores need a release of their own")
    else:
        order = pair("From A to Z: the order says nothing. Ranks and scores are missing on "
                     "purpose. They would tell more about the table, and would have to be paid "
                     "for.", "the claim covers the unordered set; ranks need an ordered release")
    head = ["Column", "Declared in the domain"]
    rows = [[name(column.name), _declaration(column.declared)] for column in told.chosen]
    return section("cols", f"The {count(len(told.chosen))} columns" if len(told.chosen) > 1
                   else "The column", order,
                   table("What was public about them before", head, rows, words=2),
                   paragraph("The declarations are the table holder’s. Nothing here was read from "
                             "the rows.", "note"))


def _declaration(declared: str | None) -> str | Markup:
    if declared is None:
        return "This release does not say what was declared."
    return clean(declared) if len(declared) <= 128 else Markup("{}…").format(clean(declared[:120]))


def meaning(told: SelectionPage) -> Markup:
    """What somebody can come to believe."""
    title = "What protection of this size means"
    claim = told.claim
    if told.free:
        return section("means", title, paragraph(
            "Nothing can be learnt about anybody: the answer was known before the table was."))
    if claim.delta != "0" or claim.account != "pure":
        return section("means", title, paragraph(
            f"{claim.sentence} Ranges of belief are not shown for a promise that holds only up to "
            "a δ."))
    wavers = (f"between two ideas of what your {claim.noun} holds" if claim.replaced else
              f"over whether your {claim.noun} is in it at all")
    low, high = (percent(end) for end in belief(claim.epsilon, _BEFORE[0]))
    rows = []
    for before in _BEFORE:
        least, most = belief(claim.epsilon, before)
        rows.append([bar(percent_of(before), [Piece(float(least), float(most))],
                         float(100 * before)), percent(least), percent(most)])
    text = Markup(
        "Picture a stranger who knows all the rest of the table, and wavers {}, fifty-fifty. Of "
        "either, the stranger can be at least {} and at most {} sure after this release.").format(
            wavers, low, high)
    return section(
        "means", title,
        pair(text, "posterior odds ≤ e^ε × prior odds, in both directions; percentages are "
             "rounded outwards"),
        table("How sure such a stranger can be afterwards",
              ["Sure before (line), and the range afterwards", "At least", "At most"], rows),
        paragraph("Nobody can pass these limits, whatever else they know; most learn far less. "
                  "Other releases about the same people widen the range: costs add up. Their sum "
                  "stands in the ledger, not in this release."))


def percent_of(share: Fraction) -> str:
    """A round share in per cent.

    >>> percent_of(Fraction(1, 10))
    '10 %'
    """
    return f"{100 * share.numerator // share.denominator} %"


def good(told: SelectionPage) -> Markup:
    """The forecast, by cost and by gap."""
    title, forecast = "How good the answer is likely to be", told.forecast
    warning = [paragraph(Markup("<b>Said before the charge:</b> {}.").format(
        clean_sentence(told.warning)))] if told.warning else []
    if told.free:
        return section("good", title, paragraph("All columns were asked for: none can be missing."))
    if forecast is None:
        return section("good", title, *warning, paragraph(
            "This release holds no forecast, and nothing was measured on the table: a measurement "
            "would have cost more of the budget."))
    k = len(told.chosen)
    rows = [[bar(f"{_hundredths(gap)} of the {told.claim.noun}s", [Piece(0, found)],
                 forecast.guessing), f"{down(found, k)} of {k}", f"{found} %"]
            for gap, found in forecast.by_gap]
    return section(
        "good", title, *warning,
        pair(Markup("Nobody looked: this is a forecast from public numbers alone, and it was known "
                    "before the first row was read. How many of the best columns are found "
                    "depends on how much they stand out from the others."),
             "recall, first-order forecast; the gap is by what share of the units the best columns "
             "score higher; rounded down"),
        _by_cost(told, forecast),
        table("At the cost of this release",
              ["How much the best columns stand out, and what is found (line: guessing)",
               "Found", "Share"], rows, marked=_marked(forecast)),
        paragraph(f"Guessing finds {forecast.guessing} %. How much the columns of this very table "
                  "stand out is not known here: to measure it would cost more of the budget."))


def _marked(forecast: Forecast) -> int | None:
    gaps = [gap for gap, _ in forecast.by_gap]
    return gaps.index(forecast.usual_gap) if forecast.usual_gap in gaps else None


def _by_cost(told: SelectionPage, forecast: Forecast) -> Markup:
    if not forecast.by_cost or forecast.usual_gap is None:
        return paragraph("This release holds no forecast at other costs.")
    drawn = [Cost(cost, found, cost == told.claim.text) for cost, found in forecast.by_cost]
    k = len(told.chosen)
    this = [at for at, one in enumerate(drawn) if one.this]
    rows = [[f"{one.text}{', this release' if one.this else ''}", f"{down(one.found, k)} of {k}",
             f"{one.found} %"] for one in drawn]
    return joined([
        costs(drawn, forecast.guessing),
        table(f"The same in numbers, where the best columns stand out in "
              f"{_hundredths(forecast.usual_gap)} of the {told.claim.noun}s",
              ["Cost (ε)", "Found", "Share"], rows, marked=this[0] if this else None)])


def _hundredths(gap: str) -> str:
    """A share of rows, in per cent."""
    share = Fraction(gap) * 100
    return f"{share.numerator} %" if share.denominator == 1 else f"{float(share):g} %"


def clean_sentence(text: str) -> str:
    """A sentence of a release, without a stop at its end.

    >>> clean_sentence("too few rows.")
    'too few rows'
    """
    return " ".join(clean(part) for part in text[:1000].split(" ")).rstrip(". ")
