"""`privsieve check`: how well the rows of a table hide, and what keeps them from hiding better."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import click

from privsieve.cli import words
from privsieve.cli.options import refuse
from privsieve.cli.progress import staged
from privsieve.cli.verb import Outcome, verb
from privsieve.containment.knowledge import Groups, Knowledge
from privsieve.containment.labelled import Labelled, Roles, as_known
from privsieve.containment.limits import Disclosure, columns_of, decimal_text, disclosures
from privsieve.containment.measures import (
    Crowd,
    Rare,
    Risk,
    Sample,
    crowd,
    demand_k,
    gains,
    hub_figure,
    rare_sets,
    risk_of,
    sampled,
)
from privsieve.containment.options import TableOptions
from privsieve.kernels.patterns import Rule
from privsieve.public.canonical import Json
from privsieve.rows.matrix import Items

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


#: The k against which risks are counted where nobody names one.
USUAL_K = 5
#: Of more columns only their number is said.
_MANY = 12


#: The crowds of those who know what may be known, and of those who know all of a person.
Crowds = tuple[Crowd, Crowd]


class Checked(NamedTuple):
    """What was measured.  by_class: the crowds where the class is known, too; None of no class.

    people : what crowds count beside rows, and how many; nobody : rows that name none of them.
    """

    items: Items
    roles: Roles
    risk: Risk
    by_class: Crowds | None
    crowds: Crowds | None
    gained: dict[str, int]
    rare: Rare
    told: list[Disclosure] | None
    people: str
    many: int
    nobody: int


@verb("patients.csv --target ill -k 5")
def command(data: str, asked: TableOptions, *, k: int | None = None,
            sample: Annotated[int | None, "ROWS"] = None) -> Outcome:
    """PRIVATE: measure DATA: levels, risks, what each column costs, and what breaks k.

    What it says is about the rows, for the eyes of who holds them.

    k : exit with code 7 unless each group has at least so many rows
    sample : count the groups of so many rows, drawn at random; 0 for all rows, however long that
        takes.  By default a sample is drawn where all would take minutes
    """
    demand_k(USUAL_K if k is None else k)
    refuse(sample is not None and sample < 0, f"--sample is {sample}; write 0 or more rows")
    refuse((Path(data) / "certificate.json").exists(),
           "check measures a table; what published folders tell together, privsieve union says")
    found = _measured(data, asked, k, sample)
    return Outcome(_json(found), lambda: _show(found), _failure(found, k))


def _measured(data: str, options: TableOptions, k: int | None, sample: int | None) -> Checked:
    """Read the table and count; each stage is told to who waits."""
    import numpy as np

    asked = USUAL_K if k is None else k
    with staged() as progress:
        progress.stage("reading the table")
        table = options.opened(data, asked)
        roles = options.roles(table)
        absent = roles.absent(table.items)
        known = Knowledge(table.items, absent)
        # What may be known, one thing at a time: of several items of a column its value is enough.
        many = Counter(table.items.origin)
        alone = np.array([many[name] == 1 for name in table.items.origin], np.bool_)
        facts = as_known(table.items, None if absent is None else absent & alone, None)
        progress.stage("counting the groups")
        groups = sampled(known, table.y, len(table.classes), k=k, sample=sample)
        risk = risk_of(groups, asked, labelled=len(table.classes) > 1)
        by_class = None if len(table.classes) < 2 else _crowds(sampled(
            replace(known, columns=(table.y,)), k=k, sample=sample), asked)
        progress.stage("looking for what costs, and for what breaks k")
        gained = {} if risk.sample else gains(known, groups.sizes())
        rare = rare_sets(facts, asked)
        crowds = None if table.sources is None else _crowds(
            replace(groups, unit=table.sources), asked)
        progress.stage("counting what a group tells")
        told = _disclosed(table, absent, risk.patterns)
    sources = np.zeros(0, np.int32) if table.sources is None else table.sources
    return Checked(table.items, roles, risk, by_class, crowds, gained, rare, told,
                   "people" if table.people else "sources",
                   len(np.unique(sources[sources >= 0])), int((sources < 0).sum()))


def _crowds(groups: Groups, k: int) -> Crowds:
    return crowd(groups.sizes(), k, groups.rows), crowd(groups.equals(), k)


def _failure(found: Checked, k: int | None) -> str | None:
    """A level that was asked for and is not kept, or not known to be."""
    level = found.crowds[0].level if found.crowds else found.risk.containment.level
    if k is not None and level < k:
        counted = f" in {found.people}" if found.crowds else ""
        return (f"the containment level{counted} is {level}, below k = {k}; `privsieve publish` "
                "chooses columns that keep it")
    if k is not None and found.risk.sample:
        return (f"the containment level is at most {level}, and a sample does not tell whether it "
                f"is {k}; say --sample 0 to count all rows")
    return None


def _json(found: Checked) -> dict[str, Json]:
    items, risk, crowds = found.items, found.risk, found.crowds
    return {
        "rows": risk.rows, "items": len(items), "columns": len(set(items.origin)), "k": risk.k,
        "patterns": risk.patterns, "roles": found.roles.json(),
        "sample": None if risk.sample is None else {
            "rows": risk.sample.rows, "confidence": "0.95",
            "half_width": f"{risk.sample.margin:.6g}"},
        "containment": _crowd(risk.containment), "k_anonymity": _crowd(risk.prosecutor),
        "with_class": None if found.by_class is None else {
            "containment": _crowd(found.by_class[0]), "k_anonymity": _crowd(found.by_class[1])},
        "unique": risk.unique, "one_class": risk.one_class,
        "hub": {name: getattr(risk.hub, name) for name in ("everywhere", "left", "below", "alone")},
        "warning": risk.hub.warning,
        "level_without": found.gained,
        "rare": [{"items": [found.rare.names[j] for j in one], "rows": rows}
                 for one, rows in zip(found.rare.sets, found.rare.rows, strict=True)],
        "rare_complete": found.rare.complete,
        "disclosure": None if found.told is None else [one.json() for one in found.told],
        **({"persons" if found.people == "people" else "sources": {
            "count": found.many, "nobody": found.nobody,
            "containment": _crowd(crowds[0]), "k_anonymity": _crowd(crowds[1])}} if crowds else {}),
    }


def _crowd(crowd: Crowd) -> dict[str, Json]:
    return {"level": crowd.level, "highest": f"{crowd.highest:.6g}",
            "average": f"{crowd.average:.6g}", "below": crowd.below}


def _show(found: Checked) -> None:
    items, risk, crowds = found.items, found.risk, found.crowds
    words.show("private", "about rows: for the eyes of who holds them", fg="yellow")
    words.show("table", f"{risk.rows} rows, {len(items)} items of {len(set(items.origin))} "
                        f"columns, {risk.patterns} different rows, {risk.unique} without an equal")
    for role, names in (("presences only", found.roles.presences),
                        ("presences and absences", found.roles.both)):
        if names:
            words.show("known", f"{role}: {', '.join(names)}" if len(names) <= _MANY else
                                f"{role}: {len(names)} columns")
    if risk.sample:
        words.show("sample", f"what is said of groups is estimated from {risk.sample.rows} rows "
                             "drawn at random: each share of rows, and the average, to within "
                             f"{100 * risk.sample.margin:.2g} points of a hundred with 95 % "
                             "confidence; the level may be lower", fg="yellow")
    click.echo()
    known, whole = found.by_class or (None, None)
    rows = (("what may be known", risk.containment, risk.sample),
            ("and the class", known, risk.sample),
            ("all of a person", risk.prosecutor, None),
            ("all and the class", whole, None),
            (f"known, in {found.people}", crowds and crowds[0], risk.sample),
            (f"all, in {found.people}", crowds and crowds[1], None))
    words.table(("who knows", "level", "highest", "average", f"rows below {risk.k}"),
                [(who, *_row(crowd, sample)) for who, crowd, sample in rows if crowd])
    click.echo()
    if crowds:
        words.show(found.people, f"{found.many} {found.people}, and {found.nobody} rows without "
                                 "an id, which count nothing; below are figures of rows")
    if risk.one_class is not None:
        words.show("classes", f"{risk.one_class} rows have a group of one class: who finds the "
                              "group knows the class")
    words.show("hub", hub_figure(risk.hub, risk.k))
    if risk.hub.warning:
        words.show("warning", risk.hub.warning, fg="yellow")
    _speak(found)


def _speak(found: Checked) -> None:
    """What costs, and what breaks."""
    risk, rare = found.risk, found.rare
    for name, level in sorted(found.gained.items(), key=lambda one: (-one[1], one[0])):
        words.show("without", f"{name}: level {level} instead of {risk.containment.level}")
    if risk.sample:
        words.show("without", "what a column costs is not looked for in a sample")
    elif not found.gained:
        words.show("without", "no single column: the level stays the same")
    for one, rows in zip(rare.sets, rare.rows, strict=True):
        held = "1 row has" if rows == 1 else f"{rows} rows have"
        words.show("rare", f"{', '.join(rare.names[j] for j in one)}: {held} "
                           f"{'all of it' if len(one) > 1 else 'it'}")
    if not rare.complete:
        words.show("rare", "there may be more: the search was stopped here")
    elif not rare.sets and risk.containment.level < risk.k:
        words.show("rare", f"no set of at most three items breaks {risk.k}; larger ones do")
    _show_disclosed(found.told)


def _row(crowd: Crowd, sample: Sample | None) -> tuple[str, ...]:
    most, least = ("at most ", "at least ") if sample else ("", "")
    return (f"{most}{crowd.level}", f"{least}{crowd.highest:.3g}", f"{crowd.average:.3g}",
            str(crowd.below))


#: Of a table with more pairs of different rows nothing is counted: that would take minutes.
MOST_PAIRS = 5 * 10**10


def _disclosed(table: Labelled, absent: npt.NDArray[np.bool_] | None, patterns: int,
             ) -> list[Disclosure] | None:
    """What groups on all columns tell of the target and the sensitive ones; None of large tables.

    absent : the items of which it may be known that a person lacks them.
    """
    if not columns_of(table):
        return []
    if patterns**2 > MOST_PAIRS:
        return None
    return disclosures(table, Rule(1, len(table.classes), absent=absent))


def _show_disclosed(told: Sequence[Disclosure] | None) -> None:
    """A table for people: for each column what its worst group tells."""
    if told is None:
        words.show("discloses", "what groups tell of the target was not counted: the table has too "
                                "many different rows; ask of the columns that you would publish "
                                "(--columns)")
    if not told:
        return
    click.echo()
    words.table(("a group tells of", "values", "fewest", "entropy", "share", "t",
                 *(f"at {step}" for step, _ in told[0].above)),
                [(one.column, str(one.values), str(one.distinct),
                  *map(decimal_text, (one.entropy, one.share, one.closeness)),
                  *(str(rows) for _, rows in one.above)) for one in told])
    click.echo()
    words.show("discloses", "of any group: the fewest values, the least entropy l, the largest "
                            "share of one value, the largest distance t to all rows; and the rows "
                            f"whose group has a share of at least {told[0].above[0][0]}, and of "
                            f"{told[0].above[1][0]}")
