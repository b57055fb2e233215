"""What an export for ARX says: written, and read back by a reader that trusts none of it."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from privsieve.errors import CheckFailed

FORMAT = "privsieve-arx/1"
#: ARX expects it between the fields of a file.
DELIMITER = ";"
#: What stands for any value.
SUPPRESSED = "*"

Model = Mapping[str, str | int]


@dataclass(frozen=True)
class Setting:
    """A key variable: the file of its hierarchy, and between which levels ARX may choose.

    lowest : the level on which privsieve counts k (0: the cells themselves).
    """

    name: str
    file: str
    lowest: int
    highest: int


@dataclass(frozen=True, repr=False)
class Settings:
    """What is asked of ARX.

    level : rows in the smallest group where each key variable stands on its lowest level.
    keys : the key variables.
    sensitive, insensitive : columns with a limit, and without: ARX takes no other sensitive ones.
    models : privacy models, k-anonymity first.
    decimals : columns that ARX has to order as numbers.
    left : what was asked of privsieve and is not among the models.
    """

    format: str
    privsieve: str
    arx: str
    rows: int
    k: int
    level: int
    keys: tuple[Setting, ...]
    sensitive: tuple[str, ...]
    insensitive: tuple[str, ...]
    models: tuple[Model, ...]
    decimals: tuple[str, ...]
    left: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Hierarchy:
    """A hierarchy: for each cell a line, from the cell itself to `*`."""

    name: str
    file: str
    lowest: int
    highest: int
    lines: tuple[tuple[str, ...], ...]

    def shown(self) -> tuple[str, ...]:
        """Every level that may be written, without `*`."""
        return tuple(dict.fromkeys(
            line[at] for at in range(self.lowest, self.highest + 1) for line in self.lines
            if line[at] != SUPPRESSED))


@dataclass(frozen=True, repr=False)
class Read:
    """An export, as it was read."""

    settings: Settings
    hierarchies: tuple[Hierarchy, ...]


def written(settings: Settings) -> bytes:
    """Settings as JSON."""
    return (json.dumps(asdict(settings), indent=1, ensure_ascii=True) + "\n").encode()


def read_arx(folder: str | Path) -> Read:
    """Read an export back, and check it.

    Every cell of the data has one line in its hierarchy; lines are of one length and end in `*`;
    each level is coarser than the one before; k, counted again on the lowest levels, is as said.
    """
    place = Path(folder)
    settings = _settings(place / "settings.json")
    head, *rows = _table(place / "data.csv")
    if len(rows) != settings.rows:
        raise CheckFailed(f"data.csv has {len(rows)} rows and settings.json says {settings.rows}; "
                          "export again")
    hierarchies = tuple(
        Hierarchy(one.name, one.file, one.lowest, one.highest,
                  tuple(map(tuple, _table(place / one.file))))
        for one in settings.keys)
    groups: list[list[str]] = []
    for one in hierarchies:
        if one.name not in head:
            raise CheckFailed(f"data.csv has no column {one.name!r}; export again")
        at = head.index(one.name)
        groups.append(_levels(one, [row[at] for row in rows]))
    level = min(Counter(zip(*groups, strict=True)).values(), default=0)
    if level != settings.level:
        raise CheckFailed(f"the smallest group of data.csv has {level} rows on the lowest levels, "
                          f"and settings.json says {settings.level}; export again")
    return Read(settings, hierarchies)


def _levels(one: Hierarchy, cells: list[str]) -> list[str]:
    """The lowest level of each cell; refused where the hierarchy is none."""
    wrong = f"the hierarchy of {one.name!r} "
    widths = {len(line) for line in one.lines}
    if len(widths) != 1 or {line[-1] for line in one.lines} != {SUPPRESSED}:
        raise CheckFailed(wrong + f"has lines of different lengths, or one that does not end in "
                          f"{SUPPRESSED}; export again")
    if not 0 <= one.lowest <= one.highest < widths.pop():
        raise CheckFailed(wrong + "has no such levels as settings.json says; export again")
    lines = {line[0]: line for line in one.lines}
    if len(lines) != len(one.lines):
        raise CheckFailed(wrong + "has two lines for a value; export again")
    if not set(cells) <= lines.keys():
        raise CheckFailed(wrong + "has no line for a value of data.csv; export again")
    for at in range(len(one.lines[0]) - 1):
        above = {line[at]: line[at + 1] for line in one.lines}
        if any(above[line[at]] != line[at + 1] for line in one.lines):
            raise CheckFailed(wrong + f"is torn apart above level {at}; export again")
    return [lines[cell][one.lowest] for cell in cells]


def _settings(path: Path) -> Settings:
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
        lists = {name: tuple(found[name])
                 for name in ("sensitive", "insensitive", "models", "decimals", "left")}
        settings = Settings(**{**found, **lists,
                               "keys": tuple(Setting(**one) for one in found["keys"])})
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
        found = list(csv.reader(io.StringIO(text, newline=""), delimiter=DELIMITER, strict=True))
    except (OSError, ValueError, csv.Error):
        found = []
    if not found:
        raise CheckFailed(f"{path.name} cannot be read as a table; export again")
    return found
