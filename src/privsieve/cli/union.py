"""`privsieve check DIR DIR…`: what published folders tell together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privsieve.cli import tables, words
from privsieve.errors import CheckFailed, ParameterError
from privsieve.public.canonical import Json

if TYPE_CHECKING:
    from privsieve.containment.labelled import Labelled
    from privsieve.containment.union import Counted, Differing, Verified


#: Options that say which columns are read, and how.
_CHOSEN = ("columns", "without", "cuts", "thermometer", "levels", "long")


def asked(data: Sequence[str]) -> bool:
    """Whether folders are to be checked, and not one table."""
    return len(data) > 1 or Path(data[0]).is_dir()


def check(data: Sequence[str], options: Mapping[str, Any], k: int | None, *, as_json: bool,
          ) -> None:
    """Say between what bounds the smallest group lies, or with the table what it is."""
    from privsieve.containment.union import Strict, bounds, counted, differing, published

    paths, table = _told_apart(data)
    folders = [published(path) for path in paths]
    strict = Strict.of(folders)
    needed = strict.k if k is None else k
    facts: dict[str, Json] = {
        "folders": [{"name": one.name, "k": one.claim["k"], "level": one.claim["level"],
                     "rows": one.items.rows, "columns": len(one.items)} for one in folders],
        "k": needed, "columns": len({name for one in folders for name in one.items.names}),
    }
    other = differing(folders)
    if other is not None:
        _say({**facts, "differ": [other.only_first, other.only_second],
              "shared": len(other.shared)}, as_json=as_json)
        raise CheckFailed(_differ(other))
    if table is None:
        found = bounds(folders, strict)
        _say({**facts, "lowest": found.lowest, "highest": found.highest, "counted": False},
             as_json=as_json)
        _judge(found.highest, needed, "at most ")
        if found.lowest < needed and not as_json:
            words.show("warning", f"together they may leave groups below k = {needed}: count them "
                                  "with the table", fg="yellow")
        return
    exact = counted(_read(table, options, folders), folders, needed)
    _say({**facts, "lowest": exact.level, "highest": exact.level, "counted": True,
          "below": exact.below, "poor": exact.poor, "notes": list(exact.notes)}, as_json=as_json)
    _judge(exact.level, needed)
    _judge_classes(exact, strict.l_diversity)


def _told_apart(data: Sequence[str]) -> tuple[list[str], str | None]:
    """The folders, and the table if there is one."""
    from privsieve.containment.union import is_folder

    paths = [one for one in data if is_folder(one)]
    others = [one for one in data if one not in paths]
    if any(Path(one).is_dir() for one in others):
        raise ParameterError("a folder holds no certificate.json; name folders that `privsieve "
                             "publish` wrote")
    if not paths or len(others) > 1:
        raise ParameterError("give one table, or folders that `privsieve publish` wrote, with at "
                             "most one table before them")
    if len(set(map(_real, paths))) < len(paths):
        raise ParameterError("a folder is named twice; name each once")
    return paths, others[0] if others else None


def _real(path: str) -> Path:
    return Path(path).resolve()


def _read(data: str, options: Mapping[str, Any], folders: Sequence[Verified],
          ) -> dict[str | None, Labelled]:
    """The table as it was published from, once for each target; the first has all columns."""
    from privsieve.containment.fingerprint import target_of
    from privsieve.containment.together import read_also
    from privsieve.containment.union import targets

    claims = [one.claim for one in folders]
    columns = read_also(claims)
    names: list[str | None] = sorted(targets(folders), key=lambda name: name in columns)
    if not names or names[0] in columns:  # the target of one folder may be a column of another
        names.insert(0, None)
    if (all("origins" in one for one in claims) and not any("," in name for name in columns)
            and not any(options[name] for name in _CHOSEN)):
        options = {**options, "columns": ",".join(columns)}  # others need not be readable
    return {name: tables.opened(data, {**options, "target": name},
                                [one for one in claims if at == 0 or target_of(one) == name])
            for at, name in enumerate(names)}


def _judge(level: int, k: int, most: str = "") -> None:
    if level < k:
        rows = "1 row" if level == 1 else f"{level} rows"
        raise CheckFailed(f"together the folders leave a group of {most}{rows}, below k = {k}; "
                          "take one of them back, and publish what follows with a ledger")


def _judge_classes(found: Counted, least: int) -> None:
    if found.poor:
        raise CheckFailed(f"together the folders leave {found.poor} rows in groups of fewer than "
                          f"{least} classes; take one of them back, and publish what follows with "
                          "a ledger")


def _differ(other: Differing) -> str:
    shared = len(other.shared)
    where = (f"on the {shared} columns that both publish" if shared > 1 else
             f"on the column {other.shared[0]!r}, which both publish," if shared else
             "in their number")
    return (f"{other.first} and {other.second} are not of the same rows: {where} "
            f"{other.only_first} rows of the one and {other.only_second} of the other have no "
            "equal, and of the same people a difference is somebody; take one of them back (of "
            "other people nothing has to be checked together)")


def _say(facts: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        words.json(dict(facts))
        return
    words.show("private", "about rows: for the eyes of who holds them", fg="yellow")
    for one in facts["folders"]:
        words.show("folder", f"{one['name']}: {one['rows']} rows, {one['columns']} items, level "
                             f"{one['level']} (k = {one['k']})")
    if "differ" in facts:
        return
    low, high = facts["lowest"], facts["highest"]
    if facts["counted"]:
        words.show("together", f"{facts['columns']} items, level {low}, counted from the table: "
                               f"{facts['below']} rows in groups below {facts['k']}")
        for note in facts["notes"]:
            words.show("note", note)
    elif low == high:
        words.show("together", f"{facts['columns']} items, level {low}")
    else:
        words.show("together", f"{facts['columns']} items, level between {low} and {high}; with "
                               "the table (privsieve check TABLE DIR DIR) it is counted")
