"""Law: a fitted model is its release.  One charge, free predictions, no row in a pickle."""

from __future__ import annotations

import json
import pickle
import struct
import warnings
from contextlib import nullcontext
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import privsieve as ps
from privsieve.errors import DomainError, ParameterError, SchemaError
from privsieve.methods.ridge.features import WHOLE, features, original
from privsieve.methods.ridge.ridge import Released
from privsieve.noise.streams import replay
from privsieve.release import Release
from privsieve.rows import open_source
from privsieve.rows.batch import batches

pytestmark = pytest.mark.filterwarnings("ignore::privsieve.fit.UnsignedWarning")

DOMAIN = ps.Domain(
    [ps.Number("age", 0, 110), ps.Number("dose", 1, 500, scale="log", missing="level"),
     ps.Flag("smoker"), ps.Category("ward", ["A", "B"]),
     ps.Date("came", "2020-01-01", "2022-01-01")],
    target=ps.Number("days", 0, 40))
KERNELS = ("linear", "cosine", "rbf")
SECRET = "Zebedee"


def table(n=3000):
    """Days in hospital that grow with age and smoking."""
    rng = np.random.default_rng(7)
    age, smoker = rng.uniform(18, 95, n), rng.integers(0, 2, n)
    days = np.clip(0.3 * age + 5 * smoker + rng.normal(0, 2, n), 0, 40)
    return pd.DataFrame({
        "age": age, "dose": rng.gamma(2, 20, n) + 1, "smoker": smoker,
        "ward": rng.choice(["A", "B", "C"], n),
        "came": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, n), "D"),
        "days": days})


def made(kernel="linear", **options):
    """A model with every parameter that it demands."""
    return ps.PrivateKernelRidge(kernel, **{"epsilon": 8, "lam": 0.1, "domain": DOMAIN, **options})


@pytest.fixture
def ledger(tmp_path):
    """Twenty epsilon for one population."""
    found = ps.Ledger(str(tmp_path / "budget.db"), population="clinic")
    found.grant(epsilon=20)
    return found


@pytest.fixture
def replayed(monkeypatch):
    """Every fit draws the same noise."""
    monkeypatch.setattr("privsieve.noise.streams.system", lambda: replay(7))


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_charge_and_free_predictions_for_ever(kernel, ledger, tmp_path):
    """`fit` charges once; predictions charge nothing, also from a loaded folder."""
    fitted = made(kernel, ledger=ledger).fit(table())
    first = fitted.predict(table().drop(columns="days"))
    fitted.release_.save(tmp_path / "out")
    again = ps.PrivateKernelRidge.of_release(ps.load(tmp_path / "out"))

    assert Fraction(8) == ledger.spent()
    assert first.tolist() == again.predict(table()).tolist()
    assert ((first >= 0) & (first <= 40)).all()
    assert ps.verify(tmp_path / "out" / "certificate.json", tmp_path / "out" / "release.json",
                     ledger=ledger.path).valid


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_prediction_is_a_formula_of_the_release(kernel):
    """The public middle, and half the range times the weights on the features: by JSON alone."""
    fitted = made(kernel).fit(table())
    body = json.loads(fitted.release_.bytes)
    read = Released.of(Release(body, None))
    (rows,) = batches(open_source(table(50).drop(columns="days")),
                      ps.Domain(DOMAIN.columns), rows=None, entropy=bytes)
    phi = features(read.map, rows.codes) / WHOLE
    w = np.array(body["values"]["q"]) * 2.0 ** body["values"]["exponent"]

    expected = np.clip(20 + 20 * phi @ w, 0, 40)
    assert np.allclose(expected, fitted.predict(table(50)), rtol=1e-12)


