"""SQL: columns of one table, and the rows that meet a condition.

A query that casts, divides or calls a function may stop at one cell, and that would be an answer
after the charge.  So a query names columns of a table, and compares columns with literals.  DuckDB
reads the text; the query is written again from what was understood of it, and refused unless
DuckDB reads both as the same.  Conditions are checked here, as no comparison of Arrow can fail.
DuckDB gives the rows of its own tables, on one thread, so that they keep their order.  It would
stop at a text of a Parquet file that is not UTF-8, so these are read as without a query.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

from privsieve.entries import import_library
from privsieve.errors import SchemaError
from privsieve.public.plan import LONGEST_QUERY
from privsieve.rows.arrow import Stretch, alone, cut, source_of
from privsieve.rows.room import LEAST_MEMORY, free_memory
from privsieve.rows.source import PARQUET_FILES, Source, foreign, open_source

import pyarrow as pa  # isort: skip  # `arrow` says before where it takes memory
import pyarrow.compute as pc  # isort: skip

T = TypeVar("T")
_DATABASES = (".duckdb", ".db")
#: Nothing is fetched from elsewhere unless the connection file says so.
_HOW: dict[str, str | bool | int | float | list[str]] = {"autoinstall_known_extensions": False}
#: What holds whatever a connection file sets; no name and no view is a file, which DuckDB would
#: look into before the charge.
_KEPT = ("SET threads = 1; SET preserve_insertion_order = true; "
         "SET arrow_large_buffer_size = true; SET enable_external_access = false")
_PLAIN = ("the query does more than name columns of one table, with a WHERE that compares columns "
          "with literals; write its rows to a Parquet file beforehand, and give that file")
_TABLE = ("the query's table or a column of it is not there, or is no Parquet file, table of a "
          "DuckDB database or view that only names columns of one; give the path of a CSV file "
          "itself, and write other rows to a Parquet file beforehand")
_SIGNS = {"COMPARE_EQUAL": ("=", pc.equal), "COMPARE_NOTEQUAL": ("<>", pc.not_equal),
          "COMPARE_LESSTHAN": ("<", pc.less), "COMPARE_LESSTHANOREQUALTO": ("<=", pc.less_equal),
          "COMPARE_GREATERTHAN": (">", pc.greater),
          "COMPARE_GREATERTHANOREQUALTO": (">=", pc.greater_equal),
          "OPERATOR_IS_NULL": ("IS NULL", pc.is_null),
          "OPERATOR_IS_NOT_NULL": ("IS NOT NULL", pc.is_valid)}
_JOINS = {"CONJUNCTION_AND": (" AND ", pc.and_kleene), "CONJUNCTION_OR": (" OR ", pc.or_kleene)}
#: Of some cells, which meet a condition; null where that is not known, as SQL has it.
Test = Callable[[Callable[[str], Any]], Any]


def open_sql(text: str, connect: Path | None) -> Source:
    """Open the table of a query: its columns now, its rows after the charge."""
    connection = _connected(connect)
    query = text.strip().removesuffix(";").rstrip()
    if not query or len(query) > LONGEST_QUERY or not all(
            sign.isprintable() or sign in "\n\t" for sign in query):
        raise SchemaError(f"the query is empty, longer than {LONGEST_QUERY} characters, or holds "
                          "signs that cannot be shown; write sql:SELECT ...")
    columns, path, where = _understood(connection, query)
    tested = [] if where is None else _tested(where)
    if len(path) == 1 and path[0].lower().endswith(PARQUET_FILES):
        table = open_source(Path(path[0]))
    else:
        table = _table(connection, path, columns and [*columns, *tested])
    place = {name.casefold(): j for j, name in enumerate(table.columns)}
    if any(name.casefold() not in place for name in [*(columns or ()), *tested]):
        raise SchemaError(_TABLE)
    kept = [place[name.casefold()] for name in columns or table.columns]
    return _chosen(table, kept, {name: place[name.casefold()] for name in tested}, where, query)


def _chosen(table: Source, kept: list[int], tested: Mapping[str, int], where: Any, query: str,
            ) -> Source:
    """The columns of a table that a query keeps, and its rows that meet the condition."""
    assert table.arrow is not None
    types, every = table.arrow.types, table.arrow.parts
    test = where and _test(where, {name: types[j] for name, j in tested.items()})
    schema = pa.schema([(table.columns[j], types[j]) for j in kept])

    def rows(batches: Iterator[Any], wanted: list[int], held: list[int]) -> Iterator[Any]:
        for batch in batches:
            met = test(lambda name: batch.column(held.index(tested[name])))  # noqa: B023
            left = batch.filter(met).select([held.index(j) for j in wanted])
            if left.num_rows:
                yield left

    def parts(positions: Sequence[int], most: int) -> Iterator[Stretch]:
        wanted = [kept[j] for j in positions]
        if test is None:
            return every(wanted, most)
        held = list(dict.fromkeys([*wanted, *tested.values()]))
        return alone(rows((batch for part in every(held, most) for batch in part.batches()),
                          wanted, held))

    if test is not None:
        held = list(dict.fromkeys([*kept, *tested.values()]))
        none = pa.record_batch([pa.nulls(0, types[j]) for j in held], list(map(str, held)))
        foreign(lambda: list(rows(iter([none]), kept, held)), SchemaError(
            "a condition stands beside a column of a type that cannot be compared or left out; "
            "name the columns that are needed in the query"))
    return source_of(schema, table.count, parts, None, path=True, query=query,
                     partitioned=table.partitioned or test is not None, group=table.group)


def _connected(connect: Path | None) -> Any:
    """A database of DuckDB that is only read; or none, after some statements."""
    duckdb = import_library("duckdb", "queries", "a query")
    if connect is not None and not connect.is_file():
        raise SchemaError("the connection file does not exist; check the path (--connect)")
    text = ""
    if connect is not None and connect.suffix.lower() in _DATABASES:
        connection = _opened(lambda: duckdb.connect(str(connect), read_only=True, config=_HOW))
    elif connect is None or connect.suffix.lower() == ".sql":
        connection = duckdb.connect(config=_HOW)
        text = "" if connect is None else _opened(lambda: connect.read_text(encoding="utf-8"))
    else:
        raise SchemaError(f"the connection file ends in {connect.suffix!r}; give statements of "
                          "DuckDB (.sql), such as ATTACH and LOAD, or a database of DuckDB "
                          "(.duckdb, .db)")
    if (free := free_memory()) is not None:
        # The other half is for rows.
        connection.execute(f"SET memory_limit = '{max(free // 2, LEAST_MEMORY) // 10**6}MB'")
    statements = _opened(lambda: connection.extract_statements(text))
    # None of these reads a row, but for SET with a query in brackets.
    if not all(kind in ("ATTACH", "LOAD") or (kind == "SET" and "(" not in statement.query)
               for statement in statements for kind in [statement.type.name]):
        raise SchemaError("the connection file holds other statements than ATTACH, USE, LOAD, "
                          "INSTALL and SET; put tables and views into a database of DuckDB "
                          "beforehand, and attach it")
    _opened(lambda: connection.execute(f"{text}\n;{_KEPT}"))
    return connection


def _opened(ask: Callable[[], T]) -> T:
    return foreign(ask, SchemaError(
        "DuckDB does not take the connection file; close other connections to it, or run it in "
        "DuckDB by hand (duckdb -init FILE) and see what it says"))


def _understood(connection: Any, query: str) -> tuple[list[str] | None, list[str], Any]:
    """The columns of a query, or all; its table; and its condition, if any."""
    tree = _parsed(connection, query)
    if tree["error"]:
        raise SchemaError("the query cannot be read as SELECT; correct it, or run it in DuckDB by "
                          "hand and see what it says")

    def read() -> tuple[list[str] | None, list[str], Any]:
        (statement,) = tree["statements"]
        node = statement["node"]
        items, path = node["select_list"], node["from_table"]["qualified_name"]["path"]
        columns = None if items[0]["type"] == "STAR" else list(map(_name, items))
        where = node["where_clause"]
        again = _select(columns, path) + ("" if where is None else f" WHERE {_written(where)}")
        if _parsed(connection, again) != tree:
            raise ValueError
        return columns, path, where

    return foreign(read, SchemaError(_PLAIN))


def _parsed(connection: Any, query: str) -> Any:
    """What DuckDB reads, without the places of words."""
    return foreign(lambda: json.loads(
        _first(connection, "SELECT system.main.json_serialize_sql(?)", query),
        object_hook=lambda node: {key: value for key, value in node.items()
                                  if not key.startswith("query_location")}), SchemaError(_PLAIN))


def _select(columns: Sequence[str] | None, path: Sequence[str]) -> str:
    what = "*" if columns is None else ", ".join(map(_quoted, columns))
    return f"SELECT {what} FROM {'.'.join(map(_quoted, path))}"  # noqa: S608  # names alone


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _name(node: Any) -> str:
    (name,) = node["column_names"]
    return str(name)


def _parts(node: Any) -> list[Any]:
    """What a condition joins, or the column of a comparison and its literals."""
    names = {"COMPARISON": ("left", "right"), "BETWEEN": ("input", "lower", "upper")}
    return [node[name] for name in names.get(node["class"], ())] or node.get("children", [])


def _tested(node: Any) -> list[str]:
    """The columns of a condition."""
    return node.get("column_names") or [name for part in _parts(node) for name in _tested(part)]


def _written(node: Any) -> str:
    """A condition as SQL; what is not on the list is a KeyError."""
    word, parts = node["type"], _parts(node)
    if word in _JOINS:
        return f"({_JOINS[word][0].join(map(_written, parts))})"
    if word == "OPERATOR_NOT":
        return f"(NOT {_written(parts[0])})"
    column, cells = _quoted(_name(parts[0])), list(map(_cell, parts[1:]))
    if word == "COMPARE_BETWEEN":
        return f"({column} BETWEEN {' AND '.join(cells)})"
    literals = ", ".join(cells)
    return f"({column} IN ({literals}))" if word == "COMPARE_IN" else (
        f"({column} {_SIGNS[word][0]} {literals})")


def _cell(node: Any) -> str:
    text = str(node["literal"]["text"])
    return "'" + text.replace("'", "''") + "'" if node["literal"]["kind"] == "STRING" else text


def _test(node: Any, types: Mapping[str, Any]) -> Test:
    """What checks a condition."""
    word, parts = node["type"], _parts(node)
    if word in _JOINS:
        return _joined(_JOINS[word][1], [_test(part, types) for part in parts])
    if word == "OPERATOR_NOT":
        test = _test(parts[0], types)
        return lambda cells: pc.invert(test(cells))
    name = _name(parts[0])
    values = [_literal(types[name], part["literal"], name) for part in parts[1:]]
    if word == "COMPARE_IN":
        return _joined(pc.or_kleene, [_compared(name, "COMPARE_EQUAL", value) for value in values])
    if word == "COMPARE_BETWEEN":
        ends = ("COMPARE_GREATERTHANOREQUALTO", "COMPARE_LESSTHANOREQUALTO")
        return _joined(pc.and_kleene, list(map(_compared, (name, name), ends, values)))
    return _compared(name, word, *values)


def _joined(join: Callable[[Any, Any], Any], tests: Sequence[Test]) -> Test:
    return lambda cells: reduce(join, (test(cells) for test in tests))


def _compared(name: str, word: str, *value: Any) -> Test:
    """A comparison with a literal; NaN is above all numbers, as DuckDB has it."""
    def test(cells: Callable[[str], Any]) -> Any:
        held = cells(name)
        if pa.types.is_dictionary(held.type):
            held = held.dictionary_decode()
        met = _SIGNS[word][1](held, *value)
        above = word.startswith("COMPARE_GREATER") and pa.types.is_floating(held.type)
        return pc.or_kleene(met, pc.is_nan(held)) if above else met

    return test


def _literal(kind: Any, literal: Mapping[str, str], name: str) -> Any:
    """A literal as a cell of its column's type: no cell is cast."""
    return foreign(lambda: _scalar(kind, literal["kind"], literal["text"]), SchemaError(
        f"a literal beside the column {name!r} is no value of its type; write '...' for texts and "
        "dates, whole numbers for whole numbers, true or false for these"))


