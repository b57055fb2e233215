"""Laws of what a choice is among: always, never, and groups."""

from __future__ import annotations

import copy
import json
import math
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest

import privsieve as ps
import tables
from exact import geometric_order, set_law
from privsieve.check import replan
from privsieve.check.verify import verify
from privsieve.errors import ParameterError
from privsieve.fit import fit
from privsieve.methods import plan
from privsieve.methods.choosing import Choosing, Places, among
from privsieve.methods.rule_sieve import weighed
from privsieve.noise import race as race_module
from privsieve.noise.streams import Noise, replay
from privsieve.rows import open_source
from privsieve.summaries.layout import Layout
from privsieve.summaries.pairs import pair_scores
from refitted import refit

FIVE = ps.Domain.box(0, 1, columns=5)
WARD = ps.Domain(
    [ps.Number("age", 0, 110), ps.Category("street", ["A", "B"]), ps.Flag("zip"),
     ps.Number("mri", 0, 9), ps.Flag("smoker")], target=ps.Label("ill", [0, 1]))

# every small table


def handed(planned, batch, released=()):
    """What the race of a plan is handed for a table: scores and terms."""
    caught, known = [], race_module.top_k
    race_module.top_k = lambda scores, race, _noise: caught.append((tuple(scores), race)) or (
        tuple(range(race.k)))
    try:
        planned.mechanism(planned.summarise([batch], 1), replay(1))
    finally:
        race_module.top_k = known
    [caught_one] = caught
    return caught_one


PLAIN = {"epsilon": 1, "rows": 3, "class_prior": None}
SMALL_TABLES = {
    "a group of rules": ("rule-sieve", {"depth": 1, "k": 1, "groups": {"g": ["x0", "x1"]}}),
    "a group of counts": ("noisy-top-k", {"score": "class-counts", "k": 1,
                                          "groups": {"g": ["x0", "x2"]}}),
    "always": ("rule-sieve", {"depth": 2, "k": 2, "always": ["x1"]}),
    "always in a set": ("rule-sieve", {"depth": 1, "k": 2, "always": ["x1"], "joint": "pair"}),
}


@pytest.mark.parametrize("name", SMALL_TABLES)
def test_every_small_table_keeps_the_claim(name):
    """All tables of three rows and three flags, all neighbours: no score moves beyond the race.

    So no answer is more than e times likelier, by the exact law of the race; some come near it.
    """
    method, options = SMALL_TABLES[name]
    planned = plan(method, tables.domain("fff"), **PLAIN, **options)
    records = list(product((0, 1), repeat=4))
    held = {}
    for table in combinations_with_replacement(range(len(records)), 3):
        rows = [records[r] for r in table]
        held[table] = handed(planned, tables.batch([row[:3] for row in rows],
                                                   [row[3] for row in rows]))
    race = held[0, 0, 0][1]
    law = {scores: set_law(scores, race.k, float(race.scale), geometric_order)
           for scores, _ in held.values()}
    moved = worst = 0.0
    for table, (scores, terms) in held.items():
        assert terms == race
        for i, r in product(range(3), range(16)):
            others = held[tuple(sorted((*table[:i], r, *table[i + 1:])))][0]
            moved = max(moved, *(abs(a - b) for a, b in zip(scores, others, strict=True)))
            worst = max(worst, *(abs(math.log(law[scores][score_law] / law[others][score_law]))
                                 for score_law in law[scores]))

    assert race.sensitivity <= 2 * moved <= 2 * race.sensitivity
    assert 0.3 < worst <= 1 + 1e-9


def test_the_sum_of_a_group_would_be_seen(monkeypatch):
    """A group that scores the sum of its columns moves beyond the race: the search says so."""
    monkeypatch.setattr(Places, "scores", lambda places, scores: [
        sum(scores[j] for j in item) for item in places.items])
    with pytest.raises(AssertionError):
        test_every_small_table_keeps_the_claim("a group of counts")


# what comes out


def clear(rows=3000, columns=8):
    """A class that two columns tell together, and a flag that a third one tells."""
    X = np.random.default_rng(3).random((rows, columns))
    X[:, 7] = (X[:, 6] > 0.5)
    return X, (X[:, 1] + X[:, 4] > 1).astype(int)


