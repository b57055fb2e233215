"""Export a table to ARX: data, a hierarchy for each key variable, and a Java program.

Written for the API of ARX 3.9.2 (`org.deidentifier.arx`).  A hierarchy begins with the cells, goes
on with the groups on which privsieve counts k, then with larger intervals, and ends with `*`.
ARX decides which levels to take and which rows to leave out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from privsieve._version import __version__
from privsieve.containment.limits import NONE, Limits
from privsieve.errors import ParameterError, SchemaError
from privsieve.extras.bridges.table import (
    MISSING,
    Exported,
    Grouping,
    Variable,
    csv_bytes,
    file_name,
    filled,
    free,
    merged,
)
from privsieve.public.columns import Category, Label
from privsieve.public.domain import Csv, Domain
from privsieve.public.domain_file import to_toml

#: The version of ARX whose API the program uses.
ARX = "3.9.2"
#: ARX takes no more key variables.
LARGEST_KEYS = 64
#: A sensitive column with more levels is not in the domain file.
LARGEST_LISTED = 1000
#: The text that ARX reads as no value.
NULL = "NULL"
FORMAT = "privsieve-arx/1"
#: ARX expects it between the fields of a file.
DELIMITER = ";"
#: The text for any value.
SUPPRESSED = "*"
#: A privacy model, in words.
Model = Mapping[str, str | int]


def arx(table: Exported, limits: Limits = NONE) -> dict[str, bytes]:
    """Return the files of an export: data, hierarchies, settings, a program, and a domain file.

    The domain file lists every level that the program may write, so its result can be read back.
    """
    _check(table)
    known = [hierarchy_of(column, at) for at, column in enumerate(table.columns, 1)
             if column.role == "known"]
    settings = _settings(table, known, limits)
    files = {hierarchy.key.file: csv_bytes(hierarchy.lines, DELIMITER) for hierarchy in known}
    files["data.csv"] = csv_bytes(table.lines([
        _cells(column.levels) if column.role == "known" else _texts(column, table.csv.decimal)
        for column in table.columns]), DELIMITER)
    files["settings.json"] = written(settings)
    files["Anonymize.java"] = program(settings).encode("ascii")
    files["domain.toml"] = to_toml(_domain(table, known)).encode()
    return files


def hierarchy_of(column: Variable, at: int) -> Hierarchy:
    """Return the hierarchy of a key variable; `at` is the number of the column."""
    levels, chains = column.levels, _chains(column.levels)
    # If each cell is a group of its own under its own text, the group is not a step above it.
    lowest = 0 if tuple(levels.labels[at] for at in levels.group) == levels.cells else 1
    lines = tuple((cell, *chains[group][1 - lowest:], SUPPRESSED)
                  for cell, group in sorted(zip(_cells(levels), levels.group, strict=True),
                                            key=lambda pair: pair[1]))
    # A published target keeps its classes.
    fixed = column.is_target
    return Hierarchy(Setting(column.name, f"hierarchies/{file_name(at, column.name)}.csv", lowest,
                             lowest if fixed else len(lines[0]) - 1), lines)


def _chains(levels: Grouping) -> list[tuple[str, ...]]:
    """Return the name of each group on each step, from its own label to the last before `*`."""
    if not levels.cuts:
        return [(label,) for label in levels.labels]
    last = len(levels.cuts)
    place = {merged(levels, at, at): at for at in range(last + 1)}
    chains = []
    for label in levels.labels:
        name, joined, rest = label.partition(f" or {MISSING}")
        chain = [label]
        step = 2
        while step <= last:
            if name in place:
                low = place[name] // step * step
                chain.append(merged(levels, low, min(low + step - 1, last)) + joined + rest)
            else:
                chain.append(label)
            step *= 2
        chains.append(tuple(chain))
    return chains


def _cells(levels: Grouping) -> list[str]:
    """Return the cells for ARX, with a word for an empty cell."""
    nothing = free(MISSING, levels.cells)
    return [cell or nothing for cell in levels.cells]


def _check(table: Exported) -> None:
    known = table.of("known")
    if len(known) > LARGEST_KEYS:
        raise ParameterError(f"{len(known)} columns may be known, but ARX takes at most "
                             f"{LARGEST_KEYS} key variables; name fewer columns with --columns")
    for column in table.columns:
        if any(text == SUPPRESSED or text.upper() == NULL
               for text in (*column.levels.cells, *column.levels.labels)):
            raise SchemaError(f"column {column.name!r} has a level that ARX reads as suppressed "
                              f"({SUPPRESSED}) or missing ({NULL}); rename the level")


def _texts(column: Variable, decimal: str) -> list[str]:
    """Return the cells of a column that ARX does not generalise, one text for each value."""
    labels = column.levels.labels
    if column.levels.kind == "number":
        labels = tuple(label.replace(decimal, ".") for label in labels)
    return [labels[group] for group in column.levels.group]


def _settings(table: Exported, known: Sequence[Hierarchy], limits: Limits) -> Settings:
    models: list[Model] = [{"model": "k-anonymity", "k": table.k}]
    other = table.of("sensitive", "target")
    for column in other:
        models += _models(column, limits)
    limited = {model["column"] for model in models if "column" in model}
    ordered = {model["column"] for model in models
               if model["model"] == "t-closeness, ordered distance"}
    decimals = tuple(column.name for column in other
                     if column.name in ordered and column.levels.kind == "number")
    left = ["the largest share of a value: no model of ARX limits it"] if limits.share else []
    return Settings(
        FORMAT, __version__, ARX, table.rows, table.k, table.level,
        tuple(hierarchy.key for hierarchy in known),
        tuple(column.name for column in other if column.name in limited),
        tuple(column.name for column in other if column.name not in limited),
        tuple(models), decimals, tuple(left))


def _models(column: Variable, limits: Limits) -> list[Model]:
    """Return the models of ARX that keep the limits of one sensitive column."""
    name = column.name
    models: list[Model] = []
    texts = limits.json()
    if (limits.distinct or 1) > 1:
        models.append({"model": "distinct l-diversity", "column": name, "l": limits.distinct or 1})
    if limits.entropy is not None:
        models.append({"model": "entropy l-diversity", "column": name, "l": str(texts["entropy"])})
    if limits.closeness is not None:
        distance = "ordered" if _in_order(column) else "equal"
        models.append({"model": f"t-closeness, {distance} distance", "column": name,
                      "t": str(texts["closeness"])})
    return models


def _in_order(column: Variable) -> bool:
    """Return whether ARX can order the values: numbers, or dates whose texts sort as dates."""
    levels = column.levels
    if "" in levels.cells:
        return False
    return levels.kind == "number" or (levels.kind == "date"
                                       and {len(label) for label in levels.labels} == {10})


def _domain(table: Exported, known: Sequence[Hierarchy]) -> Domain:
    """Return the domain of what the program writes; `*` is a missing cell."""
    target = next((column for column in table.columns if column.is_target), None)
    columns = [Category(hierarchy.key.name, hierarchy.written_levels()) for hierarchy in known
               if target is None or hierarchy.key.name != target.name]
    columns += [Category(column.name, tuple(dict.fromkeys(_texts(column, table.csv.decimal))))
                for column in table.of("sensitive")
                if len(column.levels.labels) <= LARGEST_LISTED]
    label = None if target is None else Label(target.name, target.levels.labels)
    return Domain(tuple(columns), target=label, csv=Csv(delimiter=DELIMITER))


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
    """The settings of a run of ARX.

    level : rows in the smallest group if each key variable has its lowest level.
    keys : the key variables.
    sensitive, insensitive : columns with a limit, and without; ARX needs a limit if sensitive.
    models : privacy models, k-anonymity first.
    decimals : columns that ARX has to order as numbers.
    left : limits of privsieve that no model covers.
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
    """The hierarchy of a key variable: for each cell a line, from the cell itself to `*`."""

    key: Setting
    lines: tuple[tuple[str, ...], ...]

    def written_levels(self) -> tuple[str, ...]:
        """Return each level that the program may write, without `*`."""
        return tuple(dict.fromkeys(
            line[at] for at in range(self.key.lowest, self.key.highest + 1) for line in self.lines
            if line[at] != SUPPRESSED))


