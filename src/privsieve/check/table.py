"""Recount a published table from the file alone: its containment level, and what its groups tell.

The checker is not the maker: nothing here is shared with the methods that choose and measure, and
NumPy is not needed.  A set of rows is one large integer, a bit for each row; the group of a row is
the intersection of the columns that it holds.  Figures are fractions, entropies decimals of fifty
digits.
"""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from functools import reduce
from math import log
from operator import and_
from typing import Any

from privsieve.check.reasons import Unreadable, failed

PARQUET = b"PAR1"
#: Rows are counted of which the group has at least such a share of one value.
STEPS = ("0.8", "0.95")
#: Figures stand in a release as so many parts of one.
PARTS = 10**6
#: The text of a cell that is missing; it comes after all numbers and dates.
MISSING = "missing"
_EXACT = Context(prec=50)
#: Entropies nearer than this in floating point are compared as decimals,
_NEAR = 1e-9
#: and decimals nearer than this are equal.
_SAME = Decimal("1e-40")
_DATE = r"\d{4}(-\d{2}(-\d{2}([ T]\d{2}(:\d{2}){1,2}(\.\d{1,9})?)?)?)?"
#: What follows the column's name in the name of a bin; a bin lies where it begins.
_BIN = r"<(?P<below>[^<>=]+)|=(?P<low>.+)\.\.(?P<high>.+)|>=(?P<from>[^<>=]+)"
_NUMBER = r"(?i)[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})(e[+-]?\d{1,3})?"
_DECIMAL = r"\d{1,9}(\.\d{1,9})?"


@dataclass(frozen=True)
class Recount:
    """What a table shows.

    level : rows in the smallest group.
    classes : distinct labels in the poorest group; 1 without a target.
    """

    columns: tuple[str, ...]
    rows: int
    level: int
    classes: int


def recount_table(data: bytes, *, target: str | None = None, model: str = "containment",
                  absent: Iterable[str] = (), target_known: bool = False,
                  sensitive: Iterable[str] = ()) -> Recount:
    r"""Count the groups of a published file, CSV or Parquet.

    `target` is not among the columns, and neither are `sensitive` ones; of the columns in `absent`
    it counts as known, too, who does not have them.  With `target_known` a group is of one class;
    `classes` are counted in the group without it.

    >>> recount_table(b"a,b\n1,0\n1,1\n1,1\n", absent=["b"])
    Recount(columns=('a', 'b'), rows=3, level=1, classes=1)
    >>> recount_table(b"a,y\n1,n\n1,y\n1,y\n", target="y", target_known=True)
    Recount(columns=('a',), rows=3, level=1, classes=2)
    """
    table = read_columns(data)
    labels = table.pop(target) if target is not None and target in table else None
    beside = set(sensitive)
    if (target is not None and labels is None) or not beside <= table.keys():
        raise Unreadable("the table lacks the claimed target, or a sensitive column")
    held = {name: cells for name, cells in table.items() if name not in beside}
    if not held:
        raise Unreadable("the table has no column of zeros and ones")
    groups = OpenGroups.of(held, held if model == "k-anonymity" else absent)
    level, poorest = _smallest(groups, labels, apart=target_known)
    return Recount(tuple(held), groups.rows, level, poorest)


@dataclass(frozen=True, repr=False)
class OpenGroups:
    """The groups of a table on columns of zeros and ones; of those in `shown` absence is known."""

    rows: int
    cells: tuple[Sequence[str], ...]
    held: tuple[int, ...]
    shown: tuple[bool, ...]

    @classmethod
    def of(cls, columns: Mapping[str, Sequence[str]], absent: Iterable[str]) -> OpenGroups:
        """The groups on these columns, of which those in `absent` are known to be lacked."""
        cells, hidden = tuple(columns.values()), set(absent)
        if not cells[0] or any(set(one) - {"0", "1"} for one in cells):
            raise Unreadable("the table has no row, or holds something else than 0 and 1")
        return cls(len(cells[0]), cells, tuple(int("".join(one), 2) for one in cells),
                   tuple(name in hidden for name in columns))

    def group(self, pattern: Sequence[str]) -> int:
        """The rows that hold all that the pattern holds, and lack what it is known to lack."""
        whole = (1 << self.rows) - 1
        having = (column for cell, column in zip(pattern, self.held, strict=True) if cell == "1")
        lacking = (whole ^ column
                   for cell, column, shown in zip(pattern, self.held, self.shown, strict=True)
                   if cell == "0" and shown)
        return reduce(and_, lacking, reduce(and_, having, whole))


