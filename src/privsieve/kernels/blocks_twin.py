"""The NumPy twins of `blocks`: the same integers, a group of equal blocks at a time."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from privsieve.kernels.contract import I64, U16

I32: TypeAlias = npt.NDArray[np.int32]
Rows: TypeAlias = tuple[U16, I32, I64]
Blocks: TypeAlias = tuple[I64, I64]

#: Differences of codes that are in memory at a time.
CELLS = 2**22
FAR = np.iinfo(np.int64).max


def block_votes(rows: Rows, blocks: Blocks, kinds: U16 | None, tau: int) -> I64:
    """The sum of the votes of all blocks, for each column."""
    return _votes(_block_sums(rows, blocks, kinds), tau)


def block_moves(rows: Rows, blocks: Blocks, kinds: U16 | None) -> I32:
    """What each block would vote by."""
    return _block_sums(rows, blocks, kinds).astype(np.int32)


def reference_votes(rows: Rows, reference: Rows, kinds: U16 | None, tau: int) -> I64:
    """The sum of the votes of all units, whose hits and misses are rows of the reference."""
    return _votes(_reference_sums(rows, reference, kinds), tau)


def reference_moves(rows: Rows, reference: Rows, kinds: U16 | None) -> I32:
    """What each unit would vote by."""
    return _reference_sums(rows, reference, kinds).astype(np.int32)


def _block_sums(rows: Rows, blocks: Blocks, kinds: U16 | None) -> I64:
    """The sums of the rows of each block."""
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
    """The sums of the rows of each unit, against the reference."""
    codes, label, starts = rows
    known, known_label, _ = reference
    sums = np.zeros((len(starts) - 1, codes.shape[1]), np.int64)
    for unit in range(len(starts) - 1):
        x = codes[starts[unit]:starts[unit + 1]]
        mine = label[starts[unit]:starts[unit + 1]]
        if not len(x) or not len(known):
            continue
        far = np.array([_gap(one, known, kinds).sum(axis=1) for one in x])
        same = mine[:, None] == known_label
        z = _leaning(x, known, _nearest(far, same), _nearest(far, ~same), kinds)
        sums[unit] = z.sum(axis=0)
    return sums


def deal(codes: U16, place: I64, out: U16) -> None:
    """Rows from columns: row `place[i]` of `out` becomes column i of `codes`."""
    out[place] = codes.T


def _gap(a: U16, b: U16, kinds: U16 | None) -> I64:
    """How far codes are apart, by column (the last axis)."""
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


def _nearest(far: I64, may: npt.NDArray[np.bool_]) -> I64:
    """The first of the nearest that may be, and -1 where none may."""
    masked = np.where(may, far, FAR)
    found: I64 = np.where(may.any(axis=-1), masked.argmin(axis=-1), -1)
    return found


def _summed(x: U16, hit: I64, miss: I64, kinds: U16 | None) -> I64:
    """The sums of the rows of each of some blocks of one length."""
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
    """The sum of the votes by these sums."""
    voted: I64 = (np.clip(sums, -tau, tau) if tau else np.sign(sums)).sum(axis=0)
    return voted
