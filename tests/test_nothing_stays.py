"""Laws: after a release nothing of the rows stays in the process, and nothing of them is shown."""

from __future__ import annotations

import dataclasses
import gc
import importlib
import logging
import pkgutil
import sys
import threading
import traceback
import types
import warnings
import weakref
from collections import Counter
from contextlib import suppress
from decimal import getcontext
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from msgspec import Struct
from sklearn.base import BaseEstimator

import privsieve as ps
from privsieve import fit as fitting
from privsieve.errors import ReleaseFailed
from privsieve.methods import METHODS
from privsieve.noise.streams import replay
from privsieve.rows import open_source

ROWS = 301
COLUMNS = [ps.Number("age", 0, 110), ps.Number("stay", 1, 365, scale="log", missing="level"),
           ps.Flag("smoker"), ps.Category("ward", ["A", "B"])]
CLASSES = ps.Domain(COLUMNS, target=ps.Label("back", [0, 1]))
NUMBER = ps.Domain(COLUMNS, target=ps.Number("back", 0, 1))
PERSONS = dataclasses.replace(CLASSES, person="who", rows_per_person=2, persons=200)
SECRET = "Zebedee"


def rows_of(changed=False):
    """Made-up rows; where `changed`, one of them is another, in every cell."""
    rng = np.random.default_rng(7)
    age, stay = rng.integers(18, 95, ROWS), rng.gamma(2, 5, ROWS) + 1
    smoker, ward = rng.integers(0, 2, ROWS), rng.choice(["A", "B"], ROWS)
    back = ((age > 60) ^ (rng.random(ROWS) < 0.1)).astype(int)
    rows = [[int(age[i]), float(stay[i]), int(smoker[i]), str(ward[i]), int(back[i]), f"p{i // 2}"]
            for i in range(ROWS)]
    if changed:
        rows[17] = [3, 364.5, 1 - rows[17][2], SECRET, 1 - rows[17][4], "p151"]
    return rows


def table(domain, changed=False):
    """The rows as a frame, with what the domain names."""
    import pandas as pd

    frame = pd.DataFrame(rows_of(changed), columns=[*CLASSES.names, "back", "who"])
    return frame if domain.person else frame.drop(columns=["who"])


def planned(method, domain=CLASSES, **options):
    """A plan for such a table."""
    rows = None if domain.person else ROWS
    return ps.plan(method, domain, **{"epsilon": 2, "rows": rows, **options})


#: Plans of every method, with what makes a difference to what is held on the way.
PLANS = {
    "rule-sieve": partial(planned, "rule-sieve", k=2),
    "rule-sieve, joint": partial(planned, "rule-sieve", k=2, joint="pair"),
    "rule-sieve, persons": partial(planned, "rule-sieve", PERSONS, k=2),
    "rule-sieve, a number": partial(planned, "rule-sieve", NUMBER, k=2),
    "rule-sieve, a median": partial(planned, "rule-sieve", NUMBER, k=2, numeric="median-cut"),
    "rule-sieve, a median pair": partial(planned, "rule-sieve", NUMBER, k=2, joint="pair",
                                         numeric="median-cut"),
    "block-fwell": partial(planned, "block-fwell", k=2),
    "output-fwell": partial(planned, "output-fwell", k=2),
    "objective-fwell": partial(planned, "objective-fwell", k=2),
    "felp": partial(planned, "felp", k=2),
    "kernel-ridge": partial(planned, "kernel-ridge", NUMBER, features=10),
    "kernel-ridge, linear": partial(planned, "kernel-ridge", NUMBER, kernel="linear"),
    "noisy-histogram": partial(planned, "noisy-histogram", columns=["age", "ward"]),
    "noisy-histogram, chosen": partial(planned, "noisy-histogram", k=2),
    "noisy-histogram, delta": partial(planned, "noisy-histogram", delta="1e-6"),
    **{f"noisy-top-k, {score}": partial(planned, "noisy-top-k", k=2, score=score)
       for score in ("class-counts", "mean-difference")},
    "noisy-top-k, correlation": partial(planned, "noisy-top-k", NUMBER, k=2, score="correlation"),
    "noisy-top-k, persons": partial(planned, "noisy-top-k", PERSONS, k=2, score="class-counts"),
}


def test_every_method_is_here():
    """The plans below are of every method that there is."""
    assert set(METHODS) == {name.partition(",")[0] for name in PLANS}


# What stays in the process.

