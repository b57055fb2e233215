"""Selection: what a page says of a choice of columns under differential privacy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from markupsafe import Markup

from privsieve.public.cost import exact
from privsieve.report import frame
from privsieve.report.charts import Cost, Piece, bar, costs
from privsieve.report.claim import Column, Common, common_of
from privsieve.report.markup import count, joined, name, names, pair, paragraph, section, table
from privsieve.report.rounding import down
from privsieve.report.values import read

#: More names than this stand in the table only.
_MANY = 30


class Forecast(NamedTuple):
    """Per cent of the best columns that would be found, from public numbers alone.

    by_gap : for each share of rows by which those columns stand out.
    by_cost : for each cost, at the usual gap; empty where the release does not say.
    """

    guessing: int
    by_gap: tuple[tuple[str, int], ...]
    by_cost: tuple[tuple[str, int], ...]
    usual_gap: str | None


class SelectionPage(NamedTuple):
    """All that the public edition may say; made of release.json and certificate.json."""

    common: Common
    chosen: tuple[Column, ...]
    ordered: bool
    forecast: Forecast | None


def page_of(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> SelectionPage:
    """The page of a release; what is not in its two files becomes None."""
    common = common_of(release, certificate)
    ordered = release["plan"]["settings"].get("ordered") is True
    selected = release["selected"] if ordered else sorted(release["selected"], key=_alphabet)
    return SelectionPage(common, common.declared(selected), ordered,
                         _forecast(release.get("forecast")))


def _forecast(said: Mapping[str, Any] | None) -> Forecast | None:
    if not said or "found_percent" not in said:
        return None
    by_cost = said.get("by_cost", {})
    return Forecast(int(said["guessing_percent"]),
                    tuple((gap, int(found)) for gap, found in _increasing(said["found_percent"])),
                    tuple((cost, int(found)) for cost, found in _increasing(by_cost)),
                    said.get("usual_gap"))


def _increasing(told: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return sorted(told.items(), key=lambda one: exact(one[0], "the forecast"))


def _alphabet(name: str) -> tuple[str, str]:
    return name.casefold(), name


def page(told: SelectionPage) -> bytes:
    """The whole page."""
    k, d = len(told.chosen), len(told.common.columns)
    about, result = frame.outcome(told.common), "list" if told.ordered else "set"
    first = name(told.chosen[0].name) if told.chosen else "A column"
    return frame.page(told.common, frame.Words(
        title=f"Which {k} of {d} columns say most about the outcome?",
        question=Markup("Which columns say most about {}?").format(about),
        asked=(Markup("Which {} of {} columns say most, alone or together, about {}?").format(
                   k, d, about),
               Markup("feature selection, <i>k</i>&nbsp;=&nbsp;{} of <i>d</i>&nbsp;=&nbsp;{}"
                      ).format(k, d)),
        answered=(_answered(told), _answer_term(told)),
        unprotected=(Markup(
            "<b>The values in these columns.</b> Only their names may leave: to share rows or "
            "counts of them is another question, with a cost of its own."),
            f"the claim is about the {result} of names alone"),
        result=f"{result} of names",
        covered=f"{'ordered' if told.ordered else 'unordered'} {result}",
        sections=(("cols", "The columns", _columns(told)),),
        good=("How good the answer is", _good(told)),
        limits=(Markup(
            "<b>The cells of the table.</b> That {} was chosen says almost nothing about "
            "anybody. Its values would.").format(first),),
        learnt="If a column goes with the outcome, that is learnt about everybody who has such a "
               "value, in the table or not.",
        silent="score, count, accuracy, warning or running time",
        parameters=(("columns", f"{k} chosen of {d}"),)))


def _answered(told: SelectionPage) -> Markup:
    shown = names(c.name for c in told.chosen) if len(told.chosen) <= _MANY else Markup(
        'they stand in <a href="#cols">the table below</a>')
    return Markup('{}: <span class="names">{}</span>').format(_number(told), shown)


def _number(told: SelectionPage) -> str:
    k = len(told.chosen)
    said = "1 name" if k == 1 else f"{count(k)} names"
    usual = _usual(told.forecast)
    if told.common.free or usual is None:
        return said
    found = down(usual, k)
    return f"{said}, of which about {found} would be right on a usual table"


def _usual(forecast: Forecast | None) -> int | None:
    """What is found at the usual gap, in per cent."""
    if forecast is None or forecast.usual_gap is None:
        return None
    return dict(forecast.by_gap).get(forecast.usual_gap)


def _answer_term(told: SelectionPage) -> str:
    order = "a list, the best first" if told.ordered else "an unordered set, here from A to Z"
    return f"{order}; the share that is right is a forecast, and was not measured"


def _columns(told: SelectionPage) -> Markup:
    if told.ordered:
        order = pair("The first name stands for the column that came out best. The order was paid "
                     "for; there are still no scores, which would tell more and cost more.",
                     "the claim covers the ordered list; scores need a release of their own")
    else:
        order = pair("From A to Z: the order says nothing. Ranks and scores are missing on "
                     "purpose. They would tell more about the table, and would have to be paid "
                     "for.", "the claim covers the unordered set; ranks need an ordered release")
    return section("cols", f"The {count(len(told.chosen))} columns" if len(told.chosen) > 1
                   else "The column", order,
                   frame.declared("What was public about them before", told.chosen),
                   paragraph("The declarations are the table holder’s. Nothing here was read from "
                             "the rows.", "note"))


def _good(told: SelectionPage) -> Markup:
    title, forecast = "How good the answer is likely to be", told.forecast
    warning = frame.warned(told.common)
    if told.common.free:
        return section("good", title, paragraph("All columns were asked for: none can be missing."))
    if forecast is None:
        return section("good", title, *warning, paragraph(
            "This release holds no forecast, and nothing was measured on the table: a measurement "
            "would have cost more of the budget."))
    k = len(told.chosen)
    rows = [[bar(f"{_hundredths(gap)} of the {told.common.claim.noun}s", [Piece(0, found)],
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
    drawn = [Cost(cost, found, cost == told.common.claim.text) for cost, found in forecast.by_cost]
    k = len(told.chosen)
    this = [at for at, one in enumerate(drawn) if one.this]
    rows = [[f"{one.text}{', this release' if one.this else ''}", f"{down(one.found, k)} of {k}",
             f"{one.found} %"] for one in drawn]
    return joined([
        costs(drawn, forecast.guessing),
        table(f"The same in numbers, where the best columns stand out in "
              f"{_hundredths(forecast.usual_gap)} of the {told.common.claim.noun}s",
              ["Cost (ε)", "Found", "Share"], rows, marked=this[0] if this else None)])


def _hundredths(gap: str) -> str:
    """A share of rows, in per cent."""
    share = read(gap) * 100
    return f"{share.numerator} %" if share.denominator == 1 else f"{float(share):g} %"
