"""Contract: choose the implementation of a kernel, and check its arrays.

Each kernel has a twin in Python, written to be read: it answers where no compiler was, with the
same bits.  Arguments are checked once for both.  Shapes, types and offsets are public; no text
here can show what an array holds.  A kernel trusts all of this: it looks at nothing twice.

Sums stay below 2^61, so that twice a sum fits 64 bits; they are bounded before a kernel adds.  A
rule's value is a difference of two parts of ``S = sum of |v_i|`` over the rows of a column, so that
no step of a kernel passes 2 S.  Bounds are told in floating point where they are near: its
roundings are far smaller than the bit to spare.  No table of a plan gets here.  A class weighs at
most 4096, or all rows n^2 / 2 <= 2^59 where classes are centred.  For rows, 2^61 is 2^49 of them;
for persons of weight L, the plan refuses L and persons that come near.
"""
# ruff: noqa: PLR0917  six arguments are allowed by the house

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from importlib import import_module
from operator import index
from typing import Any, Literal, ParamSpec, SupportsIndex, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

U8: TypeAlias = npt.NDArray[np.uint8]
U16: TypeAlias = npt.NDArray[np.uint16]
U64: TypeAlias = npt.NDArray[np.uint64]
I32: TypeAlias = npt.NDArray[np.int32]
I64: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Cells: TypeAlias = tuple[I64, I32]
Runs: TypeAlias = tuple[I64, U16, npt.NDArray[Any]]
#: Codes, where each class begins, and what each row weighs, if not 1.
ClassRows: TypeAlias = tuple[U16, I64, I64 | None]
Cuts: TypeAlias = tuple[U16, U64, U64, I64]
Planes: TypeAlias = tuple[U64, U64 | None, I64]

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

#: Rows, columns and places of a row are 32-bit integers in the kernels.
MOST_ROWS = 2**31 - 1
#: Histograms of bins have four counts of 32 bits a cell, each for every fourth row.
MOST_BINNED = 2**33
#: Entries that are compared at a time: they stay in the first caches.
AT_ONCE = 1 << 15
LARGEST_SUM = 2**61
MOST_WORD = 2**64 - 1
#: What stands for a code that is not there.
MISSING = 65535


#: How many threads a kernel may take: as many as a release may.
_threads: ContextVar[int] = ContextVar("threads", default=1)
#: From this number of cells of pairs on, threads save more than they cost; words of signs a cell.
THREADS_FROM, WORD = 2**22, 16


@contextmanager
def using_threads(most: int) -> Iterator[None]:
    """Let kernels share their work among `most` threads.

    >>> with using_threads(2):
    ...     threads_for(2**30), threads_for(1)
    (2, 1)
    """
    token = _threads.set(most)
    try:
        yield
    finally:
        _threads.reset(token)


def threads_for(cells: int) -> int:
    """Return the number of threads that share `cells` of work."""
    return _threads.get() if cells >= THREADS_FROM else 1


def _load() -> tuple[Any, str]:
    if os.environ.get("PRIVSIEVE_KERNELS") == "numpy":
        return None, "PRIVSIEVE_KERNELS=numpy asks for it"
    try:
        return import_module("privsieve.kernels._native"), ""
    except ImportError:
        return None, "the native extension does not load; install again with a C++17 compiler"


#: The kernels in C++, None where the twins serve; and why they do.
extension, _reason = _load()


def implementation() -> Literal["native", "numpy"]:
    """Return the implementation that runs the kernels.

    >>> implementation() in {"native", "numpy"}
    True
    """
    return "numpy" if extension is None else "native"


def reason() -> str:
    """Return why NumPy runs the kernels; empty if the native extension does.

    >>> bool(reason()) == (implementation() == "numpy")
    True
    """
    return _reason


