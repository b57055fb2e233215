"""The private page of what each k costs, for the holder of a table.

The classes hold figures of the whole table, also of unpublished columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privsieve.report.figures import MANY, count, share_up, some
from privsieve.report.publication import decision
from privsieve.telling import html
from privsieve.telling.document import (
    Bar,
    Chart,
    DataTable,
    Document,
    Fact,
    Part,
    Piece,
    Series,
    Text,
    literal,
    name,
    names,
    plain,
)
from privsieve.telling.prose import Prose

#: The words of the page.
WORDS = Path(__file__).with_name("exploring.txt")
#: Closed columns that are shown.
_CLOSED = 15
_UNREACHED = "not reached"
_WAYS = {"few": "few: at most 30 yes-or-no columns, chosen one by one; ",
         "strict": "strict: k-anonymity, whatever published cells an attacker knows; ",
         "most": "most: as many useful columns as k allows; "}


@dataclass(frozen=True, repr=False)
class Findable:
    """Rows in a group below k, and how many of these are alone in their group."""

    below: int
    alone: int


@dataclass(frozen=True, repr=False)
class Attackers:
    """What each usual attacker finds.

    has, every : knows what a row has; knows also what it lacks.
    has_class, every_class : knows the class as well.
    """

    has: Findable
    every: Findable
    has_class: Findable
    every_class: Findable


@dataclass(frozen=True, repr=False)
class Area:
    """The area under the curve on rows that the choice did not use: mean, least and largest."""

    mean: float
    least: float
    largest: float
    folds: int


@dataclass(frozen=True, repr=False)
class CurvePoint:
    """The columns that a way of choosing finds at a k.

    columns, items : columns of the table that are chosen from, and yes-or-no columns chosen.
    level : the smallest group, for the attacker of the guarantee.
    complete : False where time ended the search.
    share : the largest share of one class in such a group; None without classes.
    area : None where it was not reached, or cannot be.
    """

    way: str
    k: int
    columns: int
    items: int
    level: int
    complete: bool
    attackers: Attackers
    share: float | None
    area: Area | None = None


@dataclass(frozen=True, repr=False)
class ColumnCost:
    """A chosen column of the table: the smallest group without it, and the rows that have it."""

    name: str
    without: int
    items: int


@dataclass(frozen=True, repr=False)
class Shut:
    """An item that stays unpublished, and what it would do to the groups.

    below : rows whose group is then too small; poor : rows whose group has too few classes.
    """

    name: str
    level: int
    below: int
    poor: int


@dataclass(frozen=True, repr=False)
class Uniques:
    """Rows that are unique on some columns, and estimates for all people.

    pairs : classes of two equal rows; where there are few, estimates are rough.
    unique : how many of the rows alone have no equal among all people; `share` of `alone`.
    right : the chance that a match with a row that is alone is the right person.

    `share` and `right` are None where no row is alone: there is nothing to find.
    """

    columns: str
    alone: int
    pairs: int
    unique: float
    share: float | None
    right: float | None


@dataclass(frozen=True, repr=False)
class Population:
    """People of whom the rows are a random sample, and the rows that are alone."""

    people: int
    uniques: tuple[Uniques, ...]


@dataclass(frozen=True, repr=False)
class ExploreSettings:
    """The settings of the search, and the declarations about the table.

    k, named : the k of the tables on costs, and whether the user named it.
    way : the way of choosing of these tables.
    both, presences : columns whose absence counts as known as well, and those of which it does
        not.
    sensitive : columns that must not be learned; they are never chosen from.
    target : the column of classes; `known`: it counts as known, `published`: it is published.
    diversity : classes in a group, at least, where no profile asks for more.
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
    """All facts of the page.

    ks, ways : what was tried; a pair without a point was not reached.
    names : the items that would be published at the k and in the way of `settings`.
    unreached : why something was not reached, in sentences.
    seconds : what the search was allowed to take.
    """

    settings: ExploreSettings
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
        """Return what a way gives at a k; None where it was not reached."""
        return next((point for point in self.points if (point.way, point.k) == (way, k)), None)


