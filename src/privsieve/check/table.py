"""Table: recount a published table from the file alone: its level, and what its groups reveal.

This code is independent of the methods that choose and measure, and does not need NumPy.  Rows that
are equal on the columns of zeros and ones are one pattern.  A set of patterns is one large integer,
with a bit for each pattern.  The group of a pattern is the intersection of its columns.  Figures
are fractions.

An attacker may have written the file: a table that takes more than seconds to count is refused.
"""

from __future__ import annotations

import csv
import io
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, islice
from math import exp, fsum, log
from typing import Any

from privsieve.check.reasons import Unreadable, failed
from privsieve.public.canonical import canonical

#: The most rows and cells of a table that is recounted.
MOST_ROWS, MOST_CELLS = 2**23, 2**27
#: The most steps: groups and columns, times patterns.
MOST_STEPS = 10**12
#: The most patterns times texts, and patterns times values.
MOST_TEXTS = 5 * 10**8
MOST_VALUES = 10**7
#: A group takes at least the time of this number of patterns.
_LEAST_STEPS = 2**14
#: The rows that are read together.
_CHUNK = 2**14
#: Rows are counted whose groups have at least these shares of one value.
STEPS = ("0.8", "0.95")
#: Figures of a release are in units of 1 / this.
PARTS = 10**6
#: The text of a missing cell; it is sorted after all numbers and dates.
MISSING = "missing"
#: The largest relative error of a sum of logarithms, by which an entropy is reduced.
_ROUNDED = 1e-12
_DATE = r"\d{4}(-\d{2}(-\d{2}([ T]\d{2}(:\d{2}){1,2}(\.\d{1,9})?)?)?)?"
#: The end of the name of a bin, after the column's name.
_BIN = r"<(?P<below>[^<>=]+)|=(?P<low>.+)\.\.(?P<high>.+)|>=(?P<from>[^<>=]+)"
_NUMBER = r"(?i)[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})(e[+-]?\d{1,3})?"
#: The figure of each limit, in words.
_WORDS = {"share": "share of one value", "entropy": "entropy l",
          "closeness": "distance to the whole table", "distinct": "number of values"}
#: The rows of each pattern: a set of patterns for each binary digit of the counts.
Digits = tuple[int, ...]


