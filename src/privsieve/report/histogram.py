"""Histogram: what a page says of a table of counts that was released with noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

from markupsafe import Markup

from privsieve.report import frame
from privsieve.report.charts import Piece, bar
from privsieve.report.claim import Common, common_of
from privsieve.report.markup import (
    clean,
    count,
    facts,
    joined,
    name,
    names,
    pair,
    paragraph,
    points,
    section,
    table,
)
from privsieve.report.values import Noise, amount, noise_of, up

#: More names than this stand in the table only.
_MANY = 30
#: The codes of a column: it has no more cells.
_LARGEST = 65536
#: More bars of one column than this are left to release.json.
_MOST = 60


class Axis(NamedTuple):
    """A column of the table: a label for each of its cells, and how many units are counted there.

    The counts are sums of released ones, and may be below zero.
    """

    name: str
    labels: tuple[str, ...]
    counts: tuple[int, ...]


class HistogramPage(NamedTuple):
    """All that the public edition may say; made of release.json and certificate.json.

    choice : how the columns were chosen before, and for which part of the cost
    """

    common: Common
    axes: tuple[Axis, ...]
    cells: int
    held: int
    whole: bool
    noise: Noise
    moved: Fraction | None
    choice: tuple[str, str] | None


def page_of(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> HistogramPage:
    """The page of a table of counts."""
    common, told = common_of(release, certificate), release["cells"]
    shape, whole = [int(one) for one in told["shape"]], told["place"] == "all"
    if max(shape) > _LARGEST:
        raise ValueError("a column has more cells than codes")
    sums = dense(shape, told["q"]) if whole else sparse(shape, told["q"], told["place"])
    domain = release.get("domain") or {}
    declared = {one["name"]: one for one in
                (*domain.get("columns", ()), domain.get("target")) if one}
    axes = tuple(
        Axis(axis, tuple(labels(declared.get(axis, {}), told["bins"].get(axis), len(found))),
             tuple(found)) for axis, found in zip(told["names"], sums, strict=True))
    choice = release["plan"]["settings"].get("choice")
    return HistogramPage(common, axes, prod(shape), len(told["q"]), whole, noise_of(release),
                         amount(release.get("forecast") or {}, "expected_error"),
                         (choice["method"], choice["epsilon"]) if choice else None)


def dense(shape: Sequence[int], q: Sequence[int]) -> list[list[int]]:
    """For each column the sums over all others; the last column changes fastest.

    >>> dense([2, 3], [1, 2, 3, 10, 20, 30])
    [[6, 60], [11, 22, 33]]
    """
    if len(q) != prod(shape):
        raise ValueError("there is not one count for each cell")
    found, held = [], list(q)
    for many in reversed(shape):
        found.append([sum(held[level::many]) for level in range(many)])
        held = [sum(held[at:at + many]) for at in range(0, len(held), many)]
    return found[::-1]


def sparse(shape: Sequence[int], q: Sequence[int], place: Sequence[int]) -> list[list[int]]:
    """The same, where only some cells are held.

    >>> sparse([2, 3], [3, 30], [2, 5])
    [[3, 30], [0, 0, 33]]
    """
    found = [[0] * many for many in shape]
    for held, cell in zip(q, place, strict=True):
        at = int(cell)
        for sums in reversed(found):
            at, level = divmod(at, len(sums))
            sums[level] += held
    return found


def labels(declared: Mapping[str, Any], bins: object, cells: int) -> list[str]:
    """A label for each cell of a column, from what is public.

    >>> labels({"kind": "flag"}, None, 2), labels({"kind": "number"}, ["0", "5", "10"], 3)
    (['no', 'yes'], ['0 to 5', '5 to 10', 'missing'])
    """
    kind, values = declared.get("kind"), [str(one) for one in declared.get("values", ())]
    if kind == "flag":
        found = ["no", "yes"]
    elif values:
        found = [*values, *(["other"] if kind == "category" else [])]
    elif isinstance(bins, list | tuple):
        found = [f"{low} to {high}" for low, high in pairwise(map(_edge, bins))]
        found += ["missing"] * (len(found) < cells)
    else:
        found = [f"bin {at}" for at in range(1, cells + 1)]
    if len(found) != cells:
        raise ValueError("the cells of a column are not those that its domain and bins give")
    return found


def _edge(text: object) -> str:
    """An edge as a number in four digits or whole, or as the date that it is."""
    try:
        value = float(str(text))
    except ValueError:
        return str(text)
    return f"{value:,.0f}" if abs(value) >= 10**4 else f"{value:.4g}"


def page(told: HistogramPage) -> bytes:
    """The whole page."""
    many = len(told.axes)
    columns = "1 column" if many == 1 else f"{count(many)} columns"
    shown = names(axis.name for axis in told.axes) if many <= _MANY else Markup(
        'they stand in <a href="#cells">the table below</a>')
    return frame.page(told.common, frame.Words(
        title=f"How many rows are there of each kind, by {columns}?",
        question=Markup("How many rows are there of each kind, by {}?").format(columns),
        asked=(Markup('A count of the rows for every combination of {}: <span class="names">{}'
                      "</span>").format(columns, shown),
               "contingency table, with noise on every cell"),
        answered=(f"{count(told.cells)} counts, one for each combination." if told.whole else
                  f"{count(told.held)} counts, of {count(told.cells)} combinations: those that "
                  "stood out from the noise.",
                  f"counts with noise; its standard deviation is {up(told.noise.each)} on a cell"),
        unprotected=(Markup(
            "<b>Facts about groups.</b> The counts say how common things are: whoever knows some "
            "values of somebody may guess the others. Any other count is another question, with a "
            "cost of its own."),
            "the claim is about the table of counts, and what is worked out from it"),
        result="table of counts",
        covered=f"table of {count(told.cells)} counts",
        sections=(("cells", "The table of counts", _cells(told)),
                  ("alone", "Each column alone", _alone(told)),
                  ("rows", "Synthetic rows", _rows(told))),
        good=("How strong the noise is", _good(told)),
        limits=(Markup("<b>Small groups as groups.</b> A count near its noise says next to "
                       "nothing about whether anybody is in that cell, and a count far above it "
                       "says something about the group, not about a member."),),
        learnt="If values go together in these counts, that is learnt about everybody who has one "
               "of them, in the table or not.",
        silent="count without noise, warning or running time",
        parameters=(("tabulated", columns), ("cells", count(told.cells)),
                    ("law of the noise", told.noise.words))))


def _cells(told: HistogramPage) -> Markup:
    rows = [[name(axis.name), _listed(axis.labels), count(len(axis.labels))]
            for axis in told.axes]
    product = " × ".join(count(len(axis.labels)) for axis in told.axes[:_MANY])
    return section(
        "cells", "The table of counts",
        pair("Each row lies in one cell: one value, or one range of values, of every column. The "
             "cells of a column were fixed before a row was read.",
             f"{product}{' × …' if len(told.axes) > _MANY else ''} = {count(told.cells)} cells; "
             f"noise: {told.noise.words}"),
        table("The cells of each column", ["Column", "Its values, or ranges", "Cells"], rows,
              words=2),
        *([] if told.choice is None else [paragraph(Markup(
            "The columns were chosen first, out of {}, by {}: that cost ε = {} of the whole, and "
            "is part of the promise.").format(
                count(len(told.common.columns)), name(told.choice[0]), clean(told.choice[1])))]),
        paragraph("The counts themselves stand in release.json.", "note"),
        *([] if told.whole else [paragraph(
            f"{count(told.held)} cells are named: those whose noisy count reached a threshold "
            "that was public before. All others are told as zero, though they may hold "
            "somebody.")]))


def _listed(texts: Sequence[str]) -> Markup:
    shown = Markup(", ").join(clean(text) for text in texts[:8])
    return Markup("{}, … {}").format(shown, clean(texts[-1])) if len(texts) > 8 else shown


def _alone(told: HistogramPage) -> Markup:
    missing = "" if told.whole else " Cells that are not named are missing in it."
    return section(
        "alone", "Each column alone",
        pair("Sums of the released counts over all other columns. Noise can make a sum negative; "
             "such a one is shown as zero. The more cells were added up, the more noise there is."
             + missing, "one-way marginals of the noisy table, cut off at zero"),
        joined(_bars(told, axis) for axis in told.axes))


def _bars(told: HistogramPage, axis: Axis) -> Markup:
    noise = told.noise.of(_added(told, axis))
    found = [max(0, one) for one in axis.counts]
    largest = max([*found, 1])
    rows: Iterable[list[str]] = (
        [bar(clean(label) or "(empty)", [Piece(0, 100 * held / largest)]),
         noise.shown(Fraction(held), whole=True)]
        for label, held in list(zip(axis.labels, found, strict=True))[:_MOST])
    more = [paragraph(f"The other {count(len(found) - _MOST)} stand in release.json.")] if (
        len(found) > _MOST) else []
    return joined([table(
        Markup("Rows by {}").format(name(axis.name)),
        [Markup("Value (standard deviation of the noise: {})").format(up(noise.each)),
         "Rows"], rows), *more])


def _added(told: HistogramPage, axis: Axis) -> int:
    """How many cells make one sum of a column: at most those that are held."""
    return max(1, min(told.cells // len(axis.labels), told.held))


def _rows(told: HistogramPage) -> Markup:
    return section(
        "rows", "How synthetic rows come from it",
        points([
            Markup("<b>First the counts become ones that a table could have:</b> none below "
                   "zero, and all together {}.").format(
                       "the number of rows, which is public" if told.common.claim.replaced
                       and told.common.claim.noun != "person" else "their noisy sum"),
            Markup("<b>A row is a cell,</b> made as often as its count says. A value stands for "
                   "itself; of a range any value is as likely."),
            Markup("<b>It costs nothing:</b> <code>privsieve synthesize --from</code> needs this "
                   "release, and neither the table nor a ledger, as often as rows are wanted."),
            Markup("<b>No row is anybody’s.</b> What goes together in the table is kept as far as "
                   "it stands in these counts, and no farther: other columns are not in it."),
        ]))


def _good(told: HistogramPage) -> Markup:
    sums = sorted({_added(told, axis) for axis in told.axes})
    rows: list[tuple[str, str]] = [
        ("Noise on one cell", f"standard deviation {up(told.noise.each)}"),
        *((f"On a sum of {count(many)} cells",
           f"standard deviation {up(told.noise.of(many).each)}") for many in sums if many > 1)]
    if told.moved is not None:
        rows.append(("Moved to other cells",
                     f"about {up(100 * told.moved)} % of the rows, expected"))
    return section(
        "good", "How strong the noise is", *frame.warned(told.common),
        pair("The noise was known before the first row was read, from public numbers alone. A "
             "count that is not several times as large says little.",
             "independent noise; the standard deviation of a sum grows with the root of its "
             "cells"),
        facts("Known before", rows),
        paragraph("How far the counts of this very table are from the noisy ones is not known "
                  "here: to say it would cost more of the budget."))
