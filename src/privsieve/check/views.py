"""Views: properties of an output of any type by which an attack tells two tables apart.

An output is split into numbers and words, each with its place.  A learned `Guess` scores how much
likelier an output is on one table.  Numbers are used as they are, and by the traces of rounding
under noise: the lowest bit, the place between the points of a lattice, the decimals.  Good views
are learned; any guess is allowed, since fresh runs count it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: The most words that are compared, and the fewest occurrences of a useful word: each real number
#: occurs once.
COMMONEST, RARE = 64, 5
#: The bins of a number whose likelihood is learned, and the smoothing of each count.
BINS, SMOOTH = 4, 1.0
#: Two counts differ clearly if they are this many standard deviations apart.
CLEAR = 3.0
#: The most numbers of an output whose covariance is used.
LARGEST_COVARIANCE = 500
#: The most numbers of an output whose bits are used, and the depth to which an output is split.
MOST_FINE, DEEPEST = 64, 12
#: The most items of a list that are also words at their places.
LISTED = 64
#: Lattices of values without noise.
GRIDS = (1.0, 0.5, 0.25, 0.1, 0.01, 0.001, 2.0**-10, 2.0**-20)

Floats = NDArray[np.float64]
Place = tuple[Hashable, ...]


@dataclass(frozen=True)
class Failed:
    """An exception as an output: an observer sees its kind and its words."""

    kind: str
    words: str


class Flat(NamedTuple):
    """A split output: numbers by their place, and words, each with its place."""

    numbers: Mapping[Place, Floats]
    words: frozenset[Hashable]


class Guess(NamedTuple):
    """A score of how much likelier an output is on the first table; `sign` is -1 for the second.

    name : the view, in words.
    """

    name: str
    of: Callable[[Sequence[Flat]], Floats]
    sign: float = 1.0

    def __call__(self, outputs: Sequence[Flat]) -> Floats:
        """Return a score for each output."""
        return self.sign * self.of(outputs)


# --- splitting an output ------------------------------------------------------------------------

def flat(output: Any) -> Flat:
    """Return the numbers and words of an output of any type.

    >>> split = flat({"chosen": ["age"], "count": 3})
    >>> split.numbers[("count",)], (("chosen", "has"), "age") in split.words
    (array([3.]), True)
    """
    numbers: dict[Place, Floats] = {}
    words: set[Hashable] = set()
    _take(output, (), numbers, words)
    return Flat(numbers, frozenset(words))


def _take(value_at: Any, at: Place, numbers: dict[Place, Floats], words: set[Hashable]) -> None:
    """Add the numbers and words of a value at its place."""
    value = _value(value_at)
    if value is not None:
        numbers[at] = np.array([value])
        words.add((at, value_at if isinstance(value_at, Hashable) else value))
    elif isinstance(value_at, str | bytes | None):
        words.add((at, value_at))
    elif isinstance(value_at, np.ndarray) or hasattr(value_at, "__array__"):
        _take_array(np.asarray(value_at), at, numbers, words)
    elif len(at) >= DEEPEST:
        words.add((at, "too deep"))
    elif isinstance(value_at, Mapping):
        words.add(((*at, "keys"), frozenset(map(_word, value_at))))
        for key, inner in value_at.items():
            _take(inner, (*at, _word(key)), numbers, words)
    elif is_dataclass(value_at) and not isinstance(value_at, type):
        words.add((at, type(value_at).__name__))
        for attribute in fields(value_at):
            _take(getattr(value_at, attribute.name), (*at, attribute.name), numbers, words)
    elif isinstance(value_at, list | tuple | set | frozenset):
        _take_items(value_at, at, numbers, words)
    else:
        words.add((at, _word(value_at)))


def _value(cell: Any) -> float | None:
    """Return a number, or the text of a number, as a double; None for other values."""
    if isinstance(cell, str):
        if not cell[-1:].isdigit():
            return None
    elif not isinstance(cell, int | float | Fraction | np.number | np.bool_):
        return None
    try:
        return float(cell)
    except (ValueError, TypeError):
        return None
    except OverflowError:
        return math.inf


def _take_array(array: NDArray[Any], at: Place, numbers: dict[Place, Floats],
                words: set[Hashable]) -> None:
    words.add(((*at, "shape"), array.shape))
    if array.dtype.kind in "biuf":
        numbers[at] = array.astype(np.float64).ravel()
    elif array.dtype.kind == "c":
        numbers[at] = np.array([array.real, array.imag], dtype=np.float64).ravel()
    else:
        _take(array.tolist(), (*at, "items"), numbers, words)


def _take_items(items: Any, at: Place, numbers: dict[Place, Floats], words: set[Hashable]) -> None:
    """Add a list by places and by members, and a set by members alone."""
    ordered = isinstance(items, list | tuple)
    words.add(((*at, "count"), len(items)))
    values = [_value(item) for item in items] if ordered else [None]
    if items and None not in values:
        numbers[at] = np.array(values)
    members = [_word(item) for item in items]
    words.update(((*at, "has"), member) for member in members)
    if ordered:
        words.add(((*at, "all"), tuple(members)))
        words.add(((*at, "set"), frozenset(members)))
        words.update(((*at, j), member) for j, member in enumerate(members[:LISTED]))
        if None in values:
            for j, item in enumerate(items):
                if not isinstance(item, str):
                    _take(item, (*at, j), numbers, words)
    else:
        words.add(((*at, "all"), frozenset(members)))


def _word(value: Any) -> Hashable:
    """Return a hashable word for a value; its type if its text has a memory address."""
    try:
        text = repr(value)
        hash(value)
    except TypeError:  # a list, or a tuple of lists
        return text
    except RecursionError:
        return "too deep"
    word: Hashable = type(value).__name__ if " at 0x" in text else value
    return word


# --- scores -------------------------------------------------------------------------------------

def scores(sides: Sequence[Sequence[Flat]]) -> list[Guess]:
    """Learn scores from runs on both tables; return each with its negative."""
    outputs = [*sides[0], *sides[1]]
    guesses = list(_word_scores(sides))
    columns = _columns(outputs)
    if columns:
        matrix = _once(partial(_matrix, columns=columns))
        guesses += _linear_scores(sides, "numbers", matrix)
        guesses += _fine_scores(sides, matrix)
        guesses += _parts_scores(sides, matrix)
    items = [word for word, _ in Counter(
        word for output in outputs for word in output.words).most_common(COMMONEST)]
    guesses += _linear_scores(sides, "words", _once(lambda outputs: np.array(
        [[float(word in output.words) for word in items] for output in outputs])))
    return [signed for score in guesses for signed in (score, score._replace(sign=-1.0))]


def _word_scores(sides: Sequence[Sequence[Flat]]) -> Iterator[Guess]:
    """Yield scores of all words of an output together, and of the best words alone."""
    whole = _likelihood([Counter(output.words for output in side) for side in sides])
    yield Guess("the whole output", lambda outputs: np.array(
        [whole.get(output.words, 0.0) for output in outputs]))
    each = _likelihood([Counter(word for output in side for word in output.words)
                        for side in sides])
    for word, _ in sorted(each.items(), key=lambda item: -abs(item[1]))[:5]:
        yield Guess("a word", lambda outputs, word=word: np.array(  # type: ignore[misc]
            [float(word in output.words) for output in outputs]))


def _likelihood(seen: Sequence[Counter[Any]]) -> dict[Any, float]:
    """Return how much likelier each common key is on the first table."""
    common = (seen[0] + seen[1]).most_common(COMMONEST)
    return {key: math.log((seen[0][key] + 0.5) / (seen[1][key] + 0.5))
            for key, times in common if times >= RARE}


def _clear(seen: Sequence[Counter[Any]]) -> dict[Any, float]:
    """Return the likelihood ratios of keys with clearly different counts."""
    return {key: ratio for key, ratio in _likelihood(seen).items()
            if abs(seen[0][key] - seen[1][key]) > CLEAR * math.sqrt(seen[0][key] + seen[1][key])}


def _linear_scores(sides: Sequence[Sequence[Flat]], name: str,
                   matrix: Callable[[Sequence[Flat]], Floats]) -> Iterator[Guess]:
    """Yield linear scores, the five best coordinates, and the distances to the two means."""
    first, second = (matrix(side) for side in sides)
    both = np.vstack([first, second])
    centre, spread = both.mean(axis=0), both.std(axis=0)
    spread[spread == 0] = 1.0

    def scaled(outputs: Sequence[Flat]) -> Floats:
        distances: Floats = (matrix(outputs) - centre) / spread
        return distances

    means = [scaled(side).mean(axis=0) for side in sides]
    gap = means[0] - means[1]
    # If few coordinates differ, random differences of the others only blur them.
    clear = np.abs(gap) > CLEAR * math.sqrt(1 / len(first) + 1 / len(second))
    directions = [gap, gap * clear,
                  *(np.arange(len(gap)) == j for j in np.argsort(-np.abs(gap))[:5])]
    if len(gap) <= LARGEST_COVARIANCE:
        rest = np.vstack([scaled(side) - mean for side, mean in zip(sides, means, strict=True)])
        cov = rest.T @ rest / len(rest)
        ridge = 0.1 * np.trace(cov) / len(cov) + 1e-9
        directions.append(np.linalg.solve(cov + ridge * np.eye(len(cov)), gap))
    for v in directions:
        yield Guess(name, lambda outputs, v=v: scaled(outputs) @ v)  # type: ignore[misc]

    def nearer(outputs: Sequence[Flat]) -> Floats:
        at = scaled(outputs)
        near, far = (np.linalg.norm(at - mean, axis=1) for mean in means)
        difference: Floats = far - near
        return difference

    yield Guess(name, nearer)
    yield Guess(name, lambda outputs: np.linalg.norm(matrix(outputs) - centre, axis=1))


def _fine_scores(sides: Sequence[Sequence[Flat]],
                 matrix: Callable[[Sequence[Flat]], Floats]) -> Iterator[Guess]:
    """Yield scores of values and of their traces of rounding: all numbers, and the best one."""
    views: dict[str, Callable[[Floats], Floats]] = {
        "values": np.round, "low bits": low, "decimals": decimals,
        **{f"places between multiples of {grid:g}": partial(between, grid=grid)
           for grid in GRIDS}}
    for name, view in views.items():
        seen = [view(matrix(side)[:, :MOST_FINE]) for side in sides]
        ratios = [_clear([Counter(values[:, j].tolist()) for values in seen])
                  for j in range(seen[0].shape[1])]
        if not any(ratios):
            continue

        def each(outputs: Sequence[Flat], view: Callable[[Floats], Floats] = view,
                 ratios: Sequence[Mapping[float, float]] = ratios) -> Floats:
            values = view(matrix(outputs)[:, :MOST_FINE])
            return np.array([[ratio.get(value, 0.0) for ratio, value in
                              zip(ratios, row, strict=True)] for row in values.tolist()])

        yield Guess(name, lambda outputs, each=each: each(outputs).sum(axis=1))  # type: ignore[misc]
        yield Guess(name, lambda outputs, each=each: each(outputs).max(axis=1))  # type: ignore[misc]


def _parts_scores(sides: Sequence[Sequence[Flat]],
                  matrix: Callable[[Sequence[Flat]], Floats]) -> Iterator[Guess]:
    """Yield the sum of the log ratios of an output's words and of each number beside such words.

    With independent noise on each part these log ratios are independent, and their sum is the best
    score.  Each part costs a share of epsilon, and so contributes.
    """
    often = Counter(word for side in sides for output in side for word in output.words)
    seldom = max(RARE, sum(map(len, sides)) // COMMONEST)
    known = frozenset(word for word, times in often.items()
                      if times >= seldom and not _counts(word[1]))  # type: ignore[index]
    groups = [[output.words & known for output in side] for side in sides]
    whole = _likelihood([Counter(side) for side in groups])
    own = _own([matrix(side)[:, :MOST_FINE] for side in sides])
    numbers = [matrix(side)[:, own] for side in sides]
    tables = {}
    for group in whole:
        members = [values[[words == group for words in side]]
                   for values, side in zip(numbers, groups, strict=True)]
        if all(map(len, members)):  # else the words alone decide
            tables[group] = _binned(members)

    def added(outputs: Sequence[Flat], clear: float) -> Floats:
        values = matrix(outputs)[:, own]
        sums = np.zeros(len(outputs))
        groups_of = [output.words & known for output in outputs]
        for group, ratio in whole.items():
            rows = np.flatnonzero([words == group for words in groups_of])
            sums[rows] = ratio
            if group in tables:
                cuts, ratios, strength = tables[group]
                places = (values[rows][:, :, None] > cuts).sum(axis=2)
                each = np.take_along_axis(ratios, places.T, axis=1)
                sums[rows] += each[strength > clear].sum(axis=0)
        return sums

    yield Guess("its parts together", partial(added, clear=0.0))
    yield Guess("its parts together", partial(added, clear=CLEAR))


def _own(sides: Sequence[Floats]) -> list[int]:
    """Return the columns with different orders of values; copies would count twice in the sum.

    For example, the ends of a range have the order of its middle.

    >>> _own([np.array([[1.0, 5.0, 9.0]]), np.array([[2.0, 3.0, 10.0]])])
    [0, 1]
    """
    ranks = [np.unique(column, return_inverse=True)[1].tobytes() for column in np.vstack(sides).T]
    return sorted({rank: j for j, rank in reversed([*enumerate(ranks)])}.values())


def _binned(sides: Sequence[Floats]) -> tuple[Floats, Floats, Floats]:
    """Return the cuts of each column, the log ratio of each bin, and the strength of the column."""
    both = np.vstack(sides)
    cuts = np.quantile(both, np.arange(1, BINS) / BINS, axis=0, method="lower").T
    counts = [np.stack([((values[:, :, None] > cuts).sum(axis=2) == b).sum(axis=0)
                        for b in range(BINS)], axis=1) for values in sides]
    totals = [len(values) + 1.0 for values in sides]
    ratios = np.log((counts[0] + SMOOTH) / totals[0]) - np.log((counts[1] + SMOOTH) / totals[1])
    gaps = np.abs(np.mean(sides[0], axis=0) - np.mean(sides[1], axis=0))
    errors = np.sqrt(sum(values.var(axis=0) / len(values) for values in sides))
    strength = np.clip(gaps / np.maximum(errors, 1e-300), 1e-9, 1e9)
    # Random gaps are shrunk, as by James and Stein.
    return cuts, ratios * np.maximum(0, 1 - strength**-2.0)[:, None], strength


def _counts(value: Any) -> bool:
    """Return whether a word is a number, or contains one."""
    if isinstance(value, tuple | frozenset):
        return any(map(_counts, value))
    return _value(value) is not None


def low(values: Floats) -> Floats:
    """Return the exponent of the lowest bit of a double, which reveals a finer added number.

    >>> low(np.array([1.0, 0.75, 0.1])).tolist()
    [0.0, -2.0, -55.0]
    """
    fraction, exponent = np.frexp(values)
    whole = np.abs(fraction * 2.0**53).astype(np.int64)
    trailing = np.log2(np.maximum(whole & -whole, 1)).astype(np.int64)
    bits: Floats = np.where(whole == 0, 9999.0, exponent - 53 + trailing)
    return bits


def between(values: Floats, grid: float) -> Floats:
    """Return the place between two multiples of a grid, which noise on the grid does not move.

    >>> between(np.array([2.25, -0.75]), 1.0).tolist()
    [0.25, 0.25]
    """
    places: Floats = np.round(np.mod(values, grid) / grid, 6) % 1.0
    return places


def decimals(values: Floats) -> Floats:
    """Return the number of decimals of a number, up to 15; 16 for more.

    >>> decimals(np.array([3.0, 0.25, 0.1 + 0.2])).tolist()
    [0.0, 2.0, 16.0]
    """
    digits = np.full(values.shape, 16.0)
    for count in range(15, -1, -1):
        digits[np.round(values, count) == values] = count
    return digits


# --- matrices -----------------------------------------------------------------------------------

def _columns(outputs: Sequence[Flat]) -> dict[Place, int]:
    """Return the places of numbers, with the most frequent count of numbers at each."""
    seen: dict[Place, Counter[int]] = {}
    for output in outputs:
        for place, numbers in output.numbers.items():
            seen.setdefault(place, Counter())[len(numbers)] += 1
    often = sorted(seen, key=lambda place: -sum(seen[place].values()))[:COMMONEST]
    return {place: seen[place].most_common(1)[0][0] for place in often}


def _matrix(outputs: Sequence[Flat], columns: Mapping[Place, int]) -> Floats:
    """Return outputs as rows of numbers, with an indicator of missing numbers for each place."""
    width = sum(columns.values())
    rows = np.zeros((len(outputs), width + len(columns)))
    for row, output in zip(rows, outputs, strict=True):
        start = 0
        for j, (place, count) in enumerate(columns.items()):
            numbers = output.numbers.get(place)
            if numbers is not None and len(numbers) == count:
                row[start:start + count] = numbers
            else:
                row[width + j] = 1.0
            start += count
    # Finite, with finite squares.
    return np.clip(np.nan_to_num(rows, nan=-1e100), -1e100, 1e100)


def _once(matrix: Callable[[Sequence[Flat]], Floats]) -> Callable[[Sequence[Flat]], Floats]:
    """Cache the matrices of the last two lists of outputs, which many scores share."""
    kept: list[tuple[Sequence[Flat], Floats]] = []

    def of(outputs: Sequence[Flat]) -> Floats:
        for known, values in kept:
            if known is outputs:
                return values
        kept[:] = [*kept[-1:], (outputs, matrix(outputs))]
        return kept[-1][1]

    return of