@dataclass(frozen=True, repr=False)
class Opened:
    r"""A published table in the form of its claim, with the groups on columns of zeros and ones.

    patterns : the distinct rows; the first one is the highest bit of a set
    at : the pattern of each row of the table
    held : for each column, the patterns that have a 1 in it
    absences : the columns whose absences an attacker knows

    >>> claim = {"columns": ["a", "b"], "target": None, "sensitive": [], "absent": ["b"],
    ...          "model": "containment", "roles": {"target_known": False}}
    >>> Opened.of(b"a,b\n1,0\n1,1\n1,1\n", claim).smallest()
    (1, 1)
    """

    cells: Mapping[str, Sequence[str]]
    claim: Mapping[str, Any]
    patterns: tuple[str, ...]
    at: Sequence[int]
    held: Mapping[str, int]
    absences: frozenset[str]

    @classmethod
    def of(cls, data: bytes, claim: Mapping[str, Any]) -> Opened:
        """Read a file; refuse other columns than the claimed ones."""
        table = read_columns(data)
        beside = {*claim["sensitive"], claim["target"]}
        names = [name for name in table if name not in beside]
        if names != list(claim["columns"]) or not beside - {None} <= table.keys() or not names:
            raise Unreadable("the columns of the table differ from the claim")
        cells = [table[name] for name in names]
        if not cells[0] or not all(column.strip("01") == "" if isinstance(column, str) else
                                   set(column) <= {"0", "1"} for column in cells):
            raise Unreadable("the table has no rows, or values other than 0 and 1")
        known: dict[str, int] = {}
        at = array("I", (known.setdefault(pattern, len(known))
                         for pattern in map("".join, zip(*cells, strict=True))))
        held = {name: int("".join(bits), 2)
                for name, bits in zip(names, zip(*known, strict=True), strict=True)}
        absences = names if claim["model"] == "k-anonymity" else claim["absent"]
        return cls(table, claim, tuple(known), at, held, frozenset(absences))

    @property
    def rows(self) -> int:
        """Return the number of rows of the table."""
        return len(self.at)

    @property
    def labels(self) -> Sequence[str] | None:
        """Return the cells of the target; None if it is not published."""
        target = self.claim["target"]
        return None if target is None else self.cells[target]

    @property
    def beside(self) -> list[str]:
        """Return the published columns outside of patterns: the target and sensitive columns."""
        target = self.claim["target"]
        return [*([] if target is None else [target]), *self.claim["sensitive"]]

    def group(self, pattern: str, absences: Collection[str], without: str | None = None) -> int:
        """Return the patterns with all presences of this one and its known absences.

        An attacker knows the absences in the columns `absences`.  `without` is ignored.
        """
        fitting = (1 << len(self.patterns)) - 1
        for cell, (name, having) in zip(pattern, self.held.items(), strict=True):
            if name == without:
                continue
            if cell == "1":
                fitting &= having
            elif name in absences:
                fitting &= ~having
        return fitting

    def counts(self, texts: Iterable[Any] | None = None) -> dict[Any, dict[int, int]]:
        """Count the rows of each pattern for each text; without texts, all rows together."""
        if texts is None:
            return {None: Counter(self.at)}
        counts: dict[Any, dict[int, int]] = defaultdict(dict)
        for (at, text), rows in Counter(zip(self.at, texts, strict=True)).items():
            counts[text][at] = rows
        _demand(len(counts) * len(self.patterns), "different texts in its groups", MOST_TEXTS)
        return counts

    def each(self, counts: Mapping[Any, Mapping[int, int]]) -> list[dict[Any, int]]:
        """Transpose `counts`: for each pattern, count its rows with each text."""
        held: list[dict[Any, int]] = [{} for _ in self.patterns]
        for text, own in counts.items():
            for at, rows in own.items():
                held[at][text] = rows
        return held

    def digits(self, counts: Mapping[int, int]) -> Digits:
        """Return counts of rows, by the place of their pattern, as sets of patterns."""
        planes = [bytearray(b"0" * len(self.patterns))
                for _ in range(max(counts.values(), default=0).bit_length())]
        for at, rows in counts.items():
            for digit, bits in enumerate(planes):
                bits[at] += rows >> digit & 1
        return tuple(int(bits, 2) for bits in planes)

    def smallest(self) -> tuple[int, int]:
        """Return the rows of the smallest group, and the fewest classes of a group.

        Without a published target there is 1 class.  If an attacker knows the class, the smallest
        group is of one class; classes are counted in groups of all classes.
        """
        apart = self.claim["roles"]["target_known"]
        counts = self.counts(self.labels)
        by_class = {text: self.digits(own) for text, own in counts.items()}
        every = self.digits(self.counts()[None])
        level, poorest, steps = self.rows, len(counts), 0
        for pattern, own in sorted(zip(self.patterns, self.each(counts), strict=True),
                                   key=lambda pair: min(pair[1].values())):
            # A group is never smaller than its own pattern: common patterns are skipped.
            least = min(own.values()) if apart else sum(own.values())
            if least >= level and len(own) >= poorest:
                continue
            steps += (len(self.held) + poorest) * (len(self.patterns) + _LEAST_STEPS)
            _demand(steps, "different rows", MOST_STEPS)
            group = self.group(pattern, self.absences)
            level = min(level, *(weigh(group, digits) for digits in (
                [by_class[pair] for pair in own] if apart else [every])))
            held = (1 for digits in by_class.values() if any(bits & group for bits in digits))
            poorest = sum(islice(held, poorest))
        return level, poorest

    def disclosures(self) -> list[Disclosed]:
        """Return the worst figures of groups about each column outside of patterns."""
        return [*map(self.disclosed, self.beside)]

    def disclosed(self, column: str) -> Disclosed:
        """Return the worst figures of groups about one column.

        If an attacker knows the class, groups of one class count, too.  Values of an ordered column
        are numbers or dates.
        """
        ordered, target = column in self.claim["limits"]["ordered"], self.claim["target"]
        known = self.labels if self.claim["roles"]["target_known"] and column != target else None
        by_value = self.counts(self.cells[column])
        values = _in_order(by_value, column, ordered=ordered)
        classes = self.counts(known)
        _demand(sum(map(len, classes.values())) * len(values), "values in its groups", MOST_VALUES)
        every = [self.digits(by_value[text]) for text in values]
        pairs = self.counts(zip(known, self.cells[column], strict=True)) if known else {}
        apart = {label: [self.digits(pairs.get((label, text), {})) for text in values]
                 for label in (classes if known else ())}
        worst = Disclosed({"column": column, "ordered": ordered, "rows": self.rows,
                           "role": "target" if column == target else "sensitive"},
                          [sum(by_value[text].values()) for text in values])
        for pattern, own in zip(self.patterns, self.each(classes), strict=True):
            group = self.group(pattern, self.absences)
            bad = worst.see([weigh(group, digits) for digits in every])
            for label, rows in own.items():
                worst.mark(rows, max(bad, worst.see([
                    weigh(group, digits) for digits in apart[label]])) if known else bad)
        return worst


