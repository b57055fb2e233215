"""Law: which epsilon?  What each buys is what its plan says; nothing is read or charged."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from pathlib import Path

import pytest

from privsieve.cli.plan import LADDER
from privsieve.ledger.ledger import Ledger
from privsieve.release import Release
from privsieve.rows import Source
from test_cli import on_terminal, place, privsieve, select, spent  # noqa: F401  # fixtures

ASK = ("plan", "--rows", 400, "--domain", "domain.toml", "--top", 2)
BUDGET = ("--ledger", "budget.db", "--population", "clinic")


def bought(privsieve, *options):  # noqa: F811
    """What each epsilon buys, for programs."""
    code, out, err = privsieve(*ASK, *options, "--json")
    assert (0, "") == (code, err)
    return json.loads(out)


def test_each_line_is_its_plan(privsieve):  # noqa: F811
    """What is printed next to an epsilon is the forecast of a plan with this epsilon."""
    document = bought(privsieve)

    assert list(LADDER) == [epsilon["epsilon"] for epsilon in document["epsilons"]]
    for epsilon in document["epsilons"]:
        plan = json.loads(privsieve(*ASK, "--epsilon", epsilon["epsilon"], "--json")[1])
        assert plan["forecast"] == epsilon["forecast"]
        assert plan["warning"] == epsilon["warning"]


def test_odds(privsieve):  # noqa: F811
    """Odds are e^epsilon, and beliefs what follows from them, rounded against ourselves."""
    for epsilon in bought(privsieve)["epsilons"]:
        factor = math.exp(float(epsilon["epsilon"]))
        odds = float(epsilon["odds_at_most"].removeprefix("x ").replace(",", ""))
        assert factor <= odds <= 1.01 * factor
        for before, key in ((0.5, "even_at_most"), (0.01, "one_in_100_at_most")):
            after = 100 * before * factor / (before * factor + 1 - before)
            assert after <= float(epsilon[key].removesuffix(" %")) <= after + 1


def test_what_is_left(privsieve):  # noqa: F811
    """What is left is the limit less what was spent and this, as it would be charged."""
    Ledger("budget.db", population="rows").grant("2", unit="row", neighbours="replace-one")
    named, text = (*BUDGET[:3], "rows"), Path("domain.toml").read_text(encoding="utf-8")
    left = {epsilon["epsilon"]: epsilon["left"] for epsilon in bought(privsieve,
                                                                      *named)["epsilons"]}
    Path("domain.toml").write_text(text.replace(
        'unit = "row"', 'unit = "row"\nneighbours = "add-remove"\nrows = 400'))
    twice = {epsilon["epsilon"]: epsilon["left"] for epsilon in bought(privsieve,
                                                                       *named)["epsilons"]}

    epsilons = ("0.1", "0.3", "1", "2", "3")
    assert ["1.9", "1.7", "1", "0", None] == [left[epsilon] for epsilon in epsilons]
    # To replace a row is to remove one and to add one: the charge is twice the plan's.
    assert ["1.8", "1.4", "0", None, None] == [twice[epsilon] for epsilon in epsilons]
    assert "too little" in privsieve(*ASK, *named)[1]
    assert 0 == spent()


def test_nothing_is_read(privsieve, monkeypatch):  # noqa: F811
    """Of a table the header and, where it is public, the number of rows; and no row."""

    def never(*_args):
        raise AssertionError("a row was read")

    monkeypatch.setattr(Source, "raw", never)
    code, out, _err = privsieve("plan", "table.csv", "--domain", "domain.toml", "--top", 2)

    assert (0, True) == (code, "rows       400\n" in out)
    assert 0 == spent()


def test_a_policy_marks_what_it_does_not_allow(privsieve):  # noqa: F811
    """What the policy of a place refuses is marked with its reason, and still shown."""
    Path("policy.toml").write_text('epsilon = "1"\n')
    document = bought(privsieve, "--policy", "policy.toml")

    assert ["2", "3", "5", "10"] == [epsilon["epsilon"] for epsilon in document["epsilons"]
                                     if epsilon["refused"]]
    assert "not allowed" in privsieve(*ASK, "--policy", "policy.toml")[1]


@pytest.mark.parametrize(("options", "head"), [
    (("--method", "output-fwell", "--top", 1), "each weight"), (("--at-most", 2), "strong"),
    (("--method", "noisy-histogram", "--bins", 2), "each cell")])
def test_every_kind_of_release(privsieve, options, head):  # noqa: F811
    """Every kind of release is asked in the same words."""
    code, out, _err = privsieve("plan", "--rows", 4000, "--domain", "domain.toml", *options)

    assert (0, True, True) == (code, head in out, "1 in 100" in out)


def test_it_fits_a_terminal(place):  # noqa: F811
    """On 80 columns every line is shorter, also of released weights."""
    for options in ((), ("--method", "objective-fwell")):
        code, seen = on_terminal(*ASK, *options, *BUDGET, NO_COLOR="1")

        assert 0 == code
        assert max(map(len, seen.splitlines())) < 80


def test_what_costs_nothing(privsieve):  # noqa: F811
    """A choice of all columns costs nothing at any epsilon, and is one line."""
    [epsilon] = bought(privsieve, "--top", 4)["epsilons"]

    assert ("0", "50 %") == (epsilon["epsilon"], epsilon["even_at_most"])


def test_nothing_that_can_be_planned(privsieve):  # noqa: F811
    """Where no epsilon can be planned the reason is said, with its exit code."""
    code, out, err = privsieve("plan", "--rows", 400, "--domain", "domain.toml", "--top", 9)

    assert (2, "") == (code, out)
    assert "9 columns to choose are too many: the domain has 4" in err


def test_select_says_the_forecast_beside_the_names(privsieve):  # noqa: F811
    """How many of the names would be right: the plan's forecast, and no measure of rows."""
    plan = json.loads(privsieve("plan", "table.csv", "--domain", "domain.toml", "--top", 2,
                                "--epsilon", 1, "--json")[1])
    right = 2 * plan["forecast"]["found_percent"]["0.1"] // 100
    text = " ".join(privsieve(*select())[2].split())

    assert (f"forecast about {right} of these 2 would be right on a usual table (estimated "
            "from the table's size, not from its rows)") in text
    assert Fraction(1) == spent()


