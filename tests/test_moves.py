"""Laws of moves: vectors of blocks and of units, their places, and the rows they become."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import naive_blocks
import tables
from naive import tie_key
from privsieve.kernels import blocks as kernel
from privsieve.summaries.moves import (
    TAGS,
    Moves,
    Whole,
    Windows,
    block_moves,
    reference_moves,
)
from test_blocks import implementation, random_table, rows_of, scheme

__all__ = ["implementation"]


def moves_of(batches, domain, key=1, sample=None, **options):
    """The vectors of some batches."""
    batches = batches if isinstance(batches, list) else [batches]
    return block_moves(batches, key, domain=domain, scheme=scheme(**options),
                       sample=sample or Whole())


def in_order(moves):
    """All vectors by their places, as lists."""
    return moves.vectors[np.argsort(moves.place, kind="stable")].tolist()


# naive


@pytest.mark.parametrize("seed", range(40))
def test_vectors_equal_the_loops(seed, implementation):
    """Rows, persons, coins, parts, ties, missing levels, windows: equal integers, each in place."""
    rng = np.random.default_rng(seed)
    kinds = "".join(rng.choice(list("nnmfcw"), rng.integers(1, 6)))
    classes, n = int(rng.integers(2, 5)), int(rng.integers(0, 40))
    codes, label, unit = random_table(rng, n, kinds, classes, 12 if seed % 2 else None)
    batch = tables.batch(codes.reshape(n, len(kinds)), label, unit)
    options = {"block": int(rng.integers(2, 7)), "repeats": int(rng.integers(1, 4)),
               "blocks": int(rng.integers(1, 5)) if seed % 3 == 0 else None}
    sectors = [[0, 1, 2], [2, 3, 4], [4, 0, 1]]
    windowed = seed % 4 == 1

    moves = moves_of(batch, tables.domain(kinds, classes), seed,
                     Windows(5, sectors) if windowed else Whole(), **options)

    def taken(unit, repeat):
        sector = naive_blocks.scaled(tie_key(unit, TAGS, seed), 5)
        return not windowed or sector in sectors[repeat]

    assert naive_blocks.moves(rows_of(batch), seed, scheme(**options), kinds,
                              taken) == in_order(moves)


def test_parts_have_places_of_their_own(implementation):
    """With three parts every vector of the loops is there once, by repeat, then part."""
    rng = np.random.default_rng(1)
    batch = tables.batch(*random_table(rng, 60, "nnf", 2)[:2])
    options = {"block": 4, "repeats": 2, "parts": 3}

    moves = moves_of(batch, tables.domain("nnf"), 9, **options)
    expected = naive_blocks.moves(rows_of(batch), 9, scheme(**options), "nnf")

    assert sorted(expected) == sorted(moves.vectors.tolist())
    assert len(moves.place) == len(set(moves.place.tolist()))
    firsts = [moves.vectors[moves.of_repeat(repeat)].tolist() for repeat in range(2)]
    assert in_order(moves) == firsts[0] + firsts[1]


@pytest.mark.parametrize("seed", range(20))
def test_vectors_against_a_reference_equal_the_loops(seed, implementation):
    """Each unit has the vector that the loops find, wherever its tag puts it."""
    rng = np.random.default_rng(seed)
    letters = "".join(rng.choice(list("nnmfcw"), rng.integers(1, 6)))
    n = int(rng.integers(0, 30))
    codes, label, unit = random_table(rng, n, letters, 3, 7 if seed % 2 else None)
    public = tables.random_codes(rng, letters, 9), rng.integers(0, 3, 9).astype(np.int32)
    reference = kernel.Rows(np.ascontiguousarray(public[0]), public[1], np.arange(10))
    batch = tables.batch(codes.reshape(n, len(letters)), label, unit)
    known = list(zip(public[0].tolist(), public[1].tolist(), strict=True))
    options = {"person": "id", "persons": 9} if seed % 2 else {}

    moves = reference_moves([batch], seed, domain=tables.domain(letters, 3, **options),
                            scheme=scheme(block=1, repeats=1, parts=2), reference=reference)

    own = rows_of(batch)
    units = sorted({row[0] for row in own}, key=lambda u: tie_key(u, TAGS, seed))
    assert in_order(moves) == [
        naive_blocks.reference_move([row for row in own if row[0] == u], known, letters)
        for u in units]


@pytest.mark.parametrize("call", [
    lambda rows, size: kernel.block_moves(rows, size, None),
    lambda rows, _: kernel.reference_moves(rows, rows, None),
])
def test_sums_that_may_not_fit_are_refused(call):
    """More rows of a voter than 32 bits can hold the sum of are refused by their number."""
    many = 32_768
    rows = kernel.Rows(np.zeros((many, 1), np.uint16), np.zeros(many, np.int32),
                       np.array([0, many]))
    blocks = kernel.Blocks(np.array([0]), np.array([0, 1]))

    with pytest.raises(ValueError, match="32767 rows"):
        call(rows, blocks)


def test_the_largest_sum_fits(implementation):
    """32,767 rows, each farther from its miss by all of the grid: the largest sum there is."""
    many = 32_767
    rows = kernel.Rows(np.zeros((many, 1), np.uint16), np.zeros(many, np.int32),
                       np.array([0, many]))
    known = kernel.Rows(np.array([[0], [65535]], np.uint16), np.array([0, 1], np.int32),
                        np.arange(3))

    assert [[many * 65535]] == kernel.reference_moves(rows, known, None).tolist()


# merge


def test_moves_add_up():
    """The sum of parts holds the vectors of all; nothing added changes nothing."""
    rng = np.random.default_rng(8)
    first, two = (Moves(rng.permutation(9).astype(np.uint64) + np.uint64(9 * i),
                        rng.integers(-9, 9, (9, 2)).astype(np.int32)) for i in range(2))

    assert in_order(first + two) == in_order(two + first) == in_order(first) + in_order(two)
    assert in_order(first) == in_order(first + Moves.zero(2))


# rows


def test_rows_are_never_longer_than_one():
    """Of 200,000 vectors of any size no row is longer than 1, in exact arithmetic."""
    rng = np.random.default_rng(9)
    vectors = (rng.standard_normal((200_000, 3)) * 10.0 ** rng.uniform(0, 9, (200_000, 1)))
    vectors = np.clip(vectors, -2**31, 2**31 - 1).astype(np.int32)
    some = Moves(np.arange(200_000, dtype=np.uint64), vectors)

    rows = some.rows(np.arange(200_000), 200_000, 2**22, 777.7)

    squares = (rows * rows).sum(axis=1)
    longest = rows[np.argsort(squares)[-200:]].tolist()
    assert max(sum(Fraction(x) ** 2 for x in row) for row in longest) <= 1
    assert squares.max() > 1 - 1e-11


def test_rows_keep_their_direction():
    """A short vector is divided by the length; a long one keeps its direction, at length 1."""
    some = Moves(np.arange(3, dtype=np.uint64),
                 np.array([[3, -4], [300, 400], [10**9, 0]], np.int32))

    rows = some.rows(np.arange(3), 5, 10**6, 10.0)

    assert rows == pytest.approx(np.array([[.3, -.4], [.6, .8], [1, 0], [0, 0], [0, 0]]), abs=1e-11)


def test_surplus_is_left_out_by_place():
    """More vectors than rows: the first by place stay, whatever the vectors are."""
    some = Moves(np.array([7, 1, 4], np.uint64), np.array([[9], [5], [1]], np.int32))

    assert [[1.0], [0.2]] == some.rows(some.of_repeat(0), 2, 9, 5.0).round(9).tolist()
    assert [5, 1, 9] == some.vectors[some.of_sample(Whole(), 0), 0].tolist()


def test_a_row_is_a_function_of_its_own_vector():
    """The same vector gives the same bits, wherever it stands and whatever stands around it."""
    rng = np.random.default_rng(10)
    for d in (1, 3, 8, 33):
        vectors = rng.integers(-10**6, 10**6, (50, d)).astype(np.int32)
        alone = [Moves(np.zeros(1, np.uint64), vectors[i:i + 1]).rows(
            np.zeros(1, np.int64), 1, 10**6, 1e5)[0].tolist() for i in range(50)]
        whole = Moves(np.arange(50, dtype=np.uint64), vectors)

        order = rng.permutation(50)
        assert [alone[i] for i in order] == whole.rows(order, 50, 10**6, 1e5).tolist()


def test_a_window_has_its_share_of_the_units():
    """Sectors are equally likely: a window of 18 of 20 takes nine tenths of 100,000 units."""
    rng = np.random.default_rng(11)
    tag = rng.integers(0, 2**64, 100_000, dtype=np.uint64)

    taken = len(Windows(20, [list(range(18))]).take(tag, 0))

    assert abs(taken - 90_000) < 600
