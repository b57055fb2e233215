"""Laws: spend, order, silence.  What `fit` promises, whatever the selector."""

from __future__ import annotations

import os
import pickle
import warnings
from fractions import Fraction
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import privsieve as ps
from privsieve import fit as fitting
from privsieve.errors import (
    BudgetExceeded,
    DomainError,
    LedgerError,
    ParameterError,
    ReleaseFailed,
    SchemaError,
)
from privsieve.ledger.folder import Folder
from privsieve.methods import METHODS
from privsieve.noise.streams import replay
from privsieve.rows import open_source, resolve

SELECTORS = [ps.RuleSieve, ps.BlockFWELL, ps.NoisyTopK, ps.OutputFWELL, ps.FELP,
             ps.ObjectiveFWELL, *(
    partial(ps.NoisyTopK, score=name) for name in ("class-counts", "disagreement"))]
#: What a release says beyond what every one does, by its kind.
NUMBERS = {"weights": ("values", "noise")}
ROWS = 400
DOMAIN = ps.Domain(
    [ps.Number("age", 0, 110), ps.Number("stay", 1, 365, scale="log"), ps.Flag("smoker"),
     ps.Category("ward", ["A", "B"])],
    target=ps.Label("back", [0, 1]))
SECRET = "Zebedee"


def table(rows=ROWS):
    """A made-up ward whose readmissions depend on the age."""
    rng = np.random.default_rng(7)
    age = rng.integers(18, 95, rows)
    return pd.DataFrame({
        "age": age, "stay": rng.gamma(2, 5, rows) + 1, "smoker": rng.integers(0, 2, rows),
        "ward": rng.choice(["A", "B", "C"], rows), "back": (age > 60).astype(int)})


@pytest.mark.parametrize("method", METHODS)
def test_a_plan_names_the_option_that_is_wrong(method):
    """An option that no method knows, or the lack of epsilon, is said with the method's name."""
    with pytest.raises(ParameterError, match=f"colour is no option of {method}; it takes: "):
        ps.plan(method, DOMAIN, epsilon=1, colour="red")
    with pytest.raises(ParameterError, match=f"is missing, and {method} needs it"):
        ps.plan(method, DOMAIN)


class Spy:
    """A source that notes when its body is opened, and does then what it is told."""

    def __init__(self, source, then=None):
        self._source, self._then, self.opened = source, then, 0

    def shape(self, **options):
        return self._source.shape(**options)

    def raw(self, *where):
        self.opened += 1
        if self._then is not None:
            self._then()
        return self._source.raw(*where)

    def __getattr__(self, name):
        return getattr(self._source, name)


def spied(then=None, frame=None):
    """A plan-ready source."""
    return Spy(open_source(table() if frame is None else frame, csv=DOMAIN.csv), then)


def plan(**options):
    """A plan for the table above."""
    return ps.plan("rule-sieve", DOMAIN, **{"k": 2, "epsilon": 1, "rows": ROWS, **options})


@pytest.fixture
def ledger(tmp_path):
    """Three epsilon for one population."""
    made = ps.Ledger(str(tmp_path / "budget.db"), population="clinic")
    made.grant(epsilon=3)
    return made


def selector(kind, **options):
    """A selector of two columns."""
    return kind(**{"n_features_to_select": 2, "epsilon": 1, "domain": DOMAIN, **options})


# spend


def test_a_refused_spend_reads_no_row(tmp_path):
    """Where the budget does not cover the cost, the body of the table is never opened."""
    ledger = ps.Ledger(str(tmp_path / "small.db"), population="clinic")
    ledger.grant(epsilon="0.5")
    source = spied()

    with pytest.raises(BudgetExceeded, match=r"clinic: 1 asked, 0\.5 left"):
        fitting.fit(plan(), source, ledger=ledger)
    assert (0, Fraction(0)) == (source.opened, ledger.spent())


def test_an_unknown_population_reads_no_row(tmp_path):
    """Without a grant there is nothing to spend, and nothing is read."""
    source = spied()

    with pytest.raises(LedgerError, match="grant"):
        fitting.fit(plan(), source, ledger=ps.Ledger(str(tmp_path / "no.db"), population="x"))
    assert 0 == source.opened


