"""Columns: the public facts of each column, checked when it is declared.

Each kind of column is a class with its options and the rules by which cells become codes.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from privsieve.errors import DomainError
from privsieve.public.canonical import (
    FLAGS,
    check_name,
    check_word,
    coded,
    finite,
    flag_words,
    hidden,
    is_whole,
    quoted,
    reads_flags,
    text_of,
)

Scalar = str | int | bool
#: What an attacker may know about a published column: "presences" that a person has an item, "both"
#: its absence as well, "known" what is usual for its kind.  Nobody may learn a "sensitive" column.
#: Methods with noise ignore roles.
Role = Literal["known", "presences", "both", "sensitive"]
Moment = dt.datetime

#: Codes are unsigned 16-bit integers.
CODES = 65536
#: The most numbers that mean a missing value.
MOST_CODES = 100
#: The most formats of one column of dates, and the name of ISO 8601 among formats.
MOST_FORMS, ISO = 8, "ISO 8601"
#: The code of "missing" where missing is a level of its own (then values use 0..65534).
MISSING = CODES - 1
#: The code of "missing" where missing is the middle.
MIDDLE = CODES // 2
#: The first day of dates as numbers, and microseconds in a day.
EPOCH, DAY = dt.datetime(1970, 1, 1), 86_400_000_000  # noqa: DTZ001
#: The most digits of a whole number among the values of a column.
LARGEST_DIGITS = 100
LARGEST_CUTS = 1000


# --- options --------------------------------------------------------------------------------------

def _option(read: Callable[[Any, str, Any], Any], *, optional: bool = True, **default: Any) -> Any:
    """Declare a field that `read` checks; JSON omits an optional one that has its default."""
    return field(metadata={"read": read, "optional": optional}, **default)


def _word(*words: str) -> Callable[[Any, str, Any], Any]:
    def read(column: Any, key: str, value: object) -> object:
        check_word(column, key, words)
        return value

    return read


def _wrong(column: Any, key: str, way: str) -> DomainError:
    """Return the error about an option, with its value and what to write."""
    return DomainError(f"column {column.name!r}: {key} is {quoted(getattr(column, key))}; {way}")


def _flag(column: Any, key: str, value: object) -> object:
    if not isinstance(value, bool):
        raise _wrong(column, key, "write true or false")
    return value


def _bound(column: Any, key: str, value: object) -> object:
    """Read a bound of a number; both bounds are declared, or neither."""
    none = column.low is None and column.high is None
    return None if none else finite(value, column.name, key)


def _near(column: Any, key: str, value: object) -> object:
    return None if value is None else finite(value, column.name, key)


def _is_list(value: object) -> bool:
    return not isinstance(value, (str, bytes)) and hasattr(value, "__iter__")


def _missing_values(column: Any, key: str, value: Any) -> tuple[float, ...]:
    """Read the numbers that mean a missing value; return them sorted, each once."""
    listed = [*value] if _is_list(value) else []
    if (not listed and not isinstance(value, (tuple, list))) or None in listed or (
            len(listed) > MOST_CODES):
        raise _wrong(column, key, f"write a list of at most {MOST_CODES} numbers, for example "
                                "missing_values = [99]")
    return tuple(sorted({finite(number, column.name, "a missing value") for number in listed}))


def _moment(column: Any, key: str, value: object) -> Moment:
    return moment_of(value, column.name, key)


def moment_of(value: object, name: str, end: str) -> Moment:
    """Read a public date, which `end` names."""
    if value is None:
        raise DomainError(f"column {name!r}: {end} is missing; write a date such as 2020-01-01, "
                          "from the study's plan, never from this table")
    try:
        if isinstance(value, dt.datetime):
            moment = value
        elif isinstance(value, dt.date):
            moment = dt.datetime(value.year, value.month, value.day)  # noqa: DTZ001
        else:
            moment = dt.datetime.fromisoformat(str(value))
        # Clock times are compared as written; an offset is folded into universal time.
        return moment.astimezone(dt.UTC).replace(tzinfo=None) if moment.tzinfo else moment
    except OverflowError:
        raise DomainError(f"column {name!r}: {end} is {quoted(value)}, and its time zone moves it "
                          "outside the years 1 to 9999; write it in universal time") from None
    except Exception:  # noqa: BLE001  # a date of another library, with a zone of its own
        raise DomainError(f"column {name!r}: {end} is {quoted(value)}; write a date such as "
                          "2020-01-01") from None


def _form(column: Any, key: str, form: Any) -> object:
    """Read one or several formats; without a year, reading rows would warn, or guess a year."""
    forms = [form] if form is None or isinstance(form, str) else form
    if not isinstance(forms, (list, tuple)) or not 1 <= len(forms) <= MOST_FORMS or not all(
            map(_is_form, forms)):
        raise _wrong(column, key, 'write day, month and year, for example "%d.%m.%Y", or omit it '
                                  f'for {ISO}; formats in a list such as ["{ISO}", "%d.%m.%Y"] '
                                  "are tried in order")
    return (None if forms[0] == ISO else forms[0]) if len(forms) == 1 else tuple(forms)


def _is_form(form: Any) -> bool:
    day = dt.datetime(2000, 2, 29, tzinfo=dt.UTC)
    try:
        return form in (None, ISO) or (isinstance(form, str) and form.isascii() and dt.datetime.
                                       strptime(day.strftime(form), form).replace(
                                           tzinfo=dt.UTC) == day)
    except (ValueError, re.error):
        return False


def _cuts(read: Callable[[object, str, str], Any], example: str) -> Callable[[Any, str, Any], Any]:
    """Return the reader of cut points: they increase and lie within the bounds."""
    def points(column: Any, key: str, value: Any) -> tuple[Any, ...]:
        listed = list(value) if _is_list(value) else [None]
        if None in listed or len(listed) > LARGEST_CUTS:
            raise _wrong(column, key, f"write a list of at most {LARGEST_CUTS} points, "
                                      f"for example cuts = {example}")
        cuts = tuple(read(item, column.name, "a cut point") for item in listed)
        if any(first >= second for first, second in pairwise(cuts)):
            raise _wrong(column, key, "write the points in increasing order")
        ends = column.reach
        for point in cuts:
            if not ends[0] <= point <= ends[1]:
                text, low, high = map(_plainly, (point, *ends))
                raise DomainError(f"column {column.name!r}: the cut point {text} lies outside the "
                                  f"bounds, {low} to {high}; leave it out, or correct the bounds")
        return cuts

    return points


def _plainly(point: float | Moment) -> str:
    return (point.isoformat().removesuffix("T00:00:00") if isinstance(point, dt.datetime)
            else f"{point:g}")


def _long(value: object) -> bool:
    """Return whether a whole number has more digits than a cell may hold."""
    return isinstance(value, int) and abs(value) >= 10**LARGEST_DIGITS


def _values(column: Any, _key: str, values: Any) -> tuple[Scalar, ...]:
    if not _is_list(values):
        raise DomainError(f"column {column.name!r}: values is missing; list every value that may "
                          'occur, for example values = ["A", "B"]')
    listed = tuple(v.item() if hasattr(v, "item") else v for v in values)
    for value in listed:
        text = text_of(value) if isinstance(value, str) else "1"
        if not isinstance(value, (str, int)) or not text or any(map(hidden, text)):
            raise DomainError(f"column {column.name!r}: the value {quoted(value)} is empty, holds "
                              "control or direction characters, or is neither a text nor a whole "
                              "number; correct it")
        if _long(value):
            raise DomainError(f"column {column.name!r}: the value {quoted(value)} has more than "
                              f"{LARGEST_DIGITS} digits; write it as a text")
    if len(set(map(text_of, listed))) < len(listed):
        raise DomainError(f"column {column.name!r}: a value is listed twice")
    if not 1 <= len(listed) < MISSING:
        raise DomainError(f"column {column.name!r}: values lists {len(listed)} texts; list 1 to "
                          f"{MISSING - 1}")
    return listed


def _words(column: Any, key: str, words: Any) -> tuple[tuple[str, ...], ...]:
    """Read the further words of each value."""
    sides = [side if isinstance(side, (list, tuple)) else [side] for side in words] if _is_list(
        words) else [None]
    if len(sides) not in (0, len(column.values)) or not all(
            isinstance(word, (str, int)) and not _long(word) and text_of(word)
            and not any(map(hidden, text_of(word))) for side in sides for word in side or [None]):
        raise _wrong(column, key, f"write a word or a list of words for each of the "
                                f"{len(column.values)} values, for example "
                                'words = [["nein"], ["ja", "j"]]')
    return tuple(tuple(map(text_of, side)) for side in sides if side is not None) if any(
        sides) else ()


def _flag_words(column: Any, key: str, words: Any) -> tuple[str, ...]:
    return flag_words(words, column.name, int(key == "true"))


_ROLE = _word("known", "presences", "both", "sensitive")
_GAP = _word("middle", "level")


# --- the kinds ------------------------------------------------------------------------------------

class ColumnKind:
    """The declaration of one column; each kind of column is a subclass.

    A cell's code comes from `table`, the codes of texts.  A `graded` kind reads other cells on the
    grid of its numbers or dates.  All other cells get `other` (`rows.cells.CellRule`).
    A subclass with a `kind` registers itself in `KINDS`.
    """

    name: str
    kind: ClassVar[str]
    #: Whether a kind may be a column, and a target.
    is_column: ClassVar[bool] = True
    is_target: ClassVar[bool] = False
    #: Whether codes are numbers on a grid; dates are days since 1970.
    graded: ClassVar[bool] = False
    is_number: ClassVar[bool] = False
    is_date: ClassVar[bool] = False
    #: Whether the only values are yes and no; whether an unlisted text is a level of its own.
    is_binary: ClassVar[bool] = False
    others_are_a_level: ClassVar[bool] = False
    #: The word for what an unreadable cell becomes.
    becomes: ClassVar[str] = "the default"
    role: Any = "known"
    cuts: Sequence[Any] = ()
    ignore_case: bool = False
    missing_level: bool = False
    #: The number of codes, if they are listed.
    levels: int | None = None
    #: Whether codes lack equal steps, so that methods cannot compute with them.
    gridless: bool = False
    missing_values: tuple[float, ...] = ()
    format: str | tuple[str, ...] | None = None

    def __init_subclass__(cls) -> None:
        if "kind" in vars(cls):
            KINDS[cls.kind] = cls

    def __post_init__(self) -> None:
        check_name(self.name)
        for item in fields(self):  # type: ignore[arg-type]  # each kind is a dataclass
            if read := item.metadata.get("read"):
                object.__setattr__(self, item.name, read(self, item.name, getattr(self, item.name)))
        self.check()

    def check(self) -> None:
        """Refuse options that contradict each other."""

    @property
    def table(self) -> Mapping[str, int]:
        """Return the code of each text that has one."""
        return {}

    @property
    def unordered(self) -> int:
        """Return the number of codes without an order: all of a list of more than yes and no."""
        return 0 if self.is_binary or self.levels is None else self.levels

    @property
    def other(self) -> int:
        """Return the code of an unreadable cell."""
        raise NotImplementedError

    def reads_type(self, kind: str) -> bool:
        """Return whether cells of a type other than text can be read."""
        raise NotImplementedError


#: The kinds, by their names.
KINDS: dict[str, Any] = {}


class Listed(ColumnKind):
    """A kind with a list of texts: a code is the position of a value."""

    values: Sequence[Scalar]

    @property
    def levels(self) -> int:  # type: ignore[override]
        """Return the number of codes."""
        return len(self.values) + self.others_are_a_level

    @property
    def texts(self) -> list[str]:
        """Return the texts of the values, in the order of their codes."""
        return [text_of(value) for value in self.values]

    @property
    def table(self) -> Mapping[str, int]:
        """Return the code of each known text.

        >>> Category("ward", ["A", "B"]).table
        {'A': 0, 'B': 1}
        """
        return coded(*_spelled(self))

    @property
    def other(self) -> int:
        """Return the code of all other texts."""
        return len(self.values)

    def reads_type(self, kind: str) -> bool:
        """Return whether true and false, or whole numbers, can express each value."""
        if kind == "number":
            table = self.table
            whole = {table[text] for text in table if is_whole(text)} if getattr(
                self, "words", ()) else set()
            return all(code in whole or is_whole(text) for code, text in enumerate(self.texts))
        return kind == "flag" and reads_flags(self.table)


class Graded(ColumnKind):
    """A kind on a public grid, on which missing is the middle or a level of its own."""

    graded = True
    becomes = "missing"
    missing: Literal["middle", "level"]
    scale: str = "linear"
    near: float | None = None

    @property
    def reach(self) -> tuple[Any, Any]:
        """Return the bounds; values beyond them become the bound."""
        raise NotImplementedError

    @property
    def missing_level(self) -> bool:  # type: ignore[override]
        """Return whether missing is a level of its own."""
        return self.missing == "level"

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the bounds as numbers: of dates, days since 1970; infinite where undeclared."""
        return self.reach

    @property
    def grid(self) -> tuple[int, int]:
        """Return the number of codes for values, and the code of a missing value.

        >>> Date("day", "2020-01-01", "2021-01-01", missing="level").grid
        (65535, 65535)
        """
        return (MISSING, MISSING) if self.missing_level else (CODES, MIDDLE)

    @property
    def other(self) -> int:
        """Return the code of a missing value."""
        return self.grid[1]


