"""Columns: what is public about each, checked where it is written down."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
#: What a stranger may know of a column that is published: "known" is what its kind says,
#: "presences" that a person has an item, "both" its absence as well; "sensitive" is not to be
#: learned.  Methods with noise do not ask.
Role = Literal["known", "presences", "both", "sensitive"]

#: Codes are unsigned 16-bit integers.
CODES = 65536
#: Numbers that stand for none.
MOST_CODES = 100
#: The code of "missing" where missing is a level of its own (then values use 0..65534).
MISSING = CODES - 1
#: The code of "missing" where missing is the middle.
MIDDLE = CODES // 2
#: Where days are counted from, and microseconds in a day.
EPOCH, DAY = dt.datetime(1970, 1, 1), 86_400_000_000  # noqa: DTZ001
#: Of a whole number among the values of a column.
LARGEST_DIGITS = 100
LARGEST_CUTS = 1000
_ROLES = ("known", "presences", "both", "sensitive")
_SCALES, _MISSING = ("linear", "log"), ("middle", "level")


class ColumnKind:
    """What a domain says of one column: each kind of column is a class, and knows what it does.

    A cell's code follows from `table` (texts that have a code), then, where the kind is `graded`,
    from the grid of its numbers or dates, and else is `other` (`rows.cells.CellRule`).
    A kind with a name registers itself; nobody else lists kinds.
    """

    name: str
    kind: ClassVar[str]
    #: Whether a kind may be a column, and a target.
    is_column: ClassVar[bool] = True
    is_target: ClassVar[bool] = False
    #: Whether codes are numbers on a grid; these numbers may be days since 1970.
    graded: ClassVar[bool] = False
    is_number: ClassVar[bool] = False
    is_date: ClassVar[bool] = False
    #: Whether it says yes and no alone; whether an unlisted text is a level of its own.
    is_binary: ClassVar[bool] = False
    others_are_a_level: ClassVar[bool] = False
    #: What a cell that is not read becomes, in words.
    becomes: ClassVar[str] = "the default"
    role: Any = "known"
    cuts: Sequence[Any] = ()
    ignore_case: bool = False
    missing_level: bool = False
    #: How many codes there are, where they are listed.
    levels: int | None = None
    #: Whether codes have no equal steps, so that nobody may compute with them.
    gridless: bool = False
    missing_values: tuple[float, ...] = ()
    format: str | None = None

    def __init_subclass__(cls) -> None:
        if "kind" in vars(cls):
            KINDS[cls.kind] = cls

    @property
    def table(self) -> Mapping[str, int]:
        """The codes of texts that have one."""
        return {}

    @property
    def unordered(self) -> int:
        """How many codes have no order: all of a list that says more than yes and no."""
        return 0 if self.is_binary or self.levels is None else self.levels

    @property
    def other(self) -> int:
        """The code of a cell that says nothing that is read."""
        raise NotImplementedError

    def reads_type(self, kind: str) -> bool:
        """Whether cells of a declared type, other than a text, can be read."""
        raise NotImplementedError


#: The kinds, by their names.
KINDS: dict[str, Any] = {}


class Listed(ColumnKind):
    """A kind whose texts are listed: a code is the place of a value."""

    values: Sequence[Scalar]

    @property
    def levels(self) -> int:  # type: ignore[override]
        """How many codes there are."""
        return len(self.values) + self.others_are_a_level

    @property
    def texts(self) -> list[str]:
        """The texts of the values, in the order of their codes."""
        return [text_of(value) for value in self.values]

    @property
    def table(self) -> Mapping[str, int]:
        """The codes of the texts that are known.

        >>> Category("ward", ["A", "B"]).table
        {'A': 0, 'B': 1}
        """
        return coded(*_spelled(self))

    @property
    def other(self) -> int:
        """The code of all other texts."""
        return len(self.values)

    def reads_type(self, kind: str) -> bool:
        """Whether true and false, or whole numbers, say each value."""
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
        """Where values are cut off: the bounds."""
        raise NotImplementedError

    @property
    def missing_level(self) -> bool:  # type: ignore[override]
        """Whether missing is a level of its own."""
        return self.missing == "level"

    @property
    def bounds(self) -> tuple[float, float]:
        """Where values are cut off, as numbers: infinite, or of dates days since 1970."""
        return self.reach

    @property
    def grid(self) -> tuple[int, int]:
        """How many codes are used for values, and the code of what is missing.

        >>> Date("day", "2020-01-01", "2021-01-01", missing="level").grid
        (65535, 65535)
        """
        return (MISSING, MISSING) if self.missing_level else (CODES, MIDDLE)

    @property
    def other(self) -> int:
        """The code of what is missing."""
        return self.grid[1]


@dataclass(frozen=True)
class Number(Graded):
    """A number; values beyond declared bounds become the bound.

    A declaration decides how values become codes, whoever reads them.  Bounds make a grid of equal
    steps (on a log scale, of equal ratios).  Without bounds, and
    wherever `near` is given, a code is a sign, an octave and 9 bits of the distance from `near`
    (`rows.cells.log_linear`): that is enough for RuleSieve, which compares values, and for no
    method that computes with them.

    cuts : where it is cut into items that may be published; methods with noise do not ask.
    near : a public number that values lie around, such as 2000 for years; 0 where it is left out.
    missing_values : numbers that stand for none, such as 99.

    >>> Number("age", 0, 110, cuts=[18, 65]).cuts
    (18.0, 65.0)
    >>> Number("sodium").gridless, Number("sodium", 120, 160).ends
    (True, (120.0, 160.0))
    """

    name: str
    # Left out of a domain's JSON where they are not given.
    low: float | None = field(default=None, metadata={"optional": True})
    high: float | None = field(default=None, metadata={"optional": True})
    scale: Literal["linear", "log"] = "linear"
    missing: Literal["middle", "level"] = "middle"
    cuts: Sequence[float] = field(default=(), metadata={"optional": True})
    role: Role = field(default="known", metadata={"optional": True})
    near: float | None = field(default=None, metadata={"optional": True})
    missing_values: tuple[float, ...] = field(default=(), metadata={"optional": True})
    kind = "number"
    is_target = is_number = True

    def __post_init__(self) -> None:
        check_name(self.name)
        check_word(self, "scale", _SCALES)
        if self.low is not None or self.high is not None:
            for end in ("low", "high"):
                object.__setattr__(self, end, finite(getattr(self, end), self.name, end))
            check_bounds(self.name, *self.reach)
        if self.near is not None:
            object.__setattr__(self, "near", finite(self.near, self.name, "near"))
        if self.scale == "log":
            check_scale(self)
        check_word(self, "missing", _MISSING)
        object.__setattr__(self, "missing_values", missing_values(self))
        object.__setattr__(self, "cuts", _cuts(self, finite, "[18, 65]"))
        check_word(self, "role", _ROLES)

    @property
    def reach(self) -> tuple[float, float]:
        """Where values are cut off: the bounds, or nowhere."""
        return (-math.inf if self.low is None else self.low,
                math.inf if self.high is None else self.high)

    @property
    def gridless(self) -> bool:  # type: ignore[override]
        """Whether codes have no equal steps, so that nobody may compute with them."""
        return self.low is None or self.near is not None

    @property
    def ends(self) -> tuple[float, float]:
        """Where the grid of the codes begins and ends; of columns that have one."""
        if self.gridless:
            raise DomainError(no_grid(self.name))
        return self.reach

    def reads_type(self, kind: str) -> bool:
        """Numbers alone."""
        return kind == "number"


@dataclass(frozen=True)
class Date(Graded):
    """A date or time with declared bounds, ISO 8601 unless `format` says otherwise.

    >>> Date("admitted", "2020-01-01", "2024-12-31").low
    datetime.datetime(2020, 1, 1, 0, 0)
    """

    name: str
    low: dt.datetime
    high: dt.datetime
    format: str | None = None
    missing: Literal["middle", "level"] = "middle"
    cuts: tuple[dt.datetime, ...] = field(default=(), metadata={"optional": True})
    role: Role = field(default="known", metadata={"optional": True})
    kind = "date"
    is_date = True

    if TYPE_CHECKING:  # texts are taken, and moments are kept
        def __init__(self, name: str, low: dt.date | str, high: dt.date | str,
                     format: str | None = None,  # noqa: A002  # its name
                     **more: Any) -> None: ...

    def __post_init__(self) -> None:
        check_name(self.name)
        for end in ("low", "high"):
            object.__setattr__(self, end, _moment(getattr(self, end), self.name, end))
        if not self.low < self.high:
            raise DomainError(f"column {self.name!r}: low is {self.low} and high is {self.high}; "
                              "low must be the earlier")
        if self.format is not None:
            _check_format(self.name, self.format)
        check_word(self, "missing", _MISSING)
        object.__setattr__(self, "cuts", _cuts(self, _moment, "[2020-01-01]"))
        check_word(self, "role", _ROLES)

    @property
    def reach(self) -> tuple[dt.datetime, dt.datetime]:
        """Where values are cut off: the bounds."""
        return self.low, self.high

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds as days since 1970."""
        first, last = ((end - EPOCH) // dt.timedelta(microseconds=1) for end in self.reach)
        return first / DAY, last / DAY

    def reads_type(self, kind: str) -> bool:
        """Dates; and numbers such as 20200601: a year in front keeps its zeros."""
        return kind == "date" or (
            kind == "number" and self.format is not None and self.format.startswith("%Y")
            and is_whole(self.low.strftime(self.format)))


@dataclass(frozen=True)
class Flag(Listed):
    """Yes or no.  What is neither, and what is missing, becomes `default`.

    true, false : words, or one, that say yes and no beside the usual ones; capitals do not matter.

    >>> Flag("smoker", true="ja", false=["nein", "nie"]).false
    ('nein', 'nie')
    """

    name: str
    default: bool = False
    true: Sequence[str] = field(default=(), metadata={"optional": True})
    false: Sequence[str] = field(default=(), metadata={"optional": True})
    role: Role = field(default="known", metadata={"optional": True})
    kind = "flag"
    is_target = is_binary = True
    ignore_case = True
    values = ("no", "yes")

    def __post_init__(self) -> None:
        check_name(self.name)
        if not isinstance(self.default, bool):
            raise DomainError(f"column {self.name!r}: default is {quoted(self.default)}; "
                              "write true or false")
        for code, said in enumerate(("false", "true")):
            object.__setattr__(self, said, flag_words(getattr(self, said), self.name, code))
        both = {word.lower() for word in self.true} & {word.lower() for word in self.false}
        if both:
            raise DomainError(f"column {self.name!r}: {quoted(min(both))} stands for true and for "
                              "false; take one away")
        check_word(self, "role", _ROLES)

    @property
    def texts(self) -> list[str]:
        """The texts of no and yes."""
        return ["0", "1"]

    @property
    def table(self) -> Mapping[str, int]:
        """What says yes (1) and no (0), in small letters."""
        own = dict.fromkeys(map(str.lower, self.false), 0)
        return FLAGS | own | dict.fromkeys(map(str.lower, self.true), 1)

    @property
    def other(self) -> int:
        """The code of the default."""
        return int(self.default)

    def reads_type(self, kind: str) -> bool:
        """Numbers, and true and false."""
        return kind in ("number", "flag")


@dataclass(frozen=True)
class Category(Listed):
    """One of the declared values; anything else, and missing, is the one level "other".

    ignore_case : whether capitals and small letters are the same.

    >>> Category("ward", ["A", "B"]).levels
    3
    """

    name: str
    values: Sequence[Scalar]
    role: Role = field(default="known", metadata={"optional": True})
    ignore_case: bool = field(default=False, metadata={"optional": True})
    kind = "category"
    others_are_a_level = True
    becomes = '"other"'

    def __post_init__(self) -> None:
        check_name(self.name)
        object.__setattr__(self, "values", _values(self.values, self.name))
        _check_case(self)
        check_word(self, "role", _ROLES)


@dataclass(frozen=True)
class Label(Listed):
    """The classes of the target; an unknown label becomes `default` (the first value).

    ignore_case : whether capitals and small letters are the same.
    words : for each value, further words that say the same.

    >>> Label("readmitted", [0, 1]).values
    (0, 1)
    >>> Label("back", ["nein", "ja"], ignore_case=True, words=["n", ["j", 1]]).words
    (('n',), ('j', '1'))
    """

    name: str
    values: Sequence[Scalar]
    default: Scalar | None = None
    ignore_case: bool = field(default=False, metadata={"optional": True})
    words: Sequence[str | Sequence[str]] = field(default=(), metadata={"optional": True})
    kind = "label"
    is_column, is_target = False, True

    def __post_init__(self) -> None:
        check_name(self.name)
        values = _values(self.values, self.name)
        if len(values) < 2:
            raise DomainError(f"target {self.name!r} has one value; a label needs at least two "
                              "(target.values)")
        object.__setattr__(self, "values", values)
        default = values[0] if self.default is None else self.default
        if _long(default) or text_of(default) not in [text_of(value) for value in values]:
            raise DomainError(f"target {self.name!r}: default is {quoted(default)}, which is not "
                              "among target.values")
        object.__setattr__(self, "default", default)
        object.__setattr__(self, "words", _words(self))
        _check_case(self)

    @property
    def other(self) -> int:
        """The class that an unknown label becomes."""
        return self.texts.index(text_of(self.default))


Column = Number | Category | Flag | Date
Target = Label | Number


def label_of(flag: Flag) -> Label:
    """A flag as a target: its words say two classes, and the usual words of a flag do so, too.

    >>> label_of(Flag("back", true=["ja", "j"])).values
    ('no', 'ja')
    """
    usual = (("no", "0", "false", "n", "f"), ("yes", "1", "true", "y", "t"))
    sides = [[*{word.lower(): word for word in (*reversed(words), *reversed(own))}.values()][::-1]
             for words, own in zip(usual, (flag.false, flag.true), strict=True)]
    values = [side[0] for side in sides]
    return Label(flag.name, values, values[flag.default], ignore_case=True,
                 words=[side[1:] for side in sides])


def read_finely(part: Any) -> Any:
    """A number as methods read it that compare values: its codes are fine wherever values are.

    They lie around 0, or the bound that is nearest to it.  What is declared otherwise, by `near` or
    a log scale, stays.

    >>> read_finely(Number("age", 0, 110)).near, read_finely(Number("year", 1900, 2100)).near
    (0.0, 1900.0)
    """
    if not isinstance(part, Number) or part.gridless or part.scale == "log":
        return part
    low, high = part.reach
    return replace(part, near=min(max(0.0, low), high))


# --- what is declared, checked --------------------------------------------------------------------

def check_bounds(name: str, low: float, high: float) -> None:
    """Refuse bounds between which there is no grid."""
    said = f"column {name!r}: low is {low:g} and high is {high:g};"
    if not low < high:
        raise DomainError(f"{said} low must be the smaller")
    if not _fits(low, high):
        raise DomainError(f"{said} no grid fits between them: bring them to bounds that a "
                          "value could have")


def missing_values(part: Number) -> tuple[float, ...]:
    """The numbers that stand for none, checked, each once and in their order."""
    given: object = part.missing_values
    listed = [] if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__") else [*given]
    if (not listed and not isinstance(given, (tuple, list))) or None in listed or (
            len(listed) > MOST_CODES):
        raise DomainError(f"column {part.name!r}: missing_values is {quoted(given)}; write a list "
                          f"of at most {MOST_CODES} numbers, for example missing_values = [99]")
    return tuple(sorted({finite(one, part.name, "a missing value") for one in listed}))


def check_scale(part: Number) -> None:
    """Refuse a log scale that has no bounds above 0, or another way to codes beside it."""
    said = f"column {part.name!r}: scale is log and"
    if part.low is None:
        raise DomainError(f"{said} low and high are missing; write both, or leave scale away: "
                          "codes without bounds are finer near 0 anyhow")
    if part.low <= 0:
        raise DomainError(f"{said} low is {part.low:g}; a log scale needs low above 0")
    if part.near is not None:
        raise DomainError(f"{said} near says otherwise how values become codes: leave one away")


def no_grid(name: str) -> str:
    """What to do where a method computes with the codes of a number that has no grid.

    >>> no_grid("sodium")[:38]
    "column 'sodium' has no bounds, or has "
    """
    return (f"column {name!r} has no bounds, or has near, so that its codes are no equal steps: "
            "write low and high from a code book, without near, never from this table (RuleSieve "
            "takes it as it is)")


def _fits(low: float, high: float) -> bool:
    """Whether a grid of codes fits between two numbers."""
    return 0 < high - low < math.inf and CODES / (high - low) < math.inf


def _moment(value: object, name: str, end: str) -> dt.datetime:
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
        raise DomainError(f"column {name!r}: {end} is {quoted(value)}, which its offset takes out "
                          "of the years 1 to 9999; write it in universal time") from None
    except Exception:  # noqa: BLE001  # a date of another library, with a zone of its own
        raise DomainError(f"column {name!r}: {end} is {quoted(value)}; write a date such as "
                          "2020-01-01") from None


def _values(values: object, name: str) -> tuple[Scalar, ...]:
    if values is None or isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise DomainError(f"column {name!r}: values is missing; list every value that may occur, "
                          'for example values = ["A", "B"]')
    listed = tuple(v.item() if hasattr(v, "item") else v for v in values)
    for value in listed:
        if not isinstance(value, (str, int)):
            raise DomainError(f"column {name!r}: the value {quoted(value)} is neither a text nor a "
                              "whole number")
        if _long(value):
            raise DomainError(f"column {name!r}: the value {quoted(value)} has more than "
                              f"{LARGEST_DIGITS} digits; write it as a text")
    texts = [text_of(value) for value in listed]
    if not texts or "" in texts:
        raise DomainError(f"column {name!r}: values is empty or holds an empty text")
    if any(hidden(c) for text in texts for c in text):
        raise DomainError(f"column {name!r}: a value holds half a character, or control or "
                          "direction characters; it cannot be written or shown as it is")
    if len(set(texts)) < len(texts):
        raise DomainError(f"column {name!r}: a value is listed twice")
    if len(texts) >= MISSING:
        raise DomainError(f"column {name!r}: {len(texts)} values are too many; at most 65534")
    return listed


def _spelled(part: Listed) -> tuple[list[str], list[list[str]]]:
    """The texts by which values and their further words are compared."""
    texts, words = [text_of(value) for value in part.values], getattr(part, "words", ())
    if not part.ignore_case:
        return texts, [list(said) for said in words]
    return [text.lower() for text in texts], [[word.lower() for word in said] for said in words]


def _check_case(part: Listed) -> None:
    """Refuse a text that would be read as two values."""
    if not isinstance(part.ignore_case, bool):
        raise DomainError(f"column {part.name!r}: ignore_case is {quoted(part.ignore_case)}; write "
                          "true or false")
    texts, words = _spelled(part)
    table = coded(texts)
    twice = next((text for code, text in enumerate(texts) if texts.index(text) != code), None)
    for code, said in enumerate(words):
        twice = next((word for word in said if table.setdefault(word, code) != code), twice)
    if twice is not None:
        same = " where capitals are ignored" * part.ignore_case
        raise DomainError(f"column {part.name!r}: {quoted(twice)} stands for two values{same}; "
                          "take one away")


def _words(part: Label) -> tuple[tuple[str, ...], ...]:
    """For each value its further words, checked."""
    given: Any = part.words
    shown = f"column {part.name!r}: words is {quoted(given)}; write a word or a list of words"
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__") or len(given) not in (
            0, len(part.values)):
        raise DomainError(f"{shown} for each of the {len(part.values)} values")
    sides = [said if isinstance(said, (list, tuple)) else [said] for said in given]
    if not all(isinstance(word, (str, int)) and not _long(word) and text_of(word)
               and not any(map(hidden, text_of(word))) for said in sides for word in said):
        raise DomainError(f'{shown}, for example words = [["nein"], ["ja", "j"]]')
    return tuple(tuple(map(text_of, said)) for said in sides) if any(sides) else ()


