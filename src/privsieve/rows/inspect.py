"""inspect: what the reader will make of a table, for the eyes of its holder only.

It looks at rows, so nothing of it may leave.  A CSV file that is written otherwise than the domain
file says is looked at as it is written, so that the first look says all at once; each such
difference is said, for the reader takes the domain file at its word.

What is proposed and was read from rows says so: a fact of the rows is no fact of the domain until
a code book, or who wrote the file, says the same.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
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
_FLAG_FIX = ("write yes and no as one of 1/0, true/false, yes/no, y/n, t/f, declare the words "
             '(true = "ja", false = "nein"), or make it a category: these become the default')
_CROWDED_FIX = (f"most values lie within {FEW_CODES} codes of each other, too near to be told "
                "apart: write near, or narrower bounds, from a code book and never from here")
_BIN_FIX = "bounds as narrow as the code book allows would spread the values"
#: From so many columns on, a part of which lies in one bin each, the bounds of all are doubted.
_FEW, _HALF = 3, 0.5


@dataclass(frozen=True, repr=False)
class Inspection:
    """What a table holds, column by column.  PRIVATE: for the holder of the table.

    domain : as it was declared
    remarks : how a CSV file is written otherwise than declared; the findings are on the file as it
        is written
    absent : columns that the domain names and the table lacks, each with a name that is near
    ignored : columns of the table that the domain does not name
    broken : lines of a CSV file that are no records, by why; they become default records
    nobody, persons, most, over : rows without an id, how many persons, the most rows of one, and
        the rows beyond `rows_per_person`
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
        """Lines that are no records."""
        return sum(one.many for one in self.broken)

    @property
    def verdict(self) -> Verdict:
        """Whether the domain file fits the table.

        It stops where the file or a name is not as declared, where the target stops, and where
        half of the columns do or share a bin each; what else is odd is to be looked at.
        """
        words = Counter(verdict(found).word for found in self.findings)
        target = self.domain.target and self.domain.target.name
        narrow = sum(found.in_one_bin or found.crowded for found in self.findings)
        columns = len(self.findings) + len(self.absent)
        wide = narrow >= max(_FEW, _HALF * columns)
        said = []
        other = [remark for remark in self.remarks if remark.key not in written.CELL_KEYS]
        if other:
            said.append("the file is written otherwise than the domain file says")
        if self.absent:
            said.append(f"{len(self.absent)} of {columns} columns not in the table")
        if words["stop"]:
            said.append(f"{words['stop']} of {columns} columns cannot be found as declared")
        if wide:
            said.append(f"{narrow} of {columns} have nearly all of their values in 1 bin, or in a "
                        "few codes: their bounds are too wide")
        if words["look"]:
            said.append(f"{words['look']} to look at")
        if self.lost:
            said.append(f"{self.lost} {self.place}s are no records")
        stops = wide or words["stop"] >= _HALF * columns or any(
            found.part.name == target and verdict(found).word == "stop" for found in self.findings)
        worst: Words = "stop" if other or self.absent or stops else (
            "look" if said or self.nobody or self.over else "fine")
        return Verdict(worst, "; ".join(said) or (
            "look at the persons" if worst == "look" else "the domain file fits the table"))

    def told(self) -> dict[str, Any]:
        """What to show, for programs, as JSON without floats.  PRIVATE."""
        word, said = self.verdict
        persons = None if self.domain.person is None else {
            "persons": self.persons, "declared": self.domain.persons, "most": self.most,
            "rows_per_person": self.domain.rows_per_person, "nobody": self.nobody,
            "over": self.over}
        return {
            "private": PRIVATE, "verdict": word, "said": said, "rows": self.rows,
            "place": self.place, "target": self.domain.target and self.domain.target.name,
            "written": [{"key": remark.key, "declared": toml_value(remark.declared),
                         "found": toml_value(remark.found)} for remark in self.remarks],
            "write": to_write(self.remarks, self.domain.csv),
            "absent": [{"name": name, "near": other} for name, other in self.absent],
            "ignored": list(self.ignored),
            "broken": [{"why": one.why, "said": REASONS[one.why][0], "fix": REASONS[one.why][1],
                        "many": one.many, "where": list(one.where)} for one in self.broken],
            "persons": persons, "columns": [told(found) for found in _worst_first(self.findings)],
        }

    def lines(self) -> list[str]:
        """What to show in a terminal, line by line; what is worst stands first."""
        word, said = self.verdict
        shown = [PRIVATE, f"{word.upper()}: {said}", f"{self.rows} rows"]
        if self.remarks:
            shown.append("The domain file does not say how the file is written:")
            shown += [f"  csv.{remark.key} is declared {toml_value(remark.declared)} and looks "
                      f"like {toml_value(remark.found)}" for remark in self.remarks]
            shown += [f"  -> {line}" for line in to_write(self.remarks, self.domain.csv)]
        shown += [f"{name} is not in the table" + (f"; it has {other}" if other else "")
                  for name, other in self.absent]
        if self.ignored:
            shown.append(f"{len(self.ignored)} columns of the table are not in the domain file and "
                         f"are never read: {', '.join(self.ignored[:8])}"
                         f"{' …' if len(self.ignored) > 8 else ''}")
        if self.broken:
            become = "become default records" if self.domain.person is None else "are left out"
            shown.append(f"{self.lost} {self.place}s are no records and {become}:")
        for one in self.broken:
            what, fix = REASONS[one.why]
            shown.append(f"  {one.many} {what} (line {', '.join(map(str, one.where))}"
                         f"{' …' if one.many > len(one.where) else ''}): {fix}")
        shown += self._persons()
        for found in _worst_first(self.findings):
            shown += lines(found, self.place)
        return shown

    def _persons(self) -> Iterator[str]:
        if self.domain.person is None:
            return
        declared = self.domain.persons or "is missing"
        yield (f"{self.persons} persons (persons = {declared}); at most {self.most} rows of one "
               f"(rows_per_person = {self.domain.rows_per_person})")
        if self.over:
            yield f"{self.over} rows are beyond rows_per_person and are left out"
        if self.nobody:
            yield (f"{self.nobody} rows without an id are nobody's and weigh nothing: check the "
                   "column of the person")


