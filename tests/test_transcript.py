"""Law: what a session was asked and said is bound to the certificate of its charge."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import privsieve as ps
from privsieve.ledger.ledger import Ledger
from privsieve.public.columns import Category, Flag, Number
from privsieve.public.domain import Domain
from privsieve.session import KernelRidgeSession
from refitted import Forger, add, drop, put, refit, swap

BOX = Domain.box(0, 1, target=(0, 2))
MIXED = Domain([Number("age", 0, 110), Number("dose", 1, 9, missing="level"), Flag("smoker"),
                Category("ward", ["A", "B"])], target=Number("cost", 1, 600, scale="log"))
KERNELS = [("rbf", {"gamma": 0.7}), ("rbf", {"gamma": 300.0}), ("linear", {})]


def table(n=60, seed=0):
    """Records whose target is a smooth function of them."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] / 2


def ask(n, seed=9):
    """Public questions."""
    return np.random.default_rng(seed).random((n, 2))


def records(n, seed):
    """Public records of the mixed domain, some without a dose."""
    rng = np.random.default_rng(seed)
    return [[rng.uniform(0, 110), None if rng.random() < 0.2 else rng.uniform(1, 9),
             int(rng.integers(2)), str(rng.choice(["A", "B", "C"]))] for _ in range(n)]


@pytest.fixture
def ledger(tmp_path):
    """A budget of ten."""
    new_ledger = Ledger(str(tmp_path / "budget.db"), population="people")
    new_ledger.grant(epsilon=10)
    return new_ledger


def session_of(ledger=None, **options):
    """A session over the table."""
    return KernelRidgeSession(*table(), **{"lam": "1", "domain": BOX, "ledger": ledger, **options})


def talked(ledger=None, questions=7):
    """The release of a batch, whose session is over."""
    with session_of(ledger) as session:
        session.predict_batch(ask(questions), epsilon=8)
    return session.release_


def say(release):
    """The two files of a release, as they are read."""
    return copy.deepcopy((dict(release.body), dict(release.certificate)))


def reasons(release, certificate, path):
    """What speaks against a release whose digests and hashes were made to fit."""
    certificate = copy.deepcopy(certificate)
    refit(release, certificate, "release", path)
    return ps.verify(certificate, release).reasons


@pytest.mark.parametrize(("name", "options"), KERNELS, ids=str)
def test_answers_are_made_again_from_the_numbers(name, options):
    """Whatever the kernel: each answer follows, and one that is a thousandth more does not."""
    X = records(40, 1)
    with KernelRidgeSession(X, [float(row[0]) + 1 for row in X], kernel=name, lam="1",
                            domain=MIXED, **options) as session:
        session.predict_batch(records(12, 2), epsilon=9)
    release, certificate = say(session.release_)

    assert () == ps.verify(certificate, release).reasons
    assert 12 == len(release["answers"])
    for at in (0, 11):
        worse = copy.deepcopy(release)
        worse["answers"][at] = repr(float(worse["answers"][at]) * 1.001 + 0.001)
        assert reasons(worse, certificate, ("answers", at))


#: What a forger does who makes all copies, digests and hashes fit, and what gives him away.
EDITS = {
    "another answer": (put, ("answers", 2), "0.5", "answers does not follow"),
    "answers in another order": (swap, ("answers",), 1, "answers does not follow"),
    "questions in another order": (swap, ("queries",), 1, "does not follow"),
    "another question": (put, ("queries", 3, 0), 17, "does not follow"),
    "another number": (put, ("values", "q", 0), 3, "answers does not follow"),
    "an answer less": (drop, ("answers", 3), None, "does not have the fields"),
    "a question less": (drop, ("queries", 3), None, "this release is impossible"),
    "a number less": (drop, ("values", "q", 0), None, "does not hold one number"),
    "a field": (add, (), "said", "not declared"),
    "a question of another width": (add, ("queries", 1), 3, "this release is impossible"),
    "as many planned": (put, ("plan", "settings", "queries"), 9, "plan.settings does not follow"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_changed_transcript_is_refused(edit):
    """Each edit has its reason, though files alone are looked at."""
    act, path, value, why = EDITS[edit]
    release, certificate = say(talked())
    files = Forger(release, certificate).edited(act, "release", path, value)
    reasons = ps.verify(files["certificate"], files["release"]).reasons

    assert any(why in reason for reason in reasons), reasons


def test_another_talk_is_found_by_the_ledger(ledger):
    """Files alone cannot tell a whole other talk: the charge's digest can."""
    true, other = say(talked(ledger)), say(talked())
    release, certificate = other[0], copy.deepcopy(true[1])
    refit(release, certificate, "release", ("answers",))

    assert ps.verify(*true[::-1], ledger=ledger).valid
    assert any("ledger lacks" in reason
               for reason in ps.verify(certificate, release, ledger=ledger).reasons)
