"""Canonical: one way to write JSON, to spell a value, and to show a text of a file.

JSON is RFC 8785 for the values that we allow: strings, integers, booleans, null, lists, objects.
Floats are refused: their canonical form is where implementations differ.

A number and its text are one level, and so are true and its spellings.  A cell is read without
looking at other cells.

An amount of privacy is an exact fraction in computations, an integer of small units in files, and
a decimal text on screens.

A name, a level or a field of a file may hold escapes, line ends, or characters that change the
direction of writing.  They are written out before they reach a terminal.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from hashlib import sha256
from json.encoder import encode_basestring
from typing import Any, Literal

from privsieve.errors import DomainError, ParameterError

Json = str | int | bool | None | Sequence["Json"] | Mapping[str, "Json"]

#: The first bytes of each hash of the ledger's chain.
_CHAIN = b"privsieve-ledger/1\0"
#: RFC 8785 numbers are doubles; larger integers would not survive a reader in another language.
LARGEST = 2**53 - 1
#: Our own files are nested less than a dozen times.
LARGEST_DEPTH = 64

#: Characters that are removed around a text.
BLANK = " \t"
#: How yes and no are written in a flag; capitals do not matter.
FLAGS = dict.fromkeys(("1", "true", "yes", "y", "t"), 1) | dict.fromkeys(
    ("0", "false", "no", "n", "f"), 0)
#: How true and false are written where they are values among others.
TRUE = ("1", "true", "True", "TRUE")
FALSE = ("0", "false", "False", "FALSE")

_WORDS: dict[bool | None, str] = {None: "null", True: "true", False: "false"}
_WHOLE = r"([+-]?)(0|[1-9][0-9]*)(?:\.0*)?"

#: Characters of the name of a column.
LARGEST_NAME = 128
#: Controls, formats, halves of characters, private ones, and ends of lines and paragraphs.
_NOT_IN_NAMES = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))
#: Characters of an error that quotes a value.
LARGEST_QUOTE = 80
#: Controls, halves of characters, ends of lines and of paragraphs.
_OBEYED = frozenset(("Cc", "Cs", "Zl", "Zp"))
#: Characters that change the direction of writing; other formats only join letters.
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

#: Units per 1: the ledger adds integers, so no sum depends on its order.
EPSILON_UNITS = 10**9
DELTA_UNITS = 10**18
RHO_UNITS = 10**12
#: The largest amount that an account holds; larger ones count as this.
TOP = 2**62 - 1
#: The computed digits of e^epsilon; far fewer are shown.
EXACT = Context(prec=60)
#: Above this epsilon the factor is not shown.
LARGEST_FACTOR = 25
_NUMBER = r"\+?[0-9]{1,18}(\.[0-9]{0,30})?([eE][+-]?[0-9]{1,2})?"


def canonical(value: Json) -> bytes:
    """Return the RFC 8785 form of a value.

    >>> canonical({"b": [1, None], "a": "ä"}).decode()
    '{"a":"ä","b":[1,null]}'
    """
    try:
        return _write(value).encode("utf-8")  # a lone surrogate has no form: UnicodeEncodeError
    except RecursionError:
        raise TypeError("it is nested too deeply for a canonical form") from None


def parsed(data: bytes | str) -> Any:
    """Read a JSON text; raise ValueError if it has no canonical form.

    >>> parsed(b'{"a": [1, null]}')
    {'a': [1, None]}
    """
    text = data.decode("utf-8") if isinstance(data, bytes) else data
    try:
        value = json.loads(text, parse_int=_integer, parse_float=_float, parse_constant=_float)
        level = [value]
        for _ in range(LARGEST_DEPTH):
            if not level:
                break
            level = [child for item in level if isinstance(item, list | dict)
                     for child in (item.values() if isinstance(item, dict) else item)]
    except RecursionError:
        level = [None]
    if level:
        raise ValueError("it is nested too deeply")
    if "\\u" in text:
        canonical(value)  # half a character can be written as an escape alone
    return value


def _integer(text: str) -> int:
    if len(text) > 17 or abs(int(text)) > LARGEST:
        raise ValueError("a number is beyond 2**53 - 1")
    return int(text)


def _float(_text: str) -> float:
    raise ValueError("a number is not a whole number")


def digest(data: bytes) -> str:
    """Return the SHA-256 in lower-case hexadecimal.

    >>> digest(b"")[:8]
    'e3b0c442'
    """
    return sha256(data).hexdigest()


def link(prev: str, payload: bytes) -> str:
    """Return the hash of a chain's entry: SHA-256 of a tag, the previous hash and the payload.

    >>> link("00" * 32, b"{}")[:8]
    '6b3d8bb8'
    """
    return digest(_CHAIN + bytes.fromhex(prev) + payload)


def _write(value: Json) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    if isinstance(value, int):
        if abs(value) > LARGEST:
            raise TypeError(f"{quoted(value)} is beyond 2**53 - 1; write it as a string")
        return str(value)
    if isinstance(value, (dict, Mapping)):
        # RFC 8785 sorts by UTF-16 code units; those of ASCII are its characters.
        keys = sorted(value, key=None if "".join(value).isascii() else _utf_16)
        return "{" + ",".join([f"{_write(key)}:{_write(value[key])}" for key in keys]) + "}"
    if isinstance(value, (list, Sequence)) and not isinstance(value, (bytes, bytearray)):
        return "[" + ",".join([_write(item) for item in value]) + "]"
    raise TypeError(f"{type(value).__name__} has no canonical form; use a string or an integer")


def _utf_16(name: str) -> bytes:
    return name.encode("utf-16-be")


# --- a value -------------------------------------------------------------------------------------

def plain(text: str) -> str:
    """Strip blanks around a text; of a whole number also the plus sign, and the point with zeros.

    >>> plain(" A "), plain("+3.00"), plain("-0.0"), plain("007"), plain("1.50")
    ('A', '3', '0', '007', '1.50')
    """
    text = text.strip(BLANK)
    # Only these texts can be written shorter.
    if "." in text or text[:1] == "+" or text[:2] == "-0":
        number = re.fullmatch(_WHOLE, text)
        if number is not None:
            minus = number[1] == "-" and number[2] != "0"
            return f"-{number[2]}" if minus else number[2]
    return text


def text_of(value: object) -> str:
    """Return the text by which a category, label or person is compared.

    >>> text_of(3), text_of(3.0), text_of("3.0"), text_of(" A "), text_of(True)
    ('3', '3', '3', 'A', '1')
    """
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return plain(str(value))


def is_whole(text: str) -> bool:
    """Return whether a text is a whole number as `plain` writes it.

    >>> is_whole("-3"), is_whole("03"), is_whole("1.5")
    (True, False, False)
    """
    return re.fullmatch(_WHOLE, text) is not None


def coded(texts: Sequence[str], words: Sequence[Sequence[str]] = ()) -> dict[str, int]:
    """Return the code of each listed text, and of each spelling that means exactly one of them.

    A listed text keeps its own code.  `words` are further texts of each code.

    >>> coded(["0", "1"])["True"], coded(["true", "1"])["1"], "TRUE" in coded(["true", "1"])
    (1, 1, False)
    """
    table = {text: code for code, spellings in enumerate(words) for text in spellings} | {
        text: code for code, text in enumerate(texts)}
    for same in (TRUE, FALSE):
        listed = {table[word] for word in same if word in table}
        if len(listed) == 1:
            table |= dict.fromkeys(same, listed.pop())
    return table


def reads_flags(table: Mapping[str, int]) -> bool:
    """Return whether all spellings of true have one code, and all of false, and one is listed.

    >>> reads_flags(coded(["0", "1"])), reads_flags(coded(["A"])), reads_flags(coded(["true", "1"]))
    (True, False, False)
    """
    answers = [{table.get(word) for word in words} for words in (TRUE, FALSE)]
    return all(len(codes) == 1 for codes in answers) and answers != [{None}, {None}]


def flag_words(value: object, name: str, code: int) -> tuple[str, ...]:
    """Check the words that a flag of this name declares for yes (1) or no (0).

    >>> flag_words(["ja", 5, "5.0"], "smoker", 1)
    ('ja', '5', '5')
    """
    key = "true" if code else "false"
    listed = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    words = []
    for word in listed:
        text = plain(str(int(word) if isinstance(word, bool) else word))
        if not isinstance(word, (str, int)) or not text or not text.isprintable():
            raise DomainError(f"column {name!r}: {key} is {quoted(value)}; write a word or a list "
                              f'of words, for example {key} = "{"ja" if code else "nein"}"')
        if FLAGS.get(text.lower(), code) != code:
            raise DomainError(f"column {name!r}: {key} is {quoted(text)}, which always means "
                              f"{'false' if code else 'true'}; if not here, declare a category")
        words.append(text)
    return tuple(words)


def finite(value: object, name: str, end: str) -> float:
    """Read a public number, which `end` names."""
    if value is None:
        raise DomainError(f"column {name!r}: {end} is missing; write the {end}est value that a "
                          "person could have, from a code book, never from this table (or omit "
                          "both bounds: RuleSieve needs none)")
    try:
        plain: Any = value.item() if hasattr(value, "item") else value
        number = math.nan if isinstance(plain, bool | str | bytes) else float(plain)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise DomainError(f"column {name!r}: {end} is {quoted(value)}; write a finite number")
    # -0.0 equals 0.0, and equal domains have equal digests.
    return number + 0.0


def check_word(column: Any, key: str, words: Sequence[str]) -> None:
    """Refuse an option of a column that is not one of these words."""
    value = getattr(column, key)
    if not isinstance(value, str) or value not in words:
        *first, last = (f'"{word}"' for word in words)
        raise DomainError(f"column {column.name!r}: {key} is {quoted(value)}; write "
                          f"{', '.join(first)} or {last}")


# --- texts from other people ---------------------------------------------------------------------

def hidden(character: str) -> bool:
    r"""Return whether a terminal obeys a character instead of showing it.

    >>> hidden("\x1b"), hidden("\u2028"), hidden("\u202e"), hidden("é")
    (True, True, True, False)
    """
    return character in _DIRECTIONS or unicodedata.category(character) in _OBEYED


def visible(text: str) -> str:
    r"""Write out the hidden characters of a text, except line ends and tabs.

    >>> print(visible("a\x1b[31mge\u202e\nb"))
    a\x1b[31mge\u202e
    b
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(c if c in "\n\t" or not hidden(c) else ascii(c)[1:-1] for c in text)


def quoted(value: object) -> str:
    """Return a value as an error quotes it: short, and in one line.

    >>> quoted(3), len(quoted("x" * 100)), quoted(10**5000)
    ('3', 80, 'a very long int')
    """
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  # an integer of very many digits, or a foreign object
        return f"a very long {type(value).__name__}"
    return text if len(text) <= LARGEST_QUOTE else text[:LARGEST_QUOTE - 1] + "…"


def check_name(name: object) -> None:
    """Refuse a column name that a screen or a report could not show as it is."""
    if not isinstance(name, str) or not name.strip():
        raise DomainError(f"a column name is {quoted(name)}; write a text that is not empty")
    if len(name) > LARGEST_NAME:
        raise DomainError(f"a column name has {len(name)} characters; write at most {LARGEST_NAME}")
    if not (name.isascii() and name.isprintable()) and any(
            unicodedata.category(c) in _NOT_IN_NAMES for c in name):
        raise DomainError("a column name contains line breaks, or control or direction "
                          "characters; rename the column")


#: A text that begins so may be run by a spreadsheet.
FORMULA = ("=", "+", "-", "@")


def is_formula(text: str) -> bool:
    """Return whether a spreadsheet that opens a CSV file may run this cell.

    >>> [is_formula(text) for text in ("=1+1", "@SUM(A1)", "-1.5", "-1,5", "-")]
    [True, True, False, False, False]
    """
    return len(text) > 1 and text.startswith(FORMULA) and re.fullmatch(
        "[+-][0-9.,]+([eE][+-]?[0-9]+)?%?", text) is None


#: The number of faults that are listed; more usually have one cause.
MOST_FAULTS = 20


def first_of(faults: Sequence[str]) -> list[str]:
    """Return the first faults, and how many more there are.

    >>> first_of(["a"] * 22)[-2:]
    ['a', 'and 2 more']
    """
    rest = [f"and {len(faults) - MOST_FAULTS} more"] * (len(faults) > MOST_FAULTS)
    return [*faults[:MOST_FAULTS], *rest]


def near(word: str, words: Iterable[str], share: float = 0.6) -> str | None:
    """Return the word with the most similar spelling, or None if none is similar.

    >>> near("colum", ["table", "column"]), near("x", [])
    ('column', None)
    """
    import difflib

    return next(iter(difflib.get_close_matches(word, list(words), 1, share)), None)


# --- amounts --------------------------------------------------------------------------------------

def exact(value: object, name: str) -> Fraction:
    """Read a privacy parameter as an exact fraction, from its decimal text.

    >>> exact(0.1, "epsilon")
    Fraction(1, 10)
    >>> exact("1e-6", "epsilon")
    Fraction(1, 1000000)
    """
    if isinstance(value, Fraction):
        return value
    text = quoted(value) if isinstance(value, int) else str(value).strip(" ")
    if isinstance(value, bool) or not re.fullmatch(_NUMBER, text):
        raise ParameterError(f"{name} is {quoted(text)}; write a positive decimal number such "
                             "as 0.5")
    return Fraction(text)


def exactly(value: Fraction, form: Literal["f", "g"] = "f") -> str:
    """Write a fraction as a finite decimal, or else as a quotient; `Fraction` reads both.

    >>> exactly(Fraction(9, 10)), exactly(Fraction(1, 3)), exactly(Fraction(1, 10**6), "g")
    ('0.9', '1/3', '1e-06')
    """
    text = f"{float(value):.12g}" if form == "g" else format(
        Context(prec=28).divide(Decimal(value.numerator), Decimal(value.denominator)), "f")
    return text if Fraction(text) == value else str(value)


def read_flag(value: object, name: str = "") -> bool:
    """Read a flag, or its text on a command line.

    >>> read_flag(True), read_flag("yes"), read_flag("no")
    (True, True, False)
    """
    words = {"True": True, "yes": True, "False": False, "no": False}
    plain: Any = value.item() if getattr(value, "shape", None) == () else value  # type: ignore[attr-defined]
    if not isinstance(plain, bool | str) or str(plain) not in words:
        if name:
            raise ParameterError(f"{name} is {quoted(value)}; write True or False")
        raise ValueError("True or False")
    return words[str(plain)]


def factor(epsilon: Fraction) -> str | None:
    """Return e^epsilon in three digits, rounded up; None if it is too large to mean anything.

    >>> factor(Fraction(1, 2)), factor(Fraction(10)), factor(Fraction(26))
    ('1.65', '22,100', None)
    """
    if epsilon > LARGEST_FACTOR:
        return None
    times = power(epsilon)
    return short(times.quantize(Decimal(1).scaleb(times.adjusted() - 2), rounding=ROUND_CEILING,
                                context=EXACT))


def power(epsilon: Fraction) -> Decimal:
    """Return e^epsilon."""
    return EXACT.exp(EXACT.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator)))


def short(value: Decimal) -> str:
    """Write a number with thousands separators, without an exponent or trailing zeros.

    >>> short(Decimal("1200.50"))
    '1,200.5'
    """
    text = f"{value:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def decimal(units: int, per: int = EPSILON_UNITS) -> str:
    """Write an integer of units of 1 / `per` as a decimal text.

    >>> decimal(2_500_000_000), decimal(3_000_000_000), decimal(0), decimal(10**12, DELTA_UNITS)
    ('2.5', '3', '0', '0.000001')
    """
    whole, rest = divmod(units, per)
    return f"{whole}.{rest:0{len(str(per)) - 1}d}".rstrip("0").rstrip(".")


def units_of(text: object, per: int) -> int | None:
    """Return the integer units of a decimal text; None if `decimal` would write another text.

    >>> units_of("0.5", 10**9), units_of("0.50", 10**9)
    (500000000, None)
    """
    try:
        units = exact(text, "an amount") * per
    except ParameterError:
        return None
    return int(units) if units.denominator == 1 and decimal(int(units), per) == text else None
