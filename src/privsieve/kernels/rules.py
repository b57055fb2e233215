"""Rules: rules on one and two columns, and signs; the parts of scores of classes.

Each function is a kernel: its body is the twin, in NumPy, of the one in C++.
"""
# ruff: noqa: PLR0917  six arguments are allowed by the house

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import combinations, pairwise

import numpy as np

from privsieve.kernels.contract import (
    I64,
    MISSING,
    U8,
    U16,
    U64,
    ClassRows,
    Cuts,
    Planes,
    Runs,
    demand_array,
    demand_bins,
    demand_column_rows,
    demand_column_weights,
    demand_equal,
    demand_kind,
    demand_parts,
    demand_runs,
    demand_signs,
    demand_split,
    demand_ties,
    demand_total,
    demand_triples,
    kernel,
    native,
    plane_words,
)

#: Values of cuts at ranks are below n^2 in size: this number of rows keeps them in 60 bits.
#: A plan allows half as many.
FEW_ROWS = 2**30


@kernel(lambda z: demand_array("z", z, np.uint64, np.ndim(z)))
def mix64(z: U64) -> U64:
    """Scramble 64 bits: the finaliser of splitmix64, a bijection.

    >>> mix64(np.array([0, 1], np.uint64)).tolist()
    [16294208416658607535, 10451216379200822465]
    """
    with np.errstate(over="ignore"):
        z = z + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


@kernel(demand_ties)
def tie_keys(unit: U64, feature: int, key: int) -> U64:
    """Order of the units that share a code, a fresh one for each feature.

    An order that features share would make tied columns copies of each other.

    >>> units = np.arange(2, dtype=np.uint64)
    >>> (tie_keys(units, 0, 7) == tie_keys(units, 1, 7)).any()
    np.False_
    """
    with np.errstate(over="ignore"):
        place = unit * np.uint64(0x100000001B3) ^ np.uint64(int(feature) << 40 & (1 << 64) - 1)
    return mix64(np.uint64(key) ^ mix64(place))


def runs(codes: U16, starts: I64, weight: I64 | None = None) -> Runs:
    """Sorted distinct codes of each column, with their count (or weight) per class.

    Returns ``(indptr, code, count)``: column j has the codes ``code[indptr[j]:indptr[j + 1]]``.
    The count is int32, and int64 with weights.

    >>> codes, starts = np.array([[5, 5, 2]], np.uint16), np.array([0, 2, 3])
    >>> [values.tolist() for values in runs(codes, starts)]
    [[0, 2], [2, 5], [[0, 1], [2, 0]]]
    """
    return runs_together([(codes, starts, weight)])


@kernel(demand_parts)
def runs_together(parts: Sequence[ClassRows]) -> Runs:
    """Merge the runs of several sets of rows into one table, as `merge_runs` does.

    >>> values = np.array([[5, 2]], np.uint16), np.array([0, 1, 2]), None
    >>> [values.tolist() for values in runs_together([values, values])]
    [[0, 2], [2, 5], [[0, 2], [2, 0]]]
    """
    _, wide = demand_parts(parts)
    dtype = np.int64 if wide else np.int32
    return reduce(_merge_runs, (_runs(*piece, dtype) for piece in parts))


def _runs(codes: U16, starts: I64, weight: I64 | None, dtype: type) -> Runs:
    classes = len(starts) - 1
    label = np.repeat(np.arange(classes), np.diff(starts))
    columns = [np.unique(column, return_inverse=True) for column in codes]
    counts = [add_up(place * classes + label, weight, len(code) * classes).reshape(
                  len(code), classes) for code, place in columns]
    return _join([code for code, _ in columns], counts, (classes, dtype))


def add_up(place: I64, weight: I64 | None, places: int) -> I64:
    """Exact sums of weights below 2^62 by place: int64[places]; without weights, counts.

    >>> add_up(np.array([1, 1]), np.array([2**61 - 2, 1]), 2).tolist() == [0, 2**61 - 1]
    True
    """
    if weight is None:
        return np.bincount(place, minlength=places)
    # Sums of fewer than 2^32 numbers of 21 bits are exact as doubles.
    parts = (np.bincount(place, weight >> shift & (1 << 21) - 1, places).astype(np.int64) << shift
             for shift in (0, 21, 42))
    return reduce(np.add, parts)


