"""Export a table to sdcMicro: the table, its levels, and a script in R that counts them.

The script needs base R, and from `library(sdcMicro)` on also sdcMicro 5.8.1.  It contains only the
names of the table's columns, as strings.  Its variables are ASCII letters and digits, because
sdcMicro evaluates names of columns as code if a key variable is missing.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Sequence

from privsieve._version import __version__
from privsieve.errors import ParameterError
from privsieve.extras.bridges.table import Exported, Variable, csv_bytes, file_name, filled

#: The version of sdcMicro that the script was written for, and run with.
SDCMICRO = "5.8.1"


def sdcmicro(table: Exported, *, by_path: bool = False) -> dict[str, bytes]:
    """Return the files of an export: `sdc.R`, `levels/` and, unless `by_path`, `table.csv`."""
    if by_path and table.path.suffix.lower() in (".parquet", ".pq"):
        raise ParameterError("base R cannot read a Parquet file; leave out --by-path, so that "
                             "privsieve writes the table beside the script")
    names = variables(table.columns)
    files = {f"levels/{variable}.csv": csv_bytes(_lines(column))
             for variable, column in zip(names, table.columns, strict=True)}
    if not by_path:
        files["table.csv"] = csv_bytes(table.lines(
            [column.levels.cells for column in table.columns]))
    files["sdc.R"] = _script(table, names, by_path=by_path).encode("ascii")
    return files


def variables(columns: Sequence[Variable]) -> list[str]:
    """Return the names of the columns in R: syntactic names, each once."""
    return [file_name(at, column.name) for at, column in enumerate(columns, 1)]


def r_string(text: str) -> str:
    r"""Return a text as a string of R, in ASCII; no character can end the string.

    >>> print(r_string('a"b\\ \u00e9'))
    "a\"b\\ \u00e9"
    """
    return '"' + "".join(map(_r_character, text)) + '"'


def _r_character(c: str) -> str:
    if c in '"\\':
        return f"\\{c}"
    if " " <= c <= "~":
        return c
    return f"\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\U{ord(c):08x}"


def _lines(column: Variable) -> Iterable[tuple[str, str]]:
    """Yield each cell as it is spelled, and its level, in the order of the levels."""
    levels = column.levels
    yield "value", "level"
    for at in sorted(range(len(levels.cells)), key=levels.group.__getitem__):
        yield levels.cells[at], levels.labels[levels.group[at]]


def _script(table: Exported, names: Sequence[str], *, by_path: bool) -> str:
    csv = table.csv
    known, sensitive, target = (
        [name for name, column in zip(names, table.columns, strict=True) if column.role == role]
        for role in ("known", "sensitive", "target"))
    cut = {f"n{name[1:]}": (name, column) for name, column in zip(names, table.columns, strict=True)
           if column.role == "known" and column.levels.cuts and column.levels.kind == "number"}
    numbers = {number: name for number, (name, _) in cut.items()}
    none = ",\n".join(f"  {number} = c({', '.join(map(repr, column.none))})"
                      for number, (_, column) in cut.items() if column.none)
    blanks = {
        "VERSION": __version__, "SDCMICRO": SDCMICRO, "K": f"{table.k}L", "ROWS": f"{table.rows}L",
        "LEVEL": f"{table.level}L", "BELOW": f"{table.below}L",
        "COLUMNS": _named({name: column.name
                           for name, column in zip(names, table.columns, strict=True)}),
        "KEYS": _vector(known), "SENSITIVE": _vector(sensitive), "TARGET": _vector(target),
        "NUMBERS": _named(numbers), "NONE": f"list(\n{none}\n)" if none else "list()",
        "FILE": r_string(str(table.path.absolute()) if by_path else "table.csv"),
        "SEP": r_string(csv.delimiter if by_path else ","),
        "DEC": r_string(csv.decimal),
        "READ": _encoding(csv.encoding if by_path else "utf-8"),
        "HEADER": "FALSE" if by_path and not csv.header else "TRUE",
    }
    return filled("sdc.R", blanks)


def _encoding(name: str) -> str:
    """Return the argument for the encoding; a file in UTF-8 may begin with a mark."""
    codec = codecs.lookup(name).name
    return f"fileEncoding = {r_string('UTF-8-BOM' if codec == 'utf-8' else codec.upper())}"


def _vector(names: Sequence[str]) -> str:
    return f"c({', '.join(map(r_string, names))})" if names else "character(0)"


def _named(names: dict[str, str]) -> str:
    if not names:
        return "character(0)"
    lines = ",\n".join(f"  {variable} = {r_string(name)}" for variable, name in names.items())
    return f"c(\n{lines}\n)"