def weigh(group: int, digits: Digits) -> int:
    """Return the number of rows of a set of patterns.

    >>> weigh(0b110, (0b111, 0b010))
    4
    """
    rows = 0
    for digit, bits in enumerate(digits):
        rows += (group & bits).bit_count() << digit
    return rows


@dataclass(repr=False)
class Disclosed:
    """The worst figures of groups about a column; it grows with each group.

    of : the column, its role, whether it is ordered, and the rows of the table
    whole : the number of rows with each value, in the order of values
    above : for each step, the rows whose group has at least this share of one value
    entropy : e to the smallest entropy; exact for groups of equally common values, else a lower
        bound
    """

    of: Mapping[str, Any]
    whole: list[int]
    share: Fraction = Fraction(0)
    distinct: int = 1 << 62
    closeness: Fraction = Fraction(0)
    entropy: Fraction = Fraction(1 << 62)
    above: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STEPS, 0))

    def see(self, counts: Sequence[int]) -> Fraction:
        """Add a group with these counts of values; return the share of its commonest value."""
        size = sum(counts)
        share = Fraction(max(counts), size)
        # The number of values with each count: few entries even for many values.
        held = Counter(filter(None, counts))
        values = sum(held.values())
        self.share = max(self.share, share)
        self.distinct = min(self.distinct, values)
        self.closeness = max(self.closeness, self._distance(counts, size))
        spread = log(size) - fsum(many * count * log(count) for count, many in held.items()) / size
        self.entropy = min(self.entropy, Fraction(
            values if len(held) == 1 else exp(spread) * (1 - _ROUNDED)))
        return share

    def mark(self, rows: int, share: Fraction) -> None:
        """Count rows whose worst group has this share of one value."""
        for step in STEPS:
            if share >= Fraction(step):
                self.above[step] += rows

    def _distance(self, counts: Sequence[int], size: int) -> Fraction:
        rows = sum(self.whole)
        apart = [count * rows - all_rows * size
                 for count, all_rows in zip(counts, self.whole, strict=True)]
        if not self.of["ordered"]:
            return Fraction(sum(map(abs, apart)), 2 * rows * size)
        moved = total = 0
        for difference in apart:
            total += difference
            moved += abs(total)
        return Fraction(moved, rows * size * max(len(counts) - 1, 1))

    def says(self, figures: Mapping[str, Any]) -> bool:
        """Return whether a release states these figures; its entropy may be a millionth lower.

        Risks are rounded up, and protection is rounded down.
        """
        parts = int(self.entropy * PARTS)
        exact = {**self.of, "values": len(self.whole), "share": _text(_up(self.share)),
                 "above": [[step, rows] for step, rows in self.above.items()],
                 "distinct": self.distinct, "closeness": _text(_up(self.closeness))}
        return canonical(figures) in [canonical({**exact, "entropy": _text(some)})
                                      for some in (parts, parts - 1)]