def merge_runs(a: Runs, b: Runs) -> Runs:
    """Merge the runs of two sets of rows: a commutative monoid.

    The count is int64 if either is, or if together they are too many rows for int32.

    >>> values = runs(np.array([[5, 2]], np.uint16), np.array([0, 1, 2]))
    >>> merge_runs(values, values)[2].tolist()
    [[0, 2], [2, 0]]
    """
    top = demand_runs("a", a) + demand_runs("b", b)
    demand_equal("columns of a and b", len(a[0]), len(b[0]))
    demand_equal("classes of a and b", a[2].shape[1], b[2].shape[1])
    demand_total("count of a", a[2][: a[0][1:2].sum()])
    demand_total("count of b", b[2][: b[0][1:2].sum()])
    rows = sum(int(r[2][: r[0][1]].sum(dtype=np.int64)) for r in (a, b)) if len(a[0]) > 1 else 0
    # dtypes are compared, not scalar types: int64 may be `long` or `long long`
    wide = np.int64 in (a[2].dtype, b[2].dtype) or rows > np.iinfo(np.int32).max
    # All columns have all rows, so that no entry passes what the first column adds up to.
    if top > rows:
        raise ValueError("each column of a and b must count the same rows")
    dtype = np.int64 if wide else np.int32
    return _merge_runs(*((*r[:2], r[2].astype(dtype, copy=False)) for r in (a, b)))


@native
def _merge_runs(a: Runs, b: Runs) -> Runs:
    """Merge runs whose counts are of one type."""
    classes, codes, counts = a[2].shape[1], [], []
    for j in range(len(a[0]) - 1):
        parts = [(r[1][r[0][j] : r[0][j + 1]], r[2][r[0][j] : r[0][j + 1]]) for r in (a, b)]
        code, place = np.unique(np.concatenate([c for c, _ in parts]), return_inverse=True)
        every = (place[:, None] * classes + np.arange(classes)).ravel()
        count = np.concatenate([n for _, n in parts]).ravel()
        codes.append(code)
        counts.append(add_up(every, count.astype(np.int64), len(code) * classes).reshape(
            len(code), classes))
    return _join(codes, counts, (classes, a[2].dtype.type))


def _join(codes: list[U16], counts: list[I64], like: tuple[int, type]) -> Runs:
    indptr = np.cumsum([0, *map(len, codes)], dtype=np.int64)
    classes, dtype = like
    return (
        indptr,
        np.concatenate([np.empty(0, np.uint16), *codes]),
        np.concatenate([np.empty((0, classes), dtype), *counts], dtype=dtype, casting="same_kind"),
    )


@kernel(demand_column_weights)
def interval(runs: Runs, labellings: I64, kind: U8) -> I64:
    """Twice the best one-column rule of each column, for each labelling: int64[L, d].

    Ordered: the largest |v(inside) - v(outside)| of all intervals of codes; a missing code is set
    apart, and its sign is free.  Nominal: of all sets of levels, or of all single levels.

    >>> codes, starts = np.array([[0, 1, 2, 3]], np.uint16), np.array([0, 2, 4])
    >>> interval(runs(codes, starts), np.array([[-1, 1]]), np.zeros(1, np.uint8)).tolist()
    [[4]]
    """
    indptr, code, count = runs
    signed = labellings @ count.T.astype(np.int64)
    out = np.zeros((len(labellings), len(kind)), np.int64)
    for j, (first, last) in enumerate(pairwise(indptr)):
        out[:, j] = best_rules(signed[:, first:last], code[first:last], kind[j])
    return out


def best_rules(value: I64, code: U16, kind: int) -> I64:
    """Twice the best rule on one column, for each row of values of its codes."""
    missing = code == MISSING
    if kind == 3:
        total = value.sum(1)
        single: I64 = np.abs(np.column_stack([2 * value - total[:, None], total])).max(1)
        return single
    if kind == 2:
        subsets: I64 = np.abs(value).sum(1)
        return subsets
    if kind == 1:
        apart: I64 = _ordered(value[:, ~missing]) + np.abs(value[:, missing]).sum(1)
        return apart
    return _ordered(value)


