"""`privsieve union`: what published folders tell together, without a ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from privsieve.cli import words
from privsieve.cli.check import USUAL_K
from privsieve.cli.options import refuse
from privsieve.cli.verb import Outcome, verb
from privsieve.containment.labelled import Labelled
from privsieve.containment.measures import demand_k
from privsieve.containment.options import TableOptions
from privsieve.containment.snapshot import read_also, strictest, target_of
from privsieve.extras.steward.union import (
    Differing,
    Verified,
    bounds,
    counted,
    differing,
    is_folder,
    published,
    targets,
)
from privsieve.public.canonical import Json


@verb("patients.csv first second", name="union")
def command(data: Annotated[tuple[str, ...], "[TABLE] DIR..."], asked: TableOptions, *,
            k: int | None = None) -> Outcome:
    """Measure what the folders DIR that `publish` wrote tell together, without a ledger.

    With their TABLE before them the smallest group is counted; without it, it is bounded.

    PRIVATE: what it says is about the rows, for the eyes of who holds them.

    k : the k that all columns together keep; where left out, that of the folders
    """
    demand_k(USUAL_K if k is None else k)
    paths, table = _told_apart(data)
    folders = [published(path) for path in paths]
    strict = strictest(folders[0].items, [one.claim for one in folders])
    needed = strict.k if k is None else k
    facts: dict[str, Json] = {
        "folders": [{"name": one.name, "k": one.claim["k"], "level": one.claim["level"],
                     "rows": one.items.rows, "columns": len(one.items)} for one in folders],
        "k": needed, "columns": len({name for one in folders for name in one.items.names}),
    }
    other = differing(folders)
    if other is not None:
        return _outcome({**facts, "differ": [other.only_first, other.only_second],
                         "shared": len(other.shared)}, _differ(other))
    if table is None:
        between = bounds(folders)
        lowest, highest = between.lowest, between.highest
        told: dict[str, Json] = {"counted": False}
    else:
        exact = counted(_read(table, asked, folders, USUAL_K if k is None else k), folders, needed)
        lowest = highest = exact.level
        told = {"counted": True, "below": exact.below, "poor": exact.poor,
                "notes": list(exact.notes)}
    facts |= {"lowest": lowest, "highest": highest, **told}
    if highest < needed:
        most, rows = "" if table else "at most ", "1 row" if highest == 1 else f"{highest} rows"
        return _outcome(facts, f"together the folders leave a group of {most}{rows}, below k = "
                               f"{needed}; {_BACK}")
    if told.get("poor"):
        return _outcome(facts, f"together the folders leave {told['poor']} rows in groups of fewer "
                               f"than {strict.l_diversity} classes; {_BACK}",
                        warning=lowest < needed)
    return _outcome(facts, warning=lowest < needed)


_BACK = "take one of them back, and publish what follows with a ledger"


def _told_apart(data: Sequence[str]) -> tuple[list[str], str | None]:
    """The folders, and the table if there is one."""
    paths = [one for one in data if is_folder(one)]
    others = [one for one in data if one not in paths]
    refuse(any(Path(one).is_dir() for one in others),
           "a folder holds no certificate.json; name folders that `privsieve publish` wrote")
    refuse(not paths or len(others) > 1,
           "give one table, or folders that `privsieve publish` wrote, with at most one table "
           "before them")
    refuse(len({Path(one).resolve() for one in paths}) < len(paths),
           "a folder is named twice; name each once")
    return paths, others[0] if others else None


def _read(data: str, asked: TableOptions, folders: Sequence[Verified], k: int,
          ) -> dict[str | None, Labelled]:
    """The table as it was published from, once for each target; the first has all columns."""
    claims = [one.claim for one in folders]
    columns = read_also(claims)
    names: list[str | None] = sorted(targets(folders), key=lambda name: name in columns)
    if not names or names[0] in columns:  # the target of one folder may be a column of another
        names.insert(0, None)
    free = not (asked.columns or asked.without or asked.cut or asked.levels or asked.long)
    if free and all("origins" in one for one in claims) and not any("," in one for one in columns):
        asked = replace(asked, columns=",".join(columns))  # others need not be readable
    return {name: replace(asked, target=name).opened(
                data, k, [one for one in claims if at == 0 or target_of(one) == name])
            for at, name in enumerate(names)}


def _differ(other: Differing) -> str:
    shared = len(other.shared)
    where = (f"on the {shared} columns that both publish" if shared > 1 else
             f"on the column {other.shared[0]!r}, which both publish," if shared else
             "in their number")
    return (f"{other.first} and {other.second} are not of the same rows: {where} "
            f"{other.only_first} rows of the one and {other.only_second} of the other have no "
            "equal, and of the same people a difference is somebody; take one of them back (of "
            "other people nothing has to be checked together)")


def _outcome(facts: Mapping[str, Any], failure: str | None = None, *, warning: bool = False,
             ) -> Outcome:
    def show() -> None:
        _show(facts)
        if warning:
            words.show("warning", f"together they may leave groups below k = {facts['k']}: count "
                                  "them with the table", fg="yellow")

    return Outcome(facts, show, failure)


def _show(facts: Mapping[str, Any]) -> None:
    words.show("private", "about rows: for the eyes of who holds them", fg="yellow")
    for one in facts["folders"]:
        words.show("folder", f"{one['name']}: {one['rows']} rows, {one['columns']} items, level "
                             f"{one['level']} (k = {one['k']})")
    if "differ" in facts:
        return
    low, high = facts["lowest"], facts["highest"]
    level = f"level {low}" if low == high else (
        f"level between {low} and {high}; with the table (privsieve union TABLE DIR DIR) it is "
        "counted")
    if facts["counted"]:
        level += f", counted from the table: {facts['below']} rows in groups below {facts['k']}"
    words.show("together", f"{facts['columns']} items, {level}")
    for note in facts.get("notes", ()):
        words.show("note", note)
