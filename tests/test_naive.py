"""Law: naive.  native == NumPy == loops, on every kernel and on the referee's exact values."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise, product

import numpy as np
import pytest

import naive
from kernel_calls import native, serve
from privsieve import kernels
from privsieve.kernels import contract, sums

SHAPES = [(n, d, classes) for n, d, classes in product((0, 1, 2, 5, 8, 33), (1, 2, 4), (2, 3, 7))]
MANY = range(60)


@pytest.fixture(params=["native", "numpy"], autouse=True)
def implementation(request, monkeypatch):
    """Every law holds for each implementation, and they are held to the same loops."""
    serve(request.param, monkeypatch)


#: For laws that hold the two together, or that only native loops have.
once = pytest.mark.parametrize("implementation", ["native"], indirect=True)


class Table:
    """A random table: ties, constant columns, empty classes, missing codes, rows of persons."""

    def __init__(self, seed, n=None, d=None, classes=None, kinds=(0, 1, 2, 3)):
        rng = np.random.default_rng(seed)
        shape = SHAPES[seed % len(SHAPES)]
        sizes = zip((n, d, classes), shape, strict=True)
        self.n, self.d, self.classes = (drawn if size is None else size for size, drawn in sizes)
        several = rng.integers(1, self.classes + 1)
        label = np.sort(rng.choice(rng.permutation(self.classes)[:several], self.n))
        self.label = label.tolist()
        self.starts = np.searchsorted(label, np.arange(self.classes + 1)).astype(np.int64)
        levels = [np.array([0, 1, 256, 32768, 65535][: rng.integers(1, 6)]) for _ in range(self.d)]
        ties = [rng.choice(level, self.n) for level in levels]
        spread = rng.integers(0, 65536, (self.d, self.n))
        self.codes = np.where(rng.random((self.d, 1)) < 0.6, np.reshape(ties, (self.d, self.n)),
                              spread).astype(np.uint16)
        self.kind = rng.choice(np.array(kinds, np.uint8), self.d)
        self.unit = rng.integers(0, [3, 2**63][seed % 2], self.n).astype(np.uint64)
        self.row = rng.permutation(self.n).astype(np.uint64)
        self.key = int(rng.integers(0, 2**64, dtype=np.uint64))
        self.labellings = rng.integers(-64, 65, (1 + seed % 7, self.classes))
        self.weight = rng.integers(0, 2521, self.n) if seed % 3 == 0 else None
        self.grid = (4, 8, 16)[seed % 3]
        self.bins = rng.integers(0, self.grid, (self.d, self.n)).astype(np.uint8)
        self.nominal = rng.integers(0, 2, self.d).astype(np.uint8)

    @property
    def ids(self):
        """Units and rows."""
        return np.stack([self.unit, self.row])

    def weights(self, *, rows=True):
        """The signed weight of each row under each labelling."""
        own = [1] * self.n if self.weight is None or not rows else self.weight.tolist()
        return [[w[c] * m for c, m in zip(self.label, own, strict=True)]
                for w in self.labellings.tolist()]

    def cut(self):
        """The median cuts of the columns."""
        return naive.cuts(self.codes, self.unit, self.row, self.key, self.kind)

    def planes(self, cuts=None):
        """The sign planes of the columns."""
        actual_planes = kernels.sign_planes(self.codes, self.starts, self.ids, self.key,
                                            cuts or self.cut(), self.kind)
        return *actual_planes, kernels.plane_words(self.starts)

    def signs(self):
        """The signs of the columns, by loops."""
        actual_signs = []
        for j, column in enumerate(self.codes.tolist()):
            here = naive.present(column, self.kind[j])
            order = naive.ranking(column, j, self.unit.tolist(), self.row.tolist(), self.key)
            actual_signs.append(naive.signs([i for i in order if i in here], self.n))
        return actual_signs

    def take(self, rows):
        """Some of the rows, in their order."""
        rest = object.__new__(Table)
        rest.__dict__.update(self.__dict__)
        label = np.array(self.label, np.int64)[rows]
        rest.n, rest.label = len(label), label.tolist()
        rest.starts = np.searchsorted(label, np.arange(self.classes + 1)).astype(np.int64)
        rest.codes = np.ascontiguousarray(self.codes[:, rows])
        rest.unit, rest.row = self.unit[rows], self.row[rows]
        rest.weight = None if self.weight is None else self.weight[rows]
        return rest


def as_lists(runs):
    """A triple of runs as the naive twin gives it."""
    indptr, code, count = (run.tolist() for run in runs)
    return [list(zip(code[a:b], count[a:b], strict=True)) for a, b in pairwise(indptr)]


def decoded(planes, masks, zeros, words, starts):
    """Signs from planes: bit 1 is +1, bit 0 is -1, and 0 for the zero row or outside the mask."""
    place = [w * 64 + i for w, n in zip(words.tolist(), np.diff(starts).tolist(), strict=False)
             for i in range(n)]
    codes = []
    for j, plane in enumerate(planes.tolist()):
        bits = [plane[p // 64] >> p % 64 & 1 for p in place]
        known = [p != zeros[j] if masks is None else int(masks[j, p // 64]) >> p % 64 & 1
                 for p in place]
        codes.append([(2 * b - 1) * int(m) for b, m in zip(bits, known, strict=True)])
    return codes


def signs_of(t, planes):
    """The arguments of the products."""
    return *planes, np.diff(t.starts), t.labellings


# The referee's exact tables: codes 0..7, bins of two, class 1 weighs +, class 0 weighs -.


def test_hash():
    """The hash and the tie keys are the same on 64-bit integers of any size."""
    units = [0, 1, 2, 2**32, 2**63 - 1, 2**64 - 1]
    given_units = np.array(units, np.uint64)

    assert [naive.mix64(z) for z in units] == kernels.mix64(given_units).tolist()
    assert kernels.mix64(given_units.reshape(2, 3)).shape == (2, 3)
    for feature, key in ((0, 0), (7, 2**64 - 1), (12600, 2**63 + 5)):
        assert ([naive.tie_key(u, feature, key) for u in units]
                == kernels.tie_keys(given_units, feature, key).tolist())


@pytest.mark.parametrize("seed", MANY)
def test_runs(seed):
    """Runs are the sorted distinct codes with their weight per class; int64 only with weights."""
    t = Table(seed)
    weight = [1] * t.n if t.weight is None else t.weight.tolist()
    runs = kernels.runs(t.codes, t.starts, t.weight)

    assert [naive.runs(c, t.label, weight, t.classes) for c in t.codes.tolist()] == as_lists(runs)
    assert np.dtype(np.int32 if t.weight is None else np.int64) == runs[2].dtype


@pytest.mark.parametrize("seed", MANY)
def test_runs_together(seed, monkeypatch):
    """Of several parts of a table they are the runs of all of it; too many rows have 64 bits."""
    t = Table(seed)
    place = np.random.default_rng(seed).integers(0, 3, t.n)
    parts = [t.take(np.flatnonzero(place == piece)) for piece in range(3)]
    rows = [(piece.codes, piece.starts, piece.weight) for piece in parts]
    whole, together = kernels.runs(t.codes, t.starts, t.weight), kernels.runs_together(rows)

    assert as_lists(whole) == as_lists(together)
    assert whole[2].dtype == together[2].dtype
    monkeypatch.setattr(contract, "MOST_ROWS", most := max(piece.n for piece in parts))
    wide = t.weight is not None or t.n > most
    assert np.dtype(np.int64 if wide else np.int32) == kernels.runs_together(rows)[2].dtype


@pytest.mark.parametrize("rows", [2**14 - 1, 2**14, 2**16 - 1, 2**16, 2**17 + 2**14 - 1])
@pytest.mark.parametrize("levels", [1, 2, 2**16])
def test_runs_of_many_rows(rows, levels):
    """Those that two bytes count are added up: whatever is left over, and all of one code."""
    rng = np.random.default_rng(rows)
    codes = (2**16 - 1 - rng.integers(0, levels, (2, 3 * rows))).astype(np.uint16)
    starts = np.array([0, rows, 3 * rows])
    indptr, code, count = kernels.runs(codes, starts)
    for j in range(2):
        expected = np.stack([np.bincount(codes[j][a:b], minlength=2**16)
                             for a, b in pairwise(starts.tolist())], axis=1)
        here = slice(indptr[j], indptr[j + 1])

        assert np.flatnonzero(expected.any(axis=1)).tolist() == code[here].tolist()
        assert expected[code[here]].tolist() == count[here].tolist()


@pytest.mark.parametrize("seed", MANY)
def test_merge(seed):
    """The runs of parts, merged in any order, are the runs of the whole."""
    t, rng = Table(seed), np.random.default_rng([seed, 1])
    where = rng.integers(0, 3, t.n)
    parts = [t.take(np.flatnonzero(where == p)) for p in rng.permutation(3)]
    runs = [kernels.runs(p.codes, p.starts, p.weight) for p in parts]
    whole = kernels.runs(t.codes, t.starts, t.weight)
    left = kernels.merge_runs(kernels.merge_runs(runs[0], runs[1]), runs[2])
    right = kernels.merge_runs(runs[0], kernels.merge_runs(runs[2], runs[1]))

    for first, two, three in zip(whole, left, right, strict=True):
        assert first.dtype == two.dtype == three.dtype
        assert first.tolist() == two.tolist() == three.tolist()


def test_merge_widens():
    """Runs of more rows than 32 bits count are merged in 64 bits, and mixed widths as well."""
    indptr, code = np.array([0, 1]), np.array([9], np.uint16)
    many = indptr, code, np.array([[2**31 - 1, 0]], np.int32)
    wide = indptr, code, np.array([[1, 1]])

    for a, b, total in ((many, many, 2**32 - 2), (many, wide, 2**31), (wide, many, 2**31)):
        count = kernels.merge_runs(a, b)[2]
        assert np.int64 == count.dtype
        assert total == count[0, 0]


@pytest.mark.parametrize("seed", MANY)
def test_interval(seed):
    """The interval score is the best of all rules of the column's kind."""
    t = Table(seed)
    runs = kernels.runs(t.codes, t.starts, t.weight)
    expected = [[naive.interval(c, v, k) for c, k in zip(t.codes.tolist(), t.kind, strict=True)]
                for v in t.weights()]

    assert expected == kernels.interval(runs, t.labellings, t.kind).tolist()


