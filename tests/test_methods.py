"""Law: what a method finds, for rows and persons, and what it refuses before it reads a row.

Of all that name columns by votes, scores or weights; laws of any method are in `test_laws.py`.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import privsieve as ps
from every_method import ESTIMATORS, ROWS
from privsieve.errors import DomainError, ParameterError, SchemaError
from privsieve.fit import fit
from privsieve.ledger.ledger import Ledger
from privsieve.methods import plan
from privsieve.methods.worst import CORNERS
from privsieve.noise.streams import replay
from privsieve.rows import open_source, resolve

BOX = ps.Domain.box(0, 1, columns=12)
#: The same, with a number to go with.
NUMBER = ps.Domain(BOX.columns, target=ps.Number("y", 0, 1))
WIDE = ps.Domain.box(0, 1, columns=60)
RACES = ("rule-sieve", "noisy-top-k", "block-fwell")
WEIGHTS = ("output-fwell", "felp", "objective-fwell")
METHODS = (*RACES, *WEIGHTS)


def planned(method, domain=BOX, **options):
    """A plan of three columns."""
    return plan(method, domain, **{"k": 3, "epsilon": 1, "rows": 3000, **options})


def choose(method, X, y, domain=BOX, *, seed=5, **options):
    """What one release with a repeatable noise says."""
    source = open_source(X, y)
    domain = resolve(domain, source.shape(count_rows=domain.rows_are_public))
    plan = planned(method, domain, **{"rows": len(X), **options})
    return fit(plan, source, noise=replay(seed))


def strong(n=3000):
    """Three columns of twelve that show the class."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, n)
    X = rng.random((n, 12))
    for j in (2, 5, 9):
        X[:, j] = np.clip(0.3 * y + 0.7 * X[:, j], 0, 1)
    return X, y


def coming(rows, domain=BOX):
    """The same domain where rows come and go."""
    return ps.Domain(domain.columns, target=domain.target, neighbours="add-remove", rows=rows)


@pytest.mark.parametrize(("method", "options"), [
    *(("rule-sieve", {"epsilon": 2, **options}) for options in (
        {}, {"class_prior": None}, {"class_prior": 0.5}, {"class_prior": ["0.5", "0.5"]},
        {"depth": 1}, {"depth": 2}, {"joint": "pair"}, {"joint": "rounds"}, {"max_ops": 10_000},
        {"class_prior": "centred"}, {"class_prior": "unbalanced"})),
    ("noisy-top-k", {}), ("noisy-top-k", {"score": "class-counts"}),
    ("noisy-top-k", {"score": "correlation", "domain": NUMBER}), ("noisy-top-k", {"ordered": True}),
    ("block-fwell", {}), ("block-fwell", {"votes": "clip"}),
    ("block-fwell", {"votes": "clip", "tau": "0.5"}), ("block-fwell", {"block": 12}),
    ("block-fwell", {"repeats": 1, "ordered": True}),
    ("output-fwell", {"block": 3}), ("output-fwell", {"repeats": 1}),
    ("output-fwell", {"lam": "0.01"}), ("output-fwell", {"clip": "0.1"}),
    ("output-fwell", {"delta": "1e-6"}), ("felp", {}), ("felp", {"repeats": 3, "beta": "0.5"}),
    ("felp", {"beta": 1}), ("objective-fwell", {}), ("objective-fwell", {"block": 3}),
    ("objective-fwell", {"repeats": 4, "lam": "0.03", "clip": "0.4"}),
], ids=str)
def test_each_option_finds_strong_columns(method, options):
    """Whatever the options, three strong columns of twelve are found."""
    choice = choose(method, *strong(6000), **{"epsilon": 10, **options})

    assert {"x2", "x5", "x9"} == set(choice.selected)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_persons_end_to_end(method, neighbours):
    """Persons count with all their rows, in both relations; ids and labels may be texts."""
    X, y = strong(6000)
    names = [f"x{j}" for j in range(12)]
    frame = pd.DataFrame(X, columns=names).assign(
        who=[f"p{i % 1700}" for i in range(len(X))], y=np.where(y, "ill", "well"))
    domain = ps.Domain([ps.Number(name, 0, 1) for name in names], person="who", persons=1600,
                       target=ps.Label("y", ["well", "ill"]), neighbours=neighbours)

    assert {"x2", "x5", "x9"} == set(choose(method, frame, None, domain, epsilon=10).selected)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("declared", [1000, 20_000])
def test_add_remove_needs_no_number_of_rows(method, declared):
    """Under add-remove a declared figure that is far off does no harm but to the noise."""
    choice = choose(method, *strong(6000), coming(declared), epsilon=10)

    assert {"x2", "x5", "x9"} == set(choice.selected)


