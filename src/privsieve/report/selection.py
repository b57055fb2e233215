"""Selection: what the page of chosen columns fills into `words/selection.txt`."""

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
    """Return what a page of chosen columns fills in."""
    known = private(release, certificate)
    options, forecast = release["plan"]["settings"], release["forecast"]
    ordered, most, wanted = options.get("ordered") is True, options.get("at_most"), sought(options)
    chosen = list(Selection.read(release).selected)
    if not ordered:  # the cost does not cover an order
        chosen.sort(key=lambda column: (column.casefold(), column))
    counts = Selection.counts_of(release)
    missing = "" if counts is None else counts.missing(known["noun"]).rstrip(". ")
    forecasts = known["epsilon"] > 0 and not missing
    few = type(most) is int
    what, hit = ("names", "right") if few else ("best columns", "found")

    def forecast_text(key: str) -> str:
        text = forecast.get(key) if forecasts else None
        return text.rstrip(". ") if isinstance(text, str) else ""

    return {
        **known, "ordered": ordered, "most": most if few else None, "chosen": chosen,
        "k": len(chosen), "listed": listed(chosen, "cols"),
        "fixed": [Text(f"**{label.capitalize()}:** {names(columns)}"
                       f"{f' ({name(group)})' if group else ''}; {how}.")
                  for label, columns, how, group in beforehand(options)],
        "declared": declarations(release, "Public declarations of these columns", chosen),
        "counts": counts, "missing": missing, "rare": 5 * len(counts.q) if counts else 0,
        "classes": [_classes(counts, known["units"], known["nouns"])] if counts else [],
        # columns that are always included were not searched for; a group counts once
        "sought": wanted, "others": wanted != len(chosen), "right": Release(release, None).right,
        "forecasts": forecasts, "what": what, "hit": hit, "advice": forecast_text("advice"),
        "after_coding": capital(forecast_text("after_coding")),
        "guessing": lambda: int(forecast["guessing_percent"]),
        "forecast_parts": lambda: list(_forecast(forecast, known, wanted, what, hit)),
    }


def _classes(counts: NoisyCounts, units: int, nouns: str) -> DataTable:
    """Return a table of the classes with their noisy counts."""
    return DataTable(f"Of {count(units)} {nouns}", ("Class", "About"), [
        [Bar(literal(label), [Piece(0, 100 * many / max(1, counts.units))]), count(many)]
        for label, many in zip(counts.names, counts.about, strict=True)])


def _forecast(forecast: Mapping[str, Any], known: Known, wanted: int, what: str, hit: str,
              ) -> Iterator[Part]:
    """Yield the forecast by cost, and by how much the best columns stand out."""
    def hits(share: int) -> tuple[str, str]:
        return f"{share * wanted // 100} of {wanted}", f"{share} %"

    costs, gaps = (_increasing(forecast[key]) for key in ("by_cost", "found_percent"))
    usual, guessing = forecast["usual_gap"], int(forecast["guessing_percent"])
    epsilon, nouns = known["claim"]["epsilon"], known["nouns"]
    this = next((at for at, (cost, _) in enumerate(costs) if cost == epsilon), None)
    yield Chart(
        f"How many of the {what} would be {hit}?", [cost for cost, _ in costs],
        [Series(f"Share of the {what} that would be {hit}, in per cent, by privacy cost (a "
                "forecast)", [share for _, share in costs])],
        [(0, ""), (50, "50 %"), (100, "100 %")], [f"{share} %" for _, share in costs], this,
        (guessing, f"guessing: {guessing} %"),
        ("←\u00a0stronger protection", "cost (ε)", "better answer\u00a0→"))
    yield DataTable(
        f"The same in numbers, if the best columns beat the others by {_per_cent(usual)} of the "
        f"{nouns}", ("Cost (ε)", hit.capitalize(), "Share"),
        [[f"{literal(cost)}{', this release' if at == this else ''}", *hits(share)]
         for at, (cost, share) in enumerate(costs)], marked=this)
    yield DataTable(
        "At the cost of this release",
        (f"How much the best columns stand out, and the share that is {hit} (line: guessing)",
         hit.capitalize(), "Share"),
        [[Bar(f"{_per_cent(gap)} of the {nouns}", [Piece(0, share)], guessing), *hits(share)]
         for gap, share in gaps],
        marked=next((at for at, (gap, _) in enumerate(gaps) if gap == usual), None))


def _increasing(shares: Mapping[str, Any]) -> list[tuple[str, int]]:
    return sorted(((key, int(share)) for key, share in shares.items()),
                  key=lambda pair: exact(pair[0], "the forecast"))


def _per_cent(gap: str) -> str:
    """Return a share in per cent."""
    return f"{float(100 * number(gap)):g} %"