@pytest.mark.parametrize("kind", SELECTORS)
@pytest.mark.parametrize(("wrong", "error"), [
    ({"n_features_to_select": 0}, ParameterError),
    ({"n_features_to_select": 5}, ParameterError),
    ({"n_features_to_select": 1.5}, ParameterError),
    ({"n_features_to_select": True}, ParameterError),
    ({"epsilon": None}, ParameterError),
    ({"epsilon": 0}, ParameterError),
    ({"epsilon": -1}, ParameterError),
    ({"epsilon": float("nan")}, ParameterError),
    ({"epsilon": 11}, ParameterError),
    ({"epsilon": "0.1234567891"}, ParameterError),
    ({"domain": None}, DomainError),
    ({"domain": ps.Domain([ps.Number("age", 0, 110)], target=ps.Label("back", [0, 1]))},
     SchemaError),
], ids=str)
def test_a_wrong_parameter_reads_no_row(monkeypatch, ledger, kind, wrong, error):
    """What is wrong and public is refused before the charge, and nothing is read."""
    source = spied()
    monkeypatch.setattr("privsieve.rows.open_source", lambda *_a, **_k: source)

    with pytest.raises(error):
        selector(kind, ledger=ledger, **wrong).fit(table())
    assert (0, Fraction(0)) == (source.opened, ledger.spent())


def test_all_columns_cost_nothing(ledger):
    """To choose all columns tells nothing: no charge, and no row is read."""
    source = spied()

    release = fitting.fit(plan(k=4), source, ledger=ledger)

    assert DOMAIN.names == release.selected
    assert (0, Fraction(0)) == (source.opened, ledger.spent())


# order


def test_the_charge_is_durable_before_the_first_row(ledger):
    """When the body is opened, another connection already sees the charge."""
    seen = []
    source = spied(lambda: seen.append(ps.Ledger(ledger.path, population="clinic").spent()))

    fitting.fit(plan(), source, ledger=ledger)

    assert [Fraction(1)] == seen
    assert 1 == source.opened


@pytest.mark.parametrize("fault", [RuntimeError, MemoryError, KeyboardInterrupt, AssertionError])
def test_a_fault_after_the_charge_has_one_text(ledger, fault):
    """Whatever fails after the charge: it stays charged, and the error hides its cause."""
    def fail():
        raise fault(SECRET)

    with pytest.raises(ReleaseFailed) as caught:
        fitting.fit(plan(), spied(fail), ledger=ledger)
    assert "release failed; the budget is charged" == str(caught.value)
    assert (None, None) == (caught.value.__cause__, caught.value.__context__)
    assert Fraction(1) == ledger.spent()
    assert 1 == len(ledger.orphans())


@pytest.mark.parametrize("allowed", [0, 1, 2])
def test_without_entropy_nothing_leaves_and_the_charge_stays(tmp_path, ledger, monkeypatch,
                                                             allowed):
    """If the system runs out of random bits, early or late, there is no output and no refund."""
    source, made, urandom, asked = spied(), plan(), os.urandom, []

    def broken(count):
        asked.append(count)
        if len(asked) > allowed:
            raise OSError(5, "no entropy")
        return urandom(count)

    with Folder.create(tmp_path / "out") as folder, monkeypatch.context() as patch:
        # Only where noise comes from: the ledger draws its request number before the charge.
        patch.setattr("privsieve.noise.streams.os", SimpleNamespace(urandom=broken))
        with pytest.raises(ReleaseFailed) as caught:
            fitting.fit(made, source, ledger=ledger, folder=folder)

    assert "release failed; the budget is charged" == str(caught.value)
    assert len(asked) == allowed + 1
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


def odd():
    """A body with everything that a body should not hold."""
    frame = table()
    cells = {
        "age": [SECRET, float("inf"), 10**400, None, "\0", 1 + 2j],
        "stay": [-1, [SECRET], float("nan"), "1,5", object()],
        "smoker": [{"a": SECRET}, "perhaps", None, 7],
        "ward": [SECRET * 1000, None, 3, ("A",)],
        "back": [SECRET, float("nan"), None, "1 "],
    }
    return pd.DataFrame({
        name: pd.Series([*odd, *frame[name][len(odd):]], dtype=object)
        for name, odd in cells.items()})


def one_class():
    """A body of constants."""
    return pd.DataFrame({name: ["0"] * ROWS for name in (*DOMAIN.names, "back")})


