"""Laws: spend, order, silence.  What `fit` promises, whatever the method."""

from __future__ import annotations

import inspect
import os
import pickle
import warnings
from dataclasses import fields
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import privsieve as ps
from every_method import CHARGING, COLUMNS, ESTIMATORS, ROWS, SELECTORS, WARD, table
from privsieve import fit as fitting
from privsieve.errors import (
    BudgetExceeded,
    DomainError,
    LedgerError,
    ParameterError,
    ReleaseFailed,
    SchemaError,
)
from privsieve.folder import Folder
from privsieve.methods import METHODS
from privsieve.noise.streams import replay
from privsieve.public.option import PLACED
from privsieve.rows import Source, open_source

#: What a release says beyond what every one does, by its kind.
NUMBERS = {"weights": ("values", "noise"), "histogram": ("cells", "noise"),
           "regression": ("features", "values", "noise")}
DOMAIN = WARD
SECRET = "Zebedee"


charging = pytest.mark.parametrize("method", CHARGING, ids=repr)
estimators = pytest.mark.parametrize("method", ESTIMATORS, ids=repr)
selecting = pytest.mark.parametrize("method", SELECTORS, ids=repr)


#: Laws that do not hold yet, and why; each is red when it is mended, and leaves this list.
DRIFT = {("test_one_row_is_refused", "kernel-ridge-session", ""): "a session takes one row"}


@pytest.fixture(autouse=True)
def _drift(request):
    """What is known not to hold is expected to fail, and nothing else is."""
    method = request.node.callspec.params.get("method") if hasattr(
        request.node, "callspec") else None
    for (law, name, option), why in DRIFT.items():
        if law == request.node.originalname and name == getattr(method, "name", None) and (
                not option or option in method.options):
            request.applymarker(pytest.mark.xfail(strict=True, reason=why))


def test_the_laws_run_over_every_method():
    """Each method of the registry and each private estimator that is exported is in the list."""
    exported = {kind for kind in (getattr(ps, name) for name in ps.__all__)
                if isinstance(kind, type) and hasattr(kind, "fit")
                and "ledger" in inspect.signature(kind).parameters}

    assert set(METHODS) == {estimator.name for estimator in ESTIMATORS}
    assert exported == {estimator.kind for estimator in ESTIMATORS}


@pytest.mark.parametrize("method", METHODS)
def test_a_plan_names_the_option_that_is_wrong(method):
    """An option that no method knows, or the lack of epsilon, is said with the method's name."""
    with pytest.raises(ParameterError, match=f"colour is not an option of {method}; it takes: "):
        ps.plan(method, DOMAIN, epsilon=1, colour="red")
    with pytest.raises(ParameterError, match=f"is missing, and {method} needs it"):
        ps.plan(method, DOMAIN)


class Spy(Source):
    """A source that notes when its body is opened, and then calls `then`."""

    @classmethod
    def on(cls, source, then=None):
        """A spy for this source."""
        values = {each.name: getattr(source, each.name) for each in fields(Source)}
        spy = cls(**values)
        object.__setattr__(spy, "calls", [])
        object.__setattr__(spy, "then", then or (lambda: None))
        return spy

    @property
    def opened(self):
        """How often the body was opened."""
        return len(self.calls)

    def raw(self, *where):
        self.calls.append(where)
        self.then()
        return super().raw(*where)


def spied(then=None, frame=None):
    """A source of a table, the ward's where none is given."""
    return Spy.on(open_source(CHARGING[0].table() if frame is None else frame), then)


def plan(**options):
    """A plan for the ward."""
    return ps.plan("rule-sieve", DOMAIN, **{"k": 2, "epsilon": 1, "rows": ROWS, **options})


# spend


