"""Laws of what stands beside a choice: one charge, one release, and nothing that was not asked."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import privsieve as ps
import tables
from every_method import WARD, table
from privsieve.check.verify import verify
from privsieve.errors import ParameterError
from privsieve.methods import plan
from privsieve.methods.beside import KINDS, shares
from privsieve.noise.streams import replay
from privsieve.public.canonical import canonical, digest
from privsieve.public.plan import Cost
from privsieve.release import Selection
from privsieve.report import html
from test_cli import ASKED, DOMAIN, privsieve, rows, select, spent  # noqa: F401  # a fixture
from test_cli import place as place  # noqa: PLC0414  # the fixture that it needs
from test_report import Page

SURE = {"sure": "0.1", "independent_rows": True}
BOTH = {**SURE, "describe": "0.25"}


# what it costs


@pytest.mark.parametrize("epsilon", ["2", "0.000000004", "1.000000001", "10"])
@pytest.mark.parametrize("wanted", [{"sure": "0.1"}, {"describe": "1/3"},
                                    {"sure": "0.1", "describe": "0.45"}])
def test_shares_are_rounded_up_and_leave_something(epsilon, wanted):
    """Each share is what was asked for, or less than a unit more; a unit at least is left."""
    cost = Cost.of(epsilon)
    wanted = {name: Fraction(share) for name, share in wanted.items()}
    found = shares(wanted, cost)

    for name, share in wanted.items():
        assert 0 <= found[name] - share * cost.epsilon < Fraction(1, 10**9)
        assert (found[name] * 10**9).denominator == 1
    assert cost.epsilon - sum(found.values()) >= Fraction(1, 10**9)


@pytest.mark.parametrize("method", ["rule-sieve", "block-fwell", "noisy-top-k"])
def test_the_whole_costs_what_was_asked(method):
    """Choice, count and description have epsilon in sum; the choice is the plan of the rest."""
    domain = tables.domain("nnnn")
    made = plan(method, domain, k=2, epsilon=2, rows=400, **BOTH)
    run = made.mechanism.keywords["run"]

    assert [Fraction(1, 5), Fraction(1, 2)] == [part.epsilon for part in run.parts]
    assert (2, Fraction(13, 10)) == (made.cost.epsilon, run.inner.cost.epsilon)
    plain = plan(method, domain, k=2, epsilon="1.3", rows=400)
    assert plain.settings == run.inner.settings == {
        name: said for name, said in made.settings.items() if name not in BOTH}
    assert plain.forecast["found_percent"] == made.forecast["found_percent"]
    assert plain.noise == made.noise
    assert ["0.1", "0.25", True] == [made.settings[name]
                                     for name in ("sure", "describe", "independent_rows")]


def test_a_delta_goes_to_the_choice():
    """With a delta the choice is approximate, and what stands beside it pure."""
    made = plan("noisy-top-k", tables.domain("n" * 40), k=8, epsilon=1, rows=4000, delta="1e-6",
                **BOTH)
    inner = made.mechanism.keywords["run"].inner

    assert "0.000001" == made.cost.delta_text == inner.cost.delta_text
    assert made.cost.rho == inner.cost.rho + (Fraction(1, 10)**2 + Fraction(1, 4)**2) / 2


def test_all_columns_cost_what_stands_beside_them():
    """A choice of all reads nothing: the count and the description are charged alone."""
    made = plan("rule-sieve", tables.domain("nn"), k=2, epsilon=2, rows=40, **BOTH)
    assert Fraction(7, 10) == made.cost.epsilon
    assert "0" == made.cost.delta_text
    rng = np.random.default_rng(1)
    summary = made.summarise([tables.batch(rng.integers(0, 9, (40, 2)), [0, 1] * 20)], 1)

    assert summary.chosen is None
    assert (0, 1) == made.mechanism(summary, replay(1))


def test_options_of_other_methods_are_refused():
    """Weights have nothing beside them: one sentence, no charge."""
    with pytest.raises(ParameterError, match="describe is no option of output-fwell"):
        plan("output-fwell", tables.domain("nnn"), k=2, epsilon=1, rows=90, lam="0.1",
             describe="0.1")
    for least in (0, 1, 2, "x", True):
        with pytest.raises(ParameterError):
            plan("rule-sieve", tables.domain("nnn"), k=1, epsilon=1, rows=90, describe=least)


def test_at_most_k_goes_with_both():
    """Where fewer names are forecast as worth more, what stands beside them is of these."""
    made = plan("noisy-top-k", tables.domain("n" * 100), k=5, epsilon=1, rows=120, fewer="auto",
                describe="0.2", **SURE)

    assert made.settings["k"] < made.settings["at_most"] == 5


def test_a_plain_choice_is_as_it_was():
    """Who asks for nothing beside a choice gets its plan: settings, theorem and functions."""
    made = plan("rule-sieve", tables.domain("nnn"), k=1, epsilon=1, rows=90)

    assert "rule-sieve" == made.theorem
    assert "privsieve.methods.rule_sieve" == made.mechanism.func.__module__
    assert not {*KINDS, "independent_rows"} & set(made.settings)


# one release


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A release with a count and a description, its certificate, and its ledger."""
    ledger = ps.Ledger(str(tmp_path_factory.mktemp("beside") / "budget.db"), population="clinic")
    ledger.grant(epsilon=3)
    frame = table(2000)
    fitted = ps.RuleSieve(2, epsilon=2, domain=WARD, ledger=ledger, **BOTH).fit(
        frame[list(WARD.names)], frame["back"])
    return fitted.release_, ledger


