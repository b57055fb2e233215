"""Drafting: a domain file for an opened table, by its names and types, or from its rows.

A look reads rows, so all that it says is private and written as `seen`.  No plan accepts `seen`:
its owner replaces it by a public fact.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.entries import load
from privsieve.errors import SchemaError
from privsieve.public.canonical import FLAGS, is_whole, quoted
from privsieve.public.columns import ISO, Category, Number
from privsieve.public.domain import Csv
from privsieve.public.draft import ID, NO, UNKNOWN, YES, Proposal, TableFacts, draft, proposed
from privsieve.rows.cells import date_cell, distinct, number_cell, numbers, texts
from privsieve.rows.finding import FORMS, Finding, look, suspects, whole_and_different
from privsieve.rows.source import TEXT_FILES, Source, fold, open_source
from privsieve.rows.written import explain_cells, looked_at, recognised

#: The number of rows that are looked at, from the first, and of cells.
_ROWS, _CELLS = 20_000, 1_000_000
#: A column has a kind if at least this share of its cells has it.
_MOST = 0.9
#: The most values of a category, and of a label that is listed.
_VALUES, _CLASSES = 60, 30
#: The number of different texts that are tried in each form of a date.
_TRIED = 500
#: From this number of rows on, a column whose cells almost all differ is no category.
_FEW_ROWS = 20
_BY_LOOK = (f"in the rows, these have over {_VALUES} texts, or a different text in almost every "
            "row; remove these lines before you share the file")
#: Words for missing are looked for where so large a share of the cells is a number or date.
_FIFTH = 0.2
#: Columns with at least this correlation are near-copies; of more columns it is not computed.
_COPY, _MOST_COMPARED = 0.99, 2000
_FLAG_WORDS = FLAGS.keys() | YES | NO
#: The types of pandas and polars that list their levels apart from the rows.
_LISTING_DTYPES = ("CategoricalDtype", "Enum")


def draft_table(X: Any, target: str | None, classes: Iterable[object], *, person: str | None,
                code_book: Any, look: bool) -> str:
    """Draft a domain file for a table; `Domain.draft` explains the arguments."""
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


def drafted(source: Source, facts: TableFacts, *, book: Mapping[str, Proposal] | None = None,
            look: bool = False) -> str:
    """Return the text of a domain file for a table; `propose_columns` explains the arguments."""
    return draft(*propose_columns(source, facts, book=book, look=look), private=look)


def _declared_levels(X: Any, source: Source) -> dict[str, Any]:
    """Return the levels that the column types of a frame list; no row is read.

    A name that is an identifier's or a free text's, and a column of true and false, stay what they
    are.  A polars Categorical and an Arrow dictionary take their levels from the rows.
    """
    dtypes = dict(zip(source.columns, getattr(X, "dtypes", ()), strict=False))
    listed = {name: dtype.categories.to_list() for name, dtype in dtypes.items()
              if type(dtype).__name__ in _LISTING_DTYPES}
    if not listed:
        raise SchemaError('code_book is "dtype", but no column lists its levels in its type; give '
                          "a pandas frame with category columns, or a polars frame with Enum")
    kinds = dict(zip(source.columns, source.types, strict=True))
    return {name: values for name, values in listed.items()
            if kinds[name] != "flag" and not proposed(name, kinds[name]).why}


def _listed_levels(lists: Mapping[Any, Any], columns: Sequence[str]) -> dict[str, Proposal]:
    """Return a category for each column of a code book that is a mapping: name to values."""
    known = set(map(fold, columns))
    for name in lists:
        if not isinstance(name, str) or fold(name) not in known:
            raise SchemaError(f"the code book names {quoted(name)}, but the table has no such "
                              "column; correct the name, or remove it")
    return {name: Proposal(name, "category", {"values": list(Category(name, values).values)})
            for name, values in lists.items()}


def opened(X: Any, *, look: bool = False) -> tuple[Source, Csv]:
    """Open a table of any form; return also the format of a CSV file."""
    csv = Csv()
    if isinstance(X, (str, os.PathLike)) and Path(X).suffix.lower() in TEXT_FILES:
        csv = recognised(Path(X))
        csv = looked_at(Path(X), csv) if look else csv
    return open_source(X, csv=csv), csv


def propose_columns(source: Source, facts: TableFacts, *,
                    book: Mapping[str, Proposal] | None = None,
                    look: bool = False, numbers: bool = False,
                    ) -> tuple[list[Proposal], TableFacts]:
    """Return a proposal for each column, and the facts with what a look adds to them.

    `Domain.draft` explains the arguments; `book` holds what its code book says, by column.  With
    `numbers` columns whose names say nothing are numbers.
    """
    known = {fold(name): entry for name, entry in (book or {}).items()}
    entries = []
    for name, kind in zip(source.columns, source.types, strict=True):
        entry = known.get(fold(name), proposed(name, kind))
        why = "" if numbers and entry.why == UNKNOWN else entry.why
        entries.append(replace(entry, name=name, why=why))
    if look:
        known_names = {fold(name) for name in known} | {facts.person}
        unknown = [entry.name for entry in entries
                   if entry.why != ID and fold(entry.name) not in known_names
                   and not (entry.name == facts.target and (facts.classes or facts.numeric))]
        looked, csv = _looked(source, unknown, facts)
        entries = [looked.get(entry.name, entry) for entry in entries]
        facts = replace(facts, seen=csv)
    return entries, facts


# --- a look --------------------------------------------------------------------------------------

def _looked(source: Source, names: Sequence[str],
            facts: TableFacts) -> tuple[dict[str, Proposal], Csv]:
    """Return proposals for these columns, and the format of the file, from rows.  PRIVATE."""
    if not names:
        return {}, facts.csv
    columns: list[list[str]] = [[] for _ in names]
    rows = max(1, min(_ROWS, _CELLS // len(names)))
    for batch in source.raw(names, min(rows, 10_000)):
        for column, raw in zip(columns, batch, strict=True):
            cells, which = distinct(raw)
            cell_texts = texts(cells)
            column.extend(cell_texts[at] for at in which.tolist())
        if len(columns[0]) >= rows:
            break
    csv = explain_cells([_unread(column, facts.csv) for column in columns], facts.csv)
    classes = columns[names.index(facts.target)] if facts.target in names else []
    csv = replace(csv, missing=[word for word in csv.missing if word not in classes])
    proposals, values = dict[str, Proposal](), dict[str, npt.NDArray[np.float64]]()
    for name, column in zip(names, columns, strict=True):
        cells = ["" if text in csv.missing else text for text in column]
        proposals[name] = _column(name, cells, csv.signs, is_target=name == facts.target)
        if proposals[name].kind == "number":
            values[name] = numbers(cells, csv.signs)
    for name, other in _near_copies(values).items():
        proposals[name] = replace(proposals[name], seen=(
            *(proposals[name].seen or ()), f"nearly a copy of {other}: leave one of them out"))
    return proposals, csv


def _unread(column: list[str], csv: Csv) -> dict[str, int]:
    """Return the unread texts of a column whose other cells are numbers, limits or dates."""
    numbers_found = look(Number("n"), column, csv.signs)
    odd = {text: many for text, many, _ in numbers_found.spellings}
    if numbers_found.lost == numbers_found.present:
        forms = _date_forms(list(islice(odd, _TRIED)))
        odd = {text: many for text, many in odd.items() if not isfinite(date_cell(text, forms))}
    others = {text: many for text, many in odd.items()
              if not isfinite(number_cell(text, f"{csv.signs}<>"))}
    read = numbers_found.present - sum(others.values())
    digits = sum(many for text, many in others.items() if any(map(str.isdigit, text)))
    return odd if read > _MOST * (read + digits) and read >= _FIFTH * numbers_found.present else {}


def _near_copies(columns: Mapping[str, npt.NDArray[np.float64]]) -> dict[str, str]:
    """Map each column that nearly repeats an earlier column to that column.  PRIVATE.

    >>> _near_copies({"mg": np.array([1., 2, 9]), "g": np.array([.001, .002, .009])})
    {'g': 'mg'}
    """
    if not 1 < len(columns) <= _MOST_COMPARED:
        return {}
    names = list(columns)
    table = np.array([np.where(np.isfinite(values), values, values[np.isfinite(values)].mean())
                      for values in columns.values()])
    with np.errstate(all="ignore"):  # of a constant column
        alike = np.tril(np.abs(np.corrcoef(table)) >= _COPY, -1)
    return {names[at]: names[int(alike[at].argmax())] for at in np.flatnonzero(alike.any(1))}


def _column(name: str, column: list[str], signs: str, *, is_target: bool) -> Proposal:
    """Return the kind that the cells of a column have.  PRIVATE."""
    count = Counter(filter(None, column))
    total, words = max(1, count.total()), {text.lower() for text in count}
    if is_target and len(count) <= _CLASSES:
        return Proposal(name, "label", seen=tuple(int(text) if is_whole(text) else text
                                                  for text in sorted(count)))
    if len(words) == 2 and words <= _FLAG_WORDS:
        own = [f'{key} = "{word}"' for key, those in (("true", YES), ("false", NO))
               for word in sorted(words & those)]
        return Proposal(name, "flag", seen=(*sorted(count), *own))
    result = look(Number(name), column, signs)
    if result.present - result.lost > _MOST * total:
        return Proposal(name, "number", seen=tuple(_ranges(result)))
    forms = _date_forms(list(islice(count, _TRIED)))
    days = {text: day for text in count if isfinite(day := date_cell(text, forms))}
    if sum(count[text] for text in days) > _MOST * total:
        first, *_, last = sorted(days, key=days.__getitem__) * 2
        listed = list(forms) if len(forms) > 1 else forms[0]
        return Proposal(name, "date", {} if listed == ISO else {"format": listed},
                        seen=(f"{first} to {last}",))
    if len(count) > _VALUES or (total >= _FEW_ROWS and len(count) > _MOST * total):
        return Proposal(name, "", why=_BY_LOOK)
    return Proposal(name, "category", seen=tuple(sorted(count)))


def _date_forms(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the formats that read these texts, at most three; each reads what is left over."""
    forms, rest = list[str](), texts
    while rest and len(forms) < 3:
        form = max(FORMS, key=lambda each: sum(isfinite(date_cell(text, each)) for text in rest))
        left = [text for text in rest if not isfinite(date_cell(text, form))]
        if len(left) == len(rest):
            break
        forms.append(form)
        rest = left
    return tuple(forms) or (ISO,)


def _ranges(column: Finding) -> Iterator[str]:
    """Yield the range of numbers, possible codes for missing, and texts that are not numbers."""
    codes = [mark for mark, _ in suspects(column)]
    ends = [*(column.others or ()), *(mark for mark in column.marks if mark not in codes)]
    yield f"{min(ends):g} to {max(ends):g}"
    if codes:
        listed = ", ".join(f"{code:g}" for code in codes)
        yield f"far from the rest: {listed}; for missing values, write missing_values = [{listed}]"
    if whole_and_different(column):
        yield "a different whole number in each row: leave it out if it is an identifier"
    yield from (f"not a number: {text}" for text, _, _ in column.spellings[:5])