def _ordered(value: I64) -> I64:
    level = np.concatenate([np.zeros((len(value), 1), np.int64), np.cumsum(value, 1)], 1)
    up = (level - np.minimum.accumulate(level, 1)).max(1)
    down = (np.maximum.accumulate(level, 1) - level).max(1)
    total = level[:, -1]
    best: I64 = np.maximum(np.maximum(2 * up - total, total + 2 * down), np.abs(total))
    return best


def _demand_few_runs(runs: Runs, kind: U8) -> None:
    top = demand_runs("runs", runs)
    demand_kind(kind, "runs", len(runs[0]) - 1)
    demand_column_rows(runs, top, FEW_ROWS)


@kernel(_demand_few_runs)
def rank_intervals(runs: Runs, kind: U8) -> I64:
    """Twice the best rule of each column against each cut between two classes: int64[C - 1, d].

    With r of n rows below the cut, a rule that says yes to n_I rows, of which n_Ir lie below, is
    worth |n n_Ir - r n_I|: n times a covariance.  Rules are those of `interval`.

    >>> codes, starts = np.array([[0, 1, 2, 3]], np.uint16), np.array([0, 1, 2, 4])
    >>> rank_intervals(runs(codes, starts), np.zeros(1, np.uint8)).tolist()
    [[6], [8]]
    """
    indptr, code, count = runs
    out = np.zeros((max(0, count.shape[1] - 1), len(kind)), np.int64)
    for j, (first, last) in enumerate(pairwise(indptr)):
        low = np.cumsum(count[first:last].astype(np.int64), axis=1)
        if len(out):
            out[:, j] = _best_of_cuts(low[:, :-1].T, low[:, -1], code[first:last], kind[j])
    return out


def _best_of_cuts(low: I64, every: I64, code: U16, kind: int) -> I64:
    """Twice the best rule, for each row of `low`: the rows of each code below a cut."""
    return best_rules(every.sum() * low - low.sum(axis=1, keepdims=True) * every, code, kind)


@kernel(demand_split)
def sign_planes(codes: U16, starts: I64, ids: U64, key: int, cuts: Cuts, kind: U8) -> Planes:
    """Signs on both sides of the cuts, one bit a row: ``(planes, masks, zeros)``.

    Bit 1 is the sign +1.  Class c takes the words ``words[c]`` to ``words[c + 1]`` of a plane,
    of `plane_words`.  Below the cut is -1, above it +1; the record of the cut is +1 if the count is
    even and else 0, and ``zeros`` says where its bit lies (-1: not among these rows).  A missing
    code has sign 0; ``masks``, there if some kind is 1, have bit 1 where the sign is not 0.
    Nominal columns are all 0.  ``ids`` are the rows ``unit`` and ``row``, which is unique.

    >>> codes, ids = np.array([[9, 3, 5]], np.uint16), np.array([[0, 1, 2]] * 2, np.uint64)
    >>> kind, starts = np.zeros(1, np.uint8), np.array([0, 3])
    >>> cuts = (codes[:, 2], tie_keys(ids[0, 2:], 0, 1), ids[1, 2:], np.array([3]))
    >>> planes, masks, zeros = sign_planes(codes, starts, ids, 1, cuts, kind)
    >>> planes.tolist(), masks, zeros.tolist()
    ([[1, 0, 0, 0]], None, [2])
    """
    words = plane_words(starts)
    bit = np.arange(codes.shape[1]) + np.repeat(words[:-1] * 64 - starts[:-1], np.diff(starts))
    planes = np.zeros((len(codes), int(words[-1])), np.uint64)
    masks, zeros = np.zeros_like(planes), np.full(len(codes), -1, np.int64)
    unit, row = ids
    for j in np.flatnonzero((kind < 2) & (cuts[3] > 0)):
        code, tie, place, count = (piece[j] for piece in cuts)
        keys = tie_keys(unit, int(j), key)
        same = codes[j] == code
        tied = same & (keys == tie)
        zero = tied & (row == place) if count % 2 else np.zeros(len(row), bool)
        known = codes[j] != MISSING if kind[j] else np.ones(len(row), bool)
        above = (codes[j] > code) | (same & (keys > tie)) | (tied & (row >= place))
        zeros[j] = bit[zero].max(initial=-1)
        planes[j] = _pack(bit[above & known & ~zero], int(words[-1]))
        masks[j] = _pack(bit[known & (bit != zeros[j])], int(words[-1]))
    return planes, masks if (kind == 1).any() else None, zeros


