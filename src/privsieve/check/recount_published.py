"""Recount what a publication measured: the crowds of each stranger, from the published table alone.

Rows are one large integer a column, as in `check.table`; figures are fractions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from privsieve.check.reasons import Unreadable, failed
from privsieve.check.table import OpenGroups, read_columns
from privsieve.frozen import dataclass

#: Shares are told in so many parts of one, rounded up.
PARTS = 10**9
#: So many groups are counted for each column that is left out; of more that is not recounted.
MOST_GROUPS = 20_000
#: Patterns times cells of the table: of more the crowds are not counted again, in seconds.
MOST_CELLS = 10**10


@dataclass(frozen=True)
class Opened:
    """A published table: its columns of zeros and ones, and who knows which absences."""

    held: Mapping[str, Sequence[str]]
    absent: frozenset[str]
    target: Sequence[str] | None
    beside: tuple[Sequence[str], ...]

    @classmethod
    def of(cls, data: bytes, claim: Mapping[str, Any]) -> Opened:
        """Read a table as its claim says it."""
        table = read_columns(data)
        if not {*claim["columns"], *claim.get("sensitive", ())} <= table.keys():
            raise Unreadable("the table lacks a claimed column")
        held = {name: table[name] for name in claim["columns"]}
        shown = held if claim["model"] == "k-anonymity" else claim["absent"]
        target = None if claim["target"] is None else table[claim["target"]]
        return cls(held, frozenset(shown), target,
                   tuple(table[name] for name in claim.get("sensitive", ())))

    def crowds(self, absent: frozenset[str], texts: Sequence[Sequence[str]] = (), *,
               without: str | None = None) -> list[int]:
        """For each row, how many rows fit what is known of it."""
        held = {name: cells for name, cells in self.held.items() if name != without}
        labels = list(zip(*texts, strict=True)) if texts else []
        if not held:
            return [len(next(iter(self.held.values())))] * len(next(iter(self.held.values())))
        groups = OpenGroups.of(held, absent)
        apart = {one: int("".join("1" if one == other else "0" for other in labels), 2)
                 for one in set(labels)}
        seen: dict[Any, int] = {}
        found = []
        for at, pattern in enumerate(zip(*groups.cells, strict=True)):
            key = (pattern, labels[at] if labels else None)
            if key not in seen:
                group = groups.group(pattern)
                seen[key] = (group & apart[labels[at]] if labels else group).bit_count()
            found.append(seen[key])
        return found


def reasons(claim: Mapping[str, Any], release: Mapping[str, Any], data: bytes) -> Iterator[str]:
    """What a publication says that it measured, and its table does not show."""
    table, told = Opened.of(data, claim), release["measured"]
    rows = len(next(iter(table.held.values())))
    patterns = len(set(zip(*table.held.values(), strict=True)))
    yield from failed({
        "the release tells another number of rows or patterns than the table has":
            (told["rows"], told["patterns"]) == (rows, patterns)})
    if patterns * rows * len(table.held) > MOST_CELLS:
        return
    every = frozenset(table.held)
    if "roles" not in claim:
        found = {"has": table.crowds(frozenset()), "all": table.crowds(every)}
        said: Mapping[str, Any] = {name: told[name] for name in found}
        promised = found["has"]
        absent: frozenset[str] = frozenset()
    else:
        found = _strangers(table, every)
        said, absent = told["strangers"], table.absent
        known = "known_class" if claim["roles"]["target_known"] else "known"
        yield from failed({"the release promises for another stranger than the claim":
                           told["promised"] == known and known in found})
        promised = found.get(known, found["known"])
    yield from failed({
        "the release tells of other strangers than the table has":
            said.keys() == found.keys(),
        "the crowds of a stranger are not those of the table":
            said.keys() == found.keys() and all(
                _crowd(said[who], sizes, claim["k"]) for who, sizes in found.items()),
        "the rows whose crowd has one class are not those of the table":
            told["one_class"] == _one_class(table, absent if "roles" in claim else frozenset())
            and told.get("one_class_equals") == (
                _one_class(table, every) if "roles" not in claim else None),
    })
    with_class = "roles" in claim and claim["roles"]["target_known"]
    yield from _items(table, told["items"], min(promised), (absent, with_class, rows * patterns))


def _strangers(table: Opened, every: frozenset[str]) -> dict[str, list[int]]:
    found = {"known": table.crowds(table.absent), "all": table.crowds(every)}
    label = () if table.target is None else (table.target,)
    if label:
        found |= {"known_class": table.crowds(table.absent, label),
                  "all_class": table.crowds(every, label)}
    if table.beside:
        found["everything"] = table.crowds(every, (*label, *table.beside))
    return found


def _crowd(said: Mapping[str, Any], sizes: Sequence[int], k: int) -> bool:
    """Whether what is said of crowds is what their sizes are."""
    share = sum(Fraction(count, size) for size, count in Counter(sizes).items()) / len(sizes)
    # 0.1.0, which told no bins, rounded a sum of doubles up
    near = Fraction(0 if "bins" in said else 1, 1000)
    averages = {-int(-(share * PARTS + off) // 1) for off in (-near, 0, near)}
    told = int(Fraction(said["average"]) * PARTS)
    starts = [1, *_starts(k, max(sizes))]
    ends = [*(start - 1 for start in starts[1:]), None]
    bins = [[low, high, sum(low <= size and (high is None or size <= high) for size in sizes)]
            for low, high in zip(starts, ends, strict=True)]
    return (said["level"] == min(sizes) and said["below"] == sum(size < k for size in sizes)
            and said.get("alone", 0) == (sizes.count(1) if "alone" in said else 0)
            and told in averages and said["average"] == f"{told // PARTS}.{told % PARTS:09d}"
            and ("bins" not in said or [list(one) for one in said["bins"]] == bins))


def _starts(k: int, largest: int) -> Iterator[int]:
    """Where bins of sizes begin: k, then 1, 2 or 5 times a power of ten."""
    yield k
    ten = 1
    while ten <= largest:
        yield from (times * ten for times in (1, 2, 5) if k < times * ten <= largest)
        ten *= 10


def _one_class(table: Opened, absent: frozenset[str]) -> int | None:
    """Rows whose whole crowd has one class; None without a published target."""
    if table.target is None:
        return None
    alone, among = table.crowds(absent), table.crowds(absent, (table.target,))
    return sum(one == other for one, other in zip(alone, among, strict=True))


def _items(table: Opened, said: Sequence[Any], level: int,
           how: tuple[frozenset[str], bool, int]) -> Iterator[str]:
    """Each published column: how many rows have it, and the level without it."""
    absent, with_class, size = how
    if [one[0] for one in said] != list(table.held) or any(
            one[1] != cells.count("1") for one, cells in zip(said, table.held.values(),
                                                             strict=True)):
        yield "the columns that the release counts are not those of the table"
        return
    if any(one[2] is not None and one[2] < level for one in said):
        yield "the level without a column is below the one with it"
    # where the class is known, too, it is told of items, some of which stand for an absence
    if not with_class and size * len(said) <= MOST_GROUPS and any(
            one[2] != max(level, min(table.crowds(absent - {one[0]}, without=one[0])))
            for one in said):
        yield "the level without a column is not the one of the table"