def inspect(X: Any, domain: Domain | str | os.PathLike[str], y: Any = None) -> Inspection:
    r"""Look at a table with the reader's eyes.  PRIVATE; it spends nothing and changes nothing.

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
    found = _looked(source, domain)
    remarks = written.compare(declared.csv, _with_cells(domain, found.findings))
    return replace(found, domain=declared, remarks=remarks, absent=absent,
                   ignored=ignored if shape.by in ("name", "header") else ())


def _with_cells(domain: Domain, findings: Iterable[Finding]) -> Csv:
    """Return the CSV options that would also explain cells which are not read."""
    unread = [{text: many for text, many, _ in found.spellings}
              for found in findings if isinstance(found.part, Graded)]
    csv = written.explain_cells(unread, domain.csv)
    listed = {text for found in findings for text in found.part.table}
    return replace(csv, missing=[word for word in csv.missing if word in domain.csv.missing
                                 or not {word, word.lower()} & listed])


def _looked(source: Source, domain: Domain) -> Inspection:
    """One pass over the body."""
    parts = [*domain.columns, *([domain.target] if domain.target else [])]
    findings = [Finding(part, 0) for part in parts]
    people: Counter[str] = Counter()
    size = max(1, min(LARGEST_BATCH, BATCH_CELLS // len(parts)))
    names = needed(domain, source)
    bad = written.broken(source.file, source.positions(names)) if source.file else ()
    start = 1 + (source.by == "header" and source.record == "line")
    rows = 0
    for batch in source.raw(names, size):
        columns = [without_missing(column, domain.csv.missing) for column in batch]
        findings = [found + finding.look(part, column, domain.csv.signs, start + rows)
                    for found, part, column in zip(findings, parts, columns, strict=False)]
        if domain.person is not None:
            people.update(texts(columns[-1]))
        rows += len(columns[0])
    nobody = people.pop("", 0)
    over = sum(max(0, many - domain.rows_per_person) for many in people.values())
    return Inspection(domain, rows, tuple(findings), broken=bad, nobody=nobody, over=over,
                      persons=len(people), most=max(people.values(), default=0),
                      place=source.record if source.file else "row")


def _there(domain: Domain, shape: Source) -> tuple[Domain, tuple[tuple[str, str | None], ...]]:
    """The domain without what the table lacks, and that with a name that is near.

    Where hardly anything would be left the table is refused as the reader would.
    """
    if shape.by not in ("name", "header"):
        return domain, ()
    have = {fold(name): name for name in shape.columns}
    target = [domain.target.name] if domain.target and shape.labelled else []
    absent = [name for name in written.needed_names(domain) if fold(name) not in have
              and name not in target]
    columns = tuple(part for part in domain.columns if part.name not in absent)
    if not columns:
        return domain, ()
    loose = {_plain(name): name for name in have.values()}
    told = tuple((name, loose[meant] if (meant := near(_plain(name), loose, 0.75)) else None)
                 for name in absent)
    person = None if domain.person in absent else domain.person
    return replace(
        domain, columns=columns, person=person,
        rows_per_person=domain.rows_per_person if person else 1,
        target=None if domain.target and domain.target.name in absent else domain.target), told


def _plain(name: str) -> str:
    return "".join(c for c in fold(name).casefold() if c.isalnum())


def _worst_first(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda found: ("stop", "look", "fine").index(verdict(found).word))


# --- a column in words ---------------------------------------------------------------------------

def told(found: Finding) -> dict[str, Any]:
    """The finding and its verdict for programs.  PRIVATE."""
    word, said = verdict(found)
    part, bins = found.part, found.bins
    return {
        "name": part.name, "kind": part.kind, "verdict": word, "said": said,
        **{name: getattr(found, name) for name in finding.SUMS},
        "where": {trouble: list(places) for trouble, places in sorted(found.where.items())},
        "different": found.different.many, "different_exact": found.different.exact,
        "levels": _listed_levels(part), "levels_used": len(found.codes[0]),
        "bins": None if bins is None else bins.tolist(),
        "spellings": [{"text": text, "many": many, "first": first, "listed": near_value(part, text)}
                      for text, many, first in found.spellings[:_SHOWN]],
        "more_spellings": max(0, len(found.spellings) - _SHOWN),
        "marks": [{"value": f"{mark:g}", "many": many, "first": first}
                  for mark, (many, first) in suspects(found)],
        "forms": dict(sorted(found.forms.items())),
        "fixes": list(fixes(found)),
    }


def lines(found: Finding, place: str = "row") -> list[str]:
    """The finding and its verdict in words; a column without trouble has two lines."""
    word, said = verdict(found)
    head = f"{found.part.name} ({found.part.kind}): {said}"
    counted = [f"{count} {name} ({count / max(found.rows, 1):.1%}{_at(found, name, place)})"
               for name in finding.WORDS if (count := getattr(found, name))]
    return [f"{word.upper()}: {head}" if word != "fine" else head,
            *([f"  {', '.join(counted)}"] if counted else []), f"  {_used(found)}",
            *(f"  {one}" for one in _shown_spellings(found, place)),
            *(f"  {mark:g} {many} times, first in {place} {first}, far from all other values"
              for mark, (many, first) in suspects(found)),
            *(f"  -> {fix}" for fix in fixes(found))]


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
    if isinstance(part, Listed):
        return f"{values}; {len(codes)} of {_listed_levels(part)} levels in use"
    said = f"{values}; {len(codes)} of {CODES} codes"
    if bins is None or not bins.sum():
        return f"{said} in use"
    fullest = int(bins.max()) * 100 // int(bins.sum())
    return f"{said}, {int((bins > 0).sum())} of {BINS} bins in use (the fullest has {fullest} %)"


def _listed_levels(part: ColumnKind) -> int | None:
    """How many levels the domain lists; None of a number or date."""
    return len(part.values) if isinstance(part, Listed) else None


def _shown_spellings(found: Finding, place: str) -> list[str]:
    """The texts that are not read, the most frequent first."""
    lines = []
    for text, many, first in found.spellings[:_SHOWN]:
        near = near_value(found.part, text)
        hint = "" if near is None else f": the domain lists {near}"
        lines.append(f"{finding.quoted_value(text)} {many} times, first in {place} {first}{hint}")
    if len(found.spellings) > _SHOWN:
        lines.append(f"and {len(found.spellings) - _SHOWN} other texts")
    return lines


def fixes(found: Finding) -> tuple[str, ...]:
    """What to write into the domain file, where something should be written."""
    if found.rows and (finding.is_identifier(found) or not found.present):
        return ("take it out of the domain file: nothing in it can be found",)
    part = found.part
    return _value_fixes(found, part) if isinstance(part, Listed) else tuple(
        _number_fixes(found, part)) if isinstance(part, Graded) else ()


def _value_fixes(found: Finding, part: Listed) -> tuple[str, ...]:
    if not found.unlisted:
        return ()
    if part.is_binary:
        return (_FLAG_FIX,)
    lost = part.becomes
    if len(found.spellings) > _SHOWN:
        said = "list the texts of the code book that matter in values = [...]: the others become"
        return (f"{said} {lost}",)
    near = [one.text for one in found.spellings if near_value(part, one.text) is not None]
    far = [one.text for one in found.spellings if one.text not in near]
    fixes = []
    if not part.is_column and (words := _further_words(part, far)):
        fixes.append(f"if they mean so, write {words} ({FROM_ROWS}): these become {lost}")
        far = []
    if near:
        small = {text_of(value).lower() for value in part.values}
        how = "write ignore_case = true" if small.intersection(map(str.lower, near)) else (
            "write its spelling in values")
        fixes.append(f"correct the table, or {how}: these become {lost}")
    if far:
        listed = ", ".join(map(finding.quoted_value, far))
        fixes.append(f"if the code book lists them, add {listed} ({FROM_ROWS}) to values, or leave "
                     f"it: these become {lost}")
    return tuple(fixes)


def _further_words(part: Listed, texts: Sequence[str]) -> str:
    """The words of a label with these texts, where each begins one value alone; else ""."""
    sides = [[text, *words] for text, words in
             zip_longest(part.texts, getattr(part, "words", ()), fillvalue=())]
    for text in texts:
        meant = [side for side in sides if side[0].casefold().startswith(text.casefold())]
        if len(meant) != 1:
            return ""
        meant[0].append(text)
    if {"true", "false"} <= part.table.keys():  # declared as a flag, which knows the usual words
        return " and ".join(
            f"{key} = {toml_value([word for word in side if word not in FLAGS])}"
            for key, side in zip(("false", "true"), sides, strict=True))
    return f"words = {toml_value(sides)}" if texts else ""


def _number_fixes(found: Finding, part: Graded) -> Iterable[str]:
    low, high = part.bounds
    marked = suspects(found)
    if found.below > sum(many for mark, (many, _) in marked if mark < low):
        least = _shown(part, found.least, math.floor)
        yield (f"these become low (the least, {FROM_ROWS}, is {least}); if the code book allows "
               "less, write its bound")
    if found.above > sum(many for mark, (many, _) in marked if mark > high):
        largest = _shown(part, found.largest, math.ceil)
        yield (f"these become high (the most, {FROM_ROWS}, is {largest}); if the code book allows "
               "more, write its bound")
    if marked:
        codes = ", ".join(f"{mark:g}" for mark, _ in marked)
        yield (f"if the code book says that such a number is a missing value, write missing_values "
               f"= [{codes}] ({FROM_ROWS}): as they stand they are numbers")
    best = max(found.forms.values(), default=0)
    if best:
        yield (f"format = {_formats(found, part, best)} would read {best} of them ({FROM_ROWS}: "
               "ask who wrote the file)")
    elif found.unparsable and part.is_number and {
            one.text.lower() for one in found.spellings} <= FLAGS.keys():
        yield (f'these become missing, and are words for yes and no ({FROM_ROWS}): if the code '
               'book says so, write kind = "flag"')
    elif found.unparsable:
        form = "format" if part.is_date else "csv.decimal, csv.thousands"
        yield (f"these become missing: right for a word that says so, else check {form} and the "
               "kind of the column")
    if finding.whole_and_different(found):
        yield "take an identifier out of the domain file: it says nothing about anybody else"
    if found.crowded:
        yield _CROWDED_FIX
    elif found.in_one_bin:
        yield _BIN_FIX


def _formats(found: Finding, part: Graded, best: int) -> str:
    """The format of most dates that are not read, behind those that read the others."""
    formats = part.format if isinstance(part.format, tuple) else (part.format or ISO,)
    others = formats if found.present > found.lost else ()
    return " or ".join(toml_value([*others, form] if others else form)
                       for form in finding.FORMS if found.forms.get(form) == best)


def _shown(part: ColumnKind, value: float | None, outward: Callable[[float], int]) -> str:
    if part.is_date and value is not None:
        # The day before, or after, so that the bound holds the value.
        return str(np.datetime64(outward(value), "D"))
    return "" if value is None else repr(int(value) if value.is_integer() else value)
