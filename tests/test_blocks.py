"""Laws of block votes: naive, merge, sensitivity, on every kernel and for every unit."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
import pytest

import naive_blocks
import tables
from kernel_calls import native, serve
from privsieve.kernels import blocks as kernel
from privsieve.methods.worst import block
from privsieve.rows.batch import Passes
from privsieve.rows.room import Room
from privsieve.summaries.blocks import (
    MOST_ROWS,
    Dealt,
    Group,
    Scheme,
    block_votes,
    kinds,
    reference_votes,
)
from test_merge import cut


@pytest.fixture(params=["native", "numpy"])
def implementation(request, monkeypatch):
    """A law for each implementation."""
    serve(request.param, monkeypatch)


def scheme(block=6, repeats=2, parts=1, blocks=None, tau=0):
    """How votes are cast."""
    return Scheme(block, repeats, parts, blocks, tau)


def voted(batches, domain, key=1, **options):
    """The sums of votes, as a list."""
    batches = batches if isinstance(batches, list | Passes) else [batches]
    return block_votes(batches, key, domain=domain, scheme=scheme(**options)).votes.tolist()


def random_table(rng, n, kinds, classes, person=None):
    """Rows with ties, duplicates and at times one class; `person` is how many persons at most."""
    codes = tables.random_codes(rng, kinds, n)
    label = rng.integers(0, classes, n) if rng.random() < 0.8 else np.full(n, 1)
    unit = None if person is None else rng.permutation(2**10)[rng.integers(0, person, n)]
    return codes, label, unit


def rows_of(batch):
    """The rows of a batch as the naive oracle takes them."""
    return [(int(u), int(r), x, int(c)) for u, r, x, c in zip(
        batch.unit, batch.row, batch.codes.tolist(), batch.label, strict=True)]


# naive


def test_the_referees_block(implementation):
    """The block that the referee voted by hand votes (-1, +1)."""
    x = [[0, 0], [2, 0], [0, 2], [2, 1], [1, 1], [0, 1]]
    rows = kernel.Rows(np.array(x, np.uint16), np.array([0, 0, 1, 1, 0, 1], np.int32), np.arange(7))
    blocks = kernel.Blocks(np.arange(6), np.array([0, 6]))

    assert [-1, 1] == kernel.block_votes(rows, blocks, None, 0).tolist()
    assert [-1, 1] == naive_blocks.block_vote(
        [(i, i, x[i], int(rows.label[i])) for i in range(6)], "nn", 0)


@pytest.mark.parametrize("seed", range(60))
def test_votes_equal_the_loops(seed, implementation):
    """Rows, persons, coins, parts, ties, missing levels, categories, classes: equal integers."""
    rng = np.random.default_rng(seed)
    kinds = "".join(rng.choice(list("nnmfcw"), rng.integers(1, 40 if seed % 5 == 0 else 6)))
    classes, n = int(rng.integers(2, 5)), int(rng.integers(0, 40))
    codes, label, unit = random_table(rng, n, kinds, classes, 12 if seed % 2 else None)
    batch = tables.batch(codes.reshape(n, len(kinds)), label, unit)
    options = {"block": int(rng.integers(2, 7)), "repeats": int(rng.integers(1, 4)),
               "parts": int(rng.integers(1, 4)), "tau": int(rng.choice([0, 1, 5000])),
               "blocks": int(rng.integers(1, 5)) if seed % 3 == 0 else None}

    votes = voted(batch, tables.domain(kinds, classes), key=seed, **options)

    assert naive_blocks.votes(rows_of(batch), seed, scheme(**options), kinds) == votes


@pytest.mark.parametrize("seed", range(30))
def test_reference_votes_equal_the_loops(seed, implementation):
    """Against public rows each unit has a vote: equal integers."""
    rng = np.random.default_rng(seed)
    letters = "".join(rng.choice(list("nnmfcw"), rng.integers(1, 6)))
    classes, n, tau = int(rng.integers(2, 5)), int(rng.integers(0, 30)), int(rng.choice([0, 700]))
    codes, label, unit = random_table(rng, n, letters, classes, 7 if seed % 2 else None)
    public = tables.random_codes(rng, letters, 9), rng.integers(0, classes, 9).astype(np.int32)
    reference = kernel.Rows(np.ascontiguousarray(public[0]), public[1], np.arange(10))
    batch = tables.batch(codes.reshape(n, len(letters)), label, unit)
    options = {"person": "id", "persons": 9} if seed % 2 else {}
    known = list(zip(public[0].tolist(), public[1].tolist(), strict=True))

    votes = reference_votes([batch], seed, domain=tables.domain(letters, classes, **options),
                            scheme=scheme(block=1, repeats=1, parts=2, tau=tau),
                            reference=reference)

    expected = [0] * len(letters)
    for u in set(batch.unit.tolist()):
        own = [row for row in rows_of(batch) if row[0] == u]
        vote = naive_blocks.reference_vote(own, known, letters, tau)
        expected = [a + b for a, b in zip(expected, vote, strict=True)]
    assert expected == votes.votes.tolist()


def test_wide_rows_do_not_overflow(implementation):
    """A distance over 70,000 columns is beyond 32 bits, and is compared as it is."""
    d = 70_000
    codes = np.zeros((4, d), np.uint16)
    codes[1] = 65535  # far by 2^32 and more: the other hit is nearer
    codes[2, :2] = 65535
    codes[3, 0] = 9
    rows = kernel.Rows(codes, np.array([0, 0, 0, 1], np.int32), np.arange(5))

    votes = kernel.block_votes(rows, kernel.Blocks(np.arange(4), np.array([0, 4])), None, 0)

    expected = naive_blocks.block_vote(
        [(i, i, codes[i].tolist(), int(rows.label[i])) for i in range(4)], "n" * d, 0)
    assert expected == votes.tolist()


def test_a_sum_of_many_rows_does_not_overflow(implementation):
    """34,000 rows of one unit, each farther from its miss by all of the grid: beyond 32 bits."""
    many = 34_000
    codes, label = np.zeros((many, 1), np.uint16), np.zeros(many, np.int32)
    known = kernel.Rows(np.array([[0], [65535]], np.uint16), np.array([0, 1], np.int32),
                        np.arange(3))

    votes = kernel.reference_votes(kernel.Rows(codes, label, np.array([0, many])), known, None,
                                   2**32 - 1)

    assert [many * 65535] == votes.tolist()


def test_threads_share_the_work():
    """A call that is large enough for threads gives what its pieces give without."""
    if native is None:
        pytest.skip("the native kernels were not built here")
    rng = np.random.default_rng(4)
    n, d = 60_000, 80
    rows = kernel.Rows(rng.integers(0, 65536, (n, d)).astype(np.uint16),
                       rng.integers(0, 3, n).astype(np.int32), np.arange(n + 1))
    order = rng.permutation(n)
    pieces = [kernel.block_votes(rows, kernel.Blocks(some, np.arange(0, len(some) + 1, 10)), None,
                                 0) for some in np.split(order, 6)]

    whole = kernel.block_votes(rows, kernel.Blocks(order, np.arange(0, n + 1, 10)), None, 0)

    assert np.sum(pieces, axis=0).tolist() == whole.tolist()


def test_every_set_of_loops_agrees():
    """All sets of loops that this machine can run give the same distances and sums."""
    if native is None:
        pytest.skip("the native kernels were not built here")
    rng = np.random.default_rng(5)
    for width in (0, 1, 31, 32, 33, 100, 65_537, 140_000):
        codes = rng.choice([0, 1, 7, 40_000, 65_534, 65_535], (3, width)).astype(np.uint16)
        masks = rng.choice([0, 65535], (2, width)).astype(np.uint16)
        for some in (None, masks):
            far = kernel._gap(codes[0], codes[1:], some)
            for distance, sums in native.block_loops(codes, some):
                assert int(far[0].sum()) == distance
                assert (np.arange(width) + far[0] - far[1]).tolist() == sums.tolist()


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda rows: kernel.block_votes(rows, kernel.Blocks(np.array([5]), np.array([0, 1])), None, 0),
     ValueError, "order must name units"),
    (lambda rows: kernel.block_votes(rows, kernel.Blocks(np.array([0]), np.array([0, 2])), None, 0),
     ValueError, "starts of blocks must rise"),
    (lambda rows: kernel.block_votes(rows._replace(label=rows.label[1:]),
                                     kernel.Blocks(np.array([0]), np.array([0, 1])), None, 0),
     ValueError, "label and codes"),
    (lambda rows: kernel.reference_votes(rows, rows, np.zeros((2, 1), np.uint16), 0),
     ValueError, "kinds and codes"),
    (lambda rows: kernel.reference_votes(rows, rows, None, -1), ValueError, "tau"),
    (lambda rows: kernel.deal(rows.codes, np.array([0, 0]), np.zeros((2, 3), np.uint16)),
     ValueError, "another position"),
])
def test_the_contract_of_the_kernels(call, error, text):
    """Arrays that do not fit are refused before a kernel touches them."""
    rows = kernel.Rows(np.zeros((3, 2), np.uint16), np.zeros(3, np.int32), np.arange(4))
    with pytest.raises(error, match=text):
        call(rows)


def test_rows_are_dealt(implementation):
    """Columns become rows at the places that are asked for, for sizes around a line of codes."""
    rng = np.random.default_rng(6)
    for d, n in ((0, 0), (1, 1), (3, 31), (5, 32), (4, 33), (7, 100)):
        codes, place = rng.integers(0, 65536, (d, n)).astype(np.uint16), rng.permutation(n)
        expected = np.empty((n, d), np.uint16)
        expected[place] = codes.T

        assert expected.tolist() == kernel.deal(codes, place, np.empty((n, d), np.uint16)).tolist()


# merge


@pytest.mark.parametrize("person", [None, 60])
@pytest.mark.parametrize("kinds", ["nmfcw", "ffc"])
def test_any_cut_and_any_order_give_the_same_votes(kinds, person):
    """One batch, many batches, batches in another order: identical integers."""
    rng = np.random.default_rng(7)
    domain, options = tables.domain(kinds, 3), {"block": 4, "parts": 3, "key": 77, "tau": 9**9}
    whole = tables.batch(*random_table(rng, 300, kinds, 3, person))
    parts = cut(whole, rng, 9)

    assert [voted(whole, domain, **options)] * 2 == [
        voted(some, domain, **options) for some in (parts, parts[::-1])]


class Counted(np.ndarray):
    """Codes that count how many of their cells are looked at."""

    looked = 0

    def __getitem__(self, which):
        value = super().__getitem__(which)
        Counted.looked += value.size
        return value


def test_codes_in_a_file_are_written_once_and_read_once(monkeypatch):
    """Where no row may be in memory, a code goes into the file once and comes back once."""
    rng = np.random.default_rng(7)
    codes, label, _ = random_table(rng, 5_000, "nmfcw", 3)
    domain, whole, room = tables.domain("nmfcw", 3), tables.batch(codes, label), Room(memory=0)
    expected = voted(whole, domain, parts=4)
    written, all_dealt, spilled = [], Dealt.all, Room._mapped

    def counted(batches, key, parts):
        return [replace(piece, codes=piece.codes.view(Counted))
                for piece in all_dealt(batches, key, parts)]

    def noted(self, at, shape, dtype):
        written.append(prod(shape) if dtype is np.uint16 else 0)
        return spilled(self, at, shape, dtype)

    monkeypatch.setattr(Dealt, "all", staticmethod(counted))
    monkeypatch.setattr(Room, "_mapped", noted)
    votes = voted(Passes(cut(whole, rng, 9), room), domain, parts=4)

    assert expected == votes
    assert codes.size == Counted.looked
    # A piece of the file may be longer than what comes last.
    assert codes.size <= sum(written) < 2 * codes.size
    assert room.spilled >= 2 * codes.size


def test_a_person_has_at_most_so_many_rows():
    """Rows of a person beyond the 256th have no part in a vote; no other person's rows go."""
    unit = np.array([7] * 300 + [9] * 3, np.uint64)
    row = np.arange(303, dtype=np.uint64)
    group = Group.of(row[:, None].astype(np.uint16), np.zeros(303, np.int32), (unit, row))

    assert [0, MOST_ROWS, MOST_ROWS + 3] == group.rows.starts.tolist()
    assert [*range(MOST_ROWS), 300, 301, 302] == group.rows.codes[:, 0].tolist()


