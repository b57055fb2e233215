"""Branches: how far a choice goes, and what that takes: products of signs, pairs, sets first.

::

    one race    k columns by their single scores
    pairs       first the best pair, then single columns
    triples     first the best set of three, then single columns
    quads       the same with four; only where asked for

Which of them runs, how deep products go and how fine a grid is, is decided by public numbers, and
by class counts that were released: never by rows.  A `Switch` answers for any number that may be
released, so all that it may say is known, and is in the plan, before a row is read.

Time and memory follow from declared sizes.  The constants are nanoseconds of one core of 2020 with
the compiled kernels, measured by `benchmarks/rule_sieve.py` and rounded up; a slower machine takes
so much more.
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

#: Word operations of a nanosecond: what `max_ops` counts.
OPS = 4
#: Word operations that a run may take: 17 seconds, and 20 with the sets that "auto" may add.
MAX_OPS = 2**36
#: The parts of them that pairs and products may have, both together, and all with sets: eighths.
PAIR_PART, PRODUCT_PART, WHOLE, ALL = 5, 6, 8, 9

#: A pair on a grid of 16, 8 or 4: for each labelling, and for each row.
PAIR = {16: (150, .95), 8: (40, .85), 4: (25, .2)}
#: The same where rows have weights.
WEIGHED = (500, 2.4)
#: A product of two and of three signs, and each word of 64 rows in it; with masks twice.
PRODUCT = {2: (45, .55), 3: (40, .42)}
#: A set of three and of four for each labelling, and each row; the noise of a set.
SET, SET_ROW, DRAW = {3: 8500, 4: 7000}, 2, 8000
#: A cell that is read, sorted and counted, and a column beside its cells.
CELL, COLUMN = 60, 30_000
#: A cell of which a round counts the code.
ROUND_CELL = 10
#: Bytes of a set of columns: its value, and what races make of it.
SET_BYTES = 200
#: Of more units, and a label, sums of parts are made, on all cores; of fewer units it is faster to
#: look at all rows at once.
FEW = 2**20
#: Cells a side of the grids of sets of three and four columns, as kernels have them.
SET_GRID = {3: 8, 4: 4}
#: Bytes of a row beside its codes; bytes of a column's ties; rows of a part that is not cut.
ROW_BYTES, TIE_BYTES, PART_ROWS = 48, 2**15, 2**23


class Extent(NamedTuple):
    """The sizes by which a choice is priced.

    rows : how many are counted: with persons, all that may be kept.
    d : how many columns
    cuts : how many labellings
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
        """The sizes of a table of so many units."""
        persons = domain.person is not None
        return cls(units * (domain.rows_per_person if persons else 1), len(domain.columns),
                   cuts, persons, any(column.missing_level and not column.levels
                                      for column in domain.columns))

    def pairs(self, grid: int) -> int:
        """Nanoseconds for the best rule of each pair of columns."""
        each, row = WEIGHED if self.weighed else PAIR[grid]
        return comb(self.d, 2) * int(each * self.cuts + row * self.rows)

    def products(self, size: int) -> int:
        """Nanoseconds for the products of two or of three signs of each set of columns."""
        each, word = PRODUCT[size]
        words = self.rows // 64 + 8
        return comb(self.d, size) * int((1 + self.masked) * (each + word * words))

    def sets(self, size: int, grid: int) -> int:
        """Nanoseconds for valuing and racing all sets of a size, beside the scores.

        Each labelling is scored by itself, and pairs are valued once more.
        """
        pairs = (2 * self.cuts - 1) * self._replace(cuts=1).pairs(grid) if grid else 0
        more = 0 if size not in SET else comb(self.d, size) * self.cuts * (
            SET[size] + SET_ROW * self.rows)
        return pairs + more + comb(self.d, size) * DRAW