@charging
def test_a_refused_spend_reads_no_row(tmp_path, method):
    """Where the budget does not cover the cost, the body of the table is never opened."""
    ledger = ps.Ledger(str(tmp_path / "small.db"), population="clinic")
    ledger.grant(epsilon="0.5")
    source = spied(frame=method.table())

    with pytest.raises(BudgetExceeded, match=r"epsilon 1; the budget has 0\.5 left"):
        method.estimator(ledger=ledger).fit(source)
    assert (0, Fraction(0)) == (source.opened, ledger.spent())


@charging
def test_an_unknown_population_reads_no_row(tmp_path, method):
    """Without a grant there is nothing to spend, and nothing is read."""
    source = spied(frame=method.table())

    with pytest.raises(LedgerError, match="grant"):
        method.estimator(ledger=ps.Ledger(str(tmp_path / "no.db"), population="x")).fit(source)
    assert 0 == source.opened


@charging
@pytest.mark.parametrize(("wrong", "error"), [
    *(({"epsilon": epsilon}, ParameterError)
      for epsilon in (None, 0, -1, float("nan"), 11, "0.1234567891")),
    ({"domain": ps.Domain([*COLUMNS, ps.Flag("more")], target=WARD.target)}, SchemaError),
], ids=str)
def test_a_wrong_parameter_reads_no_row(ledger, method, wrong, error):
    """What is wrong and public is refused before the charge, and nothing is read."""
    source = spied(frame=method.table())

    with pytest.raises(error):
        method.estimator(ledger=ledger, **wrong).fit(source)
    assert (0, Fraction(0)) == (source.opened, ledger.spent())


@estimators
def test_bounds_are_public_facts(ledger, method):
    """Without a domain nothing is read: bounds never come from the table."""
    source = spied(frame=method.table())

    with pytest.raises(DomainError, match="no domain is given"):
        method.estimator(ledger=ledger, domain=None).fit(source)
    assert (0, Fraction(0)) == (source.opened, ledger.spent())


@charging
def test_one_row_is_refused(ledger, method):
    """A release of one row would be of one person: it is refused, and nothing is charged."""
    with pytest.raises(ParameterError, match=r"n_samples = 1|one row|1 rows|2 rows"):
        method.estimator(ledger=ledger).fit(method.table(1))
    assert Fraction(0) == ledger.spent()


@estimators
def test_a_plan_is_the_same_before_and_after(method):
    """`plan` before `fit`, after it, and in the release say one thing."""
    before = method.plan().json()
    fitted = method.estimator().fit(method.table())

    assert before == fitted.plan(rows=ROWS).json() == fitted.release_.body["plan"]


def test_all_columns_cost_nothing(ledger):
    """To choose all columns tells nothing: no charge, and no row is read."""
    source = spied()

    release = fitting.fit(plan(k=4), source, ledger=ledger)

    assert DOMAIN.names == release.selected
    assert (0, Fraction(0)) == (source.opened, ledger.spent())


# order


@charging
def test_the_charge_is_durable_before_the_first_row(ledger, method):
    """When the body is opened, another connection already sees the charge."""
    seen = []
    source = spied(lambda: seen.append(ps.Ledger(ledger.path, population="clinic").spent()),
                   method.table())

    method.estimator(ledger=ledger).fit(source)

    assert [Fraction(1)] == seen
    assert 1 == source.opened


@charging
def test_a_fault_in_the_rows_has_one_text(ledger, method):
    """If rows make anything fail, the charge stays, and the error hides its cause."""
    def fail():
        raise RuntimeError(SECRET)

    with pytest.raises(ReleaseFailed) as caught:
        method.estimator(ledger=ledger).fit(spied(fail, method.table()))
    assert "release failed; the budget is charged" == str(caught.value)
    assert (None, None) == (caught.value.__cause__, caught.value.__context__)
    assert Fraction(1) == ledger.spent()


