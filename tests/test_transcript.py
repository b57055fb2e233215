"""Law: what a released function was asked and said is bound to the certificate of its charge."""

from __future__ import annotations

import copy
import os
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import privsieve as ps
from privsieve.errors import (
    LedgerError,
    ParameterError,
    ReleaseFailed,
    SchemaError,
)
from privsieve.ledger.ledger import Ledger
from privsieve.methods.ridge import answers
from privsieve.methods.ridge import session as session_module
from privsieve.methods.ridge.session import KernelRidgeSession, codes_of
from privsieve.noise.streams import replay
from privsieve.public.canonical import canonical
from privsieve.public.columns import Category, Flag, Number
from privsieve.public.domain import Domain
from privsieve.release import Regression, Release
from refitted import Forger, add, drop, put, swap

BOX = Domain.box(0, 1, target=(0, 2))
MIXED = Domain([Number("age", 0, 110), Number("dose", 1, 9, missing="level"), Flag("smoker"),
                Category("ward", ["A", "B"])], target=Number("cost", 1, 600, scale="log"))
KERNELS = [("rbf", {"gamma": 0.7}), ("rbf", {"gamma": 300.0}), ("linear", {}),
           ("polynomial", {"degree": 5})]


def table(n=60, seed=0):
    """Records whose target is a smooth function of them."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] / 2


def asked(n, seed=9):
    """Public questions."""
    return np.random.default_rng(seed).random((n, 2))


@pytest.fixture
def ledger(tmp_path):
    """A budget of ten."""
    made = Ledger(str(tmp_path / "budget.db"), population="people")
    made.grant(epsilon=10, delta="1e-3")
    return made


def session_of(ledger=None, **options):
    """A session over the table."""
    return KernelRidgeSession(*table(), **{"lam": "1", "domain": BOX, "ledger": ledger, **options})


def talked(ledger=None, questions=(4, 3)):
    """A function that was asked twice, and its session is over."""
    with session_of(ledger) as session:
        function = session.release_function(epsilon=1, delta="1e-6")
        for at, n in enumerate(questions):
            function.predict(asked(n, at))
    return function


def told(release):
    """The two files of a release, as they are read."""
    return copy.deepcopy((dict(release.body), dict(release.certificate)))


# What is written down


def test_the_release_of_a_function_is_what_it_said(ledger, tmp_path):
    """Questions that noise was drawn for, in their order, with the numbers and the answers."""
    with session_of(ledger) as session:
        function = session.release_function(epsilon=1, delta="1e-6")
        questions = [asked(1, at) for at in range(5)]
        said = [function.predict(one)[0] for one in questions]
        assert function.release_ is None
    model = Regression.read(function.release_.body)

    assert 5 == function.points_ == len(model.values.q) == len(model.answers)
    assert [tuple(codes_of(one, BOX.of_width(["x0", "x1"]))[0].tolist())
            for one in questions] == list(model.queries)
    assert said == pytest.approx([float(text) for text in model.answers], abs=1e-12)
    function.release_.save(tmp_path / "curve")
    found = ps.verify(tmp_path / "curve", ledger=ledger)
    assert found.valid, found.reasons


def test_a_question_that_others_answer_draws_no_number():
    """It stands in no release: its answer follows from the questions that do."""
    with session_of() as session:
        function = session.release_function(epsilon=1, delta="1e-6")
        for _ in range(3):
            function.predict([[0.5, 0.5], [0.1, 0.9]])

    assert 2 == len(function.release_.body["queries"])


def test_the_charge_is_committed_at_the_end_once(ledger):
    """Till the session ends the ledger has a charge without a release; then its digest, once."""
    with session_of(ledger) as session:
        first = session.release_function(epsilon=1, delta="1e-6")
        second = session.release_function(epsilon=1, delta="1e-6")
        first.predict(asked(3))
        assert 2 == len(ledger.orphans())
    session.close()
    commits = [one.body["release_sha256"] for one in ledger.entries() if one.kind == "commit"]

    assert () == ledger.orphans()
    assert [first.release_.sha256, second.release_.sha256] == commits
    assert second.release_ is session.release_
    assert [] == second.release_.body["values"]["q"]
    assert all(ps.verify(*told(one.release_)[::-1], ledger=ledger).valid for one in (first, second))


def test_a_session_that_ends_by_an_error_still_writes_it_down(ledger):
    """What was said was said."""
    found = []

    def broken():
        with session_of(ledger) as session:
            found.append(session.release_function(epsilon=1, delta="1e-6"))
            found[0].predict(asked(2))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()

    assert 2 == len(found[0].release_.body["values"]["q"])
    assert () == ledger.orphans()


def test_a_function_that_is_thrown_away_is_written_down(ledger):
    """Who drops the function keeps the charge's release all the same."""
    with session_of(ledger) as session:
        session.release_function(epsilon=1, delta="1e-6").predict(asked(2))

    assert 2 == len(session.release_.body["values"]["q"])


