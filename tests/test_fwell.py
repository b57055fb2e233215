"""Laws of the originals: equal to loops, exact, and no fault on odd tables."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest

import privsieve as ps
from kernel_calls import serve
from privsieve.errors import ParameterError, SchemaError
from privsieve.estimators import Selector
from privsieve.kernels.nearest import METRICS, nearest
from privsieve.local import fwell as local
from privsieve.local.fwell import margins
from privsieve.local.solver import Minimum, minimise

TERM = {"manhattan": lambda a, b: abs(a - b), "euclidean": lambda a, b: (a - b) ** 2,
        "hamming": lambda a, b: float(a != b)}


def tables():
    """Tables with ties, copies, constant columns, few rows, one class, many classes."""
    rng = np.random.default_rng(5)
    whole = rng.integers(0, 3, (40, 4)).astype(float)
    return {
        "plain": (rng.random((60, 5)), rng.integers(0, 2, 60)),
        "tied": (whole, rng.integers(0, 2, 40)),
        "copies": (np.repeat(rng.random((7, 3)), 5, axis=0), np.arange(35) % 2),
        "constant": (np.hstack([np.ones((30, 2)), rng.random((30, 2))]), rng.integers(0, 2, 30)),
        "five classes": (rng.random((50, 3)), rng.integers(0, 5, 50)),
        "lonely": (rng.random((12, 3)), np.r_[np.zeros(11, int), 1]),
        "one class": (rng.random((12, 3)), np.zeros(12, int)),
        "all alone": (rng.random((6, 2)), np.arange(6)),
        "two rows": (rng.random((2, 3)), np.arange(2)),
        "flags": ((rng.random((40, 6)) < 0.3).astype(float), rng.integers(0, 2, 40)),
    }


@pytest.fixture(params=tables())
def table(request):
    """Each of the tables: numbers and classes."""
    X, y = tables()[request.param]
    return np.ascontiguousarray(X), y.astype(np.int32)


def fits(X, metric):
    """Whether the metric takes this table."""
    return metric != "hamming" or bool(np.isin(X, (0, 1)).all())


def far(a, b, metric):
    """The distance, column by column from the left."""
    total = 0.0
    for first, other in zip(a, b, strict=True):
        total += TERM[metric](first, other)
    return total


def naive_order(X, y, i, members, metric, same):
    """All hits (or misses) of a row among the members: by distance, then position."""
    return sorted((k for k in members if k != i and (y[k] == y[i]) == same),
                  key=lambda k: (far(X[i].tolist(), X[k].tolist(), metric), k))


def naive_margins(X, y, members, metric):
    """The margins of the members in their own company, by loops."""
    z = []
    for i in members:
        hits, misses = (naive_order(X, y, i, members, metric, same) for same in (True, False))
        if hits and misses:
            z.append([abs(x - m) - abs(x - h)
                      for x, m, h in zip(X[i], X[misses[0]], X[hits[0]], strict=True)])
        else:
            z.append([0.0] * X.shape[1])
    return z


def descent(z, lam, steps=20_000):
    """Plain gradient descent, and how steep it still is where it ends."""
    z = np.array(z)
    step = 1 / ((z * z).sum(axis=1).max() / 4 + 2 * lam)
    w, slope = np.zeros(z.shape[1]), np.zeros(z.shape[1])
    for _ in range(steps):
        slope = 2 * lam * w - (z / (1 + np.exp(z @ w))[:, None]).mean(axis=0)
        w = w - step * slope
        if np.abs(slope).max() < 1e-13:
            break
    return w, float(np.linalg.norm(slope))


@pytest.mark.parametrize("metric", METRICS)
def test_margins_are_those_of_loops(table, metric):
    """The margins of all rows are those that loops find, to the last bit."""
    X, y = table
    if fits(X, metric):
        assert naive_margins(X, y, range(len(X)), metric) == margins(
            X, *nearest(X, y, metric)).tolist()


def drawn(n, replace, seed=0):
    """Samples of the rows."""
    rng = np.random.default_rng(seed)
    return [rng.choice(n, local.sample_size(n, share), replace=replace)
            for share in (0.9, 0.5, 0.2)]


def test_the_error_is_what_the_solver_certifies(monkeypatch):
    """The error is the slope that is left over twice lam: the loss is that strongly convex."""
    X, y = tables()["plain"]
    slopes = iter([0.25, 0.5, 1.0])
    monkeypatch.setattr(local, "minimise", lambda z, lam: Minimum(z[0], next(slopes)))
    y = y.astype(np.int32)

    assert 0.25 / 0.5 == local.LocalLearning(0.25).fwell(X, y)[1]
    both = [np.arange(40), np.arange(60)]
    assert (0.5 + 1.0) / 2 / 0.5 == local.LocalLearning(0.25).ensemble(X, y, both)[1]


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("kernels", ["native", "numpy"])
def test_the_ensemble_is_that_of_loops(monkeypatch, table, replace, kernels):
    """The ensemble is the mean of minimisers over margins that loops find in each sample."""
    serve(kernels, monkeypatch)
    X, y = table
    samples = drawn(len(X), replace)
    total = np.zeros(X.shape[1])
    for sample in samples:
        members = sorted(set(sample.tolist()))
        of = dict(zip(members, naive_margins(X, y, members, "manhattan"), strict=True))
        total += minimise(np.array([of[i] for i in sorted(sample.tolist())]), 0.05).w
    w, _ = local.LocalLearning(0.05).ensemble(X, y, samples)

    assert (total / len(samples)).tolist() == w.tolist()


@pytest.mark.parametrize("lam", [0.5, 0.05])
def test_weights_are_those_of_descent(table, lam):
    """The weights are where plain gradient descent ends, within both of their errors."""
    X, y = table
    w, slope = descent(naive_margins(X, y, range(len(X)), "manhattan"), lam)
    weights, error = local.LocalLearning(lam).fwell(X, y)

    assert slope < 1e-9
    assert error < 1e-8
    assert np.linalg.norm(weights - w) <= error + slope / (2 * lam) + 1e-14


@pytest.mark.parametrize("kind", [ps.FWELL, ps.FWELLEnsemble])
def test_categories_are_equal_or_different(kind):
    """A category adds 1 to the distance where values differ: as loops over the table have it.

    Neither the order of its values nor how far they are apart matters.
    """
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.integers(0, 9, 50) / 8, rng.integers(0, 4, 50), rng.random(50)])
    y = (X[:, 1] == 2).astype(int)
    gap = np.abs(X[:, None] - X[None])
    gap[:, :, 1] = X[:, None, 1] != X[None, :, 1]
    z = np.zeros((50, 3))
    for i in range(50):
        order = np.argsort(gap[i].sum(axis=1), kind="stable")
        hit, miss = (next(j for j in order if j != i and (y[j] == y[i]) == same)
                     for same in (True, False))
        z[i] = gap[i, miss] - gap[i, hit]
    alone = {"repeats": 1, "beta": 1} if kind is ps.FWELLEnsemble else {}
    frame = pd.DataFrame(X, columns=["a", "ward", "c"])
    other = frame.assign(ward=np.array([70.0, -1.0, 5.0, 5000.0])[X[:, 1].astype(int)])
    weights_by_kind = [kind(categorical_features=columns, lam=0.1, **alone).fit(table, y).weights_
                       for columns, table in (([1], X), (["ward"], frame), (["ward"], other))]

    assert np.allclose(weights_by_kind, minimise(z, 0.1).w, atol=1e-9)


@pytest.mark.parametrize("kind", [ps.FWELL, ps.FWELLEnsemble])
def test_how_many_columns(kind):
    """A number, a fraction rounded down and at least one, or all with a weight above zero."""
    rng = np.random.default_rng(0)
    X = rng.random((200, 25))
    y = X[:, 3] + X[:, 8] > 1
    options = {"random_state": 1} if kind is ps.FWELLEnsemble else {}

    def chosen(many):
        fitted = kind(many, **options).fit(X, y)
        return fitted.get_support(indices=True).tolist(), fitted.weights_

    best, w = chosen(2)
    assert [3, 8] == best
    assert sorted(np.argsort(-w, kind="stable")[:7].tolist()) == chosen(7)[0]
    assert 2 == len(chosen(0.1)[0]) == len(chosen(np.float64(0.11))[0])
    assert 1 == len(chosen(0.001)[0])
    assert np.flatnonzero(w > 0).tolist() == chosen("positive")[0]
    assert 0 < (w > 0).sum() < 25
    assert 25 == len(chosen(np.int64(25))[0])


def test_samples_are_repeated_by_the_random_state():
    """The same random state gives the same weights, another one others; all rows give FWELL's."""
    X, y = tables()["plain"]

    def weights(**options):
        return ps.FWELLEnsemble(**options).fit(X, y).weights_.tolist()

    assert weights(random_state=3) == weights(random_state=3)
    assert weights(random_state=3) == weights(random_state=np.random.RandomState(3))
    assert weights(random_state=3) != weights(random_state=4)
    assert weights(random_state=3) != weights(random_state=3, replace=True)
    whole = ps.FWELL().fit(X, y).weights_
    assert np.abs(np.array(weights(beta=1, repeats=3)) - whole).max() < 1e-9


