"""Law: a policy.  What a place does not allow is refused before anything is charged or read."""

from __future__ import annotations

import click
import pytest

from privsieve.cli import run, verbs
from privsieve.errors import ParameterError
from privsieve.ledger.ledger import Ledger
from privsieve.public.policy import Policy

DOMAIN = """
[table]
unit = "row"
[[column]]
name = "age"
kind = "number"
low = 0
high = 110
[[column]]
name = "sex"
kind = "flag"
[target]
name = "ill"
kind = "label"
values = ["0", "1"]
"""
ASKED = {"select": ["--top", "1", "--epsilon", "1"],
         "synthesize": ["--rows", "10", "--epsilon", "1"],
         "plan": ["--top", "1", "--epsilon", "1"]}
#: A rule that refuses each verb, and a word of the refusal.
RULES = [('epsilon = "0.5"', "epsilon of at most 0.5"), ('units = ["person"]', "the unit person"),
         ('neighbours = ["add-remove"]', "the neighbours add-remove"),
         ('kinds = ["containment"]', "the kind containment"),
         ('methods = ["felp"]', "the method felp")]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A table, its domain, and a ledger with 3 granted."""
    monkeypatch.chdir(tmp_path)
    rows = "20,1,0\n70,0,1\n20,1,1\n70,0,0\n20,1,0\n"
    (tmp_path / "t.csv").write_text("age,sex,ill\n" + rows * 80)
    (tmp_path / "d.toml").write_text(DOMAIN)
    Ledger("budget.db", population="clinic").grant(epsilon=3)
    return tmp_path


def words(verb, *options):
    """The command of a verb, under a policy."""
    paid = [] if verb == "plan" else ["--ledger", "budget.db", "--population", "clinic", "--out",
                                      "out", "--anyway"]
    return [verb, "t.csv", "--domain", "d.toml", *ASKED[verb], *paid, "--policy", "p.toml",
            *options]


@pytest.mark.parametrize("verb", ASKED)
@pytest.mark.parametrize(("rule", "message"), RULES)
def test_what_is_not_allowed_is_refused(place, capsys, verb, rule, message):
    """Each rule refuses each verb in one sentence that names it, and nothing is charged."""
    (place / "p.toml").write_text(rule)

    assert 2 == run(words(verb))
    err = capsys.readouterr().err
    assert f"the policy allows {message}" in " ".join(err.split()) or (
        f"the policy allows an {message}" in " ".join(err.split()))
    assert "nothing was charged" in err
    assert 0 == Ledger("budget.db", population="clinic").spent()
    assert not (place / "out").exists()


@pytest.mark.parametrize("verb", ASKED)
def test_what_is_allowed_goes_on(place, verb):
    """A policy whose every rule is kept changes nothing, at its very edge."""
    method = "noisy-histogram" if verb == "synthesize" else "rule-sieve"
    (place / "p.toml").write_text(
        'epsilon = "1.0"\ndelta = 0\nunits = ["row"]\nneighbours = ["replace-one"]\n'
        f'kinds = ["selection", "histogram"]\nmethods = ["{method}"]\nk = 5\nledger = true\n')

    assert 0 == run(words(verb))


def test_every_verb_that_releases_knows_a_policy():
    """Each verb that has a cost or publishes takes the option, and so does a plan."""
    for verb in ("select", "regress", "synthesize", "publish", "plan"):
        command = verbs.resolve_command(click.Context(verbs), [verb])[1]

        assert "--policy" in {word for param in command.params for word in param.opts}, verb


def test_a_head_is_demanded(place, capsys):
    """Where the policy wants the head kept, a charge without it is refused, and a plan is not."""
    (place / "p.toml").write_text("head = true")

    assert 0 == run(words("plan"))
    assert 2 == run(words("select"))
    assert "no release without --head" in " ".join(capsys.readouterr().err.split())
    assert 0 == run(words("select", "--head", "head.txt"))


def test_a_publication_keeps_the_policy(place, capsys):
    """A publication needs its kind, its k and its ledger, before a row is read."""
    arguments = ["publish", "t.csv", "--target", "ill", "-k", "3", "--out", "out", "--policy",
                 "p.toml"]
    for rule, message in (("k = 5", "a k of at least 5, but you asked for 3"),
                          ("ledger = true", "without --ledger"),
                          (f'signed_by = ["sha256:{"0a" * 32}"]', "has no plan"),
                          ('kinds = ["selection"]', "but you asked for containment")):
        (place / "p.toml").write_text(rule)
        (place / "t.csv").rename(place / "away.csv")
        assert 2 == run(arguments)
        assert message in " ".join(capsys.readouterr().err.split())
        (place / "away.csv").rename(place / "t.csv")
    (place / "p.toml").write_text('k = 3\nkinds = ["containment"]')
    assert 0 == run(arguments)


@pytest.mark.parametrize("text", [
    "epsilon", "epsilon = 0.5", 'epsilon = "much"', 'epsilon = "-1"', "epsilon = true", "k = 0",
    'k = "5"', 'units = "row"', 'units = ["rows"]', "kinds = [1]", 'methods = ["Rule Sieve"]',
    "head = 1", 'signed_by = ["anna.pub"]', "signed_by = []", "threshold = 1", "threshold = 0",
    f'signed_by = ["sha256:{"0a" * 32}"]\nthreshold = 2', f'signed_by = ["SHA256:{"0A" * 32}"]',
    'largest = "1"', '[epsilon]\nlargest = "1"', "k = " + "9" * 5000])
def test_a_policy_that_is_misspelt_is_refused(text):
    """A key or value that is no rule is refused: what is not understood protects nobody."""
    with pytest.raises(ParameterError, match="policy"):
        Policy.read(text)


def test_a_key_that_is_no_rule_is_named():
    """A key that is no rule is refused by name, with those that are."""
    with pytest.raises(ParameterError, match=r"'largest', which is not a rule; the rules are"):
        Policy.read("largest = 1")


def test_a_policy_that_cannot_be_read(place):
    """A file that is not there, or is not of text, is refused in a sentence."""
    (place / "bad.toml").write_bytes(b"\xff\xfe")
    (place / "long.toml").write_bytes(b"#" * 70_000)

    for name in ("no.toml", "bad.toml", "long.toml", "."):
        with pytest.raises(ParameterError, match="policy"):
            Policy.load(place / name)
