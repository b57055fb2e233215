"""Exploring: what the private page says to whom has to choose k.

Nouns only.  They hold figures of the whole table, closed columns as well: the page that is made of
them is for the eyes of who holds the rows.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, repr=False)
class Found:
    """What a stranger finds: rows in a crowd below k, and of these the rows that are alone."""

    below: int
    alone: int


@dataclass(frozen=True, repr=False)
class Strangers:
    """The usual strangers, by what they know of a row.

    has, every : what it has; what it has and lacks.
    has_class, every_class : the same, and its class.
    """

    has: Found
    every: Found
    has_class: Found
    every_class: Found


@dataclass(frozen=True, repr=False)
class Area:
    """The honest area under the curve: its mean, its least and largest value over the folds."""

    mean: float
    least: float
    largest: float
    folds: int


@dataclass(frozen=True, repr=False)
class Point:
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
class Cost:
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
    sources : k counts persons or sources, not rows.
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
    sources: bool = False
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
    points: tuple[Point, ...]
    names: tuple[str, ...]
    costs: tuple[Cost, ...]
    shut: tuple[Shut, ...]
    passed_over: int
    population: Population | None
    unreached: tuple[str, ...]
    seconds: int

    def point(self, way: str, k: int) -> Point | None:
        """What a way gives at a k, if that was reached."""
        return next((one for one in self.points if (one.way, one.k) == (way, k)), None)
