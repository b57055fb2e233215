"""Texts that a stranger wrote, as an error may quote them and a terminal may show them.

A name, a level or a field of a file may hold what a terminal obeys (escapes), what turns the
direction of a line, and what ends one.  None of it reaches a terminal as it is.
"""

from __future__ import annotations

import unicodedata

#: Characters of an error that quotes a value.
LARGEST_QUOTE = 80
#: Controls, halves of characters, ends of lines and of paragraphs.
_CATEGORIES = frozenset(("Cc", "Cs", "Zl", "Zp"))
#: What sets or turns a direction; other formats join letters, and belong to how words are written.
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def hidden(character: str) -> bool:
    r"""Whether a character is obeyed and not shown.

    >>> hidden("\x1b"), hidden("\u2028"), hidden("\u202e"), hidden("é")
    (True, True, True, False)
    """
    return character in _DIRECTIONS or unicodedata.category(character) in _CATEGORIES


def visible(text: str) -> str:
    r"""A text for a terminal: what would be obeyed is written out, but for the ends of lines.

    >>> print(visible("a\x1b[31mge\u202e\nb"))
    a\x1b[31mge\u202e
    b
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(c if c in "\n\t" or not hidden(c) else ascii(c)[1:-1] for c in text)


def quoted(value: object) -> str:
    """A value as an error quotes it: in one line, and not at length.

    >>> quoted(3), len(quoted("x" * 100)), quoted(10**5000)
    ('3', 80, 'a very long int')
    """
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  # an integer of very many digits, or a foreign object
        return f"a very long {type(value).__name__}"
    return text if len(text) <= LARGEST_QUOTE else text[:LARGEST_QUOTE - 1] + "…"
