"""Names: what a new population may be called, and which two names people would take for one.

Two names of the same people are two budgets.  What a screen shows alike is therefore one name, and
a name of mixed scripts is none.  A name that was in the ledger before this rule stays as it stands.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable

from privsieve.errors import LedgerError, ParameterError

LARGEST_NAME = 128

#: Scripts that one language mixes.
_TOGETHER = (frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"}),
             frozenset({"CJK", "HANGUL"}), frozenset({"CJK", "BOPOMOFO"}))
#: Letters that look like Latin ones as small letters, and as capitals.
_SMALL = str.maketrans("аеѕіјорсухһԁԛԝӏɑɡıαινορυχγωκłøđħŧʼ", "aesijopcyxhdqwlagiaivopuxywklodht'")
_LARGE = str.maketrans("АВЕЅІЈКМНОРСТУХѴԌԚԜҺӀΑΒΕΖΗΙΚΜΝΟΡΤΥΧŁØĐĦŦ",
                       "ABESIJKMHOPCTYXVGQWHIABEZHIKMNOPTYXLODHT")


def checked(name: object, what: str) -> str:
    """A name that a screen can show as it is."""
    plain = isinstance(name, str) and name.isprintable() and name == name.strip()
    if not isinstance(name, str) or not plain or not 1 <= len(name) <= LARGEST_NAME:
        raise ParameterError(f"{what} is {name!r}; write 1 to {LARGEST_NAME} printable "
                             "characters, without a space at either end")
    return name


def checked_path(path: str) -> str:
    """The name of a ledger's file."""
    path = os.fspath(path)
    if not path or "\0" in path:
        raise ParameterError("the ledger's path is empty or holds a NUL; write budget.db")
    if "://" in path:
        # Not echoed: a URL may hold a password.
        raise ParameterError("the ledger is a URL; this version keeps a ledger in a file, for "
                             "example budget.db, and PostgreSQL comes with a later one")
    return path


def check_new(name: str) -> None:
    """Refuse a new name that is not in compatibility form, or of letters of several scripts.

    >>> check_new("Клиника 2026"), check_new("clinic-2026")
    (None, None)
    """
    plain = unicodedata.normalize("NFKC", name)
    if plain != name:
        raise ParameterError(f"population is {name!r}; its letters have a plain form: write "
                             f"{plain!r}")
    # A bare accent or a sign outside of ASCII could be seen as something else, or not at all.
    odd = [c for c in name if not c.isascii() and unicodedata.category(c)[0] not in "LMNP"]
    if odd:
        raise ParameterError(f"population is {name!r}; write letters, digits, punctuation and "
                             "spaces")
    scripts = {_script(c) for c in name if unicodedata.category(c)[0] == "L"}
    if len(scripts) > 1 and not any(scripts <= mixed for mixed in _TOGETHER):
        raise ParameterError(f"population is {name!r}; its letters are of several scripts "
                             f"({', '.join(sorted(scripts)).lower()}), and a name that looks like "
                             "another one would be a budget of its own: write it in one script")


def check_unlike(name: str, known: Iterable[str]) -> None:
    """Refuse a name that looks like a known one, which it names."""
    for other in known:
        if other != name and alike(other, name):
            raise LedgerError(f"{other}: these people are in the ledger under this spelling, and "
                              f"{name!r} looks like it; use it, for two names would be two "
                              "accounts")


def alike(one: str, other: str) -> bool:
    """Whether two names differ in nothing that people see: capitals, accents, forms, look-alikes.

    >>> alike("Clinic", "clіnic"), alike("clinic-1", "clinic-2")
    (True, False)
    """
    return _small(one) == _small(other) or _large(one) == _large(other)


def _small(name: str) -> str:
    return _bare(_bare(name).casefold().translate(_SMALL))


def _large(name: str) -> str:
    return _bare(_bare(name).upper().translate(_LARGE)).casefold()


def _bare(name: str) -> str:
    """Without accents, with plain hyphens and digits."""
    return "".join("-" if unicodedata.category(c) == "Pd" or c == "\u2212"
                   else str(unicodedata.digit(c, c))
                   for c in unicodedata.normalize("NFKD", name)
                   if unicodedata.category(c)[0] != "M")


def _script(letter: str) -> str:
    """The script of a letter: the first word of its name."""
    return unicodedata.name(letter, "UNKNOWN").split()[0]