def _pack(bit: I64, words: int) -> U64:
    flags = np.zeros(words * 64, bool)
    flags[bit] = True
    return np.packbits(flags, bitorder="little").view("<u8")


@kernel(demand_signs)
def sign_pairs(
    planes: U64, masks: U64 | None, zeros: I64, words: I64, rows: I64, labellings: I64,
) -> I64:
    """Return each column's largest |sum_i v_i A_ij A_il| over columns and labellings.

    `rows` is the number of rows of each class; the rest is from `sign_planes`.  A class may be put
    together from parts: what is no row has bit 0 in all planes and masks, wherever it lies.

    >>> planes, none = np.array([[5, 0, 0, 0], [6, 0, 0, 0]], np.uint64), np.array([-1, -1])
    >>> sign_pairs(planes, None, none, np.array([0, 4]), np.array([3]), np.array([[1]])).tolist()
    [1, 1]
    """
    known, spare = known_signs(planes, masks, zeros, words, rows)
    best = np.zeros(len(planes), np.int64)
    for l in range(len(planes) - 1):  # noqa: E741  the paper's letter
        left, right = (planes[l], known[l]), (planes[l + 1 :], known[l + 1 :])
        top = _products(left, right, words, spare, labellings)
        best[l] = max(best[l], top.max())
        best[l + 1 :] = np.maximum(best[l + 1 :], top)
    return best


@kernel(demand_triples)
def sign_triples(
    planes: U64, masks: U64 | None, zeros: I64, words: I64, rows: I64, labellings: I64,
) -> I64:
    """Return each column's largest |sum_i v_i A_ij A_il A_im| over pairs and labellings.

    >>> planes, none = np.array([[5, 0, 0, 0]] * 3, np.uint64), np.array([-1, -1, -1])
    >>> sign_triples(planes, None, none, np.array([0, 4]), np.array([3]), np.array([[2]])).tolist()
    [2, 2, 2]
    """
    known, spare = known_signs(planes, masks, zeros, words, rows)
    best = np.zeros(len(planes), np.int64)
    for l in range(1, len(planes) - 1):  # noqa: E741  the paper's letter
        right = planes[l + 1 :], known[l + 1 :]
        for j in range(l):
            left = planes[j] ^ planes[l], known[j] & known[l]
            top = _products(left, right, words, spare, labellings)
            best[j], best[l] = max(best[j], top.max()), max(best[l], top.max())
            best[l + 1 :] = np.maximum(best[l + 1 :], top)
    return best


def known_signs(
    planes: U64, masks: U64 | None, zeros: I64, words: I64, rows: I64,
) -> tuple[U64, I64]:
    """Masks, and for each class how many of their bits are no rows.

    Without masks every bit is known but the zero row's; the padding, which has equal signs in
    all planes, is then counted and taken off.
    """
    if masks is not None:
        return masks, np.zeros_like(rows)
    known = np.full_like(planes, np.iinfo(np.uint64).max)
    for j in np.flatnonzero(zeros >= 0):
        known[j, zeros[j] >> 6] ^= np.uint64(1 << int(zeros[j] & 63))
    return known, np.diff(words) * 64 - rows