def _smallest(groups: OpenGroups, labels: Sequence[str] | None, *, apart: bool) -> tuple[int, int]:
    """Rows in the smallest group, and classes in the poorest; groups of one class if `apart`."""
    labels = [""] * groups.rows if labels is None else labels
    classes = {one: int("".join("1" if label == one else "0" for label in labels), 2)
               for one in sorted(set(labels))}
    size: dict[tuple[str, ...], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for pattern, label in zip(zip(*groups.cells, strict=True), labels, strict=True):
        size[pattern][label] += 1
    level, poorest = groups.rows, len(classes)
    for pattern, counts in sorted(size.items(), key=lambda one: min(one[1].values())):
        # A group is never smaller than its own pattern: common patterns are passed over.
        least = min(counts.values()) if apart else sum(counts.values())
        if least >= level and len(counts) >= poorest:
            continue
        group = groups.group(pattern)
        parts = [classes[one] & group for one in counts] if apart else [group]
        level = min(level, *(part.bit_count() for part in parts))
        poorest = min(poorest, sum(1 for one in classes.values() if one & group))
    return level, poorest


@dataclass(frozen=True, repr=False)
class Disclosed:
    """What the groups tell of a column at worst, exactly but for the entropy.

    above : for each step the rows whose group has at least such a share of one value.
    """

    rows: int
    values: int
    share: Fraction
    above: tuple[tuple[str, int], ...]
    distinct: int
    entropy: Decimal
    closeness: Fraction

    def figures(self) -> dict[str, Any]:
        """The same as a release says it: risks rounded up, protection down."""
        entropy = int(_EXACT.multiply(_EXACT.add(self.entropy, _SAME), Decimal(PARTS)))
        return {"rows": self.rows, "values": self.values, "share": _text(_up(self.share)),
                "above": [[step, rows] for step, rows in self.above], "distinct": self.distinct,
                "entropy": _text(entropy), "closeness": _text(_up(self.closeness))}


def recount_values(data: bytes, column: str, of: Sequence[str], *, absent: Iterable[str] = (),
                   ordered: bool = False, known: str | None = None) -> Disclosed:
    r"""Count what the groups of a published file tell of one of its columns.

    Groups are those on the columns `of`, zeros and ones; of the columns in `absent` it counts as
    known, too, who does not have them.  `known` is a column that may be known as well: groups with
    it and without it are counted.  `ordered` values are numbers or dates.

    >>> recount_values(b"a,ill\n1,no\n1,no\n1,yes\n0,yes\n", "ill", ["a"]).figures()["share"]
    '0.666667'
    """
    table = read_columns(data)
    if not of or {*of, column, *([known] if known else [])} - table.keys():
        raise Unreadable("the table lacks a claimed column")
    groups = OpenGroups.of({name: table[name] for name in of}, absent)
    values = _values(table[column], column, ordered=ordered)
    classes = list(_rows_of(table[known], set(table[known]))) if known else []
    worst = _Worst([one.bit_count() for one in values], ordered=ordered)
    for pattern, mine in _patterns(groups).items():
        group = groups.group(pattern)
        bad = worst.see(group, values)
        for one in classes:
            if one & mine:
                worst.mark(one & mine, max(bad, worst.see(group & one, values)))
        if not classes:
            worst.mark(mine, bad)
    return worst.disclosed(groups.rows)


def recounted(claim: Mapping[str, Any], data: bytes) -> dict[str, Disclosed]:
    """The published target and sensitive columns of a claim, each with what groups tell of it.

    Nothing of a claim of version 0.1.0, which has no roles.
    """
    if "roles" not in claim:
        return {}
    target, ordered = claim["target"], _ordered(claim)
    known = target if claim["roles"]["target_known"] else None
    absent = claim["columns" if claim["model"] == "k-anonymity" else "absent"]
    return {column: recount_values(data, column, claim["columns"], absent=absent,
                                   ordered=column in ordered,
                                   known=None if column == target else known)
            for column in [*([target] if target is not None else []), *claim["sensitive"]]}


def limit_reasons(claim: Mapping[str, Any], counted: Mapping[str, Disclosed]) -> Iterator[str]:
    """What the published values, as `recounted`, do not keep of the claimed limits."""
    limits = claim.get("limits")
    if limits is None:
        return
    if any(limits.get(name) is not None and not re.fullmatch(_DECIMAL, limits[name])
           for name in ("share", "entropy", "closeness")):
        yield "a claimed limit is no decimal number"
        return
    if any(Fraction(limits[name] or 1) < 1 if name == "entropy" else
           not 0 < Fraction(limits[name] or 1) <= 1 for name in ("share", "entropy", "closeness")):
        yield "a claimed limit is none that can be asked for"
        return
    for column, one in counted.items():
        whose = "the target" if column == claim["target"] else "a sensitive column"
        yield from failed({
            f"a group of the table misses the claimed limit of the {name}, in {whose}": holds
            for name, holds in {
                "share of one value":
                    limits["share"] is None or one.share <= Fraction(limits["share"]),
                "entropy l": limits["entropy"] is None
                or _EXACT.add(one.entropy, _SAME) >= Decimal(limits["entropy"]),
                "distance to the whole table": limits["closeness"] is None
                or one.closeness <= Fraction(limits["closeness"]),
                "number of values": one.distinct >= claim["l_diversity"]}.items()})


def figure_reasons(claim: Mapping[str, Any], release: Mapping[str, Any],
                   counted: Mapping[str, Disclosed]) -> Iterator[str]:
    """What a release says of its groups' values, and the published table does not."""
    said = release.get("measured", {}).get("disclosure")
    if said is None:
        return
    if [one["column"] for one in said] != list(counted):
        yield "the release speaks of values of other columns than the table's"
        return
    ordered = _ordered(claim)
    for one in said:
        found = {"column": one["column"], "ordered": one["column"] in ordered,
                 "role": "target" if one["column"] == claim["target"] else "sensitive",
                 **counted[one["column"]].figures()}
        lower = {**found, "entropy": _text(int(Fraction(found["entropy"]) * PARTS) - 1)}
        if dict(one) not in (found, lower):  # large groups may be told as a millionth less
            yield "what the release says of a column's values is not what the table shows"


def limit_notes(claim: Mapping[str, Any]) -> Iterator[str]:
    """What of the claimed limits nobody can recount from the table."""
    limits = claim.get("limits")
    if limits is None or not (any(limits.get(name) is not None for name in (
            "share", "entropy", "closeness")) or claim["l_diversity"] > 1):
        return
    roles = claim["roles"]
    hidden = [name for name in roles["sensitive"] if name not in claim["sensitive"]]
    if roles["target"] is not None and claim["target"] is None:
        hidden.append(roles["target"])
    if hidden:
        yield ("limits on what a group tells hold for columns that are not published, too: these "
               "were not recounted")


def _ordered(claim: Mapping[str, Any]) -> set[str]:
    """The columns of numbers and dates; without a word of them every column is one of categories.

    That is the stricter reading: the ordered distance is never the larger one.
    """
    return set(claim["limits"].get("ordered", ()))


@dataclass(repr=False)
class _Worst:
    """The worst groups that were seen so far; `whole` is how often each value stands in all."""

    whole: list[int]
    ordered: bool
    share: Fraction = Fraction(0)
    distinct: int = 1 << 62
    closeness: Fraction = Fraction(0)
    least: float = float("inf")
    poorest: set[tuple[int, ...]] = field(default_factory=set)
    above: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STEPS, 0))

    def see(self, group: int, values: Sequence[int]) -> Fraction:
        """Count a group; returns the share of its commonest value."""
        counts = [(group & one).bit_count() for one in values]
        size = group.bit_count()
        share = Fraction(max(counts), size)
        held = tuple(sorted(count for count in counts if count))
        self.share, self.distinct = max(self.share, share), min(self.distinct, len(held))
        self.closeness = max(self.closeness, self._distance(counts, size))
        entropy = log(size) - sum(count * log(count) for count in held) / size
        if entropy < self.least - _NEAR:
            self.poorest = set()
        if entropy <= self.least + _NEAR:
            self.poorest.add(held)
        self.least = min(self.least, entropy)
        return share

    def mark(self, rows: int, share: Fraction) -> None:
        """Count rows whose worst group has such a share of one value."""
        for step in STEPS:
            if share >= Fraction(step):
                self.above[step] += rows.bit_count()

    def disclosed(self, rows: int) -> Disclosed:
        """All figures."""
        return Disclosed(rows, len(self.whole), self.share, tuple(self.above.items()),
                         self.distinct, min(map(_entropy, self.poorest)), self.closeness)

    def _distance(self, counts: Sequence[int], size: int) -> Fraction:
        rows = sum(self.whole)
        apart = [count * rows - all_rows * size
                 for count, all_rows in zip(counts, self.whole, strict=True)]
        if not self.ordered:
            return Fraction(sum(map(abs, apart)), 2 * rows * size)
        moved = total = 0
        for one in apart:
            total += one
            moved += abs(total)
        return Fraction(moved, rows * size * max(len(counts) - 1, 1))


