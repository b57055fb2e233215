"""Audit: try to tell two tables apart by what a mechanism answers.

The mechanism is a black box.  A third of the runs learns an event that is likelier on one table;
fresh runs then count it.  From the two counts follows a lower bound on epsilon that is wrong with
probability 1 % at most, whatever was learned.  A bound above the claim refutes the claim; a bound
below proves nothing.  This module knows no product: the checker is not the maker.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privsieve.errors import ParameterError

#: Runs on each table, of which one third learns the event and two thirds count it.
PROFILES = {"smoke": 200, "ci": 30_000, "release": 1_000_000}
FEWEST = 100  # with fewer runs on each table no bound says anything
#: The commonest answers, sets and members that are told apart.
COMMONEST = 64
#: An answer seen less often says nothing: of real numbers each is seen once.
RARE = 5
#: Outputs with more numbers are told apart without their covariance.
LARGEST_COVARIANCE = 500

Floats = NDArray[np.float64]
Score = Callable[[Sequence[Any]], Floats]


@dataclass(frozen=True)
class Audit:
    """What an audit found: `bound` holds at 99 %, `bound95` at 95 %; `exceeded` is for 99 %.

    >>> Audit(bound=0.9, bound95=0.92, exceeded=False, runs=60_000).exceeded
    False
    """

    bound: float
    bound95: float
    exceeded: bool
    runs: int


@dataclass(frozen=True)
class Failed:
    """An exception, as the output that it is: an observer sees its kind and its words."""

    kind: str
    words: str


def audit(mechanism: Callable[[Any], Any], table0: Any, table1: Any, *, epsilon: float,
          delta: float = 0.0, profile: str | int = "smoke") -> Audit:
    """Bound from below the epsilon of a mechanism on a pair of neighbouring tables.

    `mechanism(table)` may return a number, a vector, a set or list of names, or anything hashable.
    A profile may also be a number of runs on each table.

    >>> import random
    >>> def honest(table): return random.random() < 0.5
    >>> audit(honest, 0, 1, epsilon=1.0).exceeded, audit(lambda t: t, 0, 1, epsilon=1.0).exceeded
    (False, True)
    """
    if not (epsilon >= 0 and 0 <= delta < 1):
        raise ParameterError(f"epsilon is {epsilon} and delta is {delta}; "
                             "choose epsilon from 0 and delta from 0 to below 1")
    learn, count = _runs(profile)
    sides = [[_run(mechanism, table) for _ in range(learn)] for table in (table0, table1)]
    score, threshold, swap = _event(sides, delta)
    # The event is fixed: from here on, runs are fresh and only counted.
    hits = [_hits(partial(_run, mechanism, table), score, threshold, count)
            for table in (table0, table1)]
    more, less = reversed(hits) if swap else hits
    bound, bound95 = (_epsilon(more, less, count, wrong, delta) for wrong in (0.01, 0.05))
    return Audit(bound, bound95, bound > epsilon, 2 * (learn + count))


def _runs(profile: str | int) -> tuple[int, int]:
    """How often the mechanism runs on each table, to learn an event and to count it."""
    each = PROFILES.get(profile, 0) if isinstance(profile, str) else profile
    if each < FEWEST:
        raise ParameterError(f"the profile is {profile!r}; choose one of {', '.join(PROFILES)}, or "
                             f"a number of runs from {FEWEST}")
    return each // 3, each - each // 3


def _run(mechanism: Callable[[Any], Any], table: Any) -> Any:
    try:
        return mechanism(table)
    except Exception as error:  # noqa: BLE001  # whatever is raised is an output
        return Failed(type(error).__name__, str(error))


def _hits(run: Callable[[], Any], score: Score, threshold: float, count: int) -> int:
    """How often fresh runs are in the event; a thousand outputs are held at a time."""
    cuts = range(0, count, 1000)
    return sum(int((score([run() for _ in range(min(1000, count - cut))]) > threshold).sum())
               for cut in cuts)


# --- an event -----------------------------------------------------------------------------------

def _event(sides: Sequence[Sequence[Any]], delta: float) -> tuple[Score, float, bool]:
    """A score, a threshold and a direction: answers above it are likelier on one table."""
    best: tuple[float, Score, float, bool] = (-math.inf, lambda o: np.zeros(len(o)), 0.0, False)
    for score in _scores(sides):
        found = [score(side) for side in sides]
        values = np.unique(np.concatenate(found))
        if len(values) > 1:
            middles = (values[1:] + values[:-1]) / 2
            values = middles[np.linspace(0, len(middles) - 1, min(len(middles), 500)).astype(int)]
        above = [len(f) - np.searchsorted(np.sort(f), values, side="right") for f in found]
        for swap in (False, True):
            more, less = reversed(above) if swap else above
            promise = _promise(more, less, len(found[0]), delta)
            at = int(np.argmax(promise))
            if promise[at] > best[0]:
                best = (float(promise[at]), score, float(values[at]), swap)
    return best[1:]


def _promise(more: NDArray[np.intp], less: NDArray[np.intp], count: int, delta: float) -> Floats:
    """Roughly the bound that an event would give (Wilson's interval); any guess is allowed."""
    z2 = 2.58**2
    half_more = np.sqrt(z2 * (more * (count - more) / count + z2 / 4))
    half_less = np.sqrt(z2 * (less * (count - less) / count + z2 / 4))
    low = (more + z2 / 2 - half_more) / (count + z2) - delta
    high = (less + z2 / 2 + half_less) / (count + z2)
    found: Floats = np.log(np.maximum(low, 1e-300) / high)
    return found


def _scores(sides: Sequence[Sequence[Any]]) -> list[Score]:
    """Scores to try, each and its negative, learned from runs on both tables."""
    outputs = [*sides[0], *sides[1]]
    positive = [_likelihood(view, [Counter(map(view, side)) for side in sides])
                for view in (_answer, _members, _size)]
    width = _width(outputs)
    if width:
        positive += _vector_scores(sides, lambda side: _numbers(side, width))
    else:
        items = Counter(item for o in outputs for item in _members(o))
        names = [item for item, _ in items.most_common(COMMONEST)]
        positive += _vector_scores(sides, lambda side: _memberships(side, names))
    return [s for score in positive for s in (score, _negative(score))]


def _negative(score: Score) -> Score:
    return lambda outputs: -score(outputs)


def _likelihood(view: Callable[[Any], Hashable], seen: Sequence[Counter[Hashable]]) -> Score:
    """How much likelier a view of the output was on the first table; 0 for rare ones."""
    common = (seen[0] + seen[1]).most_common(COMMONEST)
    ratio = {key: math.log((seen[0][key] + 0.5) / (seen[1][key] + 0.5))
             for key, times in common if times >= RARE}
    return lambda outputs: np.array([ratio.get(view(o), 0.0) for o in outputs])


def _vector_scores(sides: Sequence[Sequence[Any]],
                   matrix: Callable[[Sequence[Any]], Floats]) -> list[Score]:
    """Linear scores, the five best coordinates, and the distance to the two means."""
    first, second = (matrix(side) for side in sides)
    both = np.vstack([first, second])
    centre, spread = both.mean(axis=0), both.std(axis=0)
    spread[spread == 0] = 1.0

    def scaled(outputs: Sequence[Any]) -> Floats:
        found: Floats = (matrix(outputs) - centre) / spread
        return found

    means = [scaled(side).mean(axis=0) for side in sides]
    gap = means[0] - means[1]
    directions = [gap, *(np.arange(len(gap)) == j for j in np.argsort(-np.abs(gap))[:5])]
    if len(gap) <= LARGEST_COVARIANCE:
        rest = np.vstack([scaled(side) - mean for side, mean in zip(sides, means, strict=True)])
        cov = rest.T @ rest / len(rest)
        ridge = 0.1 * np.trace(cov) / len(cov) + 1e-9
        directions.append(np.linalg.solve(cov + ridge * np.eye(len(cov)), gap))
    linear: list[Score] = [lambda outputs, v=v: scaled(outputs) @ v  # type: ignore[misc]
                           for v in directions]

    def nearer(outputs: Sequence[Any]) -> Floats:
        at = scaled(outputs)
        near, far = (np.linalg.norm(at - mean, axis=1) for mean in means)
        found: Floats = far - near
        return found

    return [*linear, nearer]


# --- views of an output -------------------------------------------------------------------------

def _answer(output: Any) -> Hashable:
    """The output itself, order included."""
    if isinstance(output, np.ndarray):
        return output.tobytes()
    if isinstance(output, (list, set)):
        return repr(sorted(output, key=repr) if isinstance(output, set) else output)
    try:
        hash(output)
    except TypeError:
        return repr(output)
    return output  # type: ignore[no-any-return]


def _members(output: Any) -> frozenset[Hashable]:
    """The output as a set of members; of what has none, itself."""
    if isinstance(output, (tuple, list, set, frozenset)):
        return frozenset(_answer(item) for item in output)
    return frozenset([_answer(output)])


def _size(output: Any) -> int:
    """How many members the output has; none for an exception."""
    return -1 if isinstance(output, Failed) else len(_members(output))


def _width(outputs: Iterable[Any]) -> int:
    """The length of the outputs as vectors of numbers; 0 if they are something else."""
    widths = {_numeric(o) for o in outputs if not isinstance(o, Failed)}
    return widths.pop() if len(widths) == 1 else 0


def _numeric(output: Any) -> int:
    """The length of a number, an array, or a list with a float; 0 for what may be a selection."""
    if isinstance(output, (int, float, np.number, np.ndarray)):
        kind = np.asarray(output)
        return int(kind.size) if kind.dtype.kind in "biuf" else 0
    listed = isinstance(output, (tuple, list)) and all(
        isinstance(x, (int, float, np.number)) for x in output)
    return len(output) if listed and any(isinstance(x, float) for x in output) else 0


def _numbers(outputs: Sequence[Any], width: int) -> Floats:
    """Outputs as rows, with a last column for exceptions and for a length never seen."""
    rows = np.zeros((len(outputs), width + 1))
    for row, output in zip(rows, outputs, strict=True):
        if _numeric(output) == width:
            row[:width] = np.asarray(output, dtype=np.float64).ravel()
        else:
            row[width] = 1.0
    # Finite, and small enough that a square is finite too.
    return np.clip(np.nan_to_num(rows, nan=-1e100), -1e100, 1e100)


def _memberships(outputs: Sequence[Any], names: Sequence[Hashable]) -> Floats:
    """Outputs as rows of zeros and ones, with a last column for exceptions."""
    rows = np.zeros((len(outputs), len(names) + 1))
    for row, output in zip(rows, outputs, strict=True):
        members = _members(output)
        row[:-1] = [name in members for name in names]
        row[-1] = isinstance(output, Failed)
    return rows


# --- a bound ------------------------------------------------------------------------------------

def _epsilon(more: int, less: int, count: int, wrong: float, delta: float) -> float:
    """A lower bound on epsilon from two counts, wrong with probability `wrong` at most."""
    low = _lowest(more, count, wrong / 2) - delta
    high = 1 - _lowest(count - less, count, wrong / 2)
    return math.log(low / high) if low > 0 else -math.inf


def _lowest(hits: int, count: int, wrong: float) -> float:
    """The Clopper-Pearson lower limit: below it, so many hits have probability < `wrong`."""
    if hits == 0:
        return 0.0
    low, high = 0.0, hits / count
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if _tail(hits, count, middle) > wrong else (middle, high)
    return low


def _tail(hits: int, count: int, share: float) -> float:
    """P(Binomial(count, share) >= hits), summed in logarithms."""
    if share <= 0.0 or share >= 1.0:
        return float(share >= 1.0)
    factorial = _log_factorials(count)
    k = np.arange(hits, count + 1)
    logs = (factorial[count] - factorial[k] - factorial[count - k]
            + k * math.log(share) + (count - k) * math.log1p(-share))
    most = float(logs.max())
    return math.exp(most) * float(np.exp(logs - most).sum())


@lru_cache(maxsize=2)  # its keys are public: a number of runs
def _log_factorials(count: int) -> Floats:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, count + 1)))])
