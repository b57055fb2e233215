"""Audit: try to tell two tables apart by the outputs of a mechanism.

The mechanism is a black box.  Half of the runs learn an event that is likelier on one table; fresh
runs then count it.  The two counts give a lower bound on epsilon that is wrong with probability at
most 1 %, for any learned event.  A bound above the claim refutes the claim.  A bound below it
proves nothing, and a bound below zero means that the attack found no difference.  This module does
not depend on the methods that it audits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privsieve.check.views import Failed, Flat, Floats, Guess, flat, scores
from privsieve.entries import import_library
from privsieve.errors import ParameterError

#: Runs on each table: one half learns the event, the other half counts it.
PROFILES = {"smoke": 200, "ci": 30_000, "release": 1_000_000}
FEWEST = 100  # with fewer runs on each table no bound says anything
#: Counted runs on one table before the next ones on the other table.
TURN = 100
#: The most thresholds that are tried for each score.
THRESHOLDS = 500
#: The golden section, and the number of its steps.
GOLDEN, SECTIONS = (math.sqrt(5) - 1) / 2, 14
#: Limits are multiplied by this, because rounding might raise them.
LESS = 1 - 1e-12

REFUTED, STANDS, BLIND = "refuted", "stands", "saw nothing"


@dataclass(frozen=True)
class Audit:
    """The result of an audit: `bound` holds at 99 %, `bound95` at 95 %; `exceeded` is for 99 %.

    runs : how often the mechanism ran; fewer than requested after Ctrl-C.
    view : the property of outputs that told the tables apart best, in words.

    >>> Audit(bound=0.9, bound95=0.92, exceeded=False, runs=60_000, view="numbers").verdict
    'stands'
    """

    bound: float
    bound95: float
    exceeded: bool
    runs: int
    view: str

    @property
    def verdict(self) -> str:
        """"refuted", "stands", or "saw nothing": this attack found no difference.

        "saw nothing" is not a reason to trust the claim more than before.
        """
        if self.exceeded:
            return REFUTED
        return STANDS if self.bound95 > 0 else BLIND


def audit(mechanism: Callable[[Any], Any], table0: Any, table1: Any, *, epsilon: float,
          delta: float = 0.0, profile: str | int = "smoke") -> Audit:
    """Estimate a lower bound on the epsilon of a mechanism, from runs on two neighbouring tables.

    `mechanism(table)` may return anything: numbers, arrays, names, mappings, dataclasses, a
    release.  A profile may also be a number of runs on each table.  Ctrl-C ends the runs: the bound
    so far is valid if the audit had already chosen the event that it counts.

    >>> import random
    >>> def honest(table): return random.random() < 0.5
    >>> audit(honest, 0, 1, epsilon=1.0).exceeded, audit(lambda t: t, 0, 1, epsilon=1.0).exceeded
    (False, True)
    """
    if not (epsilon >= 0 and 0 <= delta < 1):
        raise ParameterError(f"epsilon is {epsilon} and delta is {delta}; "
                             "choose epsilon from 0 and delta from 0 to below 1")
    learn, count = _runs(profile)
    import_library("scipy.special", "sklearn", "an audit")  # before the runs, which take long
    tables = table0, table1
    event = _event([_outputs(mechanism, table, learn) for table in tables], delta)
    # The event is fixed: from here on, runs are fresh and only counted.
    hits, counted = _counted(mechanism, tables, event, count)
    most, fewest = reversed(hits) if event.swap else hits
    bound, bound95 = (_epsilon(most, fewest, counted, wrong, delta) for wrong in (0.01, 0.05))
    return Audit(bound, bound95, bound > epsilon, 2 * (learn + counted), event.score.name)


def _runs(profile: str | int) -> tuple[int, int]:
    """Return the runs on each table to learn an event, and to count it."""
    each = PROFILES.get(profile, 0) if isinstance(profile, str) else profile
    if each < FEWEST:
        raise ParameterError(f"the profile is {profile!r}; choose one of {', '.join(PROFILES)}, or "
                             f"a number of runs from {FEWEST}")
    return each // 2, each - each // 2


@dataclass(frozen=True)
class Event:
    """Outputs with a score above a threshold; likelier on the second table if swapped."""

    score: Guess
    threshold: float
    swap: bool

    def hits(self, outputs: Sequence[Flat]) -> int:
        """Return the number of outputs in the event."""
        return int((self.score(outputs) > self.threshold).sum())


def _counted(mechanism: Callable[[Any], Any], tables: tuple[Any, Any], event: Event, count: int,
             ) -> tuple[list[int], int]:
    """Count fresh runs in the event on each table; return the counts and the runs on each.

    Both tables have the same number of runs, also after Ctrl-C.  The counts are not shown before
    the end, so the number of runs does not depend on them.
    """
    hits, done = [0, 0], 0
    try:
        while done < count:
            turn = min(TURN, count - done)
            counts = [event.hits(_outputs(mechanism, table, turn)) for table in tables]
            hits, done = [old + new for old, new in zip(hits, counts, strict=True)], done + turn
    except KeyboardInterrupt:
        if not done:
            raise
    return hits, done


def _outputs(mechanism: Callable[[Any], Any], table: Any, count: int) -> list[Flat]:
    return [flat(_run(mechanism, table)) for _ in range(count)]


def _run(mechanism: Callable[[Any], Any], table: Any) -> Any:
    try:
        return mechanism(table)
    except Exception as error:  # noqa: BLE001  # every exception is an output
        return Failed(type(error).__name__, str(error))


# --- an event -----------------------------------------------------------------------------------

def _event(sides: Sequence[Sequence[Flat]], delta: float) -> Event:
    """Learn an event: a score, a threshold, and the table on which higher scores are likelier.

    One half of the runs makes the scores, and the other half chooses among them: a score always
    looks good on the runs that made it.
    """
    learned, sides = zip(*((side[::2], side[1::2]) for side in sides), strict=True)
    best = (-math.inf, Event(Guess("nothing", lambda outputs: np.zeros(len(outputs))), 0.0,
                             swap=False))
    for score in scores(learned):
        values_of_sides = [score(side) for side in sides]
        values = np.unique(np.concatenate(values_of_sides))
        if len(values) > 1:
            middles = (values[1:] + values[:-1]) / 2
            places = np.linspace(0, len(middles) - 1, min(len(middles), THRESHOLDS))
            values = middles[places.astype(int)]
        above = [len(side) - np.searchsorted(np.sort(side), values, side="right")
                 for side in values_of_sides]
        for swap in (False, True):
            most, fewest = reversed(above) if swap else above
            promise = _promise(most, fewest, len(values_of_sides[0]), delta)
            at = int(np.argmax(promise))
            if promise[at] > best[0]:
                best = float(promise[at]), Event(score, float(values[at]), swap)
    return best[1]


def _promise(hits: NDArray[np.intp], misses: NDArray[np.intp], count: int, delta: float) -> Floats:
    """Estimate the bound of an event by Wilson's intervals; any guess is allowed.

    Both limits together are stricter than the bound, since the best of many events was lucky.
    """
    z2 = 2.58**2
    half_more = np.sqrt(z2 * (hits * (count - hits) / count + z2 / 4))
    half_less = np.sqrt(z2 * (misses * (count - misses) / count + z2 / 4))
    low = (hits + z2 / 2 - half_more) / (count + z2) - delta
    high = (misses + z2 / 2 + half_less) / (count + z2)
    bounds: Floats = np.log(np.maximum(low, 1e-300) / high)
    return bounds


# --- a bound ------------------------------------------------------------------------------------

def _epsilon(most: int, fewest: int, count: int, wrong: float, delta: float) -> float:
    """Return a lower bound on epsilon from two counts, wrong with probability at most `wrong`.

    Each share has a p-value, and runs on the two tables are independent: minus the logarithm of
    the product is above `far` with at most that probability (Fisher).  The other pairs of shares
    are a convex set, since both p-values are log-concave.  Along its border the ratio falls to its
    minimum and rises again; golden sections find the minimum.
    """
    far = _far(wrong)

    def ratio(first: float, second: float) -> float:
        """Return the log ratio of limits that use these fractions of `far`."""
        high = _lowest(most, count, -far * first) - delta
        low = 1 - _lowest(count - fewest, count, -far * second)
        return -math.inf if high <= 0 else math.log(high / low) if low > 0 else math.inf

    start, end = 0.0, 1.0
    tried = {split: ratio(split, 1 - split) for split in (1 - GOLDEN, GOLDEN)}
    for _ in range(SECTIONS):
        (left, lower), (right, upper) = sorted(tried.items())
        if lower < upper:
            end, new = right, start + (1 - GOLDEN) * (right - start)
            tried = {left: lower, new: ratio(new, 1 - new)}
        else:
            start, new = left, left + GOLDEN * (end - left)
            tried = {right: upper, new: ratio(new, 1 - new)}
    # [below] the minimum is between: the largest fraction for each share
    return ratio(end, 1 - start)


def _far(wrong: float) -> float:
    """Return what minus the log of a product of two p-values exceeds with this probability.

    >>> round(_far(0.01), 3)
    6.638
    """
    far = 1.0
    for _ in range(100):
        far = math.log((1 + far) / wrong)
    return far


def _lowest(hits: int, count: int, log_wrong: float) -> float:
    """Return the Clopper-Pearson lower limit: below it, `hits` or more are less likely than wrong.

    It is a quantile of a beta distribution, slightly reduced, since floats are rounded.

    >>> round(_lowest(5, 10, math.log(0.05)), 4)
    0.2224
    """
    if not hits:
        return 0.0
    special = import_library("scipy.special", "sklearn", "an audit")
    return float(special.betaincinv(hits, count - hits + 1, math.exp(log_wrong))) * LESS
