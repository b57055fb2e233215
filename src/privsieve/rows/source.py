"""Source: a table in two steps, its structure (public) and its body (after the charge)."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from privsieve.errors import DomainError, SchemaError
from privsieve.public.columns import check_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    import numpy.typing as npt

    from privsieve.rows.csv_file import File

    #: A column of some rows: an array of bool, int, float or datetime64, or a list of objects.
    RawColumn = npt.NDArray[Any] | list[Any]
    #: The body: columns at these positions, in batches of at most so many rows.
    Read = Callable[[Sequence[int], int], Iterator[list[RawColumn]]]
else:
    RawColumn = object

#: "number", "text", "flag", "date"; "other" where the container does not say (a CSV file, a list);
#: "unreadable" for what no rule of `cells` reads (durations, lists, records).
Type = Literal["number", "text", "flag", "date", "other", "unreadable"]

#: A table with more columns is refused; it is a public cap.
LARGEST_WIDTH = 100_000
#: The name under which a source gives a `y` that came apart from its table (no column can be
#: named so: it holds a control character).
TARGET = "\0target"
_FIELD = re.compile(r"c[1-9][0-9]{0,5}")


@dataclass(frozen=True)
class Shape:
    """What the structure of a table says, and no row.

    by : how the domain's columns are found
        "name" (frames, Parquet), "header" (a CSV file; its fields are never echoed), "position"
        (arrays), "field" (a CSV file without header: c1, c2, …; any number of them).
    labelled : whether `y` came apart from the table
    y_type : the type of that `y`
    path : whether it is a file, of which columns that the domain does not name are never read
    """

    columns: tuple[str, ...]
    types: tuple[Type, ...]
    rows: int | None = None
    by: Literal["name", "header", "position", "field"] = "name"
    labelled: bool = False
    y_type: Type = "other"
    path: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Source:
    """A table that was opened: its structure, and two functions that read.

    count : () -> rows
        the number of rows, for domains where it is public; None where nobody can know it.
    read : (positions, batch rows) -> batches of raw columns
        the body.  Only `reader`, `inspect` and `items` call it.
    y : the target, where it came apart from the table
    file : a CSV file, whose lines a kernel can read
    y_type : the declared type of `y`
    path : whether it is a file
    """

    columns: tuple[str, ...]
    types: tuple[Type, ...]
    by: Literal["name", "header", "position", "field"]
    count: Callable[[], int] | None
    read: Read
    y: RawColumn | None = None
    file: File | None = None
    y_type: Type = "other"
    path: bool = False

    def __post_init__(self) -> None:
        if self.by in ("name", "header"):
            check_width(len(self.columns))
        if self.by == "name":
            check_names(self.columns)

    def shape(self, *, count_rows: bool) -> Shape:
        """The structure; the number of rows only where the domain makes it public."""
        rows = self.count() if count_rows and self.count is not None else None
        return Shape(self.columns, self.types, rows, self.by, self.y is not None, self.y_type,
                     self.path)

    @property
    def record(self) -> Literal["row", "line"]:
        """What one record is: of a CSV file a physical line, whatever its quotes say."""
        return "line" if self.by in ("header", "field") else "row"

    def raw(self, names: Sequence[str], batch_rows: int) -> Iterator[list[RawColumn]]:
        """The body in batches: these columns, in this order."""
        positions = self.positions([name for name in names if name != TARGET])
        at = 0
        for batch in self.read(positions, batch_rows):
            n = len(batch[0])
            columns = iter(batch)
            yield [self._target(at, n) if name == TARGET else next(columns) for name in names]
            at += n

    def positions(self, names: Sequence[str]) -> list[int]:
        """Where the columns of these names stand."""
        if self.by == "field":
            return [j for name in names if (j := field_position(name)) is not None]
        place = {fold(name): j for j, name in enumerate(self.columns)}
        return [place[fold(name)] for name in names]

    def _target(self, at: int, n: int) -> RawColumn:
        assert self.y is not None
        return self.y[at:at + n]


def slices(rows: int, cut: Callable[[int, int, int], RawColumn]) -> Read:
    """A body that is held in memory: `cut(start, stop, position)` gives a piece of a column."""

    def read(positions: Sequence[int], batch_rows: int) -> Iterator[list[RawColumn]]:
        for start in range(0, rows, batch_rows):
            stop = min(start + batch_rows, rows)
            yield [cut(start, stop, j) for j in positions]

    return read


def fold(name: str) -> str:
    r"""The form in which names are matched: accents in one spelling, capitals kept.

    >>> fold("e\u0301") == "\u00e9"
    True
    """
    return unicodedata.normalize("NFC", name)


def field_position(name: str) -> int | None:
    """The position of a column of a file without header; None where no column is called so.

    >>> field_position("c1"), field_position("c07"), field_position("age")
    (0, None, None)
    """
    if _FIELD.fullmatch(name) and int(name[1:]) <= LARGEST_WIDTH:
        return int(name[1:]) - 1
    return None


def repeated(names: Sequence[str]) -> bool:
    """Whether two names are the same but for capitals.

    >>> repeated(["age", "Age"])
    True
    """
    return len({fold(name).casefold() for name in names}) < len(names)


def check_width(width: int) -> None:
    """Refuse a table without columns, or with too many."""
    if not width:
        raise SchemaError("the table has no column; give at least one")
    if width > LARGEST_WIDTH:
        raise SchemaError(f"the table has {width} columns; at most {LARGEST_WIDTH} are read: "
                          "give a part of it")


def check_names(names: Sequence[str]) -> None:
    """Refuse names of a frame or Parquet file that could not be told apart or shown."""
    for name in names:
        check_name_of(name)
    if repeated(names):
        raise SchemaError("two columns of the table have the same name (capitals do not tell "
                          "names apart); rename one")


def check_name_of(name: object) -> None:
    """`check_name` for what stands in a table."""
    try:
        check_name(name)
    except DomainError as error:
        raise SchemaError(str(error)) from None


def type_of(kind: str) -> Type:
    """The word for a NumPy kind.

    >>> type_of("f"), type_of("M"), type_of("O")
    ('number', 'date', 'text')
    """
    if kind == "c":
        raise SchemaError("Complex data not supported: give the real and the imaginary part as "
                          "two columns")
    words: dict[str, Type] = {"b": "flag", "i": "number", "u": "number", "f": "number",
                              "M": "date", "U": "text", "S": "text", "O": "text"}
    return words.get(kind, "unreadable")


def simple(array: npt.NDArray[Any]) -> RawColumn:
    """An array of a kind that the reader knows, or the list of its cells."""
    if isinstance(array, np.ma.MaskedArray):
        cells = np.ma.getdata(array).astype(object)
        cells[np.ma.getmaskarray(array)] = None
        return list(cells)
    if array.dtype.kind in "biufM":
        return np.asarray(array)
    if array.dtype.kind in "OUS":
        return list(array.tolist())
    # Complex numbers, durations, records: no rule reads them, so each is missing.
    return [None] * len(array)
