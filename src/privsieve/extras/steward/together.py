"""`privsieve union`: measure what published folders reveal together, without a ledger."""

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
def command(data: Annotated[tuple[str, ...], "[TABLE] DIR..."], options: TableOptions, *,
            k: int | None = None) -> Outcome:
    """Measure what published folders DIR reveal together, without a ledger.

    With the TABLE, count the smallest group exactly; without it, bound its size.

    PRIVATE: the result describes the rows. It is for the holder of the table.

    k : the k that all columns together must keep; default: the k of the folders
    """
    demand_k(USUAL_K if k is None else k)
    paths, table = _told_apart(data)
    folders = [published(path) for path in paths]
    strict = strictest(folders[0].items, [folder.claim for folder in folders])
    needed = strict.k if k is None else k
    facts: dict[str, Json] = {
        "folders": [
            {"name": folder.name, "k": folder.claim["k"], "level": folder.claim["level"],
             "rows": folder.items.rows, "columns": len(folder.items)} for folder in folders],
        "k": needed, "columns": len({name for folder in folders for name in folder.items.names}),
    }
    other = differing(folders)
    if other is not None:
        return _outcome({**facts, "differ": [other.only_first, other.only_second],
                         "shared": len(other.shared)}, _differ(other))
    if table is None:
        between = bounds(folders)
        lowest, highest = between.lowest, between.highest
        counts: dict[str, Json] = {"counted": False}
    else:
        tables = _read(table, options, folders, USUAL_K if k is None else k)
        exact = counted(tables, folders, needed)
        lowest = highest = exact.level
        counts = {"counted": True, "below": exact.below, "poor": exact.poor,
                "notes": list(exact.notes)}
    facts |= {"lowest": lowest, "highest": highest, **counts}
    if highest < needed:
        most, rows = "" if table else "at most ", "1 row" if highest == 1 else f"{highest} rows"
        return _outcome(facts, f"together the folders leave a group of {most}{rows}, below k = "
                               f"{needed}; {_BACK}")
    if counts.get("poor"):
        return _outcome(facts, f"together the folders leave {counts['poor']} rows in groups of "
                               f"fewer than {strict.l_diversity} classes; {_BACK}",
                        warning=lowest < needed)
    return _outcome(facts, warning=lowest < needed)


_BACK = "withdraw one folder, and use a ledger for later publications"


def _told_apart(data: Sequence[str]) -> tuple[list[str], str | None]:
    """Separate the folders from the table, if there is one."""
    paths = [path for path in data if is_folder(path)]
    others = [path for path in data if path not in paths]
    refuse(any(Path(path).is_dir() for path in others),
           "a folder has no certificate.json; name folders that `privsieve publish` wrote")
    refuse(not paths or len(others) > 1,
           "name at least one folder that `privsieve publish` wrote, and at most one table "
           "before the folders")
    refuse(len({Path(path).resolve() for path in paths}) < len(paths),
           "a folder is named twice; name each once")
    return paths, others[0] if others else None


def _read(data: str, options: TableOptions, folders: Sequence[Verified], k: int,
          ) -> dict[str | None, Labelled]:
    """Read the table as it was published, once for each target; the first has all columns."""
    claims = [folder.claim for folder in folders]
    columns = read_also(claims)
    names: list[str | None] = sorted(targets(folders), key=lambda name: name in columns)
    if not names or names[0] in columns:  # the target of one folder may be a column of another
        names.insert(0, None)
    free = not (options.columns or options.without or options.cut or options.levels or options.long)
    if free and all("origins" in claim for claim in claims) and not any(
            "," in name for name in columns):
        options = replace(options, columns=",".join(columns))  # others need not be readable
    return {name: replace(options, target=name).opened(
                data, k, [claim for claim in claims if at == 0 or target_of(claim) == name])
            for at, name in enumerate(names)}


def _differ(other: Differing) -> str:
    shared = len(other.shared)
    where = (f"on the {shared} columns that both publish," if shared > 1 else
             f"on the column {other.shared[0]!r}, which both publish," if shared else
             "by their number,")
    return (f"{other.first} and {other.second} do not have the same rows: {where} "
            f"{other.only_first} rows of the first and {other.only_second} of the second have no "
            "match. If both describe the same people, the difference reveals somebody: withdraw "
            "one folder. Folders about different people do not need this check")


def _outcome(facts: Mapping[str, Any], failure: str | None = None, *, warning: bool = False,
             ) -> Outcome:
    def show() -> None:
        _show(facts)
        if warning:
            words.show("warning", "together, the folders may leave groups below k = "
                                  f"{facts['k']}: add the table to count them", fg="yellow")

    return Outcome(facts, show, failure)


def _show(facts: Mapping[str, Any]) -> None:
    words.show("private", "this result describes rows: for the holder of the table", fg="yellow")
    for folder in facts["folders"]:
        words.show("folder", f"{folder['name']}: {folder['rows']} rows, {folder['columns']} items, "
                             f"level {folder['level']} (k = {folder['k']})")
    if "differ" in facts:
        return
    low, high = facts["lowest"], facts["highest"]
    level = f"level {low}" if low == high else (
        f"level between {low} and {high}; to count it, add the table (privsieve union TABLE DIR "
        "DIR)")
    if facts["counted"]:
        level += f", counted from the table: {facts['below']} rows in groups below {facts['k']}"
    words.show("together", f"{facts['columns']} items, {level}")
    for note in facts.get("notes", ()):
        words.show("note", note)
