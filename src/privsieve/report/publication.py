"""Publication: what pages say of columns that were published under containment.

The public edition is made of the two files of the release, which hold what anybody can work out
from the published table; only the internal one is given what its holder knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from markupsafe import Markup

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
    spoken,
)
from privsieve.report.page import Piece, TwoFiles, bar, count, flowing, name, pairs, share_up, some

#: More closed columns than this are folded away: they expose more people than those before them.
SHOWN = 20
#: Figures of groups stand in a release in millionths, chances in billionths.
_MILLION, _BILLION = 10**6, 10**9


class Crowds(NamedTuple):
    """The crowds of one kind of stranger.

    who : what this stranger knows, in words.
    alone : rows without anybody else in their crowd.
    billionths : the mean chance that a row is found, rounded up.
    """

    who: str
    level: int
    below: int
    alone: int
    billionths: int

    @classmethod
    def of(cls, who: str, said: Mapping[str, Any]) -> Crowds:
        """What a release says of them."""
        whole, _, part = said["average"].partition(".")
        return cls(who, int(said["level"]), int(said["below"]), int(said["alone"]),
                   int(whole) * _BILLION + int(part))


class GroupFigures:
    """What the groups tell of a published column at worst; millionths as they are shown."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        """Read what a release says."""
        self.column, self.rows = str(said["column"]), int(said["rows"])
        self.ordered = bool(said["ordered"])
        self.above = [(_percent(_millionths(step)), int(rows)) for step, rows in said["above"]]
        self.row = [
            Markup('{} <span class="t">{}</span>').format(
                name(self.column), "class" if said["role"] == "target" else "sensitive"),
            count(int(said["values"])), count(int(said["distinct"])),
            _percent(_millionths(said["share"])),
            _three(_millionths(said["entropy"]) // 1000),
            _three(-(-_millionths(said["closeness"]) // 1000))]

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
        limits, classes = self.claim["limits"], self.claim["l_diversity"]
        known = (("different values, at least", classes if classes > 1 else None),
                 ("share of one value, at most", limits["share"]),
                 ("entropy l, at least", limits["entropy"]),
                 ("distance to the whole table, at most", limits["closeness"]))
        return [Markup("{}&nbsp;{}").format(words, text) for words, text in known
                if text is not None]

    def _share(self, part: int) -> str:
        return f"{count(part)} ({share_up(part, self.rows)})" if part else "none"

    def hits(self, crowd: Crowds) -> Markup:
        """How many of all rows are found by guessing."""
        hits = -(-crowd.billionths * self.rows // _BILLION)
        return Markup('about {} of {} right <span class="nb">({})</span>').format(
            count(min(hits, self.rows)), count(self.rows), share_up(crowd.billionths, _BILLION))


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


def _percent(millionths: int) -> str:
    """A share in per cent, rounded up to a tenth: only all of a group is 100 %."""
    whole, tenth = divmod(-(-millionths // 1000), 10)
    return f"{whole}.{tenth} %" if tenth else f"{whole} %"


def _three(thousandths: int) -> str:
    """Three digits after the point, without zeros at the end."""
    whole, rest = divmod(thousandths, 1000)
    return f"{whole:,}.{rest:03d}".rstrip("0").rstrip(".")


def _millionths(text: object) -> int:
    """A decimal text of a release, of at most six digits."""
    whole, _, part = str(text).partition(".")
    return int(whole) * _MILLION + int(f"{part[:6]:0<6}")
