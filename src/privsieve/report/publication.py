"""Publication: what pages say of columns that were published under containment.

The public edition is made of the two files of the release, which hold what anybody can work out
from the published table; only the internal one is given what its holder knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple

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
from privsieve.report.figures import (
    capital,
    count,
    listed,
    pairs,
    rounded,
    share_up,
    some,
)
from privsieve.report.frame import Known, known_of
from privsieve.telling.document import (
    Bar,
    DataTable,
    Fact,
    Facts,
    Fold,
    Part,
    Piece,
    Text,
    literal,
    name,
    names,
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
    def all_of(cls, claim: Mapping[str, Any], measured: Mapping[str, Any]) -> dict[str, Crowds]:
        """What a release says of each."""
        found = measured["strangers"]
        return {who: cls(words.format(target=claim["target"]), int(found[who]["level"]),
                         int(found[who]["below"]), int(found[who]["alone"]),
                         number(found[who]["average"]))
                for who, words in WHO.items() if who in found}

    def hits(self, rows: int) -> str:
        """How many of all rows are found by guessing."""
        hits = min(ceil(self.chance * rows), rows)
        share = share_up(self.chance.numerator, self.chance.denominator).replace(" ", "\u00a0")
        return f"about {count(hits)} of {count(rows)} right ({share})"


class GroupFigures:
    """What the groups tell of a published column at worst, as it is shown."""

    def __init__(self, figures: Mapping[str, Any]) -> None:
        """Read what a release says."""
        self.column, self.rows = str(figures["column"]), int(figures["rows"])
        self.ordered = bool(figures["ordered"])
        self.above = [(_percent(step), int(rows)) for step, rows in figures["above"]]
        role = "class" if figures["role"] == "target" else "sensitive"
        self.row = [f"{name(self.column)} ~~{role}~~", count(int(figures["values"])),
                    count(int(figures["distinct"])), _percent(figures["share"]),
                    short(rounded(number(figures["entropy"]), -3, ROUND_FLOOR)),
                    short(rounded(number(figures["closeness"]), -3, ROUND_CEILING))]

    @property
    def step(self) -> str:
        """The largest share of the commonest value that was asked after."""
        return self.above[-1][0]

    @property
    def surest(self) -> int:
        """The rows whose group has so large a share of one value."""
        return self.above[-1][1] if self.above else 0

    @property
    def surest_share(self) -> str:
        """Their share of all rows."""
        return share_up(self.surest, self.rows)

    @property
    def steps(self) -> DataTable:
        """For each share of the commonest value, the rows whose group has it."""
        whole = max(self.rows, 1)
        return DataTable(f"How many rows lie in groups of nearly one value of {name(self.column)}",
                     ("Share of the commonest value", "Rows", "Share of all"),
                     [[Bar(f"at least {step}", [Piece(0, 100 * rows / whole)]), some(rows),
                       share_up(rows, whole)] for step, rows in self.above])


def publication(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> Known:
    """What the public edition knows; its words lie in `words/publication.txt`."""
    claim, measured = certificate["claim"], release["measured"]
    k, level, roles = int(claim["k"]), int(claim["level"]), dict(spoken(claim))
    columns = sorted(claim["columns"], key=lambda name: (name.casefold(), name))
    crowds = Crowds.all_of(claim, measured)
    every = next(crowds[who] for who in ("everything", "all_class", "all") if who in crowds)
    rows, promised = int(measured["rows"]), crowds[measured["promised"]]
    # whether something is published that does not count as known
    hidden = bool(roles.keys() - {BOTH, TARGET_KNOWN, TARGET_INSIDE, SENSITIVE})
    return {
        **known_of(release, certificate), **groups(measured), "claim": claim, "k": k,
        "level": level, "columns": columns, "listed": listed(columns, "cols"),
        "sources": counted(claim)[1] if claim.get("counted") else None,
        "source": counted(claim)[0], "known": known(claim), "hidden": hidden,
        "limits": kept(claim), "measured": measured, "rows": rows, "promised": promised,
        "every": every, "alone_share": share_up(every.alone, rows),
        "below_share": share_up(every.below, rows), "presences": roles.get(PRESENCES, ()),
        "unknown": [column for role in (TARGET_UNKNOWN, SENSITIVE_OUT)
                    for column in roles.get(role, ())],
        "settings": pairs((key, "none" if value is None else value)
                          for key, value in sorted(certificate["plan"].items())),
        "role_facts": [Fact(capital(role), names(held)) for role, held in roles.items()],
        "role_table": DataTable("What each column is", ("Role", "Columns"),
                            [[role, names(held)] for role, held in roles.items()], words=2),
        "costs": all(without is not None for _, _, without in measured["items"]),
        "column_table": lambda: _columns(measured["items"], promised.level),
        "partial": [f"Of {name(column)} only a part is published: {names(part)}."
                    for column, part in sorted(release["partial"].items())],
        "stranger_table": _strangers(crowds.values(), promised, k, rows),
        "size_table": _sizes(measured["strangers"][measured["promised"]]["bins"], rows),
        "chance_table": _chances(promised, every, k, rows, hidden=hidden), "closed_sections": (),
    }


def internal(release: Mapping[str, Any], certificate: Mapping[str, Any],
             closed: Mapping[str, Any]) -> Known:
    """What the internal edition knows: PRIVATE; its words lie in `words/internal.txt`."""
    told = publication(release, certificate)
    del told["closed_sections"]
    return {
        **told, "closed": closed, "shut": int(closed["items"] - len(told["columns"])),
        "would": _would(closed["closed"], told["k"]),
        "free": sum(not below and not poor for _, _, below, poor in closed["closed"]),
        "decision": decision("This table is released"),
    }


def groups(measured: Mapping[str, Any]) -> Known:
    """What groups tell of each published column that is sensitive, or the class."""
    found = [GroupFigures(one) for one in measured["disclosure"]]
    return {
        "groups": found, "ordered": [one.column for one in found if one.ordered],
        "worst": lambda: max(found, key=lambda one: one.surest),
        "group_tables": [DataTable("What the worst group tells", (
            "Of this column", "Values", "Fewest in a group", "Largest share of one value",
            "Least entropy l", "Largest distance t"), [one.row for one in found]),
            *(one.steps for one in found)],
    }


def kept(claim: Mapping[str, Any]) -> Text:
    """The limits that every group keeps, in words and digits of the claim."""
    return Text("; ".join(f"{words}\u00a0{literal(limit)}" for words, limit in limits(claim)))


def _strangers(crowds: Iterable[Crowds], promised: Crowds, k: int, rows: int) -> DataTable:
    """What each kind of stranger finds."""
    def share(part: int) -> str:
        return f"{count(part)} ({share_up(part, rows)})" if part else "none"

    return DataTable("What a stranger finds, by what is known", (
        "Who knows", "Smallest crowd", f"Rows in a crowd below {count(k)}", "Rows alone"),
        [[f"**{literal(one.who)}** (promised)" if one == promised else literal(one.who),
          count(one.level), share(one.below), share(one.alone)] for one in crowds])


def _columns(items: Sequence[Any], level: int) -> DataTable:
    """What each column costs, or how many rows have it."""
    if any(without is None for _, _, without in items):
        return DataTable("What is published", ("Column", "Rows that have it"),
                     [[name(item), count(int(rows))] for item, rows, _ in
                      sorted(items, key=lambda one: str(one[0]).casefold())])
    most = max([level, *(without for _, _, without in items)])
    rows: list[list[str | Bar]] = []
    for item, held, smallest in sorted(items, key=lambda one: (-one[2], one[0].casefold())):
        without = smallest or level
        base, reach = 100 * level / most, 100 * without / most
        rows.append([Bar(name(item), [Piece(0, base, "f3"), Piece(base, reach)], base),
                     count(without), count(without - level), count(int(held))])
    return DataTable("What each column costs", (
        f"Column, and smallest crowd without it (line: {count(level)}, with it)",
        "Smallest crowd", "Cost", "Rows that have it"), rows)


def _sizes(bins: Sequence[Any], rows: int) -> DataTable:
    """How large the crowds are, beginning with the bin that is forbidden."""
    most = max(int(many) for _, _, many in bins)
    return DataTable("In how large a crowd the rows hide", ("Size of the crowd", "Rows", "Share"), [
        [Bar(_span(int(low), high, at), [Piece(0, 100 * int(many) / most)]), some(int(many)),
         share_up(int(many), rows)] for at, (low, high, many) in enumerate(bins)])


def _chances(has: Crowds, every: Crowds, k: int, rows: int, *, hidden: bool) -> DataTable:
    """The three usual strangers, by what they know."""
    once = f"1 in {count(has.level)} at most"
    sure = (f"1 in 1, for {count(every.alone)} rows" if every.level == 1 else
            f"1 in {count(every.level)} at most")
    yes = f"**yes**: 1 in {count(k)} at most"
    return DataTable("The chance of a hit", (
        "Who looks, and for whom", "Knows what may be known", "Knows all that is published"), (
        ("**For one known row**\nprosecutor", once, sure),
        ("**For anybody at all**\njournalist", once, f"up to 1 in {count(every.level)}"),
        ("**For everybody on a list**\nmarketer", has.hits(rows), every.hits(rows)),
        ("**Promised here**", yes, "**no**" if hidden else yes)), words=3)


def _would(closed: Sequence[Any], k: int) -> list[Part]:
    """What each closed column would do."""
    most = max([k, *(min(level, 2 * k) for _, level, _, _ in closed)])
    rows: list[list[str | Bar]] = [
        [Bar(name(column), [Piece(0, 100 * min(level, 2 * k) / most, "f2")], 100 * k / most),
         count(level), some(below), some(poor)] for column, level, below, poor in closed]
    label = (f"Column, and smallest crowd if it were added (line: the {count(k)} asked for; longer "
             f"bars end at {count(2 * k)})")
    head = (label, "Smallest crowd", f"Rows below {count(k)}", "Rows with too few classes")
    table = DataTable("What each closed column would do", head, rows[:SHOWN])
    more = Fold(f"{count(len(rows) - SHOWN)} more, which would expose more",
                (DataTable("The other closed columns", head, rows[SHOWN:]),))
    return [*[table] * bool(rows), *[more] * bool(rows[SHOWN:])]


def decision(what: str, *before: Fact) -> Facts:
    """What somebody decides by hand."""
    return Facts("To be filled in by hand, or kept in a records system", (
        *before, Fact(what, "☐yes \u2003 ☐no \u2003 ☐ask again, with other settings"),
        Fact("Conditions", asks=""), Fact("Name and office", asks=""),
        Fact("Date, signature", asks="")))


def _span(low: int, high: int | None, at: int) -> str:
    if high is None:
        return f"{count(low)} or more"
    text = count(low) if low == high else f"{count(low)} to {count(high)}"
    return f"{text} (forbidden)" if at == 0 else text


def _percent(share: str) -> str:
    """A share in per cent, rounded up to a tenth: only all of a group is 100 %."""
    return f"{short(rounded(100 * number(share), -1, ROUND_CEILING))} %"
