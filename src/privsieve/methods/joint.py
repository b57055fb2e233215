"""Columns chosen together: a whole set by one race, then one column a round beside it.

A set's value is that of the best rule on all its columns, so what two of its columns say twice
counts once.  The race over sets costs what its size is of k; each round costs 1/k.  Where fewer
columns are left out than rounds would be needed, one race beside the set names those instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, islice
from math import comb
from typing import Literal, NamedTuple

from privsieve.errors import ParameterError

Race = Callable[[Sequence[int], int, int, Fraction], tuple[int, ...]]

Joint = Literal["pair", "triple", "quad"]
#: How many columns the first race names.
SIZES: Mapping[str, int] = {"pair": 2, "triple": 3, "quad": 4}
#: What it takes to value one set, in word operations beside those for its rows.
SET_OPS = 2**14


class Beginning(NamedTuple):
    """How large the first set is, and the sizes of all sets whose values are needed."""

    size: int
    needed: tuple[int, ...]


def beginning(joint: Joint, k: int) -> Beginning:
    """What a choice of k columns needs.

    >>> beginning("quad", 4).needed, beginning("quad", 6).needed
    ((4,), (3, 4))
    """
    size = SIZES[joint]
    return Beginning(size, (size,) if k == size or joint == "pair" else tuple(sorted({3, size})))


def check(joint: Joint, sizes: tuple[int, int, int, int], max_ops: int, *, ordered: bool,
          grid: int) -> None:
    """Refuse what cannot be chosen together; `sizes` are k, columns, units and classes."""
    if not isinstance(joint, str) or joint not in SIZES:
        raise ParameterError(f'joint is {joint!r}; write "pair", "triple" or "quad", or None')
    k, d, units, classes = sizes
    size = SIZES[joint]
    if classes > 2 < size:
        raise ParameterError(f'joint="{joint}" is for two classes, and the label has {classes}; '
                             'write joint="pair", or None')
    if k < size:
        raise ParameterError(f'joint="{joint}" begins with {size} columns, and {k} are to be '
                             "chosen; choose more, or a smaller beginning")
    if ordered:
        raise ParameterError(f'joint="{joint}" gives a set; it needs ordered=False')
    if joint == "pair" and not grid:
        raise ParameterError('joint="pair" needs a pair grid, and there is none for so many '
                             "columns and rows; raise max_ops, or leave it away")
    sets = sum(comb(d, needed) for needed in beginning(joint, k).needed if needed > SIZES["pair"])
    work = sets * (5 * units // 2 + SET_OPS)
    if work > max_ops:
        raise ParameterError(f'joint="{joint}" would take {work:.1e} operations for {d} columns '
                             f"of {units} units, and max_ops is {max_ops:.1e}; raise it, name "
                             "fewer columns in the domain, or leave joint away")


# [joint-choice]
def shares(size: int, k: int, d: int) -> tuple[Fraction, Fraction]:
    """What the race for the first set gets of epsilon, and what all that follows gets together.

    >>> shares(3, 5, 30), shares(3, 5, 6)
    ((Fraction(3, 5), Fraction(2, 5)), (Fraction(1, 3), Fraction(2, 3)))
    """
    if leaves_out(size, k, d):
        # [left-out-share] a set of useful columns is likely there: each name of those that are
        # not gets twice what the set gets (measured; any share is as private)
        named = 2 * (d - k)
        return Fraction(1, 1 + named), Fraction(named, 1 + named)
    return Fraction(size, k), Fraction(k - size, k)


def leaves_out(size: int, k: int, d: int) -> bool:
    """Whether one race names those left out, in the place of rounds that name those chosen."""
    return size > SIZES["pair"] and 0 < d - k < k - size


def choose(values: Mapping[int, Sequence[int]], score: Sequence[int], rules: tuple[int, int],
           spend: tuple[int, int, Fraction], race: Race) -> tuple[int, ...]:
    """K columns, of which the first `size` come as one set; sorted, so that no order leaves.

    values : per size of sets, twice the value of each in lexicographic order.
    score : of single columns, for what follows a pair.
    rules : size and k.
    spend : how far a doubled value and a score move, and epsilon.
    """
    (size, k), (step, sensitivity, epsilon), d = rules, spend, len(score)
    first, after = (epsilon * share for share in shares(size, k, d))
    won = race(values[size], 1, step, first)[0]
    chosen = list(next(islice(combinations(range(d), size), won, None)))
    if size == 2 and k > size:
        rest = [j for j in range(d) if j not in chosen]
        chosen += [rest[j] for j in race([score[j] for j in rest], k - 2, sensitivity, after)]
    elif leaves_out(size, k, d):
        rest, beside, pairs = _beside(values[3], chosen, d)
        chosen += [rest[j] for j in race(beside, k - size, step * pairs, after)]
    while len(chosen) < k:
        rest, beside, pairs = _beside(values[3], chosen, d)
        chosen.append(rest[race(beside, 1, step * pairs, after / (k - size))[0]])
    return tuple(sorted(chosen))


def _beside(three: Sequence[int], chosen: Sequence[int], d: int,
            ) -> tuple[list[int], list[int], int]:
    """The other columns; what each is worth with all pairs of those chosen; how many pairs."""
    rest = [j for j in range(d) if j not in chosen]
    pairs = list(combinations(chosen, 2))
    # [round-sensitivity] a sum over pairs moves by what all of them may
    return rest, [sum(three[place(d, (*pair, j))] for pair in pairs) for j in rest], len(pairs)
# [/joint-choice]


def several(joint: Joint, k: int, d: int) -> tuple[int, Fraction]:
    """How many columns come before the one race that names several, and its share of epsilon.

    No columns and all of epsilon where each race names one set or one column.

    >>> several("pair", 5, 30), several("triple", 5, 6), several("triple", 5, 30)
    ((2, Fraction(3, 5)), (3, Fraction(2, 3)), (0, Fraction(1, 1)))
    """
    size = SIZES[joint]
    if k - size > 1 and (size == SIZES["pair"] or leaves_out(size, k, d)):
        return size, shares(size, k, d)[1]
    return 0, Fraction(1)


def dilution(joint: Joint | None, k: int, d: int) -> Fraction:
    """The noise of one race for k of d, as a part of that with which columns are told apart here.

    >>> dilution("triple", 5, 30), dilution("triple", 5, 6), dilution("pair", 6, 8)
    (Fraction(1, 1), Fraction(2, 3), Fraction(2, 3))
    """
    if joint is None or k == d:
        return Fraction(1)
    size = SIZES[joint]
    named = Fraction(k)  # a set alone, and rounds
    if k > size and (size == SIZES["pair"] or leaves_out(size, k, d)):
        named = min(k - size, d - k) / shares(size, k, d)[1]
    return min(k, d - k) / named


def place(d: int, columns: Sequence[int]) -> int:
    """Where a set of columns stands among all sets of its size, in lexicographic order.

    >>> [place(4, columns) for columns in combinations(range(4), 3)], place(4, (3, 1))
    ([0, 1, 2, 3], 4)
    """
    size = len(columns)
    after = sum(comb(d - 1 - j, size - i) for i, j in enumerate(sorted(columns)))
    return comb(d, size) - 1 - after