def _scalar(kind: Any, word: str, text: str) -> Any:
    types: Any = pa.types
    value: Any = None
    if types.is_dictionary(kind):
        return _scalar(kind.value_type, word, text)
    if word == "STRING" and (types.is_string(kind) or types.is_large_string(kind)):
        value = text
    elif word == "STRING" and (types.is_date(kind) or types.is_timestamp(kind)):
        return pa.scalar(text).cast(kind)
    elif word == "BOOLEAN" and types.is_boolean(kind):
        value = text.lower() == "true"
    elif word in ("INTEGER", "NUMERIC") and abs(number := Decimal(text)) < 10**308:
        value = (number if types.is_decimal(kind) else float(number) if types.is_floating(kind)
                 else int(number) if types.is_integer(kind) and number == int(number) else None)
    if value is None:
        raise ValueError
    return pa.scalar(value, kind)


def _table(connection: Any, path: Sequence[str], columns: Sequence[str] | None) -> Source:
    """A table of DuckDB, or a view of some columns of one."""
    unique = columns and list({name.casefold(): name for name in columns}.values())
    select = _select(unique, path)
    counted = f"SELECT count(*) FROM ({select})"  # noqa: S608  # names alone
    search = _first(connection, "SELECT current_setting('search_path')").replace("'", "''")

    def schema() -> Any:
        plan = json.loads(_first(
            connection, "SELECT system.main.json_serialize_plan(?, optimize := false)", select))
        (step,) = plan["plans"]
        while step["type"] == "LOGICAL_PROJECTION" and all(
                column["expression_class"] == "BOUND_REF" for column in step["expressions"]):
            (step,) = step["children"]
        if step["type"] != "LOGICAL_GET" or step["qname"]["path"] != ["seq_scan"]:
            raise ValueError
        return connection.sql(f"{select} LIMIT 0").to_arrow_table().schema

    def parts(positions: Sequence[int], most: int) -> Iterator[Stretch]:
        # Of its own, for a reading that was left off keeps its connection.
        reader = connection.cursor()
        reader.execute(f"SET search_path = '{search}'")
        return cut(reader.sql(select).to_arrow_reader(most), positions, most)

    return source_of(foreign(schema, SchemaError(_TABLE)),
                     lambda: int(_first(connection, counted)), parts, None)


def _first(connection: Any, text: str, *cells: str) -> Any:
    """The only cell of a result."""
    return connection.execute(text, cells).fetchall()[0][0]