def test_a_ledger_that_fails_at_the_end_is_asked_again(ledger, monkeypatch):
    """The rows are forgotten whatever happens; `close` writes down what is still to be written."""
    def broken(*_):
        raise LedgerError("the disk is full")

    session = session_of(ledger).__enter__()
    function = session.release_function(epsilon=1, delta="1e-6")
    function.predict(asked(2))
    monkeypatch.setattr(Ledger, "commit", broken)
    with pytest.raises(LedgerError, match="disk"):
        session.__exit__()
    assert (None, None) == (function.release_, session._memory.model)
    monkeypatch.undo()
    session.close()

    assert ps.verify(*told(function.release_)[::-1], ledger=ledger).valid


def test_a_draw_that_is_broken_off_is_not_in_it(monkeypatch):
    """It has said nothing, and nothing of it leaves."""
    with session_of() as session:
        function = session.release_function(epsilon=1, delta="1e-6")
        function.predict([[0.1, 0.1]])

        def broken(*given):
            answers.drawn(*given)
            raise KeyboardInterrupt

        monkeypatch.setattr(session_module, "drawn", broken)
        with pytest.raises(ReleaseFailed):
            function.predict([[0.9, 0.9]])

    assert 1 == len(function.release_.body["values"]["q"])


def test_a_draw_under_way_at_the_end_is_in_it(monkeypatch):
    """The end waits for it."""
    started = threading.Event()

    def slowly(*given):
        started.set()
        time.sleep(0.2)
        return answers.drawn(*given)

    monkeypatch.setattr(session_module, "drawn", slowly)
    with ThreadPoolExecutor(1) as pool, session_of() as session:
        function = session.release_function(epsilon=1, delta="1e-6")
        pool.submit(function.predict, [[0.1, 0.1]])
        started.wait()
        session.close()

        assert 1 == len(function.release_.body["values"]["q"])
        with pytest.raises(ParameterError, match="not open"):
            session.release_function(epsilon=1, delta="1e-6")


def test_a_session_that_ends_while_a_function_is_charged(ledger, monkeypatch):
    """By another thread: the function was not asked, and its charge has its release."""
    begun = session_module.fitting.begun

    def ending(*given, **more):
        made = begun(*given, **more)
        session.close()
        return made

    monkeypatch.setattr(session_module.fitting, "begun", ending)
    with session_of(ledger) as session:
        function = session.release_function(epsilon=1, delta="1e-6")

        assert [] == function.release_.body["queries"]
        assert () == ledger.orphans()


def test_nothing_is_drawn_once_the_release_is_made(monkeypatch):
    """Rows are forgotten first: a number that came after the digest would stand nowhere."""
    seen, settle = [], KernelRidgeSession._settle

    def spied(session):
        seen.append(session._memory.open)
        settle(session)

    monkeypatch.setattr(KernelRidgeSession, "_settle", spied)
    function = talked()
    function.predict(asked(5))

    assert [False] == seen
    assert 7 == function.points_ == len(function.release_.body["queries"])


def test_a_copy_says_what_was_written_when_it_was_made():
    """A copy of before has no release; one of after has it."""
    with session_of() as session:
        function = session.release_function(epsilon=1, delta="1e-6")
        function.predict(asked(2))
        before = pickle.loads(pickle.dumps(function))
    after = pickle.loads(pickle.dumps(function))

    assert before.release_ is None
    assert function.release_.bytes == after.release_.bytes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_another_process_commits_nothing(ledger):
    """A child would write down less than its parent says later; each charge is committed once."""
    with session_of(ledger) as session:
        function = session.release_function(epsilon=1, delta="1e-6")
        session._memory.process += 1  # as a child sees it
        session.close()
        assert function.release_ is None
        session._memory.process -= 1

    assert function.release_ is not None