@pytest.mark.parametrize("allowed", [0, 1, 2])
def test_without_entropy_nothing_leaves_and_the_charge_stays(tmp_path, ledger, monkeypatch,
                                                             allowed):
    """If the system runs out of random bits, early or late, there is no output and no refund."""
    source, planned, urandom, requests = spied(), plan(), os.urandom, []

    def broken(count):
        requests.append(count)
        if len(requests) > allowed:
            raise OSError(5, "no entropy")
        return urandom(count)

    with Folder.create(tmp_path / "out") as folder, monkeypatch.context() as patch:
        # Only where noise comes from: the ledger draws its request number before the charge.
        patch.setattr("privsieve.noise.streams.os", SimpleNamespace(urandom=broken))
        with pytest.raises(ReleaseFailed) as caught:
            fitting.fit(planned, source, ledger=ledger, folder=folder)

    assert "release failed; the budget is charged" == str(caught.value)
    assert len(requests) == allowed + 1
    assert Fraction(1) == ledger.spent()
    assert 1 == len(ledger.orphans())
    assert not (tmp_path / "out" / "release.json").exists()


def test_a_release_is_committed_and_verifies(tmp_path, ledger):
    """What `fit` puts into a folder is what the ledger committed, and a checker agrees."""
    folder = Folder.create(tmp_path / "out")
    with folder:
        release = fitting.fit(plan(), spied(), ledger=ledger, folder=folder)

    assert release == ps.load(tmp_path / "out")
    assert () == ledger.orphans()
    checked = ps.verify(tmp_path / "out" / "certificate.json",
                        tmp_path / "out" / "release.json", ledger=ledger.path)
    assert () == checked.reasons


# silence


def odd(method):
    """A body with everything that a body should not hold."""
    frame = method.table()
    cells = {
        "age": [SECRET, float("inf"), 10**400, None, "\0", 1 + 2j],
        "stay": [-1, [SECRET], float("nan"), "1,5", object()],
        "smoker": [{"a": SECRET}, "perhaps", None, 7],
        "ward": [SECRET * 1000, None, 3, ("A",)],
        "back": [SECRET, float("nan"), None, "1 "],
        "cost": [SECRET, float("-inf"), None, {1}],
        "exit": [SECRET, float("nan"), None, "2 "],
    }
    return pd.DataFrame({
        name: pd.Series([*cells[name], *frame[name][len(cells[name]):]], dtype=object)
        for name in frame})


def one_class(method):
    """A body of constants."""
    return pd.DataFrame({name: ["0"] * ROWS for name in method.table()})


@charging
@pytest.mark.parametrize("make", [odd, one_class], ids=lambda make: make.__name__)
def test_odd_rows_are_silent(method, make, ledger, caplog, capfd):
    """Odd rows raise nothing, warn of nothing, print nothing and log nothing."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        fitted = method.estimator(ledger=ledger).fit(make(method))

    assert set(fitted.release_.selected) <= set(method.domain.names)
    assert [] == warned
    assert [] == caplog.records
    assert ("", "") == tuple(capfd.readouterr())
    assert SECRET not in repr(vars(fitted)) + repr(fitted.release_.body)


@estimators
def test_a_fitted_one_holds_its_release_only(method, ledger):
    """After `fit` there are the parameters, the columns' names and number, and the release."""
    fitted = method.estimator(ledger=ledger)
    parameters = set(fitted.get_params(deep=False))

    fitted.fit(method.table())

    body = fitted.release_.body
    assert parameters | {"n_features_in_", "feature_names_in_", "release_"} == set(vars(fitted))
    settings = {"branch", "class_counts"}
    assert {"format", "kind", "columns", "domain", "selected", "forecast", "plan",
            "warning", *NUMBERS.get(body["kind"], ())} == set(body) - settings
    assert list(method.domain.names) == fitted.feature_names_in_.tolist()


