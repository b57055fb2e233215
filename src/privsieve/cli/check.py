"""`privsieve check`: how well the rows of a table hide, and what keeps them from hiding better."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from privsieve.cli import tables, words
from privsieve.errors import CheckFailed

if TYPE_CHECKING:
    from privsieve.containment.breaking import Rare
    from privsieve.containment.groups import SourceCrowds
    from privsieve.containment.measures import Crowd, Risk
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
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines.")
def command(data: str, k: int | None, as_json: bool, **options: Any) -> None:  # noqa: FBT001  # click gives it by name
    """Measure DATA: levels, risks, what each column costs, and what breaks k.

    PRIVATE: what it says is about the rows, for the eyes of who holds them.
    """
    from privsieve.containment.breaking import gains, rare_sets
    from privsieve.containment.groups import source_crowds
    from privsieve.containment.measures import disclosure_risk

    asked = USUAL_K if k is None else k
    table = tables.opened(data, {**options, "k": asked})
    labels = table.y if len(table.classes) > 1 else None
    risk = disclosure_risk(table.items, labels, k=asked)
    gained, rare = gains(table.items), rare_sets(table.items, asked)
    crowds = None if table.sources is None else source_crowds(table.items, table.sources, asked)
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


def _json(items: Items, risk: Risk, gained: dict[str, int], rare: Rare) -> dict[str, Json]:
    return {
        "rows": risk.rows, "items": len(items), "columns": len(set(items.origin)), "k": risk.k,
        "patterns": risk.patterns,
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
    click.echo()
    words.table(("who knows", "level", "highest", "average", f"rows below {risk.k}"), [
        ("what a person has", *_row(risk.containment)),
        ("all of a person", *_row(risk.prosecutor)),
        *([("has, in sources", *_row(crowds.containment)), ("all, in sources", *_row(crowds.equal))]
          if crowds else []),
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
    _speak(items, risk, gained, rare)


def _speak(items: Items, risk: Risk, gained: dict[str, int], rare: Rare) -> None:
    """What costs, and what breaks."""
    for name, level in sorted(gained.items(), key=lambda one: (-one[1], one[0])):
        words.show("without", f"{name}: level {level} instead of {risk.containment.level}")
    if not gained:
        words.show("without", "no single column: the level stays the same")
    for one, rows in zip(rare.sets, rare.rows, strict=True):
        held = "1 row has" if rows == 1 else f"{rows} rows have"
        words.show("rare", f"{', '.join(items.names[j] for j in one)}: {held} "
                           f"{'all of it' if len(one) > 1 else 'it'}")
    if not rare.complete:
        words.show("rare", "there may be more: the search was stopped here")
    elif not rare.sets and risk.containment.level < risk.k:
        words.show("rare", f"no set of at most three items breaks {risk.k}; larger ones do")


def _row(crowd: Crowd) -> tuple[str, ...]:
    return (str(crowd.level), f"{crowd.highest:.3g}", f"{crowd.average:.3g}", str(crowd.below))
