"""Publication: the values on pages about columns that were published under containment.

The public edition is made from the two files of the release, which contain what anybody can compute
from the published table.  Only the internal edition also gets what the holder knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple

from privsieve.public.attackers import (
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
from privsieve.public.canonical import short
from privsieve.release import number
from privsieve.report.figures import capital, count, listed, pairs, rounded, share_up, some
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

#: Closed columns after the first ones are folded away: they expose more people.
SHOWN = 20


class Attacker(NamedTuple):
    """The rows that one kind of attacker finds.

    who : the knowledge of this attacker, in words
    level : rows of the smallest group that matches this knowledge
    below : rows in a group smaller than k
    alone : rows without another row in their group
    chance : the mean chance that a row is found, rounded up
    """

    who: str
    level: int
    below: int
    alone: int
    chance: Fraction

    @classmethod
    def all_of(cls, claim: Mapping[str, Any], measured: Mapping[str, Any]) -> dict[str, Attacker]:
        """Read what each attacker finds, by the key in the release."""
        return {key: cls(WHO[key].format(target=claim["target"]), int(figures["level"]),
                         int(figures["below"]), int(figures["alone"]), number(figures["average"]))
                for key in WHO if (figures := measured["strangers"].get(key))}

    def hits(self, rows: int) -> str:
        """Return how many of all rows this attacker finds by guessing."""
        hits = min(ceil(self.chance * rows), rows)
        share = share_up(self.chance.numerator, self.chance.denominator).replace(" ", "\u00a0")
        return f"about {count(hits)} of {count(rows)} right ({share})"


class GroupFigures:
    """What the groups tell about a published column at worst, for the page."""

    def __init__(self, figures: Mapping[str, Any]) -> None:
        """Read the figures of a release."""
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
        """The largest share of the commonest value that was counted."""
        return self.above[-1][0]

    @property
    def surest(self) -> int:
        """The rows in groups with this share of one value."""
        return self.above[-1][1] if self.above else 0

    @property
    def surest_share(self) -> str:
        """The share of the `surest` rows among all rows."""
        return share_up(self.surest, self.rows)

    @property
    def steps(self) -> DataTable:
        """A table of the rows in groups with each share of the commonest value."""
        whole = max(self.rows, 1)
        return DataTable(f"Rows in groups that mostly share one value of {name(self.column)}",
                     ("Share of the commonest value", "Rows", "Share of all"),
                     [[Bar(f"at least {step}", [Piece(0, 100 * rows / whole)]), some(rows),
                       share_up(rows, whole)] for step, rows in self.above])


def publication(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> Known:
    """Return what the public edition fills into `words/publication.txt`."""
    claim, measured = certificate["claim"], release["measured"]
    k, level, roles = int(claim["k"]), int(claim["level"]), dict(spoken(claim))
    columns = sorted(claim["columns"], key=lambda name: (name.casefold(), name))
    attackers = Attacker.all_of(claim, measured)
    strongest = next(attackers[key] for key in ("everything", "all_class", "all")
                     if key in attackers)
    rows, promised = int(measured["rows"]), attackers[measured["promised"]]
    # whether something is published that does not count as known
    hidden = bool(roles.keys() - {BOTH, TARGET_KNOWN, TARGET_INSIDE, SENSITIVE})
    return {
        **known_of(release, certificate), **groups(measured), "claim": claim, "k": k,
        "level": level, "columns": columns, "listed": listed(columns, "cols"),
        "sources": counted(claim)[1] if claim.get("counted") else None,
        "source": counted(claim)[0], "known": known(claim), "hidden": hidden,
        "limits": kept(claim), "measured": measured, "rows": rows, "promised": promised,
        "strongest": strongest, "alone_share": share_up(strongest.alone, rows),
        "below_share": share_up(strongest.below, rows), "presences": roles.get(PRESENCES, ()),
        "unknown": [column for role in (TARGET_UNKNOWN, SENSITIVE_OUT)
                    for column in roles.get(role, ())],
        "settings": pairs((key, "none" if value is None else value)
                          for key, value in sorted(certificate["plan"].items())),
        "role_facts": [Fact(capital(role), names(held)) for role, held in roles.items()],
        "role_table": DataTable("What each column is", ("Role", "Columns"),
                            [[role, names(held)] for role, held in roles.items()], words=2),
        "costs": all(without is not None for _, _, without in measured["items"]),
        "column_table": lambda: _columns(measured["items"], promised.level),
        "partial": [f"Only these parts of {name(column)} are published: {names(items)}."
                    for column, items in sorted(release["partial"].items())],
        "attacker_table": _attackers(attackers.values(), promised, k, rows),
        "size_table": _sizes(measured["strangers"][measured["promised"]]["bins"], rows),
        "chance_table": _chances(promised, strongest, k, rows, hidden=hidden),
        "closed_sections": (),
    }


def internal(release: Mapping[str, Any], certificate: Mapping[str, Any],
             closed: Mapping[str, Any]) -> Known:
    """Return what the internal edition fills into `words/internal.txt`: PRIVATE."""
    known = publication(release, certificate)
    del known["closed_sections"]
    return {
        **known, "closed": closed, "shut": int(closed["items"] - len(known["columns"])),
        "effects": _effects(closed["closed"], known["k"]),
        "free": sum(not below and not poor for _, _, below, poor in closed["closed"]),
        "decision": decision("This table is released"),
    }


def groups(measured: Mapping[str, Any]) -> Known:
    """Return what groups tell about the class and each published sensitive column."""
    columns = [GroupFigures(figures) for figures in measured["disclosure"]]
    return {
        "groups": columns, "ordered": [column.column for column in columns if column.ordered],
        "worst": lambda: max(columns, key=lambda column: column.surest),
        "group_tables": [DataTable("What the worst group tells", (
            "About this column", "Values", "Fewest in a group", "Largest share of one value",
            "Least entropy l", "Largest distance t"), [column.row for column in columns]),
            *(column.steps for column in columns)],
    }


def kept(claim: Mapping[str, Any]) -> Text:
    """Return the limits that every group keeps, in words and digits of the claim."""
    return Text("; ".join(f"{words}\u00a0{literal(limit)}" for words, limit in limits(claim)))


def _attackers(attackers: Iterable[Attacker], promised: Attacker, k: int, rows: int) -> DataTable:
    """Return a table of what each kind of attacker finds."""
    def share(counted_rows: int) -> str:
        return f"{count(counted_rows)} ({share_up(counted_rows, rows)})" if counted_rows else "none"

    return DataTable("What an attacker finds, by what the attacker knows", (
        "The attacker knows", "Smallest group", f"Rows in a group below {count(k)}", "Rows alone"),
        [[f"**{literal(attacker.who)}** (guaranteed)" if attacker == promised
          else literal(attacker.who), count(attacker.level), share(attacker.below),
          share(attacker.alone)] for attacker in attackers])


def _columns(items: Sequence[Any], level: int) -> DataTable:
    """Return a table of what each column costs, or of how many rows have it."""
    if any(without is None for _, _, without in items):
        return DataTable("What is published", ("Column", "Rows that have it"),
                     [[name(item), count(int(rows))] for item, rows, _ in
                      sorted(items, key=lambda item: str(item[0]).casefold())])
    most = max([level, *(without for _, _, without in items)])
    rows: list[list[str | Bar]] = []
    for item, held, smallest in sorted(items, key=lambda item: (-item[2], item[0].casefold())):
        without = smallest or level
        base, reach = 100 * level / most, 100 * without / most
        rows.append([Bar(name(item), [Piece(0, base, "f3"), Piece(base, reach)], base),
                     count(without), count(without - level), count(int(held))])
    return DataTable("The cost of each column", (
        f"Column, and smallest group without it (line: {count(level)}, with it)",
        "Smallest group", "Cost", "Rows that have it"), rows)


def _sizes(bins: Sequence[Any], rows: int) -> DataTable:
    """Return a table of the sizes of groups; the first line is the forbidden sizes."""
    most = max(int(many) for _, _, many in bins)
    return DataTable("How large the groups are", ("Rows in the group", "Rows", "Share"), [
        [Bar(_span(int(low), high, at), [Piece(0, 100 * int(many) / most)]), some(int(many)),
         share_up(int(many), rows)] for at, (low, high, many) in enumerate(bins)])


def _chances(promised: Attacker, strongest: Attacker, k: int, rows: int, *, hidden: bool,
             ) -> DataTable:
    """Return a table of the three usual attackers, by what they know."""
    once = f"at most 1 in {count(promised.level)}"
    sure = (f"1 in 1, for {count(strongest.alone)} rows" if strongest.level == 1 else
            f"at most 1 in {count(strongest.level)}")
    yes = f"**yes**: at most 1 in {count(k)}"
    return DataTable("The chance of a hit", (
        "The attacker looks", "Knows what may be known", "Knows all that is published"), (
        ("**For one known row**\nprosecutor", once, sure),
        ("**For any row at all**\njournalist", once, f"up to 1 in {count(strongest.level)}"),
        ("**For everybody on a list**\nmarketer", promised.hits(rows), strongest.hits(rows)),
        ("**Guaranteed here**", yes, "**no**" if hidden else yes)), words=3)


def _effects(closed: Sequence[Any], k: int) -> list[Part]:
    """Return tables of the effect of adding each closed column."""
    most = max([k, *(min(level, 2 * k) for _, level, _, _ in closed)])
    rows: list[list[str | Bar]] = [
        [Bar(name(column), [Piece(0, 100 * min(level, 2 * k) / most, "f2")], 100 * k / most),
         count(level), some(below), some(poor)] for column, level, below, poor in closed]
    label = (f"Column, and smallest group if it were added (line: the requested {count(k)}; longer "
             f"bars end at {count(2 * k)})")
    head = (label, "Smallest group", f"Rows below {count(k)}", "Rows with too few classes")
    table = DataTable("The effect of adding each closed column", head, rows[:SHOWN])
    rest = Fold(f"{count(len(rows) - SHOWN)} more columns, which would expose more people",
                (DataTable("The other closed columns", head, rows[SHOWN:]),))
    return [*[table] * bool(rows), *[rest] * bool(rows[SHOWN:])]


def decision(what: str, *before: Fact) -> Facts:
    """Return the facts that a person decides by hand."""
    return Facts("To be filled in by hand, or kept in a records system", (
        *before, Fact(what, "☐yes \u2003 ☐no \u2003 ☐choose again, with other settings"),
        Fact("Conditions", asks=""), Fact("Name and office", asks=""),
        Fact("Date, signature", asks="")))


def _span(low: int, high: int | None, at: int) -> str:
    if high is None:
        return f"{count(low)} or more"
    text = count(low) if low == high else f"{count(low)} to {count(high)}"
    return f"{text} (forbidden)" if at == 0 else text


def _percent(share: str) -> str:
    """Return a share in per cent, rounded up to a tenth: only a whole group is 100 %."""
    return f"{short(rounded(100 * number(share), -1, ROUND_CEILING))} %"
