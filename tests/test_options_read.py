"""Law: an option is read by its field before the charge, in Python as on the command line.

A value of another kind is refused in a sentence; what is charged, `verify` calls valid.
"""

from __future__ import annotations

import json
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import inf, nan

import numpy as np
import pytest

import privsieve as ps
from every_method import ESTIMATORS, POINTS, ROWS, WARD, Method, table
from privsieve import fit as fitting
from privsieve.check.verify import verify
from privsieve.cli import run
from privsieve.errors import DomainError, ParameterError, PrivsieveError
from privsieve.methods import options_of
from privsieve.noise.streams import replay
from privsieve.public.domain import Csv
from privsieve.public.option import abouts
from privsieve.rows import open_source

#: A value of every kind that an option may be given.
ODD = ("no", "yes", "", "x", "2", 0, 1, 2, -1, 0.5, 1.5, None, True, False, np.True_, np.int64(2),
       np.float64(0.5), np.float32(0.25), np.str_("no"), [], ["x"], [1], (), ("x",), {}, {"a": 1},
       nan, inf, b"no", b"2", Decimal("0.5"), Fraction(1, 2), object(), 2j, 10**400, {"x"},
       np.array([1, 2]), np.array(2))
FLAGS = ("ordered", "allow_weak", "target")
WARDS = table()[[*WARD.names, "back"]]
BOX = ps.Domain.box(0.0, 1.0, columns=3)
ZEROS = np.random.default_rng(5).integers(0, 2, (60, 4))


def taken(make):
    """What `make` gives, or None where it refuses in a sentence that names a value."""
    try:
        return make()
    except PrivsieveError as error:
        assert 20 < len(str(error)), error  # noqa: PT017  # a refusal is one of two outcomes
        return None


def settings(plan):
    """What a release says of the plan, as JSON."""
    return json.loads(json.dumps(plan.json()["settings"]))


@pytest.mark.parametrize("method", ESTIMATORS, ids=repr)
def test_an_odd_value_is_refused_or_read(method):
    """Every option, every kind of value: a plan that `verify` would call valid, or a sentence."""
    for name in abouts(options_of(method.name)):
        for value in ODD:
            plan = taken(partial(method.plan, **{name: value}))
            if plan is not None:
                fitting.demand_valid(plan)  # raises where `verify` would refuse the release


@pytest.mark.parametrize("method", ESTIMATORS, ids=repr)
def test_a_text_is_read_as_on_the_command_line(method):
    """A flag's words, NumPy's scalars and the texts of numbers are what they say."""
    known = {field.name: field for field in fields(options_of(method.name))}
    base = dict(method.options)
    for name in set(FLAGS) & set(known):
        for value, read in (("no", False), ("yes", True), (np.False_, False), (np.True_, True)):
            expected = taken(partial(method.plan, **{name: read}))
            actual = taken(partial(method.plan, **{name: value}))

            assert (expected is None) == (actual is None), (name, value)
            assert expected is None or expected.json() == actual.json(), (name, value)
        for value in (1, 0, "", "x", None, [], 1.0, b"no"):
            with pytest.raises(ParameterError, match=f"{name} is .*; write True or False"):
                method.plan(**{name: value})
    for name in {"block", "repeats", "depth", "degree"} & set(known) - set(base):
        assert taken(partial(method.plan, **{name: 3})) is None or settings(
            method.plan(**{name: 3})) == settings(method.plan(**{name: np.int64(3)})) == settings(
            method.plan(**{name: "3"}))


@pytest.mark.parametrize(("options", "message"), [
    ({"ordered": 1}, "ordered is 1; write True or False"),
    ({"ordered": "perhaps"}, "ordered is 'perhaps'; write True or False"),
    ({"depth": True}, 'depth is True; write "1", "2" or "3"'),
    ({"depth": 4}, 'depth is 4; write "1", "2" or "3"'),
    ({"epsilon": 12, "allow_weak": "no"}, "above 10 the promise is weak"),
    ({"epsilon": 12, "allow_weak": 1}, "allow_weak is 1; write True or False"),
    ({"epsilon": True}, "epsilon is True; write a positive decimal number"),
    ({"delta": b"0"}, "delta is b'0'; write a positive decimal number"),
    ({"always": {"a": 1}}, "always is .*; write a list"),
    ({"groups": ["a"]}, "groups is .*; write a mapping"),
    ({"joint": ["pair"]}, 'joint is .*; write "auto"'),
    ({"max_ops": "many"}, "max_ops is 'many'; write a whole number"),
])
def test_nothing_is_charged_for_a_wrong_value(tmp_path, options, message):
    """It is refused before the charge, and before a row is read."""
    ledger = ps.Ledger(str(tmp_path / "budget.db"), population="p")
    ledger.grant(epsilon=20)
    wanted_options = {"epsilon": 1, "domain": WARD, "ledger": ledger, **options}

    with pytest.raises(ParameterError, match=message):
        ps.RuleSieve(2, **wanted_options).fit(WARDS)
    assert 0 == ledger.spent()


def test_no_means_no(tmp_path):
    """`ordered="no"` gives a set, and its release is valid."""
    ledger = ps.Ledger(str(tmp_path / "budget.db"), population="p")
    ledger.grant(epsilon=20)
    model = ps.RuleSieve(2, epsilon=1, ordered="no", domain=WARD, ledger=ledger).fit(WARDS)
    model.release_.save(tmp_path / "out")

    assert model.release_.body["plan"]["settings"]["ordered"] is False
    assert 0 == run(["verify", str(tmp_path / "out")])