@pytest.mark.parametrize(("method", "neighbours"), [
    (method, neighbours) for method in ESTIMATORS for neighbours in ("replace-one", "add-remove")
    if (method.options.get("numeric"), neighbours) != ("ranks", "add-remove")], ids=repr)
def test_a_table_without_rows_gets_an_answer(method, neighbours, ledger, caplog, capfd, recwarn):
    """What was declared and is not there raises nothing, warns of nothing, and prints nothing."""
    ledger = Ledger(ledger.path, population="comes and goes")
    ledger.grant(1, neighbours=neighbours, unit="row")
    options = {"rows": ROWS} if neighbours == "add-remove" else {}
    domain = replace(method.domain, neighbours=neighbours, **options)
    planned = method.estimator(domain=domain).plan(rows=ROWS)
    release = fit(planned, open_source(method.table(0)), ledger=ledger)

    assert set(release.selected) <= set(domain.names)
    assert ([], [], ("", "")) == (list(recwarn), caplog.records, tuple(capfd.readouterr()))


@pytest.mark.parametrize("method", RACES)
def test_a_race_leaves_out_the_fewer(method):
    """K above d/2 leaves out the weakest, with the noise of one; K = d is free, but in order."""
    X, y = strong(6000)
    domain = ps.Domain.box(0, 1, columns=4)
    free, ordered = planned(method, k=12), planned(method, k=12, ordered=True)

    assert ("x0", "x1", "x2") == choose(method, X[:, [2, 5, 9, 0]], y, domain).selected
    assert planned(method, domain).noise.amount == planned(method, domain, k=1).noise.amount
    assert ("0", "1", None) == (free.cost.text, ordered.cost.text, free.warning)


@pytest.mark.parametrize("method", METHODS[2:])
def test_a_hopeless_plan_says_so(method):
    """What is mostly noise is said before the charge, with the epsilon that would do."""
    warning = planned(method, epsilon="0.01", rows=600).warning
    enough = re.search(r"epsilon of about ([\d.]+)", warning)[1]

    assert planned(method, rows=600, epsilon=enough, allow_weak=True).warning is None
    assert planned(method, rows=60_000).warning is None


@pytest.mark.parametrize(("method", "options", "word"), [
    *(("rule-sieve", options, word) for options, word in (
        ({"class_prior": 0}, "class_prior"), ({"class_prior": 1}, "class_prior"),
        ({"class_prior": float("nan")}, "class_prior"), ({"class_prior": "even"}, "class_prior"),
        ({"class_prior": [0.2, 0.2]}, "add up"), ({"class_prior": [1, 2, 3]}, "shares"),
        ({"depth": 4}, "depth"), ({"joint": "pair", "ordered": True}, "joint"),
        ({"k": 1, "joint": "pair"}, "joint"), ({"rows": 1}, "rows"), ({"rows": 0}, "rows"))),
    ("magic", {}, "choose one of"),
    ("noisy-top-k", {"score": "chi-square"}, 'write "mean-difference"'),
    ("noisy-top-k", {"score": 3}, 'write "mean'),
    ("noisy-top-k", {"mechanism": "laplace"}, "Laplace noise of a choice was removed"),
    ("noisy-top-k", {"score": "disagreement"}, "were removed: write score"),
    ("noisy-top-k", {"class_prior": 0}, "class_prior"),
    ("noisy-top-k", {"class_prior": "even"}, "class_prior"),
    ("noisy-top-k", {"class_prior": [0.2, 0.2]}, "add up"),
    ("noisy-top-k", {"class_prior": [1, 2, 3]}, "class_prior"),
    ("noisy-top-k", {"rows": 1}, "at least 2"), ("noisy-top-k", {"k": 13}, "13 columns"),
    ("block-fwell", {"block": 2}, "block"), ("block-fwell", {"block": 65}, "block"),
    ("block-fwell", {"block": 6.0}, "block"), ("block-fwell", {"repeats": 1001}, "repeats"),
    ("block-fwell", {"votes": "mean"}, "votes"),
    *(("block-fwell", {"votes": "clip", "tau": tau}, "tau") for tau in (0, 2, "much")),
    ("block-fwell", {"rows": 11}, "at least 12"),
    ("block-fwell", {"rows": 9, "block": 5}, "at least 10"),
    *((method, options, word) for method in WEIGHTS for options, word in (
        ({"k": 0}, "columns"), ({"k": "all"}, "positive"), ({"lam": "1e-7"}, "lam is 1e-7"),
        ({"clip": 0}, "clip"), ({"clip": 4}, "no vector is longer"), ({"block": 2}, "block"),
        ({"rows": 11}, "at least 12"), ({"repeats": 0}, "repeats"))),
    ("output-fwell", {"epsilon": "1e-9", "domain": WIDE}, "grid"),
    ("output-fwell", {"rows": 10**9, "repeats": 1000}, "fewer repeats"),
    ("output-fwell", {"reference": CORNERS, "domain": ps.Domain.box(0, 1, columns=2), "k": 1,
                      "repeats": 2}, "no blocks"),
    ("felp", {"beta": 0}, "beta"), ("felp", {"beta": "1.1"}, "beta"),
    ("felp", {"beta": "0.123456789"}, "few"), ("felp", {"beta": "0.01", "rows": 300}, "too few"),
    ("felp", {"sampling": "bootstrap"}, "with replacement was removed"),
    ("objective-fwell", {"epsilon": "1e-9", "rows": 12}, "need a ridge above"),
], ids=str)
def test_public_mistakes_are_refused(method, options, word):
    """Each names the option and the way out."""
    with pytest.raises(ParameterError, match=word):
        planned(method, **options)


