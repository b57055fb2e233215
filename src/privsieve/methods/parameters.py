"""How public parameters of selectors are read."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from privsieve.errors import ParameterError
from privsieve.public.cost import Cost
from privsieve.public.shown import quoted

if TYPE_CHECKING:
    from privsieve.noise.race import Race

#: Word operations that a run may take: 12 to 20 seconds of one core.
MAX_OPS = 2**36


def count(k: object, d: int) -> int:
    """Read how many columns: a number, or a fraction of them.

    >>> count(5, 30), count(0.1, 30)
    (5, 3)
    """
    if isinstance(k, bool) or not isinstance(k, (int, float, Fraction)):
        item = getattr(k, "item", None)
        if item is None or isinstance(k, bool):
            raise ParameterError(f"the number of columns to choose is {quoted(k)}; write a whole "
                                 "number from 1, or a fraction between 0 and 1")
        return count(item(), d)
    if isinstance(k, (float, Fraction)):
        if not 0 < k < 1:
            raise ParameterError(f"the fraction of columns to choose is {k}; it must lie between "
                                 "0 and 1 (for a number of columns write a whole number)")
        k = max(1, int(k * d))
    if k < 1:
        raise ParameterError(f"{quoted(k)} columns are to be chosen; at least 1 is needed")
    if k > d:
        raise ParameterError(f"{quoted(k)} columns are to be chosen, and the domain has {d}")
    return k


def depth(units: int, d: int, order: int | None, max_ops: int) -> tuple[int, int]:
    """How deep the products go and how fine the pair grid is: public, from n, d and max_ops."""
    if order not in (None, 1, 2, 3):
        raise ParameterError(f"order is {quoted(order)}; write 1, 2 or 3, or None to let the size "
                             "decide")
    words = -(-units // 64) + 64  # 64: measured overhead of one product, in words
    pairs = d * (d - 1) // 2
    pair_limit = 3 * max_ops // 8
    deepest = 1
    if pairs * words <= pair_limit:
        deepest = 3 if pairs * (d - 2) // 3 * words <= max_ops // 4 else 2
    for grid in (16, 8, 4):
        work = (grid - 1) ** 2 * words
        if grid == 16:
            work = min(work, 5 * units // 2)
        if pairs * work <= pair_limit:
            break
    else:
        grid = 0
    return order or deepest, grid if d > 1 else 0


def charged(cost: Cost, race: Race, before: Fraction = Fraction(0)) -> Cost:
    """What a plan with this race costs; a delta that would buy nothing is not spent.

    before : what is spent under zCDP before the race, by what is pure

    >>> from privsieve.public.cost import Cost
    >>> from privsieve.noise.race import Race
    >>> one, tiny = Fraction(1), Fraction(1, 10**6)
    >>> [charged(Cost(one, tiny), Race(100, k, 1, one, delta=tiny)).delta_text for k in (3, 20)]
    ['0', '0.000001']
    """
    rho = race.rho + before if race.kind == "gumbel" else None
    return replace(cost, rho=rho, delta=Fraction(0) if race.account == "pure" else cost.delta)