def test_one_release_is_charged_once_and_verifies(released):
    """Names, count and figures leave together, for what was asked; `verify` confirms them."""
    made, ledger = released
    said = Selection.read(made.body)

    assert Fraction(2) == ledger.spent()
    assert verify(made.certificate, made.body, ledger=ledger).valid
    assert "sure-count" == made.certificate["claim"]["theorem"]
    assert ["ideal-bits", "independent-rows"] == made.certificate["claim"]["assumes"]
    assert 0 <= said.sure <= 2
    assert set(said.selected) == set(said.descriptions) == set(made.selected)
    assert {*said.write()} - {"branch", "class_counts"} == {"selected", "sure", "described"}


def again(made, change):
    """A certificate of a release that was changed, as a forger would make it."""
    body = json.loads(canonical(made.body))
    change(body)
    certificate = {**copy.deepcopy(dict(made.certificate)),
                   "release_sha256": digest(canonical(body)), "ledger": None, "population": None}
    return verify(certificate, body).reasons


@pytest.mark.parametrize(("change", "reason"), [
    (lambda body: body.update(sure=3), "counts sure columns"),
    (lambda body: body.update(sure=-1), "counts sure columns"),
    (lambda body: body.update(sure=True), "counts sure columns"),
    (lambda body: body.pop("sure"), "counts sure columns"),
    (lambda body: body.pop("described"), "does not describe the columns"),
    (lambda body: body.update(described={}), "does not describe the columns"),
    (lambda body: body["described"].popitem(), "does not describe the columns"),
    (lambda body: body["described"].update(other=next(iter(body["described"].values()))),
     "does not describe the columns"),
    (lambda body: next(iter(body["described"].values()))["classes"][0]["counts"][0].append(1),
     "does not describe the columns"),
    (lambda body: next(iter(body["described"].values())).update(more=1),
     "does not describe the columns"),
])
def test_what_was_not_asked_or_makes_no_sense_is_found(released, change, reason):
    """A count above the columns, a figure of another column, one too few: `verify` says so."""
    assert not any(reason in found for found in again(released[0], lambda body: None))
    assert any(reason in found for found in again(released[0], change))


def test_a_plain_release_says_nothing_beside_its_names():
    """A count or a description in a release that was not asked for one is found."""
    frame = table(400)
    made = ps.RuleSieve(2, epsilon=1, domain=WARD).fit(frame[list(WARD.names)],
                                                       frame["back"]).release_
    assert not {"sure", "described"} & set(made.body)
    for more in ({"sure": 1}, {"described": {}}):
        assert any("asked for" in found or "describe" in found
                   for found in again(made, lambda body, more=more: body.update(more)))


# faces


def test_the_page_says_count_and_figures(released):
    """The sentence of the count with its condition, and each figure with its range."""
    made, _ = released
    said, page = Selection.read(made.body), Page(html(made.body, made.certificate))
    sentence = said.counted("back", "row")

    assert sentence.endswith("with 95 % confidence, if rows were drawn independently")
    assert sentence in page.words
    assert "cannot check it" in page.words
    assert "with what is said of it" in page.words
    for name, column in said.descriptions.items():
        assert name in page.words
        for by in column.classes:
            for estimate, low, high in (*by.counts, *by.quartiles, *([by.mean] if by.mean else [])):
                shown = [f"{one:,}".replace(",", " ") if isinstance(one, int) else one
                         for one in (estimate, low, high)]
                words = page.words.replace("\u202f", " ").replace("\xa0", " ")
                assert "{} ({} to {})".format(*shown) in words.replace(",", " "), shown