#: What a walk does not go into: code, and what belongs to other packages.
_CODE = (types.ModuleType, types.CodeType, types.FrameType, types.BuiltinFunctionType,
         types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType,
         types.MemberDescriptorType, types.MethodWrapperType)
#: What a release says of its own: it was drawn.
DRAWN = ("selected", "values", "cells", "queries", "answers", "class_counts")


def parts(thing):
    """What hangs on a thing, each with a name; None for what is a leaf."""
    if isinstance(thing, dict | types.MappingProxyType):
        return [(f"[{key!r}]", value) for key, value in thing.items()] + [
            ("{}", key) for key in thing if not isinstance(key, str | int)]
    if isinstance(thing, list | tuple | set | frozenset):
        return [(f"[{at}]" if isinstance(thing, list | tuple) else "{}", one)
                for at, one in enumerate(thing)]
    if isinstance(thing, partial):
        return [(".func", thing.func), (".args", thing.args), (".keywords", thing.keywords)]
    if hasattr(thing, "cache_info"):  # the dict of a cache, and what it wraps
        return [(f"<{at}>", one) for at, one in enumerate(gc.get_referents(thing))]
    if isinstance(thing, types.FunctionType):
        held = [cell.cell_contents for cell in thing.__closure__ or () if _filled(cell)]
        return [(".closure", held), (".defaults", thing.__defaults__),
                (".kwdefaults", thing.__kwdefaults__), (".dict", thing.__dict__)]
    if isinstance(thing, types.MethodType):
        return [(".self", thing.__self__), (".func", thing.__func__)]
    if isinstance(thing, property):
        return [(".fget", thing.fget)]
    if isinstance(thing, staticmethod | classmethod):
        return [(".func", thing.__func__)]
    if isinstance(thing, weakref.WeakKeyDictionary | weakref.WeakValueDictionary):
        return [("<weak>", list(thing.items()))]
    if isinstance(thing, type):
        return [(".class", dict(vars(thing)))] if _ours(thing) else None
    if _ours(type(thing)):
        slots = {name: getattr(thing, name) for kind in type(thing).__mro__
                 for name in vars(kind).get("__slots__", ())
                 if name != "__weakref__" and hasattr(thing, name)}
        return [(".vars", getattr(thing, "__dict__", {})), (".slots", slots)]
    return None


def _filled(cell):
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _ours(kind):
    return (kind.__module__ or "").partition(".")[0] == "privsieve"


def walked(roots):
    """What can be reached from some roots: of each path the leaf there, or how large it is."""
    found, seen, todo = {}, set(), list(roots.items())
    keep = []  # what a walk makes has to live while ids are compared
    while todo:
        path, thing = todo.pop()
        if isinstance(thing, _CODE):
            continue
        if isinstance(thing, np.ndarray):
            found[path] = (thing.shape, thing.dtype.str, hash(thing.tobytes()))
            continue
        inside = parts(thing)
        if inside is None:
            shown = isinstance(thing, str | bytes | int | float | complex | type(None))
            found[path] = repr(thing) if shown else type(thing).__name__
            continue
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        keep.append((thing, inside))
        found[path] = (type(thing).__name__, len(inside))
        todo += [(path + name, one) for name, one in inside]
    return found


def process():
    """All that lives in the package's modules, and what else of a process keeps a state."""
    modules = {name: vars(module) for name, module in sorted(sys.modules.items())
               if name.partition(".")[0] == "privsieve"}
    around = {"warnings": list(map(str, warnings.filters)), "numpy": np.geterr(),
              "decimal": sorted(flag.__name__ for flag, is_set in getcontext().flags.items()
                                if is_set),
              "exception": [str(sys.exc_info()[1]), str(getattr(sys, "last_exc", None))],
              "threads": threading.active_count(), "garbage": len(gc.garbage),
              "hook": repr(sys.unraisablehook)}
    return walked(modules | {"<process>": around})


def hits():
    """How often each cache of the package was asked, and how often it knew."""
    caches = {f"{name}.{key}": one for name, module in list(sys.modules.items())
              if name.partition(".")[0] == "privsieve"
              for key, one in list(vars(module).items()) if hasattr(one, "cache_info")}
    return Counter({(name, at): number for name, one in caches.items()
                    for at, number in enumerate(one.cache_info()) if number is not None})


def released(plan, changed):
    """A release with the same draws for either of two neighbours."""
    return fitting.fit(plan, open_source(table(plan.domain, changed)), noise=replay(5))


