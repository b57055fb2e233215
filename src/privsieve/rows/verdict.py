"""Verdict: whether a column can do its work as it is declared, why not, and what to write.

PRIVATE, for the holder of the table.  What is proposed and was read from rows says so: a fact of
the rows is no fact of the domain until a code book, or who wrote the file, says the same.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple

import numpy as np

from privsieve.public.canonical import FLAGS
from privsieve.public.columns import (
    CODES,
    Category,
    Column,
    Date,
    Flag,
    Label,
    Number,
    Scalar,
    Target,
    known,
)
from privsieve.public.domain import FEW_CODES
from privsieve.rows.cells import bounds
from privsieve.rows.finding import BINS, FORMS, SUMS, WORDS, Finding

Words = Literal["stop", "look", "fine"]

#: How many spellings of a column are shown.
_SHOWN = 10
#: From so many rows on a column that differs in nearly all of them is taken for an identifier.
_MANY, _UNIQUE = 50, 0.9
#: A label that is lost in more than this part of the rows costs the whole choice.
_LABELS = 0.05
#: What stands beside every proposal that holds something of the table.
FROM_ROWS = "read from the rows"
_FLAG_FIX = ("write yes and no as one of 1/0, true/false, yes/no, y/n, t/f, declare the words "
             '(true = "ja", false = "nein"), or make it a category: these become the default')
_CROWDED_FIX = (f"most values lie within {FEW_CODES} codes of each other, too near to be told "
                "apart: write typical = [centre, spread], or near, or narrower bounds, from a code "
                "book and never from here")
_BIN_FIX = ("bounds as narrow as the code book allows, or typical = [centre, spread] from it, "
            "would spread the values")


class Verdict(NamedTuple):
    """Whether a column can do its work as it is declared, and why not.

    stop : nothing of it can be found, or most of it is lost
    look : something is lost or odd, and somebody should know of it
    """

    word: Words
    said: str

    def __repr__(self) -> str:
        return object.__repr__(self)


def verdict(found: Finding) -> Verdict:
    """Whether the column can do its work as it is declared.

    >>> from privsieve.rows.finding import look
    >>> verdict(look(Flag("smoker"), ["maybe", "no", "yes", "no"], ".")).said
    'some cells are not read as they stand'
    """
    return next((Verdict("stop", said) for said in _stops(found)),
                next((Verdict("look", said) for said in _looks(found)), Verdict("fine", "fine")))


def fixes(found: Finding) -> tuple[str, ...]:
    """What to write into the domain file, where something should be written."""
    if found.rows and (_is_identifier(found) or not found.present):
        return ("take it out of the domain file: nothing in it can be found",)
    if isinstance(found.part, Category | Label | Flag):
        return _value_fixes(found)
    return tuple(_number_fixes(found, found.part))


def told(found: Finding) -> dict[str, Any]:
    """The finding and its verdict for programs.  PRIVATE."""
    word, said = verdict(found)
    part, bins = found.part, found.bins
    return {
        "name": part.name, "kind": part.kind, "verdict": word, "said": said,
        **{name: getattr(found, name) for name in SUMS},
        "where": {trouble: list(places) for trouble, places in sorted(found.where.items())},
        "different": found.different.many, "different_exact": found.different.exact,
        "levels": _listed_levels(part), "levels_used": len(found.codes[0]),
        "bins": None if bins is None else bins.tolist(),
        "spellings": [{"text": text, "many": many, "first": first, "listed": _near(part, text)}
                      for text, many, first in found.spellings[:_SHOWN]],
        "more_spellings": max(0, len(found.spellings) - _SHOWN),
        "marks": [{"value": f"{mark:g}", "many": many, "first": first}
                  for mark, (many, first) in _suspects(found)],
        "forms": dict(sorted(found.forms.items())),
        "fixes": list(fixes(found)),
    }


def lines(found: Finding, place: str = "row") -> list[str]:
    """The finding and its verdict in words; a column without trouble has two lines."""
    word, said = verdict(found)
    head = f"{found.part.name} ({found.part.kind}): {said}"
    counted = [f"{count} {name} ({count / max(found.rows, 1):.1%}{_at(found, name, place)})"
               for name in WORDS if (count := getattr(found, name))]
    return [f"{word.upper()}: {head}" if word != "fine" else head,
            *([f"  {', '.join(counted)}"] if counted else []), f"  {_used(found)}",
            *(f"  {one}" for one in _shown_spellings(found, place)),
            *(f"  {one}" for one in _shown_marks(found, place)),
            *(f"  -> {fix}" for fix in fixes(found))]


# --- the verdict ---------------------------------------------------------------------------------

def _stops(found: Finding) -> Iterable[str]:
    """Why nothing of a column can be found; nothing where something can."""
    part, present, lost = found.part, found.present, found.lost
    read = present - lost
    if not found.rows:
        return
    if not present:
        yield "no cell is filled: nothing is left of it"
    elif _is_identifier(found):
        yield "almost every row has a text of its own: an identifier, of which nothing is left"
    elif not read:
        yield ("no cell says what the domain lists: nothing is left of it, every cell becomes "
               f"{_becomes(part)}")
    elif isinstance(part, Label) and lost > _LABELS * present:
        yield (f"{lost} of {present} labels are not read and become {_becomes(part)}: the answer "
               "would be to another question")
    elif 2 * lost > present:
        yield f"more than half of its cells are lost: they become {_becomes(part)}"
    elif 2 * (found.below + found.above) > read:
        yield "more than half of its values lie beyond the bounds: they become a bound"
    elif _constant(found):
        yield "only one class occurs: there is nothing to tell apart" if isinstance(
            part, Label) else "the same value in every row that has one: it cannot be found"
    elif found.crowded:
        yield ("every row has another whole number, and most share a few codes: an identifier?"
               if _all_whole_and_different(found) else
               "its values differ, and most share a few codes: they cannot be told apart")


def _looks(found: Finding) -> Iterable[str]:
    """What somebody should know of a column."""
    if _all_whole_and_different(found):
        yield "every row has another whole number: if it is an identifier, take it out"
    if found.in_one_bin:
        yield (f"nearly all values lie in 1 of the {BINS} equal bins of its bounds: what cuts it "
               "into bins, or computes with its bounds, sees little of it")
    if _suspects(found):
        yield "some values look like codes for missing"
    if found.lost or found.below or found.above:
        yield "some cells are not read as they stand"
    if found.rows and 2 * found.missing > found.rows:
        yield "more than half of its cells are empty"
    if isinstance(found.part, Label) and 0 < len(found.codes[0]) < len(found.part.values):
        yield "a class that the domain lists never occurs"


def _is_identifier(found: Finding) -> bool:
    """Whether almost every row has a text of its own."""
    return (isinstance(found.part, Category | Label | Flag) and found.present >= _MANY
            and found.different.many >= _UNIQUE * found.present)


def _all_whole_and_different(found: Finding) -> bool:
    read = found.present - found.lost
    return (isinstance(found.part, Number) and found.whole and read >= _MANY
            and found.different.many >= (1.0 if found.different.exact else _UNIQUE) * read)


def _constant(found: Finding) -> bool:
    if isinstance(found.part, Category):
        # What is not listed is a level of its own.
        return len(found.codes[0]) + (found.unlisted > 0) == 1
    if isinstance(found.part, Label | Flag):
        return len(found.codes[0]) == 1 and not found.lost
    return found.least == found.largest


def _suspects(found: Finding) -> list[tuple[float, tuple[int, int]]]:
    """Marks that stand far from all other values, or below them and below 0."""
    if found.others is None:
        return []
    low, high = found.others
    reach = max(high - low, 1.0)
    return [(mark, (many, first)) for mark, (many, first) in sorted(found.marks.items())
            if many > 1 and (mark - high >= reach or low - mark >= reach
                             or (mark < 0 <= low and found.whole))]


def _becomes(part: Column | Target) -> str:
    if isinstance(part, Category):
        return '"other"'
    return "the default" if isinstance(part, Label | Flag) else "missing"


# --- in words ------------------------------------------------------------------------------------

def _at(found: Finding, word: str, place: str) -> str:
    places = found.where.get(word, ())
    if not places:
        return ""
    more = " …" if getattr(found, word) > len(places) else ""
    return f"; {place}{'s' if len(places) > 1 else ''} {', '.join(map(str, places))}{more}"


def _used(found: Finding) -> str:
    """What is in use of levels, codes and bins."""
    part, (codes, _many), bins = found.part, found.codes, found.bins
    about = "" if found.different.exact else "about "
    values = f"{about}{found.different.many} different values"
    if isinstance(part, Category | Label | Flag):
        return f"{values}; {len(codes)} of {_listed_levels(part)} levels in use"
    said = f"{values}; {len(codes)} of {CODES} codes"
    if bins is None or not bins.sum():
        return f"{said} in use"
    fullest = int(bins.max()) * 100 // int(bins.sum())
    return f"{said}, {int((bins > 0).sum())} of {BINS} bins in use (the fullest has {fullest} %)"


def _listed_levels(part: Column | Target) -> int | None:
    """How many levels the domain lists; None of a number or date."""
    if isinstance(part, Flag):
        return 2
    return len(part.values) if isinstance(part, Category | Label) else None


def _listed(part: Category | Label | Flag) -> Mapping[str, Scalar]:
    """Each text that is read, and the declared value that it says."""
    table, _ = known(part)
    if isinstance(part, Flag):
        return {text: text for text in table}
    return {text: part.values[code] for text, code in table.items()}


def _near(part: Column | Target, text: str) -> str | None:
    """The declared value that is spelled nearly so, as JSON; None where there is none."""
    if not isinstance(part, Category | Label | Flag):
        return None
    loose = {_loose(listed): value for listed, value in _listed(part).items()}
    near = get_close_matches(_loose(text), loose, 1, 0.8) if len(text) > 3 else []
    found = loose.get(_loose(text), loose[near[0]] if near else None)
    return None if found is None else quoted_value(found)


def _shown_spellings(found: Finding, place: str) -> list[str]:
    """The texts that are not read, the most frequent first."""
    lines = []
    for text, many, first in found.spellings[:_SHOWN]:
        near = _near(found.part, text)
        hint = "" if near is None else f": the domain lists {near}"
        lines.append(f"{quoted_value(text)} {many} times, first in {place} {first}{hint}")
    if len(found.spellings) > _SHOWN:
        lines.append(f"and {len(found.spellings) - _SHOWN} other texts")
    return lines


def _shown_marks(found: Finding, place: str) -> list[str]:
    return [f"{mark:g} {many} times, first in {place} {first}, far from all other values"
            for mark, (many, first) in _suspects(found)]


def _value_fixes(found: Finding) -> tuple[str, ...]:
    part = found.part
    if isinstance(part, Flag) and found.unlisted:
        return (_FLAG_FIX,)
    if isinstance(part, Flag) or not found.unlisted:
        return ()
    assert isinstance(part, Category | Label)
    becomes = _becomes(part)
    if len(found.spellings) > _SHOWN:
        said = "list the texts of the code book that matter in values = [...]: the others become"
        return (f"{said} {becomes}",)
    near = [one.text for one in found.spellings if _near(part, one.text) is not None]
    far = [one.text for one in found.spellings if one.text not in near]
    fixes = []
    if near:
        fixes.append("correct the table, or write its spelling in values: "
                     f"these become {becomes}")
    if far:
        listed = ", ".join(map(quoted_value, far))
        fixes.append(f"if the code book lists them, add {listed} ({FROM_ROWS}) to values, or leave "
                     f"it: these become {becomes}")
    return tuple(fixes)


def _number_fixes(found: Finding, part: Number | Date) -> Iterable[str]:
    low, high = bounds(part)
    suspects = _suspects(found)
    if found.below > sum(many for mark, (many, _) in suspects if mark < low):
        least = _shown(part, found.least, math.floor)
        yield (f"these become low (the least, {FROM_ROWS}, is {least}); if the code book allows "
               "less, write its bound")
    if found.above > sum(many for mark, (many, _) in suspects if mark > high):
        largest = _shown(part, found.largest, math.ceil)
        yield (f"these become high (the most, {FROM_ROWS}, is {largest}); if the code book allows "
               "more, write its bound")
    if suspects:
        yield ("if the code book says that such a number is a missing value, empty these cells in "
               "a copy of the table: as they stand they are numbers")
    best = max(found.forms.values(), default=0)
    if best:
        fit = " or ".join(f'"{form}"' for form in FORMS if found.forms.get(form) == best)
        yield (f"format = {fit} would read {best} of them ({FROM_ROWS}: ask who wrote the file); a "
               "column has one format: bring all dates into it")
    elif found.unparsable and isinstance(part, Number) and {
            one.text.lower() for one in found.spellings} <= FLAGS.keys():
        yield (f'these become missing, and are words for yes and no ({FROM_ROWS}): if the code '
               'book says so, write kind = "flag"')
    elif found.unparsable:
        form = "format" if isinstance(part, Date) else "csv.decimal (or points for thousands)"
        yield (f"these become missing: right for a word that says so, else check {form} and the "
               "kind of the column")
    if _all_whole_and_different(found):
        yield "take an identifier out of the domain file: it says nothing about anybody else"
    if found.crowded:
        yield _CROWDED_FIX
    elif found.in_one_bin:
        yield _BIN_FIX


def _loose(text: str) -> str:
    """Without what people forget: capitals and spaces."""
    return "".join(text.casefold().split())


def quoted_value(value: Scalar) -> str:
    """A value in ASCII, so that no control or direction character reaches the terminal."""
    return json.dumps(value)


def _shown(part: Column | Target, value: float | None, outward: Callable[[float], int]) -> str:
    if isinstance(part, Date) and value is not None:
        # The day before, or after, so that the bound holds the value.
        return str(np.datetime64(outward(value), "D"))
    return "" if value is None else repr(int(value) if value.is_integer() else value)