def explored_page(explored: Explored) -> bytes:
    """Return the page for the person who chooses k: PRIVATE, for the holder of the table."""
    prose = Prose(_known(explored), WORDS)
    return html.page(Document(
        prose.text("title"), prose.facts("facts"), prose.parts("page"),
        tab=plain(prose.text("tab")), edition=("report", "For the person who chooses k"),
        about="nothing was published", closing=prose.text("closing"),
        private="PRIVATE · ABOUT ALL ROWS AND UNPUBLISHED COLUMNS · DO NOT RELEASE"))


def _known(page: Explored) -> dict[str, Any]:
    """Return the facts that the words in `exploring.txt` use."""
    settings, people = page.settings, page.population
    chosen = page.point(settings.way, settings.k)
    here = chosen if chosen is not None and chosen.items else None
    area, share = (here.area, here.share) if here else (None, None)
    all_known = settings.way == "strict" or bool(settings.both and not settings.presences)
    return {
        "page": page, "settings": settings, "k": settings.k, "ks": ", ".join(map(count, page.ks)),
        "ways": _and(page.ways), "way_words": "".join(_WAYS.get(way, "") for way in page.ways),
        "units": settings.sources or "rows", "here": here,
        "ranked": f"{100 * area.mean:.1f}" if area else "", "all_known": all_known,
        "some_known": bool(settings.both) and not all_known,
        "none_known": not settings.both and not all_known,
        **{key: _listed(getattr(settings, key)) for key in ("both", "presences", "sensitive")},
        "listed": names(page.names) if len(page.names) <= MANY else "too many to list here",
        "limits": ", ".join(settings.limits), "curves": _curve_parts(page),
        "unreached": list(map(literal, page.unreached)),
        "costs": _costs(page, chosen) if chosen and page.costs else None,
        "shut": DataTable("If an unpublished column were added", (
            "Unpublished column", "Smallest group", f"Rows below {count(settings.k)}",
            "Rows with too few classes"), [
                [name(item.name), count(item.level), some(item.below), some(item.poor)]
                for item in page.shut[:_CLOSED]]),
        "passed": page.passed_over + max(0, len(page.shut) - _CLOSED),
        "attackers": _attackers(page),
        "shares": DataTable("The largest share of one class in a group",
                        ["k", *page.ways], _share_rows(page), narrow=True),
        "people": people, "fraction": _fraction(settings.rows, people.people) if people else "",
        "alone": _alone_table(people.uniques if people else ()), "guess": _guess(page),
        "share": "" if share is None else nearly(share),
        "alone_all": _alone(here.attackers.every, settings.rows) if here else "",
        "alone_class": _alone(here.attackers.every_class, settings.rows) if here else "",
        "precedents": DataTable("Thresholds in use", ("k", "Where, and why", "Source"), [
            fact[:3] for fact in Prose({}, WORDS).facts("precedent_rows")], words=3, narrow=True),
        "decision": decision("Such a table may be made",
                             Fact("The group of every row", "k = ", asks="")),
    }


def _curve_parts(page: Explored) -> list[Part]:
    """Return the curves, with a table of their figures."""
    head = ("k", "Columns (yes-or-no ones)", "Smallest group", "Area (unseen rows)",
            "Worst and best fifth")
    marked = page.ks.index(page.settings.k) if page.settings.k in page.ks else None
    return [*_curves(page), *(DataTable(f"Chosen as {way}", head, list(_curve_rows(page, way)),
                                    marked=marked, narrow=True) for way in page.ways)]


def _costs(page: Explored, chosen: CurvePoint) -> DataTable:
    """Return a table of what each chosen column costs."""
    head = (f"Column, and smallest group without it (line: {count(chosen.level)}, with it)",
            "Yes-or-no columns", "Smallest group")
    return DataTable("The columns that would be published", head, _cost_rows(page, chosen))


def _attackers(page: Explored) -> list[Part]:
    """Return a table of what each attacker finds, for each way."""
    head = ["k", "Knows what a person has", "Knows every cell, yes and no"]
    if page.settings.classes > 1:
        head += ["What a person has, and the class", "Every cell, and the class"]
    return [DataTable(f"{way}: rows in a group below k", head, list(_attacker_rows(page, way)),
                  narrow=True) for way in page.ways]


def _alone_table(uniques: Sequence[Uniques]) -> DataTable:
    """Return a table of the rows that are alone, and of what that means."""
    return DataTable("Rows that are alone, if every published cell is known", (
        "Columns", "Alone in the table", "Pairs of equal rows", "Alone among all",
        "A match is right"), [
            [row.columns, count(row.alone), count(row.pairs), _unique(row), _chance(row)]
            for row in uniques], narrow=True)


