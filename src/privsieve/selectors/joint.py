"""Columns chosen together: a whole set by one race, then one column a round beside it.

A set's value is that of the best rule on all its columns, so what two of its columns say twice
counts once.  The race over sets costs what its size is of k; each round costs 1/k.
"""

from __future__ import annotations

from itertools import combinations, islice
from math import comb
from typing import TYPE_CHECKING, Literal, NamedTuple

from privsieve.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    #: scores, how many to name, sensitivity, epsilon -> positions
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
def choose(values: Mapping[int, Sequence[int]], score: Sequence[int], rules: tuple[int, int],
           spend: tuple[int, int, Fraction], race: Race) -> tuple[int, ...]:
    """K columns, of which the first `size` come as one set; sorted, so that no order leaves.

    values : per size of sets, twice the value of each in lexicographic order.
    score : of single columns, for what follows a pair.
    rules : size and k.
    spend : how far a doubled value and a score move, and epsilon.
    """
    (size, k), (step, sensitivity, epsilon), d = rules, spend, len(score)
    won = race(values[size], 1, step, epsilon * size / k)[0]
    chosen = list(next(islice(combinations(range(d), size), won, None)))
    if size == 2 and k > size:
        rest = [j for j in range(d) if j not in chosen]
        others = race([score[j] for j in rest], k - 2, sensitivity, epsilon * (k - 2) / k)
        chosen += [rest[j] for j in others]
    while len(chosen) < k:
        rest = [j for j in range(d) if j not in chosen]
        pairs = list(combinations(chosen, 2))
        beside = [sum(values[3][place(d, (*pair, j))] for pair in pairs) for j in rest]
        # [round-sensitivity] a sum over pairs moves by what all of them may
        chosen.append(rest[race(beside, 1, step * len(pairs), epsilon / k)[0]])
    return tuple(sorted(chosen))
# [/joint-choice]


def place(d: int, columns: Sequence[int]) -> int:
    """Where a set of columns stands among all sets of its size, in lexicographic order.

    >>> [place(4, columns) for columns in combinations(range(4), 3)], place(4, (3, 1))
    ([0, 1, 2, 3], 4)
    """
    size = len(columns)
    after = sum(comb(d - 1 - j, size - i) for i, j in enumerate(sorted(columns)))
    return comb(d, size) - 1 - after
