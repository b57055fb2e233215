"""ARX: the table, a hierarchy for each key variable, and a Java program that runs ARX on them.

Written for the API of ARX 3.9.2 (`org.deidentifier.arx`).  A hierarchy begins with the cells, goes
on with the groups on which privsieve counts k, then with larger intervals, and ends with `*`.
Which levels to take, and which rows to leave out, is the work of ARX.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from privsieve._version import __version__
from privsieve.bridges.folder import csv_bytes, file_name
from privsieve.bridges.hierarchies import (
    DELIMITER,
    FORMAT,
    SUPPRESSED,
    Hierarchy,
    Setting,
    Settings,
    written,
)
from privsieve.bridges.levels import MISSING, Levels, free, merged
from privsieve.bridges.program import program
from privsieve.containment.limits import NONE, Limits
from privsieve.errors import ParameterError, SchemaError
from privsieve.public.columns import Category, Label
from privsieve.public.domain import Csv, Domain, to_toml

if TYPE_CHECKING:
    from privsieve.bridges.table import Column, Exported

#: The version of ARX whose API the program uses.
ARX = "3.9.2"
#: ARX takes no more key variables.
LARGEST_KEYS = 64
#: A sensitive column with more levels stays out of the domain file: it would be no category.
LARGEST_LISTED = 1000
#: What ARX reads as no value.
NULL = "NULL"


def arx(table: Exported, limits: Limits = NONE) -> dict[str, bytes]:
    """The files of an export: data, hierarchies, settings, a program, and a domain file for after.

    The domain file lists every level that the program may write, so that what it writes is read
    back with its levels as categories.
    """
    _check(table)
    known = [hierarchy_of(column, at) for at, column in enumerate(table.columns, 1)
             if column.role == "known"]
    settings = _settings(table, known, limits)
    files = {one.file: csv_bytes(one.lines, DELIMITER) for one in known}
    files["data.csv"] = csv_bytes(_rows(table), DELIMITER)
    files["settings.json"] = written(settings)
    files["Anonymize.java"] = program(settings).encode("ascii")
    files["domain.toml"] = to_toml(_domain(table, known)).encode()
    return files


def hierarchy_of(column: Column, at: int) -> Hierarchy:
    """The hierarchy of a key variable; `at` numbers the columns."""
    levels, chains = column.levels, _chains(column.levels)
    # Where each cell is a group of its own, the group is no step above it.
    lowest = 0 if levels.identical() else 1
    lines = tuple((cell, *chains[group][1 - lowest:], SUPPRESSED)
                  for cell, group in sorted(zip(_cells(levels), levels.group, strict=True),
                                            key=lambda one: one[1]))
    # A target that is published is not made coarser: its classes are what it is published for.
    fixed = column.is_target
    return Hierarchy(column.name, f"hierarchies/{file_name(at, column.name)}.csv", lowest,
                     lowest if fixed else len(lines[0]) - 1, lines)


def _chains(levels: Levels) -> list[tuple[str, ...]]:
    """What each group is called on each step, from its own label to the last before `*`."""
    if not levels.cuts:
        return [(label,) for label in levels.labels]
    last = len(levels.cuts)
    place = {merged(levels, at, at): at for at in range(last + 1)}
    found = []
    for label in levels.labels:
        name, joined, more = label.partition(f" or {MISSING}")
        chain = [label]
        step = 2
        while step <= last:
            if name in place:
                low = place[name] // step * step
                chain.append(merged(levels, low, min(low + step - 1, last)) + joined + more)
            else:
                chain.append(label)
            step *= 2
        found.append(tuple(chain))
    return found


def _cells(levels: Levels) -> list[str]:
    """The cells as ARX gets them: where nothing was written stands a word."""
    nothing = free(MISSING, levels.cells)
    return [cell or nothing for cell in levels.cells]


def _check(table: Exported) -> None:
    known = table.of("known")
    if len(known) > LARGEST_KEYS:
        raise ParameterError(f"{len(known)} columns may be known, and ARX takes at most "
                             f"{LARGEST_KEYS} key variables; name fewer with --columns")
    for column in table.columns:
        if any(text == SUPPRESSED or text.upper() == NULL
               for text in (*column.levels.cells, *column.levels.labels)):
            raise SchemaError(f"column {column.name!r} has a level that ARX takes for suppressed "
                              f"({SUPPRESSED}) or for no value ({NULL}); rename it")


def _shown(column: Column, decimal: str) -> list[str]:
    """The cells of a column that ARX does not generalise, one text a value."""
    labels = column.levels.labels
    if column.levels.kind == "number":
        labels = tuple(label.replace(decimal, ".") for label in labels)
    return [labels[group] for group in column.levels.group]


def _rows(table: Exported) -> Iterable[Sequence[str]]:
    yield [column.name for column in table.columns]
    texts = [_cells(column.levels) if column.role == "known" else _shown(column, table.csv.decimal)
             for column in table.columns]
    yield from zip(*([shown[code] for code in column.codes.tolist()]
                     for column, shown in zip(table.columns, texts, strict=True)), strict=True)


def _settings(table: Exported, known: Sequence[Hierarchy], limits: Limits) -> Settings:
    models: list[Mapping[str, str | int]] = [{"model": "k-anonymity", "k": table.k}]
    other = table.of("sensitive", "target")
    for column in other:
        models += _models(column, limits)
    limited = {str(model["column"]) for model in models if "column" in model}
    decimals = tuple(str(model["column"]) for model in models
                     if model["model"] == "t-closeness, ordered distance"
                     and _is_number(other, str(model["column"])))
    left = ["the largest share of a value, which no model of ARX limits"] if limits.share else []
    return Settings(
        FORMAT, __version__, ARX, table.rows, table.k, table.level,
        tuple(Setting(one.name, one.file, one.lowest, one.highest) for one in known),
        tuple(column.name for column in other if column.name in limited),
        tuple(column.name for column in other if column.name not in limited),
        tuple(models), decimals, tuple(left))


def _is_number(columns: Sequence[Column], name: str) -> bool:
    return any(column.name == name and column.levels.kind == "number" for column in columns)


def _models(column: Column, limits: Limits) -> list[Mapping[str, str | int]]:
    """The models of ARX that keep the limits of one sensitive column."""
    name = column.name
    found: list[Mapping[str, str | int]] = []
    said = limits.json()
    if (limits.distinct or 1) > 1:
        found.append({"model": "distinct l-diversity", "column": name, "l": limits.distinct or 1})
    if limits.entropy is not None:
        found.append({"model": "entropy l-diversity", "column": name, "l": str(said["entropy"])})
    if limits.closeness is not None:
        distance = "ordered" if _in_order(column) else "equal"
        found.append({"model": f"t-closeness, {distance} distance", "column": name,
                      "t": str(said["closeness"])})
    return found


def _in_order(column: Column) -> bool:
    """Whether ARX can order the values: numbers, or dates whose texts stand in their order."""
    levels = column.levels
    if "" in levels.cells:
        return False
    return levels.kind == "number" or (levels.kind == "date"
                                       and {len(label) for label in levels.labels} == {10})


def _domain(table: Exported, known: Sequence[Hierarchy]) -> Domain:
    """What the program writes, as a domain: `*` is no level, and so a missing cell."""
    target = next((column for column in table.columns if column.is_target), None)
    columns = [Category(one.name, one.shown()) for one in known
               if target is None or one.name != target.name]
    columns += [Category(column.name, tuple(dict.fromkeys(_shown(column, table.csv.decimal))))
                for column in table.of("sensitive")
                if len(column.levels.labels) <= LARGEST_LISTED]
    label = None if target is None else Label(target.name, target.levels.labels)
    return Domain(tuple(columns), target=label, csv=Csv(delimiter=DELIMITER))