def test_a_sample_is_rounded_up():
    """A sample has beta of the rows, rounded up from the decimal that was written."""
    for hundredths in (90, 7, 29, 58, 100, 1):
        for n in (100, 995, 3):
            assert -(-hundredths * n // 100) == local.sample_size(n, hundredths / 100)
    assert 7 == local.sample_size(61, np.float64(0.1))


@pytest.mark.parametrize(("options", "text"), [
    ({"lam": 0}, r"lam is 0; it must be between 1e-6"),
    ({"lam": 1e-9}, r"lam is 1e-09; it must be between 1e-6"),
    ({"lam": "much"}, r"lam is 'much'"),
    ({"lam": float("nan")}, r"lam is nan"),
    ({"metric": "cosine"}, r'metric is .cosine.; write "manhattan", "euclidean" or "hamming"'),
    ({"n_features_to_select": 0}, r"columns to choose is 0; choose at least 1"),
    ({"n_features_to_select": 6}, r"6 columns to choose are too many: the table has 5"),
    ({"n_features_to_select": 1.0}, r"is 1.0; it must lie between 0 and 1"),
    ({"n_features_to_select": True}, r"is True; write a whole number from 1, or a fraction"),
    ({"n_features_to_select": "all"}, r"is 'all'; .* or .positive."),
    ({"repeats": 0}, r"repeats is 0; write a whole number from 1"),
    ({"repeats": 2.5}, r"repeats is 2.5"),
    ({"beta": 1.5}, r"beta is 1.5; write a number above 0 and at most 1"),
    ({"beta": 0}, r"beta is 0"),
])
def test_parameters_are_refused_in_words(options, text):
    """A wrong parameter is named with its value, its limit and the way out."""
    X, y = tables()["plain"]
    kinds = [kind for kind in (ps.FWELL, ps.FWELLEnsemble)
             if set(options) <= set(inspect.signature(kind).parameters)]
    for kind in kinds:
        with pytest.raises(ParameterError, match=text):
            kind(**options).fit(X, y)

    assert ps.FWELLEnsemble in kinds


@pytest.mark.parametrize(("change", "y", "options", "text"), [
    (lambda X: X, np.linspace(0, 1, 60), {}, "y is continuous; this method needs classes"),
    (lambda X: X, np.zeros((60, 2), int), {}, "y should be a 1d array"),
    (lambda X: X, None, {"metric": "hamming"}, "'hamming' takes columns of 0 and 1"),
    (lambda X: X * 1e200, None, {}, "distances overflow; scale the columns"),
    (lambda X: X * np.nan, None, {}, "contains NaN"),
    (lambda X: X[:1], np.zeros(1, int), {}, "minimum of 2"),
])
def test_tables_are_refused_in_words(change, y, options, text):
    """A table without classes, or between whose rows no distance is told, is refused."""
    X, classes = tables()["plain"]
    with pytest.raises(ValueError, match=text) as caught:
        ps.FWELL(**options).fit(change(X), classes if y is None else y)

    ours = not any(word in text for word in ("NaN", "minimum", "1d"))  # scikit-learn's words
    assert ours == isinstance(caught.value, SchemaError)


def test_they_say_that_they_are_not_private():
    """Each original says so in its first words, names its private kin, and is no `Selector`."""
    for kind in (ps.FWELL, ps.FWELLEnsemble):
        first, _, rest = inspect.getdoc(kind).partition("\n")

        assert "NOT private" in first
        assert "BlockFWELL" in rest
        assert "RuleSieve" in rest
        assert not issubclass(kind, Selector)
        assert not {"epsilon", "domain", "ledger"} & set(inspect.signature(kind).parameters)
