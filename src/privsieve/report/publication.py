"""Publication: what pages say of columns that were published under containment.

The public edition is made of the two files of the release, which hold what anybody can work out
from the published table; only the internal one is given what its holder knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any, NamedTuple

from markupsafe import Markup

from privsieve.public.canonical import short
from privsieve.public.strangers import (
    BOTH,
    PRESENCES,
    SENSITIVE,
    SENSITIVE_OUT,
    TARGET_INSIDE,
    TARGET_KNOWN,
    TARGET_UNKNOWN,
    WHO,
    counted,
    known,
    limits,
    spoken,
)
from privsieve.release import number
from privsieve.report.page import (
    Piece,
    TwoFiles,
    bar,
    count,
    flowing,
    name,
    pairs,
    rounded,
    share_up,
    some,
)

#: More closed columns than this are folded away: they expose more people than those before them.
SHOWN = 20


class Crowds(NamedTuple):
    """The crowds of one kind of stranger.

    who : what this stranger knows, in words.
    alone : rows without anybody else in their crowd.
    chance : the mean chance that a row is found, rounded up.
    """

    who: str
    level: int
    below: int
    alone: int
    chance: Fraction

    @classmethod
    def of(cls, who: str, said: Mapping[str, Any]) -> Crowds:
        """What a release says of them."""
        return cls(who, int(said["level"]), int(said["below"]), int(said["alone"]),
                   number(said["average"]))


class GroupFigures:
    """What the groups tell of a published column at worst, as it is shown."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        """Read what a release says."""
        self.column, self.rows = str(said["column"]), int(said["rows"])
        self.ordered = bool(said["ordered"])
        self.above = [(_percent(step), int(rows)) for step, rows in said["above"]]
        self.row = [
            Markup('{} <span class="t">{}</span>').format(
                name(self.column), "class" if said["role"] == "target" else "sensitive"),
            count(int(said["values"])), count(int(said["distinct"])),
            _percent(said["share"]),
            short(rounded(number(said["entropy"]), -3, ROUND_FLOOR)),
            short(rounded(number(said["closeness"]), -3, ROUND_CEILING))]

    @property
    def step(self) -> str:
        """The largest share of the commonest value that was asked after."""
        return self.above[-1][0]

    @property
    def surest(self) -> int:
        """The rows whose group has so large a share of one value."""
        return self.above[-1][1] if self.above else 0

    @property
    def steps(self) -> list[list[Markup | str]]:
        """For each share of the commonest value, the rows whose group has it."""
        return [[bar(f"at least {step}", [Piece(0, 100 * rows / max(self.rows, 1))]),
                 some(rows), share_up(rows, max(self.rows, 1))]
                for step, rows in self.above]


@dataclass(frozen=True)
class PublicationPage(TwoFiles):
    """What both editions say."""

    @property
    def columns(self) -> Sequence[str]:
        """The published columns, from A to Z."""
        return sorted(self.claim["columns"], key=lambda name: (name.casefold(), name))

    @property
    def k(self) -> str:
        """The crowd that was asked for."""
        return count(int(self.claim["k"]))

    @property
    def level(self) -> str:
        """The smallest crowd."""
        return count(int(self.claim["level"]))

    @property
    def sources(self) -> str | None:
        """What k counts where it is not rows: people or sources, whom the table does not show."""
        return counted(self.claim)[1] if self.claim.get("counted") else None

    @property
    def source(self) -> str:
        """One of these."""
        return counted(self.claim)[0]

    @property
    def crowd(self) -> str:
        """What everybody hides among, as it was asked for."""
        return f"rows of at least {self.k} different {self.sources}" if self.sources else (
            f"at least {self.k}")

    @property
    def model(self) -> str:
        """The promise, as a term."""
        return ("k-anonymity" if self.claim["model"] == "k-anonymity"
                else "k-anonymity by containment")

    @property
    def roles(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """What may be known of each column, in words."""
        return spoken(self.claim)

    @property
    def hidden(self) -> bool:
        """Whether something is published that does not count as known."""
        return any(role not in (BOTH, TARGET_KNOWN, TARGET_INSIDE, SENSITIVE)
                   for role, _ in self.roles)

    @property
    def presences(self) -> Sequence[str]:
        """Columns of which the promise counts what is there, and not what is lacking."""
        return dict(self.roles).get(PRESENCES, ())

    @property
    def unknown(self) -> list[str]:
        """Columns of which it was declared that nobody outside knows them."""
        by_role = dict(self.roles)
        return [name for role in (TARGET_UNKNOWN, SENSITIVE_OUT)
                for name in by_role.get(role, ())]

    @property
    def settings(self) -> str:
        """The settings of the choice."""
        return pairs((key, "none" if value is None else value)
                      for key, value in sorted(self.certificate["plan"].items()))

    @property
    def measured(self) -> Mapping[str, Any]:
        """What was counted on the published table."""
        said: Mapping[str, Any] = self.release["measured"]
        return said

    @property
    def rows(self) -> int:
        """The rows of the published table."""
        return int(self.measured["rows"])

    @property
    def one_class(self) -> int | None:
        """Rows whose whole crowd has one class, for who knows the columns alone."""
        found: int | None = self.measured["one_class"]
        return found

    @cached_property
    def strangers(self) -> dict[str, Crowds]:
        """What each kind of stranger finds."""
        said = self.measured["strangers"]
        return {who: Crowds.of(words.format(target=self.claim["target"]), said[who])
                for who, words in WHO.items() if who in said}

    @property
    def promised(self) -> Crowds:
        """What the stranger finds of whom the promise speaks."""
        return self.strangers[self.measured["promised"]]

    @property
    def every(self) -> Crowds:
        """What the one finds who knows all cells."""
        return next(self.strangers[who] for who in ("everything", "all_class", "all")
                    if who in self.strangers)

    @property
    def strangers_found(self) -> list[list[Markup | str]]:
        """What each kind of stranger finds, as rows of a table."""
        return [[Markup("<b>{}</b> (promised)").format(flowing(one.who)) if one == self.promised
                 else flowing(one.who), count(one.level), self._share(one.below),
                 self._share(one.alone)]
                for one in self.strangers.values()]

    @property
    def held(self) -> list[list[Markup | str]]:
        """How many rows have each column."""
        return [[name(item), count(int(rows))] for item, rows, _ in
                sorted(self.measured["items"], key=lambda one: str(one[0]).casefold())]

    @cached_property
    def costs(self) -> list[list[Markup | str]] | None:
        """What each column costs; None where that was not counted."""
        items, level = self.measured["items"], self.promised.level
        if any(without is None for _, _, without in items):
            return None
        most = max([level, *(without for _, _, without in items)])
        rows: list[list[Markup | str]] = []
        for item, held, smallest in sorted(items, key=lambda one: (-one[2], one[0].casefold())):
            without = smallest or level
            base, reach = 100 * level / most, 100 * without / most
            rows.append([bar(name(item), [Piece(0, base, "f3"), Piece(base, reach)], base),
                         count(without), count(without - level), count(int(held))])
        return rows

    @property
    def crowd_sizes(self) -> list[list[Markup | str]]:
        """How large the crowds are, beginning with the bin that is forbidden."""
        bins = self.measured["strangers"][self.measured["promised"]]["bins"]
        most = max(int(rows) for _, _, rows in bins)
        return [[bar(_span(int(low), high, at), [Piece(0, 100 * int(rows) / most)]),
                 some(int(rows)), share_up(int(rows), self.rows)]
                for at, (low, high, rows) in enumerate(bins)]

    @cached_property
    def groups(self) -> list[GroupFigures]:
        """What groups tell."""
        return [GroupFigures(one) for one in self.measured["disclosure"]]

    @property
    def worst(self) -> GroupFigures:
        """The column of which groups tell most."""
        return max(self.groups, key=lambda one: one.surest)

    @property
    def limits(self) -> list[Markup]:
        """The limits that every group keeps, in words and digits of the claim."""
        return [Markup("{}&nbsp;{}").format(*limit) for limit in limits(self.claim)]

    def _share(self, part: int) -> str:
        return f"{count(part)} ({share_up(part, self.rows)})" if part else "none"

    def hits(self, crowd: Crowds) -> Markup:
        """How many of all rows are found by guessing."""
        hits = ceil(crowd.chance * self.rows)
        share = share_up(crowd.chance.numerator, crowd.chance.denominator)
        return Markup('about {} of {} right <span class="nb">({})</span>').format(
            count(min(hits, self.rows)), count(self.rows), share)


def page(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> bytes:
    """The public edition."""
    return PublicationPage(release, certificate).document("publication", known=known)


def internal_page(release: Mapping[str, Any], certificate: Mapping[str, Any],
                  closed: Mapping[str, Any]) -> bytes:
    """The internal edition: the public one, and what `containment.closed` says."""
    k = int(certificate["claim"]["k"])
    most = max([k, *(min(level, 2 * k) for _, level, _, _ in closed["closed"])])
    would_do = [[bar(name(column), [Piece(0, 100 * min(level, 2 * k) / most, "f2")],
                     100 * k / most), count(level), some(below), some(poor)]
                for column, level, below, poor in closed["closed"]]
    return PublicationPage(release, certificate).document(
        "publication", "internal", kind="internal", known=known, closed=closed, would=would_do,
        SHOWN=SHOWN,
        free=sum(not below and not poor for _, _, below, poor in closed["closed"]))


def _span(low: int, high: int | None, at: int) -> str:
    if high is None:
        return f"{count(low)} or more"
    said = count(low) if low == high else f"{count(low)} to {count(high)}"
    return f"{said} (forbidden)" if at == 0 else said


def _percent(share: str) -> str:
    """A share in per cent, rounded up to a tenth: only all of a group is 100 %."""
    return f"{short(rounded(100 * number(share), -1, ROUND_CEILING))} %"