@pytest.mark.parametrize("seed", MANY)
def test_sign_planes(seed):
    """The planes hold the signs by rank, and nothing where there is no row."""
    t = Table(seed)
    planes, masks, zeros, words = t.planes()

    assert t.signs() == [
        s if t.kind[j] < 2 else [0] * t.n
        for j, s in enumerate(decoded(planes, masks, zeros, words, t.starts))]
    assert (masks is not None) == (1 in t.kind)
    assert words.tolist() == [4 * sum(-(-int(r) // 256) for r in np.diff(t.starts)[:c])
                              for c in range(t.classes + 1)]
    assert np.bitwise_count(planes).sum() == sum(s == 1 for column in t.signs() for s in column)
    for j, column in enumerate(t.codes.tolist()):
        odd = t.kind[j] < 2 and len(naive.present(column, t.kind[j])) % 2
        assert bool(odd) == (zeros[j] >= 0)


@pytest.mark.parametrize("seed", MANY)
def test_products(seed):
    """Products of two and of three signs have the sums that loops give, masks or not."""
    t = Table(seed, kinds=(0,) if seed % 2 else (0, 1))
    planes = t.planes()

    for degree, kernel in ((2, kernels.sign_pairs), (3, kernels.sign_triples)):
        expected = naive.products(t.signs(), t.weights(rows=False), degree)
        assert expected == kernel(*signs_of(t, planes)).tolist()


@pytest.mark.parametrize("seed", MANY)
def test_sums_of_products(seed):
    """The sum of each product in each class is that of loops, masks or not."""
    t = Table(seed, kinds=(0,) if seed % 2 else (0, 1))

    for size in (2, 3):
        sums_now = sums.product_sums(*signs_of(t, t.planes())[:5], size)
        assert naive.product_sums(t.signs(), t.label, t.classes, size) == sums_now.ravel().tolist()


@pytest.mark.parametrize("seed", MANY)
def test_sums_of_codes(seed):
    """The codes of each class add up to what loops add up, for few classes and for many."""
    t = Table(seed)
    label = np.array(t.label, np.int32)
    for classes in (t.classes, 12):
        sums_now = sums.code_sums(t.codes, label, classes).tolist()
        assert naive.code_sums(t.codes.tolist(), t.label, classes) == sums_now


@pytest.mark.parametrize("seed", MANY)
def test_sums_of_cells(seed):
    """The rows of each class in each cell of each pair are those that loops count."""
    t = Table(seed)
    grid = (4, 8, 16)[seed % 3]
    bins, weight = t.bins % grid, [1] * t.n if t.weight is None else t.weight.tolist()

    sums_now = sums.cell_sums(bins, t.starts, t.weight, grid).ravel().tolist()
    assert naive.cell_sums(bins.tolist(), t.label, weight, t.classes, 2, grid) == sums_now


@pytest.mark.parametrize("seed", MANY)
def test_the_few_rows_of_a_tie(seed):
    """Keys of rows that share a code are counted and found by their top bits, as loops do it."""
    t = Table(seed)
    for j, column in enumerate(t.codes.tolist()):
        code = column[0] if column else 0
        keys = kernels.tie_keys(t.unit, j, t.key).tolist()
        tied = [(keys[i], int(t.row[i])) for i in range(t.n) if column[i] == code]
        counts = sums.tie_counts(t.codes, t.ids, t.key, np.array([[j, code]]))[0].tolist()

        tops = [key >> 52 for key, _row in tied]
        assert [tops.count(top) for top in range(4096)] == counts
        for top in set(tops):
            _, tied_rows, rows = sums.tied(t.codes, t.ids, t.key, np.array([[j, code, top]]))
            assert [row for row in tied if row[0] >> 52 == top] == list(
                zip(tied_rows.tolist(), rows.tolist(), strict=True))


@pytest.mark.parametrize("seed", MANY)
def test_pairs_of_columns(seed):
    """Four-cell rules and their gain are the best of all rules on the grid, weighted or not."""
    t = Table(seed + (1000 if seed % 2 else 0), n=(0, 1, 7, 20)[seed % 4])
    arguments = t.bins, t.starts, t.weight, t.labellings, t.grid, t.nominal
    bins, v = t.bins.tolist(), t.weights()

    assert naive.pair_best(bins, v, t.grid, t.nominal) == kernels.pair_best(*arguments).tolist()
    assert naive.pair_gain(bins, v, t.grid, t.nominal) == kernels.pair_gain(*arguments).tolist()


@once
@pytest.mark.parametrize("grid", [4, 8, 16])
@pytest.mark.parametrize("rows", [60, 171, 300, 513, 1100, 2100])
@pytest.mark.parametrize("largest", [1, 14, 4096, 2**22])
def test_ways_to_value_pairs(grid, rows, largest, monkeypatch):
    """However many rows and whatever they weigh, the ways to value pairs give the same integers."""
    rng = np.random.default_rng([grid, rows, largest])
    columns, classes = 7, int(rng.integers(2, 4))
    starts = np.array([0, *np.sort(rng.integers(0, rows + 1, classes - 1)), rows], np.int64)
    bins = rng.integers(0, grid, (columns, rows)).astype(np.uint8)
    bins[1] = np.minimum(bins[0], grid - 2)  # a copy, but for one bin
    nominal = rng.integers(0, 2, columns).astype(np.uint8)
    for many, weight in ((1, None), (3, None), (1, rng.integers(0, 2521, rows)), (2, 1)):
        each = np.full(rows, weight) if isinstance(weight, int) else weight
        by = rng.choice([-largest, largest], (many, classes)) // rng.integers(1, 3, (many, classes))

        assert_alike(monkeypatch, bins, starts, each, by, grid, nominal)


def assert_alike(monkeypatch, *rules):
    """Both implementations give the same pairs of columns."""
    answers = []
    for which in ("native", "numpy"):
        serve(which, monkeypatch)
        answers.append([kernels.pair_gain(*rules).tolist(), kernels.pair_best(*rules).tolist()])

    assert answers[0] == answers[1]


@once
@pytest.mark.parametrize("grid", [4, 16])
@pytest.mark.parametrize("rows", [0, 1, 60, 700, 9000])
@pytest.mark.parametrize("others", [0, 2])
def test_pairs_of_columns_in_two_bins(grid, rows, others, monkeypatch):
    """Columns that use two bins, or one, have the same pairs whichever way they are counted."""
    rng = np.random.default_rng([grid, rows, others])
    starts = np.array([0, rows // 3, rows // 3, rows], np.int64)  # the second class is empty
    low, high = np.sort(rng.permuted(np.tile(np.arange(grid), (8, 1)), axis=1)[:, :2]).T
    bins = np.where(rng.random((8, rows)) < rng.random((8, 1)), low[:, None], high[:, None])
    bins[0], bins[1:1 + others] = grid - 1, rng.integers(0, grid, (others, rows))
    nominal = rng.integers(0, 2, 8).astype(np.uint8)
    for many in (1, 3):
        assert_alike(monkeypatch, bins.astype(np.uint8), starts, None,
                     rng.integers(-4096, 4096, (many, 3)), grid, nominal)


@once
@pytest.mark.parametrize("seed", range(8))
def test_long_columns(seed, monkeypatch):
    """On columns longer than every block the implementations still agree."""
    t = Table(seed, n=(70001, 140000)[seed % 2], d=10, classes=(2, 3)[seed // 2 % 2],
              kinds=(0,) if seed < 4 else (0, 1))
    results = []
    for which in ("native", "numpy"):
        serve(which, monkeypatch)
        runs = kernels.runs(t.codes, t.starts, t.weight)
        signs = signs_of(t, t.planes())
        rules = t.bins, t.starts, t.weight, t.labellings, t.grid, t.nominal
        results.append((*runs, kernels.interval(runs, t.labellings, t.kind), *t.cut(), *signs,
                        kernels.sign_pairs(*signs), kernels.sign_triples(*signs),
                        kernels.pair_gain(*rules), kernels.pair_best(*rules)))

    for result, two in zip(*results, strict=True):
        assert (result is None) == (two is None)
        assert result is None or (result.dtype == two.dtype and np.array_equal(result, two))


@once
def test_loops():
    """Every set of loops that this machine can run counts the same bits."""
    rng = np.random.default_rng(7)
    for words, rows in ((0, 0), (1, 1), (4, 63), (67, 64), (300, 65536), (1029, 200001)):
        planes = rng.integers(0, 2**64, (4, words), dtype=np.uint64)
        codes = rng.integers(0, 65536, rows).astype(np.uint16)
        low, high = 20000, 65534
        a, b, m, n = planes[0], planes[1], planes[3], planes[2]
        inside = np.packbits((codes >= low) & (codes <= high), bitorder="little").tobytes()
        expected = [int(np.bitwise_count(x).sum()) for x in (a ^ b, a & b, (a & m) ^ (b & n))]
        keys = [naive.mix64(7 ^ naive.mix64(u * 0x100000001B3 % 2**64 ^ 5)) for u in a.tolist()]
        many = [int(np.bitwise_count(a & plane).sum()) for plane in planes[1:]]
        for _, *loops, bits, packed, hashed, added in native.loops(planes, codes, low, high):
            assert expected == loops
            assert inside.ljust(len(bits) * 8, b"\0") == bits.tobytes()
            assert a.tolist() == packed.tolist()
            assert keys == hashed.tolist()
            assert many == added.tolist()


@once
@pytest.mark.parametrize("rows", [60, 700, 9000])
def test_threads_find_the_same(rows, monkeypatch):
    """Kernels that share their work answer with the same integers, for all ways to value pairs."""
    monkeypatch.setattr(contract, "THREADS_FROM", 0)
    rng = np.random.default_rng(rows)
    starts = np.array([0, rows // 3, rows])
    for grid in (4, 8, 16):
        bins = rng.integers(0, grid, (21, rows)).astype(np.uint8)
        bins[:9] = np.where(bins[:9] > 1, grid - 1, 0)
        nominal, by = rng.integers(0, 2, 21).astype(np.uint8), rng.integers(-3, 4, (2, 2))
        planes = rng.integers(0, 2**64, (21, 8), dtype=np.uint64)
        signs = planes, None, rng.integers(-1, 512, 21), np.array([0, 4, 8]), np.array([256, 256])
        for some in (bins, bins[:9]):
            for weight in (None, rng.integers(0, 5, rows)):
                input_arguments = some, starts, weight, by, grid, nominal[:len(some)]
                for kernel, arguments in ((kernels.pair_gain, input_arguments),
                                          (kernels.pair_best, input_arguments),
                                          (kernels.sign_pairs, (*signs, by)),
                                          (kernels.sign_triples, (*signs, by))):
                    with contract.using_threads(3):
                        answer = kernel(*arguments).tolist()
                    assert kernel(*arguments).tolist() == answer


@pytest.mark.parametrize(("options", "serves"), [("numpy", "numpy"), ("", None)])
def test_choice(options, serves):
    """The environment can ask for NumPy; otherwise native serves where it was built."""
    code = "from privsieve import kernels as k; print(k.implementation(), bool(k.reason()))"
    environment = {**os.environ, "PRIVSIEVE_KERNELS": options}
    run = subprocess.run([sys.executable, "-c", code], env=environment, check=True,
                         capture_output=True, text=True)
    serves = serves or ("numpy" if native is None else "native")

    assert f"{serves} {serves == 'numpy'}" == run.stdout.strip()


CODES, STARTS = np.zeros((2, 3), np.uint16), np.array([0, 1, 3])
RUNS = np.array([0, 0]), np.empty(0, np.uint16), np.empty((0, 2), np.int32)
COUNTED = np.array([0, 2]), np.array([3, 4], np.uint16), np.ones((2, 2), np.int32)


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda: kernels.runs(CODES.astype(float), STARTS), TypeError, "codes must be a C-contiguous"),
    (lambda: kernels.runs(CODES[:, ::2], STARTS), TypeError, "codes must be a C-contiguous"),
    (lambda: kernels.runs(CODES, STARTS[::-1].copy()), ValueError, "starts must rise from 0"),
    (lambda: kernels.runs(CODES, STARTS, np.ones(2, np.int64)), ValueError, "have 2 and 3"),
    (lambda: kernels.interval(RUNS, np.ones((1, 3), np.int64), np.zeros(1, np.uint8)),
     ValueError, "classes of labellings and runs must agree in length, but have 3 and 2"),
    (lambda: kernels.sign_pairs(np.zeros((1, 4), np.uint64), None, np.array([-1]),
                                np.array([0, 4]), np.array([257]), np.ones((1, 1), np.int64)),
     ValueError, "rows must fit the words"),
    (lambda: kernels.pair_gain(np.zeros((2, 3), np.uint8), STARTS, None,
                               np.ones((1, 2), np.int64), 32, np.zeros(2, np.uint8)),
     ValueError, "grid must be 4, 8 or 16, not 32"),
    (lambda: kernels.pair_best(np.full((2, 3), 4, np.uint8), STARTS, None,
                               np.ones((1, 2), np.int64), 4, np.zeros(2, np.uint8)),
     ValueError, "bins must be below the grid's 4"),
    (lambda: kernels.runs(CODES, STARTS, np.array([1, -1, 1])), ValueError,
     "weight must not be negative"),
    (lambda: kernels.runs(CODES, STARTS, np.array([2**60, 2**60, 0])), ValueError,
     "weight must sum to less than 2\\^61"),
    (lambda: kernels.interval(COUNTED, np.full((1, 2), 2**60), np.zeros(1, np.uint8)), ValueError,
     "labellings add up to 2\\^61 or more"),
    (lambda: kernels.interval(RUNS, np.ones((1, 2), np.int64), np.full(1, 4, np.uint8)),
     ValueError, "kind must be 0, 1, 2 or 3"),
    (lambda: kernels.merge_runs(COUNTED, (COUNTED[0], COUNTED[1][::-1].copy(), COUNTED[2])),
     ValueError,
     "b: the codes of a column must rise"),
    (lambda: kernels.sign_pairs(np.ones((1, 4), np.uint64), np.zeros((1, 4), np.uint64),
                                np.array([-1]), np.array([0, 4]), np.array([2]),
                                np.ones((1, 1), np.int64)),
     ValueError, "planes must have bit 0 where masks have"),
    (lambda: kernels.tie_keys(np.zeros(1, np.uint64), -1, 0), ValueError,
     "feature must be at least 0"),
])
def test_contract(call, error, text):
    """Arrays that do not fit are refused before a kernel touches them."""
    with pytest.raises(error, match=text):
        call()