def written(settings: Settings) -> bytes:
    """Return settings as JSON."""
    return (json.dumps(asdict(settings), indent=1, ensure_ascii=True) + "\n").encode()


def program(settings: Settings) -> str:
    """Return the program for these settings, in ASCII."""
    lines = [f"        known(definition, {java_string(key.name)}, {java_string(key.file)}, "
             f"{key.lowest}, {key.highest});" for key in settings.keys]
    for names, kind in ((settings.sensitive, "SENSITIVE"), (settings.insensitive, "INSENSITIVE")):
        lines += [f"        definition.setAttributeType({java_string(name)}, "
                  f"AttributeType.{kind}_ATTRIBUTE);" for name in names]
    lines += [f"        definition.setDataType({java_string(name)}, DataType.DECIMAL);"
              for name in settings.decimals]
    lines += ["", "        ARXConfiguration config = ARXConfiguration.create();"]
    lines += [f"        config.addPrivacyModel({_model(model)});" for model in settings.models]
    return filled("Anonymize.java", {"PRIVSIEVE": settings.privsieve, "ARX": settings.arx,
                                     "SETTINGS": "\n".join(lines)})


def java_string(text: str) -> str:
    r"""Return a text as a string of Java, in ASCII; no character can end the string.

    A `\u` in the text is not an escape of Java, because its backslash is doubled.

    >>> print(java_string('a"b\\u0022 \u00e9'))
    "a\"b\\u0022 \u00e9"
    """
    units = text.encode("utf-16-be")
    pairs = [int.from_bytes(units[at:at + 2], "big") for at in range(0, len(units), 2)]
    return '"' + "".join(map(_unit, pairs)) + '"'


def _unit(unit: int) -> str:
    c = chr(unit)
    if c in '"\\':
        return f"\\{c}"
    # Java reads \u first: the escape of a control character would become the character itself.
    return c if " " <= c <= "~" else f"\\{unit:03o}" if unit < 0x20 else f"\\u{unit:04x}"


def _model(model: Model) -> str:
    kind = model["model"]
    if kind == "k-anonymity":
        return f"new KAnonymity({model['k']})"
    column = java_string(str(model["column"]))
    if kind == "distinct l-diversity":
        return f"new DistinctLDiversity({column}, {model['l']})"
    if kind == "entropy l-diversity":
        return f"new EntropyLDiversity({column}, {model['l']}d)"
    name = "Ordered" if kind == "t-closeness, ordered distance" else "Equal"
    return f"new {name}DistanceTCloseness({column}, {model['t']}d)"
