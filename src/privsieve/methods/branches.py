"""Branches: whether columns are chosen one by one, or first a set by a race of sets.

::

    one race    k columns by their single scores
    pairs       first the best pair, then single columns
    triples     first the best set of three, then single columns
    quads       the same with four; only where asked for

Which of them runs is decided by public numbers, and by class counts that were released: never by
rows.  A `Switch` answers for any number that may be released, so all that it may say is known, and
is in the plan, before a row is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb
from typing import NamedTuple

from privsieve.errors import ParameterError
from privsieve.frozen import dataclass
from privsieve.methods import effort
from privsieve.public.canonical import quoted
from privsieve.public.columns import adds_up
from privsieve.public.domain import Domain


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
#: More than two classes, where one race by averages is strong and repeats itself.  Causes with four
#: copies each, at 300 a column: 1.00 by triples, .70 by pairs, .43 by averages; at 100: .58, .56,
#: .54.  Six classes and independent columns ask for more: 1.00, .92 and .83 by averages, triples
#: and pairs at 300, .92, .75 and .50 at 150.  Units of centred labels are worth half, and
#: pairs come from 100 on.
MANY_FROM = (25, 150)
#: Of a number that was cut: three causes in four copies each, .67 of them by pairs at 100, all by
#: triples, which find no fewer independent columns there than ranks and one race do.
NUMBER_FROM = (15, 80)
#: What slopes take in each pair, in word operations: for each row, and for ten sums over all cells.
SLOPE_ROW_OPS, SLOPE_OPS = 5, 2**17
#: The part of `max_ops` that may go to slopes.
SLOPE_PART = Fraction(1, 8)
#: The part of `max_ops` that may go to the noise of "auto": 2^18 sets of 2^36, 2 seconds.
DRAW_PART = Fraction(1, 8)


class Sizes(NamedTuple):
    """Public numbers that decide which sets can be valued and raced.

    k, d : how many of how many columns, those that are always in among both
    cuts : ways to cut the classes in two: 1 for two classes, or a number cut in two
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

    linear : whether sets of three and more have a grid: see `linear`

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
    return effort.OPS * _table(sizes).sets(branch.size, sizes.grid)


def _table(sizes: Sizes) -> effort.Extent:
    return effort.Extent(sizes.units, sizes.d, cuts=sizes.cuts)


def slopes(domain: Domain, sizes: Sizes) -> bool:
    """Whether pairs are valued by slopes, too: where two columns can be added up, in time.

    >>> slopes(Domain.box(0, 1, columns=21), Sizes(2, 21, 4000, 1, 16, 2**36))
    True
    """
    columns = sum(map(adds_up, domain.columns))
    work = comb(columns, 2) * sizes.cuts * (SLOPE_ROW_OPS * sizes.units + SLOPE_OPS)
    return 0 < work <= SLOPE_PART * sizes.max_ops


def thirds(domain: Domain, sizes: Sizes) -> bool:
    """Whether after a pair it counts what a column adds to it: where triples could be raced.

    >>> thirds(Domain.box(0, 1, columns=21), Sizes(3, 21, 4000, 1, 16, 2**36))
    True
    >>> thirds(Domain.box(0, 1, columns=21), Sizes(2, 21, 4000, 1, 16, 2**36))
    False
    """
    return sizes.k > PAIRS.size and not sizes.always and linear(domain) and (
        _can(TRIPLES, sizes, linear=True))


def _can(branch: Branch, sizes: Sizes, *, linear: bool) -> bool:
    """Whether "auto" may take a branch."""
    deep, _grid = effort.depth(_table(sizes), None, sizes.max_ops)
    return (sizes.grid > 0 and (branch == PAIRS or linear)
            and effort.room_for(_table(sizes), branch.size, (deep, sizes.grid, sizes.max_ops))
            and comb(sizes.d, branch.size) * effort.OPS * effort.DRAW <= DRAW_PART * sizes.max_ops)


def joint_of(asked: object) -> str:
    """Read the option.

    >>> joint_of(None), joint_of("pair")
    ('auto', 'pair')
    """
    if asked is None:
        return "auto"
    if not isinstance(asked, str) or asked not in WORDS:
        raise ParameterError(f'joint is {quoted(asked)}; write "auto", "none", "pair", "triple" or '
                             '"quad", or for numbers "votes"')
    return asked


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
    if branch != PAIRS and not linear:
        raise ParameterError(f'joint="{joint}" cuts numbers on a grid, and some have no bounds; '
                             'write low and high, or typical, in the domain, or joint="pair"')
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