def test_distances_follow_the_domain():
    """Numbers by difference, levels by overlap, missing apart where it is a level."""
    assert kinds(tables.domain("nn")) is None
    assert [[0, 0, 65535, 65535, 65535], [0, 65535, 0, 0, 0]] == kinds(
        tables.domain("nmfcw")).tolist()


# sensitivity


def random_pair(rng, letters, n, classes):
    """Two tables that differ in one row: duplicates, near rows, extremes, label changes."""
    codes, label, _ = random_table(rng, n, letters, classes)
    if rng.random() < 0.3:  # a hub: many equal rows, and one that is near to all
        codes[: n // 2] = codes[0]
        label[: n // 2] = 0
    row = int(rng.integers(n))
    other, other_label = codes.copy(), label.copy()
    tops = {"f": 1, "c": 3, "w": 30}
    if rng.random() < 0.5:
        other[row] = [rng.choice([0, tops.get(kind, 65535)]) for kind in letters]
    else:
        other[row] = codes[rng.integers(n)]
    other_label[row] = rng.integers(classes)
    return (codes, label), (other, other_label), row


def _person(rng, letters, unit):
    rows = int(rng.choice([1, 1, 2, 3, 7, 50]))
    codes, label, _ = random_table(rng, rows, letters, 2)
    return codes, label, np.full(rows, unit)


def _joined(rng, persons):
    return tables.batch(*(np.concatenate([p[i] for p in persons]) for i in range(3)))


#: Where five rows stand so that a sixth, of another class, is nearer than any of them to another
#: if it is in the middle, and farther if it is at the end.
@pytest.mark.parametrize("repeats", [1, 2, 50])
def test_the_bound_is_attained(repeats):
    """For every key both sums of the worst pair move by 2 T, so that 2 T - 1 would be wrong."""
    first, second, label = block()
    for key in range(20):
        before, after = (voted(tables.batch(table, label), tables.domain("nn"),
                               key=key, block=3, repeats=repeats) for table in (first, second))

        assert [-repeats, repeats] == before
        assert [repeats, -repeats] == after


def test_an_order_by_content_would_be_seen():
    """A table sorted by its rows is another table: with it the bound fails, as the proof says."""
    rng = np.random.default_rng(12)
    worst = 0
    for key in range(40):
        (codes, label), second, _ = random_pair(rng, "nn", 60, 2)
        tables_sorted = []
        for x, y in ((codes, label), second):
            order = np.lexsort((y, x[:, 1], x[:, 0]))
            tables_sorted.append(tables.batch(x[order], y[order]))
        first, two = (voted(table, tables.domain("nn"), key=key, block=3, repeats=1)
                      for table in tables_sorted)
        worst = max(worst, np.abs(np.subtract(first, two)).max())

    assert worst > 2


def test_one_vote_against_a_reference():
    """Replacing a unit moves a sum by two votes at most, leaving it out by one; both occur."""
    rng = np.random.default_rng(11)
    replaced, removed = 0, 0
    for _ in range(200):
        letters = "".join(rng.choice(list("nmfc"), rng.integers(1, 4)))
        (codes, label), second, votes_first = random_pair(rng, letters, 6, 2)
        known = kernel.Rows(np.ascontiguousarray(tables.random_codes(rng, letters, 5)),
                            np.array([0, 1, 0, 1, 1], np.int32), np.arange(6))
        domain = tables.domain(letters)
        kept = np.delete(np.arange(6), votes_first)

        base, other, less = (np.array(reference_votes(
            [tables.batch(*table)], 0, domain=domain, scheme=scheme(block=1, repeats=1),
            reference=known).votes) for table in
            ((codes, label), second, (codes[kept], label[kept])))

        replaced = max(replaced, np.abs(base - other).max())
        removed = max(removed, np.abs(base - less).max())
    assert (2, 1) == (replaced, removed)