@dataclass(frozen=True)
class Number(Graded):
    """A number; values beyond declared bounds become the bound.

    Bounds make a grid of equal steps, or of equal ratios on a log scale.  Without bounds, and
    always with `near`, a code is a sign, an octave and 9 bits of the distance from `near`
    (`rows.cells.log_linear`).  Such codes are enough for RuleSieve, which compares values.  Methods
    that compute with values refuse them.

    cuts : where to cut the column into publishable items; methods with noise ignore cuts.
    near : a public number that values lie around, such as 2000 for years; by default 0.
    missing_values : numbers that mean a missing value, such as 99.

    >>> Number("age", 0, 110, cuts=[18, 65]).cuts
    (18.0, 65.0)
    >>> Number("sodium").gridless, Number("sodium", 120, 160).ends
    (True, (120.0, 160.0))
    """

    name: str
    low: float | None = _option(_bound, default=None)
    high: float | None = _option(_bound, default=None)
    scale: Literal["linear", "log"] = _option(_word("linear", "log"), optional=False,
                                              default="linear")
    missing: Literal["middle", "level"] = _option(_GAP, optional=False, default="middle")
    cuts: Sequence[float] = _option(_cuts(finite, "[18, 65]"), default=())
    role: Role = _option(_ROLE, default="known")
    near: float | None = _option(_near, default=None)
    missing_values: tuple[float, ...] = _option(_missing_values, default=())
    kind = "number"
    is_target = is_number = True

    def check(self) -> None:
        """Refuse bounds without a grid between them, and a log scale without bounds above 0."""
        if self.low is not None and self.high is not None:
            wrong = f"column {self.name!r}: low is {self.low:g} and high is {self.high:g};"
            if not self.low < self.high:
                raise DomainError(f"{wrong} low must be the smaller")
            if self.high - self.low == math.inf or CODES / (self.high - self.low) == math.inf:
                raise DomainError(f"{wrong} they are too close or too far apart to divide; write "
                                  "bounds that a value could have")
        if self.scale == "log":
            wrong = f"column {self.name!r}: scale is log and"
            if self.low is None:
                raise DomainError(f"{wrong} low and high are missing; write both, or omit scale "
                                  "(numbers without bounds need no scale)")
            if self.low <= 0:
                raise DomainError(f"{wrong} low is {self.low:g}; a log scale needs low above 0")
            if self.near is not None:
                raise DomainError(f"{wrong} near is {self.near:g}; remove scale or near")

    @property
    def reach(self) -> tuple[float, float]:
        """Return the bounds; infinite where none are declared."""
        return (-math.inf if self.low is None else self.low,
                math.inf if self.high is None else self.high)

    @property
    def gridless(self) -> bool:  # type: ignore[override]
        """Return whether codes lack equal steps, so that methods cannot compute with them."""
        return self.low is None or self.near is not None

    @property
    def ends(self) -> tuple[float, float]:
        """Return the ends of the grid of codes; refuse a column without a grid."""
        if self.gridless:
            raise DomainError(no_grid(self.name))
        return self.reach

    def reads_type(self, kind: str) -> bool:
        """Return whether the type is a number."""
        return kind == "number"