@pytest.mark.usefixtures("replayed")
def test_it_learns():
    """On a plain table it errs far less than the middle of the range, and ranks age first."""
    frame = table(20_000)
    for kernel, options in (("linear", {}), ("cosine", {}), ("rbf", {"delta": "1e-9"})):
        fitted = made(kernel, lam=0.02, **options).fit(frame)
        off = np.sqrt(np.mean((fitted.predict(frame) - frame["days"]) ** 2))

        assert off < 0.75 * np.sqrt(np.mean((20 - frame["days"]) ** 2)), kernel
    assert "age" == fitted.release_.columns[int(made().fit(frame).ranking_.argmin())]


def encodings(value):
    """A number as a pickle, a text or a table of bytes could hold it."""
    yield repr(float(value)).encode()
    yield f"{value:.6f}".encode()
    for form in ("<d", ">d", "<f", ">f"):
        yield struct.pack(form, value)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_pickle_holds_no_row(kernel, ledger):
    """No value of a row is in the bytes: as text, as a double or float, or as its code."""
    frame = table(200).astype(object)
    frame.loc[3, "ward"] = SECRET
    fitted = made(kernel, ledger=ledger).fit(frame)
    fitted.predict(frame)
    pickled = pickle.dumps(fitted)
    (rows,) = batches(open_source(frame), DOMAIN, rows=None, entropy=bytes)

    assert SECRET.encode() not in pickled
    for name in ("age", "dose", "days"):
        for value in frame[name]:
            assert not any(written in pickled for written in encodings(value)), name
    for codes in (rows.codes[:, 0], rows.codes[:, 1], rows.label):
        for kind in ("<u2", ">u2", "<i4", "<i8", "<f8"):
            whole = np.ascontiguousarray(codes).astype(kind).tobytes()
            for at in range(0, 100, 4):  # four neighbours in a column
                assert whole[at * np.dtype(kind).itemsize:][:4 * np.dtype(kind).itemsize
                                                            ] not in pickled
    assert {"release_", "n_features_in_", "feature_names_in_", *fitted.get_params()} == set(
        vars(fitted))


def test_a_row_in_a_pickle_would_be_found():
    """The search sees a number that is there."""
    value = float(table(5)["age"][0])

    assert any(written in pickle.dumps({"a": np.array([value])}) for written in encodings(value))
    assert any(written in pickle.dumps([str(value)]) for written in encodings(value))


@pytest.mark.usefixtures("replayed")
def test_containers():
    """The same table is the same model, whatever holds it."""
    frame = table(300)
    X, y = frame.drop(columns="days"), frame["days"]
    expected = made().fit(frame)
    for held in (X, pl.from_pandas(X), pa.Table.from_pandas(X, preserve_index=False)):
        fitted = made().fit(held, y)

        assert expected.release_.body == fitted.release_.body
        assert expected.predict(frame).tolist() == fitted.predict(held).tolist()
        assert list(DOMAIN.names) == fitted.feature_names_in_.tolist()
    for held in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame, preserve_index=False)):
        assert expected.predict(X).tolist() == expected.predict(held).tolist()  # with the target
    numbers = np.random.default_rng(0).random((300, 3))
    box = {"domain": ps.Domain.box(0, 1, target=(0, 1))}
    dense = made(**box).fit(numbers, numbers[:, 0])
    for form in (list, np.asfortranarray, sparse.csr_matrix):
        fitted = made(**box).fit(form(numbers), numbers[:, 0])

        assert dense.weights_.tolist() == fitted.weights_.tolist()
        assert dense.predict(numbers).tolist() == fitted.predict(form(numbers)).tolist()