@estimators
def test_parameters_are_kept_as_given(method):
    """Each parameter can be got and set, a clone has them, and a pickle has the release as well."""
    fresh = method.estimator()
    again = method.kind().set_params(**fresh.get_params(deep=False))
    fitted = method.estimator().fit(method.table())
    pickled = pickle.loads(pickle.dumps(fitted))

    assert repr(fresh) == repr(again) == repr(clone(fitted))
    assert fresh.get_params().keys() == fitted.get_params().keys()
    assert set(inspect.signature(method.kind).parameters) == set(fresh.get_params(deep=False))
    assert not hasattr(clone(fitted), "release_")
    assert fitted.release_ == pickled.release_
    assert fitted.plan(rows=ROWS).json() == pickled.plan(rows=ROWS).json()


@selecting
def test_a_selector_is_a_scikit_learn_transformer(method, ledger):
    """It transforms, names its columns and keeps the frame where asked to."""
    fitted = method.estimator(ledger=ledger).set_output(transform="pandas").fit(method.table())
    columns = table()[list(fitted.feature_names_in_)]

    assert list(fitted.release_.selected) == list(fitted.get_feature_names_out())
    assert list(fitted.release_.selected) == list(fitted.transform(columns).columns)
    groups = method.options.get("groups", {}).values()
    total = sum(len(group) - 1 for group in groups if set(group) <= set(fitted.release_.selected))
    assert 2 + total == fitted.get_support().sum()


@estimators
def test_an_array_takes_the_road_of_a_frame(method):
    """An array under a box domain is fitted, and planned again, as a frame is everywhere."""
    X = np.random.default_rng(1).random((ROWS, 6))
    y = X[:, 3] if method.numbers else X[:, 3] > 0.5
    options = {"columns": ["x0", "x3"]} if "columns" in method.options else {}
    # names of the ward are none of an array's
    options |= {wish: None for wish in PLACED if wish in method.options}
    fitted = method.estimator(domain=method.box, **options).fit(X, y)

    assert ("x0", "x1", "x2", "x3", "x4", "x5") == fitted.release_.columns
    assert 6 == fitted.n_features_in_
    assert not hasattr(fitted, "feature_names_in_")
    assert fitted.release_.body["plan"] == fitted.plan(rows=ROWS).json()
    if hasattr(fitted, "transform"):
        assert (ROWS, method.options["n_features_to_select"]) == fitted.transform(X).shape


@estimators
def test_a_table_that_is_fitted_again_is_the_only_one(method):
    """Names of the first table do not stay when an array is fitted after it."""
    fitted = method.estimator().fit(method.table())
    frame = method.table()
    target = frame.pop(method.domain.target.name)
    numbers = ps.Domain([ps.Number(name, 0, 400) for name in frame], target=method.domain.target)
    fitted.set_params(domain=numbers, ledger=None)
    with pytest.warns(fitting.UnsignedWarning):
        fitted.fit(np.nan_to_num(frame.apply(pd.to_numeric, errors="coerce")), target)

    assert not hasattr(fitted, "feature_names_in_")


# the sum


def test_unsigned_releases_are_added_up():
    """The second release that no ledger knows warns, with the sum so far."""
    release = CHARGING[0].estimator(epsilon="0.7")
    release.fit(CHARGING[0].table())

    with pytest.warns(fitting.UnsignedWarning, match=r"2 releases .* epsilon 1\.4 "):
        release.fit(CHARGING[0].table())
    assert release.release_.certificate["ledger"] is None


def test_a_replayed_release_says_so(ledger):
    """Noise that can be repeated leave the ledger out, gets no certificate and says so."""
    release = fitting.fit(plan(), spied(), noise=replay(1))

    assert True is release.body["replayed"]
    assert release.certificate is None
    assert release.selected == fitting.fit(plan(), spied(), noise=replay(1)).selected
    source = spied()
    with pytest.raises(ParameterError, match="leave the ledger out"):
        fitting.fit(plan(), source, ledger=ledger, noise=replay(1))
    assert (0, Fraction(0)) == (source.opened, ledger.spent())
