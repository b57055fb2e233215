"""Law: a fitted model is its release.  One charge, free predictions, no row in a pickle."""

from __future__ import annotations

import json
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.feature_selection import SelectFromModel

import privsieve as ps
from privsieve.errors import SchemaError
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


def make_model(kernel="linear", **options):
    """A model with every parameter that it demands."""
    return ps.PrivateKernelRidge(kernel, **{"epsilon": 8, "lam": 0.1, "domain": DOMAIN, **options})


@pytest.fixture
def replayed(monkeypatch):
    """Every fit draws the same noise."""
    monkeypatch.setattr("privsieve.noise.streams.system", lambda: replay(7))


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_charge_and_free_predictions_for_ever(kernel, ledger, tmp_path):
    """`fit` charges once; predictions charge nothing, also from a loaded folder."""
    fitted = make_model(kernel, epsilon=2, ledger=ledger).fit(table())
    first = fitted.predict(table().drop(columns="days"))
    fitted.release_.save(tmp_path / "out")
    again = ps.PrivateKernelRidge.of_release(ps.load(tmp_path / "out"))

    assert Fraction(2) == ledger.spent()
    held = table(), pl.from_pandas(table()), pa.Table.from_pandas(table(), preserve_index=False)
    assert [first.tolist()] * 3 == [again.predict(value).tolist() for value in held]
    assert (0,) == again.predict(table(0)).shape
    assert fitted.weights_.tolist() == again.weights_.tolist()
    assert ((first >= 0) & (first <= 40)).all()
    assert ps.verify(tmp_path / "out" / "certificate.json", tmp_path / "out" / "release.json",
                     ledger=ledger.path).valid


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_prediction_is_a_formula_of_the_release(kernel):
    """The public middle, and half the range times the weights on the features: by JSON alone."""
    fitted = make_model(kernel).fit(table())
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
        fitted = make_model(kernel, lam=0.02, **options).fit(frame)
        off = np.sqrt(np.mean((fitted.predict(frame) - frame["days"]) ** 2))

        assert off < 0.75 * np.sqrt(np.mean((20 - frame["days"]) ** 2)), kernel
    assert "age" == fitted.release_.columns[int(make_model().fit(frame).ranking_.argmin())]


@pytest.mark.usefixtures("replayed")
def test_variables_are_chosen_by_released_weights():
    """scikit-learn's SelectFromModel takes the importances; Fourier features have none."""
    rng = np.random.default_rng(1)
    X = rng.random((20_000, 6))
    y = 2 * X[:, 4] + X[:, 1]
    box = ps.Domain.box(0, 1, target=(0, 3))
    for kernel in ("linear", "cosine"):
        fitted = make_model(kernel, domain=box).fit(X, y)
        chosen = SelectFromModel(fitted, prefit=True, max_features=2, threshold=-np.inf)

        assert fitted.release_.body["plan"] == fitted.plan(rows=20_000).json()
        assert [1, 4] == np.flatnonzero(chosen.get_support()).tolist(), kernel
        assert {1, 2} == set(fitted.ranking_[[4, 1]]), kernel
    assert not hasattr(make_model("rbf", domain=box).fit(X, y), "feature_importances_")


@pytest.mark.usefixtures("replayed")
def test_a_target_on_a_log_scale():
    """Predictions of a skewed target stay in its bounds; its middle is the geometric one."""
    domain = ps.Domain([ps.Number("x", 0, 1)], target=ps.Number("cost", 1, 10_000, scale="log"))
    X = np.random.default_rng(0).random((5000, 1))
    fitted = make_model("linear", domain=domain, lam=0.02).fit(X, 10 ** (4 * X[:, 0]))
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
        fitted = make_model(kernel, epsilon=2, ledger=ledger).fit(odd())
        predictions = fitted.predict(odd())

    assert np.isfinite(predictions).all()
    assert ([], [], ("", "")) == (warned, caplog.records, tuple(capfd.readouterr()))
    assert SECRET not in repr(vars(fitted))


@pytest.mark.parametrize("change", [
    lambda body: body.update(kind="selection"), lambda body: body.pop("features"),
    lambda body: body["values"]["q"].pop(), lambda body: body["features"].update(map="quartic"),
    lambda body: body["domain"].update(target={"kind": "label", "name": "a", "values": [0, 1]}),
    lambda body: body["values"].update(q="all"),
])
def test_another_file_is_refused(change):
    """What is no release of a regression is refused in words."""
    body = json.loads(make_model().fit(table(300)).release_.bytes)
    change(body)

    with pytest.raises(SchemaError, match=r"predictions need|lacks fields that a|an unknown kind"):
        ps.PrivateKernelRidge.of_release(Release(body, None))
