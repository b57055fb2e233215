"""Drafting: a domain file for an opened table, by its names and types; with a look, a private one.

A look reads rows, so all that it says is `seen`: no plan takes it before a public fact stands in
its place.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any

from privsieve.entries import load
from privsieve.errors import SchemaError
from privsieve.public.canonical import FLAGS, is_whole, quoted
from privsieve.public.columns import Category
from privsieve.public.domain import Csv
from privsieve.public.draft import ID, NO, YES, Proposal, TableFacts, draft, proposed
from privsieve.rows.cells import date_cell, distinct, number_cell, texts
from privsieve.rows.source import TEXT_FILES, Source, fold, open_source
from privsieve.rows.written import looked_at, recognised

#: So many rows are looked at, the first ones, and so many cells.
_ROWS, _CELLS = 20_000, 1_000_000
#: A kind is seen where so large a share of the cells is of it.
_MOST = 0.9
#: A category has at most so many values; a label is listed up to so many.
_VALUES, _CLASSES = 60, 30
#: So many different texts are tried in each form of a date.
_TRIED = 500
#: From so many rows on, a column of which almost all cells differ is no category.
_FEW_ROWS = 20
_BY_LOOK = ("by a look at the rows these differ almost everywhere; take these lines away before "
            "the file leaves")
_FORMS = (None, "%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%Y%m%d",
          "%d-%m-%Y", "%d.%m.%Y %H:%M")
_FLAG_WORDS = FLAGS.keys() | YES | NO
#: The types of pandas and polars that list their levels apart from the rows.
_LISTING_DTYPES = ("CategoricalDtype", "Enum")
#: What is often written for a number that nobody knows.
_CODES = r"-?(9+|9*8|9*7|8+)|-1"


def draft_table(X: Any, target: str | None, classes: Iterable[object], *, person: str | None,
                code_book: Any, look: bool) -> str:
    """Draft a domain file for a table; `Domain.draft` says what each argument is."""
    source, csv = opened(X, look=look)
    by_dtype, book = isinstance(code_book, str) and code_book == "dtype", None
    if by_dtype:
        book = _listed_levels(_declared_levels(X, source), source.columns)
    elif isinstance(code_book, Mapping):
        book = _listed_levels(code_book, source.columns)
    elif code_book is not None:
        book = load("source", "code-book")(code_book, source.columns)
    facts = TableFacts(target, tuple(map(str, classes)), person=person, csv=csv, by_dtype=by_dtype)
    return drafted(source, facts, book=book, look=look)


def _declared_levels(X: Any, source: Source) -> dict[str, Any]:
    """Return the levels that the column types of a frame list; no row is read.

    A name that is an identifier's or a free text's, and a column of true and false, stay what they
    are.  A polars Categorical and an Arrow dictionary take their levels from the rows.
    """
    dtypes = dict(zip(source.columns, getattr(X, "dtypes", ()), strict=False))
    listed = {name: dtype.categories.to_list() for name, dtype in dtypes.items()
              if type(dtype).__name__ in _LISTING_DTYPES}
    if not listed:
        raise SchemaError('code_book is "dtype", and no column lists its levels in its type; give '
                          "a pandas frame with category columns, or a polars frame with Enum")
    kinds = dict(zip(source.columns, source.types, strict=True))
    return {name: values for name, values in listed.items()
            if kinds[name] != "flag" and not proposed(name, kinds[name]).why}


def _listed_levels(lists: Mapping[Any, Any], columns: Sequence[str]) -> dict[str, Proposal]:
    """Return a category for each column of a code book that is a mapping: name to values."""
    known = set(map(fold, columns))
    for name in lists:
        if not isinstance(name, str) or fold(name) not in known:
            raise SchemaError(f"the code book names {quoted(name)}, which is no column of the "
                              "table; correct the name, or take it out")
    return {name: Proposal(name, "category", {"values": list(Category(name, values).values)})
            for name, values in lists.items()}


def opened(X: Any, *, look: bool = False) -> tuple[Source, Csv]:
    """A table of any form, and, of a CSV file, how it is written."""
    csv = Csv()
    if isinstance(X, (str, os.PathLike)) and Path(X).suffix.lower() in TEXT_FILES:
        csv = recognised(Path(X))
        csv = looked_at(Path(X), csv) if look else csv
    return open_source(X, csv=csv), csv


def drafted(source: Source, facts: TableFacts, *, book: Mapping[str, Proposal] | None = None,
            look: bool = False) -> str:
    """A domain file for a table: by names and types, by what a code book says, or by a look.

    Parameters
    ----------
    source : of which the names and types are taken, and with `look` rows.
    facts : what is said of the table.
    book : what a code book says, by the names of columns.
    look : read rows; the draft is then private, and refused until each `seen` is replaced.
    """
    known = {fold(name): entry for name, entry in (book or {}).items()}
    entries = []
    for name, kind in zip(source.columns, source.types, strict=True):
        said = known.get(fold(name))
        entries.append(proposed(name, kind) if said is None else replace(said, name=name))
    if look:
        told = {fold(name) for name in known} | {facts.person}
        unknown = [entry.name for entry in entries
                   if entry.why != ID and fold(entry.name) not in told
                   and not (entry.name == facts.target and facts.classes)]
        found = _looked(source, unknown, facts)
        entries = [found.get(entry.name, entry) for entry in entries]
    return draft(entries, facts, private=look)


# --- a look --------------------------------------------------------------------------------------

def _looked(source: Source, names: Sequence[str], facts: TableFacts) -> dict[str, Proposal]:
    """What the rows say of these columns.  PRIVATE."""
    if not names:
        return {}
    counts: list[Counter[str]] = [Counter() for _ in names]
    rows, most = 0, max(1, min(_ROWS, _CELLS // len(names)))
    for batch in source.raw(names, min(most, 10_000)):
        for count, column in zip(counts, batch, strict=True):
            cells, which = distinct(column)
            said = texts(cells)
            count.update(said[at] for at in which.tolist())
        rows += len(batch[0])
        if rows >= most:
            break
    decimal = facts.csv.signs
    return {name: _target(name, count, decimal) if name == facts.target
            else _column(name, count, decimal) for name, count in zip(names, counts, strict=True)}


def _column(name: str, count: Counter[str], decimal: str) -> Proposal:
    """The kind that the cells of a column have.  PRIVATE."""
    del count[""]
    total, words = max(1, count.total()), {text: text.lower() for text in count}
    if len(set(words.values())) == 2 and all(one in _FLAG_WORDS for one in words.values()):
        own = [f'{key} = "{text}"' for key, those in (("true", YES), ("false", NO))
               for text, word in words.items() if word in those]
        return Proposal(name, "flag", seen=(*sorted(count), *own))
    numbers = _known({text: number_cell(text, decimal) for text in count})
    if _weight(count, numbers) > _MOST * total:
        return Proposal(name, "number", seen=tuple(_ranges(numbers, count)))
    some = list(islice(count, _TRIED))
    form = max(_FORMS, key=lambda one: len(_known({text: date_cell(text, one) for text in some})))
    days = _known({text: date_cell(text, form) for text in count})
    if _weight(count, days) > _MOST * total:
        first, *_, last = sorted(days, key=days.__getitem__) * 2
        return Proposal(name, "date", {} if form is None else {"format": form},
                     seen=(f"{first} to {last}",))
    if len(count) > _VALUES or (total >= _FEW_ROWS and len(count) > _MOST * total):
        return Proposal(name, "", why=_BY_LOOK)
    return Proposal(name, "category", seen=tuple(sorted(count)))


def _known(values: Mapping[str, float]) -> dict[str, float]:
    return {text: value for text, value in values.items() if isfinite(value)}


def _weight(count: Counter[str], texts: Iterable[str]) -> int:
    """How many cells have one of these texts."""
    return sum(count[text] for text in texts)


def _target(name: str, count: Counter[str], decimal: str) -> Proposal:
    """A label where there are few values, else a number.  PRIVATE."""
    del count[""]
    if len(count) > _CLASSES:
        return _column(name, count, decimal)
    return Proposal(name, "label", seen=tuple(int(one) if is_whole(one) else one
                                           for one in sorted(count)))


def _ranges(numbers: Mapping[str, float], count: Counter[str]) -> list[str]:
    """From where to where numbers go, what looks like a code for missing, and what is none."""
    odd = sorted(count.keys() - numbers.keys())
    values = sorted(set(numbers.values()))
    rest = [value for value in values if not re.fullmatch(_CODES, f"{value:g}")]
    codes = [value for value in values if len(rest) > 1 and value not in rest and (
        2 * max(value - rest[-1], rest[0] - value) > rest[-1] - rest[0]
        or value < 0 <= rest[0])]
    kept = [value for value in values if value not in codes] or values
    said = [f"{kept[0]:g} to {kept[-1]:g}"]
    if codes:
        listed = ", ".join(f"{code:g}" for code in codes)
        said.append(f"{listed} far away: if a code for missing, write missing_values = [{listed}]")
    return said + [f"no number: {text}" for text in odd[:5]]
