"""Effort: what a choice takes, in time and memory, and how deep it may therefore go.

Everything follows from declared sizes: no row decides it, so that it may be said and may decide
before the charge.  The constants are nanoseconds of one core of 2020 with the compiled kernels,
measured by `benchmarks/rule_sieve.py` and rounded up; a slower machine takes so much more.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from typing import TYPE_CHECKING, NamedTuple

from privsieve.errors import ParameterError
from privsieve.public.canonical import quoted

if TYPE_CHECKING:
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
#: The same where rows have weights; and for averages over classes, for each class.
WEIGHED, CLASS = (500, 2.4), {16: 3200, 8: 1100, 4: 260}
#: A product of two and of three signs, and each word of 64 rows in it; with masks twice.
PRODUCT = {2: (45, .55), 3: (40, .42)}
#: A set of three and of four for each labelling, and each row; the noise of a set.
SET, SET_ROW, DRAW = {3: 8500, 4: 7000}, 2, 8000
#: A pair by all cuts for each labelling, and each row: where all 65,536 codes are in use, or, where
#: sums do not fit 32 bits, so many as continuous values have.
ALL_CUTS = (8000, 31)
#: A cell that is read, sorted and counted, and a column beside its cells.
CELL, COLUMN = 60, 30_000
#: Bytes: Python and its libraries, a column beside its cells, a value of a set.
PROGRAM, COLUMN_BYTES, SET_BYTES = 80 * 10**6, 2000, 100


class Extent(NamedTuple):
    """The sizes by which a choice is priced.

    rows : how many are counted: with persons, all that may be kept.
    d : how many columns
    classes : those of averages over all of them; 0 where labellings cut them in two
    cuts : how many labellings
    weighed : whether rows have weights
    masked : whether some number has missing as a level
    """

    rows: int
    d: int
    classes: int = 0
    cuts: int = 1
    weighed: bool = False
    masked: bool = False

    @classmethod
    def of(cls, domain: Domain, units: int, *, classes: int = 0, cuts: int = 1) -> Extent:
        """The sizes of a table of so many units."""
        persons = domain.person is not None
        return cls(units * (domain.rows_per_person if persons else 1), len(domain.columns), classes,
                   cuts, persons, any(column.missing_level and not column.levels
                                      for column in domain.columns))

    def pairs(self, grid: int) -> int:
        """Nanoseconds for the best rule of each pair of columns."""
        each, row = WEIGHED if self.weighed else PAIR[grid]
        alone = CLASS[grid] * self.classes if self.classes else each * self.cuts
        return comb(self.d, 2) * int(alone + (max(1, row) if self.classes else row) * self.rows)

    def by_cuts(self, free: int) -> int:
        """Nanoseconds for all cuts of each pair with one of so many columns without a grid."""
        each, row = ALL_CUTS
        pairs = comb(self.d, 2) - comb(self.d - free, 2)
        return pairs * self.cuts * (each + row * self.rows)

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
    if asked not in (None, 1, 2, 3):
        raise ParameterError(f"depth is {quoted(asked)}; write 1, 2 or 3, or None to let the size "
                             "decide")
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


def takes(table: Extent, *, deep: int = 1, grid: int = 0, size: int = 0, free: int = 0) -> Takes:
    """An estimate for a whole run, from the file to the release.

    size : of the sets of a first race; 0 without one
    free : how many columns are in pairs that are valued by all cuts

    >>> made = takes(Extent(70, 12_000), deep=2, grid=8)
    >>> made.seconds < 20, made.bytes < 2 * 10**8
    (True, True)
    """
    from privsieve.public.plan import Takes

    cells = table.rows * table.d
    nanoseconds = CELL * cells + COLUMN * table.d + scored(table, deep, grid)
    # Codes twice, while rows are sorted by class; runs; then bits of signs, and bins.
    held = 2 * 2 * cells + 10 * min(table.rows, 2**16) * table.d + (1 if grid else 0) * cells
    held += (cells >> 3) * (1 + table.masked) if deep > 1 else 0
    if free:
        nanoseconds += table.by_cuts(free)
        # The order of each column's rows, and what each of its codes weighs.
        held += 6 * cells + 8 * min(table.rows, 2**16) * table.d
    if size:
        nanoseconds += table.sets(size, grid)
        held += cells + comb(table.d, size) * SET_BYTES
    return Takes(nanoseconds / 1e9, PROGRAM + COLUMN_BYTES * table.d + held)


def words(made: Takes) -> str:
    """An estimate for people, to one digit or two.

    >>> from privsieve.public.plan import Takes
    >>> words(Takes(0.02, 98_000_000)), words(Takes(12.3, 2_100_000_000))
    ('less than a second of one core, 98 MB', 'about 12 s of one core, 2.1 GB')
    """
    size = f"{made.bytes / 1e9:.1f} GB" if made.bytes >= LARGE else f"{made.bytes / 1e6:.0f} MB"
    time = "less than a second" if made.seconds < 1 else f"about {made.seconds:.0f} s"
    return f"{time} of one core, {size}"


LARGE = 10**9


def json(made: Takes) -> Mapping[str, str]:
    """The estimate for machines."""
    return {"seconds": f"{made.seconds:.3f}", "bytes": str(made.bytes)}
