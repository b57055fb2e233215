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
from every_method import COSTS, ESTIMATORS
from privsieve import fit as fitting
from privsieve.errors import ReleaseFailed
from privsieve.noise.streams import replay
from privsieve.rows import open_source

ROWS = 301
SECRET = "Zebedee"
#: What the laws run over, and one estimator of two methods whose rows are of persons.
CASES = {f"{place} {method!r}": (method, {}) for place, method in enumerate(ESTIMATORS)}
CASES |= {f"{method!r} of persons": (method, {"person": "who", "rows_per_person": 2,
                                               "persons": 200})
          for method in (ESTIMATORS[0], ESTIMATORS[5])}

SESSION = next(method for method in ESTIMATORS if method.name == "kernel-ridge")
each = pytest.mark.parametrize("name", CASES)


def planned(name):
    """A plan for such a table."""
    method, public = CASES[name]
    return method.estimator(domain=dataclasses.replace(method.domain, **public)).plan(
        rows=None if public else ROWS)


def table(method, changed=False, person=False):
    """The rows of a method; where `changed`, one of them is another, in every cell."""
    frame = method.table(ROWS)
    if person:
        frame["who"] = [f"p{at // 2}" for at in range(ROWS)]
    if changed:
        other = {"age": 3, "stay": 364.5, "smoker": 1 - frame["smoker"][17], "ward": SECRET,
                 "who": "p151", "cost": 99.5, "back": 1 - int(frame["age"][17] > 60),
                 "exit": (int(frame["age"][17]) // 30 + 1) % 3}
        for column in frame:
            frame.loc[17, column] = other[column]
    return frame


def source_of(name, changed=False):
    """The source of such rows."""
    method, public = CASES[name]
    return open_source(table(method, changed, bool(public)))


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
        return [(f"[{at}]" if isinstance(thing, list | tuple) else "{}", value)
                for at, value in enumerate(thing)]
    if isinstance(thing, partial):
        return [(".func", thing.func), (".args", thing.args), (".keywords", thing.keywords)]
    if hasattr(thing, "cache_info"):  # the dict of a cache, and what it wraps
        return [(f"<{at}>", referent) for at, referent in enumerate(gc.get_referents(thing))]
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
    found_paths, seen, todo = {}, set(), list(roots.items())
    keep = []  # what a walk makes has to live while ids are compared
    while todo:
        path, thing = todo.pop()
        if isinstance(thing, _CODE):
            continue
        if isinstance(thing, np.ndarray):
            found_paths[path] = (thing.shape, thing.dtype.str, hash(thing.tobytes()))
            continue
        inside = parts(thing)
        if inside is None:
            is_plain = isinstance(thing, str | bytes | int | float | complex | type(None))
            found_paths[path] = repr(thing) if is_plain else type(thing).__name__
            continue
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        keep.append((thing, inside))
        found_paths[path] = (type(thing).__name__, len(inside))
        todo += [(path + name, value) for name, value in inside]
    return found_paths


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
    caches = {f"{name}.{key}": value for name, module in list(sys.modules.items())
              if name.partition(".")[0] == "privsieve"
              for key, value in list(vars(module).items()) if hasattr(value, "cache_info")}
    return Counter({(name, at): number for name, cache in caches.items()
                    for at, number in enumerate(cache.cache_info()) if number is not None})


def released(name, plan, changed):
    """A release with the same draws for either of two neighbours."""
    return fitting.fit(plan, source_of(name, changed), noise=replay(5))


def after(name, plan, changed):
    """The state of the process after a release, and what the caches say."""
    before = hits()
    released(name, plan, changed)
    wanted_before = hits()
    wanted_before.subtract(before)
    return process(), wanted_before


@each
def test_a_process_is_the_same_after_either_of_two_neighbours(name):
    """Caches, globals, closures, defaults and classes are equal, whichever row was released."""
    plan = planned(name)
    released(name, plan, changed=False)  # what depends on the plan alone is there from now on
    before, first = after(name, plan, changed=False)

    now, second = after(name, plan, changed=True)

    assert before == now
    assert first == second


@each
def test_a_release_and_its_plan_hold_what_was_drawn_and_public_facts(name):
    """Release and plan are equal for two neighbours, but for what the mechanism drew."""
    plan = planned(name)
    paths = []
    for changed in (False, True):
        release = released(name, plan, changed)
        public = {key: value for key, value in release.body.items() if key not in DRAWN}
        paths.append(walked({"plan": plan, "release": dataclasses.replace(release, body=public)}))

    assert paths[0] == paths[1]


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

    assert [False] * 5 == [state == other for state, other in pairwise(states)]


class Watched:
    """A plan whose batches, summaries and arrays are watched until they are gone."""

    def __init__(self, plan):
        self.left = {}
        self.plan = dataclasses.replace(plan, summarise=partial(self._summarise, plan),
                                        mechanism=partial(self._mechanism, plan))

    def _watch(self, what, thing):
        todo, seen = [(what, thing)], set()
        while todo:
            name, single_thing = todo.pop()
            if id(single_thing) in seen or isinstance(single_thing,
                                                      type | np.dtype) or _public(single_thing):
                continue
            seen.add(id(single_thing))
            if isinstance(single_thing, np.ndarray) or _ours(type(single_thing)):
                with suppress(TypeError):  # a tuple, whose parts are watched
                    key = f"{name} {type(single_thing).__name__} {len(self.left)}"
                    self.left[key] = weakref.ref(single_thing)
            todo += [(name + path, piece) for path, piece in parts(single_thing) or ()]

    def _summarise(self, plan, batches, key):
        def read():
            for batch in batches:
                self._watch("batch", batch)
                yield batch

        summary = plan.summarise(read(), key)
        self._watch("summary", summary)
        return summary

    def _mechanism(self, plan, summary, noise):
        return plan.mechanism(summary, noise)

    @property
    def alive(self):
        return [name for name, ref in self.left.items() if ref() is not None]


def _public(thing):
    return isinstance(thing, ps.Domain | ps.Number | ps.Flag | ps.Category
                      | types.FunctionType | partial)


@each
def test_batches_and_summaries_are_gone_when_fit_returns(name):
    """No batch, no summary and no array of one outlives `fit`, and none waits for a collector."""
    watched = Watched(planned(name))
    gc.collect()
    gc.disable()
    try:
        release = fitting.fit(watched.plan, source_of(name), noise=replay(5))
        alive = watched.alive
    finally:
        gc.enable()

    assert release.body
    assert watched.left
    assert [] == alive


def test_a_session_that_ended_holds_no_row(ledger):
    """Rows, coefficients and numbers without noise are gone at the end of a session."""
    from privsieve.methods.ridge.answers import Memory

    frame = numbers()
    with ps.KernelRidgeSession(frame, lam="0.1", domain=COSTS, ledger=ledger) as session:
        query = frame.drop(columns=["cost"]).iloc[:3]
        session.predict_batch(query, epsilon=1)
        memory = session._memory
        assert isinstance(memory, Memory)
        held = [weakref.ref(memory.model.points), weakref.ref(memory.model.c)]
        text = repr(memory.model) + repr(memory) + repr(session)
    gc.collect()

    assert [None] * 2 == [value() for value in held]
    assert "array" not in text


def numbers(changed=False):
    """The rows of a session, whose target is a number."""
    return table(SESSION, changed)


def session_of(changed):
    """The state of the process, and what can be reached from a session, after."""
    frame = numbers()
    query = frame.drop(columns=["cost"]).iloc[:3]
    with ps.KernelRidgeSession(numbers(changed), lam="0.1", domain=COSTS) as session:
        session._noise = replay(5)
        session.predict_one(query.iloc[:1], epsilon=1)
        session.predict_batch(query, epsilon=1)
    session._noise = None
    return process(), walked({"session": session})


def test_a_session_leaves_the_same_behind_for_either_of_two_neighbours():
    """Process and session have the same parts after both; only what was drawn differs."""
    session_of(changed=False)
    (before, first), (now, second) = session_of(changed=False), session_of(changed=True)
    drawn = ("session.vars['_answered']", "session.vars['release_']")

    assert before == now
    assert first.keys() == second.keys()
    assert {path for path in first if first[path] != second[path]} <= {
        path for path in first if path.startswith(drawn)}


# What is shown.

#: Rooms in which rows, and what is counted of them, live.
PRIVATE = ("summaries", "methods", "local", "containment", "kernels", "rows", "public", "extras",
           "release", "estimators", "session")
#: Classes that print their fields there: each of them holds public facts, or what was released, or
#: what somebody who holds the table asked to be measured, or chose to publish.
SHOWN = {
    "_Event", "About", "Additive", "Axis", "Box", "Branch", "BridgeOptions", "Category", "CellRule",
    "Choice", "Chosen", "ClassCounts", "ColumnChoice", "ColumnWeights", "Correlation", "Cost",
    "CountFields", "CountNoise", "Crowd", "Csv", "Date", "Depth", "Domain", "EachOptions", "Effort",
    "Either", "Extent", "Finding", "Flag", "Forecast", "Form", "Found", "Gaussian", "GridNumbers",
    "GroupOptions", "Histogram", "Hub", "InMemory", "Inspection", "Kernel", "KernelRidgeSession",
    "Kind", "KnownRows", "Label", "Labellings", "LeastSquares", "Limits", "Map", "MeanDifference",
    "Method", "NoiseLaw", "NoiseSize", "NoisyCounts", "NoisyTable", "Number", "NumberRule",
    "Objective", "Perturbing", "Places", "Plan", "Policy", "Problem", "Public", "Published",
    "PublishOptions", "RaceEvent", "Regression", "Release", "Risk", "Roles", "Rounding", "Rounds",
    "Rule", "Sample", "Scheme", "Selection", "SetOptions", "Setting", "Sizes", "SnapshotOptions",
    "Switch", "TableCells", "TableFacts", "TableOptions", "Tables", "Takes",
    "Together", "TopRule", "Weighing", "Whole", "Windows",
}


def classes():
    """Every class of the private rooms."""
    for name in sorted(_files()):
        if not name.startswith("privsieve.") or name.split(".")[1] not in PRIVATE:
            continue
        module = importlib.import_module(name)
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ == module.__name__:
                yield value


def _files():
    return (package.name for package in pkgutil.walk_packages(ps.__path__, "privsieve.")
            if "_native" not in package.name and "__main__" not in package.name)


def test_a_class_that_may_hold_private_numbers_prints_none_of_them():
    """Dataclasses, structs, tuples of the private rooms have no repr, but for those named above."""
    loud = set()
    for class_ in classes():
        # An estimator prints its parameters: those that somebody gave.
        record = ((dataclasses.is_dataclass(class_) and not issubclass(class_, BaseEstimator))
                  or issubclass(class_, tuple | Struct))
        silent = class_.__repr__ is object.__repr__ or (
            issubclass(class_, tuple) and "object.__repr__" in _source(class_.__repr__))
        if record and not silent:
            loud.add(class_.__name__)

    assert SHOWN == loud


def _source(function):
    import inspect

    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return ""


@each
def test_a_summary_prints_nothing_of_what_it_holds(name):
    """The repr of a summary, and of each object of ours in it, says its type and no more."""
    plan = planned(name)
    texts = []

    def spy(batches, key):
        summary = plan.summarise(batches, key)
        todo = [summary]
        while todo:
            thing = todo.pop()
            if _ours(type(thing)):
                texts.append((type(thing).__name__, repr(thing)))
            if not _public(thing):
                todo += [piece for _,
                         piece in parts(thing) or () if not isinstance(piece, np.ndarray)]
        return summary

    fitting.fit(dataclasses.replace(plan, summarise=spy), source_of(name), noise=replay(5))

    for kind, text in texts:
        assert text.endswith(">"), kind
        assert " object at 0x" in text, kind


# What is raised.


class Panic(BaseException):
    """As a library in another language raises it: no `Exception`."""


RAISED = [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit, Panic, MemoryError,
          RecursionError, StopIteration, UserWarning, AssertionError, ReleaseFailed]


def thrown(kind):
    """An error of this kind that mentions rows."""
    if kind is ReleaseFailed:
        error = kind()
        error.add_note(SECRET)
    else:
        error = kind(SECRET)
    error.cells = [SECRET]
    return error


#: Of the faults below, what they meet: a choice by counts of classes.
BROKEN = next(name for name, (method, _) in CASES.items()
              if method.options.get("score") == "class-counts")


def broken(where, kind):
    """A plan, and a source, one of which raises when rows are there."""
    plan, source = planned(BROKEN), source_of(BROKEN, changed=True)

    def cells(*_args):
        del _args
        secret = [SECRET]  # a local of the frame that fails
        raise thrown(kind) from ValueError(secret[0])

    if where == "read":
        source = dataclasses.replace(source, read=cells)
    elif where == "body":
        def body(*_args):
            yield from source_of(BROKEN, changed=True).read([0, 1, 2, 3, 4], 100)
            cells()

        source = dataclasses.replace(source, read=body)
    else:
        plan = dataclasses.replace(plan, **{where: cells})
    return plan, source


@pytest.mark.parametrize("kind", RAISED)
@pytest.mark.parametrize("where", ["read", "body", "summarise", "mechanism", "says"])
def test_whatever_is_raised_after_the_charge_has_one_text(ledger, where, kind, caplog, capfd):
    """Type, text, notes, cause, context and the frames of what leaves say nothing of rows."""
    plan, source = broken(where, kind)
    with warnings.catch_warnings(record=True) as warned, caplog.at_level(logging.DEBUG):
        warnings.simplefilter("always")
        error = caught(lambda: fitting.fit(plan, source, ledger=ledger))

    assert (ReleaseFailed, "release failed; the budget is charged") == (type(error), str(error))
    assert (None, None, {}) == (error.__cause__, error.__context__, vars(error))
    assert ([], []) == (warned, caplog.records)
    assert ("", "") == tuple(capfd.readouterr())
    assert 1 == ledger.spent()
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
    source = open_source(numbers())

    def cells(*_args):
        raise thrown(kind)

    with ps.KernelRidgeSession(dataclasses.replace(source, read=cells), lam="0.1",
                               domain=COSTS) as session, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = caught(lambda: session.predict_one([50, 3, 1, "A"], epsilon=1))
        memory = session._memory

        assert (ReleaseFailed, None, None) == (type(error), error.__cause__, error.__context__)
        assert memory.model is None
