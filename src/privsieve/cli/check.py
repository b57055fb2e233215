"""`privsieve check`: measure the k-anonymity of a table, and what keeps it low."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

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
from privsieve.telling.document import DataTable, Document, Fact, Facts, Part, literal, names

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


#: The k of the measurement if no k is given.
USUAL_K = 5
#: A line lists at most this many columns, and counts more.
_MANY = 12
#: A table with more pairs of different rows is not counted for disclosure: it would take minutes.
MOST_PAIRS = 5 * 10**10

#: The groups for an attacker who knows what may be known, and for one who knows all cells.
GroupRisks = tuple[Crowd, Crowd]


class Measurement(NamedTuple):
    """What was measured.

    by_class : the risks if the class is known, too; None without classes
    by_person : the risks counted in people or sources; None without them
    nouns : "people" or "sources"; `number` of them, and `without_id` rows without one
    """

    items: Items
    roles: Roles
    risk: Risk
    by_class: GroupRisks | None
    by_person: GroupRisks | None
    gained: dict[str, int]
    rare: Rare
    disclosed: list[Disclosure] | None
    nouns: str
    number: int
    without_id: int


@verb("patients.csv --target ill -k 5")
def command(data: str, options: TableOptions, *, k: int | None = None,
            sample: Annotated[int | None, "ROWS"] = None) -> Outcome:
    """PRIVATE: measure the groups and risks of DATA, and find the columns and rows that break k.

    The result is about the rows: keep it to the holder of the table.

    k : exit with code 7 unless each group has at least this number of rows
    sample : count the groups of this number of random rows; 0 for all rows, however long that
        takes.  By default a sample is used if all rows would take minutes
    """
    demand_k(USUAL_K if k is None else k)
    refuse(sample is not None and sample < 0, f"--sample is {sample}; write 0 or more rows")
    refuse((Path(data) / "certificate.json").exists(),
           "check measures a table, and this is a release folder; use privsieve union for "
           "published folders")
    measurement = _measure(data, options, k, sample)
    return Outcome(_json(measurement), lambda: words.tell(_document(measurement)),
                   _failure(measurement, k))


def _measure(data: str, options: TableOptions, k: int | None, sample: int | None) -> Measurement:
    """Read the table and count; the terminal shows each stage."""
    import numpy as np

    wanted = USUAL_K if k is None else k
    with staged() as progress:
        progress.stage("reading the table")
        table = options.opened(data, wanted)
        roles = options.roles(table)
        absent = roles.absent(table.items)
        known = Knowledge(table.items, absent)
        # Single facts: of several items of a column, its value is enough.
        many = Counter(table.items.origin)
        alone = np.array([many[name] == 1 for name in table.items.origin], np.bool_)
        facts = as_known(table.items, None if absent is None else absent & alone, None)
        progress.stage("counting the groups")
        groups = sampled(known, table.y, len(table.classes), k=k, sample=sample)
        risk = risk_of(groups, wanted, labelled=len(table.classes) > 1)
        by_class = None if len(table.classes) < 2 else _risks(sampled(
            replace(known, columns=(table.y,)), k=k, sample=sample), wanted)
        progress.stage("finding the cost of columns, and what breaks k")
        gained = {} if risk.sample else gains(known, groups.sizes())
        rare = rare_sets(facts, wanted)
        by_person = None if table.sources is None else _risks(
            replace(groups, unit=table.sources), wanted)
        progress.stage("counting what the groups tell")
        disclosed = _disclosed(table, absent, risk.patterns)
    sources = np.zeros(0, np.int32) if table.sources is None else table.sources
    return Measurement(table.items, roles, risk, by_class, by_person, gained, rare, disclosed,
                       "people" if table.people else "sources",
                       len(np.unique(sources[sources >= 0])), int((sources < 0).sum()))


def _risks(groups: Groups, k: int) -> GroupRisks:
    return crowd(groups.sizes(), k, groups.rows), crowd(groups.equals(), k)


def _disclosed(table: Labelled, absent: npt.NDArray[np.bool_] | None, patterns: int,
             ) -> list[Disclosure] | None:
    """Count what the groups tell about the target and sensitive columns; None for large tables.

    absent : the items that an attacker may know a person to lack
    """
    if not columns_of(table):
        return []
    if patterns**2 > MOST_PAIRS:
        return None
    return disclosures(table, Rule(1, len(table.classes), absent=absent))


def _failure(measurement: Measurement, k: int | None) -> str | None:
    """Return why the requested level is missed or unknown."""
    risk, by_person = measurement.risk, measurement.by_person
    level = by_person[0].level if by_person else risk.containment.level
    if k is not None and level < k:
        counted = f" in {measurement.nouns}" if by_person else ""
        return (f"the smallest group{counted} (containment level) is {level}, below k = {k}; use "
                "`privsieve publish` to choose columns that keep k")
    if k is not None and risk.sample:
        return (f"the smallest group is at most {level}, and a sample cannot show whether it "
                f"is {k}; add --sample 0 to count all rows")
    return None


def _json(measurement: Measurement) -> dict[str, Json]:
    items, risk, by_person = measurement.items, measurement.risk, measurement.by_person
    by_class, rare = measurement.by_class, measurement.rare
    return {
        "rows": risk.rows, "items": len(items), "columns": len(set(items.origin)), "k": risk.k,
        "patterns": risk.patterns, "roles": measurement.roles.json(),
        "sample": None if risk.sample is None else {
            "rows": risk.sample.rows, "confidence": "0.95",
            "half_width": f"{risk.sample.margin:.6g}"},
        "containment": _group_json(risk.containment), "k_anonymity": _group_json(risk.prosecutor),
        "with_class": None if by_class is None else {
            "containment": _group_json(by_class[0]), "k_anonymity": _group_json(by_class[1])},
        "unique": risk.unique, "one_class": risk.one_class,
        "hub": {name: getattr(risk.hub, name) for name in ("everywhere", "left", "below", "alone")},
        "warning": risk.hub.warning,
        "level_without": measurement.gained,
        "rare": [{"items": [rare.names[j] for j in items], "rows": rows}
                 for items, rows in zip(rare.sets, rare.rows, strict=True)],
        "rare_complete": rare.complete,
        "disclosure": None if measurement.disclosed is None else [
            column.json() for column in measurement.disclosed],
        **({"persons" if measurement.nouns == "people" else "sources": {
            "count": measurement.number, "nobody": measurement.without_id,
            "containment": _group_json(by_person[0]),
            "k_anonymity": _group_json(by_person[1])}} if by_person else {}),
    }


def _group_json(group: Crowd) -> dict[str, Json]:
    return {"level": group.level, "highest": f"{group.highest:.6g}",
            "average": f"{group.average:.6g}", "below": group.below}


# --- the screen ----------------------------------------------------------------------------------

def _document(measurement: Measurement) -> Document:
    """Return the measurement as a document for the terminal."""
    items, risk = measurement.items, measurement.risk
    return Document(
        f"Check: {risk.rows:,} rows, {len(items):,} items of {len(set(items.origin)):,} columns",
        [Fact("rows", f"{risk.patterns:,} different rows; {risk.unique:,} rows have no equal"),
         *_facts(measurement)],
        [_attackers(measurement), Facts("", [*_causes(measurement)]),
         *_disclosure_parts(measurement.disclosed)],
        private="PRIVATE: this is about rows; keep it to the holder of the table")


def _facts(measurement: Measurement) -> Iterator[Fact]:
    """Yield what an attacker may know, and how the figures were counted."""
    roles, risk = measurement.roles, measurement.risk
    for label, columns in (("presences", roles.presences), ("known", roles.both)):
        if columns:
            yield Fact(label, names(columns) if len(columns) <= _MANY else
                       f"{len(columns):,} columns")
    if measurement.by_person:
        yield Fact(measurement.nouns, f"{measurement.number:,} {measurement.nouns}; "
                   f"{measurement.without_id:,} rows have no id and are ignored in their counts. "
                   "Other figures count rows")
    if risk.sample:
        yield Fact("sample", f"figures of groups are estimated from {risk.sample.rows:,} random "
                   "rows. With 95 % confidence, shares of rows and averages are right to within "
                   f"{100 * risk.sample.margin:.2g} percentage points; the level may be lower")


def _attackers(measurement: Measurement) -> DataTable:
    """Return a table of the risks by what the attacker knows."""
    risk, by_class, by_person = measurement.risk, measurement.by_class, measurement.by_person
    most, least = ("at most ", "at least ") if risk.sample else ("", "")
    attackers = (("what may be known", risk.containment, True),
                 ("that and the class", by_class and by_class[0], True),
                 ("all cells", risk.prosecutor, False),
                 ("all cells and the class", by_class and by_class[1], False),
                 (f"what may be known, in {measurement.nouns}", by_person and by_person[0], True),
                 (f"all cells, in {measurement.nouns}", by_person and by_person[1], False))
    return DataTable(
        "What an attacker finds", ("the attacker knows", "smallest", "highest risk",
                                   "average", f"rows below {risk.k}"),
        [(who, f"{most * sampled}{group.level:,}", f"{least * sampled}{group.highest:.3g}",
          f"{group.average:.3g}", f"{group.below:,}") for who, group, sampled in attackers
         if group])


def _causes(measurement: Measurement) -> Iterator[Fact]:
    """Yield what lowers the level: repeated groups, columns, and rare combinations."""
    risk, rare, level = measurement.risk, measurement.rare, measurement.risk.containment.level
    if risk.one_class is not None:
        yield Fact("classes", f"{risk.one_class:,} rows are in groups of one class: an attacker "
                              "who finds the group learns the class")
    yield Fact("same rows", hub_figure(risk.hub, risk.k))
    if risk.hub.warning:
        yield Fact("warning", risk.hub.warning)
    for name, without in sorted(measurement.gained.items(), key=lambda pair: (-pair[1], pair[0])):
        yield Fact("without", f"{literal(name)}: smallest group {without:,} instead of {level:,}")
    if risk.sample:
        yield Fact("without", "the cost of columns is not measured in a sample")
    elif not measurement.gained:
        yield Fact("without", "any single column, the smallest group has the same size")
    for items, rows in zip(rare.sets, rare.rows, strict=True):
        yield Fact("rare", f"{names(rare.names[j] for j in items)}: "
                           f"{'1 row has' if rows == 1 else f'{rows:,} rows have'} "
                           f"{'all of these items' if len(items) > 1 else 'this item'}")
    if not rare.complete:
        yield Fact("rare", "there may be more combinations: the search stopped here")
    elif not rare.sets and level < risk.k:
        yield Fact("rare", f"no set of at most three items breaks k = {risk.k}; larger sets do")


def _disclosure_parts(columns: Sequence[Disclosure] | None) -> Iterator[Part]:
    """Yield a table of what the worst group tells about each column."""
    if columns is None:
        yield ("What the groups tell about the target was not counted: the table has too many "
               "different rows. Name the columns that you would publish (--columns).")
    if not columns:
        return
    (low, _), (high, _) = columns[0].above[:2]
    yield DataTable("What the worst group tells", (
        "column", "values", "fewest", "entropy", "share", "t",
        *(f"at {step}" for step, _ in columns[0].above)),
        [(literal(column.column), str(column.values), str(column.distinct),
          *map(decimal_text, (column.entropy, column.share, column.closeness)),
          *(f"{rows:,}" for _, rows in column.above)) for column in columns])
    yield ("The table shows the fewest values, the least entropy l, the largest share of one value "
           f"and the largest distance t of any group. Columns at {low} and at {high} count the "
           "rows whose group has at least this share of one value.")
