"""Law: ended.  A search that time or Ctrl-C ends gives the best so far, and says that it ended."""

from __future__ import annotations

import signal
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

from privsieve.containment import choose as choose_module
from privsieve.containment import forward
from privsieve.containment import publishable as profiles
from privsieve.containment.choose import Choice, exact, greedy, listening, maximal
from privsieve.containment.estimators import PublishableColumns
from privsieve.containment.labelled import Labelled
from privsieve.containment.publish import body_of, project
from privsieve.containment.publishable import publishable
from privsieve.errors import NothingFits
from privsieve.kernels import covers, implementation, patterns
from privsieve.rows.matrix import Items

posix = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer signal")
TWIN = implementation() == "numpy"
#: Objectives and their kernels.
OBJECTIVES = {"hamming": "greedy", "distinct": "lazy_distinct", "class-errors": "class_errors"}


def nested(rows, columns):
    """Columns that contain one another: nearly all of them may be published, slowly."""
    step = max(rows // columns, 1)
    items = Items.dense(np.arange(rows)[:, None] >= np.arange(columns) * step)
    return items, (np.arange(rows) // 3 % 2).astype(np.int32)


def random_table(rows=600, columns=120, seed=0):
    """Random columns of several densities."""
    rng = np.random.default_rng(seed)
    items = Items.dense(rng.random((rows, columns)) < rng.random(columns) * 0.4)
    return items, rng.integers(0, 2, rows).astype(np.int32)


def hard(rows):
    """A table on which no exact search ends within seconds."""
    rng = np.random.default_rng(0)
    held = rng.random((rows, 60)) < 0.3
    return Items.dense(held), rng.integers(0, 2, rows).astype(np.int32)


class Interrupted:
    """Ctrl-C after some seconds of work, as a signal of the clock that no load moves."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __enter__(self):
        def enough(*_):
            raise KeyboardInterrupt

        self.before = signal.signal(signal.SIGVTALRM, enough)
        signal.setitimer(signal.ITIMER_VIRTUAL, self.seconds)

    def __exit__(self, kind, *_):
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, self.before)
        assert kind is not KeyboardInterrupt, "it was not taken as the end of the search"


def keeps(items, choice, k=5):
    """Whether the choice has columns, and keeps k by the definition."""
    held = np.zeros((items.rows, len(choice.selected)), bool)
    for at, j in enumerate(choice.selected):
        held[items.indices[items.indptr[j]:items.indptr[j + 1]], at] = True
    shapes = np.unique(held, axis=0)
    group = [int((held >= shape).all(axis=1).sum()) for shape in shapes]
    return len(choice.selected) > 0 and min(group) == choice.level >= k


@posix
@pytest.mark.parametrize(("objective", "name"), OBJECTIVES.items())
def test_greedy_by_a_signal(objective, name, monkeypatch):
    """Ctrl-C inside a greedy kernel leaves the items that were accepted by then."""
    items, y = nested(400, 150) if TWIN else nested(6000, 2000)
    kernel = getattr(patterns, f"_{name}")

    def begun(*arguments):
        with Interrupted(0.03):
            return kernel(*arguments)

    monkeypatch.setattr(patterns, f"_{name}", begun)
    choice = greedy(Labelled(items, y), patterns.Rule(5, 2), objective)

    assert not choice.complete
    assert 0 < len(choice.selected) < len(items) - 5
    assert choice.level >= 5


@pytest.mark.skipif(TWIN, reason="too large for loops in Python")
@pytest.mark.parametrize("how", ["maximal", "exact", "few", "most"])
def test_others_by_a_signal(how):
    """Ctrl-C as soon as something is told: what was found by then keeps k."""
    items, y = random_table(3000, 1500)
    rule = patterns.Rule(5, 2)
    calls = {
        "maximal": lambda: maximal(Labelled(items, y), rule),
        "exact": lambda: exact(Labelled(items, y), rule),
        "few": lambda: publishable(Labelled(items, y), rule, "few"),
        "most": lambda: publishable(Labelled(items, y), rule, "most"),
    }
    heard = []

    def enough(words):
        if not heard:
            heard.append(words)
            signal.raise_signal(signal.SIGINT)

    with listening(enough):
        choice = calls[how]()

    assert not choice.complete
    assert keeps(items, choice)


def ending(kernel, after):
    """A kernel that is ended by the user after this number of accepted items."""
    def ended(*arguments):
        values = kernel(*arguments)
        return np.append(values[:after], covers.ENDED) if len(values) > after else values

    return ended


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_greedy_keeps_what_it_has(objective, monkeypatch):
    """The part of a greedy choice is its beginning; without any item the interrupt goes on."""
    items, y = nested(60, 12)
    rule, name = patterns.Rule(2, 2), OBJECTIVES[objective]
    whole = greedy(Labelled(items, y), rule, objective)
    kernel = getattr(patterns, name)
    for after in (1, 4):
        monkeypatch.setattr(patterns, name, ending(kernel, after))
        choice = greedy(Labelled(items, y), rule, objective)

        assert (after, False, True) == (len(choice.selected), choice.complete, whole.complete)
        assert set(choice.selected) < set(whole.selected)
        assert choice.level >= 2
    monkeypatch.setattr(patterns, name, ending(kernel, 0))
    with pytest.raises(KeyboardInterrupt):
        greedy(Labelled(items, y), rule, objective)


def test_the_twin_is_ended_in_the_same_way(monkeypatch):
    """In the Python kernels an interrupt leaves what was accepted, and the mark."""
    items, y = nested(60, 12)
    cells, order = (items.indptr, items.indices), np.arange(12)
    facts = patterns.rule_facts(cells, y, order, patterns.Rule(2, 2))
    keeps, calls = covers.Covers.keeps, []

    def third(covers, state, item):
        calls.append(item)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return keeps(covers, state, item)

    monkeypatch.setattr(covers.Covers, "keeps", third)
    none = np.empty(0, np.int64)
    for result in (lambda: covers.greedy(cells, y, order, *facts),
                   lambda: covers.lazy_distinct(cells, y, order, none, *facts),
                   lambda: covers.class_errors(cells, y, order, none, *facts)):
        calls.clear()
        accepted, complete = patterns.finished(result())

        assert (2, False) == (len(accepted), complete)


def test_maximal_says_it(monkeypatch):
    """Sets that time or Ctrl-C cut are not all; nor are those that were not compared or grown."""
    items, y = random_table()
    rule = patterns.Rule(5, 2)
    table, even = Labelled(items, y), np.ones(len(items), np.int64)
    short, whole = (maximal(table, rule, even, limit, complete=False) for limit in (1e-6, None))

    assert (False, True) == (short.complete, whole.complete)
    assert keeps(items, whole)
    monkeypatch.setattr(choose_module, "greedy", lambda *a, prefix=(), **_: Choice(
        tuple(prefix)[:1], 5, Fraction(0), complete=False))
    cut = maximal(table, rule, even)
    assert (whole.selected, False) == (cut.selected, cut.complete)


def test_forward_keeps_its_best_prefix(monkeypatch):
    """Ctrl-C in the forward choice leaves the prefix of least error; before that it goes on."""
    items, y = random_table()
    rule = patterns.Rule(5, 2, l_diversity=2)
    grown = forward._grown

    def ended(after):
        def some(*arguments):
            for number, columns in enumerate(grown(*arguments)):
                if number == after:
                    raise KeyboardInterrupt
                yield columns
        return some

    monkeypatch.setattr(forward, "_grown", ended(2))
    cut = forward.forward(Labelled(items, y), rule)
    assert (False, True) == (cut.complete, len(cut.selected) in (1, 2))
    assert keeps(items, cut)
    assert forward.forward(Labelled(items, y), rule, most=2).selected == cut.selected
    monkeypatch.setattr(forward, "_grown", ended(0))
    with pytest.raises(KeyboardInterrupt):
        forward.forward(Labelled(items, y), rule)


@pytest.mark.parametrize("profile", ["strict", "most"])
@pytest.mark.parametrize("where", ["greedy", "best_by_prediction"])
def test_profiles_keep_their_first_choice(profile, where, monkeypatch):
    """Ctrl-C in the second choice of a profile, or in the comparison, leaves the first one."""
    items, y = random_table(200, 20)
    rule, calls, real = patterns.Rule(5, 2), [], getattr(profiles, where)
    last = 2 if (profile, where) == ("strict", "greedy") else 1

    def ended(*arguments, **named):
        calls.append(0)
        if len(calls) == last:
            raise KeyboardInterrupt
        return real(*arguments, **named)

    monkeypatch.setattr(profiles, where, ended)
    cut = publishable(Labelled(items, y), rule, profile)

    assert (last, False) == (len(calls), cut.complete)
    assert len(cut.selected) > 0


def test_exact_says_it():
    """A search that is not proved is not complete, and its gap is in the release."""
    items, y = hard(1000)
    held = np.random.default_rng(0).random((1000, 60)) < 0.3
    rule = patterns.Rule(5, 2)
    short = exact(Labelled(items, y), rule, "hamming", 0.05)
    kind = PublishableColumns(5, method="exact", weights="hamming")
    release = clone(kind).set_params(time_limit=0.05).fit(held, y).release_
    proved = kind.fit(held[:, :8], y).release_

    assert (False, False) == (short.proved, short.complete)
    assert (release.proved, release.complete) == (False, False)
    assert release.gap == (release.bound - release.objective) / release.objective > 0
    assert (True, True, 0) == (proved.proved, proved.complete, proved.gap)
    free = PublishableColumns(5, method="maximal").fit(held[:, :8], y).release_
    assert (None, True) == (free.gap, free.complete)


def test_the_exact_search_is_told(monkeypatch):
    """What is told comes from the search; Ctrl-C in the listener ends it like one elsewhere."""
    items, y = hard(1000)
    heard = []
    with listening(heard.append):
        choice = exact(Labelled(items, y), patterns.Rule(5, 2), "hamming", 1)
    assert not choice.complete
    assert " nodes, best at " in heard[-1]

    options = []

    def enough(*_):
        options.append(True)
        raise KeyboardInterrupt

    monkeypatch.setattr(choose_module, "tell_nodes", enough)
    with listening(heard.append):
        cut = exact(Labelled(items, y), patterns.Rule(5, 2), "hamming", 60)
    assert (False, 1) == (cut.complete, len(options))


def test_nothing_in_time():
    """An ended search without a column asks for time, not for another k."""
    items, y = random_table(20, 4)
    table = Labelled(items, y, (0, 1))
    with pytest.raises(NothingFits, match="the search ended before it found a column"):
        project(table, Choice((), 20, complete=False), patterns.Rule(5, 2), with_target=False)
    assert body_of(items, Choice((1,), 5, complete=False), {})["complete"] is False
    assert body_of(items, Choice((1,), 5), {})["complete"] is True
