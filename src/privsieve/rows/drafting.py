"""Drafting: a domain file for an opened table, by its names and types, or from its rows.

A look reads rows, so all that it says is private and written as `seen`.  No plan accepts `seen`:
its owner replaces it by a public fact.
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

import numpy as np
import numpy.typing as npt

from privsieve.entries import load
from privsieve.public.canonical import FLAGS, is_whole
from privsieve.public.columns import ISO
from privsieve.public.domain import Csv
from privsieve.public.draft import ID, NO, UNKNOWN, YES, Proposal, TableFacts, draft, proposed
from privsieve.rows.cells import date_cell, distinct, number_cell, texts
from privsieve.rows.finding import FORMS, MANY
from privsieve.rows.source import TEXT_FILES, Source, fold, open_source
from privsieve.rows.written import explain_cells, looked_at, recognised

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
_BY_LOOK = (f"by a look at the rows these have over {_VALUES} texts, or another one in almost each "
            "row; take these lines away before the file leaves")
#: Words for missing are looked for where so large a share of the cells is a number or date.
_FIFTH = 0.2
#: Columns with at least this correlation are near-copies; of more columns it is not computed.
_COPY, _MOST_COMPARED = 0.99, 2000
_FLAG_WORDS = FLAGS.keys() | YES | NO
#: What is often written for a number that nobody knows.
_CODES = r"-?(9+|9*8|9*7|8+)|-1"


def draft_table(X: Any, target: str | None, classes: Iterable[object], *, person: str | None,
                code_book: Any, look: bool, numbers: bool) -> str:
    """Draft a domain file for a table; `Domain.draft` says what each argument is."""
    source, csv = opened(X, look=look)
    book = None if code_book is None else load("source", "code-book")(code_book, source.columns)
    facts = TableFacts(target, tuple(map(str, classes)), person=person, csv=csv)
    return drafted(source, facts, book=book, look=look, numbers=numbers)


def drafted(source: Source, facts: TableFacts, *, book: Mapping[str, Proposal] | None = None,
            look: bool = False, numbers: bool = False) -> str:
    """Return the text of a domain file for a table; `propose_columns` explains the arguments."""
    return draft(*propose_columns(source, facts, book=book, look=look, numbers=numbers),
                 private=look)


def opened(X: Any, *, look: bool = False) -> tuple[Source, Csv]:
    """A table of any form, and, of a CSV file, how it is written."""
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

    Parameters
    ----------
    source : the table. Its rows are read only with `look`.
    facts : what the caller says about the table.
    book : what a code book says, by the names of columns.
    look : read rows. The proposals are then private.
    numbers : columns whose names do not say what they hold are numbers.
    """
    known = {fold(name): entry for name, entry in (book or {}).items()}
    entries = []
    for name, kind in zip(source.columns, source.types, strict=True):
        entry = known.get(fold(name), proposed(name, kind))
        why = "" if numbers and entry.why == UNKNOWN else entry.why
        entries.append(replace(entry, name=name, why=why))
    if look:
        told = {fold(name) for name in known} | {facts.person}
        unknown = [entry.name for entry in entries
                   if entry.why != ID and fold(entry.name) not in told
                   and not (entry.name == facts.target and (facts.classes or facts.numeric))]
        found, csv = _looked(source, unknown, facts)
        entries = [found.get(entry.name, entry) for entry in entries]
        facts = replace(facts, seen=csv)
    return entries, facts


# --- a look --------------------------------------------------------------------------------------

def _looked(source: Source, names: Sequence[str],
            facts: TableFacts) -> tuple[dict[str, Proposal], Csv]:
    """Return what the rows say about these columns, and about the cells of the file.  PRIVATE."""
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
    counts = dict(zip(names, map(Counter, columns), strict=True))
    csv = explain_cells([_unread(count, facts.csv) for count in counts.values()], facts.csv)
    classes = counts.get(facts.target or "", ())
    csv = replace(csv, missing=[word for word in csv.missing if word not in classes])
    for count in counts.values():
        for word in ("", *csv.missing):
            del count[word]
    proposals = {name: (_target if name == facts.target else _column)(name, count, csv.signs)
                 for name, count in counts.items()}
    numbers = {name: np.array([number_cell(text, csv.signs) for text in column])
               for name, column in zip(names, columns, strict=True)
               if proposals[name].kind == "number"}
    for name, other in _near_copies(numbers).items():
        proposals[name] = replace(proposals[name], seen=(
            *(proposals[name].seen or ()), f"nearly a copy of {other}: leave one of them out"))
    return proposals, csv


