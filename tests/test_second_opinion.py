"""Law: what a plan decides, code that shares nothing with the methods works out the same."""

from __future__ import annotations

import copy
import warnings
from fractions import Fraction

import pytest

import privsieve as ps
from every_method import CHARGING, COSTS, ESTIMATORS, POINTS, WARD, Method, Session, table
from privsieve.errors import DomainError, ParameterError
from privsieve.public.plan import terms
from second_opinion.recount import release_reasons, rho_holds

#: Options that change what a plan decides, by method; each is tried where the method takes it.
OPTIONS = (
    {}, {"delta": "1e-6"}, {"epsilon": "0.3"}, {"epsilon": 8}, {"ordered": True},
    {"class_prior": "centred"}, {"class_prior": None}, {"class_prior": ["0.3", "0.7"]},
    {"depth": 1}, {"joint": "none"}, {"joint": "pair"}, {"fewer": "auto"},
    {"numeric": "median-cut"}, {"block": 4}, {"repeats": 3}, {"votes": "clip", "tau": "0.1"},
    {"score": "class-counts"}, {"lam": "0.01"}, {"clip": "0.2"}, {"beta": "0.5"},
    {"kernel": "cosine", "degree": 2}, {"kernel": "cosine"}, {"gamma": "0.5", "kernel": "rbf"},
    {"bins": 3}, {"target": False}, {"share": "0.25"}, {"always": ["age"]}, {"never": ["stay"]},
    {"groups": {"who": ["age", "smoker"]}})
#: What protects somebody else than a row that is replaced.
UNITS = ({"neighbours": "add-remove", "rows": 400}, {"person": "who", "persons": 90,
                                                     "rows_per_person": 3})


def released(method, options=None, extra_options=None):
    """What a release says and claims; None where the method does not take the options."""
    rows = table()
    rows["who"] = [f"p{at % 80}" for at in range(len(rows))]
    domain = ps.Domain(method.domain.columns, target=method.domain.target, **(extra_options or {}))
    names = [*domain.names, domain.target.name,
             *(["who"] if extra_options and "person" in extra_options else [])]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator = method.estimator(domain=domain, **(options or {})).fit(rows[names])
    except (ParameterError, DomainError, TypeError):
        return None
    return estimator.release_


@pytest.mark.parametrize("method", CHARGING, ids=repr)
def test_the_second_opinion_agrees(method):
    """Noise, cost, grid, axes, forecast and warning are the recounted ones, for every option."""
    agreed = 0
    for options, unit in [*((option, None) for option in OPTIONS), *(({}, unit) for unit in UNITS)]:
        release = released(method, options, unit)
        if release is not None:
            agreed += 1
            claim = release.certificate["claim"]
            assert [] == [*release_reasons(release.body, claim)], (options, unit)

    assert agreed > (0 if method.kind is Session else 3)


@pytest.mark.parametrize("method", [estimator for estimator in ESTIMATORS
                                    if estimator.kind is not ps.RuleSieve
                                    or "joint" not in estimator.options], ids=repr)
def test_the_second_opinion_knows_rho(method):
    """What is spent under zCDP is what the noise says, pure or with a delta."""
    for delta in (0, "1e-6"):
        plan = method.plan(**({"delta": delta} if delta and hasattr(method.kind, "delta") else {}))
        units = plan.cost.rho_units
        rho = None if units is None else Fraction(units, 10**12)

        assert rho_holds(rho, terms(plan, {})["claim"], plan.settings), delta
        assert not rho_holds(None if rho is None else rho / 3, terms(plan, {})["claim"],
                             plan.settings) or rho is None


@pytest.mark.parametrize(("method", "path", "value"), [
    (Method("output-fwell", ps.OutputFWELL, {"n_features_to_select": 2}), ("noise", "each"), "1.5"),
    (Method("output-fwell", ps.OutputFWELL, {"n_features_to_select": 2}),
     ("plan", "settings", "vectors"), 7),
    (Method("kernel-ridge", ps.PrivateKernelRidge, {"kernel": "linear"}, COSTS),
     ("values", "exponent"), -3),
    (Method("noisy-histogram", ps.NoisyHistogram, {"columns": ["age"]}), ("cells", "shape"),
     [3, 2]),
    (Method("rule-sieve", ps.RuleSieve, {"n_features_to_select": 2}),
     ("forecast", "guessing_percent"), 7),
    (Method("kernel-ridge-session", Session, domain=POINTS), ("answers",), ["1.0"] * 3),
    (Method("block-fwell", ps.BlockFWELL, {"n_features_to_select": 2}),
     ("plan", "settings", "block"), None)], ids=repr)
def test_the_second_opinion_can_differ(method, path, value):
    """It is no echo: another figure has a reason."""
    release = released(method)
    body = copy.deepcopy(dict(release.body))
    inside = body
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = value

    assert [*release_reasons(body, release.certificate["claim"])]


def test_the_ward_is_read():
    """The tables of this file reach the methods: no case is passed over for want of a table."""
    assert all(released(method) is not None for method in CHARGING)
    assert WARD.target is not None
