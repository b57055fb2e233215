"""Spelling: which texts say the same value, decided by the text and the domain alone.

A number and a text that writes it are one level, and so are true and the ways to write it.  No rule
looks at another cell, so that no cell decides how another one is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from privsieve.errors import DomainError
from privsieve.public.shown import quoted

#: What may stand around a text.
BLANK = " \t"
#: How yes and no are written in a flag; capitals do not matter.
FLAGS = dict.fromkeys(("1", "true", "yes", "y", "t"), 1) | dict.fromkeys(
    ("0", "false", "no", "n", "f"), 0)
#: How true and false are written where they are values among others.
TRUE = ("1", "true", "True", "TRUE")
FALSE = ("0", "false", "False", "FALSE")

_WHOLE = re.compile(r"([+-]?)(0|[1-9][0-9]*)(?:\.0*)?")


def plain(text: str) -> str:
    """A text without blanks around it; a whole number without plus sign, point and zeros after it.

    >>> plain(" A "), plain("+3.00"), plain("-0.0"), plain("007"), plain("1.50")
    ('A', '3', '0', '007', '1.50')
    """
    text = text.strip(BLANK)
    # Most texts are as they should be: only these can be written shorter.
    if "." in text or text[:1] == "+" or text[:2] == "-0":
        found = _WHOLE.fullmatch(text)
        if found is not None:
            minus = found[1] == "-" and found[2] != "0"
            return f"-{found[2]}" if minus else found[2]
    return text


def is_whole(text: str) -> bool:
    """Whether a text is a whole number as `plain` writes it.

    >>> is_whole("-3"), is_whole("03"), is_whole("1.5")
    (True, False, False)
    """
    return _WHOLE.fullmatch(text) is not None


def coded(texts: Sequence[str]) -> dict[str, int]:
    """The codes of listed texts, and of what says the same as exactly one of them.

    A listed text is never read as another one.

    >>> coded(["0", "1"])["True"], coded(["true", "1"])["1"], "TRUE" in coded(["true", "1"])
    (1, 1, False)
    """
    table = {text: code for code, text in enumerate(texts)}
    for words in (TRUE, FALSE):
        listed = [table[word] for word in words if word in table]
        if len(listed) == 1:
            table |= dict.fromkeys(words, listed[0])
    return table


def reads_flags(table: Mapping[str, int]) -> bool:
    """Whether true and false have one answer each, however they are written, and one is listed.

    >>> reads_flags(coded(["0", "1"])), reads_flags(coded(["A"])), reads_flags(coded(["true", "1"]))
    (True, False, False)
    """
    answers = [{table.get(word) for word in words} for words in (TRUE, FALSE)]
    return all(len(one) == 1 for one in answers) and answers != [{None}, {None}]


def words(given: object, name: str, code: int) -> tuple[str, ...]:
    """The words that a flag of this name declares for yes (1) or no (0), checked.

    >>> words(["ja", 5, "5.0"], "smoker", 1)
    ('ja', '5', '5')
    """
    key = "true" if code else "false"
    listed = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    found = []
    for word in listed:
        text = plain(str(int(word) if isinstance(word, bool) else word))
        if not isinstance(word, (str, int)) or not text or not text.isprintable():
            raise DomainError(f"column {name!r}: {key} is {quoted(given)}; write a word or a list "
                              f'of words, for example {key} = "{"ja" if code else "nein"}"')
        if FLAGS.get(text.lower(), code) != code:
            raise DomainError(f"column {name!r}: {key} is {quoted(text)}, which always says the "
                              "other; make the column a category if it says something else here")
        found.append(text)
    return tuple(found)
