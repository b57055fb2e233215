"""Votes by nearest hit and nearest miss: among few units of a block, or in public rows.

A row's hit is the nearest row of the same label, its miss the nearest of any other, both of other
units; ties go to the first.  A voter (a block, or a unit against a reference) adds up
``|x - miss| - |x - hit|`` over its rows, column by column, and votes by its sign or clipped.
Rows are plain arrays here: a row of `codes` is a row of the table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from privsieve.kernels.contract import (
    I32,
    I64,
    MOST_ROWS,
    U16,
    Bools,
    demand_array,
    demand_equal,
    demand_offsets,
    demand_room,
    demand_whole,
    kernel,
    native,
)

#: The most rows of a voter whose sum of differences of codes fits 32 bits.
MOST_SUMMED = 32767
#: Differences of codes that are in memory at a time.
CELLS = 2**22
FAR = np.iinfo(np.int64).max

__all__ = [
    "Blocks", "Rows", "block_moves", "block_votes", "deal", "reference_moves", "reference_votes",
]  # fmt: skip

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


def _demand_rows(name: str, rows: Rows) -> None:
    demand_array(f"{name}: codes", rows.codes, np.uint16, 2)
    demand_array(f"{name}: label", rows.label, np.int32, 1)
    demand_equal(f"{name}: label and codes", len(rows.label), len(rows.codes))
    demand_whole(f"{name}: rows", len(rows.codes), 0, MOST_ROWS)
    demand_offsets(f"{name}: starts", rows.starts, len(rows.codes))


def _demand_blocks(rows: Rows, blocks: Blocks, kinds: U16 | None, tau: int) -> None:
    _demand_rows("rows", rows)
    order, starts = blocks
    demand_array("order", order, np.int64, 1)
    demand_offsets("starts of blocks", starts, len(order))
    demand_whole("units of blocks", len(order), 0, MOST_ROWS)
    if len(order) and not 0 <= int(order.min()) <= int(order.max()) < len(rows.starts) - 1:
        raise ValueError("order must name units of these rows")
    _demand_ballot(rows, kinds, tau)


def _demand_moving_blocks(rows: Rows, blocks: Blocks, kinds: U16 | None) -> None:
    _demand_blocks(rows, blocks, kinds, 0)
    order, starts = blocks
    _demand_summed(np.append(0, np.cumsum(np.diff(rows.starts)[order]))[starts])


def _demand_reference(rows: Rows, reference: Rows, kinds: U16 | None, tau: int) -> None:
    _demand_rows("rows", rows)
    _demand_rows("reference", reference)
    demand_equal("columns of rows and reference", rows.codes.shape[1], reference.codes.shape[1])
    _demand_ballot(rows, kinds, tau)


def _demand_moving_units(rows: Rows, reference: Rows, kinds: U16 | None) -> None:
    _demand_reference(rows, reference, kinds, 0)
    _demand_summed(rows.starts)


def _demand_summed(held: I64) -> None:
    if (np.diff(held) > MOST_SUMMED).any():
        raise ValueError(f"a voter may have at most {MOST_SUMMED} rows, so that sums fit")


def _demand_ballot(rows: Rows, kinds: U16 | None, tau: int) -> None:
    if kinds is not None:
        demand_array("kinds", kinds, np.uint16, 2)
        demand_equal("kinds and (level, top)", len(kinds), 2)
        demand_equal("kinds and codes", kinds.shape[1], rows.codes.shape[1])
        if not ((kinds == 0) | (kinds == 65535)).all():
            raise ValueError("kinds must be 0 or 65535")
    # There are fewer voters than 2^31 rows: their votes add up to less than 2^63.
    demand_whole("tau", tau, 0, 2**32 - 1)


@kernel(_demand_blocks)
def block_votes(rows: Rows, blocks: Blocks, kinds: U16 | None, tau: int) -> I64:
    """Return the sum of the votes of all blocks, for each column.

    kinds : two rows of 0 or 65535, by column: any two codes are all of the grid apart (categories);
        code 65535 is, from any other (missing).  None: all columns are plain numbers.
    tau : the largest vote; 0 takes signs.

    >>> codes = np.array([[0, 0], [2, 0], [0, 2], [2, 1], [1, 1], [0, 1]], np.uint16)
    >>> rows = Rows(codes, np.array([0, 0, 1, 1, 0, 1], np.int32), np.arange(7))
    >>> block_votes(rows, Blocks(np.arange(6), np.array([0, 6])), None, 0).tolist()
    [-1, 1]
    """
    return _votes(_block_sums(rows, blocks, kinds), tau)


@kernel(_demand_moving_blocks)
def block_moves(rows: Rows, blocks: Blocks, kinds: U16 | None) -> I32:
    """Return a row of integers for each block: the sums over its rows, by which it votes.

    >>> codes = np.array([[0, 0], [2, 0], [0, 2], [2, 1], [1, 1], [0, 1]], np.uint16)
    >>> rows = Rows(codes, np.array([0, 0, 1, 1, 0, 1], np.int32), np.arange(7))
    >>> block_moves(rows, Blocks(np.arange(6), np.array([0, 6])), None).tolist()
    [[-6, 3]]
    """
    return _block_sums(rows, blocks, kinds).astype(np.int32)


@kernel(_demand_reference)
def reference_votes(rows: Rows, reference: Rows, kinds: U16 | None, tau: int) -> I64:
    """Return the sum of the votes of all units, whose hits and misses are rows of the reference.

    >>> rows = Rows(np.array([[0, 5]], np.uint16), np.array([1], np.int32), np.array([0, 1]))
    >>> known = Rows(np.array([[0, 5], [9, 5]], np.uint16), np.array([1, 0], np.int32),
    ...              np.array([0, 1, 2]))
    >>> reference_votes(rows, known, None, 4).tolist()
    [4, 0]
    """
    return _votes(_reference_sums(rows, reference, kinds), tau)


@kernel(_demand_moving_units)
def reference_moves(rows: Rows, reference: Rows, kinds: U16 | None) -> I32:
    """Return the vector by which each unit would vote, with hits and misses in the reference.

    >>> rows = Rows(np.array([[0, 5]], np.uint16), np.array([1], np.int32), np.array([0, 1]))
    >>> known = Rows(np.array([[0, 5], [9, 5]], np.uint16), np.array([1, 0], np.int32),
    ...              np.array([0, 1, 2]))
    >>> reference_moves(rows, known, None).tolist()
    [[9, 0]]
    """
    return _reference_sums(rows, reference, kinds).astype(np.int32)


def deal(codes: U16, place: I64, out: U16) -> U16:
    """Scatter columns to rows: row `place[i]` of `out` becomes column i of `codes`.

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
        raise ValueError("out and codes must not share memory")
    inside = not len(place) or 0 <= place.min() <= place.max() < len(place)
    if not inside or (np.bincount(place, minlength=len(place)) != 1).any():
        raise ValueError("place must give each row another position")
    _deal(codes, place, out)
    return out


