"""Branches: choose the first race and the depth of rules; estimate their time and memory.

::

    one race    names k columns by their single scores
    pairs       names the best pair first, then single columns
    rounds      names a pair first, if there can be one, then each column by what is unexplained

Public numbers and released class counts decide the branch, the depth of products and the grid;
rows never do.  A `Switch` answers for any number that may be released.  So the plan lists every
possible answer before a row is read.

Time and memory follow from declared sizes.  The constants are nanoseconds of one core of 2020 with
the compiled kernels, measured by `benchmarks/rule_sieve.py` and rounded up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any, NamedTuple

from privsieve.errors import ParameterError
from privsieve.public.domain import Domain
from privsieve.public.plan import Takes
from privsieve.summaries.stages import PART_CELLS

#: Word operations of a nanosecond: what `max_ops` counts.
OPS = 4
#: Word operations that a run may take: 17 seconds, and 20 where pairs are raced as well.
MAX_OPS = 2**36
#: Eighths of them: of pairs, of products, of both, and of both with a race over pairs.
PAIR_PART, PRODUCT_PART, WHOLE, ALL = 5, 6, 8, 9

#: A pair on a grid of 16, 8 or 4: for each labelling, and for each row.
PAIR = {16: (150, .95), 8: (40, .85), 4: (25, .2)}
#: The same where rows have weights.
WEIGHED = (500, 2.4)
#: A product of two and of three signs, and each word of 64 rows in it; with masks twice.
PRODUCT = {2: (45, .55), 3: (40, .42)}
DRAW = 8000  # the noise of a pair
#: A cell that is read, sorted and counted, and a column beside its cells.
CELL, COLUMN = 25, 30_000
#: A cell of which a round counts the code, and the cell of the first pair that it lies in.
ROUND_CELL = 6
#: Bytes of a pair of columns: its value, and what races make of it.
PAIR_BYTES = 200
#: Of more units, and a label, sums of parts are made, on all cores; of fewer units it is faster to
#: look at all rows at once.
FEW = 2**20
#: The largest number of classes for which every cut in two is tried (31 cuts at 6).
ALL_CUTS = 6
#: Bytes of a row beside its codes; bytes of a column's ties.
ROW_BYTES, TIE_BYTES = 48, 2**15


def many_cuts(classes: int) -> int:
    """Count the cuts of the classes in two that are tried.

    >>> [many_cuts(classes) for classes in (2, 3, 6, 7, 19)]
    [1, 3, 31, 11, 35]
    """
    return 2 ** (classes - 1) - 1 if classes <= ALL_CUTS else 2 * classes - 3


class Extent(NamedTuple):
    """The sizes of a table, from which time and memory follow.

    rows : the number of rows; with persons, of all rows that may be kept
    d : the number of columns
    cuts : the number of labellings
    weighed : whether rows have weights
    masked : whether some number has missing as a level
    """

    rows: int
    d: int
    cuts: int = 1
    weighed: bool = False
    masked: bool = False

    @classmethod
    def of(cls, domain: Domain, units: int, *, cuts: int = 1) -> Extent:
        """Return the sizes of a table of a domain."""
        persons = domain.person is not None
        return cls(units * (domain.rows_per_person if persons else 1), len(domain.columns),
                   cuts, persons, any(column.missing_level and not column.levels
                                      for column in domain.columns))

    def pairs(self, grid: int) -> int:
        """Return the nanoseconds for the best rule of each pair of columns."""
        each, row = WEIGHED if self.weighed else PAIR[grid]
        return comb(self.d, 2) * int(each * self.cuts + row * self.rows)

    def products(self, size: int) -> int:
        """Return the nanoseconds for the products of the signs of each two or three columns."""
        each, word = PRODUCT[size]
        words = self.rows // 64 + 8
        return comb(self.d, size) * int((1 + self.masked) * (each + word * words))

    def raced(self, grid: int) -> int:
        """Return the nanoseconds of a race over all pairs: each labelling has its own values."""
        return (self.cuts - 1) * self._replace(cuts=1).pairs(grid) + comb(self.d, 2) * DRAW


def depth(table: Extent, requested: int | None, max_ops: int) -> tuple[int, int]:
    """Return the depth of products and the grid of pairs that `max_ops` allows together.

    The grid comes first: a product of two signs says little that a rule on a grid does not.

    >>> depth(Extent(1000, 30), None, MAX_OPS), depth(Extent(70, 12_000), None, MAX_OPS)
    ((3, 16), (2, 8))
    """
    grid = next((grid for grid in PAIR if table.d > 1
                 and WHOLE * OPS * table.pairs(grid) <= PAIR_PART * max_ops), 0)
    spent, deepest = table.pairs(grid) if grid else 0, 1
    for size in PRODUCT:
        time = table.products(size)
        if WHOLE * OPS * time > PRODUCT_PART * max_ops or OPS * (spent + time) > max_ops:
            break
        spent, deepest = spent + time, size
    return requested or deepest, grid


def scored(table: Extent, deep: int, grid: int) -> int:
    """Return the nanoseconds for all scores of single columns."""
    return (table.pairs(grid) if grid else 0) + sum(
        table.products(size) for size in PRODUCT if size <= deep)


def takes(table: Extent, *, deep: int = 1, grid: int = 0, first: bool = False) -> Takes:
    """Return the time of a whole run, and the bytes of the codes of all rows.

    first : whether a race over pairs may come first

    >>> takes(Extent(70, 12_000), deep=2, grid=8).seconds < 20
    True
    """
    cells = table.rows * table.d
    nanoseconds = CELL * cells + COLUMN * table.d + scored(table, deep, grid)
    nanoseconds += table.raced(grid) if first else 0
    return Takes(nanoseconds / 1e9, rows=2 * cells)


class Tables(NamedTuple):
    """The sizes of RuleSieve's tables, from which the memory of a run follows.

    classes : the classes by which codes are counted in a first pass and in the last; those of cells
    grid : cells a side of the grid of pairs; 0 without one
    first : whether a race over pairs may come first
    copies : the number of copies of all codes that are in memory at a time
    """

    table: Extent
    classes: tuple[int, int, int]
    deep: int
    grid: int
    first: bool = False
    copies: int = 2

    def runs(self, classes: int) -> int:
        """Return the bytes of the codes of each column, and of their counts by class."""
        codes = self.table.d * min(self.table.rows, 2**16)
        return codes * (2 + self._count * classes) if classes else 0

    @property
    def whole(self) -> int:
        """Bytes where all rows are in memory: codes, codes by class, runs, planes and bins."""
        n, d, (*counted, split) = self.table.rows, self.table.d, self.classes
        planes = d * (n // 8 + 32 * split)
        held = (1 + self.table.masked) * planes * (self.deep > 1) + n * d * (self.grid > 0)
        runs = self.runs(max(counted))
        if self.table.weighed or n * d > PART_CELLS:  # parts that are joined
            held, runs = 2 * held, 4 * runs
        rows = self.copies * (2 * n * d + ROW_BYTES * n)
        # Pairs are valued by a plane for each cut of a grid.
        valued = max(0, self.grid - 1) * planes
        return held + runs + max(rows + self._tally(max(counted)), valued + self._raced)

    @property
    def stages(self) -> tuple[tuple[int, int], ...]:
        """Bytes of each stage that adds up parts: of all, and of each thread.

        A thread has a sum, the sum of a part, and the sum of both.  Runs of both have room for the
        codes of either.
        """
        d, (early, late, split) = self.table.d, self.classes
        sums = 8 * split * (comb(d, 2) * self.grid**2
                            + sum(comb(d, size) for size in PRODUCT if size <= self.deep))
        first, last, ties = self.runs(early), self.runs(late), TIE_BYTES * d
        return ((3 * first, first + self._tally(early)), (first + ties, 2 * ties),
                (first + last + sums, 4 * last + self._tally(late) + 3 * sums),
                (first + last + sums + self._raced, 0))

    def memory(self, few: int = 2**63) -> dict[str, Any]:
        """Return the fields of `Takes` that say which memory the tables need.

        few : the largest number of rows, each a unit, that are in memory at once
        """
        whole = self.whole if self.table.rows <= few or self.table.weighed else 0
        return {"stages": self.stages, "whole": whole}

    @property
    def _count(self) -> int:
        return 8 if self.table.weighed else 4

    @property
    def _raced(self) -> int:
        return comb(self.table.d, 2) * PAIR_BYTES if self.first else 0

    def _tally(self, classes: int) -> int:
        return 2**16 * self._count * classes


def a_round(table: Extent, classes: int) -> int:
    """Return the nanoseconds of a round: of more than two classes, each against all others."""
    return ROUND_CELL * table.rows * table.d * (classes if classes > 2 else 1)


def with_rounds(takes: Takes, table: Extent, classes: int, rounds: int) -> Takes:
    """Return the time and memory of a run with rounds: all rows in memory, each with a weight."""
    n, d, many = table.rows, table.d, classes if classes > 2 else 1
    # codes as they are kept and by class, cells, a dozen numbers a row, and runs of two parts
    held = 5 * n * d + (100 + 40 * many) * n + 2 * d * min(n, 2**16) * (2 + 8 * classes)
    return takes._replace(seconds=takes.seconds + rounds * a_round(table, classes) / 1e9,
                          stages=(*takes.stages, (held, 0)),
                          whole=takes.whole and max(takes.whole, held))


# --- one race, or a pair first --------------------------------------------------------------------

class Branch(NamedTuple):
    """A way to choose: its name, and the number of columns that its first race names together."""

    name: str
    size: int

    @property
    def goes_on(self) -> bool:
        """Whether columns are named in rounds."""
        return self.name == ROUNDS.name


ONE, PAIRS, ROUNDS = Branch("one race", 0), Branch("pairs", 2), Branch("rounds", 2)
#: Rounds where there are too many columns for their pairs.
ALONE = ROUNDS._replace(size=0)
#: The values of the option `joint`.
WORDS = ("auto", "none", "pair", "rounds")

#: Units times epsilon, for each column chosen, from which a pair comes first.  Two classes: soybean
#: at 2 a column .70 by pairs, .76 by one race; at 15 exclusive or, which one race never finds.  Of
#: more than two classes units of centred labels count half, and pairs come later.
FROM, MANY_FROM = 15, 25
#: The same from which columns are named in rounds, and that of a number.  Five of 50 independent
#: columns of a label: .83 by rounds and .98 without at 360, .97 and 1 at 720; behind a number five
#: causes, one in eight copies, .62 and .37 at 300.  On 55 real tables 300, 450 and 600 are level.
ROUNDS_FROM, NUMBER_FROM = 400, 300
#: The part of `max_ops` that may go to the noise of "auto": 2^18 pairs of 2^36, 2 seconds.
DRAW_PART = Fraction(1, 8)


class Sizes(NamedTuple):
    """The public numbers that decide which pairs can be valued and raced.

    k, d : the numbers of chosen and of all columns, with those that are always included
    grid : cells a side of the pair grid; 0 without one
    always : the number of columns that are always included
    """

    k: int
    d: int
    units: int
    classes: int
    grid: int
    max_ops: int
    always: int = 0

    @property
    def table(self) -> Extent:
        """The sizes from which the time for pairs follows."""
        return Extent(self.units, self.d, cuts=many_cuts(self.classes))


@dataclass(frozen=True)
class Switch:
    """A function from public or released numbers to the branch that runs.

    room : the possible branches, the weakest first
    strength : units times the epsilon of the races
    least : the strength for each chosen column from which pairs, and rounds, are taken

    >>> switch = Switch((ONE, PAIRS, ROUNDS), 3, Fraction(1800), (15, 400))
    >>> [branch.name for branch in switch.reachable]
    ['one race', 'pairs', 'rounds']
    >>> switch.branch(Fraction(1, 2)).name, switch.branch(Fraction(1)).name
    ('pairs', 'rounds')
    """

    room: tuple[Branch, ...]
    k: int
    strength: Fraction
    least: tuple[Fraction | int, Fraction | int] = (FROM, ROUNDS_FROM)

    # [switch]
    def branch(self, value: Fraction) -> Branch:
        """Return the branch for a unit value: see `unit_value`."""
        strength, (pairs, rounds) = self.strength * value, self.least
        if len(self.room) == 1:
            return self.room[0]
        if self.room[-1].goes_on and strength >= rounds * self.k:
            return self.room[-1]
        # Where a class is rare a rule on two columns gains little by the second: squared.
        return PAIRS if PAIRS in self.room and strength * value >= pairs * self.k else ONE

    @property
    def reachable(self) -> tuple[Branch, ...]:
        """All possible answers of `branch`, the weakest first."""
        # A larger value never takes an earlier branch, and values are from 0 to 1.
        least, most = (self.room.index(self.branch(Fraction(value))) for value in (0, 1))
        return self.room[least:most + 1]
    # [/switch]

    def known(self, value: Fraction) -> Switch:
        """Return the switch where the unit value is known before the rows."""
        return Switch((self.branch(value),), self.k, self.strength)


# [unit-value]
def unit_value(counts: Sequence[int], total: int, *, centred: bool) -> Fraction:
    """Return how much a unit tells where classes are uneven: 1 where they are even.

    counts : of the classes, declared or released.  Any integers have an answer: released counts
        may lie below 0, or above the total.

    >>> [str(unit_value([90, 10], 100, centred=centred)) for centred in (False, True)]
    ['1/5', '9/50']
    >>> [str(unit_value(odd, 100, centred=False)) for odd in ([130, -30], [5, -1, 0], [0, -9, -1])]
    ['1/50', '1', '1']
    """
    if len(counts) == 2:
        total = max(2, total)
        second = min(max(counts[1], 1), total - 1)
        share = Fraction(min(second, total - second), total)
    else:
        there = [count for count in counts if count > 0]
        share = min(Fraction(1, 2), Fraction(min(there), sum(there))) if there else Fraction(1, 2)
    return 2 * share * (1 - share) if centred else 2 * share
# [/unit-value]


def switch(joint: str, sizes: Sizes, strength: Fraction, *, ordered: bool, cells: bool,
           go_on: bool) -> Switch:
    """Return the switch of the option `joint`; refuse a pair that cannot be valued.

    cells : whether the cells of pairs say enough where no rounds follow
    go_on : whether there can be rounds

    >>> auto = switch("auto", Sizes(5, 30, 900, 2, 16, 2**36), Fraction(900), ordered=False,
    ...               cells=True, go_on=True)
    >>> [branch.name for branch in auto.reachable]
    ['one race', 'pairs']
    """
    if joint == "pair":
        check(sizes)
        return Switch((PAIRS,), sizes.k, strength)
    can = not ordered and sizes.k > 1 and _can_race_pairs(sizes)
    is_long = not can or sizes.k - sizes.always > new(PAIRS, sizes.always)
    rounds = ((ROUNDS if can else ALONE),) * (go_on and is_long)
    if joint != "auto":
        first = (PAIRS,) * (can and joint == "rounds")
        return Switch(rounds or first or (ONE,), sizes.k, strength)
    few = not ordered and 1 < sizes.k <= sizes.d // 2
    room = (ONE, *(PAIRS,) * (few and can and cells), *rounds * few)
    # A unit of many classes is of one of them, and each is told from all others.
    if sizes.classes == 2:
        return Switch(room, sizes.k, strength)
    return Switch(room, sizes.k, strength, (MANY_FROM, Fraction(ROUNDS_FROM * sizes.classes, 4)))


def _can_race_pairs(sizes: Sizes) -> bool:
    """Return whether there is time for a race over pairs, on top of the scores."""
    table, grid = sizes.table, sizes.grid
    if not grid or new(PAIRS, sizes.always) > sizes.k - sizes.always:
        return False
    deep, _grid = depth(table, None, sizes.max_ops)
    products = (table.cuts - 1) * scored(table, deep, 0)
    work = scored(table, deep, grid) + products + table.raced(grid)
    return (WHOLE * OPS * work <= ALL * sizes.max_ops
            and comb(sizes.d, 2) * OPS * DRAW <= DRAW_PART * sizes.max_ops)


def check(sizes: Sizes) -> None:
    """Refuse joint="pair" where no pair can be valued."""
    k, always, max_ops = sizes.k, sizes.always, sizes.max_ops
    if k - always < new(PAIRS, always):
        raise ParameterError(f'joint="pair" begins with 2 columns, but you choose {k}, and '
                             f"always names {always}; choose more columns, or leave out joint")
    if not sizes.grid or OPS * sizes.table.raced(sizes.grid) > max_ops:
        raise ParameterError(f'joint="pair" takes too long for {sizes.d} columns of {sizes.units} '
                             f"units: max_ops is {max_ops:.1e}; raise max_ops, declare fewer "
                             "columns, or leave out joint")


def new(branch: Branch, always: int) -> int:
    """Count the columns that the first race names and that are not always included.

    A single column that is always included is one of the pair; of several none is.

    >>> new(PAIRS, 1), new(PAIRS, 0), new(PAIRS, 2)
    (1, 2, 2)
    """
    return branch.size - (always if always < branch.size else 0)


def dilution(branch: Branch, k: int, d: int, always: int = 0) -> Fraction:
    """Return the noise of one race for k of d, as a share of the noise per column of a branch.

    The value of a set is the mean over its columns.  The columns that are always included tell no
    sets apart.

    >>> dilution(PAIRS, 5, 30), dilution(PAIRS, 6, 8), dilution(PAIRS, 4, 29, always=1)
    (Fraction(1, 1), Fraction(2, 3), Fraction(1, 2))
    """
    if not branch.size or k == d:
        return Fraction(1)
    size = new(branch, always)
    named, left = k - size, d - k
    # A set alone is named at all of epsilon, as k columns would be.
    return (Fraction(size, branch.size) * Fraction(min(k, left), k)
            * (Fraction(named, min(named, left)) if named else 1))