EIGHT = ps.Domain([*(ps.Number(f"x{j}", 0, 1) for j in range(7)), ps.Flag("x7")],
                  target=ps.Label("y", [0, 1]))
METHODS = ("rule-sieve", "noisy-top-k")


def codes_of(X):
    """Codes of the numbers and the flag."""
    return np.round(X * [*[65535] * 7, 1]).astype(int)


def chosen(method, seed=1, **options):
    """The names that a replayed release gives for a clear table."""
    X, y = clear()
    planned = plan(method, EIGHT, epsilon=8, rows=len(X), **options)
    return fit(planned, open_source(X.tolist(), y.tolist()), noise=replay(seed)).selected


@pytest.mark.parametrize("method", METHODS)
def test_what_is_fixed_beforehand_is_kept(method):
    """Always in, never in, groups whole; and what is clear is found beside them."""
    assert ("x0", "x1", "x4") == chosen(method, k=3, always="x0")
    assert "x1" not in chosen(method, k=3, never=["x1"])
    assert ("x1", "x4", "x5") == chosen(method, k=2, groups={"g": ["x5", "x4"]})
    assert ("x2", "x3", "x4") == chosen(method, k=2, always=["g"], groups={"g": ["x2", "x3"]},
                                        never=["x1"])


@pytest.mark.parametrize("always", [
    (), ("x3",), ("x6", "x1")])
def test_pairs_are_raced_with_what_is_always_in(always):
    """Pairs that have what is always in, in the order of their other columns; or free pairs."""
    planned = plan("rule-sieve", EIGHT, k=4, epsilon=1, rows=600, always=always, class_prior=None,
                   joint="pair")
    rules = planned.mechanism.keywords["rules"]
    X, y = clear(600)
    summary = planned.summarise([tables.batch(codes_of(X), y)], 1)
    raced = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(race_module, "top_k", lambda scores, race, _noise: raced.append(
            (tuple(scores), race)) or tuple(range(race.k)))
        planned.mechanism(summary, replay(1))
    layout = Layout.of(EIGHT)
    values, score = pair_scores(summary, layout, weighed(summary, layout, rules, replay(1))[0])
    size, taken = 2, {int(name[1:]) for name in always}
    inside = taken if len(taken) < size else set()
    value = dict(zip(combinations(range(8), size), values.tolist(), strict=True))
    free = [j for j in range(8) if j not in taken]
    expected = [value[tuple(sorted(inside.union(combination)))]
                for combination in combinations(free, size - len(inside))]

    assert expected == list(raced[0][0])
    assert raced[0][1].epsilon == Fraction(size - len(inside), 4 - len(taken))
    assert sum(race.epsilon for _, race in raced) == 1
    if len(raced) > 1:
        rest = free[size - len(inside):]  # the first of all pairs was named
        assert [score[j] for j in rest] == list(raced[1][0])


