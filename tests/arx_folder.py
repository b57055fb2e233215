"""Read an export for ARX back, without trusting what wrote it."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privsieve.errors import CheckFailed
from privsieve.extras.bridges.arx import (
    DELIMITER,
    FORMAT,
    SUPPRESSED,
    Hierarchy,
    Setting,
    Settings,
)


@dataclass(frozen=True, repr=False)
class Read:
    """The settings and the hierarchies of an export."""

    settings: Settings
    hierarchies: tuple[Hierarchy, ...]


def read_arx(folder: str | Path) -> Read:
    """Read an export back, and check it.

    Every cell of the data has one line in its hierarchy; lines are of one length and end in `*`;
    each level is coarser than the one before; k, counted again on the lowest levels, is as said.
    """
    place = Path(folder)
    settings = _read_settings(place / "settings.json")
    head, *rows = _table(place / "data.csv")
    if len(rows) != settings.rows:
        raise CheckFailed(f"data.csv has {len(rows)} rows and settings.json says {settings.rows}; "
                          "export again")
    hierarchies = tuple(Hierarchy(key, tuple(map(tuple, _table(place / key.file))))
                        for key in settings.keys)
    groups: list[list[str]] = []
    for hierarchy in hierarchies:
        if hierarchy.key.name not in head:
            raise CheckFailed(f"data.csv has no column {hierarchy.key.name!r}; export again")
        at = head.index(hierarchy.key.name)
        groups.append(_levels(hierarchy, [row[at] for row in rows]))
    level = min(Counter(zip(*groups, strict=True)).values(), default=0)
    if level != settings.level:
        raise CheckFailed(f"the smallest group of data.csv has {level} rows on the lowest levels, "
                          f"and settings.json says {settings.level}; export again")
    return Read(settings, hierarchies)


def _levels(hierarchy: Hierarchy, cells: list[str]) -> list[str]:
    """The lowest level of each cell; refused where the hierarchy is none."""
    wrong = f"the hierarchy of {hierarchy.key.name!r} "
    widths = {len(line) for line in hierarchy.lines}
    if len(widths) != 1 or {line[-1] for line in hierarchy.lines} != {SUPPRESSED}:
        raise CheckFailed(wrong + f"has lines of different lengths, or one that does not end in "
                          f"{SUPPRESSED}; export again")
    if not 0 <= hierarchy.key.lowest <= hierarchy.key.highest < widths.pop():
        raise CheckFailed(wrong + "has no such levels as settings.json says; export again")
    lines = {line[0]: line for line in hierarchy.lines}
    if len(lines) != len(hierarchy.lines):
        raise CheckFailed(wrong + "has two lines for a value; export again")
    if not set(cells) <= lines.keys():
        raise CheckFailed(wrong + "has no line for a value of data.csv; export again")
    for at in range(len(hierarchy.lines[0]) - 1):
        above = {line[at]: line[at + 1] for line in hierarchy.lines}
        if any(above[line[at]] != line[at + 1] for line in hierarchy.lines):
            raise CheckFailed(wrong + f"is torn apart above level {at}; export again")
    return [lines[cell][hierarchy.key.lowest] for cell in cells]


def _read_settings(path: Path) -> Settings:
    try:
        document: dict[str, Any] = json.loads(path.read_text("utf-8"))
        lists = {name: tuple(document[name])
                 for name in ("sensitive", "insensitive", "models", "decimals", "left")}
        settings = Settings(**{**document, **lists,
                               "keys": tuple(Setting(**key) for key in document["keys"])})
    except (OSError, ValueError, TypeError, KeyError):
        raise CheckFailed("settings.json cannot be read as settings for ARX; export "
                          "again") from None
    if settings.format != FORMAT:
        raise CheckFailed(f"settings.json is of another format than {FORMAT}; read it with the "
                          "privsieve that wrote it")
    return settings


def _table(path: Path) -> list[list[str]]:
    try:
        text = path.read_text("utf-8")
        cells = list(csv.reader(io.StringIO(text, newline=""), delimiter=DELIMITER, strict=True))
    except (OSError, ValueError, csv.Error):
        cells = []
    if not cells:
        raise CheckFailed(f"{path.name} cannot be read as a table; export again")
    return cells
