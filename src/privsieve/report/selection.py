"""Selection: what the page of chosen columns knows; its words lie in `words/selection.txt`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from privsieve.public.canonical import exact
from privsieve.public.plan import sought
from privsieve.release import NoisyCounts, Release, Selection, number
from privsieve.report.figures import capital, count, listed
from privsieve.report.frame import Known
from privsieve.report.plans import beforehand
from privsieve.report.private import declarations, private
from privsieve.telling.document import (
    Bar,
    Chart,
    DataTable,
    Part,
    Piece,
    Series,
    Text,
    literal,
    name,
    names,
)


def selection(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> Known:
    """What a page of chosen columns knows."""
    known = private(release, certificate)
    options, forecast, noun = release["plan"]["settings"], release["forecast"], known["noun"]
    ordered, most, wanted = options.get("ordered") is True, options.get("at_most"), sought(options)
    chosen = list(Selection.read(release).selected)
    if not ordered:  # their order was not paid for
        chosen.sort(key=lambda one: (one.casefold(), one))
    counts = Selection.counts_of(release)
    missing = "" if counts is None else counts.missing(noun).rstrip(". ")
    forecasts = known["epsilon"] > 0 and not missing
    few = type(most) is int
    what, hit = ("names", "right") if few else ("best columns", "found")

    def said(key: str) -> str:
        text = forecast.get(key) if forecasts else None
        return text.rstrip(". ") if isinstance(text, str) else ""

    return {
        **known, "ordered": ordered, "most": most if few else None, "chosen": chosen,
        "k": len(chosen), "listed": listed(chosen, "cols"),
        "fixed": [Text(f"**{label.capitalize()}:** {names(columns)}"
                       f"{f' ({name(group)})' if group else ''}; {how}.")
                  for label, columns, how, group in beforehand(options)],
        "declared": declarations(release, "What was public about them before", chosen),
        "counts": counts, "missing": missing, "rare": 5 * len(counts.q) if counts else 0,
        "classes": [_classes(counts, known["units"], noun)] if counts else [],
        # in from the beginning were those that were not sought; a group counts once
        "sought": wanted, "others": wanted != len(chosen), "right": Release(release, None).right,
        "forecasts": forecasts, "what": what, "hit": hit, "advice": said("advice"),
        "after_coding": capital(said("after_coding")),
        "guessing": lambda: int(forecast["guessing_percent"]),
        "forecast_parts": lambda: list(_forecast(forecast, known, wanted, what, hit)),
    }


def _classes(counts: NoisyCounts, units: int, noun: str) -> DataTable:
    """Each class with a bar, and about how many units it has."""
    return DataTable(f"Of {count(units)} {noun}s", ("Class", "About"), [
        [Bar(literal(label), [Piece(0, 100 * many / max(1, counts.units))]), count(many)]
        for label, many in zip(counts.names, counts.about, strict=True)])


def _forecast(forecast: Mapping[str, Any], known: Known, wanted: int, what: str, hit: str,
              ) -> Iterator[Part]:
    """What is found by cost, and by how much the best columns stand out."""
    def found(share: int) -> tuple[str, str]:
        return f"{share * wanted // 100} of {wanted}", f"{share} %"

    costs, gaps = (_increasing(forecast[key]) for key in ("by_cost", "found_percent"))
    usual, guessing = forecast["usual_gap"], int(forecast["guessing_percent"])
    epsilon, noun = known["claim"]["epsilon"], known["noun"]
    this = next((at for at, (cost, _) in enumerate(costs) if cost == epsilon), None)
    yield Chart(
        f"How many of the {what} would be {hit}?", [cost for cost, _ in costs],
        [Series(f"Share of the {what} that would be {hit}, in per cent, by privacy cost (a "
                "forecast)", [share for _, share in costs])],
        [(0, ""), (50, "50 %"), (100, "100 %")], [f"{share} %" for _, share in costs], this,
        (guessing, f"guessing: {guessing} %"),
        ("←\u00a0stronger protection", "cost (ε)", "better answer\u00a0→"))
    yield DataTable(
        f"The same in numbers, where the best columns stand out in {_per_cent(usual)} of the "
        f"{noun}s", ("Cost (ε)", hit.capitalize(), "Share"),
        [[f"{literal(cost)}{', this release' if at == this else ''}", *found(share)]
         for at, (cost, share) in enumerate(costs)], marked=this)
    yield DataTable(
        "At the cost of this release",
        (f"How much the best columns stand out, and what is {hit} (line: guessing)",
         hit.capitalize(), "Share"),
        [[Bar(f"{_per_cent(gap)} of the {noun}s", [Piece(0, share)], guessing), *found(share)]
         for gap, share in gaps],
        marked=next((at for at, (gap, _) in enumerate(gaps) if gap == usual), None))


def _increasing(shares: Mapping[str, Any]) -> list[tuple[str, int]]:
    return sorted(((key, int(share)) for key, share in shares.items()),
                  key=lambda one: exact(one[0], "the forecast"))


def _per_cent(gap: str) -> str:
    """A share of rows, in per cent."""
    return f"{float(100 * number(gap)):g} %"
