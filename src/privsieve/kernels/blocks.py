"""Votes by nearest hit and nearest miss: among few units of a block, or in public rows.

A row's hit is the nearest row of the same label, its miss the nearest of any other, both of other
units; ties go to the first.  A voter (a block, or a unit against a reference) adds up
``|x - miss| - |x - hit|`` over its rows, column by column, and votes by its sign or clipped.
Rows are plain arrays here: a row of `codes` is a row of the table.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from privsieve.kernels import blocks_twin, implementation
from privsieve.kernels.contract import (
    I64,
    MOST_ROWS,
    U16,
    demand_array,
    demand_equal,
    demand_offsets,
    demand_room,
    demand_whole,
)

I32: TypeAlias = npt.NDArray[np.int32]

#: The most rows of a voter whose sum of differences of codes fits 32 bits.
MOST_SUMMED = 32767

__all__ = [
    "Blocks", "Rows", "block_moves", "block_votes", "deal", "reference_moves", "reference_votes",
]  # fmt: skip

_kernels: Any = (
    import_module("privsieve.kernels._native") if implementation() == "native" else blocks_twin
)


class Rows(NamedTuple):
    """Rows, those of a unit together: unit u has the rows `starts[u]` to `starts[u + 1]`."""

    codes: U16
    label: I32
    starts: I64

    def __repr__(self) -> str:
        return object.__repr__(self)  # its fields are private


class Blocks(NamedTuple):
    """Block b has the units `order[starts[b]]` to `order[starts[b + 1]]`, in this order."""

    order: I64
    starts: I64

    def __repr__(self) -> str:
        return object.__repr__(self)  # its fields are private


def block_votes(rows: Rows, blocks: Blocks, kinds: U16 | None, tau: int) -> I64:
    """The sum of the votes of all blocks, for each column.

    kinds : two rows of 0 or 65535, by column: any two codes are all of the grid apart (categories);
        code 65535 is, from any other (missing).  None: all columns are plain numbers.
    tau : the largest vote; 0 takes signs.

    >>> codes = np.array([[0, 0], [2, 0], [0, 2], [2, 1], [1, 1], [0, 1]], np.uint16)
    >>> rows = Rows(codes, np.array([0, 0, 1, 1, 0, 1], np.int32), np.arange(7))
    >>> block_votes(rows, Blocks(np.arange(6), np.array([0, 6])), None, 0).tolist()
    [-1, 1]
    """
    _demand_blocks(rows, blocks)
    tau = _demand_ballot(rows, kinds, tau)
    out: I64 = _kernels.block_votes(tuple(rows), tuple(blocks), kinds, tau)
    return out


def block_moves(rows: Rows, blocks: Blocks, kinds: U16 | None) -> I32:
    """What each block would vote by: the sums over its rows, a row of integers for each block.

    >>> codes = np.array([[0, 0], [2, 0], [0, 2], [2, 1], [1, 1], [0, 1]], np.uint16)
    >>> rows = Rows(codes, np.array([0, 0, 1, 1, 0, 1], np.int32), np.arange(7))
    >>> block_moves(rows, Blocks(np.arange(6), np.array([0, 6])), None).tolist()
    [[-6, 3]]
    """
    _demand_blocks(rows, blocks)
    _demand_ballot(rows, kinds, 0)
    order, starts = blocks
    held = np.append(0, np.cumsum(np.diff(rows.starts)[order]))[starts]
    _demand_summed(held)
    out: I32 = _kernels.block_moves(tuple(rows), tuple(blocks), kinds)
    return out


def reference_moves(rows: Rows, reference: Rows, kinds: U16 | None) -> I32:
    """What each unit would vote by, whose hits and misses are rows of the reference.

    >>> rows = Rows(np.array([[0, 5]], np.uint16), np.array([1], np.int32), np.array([0, 1]))
    >>> known = Rows(np.array([[0, 5], [9, 5]], np.uint16), np.array([1, 0], np.int32),
    ...              np.array([0, 1, 2]))
    >>> reference_moves(rows, known, None).tolist()
    [[9, 0]]
    """
    _demand_reference(rows, reference)
    _demand_ballot(rows, kinds, 0)
    _demand_summed(rows.starts)
    out: I32 = _kernels.reference_moves(tuple(rows), tuple(reference), kinds)
    return out


def reference_votes(rows: Rows, reference: Rows, kinds: U16 | None, tau: int) -> I64:
    """The sum of the votes of all units, whose hits and misses are rows of the reference.

    >>> rows = Rows(np.array([[0, 5]], np.uint16), np.array([1], np.int32), np.array([0, 1]))
    >>> known = Rows(np.array([[0, 5], [9, 5]], np.uint16), np.array([1, 0], np.int32),
    ...              np.array([0, 1, 2]))
    >>> reference_votes(rows, known, None, 4).tolist()
    [4, 0]
    """
    _demand_reference(rows, reference)
    tau = _demand_ballot(rows, kinds, tau)
    out: I64 = _kernels.reference_votes(tuple(rows), tuple(reference), kinds, tau)
    return out


def deal(codes: U16, place: I64, out: U16) -> U16:
    """Rows from columns: row `place[i]` of `out` becomes column i of `codes`; returns `out`.

    >>> some = np.array([[1, 2], [3, 4]], np.uint16)
    >>> deal(some, np.array([1, 0]), np.empty((2, 2), np.uint16)).tolist()
    [[2, 4], [1, 3]]
    """
    demand_array("codes", codes, np.uint16, 2)
    demand_array("place", place, np.int64, 1)
    demand_array("out", out, np.uint16, 2)
    demand_equal("place and codes", len(place), codes.shape[1])
    demand_equal("rows of out and place", len(out), len(place))
    demand_equal("columns of out and codes", out.shape[1], len(codes))
    demand_room("out", out)
    if np.may_share_memory(codes, out):
        raise ValueError("out must not lie where codes lie")
    inside = not len(place) or 0 <= place.min() <= place.max() < len(place)
    if not inside or (np.bincount(place, minlength=len(place)) != 1).any():
        raise ValueError("place must give each row a place of its own")
    _kernels.deal(codes, place, out)
    return out


def _demand_rows(name: str, rows: Rows) -> None:
    demand_array(f"{name}: codes", rows.codes, np.uint16, 2)
    demand_array(f"{name}: label", rows.label, np.int32, 1)
    demand_equal(f"{name}: label and codes", len(rows.label), len(rows.codes))
    demand_whole(f"{name}: rows", len(rows.codes), 0, MOST_ROWS)
    demand_offsets(f"{name}: starts", rows.starts, len(rows.codes))


def _demand_blocks(rows: Rows, blocks: Blocks) -> None:
    _demand_rows("rows", rows)
    order, starts = blocks
    demand_array("order", order, np.int64, 1)
    demand_offsets("starts of blocks", starts, len(order))
    demand_whole("units of blocks", len(order), 0, MOST_ROWS)
    if len(order) and not 0 <= int(order.min()) <= int(order.max()) < len(rows.starts) - 1:
        raise ValueError("order must name units of these rows")


def _demand_reference(rows: Rows, reference: Rows) -> None:
    _demand_rows("rows", rows)
    _demand_rows("reference", reference)
    demand_equal("columns of rows and reference", rows.codes.shape[1], reference.codes.shape[1])


def _demand_summed(held: I64) -> None:
    if (np.diff(held) > MOST_SUMMED).any():
        raise ValueError(f"a voter may have {MOST_SUMMED} rows: the sum of more may not fit")


def _demand_ballot(rows: Rows, kinds: U16 | None, tau: int) -> int:
    if kinds is not None:
        demand_array("kinds", kinds, np.uint16, 2)
        demand_equal("kinds and (level, top)", len(kinds), 2)
        demand_equal("kinds and codes", kinds.shape[1], rows.codes.shape[1])
        if not ((kinds == 0) | (kinds == 65535)).all():
            raise ValueError("kinds must be 0 or 65535")
    # There are fewer voters than 2^31 rows: their votes add up to less than 2^63.
    return demand_whole("tau", tau, 0, 2**32 - 1)