def after(plan, changed):
    """The state of the process after a release, and what the caches say."""
    before = hits()
    released(plan, changed)
    asked = hits()
    asked.subtract(before)
    return process(), asked


@pytest.mark.parametrize("name", PLANS)
def test_a_process_is_the_same_after_either_of_two_neighbours(name):
    """Caches, globals, closures, defaults and classes are equal, whichever row was released."""
    plan = PLANS[name]()
    released(plan, changed=False)  # what depends on the plan alone is there from now on
    before, first = after(plan, changed=False)

    now, second = after(plan, changed=True)

    assert before == now
    assert first == second


@pytest.mark.parametrize("name", PLANS)
def test_a_release_and_its_plan_hold_what_was_drawn_and_public_facts(name):
    """Release and plan are equal for two neighbours, but for what the mechanism drew."""
    plan = PLANS[name]()
    found = []
    for changed in (False, True):
        release = released(plan, changed)
        public = {key: value for key, value in release.body.items() if key not in DRAWN}
        found.append(walked({"plan": plan, "release": dataclasses.replace(release, body=public)}))

    assert found[0] == found[1]


def test_the_walk_sees_a_cache_a_global_a_closure_and_an_attribute(monkeypatch):
    """A private number that stays anywhere makes the states differ: the walk is not blind."""
    from functools import lru_cache

    import privsieve.summaries.scores.class_counts as module

    def held(number=0):
        return number

    def closed(number):
        return lambda: number

    class Kept:
        number = 0

    held.__module__ = Kept.__module__ = module.__name__
    stays = {
        "cache": lru_cache(held), "global": [1], "closure": closed(1), "class": Kept,
        "default": held}
    for name, thing in stays.items():
        monkeypatch.setattr(module, f"_stays_{name}", thing, raising=False)
    known = process()
    states = [known]
    for change in (lambda: stays["cache"](299), lambda: stays["global"].append(299),
                   lambda: monkeypatch.setattr(module, "_stays_closure", closed(299)),
                   lambda: setattr(Kept, "number", 299),
                   lambda: monkeypatch.setattr(held, "__defaults__", (299,))):
        change()
        states.append(process())

    assert [False] * 5 == [one == other for one, other in pairwise(states)]


class Watched:
    """A plan whose batches, summaries and arrays are watched until they are gone."""

    def __init__(self, plan):
        self.left = {}
        self.plan = dataclasses.replace(plan, summarise=partial(self._summarise, plan),
                                        mechanism=partial(self._mechanism, plan))

    def _watch(self, what, thing):
        todo, seen = [(what, thing)], set()
        while todo:
            name, one = todo.pop()
            if id(one) in seen or isinstance(one, type | np.dtype) or _public(one):
                continue
            seen.add(id(one))
            if isinstance(one, np.ndarray) or _ours(type(one)):
                with suppress(TypeError):  # a tuple, whose parts are watched
                    self.left[f"{name} {type(one).__name__} {len(self.left)}"] = weakref.ref(one)
            todo += [(name + more, part) for more, part in parts(one) or ()]

    def _summarise(self, plan, batches, key):
        def read():
            for batch in batches:
                self._watch("batch", batch)
                yield batch

        found = plan.summarise(read(), key)
        self._watch("summary", found)
        return found

    def _mechanism(self, plan, summary, noise):
        return plan.mechanism(summary, noise)

    @property
    def alive(self):
        return [name for name, ref in self.left.items() if ref() is not None]


def _public(thing):
    return isinstance(thing, ps.Domain | type(COLUMNS[0]) | type(COLUMNS[2]) | type(COLUMNS[3])
                      | types.FunctionType | partial)


@pytest.mark.parametrize("name", PLANS)
def test_batches_and_summaries_are_gone_when_fit_returns(name):
    """No batch, no summary and no array of one outlives `fit`, and none waits for a collector."""
    watched = Watched(PLANS[name]())
    gc.collect()
    gc.disable()
    try:
        release = fitting.fit(watched.plan, open_source(table(watched.plan.domain)),
                              noise=replay(5))
        alive = watched.alive
    finally:
        gc.enable()

    assert release.body
    assert watched.left
    assert [] == alive