def _alone(findable: Findable, rows: int) -> str:
    return (f"{count(findable.alone)} of {count(rows)} rows ({share_up(findable.alone, rows)})"
            if findable.alone else "no row")


def _listed(columns: Sequence[str]) -> Text:
    return names(columns) if len(columns) <= MANY else Text(f"{count(len(columns))} columns")


def nearly(share: float | None) -> str:
    """Format a share, rounded up; only all of the rows give 100 %.

    >>> nearly(0.98765), nearly(0.99999), nearly(1.0), nearly(None)
    ('98.8 %', '99.9 %', '100 %', '–')
    """
    if share is None or share >= 1:
        return "–" if share is None else "100 %"
    return f"{min(-int(-share * 1000 // 1), 999) / 10:.1f} %"


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _guess(explored: Explored) -> int | None:
    """Return in how many of 100 cases a match with a row that is alone is right, if known."""
    rows = explored.population.uniques if explored.population else ()
    right = next((row.right for row in rows if row.columns == explored.settings.way), None)
    return None if right is None else min(-int(-right * 100 // 1), 100)


def _curves(explored: Explored) -> list[Part]:
    """Return charts of the columns that fit, and of how well they predict."""
    axis, points = [count(k) for k in explored.ks], explored.points
    most = max((point.items for point in points), default=1)
    half = count(most // 2) if most % 2 == 0 else f"{most / 2:,.1f}"
    items = {(point.way, point.k): float(point.items) for point in points}
    areas = {(point.way, point.k): point.area.mean for point in points if point.area}

    def drawn(caption: str, held: dict[tuple[str, int], float],
              scale: Sequence[tuple[float, str]]) -> Chart:
        return Chart(caption, axis, [Series(way, tuple(held.get((way, k)) for k in explored.ks))
                                     for way in explored.ways], scale)

    fits = drawn("Yes-or-no columns that fit, by k", items,
                 [(0, "0"), (most / 2, half), (most, count(most))])
    return [fits] if not areas else [fits, drawn(
        "How well they predict rows that the choice has not seen, by k", areas,
        _scale(min(areas.values()), max(areas.values())))]


def _scale(least: float, largest: float) -> list[tuple[float, str]]:
    """Return the heights of the axis: whole twentieths around the values."""
    low, high = int(least * 20), -int(-largest * 20 // 1)
    high = max(high, low + 1)
    step = -(-(high - low) // 5)
    return [(at / 20, f"{at / 20:.2f}") for at in range(low, high + step, step)]


def _curve_rows(explored: Explored, way: str) -> Iterator[list[str]]:
    for k in explored.ks:
        here = explored.point(way, k)
        if here is None:
            yield [count(k), _UNREACHED, "", "", ""]
            continue
        area, cut = here.area, "" if here.complete else "; cut"
        spread = "–" if area is None else f"{area.least:.3f}–{area.largest:.3f}"
        yield [count(k), f"{count(here.columns)} ({count(here.items)}{cut})", count(here.level),
               "–" if area is None else f"{area.mean:.3f}", spread]


def _cost_rows(explored: Explored, chosen: CurvePoint) -> list[list[str | Bar]]:
    most = max(chosen.level, *(column.without for column in explored.costs))
    line = 100 * chosen.level / most
    return [[Bar(name(column.name),
                 [Piece(0, line, "f3"), Piece(line, 100 * column.without / most)], line),
             count(column.items), count(column.without)] for column in explored.costs]


def _attacker_rows(explored: Explored, way: str) -> Iterator[list[str]]:
    """Yield the rows below k, and the rows alone, for the four usual attackers."""
    for row in (point for k in explored.ks if (point := explored.point(way, k))):
        attackers = row.attackers
        each = [attackers.has, attackers.every]
        if explored.settings.classes > 1:
            each += [attackers.has_class, attackers.every_class]
        yield [count(row.k), *map(_lost, each)]


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


def _unique(row: Uniques) -> str:
    if row.share is None:
        return "none"
    many = -int(-row.unique // 1)
    return f"about\u00a0{count(many)} ({share_up(many, row.alone)})"


def _chance(row: Uniques) -> str:
    return "–" if row.right is None else f"{min(-int(-row.right * 100 // 1), 100)} %"