@pytest.mark.usefixtures("replayed")
def test_columns_out_of_order():
    """Importances are in the order of the frame that was fitted; predictions go by name."""
    frame = table()
    fitted = made().fit(frame[list(frame.columns[::-1])])

    assert ["came", "ward", "smoker", "dose", "age"] == fitted.feature_names_in_.tolist()
    assert 4 == int(fitted.feature_importances_.argmax())
    assert 1 == fitted.ranking_[4]
    assert sorted(fitted.ranking_) == [1, 2, 3, 4, 5]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(("wrong", "text"), [
    (lambda frame: frame.rename(columns={"age": "z"}), "names"),
    (lambda frame: frame.drop(columns="age"), "names"),
    (lambda frame: frame[list(frame.columns[::-1])], "order"),
    (lambda frame: frame.to_numpy()[:, :3], "3 features"),
    (lambda frame: frame["age"].to_numpy(), "Reshape your data"),
], ids=["renamed", "fewer", "order", "narrow", "series"])
def test_other_columns_are_refused(wrong, text):
    """`predict` takes the columns that were fitted, in their order."""
    X = table(300).drop(columns="days")
    fitted = made().fit(X, table(300)["days"])

    with pytest.raises(ValueError, match=text):
        fitted.predict(wrong(X))


@pytest.mark.usefixtures("replayed")
def test_variables_are_chosen_by_released_weights():
    """scikit-learn's SelectFromModel takes the importances; Fourier features have none."""
    rng = np.random.default_rng(1)
    X = rng.random((20_000, 6))
    y = 2 * X[:, 4] + X[:, 1]
    box = ps.Domain.box(0, 1, target=(0, 3))
    for kernel in ("linear", "cosine"):
        fitted = made(kernel, domain=box).fit(X, y)
        chosen = SelectFromModel(fitted, prefit=True, max_features=2, threshold=-np.inf)

        assert [1, 4] == np.flatnonzero(chosen.get_support()).tolist(), kernel
        assert {1, 2} == set(fitted.ranking_[[4, 1]]), kernel
    assert not hasattr(made("rbf", domain=box).fit(X, y), "feature_importances_")


@pytest.mark.usefixtures("replayed")
def test_a_target_on_a_log_scale():
    """Predictions of a skewed target stay in its bounds; its middle is the geometric one."""
    domain = ps.Domain([ps.Number("x", 0, 1)], target=ps.Number("cost", 1, 10_000, scale="log"))
    X = np.random.default_rng(0).random((5000, 1))
    fitted = made("linear", domain=domain, lam=0.02).fit(X, 10 ** (4 * X[:, 0]))
    low, middle, high = fitted.predict([[0.0], [0.5], [1.0]])

    assert 1 <= low < 20
    assert 60 < middle < 170
    assert 500 < high <= 10_000
    far = original(np.array([-1e9, 1e9]), Released.of(fitted.release_).target)  # and no warning
    assert [1, 10_000] == far.tolist()


def odd():
    """A body with everything that a body should not hold."""
    frame = table(300).astype(object)
    frame.loc[0] = [SECRET, [SECRET], {"a": 1}, None, "never", SECRET]
    frame.loc[1] = [float("inf"), -1, "perhaps", 3, None, float("nan")]
    frame.loc[2] = [10**400, "1,5", None, ("A",), 7, object()]
    return frame