def _long(value: object) -> bool:
    """Whether a whole number has more digits than one that a cell could say."""
    return isinstance(value, int) and abs(value) >= 10**LARGEST_DIGITS


def _cuts(part: Number | Date, read: Callable[[object, str, str], Any],
          example: str) -> tuple[Any, ...]:
    """Cut points, each larger than the one before, inside of the bounds."""
    given: object = part.cuts
    if isinstance(given, tuple) and not given:
        return ()
    shown = f"column {part.name!r}: cuts is {quoted(given)}; write"
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        raise DomainError(f"{shown} a list of points, for example cuts = {example}")
    listed = list(given)
    if len(listed) > LARGEST_CUTS:
        raise DomainError(f"column {part.name!r}: cuts has {len(listed)} points; "
                          f"{LARGEST_CUTS} are allowed")
    if any(one is None for one in listed):
        raise DomainError(f"{shown} a point at each place, for example cuts = {example}")
    points = tuple(read(one, part.name, "a cut point") for one in listed)
    if any(first >= second for first, second in pairwise(points)):
        raise DomainError(f"{shown} points of which each is larger than the one before")
    low, high = part.reach
    for point in points:
        if not low <= point <= high:
            raise DomainError(f"column {part.name!r}: the cut point {_plainly(point)} lies outside "
                              f"of its bounds, {_plainly(low)} to {_plainly(high)}; "
                              "leave it out, or correct the bounds")
    return points


def _plainly(point: float | dt.datetime) -> str:
    if isinstance(point, dt.datetime):
        return point.isoformat().removesuffix("T00:00:00")
    return f"{point:g}"


def _check_format(name: str, form: object) -> None:
    """A format that lacks a year would warn, or guess one, when rows are read."""
    day = dt.datetime(2000, 2, 29, tzinfo=dt.UTC)
    try:
        whole = isinstance(form, str) and form.isascii() and (
            dt.datetime.strptime(day.strftime(form), form).replace(tzinfo=dt.UTC) == day)
    except (ValueError, re.error):
        whole = False
    if not whole:
        raise DomainError(f"column {name!r}: format is {quoted(form)}; write day, month and year, "
                          'for example "%d.%m.%Y", or leave it out for ISO 8601')
