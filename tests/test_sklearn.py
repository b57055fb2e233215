"""Law: scikit-learn.  Every exported estimator is one as scikit-learn's own tests know it."""

from __future__ import annotations

import inspect
import tracemalloc
import unicodedata
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.feature_selection import SelectorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils.estimator_checks import parametrize_with_checks

import privsieve as ps
from data_makers import codes
from privsieve.estimators import Selector
from privsieve.local.fwell import FWELL
from privsieve.noise.streams import replay
from privsieve.rows import open_source, resolve
from privsieve.rows.batch import batches

pytestmark = pytest.mark.filterwarnings("ignore::privsieve.fit.UnsignedWarning")

#: By what they are, so that nobody has to remember a new one.
KINDS = [kind for kind in (getattr(ps, name) for name in ps.__all__)
         if isinstance(kind, type) and issubclass(kind, BaseEstimator)]
#: Models: they predict, and choose nothing (tests/test_ridge_estimator.py).
MODELS = [kind for kind in KINDS if issubclass(kind, RegressorMixin)]
#: Tables of counts: they neither choose nor predict (tests/test_histogram.py).
TABLES = [kind for kind in KINDS if not issubclass(kind, RegressorMixin | SelectorMixin)]
KINDS = [kind for kind in KINDS if kind not in MODELS + TABLES]
PRIVATE = [kind for kind in KINDS if issubclass(kind, Selector)]
#: The originals: not private, without a domain, a ledger or a release.
OPEN = [kind for kind in KINDS if issubclass(kind, FWELL)]
RELEASING = [kind for kind in KINDS if kind not in OPEN]
BOX = ps.Domain.box(-10, 10, classes=(0, 1, 2))
NAMES = ["age", "b", "c", "d", "e", "f"]
TABLE = ps.Domain([ps.Number("age", 0, 1), *map(ps.Flag, NAMES[1:])], target=ps.Label("y", [0, 1]))


def make_estimator(kind, domain=BOX, **options):
    """An estimator with every parameter that it demands."""
    known = inspect.signature(kind).parameters
    input_options = {"n_features_to_select": 1, "epsilon": 5, "k": 2, "block": 3, "domain": domain,
                     "method": "strict", "random_state": 0, "allow_copies": True, **options}
    if kind in RELEASING and kind not in PRIVATE:  # containment reads yes and no as they are
        del input_options["domain"]
    return kind(**{name: value for name, value in input_options.items() if name in known})


def checked(kind):
    """What scikit-learn's checks get: containment chooses among columns of yes and no."""
    if kind in MODELS:
        return kind("linear", epsilon=5, domain=ps.Domain.box(-10, 10, target=(-10, 10)),
                    allow_copies=True)
    if kind in PRIVATE + OPEN + TABLES:
        return make_estimator(kind)
    return make_pipeline(KBinsDiscretizer(2, encode="ordinal", strategy="quantile"),
                         make_estimator(kind))


def expected_failures(estimator):
    """Checks that do not hold, each with its reason."""
    if type(estimator) in PRIVATE:
        failures = {"check_estimators_empty_data_messages":
                    "the error does not say the number of rows, which may be private"}
        if "score" in estimator.get_params(deep=False):
            failures |= dict.fromkeys(("check_fit_score_takes_y",
                                       "check_n_features_in_after_fitting"),
                                      "`score` is a parameter here; these call it as a method")
        return failures
    if type(estimator) in MODELS:
        return {"check_estimators_empty_data_messages":
                "the error does not say the number of rows, which may be private",
                "check_supervised_y_no_nan": "nothing that a row holds raises",
                "check_supervised_y_2d": "a column is a target, and nothing warns of it"}
    if type(estimator) in TABLES:
        return {"check_estimators_empty_data_messages":
                "the error does not say the number of rows, which may be private"}
    if type(estimator) in OPEN:
        return {}
    return dict.fromkeys(("check_estimators_overwrite_params", "check_dont_overwrite_parameters"),
                         "a Pipeline of scikit-learn fits its steps in place")