def test_a_session_that_ended_holds_no_row(tmp_path):
    """Rows, coefficients and numbers without noise are gone at the end of a session."""
    from privsieve.methods.ridge.answers import Memory

    frame, ledger = table(NUMBER), ps.Ledger(str(tmp_path / "budget.db"), population="clinic")
    ledger.grant(epsilon=3)
    with ps.KernelRidgeSession(frame, lam="0.1", domain=NUMBER, ledger=ledger) as session:
        query = frame.drop(columns=["back"]).iloc[:3]
        session.predict_batch(query, epsilon=1)
        memory = session._memory
        assert isinstance(memory, Memory)
        held = [weakref.ref(memory.model.points), weakref.ref(memory.model.c)]
        shown = repr(memory.model) + repr(memory) + repr(session)
    gc.collect()

    assert [None] * 2 == [one() for one in held]
    assert "array" not in shown


def session_of(changed):
    """The state of the process, and what can be reached from a session, after."""
    frame = table(NUMBER)
    query = frame.drop(columns=["back"]).iloc[:3]
    with ps.KernelRidgeSession(table(NUMBER, changed), lam="0.1", domain=NUMBER) as session:
        session._noise = replay(5)
        session.predict_one(query.iloc[:1], epsilon=1)
        session.predict_batch(query, epsilon=1)
    session._noise = None
    return process(), walked({"session": session})


def test_a_session_leaves_the_same_behind_for_either_of_two_neighbours():
    """Process and session have the same parts after both; only what was drawn differs."""
    session_of(changed=False)
    (before, first), (now, second) = session_of(changed=False), session_of(changed=True)
    drawn = ("session.vars['_asked']", "session.vars['release_']")

    assert before == now
    assert first.keys() == second.keys()
    assert {path for path in first if first[path] != second[path]} <= {
        path for path in first if path.startswith(drawn)}


# What is shown.

#: Rooms in which rows, and what is counted of them, live.
PRIVATE = ("summaries", "methods", "local", "containment", "kernels", "rows", "public", "extras",
           "release")
#: Classes that print their fields there: each of them holds public facts, or what was released, or
#: what somebody who holds the table asked to be measured, or chose to publish.
SHOWN = {
    "_Event", "About", "Additive", "Axis", "Box", "Branch", "Category", "CellRule", "Choice",
    "Chosen", "ClassCounts", "ColumnWeights", "Correlation", "Cost", "CountFields", "CountNoise",
    "Crowd", "Csv", "Date", "Depth", "Domain", "Effort", "Either", "Extent", "Finding", "Flag",
    "Forecast", "Form", "Found", "Gaussian", "GridNumbers", "Histogram", "Hub", "Inspection",
    "Kernel", "KernelRidgeSession", "Kind", "KnownRows", "Label", "Labellings", "LeastSquares",
    "Limits", "Map", "MeanDifference", "Method", "Mining", "NoiseLaw", "NoiseSize",
    "NoisyCounts", "NoisyTable", "Number", "NumberRule", "Objective", "Perturbing", "Places",
    "Plan", "Policy", "Problem", "Public", "Published", "RaceEvent", "Regression", "Release",
    "Risk", "Roles", "Rounding", "Rounds", "Rule", "Sample", "Scheme", "Selection", "Setting",
    "Shown", "Sizes", "SourceCrowds", "Switch", "TableCells", "TableFacts", "Tables",
    "Takes", "Thermometer", "Together", "TopRule", "Weighing", "Whole",
    "Windows"}


def classes():
    """Every class of the private rooms."""
    for name in sorted(_files()):
        if not name.startswith("privsieve.") or name.split(".")[1] not in PRIVATE:
            continue
        module = importlib.import_module(name)
        for one in vars(module).values():
            if isinstance(one, type) and one.__module__ == module.__name__:
                yield one


def _files():
    return (one.name for one in pkgutil.walk_packages(ps.__path__, "privsieve.")
            if "_native" not in one.name and "__main__" not in one.name)


def test_a_class_that_may_hold_private_numbers_prints_none_of_them():
    """Dataclasses, structs, tuples of the private rooms have no repr, but for those named above."""
    loud = set()
    for one in classes():
        # An estimator prints its parameters: those that somebody gave.
        record = ((dataclasses.is_dataclass(one) and not issubclass(one, BaseEstimator))
                  or issubclass(one, tuple | Struct))
        silent = one.__repr__ is object.__repr__ or (
            issubclass(one, tuple) and "object.__repr__" in _source(one.__repr__))
        if record and not silent:
            loud.add(one.__name__)

    assert SHOWN == loud


