"""SQL: the rows that a query of DuckDB gives; by its scanners those of other databases too.

The text of the query is public, and the plan says it.  What it joins, adds up or leaves out is its
author's word: a row is one of its rows.  It is bound before the charge and runs after it, on one
thread, so that its rows keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from privsieve.errors import SchemaError
from privsieve.public.plan import LONGEST_QUERY
from privsieve.rows.arrow import Stretch, cut, source_of
from privsieve.rows.room import LEAST_MEMORY, free_memory
from privsieve.rows.source import Source, foreign

T = TypeVar("T")
_DATABASES = (".duckdb", ".db")
#: Nothing is fetched from elsewhere unless the connection file says so.
_HOW: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1, "preserve_insertion_order": True, "autoinstall_known_extensions": False}


def open_sql(text: str, connect: Path | None) -> Source:
    """A query: its columns now, its rows after the charge."""
    connection = _connected(connect)
    query = _checked(connection, text)
    # The query is the caller's own.
    bound = f"SELECT * FROM ({query}\n) LIMIT 0"  # noqa: S608
    counted = f"SELECT count(*) FROM ({query}\n)"  # noqa: S608
    schema = _asked(lambda: connection.execute(bound).to_arrow_table().schema,
                    "bound: a table, column or function is not there, or an extension is not "
                    "loaded")

    def count() -> int:
        return _asked(lambda: int(connection.execute(counted).fetchone()[0]),
                      'counted; let rows come or go (neighbours = "add-remove" in the domain), '
                      "or use TRY_CAST in its conditions")

    def parts(positions: Sequence[int], most: int) -> Iterator[Stretch]:
        return cut(connection.execute(query).to_arrow_reader(most), positions, most)

    return source_of(schema, count, parts, None, path=True, query=query)


def _connected(connect: Path | None) -> Any:
    """A database of DuckDB that is only read; or none, after some statements."""
    try:
        import duckdb
    except ImportError:
        raise SchemaError("a query needs DuckDB; install it with pip install 'privsieve[db]', or "
                          "write its rows to Parquet") from None
    how, free = dict(_HOW), free_memory()
    if free is not None:
        # The other half is for rows; what does not fit DuckDB writes to files of its own.
        how["memory_limit"] = f"{max(free // 2, LEAST_MEMORY) // 10**6}MB"
    if connect is None:
        return duckdb.connect(config=how)
    if not connect.is_file():
        raise SchemaError("the connection file does not exist; check the path (--connect)")
    if connect.suffix.lower() in _DATABASES:
        return _opened(lambda: duckdb.connect(str(connect), read_only=True, config=how))
    if connect.suffix.lower() != ".sql":
        raise SchemaError(f"the connection file ends in {connect.suffix!r}; give statements of "
                          "DuckDB (.sql), such as ATTACH and LOAD, or a database of DuckDB "
                          "(.duckdb, .db)")
    connection = duckdb.connect(config=how)
    _opened(lambda: connection.execute(connect.read_text(encoding="utf-8")))
    return connection


def _opened(ask: Callable[[], T]) -> T:
    return foreign(ask, SchemaError(
        "DuckDB does not take the connection file; run it in DuckDB by hand (duckdb -init FILE) "
        "and see what it says"))


def _checked(connection: Any, text: str) -> str:
    """The text of one SELECT, without its prefix and a semicolon at its end."""
    query = text.strip().removesuffix(";").rstrip()
    if not query or len(query) > LONGEST_QUERY or not all(
            sign.isprintable() or sign in "\n\t" for sign in query):
        raise SchemaError(f"the query is empty, longer than {LONGEST_QUERY} characters, or holds "
                          "signs that cannot be shown; write sql:SELECT ... (a view of the "
                          "connection file may hold what is long)")
    found = _asked(lambda: connection.extract_statements(query), "read as SQL")
    if [one.type.name for one in found] != ["SELECT"]:
        raise SchemaError("the query is not one SELECT; put other statements into the connection "
                          "file (--connect)")
    return query


def _asked(ask: Callable[[], T], done: str) -> T:
    """What DuckDB gives; its own text may quote a cell."""
    return foreign(ask, SchemaError(f"the query cannot be {done}; run it in DuckDB by hand and "
                                    "see what it says"))