@pytest.mark.parametrize("kind", SELECTORS)
@pytest.mark.parametrize("make", [odd, one_class], ids=lambda make: make.__name__)
def test_odd_rows_are_silent(kind, make, ledger, caplog, capfd):
    """Odd rows raise nothing, warn of nothing, print nothing and log nothing."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        fitted = selector(kind, ledger=ledger).fit(make())

    assert 2 == len(fitted.release_.selected)
    assert [] == warned
    assert [] == caplog.records
    assert ("", "") == tuple(capfd.readouterr())
    assert SECRET not in repr(vars(fitted))


@pytest.mark.parametrize("body", [
    "", "\n\n", "1,2,3\n", '"age,"",\n' * 9, "\0,\0,\0,\0,\0\n", "é" * 70_000 + "\n",
    f"{SECRET},{SECRET},{SECRET},{SECRET},{SECRET}\n" * 3,
], ids=["none", "blank", "ragged", "quotes", "nul", "long", "text"])
def test_odd_lines_are_silent(tmp_path, body, ledger, caplog, capfd):
    """The same for a CSV file, whose body may be no table at all."""
    path = tmp_path / "t.csv"
    path.write_text("age,stay,smoker,ward,back\n" + body, encoding="utf-8")
    source = open_source(path, csv=DOMAIN.csv)
    domain = resolve(DOMAIN, source.shape(count_rows=True), strict=True)

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        made = ps.plan("rule-sieve", domain, k=2, epsilon=1, rows=50)
        release = fitting.fit(made, source, ledger=ledger)

    assert 2 == len(release.selected)
    assert [] == warned
    assert [] == caplog.records
    assert ("", "") == tuple(capfd.readouterr())


@pytest.mark.parametrize("kind", SELECTORS)
def test_a_fitted_selector_holds_its_release_only(kind, ledger):
    """After `fit` there are the parameters, the columns' names and number, and the release."""
    made = selector(kind, ledger=ledger)
    parameters = set(made.get_params(deep=False))

    made.fit(table())

    assert parameters | {"n_features_in_", "feature_names_in_", "release_"} == set(vars(made))
    assert {"format", "kind", "private", "columns", "domain", "selected", "forecast", "plan",
            "warning", *NUMBERS.get(made.release_.body["kind"], ())} == set(made.release_.body)


@pytest.mark.parametrize("kind", SELECTORS)
def test_a_selector_is_a_scikit_learn_transformer(kind, ledger):
    """It clones, pickles, transforms, names its columns and keeps the frame where asked to."""
    made = selector(kind, ledger=ledger).set_output(transform="pandas").fit(table())

    again = pickle.loads(pickle.dumps(made))
    fresh = clone(made)
    columns = table()[list(made.feature_names_in_)]

    assert made.release_ == again.release_
    assert not hasattr(fresh, "release_")
    assert made.get_params() == fresh.get_params()
    assert list(made.release_.selected) == list(made.get_feature_names_out())
    assert list(made.release_.selected) == list(made.transform(columns).columns)
    assert 2 == made.get_support().sum()


@pytest.mark.parametrize("kind", SELECTORS)
def test_arrays_and_frames_take_the_same_road(kind):
    """An array under a box domain is fitted and transformed as arrays are everywhere."""
    rng = np.random.default_rng(1)
    X = rng.random((ROWS, 6))
    made = selector(kind, domain=ps.Domain.box(0.0, 1.0)).fit(X, X[:, 3] > 0.5)

    assert ("x0", "x1", "x2", "x3", "x4", "x5") == made.release_.columns
    assert (ROWS, 2) == made.transform(X).shape
    assert 6 == made.n_features_in_


# the sum


def test_unsigned_releases_are_added_up():
    """The second release that no ledger knows warns, with the sum so far."""
    made = selector(ps.RuleSieve, epsilon="0.7")
    made.fit(table())

    with pytest.warns(fitting.UnsignedWarning, match=r"2 releases .* epsilon 1\.4 "):
        made.fit(table())
    assert made.release_.certificate["ledger"] is None


def test_a_replayed_release_is_not_private(ledger):
    """Noise that can be repeated takes no ledger, gets no certificate and says so."""
    release = fitting.fit(plan(), spied(), noise=replay(1))

    assert False is release.body["private"]
    assert release.certificate is None
    assert release.selected == fitting.fit(plan(), spied(), noise=replay(1)).selected
    source = spied()
    with pytest.raises(ParameterError, match="takes no ledger"):
        fitting.fit(plan(), source, ledger=ledger, noise=replay(1))
    assert (0, Fraction(0)) == (source.opened, ledger.spent())


def test_the_choice_finds_a_strong_signal():
    """With little noise the column that decides the label is chosen: the laws hold of a method."""
    release = fitting.fit(plan(epsilon=10, k=1), spied(), noise=replay(3))

    assert ("age",) == release.selected


def test_save_writes_what_fit_made(tmp_path):
    """`release_.save` makes a new folder that `load` reads back, and overwrites nothing."""
    made = selector(ps.RuleSieve).fit(table())
    made.release_.save(tmp_path / "out")

    assert made.release_ == ps.load(tmp_path / "out")
    assert 3 == len(list((tmp_path / "out").iterdir()))
    with pytest.raises(ParameterError, match="exists"):
        made.release_.save(tmp_path / "out")