def test_copies_of_what_is_always_in_are_not_chosen():
    """Three causes with three copies each: beside one that is always in the other two are named."""
    rng = np.random.default_rng(5)
    causes = rng.random((3000, 3))
    X = np.hstack([causes.repeat(4, axis=1), rng.random((3000, 8))])
    y = (causes.sum(axis=1) > 1.5).astype(int)
    planned = plan("rule-sieve", ps.Domain.box(0, 1, columns=20), k=3, epsilon=2, rows=3000,
                   always=["x1"], class_prior="0.5")
    source = open_source(X, y)
    families = [{int(name[1:]) // 4 for name in fit(planned, source, noise=replay(seed)).selected}
                for seed in range(10)]

    assert ["rounds"] == planned.settings["branches"]
    assert [{0, 1, 2}] * 10 == families


def test_groups_are_raced_one_by_one():
    """By itself the choice is one race; asked for a set first, it says why not."""
    options = {"k": 3, "epsilon": 9, "rows": 9000, "groups": {"g": ["x0", "x1"]}}

    assert ["one race"] == plan("rule-sieve", EIGHT, **options).settings["branches"]
    with pytest.raises(ParameterError, match="cannot choose groups of columns; leave out joint"):
        plan("rule-sieve", EIGHT, joint="pair", **options)


def test_the_order_of_the_domain_does_not_matter():
    """Columns in another order have the same scores, and groups follow their names."""
    X, y = clear(400)
    options = {"k": 3, "epsilon": 1, "rows": 400, "class_prior": None, "never": ["x3", "x7"],
               "groups": {"g": ["x0", "x6"]}}
    turned = EIGHT.columns[::-1]
    choices = []
    for columns in (EIGHT.columns, turned):
        domain = ps.Domain(columns, target=EIGHT.target)
        planned = plan("rule-sieve", domain, **options)
        order = [int(column.name[1:]) for column in columns]
        codes = np.round(X[:, order] * [1 if j == 7 else 65535 for j in order]).astype(int)
        scores, _ = handed(planned, tables.batch(codes, y))
        names = [column.name for column in columns if column.name not in ("x3", "x7")]
        items = list(dict.fromkeys("g" if name in ("x0", "x6") else name for name in names))
        choices.append(dict(zip(items, scores, strict=True)))

    assert choices[0] == choices[1]


# refusals

REFUSED = [
    ({"groups": {"a": ["zip", "age"], "b": ["zip"]}}, "remove it from one of the groups"),
    ({"groups": {"zip": ["age"]}}, "give the group another name"),
    ({"groups": {"a": ["height"]}}, "which is not a column"),
    ({"groups": {"a": []}}, "has no columns"),
    ({"groups": ["zip"]}, "write a mapping"),
    ({"groups": {"a": ["zip", "zip"]}}, "remove it from one of the groups"),
    ({"always": ["age"], "never": ["age"]}, "always and never both name"),
    ({"always": ["age", "zip"]}, "nothing is left to choose"),
    ({"always": ["age", "zip", "mri"]}, "nothing is left to choose"),
    ({"always": ["height"]}, "write names of the domain's columns"),
    ({"always": ["zip"], "groups": {"a": ["zip"]}}, "name the group"),
    ({"always": ["age", "age"]}, "always names 'age' twice"),
    ({"always": 3}, "write a list of names"),
    ({"never": ["height"]}, "is not a column; write names"),
    ({"never": ["ill"]}, "is not a column; write names"),
    ({"never": ["zip"], "groups": {"a": ["zip", "age"]}}, "remove one of them"),
    ({"never": ["age", "street", "zip", "mri", "smoker"]}, "remove some names from never"),
    ({"never": ["age", "street", "zip", "mri"]}, "choose fewer"),
]


@pytest.mark.parametrize(("options", "match"), REFUSED,
                         ids=[" ".join(map(str, options)) for options, _ in REFUSED])
def test_what_makes_no_sense_is_refused_in_a_sentence(options, match, tmp_path):
    """One sentence that says what to do, before anything is charged."""
    ledger = ps.Ledger(str(tmp_path / "budget.db"), population="people")
    ledger.grant(3)
    sieve = ps.RuleSieve(2, epsilon=1, domain=WARD, ledger=ledger, **options)
    with pytest.raises(ParameterError, match=match) as refused:
        sieve.fit([[50, "A", 1, 3, 0]] * 40, [0, 1] * 20)

    assert "\n" not in str(refused.value)
    assert ledger.spent() == 0


@pytest.mark.parametrize("options", [{"always": []}, {"groups": {}}, {"never": ()}])
def test_nothing_is_no_wish(options):
    """An empty list says nothing: the plan is that without it."""
    assert plan("rule-sieve", WARD, k=2, epsilon=1, rows=50).json() == plan(
        "rule-sieve", WARD, k=2, epsilon=1, rows=50, **options).json()


# check, page and command line

SAID = {"k": 3, "always": ["age"], "never": ["f"], "groups": {"g": ["b", "c"]}}
NAMES = ("age", "b", "c", "d", "e", "f")


@pytest.mark.parametrize(("selected", "holds"), [
    (("age", "b", "c", "d"), True), (("age", "d", "e"), True),
    (("age", "b", "c"), False), (("b", "c", "d"), False), (("age", "b", "d"), False),
    (("age", "d", "f"), False), (("age", "b", "c", "e"), True), (("age", "d"), False),
    ((), False)])
def test_a_check_finds_what_was_not_asked_for(selected, holds):
    """Always in, never in, groups whole, and as many as were asked for."""
    assert holds == replan.agrees(SAID, NAMES, selected)


def granted(folder):
    """A ledger with enough."""
    ledger = ps.Ledger(str(folder / "budget.db"), population="people")
    ledger.grant(epsilon=9, delta="1e-5")
    return ledger


def test_a_forged_selection_is_found(tmp_path):
    """A group that is cut in two, and a column that was never to be chosen, are found."""
    X, y = clear(200)
    planned = plan("rule-sieve", EIGHT, k=2, epsilon=1, rows=200, groups={"g": ["x1", "x4"]},
                   never=["x3"])
    release = fit(planned, open_source(X.tolist(), y.tolist()), ledger=granted(tmp_path))
    body = json.loads(release.bytes)
    for forged in (["x1", "x2"], ["x0", "x3"], ["x0"], ["x0", "x1", "x4", "x5"]):
        other, certificate = body | {"selected": forged}, copy.deepcopy(release.certificate)
        refit(other, certificate, "release", ("selected",))

        assert any("settings of the plan" in reason or "every group" in reason
                   for reason in verify(certificate, other).reasons), forged


DOMAIN = """
[[column]]
name = "age"
kind = "number"
low = 0
high = 110

[[column]]
name = "street"
kind = "category"
values = ["A", "B"]

[[column]]
name = "zip"
kind = "flag"

[[column]]
name = "mri"
kind = "number"
low = 0
high = 9

[[column]]
name = "smoker"
kind = "flag"

[target]
name = "ill"
kind = "label"
values = [0, 1]
"""


def test_the_command_line_has_them_all(cli, tmp_path, monkeypatch):
    """`plan` says what is fixed, `select` keeps it, and a choice without sense has code 2."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "domain.toml").write_text(DOMAIN)
    (tmp_path / "t.csv").write_text("age,street,zip,mri,smoker,ill\n"
                                    + "20,A,1,3,0,1\n70,B,0,3,1,0\n" * 100)
    granted(tmp_path)
    arguments = ("--domain", "domain.toml", "--epsilon", "1", "--unit", "row", "--always", "age",
                 "--never", "smoker", "--group", "home=street,zip", "--top", "2")
    code, out, _ = cli("plan", "--rows", "200", *arguments)

    assert code == 0
    for text in ("age; always included", "smoker; not read", "street, zip (home)"):
        assert text in out, out
    code, out, err = cli("select", "t.csv", *arguments, "--ledger", "budget.db", "--population",
                         "people", "--out", "first", "--anyway")
    assert (0, ["age", "street", "zip"]) == (code, out.split()), err
    assert 0 == cli("verify", "first")[0]
    code, _, err = cli("plan", "--rows", "200", *arguments, "--group", "home=age")
    assert (2, True) == (code, "--group names 'home' twice" in err)


def test_a_fraction_is_of_what_is_left():
    """Half of the columns that may be chosen."""
    choosing = Choosing(n_features_to_select=0.5, never=("x4",))
    few = among(choosing, ps.Domain.box(0, 1, columns=4))

    assert (2, 4) == (few.k, few.d)


class NoBits(Noise):
    """A source that nobody may ask."""

    def bytes(self, count):
        """No bytes."""
        raise AssertionError(count)


@pytest.mark.parametrize("method", METHODS)
def test_what_is_certain_asks_for_no_noise(method):
    """All that is left is asked for: the mechanism draws nothing."""
    planned = plan(method, FIVE, k=4, epsilon=1, rows=12, never=["x1"], class_prior=None)
    summary = planned.summarise([tables.batch([[1, 2, 3, 4, 5]] * 12, [0, 1] * 6)], 1)

    assert (0, 2, 3, 4) == tuple(planned.mechanism(summary, NoBits()))