def _entropy(counts: Sequence[int]) -> Decimal:
    """Entropy l of these counts: e to the power of their entropy."""
    size = Decimal(sum(counts))
    total = _EXACT.ln(size)
    for count in counts:
        total = _EXACT.subtract(total, _EXACT.multiply(
            _EXACT.divide(Decimal(count), size), _EXACT.ln(Decimal(count))))
    return _EXACT.exp(total)


def _patterns(groups: OpenGroups) -> dict[tuple[str, ...], int]:
    """The rows of each pattern; the first row is the highest bit, as in the columns."""
    found: dict[tuple[str, ...], int] = defaultdict(int)
    for place, pattern in enumerate(zip(*groups.cells, strict=True)):
        found[pattern] |= 1 << (groups.rows - 1 - place)
    return found


def _values(cells: Sequence[str], column: str, *, ordered: bool) -> list[int]:
    """The rows of each value, in the order of the values."""
    texts = set(cells)
    if not ordered:
        return list(_rows_of(cells, sorted(texts)))
    known = texts - {MISSING}
    bins = {text: re.fullmatch(_BIN, text.removeprefix(column)) for text in known}
    if known and all(bins.values()):
        first = {text: one["below"] is not None for text, one in bins.items() if one}
        starts = {text: one["low"] or one["from"] or "" for text, one in bins.items() if one}
        below = sorted(text for text in known if first[text])
        by_start = {starts[text]: text for text in known if not first[text]}
        ranked = [*below, *(by_start[start] for start in _ranked(by_start))]
    else:
        ranked = _ranked(known)
    return list(_rows_of(cells, [*ranked, *(texts & {MISSING})]))