def test_nothing_private_is_in_it():
    """Two neighbours with the same noise: their releases differ in numbers and answers alone."""
    X, y = table()
    found = []
    for label in (y, np.where(np.arange(60) < 59, y, 0.0)):
        session = KernelRidgeSession(X, label, lam="1", domain=BOX)
        session._noise = replay(4)
        with session:
            function = session.release_function(epsilon=1, delta="1e-6")
            function.predict(asked(4))
        body = dict(function.release_.body)
        found.append((body, [body.pop("answers"), body["values"].pop("q")]))
    (first, one), (second, other) = found

    assert canonical(first) == canonical(second)
    assert one != other


# What verify says of it


@pytest.mark.parametrize("domain", [BOX, MIXED], ids=["box", "mixed"])
@pytest.mark.parametrize(("name", "options"), KERNELS, ids=str)
def test_answers_are_made_again_from_the_numbers(domain, name, options):
    """By another code, of hard questions too: asked one by one, near each other, in any order."""
    rng = np.random.default_rng(3)
    if domain is BOX:
        X, y = table()
        questions = [rng.random((12, 2)), *(0.5 + rng.random((9, 1, 2)) / 200)]
    else:
        import pandas as pd

        X = pd.DataFrame({"age": rng.random(40) * 110, "dose": 1 + 8 * rng.random(40),
                          "smoker": rng.integers(0, 2, 40), "ward": rng.choice(["A", "B"], 40)})
        X.loc[::5, "dose"] = None
        y = 1 + 599 * rng.random(40)
        questions = [X[:9], *(X[at:at + 1] for at in range(9, 19))]
    with KernelRidgeSession(X, y, kernel=name, lam="1", domain=domain, **options) as session:
        function = session.release_function(epsilon=10, delta="1e-3")
        for one in questions:
            function.predict(one)
    release, certificate = told(function.release_)

    assert () == ps.verify(certificate, release).reasons
    assert 3 <= len(release["answers"])
    for at in (0, len(release["answers"]) - 1):
        worse = copy.deepcopy(release)
        worse["answers"][at] = repr(float(worse["answers"][at]) + 0.001)
        assert reasons(worse, certificate, ("answers", at))


def reasons(release, certificate, path):
    """What speaks against a release whose digests and hashes were made to fit."""
    from refitted import refit

    certificate = copy.deepcopy(certificate)
    refit(release, certificate, "release", path)
    return ps.verify(certificate, release).reasons