@native
def _deal(codes: U16, place: I64, out: U16) -> None:
    out[place] = codes.T


def _block_sums(rows: Rows, blocks: Blocks, kinds: U16 | None) -> I64:
    """Return the sums of the rows of each block."""
    codes, label, starts = rows
    order, cuts = blocks
    # The rows of each block, one after another, and the unit of each.
    sizes = np.diff(starts)[order]
    unit = np.repeat(order, sizes)
    first = np.cumsum(sizes) - sizes
    row = np.arange(len(unit)) + np.repeat(starts[:-1][order] - first, sizes)
    ends = np.concatenate([[0], np.cumsum(sizes)])[cuts]
    lengths = np.diff(ends)
    sums = np.zeros((len(lengths), codes.shape[1]), np.int64)
    for length in np.unique(lengths[lengths > 1]).tolist():
        those = np.flatnonzero(lengths == length)
        begins = ends[:-1][those]
        step = max(1, CELLS // (length * length * max(1, codes.shape[1])))
        for at in range(0, len(begins), step):
            members = begins[at:at + step, None] + np.arange(length)
            x, owner, classes = codes[row[members]], unit[members], label[row[members]]
            away = owner[:, :, None] != owner[:, None, :]
            same = classes[:, :, None] == classes[:, None, :]
            far = _distances(x, kinds)
            sums[those[at:at + step]] = _summed(
                x, _nearest(far, away & same), _nearest(far, away & ~same), kinds)
    return sums


def _reference_sums(rows: Rows, reference: Rows, kinds: U16 | None) -> I64:
    """Return the sums of the rows of each unit, against the reference."""
    codes, label, starts = rows
    known, known_label, _ = reference
    sums = np.zeros((len(starts) - 1, codes.shape[1]), np.int64)
    for unit in range(len(starts) - 1):
        x = codes[starts[unit]:starts[unit + 1]]
        mine = label[starts[unit]:starts[unit + 1]]
        if not len(x) or not len(known):
            continue
        far = np.array([_gap(near, known, kinds).sum(axis=1) for near in x])
        same = mine[:, None] == known_label
        z = _leaning(x, known, _nearest(far, same), _nearest(far, ~same), kinds)
        sums[unit] = z.sum(axis=0)
    return sums


def _gap(a: U16, b: U16, kinds: U16 | None) -> I64:
    """Return the distance of codes, by column (the last axis)."""
    far: I64 = np.abs(a.astype(np.int64) - b)
    if kinds is None:
        return far
    whole = (kinds[0] > 0) | ((kinds[1] > 0) & (np.maximum(a, b) == 65535))
    return np.where(whole & (far > 0), 65535, far)


def _distances(x: U16, kinds: U16 | None) -> I64:
    """Distances within each block; a few columns at a time."""
    blocks, length, columns = x.shape
    far = np.zeros((blocks, length, length), np.int64)
    step = max(1, CELLS // far.size)
    for j in range(0, columns, step):
        some = x[:, :, j:j + step]
        far += _gap(some[:, :, None, :], some[:, None, :, :],
                    None if kinds is None else kinds[:, j:j + step]).sum(axis=3)
    return far


def _nearest(far: I64, may: Bools) -> I64:
    """Return the first of the nearest that may be, and -1 if none may."""
    masked = np.where(may, far, FAR)
    nearest_rows: I64 = np.where(may.any(axis=-1), masked.argmin(axis=-1), -1)
    return nearest_rows


def _summed(x: U16, hit: I64, miss: I64, kinds: U16 | None) -> I64:
    """Return the sums of the rows of each of some blocks of one length."""
    each = np.arange(len(x))[:, None] * x.shape[1]
    flat = x.reshape(len(x) * x.shape[1], x.shape[2])
    z = _leaning(flat, flat, (np.where(hit < 0, -1, hit + each)).ravel(),
                 (np.where(miss < 0, -1, miss + each)).ravel(), kinds)
    sums: I64 = z.reshape(x.shape).sum(axis=1)
    return sums


def _leaning(x: U16, others: U16, hit: I64, miss: I64, kinds: U16 | None) -> I64:
    """|x - miss| - |x - hit| of each row; 0 where it lacks one."""
    both = (hit >= 0) & (miss >= 0)
    z: I64 = _gap(x, others[miss], kinds) - _gap(x, others[hit], kinds)
    return z * both[:, None]


def _votes(sums: I64, tau: int) -> I64:
    """Return the sum of the votes by these sums."""
    voted: I64 = (np.clip(sums, -tau, tau) if tau else np.sign(sums)).sum(axis=0)
    return voted