def limit_reasons(claim: Mapping[str, Any], values: Iterable[Disclosed]) -> Iterator[str]:
    """Yield the claimed limits that the published values exceed."""
    limits = {name: Fraction(claim["limits"][name]) for name in _WORDS
              if claim["limits"].get(name) is not None}
    if any(limit < 1 if name == "entropy" else not 0 < limit <= 1
           for name, limit in limits.items()):
        yield "a claimed limit is impossible"
        return
    for column in values:
        whose = "the target" if column.of["role"] == "target" else "a sensitive column"
        keeps = {"share": column.share <= limits.get("share", 1),
                 "entropy": column.entropy >= limits.get("entropy", 0),
                 "closeness": column.closeness <= limits.get("closeness", 1),
                 "distinct": column.distinct >= claim["l_diversity"]}
        yield from failed({f"a group of the table misses the claimed limit of the {words}, in "
                           f"{whose}": keeps[name] for name, words in _WORDS.items()})


def limit_notes(claim: Mapping[str, Any]) -> Iterator[str]:
    """Yield a note if the table cannot show all claimed limits."""
    limits = claim["limits"]
    if claim["l_diversity"] == 1 and all(limits.get(name) is None for name in _WORDS):
        return
    roles = claim["roles"]
    hidden = [name for name in roles["sensitive"] if name not in claim["sensitive"]]
    if roles["target"] is not None and claim["target"] is None:
        hidden.append(roles["target"])
    if hidden:
        yield "groups are also limited in columns that are not published; they were not recounted"


def _in_order(values: Iterable[str], column: str, *, ordered: bool) -> list[str]:
    """Return the values of a column in their order."""
    texts = set(values)
    if not ordered:
        return sorted(texts)
    known = texts - {MISSING}
    bins = {text: re.fullmatch(_BIN, text.removeprefix(column)) for text in known}
    if known and all(bins.values()):
        first = {text: match["below"] is not None for text, match in bins.items() if match}
        starts = {text: match["low"] or match["from"] or ""
                  for text, match in bins.items() if match}
        below = sorted(text for text in known if first[text])
        by_start = {starts[text]: text for text in known if not first[text]}
        ranked = [*below, *(by_start[start] for start in _ranked(by_start))]
    else:
        ranked = _ranked(known)
    return [*ranked, *(texts & {MISSING})]


def _ranked(known: Iterable[str]) -> list[str]:
    """Return numbers or dates in their order."""
    texts = set(known)
    if all(re.fullmatch(_NUMBER, text) for text in texts):
        return sorted(texts, key=lambda text: (Fraction(text), text))
    if all(re.fullmatch(_DATE, text) for text in texts):
        return sorted(texts)
    raise Unreadable("a column that the claim calls ordered has values other than numbers or dates")


def _up(share: Fraction) -> int:
    return -int(-share * PARTS // 1)


def _text(parts: int) -> str:
    whole, rest = divmod(parts, PARTS)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".")


# --- the file -----------------------------------------------------------------------------------

def read_columns(data: bytes) -> dict[str, Sequence[str]]:
    """Return the cells of each column of a CSV file; a column of zeros and ones is one text."""
    wrong = Unreadable("the table is not CSV in UTF-8 with the same number of fields in each line")
    lines = csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8", newline=""), strict=True)
    rows, known = 0, dict[str, str]()  # each text is held once
    try:
        names = next(lines, None) or []
        parts: list[list[Sequence[str]]] = [[] for _ in names]
        while chunk := list(islice(lines, _CHUNK)):
            if any(len(line) != len(names) for line in chunk):
                raise wrong
            rows += len(chunk)
            _demand(rows, "rows", MOST_ROWS)
            _demand(rows * len(names), "cells", MOST_CELLS)
            for pieces, cells in zip(parts, zip(*chunk, strict=True), strict=True):
                pieces.append("".join(cells) if set(cells) <= {"0", "1"} else
                            [known.setdefault(cell, cell) for cell in cells])
    except (UnicodeError, csv.Error):
        raise wrong from None
    if not names:
        raise wrong
    if len(set(names)) != len(names):
        raise Unreadable("two columns of the table have the same name")
    return {name: "".join(pieces) if all(isinstance(cells, str) for cells in pieces) else  # type: ignore[arg-type]
            [*chain.from_iterable(pieces)] for name, pieces in zip(names, parts, strict=True)}


def _demand(many: int, what: str, most: int) -> None:
    """Refuse a table that takes more than seconds to count."""
    if many > most:
        raise Unreadable(f"the table has too many {what} to recount")
