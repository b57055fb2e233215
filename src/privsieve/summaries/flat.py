"""Flat: a summary of integers as one vector modulo 2^64, and back.

The layout is that of a summary of no rows: public, and the same wherever rows are.  So vectors of
several places can be added, without anybody knowing what stands in them.  A summary whose layout
rows could change has no such form, and is refused by made-up rows, before any row is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.errors import ParameterError
from privsieve.public.columns import CODES, Column, Target
from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch
from privsieve.summaries.stages import Stages

Words = npt.NDArray[np.uint64]

#: An integer of any size is so many digits of 32 bits; the last has the sign, and room for it.
_DIGITS, _SHIFT, _LOW = 4, 32, 2**32 - 1
#: A summary of more words is no summary: a gigabyte for each place.
LARGEST = 2**27
#: Made-up rows: every level of most columns, and codes all over the grid.
_MADE_UP = 97


# [flat]
def flat(summary: Any) -> Words:
    """All integers of a summary as words, in the order of its fields.

    >>> flat((np.array([1, -1]), {"b": 3})).tolist()
    [1, 18446744073709551615, 3, 0, 0, 0]
    """
    return np.concatenate([np.zeros(0, np.uint64), *map(_words, _leaves(summary))])


def shaped(like: Any, words: Words) -> Any:
    """The summary of these words, in the layout of another one.

    >>> both = flat((np.array([1, -1]), 2**70)) + flat((np.array([-2, 0]), -2**70 - 1))
    >>> shaped((np.zeros(2, np.int64), 0), both)
    (array([-1, -1]), -1)
    """
    cut = np.cumsum([_length(leaf) for leaf in _leaves(like)])
    return _made(like, iter(np.split(words, cut)))
# [/flat]


def _leaves(part: Any) -> Iterator[Any]:
    """The integers and arrays of a summary, in one order."""
    if part is None:
        return
    if isinstance(part, int | np.integer) and not isinstance(part, bool):
        yield int(part)
    elif isinstance(part, np.ndarray) and part.dtype.kind in "iuO":
        yield part
    elif hasattr(part, "dense"):
        yield part.dense()
    else:
        for one in _parts(part):
            yield from _leaves(one)


def _parts(part: Any) -> Iterable[Any]:
    """What a container holds."""
    if isinstance(part, tuple | list):
        return part
    if isinstance(part, Mapping):
        return part.values()
    if is_dataclass(part):
        return (getattr(part, name) for name in _summed(part))
    raise TypeError


def _summed(part: Any) -> tuple[str, ...]:
    """The fields of a summary that rows change; the others are public."""
    return getattr(part, "SUMMED", None) or tuple(field.name for field in fields(part))


def _length(leaf: Any) -> int:
    return _DIGITS if isinstance(leaf, int) else leaf.size * (
        _DIGITS if leaf.dtype.kind == "O" else 1)


# [words]
def _words(leaf: Any) -> Words:
    if isinstance(leaf, np.ndarray) and leaf.dtype.kind != "O":
        # An array adds up modulo its own word, and 2^64 is a multiple of that.
        return leaf.astype(np.int64 if leaf.dtype.kind == "i" else np.uint64).view(
            np.uint64).ravel()
    each = [leaf] if isinstance(leaf, int) else leaf.ravel().tolist()
    digits = [[one >> _SHIFT * at & _LOW for at in range(_DIGITS - 1)]
              + [one >> _SHIFT * (_DIGITS - 1) & 2**64 - 1] for one in each]
    return np.array(digits, np.uint64).reshape(-1)


def _read(leaf: Any, words: Words) -> Any:
    if isinstance(leaf, np.ndarray) and leaf.dtype.kind != "O":
        return words.astype(leaf.dtype).reshape(leaf.shape)
    found = [sum(one << _SHIFT * at for at, one in enumerate((*low, (top + 2**63) % 2**64 - 2**63)))
             for *low, top in words.reshape(-1, _DIGITS).tolist()]
    if isinstance(leaf, int):
        return found[0]
    array = np.empty(len(found), object)
    array[:] = found
    return array.reshape(leaf.shape)
# [/words]


def _made(like: Any, words: Iterator[Words]) -> Any:
    """The same walk as that of `_leaves`."""
    if like is None:
        return None
    if isinstance(like, int | np.integer | np.ndarray):
        return _read(int(like) if isinstance(like, np.integer) else like, next(words))
    if hasattr(like, "dense"):
        return like.of_dense(_read(like.dense(), next(words)))
    if isinstance(like, tuple | list):
        parts = [_made(one, words) for one in like]
        return type(like)(*parts) if hasattr(like, "_fields") else type(like)(parts)
    if isinstance(like, Mapping):
        return {name: _made(one, words) for name, one in like.items()}
    return replace(like, **{name: _made(getattr(like, name), words) for name in _summed(like)})


def _layout(part: Any) -> list[Any]:
    return [(leaf.shape, leaf.dtype.str) if isinstance(leaf, np.ndarray) else "integer"
            for leaf in _leaves(part)]


# [layout]
def lengths(stages: Stages, domain: Domain, method: str) -> list[int]:
    """How many words each stage has; refused where rows could change that, or do not add up.

    Made-up rows decide it: what a plan is asked for is public, and so is what it does with them.
    """
    first, second = (made_up(domain, _MADE_UP * at, _MADE_UP) for at in range(2))
    found: tuple[Any, ...] = ()
    sizes = []
    for stage in stages.each:
        try:
            zero, one, other, whole = (stage(rows, 0, found)
                                       for rows in ([], [first], [second], [first, second]))
            both = zero + one + other
            fits = _layout(zero) == _layout(one) == _layout(both) == _layout(whole)
            words = flat(one) + flat(other) if fits else flat(zero)
            fits = fits and all(bool((flat(shaped(zero, words)) == flat(true)).all())
                                for true in (both, whole))
        except (TypeError, ValueError):
            fits, words = False, np.zeros(0, np.uint64)
        if not fits or len(words) > LARGEST:
            raise ParameterError(
                f"what {method} makes of the rows, as it was asked, is no sum of a fixed number "
                "of integers, and sites cannot add it up under masks; take noisy-top-k, "
                "kernel-ridge, noisy-histogram with named columns and without a delta, or "
                "rule-sieve: at any depth where rows are replaced, and rows times columns are "
                "below 134 million (of a number with numeric=ranks); else with depth=1")
        sizes.append(len(words))
        found = (*found, both)
    return sizes
# [/layout]


def made_up(domain: Domain, start: int, rows: int) -> Batch:
    """Rows that nobody has: each level of a column in turn, and codes all over the grid.

    >>> made_up(Domain.box(0, 1, columns=2), 0, 3).codes.tolist()
    [[0, 1031], [9973, 11004], [19946, 20977]]
    """
    at = np.arange(start, start + rows)
    codes = np.array([_codes(column, at, j) for j, column in enumerate(domain.columns)], np.uint16)
    label = np.zeros(rows) if domain.target is None else _codes(domain.target, at, 0)
    return Batch(codes.T, label.astype(np.int32), at.astype(np.uint64), at.astype(np.uint64))


def _codes(part: Column | Target, at: npt.NDArray[np.int64], j: int) -> npt.NDArray[np.int64]:
    levels = len(getattr(part, "values", ())) or getattr(part, "levels", 0)
    return (at + j) % levels if levels else (at * 9973 + j * 1031) % CODES