@pytest.fixture
def replayed(monkeypatch):
    """Every fit draws the same noise, so that two can be compared; such releases are not private.

    With noise of the system two fits differ, and `check_fit_idempotent` does not hold.
    """
    monkeypatch.setattr("privsieve.noise.streams.system", lambda: replay(7))


@pytest.mark.usefixtures("replayed")
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([*map(checked, KINDS + MODELS + TABLES)],
                         expected_failed_checks=expected_failures)
def test_scikit_learn(estimator, check):
    """What scikit-learn asks of every estimator holds, but for the failures that are listed."""
    check(estimator)


@pytest.mark.parametrize("kind", [kind for kind in RELEASING if kind not in PRIVATE])
def test_scikit_learn_fit(kind):
    """Containment alone, on any numbers: it fits, and says why the columns cannot leave."""
    X = np.random.default_rng(0).random((40, 3))
    fitted = make_estimator(kind).fit(X, X[:, 0] > 0.5)

    with pytest.raises(ValueError, match="only some items of column"):
        fitted.transform(X)
    with pytest.raises(ValueError, match="X has 2 features, but"):
        fitted.transform(X[:, :2])


def rows(n=300):
    """A table of yes and no, whose third column decides the label."""
    X = (np.random.default_rng(2).random((n, len(NAMES))) < 0.4).astype(int)
    return X, X[:, 2] ^ (np.arange(n) % 7 == 0)


def framed():
    """The same with names."""
    X, y = rows()
    return pd.DataFrame(X, columns=NAMES), y


@pytest.mark.usefixtures("replayed")
@pytest.mark.parametrize("kind", KINDS)
def test_sparse_tables(kind):
    """A sparse table, or lists, is the same choice; of others `test_one_answer.py` says so."""
    X, y = rows()
    for form in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array, list, np.asfortranarray):
        # what may be known depends on the container
        dense = make_estimator(kind, absent="none").fit(X, y)
        fitted = make_estimator(kind, absent="none").fit(form(X), y)

        assert dense.get_support().tolist() == fitted.get_support().tolist(), form
        assert not hasattr(fitted, "feature_names_in_")
        kept = fitted.transform(form(X))
        assert sparse.issparse(kept) == sparse.issparse(form(X))
        assert X[:, dense.get_support()].tolist() == np.asarray(
            kept.toarray() if sparse.issparse(kept) else kept).tolist()


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrong", [
    (lambda frame: frame.rename(columns={"b": "z"}), "names"),
    (lambda frame: frame.drop(columns="b"), "names"),
    (lambda frame: frame[NAMES[::-1]], "order"),
    (lambda frame: frame.to_numpy()[:, :3], "3 features"),
    (lambda frame: frame["b"], "2-dimensional|2D"),
], ids=["renamed", "fewer", "order", "narrow", "series"])
def test_other_columns_are_refused(kind, wrong):
    """`transform` takes the columns that were fitted, in their order."""
    change, text = wrong
    frame, y = framed()
    fitted = make_estimator(kind, TABLE).fit(frame, y)

    with pytest.raises(ValueError, match=text):
        fitted.transform(change(frame))


