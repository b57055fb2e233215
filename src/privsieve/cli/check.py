"""`privsieve check`: how well the rows of a table hide, and what keeps them from hiding better."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from privsieve.cli import tables, words
from privsieve.errors import CheckFailed

if TYPE_CHECKING:
    from privsieve.containment.breaking import Rare
    from privsieve.containment.groups import SourceCrowds
    from privsieve.containment.measures import Crowd, Risk, Sample
    from privsieve.core.canonical import Json
    from privsieve.core.items import Items

_EXAMPLE = "Example: privsieve check patients.csv --target ill -k 5"

#: The k against which risks are counted where nobody names one.
USUAL_K = 5


@click.command("check", epilog=_EXAMPLE)
@click.argument("data")
@tables.table
@click.option("-k", "k", metavar="K", type=int,
              help="Exit with code 7 unless each group has at least so many rows.")
@click.option("--sample", metavar="ROWS", type=click.IntRange(min=0),
              help="Count the groups of so many rows, drawn at random; 0 for all rows, however "
                   "long that takes.  By default a sample is drawn where all would take minutes.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines.")
def command(data: str, k: int | None, sample: int | None, as_json: bool, **options: Any) -> None:  # noqa: FBT001  # click gives it by name
    """Measure DATA: levels, risks, what each column costs, and what breaks k.

    PRIVATE: what it says is about the rows, for the eyes of who holds them.
    """
    from privsieve.cli.progress import shown
    from privsieve.containment.breaking import gains, rare_sets
    from privsieve.containment.groups import source_crowds
    from privsieve.containment.measures import demand_k, risk_of
    from privsieve.containment.survey import surveyed

    asked = USUAL_K if k is None else k
    demand_k(asked)
    with shown() as progress:
        progress.stage("reading the table")
        table = tables.opened(data, options)
        progress.stage("counting the groups")
        survey = surveyed(table.items, table.y, len(table.classes), k=k, sample=sample)
        risk = risk_of(survey, asked, labelled=len(table.classes) > 1)
        progress.stage("looking for what costs, and for what breaks k")
        gained, rare = gains(table.items, survey), rare_sets(table.items, asked)
        crowds = None if table.sources is None else source_crowds(table.items, table.sources, asked,
                                                                  survey=survey)
    if as_json:
        words.json({**_json(table.items, risk, gained, rare),
                    **({"sources": _of_sources(crowds)} if crowds else {})})
    else:
        _show(table.items, risk, crowds, gained, rare)
    level = crowds.containment.level if crowds else risk.containment.level
    if k is not None and level < k:
        counted = " in sources" if crowds else ""
        raise CheckFailed(f"the containment level{counted} is {level}, below k = {k}; "
                          "`privsieve publish` chooses columns that keep it")
    if k is not None and risk.sample:
        raise CheckFailed(f"the containment level is at most {level}, and a sample does not tell "
                          f"whether it is {k}; say --sample 0 to count all rows")


def _json(items: Items, risk: Risk, gained: dict[str, int], rare: Rare) -> dict[str, Json]:
    return {
        "rows": risk.rows, "items": len(items), "columns": len(set(items.origin)), "k": risk.k,
        "patterns": risk.patterns,
        "sample": None if risk.sample is None else {
            "rows": risk.sample.rows, "half_width": f"{risk.sample.margin:.6g}",
            "confidence": "0.95"},
        "containment": _crowd(risk.containment), "k_anonymity": _crowd(risk.prosecutor),
        "unique": risk.unique, "marketer": f"{risk.marketer:.6g}", "one_class": risk.one_class,
        "hub": {"everywhere": risk.hub.everywhere, "left": risk.hub.left,
                "below": risk.hub.below, "alone": risk.hub.alone},
        "warning": risk.hub.warning,
        "level_without": gained,
        "rare": [{"items": [items.names[j] for j in one], "rows": rows}
                 for one, rows in zip(rare.sets, rare.rows, strict=True)],
        "rare_complete": rare.complete,
    }


def _of_sources(crowds: SourceCrowds) -> dict[str, Json]:
    return {"count": crowds.count, "containment": _crowd(crowds.containment),
            "k_anonymity": _crowd(crowds.equal)}


def _crowd(crowd: Crowd) -> dict[str, Json]:
    return {"level": crowd.level, "highest": f"{crowd.highest:.6g}",
            "average": f"{crowd.average:.6g}", "below": crowd.below}


def _show(items: Items, risk: Risk, crowds: SourceCrowds | None, gained: dict[str, int],
          rare: Rare) -> None:
    words.show("private", "about rows: for the eyes of who holds them", fg="yellow")
    words.show("table", f"{risk.rows} rows, {len(items)} items of {len(set(items.origin))} "
                        f"columns, {risk.patterns} different rows, {risk.unique} without an equal")
    if risk.sample:
        words.show("sample", _of_sample(risk.sample), fg="yellow")
    click.echo()
    words.table(("who knows", "level", "highest", "average", f"rows below {risk.k}"), [
        ("what a person has", *_row(risk.containment, risk.sample)),
        ("all of a person", *_row(risk.prosecutor)),
        *([("has, in sources", *_row(crowds.containment, risk.sample)),
           ("all, in sources", *_row(crowds.equal))] if crowds else []),
    ])
    click.echo()
    if crowds:
        words.show("sources", f"{crowds.count} sources; below are figures of rows")
    if risk.one_class is not None:
        words.show("classes", f"{risk.one_class} rows have a group of one class: who finds the "
                              "group knows the class")
    words.show("hub", tables.hub(risk))
    if risk.hub.warning:
        words.show("warning", risk.hub.warning, fg="yellow")
    _speak(items, risk, gained, rare)


def _speak(items: Items, risk: Risk, gained: dict[str, int], rare: Rare) -> None:
    """What costs, and what breaks."""
    for name, level in sorted(gained.items(), key=lambda one: (-one[1], one[0])):
        words.show("without", f"{name}: level {level} instead of {risk.containment.level}")
    if risk.sample:
        words.show("without", "what a column costs is not looked for in a sample")
    elif not gained:
        words.show("without", "no single column: the level stays the same")
    for one, rows in zip(rare.sets, rare.rows, strict=True):
        held = "1 row has" if rows == 1 else f"{rows} rows have"
        words.show("rare", f"{', '.join(items.names[j] for j in one)}: {held} "
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
