"""`privsieve regress` and `predict`: what goes where, what is charged, and what is refused."""

from __future__ import annotations

import json
import random
import stat
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import privsieve as ps
from privsieve.ledger.ledger import Ledger

DOMAIN = """
[table]
unit = "row"

[[column]]
name = "age"
kind = "number"
low = 0
high = 100

[[column]]
name = "ward"
kind = "category"
values = ["A", "B"]

[target]
name = "days"
kind = "number"
low = 0
high = 50
"""
BUDGET = ("--ledger", "budget.db", "--population", "clinic")


def rows(count=4000, target=True):
    """Days that grow with age."""
    rng = random.Random(7)
    lines = ["age,ward,days" if target else "age,ward"]
    for _ in range(count):
        age = rng.randint(0, 100)
        days = f",{min(50, age / 2 + rng.uniform(0, 5)):.3f}" if target else ""
        lines.append(f"{age},{rng.choice('AB')}{days}")
    return "\n".join([*lines, ""])


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a table, its domain and a budget of 20."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text(rows())
    (tmp_path / "new.csv").write_text(rows(5, target=False))
    (tmp_path / "domain.toml").write_text(DOMAIN)
    Ledger("budget.db", population="clinic").grant("20", delta="1e-6")
    return tmp_path


@pytest.fixture
def privsieve(place, cli):
    """Run one command line: its exit code, stdout and stderr."""
    return cli


def regress(*options, kernel="linear", epsilon="5", out="model"):
    """The words of a regression."""
    return ("regress", "table.csv", "--domain", "domain.toml", "--epsilon", epsilon, "--kernel",
            kernel, *BUDGET, "--out", out, *options)


def spent():
    """What was charged."""
    return Ledger("budget.db", population="clinic").spent()


def test_regress(privsieve):
    """A model: columns by their weights on stdout, words on stderr, a folder, one charge."""
    code, out, err = privsieve(*regress())

    assert (0, "") == (code, "" if not code else err)
    assert ["age", "ward"] == [line.split("\t")[0] for line in out.splitlines()]
    assert "(one standard deviation)" in " ".join(err.split())
    assert "epsilon 5; clinic has 15" in err
    assert {"release.json", "certificate.json"} <= {path.name for path in Path("model").iterdir()}
    assert Fraction(5) == spent()
    assert 0 == privsieve("verify", "model")[0]


def test_the_plan_of_a_model(privsieve, place):
    """`plan` takes the options of `regress`, and says what a prediction errs by."""
    arguments = ("plan", "table.csv", "--domain", "domain.toml", "--epsilon", "5", "--method",
                 "kernel-ridge", "--feature-seed", "4", "--features", "20")
    code, out, _err = privsieve(*arguments, "--json")
    domain = ps.Domain.from_toml("domain.toml")
    expected = ps.plan("kernel-ridge", domain, epsilon=5, features=20, feature_seed=4, rows=4000)

    assert 0 == code
    assert expected.forecast == json.loads(out)["forecast"]
    assert 4 == json.loads(out)["settings"]["seed"]
    code, out, err = privsieve(*arguments)
    assert (0, "") == (code, err)
    assert "moves a prediction of days by" in " ".join(out.split())
    assert Fraction(0) == spent()
    code, out, err = privsieve(*regress()[:8])
    assert (2, "") == (code, out)
    assert "Missing: --ledger FILE, --population NAME, --out DIR." in err
    assert not (place / "model").exists()


def test_predict_never_spends(privsieve):
    """One number a row below the target's name, in order; the same as from Python; no charge."""
    privsieve(*regress())
    code, out, err = privsieve("predict", "model", "new.csv")
    lines = out.splitlines()

    assert (0, "", "days", 5) == (code, err, lines[0], len(lines) - 1)
    model = ps.PrivateKernelRidge.of_release(ps.load("model"))
    assert np.allclose(model.predict("new.csv"), [float(line) for line in lines[1:]], rtol=1e-7)
    assert Fraction(5) == spent()
    ages = [float(line.split(",")[0]) / 2 for line in Path("new.csv").read_text().split()[1:]]
    assert np.abs(np.array(ages) + 2.5 - [float(line) for line in lines[1:]]).max() < 15


def test_answers_of_a_session_are_no_model(privsieve):
    """A session's release is answers; the way out is named, and nothing is predicted."""
    domain = ps.Domain.from_toml("domain.toml")
    with ps.KernelRidgeSession("table.csv", lam=1, domain=domain, ledger=Ledger(
            "budget.db", population="clinic")) as session:
        session.predict_batch([[50, "A"]], epsilon=10)
    session.release_.save("curve")
    code, out, err = privsieve("predict", "curve", "new.csv")

    assert "" == out
    assert code
    assert "release of a PrivateKernelRidge" in " ".join(err.split())


def test_predictions_in_a_file(privsieve):
    """--out writes a file that only its owner reads, and overwrites nothing."""
    privsieve(*regress())
    first = privsieve("predict", "model", "table.csv", "--out", "p.csv")
    second = privsieve("predict", "model", "table.csv", "--out", "p.csv")

    assert (0, "") == first[:2]
    assert 4001 == len(Path("p.csv").read_text().splitlines())
    assert 0o600 == stat.S_IMODE(Path("p.csv").stat().st_mode)
    assert 2 == second[0]
    assert "the file of --out exists" in second[2]


