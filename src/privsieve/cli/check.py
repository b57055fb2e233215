"""`privsieve check`: how well the rows of a table hide, and what keeps them from hiding better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from privsieve.cli import disclosed, tables, words
from privsieve.errors import CheckFailed
from privsieve.public.canonical import Json

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from privsieve.containment.breaking import Rare
    from privsieve.containment.disclosure import Disclosure
    from privsieve.containment.groups import SourceCrowds
    from privsieve.containment.labelled import Labelled, Roles
    from privsieve.containment.measures import Crowd, Risk, Sample
    from privsieve.rows.matrix import Items

_EXAMPLE = "Example: privsieve check patients.csv --target ill -k 5"

#: The k against which risks are counted where nobody names one.
USUAL_K = 5
#: Of more columns only their number is said.
_MANY = 12


class Checked(NamedTuple):
    """What was measured.  by_class: the crowds where the class is known, too; None of no class."""

    items: Items
    roles: Roles
    risk: Risk
    by_class: tuple[Crowd, Crowd] | None
    crowds: SourceCrowds | None
    gained: dict[str, int]
    rare: Rare


@click.command("check", epilog=_EXAMPLE)
@click.argument("data", nargs=-1, required=True, metavar="DATA...")
@tables.table
@click.option("-k", "k", metavar="K", type=int,
              help="Exit with code 7 unless each group has at least so many rows.")
@click.option("--sample", metavar="ROWS", type=click.IntRange(min=0),
              help="Count the groups of so many rows, drawn at random; 0 for all rows, however "
                   "long that takes.  By default a sample is drawn where all would take minutes.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines.")
def command(data: tuple[str, ...], k: int | None, sample: int | None, as_json: bool,  # noqa: FBT001  # click gives it by name
            **options: Any) -> None:
    """Measure DATA: levels, risks, what each column costs, and what breaks k.

    DATA is a table; or folders that `publish` wrote, to learn what these tell together, with or
    without their table before them.

    PRIVATE: what it says is about the rows, for the eyes of who holds them.
    """
    from privsieve.cli import union
    from privsieve.containment.measures import demand_k

    asked = USUAL_K if k is None else k
    demand_k(asked)
    if union.asked(data):
        union.check(data, {**options, "k": asked}, k, as_json=as_json)
        return
    found, told = _measured(data[0], {**options, "k": asked}, k, sample)
    if as_json:
        words.json({**_json(found),
                    "disclosure": None if told is None else [one.json() for one in told]})
    else:
        _show(found)
        disclosed.show(told)
    _demand_level(found, k)


def _measured(data: str, options: Mapping[str, Any], k: int | None, sample: int | None,
              ) -> tuple[Checked, list[Disclosure] | None]:
    """Read the table and count; each stage is told to who waits."""
    from privsieve.cli.progress import shown
    from privsieve.cli.roles import roles_of
    from privsieve.containment.breaking import gains, rare_sets
    from privsieve.containment.groups import source_crowds
    from privsieve.containment.labelled import as_known
    from privsieve.containment.measures import risk_of, surveyed

    with shown() as progress:
        progress.stage("reading the table")
        table, asked = tables.opened(data, options), options["k"]
        roles = roles_of(table, options, tables.domain_of(options))
        absent = roles.absent(table.items)
        known = as_known(table.items, absent, None)
        progress.stage("counting the groups")
        survey = surveyed(known, table.y, len(table.classes), k=k, sample=sample)
        risk = risk_of(survey, asked, labelled=len(table.classes) > 1)
        by_class = _with_class(table, absent, asked, sample)
        progress.stage("looking for what costs, and for what breaks k")
        gained, rare = gains(known, survey), rare_sets(_facts(table.items, absent), asked)
        crowds = None if table.sources is None else source_crowds(known, table.sources, asked,
                                                                  survey=survey)
        progress.stage("counting what a group tells")
        told = disclosed.measured(table, absent, risk.patterns)
    return Checked(table.items, roles, risk, by_class, crowds, gained, rare), told


def _demand_level(found: Checked, k: int | None) -> None:
    """Exit with 7 where a level that was asked for is not kept, or not known to be."""
    level = found.crowds.containment.level if found.crowds else found.risk.containment.level
    if k is not None and level < k:
        counted = " in sources" if found.crowds else ""
        raise CheckFailed(f"the containment level{counted} is {level}, below k = {k}; "
                          "`privsieve publish` chooses columns that keep it")
    if k is not None and found.risk.sample:
        raise CheckFailed(f"the containment level is at most {level}, and a sample does not tell "
                          f"whether it is {k}; say --sample 0 to count all rows")


def _with_class(table: Labelled, absent: npt.NDArray[np.bool_] | None, k: int,
                sample: int | None) -> tuple[Crowd, Crowd] | None:
    """The crowds of who knows the class, too: what may be known, and all; None of no class."""
    from privsieve.containment.labelled import as_known
    from privsieve.containment.measures import crowd, surveyed
    from privsieve.public.columns import text_of

    if len(table.classes) < 2:
        return None
    label = table.target or "label", table.y, [text_of(one) for one in table.classes]
    found = surveyed(as_known(table.items, absent, label), table.y, len(table.classes), k=k,
                     sample=sample)
    equal = found.table.counts.sum(axis=1)[found.table.pattern]
    return crowd(found.group(), k), crowd(equal, k)


def _facts(items: Items, absent: npt.NDArray[np.bool_] | None) -> Items:
    """What may be known, one thing at a time: of several items of a column its value is enough."""
    from collections import Counter

    import numpy as np

    from privsieve.containment.labelled import as_known

    many = Counter(items.origin)
    alone = np.array([many[name] == 1 for name in items.origin], np.bool_)
    return as_known(items, None if absent is None else absent & alone, None)


def _json(found: Checked) -> dict[str, Json]:
    items, risk = found.items, found.risk
    return {
        "rows": risk.rows, "items": len(items), "columns": len(set(items.origin)), "k": risk.k,
        "patterns": risk.patterns, "roles": found.roles.json(),
        "sample": None if risk.sample is None else {
            "rows": risk.sample.rows, "half_width": f"{risk.sample.margin:.6g}",
            "confidence": "0.95"},
        "containment": _crowd(risk.containment), "k_anonymity": _crowd(risk.prosecutor),
        "with_class": None if found.by_class is None else {
            "containment": _crowd(found.by_class[0]), "k_anonymity": _crowd(found.by_class[1])},
        "unique": risk.unique, "marketer": f"{risk.marketer:.6g}", "one_class": risk.one_class,
        "hub": {"everywhere": risk.hub.everywhere, "left": risk.hub.left,
                "below": risk.hub.below, "alone": risk.hub.alone},
        "warning": risk.hub.warning,
        "level_without": found.gained,
        "rare": [{"items": [found.rare.names[j] for j in one], "rows": rows}
                 for one, rows in zip(found.rare.sets, found.rare.rows, strict=True)],
        "rare_complete": found.rare.complete,
        **({"sources": _of_sources(found.crowds)} if found.crowds else {}),
    }


def _of_sources(crowds: SourceCrowds) -> dict[str, Json]:
    return {"count": crowds.count, "containment": _crowd(crowds.containment),
            "k_anonymity": _crowd(crowds.equal)}


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
            words.show("known", f"{role}: {_few(names)}")
    if risk.sample:
        words.show("sample", _of_sample(risk.sample), fg="yellow")
    click.echo()
    one, other = found.by_class or (None, None)
    words.table(("who knows", "level", "highest", "average", f"rows below {risk.k}"), [
        ("what may be known", *_row(risk.containment, risk.sample)),
        *([("and the class", *_row(one, risk.sample))] if one else []),
        ("all of a person", *_row(risk.prosecutor)),
        *([("all and the class", *_row(other))] if other else []),
        *([("known, in sources", *_row(crowds.containment, risk.sample)),
           ("all, in sources", *_row(crowds.equal))] if crowds else []),
    ])
    click.echo()
    if crowds:
        words.show("sources", f"{crowds.count} sources; below are figures of rows")
    if risk.one_class is not None:
        words.show("classes", f"{risk.one_class} rows have a group of one class: who finds the "
                              "group knows the class")
    words.show("hub", tables.hub(risk.hub, risk.k))
    if risk.hub.warning:
        words.show("warning", risk.hub.warning, fg="yellow")
    _speak(found)


def _few(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= _MANY else f"{len(names)} columns"


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


def _row(crowd: Crowd, sample: Sample | None = None) -> tuple[str, ...]:
    most, least = ("at most ", "at least ") if sample else ("", "")
    return (f"{most}{crowd.level}", f"{least}{crowd.highest:.3g}", f"{crowd.average:.3g}",
            str(crowd.below))


def _of_sample(sample: Sample) -> str:
    return (f"what is said of groups is estimated from {sample.rows} rows drawn at random: each "
            f"share of rows, and the average, to within {100 * sample.margin:.2g} points of a "
            "hundred with 95 % confidence; the level may be lower")