def test_select_says_count_and_figures(privsieve):  # noqa: F811
    """Names alone on stdout; the count and the figures in words; one charge."""
    code, out, err = privsieve(*select("--sure", "0.2", "--independent-rows", "--describe", "0.3"))
    words = " ".join(err.split())

    assert (0, 1) == (code, spent())
    assert 2 == len(out.splitlines())
    assert "of these 2" in words
    assert "related to ill, with 95 % confidence, if rows were drawn independently" in words
    assert all(any(line.startswith(name) for line in err.splitlines()) for name in out.split())
    assert "there the table's own figure lies, each with 95 % confidence" in words


@pytest.mark.parametrize("more", [
    ("--sure", "0.2"), ("--independent-rows",), ("--sure", "1", "--independent-rows"),
    ("--describe", "0"), ("--describe", "2"), ("--describe", "-1"),
    ("--sure", "0.6", "--describe", "0.4", "--independent-rows")])
def test_a_refused_wish_charges_nothing(privsieve, place, more):  # noqa: F811
    """One sentence, no charge, no folder."""
    code, out, err = privsieve(*select(*more))

    assert 2 == code
    assert ("", 0) == (out, spent())
    assert not (place / "first").exists()
    assert 1 == err.count("privsieve: ")


def test_a_plan_says_what_stands_beside_it(privsieve):  # noqa: F811
    """`plan` shows shares and theorem, and the forecast of what the choice gets."""
    code, out, _ = privsieve("plan", "--rows", "400", *ASKED, "--sure", "0.2",
                             "--independent-rows", "--describe", "0.3")

    assert 0 == code
    words = " ".join(out.split())
    assert "sure 0.2, describe 0.3, independent rows yes" in words
    assert "sure-count; assumes ideal-bits, independent-rows" in words


# how forecasts go with the shares


def test_a_larger_share_leaves_less_to_find():
    """The forecast is that of the choice alone, at what the others leave."""
    domain = tables.domain("n" * 30)
    found = [plan("noisy-top-k", domain, k=3, epsilon=1, rows=300, describe=share)
             .forecast["found_percent"]["0.05"] for share in ("0.1", "0.5", "0.9")]

    assert all(more > less for more, less in pairwise(found))


# with public wishes


def wide(n=4000):
    """Five flags: the third tells the classes apart, the fourth is a copy of it, others nothing."""
    rng = np.random.default_rng(2)
    label = np.arange(n) % 2
    codes = rng.integers(0, 2, (n, 5))
    codes[:, 2] = codes[:, 3] = label ^ (rng.random(n) < .2)
    return tables.batch(codes, label), tables.domain("fffff")


@pytest.mark.parametrize(("wishes", "chosen", "sure"), [
    ({"k": 2, "always": ["x2"], "never": ["x0", "x1"]}, (2, 3), 2),
    ({"k": 2, "always": ["x4"], "never": ["x0", "x3"]}, (2, 4), 1),
    ({"k": 1, "groups": {"both": ["x2", "x0"]}, "never": ["x3"]}, (0, 2), 1),
    ({"k": 4, "never": ["x0"]}, (1, 2, 3, 4), 2),
])
def test_count_and_figures_are_of_all_that_leaves(wishes, chosen, sure):
    """Columns that are always in, whole groups, positions behind columns that are out.

    The count and the figures are of the columns that the release names, and of no others.
    """
    rows_of, domain = wide()
    made = plan("rule-sieve", domain, epsilon=90, rows=4000, depth=1, class_prior=None,
                allow_weak=True, sure="0.4", independent_rows=True, describe="0.4", **wishes)
    noise = replay(4)
    found = made.mechanism(made.summarise([rows_of], noise.key()), noise)

    assert (chosen, sure) == (tuple(found), found.said["sure"])
    assert {f"x{j}" for j in chosen} == set(found.said["described"])
    for j in chosen:
        no, yes = found.said["described"][f"x{j}"]["classes"]
        true = [int(rows_of.codes[rows_of.label == one, j].sum()) for one in (0, 1)]
        assert true == pytest.approx([no["counts"][1][0], yes["counts"][1][0]], abs=20)


def test_what_is_certain_costs_the_rest_alone():
    """All that is neither always in nor never is chosen: the choice is free, and names it."""
    made = plan("noisy-top-k", tables.domain("nnn"), k=2, epsilon=1, rows=40, never=["x0"],
                describe="0.2")

    assert Fraction(1, 5) == made.cost.epsilon
    summary = made.summarise([tables.batch([[0, 1, 2]] * 40, [0] * 40)], 1)
    assert (1, 2) == made.mechanism(summary, replay(1))
