"""Query: select columns of one table, and the rows that meet a condition, by SQL.

A query that casts, divides or calls a function may fail at a cell, which would reveal something
about rows after the charge.  A query may therefore only name columns of a table, and compare
columns with literals.  DuckDB parses the text.  The query is written again from the parsed tree,
and refused unless DuckDB parses both to the same tree.  Conditions are evaluated here with
comparisons of Arrow, which cannot fail.  DuckDB returns the rows of its own tables on one thread,
so that their order is kept.  Parquet files are read without DuckDB, which would fail at a text that
is not UTF-8.
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
#: Extensions are not downloaded unless the connection file does it.
_HOW: dict[str, str | bool | int | float | list[str]] = {"autoinstall_known_extensions": False}
#: Settings after those of a connection file; names and views cannot be files, which DuckDB would
#: read before the charge.
_KEPT = ("SET threads = 1; SET preserve_insertion_order = true; "
         "SET arrow_large_buffer_size = true; SET enable_external_access = false")
_PLAIN = ("the query does more than name columns of one table and compare columns with literals "
          "in WHERE; write its rows to a Parquet file first, and give that file")
_TABLE = ("the query's table or column does not exist, or the table is not a Parquet file, a table "
          "of a DuckDB database, or a view of its columns; write other rows to a Parquet file "
          "first; for a CSV file, give its path instead of a query")
_SIGNS = {"COMPARE_EQUAL": ("=", pc.equal), "COMPARE_NOTEQUAL": ("<>", pc.not_equal),
          "COMPARE_LESSTHAN": ("<", pc.less), "COMPARE_LESSTHANOREQUALTO": ("<=", pc.less_equal),
          "COMPARE_GREATERTHAN": (">", pc.greater),
          "COMPARE_GREATERTHANOREQUALTO": (">=", pc.greater_equal),
          "OPERATOR_IS_NULL": ("IS NULL", pc.is_null),
          "OPERATOR_IS_NOT_NULL": ("IS NOT NULL", pc.is_valid)}
_JOINS = {"CONJUNCTION_AND": (" AND ", pc.and_kleene), "CONJUNCTION_OR": (" OR ", pc.or_kleene)}
#: Returns which cells meet a condition; null if it is unknown, as in SQL.
Test = Callable[[Callable[[str], Any]], Any]


def open_sql(text: str, connect: Path | None) -> Source:
    """Open the table of a query: its columns now, its rows after the charge."""
    connection = _connected(connect)
    query = text.strip().removesuffix(";").rstrip()
    if not query or len(query) > LONGEST_QUERY or not all(
            sign.isprintable() or sign in "\n\t" for sign in query):
        raise SchemaError(f"the query is empty, longer than {LONGEST_QUERY} characters, or has "
                          "unprintable characters; write sql:SELECT ...")
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
    """Return the selected columns of a table, and the rows that meet the condition."""
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
        return alone(rows((batch for stretch in every(held, most) for batch in stretch.batches()),
                          wanted, held))

    if test is not None:
        held = list(dict.fromkeys([*kept, *tested.values()]))
        none = pa.record_batch([pa.nulls(0, types[j]) for j in held], list(map(str, held)))
        foreign(lambda: list(rows(iter([none]), kept, held)), SchemaError(
            "the table has a column of a type that cannot be filtered; name only the needed "
            "columns in the query"))
    return source_of(schema, table.count, parts, None, path=True, query=query,
                     partitioned=table.partitioned or test is not None, group=table.group)


def _connected(connect: Path | None) -> Any:
    """Open a DuckDB database for reading, or an empty database in which statements have run."""
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
    # These do not read rows, except SET with a query in brackets.
    if not all(kind in ("ATTACH", "LOAD") or (kind == "SET" and "(" not in statement.query)
               for statement in statements for kind in [statement.type.name]):
        raise SchemaError("the connection file may contain only ATTACH, USE, LOAD, INSTALL and "
                          "SET; create other tables and views in a database of DuckDB, and attach "
                          "it")
    _opened(lambda: connection.execute(f"{text}\n;{_KEPT}"))
    return connection


def _opened(ask: Callable[[], T]) -> T:
    return foreign(ask, SchemaError(
        "DuckDB cannot use the connection file; close other connections to it, or run it in "
        "DuckDB by hand (duckdb -init FILE) to see the error"))


def _understood(connection: Any, query: str) -> tuple[list[str] | None, list[str], Any]:
    """Return the columns of a query, or None for all, its table, and its condition, if any."""
    tree = _parsed(connection, query)
    if tree["error"]:
        raise SchemaError("the query cannot be read as SELECT; correct it, or run it in DuckDB by "
                          "hand to see the error")

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
    """Return DuckDB's tree of a query, without the places of words."""
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
    """Return the joined conditions, or the column of a comparison with its literals."""
    names = {"COMPARISON": ("left", "right"), "BETWEEN": ("input", "lower", "upper")}
    return [node[name] for name in names.get(node["class"], ())] or node.get("children", [])


