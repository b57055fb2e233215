"""What a group tells: the section of a publication's page on what is learned without being found.

All figures are those of the release, counted from the published table; they are shown rounded
against ourselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from privsieve.report.charts import Piece, bar
from privsieve.report.markup import count, joined, name, names, pair, paragraph, section, table
from privsieve.report.rounding import share_up

PLACE = ("tells", "What a group tells")
#: Figures stand in a release in millionths.
_PARTS = 10**6


class Told(NamedTuple):
    """What the groups tell of a published column at worst; figures in millionths.

    above : for each step, such as "0.95", the rows whose group has so large a share of one value.
    """

    column: str
    target: bool
    rows: int
    values: int
    share: int
    above: tuple[tuple[str, int], ...]
    distinct: int
    entropy: int
    closeness: int
    ordered: bool


class Limit(NamedTuple):
    """A limit that every group keeps, in words and as a decimal text."""

    words: str
    text: str


def told_of(release: Mapping[str, Any]) -> tuple[Told, ...] | None:
    """What a release says of its groups; None of one that says nothing.

    >>> told_of({"measured": {}})
    """
    said = release.get("measured", {}).get("disclosure")
    if said is None:
        return None
    return tuple(Told(
        str(one["column"]), one["role"] == "target", int(one["rows"]), int(one["values"]),
        _millionths(one["share"]), tuple((str(step), int(rows)) for step, rows in one["above"]),
        int(one["distinct"]), _millionths(one["entropy"]), _millionths(one["closeness"]),
        bool(one["ordered"])) for one in said)


def limits_of(claim: Mapping[str, Any]) -> tuple[Limit, ...]:
    """The limits of a claim.

    >>> [limit.words for limit in limits_of({"l_diversity": 2, "limits": {"share": "0.8"}})]
    ['different values, at least', 'share of one value, at most']
    """
    limits = claim.get("limits") or {}
    found = [("different values, at least", str(claim["l_diversity"])
              if claim["l_diversity"] > 1 else None),
             ("share of one value, at most", limits.get("share")),
             ("entropy l, at least", limits.get("entropy")),
             ("distance to the whole table, at most", limits.get("closeness"))]
    return tuple(Limit(words, str(text)) for words, text in found if text is not None)


def disclosure(told: Sequence[Told] | None, limits: Sequence[Limit] = ()) -> Markup:
    """The section; `None` where the release is older than these figures."""
    place, title = PLACE
    if told is None:
        return section(place, title, paragraph(
            "This release does not say what its groups tell; whoever has the table can count it, "
            "with privsieve check."), _limits(limits))
    if not told:
        return section(place, title, paragraph(
            "No class and no sensitive column is published, so that the published table alone "
            "tells nothing of them."), _limits(limits))
    worst = max(told, key=lambda one: one.above[-1][1] if one.above else 0)
    return section(
        place, title, _first(worst),
        table("What the worst group tells", ["Of this column", "Values", "Fewest in a group",
              "Largest share of one value", "Least entropy l", "Largest distance t"],
              [[_of(one), count(one.values), count(one.distinct), _percent(one.share),
                _down(one.entropy), _up(one.closeness)] for one in told]),
        *(_steps(one) for one in told), _limits(limits),
        paragraph(_how(told), "note"))


def _first(worst: Told) -> Markup:
    step, rows = worst.above[-1]
    said = Markup("Whoever finds the group of somebody has not found the row, but learns what its "
                  "rows share. For {} of {} rows ({}) at least {} of the group have the same value "
                  "of {}.").format(count(rows), count(worst.rows), share_up(rows, worst.rows),
                                   _percent(_millionths(step)), name(worst.column))
    return pair(said, "attribute disclosure; groups of a stranger who knows what was said to be "
                      "known, of the class without the class itself")


def _of(one: Told) -> Markup:
    return Markup('{} <span class="t">{}</span>').format(
        name(one.column), "class" if one.target else "sensitive")


def _steps(one: Told) -> Markup:
    rows = [[bar(Markup("at least {}").format(_percent(_millionths(step))),
                 [Piece(0, 100 * found / max(one.rows, 1))]),
             count(found) if found else "none", share_up(found, max(one.rows, 1))]
            for step, found in one.above]
    return table(Markup("How many rows lie in groups of nearly one value of {}").format(
        name(one.column)), ["Share of the commonest value", "Rows", "Share of all"], rows)


def _limits(limits: Sequence[Limit]) -> Markup:
    if not limits:
        return paragraph("No limit was asked for on what a group tells.")
    said = joined((Markup("{}&nbsp;{}").format(one.words, one.text) for one in limits), "; ")
    return paragraph(Markup("Asked for, and kept by every group: {}.").format(said))


def _how(told: Sequence[Told]) -> Markup:
    ordered = [one.column for one in told if one.ordered]
    said = Markup("Entropy l is the number of equally common values that would be as hard to "
                  "guess. Distance t compares a group with the whole table: 0 is no difference, 1 "
                  "the largest. ")
    if ordered:
        said += Markup("Of {} values near to each other count as less different. ").format(
            names(ordered))
    return said + Markup("Shares and distances are rounded up, the others down.")


def _percent(millionths: int) -> str:
    """A share in per cent, rounded up to a tenth: only all of a group is 100 %."""
    whole, tenth = divmod(-(-millionths // 1000), 10)
    return f"{whole}.{tenth} %" if tenth else f"{whole} %"


def _up(millionths: int) -> str:
    return _three(-(-millionths // 1000))


def _down(millionths: int) -> str:
    return _three(millionths // 1000)


def _three(thousandths: int) -> str:
    """Three digits after the point, without zeros at the end."""
    whole, rest = divmod(thousandths, 1000)
    return f"{whole:,}.{rest:03d}".rstrip("0").rstrip(".")


def _millionths(text: object) -> int:
    """A decimal text of a release, of at most six digits."""
    whole, _, part = str(text).partition(".")
    return int(whole) * _PARTS + int(f"{part[:6]:0<6}")
