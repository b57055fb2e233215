"""Curves: the private page of each k, for who holds the table.

The nouns hold figures of the whole table, closed columns as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from markupsafe import Markup

from privsieve.report.page import (
    Piece,
    bar,
    count,
    document,
    joined,
    name,
    place,
    share_up,
    some,
    wide,
)

#: The template of the page.
_TEMPLATE = str(Path(__file__).with_name("exploring"))
#: Closed columns that are shown.
_CLOSED = 15
_UNREACHED = "not reached"
#: Of curves: the highest and the lowest place in pixels, the part of the width that the words of
#: the scale take, and a mark for each curve.
_TOP, _BASE, _SCALE = 26, 206, 12
_MARKS = (
    Markup('<circle cx="{x}" cy="{y}" r="5" class="f1"/>'),
    Markup('<svg x="{x}" y="{y}"><rect x="-4.5" y="-4.5" width="9" height="9" class="f2"/></svg>'),
    Markup('<svg x="{x}" y="{y}"><path d="M0 -6.5 6 5 -6 5z" class="f4"/></svg>'),
)


@dataclass(frozen=True, repr=False)
class Findable:
    """What a stranger finds: rows in a crowd below k, and of these the rows that are alone."""

    below: int
    alone: int


@dataclass(frozen=True, repr=False)
class Strangers:
    """The usual strangers, by what they know of a row.

    has, every : what it has; what it has and lacks.
    has_class, every_class : the same, and its class.
    """

    has: Findable
    every: Findable
    has_class: Findable
    every_class: Findable


@dataclass(frozen=True, repr=False)
class Area:
    """The honest area under the curve: its mean, its least and largest value over the folds."""

    mean: float
    least: float
    largest: float
    folds: int


@dataclass(frozen=True, repr=False)
class CurvePoint:
    """What a way of choosing gives at a k.

    columns, items : columns of the table that are chosen from, and yes-or-no columns chosen.
    level : the smallest crowd, for the stranger of the promise.
    complete : False where time ended the search.
    share : the largest share of one class in a crowd of the promise; None without classes.
    area : None where it was not reached, or cannot be.
    """

    way: str
    k: int
    columns: int
    items: int
    level: int
    complete: bool
    strangers: Strangers
    share: float | None
    area: Area | None = None


@dataclass(frozen=True, repr=False)
class ColumnCost:
    """A chosen column of the table: the smallest crowd without it, and the rows that have it."""

    name: str
    without: int
    items: int


@dataclass(frozen=True, repr=False)
class Shut:
    """An item that stays closed: the smallest crowd with it, and the rows that would lose theirs.

    below : rows whose crowd is then too small; poor : rows whose crowd has too few classes.
    """

    name: str
    level: int
    below: int
    poor: int


@dataclass(frozen=True, repr=False)
class Alone:
    """Rows that are alone on some columns, and what that means among all people.

    on : which columns; pairs, unique, share, right : as `containment.population.Uniques` has them.
    """

    on: str
    alone: int
    pairs: int
    unique: float
    share: float | None
    right: float | None


@dataclass(frozen=True, repr=False)
class Population:
    """People of whom the rows are a part; `exact` where a table of all of them was counted."""

    people: int
    exact: bool
    alone: tuple[Alone, ...]


@dataclass(frozen=True, repr=False)
class Asked:
    """What was asked of the table, and declared of it.

    k, named : the k of the tables on costs, and whether somebody named it.
    way : the way of choosing of these tables.
    both, presences : columns whose absence counts as known as well, and those of which it does
        not.
    sensitive : columns that must not be learned; they are never chosen from.
    target : the column of classes; `known`: it counts as known, `published`: it is published.
    diversity : classes in a crowd, at least, where no profile asks for more.
    sources : what k counts where it is not rows: people or sources.
    limits : what `publish` also checks, and this page does not.
    """

    k: int
    named: bool
    way: str
    rows: int
    items: int
    columns: int
    classes: int
    both: tuple[str, ...] = ()
    presences: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    target: str | None = None
    known: bool = False
    published: bool = False
    diversity: int = 1
    sources: str | None = None
    limits: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Explored:
    """All that the page says.

    ks, ways : what was tried; a pair without a point was not reached.
    names : the items that would be published at the k and in the way of `asked`.
    unreached : why something was not reached, in sentences.
    seconds : what the search was allowed to take.
    """

    asked: Asked
    ks: tuple[int, ...]
    ways: tuple[str, ...]
    points: tuple[CurvePoint, ...]
    names: tuple[str, ...]
    costs: tuple[ColumnCost, ...]
    shut: tuple[Shut, ...]
    passed_over: int
    population: Population | None
    unreached: tuple[str, ...]
    seconds: int

    def point(self, way: str, k: int) -> CurvePoint | None:
        """What a way gives at a k, if that was reached."""
        return next((one for one in self.points if (one.way, one.k) == (way, k)), None)


def explored_page(explored: Explored) -> bytes:
    """The page for whom has to choose k: PRIVATE, for who holds the table."""
    asked = explored.asked
    chosen = explored.point(asked.way, asked.k)
    shown = explored.shut[:_CLOSED]
    return document(
        _TEMPLATE, kind="internal", page=explored, asked=asked, chosen=chosen,
        here=chosen if chosen is not None and chosen.items else None,
        k=count(asked.k), ks=", ".join(map(count, explored.ks)), ways=_and(explored.ways),
        units=asked.sources or "rows", format=format, nearly=nearly,
        fraction=_fraction, guess=_guess(explored), passed=explored.passed_over
        + len(explored.shut) - len(shown),
        marked=place(explored.ks, asked.k),
        closed_rows=[[name(one.name), count(one.level), some(one.below), some(one.poor)]
                     for one in shown],
        share_rows=_share_rows(explored), **_figures(explored))


def _figures(explored: Explored) -> dict[str, Any]:
    """Curves, and rows of the tables."""
    items, areas = _curves(explored)
    people = explored.population.alone if explored.population else ()
    return {
        "items_curve": items, "area_curve": areas,
        "curve_rows": lambda way: _curve_rows(explored, way),
        "cost_rows": lambda chosen: _cost_rows(explored, chosen),
        "stranger_rows": lambda way: _stranger_rows(explored, way),
        "people_rows": [[one.on, count(one.alone), count(one.pairs), _unique(one), _chance(one)]
                        for one in people]}


def nearly(share: float | None) -> str:
    """A share that is bad news, rounded up; all is said only of all.

    >>> nearly(0.98765), nearly(0.99999), nearly(1.0), nearly(None)
    ('98.8 %', '99.9 %', '100 %', '–')
    """
    if share is None or share >= 1:
        return "–" if share is None else "100 %"
    return f"{min(-int(-share * 1000 // 1), 999) / 10:.1f} %"


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _guess(explored: Explored) -> int | None:
    """In how many of 100 cases a match with a row that is alone is right, if that is known."""
    people = explored.population.alone if explored.population else ()
    right = next((one.right for one in people if one.on == explored.asked.way), None)
    return None if right is None else min(-int(-right * 100 // 1), 100)


def _curves(explored: Explored) -> tuple[Markup, Markup | None]:
    """The columns that fit, and how well they predict, where anything does."""
    axis, points = [count(k) for k in explored.ks], explored.points
    most = max((one.items for one in points), default=1)
    half = count(most // 2) if most % 2 == 0 else f"{most / 2:,.1f}"
    items = {(one.way, one.k): float(one.items) for one in points}
    areas = {(one.way, one.k): one.area.mean for one in points if one.area}

    def drawn(caption: str, held: dict[tuple[str, int], float],
              scale: Sequence[tuple[float, str]]) -> Markup:
        return curves(caption, axis, [Series(way, tuple(held.get((way, k)) for k in explored.ks))
                                      for way in explored.ways], scale)

    return (drawn("Yes-or-no columns that fit, by k", items,
                  [(0, "0"), (most / 2, half), (most, count(most))]),
            drawn("How well they predict rows that the choice has not seen, by k", areas,
                  _scale(min(areas.values()), max(areas.values()))) if areas else None)


def _scale(least: float, largest: float) -> list[tuple[float, str]]:
    """Heights of whole twentieths around what is drawn."""
    low, high = int(least * 20), -int(-largest * 20 // 1)
    high = max(high, low + 1)
    step = -(-(high - low) // 5)
    return [(at / 20, f"{at / 20:.2f}") for at in range(low, high + step, step)]


def _curve_rows(explored: Explored, way: str) -> Iterator[list[Markup | str]]:
    for k in explored.ks:
        here = explored.point(way, k)
        if here is None:
            yield [count(k), _UNREACHED, "", "", ""]
            continue
        area, cut = here.area, "" if here.complete else "; cut"
        spread: Markup | str = "–" if area is None else Markup(
            '<span class="nb">{:.3f}–{:.3f}</span>').format(area.least, area.largest)
        yield [count(k), f"{count(here.columns)} ({count(here.items)}{cut})", count(here.level),
               "–" if area is None else f"{area.mean:.3f}", spread]


def _cost_rows(explored: Explored, chosen: CurvePoint) -> list[list[Markup | str]]:
    most = max(chosen.level, *(one.without for one in explored.costs))
    line = 100 * chosen.level / most
    return [[bar(name(one.name), [Piece(0, line, "f3"), Piece(line, 100 * one.without / most)],
                 line), count(one.items), count(one.without)] for one in explored.costs]


def _stranger_rows(explored: Explored, way: str) -> Iterator[list[str]]:
    """Rows below k, and alone, for the four usual strangers."""
    for one in (point for k in explored.ks if (point := explored.point(way, k))):
        found = one.strangers
        each = [found.has, found.every]
        if explored.asked.classes > 1:
            each += [found.has_class, found.every_class]
        yield [count(one.k), *map(_lost, each)]


def _lost(rows: Findable) -> str:
    if not rows.below:
        return "none"
    return f"{count(rows.below)}; {count(rows.alone)} alone" if rows.alone else count(rows.below)


def _share_rows(explored: Explored) -> list[list[str]]:
    return [[count(k), *(nearly(point.share) if (point := explored.point(way, k))
                         else _UNREACHED for way in explored.ways)] for k in explored.ks]


def _fraction(rows: int, people: int) -> str:
    share = 100 * rows / people
    return f"{share:.3g} %" if share < 99.95 else "all of them" if rows == people else "almost all"


def _unique(one: Alone) -> Markup | str:
    if one.share is None:
        return "none"
    many = -int(-one.unique // 1)
    return Markup('<span class="nb">about {}</span> <span class="nb">({})</span>').format(
        count(many), share_up(many, one.alone))


def _chance(one: Alone) -> str:
    return "–" if one.right is None else f"{min(-int(-one.right * 100 // 1), 100)} %"


# --- curves --------------------------------------------------------------------------------------

@dataclass(frozen=True, repr=False)
class Series:
    """A curve: its name, and for each place of the axis how high it is (None: nothing there)."""

    name: str
    values: tuple[float | None, ...]


def curves(caption: str, axis: Sequence[str], series: Sequence[Series],
           scale: Sequence[tuple[float, str]]) -> Markup:
    """Up to three curves over places that are equally far apart; each has a mark of its own.

    `scale` are the heights that are drawn, the lowest first, with their words.

    >>> drawn = curves("Columns", ["2", "5"], [Series("few", (4, 3))], [(0, "0"), (4, "4")])
    >>> drawn.count("<circle"), drawn.count('class="s1"')
    (3, 1)
    """
    low, high = scale[0][0], scale[-1][0]
    step = (100 - _SCALE) / len(axis)
    places = [_SCALE + step * (at + 0.5) for at in range(len(axis))]

    def height(value: float) -> float:
        return round(_BASE - (_BASE - _TOP) * (value - low) / ((high - low) or 1), 1)

    grid = joined((Markup('<line x1="0" x2="100%" y1="{0}" y2="{0}" class="l3"/><text x="0" '
                          'y="{1}" class="q">{2}</text>').format(height(at), height(at) - 4, word)
                   for at, word in scale), "")
    words = joined((Markup('<text x="{}%" y="225" text-anchor="middle" class="q">{}</text>').format(
        wide(x), word) for x, word in zip(places, axis, strict=True)), "")
    drawn = joined(_curve(kind, [(x, None if value is None else height(value))
                                 for x, value in zip(places, one.values, strict=True)])
                   for kind, one in enumerate(series))
    key = joined((Markup('<span class="nb"><svg width="18" height="14" aria-hidden="true">{}</svg> '
                         "{}</span>").format(_MARKS[kind].format(x="9", y=7), one.name)
                  for kind, one in enumerate(series)), Markup(" &emsp; "))
    said = "; ".join(f"{one.name}: " + ", ".join(
        f"{word}: {'nothing' if value is None else format(value, '.4g')}"
        for word, value in zip(axis, one.values, strict=True)) for one in series)
    return Markup(
        '<figure><figcaption>{}</figcaption>\n<p class="key">{}</p><svg width="100%" height="232" '
        'role="img" aria-label="{}">{}<line x1="0" x2="100%" y1="{}" y2="{}" class="l2"/>{}\n{}'
        "</svg></figure>").format(caption, key, said, grid, _BASE, _BASE, words, drawn)


def _curve(kind: int, points: Sequence[tuple[float, float | None]]) -> Markup:
    """Lines between neighbours that are both there, and a mark at each."""
    lines = (Markup('<line x1="{}%" y1="{}" x2="{}%" y2="{}" class="s{}"/>').format(
        wide(a), h, wide(b), i, kind + 1) for (a, h), (b, i) in pairwise(points)
        if h is not None and i is not None)
    marks = (_MARKS[kind].format(x=f"{wide(x)}%", y=y) for x, y in points if y is not None)
    return joined([*lines, *marks], "")