def _products(
    left: tuple[U64, U64], right: tuple[U64, U64], words: I64, spare: I64, labellings: I64,
) -> I64:
    """Max over labellings of |sum of left x right|, for each row of `right`."""
    both = left[1] & right[1]
    unlike = np.bitwise_count((left[0] ^ right[0]) & both).astype(np.int64)
    level = np.cumsum(np.bitwise_count(both).astype(np.int64) - 2 * unlike, axis=1)
    level = np.concatenate([np.zeros((len(level), 1), np.int64), level], 1)
    sums = np.diff(level[:, words], axis=1) - spare
    best: I64 = np.abs(sums @ labellings.T).max(1, initial=0)
    return best


@kernel(demand_bins)
def pair_gain(
    bins: U8, starts: I64, weight: I64 | None, labellings: I64, grid: int, nominal: U8,
) -> I64:
    """Return by how much the best four-cell rule of two columns beats both alone, doubled.

    The rules cut each column at one public indicator: ``bin <= a``, or ``bin == a`` where
    `nominal`, for a = 0..grid - 2, or not at all.  Bins are below `grid`.  Without a partner: 0.

    >>> bins, starts = np.array([[0, 3, 0, 3], [0, 3, 3, 0]], np.uint8), np.array([0, 2, 4])
    >>> pair_gain(bins, starts, None, np.array([[-1, 1]]), 4, np.zeros(2, np.uint8)).tolist()
    [4, 4]
    """
    d = len(bins)
    never = np.iinfo(np.int64).min if d > 1 and len(labellings) else 0
    gain = np.full(d, never, np.int64)
    for pair, signed in _pair_tables(bins, starts, weight, labellings, grid):
        alone = np.maximum(*(_best_cut(signed.sum(axis), nominal[[j]])
                             for axis, j in zip((2, 1), pair, strict=True)))
        gain_of_pair = _best_cut(signed, nominal[pair]) - alone
        gain[pair] = np.maximum(gain[pair], gain_of_pair.max(initial=never))
    return gain


@kernel(demand_bins)
def pair_best(
    bins: U8, starts: I64, weight: I64 | None, labellings: I64, grid: int, nominal: U8,
) -> I64:
    """Twice the best four-cell rule of each pair of columns, in the order 01, 02, .., 12, ...

    >>> bins, starts = np.array([[0, 3, 0, 3], [0, 3, 3, 0]], np.uint8), np.array([0, 2, 4])
    >>> pair_best(bins, starts, None, np.array([[-1, 1]]), 4, np.zeros(2, np.uint8)).tolist()
    [4]
    """
    tables = _pair_tables(bins, starts, weight, labellings, grid)
    return np.array([_best_cut(signed, nominal[pair]).max(initial=0) for pair, signed in tables],
                    np.int64)


def _pair_tables(
    bins: U8, starts: I64, weight: I64 | None, labellings: I64, grid: int
) -> Iterator[tuple[list[int], I64]]:
    """Pairs of columns, with the signed weight of each cell: [labelling, bin, bin]."""
    for chosen in combinations(range(len(bins)), 2):
        cells = cells_of(bins[[*chosen]], starts, weight, grid)
        yield [*chosen], (labellings @ cells).reshape(-1, grid, grid)


def cells_of(bins: U8, starts: I64, weight: I64 | None, grid: int) -> I64:
    """Sum the weights of each class's rows in each cell of these columns: int64[C, cells]."""
    place = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    for column in bins:
        place = place * grid + column
    cells = grid**len(bins)
    return add_up(place, weight, (len(starts) - 1) * cells).reshape(len(starts) - 1, cells)


def _best_cut(signed: I64, nominal: U8) -> I64:
    """Return the largest sum of |cell| over all indicators, one a column, for each labelling.

    Where a column is not cut the sum is that of another cut at most: no such rule is tried.
    """
    for axis, named in enumerate(nominal, start=1):
        up_to = np.cumsum(signed, axis)
        total = np.take(up_to, [-1], axis)
        inside = np.delete(signed if named else up_to, -1, axis)
        # The two sides of each cut stand on a new last axis.
        signed = np.stack([inside, total - inside], -1)
    sides = tuple(range(-len(nominal), 0))
    sums: I64 = np.abs(signed).sum(sides)
    return sums.max(tuple(range(1, sums.ndim)))  # type: ignore[no-any-return]
