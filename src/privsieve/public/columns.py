"""Columns: what is public about each, checked where it is written down.

A kind of column is one class: its options, how they are read, and how its cells become codes.
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
#: What a stranger may know of a column that is published: "known" is what its kind says,
#: "presences" that a person has an item, "both" its absence as well; "sensitive" is not to be
#: learned.  Methods with noise do not ask.
Role = Literal["known", "presences", "both", "sensitive"]
Moment = dt.datetime

#: Codes are unsigned 16-bit integers.
CODES = 65536
#: Numbers that stand for none.
MOST_CODES = 100
#: At most so many formats of one column of dates; and the name of the one that needs no letters.
MOST_FORMS, ISO = 8, "ISO 8601"
#: The code of "missing" where missing is a level of its own (then values use 0..65534).
MISSING = CODES - 1
#: The code of "missing" where missing is the middle.
MIDDLE = CODES // 2
#: Where days are counted from, and microseconds in a day.
EPOCH, DAY = dt.datetime(1970, 1, 1), 86_400_000_000  # noqa: DTZ001
#: Of a whole number among the values of a column.
LARGEST_DIGITS = 100
LARGEST_CUTS = 1000


# --- options, each read where a part is made ------------------------------------------------------

def _option(read: Callable[[Any, str, Any], Any], *, optional: bool = True, **default: Any) -> Any:
    """A field that `read` checks; an optional one is left out of JSON where it is the default."""
    return field(metadata={"read": read, "optional": optional}, **default)


def _word(*words: str) -> Callable[[Any, str, Any], Any]:
    def read(part: Any, key: str, value: object) -> object:
        check_word(part, key, words)
        return value

    return read


def _wrong(part: Any, key: str, way: str) -> DomainError:
    """What is said of an option: its value, and what to write."""
    return DomainError(f"column {part.name!r}: {key} is {quoted(getattr(part, key))}; {way}")


def _flag(part: Any, key: str, value: object) -> object:
    if not isinstance(value, bool):
        raise _wrong(part, key, "write true or false")
    return value


def _bound(part: Any, key: str, value: object) -> object:
    """A bound of a number: both are given, or none."""
    none = part.low is None and part.high is None
    return None if none else finite(value, part.name, key)


def _near(part: Any, key: str, value: object) -> object:
    return None if value is None else finite(value, part.name, key)


def _is_list(value: object) -> bool:
    return not isinstance(value, (str, bytes)) and hasattr(value, "__iter__")


def _missing_values(part: Any, key: str, value: Any) -> tuple[float, ...]:
    """The numbers that stand for none, each once and in their order."""
    listed = [*value] if _is_list(value) else []
    if (not listed and not isinstance(value, (tuple, list))) or None in listed or (
            len(listed) > MOST_CODES):
        raise _wrong(part, key, f"write a list of at most {MOST_CODES} numbers, for example "
                                "missing_values = [99]")
    return tuple(sorted({finite(one, part.name, "a missing value") for one in listed}))


def _moment(part: Any, key: str, value: object) -> Moment:
    return moment_of(value, part.name, key)


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
        raise DomainError(f"column {name!r}: {end} is {quoted(value)}, which its offset takes out "
                          "of the years 1 to 9999; write it in universal time") from None
    except Exception:  # noqa: BLE001  # a date of another library, with a zone of its own
        raise DomainError(f"column {name!r}: {end} is {quoted(value)}; write a date such as "
                          "2020-01-01") from None


def _form(part: Any, key: str, form: Any) -> object:
    """Return a format, or a tuple of several; one without a year would warn when rows are read."""
    forms = [form] if form is None or isinstance(form, str) else form
    if not isinstance(forms, (list, tuple)) or not 1 <= len(forms) <= MOST_FORMS or not all(
            map(_is_form, forms)):
        raise _wrong(part, key, 'write day, month and year, for example "%d.%m.%Y", or leave it '
                                f'out for {ISO}; a list such as ["{ISO}", "%d.%m.%Y"] is tried in '
                                "its order")
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
    """Cut points, each larger than the one before, inside of the bounds."""
    def points(part: Any, key: str, value: Any) -> tuple[Any, ...]:
        listed = list(value) if _is_list(value) else [None]
        if None in listed or len(listed) > LARGEST_CUTS:
            raise _wrong(part, key, f"write a list of points, for example cuts = {example}, of at "
                                    f"most {LARGEST_CUTS}")
        found = tuple(read(one, part.name, "a cut point") for one in listed)
        if any(first >= second for first, second in pairwise(found)):
            raise _wrong(part, key, "write points of which each is larger than the one before")
        ends = part.reach
        for point in found:
            if not ends[0] <= point <= ends[1]:
                shown, low, high = map(_plainly, (point, *ends))
                raise DomainError(f"column {part.name!r}: the cut point {shown} lies outside of its"
                                  f" bounds, {low} to {high}; leave it out, or correct the bounds")
        return found

    return points


def _plainly(point: float | Moment) -> str:
    return (point.isoformat().removesuffix("T00:00:00") if isinstance(point, dt.datetime)
            else f"{point:g}")


def _long(value: object) -> bool:
    """Whether a whole number has more digits than one that a cell could say."""
    return isinstance(value, int) and abs(value) >= 10**LARGEST_DIGITS


def _values(part: Any, _key: str, given: Any) -> tuple[Scalar, ...]:
    if not _is_list(given):
        raise DomainError(f"column {part.name!r}: values is missing; list every value that may "
                          'occur, for example values = ["A", "B"]')
    listed = tuple(v.item() if hasattr(v, "item") else v for v in given)
    for value in listed:
        text = text_of(value) if isinstance(value, str) else "1"
        if not isinstance(value, (str, int)) or not text or any(map(hidden, text)):
            raise DomainError(f"column {part.name!r}: the value {quoted(value)} is empty, holds "
                              "control or direction characters, or is neither a text nor a whole "
                              "number; correct it")
        if _long(value):
            raise DomainError(f"column {part.name!r}: the value {quoted(value)} has more than "
                              f"{LARGEST_DIGITS} digits; write it as a text")
    if len(set(map(text_of, listed))) < len(listed):
        raise DomainError(f"column {part.name!r}: a value is listed twice")
    if not 1 <= len(listed) < MISSING:
        raise DomainError(f"column {part.name!r}: values has {len(listed)} texts; list 1 to "
                          f"{MISSING - 1}")
    return listed


def _words(part: Any, key: str, given: Any) -> tuple[tuple[str, ...], ...]:
    """For each value its further words."""
    sides = [said if isinstance(said, (list, tuple)) else [said] for said in given] if _is_list(
        given) else [None]
    if len(sides) not in (0, len(part.values)) or not all(
            isinstance(word, (str, int)) and not _long(word) and text_of(word)
            and not any(map(hidden, text_of(word))) for said in sides for word in said or [None]):
        raise _wrong(part, key, f"write a word or a list of words for each of the "
                                f"{len(part.values)} values, for example "
                                'words = [["nein"], ["ja", "j"]]')
    return tuple(tuple(map(text_of, said)) for said in sides if said is not None) if any(
        sides) else ()


def _flag_words(part: Any, key: str, given: Any) -> tuple[str, ...]:
    return flag_words(given, part.name, int(key == "true"))


_ROLE = _word("known", "presences", "both", "sensitive")
_GAP = _word("middle", "level")


# --- the kinds ------------------------------------------------------------------------------------

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
    format: str | tuple[str, ...] | None = None

    def __init_subclass__(cls) -> None:
        if "kind" in vars(cls):
            KINDS[cls.kind] = cls

    def __post_init__(self) -> None:
        check_name(self.name)
        for item in fields(self):  # type: ignore[arg-type]  # each kind is a dataclass
            if read := item.metadata.get("read"):
                object.__setattr__(self, item.name,
                                   read(self, item.name, getattr(self, item.name)))
        self.check()

    def check(self) -> None:
        """Refuse options that contradict each other."""

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
        """Refuse bounds between which there is no grid, and a log scale without bounds above 0."""
        if self.low is not None and self.high is not None:
            said = f"column {self.name!r}: low is {self.low:g} and high is {self.high:g};"
            if not self.low < self.high:
                raise DomainError(f"{said} low must be the smaller")
            if self.high - self.low == math.inf or CODES / (self.high - self.low) == math.inf:
                raise DomainError(f"{said} no grid fits between them: bring them to bounds that a "
                                  "value could have")
        if self.scale == "log":
            said = f"column {self.name!r}: scale is log and"
            if self.low is None:
                raise DomainError(f"{said} low and high are missing; write both, or leave scale "
                                  "away: codes without bounds are finer near 0 anyhow")
            if self.low <= 0:
                raise DomainError(f"{said} low is {self.low:g}; a log scale needs low above 0")
            if self.near is not None:
                raise DomainError(f"{said} near says otherwise how values become codes: leave one "
                                  "away")

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

    format : as `strptime` reads it; of a list, the first format that reads a cell counts.

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
                     **more: Any) -> None: ...

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
            kind == "number" and isinstance(self.format, str) and self.format.startswith("%Y")
            and is_whole(self.low.strftime(self.format)))


@dataclass(frozen=True)
class Flag(Listed):
    """Yes or no.  What is neither, and what is missing, becomes `default`.

    true, false : words, or one, that say yes and no beside the usual ones; capitals do not matter.

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
        """Refuse a word that says both."""
        both = {word.lower() for word in self.true} & {word.lower() for word in self.false}
        if both:
            raise DomainError(f"column {self.name!r}: {quoted(min(both))} stands for true and for "
                              "false; take one away")

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
    words : for each value, further words that say the same.

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
        """Refuse one value alone, another default, and a text that would be read as two values."""
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


def no_grid(name: str) -> str:
    """What to do where a method computes with the codes of a number that has no grid.

    >>> no_grid("sodium")[:38]
    "column 'sodium' has no bounds, or has "
    """
    return (f"column {name!r} has no bounds, or has near, so that its codes are no equal steps: "
            "write low and high from a code book, without near, never from this table (RuleSieve "
            "takes it as it is)")


def _spelled(part: Listed) -> tuple[list[str], list[list[str]]]:
    """The texts by which values and their further words are compared."""
    texts, words = [text_of(value) for value in part.values], getattr(part, "words", ())
    if not part.ignore_case:
        return texts, [list(said) for said in words]
    return [text.lower() for text in texts], [[word.lower() for word in said] for said in words]


def _check_case(part: Listed) -> None:
    """Refuse a text that would be read as two values."""
    texts, words = _spelled(part)
    table = coded(texts)
    twice = next((text for code, text in enumerate(texts) if texts.index(text) != code), None)
    for code, said in enumerate(words):
        twice = next((word for word in said if table.setdefault(word, code) != code), twice)
    if twice is not None:
        same = " where capitals are ignored" * part.ignore_case
        raise DomainError(f"column {part.name!r}: {quoted(twice)} stands for two values{same}; "
                          "take one away")
