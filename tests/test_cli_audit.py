"""`privsieve audit`: what an attack found, beside what is claimed."""

from __future__ import annotations

import json

import pytest

from privsieve.methods import worst as pairs


def test_an_attack_that_finds_nothing(cli):
    """The bound is printed next to the claim, and the code is 0; --json says the same."""
    code, out, err = cli("audit", "block-fwell", "--runs", 150, "--epsilon", "0.5")
    document = json.loads(cli("audit", "block-fwell", "--runs", 150, "--json")[1])

    assert (0, "saw nothing" in out) == (
        code, "does not support the claim" in " ".join(err.split()))
    assert "claimed    epsilon 0.5\n" in out
    assert "300, on two made-up tables of 6 rows" in out
    assert out.endswith(("\nthe claim stands\n", "\nsaw nothing\n"))
    assert ("block-fwell", "1", False, 300) == tuple(
        document[key] for key in ("method", "epsilon", "exceeded", "runs"))
    assert 0 <= float(document["bound"]) <= float(document["bound95"])
    assert document["verdict"] in ("stands", "saw nothing")


def test_a_mode_is_attacked(cli):
    """A mode is named beside its method; a name that is none lists those there are."""
    code, out, _ = cli("audit", "rule-sieve", "--mode", "joint", "--runs", 100)

    assert 0 == code
    assert "method     rule-sieve, joint\n" in out
    assert "choose one of: ordered, joint" in cli("audit", "rule-sieve", "--mode", "none")[2]
    assert "leave the mode out" in cli("audit", "felp", "--mode", "none")[2]


def test_who_saw_nothing_says_so(cli, monkeypatch):
    """A method that answers always the same is not refuted, and nothing is said for it."""
    monkeypatch.setattr(pairs.Pair, "attacked", lambda _pair, _epsilon: lambda _table: "the same")
    code, out, err = cli("audit", "noisy-histogram", "--runs", 150)

    assert 0 == code
    assert out.endswith("saw nothing\n")
    assert "does not support the claim" in " ".join(err.split())


def test_a_method_that_spends_more_is_refuted(cli, monkeypatch):
    """A method that spends 30 where 1 is claimed is refuted: code 7 and both figures."""
    shipped = pairs.Pair.attacked
    monkeypatch.setattr(pairs.Pair, "attacked", lambda pair, _epsilon: shipped(pair, 30))
    code, out, err = cli("audit", "noisy-histogram", "--runs", 150)

    assert 7 == code
    assert out.endswith("REFUTED\n")
    assert "noisy-histogram reveals at least epsilon" in err
    assert "above the claim 1" in err


@pytest.mark.parametrize(("args", "message"), [
    (("magic",), "one of: rule-sieve"), (("felp", "--runs", "99"), "number of runs from 100"),
    (("felp", "--epsilon", "0"), "larger than 0"), (("felp", "--runs", "few"), "valid integer"),
    ((), "Missing argument 'METHOD'"),
])
def test_refusals(cli, args, message):
    """What cannot be attacked is one sentence and code 2."""
    code, out, err = cli("audit", *args)

    assert (2, "", 1) == (code, out, len(err.splitlines()))
    assert message in err