@pytest.mark.parametrize(("selected", "settings", "message"), [
    (["a", "b", "c"], {"k": 3}, "about 2 of these 3 would be right"),
    (["a", "b", "c"], {"k": 3, "always": ["a"]},
     "about 1 of the 2 wanted columns would"),
    (["a", "b", "c"], {"k": 2, "groups": {"g": ["b", "c"]}},
     "about 1 of the 2 wanted columns would"),
    (["a"], {"k": 1}, "this name would hardly be right")])
def test_the_forecast_of_a_release(selected, settings, message):
    """It is the share at the usual gap, of the places that were raced for, rounded down."""
    forecast = {"usual_gap": "0.1", "found_percent": {"0.02": 10, "0.1": 80, "0.2": 99}}
    body = {"selected": selected, "forecast": forecast,
            "plan": {"epsilon": "1", "settings": settings}}

    assert message in Release(body, None).expected
    assert "" == Release({**body, "plan": {"epsilon": "0", "settings": {}}}, None).expected
    assert "" == Release({**body, "forecast": {}}, None).expected


def test_the_odds_of_the_guide():
    """Odds and beliefs in the guide are those that the program prints."""
    from privsieve.public.canonical import factor
    from privsieve.report.figures import belief, percent

    text = (Path(__file__).parents[1] / "docs" / "how-much-epsilon.md").read_text("utf-8")
    row = r"^\| ([0-9.]+) \| ([0-9.,]+) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$"
    rows = re.findall(row, text, re.MULTILINE)

    assert ("0.01", *LADDER) == tuple(row[0] for row in rows)
    for epsilon, *odds in rows:
        cost = Fraction(epsilon)
        assert odds == [factor(cost), *(percent(belief(cost, before)[1]) for before in (
            Fraction(1, 2), Fraction(1, 10), Fraction(1, 100)))]