@pytest.mark.parametrize("kind", PRIVATE)
@pytest.mark.parametrize(("form", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_columns_keep_their_types(kind, form, frame):
    """Numbers beside texts stay numbers, where a frame is to come out as it went in."""
    domain = ps.Domain([ps.Number("age", 0, 1), ps.Category("ward", ["A", "B"])],
                       target=ps.Label("y", [0, 1]))
    table = frame({"age": [0.25, 0.5] * 50, "ward": ["A", "B"] * 50})
    fitted = make_estimator(kind, domain, n_features_to_select=2)
    kept = fitted.set_output(transform=form).fit(table, [0, 1] * 50).transform(table)

    assert list(table.dtypes) == list(kept.dtypes)
    assert kept.equals(table)


@pytest.mark.parametrize("kind", PRIVATE)
def test_names_in_another_spelling(kind):
    """A name whose accents are written apart is the same name; the frame's spelling is kept."""
    written = unicodedata.normalize("NFD", "größe")
    domain = ps.Domain([ps.Flag("größe"), ps.Flag("b")], target=ps.Label("y", [0, 1]))
    X, y = rows()
    fitted = make_estimator(kind, domain, n_features_to_select=2).fit(
        pd.DataFrame({"b": X[:, 0], written: X[:, 2], "y": y.astype(int)}))

    assert ["b", written] == fitted.feature_names_in_.tolist()
    assert fitted.get_support().any()


@pytest.mark.parametrize("kind", KINDS)
def test_pipelines(kind):
    """A step before, a step after, and some columns only."""
    frame, y = framed()
    X, _ = rows()
    model = make_pipeline(make_estimator(kind, ps.Domain.box(0, 1)), LogisticRegression()).fit(X, y)
    some = make_column_transformer((make_estimator(kind, ps.Domain(TABLE.columns[1:],
                                                                   TABLE.target)),
                                    NAMES[1:]), remainder="passthrough")

    assert len(y) == len(model.predict(X))
    kept = some.fit_transform(frame, y)
    assert kept.shape[1] == 1 + some.transformers_[0][1].get_support().sum()
    assert "remainder__age" == some.get_feature_names_out()[-1]


@pytest.mark.parametrize("kind", PRIVATE)
def test_a_search_charges_each_fit(kind, tmp_path):
    """Inside a search each fold and candidate is a release of its own, and the ledger adds up."""
    ledger = ps.Ledger(str(tmp_path / "budget.db"), population="clinic")
    ledger.grant(epsilon=50)
    X, y = rows()
    inside = make_pipeline(make_estimator(kind, ps.Domain.box(0, 1), ledger=ledger),
                           LogisticRegression())
    GridSearchCV(inside, {"logisticregression__C": [0.1, 1]}, cv=2, n_jobs=1).fit(X, y)

    assert Fraction(5 * (2 * 2 + 1)) == ledger.spent()
    chosen = make_estimator(kind, ps.Domain.box(0, 1), ledger=ledger).fit_transform(X, y)
    GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, cv=2).fit(chosen, y)
    assert Fraction(5 * 6) == ledger.spent()


def test_sparse_rows_are_made_dense_in_batches():
    """A sparse table is never dense as a whole, and its codes are those of the dense one."""
    wide = sparse.random(20_000, 2_000, 0.001, "csc", rng=np.random.default_rng(0))
    source = open_source(wide, np.zeros(20_000))
    domain = resolve(ps.Domain.box(0, 1), source.shape(count_rows=True))
    tracemalloc.start()
    sums = sum(batch.codes.sum(dtype=np.int64) for batch in batches(
        source, domain, rows=20_000, entropy=bytes))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert np.floor(wide.data * 65536).sum() == sums
    assert peak < wide.shape[0] * wide.shape[1] * 8 / 4
    piece = wide[:50].tocoo()
    zeros = np.zeros(50)
    assert codes(piece.toarray(), ps.Domain.box(0, 1), zeros) == codes(
        piece, ps.Domain.box(0, 1), zeros)


@pytest.mark.parametrize("kind", PRIVATE)
def test_an_array_has_the_names_of_the_domain(kind):
    """The columns of an array are called as the domain calls them, and no row is shown."""
    X, y = rows()
    fitted = make_estimator(kind, TABLE).fit(*framed())
    assert kind.__name__ in fitted._repr_html_()
    assert "release_" not in repr(fitted)

    fitted.fit(X, y)
    assert fitted.release_.selected == tuple(fitted.get_feature_names_out())
    assert not hasattr(fitted, "feature_names_in_")
