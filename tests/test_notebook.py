"""Laws of a notebook: nouns print what is public of them, k is understood, one fit is one fit."""

from __future__ import annotations

import html.parser
import pickle
import re
import warnings
from copy import deepcopy
from decimal import Decimal

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import privsieve as ps
from every_method import ESTIMATORS
from privsieve.errors import DomainError, ParameterError
from privsieve.public.plan import Cost
from privsieve.release import Release
from privsieve.report.brief import summary
from privsieve.telling.document import DataTable, literal
from privsieve.telling.notebook import MANY
from privsieve.telling.terminal import FEW, lines

HOSTILE = "<img src=x onerror=alert(1)>"
COLUMNS = [ps.Number("age", 0, 110), ps.Number("stay", 1, 365, scale="log"),
           ps.Category("ward", ["A", HOSTILE]), ps.Date("admitted", "2020-01-01", "2024-12-31"),
           *(ps.Flag(f"has {HOSTILE} {at}" + "x" * 60) for at in range(40))]
DOMAIN = ps.Domain(COLUMNS, target=ps.Label("ill", [0, 1]), person="who", rows_per_person=3,
                   persons=500)
BOX = ps.Domain.box(0.0, 1.0)


def table(rows=400):
    """Made-up rows of which one column says the class."""
    X = np.random.default_rng(3).random((rows, 6))
    return X, (X[:, 2] > 0.5).astype(int)


@pytest.fixture
def clinic(tmp_path):
    """A ledger of a clinic with a budget of nine."""
    ledger = ps.Ledger(str(tmp_path / "budget.db"), population="clinic")
    ledger.grant(9)
    return ledger


def fitted(method):
    """An estimator that has met the ward's table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return method.estimator(epsilon=5).fit(method.table())


class Tags(html.parser.HTMLParser):
    """The tags of a text, each closed where it was opened."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen = [], set()
        self.feed(text)
        assert [] == self.open

    def handle_starttag(self, tag, attrs):
        self.open += [tag] * (tag != "wbr")
        self.seen.add(tag)
        assert {name for name, _ in attrs} <= {"style"}

    def handle_endtag(self, tag):
        assert tag == self.open.pop()


def demand_small(thing):
    """A few lines of at most 80 columns, and HTML of nothing but a table."""
    text, page = repr(thing), thing._repr_html_()

    assert len(text.splitlines()) <= 16, text
    assert max(map(len, text.splitlines())) <= 80, text
    assert Tags(page).seen <= {"div", "p", "b", "table", "caption", "thead", "tbody", "tr", "th",
                               "td", "code", "bdi", "wbr"}
    assert not re.search(r"color: *#|color:(?!inherit)|<script|background:(?!none)", page)
    return text


def test_a_domain_shows_its_columns():
    """A domain prints its first columns, their bounds, its target and its unit; names are text."""
    text = demand_small(DOMAIN)

    assert text.startswith("Domain: 44 columns\n")
    assert "one person (column who) with up to 3 rows (replace-one), 500 people" in text
    for words in ("age", "0 to 110", "1 to 365, on a log scale", "2020-01-01 to 2024-12-31",
                  "ill: one of 2: 0, 1",
                  f"… and {len(COLUMNS) - FEW} more"):
        assert words in text
    assert f"… and {len(COLUMNS) - MANY} more" in DOMAIN._repr_html_()
    assert "any number of columns" in demand_small(BOX)


@pytest.mark.parametrize("method", ESTIMATORS, ids=repr)
def test_what_is_shown_is_public(method):
    """A plan, a release and an estimator print their public facts, whatever the method."""
    estimator = fitted(method)
    plan, release = estimator.plan(rows=400), estimator.release_
    text = demand_small(plan)

    assert f"epsilon {plan.cost.text}" in text
    assert plan.method in text
    text = demand_small(release)
    assert f"epsilon {plan.cost.text}" in text
    assert "by a factor of at most " in " ".join(text.split())
    assert demand_small(Release(release.body, None)).count("has no certificate") == 1
    full_text = repr(estimator)
    assert f"released: {release.selected[0]}" in full_text
    assert max(map(len, full_text.splitlines())) <= 80
    bundle = estimator._repr_mimebundle_()
    assert {"text/plain", "text/html"} == bundle.keys()
    assert (full_text, True) == (bundle["text/plain"], release._repr_html_() in bundle["text/html"])
    assert release._repr_html_() in estimator._repr_html_()


@pytest.mark.parametrize(("kind", "options"), [
    (ps.RuleSieve, {"fewer": "auto"}), (ps.FELP, {"n_features_to_select": "positive"})])
def test_what_is_not_settled_is_shown(kind, options):
    """A number of columns that is a word keeps no notebook from showing the estimator."""
    estimator = kind(epsilon=5, domain=BOX, **options)

    assert kind.__name__ in estimator._repr_html_()
    assert "fit" in dir(estimator)


def test_a_release_that_says_nothing_readable_is_shown():
    """A body that no maker wrote is printed by its kind, and raises nothing."""
    for body in ({}, {"kind": "weights", "selected": ["a"], "plan": {}},
                 {"kind": 7, "selected": [1, None]}):
        assert repr(Release(body, None)).startswith("Release: ")


def test_a_ledger_shows_its_account(clinic):
    """What was granted, spent and left; of a ledger that is not there, what to do."""
    text = demand_small(clinic)

    assert "granted 9 spent 0 left 9" in " ".join(text.split())
    clinic.reserve(Cost.of("0.5"), {"unit": "one row of the table", "neighbours": "replace-one"})
    assert "0; 1 charge without a release" in demand_small(clinic)
    gone = ps.Ledger("nowhere/b.db", population="clinic")
    assert "there is no ledger at this path" in demand_small(gone)
    assert "Ledger: clinic" in repr(ps.RuleSieve(1, ledger=gone))