def depth(table: Extent, asked: int | None, max_ops: int) -> tuple[int, int]:
    """How deep products go and how fine the pair grid is: public, by what both take together.

    The grid comes first: a product of two signs says little that a rule on a grid does not.

    >>> depth(Extent(1000, 30), None, MAX_OPS), depth(Extent(70, 12_000), None, MAX_OPS)
    ((3, 16), (2, 8))
    """
    grid = next((grid for grid in PAIR if table.d > 1
                 and WHOLE * OPS * table.pairs(grid) <= PAIR_PART * max_ops), 0)
    spent, deepest = table.pairs(grid) if grid else 0, 1
    for size in PRODUCT:
        more = table.products(size)
        if WHOLE * OPS * more > PRODUCT_PART * max_ops or OPS * (spent + more) > max_ops:
            break
        spent, deepest = spent + more, size
    return asked or deepest, grid


def scored(table: Extent, deep: int, grid: int) -> int:
    """Nanoseconds for all scores of single columns."""
    return (table.pairs(grid) if grid else 0) + sum(
        table.products(size) for size in PRODUCT if size <= deep)


def room_for(table: Extent, size: int, settled: tuple[int, int, int]) -> bool:
    """Whether a first race over sets of this size may come on top of the scores.

    settled : depth, grid and max_ops
    """
    deep, grid, max_ops = settled
    products = (table.cuts - 1) * scored(table, deep, 0)
    work = scored(table, deep, grid) + products + table.sets(size, grid)
    return WHOLE * OPS * work <= ALL * max_ops


def takes(table: Extent, *, deep: int = 1, grid: int = 0, size: int = 0) -> Takes:
    """The time of a whole run, from the file to the release, and the codes of all rows.

    size : of the sets of a first race; 0 without one

    >>> takes(Extent(70, 12_000), deep=2, grid=8).seconds < 20
    True
    """
    cells = table.rows * table.d
    nanoseconds = CELL * cells + COLUMN * table.d + scored(table, deep, grid)
    nanoseconds += table.sets(size, grid) if size else 0
    return Takes(nanoseconds / 1e9, rows=2 * cells)