def _tested(node: Any) -> list[str]:
    """Return the columns of a condition."""
    return node.get("column_names") or [name for item in _parts(node) for name in _tested(item)]


def _written(node: Any) -> str:
    """Write a condition as SQL; raise KeyError if it is not allowed."""
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
    """Make the test of a condition."""
    word, parts = node["type"], _parts(node)
    if word in _JOINS:
        return _joined(_JOINS[word][1], [_test(item, types) for item in parts])
    if word == "OPERATOR_NOT":
        test = _test(parts[0], types)
        return lambda cells: pc.invert(test(cells))
    name = _name(parts[0])
    values = [_literal(types[name], item["literal"], name) for item in parts[1:]]
    if word == "COMPARE_IN":
        return _joined(pc.or_kleene, [_compared(name, "COMPARE_EQUAL", value) for value in values])
    if word == "COMPARE_BETWEEN":
        ends = ("COMPARE_GREATERTHANOREQUALTO", "COMPARE_LESSTHANOREQUALTO")
        return _joined(pc.and_kleene, list(map(_compared, (name, name), ends, values)))
    return _compared(name, word, *values)


def _joined(join: Callable[[Any, Any], Any], tests: Sequence[Test]) -> Test:
    return lambda cells: reduce(join, (test(cells) for test in tests))


def _compared(name: str, word: str, *value: Any) -> Test:
    """Make a comparison with a literal; NaN is above all numbers, as in DuckDB."""
    def test(cells: Callable[[str], Any]) -> Any:
        held = cells(name)
        if pa.types.is_dictionary(held.type):
            held = held.dictionary_decode()
        met = _SIGNS[word][1](held, *value)
        above = word.startswith("COMPARE_GREATER") and pa.types.is_floating(held.type)
        return pc.or_kleene(met, pc.is_nan(held)) if above else met

    return test


def _literal(kind: Any, literal: Mapping[str, str], name: str) -> Any:
    """Convert a literal to its column's type, so that cells are not cast."""
    return foreign(lambda: _scalar(kind, literal["kind"], literal["text"]), SchemaError(
        f"a literal does not have the type of column {name!r}; write '...' for texts and dates, "
        "whole numbers for whole numbers, true or false for flags"))


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
    """Open a table of DuckDB, or a view of some columns of one."""
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
        # A new cursor: an unfinished reading keeps its connection.
        reader = connection.cursor()
        reader.execute(f"SET search_path = '{search}'")
        return cut(reader.sql(select).to_arrow_reader(most), positions, most)

    return source_of(foreign(schema, SchemaError(_TABLE)),
                     lambda: int(_first(connection, counted)), parts, None)


def _first(connection: Any, text: str, *cells: str) -> Any:
    """Return the only cell of a result."""
    return connection.execute(text, cells).fetchall()[0][0]