@pytest.mark.parametrize("method", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("odd", [{}, {"epsilon": "0.5"}, {"epsilon": np.float32(0.5)},
                                 {"epsilon": 12, "allow_weak": "yes"}, {"ordered": "yes"},
                                 {"delta": np.float64(1e-9)}, {"depth": "2"},
                                 {"repeats": np.int64(2)}, {"target": "no"}],
                         ids="-".join)
def test_what_is_charged_is_valid(method, odd, tmp_path):
    """Whatever is charged, `verify` calls valid."""
    if set(odd) - set(abouts(options_of(method.name))):
        return
    ledger = ps.Ledger(str(tmp_path / "budget.db"), population="p")
    ledger.grant(epsilon=20, delta="1e-6")
    estimator = taken(lambda: method.estimator(ledger=ledger, **odd).fit(method.table()))

    assert (estimator is not None) == (ledger.spent() > 0)
    if estimator is not None:
        release = estimator.release_
        assert () == verify(dict(release.certificate), dict(release.body), ledger=ledger).reasons


@pytest.mark.parametrize(("change", "place"), [
    ({"settings": {"k": True}}, "plan.settings"), ({"theorem": "mine"}, "theorem"),
    ({"warning": "careful"}, "warning"), ({"method": "mine/1"}, "plan.method"),
    ({"forecast": {"seen": "0.3"}}, "forecast"), ({"assumes": ()}, "assumes"),
])
def test_a_plan_is_held_against_the_form_of_its_release(tmp_path, change, place):
    """A plan whose release `verify` would refuse is not charged, from any caller."""
    from dataclasses import replace

    ledger = ps.Ledger(str(tmp_path / "budget.db"), population="p")
    ledger.grant(epsilon=20)
    plan = replace(ps.plan("rule-sieve", WARD, k=2, epsilon=1, rows=ROWS), **change)

    with pytest.raises(ParameterError, match=f"verify would refuse the release .*{place}"):
        fitting.fit(plan, open_source(WARDS), ledger=ledger)
    with pytest.raises(ParameterError, match="nothing was charged"):
        fitting.fit(plan, open_source(WARDS), noise=replay(1))
    assert 0 == ledger.spent()


def _ledger(tmp_path, name, value):
    place = tmp_path / "ledgers"
    place.mkdir(exist_ok=True)
    arguments = {"path": str(place / f"{len(list(place.iterdir()))}.db"), "population": "p"}
    if name == "head" and isinstance(value, str) and value:
        value = str(place / f"head{len(list(place.iterdir()))}")
    ledger = ps.Ledger(**{**arguments, name: value})
    return ledger.population, ledger.request, ledger.head


def _session(_path, name, value):
    options = {"epsilon": 1, "domain": POINTS}
    ask = {key: options.pop(key) for key in ("epsilon",)}
    rows = table()[["age", "stay"]]
    if name in ("epsilon", "allow_weak"):
        ask = {"epsilon": 12, name: value}
    else:
        options[name] = value
    with ps.KernelRidgeSession(rows, table()["cost"], **options) as session:
        return session.plan(rows[:2], **ask).json()


def _estimator(_path, name, value):
    return Method("noisy-top-k", ps.NoisyTopK, {"n_features_to_select": 2}).estimator(
        **{name: value}).fit(WARDS).release_.body


def _published(kind):
    def make(_path, name, value):
        estimator = kind(**{"k": 2, "method": "greedy", name: value})
        return estimator.fit(ZEROS, ZEROS[:, 0]).release_.selected

    return make


def _domain(_path, name, value):
    return ps.Domain(**{"columns": BOX.columns, "target": BOX.target, name: value}).digest()


KINDS = (ps.PublishableColumns,)
#: Every other public option: what makes a thing of it, and what its flags are called.
OTHERS = {
    "ledger": (_ledger, ("head", "request", "population"), ()),
    "session": (_session, ("kernel", "gamma", "lam", "domain", "ledger", "epsilon",
                           "allow_weak"), ("allow_weak",)),
    "estimator": (_estimator, ("domain", "ledger", "max_memory", "n_jobs"), ()),
    "domain": (_domain, ("columns", "target", "csv", "person", "rows_per_person", "neighbours",
                         "rows", "persons", "unit_declared"), ("unit_declared",)),
    "csv": (lambda _path, name, value: Csv(**{name: value}),
            ("delimiter", "decimal", "encoding", "header"), ("header",)),
    "number": (lambda _path, name, value: ps.Number(**{"name": "a", "low": 0, "high": 1,
                                                       name: value}),
               ("low", "high", "near", "scale", "missing", "role", "missing_values"), ()),
    **{kind.__name__: (_published(kind), tuple(set(kind().get_params()) - {"weights"}),
                       ("target_known",)) for kind in KINDS},
}


@pytest.mark.filterwarnings("ignore::privsieve.fit.UnsignedWarning")
@pytest.mark.parametrize("what", OTHERS)
def test_every_other_option_is_refused_or_read(what, tmp_path):
    """Of ledgers, sessions, domains and publications, too: no crash, and a flag is a flag."""
    make, names, flags = OTHERS[what]
    odd = [value for value in ODD if not (isinstance(value, np.ndarray) and what not in KINDS)]
    for name in names:
        for value in odd:
            outcome = taken(partial(make, tmp_path, name, value))
            if name in flags and not isinstance(value, bool | np.bool_ | str):
                assert outcome is None, (name, value)
    for name in set(flags) & set(names) - {"header", "allow_weak"}:
        for text in ("no", "yes"):
            assert make(tmp_path, name, text == "yes")[:1] == make(tmp_path, name, text)[:1]


def test_a_bound_is_a_number():
    """Neither NumPy's True nor bytes are bounds."""
    for value in (np.True_, True, b"2", "2", nan):
        with pytest.raises(DomainError, match="write a finite number"):
            ps.Number("age", 0, value)
    assert 2.0 == ps.Number("age", 0, np.int64(2)).high
