"""Measure what published folders reveal together, without a ledger.

The rows of a folder are shuffled, so two folders alone do not show which of their rows belong
together.  But they show the number of rows of each kind among the rows that agree on the shared
columns.  These numbers give bounds on the smallest group of all columns.  With the table, the
group is counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.check.table import read_columns
from privsieve.check.verify import verify
from privsieve.containment.knowledge import Knowledge, numbered, shortfall
from privsieve.containment.labelled import Bools, Codes, Ints, Labelled, rows_of
from privsieve.containment.snapshot import (
    Claims,
    counted_items,
    limits_of,
    rests_on,
    strictest,
    target_of,
)
from privsieve.errors import CheckFailed, ParameterError
from privsieve.public.canonical import text_of
from privsieve.release import load
from privsieve.rows.matrix import Items

#: What `publish` calls the table in its folder.
TABLE = "table.csv"
#: Numbers that are kept, and compared, at most for bounds of two folders.
MOST_KEPT, MOST = 2**25, 10**9


@dataclass(frozen=True, eq=False, repr=False)
class Verified:
    """A verified folder: its claim, its items, and its columns of texts.

    texts : the published classes and sensitive values, by column.
    """

    name: str
    claim: Mapping[str, Any]
    items: Items
    texts: Mapping[str, tuple[str, ...]]

    @property
    def known(self) -> str | None:
        """Return the target, if an attacker may know its classes."""
        return self.claim["target"] if self.claim["roles"]["target_known"] else None


@dataclass(frozen=True, eq=False, repr=False)
class Differing:
    """The number of rows of two folders that have no equal in the other folder."""

    first: str
    second: str
    shared: tuple[str, ...]
    only_first: int
    only_second: int


@dataclass(frozen=True, eq=False, repr=False)
class Bounds:
    """Bounds on the smallest group of the columns of two folders."""

    lowest: int
    highest: int


def is_folder(path: str) -> bool:
    """Return whether a path is a release folder."""
    return (Path(path) / "certificate.json").is_file()


def published(path: str) -> Verified:
    """Read a folder that `publish` wrote; refuse a folder that its certificate does not fit."""
    place = Path(path)
    inside = place / TABLE
    if not inside.is_file():
        raise ParameterError(f"{path} does not contain a published table; name folders that "
                             "`privsieve publish` wrote")
    certificate = load(place).certificate  # refuses a pipe, before anything waits for it
    result = verify(place / "certificate.json", place / "release.json", table=inside)
    if not result.valid:
        raise CheckFailed(f"{path} does not fit its certificate: {result.reasons[0]}; use the "
                          "folder as `privsieve publish` wrote it")
    claim: Any = certificate["claim"] if certificate else None
    if claim is None or claim["kind"] != "containment":
        raise ParameterError(f"{path} is not a publication of columns; name folders that "
                             "`privsieve publish` wrote")
    beside = [*claim["sensitive"], *([claim["target"]] if claim["target"] else [])]
    cells = read_columns(inside.read_bytes())
    held = [np.array([*cells[name]]) == "1" for name in claim["columns"]]
    items = Items.dense(np.stack(held, axis=1), claim["columns"])
    return Verified(path, claim, items, {name: tuple(cells[name]) for name in beside})


def differing(folders: Sequence[Verified]) -> Differing | None:
    """Return the first two folders of different rows; None if no difference shows.

    They differ in their number of rows, or in the rows of the shared columns.
    """
    for first, second in combinations(folders, 2):
        shared = _shared(first, second)
        codes, other = _numbered(first, second, shared)
        width = max([-1, *codes.tolist(), *other.tolist()]) + 1
        there, here = np.bincount(codes, minlength=width), np.bincount(other, minlength=width)
        only = int(np.maximum(there - here, 0).sum()), int(np.maximum(here - there, 0).sum())
        if any(only):
            return Differing(first.name, second.name, shared, *only)
    return None


def bounds(folders: Sequence[Verified]) -> Bounds:
    """Bound the smallest group of all columns together, if the rows are the same.

    Take n rows that agree on the shared columns of two folders.  If `a` of them match a row in the
    first folder, and `b` in the second, then max(0, a + b - n) to min(a, b) rows match in both.
    The smallest group of more folders is not larger than the smallest group of any two.
    """
    claims = [folder.claim for folder in folders]
    alone = [int(_patterns(folder, np.zeros(folder.items.rows, np.int32), claims)[1].min())
             for folder in folders]
    rows = folders[0].items.rows
    if len(folders) == 1:
        return Bounds(alone[0], alone[0])
    pairs = [_pair(*two, claims) for two in combinations(folders, 2)]
    highest = min([*alone, *(pair.highest for pair in pairs if pair)])
    lowest = max(1, sum(alone) - (len(alone) - 1) * rows)
    if len(folders) == 2 and pairs[0]:
        lowest = max(lowest, pairs[0].lowest)
    return Bounds(lowest, highest)


@dataclass(frozen=True, eq=False, repr=False)
class Joined:
    """The groups of all columns of the folders, counted from their table.

    level : rows, or sources, in the smallest group.
    below : rows in groups below k; poor : in groups of fewer than l classes.
    notes : what was not counted.
    """

    level: int
    below: int
    poor: int
    notes: tuple[str, ...] = ()


def counted(tables: Mapping[str | None, Labelled], folders: Sequence[Verified], k: int) -> Joined:
    """Count the smallest group of all columns of folders from their table.

    `tables` is the table as it is read with each target on which a folder rests (`targets`).
    """
    table, claims = next(iter(tables.values())), [folder.claim for folder in folders]
    for folder in folders:
        if not is_of(folder, tables.get(folder.claim["target"], table)):
            raise CheckFailed(f"{folder.name} does not have the rows of this table, as they are "
                              "read now; give the table from which it was published, with the "
                              "same options")
    chosen = table.items.take(counted_items(table, claims))
    rule = strictest(chosen, claims)
    notes = []
    targets_known = {folder.known for folder in folders if folder.known}
    classes = tuple(tables[name].y for name in targets_known)
    people = any(folder.claim.get("counted") for folder in folders)
    if people and table.sources is None:
        notes.append("k counts people in one folder, but rows here: name the column of people "
                     "(--source, or the person of a domain file)")
    equal = rule.model == "k-anonymity"
    groups = Knowledge(chosen, rule.absent, classes, table.sources if people else None,
                       equal).groups().sizes()
    poor = 0
    for folder in folders:
        name = target_of(folder.claim)
        if folder.claim["l_diversity"] > 1:
            of = tables[name]
            diverse = replace(rule, k=1, classes=len(of.classes), labelled=False)
            poor = max(poor, shortfall(Labelled(chosen, of.y), diverse, range(len(chosen))).poor)
    if limits_of(claims):
        notes.append("the folders also limit what a group tells; this command does not count "
                     "these limits, but `publish` with a ledger does")
    return Joined(int(groups.min()), int((groups < k).sum()), poor, tuple(dict.fromkeys(notes)))


def targets(folders: Sequence[Verified]) -> tuple[str, ...]:
    """Return the targets that folders publish, or count in classes."""
    names = [target_of(folder.claim) for folder in folders if rests_on(folder.claim)[0]]
    return tuple(dict.fromkeys(name for name in names if name is not None))


def is_of(folder: Verified, table: Labelled) -> bool:
    """Return whether a folder and a table have the same rows."""
    items = table.items.take(counted_items(table, [folder.claim]))
    whole: dict[str, Sequence[str]] = {}
    if folder.claim["target"] is not None:
        texts = [text_of(column) for column in table.classes]
        whole[folder.claim["target"]] = [texts[code] for code in table.y]
    for column in table.sensitive:
        if column.name in folder.texts:
            whole[column.name] = [column.values[code] for code in column.codes]
    mine = Verified("", {**folder.claim, "columns": items.names}, items,
                     {name: tuple(texts) for name, texts in whole.items()})
    return differing([folder, mine]) is None


def _shared(first: Verified, second: Verified) -> tuple[str, ...]:
    """Return the items and columns of texts that both folders publish."""
    return (*sorted(set(first.items.names) & set(second.items.names)),
            *sorted(first.texts.keys() & second.texts.keys()))


def _numbered(first: Verified, second: Verified, shared: Sequence[str]) -> tuple[Codes, Codes]:
    """Number the rows of both folders: rows that agree on the shared columns have one number."""
    rows = first.items.rows, second.items.rows
    columns = [np.concatenate([_column(folder, name) for folder in (first, second)])
               for name in shared]
    numbers = reduce(lambda number, column: np.unique(
        number.astype(np.int64) * (len(column) + 1) + np.unique(column, return_inverse=True)[1],
        return_inverse=True)[1].reshape(-1), columns, np.zeros(sum(rows), np.int64))
    codes = numbers.astype(np.int32)
    return codes[:rows[0]], codes[rows[0]:]


def _column(folder: Verified, name: str) -> npt.NDArray[Any]:
    """Return the cells of a shared column."""
    if name in folder.texts:
        return np.asarray(folder.texts[name])
    j = folder.items.names.index(name)
    held = np.zeros(folder.items.rows, np.int8)
    held[rows_of(folder.items, j)] = 1
    return held


def _patterns(folder: Verified, codes: Codes, claims: Claims) -> tuple[Ints, Ints]:
    """Return for each pattern of a folder its rows by number, and those of its group."""
    classes = () if folder.known is None else (numbered(folder.texts[folder.known]),)
    rule = strictest(folder.items, claims)
    known = Knowledge(folder.items, rule.absent, classes, equal=rule.model == "k-anonymity")
    groups = known.groups(codes, int(codes.max(initial=-1)) + 1)
    return groups.table.counts, groups.over


def _pair(first: Verified, second: Verified, claims: Claims) -> Bounds | None:
    """Return the bounds of two folders; None if there is too much to compare."""
    codes, other = _numbered(first, second, _shared(first, second))
    most = int(codes.max(initial=-1)) + 1
    nobody = np.zeros(len(codes), np.int32)
    patterns = max(len(_patterns(folder, nobody, claims)[0]) for folder in (first, second))
    if most * patterns > MOST_KEPT:
        return None
    (mine, groups), (theirs, others) = (_patterns(first, codes, claims),
                                        _patterns(second, other, claims))
    pairs = int(((mine > 0).sum(0) * (theirs > 0).sum(0)).sum())
    if pairs * most > MOST:
        return None
    whole = mine.sum(0)
    lowest, highest = [], []
    for stratum in range(most):
        strata = list(_stratum((mine, groups), (theirs, others), whole, stratum))
        lowest += [int(low.min()) for low, _, _ in strata]
        up = np.stack([high for _, high, _ in strata])
        # Each row of a folder is a row of the other folder, at best of its largest group.
        highest += [int(up.max(axis=1).min()), int(up.max(axis=0).min())]
        sure = np.stack([certain for _, _, certain in strata])
        if sure.any():
            highest.append(int(up[sure].min()))
    return Bounds(min(lowest), min(highest))


def _stratum(first: tuple[Ints, Ints], second: tuple[Ints, Ints], whole: Ints, stratum: int,
             ) -> Iterator[tuple[Ints, Ints, Bools]]:
    """Yield for each pattern of one folder the least and the largest possible group.

    Each array covers the patterns of the other folder.  The third array says whether some row
    must have both patterns.
    """
    (mine, groups), (theirs, others) = first, second
    there = np.flatnonzero(theirs[:, stratum])
    for pattern in np.flatnonzero(mine[:, stratum]).tolist():
        least = np.maximum(groups[pattern] + others[there] - whole, 0)
        # If some row has both patterns it is in the group itself.
        least[:, stratum] = np.maximum(least[:, stratum], 1)
        largest = np.minimum(groups[pattern], others[there])
        certain = mine[pattern, stratum] + theirs[there, stratum] > whole[stratum]
        yield least.sum(axis=1), largest.sum(axis=1), certain