def _source(function):
    import inspect

    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return ""


@pytest.mark.parametrize("name", PLANS)
def test_a_summary_prints_nothing_of_what_it_holds(name):
    """The repr of a summary, and of each object of ours in it, says its type and no more."""
    plan = PLANS[name]()
    shown = []

    def spy(batches, key):
        found = plan.summarise(batches, key)
        todo = [found]
        while todo:
            one = todo.pop()
            if _ours(type(one)):
                shown.append((type(one).__name__, repr(one)))
            if not _public(one):
                todo += [part for _, part in parts(one) or () if not isinstance(part, np.ndarray)]
        return found

    fitting.fit(dataclasses.replace(plan, summarise=spy), open_source(table(plan.domain)),
                noise=replay(5))

    for kind, text in shown:
        assert text.endswith(">"), kind
        assert " object at 0x" in text, kind


# What is raised.


class Panic(BaseException):
    """As a library in another language raises it: no `Exception`."""


RAISED = [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit, Panic, MemoryError,
          RecursionError, StopIteration, UserWarning, AssertionError, ReleaseFailed]


def thrown(kind):
    """An error of this kind that speaks of rows."""
    if kind is ReleaseFailed:
        error = kind()
        error.add_note(SECRET)
    else:
        error = kind(SECRET)
    error.cells = [SECRET]
    return error


def broken(where, kind):
    """A plan, and a source, one of which raises when rows are there."""
    plan, source = PLANS["noisy-top-k, class-counts"](), open_source(table(CLASSES, True))

    def cells(*_args):
        del _args
        secret = [SECRET]  # a local of the frame that fails
        raise thrown(kind) from ValueError(secret[0])

    if where == "read":
        source = dataclasses.replace(source, read=cells)
    elif where == "body":
        def body(*_args):
            yield from open_source(table(CLASSES, True)).read([0, 1, 2, 3, 4], 100)
            cells()

        source = dataclasses.replace(source, read=body)
    else:
        plan = dataclasses.replace(plan, **{where: cells})
    return plan, source


@pytest.mark.parametrize("kind", RAISED)
@pytest.mark.parametrize("where", ["read", "body", "summarise", "mechanism", "says"])
def test_whatever_is_raised_after_the_charge_has_one_text(tmp_path, where, kind, caplog, capfd):
    """Type, text, notes, cause, context and the frames of what leaves say nothing of rows."""
    ledger = ps.Ledger(str(tmp_path / "budget.db"), population="clinic")
    ledger.grant(epsilon=3)
    plan, source = broken(where, kind)
    with warnings.catch_warnings(record=True) as warned, caplog.at_level(logging.DEBUG):
        warnings.simplefilter("always")
        error = caught(lambda: fitting.fit(plan, source, ledger=ledger))

    assert (ReleaseFailed, "release failed; the budget is charged") == (type(error), str(error))
    assert (None, None, {}) == (error.__cause__, error.__context__, vars(error))
    assert ([], []) == (warned, caplog.records)
    assert ("", "") == tuple(capfd.readouterr())
    assert 2 == ledger.spent()
    assert not any(SECRET in text for text in locals_of(error))


def caught(work):
    """The error that leaves, with its traceback."""
    try:
        work()
    except BaseException as error:  # noqa: BLE001  # whatever it is
        return error
    return None


def locals_of(error):
    """The locals of our frames, as a traceback with locals would print them."""
    trace, texts = error.__traceback__, []
    while trace is not None:
        frame = trace.tb_frame
        if "privsieve" in frame.f_globals.get("__name__", ""):
            texts += [repr(value) for value in frame.f_locals.values()]
            texts += list(traceback.StackSummary.extract(
                [(frame, trace.tb_lineno)], capture_locals=True).format())
        trace = trace.tb_next
    return texts


@pytest.mark.parametrize("kind", RAISED)
def test_a_session_that_fails_has_one_text_and_keeps_no_row(kind):
    """A fault while a session reads, or draws for a function, is told in the one text."""
    source = open_source(table(NUMBER))

    def cells(*_args):
        raise thrown(kind)

    with ps.KernelRidgeSession(dataclasses.replace(source, read=cells), lam="0.1",
                               domain=NUMBER) as session, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = caught(lambda: session.predict_one([50, 3, 1, "A"], epsilon=1))
        memory = session._memory

        assert (ReleaseFailed, None, None) == (type(error), error.__cause__, error.__context__)
        assert memory.model is None