@pytest.mark.parametrize(("method", "domain"), [
    *((method, domain) for method in METHODS for domain in (
        ps.Domain.box(0, 1), ps.Domain(BOX.columns),
        ps.Domain(BOX.columns, target=BOX.target, person="who"))),
    *((method, NUMBER) for method in METHODS[1:]),
    ("rule-sieve", ps.Domain.box(0, 1, target=(0, 9)))])
def test_a_domain_that_lacks_a_fact_is_refused(method, domain):
    """No width, no classes, no number of persons: the message says what to write."""
    with pytest.raises(DomainError, match=r"columns=30|classes|persons|class-counts"):
        planned(method, domain, k=1)


@pytest.mark.parametrize("method", METHODS[2:])
def test_a_reference_is_part_of_the_plan(method):
    """Its digest is in the settings, and it needs no blocks; what is wrong with it is said."""
    X, y = strong(40)
    first, two = planned(method, reference=(X, y)), planned(method, reference=(X[1:], y[1:]))

    assert 64 == len(first.settings["reference"])
    assert first.settings["reference"] != two.settings["reference"]
    assert first.settings["block"] is None
    for known, error, word in (
            ((np.zeros((3, 12)), [0, 0, 0]), ParameterError, "3 rows of 1 classes"),
            ((np.zeros((3, 5)), [0, 1, 0]), SchemaError, "5 columns"),
            (np.zeros((3, 12)), SchemaError, "y is None")):
        with pytest.raises(error, match=word):
            planned(method, reference=known)


@pytest.mark.parametrize("method", METHODS[2:])
def test_a_reference_may_be_a_frame_for_persons(method):
    """A frame that holds the target serves; a column for the person is not needed."""
    X, y = strong(1200)
    names = [f"x{j}" for j in range(12)]
    domain = ps.Domain([ps.Number(name, 0, 1) for name in names], target=ps.Label("y", [0, 1]),
                       person="who", persons=500)
    known = pd.DataFrame(X[:100], columns=names).assign(y=y[:100])
    frame = pd.DataFrame(X[100:], columns=names).assign(
        y=y[100:], who=[f"p{i % 550}" for i in range(1100)])

    assert {"x2", "x5", "x9"} == set(
        choose(method, frame, None, domain, epsilon=5, reference=known).selected)


@pytest.mark.parametrize(("method", "epsilon"), [
    ("block-fwell", "0.15"), ("output-fwell", "0.4"), ("felp", "0.4")])
def test_public_rows_need_less_epsilon(method, epsilon):
    """With public rows to look into, each row has a vote, or a vector: less epsilon is enough."""
    X, y = strong()
    mine, known = (X[60:], y[60:]), {"reference": (X[:60], y[:60])}
    alone, helped = (sum({"x2", "x5", "x9"} == set(
        choose(method, *mine, seed=seed, epsilon=epsilon, **options).selected)
        for seed in range(10)) for options in ({}, known))

    assert helped >= 8
    assert helped > alone


@pytest.mark.parametrize(("method", "few", "many"), [
    ("noisy-top-k", {"k": 2}, {"k": 30}), ("output-fwell", {"domain": BOX}, {}),
    ("felp", {"domain": BOX}, {}),
    ("kernel-ridge", {"domain": NUMBER, "kernel": "linear", "k": None},
     {"domain": NUMBER, "k": None})])
def test_a_delta_is_spent_where_it_helps_and_only_there(method, few, many):
    """Many numbers: less noise for a delta that is charged; few of them: no delta is charged."""
    known = {"k": 3, "epsilon": 1, "rows": 5000, "domain": ps.Domain.box(0, 1, columns=200)}

    def choose_plan(options, delta):
        request = {**known, **options, "delta": delta}
        return plan(method, **{name: option for name,
                               option in request.items() if option is not None})

    assert [0, 10**6] == [choose_plan(count, "1e-6").cost.delta * 10**12 for count in (few, many)]
    assert choose_plan(many, "1e-6").noise < choose_plan(many, 0).noise
    with pytest.raises(ParameterError, match="delta"):
        choose_plan(many, "0.001")