def _unread(count: Counter[str], csv: Csv) -> dict[str, int]:
    """Return the texts that are not read, where the others are numbers or dates."""
    signs = f"{csv.signs}<>"
    odd = {text: many for text, many in count.items()
           if text and not isfinite(number_cell(text, csv.signs))}
    limits = {text for text in odd if isfinite(number_cell(text, signs))}
    if len(odd) == len(count) - ("" in count):  # no numbers: dates, perhaps
        forms = _date_forms(list(islice(odd, _TRIED)))
        odd = {text: many for text, many in odd.items() if not isfinite(date_cell(text, forms))}
    with_digits = sum(many for text, many in odd.items()
                      if text not in limits and any(map(str.isdigit, text)))
    total = count.total() - count[""]
    read = total - sum(many for text, many in odd.items() if text not in limits)
    is_graded = read > _MOST * (read + with_digits) and read >= _FIFTH * total
    return odd if is_graded else {}


def _near_copies(columns: Mapping[str, npt.NDArray[np.float64]]) -> dict[str, str]:
    """Return each column that nearly repeats an earlier one, and that one.  PRIVATE.

    >>> _near_copies({"mg": np.array([1., 2, 9]), "g": np.array([.001, .002, .009])})
    {'g': 'mg'}
    """
    if not 1 < len(columns) <= _MOST_COMPARED:
        return {}
    names, rows = list(columns), []
    for values in columns.values():
        good = values[np.isfinite(values)]
        spread = good.std() if len(good) else 0.0
        z = np.nan_to_num((values - good.mean()) / spread) if spread else np.zeros(len(values))
        rows.append(z / max(float(np.linalg.norm(z)), 1.0))
    table = np.array(rows)
    alike = np.tril(np.abs(table @ table.T) >= _COPY, -1)
    return {names[at]: names[int(alike[at].argmax())] for at in np.flatnonzero(alike.any(1))}


def _column(name: str, count: Counter[str], signs: str) -> Proposal:
    """Return the kind that the cells of a column have.  PRIVATE."""
    total, words = max(1, count.total()), {text: text.lower() for text in count}
    if len(set(words.values())) == 2 and all(word in _FLAG_WORDS for word in words.values()):
        own = [f'{key} = "{text}"' for key, those in (("true", YES), ("false", NO))
               for text, word in words.items() if word in those]
        return Proposal(name, "flag", seen=(*sorted(count), *own))
    numbers = _known({text: number_cell(text, signs) for text in count})
    if _weight(count, numbers) > _MOST * total:
        return Proposal(name, "number", seen=tuple(_ranges(numbers, count)))
    forms = _date_forms(list(islice(count, _TRIED)))
    days = _known({text: date_cell(text, forms) for text in count})
    if _weight(count, days) > _MOST * total:
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


def _known(values: Mapping[str, float]) -> dict[str, float]:
    return {text: value for text, value in values.items() if isfinite(value)}


def _weight(count: Counter[str], texts: Iterable[str]) -> int:
    """How many cells have one of these texts."""
    return sum(count[text] for text in texts)


def _target(name: str, count: Counter[str], signs: str) -> Proposal:
    """Return a label if there are few values, else a number.  PRIVATE."""
    if len(count) > _CLASSES:
        return _column(name, count, signs)
    return Proposal(name, "label", seen=tuple(int(text) if is_whole(text) else text
                                              for text in sorted(count)))


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
    if len(numbers) == count.total() >= MANY and all(map(float.is_integer, numbers.values())):
        said.append("another whole number in each row: leave it out if it is an identifier")
    return said + [f"no number: {text}" for text in odd[:5]]
