"""inspect: compare a table with its domain file, for the holder of the table only.

It reads rows, so its result is private.  If a CSV file is not written as the domain file says,
inspect reads it as it is written, and reports each difference: a release would follow the domain
file.

Proposals from rows are marked: a fact from rows becomes a fact of the domain only if a code book,
or the author of the file, confirms it.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from privsieve.public.canonical import FLAGS, near, text_of
from privsieve.public.columns import CODES, ISO, ColumnKind, Graded, Listed
from privsieve.public.domain import FEW_CODES, Csv, Domain
from privsieve.public.draft import toml_value
from privsieve.rows import finding, written
from privsieve.rows.batch import BATCH_CELLS, LARGEST_BATCH
from privsieve.rows.cells import texts
from privsieve.rows.csv_file import without_missing
from privsieve.rows.finding import BINS, Finding, Verdict, Words, near_value, suspects, verdict
from privsieve.rows.source import TEXT_FILES, Source, fold, needed, open_source, resolve
from privsieve.rows.written import FROM_ROWS, REASONS, Broken, Remark, to_write

PRIVATE = "PRIVATE: for the holder of the table; nothing below may leave"
#: How many spellings of a column are shown.
_SHOWN = 10
_FLAG_FIX = ("write yes and no as 1/0, true/false, yes/no, y/n or t/f, declare your words (true = "
             '"ja", false = "nein"), or make it a category; other texts become the default')
_CROWDED_FIX = (f"most values are within {FEW_CODES} steps of each other, too close to distinguish:"
                " write near or narrower bounds, from a code book and not from this inspection")
_BIN_FIX = "write bounds as narrow as the code book allows, to spread the values"
#: From this number of columns on, some of which lie in one bin each, all bounds are doubted.
_FEW, _HALF = 3, 0.5


@dataclass(frozen=True, repr=False)
class Inspection:
    """The contents of a table, column by column.  PRIVATE: for the holder of the table.

    domain : as it was declared
    remarks : the differences between a CSV file and its declaration; the findings describe the
        file as it is written
    absent : columns of the domain that the table lacks, each with a similar name
    ignored : columns of the table that the domain does not name
    broken : lines of a CSV file that are not records, by reason; they become default records
    nobody, persons, most, over : the number of rows without an id, of persons, of rows of one
        person at most, and of rows beyond `rows_per_person`
    """

    domain: Domain
    rows: int
    findings: tuple[Finding, ...]
    remarks: tuple[Remark, ...] = ()
    absent: tuple[tuple[str, str | None], ...] = ()
    ignored: tuple[str, ...] = ()
    broken: tuple[Broken, ...] = ()
    nobody: int = 0
    persons: int = 0
    most: int = 0
    over: int = 0
    place: str = "row"

    def __repr__(self) -> str:
        return f"<PRIVATE inspection of {len(self.findings)} columns; .lines() shows it>"

    @property
    def lost(self) -> int:
        """The number of lines that are not records."""
        return sum(entry.many for entry in self.broken)

    @property
    def verdict(self) -> Verdict:
        """Return whether the domain file fits the table.

        The verdict is "stop" if the file, a name or the target is not as declared, or if half of
        the columns are not; it is "look" if anything else is odd.
        """
        words = Counter(verdict(column).word for column in self.findings)
        target = self.domain.target and self.domain.target.name
        narrow = sum(column.in_one_bin or column.crowded for column in self.findings)
        columns = len(self.findings) + len(self.absent)
        wide = narrow >= max(_FEW, _HALF * columns)
        problems = []
        other = [remark for remark in self.remarks if remark.key not in written.CELL_KEYS]
        if other:
            problems.append("the file is not written as the domain file says")
        if self.absent:
            problems.append(f"{len(self.absent)} of {columns} columns are not in the table")
        if words["stop"]:
            problems.append(f"{words['stop']} of {columns} columns cannot be used as declared")
        if wide:
            problems.append(f"{narrow} of {columns} columns have nearly all values in 1 bin or in "
                            "a few steps: their bounds are too wide")
        if words["look"]:
            problems.append(f"{words['look']} of {columns} columns to check")
        if self.lost:
            problems.append(f"{self.lost} {self.place}s are not valid records")
        stops = wide or words["stop"] >= _HALF * columns or any(
            verdict(column).word == "stop" for column in self.findings
            if column.declared.name == target)
        worst: Words = "stop" if other or self.absent or stops else (
            "look" if problems or self.nobody or self.over else "fine")
        return Verdict(worst, "; ".join(problems) or (
            "check the person ids" if worst == "look" else "the domain file fits the table"))

    @property
    def _explained(self) -> frozenset[str]:
        """Return the unread texts that the proposed CSV options would read."""
        options = {remark.key: remark.actual for remark in self.remarks}
        return frozenset(text for column in self.findings for text, _, _ in column.spellings
                         if text in options.get("missing", ())
                         or text[:1] in options.get("censored", ()))

    def json(self) -> dict[str, Any]:
        """Return the inspection for programs, as JSON without floats.  PRIVATE."""
        word, summary = self.verdict
        explained = self._explained
        persons = None if self.domain.person is None else {
            "persons": self.persons, "declared": self.domain.persons, "most": self.most,
            "rows_per_person": self.domain.rows_per_person, "nobody": self.nobody,
            "over": self.over}
        return {
            "private": PRIVATE, "verdict": word, "said": summary, "rows": self.rows,
            "place": self.place, "target": self.domain.target and self.domain.target.name,
            "written": [{"key": remark.key, "declared": toml_value(remark.declared),
                         "found": toml_value(remark.actual)} for remark in self.remarks],
            "write": to_write(self.remarks, self.domain.csv),
            "absent": [{"name": name, "near": other} for name, other in self.absent],
            "ignored": list(self.ignored),
            "broken": [{"why": entry.why, "said": REASONS[entry.why][0],
                        "fix": REASONS[entry.why][1], "many": entry.many,
                        "where": list(entry.where)} for entry in self.broken],
            "persons": persons, "columns": [
                column_json(column, explained) for column in _worst_first(self.findings)],
        }

    def lines(self) -> list[str]:
        """Return the lines for a terminal, the worst columns first."""
        word, summary = self.verdict
        explained = self._explained
        output = [PRIVATE, f"{word.upper()}: {summary}", f"{self.rows} rows"]
        if self.remarks:
            output.append("The file is not written as the domain file says:")
            output += [f"  csv.{remark.key} is declared {toml_value(remark.declared)} and looks "
                      f"like {toml_value(remark.actual)}" for remark in self.remarks]
            output += [f"  -> {line}" for line in to_write(self.remarks, self.domain.csv)]
        output += [f"{name} is not in the table" + (f"; is it {other}?" if other else "")
                  for name, other in self.absent]
        if self.ignored:
            output.append("never read, because the domain file does not name them "
                          f"({len(self.ignored)}): {', '.join(self.ignored[:8])}"
                          f"{' …' if len(self.ignored) > 8 else ''}")
        if self.broken:
            become = "become default records" if self.domain.person is None else "are left out"
            output.append(f"{self.lost} {self.place}s are not valid records and {become}:")
        for entry in self.broken:
            what, fix = REASONS[entry.why]
            output.append(f"  {entry.many} {what} (line {', '.join(map(str, entry.where))}"
                         f"{' …' if entry.many > len(entry.where) else ''}): {fix}")
        output += self._persons()
        for column in _worst_first(self.findings):
            output += lines(column, self.place, explained)
        return output

    def _persons(self) -> Iterator[str]:
        if self.domain.person is None:
            return
        declared = self.domain.persons or "is missing"
        yield (f"{self.persons} persons (persons = {declared}), each with at most {self.most} rows "
               f"(rows_per_person = {self.domain.rows_per_person})")
        if self.over:
            yield f"{self.over} rows are beyond rows_per_person and are left out"
        if self.nobody:
            yield (f"{self.nobody} rows have no person id and are ignored: check the "
                   "column of person ids")


def inspect(X: Any, domain: Domain | str | os.PathLike[str], y: Any = None) -> Inspection:
    r"""Compare a table with its domain.  PRIVATE; it spends nothing and changes nothing.

    Parameters
    ----------
    X, y : as for `open_source`
    domain : Domain or path of a domain file
        the public facts to check against the table

    Examples
    --------
    >>> from privsieve.public.columns import Label, Number
    >>> from privsieve.public.domain import Domain
    >>> domain = Domain((Number("age", 0, 99),), target=Label("ill", ("No", "Yes")))
    >>> print("\n".join(inspect([[50], [120]], domain, y=["yes", "No"]).lines()[4:7]))
      1 unlisted (50.0%; row 1)
      2 different values; 1 of 2 levels in use
      "yes" 1 times, first in row 1: the domain lists "Yes"
    """
    # The file as it is written, what the domain names and the table lacks, then the body.
    declared = Domain.of(domain)
    domain = declared.with_weight  # a declared weight is looked at as a number
    if isinstance(X, str | os.PathLike) and Path(X).suffix.lower() in TEXT_FILES \
            and Path(X).is_file():
        domain = written.as_shown(Path(X), domain)
    source = open_source(X, y, csv=domain.csv)
    shape = source.shape(count_rows=False)
    domain, absent = _there(domain, shape)
    domain = resolve(domain, shape, strict=False)
    known = {fold(name) for name in needed(domain, shape)}
    ignored = tuple(name for name in shape.columns if fold(name) not in known)
    result = _looked(source, domain)
    remarks = written.compare(declared.csv, _with_cells(domain, result.findings))
    return replace(result, domain=declared, remarks=remarks, absent=absent,
                   ignored=ignored if shape.by in ("name", "header") else ())


def _with_cells(domain: Domain, findings: Iterable[Finding]) -> Csv:
    """Return the CSV options that would also explain cells which are not read."""
    unread = [{text: many for text, many, _ in column.spellings}
              for column in findings if isinstance(column.declared, Graded)]
    csv = written.explain_cells(unread, domain.csv)
    listed = {text for column in findings for text in column.declared.table}
    return replace(csv, missing=[word for word in csv.missing if word in domain.csv.missing
                                 or not {word, word.lower()} & listed])


def _looked(source: Source, domain: Domain) -> Inspection:
    """Inspect the body in one pass."""
    parts = [*domain.columns, *([domain.target] if domain.target else [])]
    findings = [Finding(declared, 0) for declared in parts]
    people: Counter[str] = Counter()
    size = max(1, min(LARGEST_BATCH, BATCH_CELLS // len(parts)))
    names = needed(domain, source)
    bad = written.broken(source.file, source.positions(names)) if source.file else ()
    start = 1 + (source.by == "header" and source.record == "line")
    rows = 0
    for batch in source.raw(names, size):
        columns = [without_missing(column, domain.csv.missing) for column in batch]
        findings = [before + finding.look(declared, column, domain.csv.signs, start + rows)
                    for before, declared, column in zip(findings, parts, columns, strict=False)]
        if domain.person is not None:
            people.update(texts(columns[-1]))
        rows += len(columns[0])
    nobody = people.pop("", 0)
    over = sum(max(0, many - domain.rows_per_person) for many in people.values())
    return Inspection(domain, rows, tuple(findings), broken=bad, nobody=nobody, over=over,
                      persons=len(people), most=max(people.values(), default=0),
                      place=source.record if source.file else "row")


def _there(domain: Domain, shape: Source) -> tuple[Domain, tuple[tuple[str, str | None], ...]]:
    """Return the domain without the columns that the table lacks, and these with similar names.

    If the table lacks all columns, return the domain as it is: the reader then refuses the table.
    """
    if shape.by not in ("name", "header"):
        return domain, ()
    have = {fold(name): name for name in shape.columns}
    target = [domain.target.name] if domain.target and shape.labelled else []
    absent = [name for name in written.needed_names(domain) if fold(name) not in have
              and name not in target]
    columns = tuple(column for column in domain.columns if column.name not in absent)
    if not columns:
        return domain, ()
    loose = {_plain(name): name for name in have.values()}
    named = tuple((name, loose[meant] if (meant := near(_plain(name), loose, 0.75)) else None)
                 for name in absent)
    person = None if domain.person in absent else domain.person
    return replace(
        domain, columns=columns, person=person,
        rows_per_person=domain.rows_per_person if person else 1,
        target=None if domain.target and domain.target.name in absent else domain.target), named


def _plain(name: str) -> str:
    return "".join(c for c in fold(name).casefold() if c.isalnum())


def _worst_first(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda column: ("stop", "look", "fine").index(verdict(column).word))


# --- a column in words ---------------------------------------------------------------------------

def column_json(column: Finding, explained: Collection[str] = ()) -> dict[str, Any]:
    """Return the finding and its verdict for programs.  PRIVATE."""
    word, reason = verdict(column)
    declared, bins = column.declared, column.bins
    return {
        "name": declared.name, "kind": declared.kind, "verdict": word, "said": reason,
        **{name: getattr(column, name) for name in finding.SUMS},
        "where": {trouble: list(places) for trouble, places in sorted(column.where.items())},
        "different": column.different.many, "different_exact": column.different.exact,
        "levels": _listed_levels(declared), "levels_used": len(column.codes[0]),
        "bins": None if bins is None else bins.tolist(),
        "spellings": [{"text": text, "many": many, "first": first,
                       "listed": near_value(declared, text)}
                      for text, many, first in column.spellings[:_SHOWN]],
        "more_spellings": max(0, len(column.spellings) - _SHOWN),
        "marks": [{"value": f"{mark:g}", "many": many, "first": first}
                  for mark, (many, first) in suspects(column)],
        "forms": dict(sorted(column.forms.items())),
        "fixes": list(fixes(column, explained)),
    }


def lines(column: Finding, place: str = "row", explained: Collection[str] = ()) -> list[str]:
    """Return the finding and its verdict in words; a column without trouble has two lines."""
    word, reason = verdict(column)
    head = f"{column.declared.name} ({column.declared.kind}): {reason}"
    counted = [f"{count} {name} ({count / max(column.rows, 1):.1%}{_at(column, name, place)})"
               for name in finding.WORDS if (count := getattr(column, name))]
    return [f"{word.upper()}: {head}" if word != "fine" else head,
            *([f"  {', '.join(counted)}"] if counted else []), f"  {_used(column)}",
            *(f"  {line}" for line in _shown_spellings(column, place)),
            *(f"  {mark:g} {many} times, first in {place} {first}, far from all other values"
              for mark, (many, first) in suspects(column)),
            *(f"  -> {fix}" for fix in fixes(column, explained))]


def _at(column: Finding, word: str, place: str) -> str:
    places = column.where.get(word, ())
    if not places:
        return ""
    ellipsis = " …" if getattr(column, word) > len(places) else ""
    return f"; {place}{'s' if len(places) > 1 else ''} {', '.join(map(str, places))}{ellipsis}"


def _used(column: Finding) -> str:
    """Return the levels, codes and bins that the rows use, in words."""
    declared, (codes, _many), bins = column.declared, column.codes, column.bins
    about = "" if column.different.exact else "about "
    values = f"{about}{column.different.many} different values"
    if isinstance(declared, Listed):
        return f"{values}; {len(codes)} of {_listed_levels(declared)} levels in use"
    text = f"{values}, read as {len(codes)} of {CODES} steps"
    if bins is None or not bins.sum():
        return text
    fullest = int(bins.max()) * 100 // int(bins.sum())
    return f"{text}; {int((bins > 0).sum())} of {BINS} bins in use (the fullest has {fullest} %)"


def _listed_levels(column: ColumnKind) -> int | None:
    """Return the number of levels that the domain lists; None for a number or date."""
    return len(column.values) if isinstance(column, Listed) else None


def _shown_spellings(column: Finding, place: str) -> list[str]:
    """Return the texts that cannot be read, the most frequent first."""
    lines = []
    for text, many, first in column.spellings[:_SHOWN]:
        near = near_value(column.declared, text)
        hint = "" if near is None else f": the domain lists {near}"
        lines.append(f"{finding.quoted_value(text)} {many} times, first in {place} {first}{hint}")
    if len(column.spellings) > _SHOWN:
        lines.append(f"and {len(column.spellings) - _SHOWN} other texts")
    return lines


def fixes(column: Finding, explained: Collection[str] = ()) -> tuple[str, ...]:
    """Return what to change in the domain file."""
    if column.rows and (finding.is_identifier(column) or not column.present):
        return ("remove it from the domain file: it cannot be used",)
    declared = column.declared
    return _value_fixes(column, declared) if isinstance(declared, Listed) else tuple(
        _number_fixes(column, declared, explained)) if isinstance(declared, Graded) else ()


def _value_fixes(column: Finding, declared: Listed) -> tuple[str, ...]:
    if not column.unlisted:
        return ()
    if declared.is_binary:
        return (_FLAG_FIX,)
    lost = declared.becomes
    if len(column.spellings) > _SHOWN:
        advice = "list in values = [...] the texts of the code book that matter; all others become"
        return (f"{advice} {lost}",)
    texts = [spelling.text for spelling in column.spellings]
    near = [text for text in texts if near_value(declared, text) is not None]
    far = [text for text in texts if text not in near]
    fixes = []
    if not declared.is_column and (words := _further_words(declared, far)):
        fixes.append(f"if they mean this, write {words} ({FROM_ROWS}); otherwise they become "
                     f"{lost}")
        far = []
    if near:
        small = {text_of(value).lower() for value in declared.values}
        how = "write ignore_case = true" if small.intersection(map(str.lower, near)) else (
            "write its spelling in values")
        fixes.append(f"correct the table, or {how}; otherwise these texts become {lost}")
    if far:
        listed = ", ".join(map(finding.quoted_value, far))
        fixes.append(f"if the code book lists them, add {listed} ({FROM_ROWS}) to values; "
                     f"otherwise they become {lost}")
    return tuple(fixes)


def _further_words(declared: Listed, texts: Sequence[str]) -> str:
    """Return the words of a label with these texts, if each begins only one value; else ""."""
    sides = [[text, *words] for text, words in
             zip_longest(declared.texts, getattr(declared, "words", ()), fillvalue=())]
    for text in texts:
        meant = [side for side in sides if side[0].casefold().startswith(text.casefold())]
        if len(meant) != 1:
            return ""
        meant[0].append(text)
    if {"true", "false"} <= declared.table.keys():  # a flag, which knows the usual words
        return " and ".join(
            f"{key} = {toml_value([word for word in side if word not in FLAGS])}"
            for key, side in zip(("false", "true"), sides, strict=True))
    return f"words = {toml_value(sides)}" if texts else ""


def _number_fixes(column: Finding, declared: Graded, explained: Collection[str]) -> Iterable[str]:
    low, high = declared.bounds
    marked = suspects(column)
    if column.below > sum(many for mark, (many, _) in marked if mark < low):
        least = _write_bound(declared, column.least, math.floor)
        yield (f"values below low become low (the smallest is {least}, {FROM_ROWS}); if the code "
               "book allows smaller values, write its bound")
    if column.above > sum(many for mark, (many, _) in marked if mark > high):
        largest = _write_bound(declared, column.largest, math.ceil)
        yield (f"values above high become high (the largest is {largest}, {FROM_ROWS}); if the "
               "code book allows larger values, write its bound")
    if marked:
        codes = ", ".join(f"{mark:g}" for mark, _ in marked)
        yield (f"if the code book says that these are missing values, write missing_values = "
               f"[{codes}] ({FROM_ROWS}); otherwise they are read as numbers")
    best = max(column.forms.values(), default=0)
    if best:
        yield (f"format = {_formats(column, declared, best)} would read {best} of the unread dates "
               f"({FROM_ROWS}; ask the author of the file)")
    elif column.unparsable and declared.is_number and {
            spelling.text.lower() for spelling in column.spellings} <= FLAGS.keys():
        yield (f'unread cells become missing, but are words for yes and no ({FROM_ROWS}); if the '
               'code book agrees, write kind = "flag"')
    elif any(spelling.text not in explained for spelling in column.spellings):
        form = "format" if declared.is_date else "csv.decimal, csv.thousands"
        yield ("unread cells become missing.  If these texts do not mean missing, check "
               f"{form} and the kind of the column")
    if finding.whole_and_different(column):
        yield "remove an identifier from the domain file: it tells nothing about other people"
    if column.crowded:
        yield _CROWDED_FIX
    elif column.in_one_bin:
        yield _BIN_FIX


def _formats(column: Finding, declared: Graded, best: int) -> str:
    """Return the format that reads most of the unread dates, after the declared formats."""
    formats = declared.format if isinstance(declared.format, tuple) else (declared.format or ISO,)
    others = formats if column.present > column.lost else ()
    return " or ".join(toml_value([*others, form] if others else form)
                       for form in finding.FORMS if column.forms.get(form) == best)


def _write_bound(declared: ColumnKind, value: float | None, outward: Callable[[float], int]) -> str:
    if declared.is_date and value is not None:
        # The day before, or after, so that the bound holds the value.
        return str(np.datetime64(outward(value), "D"))
    return "" if value is None else repr(int(value) if value.is_integer() else value)