class Tables(NamedTuple):
    """The sizes of RuleSieve's tables, from which follows what they take while they are made.

    classes : those in which codes are counted in a first pass, and in the last; those of cells
    grids : of sets of how many columns cells are counted, and how many a side
    size : of the sets of a first race; 0 without one
    copies : how often all codes are in memory at a time
    """

    table: Extent
    classes: tuple[int, int, int]
    deep: int
    grids: Sequence[tuple[int, int]]
    size: int = 0
    copies: int = 2

    def runs(self, classes: int) -> int:
        """Bytes of the codes that each column has, and of their counts by class."""
        codes = self.table.d * min(self.table.rows, 2**16)
        return codes * (2 + self._count * classes) if classes else 0

    @property
    def whole(self) -> int:
        """Bytes where all rows are in memory: codes, codes by class, runs, planes and bins."""
        n, d, (*counted, split) = self.table.rows, self.table.d, self.classes
        planes = d * (n // 8 + 32 * split)
        held = (1 + self.table.masked) * planes * (self.deep > 1) + n * d * len(self.grids)
        runs = self.runs(max(counted))
        if self.table.weighed or n > PART_ROWS:  # parts that are joined
            held, runs = 2 * held, 4 * runs
        rows = self.copies * (2 * n * d + ROW_BYTES * n)
        # Pairs are valued by a plane for each cut of a grid.
        valued = max((side - 1 for _, side in self.grids if side <= max(PAIR)), default=0) * planes
        return held + runs + max(rows + self._tally(max(counted)), valued + self._raced)

    @property
    def stages(self) -> tuple[tuple[int, int], ...]:
        """Bytes of each stage that adds up parts: of all, and of each thread.

        A thread has a sum, what a part adds to it, and both together; runs together have room for
        the codes of either.
        """
        d, (early, late, split) = self.table.d, self.classes
        sums = 8 * split * (sum(comb(d, size) * side**size for size, side in self.grids)
                            + sum(comb(d, size) for size in PRODUCT if size <= self.deep))
        first, last, ties = self.runs(early), self.runs(late), TIE_BYTES * d
        return ((3 * first, first + self._tally(early)), (first + ties, 2 * ties),
                (first + last + sums, 4 * last + self._tally(late) + 3 * sums),
                (first + last + sums + self._raced, 0))

    def memory(self, few: int = 2**63) -> dict[str, Any]:
        """The fields of `Takes` for those ways to the tables that there are.

        few : of more rows that are units, sums of parts are made
        """
        whole = self.whole if self.table.rows <= few or self.table.weighed else 0
        return {"stages": self.stages, "whole": whole}

    @property
    def _count(self) -> int:
        return 8 if self.table.weighed else 4

    @property
    def _raced(self) -> int:
        return comb(self.table.d, self.size) * SET_BYTES if self.size else 0

    def _tally(self, classes: int) -> int:
        return 2**16 * self._count * classes


def with_rounds(takes: Takes, table: Extent, grid: int, rounds: int) -> Takes:
    """What a run takes that goes on in rounds: all rows in memory, each with a weight.

    >>> from privsieve.public.plan import Takes
    >>> with_rounds(Takes(1.0), Extent(1000, 10), 16, 2).whole
    0
    """
    weighed = table._replace(weighed=True)
    each = ROUND_CELL * table.rows * table.d + (weighed.pairs(grid) if grid else 0)
    held = Tables(weighed, (2, 0, 2), 1, [(2, grid)] if grid else []).whole
    return takes._replace(seconds=takes.seconds + rounds * each / 1e9,
                          stages=(*takes.stages, (held, 0)),
                          whole=takes.whole and max(takes.whole, held))


# --- one by one, or a set first -------------------------------------------------------------------

class Branch(NamedTuple):
    """A way to choose: its name, and how many columns its first race names as a set."""

    name: str
    size: int


ONE, PAIRS = Branch("one race", 0), Branch("pairs", 2)
TRIPLES, QUADS = Branch("triples", 3), Branch("quads", 4)
#: What may be asked for beside "auto".
ASKED = {"none": ONE, "pair": PAIRS, "triple": TRIPLES, "quad": QUADS}
WORDS = ("auto", *ASKED)

#: Units times epsilon, for each column chosen, from which a pair comes first, and then three.
#: Two classes: soybean at 2 a column .70 by pairs, .76 by one race; at 15 exclusive or, which one
#: race never finds; triples at less than 200 find .04 less of independent columns than pairs do.
#: One of ten positive, independent columns: pairs need 1.35 times what one race needs, 264.
FROM = (15, 200)
#: More than two classes.  Causes with four copies each, at 300 a column: 1.00 by triples, .70 by
#: pairs; at 100: .58, .56.  Six classes and independent columns ask for more: .92 and .83 by
#: triples and pairs at 300, .75 and .50 at 150.  Units of centred labels are worth half, and pairs
#: come from 100 on.
MANY_FROM = (25, 150)
#: Of a number that was cut: three causes in four copies each, .67 of them by pairs at 100, all by
#: triples, which find no fewer independent columns there than ranks and one race do.
NUMBER_FROM = (15, 80)
#: Units times the epsilon of the races, for each column chosen, from which what follows a set is
#: named in rounds: copies of the strongest of four causes, behind a number, 4,000 rows: .97 of the
#: causes, .75 by one race; independent columns at 400 a column: .83 and 1.00, at 800 .97 and 1.00.
ROUNDS_FROM = 600
#: The part of `max_ops` that may go to the noise of "auto": 2^18 sets of 2^36, 2 seconds.
DRAW_PART = Fraction(1, 8)


class Sizes(NamedTuple):
    """Public numbers that decide which sets can be valued and raced.

    k, d : how many of how many columns, those that are always in among both
    cuts : ways to cut the classes in two: 1 for two classes
    grid : cells a side of the pair grid; 0 without one
    always : how many columns are always in
    """

    k: int
    d: int
    units: int
    cuts: int
    grid: int
    max_ops: int
    always: int = 0


@dataclass(frozen=True)
class Switch:
    """Which branch runs: a function of public numbers and of what was released, for any of them.

    room : the branches that can be had
    strength : units times the epsilon of the races
    least : how much of it for each column chosen is needed for pairs, and for triples

    >>> switch = Switch((ONE, PAIRS, TRIPLES), 3, Fraction(900))
    >>> [branch.name for branch in switch.reachable]
    ['one race', 'pairs', 'triples']
    >>> switch.branch(Fraction(1, 2)).name, switch.branch(Fraction(2, 3)).name
    ('pairs', 'triples')
    """

    room: tuple[Branch, ...]
    k: int
    strength: Fraction
    least: tuple[int, int] = FROM

    # [switch]
    def branch(self, worth: Fraction) -> Branch:
        """The branch for units that are worth so much: 1 where classes are even, see `worth`."""
        if len(self.room) == 1:
            return self.room[0]
        strength, (pairs, triples) = self.strength * worth, self.least
        # Where a class is rare a rule on two columns gains little by the second: squared.
        if PAIRS not in self.room or strength * worth < pairs * self.k:
            return ONE
        return TRIPLES if TRIPLES in self.room and strength >= triples * self.k else PAIRS

    @property
    def reachable(self) -> tuple[Branch, ...]:
        """All that `branch` may say, fewest columns first."""
        # More worth never takes a branch with fewer columns, and worth is from 0 to 1.
        least, most = (self.branch(Fraction(worth)).size for worth in (0, 1))
        return tuple(branch for branch in self.room if least <= branch.size <= most)
    # [/switch]

    def known(self, worth: Fraction) -> Switch:
        """The same where worth is known before the rows."""
        return Switch((self.branch(worth),), self.k, self.strength)


# [worth]
def worth(counts: Sequence[int], total: int, *, centred: bool) -> Fraction:
    """What units are worth where classes are not even, of declared or released counts.

    Any integers have an answer: released ones may lie below 0, or above all units.

    >>> [str(worth([90, 10], 100, centred=how)) for how in (False, True)]
    ['1/5', '9/50']
    >>> [str(worth(odd, 100, centred=False)) for odd in ([130, -30], [5, -1, 0], [0, -9, -1])]
    ['1/50', '1', '1']
    """
    if len(counts) == 2:
        total = max(2, total)
        one = min(max(counts[1], 1), total - 1)
        share = Fraction(min(one, total - one), total)
    else:
        there = [count for count in counts if count > 0]
        share = min(Fraction(1, 2), Fraction(min(there), sum(there))) if there else Fraction(1, 2)
    return 2 * share * (1 - share) if centred else 2 * share
# [/worth]


def switch(joint: str, sizes: Sizes, strength: Fraction, *, ordered: bool, linear: bool) -> Switch:
    """The switch for what was asked for; refuses what cannot be had.

    linear : whether sets have a grid: see `linear`

    >>> made = switch("auto", Sizes(5, 30, 900, 1, 16, 2**36), Fraction(900), ordered=False,
    ...               linear=True)
    >>> [branch.name for branch in made.reachable]
    ['one race', 'pairs']
    """
    if joint != "auto":
        branch = ASKED[joint]
        if branch.size:
            check(joint, branch, sizes, ordered=ordered, linear=linear)
        return Switch((branch,), sizes.k, strength)
    room = [ONE]
    if not ordered and 2 <= sizes.k <= sizes.d // 2:
        room += [branch for branch in (PAIRS, TRIPLES)
                 if new(branch, sizes.always) <= sizes.k - sizes.always
                 and _can(branch, sizes, linear=linear)]
    return Switch(tuple(room), sizes.k, strength, FROM if sizes.cuts == 1 else MANY_FROM)


def linear(domain: Domain) -> bool:
    """Whether every number has a grid: bounds, or what is typical, and no `near`."""
    return not domain.gridless


def work(branch: Branch, sizes: Sizes) -> int:
    """What valuing and racing all sets takes, in word operations, beside the scores."""
    return OPS * _table(sizes).sets(branch.size, sizes.grid)


def _table(sizes: Sizes) -> Extent:
    return Extent(sizes.units, sizes.d, cuts=sizes.cuts)


def _can(branch: Branch, sizes: Sizes, *, linear: bool) -> bool:
    """Whether "auto" may take a branch."""
    deep, _grid = depth(_table(sizes), None, sizes.max_ops)
    return (sizes.grid > 0 and linear
            and room_for(_table(sizes), branch.size, (deep, sizes.grid, sizes.max_ops))
            and comb(sizes.d, branch.size) * OPS * DRAW <= DRAW_PART * sizes.max_ops)


def check(joint: str, branch: Branch, sizes: Sizes, *, ordered: bool, linear: bool) -> None:
    """Refuse what cannot be chosen together."""
    k, d, units, _cuts, grid, max_ops, always = sizes
    if k - always < new(branch, always):
        free = f", {always} of them always" if always else ""
        raise ParameterError(f'joint="{joint}" begins with {branch.size} columns, and {k} are to '
                             f"be chosen{free}; choose more, or a smaller beginning")
    if ordered:
        raise ParameterError(f'joint="{joint}" gives a set; it needs ordered=False')
    if branch in (PAIRS, TRIPLES) and not grid:
        raise ParameterError(f'joint="{joint}" needs a pair grid, and there is none for so many '
                             "columns and rows; raise max_ops, or leave it away")
    if not linear:
        raise ParameterError(f'joint="{joint}" cuts numbers on a grid, and some have no bounds; '
                             "write low and high, or typical, in the domain, or leave joint away")
    if work(branch, sizes) > max_ops:
        raise ParameterError(f'joint="{joint}" would take {work(branch, sizes):.1e} operations for '
                             f"{d} columns of {units} units, and max_ops is {max_ops:.1e}; raise "
                             "it, name fewer columns in the domain, or leave joint away")


def inside(branch: Branch, always: int) -> int:
    """How many of the columns that are always in stand in each set of the first race.

    All of them where a set has room for more; else none, and they are partners of rules alone.

    >>> inside(TRIPLES, 1), inside(PAIRS, 1), inside(PAIRS, 2)
    (1, 1, 0)
    """
    return always if always < branch.size else 0


def new(branch: Branch, always: int) -> int:
    """How many columns the first race names that are not in already.

    >>> new(TRIPLES, 1), new(PAIRS, 0), new(PAIRS, 2)
    (2, 2, 2)
    """
    return branch.size - inside(branch, always)


def several(branch: Branch, k: int, always: int = 0) -> tuple[int, Fraction]:
    """How many columns come before the one race that names several, and its share of epsilon.

    No columns and all of epsilon where each race names one set or one column.

    k : how many are named by both, those that are always in not among them

    >>> several(PAIRS, 5), several(TRIPLES, 4), several(TRIPLES, 4, always=1)
    ((2, Fraction(3, 5)), (0, Fraction(1, 1)), (2, Fraction(1, 2)))
    """
    size = new(branch, always)
    return (size, Fraction(k - size, k)) if k - size > 1 else (0, Fraction(1))


def dilution(branch: Branch, k: int, d: int, always: int = 0) -> Fraction:
    """The noise of one race for k of d, as a part of that with which columns are told apart here.

    A set is worth the mean over its columns, and those that are always in tell no sets apart.

    >>> dilution(TRIPLES, 5, 30), dilution(TRIPLES, 5, 6), dilution(PAIRS, 6, 8)
    (Fraction(1, 1), Fraction(2, 5), Fraction(2, 3))
    >>> dilution(TRIPLES, 4, 29, always=1)
    Fraction(2, 3)
    """
    if branch == ONE or k == d:
        return Fraction(1)
    size = new(branch, always)
    named, left = k - size, d - k
    # A set alone is named at all of epsilon, as k columns would be.
    return (Fraction(size, branch.size) * Fraction(min(k, left), k)
            * (Fraction(named, min(named, left)) if named else 1))