@pytest.mark.parametrize("kernel", KERNELS)
def test_odd_rows_are_silent(kernel, ledger, caplog, capfd):
    """Odd rows raise nothing, warn of nothing, print nothing; in `fit` and in `predict`."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        fitted = made(kernel, ledger=ledger).fit(odd())
        shown = fitted.predict(odd())

    assert np.isfinite(shown).all()
    assert ([], [], ("", "")) == (warned, caplog.records, tuple(capfd.readouterr()))
    assert SECRET not in repr(vars(fitted))


def test_no_rows_are_no_predictions():
    """A table without rows has none."""
    fitted = made().fit(table(300))

    assert (0,) == fitted.predict(table(300).drop(columns="days").iloc[:0]).shape


def test_clone_pickle_and_pipelines(ledger):
    """A clone has the parameters, a pickle the release; a search charges each fit."""
    frame = table(300)
    fitted = made(ledger=ledger, epsilon=1).fit(frame)
    again = pickle.loads(pickle.dumps(fitted))
    X = np.random.default_rng(0).random((300, 3))
    box = ps.Domain.box(-5, 5, target=(0, 1))
    inside = make_pipeline(StandardScaler(), made(domain=box, ledger=ledger, epsilon=1))
    GridSearchCV(inside, {"privatekernelridge__lam": [0.1, 1]}, cv=2).fit(X, X[:, 0])

    assert fitted.release_ == again.release_
    assert repr(fitted.get_params()) == repr(clone(fitted).get_params())
    assert Fraction(1 + 5) == ledger.spent()
    with pytest.raises(NotFittedError):
        clone(fitted).predict(frame)


def test_fitted_again():
    """An estimator that is fitted again knows nothing of the first time."""
    frame = table(300)
    fitted = made().fit(frame)
    fitted.fit(frame.drop(columns="days").to_numpy(dtype=object), frame["days"].to_numpy())

    assert not hasattr(fitted, "feature_names_in_")
    assert len(DOMAIN.names) == fitted.n_features_in_ == len(fitted.ranking_)


def test_a_plan_before_and_after():
    """A plan reads no row; of arrays it needs a width, which a fitted one knows."""
    box = made(domain=ps.Domain.box(0, 1, target=(0, 1)))
    with pytest.raises(DomainError, match="arrays of any width"):
        box.plan(rows=100)
    X = np.random.default_rng(0).random((300, 3))
    box.fit(X, X[:, 0])

    assert 4 == box.plan(rows=100).settings["features"]
    assert "kernel-ridge/1" == made().plan(rows=100).method


def test_persons_and_rows_that_come_and_go(ledger):
    """A model of persons, and one under add-remove, say so in their certificates."""
    frame = table(600).assign(patient=np.arange(600) // 3)
    # At most three rows of anybody: rows that come and go can be charged for persons.
    ledger = ps.Ledger(ledger.path, population="people")
    ledger.grant(epsilon=20, unit="person", rows_per_person=3)
    for options in ({"person": "patient", "persons": 200, "rows_per_person": 2},
                    {"neighbours": "add-remove", "rows": 500}):
        domain = ps.Domain(DOMAIN.columns, DOMAIN.target, **options)
        rows = frame if "person" in options else frame.drop(columns="patient")
        with nullcontext() if "person" in options else pytest.warns(match="charged 6 times"):
            fitted = made(domain=domain, ledger=ledger, epsilon=1).fit(rows)
        claim = fitted.release_.certificate["claim"]

        assert options.get("neighbours", "replace-one") == claim["neighbours"]
        assert ("person" in claim["unit"]) == ("person" in options)
        assert 600 == len(fitted.predict(rows))


@pytest.mark.parametrize(("options", "error"), [
    ({"epsilon": None}, ParameterError), ({"domain": None}, DomainError),
    ({"kernel": "cubic"}, ParameterError), ({"lam": 0}, ParameterError),
    ({"domain": ps.Domain(DOMAIN.columns, ps.Label("days", [0, 1]))}, DomainError),
    ({"features": 3, "kernel": "rbf"}, ParameterError),
])
def test_a_wrong_parameter_charges_nothing(options, error, ledger):
    """What is wrong and public is refused before the charge."""
    with pytest.raises(error):
        made(**{"ledger": ledger, **options}).fit(table(300))
    assert Fraction(0) == ledger.spent()


def test_one_row_is_refused():
    """A model of one row would be that row."""
    with pytest.raises(ParameterError, match="n_samples = 1"):
        made().fit(table(1))


@pytest.mark.parametrize("change", [
    lambda body: body.update(kind="selection"), lambda body: body.pop("features"),
    lambda body: body["values"]["q"].pop(), lambda body: body["features"].update(map="quartic"),
    lambda body: body["domain"].update(target={"kind": "label", "name": "a", "values": [0, 1]}),
    lambda body: body["values"].update(q="all"),
])
def test_another_file_is_refused(change):
    """What is no release of a regression is refused in words."""
    body = json.loads(made().fit(table(300)).release_.bytes)
    change(body)

    with pytest.raises(SchemaError, match=r"predictions need|lacks what a|kind that is not known"):
        ps.PrivateKernelRidge.of_release(Release(body, None))