@pytest.mark.parametrize(("options", "settings"), [
    (("--lam", "0.05"),
     {"kernel": "rbf", "lam": "0.05", "features": 200, "gamma": "0.5", "seed": 0}),
    (("--features", "20", "--gamma", "2", "--feature-seed", "9", "--lam", "0.1"),
     {"kernel": "rbf", "lam": "0.1", "features": 20, "gamma": "2", "seed": 9}),
    (("--kernel", "cosine"), {"kernel": "cosine", "lam": "0.02", "features": 7, "degree": 3}),
], ids=str)
def test_options(privsieve, options, settings):
    """Each option goes into the plan, and the release says it."""
    code, out, _err = privsieve(*regress("--anyway", "--json", *options, kernel="rbf"))
    document = json.loads(out)

    assert 0 == code
    assert settings == document["release"]["plan"]["settings"]
    assert "regression" == document["release"]["kind"]
    assert ("5", "15") == (document["charged"], document["left"])


def test_a_delta_is_charged_where_it_helps(privsieve):
    """Two hundred features take the Gaussian, and four do not: no delta is charged."""
    many = privsieve(*regress("--delta", "1e-9", "--anyway", "--json", kernel="rbf"))
    few = privsieve(*regress("--delta", "1e-9", "--json", out="second"))

    assert "0.000000001" == json.loads(many[1])["delta_charged"]
    assert "0" == json.loads(few[1])["delta_charged"]


def test_a_log_scale_and_persons(privsieve, place):
    """Words for a target on a log scale; a person is protected where the domain says so."""
    text = DOMAIN.replace("low = 0\nhigh = 50", 'low = 1\nhigh = 50\nscale = "log"')
    (place / "domain.toml").write_text(text.replace(
        'unit = "row"', 'unit = "person"\nperson = "id"\npersons = 2000\nrows_per_person = 2'))
    lines = (place / "table.csv").read_text().splitlines()
    (place / "table.csv").write_text("\n".join(
        [f"{lines[0]},id", *(f"{line},{n // 2}" for n, line in enumerate(lines[1:])), ""]))
    code, _out, err = privsieve(*regress())

    assert 0 == code
    assert "on its log scale" in " ".join(err.split())
    assert "one person with all their rows" in " ".join(err.split())


@pytest.mark.parametrize(("args", "code", "message"), [
    (regress(epsilon="0.001"), 2, "to continue, add --anyway"),
    (regress("--lam", "1e-9"), 2, "lam is 1e-9; it must be between"),
    (regress("--gamma", "2"), 2, 'kernel="linear" has none'),
    (regress("--features", "2000", kernel="rbf"), 2, "features is 2000"),
    (regress("--unit", "row", "--person", "id"), 2, "two units"),
    (regress(epsilon="9", out="."), 2, "exists"),
    (("predict", "no-model", "table.csv"), 2, "'no-model' does not exist"),
    (("predict", ".", "table.csv"), 3, "is missing, is a link or is not JSON"),
    (("select", "table.csv", "--domain", "domain.toml", "--epsilon", "1", "--top", "1",
      "--method", "kernel-ridge", *BUDGET, "--out", "x"), 2, "privsieve regress"),
])
def test_refusals_charge_nothing(privsieve, args, code, message):
    """What is public and wrong is one sentence, with its exit code; nothing is charged."""
    actual_code, out, err = privsieve(*args)

    assert (code, "") == (actual_code, out)
    assert message in " ".join(err.split())
    assert Fraction(0) == spent()


def test_too_little_budget(privsieve):
    """The ledger refuses with exit code 4, and no folder stays behind."""
    privsieve(*regress(epsilon="9"))
    privsieve(*regress(epsilon="9", out="second"))
    code, _out, _err = privsieve(*regress(epsilon="9", out="third"))

    assert 4 == code
    assert not Path("third").exists()
    assert Fraction(18) == spent()


def test_what_does_not_hold_predicts_nothing(privsieve, place):
    """A release that was changed is refused with exit code 7; a selection, with code 3."""
    privsieve(*regress())
    body = json.loads((place / "model" / "release.json").read_text())
    body["values"]["q"][0] += 1
    (place / "model" / "release.json").write_text(json.dumps(body))

    code, out, err = privsieve("predict", "model", "new.csv")
    assert (7, "") == (code, out)
    assert "no prediction is made from a release that is not valid" in " ".join(err.split())
    (place / "model" / "certificate.json").unlink()
    code, out, err = privsieve("predict", "model", "new.csv")
    assert (7, "") == (code, out)
    assert "certificate.json is missing" in err
    privsieve("select", "table.csv", "--domain", "domain.toml", "--epsilon", "5", "--top", "1",
              *BUDGET, "--out", "chosen", "--anyway")
    code, out, err = privsieve("predict", "chosen", "new.csv")
    assert (3, "") == (code, out)
    assert "predictions need a release of" in " ".join(err.split())


def test_a_file_written_otherwise(privsieve, place):
    """--domain says how the CSV file of the rows is written."""
    privsieve(*regress())
    (place / "semi.csv").write_text("ward;age\nA;12,5\nB;80\n")
    (place / "semi.toml").write_text(DOMAIN.replace(
        'unit = "row"', 'unit = "row"\ncsv = { delimiter = ";", decimal = "," }'))
    code, out, _err = privsieve("predict", "model", "semi.csv", "--domain", "semi.toml")
    low, high = map(float, out.splitlines()[1:])

    assert 0 == code
    assert low < high
