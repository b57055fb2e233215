"""Law: the command line plans and releases numbers in words, and refuses what is not for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import privsieve as ps
from privsieve.cli import words
from privsieve.report import plans
from privsieve.report.planning import plan_document
from releases import FORECASTS, KINDS, plan_of

DOMAIN = """
[table]
unit = "row"
[[column]]
name = "age"
kind = "number"
low = 0
high = 110
[[column]]
name = "smoker"
kind = "flag"
[target]
name = "days"
kind = "number"
low = 0
high = 365
"""
RIDGE = ("--domain", "domain.toml", "--epsilon", "0.5", "--method", "kernel-ridge")


@pytest.fixture
def privsieve(tmp_path, monkeypatch, cli):
    """Run one command line in a folder with a domain file: its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    Path("domain.toml").write_text(DOMAIN)
    return cli


def table(plan, forecasts, capsys):
    """The words of each line of the table of forecasts."""
    words.tell(plan_document(plan, forecasts))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 79
    first = next(at for at, line in enumerate(lines) if line.startswith("  epsilon"))
    return [line.split() for line in lines[first + 1:first + 1 + len(forecasts)]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_of_numbers_is_told(kind, capsys):
    """What is released, its noise, and a column for each figure of the forecast."""
    plan = plan_of(kind)
    less = dict.fromkeys(plan.forecast, "9.87")
    rows = table(plan, {plan.cost.epsilon: plan.forecast, plan.cost.epsilon * 6: less}, capsys)
    keys = [key for key in FORECASTS[kind] if key not in ("longest", "cells", "noise_length")]

    assert {"weights": "a weight for each of 3 columns; the 2 largest are chosen",
            "regression": "a model; its predictions cost nothing more",
            "histogram": "a table of 24 counts over 2 of 3 columns",
            }[kind] == plans._what(plan)
    assert ["*", "0.5"] == rows[0][:2]
    assert "3" == rows[1][0]
    for key in keys:
        assert plans.figure(FORECASTS[kind][key]) in rows[0]
        assert "9.87" in rows[1]


def test_noise_is_set_against_the_longest_weights(capsys):
    """The length of the noise is told in per cent of the longest weights, rounded up."""
    plan = plan_of("weights")

    assert [["*", "0.5", "0.123", "0.214", "12", "%"]] == table(
        plan, {plan.cost.epsilon: plan.forecast}, capsys)
    assert ("standard deviation 0.123 on each weight; on all weights together about 0.214 long, "
            "12 % of their greatest length without noise (1.9)") == plans.noise(plan)
    loud = plan_of("weights", forecast={**FORECASTS["weights"], "noise_length": "328"})
    assert plans.noise(loud).endswith("173 times their greatest length without noise (1.9)")
    for k, message in ((1, "the largest one is chosen"),
                       ("positive", "the positive ones are chosen")):
        assert plans._what(plan_of("weights", settings={"k": k})).endswith(message)


def test_a_regression_is_planned(privsieve):
    """`plan` says what a model costs and how strong its noise is; it needs no number of columns."""
    code, out, _ = privsieve("plan", "--rows", 20_000, *RIDGE, "--kernel", "linear")
    text = " ".join(out.split())
    document = json.loads(privsieve("plan", "--rows", 20_000, *RIDGE, "--kernel", "linear",
                                    "--json")[1])

    assert 0 == code
    assert "release a model; its predictions cost nothing more" in text
    assert "epsilon each number prediction error" in text
    assert {"0.1", "0.3", "0.5", "1", "3"} == set(document["forecasts"])
    assert document["forecast"] == document["forecasts"]["0.5"]
    assert "noise_each" in document["forecast"]


def test_a_table_is_planned(privsieve):
    """`plan` says what a table of counts costs and how strong its noise is, chosen or named."""
    table = ("plan", "--rows", 20_000, *RIDGE[:4], "--method", "noisy-histogram")
    code, out, _ = privsieve(*table, "--columns", "age,smoker", "--bins", 4, "--epsilon", 0.5)
    chosen = privsieve(*table, "--top", 1, "--share", "0.4", "--json")
    text = " ".join(out.split())

    assert (0, 0) == (code, chosen[0])
    assert "release a table of 32 counts over 2 of 2 columns" in text
    assert "settings bins: 4; choice: none; columns: age, smoker; target: days; thres" in text
    assert "epsilon each cell moved" in text
    assert "0.2" == json.loads(chosen[1])["settings"]["choice"]["epsilon"]


@pytest.mark.parametrize(("options", "message"), [
    (("--top", "1"), "--top is not an option of kernel-ridge"),
    (("--at-most", "1"), "fewer (--at-most) is not an option of kernel-ridge"),
    (("--bins", "6"), "--bins is not an option of kernel-ridge"),
    (("--block", "6"), "--block is not an option of kernel-ridge"),
    (("--no-target",), "--no-target is not an option of kernel-ridge"),
    (("--features", "0"), "features is 0"),
    (("--kernel", "cosine", "--features", "9"), "features is for kernel rbf"),
    (("--kernel", "linear", "--feature-seed", "7"), "feature_seed is for kernel rbf"),
    (("--kernel", "linear", "--gamma", "1"), 'kernel="linear" has none'),
    (("--kernel", "quantum"), "kernel is 'quantum'"),
])
def test_what_is_not_for_numbers_is_refused(privsieve, options, message):
    """An option of selections, or of another kernel, is refused; no file is made."""
    code, out, err = privsieve("plan", "--rows", 20_000, *RIDGE, *options)

    assert (2, "") == (code, out)
    assert message in err
    assert not Path("f.svg").exists()


@pytest.mark.parametrize(("method", "verb"), [
    ("kernel-ridge", "use privsieve regress to fit a model"),
    ("noisy-histogram", "use privsieve synthesize to count rows")])
def test_what_is_no_selection_has_a_verb(privsieve, method, verb):
    """`select` refuses it, and names the verb that releases it."""
    ps.Ledger("budget.db", population="people").grant(epsilon=1)
    Path("t.csv").write_text("age,smoker,days\n20,yes,3\n")
    base = (*RIDGE[:4], "--method")
    code, out, err = privsieve("select", "t.csv", *base, method, "--out", "x", "--ledger",
                               "budget.db", "--population", "people")

    assert (2, "") == (code, out)
    assert f"{method} does not choose columns; {verb}" in err