#: What a forger does who makes all copies, digests and hashes fit, and what gives him away.
EDITS = {
    "another answer": (put, ("answers", 2), "0.5", "answers is not"),
    "answers in another order": (swap, ("answers",), 1, "answers is not"),
    "questions in another order": (swap, ("queries",), 1, "answers is not"),
    "another question": (put, ("queries", 3, 0), 17, "answers is not"),
    "another number": (put, ("values", "q", 0), 3, "answers is not"),
    "numbers in another order": (swap, ("values", "q"), 2, "answers is not"),
    "an answer less": (drop, ("answers", 3), None, "does not have the fields"),
    "a question less": (drop, ("queries", 3), None, "does not have the fields"),
    "a number less": (drop, ("values", "q", 3), None, "of a type"),
    "a field": (add, (), "said", "not declared"),
    "a question of another width": (add, ("queries", 1), 3, "what was asked for is refused"),
    "as many planned": (put, ("plan", "settings", "queries"), 7, "plan.settings is not"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_changed_transcript_is_refused(edit):
    """Each edit has its reason, though files alone are looked at."""
    act, path, value, why = EDITS[edit]
    release, certificate = told(talked().release_)
    made = Forger(release, certificate).edited(act, "release", path, value)
    found = ps.verify(made["certificate"], made["release"]).reasons

    assert any(why in reason for reason in found), found


def test_a_question_left_out_in_the_middle_is_refused():
    """With its number and its answer: what came after stands on it."""
    release, certificate = told(talked().release_)
    for at in range(6):
        left = copy.deepcopy(release)
        for part in (left["queries"], left["answers"], left["values"]["q"]):
            del part[at]

        assert reasons(left, certificate, ("answers",)), at


def test_a_question_that_is_asked_twice_is_refused():
    """A function draws once for a point: a second number for it was never drawn."""
    release, certificate = told(talked().release_)
    release["queries"].append(release["queries"][0])
    release["values"]["q"].append(release["values"]["q"][0])
    release["answers"].append(release["answers"][0])

    assert any("answers is not" in one for one in reasons(release, certificate, ("answers",)))


def test_another_talk_is_found_by_the_ledger(ledger):
    """Files alone cannot tell a whole other talk, nor a shorter one: the charge's digest can."""
    release, certificate = told(talked(ledger).release_)
    for part in (release["queries"], release["answers"], release["values"]["q"]):
        part.pop()
    from refitted import refit

    refit(release, certificate, "release", ("answers",))

    assert ps.verify(certificate, release).valid
    assert any("does not hold" in one
               for one in ps.verify(certificate, release, ledger=ledger).reasons)


# What was saved goes on answering


def records(n, seed):
    """Public records of the mixed domain, some without a dose."""
    rng = np.random.default_rng(seed)
    return [[rng.uniform(0, 110), None if rng.random() < 0.2 else rng.uniform(1, 9),
             int(rng.integers(2)), str(rng.choice(["A", "B", "C"]))] for _ in range(n)]


@pytest.mark.parametrize(("name", "options"), KERNELS, ids=str)
def test_a_saved_function_answers_as_its_copy(name, options, ledger, tmp_path):
    """From its folder alone a function predicts what a copy in memory does, at any point."""
    X, new = records(80, 1), records(50, 3)
    session = KernelRidgeSession(X, [float(row[0]) + 1 for row in X], kernel=name, lam=1,
                                 domain=MIXED, ledger=ledger, **options)
    with session:
        function = session.release_function(epsilon=5, delta="1e-6")
        for at in (0, 20):
            function.predict(records(40, 2)[at:at + 20])
    function.release_.save(tmp_path / "curve")
    again = KernelRidgeSession.of_release(ps.load(tmp_path / "curve"))

    assert ps.verify(tmp_path / "curve", ledger=ledger).valid
    assert np.allclose(pickle.loads(pickle.dumps(function)).predict(new), again.predict(new),
                       rtol=1e-6)
    assert len({round(one, 6) for one in again.predict(new)}) > 1


def test_a_saved_batch_answers_as_it_did(tmp_path):
    """Of a batch the questions have their answers, and other points follow from its numbers."""
    with session_of() as session:
        known = session.predict_batch(asked(30), epsilon=5)
    session.release_.save(tmp_path / "batch")
    again = KernelRidgeSession.of_release(ps.load(tmp_path / "batch"))

    assert known == pytest.approx(again.predict(asked(30)), abs=1e-6)
    assert (7,) == again.predict(asked(7, 5)).shape


def test_what_cannot_go_on_answering_says_so(ledger):
    """One answer is no function, nor is one that was never asked; a formula is another class's."""
    with session_of(ledger) as session:
        session.predict_one([0.5, 0.5], epsilon=1)
        one = session.release_
        function = session.release_function(epsilon=1, delta="1e-6")
    of = KernelRidgeSession.of_release
    with pytest.raises(SchemaError, match="the answer to one question, and no function"):
        of(one)
    with pytest.raises(SchemaError, match="was never asked"):
        of(function.release_)
    with pytest.raises(SchemaError, match="and no formula"):
        ps.PrivateKernelRidge.of_release(one)
    model = ps.PrivateKernelRidge("linear", epsilon=5, domain=BOX, ledger=ledger).fit(*table())
    with pytest.raises(SchemaError, match=r"PrivateKernelRidge.of_release\(release\) predicts"):
        of(model.release_)


@pytest.mark.parametrize("edit", [
    {"queries": [[1, 70000]]}, {"queries": [[1]]}, {"values": {"exponent": -9, "q": [1, 2, 3]}},
    {"features": {"map": "answers", "kernel": "rbf", "gamma": "nan", "lam": "1"}},
    {"features": {"map": "answers", "kernel": "polynomial", "degree": 2.0, "lam": "1"}},
    {"features": {"map": "answers", "kernel": "cubic", "lam": "1"}}, {"domain": {}},
    {"columns": ["x1", "x0"]}, {"plan": {"settings": {"answers": "batch", "points": [9]}}},
    {"plan": {}}], ids=str)
def test_a_broken_release_answers_nothing(edit):
    """What privsieve did not write gets a sentence, and no number."""
    release = talked().release_
    with pytest.raises(SchemaError):
        KernelRidgeSession.of_release(Release({**release.body, **edit}, None))
