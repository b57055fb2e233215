"""RuleTables: what the rules of RuleSieve need of the rows, as integers that add up.

::

    runs    per column, how many rows of each class have each code       interval rules
    signs   per column, which rows lie above the median, by class        2- and 3-way products
    bins    per column, the public grid bin of each row, by class        rules on pairs

The class stays an index everywhere, so that weights may come after the charge, from a noisy
count.  Ties are broken by `tie_keys(unit, feature, key)`, not by the file's order: an order that
columns share would make tied columns copies of each other (or of a file sorted by class).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import reduce, wraps
from itertools import chain, combinations
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from privsieve import kernels
from privsieve.frozen import dataclass
from privsieve.kernels.joint import GRIDS, class_gain, joint_best
from privsieve.kernels.slopes import SIDE, slope_best
from privsieve.public.columns import CODES, MISSING
from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch, Passes
from privsieve.summaries import Summary
from privsieve.summaries.layout import ORDERED_WITH_MISSING, SUBSETS, Layout, Part
from privsieve.summaries.persons import by_person
from privsieve.summaries.slopes import slope_values

if TYPE_CHECKING:
    from privsieve.summaries.cuts import AllCuts
    from privsieve.summaries.sums import CellSums, SignSums

Ints = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
#: Rows that are units; or rows of persons, with what each weighs, and whether it stands for one.
Rows = Batch | tuple[Batch, Ints, npt.NDArray[np.bool_]]
#: Of some rows the code of one column, the unit and the row.
Ranked = tuple[npt.NDArray[np.integer], Keys, Keys]
#: Of each column the code, tie key and row of its median record, and how many rows it has.
Cuts = tuple[npt.NDArray[np.uint16], Keys, Keys, Ints]

#: Rows that become one part.  Any cut gives the same scores; fewer parts are faster.
PART_ROWS = 2**23
#: The size of sets that have slopes, and of those that may be cut into a pair and a column.
PAIR, TRIPLE = 2, 3
#: Bins of a single column, where scores are for many classes at once.
CLASS_GRID = 16


# What rows become


@dataclass(frozen=True, eq=False, repr=False)
class Runs(Summary):
    """Per column, the distinct codes and their counts per class."""

    table: tuple[Ints, npt.NDArray[np.uint16], npt.NDArray[np.signedinteger]]
    counts: Ints  # per class, weighted

    @classmethod
    def of(cls, part: Part) -> Runs:
        """Count the codes of a part."""
        weight = np.ones(part.ids.shape[1], np.int64) if part.weight is None else part.weight
        sums = np.concatenate([[0], np.cumsum(weight)])
        return cls(kernels.runs(part.codes, part.starts, part.weight),
                   np.diff(sums[part.starts]))

    def __add__(self, other: Runs) -> Runs:
        return Runs(kernels.merge_runs(self.table, other.table), self.counts + other.counts)

    def dense(self) -> Ints:
        """The same as a table of a public size: columns x codes x classes."""
        indptr, code, count = self.table
        found = np.zeros((len(indptr) - 1, CODES, len(self.counts)), np.int64)
        found[np.repeat(np.arange(len(found)), np.diff(indptr)), code] = count
        return found

    def of_dense(self, table: Ints) -> Runs:
        """Runs of as many columns and classes, from such a table."""
        column, code = np.nonzero(table.any(axis=2))
        counts = table[0].sum(axis=0)
        count = table[column, code]
        # As the kernel has them, of rows that weigh one.
        few = counts.sum() < 2**31
        return Runs((np.searchsorted(column, np.arange(len(table) + 1)).astype(np.int64),
                     code.astype(np.uint16), count.astype(np.int32) if few else count), counts)


@dataclass(frozen=True, eq=False, repr=False)
class Signs(Summary):
    """Bit planes of the median splits; rows by class, each class padded with zero bits."""

    planes: Keys
    masks: Keys | None
    zeros: Ints
    words: Ints
    rows: Ints

    @classmethod
    def of(cls, part: Part, cuts: Cuts, key: int, layout: Layout) -> Signs:
        """Split the columns that have ranks at cuts that were found over the whole table."""
        planes, masks, zeros = kernels.sign_planes(part.codes, part.starts, part.ids, key, cuts,
                                                   layout.kind)
        ranked = layout.ordered
        if len(ranked) < len(planes):
            planes, zeros = np.ascontiguousarray(planes[ranked]), zeros[ranked]
            masks = None if masks is None else np.ascontiguousarray(masks[ranked])
        return cls(planes, masks, zeros, kernels.plane_words(part.starts), part.rows)

    def __add__(self, other: Signs) -> Signs:
        masks = None
        if self.masks is not None and other.masks is not None:
            masks = self._by_class(other, self.masks, other.masks)
        return Signs(self._by_class(other, self.planes, other.planes), masks, self._zeros(other),
                     self.words + other.words, self.rows + other.rows)

    def pairs(self, weights: Ints) -> Ints:
        """For each column its best product with another one."""
        return kernels.sign_pairs(self.planes, self.masks, self.zeros, self.words, self.rows,
                                  weights)

    def triples(self, weights: Ints) -> Ints:
        """For each column its best product with two others."""
        return kernels.sign_triples(self.planes, self.masks, self.zeros, self.words, self.rows,
                                    weights)

    def _by_class(self, other: Signs, mine: Keys, others: Keys) -> Keys:
        pieces = []
        for c in range(len(self.rows)):
            pieces.append(mine[:, self.words[c]:self.words[c + 1]])
            pieces.append(others[:, other.words[c]:other.words[c + 1]])
        return np.ascontiguousarray(np.concatenate(pieces, axis=1))

    def _zeros(self, other: Signs) -> Ints:
        """A zero row keeps its place in its class; the class begins later."""
        def moved(zeros: Ints, words: Ints, shift: Ints) -> Ints:
            place = np.searchsorted(words, zeros >> 6, side="right") - 1
            return np.where(zeros < 0, -1, zeros + 64 * shift[np.maximum(place, 0)])

        here = moved(self.zeros, self.words, other.words[:-1])
        there = moved(other.zeros, other.words, self.words[1:])
        return np.maximum(here, there)


@dataclass(frozen=True, eq=False, repr=False)
class Bins(Summary):
    """Public grid bins; rows by class."""

    bins: npt.NDArray[np.uint8]
    starts: Ints
    weight: Ints | None

    @classmethod
    def of(cls, part: Part, layout: Layout, grid: int) -> Bins:
        """Put a part on the grid."""
        return cls(layout.bins(part.codes, grid), part.starts, part.weight)

    def __add__(self, other: Bins) -> Bins:
        pieces, weights = [], []
        for c in range(len(self.starts) - 1):
            for one in (self, other):
                rows = slice(one.starts[c], one.starts[c + 1])
                pieces.append(one.bins[:, rows])
                weights.append(None if one.weight is None else one.weight[rows])
        joined = [w for w in weights if w is not None]
        return Bins(np.ascontiguousarray(np.concatenate(pieces, axis=1)),
                    self.starts + other.starts, np.concatenate(joined) if joined else None)

    def gain(self, weights: Ints, grid: int, layout: Layout) -> Ints:
        """For each column what a partner adds to it; 0 where it has no grid."""
        on, gain = layout.gridded, np.zeros(len(self.bins), np.int64)
        gain[on] = kernels.pair_gain(self._rows(on), self.starts, self.weight, weights, grid,
                                     layout.nominal[on])
        return gain

    def pairs(self, weights: Ints, grid: int, layout: Layout) -> Ints:
        """Twice the best rule of each pair, in lexicographic order; 0 where one has no grid."""
        d, on = len(self.bins), layout.gridded
        values = np.zeros(d * (d - 1) // 2, np.int64)
        values[of_pair(on[np.stack(np.triu_indices(len(on), 1))], d)] = kernels.pair_best(
            self._rows(on), self.starts, self.weight, weights, grid, layout.nominal[on])
        return values

    def classes(self, grid: int, layout: Layout) -> Ints:
        """For each column what a partner adds for many classes; 0 where it has no grid."""
        on, gain = layout.gridded, np.zeros(len(self.bins), np.int64)
        gain[on] = class_gain(self._rows(on), self.starts, self.weight, grid, layout.nominal[on])
        return gain

    def sets(self, weights: Ints, size: int, layout: Layout) -> Ints:
        """Twice the best rule of each set of three or four columns, in lexicographic order."""
        return joint_best(self.bins, self.starts, self.weight, weights, size, layout.nominal)

    def together(self, weights: Ints, columns: tuple[int, ...], layout: Layout) -> int:
        """Twice the best rule of three columns; of two beside one that is constant: four cells."""
        here, constant = list(columns), TRIPLE - len(columns)
        bins = np.pad(self.bins[here], ((0, constant), (0, 0)))
        nominal = np.pad(layout.nominal[here], (0, constant))
        return int(joint_best(bins, self.starts, self.weight, weights, TRIPLE, nominal)[0])

    def slopes(self, weights: Ints, layout: Layout) -> Ints:
        """Twice the best slope of each pair of columns that add up, in lexicographic order."""
        return slope_best(np.ascontiguousarray(self.bins[layout.sloped]), self.starts, self.weight,
                          weights)

    def _rows(self, on: npt.NDArray[np.intp]) -> npt.NDArray[np.uint8]:
        return self.bins if len(on) == len(self.bins) else np.ascontiguousarray(self.bins[on])


def of_pair(pairs: npt.NDArray[np.intp], columns: int) -> npt.NDArray[np.intp]:
    """The places of pairs in lexicographic order; first columns, and second ones.

    >>> of_pair(np.array([[0, 2], [1, 3]]), 4).tolist()
    [0, 5]
    """
    first, second = pairs
    places: npt.NDArray[np.intp] = first * (2 * columns - first - 1) // 2 + second - first - 1
    return places


@dataclass(frozen=True, eq=False, repr=False)
class RuleTables(Summary):
    """The summary: runs always, signs and bins where the plan asks for them, or sums of them.

    `joint` has the bins of further grids, by their fineness: those of sets of columns.  `cuts` has
    all rows, where the plan has pairs with columns that have no grid.
    """

    runs: Runs
    signs: Signs | SignSums | None
    bins: Bins | CellSums | None
    joint: Mapping[int, Bins | CellSums] = field(default_factory=dict)
    cuts: AllCuts | None = None


def rule_tables(batches: Iterable[Batch], key: int, *, domain: Domain, order: int,
                grid: int | tuple[int, ...], part_rows: int = PART_ROWS) -> RuleTables:
    """The summary of RuleSieve over some batches, held as integer codes while it is made.

    grid : that of pairs, or 0; and then those of sets of columns; `CODES` asks for all cuts.
    """
    layout = Layout.of(domain)
    rows = Passes.of(batches)
    held = gather(rows, part_rows) or [Batch.empty(len(domain.columns))]
    whole, single = _parts(Passes(held, rows.room), key, domain, layout)
    cuts = median_cuts(single, key, layout.kind) if order >= 2 else None
    pairs, *joint = (grid,) if isinstance(grid, int) else grid
    return reduce(add, [
        RuleTables(Runs.of(part), None if cuts is None else Signs.of(one, cuts, key, layout),
                   Bins.of(part, layout, pairs) if pairs else None,
                   {fine: Bins.of(part, layout, fine) for fine in joint if fine < CODES},
                   _all_cuts(part) if CODES in joint else None)
        for part, one in zip(whole, single, strict=True)])


def _all_cuts(part: Part) -> AllCuts:
    from privsieve.summaries.cuts import AllCuts

    return AllCuts.of(part)


def gather(batches: Iterable[Batch], part_rows: int = PART_ROWS) -> list[Batch]:
    """All batches, joined into parts of at least this many rows."""
    return list(Passes.of(batches).keep(part_rows))


def _parts(batches: Passes, key: int, domain: Domain, layout: Layout,
           ) -> tuple[list[Part], list[Part]]:
    """Parts for sums, and parts with one row a unit for ranks."""
    rows: Iterable[Rows] = batches if domain.person is None else by_person(
        batches, domain.rows_per_person, key)
    both = [parts_of(one, layout.classes) for one in rows]
    return [whole for whole, _single in both], [single for _whole, single in both]


def parts_of(rows: Rows, classes: int) -> tuple[Part, Part]:
    """A part for sums, and one with one row a unit for ranks."""
    if isinstance(rows, Batch):
        part = Part.of(rows, classes)
        return part, part
    batch, weight, first = rows
    kept = np.flatnonzero(weight)
    return (Part.of(batch.take(kept), classes, weight[kept]),
            Part.of(batch.take(np.flatnonzero(first)), classes))


# Records of given ranks


class Record(NamedTuple):
    """The record of a rank: rows that stand at it or above are those that compare no lower."""

    code: int
    tie: int
    row: int

    def __repr__(self) -> str:
        return object.__repr__(self)  # its fields are private


def median_cuts(parts: Sequence[Part], key: int, kind: npt.NDArray[np.uint8]) -> Cuts:
    """The record of middle rank of each ordered column: its code, tie key, row, and the count."""
    if len(parts) == 1:
        part = parts[0]
        return kernels.median_cut(part.codes, part.ids[0], part.ids[1], key, kind)
    # [cuts] rank floor(m/2) of m rows that are not missing, by (code, tie key, row)
    cuts = (np.zeros(len(kind), np.uint16), np.zeros(len(kind), np.uint64),
            np.zeros(len(kind), np.uint64), np.zeros(len(kind), np.int64))
    for j in np.flatnonzero(kind < SUBSETS).tolist():
        pieces: list[Ranked] = [(part.codes[j], part.ids[0], part.ids[1]) for part in parts]
        if kind[j] == ORDERED_WITH_MISSING:
            pieces = [_where(piece, piece[0] != MISSING) for piece in pieces]
        if count := sum(len(codes) for codes, _unit, _row in pieces):
            record = at_ranks(pieces, [count // 2], j, key)[0]
            cuts[0][j], cuts[1][j], cuts[2][j], cuts[3][j] = *record, count
    return cuts


def at_ranks(pieces: Sequence[Ranked], ranks: Sequence[int], feature: int, key: int,
             ) -> list[Record]:
    """The records of these 0-based ranks by (code, tie key, row), over all pieces.

    The codes are counted; inside the tie group of the one that holds the rank the top 16 bits of
    the keys are; and of the few rows in that bucket the exact one is picked.

    >>> rows = np.arange(3, dtype=np.uint64)
    >>> records = at_ranks([(np.array([9, 3, 5]), rows, rows)], [0, 2], 1, key=7)
    >>> [record.code for record in records]
    [3, 9]
    """
    counts = _counted(codes for codes, _unit, _row in pieces)
    ties: dict[int, list[tuple[Keys, Keys]]] = {}
    records = []
    for rank in ranks:
        # [at-ranks] the code that holds this rank, then its place in the tie group
        code, left = bucket(counts, rank)
        if code not in ties:
            ties[code] = [(kernels.tie_keys(unit, feature, key), row) for _codes, unit, row in
                          (_where(piece, piece[0] == code) for piece in pieces)]
        top, left = bucket(_counted(_top(keys) for keys, _row in ties[code]), left)
        few: list[tuple[int, int]] = []
        for keys, row in ties[code]:
            inside = _top(keys) == top
            few += zip(keys[inside].tolist(), row[inside].tolist(), strict=True)
        records.append(Record(code, *sorted(few)[left]))
    return records


def _where(piece: Ranked, inside: npt.NDArray[np.bool_]) -> Ranked:
    codes, unit, row = piece
    return codes[inside], unit[inside], row[inside]


def _counted(pieces: Iterable[npt.NDArray[np.integer]]) -> Ints:
    counts = np.zeros(CODES, np.int64)
    for codes in pieces:
        counts += np.bincount(codes, minlength=CODES)
    return counts


def _top(keys: Keys) -> Ints:
    return (keys >> np.uint64(48)).astype(np.int64)


def bucket(counts: Ints, rank: int) -> tuple[int, int]:
    """The bucket that holds this rank, and the rank inside it."""
    ends = np.cumsum(counts)
    bucket = int(np.searchsorted(ends, rank, side="right"))
    return bucket, rank - int(ends[bucket] - counts[bucket])


# What tables become


class Weighing(NamedTuple):
    """Public (or released) numbers by which tables become scores.

    labellings : signed class weights, one row per way to cut the classes in two.
    offset : what is taken off the interval score, per labelling and column, in 24ths.
    scale : what one unit weighs (1 for rows; the common multiple for persons).
    order : 1, 2 or 3: how many signs a product may have.
    grid : cells a side of the pair grid, or 0.
    standing : the weights where each unit has one row, if they differ: in products.
    apart : whether sets are valued by each labelling apart, and the mean counts; else all at once.
    by_chance : what is taken off the best pair with a column, and off its best product of two and
        of three, in 24ths: of thousands of partners one is good by chance.
    by_cells : the same for the rule of a pair that is raced, and for half of what a third column
        adds to a pair.
    """

    labellings: Ints
    offset: Ints
    scale: int
    order: int
    grid: int
    standing: Ints | None = None
    apart: bool = True
    by_chance: tuple[int, int, int] = (0, 0, 0)
    by_cells: tuple[int, int] = (0, 0)

    def alone(self, cut: int) -> Weighing:
        """The same with one labelling."""
        here = slice(cut, cut + 1)
        return self._replace(labellings=self.labellings[here], offset=self.offset[here],
                             standing=None if self.standing is None else self.standing[here])

    def ways(self) -> list[Weighing]:
        """What a set is valued by, one after another: each labelling, or all at once."""
        return [self.alone(cut) for cut in range(len(self.labellings))] if self.apart else [self]


def once(scored: Callable[..., Any]) -> Callable[..., Any]:
    """Keep the last result beside its tables: a tuning tries a candidate many times."""

    @wraps(scored)
    def kept(tables: RuleTables, layout: Layout, by: Any, *more: int) -> Any:
        parts = by if isinstance(by, tuple) else (by,)
        key = *(part.tobytes() if isinstance(part, np.ndarray) else part for part in parts), *more
        made = vars(tables).setdefault("_made", {})  # it goes when the tables go
        if made.get(scored, (None,))[0] != key:
            made[scored] = key, scored(tables, layout, by, *more)
        return made[scored][1]

    return kept


# [scores]
@once
def scores(tables: RuleTables, layout: Layout, by: Weighing) -> Ints:
    """24 times the best rule's value, for each column.

    U_j = max(K_j - offset, g_j - a, X_j - b, Y_j - c) with K over intervals, g over pairs, X and Y
    over products of two and three signs, each divided by its own sensitivity; a, b and c
    are `by_chance`.
    """
    pairs, two, three = by.by_chance
    best: Ints = (12 * kernels.interval(tables.runs.table, by.labellings, layout.kind)
                  - by.offset).max(axis=0)
    if by.grid and tables.bins is not None and len(layout.kind) > 1:
        best = np.maximum(best, 6 * tables.bins.gain(by.labellings, by.grid, layout) - pairs)
    if tables.cuts is not None and len(layout.kind) > 1:
        best = np.maximum(best, 6 * tables.cuts.gain(by.labellings, layout) - pairs)
    ranked, signs = layout.ordered, tables.signs
    if by.order >= 2 and signs is not None and len(ranked) > 1:
        weights = by.labellings if by.standing is None else by.standing
        best[ranked] = np.maximum(best[ranked], 4 * by.scale * signs.pairs(weights) - two)
        if by.order >= 3 and len(ranked) > 2:
            best[ranked] = np.maximum(best[ranked],
                                      3 * by.scale * signs.triples(weights) - three)
    return best
# [/scores]


def grids(sizes: Iterable[int], *, slopes: bool = False) -> tuple[int, ...]:
    """The grids that sets of these sizes, and slopes, need beside the pair grid.

    >>> grids((2,)), grids((3, 4)), grids((2,), slopes=True)
    ((), (8, 4), (64,))
    """
    return (*(GRIDS[size] for size in sizes if size in GRIDS), *((SIDE,) if slopes else ()))


# [set-values]
def set_values(tables: RuleTables, layout: Layout, by: Weighing, size: int) -> Ints:
    """Twice the value of the best rule of each set of `size` columns, in lexicographic order."""
    if size not in GRIDS:
        assert tables.bins is not None
        pairs: Ints = tables.bins.pairs(by.labellings, by.grid, layout)
        if tables.cuts is not None:
            pairs = np.maximum(pairs, tables.cuts.pairs(by.labellings, layout).max(axis=0))
        return pairs
    return tables.joint[GRIDS[size]].sets(by.labellings, size, layout)


@once
def set_scores(tables: RuleTables, layout: Layout, by: Weighing, size: int) -> tuple[Ints, Ints]:
    """24 times what sets of `size` columns, and single ones, are worth for each of their columns.

    Where labellings are apart the mean over them, rounded down: the largest would be that of copies
    of one column where one labelling stands out.  Sets are in lexicographic order.
    """
    ways = by.ways()
    mean = floor_mean((_both(tables, layout, one, size) for one in ways), len(ways))
    return mean[:-len(layout.kind)], mean[-len(layout.kind):]


def _both(tables: RuleTables, layout: Layout, by: Weighing, size: int) -> Ints:
    """What sets, and then single columns, are worth by one labelling, or by all at once."""
    score = scores(tables, layout, by)
    # A triple may be a pair and a column; of four columns only all, or each alone, are asked.
    together = {part: 12 * _together(tables, layout, by, part)
                for part in ((PAIR, TRIPLE) if size == TRIPLE else (size,))}
    if size == PAIR:
        together[PAIR] -= by.by_cells[0]
    return np.concatenate([best_partition(size, together, score), score])


def floor_mean(values: Iterable[Ints], many: int) -> Ints:
    """The mean, rounded down.

    >>> floor_mean([np.array([3, -3]), np.array([4, -4])], 2).tolist()
    [3, -4]
    """
    whole, rest = (np.zeros(1, np.int64) for _ in range(2))
    for one in values:
        # [mean-over-cuts] quotients and remainders, so that no sum grows with the labellings
        parts = np.divmod(one, many)
        whole, rest = whole + parts[0], rest + parts[1]
    mean: Ints = whole + rest // many
    return mean


def _together(tables: RuleTables, layout: Layout, by: Weighing, size: int) -> Ints:
    """Twice the value of the best rule of each set; a slope is a rule of a pair."""
    values = set_values(tables, layout, by, size)
    return values if size != PAIR else np.maximum(values, slope_values(tables, layout, by))


def best_partition(size: int, together: Mapping[int, Ints], score: Ints) -> Ints:
    """The best way to cut each set into parts; a part counts for each of its columns alike.

    together : by size, what sets are worth as one part, in lexicographic order.

    >>> best_partition(2, {2: np.array([5, 9, 2])}, np.array([8, 3, 0])).tolist()
    [5, 9, 2]
    """
    d = len(score)
    columns = np.fromiter(chain.from_iterable(combinations(range(d), size)), np.int64)
    members = columns.reshape(-1, size)
    # Floor division of integers, also below 0.
    best: Ints = np.maximum(together[size], score[members].sum(axis=1) // size)
    if size == TRIPLE:
        for alone in range(size):
            a, b = (members[:, one] for one in range(size) if one != alone)
            pair = together[PAIR][a * d - a * (a + 1) // 2 + b - a - 1]
            best = np.maximum(best, (2 * pair + score[members[:, alone]]) // size)
    return best
# [/set-values]


# [class-scores]
@once
def class_scores(tables: RuleTables, layout: Layout, grid: int) -> Ints:
    """For any number of classes at once, the average of two ways to be of use; 4 n-fold.

    S is the best "value in B -> class in A" over sets B of a public family and all sets A of
    classes, less what chance would give; O the number of units that the best guess of the class
    from the column's bin gets right.  S sees a class that is told from all others, O that many are
    told apart.  n is the weight of all units: max(2 n S, n (P - M)) + 2 n O, where P - M is what a
    partner adds on the pair grid.
    """
    total = int(tables.runs.counts.sum())
    best, right = np.zeros((2, len(layout.kind)), np.int64)
    for j in range(len(layout.kind)):
        for inside in binned(tables.runs, layout, j):
            best[j] = max(best[j], 2 * _subsets(inside, intervals=bool(layout.kind[j] < SUBSETS)))
            right[j] = max(right[j], inside.max(axis=1).sum())
    if grid and tables.bins is not None and len(layout.kind) > 1:
        best = np.maximum(best, tables.bins.classes(grid, layout))
    scored: Ints = best + 2 * total * right
    return scored


def binned(runs: Runs, layout: Layout, j: int) -> Iterator[Ints]:
    """How much of each class lies in each bin of column j; on all grids that it has."""
    indptr, code, count = runs.table
    here = slice(indptr[j], indptr[j + 1])
    if j in layout.gridless:
        from privsieve.summaries.cuts import windows

        yield from windows(code[here], count[here], CLASS_GRID)
        return
    found = np.zeros((CLASS_GRID, count.shape[1]), np.int64)
    np.add.at(found, layout.bin(j, code[here], CLASS_GRID), count[here])
    yield found


def _subsets(inside: Ints, *, intervals: bool) -> int:
    """Best of n n(A, B) - n(A) n(B) over class sets A, and intervals or single bins B."""
    if intervals:
        level = np.concatenate([np.zeros_like(inside[:1]), np.cumsum(inside, axis=0)])
        sets = level[:, None] - level[None]
    else:
        sets = inside[None]
    surplus = inside.sum() * sets - inside.sum(axis=0) * sets.sum(axis=-1, keepdims=True)
    # The best A takes each class whose surplus is above zero.
    return int(np.maximum(surplus, 0).sum(axis=-1).max())
# [/class-scores]