def test_a_publication_shows_its_choice():
    """Columns that may be published are printed with their level."""
    X, y = table()
    model = ps.PublishableColumns(k=5).fit((X > 0.8).astype(int), y)

    assert f"{model.release_.level} rows in the smallest group" in demand_small(model.release_)
    assert "released: " in repr(model)


def test_control_characters_are_not_obeyed():
    """A name cannot move a cursor, nor break a line."""
    text = lines(summary("a\x1b[31mb", [("x\ny", "\x07")], DataTable("", ("c",), [
        [literal("\u202ed")]])), brief=True)

    assert not {"\x1b", "\x07", "\u202e"} & set(text)


# The number of columns.


@pytest.mark.parametrize("method", [estimator for estimator in ESTIMATORS
                                    if "n_features_to_select" in estimator.options], ids=repr)
def test_k_is_understood(method):
    """`k=` is the number of columns, for the constructor, for set_params and for a plan."""
    options = {name: option for name,
               option in method.options.items() if name != "n_features_to_select"}
    first, second = method.kind(k=3, **options), method.kind(n_features_to_select=3, **options)

    assert second.get_params(deep=False).keys() == first.get_params(deep=False).keys()
    assert 3 == first.n_features_to_select == clone(first).n_features_to_select
    assert 2 == first.set_params(k=2).n_features_to_select
    for make in (method.kind, first.set_params):
        with pytest.raises(ParameterError, match="two names of one option"):
            make(k=3, n_features_to_select=4)


def test_a_plan_understands_both_names():
    """`ps.plan` takes the estimators' name, too, and not both."""
    plans = [ps.plan("rule-sieve", DOMAIN, epsilon=1, **{name: 1})
             for name in ("k", "n_features_to_select")]

    assert plans[0].json() == plans[1].json()
    with pytest.raises(ParameterError, match="two names of one option"):
        ps.plan("rule-sieve", DOMAIN, epsilon=1, k=1, n_features_to_select=1)


def test_a_domain_may_be_a_path(tmp_path):
    """The path of a domain file is a domain; what is none, and a ledger's path, is refused."""
    path = tmp_path / "domain.toml"
    ps.Domain.box(0.0, 1.0, columns=6).to_toml(path)
    X, y = table()

    assert ps.RuleSieve(1, epsilon=1, domain=str(path)).fit(X, y).release_.columns[0] == "x0"
    assert 6 == len(ps.RuleSieve(1, epsilon=1).plan(rows=9, domain=path).domain.columns)
    with pytest.raises(DomainError):
        ps.RuleSieve(1, epsilon=1, domain={"a": 1}).fit(X, y)


# One fit.


def test_a_search_does_not_spend_by_default(clinic):
    """Copies are refused before a charge, with the reason and the way out; the original fits."""
    X, y = table()
    sieve = ps.RuleSieve(2, epsilon=1, domain=BOX, ledger=clinic)
    model = make_pipeline(sieve, LogisticRegression())

    with pytest.raises(ValueError, match="this estimator is a copy"):
        cross_val_score(model, X, y)
    with pytest.raises(ValueError, match="Fit the estimator once and search on its"):
        GridSearchCV(sieve, {"depth": [1, 2]}, scoring=lambda *_: 0).fit(X, y)
    for copy in (clone(sieve), clone(clone(sieve)), pickle.loads(pickle.dumps(clone(sieve)))):
        with pytest.raises(ParameterError, match="write allow_copies=True"):
            copy.fit(X, y)
    assert (0, 0) == (clinic.spent(), len(clinic.charges()))
    model.fit(X, y)
    assert 1 == clinic.spent()
    behind = cross_val_score(LogisticRegression(), sieve.transform(X), y)
    assert np.isfinite(behind).all()
    assert (1, 1) == (clinic.spent(), len(clinic.charges()))


def test_copies_fit_where_the_user_says_so(clinic):
    """With allow_copies each fold is a release and is charged; other words are refused."""
    X, y = table()
    sieve = ps.RuleSieve(2, epsilon="0.1", domain=BOX, ledger=clinic, allow_copies=True)

    cross_val_score(make_pipeline(sieve, LogisticRegression()), X, y, cv=3)
    assert (3, Decimal("0.3")) == (len(clinic.charges()), clinic.spent())
    with pytest.raises(ParameterError, match="allow_copies is 'ja'; write True or False"):
        clone(sieve).set_params(allow_copies="ja").fit(X, y)
    with pytest.raises(ParameterError, match="is a copy"):
        clone(sieve).set_params(allow_copies="no").fit(X, y)


@pytest.mark.parametrize("name", ["random_state", "seed"])
def test_a_seed_is_refused_with_the_reason(name):
    """Who knows a seed can subtract the noise: no estimator takes one."""
    with pytest.raises(ParameterError, match="there is no seed"):
        ps.RuleSieve(2, epsilon=1, **{name: 0})
    with pytest.raises(ParameterError, match="there is no seed"):
        ps.NoisyHistogram(epsilon=1).set_params(**{name: 0})


def test_a_ledger_of_a_request_pays_for_one_of_its_copies(clinic):
    """A request that somebody named is paid once by the first caller; the reason is said."""
    X, y = table()
    named = ps.Ledger(clinic.path, population="clinic", request="spring")
    sieve = ps.RuleSieve(2, epsilon=1, domain=BOX, ledger=named, allow_copies=True)

    with pytest.warns(FitFailedWarning, match="request 'spring' was charged before"):
        scores = cross_val_score(make_pipeline(sieve, LogisticRegression()), X, y)
    assert (1, 4) == (clinic.spent(), np.isnan(scores).sum())
    assert deepcopy(named) == named