def _ranked(known: Iterable[str]) -> list[str]:
    """Numbers or dates in their order."""
    texts = set(known)
    if all(re.fullmatch(_NUMBER, text) for text in texts):
        return sorted(texts, key=lambda text: (Fraction(text), text))
    if all(re.fullmatch(_DATE, text) for text in texts):
        return sorted(texts)
    raise Unreadable("a column that is claimed to be of numbers or dates holds something else")


def _rows_of(cells: Sequence[str], texts: Iterable[str]) -> Iterator[int]:
    """The rows that hold each text."""
    size = len(cells)
    places: dict[str, bytearray] = {text: bytearray(b"0" * size) for text in texts}
    for place, cell in enumerate(cells):
        places[cell][place] = ord("1")
    return (int(bits, 2) for bits in places.values())


def _up(share: Fraction) -> int:
    return -int(-share * PARTS // 1)


def _text(parts: int) -> str:
    whole, rest = divmod(parts, PARTS)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".")


# --- the file -----------------------------------------------------------------------------------

def read_columns(data: bytes) -> dict[str, Sequence[str]]:
    """The cells of each column, as texts."""
    found = _parquet(data) if data.startswith(PARQUET) else _csv(data)
    if len({len(cells) for cells in found.values()}) > 1:
        raise Unreadable("the columns of the table differ in length")
    return dict(found)


def _csv(data: bytes) -> Mapping[str, Sequence[str]]:
    try:
        lines = list(csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True))
    except (UnicodeError, csv.Error):
        lines = []
    if not lines or any(len(line) != len(lines[0]) for line in lines):
        raise Unreadable("the table is not CSV in UTF-8 with equally many fields in each line")
    names = lines[0]
    if len(set(names)) != len(names):
        raise Unreadable("two columns of the table have the same name")
    columns = zip(*lines[1:], strict=True) if len(lines) > 1 else [()] * len(names)
    return dict(zip(names, columns, strict=True))


def _parquet(data: bytes) -> Mapping[str, Sequence[str]]:
    """Parquet is decoded by pyarrow, which is needed for nothing else."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(data))
    except Exception:  # noqa: BLE001  # pyarrow raises of many types, and none may leave
        raise Unreadable("the table is a damaged Parquet file") from None
    if len(set(table.column_names)) != table.num_columns:
        raise Unreadable("two columns of the table have the same name")
    return {name: [str(cell) for cell in column.to_pylist()]
            for name, column in zip(table.column_names, table.columns, strict=True)}