def native(twin: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return the C++ kernel with the name of a NumPy twin, or else the twin."""
    return kernel(lambda *_, **__: None)(twin)


def kernel(
    demand: Callable[Arguments, Sequence[object] | None],
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Return a decorator that lets `demand` check the arguments of a kernel.

    If `demand` returns arguments, the C++ kernel takes these instead.

    >>> @kernel(lambda z: demand_array("z", z, np.uint64, 1))
    ... def mix64(z):
    ...     return z + 1
    >>> mix64(np.zeros(1))
    Traceback (most recent call last):
    ...
    TypeError: z must be a C-contiguous array of uint64 with 1 dimensions; convert it first
    """
    def answered(twin: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        name = twin.__name__.strip("_")

        @wraps(twin)
        def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            taken = demand(*args, **kwargs)
            if extension is None:
                return twin(*args, **kwargs)
            compiled: Callable[..., Result] = getattr(extension, name)
            return compiled(*args, **kwargs) if taken is None else compiled(*taken)

        return call

    return answered


def demand_array(
    name: str, value: object, dtype: npt.DTypeLike | list[npt.DTypeLike], ndim: int
) -> None:
    """Refuse a value that is not a C-contiguous, aligned array of this type and dimension.

    >>> demand_array("codes", np.zeros(3), np.uint16, 1)
    Traceback (most recent call last):
    ...
    TypeError: codes must be a C-contiguous array of uint16 with 1 dimensions; convert it first
    """
    allowed = [np.dtype(t) for t in (dtype if isinstance(dtype, list) else [dtype])]
    good = (
        isinstance(value, np.ndarray)
        and value.dtype in allowed
        and value.ndim == ndim
        and value.flags.c_contiguous
        and value.flags.aligned
    )
    if not good:
        types = " or ".join(str(t) for t in allowed)
        raise TypeError(
            f"{name} must be a C-contiguous array of {types} with {ndim} dimensions; "
            "convert it first"
        )


def demand_room(name: str, room: npt.NDArray[Any]) -> None:
    """Refuse a result array that is not writable."""
    if not room.flags.writeable:
        raise ValueError(f"{name} cannot be written to; copy it first")


def demand_whole(name: str, value: SupportsIndex, low: int, high: int) -> int:
    """Read a whole number from `low` to `high`.

    >>> demand_whole("k", 0, 1, 5)
    Traceback (most recent call last):
    ...
    ValueError: k must be at least 1 and at most 5
    """
    try:
        number = index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number") from None
    if not low <= number <= high:
        raise ValueError(f"{name} must be at least {low} and at most {high}")
    return int(number)


def demand_equal(what: str, first: int, second: int) -> None:
    """Refuse two lengths that should be the same."""
    if first != second:
        raise ValueError(f"{what} must agree in length, but have {first} and {second}")


def demand_offsets(name: str, offsets: object, end: int) -> None:
    """Refuse offsets that do not rise from 0 to `end`."""
    demand_array(name, offsets, np.int64, 1)
    assert isinstance(offsets, np.ndarray)
    if not len(offsets) or offsets[0] or offsets[-1] != end or (offsets[1:] < offsets[:-1]).any():
        raise ValueError(f"{name} must rise from 0 to the number of entries that it divides")


def demand_rising(name: str, offsets: I64, values: npt.NDArray[Any]) -> None:
    """Refuse values that do not rise strictly inside each of the parts that offsets divide.

    >>> demand_rising("rows", np.array([0, 2, 4]), np.array([3, 5, 1, 1]))
    Traceback (most recent call last):
    ...
    ValueError: rows must rise
    """
    falls = sum(int(np.count_nonzero(values[a + 1 : a + AT_ONCE + 1]
                                     <= values[a : a + AT_ONCE][: len(values) - a - 1]))
                for a in range(0, len(values) - 1, AT_ONCE))
    if not falls:
        return
    begins = offsets[np.flatnonzero(np.diff(offsets, prepend=-1))]  # each once: they do not fall
    begins = begins[(begins > 0) & (begins < len(values))]
    if falls != np.count_nonzero(values[begins] <= values[begins - 1]):
        raise ValueError(f"{name} must rise")


def demand_rows(codes: U16, starts: I64, weight: I64 | None = None) -> tuple[object, ...]:
    """Refuse rows of columns whose offsets or weights do not fit them."""
    demand_array("codes", codes, np.uint16, 2)
    demand_offsets("starts", starts, codes.shape[1])
    demand_weight(weight, codes.shape[1])
    if weight is None:  # a part of a table: its counts are int32
        demand_whole("rows", codes.shape[1], 0, MOST_ROWS)
    return codes, starts, weight


def demand_parts(parts: Sequence[ClassRows]) -> tuple[list[ClassRows], bool]:
    """Check sets of rows; return them, and whether their counts need 64 bits."""
    rows, weights = 0, []
    for codes, starts, weight in parts:
        demand_rows(codes, starts, weight)
        demand_equal("columns of the parts", len(codes), len(parts[0][0]))
        demand_equal("classes of the parts", len(starts), len(parts[0][1]))
        rows += codes.shape[1]
        weights += [] if weight is None else [float(weight.sum(dtype=np.float64))]
    if not parts:
        raise ValueError("give at least one set of rows")
    if sum(weights) + rows > LARGEST_SUM:
        raise ValueError("the weights of all parts add up to 2^61 or more")
    return list(parts), bool(weights) or rows > MOST_ROWS


def demand_ties(unit: U64, feature: int, key: int) -> tuple[object, ...]:
    """Check units, a feature and a key."""
    demand_array("unit", unit, np.uint64, 1)
    return unit, *(demand_whole(name, word, 0, MOST_WORD)
                   for name, word in (("feature", feature), ("key", key)))


def demand_split(codes: U16, starts: I64, ids: U64, key: int, cuts: Cuts, kind: U8,
                 ) -> tuple[object, ...]:
    """Check columns with their rows and cuts; return also whether the kernel needs masks."""
    demand_array("codes", codes, np.uint16, 2)
    demand_offsets("starts", starts, codes.shape[1])
    demand_array("ids", ids, np.uint64, 2)
    demand_equal("ids and (unit, row)", len(ids), 2)
    demand_equal("ids and codes", ids.shape[1], codes.shape[1])
    demand_cuts(cuts, kind, len(codes))
    layout = np.stack([starts, plane_words(starts)])
    key = demand_whole("key", key, 0, MOST_WORD)
    return codes, layout, ids, key, cuts, kind, bool((kind == 1).any())


def demand_items(items: Cells, rows: int) -> None:
    """Refuse items whose rows are outside the table, or do not rise.

    Rows that rise are each there once: sums over them are counts, and a set of rows is one list.

    >>> demand_items((np.array([0, 2]), np.array([1, 1], np.int32)), 2)
    Traceback (most recent call last):
    ...
    ValueError: the rows of an item must rise
    """
    indptr, indices = items
    demand_array("indices", indices, np.int32, 1)
    demand_offsets("indptr", indptr, len(indices))
    demand_whole("rows", rows, 0, MOST_ROWS)
    demand_whole("items", len(indptr) - 1, 0, MOST_ROWS)
    demand_rising("the rows of an item", indptr, indices)
    held = indptr[1:] > indptr[:-1]
    first, last = indices[indptr[:-1][held]], indices[indptr[1:][held] - 1]
    if len(first) and not 0 <= first.min() <= last.max() < rows:
        raise ValueError(f"indices must be rows from 0 to {rows - 1}")


def demand_runs(name: str, runs: Runs) -> int:
    """Check a triple that `runs` returned; return its largest count."""
    indptr, code, count = runs
    demand_array(f"{name}: code", code, np.uint16, 1)
    demand_array(f"{name}: count", count, [np.int32, np.int64], 2)
    demand_offsets(f"{name}: indptr", indptr, len(code))
    demand_equal(f"{name}: code and count", len(code), len(count))
    demand_rising(f"{name}: the codes of a column", indptr, code)
    return largest(f"{name}: count", count)


def demand_kind(kind: U8, what: str, columns: int) -> None:
    """Refuse invalid kinds, or a number of kinds that differs from the columns."""
    demand_array("kind", kind, np.uint8, 1)
    demand_equal(f"kind and {what}", len(kind), columns)
    if kind.max(initial=0) > 3:
        raise ValueError("kind must be 0, 1, 2 or 3")


def demand_column_weights(runs: Runs, labellings: I64, kind: U8) -> None:
    """Check runs, kinds and class weights; refuse too large weights."""
    top = demand_runs("runs", runs)
    demand_array("labellings", labellings, np.int64, 2)
    demand_kind(kind, "runs", len(runs[0]) - 1)
    demand_equal("classes of labellings and runs", labellings.shape[1], runs[2].shape[1])
    demand_column_sums(runs, top, labellings)


def demand_cuts(cuts: Cuts, kind: U8, columns: int) -> None:
    """Refuse what is not cuts of these columns."""
    types = (np.uint16, np.uint64, np.uint64, np.int64, np.uint8)
    parts: list[npt.NDArray[Any]] = [*cuts, kind]
    for array, dtype in zip(parts, types, strict=True):
        demand_array("each part of cuts, and kind,", array, dtype, 1)
        demand_equal("cuts, kind and codes", len(array), columns)
    demand_kind(kind, "codes", columns)
    largest("count of cuts", cuts[3])
    if ((cuts[0] == MISSING) & (kind == 1) & (cuts[3] > 0)).any():
        raise ValueError("a cut must lie at a code that is not missing")


def demand_weight(weight: I64 | None, rows: int) -> None:
    """Refuse weights that are not one int64 a row, 0 or more."""
    if weight is not None:
        demand_array("weight", weight, np.int64, 1)
        demand_equal("weight and rows", len(weight), rows)
        demand_total("weight", weight)


def demand_signs(
    planes: U64, masks: U64 | None, zeros: I64, words: I64, rows: I64, labellings: I64
) -> tuple[object, ...]:
    """Check planes and their companions; return them with a number of threads."""
    demand_array("planes", planes, np.uint64, 2)
    if masks is not None:
        demand_array("masks", masks, np.uint64, 2)
        demand_equal("masks and planes", len(masks), len(planes))
        demand_equal("words of masks and planes", masks.shape[1], planes.shape[1])
        if any((plane & ~mask).any() for plane, mask in zip(planes, masks, strict=True)):
            raise ValueError("planes must have bit 0 where masks have")
    demand_array("zeros", zeros, np.int64, 1)
    demand_equal("zeros and planes", len(zeros), len(planes))
    demand_offsets("words", words, planes.shape[1])
    demand_array("rows", rows, np.int64, 1)
    demand_array("labellings", labellings, np.int64, 2)
    demand_equal("rows and words", len(rows), len(words) - 1)
    demand_equal("rows and classes of labellings", len(rows), labellings.shape[1])
    if (rows < 0).any() or (rows > np.diff(words) * 64).any():
        raise ValueError("rows must fit the words of their class")
    if (zeros < -1).any() or (zeros >= planes.shape[1] * 64).any():
        raise ValueError("zeros must be -1 or lie within the planes")
    # Whatever the planes hold: a class adds up its rows less twice the bits that differ.
    demand_signed(labellings, np.diff(words) * 128)
    threads = threads_for(planes.size * len(planes) // WORD)
    return planes, masks, zeros, words, rows, labellings, threads


def demand_triples(planes: U64, *rest: Any) -> tuple[object, ...]:
    """Check the same for products of three: there is more work to share."""
    return *demand_signs(planes, *rest)[:-1], threads_for(planes.size * len(planes)**2 // WORD)


def demand_bins(
    bins: U8, starts: I64, weight: I64 | None, labellings: I64, grid: int, nominal: U8
) -> tuple[object, ...]:
    """Check bins, their companions and the grid; return them with a number of threads."""
    demand_array("bins", bins, np.uint8, 2)
    demand_offsets("starts", starts, bins.shape[1])
    demand_whole("rows of bins", bins.shape[1], 0, MOST_BINNED)
    demand_weight(weight, bins.shape[1])
    demand_array("labellings", labellings, np.int64, 2)
    demand_equal("classes of labellings and starts", labellings.shape[1], len(starts) - 1)
    demand_array("nominal", nominal, np.uint8, 1)
    demand_equal("nominal and bins", len(nominal), len(bins))
    if demand_whole("grid", grid, 0, 255) not in {4, 8, 16}:
        raise ValueError(f"grid must be 4, 8 or 16, not {grid}")
    if bins.max(initial=0) >= grid:
        raise ValueError(f"bins must be below the grid's {grid}")
    demand_signed(labellings, class_sums(starts, weight))
    threads = threads_for(bins.size * len(bins))
    return bins, starts, weight, labellings, grid, nominal, threads


def largest(name: str, values: npt.NDArray[Any]) -> int:
    """Refuse numbers below 0; return the largest number, or 0 for an empty array."""
    # One pass: as numbers without a sign, negative ones are the largest.
    top = int(values.view(f"u{values.dtype.itemsize}").max(initial=0))
    if top > np.iinfo(values.dtype).max:
        raise ValueError(f"{name} must not be negative")
    return top


def demand_total(name: str, values: npt.NDArray[Any]) -> None:
    """Refuse numbers below 0, and those whose sum may not fit.

    >>> demand_total("weight", np.array([2**60, 2**60]))
    Traceback (most recent call last):
    ...
    ValueError: weight must sum to less than 2^61
    """
    # The product is an upper bound at the cost of one pass.
    if (largest(name, values) * values.size >= LARGEST_SUM
            and values.sum(dtype=np.float64) >= LARGEST_SUM):
        raise ValueError(f"{name} must sum to less than 2^61")


def class_sums(starts: I64, weight: I64 | None) -> npt.NDArray[Any]:
    """Return the weight of each class.

    >>> class_sums(np.array([0, 2, 2, 3]), np.array([5, 1, 7])).tolist()
    [6, 0, 7]
    """
    if weight is None:
        return np.diff(starts)
    return np.diff(np.concatenate([[0], np.cumsum(weight)])[starts])


def demand_signed(labellings: I64, by_class: npt.NDArray[Any]) -> None:
    """Refuse labellings with too large sums, if each class has at least one row."""
    sizes = np.abs(labellings.astype(np.float64))
    if (sizes @ np.maximum(by_class, 1).astype(np.float64)).max(initial=0) >= LARGEST_SUM:
        raise ValueError("the weights of the labellings add up to 2^61 or more, so their sums may "
                         "not fit 64 bits")


def demand_column_sums(runs: Runs, top: int, labellings: I64) -> None:
    """Check the same for each column of runs, with counts from 0 to `top`."""
    # The product is an upper bound, and nearly always small enough.
    row = int(np.abs(labellings.astype(np.float64)).sum(axis=1).max(initial=0))
    if row * max(1, int(np.diff(runs[0]).max(initial=0)) * top) < LARGEST_SUM:
        return
    for column in _sums(runs):
        demand_signed(labellings, column)


def demand_column_rows(runs: Runs, top: int, most: int) -> None:
    """Refuse runs with more than `most` rows in a column; counts are from 0 to `top`."""
    bound = top * runs[2].shape[1] * int(np.diff(runs[0]).max(initial=0))
    if bound > most and _sums(runs).sum(axis=1).max(initial=0) > most:
        raise ValueError(f"runs must count at most {most} rows")


def _sums(runs: Runs) -> npt.NDArray[np.float64]:
    """Return the counts of each column, by class."""
    indptr, _, count = runs
    held = np.diff(indptr) > 0
    sums = np.zeros((len(held), count.shape[1]))
    if held.any():
        sums[held] = np.add.reduceat(count, indptr[:-1][held], axis=0, dtype=np.float64)
    return sums


def plane_words(starts: I64) -> I64:
    """Return where each class begins in a plane of signs, and the end, in words of 64 bits.

    >>> plane_words(np.array([0, 3, 300])).tolist()
    [0, 4, 12]
    """
    return np.concatenate([[0], np.cumsum((np.diff(starts) + 255) // 256 * 4)]).astype(np.int64)
