"""Laws of the nearest hit and the nearest miss: both kernels, and loops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from kernel_calls import native, serve
from privsieve.kernels import contract
from privsieve.kernels import nearest as kernel

METRICS = ("manhattan", "euclidean")
TERM = {"manhattan": lambda a, b: abs(a - b), "euclidean": lambda a, b: (a - b) * (a - b),
        "hamming": lambda a, b: float(a != b)}


class Native(NamedTuple):
    """The native kernel by one filter and one set of loops, whatever the data."""

    filter: int
    loops: int

    def nearest(self, X, label, metric, drawn, samples):
        """As the twin."""
        return native.nearest(X, label, metric, drawn, samples, filter=self.filter,
                              loops=self.loops)


#: By the data with the best loops; then by bytes and by floats, with each set of loops.
FORMS = ("numpy", "native", *((f, k) for f in (1, 2) for k in range(3)))


@pytest.fixture(params=FORMS, ids=str)
def implementation(request, monkeypatch):
    """The kernel in all its forms: they must all give the same rows."""
    serve("numpy" if request.param == "numpy" else "native", monkeypatch)
    if not isinstance(request.param, str):
        by, loops = request.param  # an older machine runs its oldest loops again
        last = len(native.nearest_loops()) - 1
        monkeypatch.setattr(contract, "extension", Native(by, min(loops, last)))


def naive(X, label, metric):
    """Hits and misses by loops over lists: the oracle of both kernels."""
    hits, misses = [], []
    for i, x in enumerate(X):
        best = {True: (-1, None), False: (-1, None)}
        for k, other in enumerate(X):
            far = 0.0
            for a, b in zip(x, other, strict=True):
                far += TERM[metric](a, b)
            same = label[i] == label[k]
            if i != k and (best[same][0] < 0 or far < best[same][1]):
                best[same] = k, far
        hits.append(best[True][0])
        misses.append(best[False][0])
    return hits, misses


def twin(X, label, metric):
    """What the twin finds among all rows; another test says that it is what loops find."""
    hit, miss = kernel._nearest.__wrapped__(X, label, metric, None, 1)
    return [hit[:, 0].tolist(), miss[:, 0].tolist()]


def plain(n, d, rng):
    """Numbers without ties."""
    return rng.random((n, d))


def tied(n, d, rng):
    """Few small integers: most distances are shared, and rows are repeated."""
    return rng.integers(0, 3, (n, d)).astype(float)


def tenths(n, d, rng):
    """Tenths: distances that are equal in the reals differ in their last bit."""
    return rng.integers(0, 10, (n, d)) / 10


def constant(n, d, rng):
    """One value a column, but for one column."""
    X = np.tile(rng.normal(size=d), (n, 1))
    X[:, :1] = rng.integers(0, 4, (n, min(d, 1)))
    return X


def heavy(n, d, rng):
    """Heavy tails of both signs: a few numbers are larger than all others together."""
    return rng.standard_cauchy((n, d)) ** 3


def mixed(n, d, rng):
    """Columns whose sizes differ by powers of ten, the smallest below float32."""
    return rng.normal(size=(n, d)) * 10.0 ** rng.integers(-60, 30, d)


def shifted(n, d, rng):
    """Small differences of large numbers."""
    return 1e9 + rng.integers(0, 50, (n, d)) * 1e-3


def ends(n, d, rng):
    """The largest and the smallest numbers that are taken."""
    return rng.choice([-kernel.LARGEST, kernel.LARGEST, 5e-324, -1e-200, 0.0], (n, d))


def close(n, d, rng):
    """Rows that are the same but for the last bits of one number."""
    X = np.tile(rng.random(d), (n, 1))
    if d:
        X[np.arange(n), rng.integers(0, d, n)] *= 1 + rng.integers(0, 4, n) * 2.0**-52
    return X


def classes(n, many, rng):
    """Labels of some classes, whatever their numbers."""
    return rng.choice(rng.integers(-2**31, 2**31, many), n).astype(np.int32)


MAKERS = (plain, tied, tenths, constant, heavy, mixed, shifted, ends, close)


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("maker", MAKERS)
def test_nearest_as_loops_find_it(maker, metric):
    """Hits and misses are those of loops over all pairs, for any number of classes."""
    rng = np.random.default_rng(1)
    for n, d, many in ((1, 3, 1), (2, 1, 1), (2, 2, 2), (7, 9, 3), (33, 5, 2), (40, 1, 40),
                       (30, 17, 1), (5, 0, 2), (9, 300, 2)):
        X, label = maker(n, d, rng), classes(n, many, rng)
        nearest_rows = kernel.nearest(X, label, metric)

        assert naive(X.tolist(), label.tolist(),
                     metric) == tuple(row.tolist() for row in nearest_rows)


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize("maker", MAKERS)
def test_nearest_as_the_twin_finds_it(maker):
    """Also for more rows than a panel, a stretch of them, or a stretch of columns holds."""
    rng = np.random.default_rng(3)
    for n, d, many in ((700, 6, 2), (130, 41, 5), (40, 600, 2), (300, 3, 300)):
        X, label = maker(n, d, rng), classes(n, many, rng)
        for metric in METRICS:
            nearest_rows = kernel.nearest(X, label, metric)

            assert twin(X, label, metric) == [p.tolist() for p in nearest_rows], (n, d, metric)


def samples(n, rng):
    """More samples than one search serves; the lists are too short for the few that are small."""
    shares = np.r_[0.05, 0.3, np.full(62, 0.9), 0.6, 1, 0]
    return rng.random((n, len(shares))) < shares


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize("metric", kernel.METRICS)
@pytest.mark.parametrize("maker", MAKERS)
def test_a_sample_is_searched_as_if_alone(maker, metric):
    """Neighbours in a sample are those that the twin finds in a table of the sample alone."""
    rng = np.random.default_rng(5)
    for n, d, many in ((1, 2, 1), (90, 3, 2), (130, 5, 1), (50, 20, 25)):
        X, label, drawn = maker(n, d, rng), classes(n, many, rng), samples(n, rng)
        if metric == "hamming":
            X = (X > np.median(X)).astype(float)
        nearest_rows = kernel.nearest_in(X, label, metric, drawn)
        for r in (0, 1, 2, 30, 63, 64, 65, 66):
            members = np.flatnonzero(drawn[:, r])
            for whole, row in zip(nearest_rows, twin(X[members], label[members], metric),
                                  strict=True):
                expected = np.full(n, -1)
                expected[members] = [members[k] if k >= 0 else -1 for k in row]

                assert expected.tolist() == whole[:, r].tolist(), (n, r)


@pytest.mark.usefixtures("implementation")
def test_no_samples():
    """Of no samples there are no neighbours."""
    X, label = np.zeros((3, 2)), np.zeros(3, np.int32)
    nearest_rows = kernel.nearest_in(X, label, "manhattan", np.zeros((3, 0), bool))

    assert [(3, 0), (3, 0)] == [row.shape for row in nearest_rows]


@pytest.mark.usefixtures("implementation")
def test_sums_that_float32_rounds_up():
    """A row whose every term is rounded up in float32 is still the nearest."""
    X = np.zeros((4, 201))
    X[1:, 0] = 1, 1 + 1.5e-5, 4
    X[1, 1:] = 1.02 * 2.0**-24

    assert 1 == kernel.nearest(X, np.zeros(4, np.int32), "manhattan")[0][0]


@pytest.mark.usefixtures("implementation")
def test_many_differences_are_shared_among_threads():
    """Above the size from which threads serve, the answers are those of the twin."""
    rng = np.random.default_rng(4)
    X, label = rng.normal(size=(2300, 10)), classes(2300, 2, rng)
    nearest_rows = kernel.nearest(X, label, "manhattan")

    assert twin(X, label, "manhattan") == [p.tolist() for p in nearest_rows]


@pytest.mark.usefixtures("implementation")
def test_differing_columns_are_counted():
    """Under 'hamming' the distance is the number of columns that differ."""
    rng = np.random.default_rng(2)
    for n, d, many in ((1, 1, 1), (2, 2, 2), (20, 64, 2), (20, 65, 3), (30, 5, 2), (12, 700, 1)):
        X, label = (rng.random((n, d)) < 0.3).astype(float), classes(n, many, rng)
        nearest_rows = kernel.nearest(X, label, "hamming")

        assert naive(X.tolist(), label.tolist(),
                     "hamming") == tuple(p.tolist() for p in nearest_rows)


@pytest.mark.usefixtures("implementation")
def test_rare_and_common_columns():
    """Columns that few rows hold and columns that many hold are counted alike, together or not."""
    rng = np.random.default_rng(6)
    for n, d in ((90, 400), (130, 70), (60, 1)):
        for common in (0, 1, d // 20):
            held = np.full(d, 0.02)
            held[rng.permutation(d)[:common]] = 0.7
            X, label = (rng.random((n, d)) < held).astype(float), classes(n, 2, rng)

            assert twin(X, label, "hamming") == [
                p.tolist() for p in kernel.nearest(X, label, "hamming")]


@pytest.mark.usefixtures("implementation")
def test_no_rows():
    """Without rows there is nothing to find."""
    nearest_rows = kernel.nearest(np.empty((0, 3)), np.empty(0, np.int32), "manhattan")

    assert [[], []] == [row.tolist() for row in nearest_rows]


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize(("X", "label", "metric", "error", "text"), [
    (np.array([[0.0], [np.nan]]), np.zeros(2, np.int32), "manhattan", ValueError, "has NaN"),
    (np.array([[0.0], [np.inf]]), np.zeros(2, np.int32), "euclidean", ValueError, "scale the col"),
    (np.array([[0.0], [-1.1e100]]), np.zeros(2, np.int32), "manhattan", ValueError, "1e.100"),
    (np.array([[0.0], [0.5]]), np.zeros(2, np.int32), "hamming", ValueError, "of 0 and 1"),
    (np.array([[np.nan]]), np.zeros(1, np.int32), "hamming", ValueError, "of 0 and 1"),
    (np.zeros((2, 1)), np.zeros(2, np.int32), "cosine", ValueError, "not 'cosine'"),
    (np.zeros((2, 1), np.float32), np.zeros(2, np.int32), "manhattan", TypeError, "X must be"),
    (np.zeros((2, 1)), np.zeros(2), "manhattan", TypeError, "label must be"),
    (np.zeros((2, 1)), np.zeros(3, np.int32), "manhattan", ValueError, "label and X"),
])
def test_the_contract(X, label, metric, error, text):
    """What has no nearest rows is refused in words."""
    with pytest.raises(error, match=text):
        kernel.nearest(X, label, metric)
    with pytest.raises(error, match=text):
        kernel.nearest_in(X, label, metric, np.ones((len(X), 2), bool))


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize(("metric", "bad", "text"), [
    *(("hamming", bad, "of 0 and 1") for bad in (np.nan, 0.5, -1.0, 2.0)),
    *(("manhattan", bad, "scale the columns") for bad in (np.nan, np.inf, 1.1e100, -1.1e100)),
])
def test_one_wrong_number_is_found(metric, bad, text):
    """Wherever in a row the number lies, the table is refused."""
    for d in (64, 130, 1100):
        for place in (0, 63, d - 1):
            X = np.zeros((3, d))
            X[1, place] = bad
            with pytest.raises(ValueError, match=text):
                kernel.nearest(X, np.zeros(3, np.int32), metric)