@dataclass(frozen=True)
class Date(Graded):
    """A date or time with declared bounds, in ISO 8601 or in `format`.

    format : a format of `strptime`, or a list: the first one that reads a cell is used.

    >>> Date("admitted", "2020-01-01", "2024-12-31").low
    datetime.datetime(2020, 1, 1, 0, 0)
    """

    name: str
    low: Moment = _option(_moment, optional=False)
    high: Moment = _option(_moment, optional=False)
    format: str | tuple[str, ...] | None = _option(_form, optional=False, default=None)
    missing: Literal["middle", "level"] = _option(_GAP, optional=False, default="middle")
    cuts: tuple[Moment, ...] = _option(_cuts(moment_of, "[2020-01-01]"), default=())
    role: Role = _option(_ROLE, default="known")
    kind = "date"
    is_date = True

    if TYPE_CHECKING:  # texts are taken, and moments are kept
        def __init__(self, name: str, low: dt.date | str, high: dt.date | str,
                     format: str | Sequence[str] | None = None,  # noqa: A002  # its name
                     **options: Any) -> None: ...

    @property
    def output_format(self) -> str | None:
        """The format in which dates are written: the first that is read; None is ISO 8601."""
        first = self.format[0] if isinstance(self.format, tuple) else self.format
        return None if first == ISO else first

    def check(self) -> None:
        """Refuse bounds in the wrong order."""
        if not self.low < self.high:
            raise DomainError(f"column {self.name!r}: low is {self.low} and high is {self.high}; "
                              "low must be the earlier")

    @property
    def reach(self) -> tuple[dt.datetime, dt.datetime]:
        """Return the first and the last date."""
        return self.low, self.high

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the bounds as days since 1970."""
        first, last = ((end - EPOCH) // dt.timedelta(microseconds=1) for end in self.reach)
        return first / DAY, last / DAY

    def reads_type(self, kind: str) -> bool:
        """Return whether the type is a date, or a number if `format` reads 20200601."""
        return kind == "date" or (
            kind == "number" and isinstance(self.format, str) and self.format.startswith("%Y")
            and is_whole(self.low.strftime(self.format)))


@dataclass(frozen=True)
class Flag(Listed):
    """Yes or no.  Other and missing cells become `default`.

    true, false : further words for yes and no, beside the usual ones; capitals do not matter.

    >>> Flag("smoker", true="ja", false=["nein", "nie"]).false
    ('nein', 'nie')
    """

    name: str
    default: bool = _option(_flag, optional=False, default=False)
    true: Sequence[str] = _option(_flag_words, default=())
    false: Sequence[str] = _option(_flag_words, default=())
    role: Role = _option(_ROLE, default="known")
    kind = "flag"
    is_target = is_binary = True
    ignore_case = True
    values = ("no", "yes")

    def check(self) -> None:
        """Refuse a word that means both."""
        both = {word.lower() for word in self.true} & {word.lower() for word in self.false}
        if both:
            raise DomainError(f"column {self.name!r}: {quoted(min(both))} means true and false; "
                              "remove it from one list")

    @property
    def texts(self) -> list[str]:
        """Return the texts of no and yes."""
        return ["0", "1"]

    @property
    def table(self) -> Mapping[str, int]:
        """Return the lower-case words for yes (1) and no (0)."""
        own = dict.fromkeys(map(str.lower, self.false), 0)
        return FLAGS | own | dict.fromkeys(map(str.lower, self.true), 1)

    @property
    def other(self) -> int:
        """Return the code of the default."""
        return int(self.default)

    def reads_type(self, kind: str) -> bool:
        """Return whether the type is a number, or true and false."""
        return kind in ("number", "flag")


@dataclass(frozen=True)
class Category(Listed):
    """One of the declared values; other and missing cells are one level, "other".

    ignore_case : whether capitals and small letters are the same.

    >>> Category("ward", ["A", "B"]).levels
    3
    """

    name: str
    values: Sequence[Scalar] = _option(_values, optional=False)
    role: Role = _option(_ROLE, default="known")
    ignore_case: bool = _option(_flag, default=False)
    kind = "category"
    others_are_a_level = True
    becomes = '"other"'

    def check(self) -> None:
        """Refuse a text that would be read as two values."""
        _check_case(self)


@dataclass(frozen=True)
class Label(Listed):
    """The classes of the target; an unknown label becomes `default` (the first value).

    ignore_case : whether capitals and small letters are the same.
    words : for each value, further words with the same meaning.

    >>> Label("readmitted", [0, 1]).values
    (0, 1)
    >>> Label("back", ["nein", "ja"], ignore_case=True, words=["n", ["j", 1]]).words
    (('n',), ('j', '1'))
    """

    name: str
    values: Sequence[Scalar] = _option(_values, optional=False)
    default: Scalar | None = None
    ignore_case: bool = _option(_flag, default=False)
    words: Sequence[str | Sequence[str]] = _option(_words, default=())
    kind = "label"
    is_column, is_target = False, True

    def check(self) -> None:
        """Refuse a single value, an unlisted default, and a text that means two values."""
        if len(self.values) < 2:
            raise DomainError(f"target {self.name!r} has one value; a label needs at least two "
                              "(target.values)")
        default = self.values[0] if self.default is None else self.default
        if _long(default) or text_of(default) not in self.texts:
            raise DomainError(f"target {self.name!r}: default is {quoted(default)}, which is not "
                              "among target.values")
        object.__setattr__(self, "default", default)
        _check_case(self)

    @property
    def other(self) -> int:
        """Return the code of the class that an unknown label becomes."""
        return self.texts.index(text_of(self.default))


Column = Number | Category | Flag | Date
Target = Label | Number


def label_of(flag: Flag) -> Label:
    """Make the label of a flag that is the target, with its own words and the usual ones.

    >>> label_of(Flag("back", true=["ja", "j"])).values
    ('no', 'ja')
    """
    usual = (("no", "0", "false", "n", "f"), ("yes", "1", "true", "y", "t"))
    sides = [[*{word.lower(): word for word in (*reversed(words), *reversed(own))}.values()][::-1]
             for words, own in zip(usual, (flag.false, flag.true), strict=True)]
    values = [side[0] for side in sides]
    return Label(flag.name, values, values[flag.default], ignore_case=True,
                 words=[side[1:] for side in sides])


def read_finely(column: Any) -> Any:
    """Return a number with codes for methods that only compare values.

    The codes are finest around 0, or at the bound nearest to 0.  A declared `near` or log scale
    stays.

    >>> read_finely(Number("age", 0, 110)).near, read_finely(Number("year", 1900, 2100)).near
    (0.0, 1900.0)
    """
    if not isinstance(column, Number) or column.gridless or column.scale == "log":
        return column
    low, high = column.reach
    return replace(column, near=min(max(0.0, low), high))


def no_grid(name: str) -> str:
    """Return the error for a method that needs a grid, about a number without one.

    >>> no_grid("sodium")[:38]
    "column 'sodium' needs low and high, an"
    """
    return (f"column {name!r} needs low and high, and no near, because this method computes with "
            "it; write low and high from a code book, never from this table, or choose RuleSieve "
            "(it needs no bounds)")


def _spelled(column: Listed) -> tuple[list[str], list[list[str]]]:
    """Return the texts by which values and their further words are compared."""
    texts, words = [text_of(value) for value in column.values], getattr(column, "words", ())
    if not column.ignore_case:
        return texts, [list(side) for side in words]
    return [text.lower() for text in texts], [[word.lower() for word in side] for side in words]


def _check_case(column: Listed) -> None:
    """Refuse a text that would be read as two values."""
    texts, words = _spelled(column)
    table = coded(texts)
    twice = next((text for code, text in enumerate(texts) if texts.index(text) != code), None)
    for code, side in enumerate(words):
        twice = next((word for word in side if table.setdefault(word, code) != code), twice)
    if twice is not None:
        same = " where capitals are ignored" * column.ignore_case
        raise DomainError(f"column {column.name!r}: {quoted(twice)} means two values{same}; remove "
                          "it from one of them")
