"""Law: the auditor catches each planted fault, in each form of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np
import pytest

from planted import FAULTS
from privsieve.check.audit import audit
from privsieve.check.views import flat
from privsieve.noise.discrete import noisy
from privsieve.noise.streams import replay
from privsieve.release import Release


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_every_planted_fault_is_caught(fault):
    """Each gives away more than it claims, and is refuted."""
    claimed = 3.0 if "ties" in fault.name else 1.0
    report = audit(fault.run, fault.first, fault.second, epsilon=claimed, profile=fault.runs)

    assert "refuted" == report.verdict


@dataclass
class Shown:
    """An answer as somebody's own class."""

    counts: Any
    note: str | None = None


#: The same 32 counts, in every form in which somebody may show them.
FORMS = {
    "array": lambda q: q,
    "list": lambda q: q.tolist(),
    "texts": lambda q: [str(count) for count in q],
    "mapping": lambda q: {f"cell {j}": int(count) for j, count in enumerate(q)},
    "pair": lambda q: (q.tolist(), "done"),
    "dataclass": lambda q: Shown(q.tolist()),
    "nested": lambda q: {"parts": [{"q": q[:16]}, {"q": q[16:]}]},
    "release": lambda q: Release({"kind": "histogram", "selected": ["age"], "columns": ["age"],
                                  "cells": {"q": q.tolist()}}, None),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_an_answer_hides_nothing(form):
    """Counts at twice the claimed epsilon are refuted as an array, a list, a mapping, a release."""
    noise = replay(3)

    def counts(table):
        return FORMS[form](noisy(table, Fraction(1), noise))

    first, second = (np.eye(32, dtype=int)[j] + 5 for j in (0, 1))

    assert "refuted" == audit(counts, first, second, epsilon=1, profile=1000).verdict


def test_who_saw_nothing_says_so():
    """Of answers that are never the same twice, and of the same answer always."""
    luck = np.random.default_rng(1)

    for answer in (lambda _: f"{luck.integers(2**62):x}", lambda _: {"x": luck.normal()},
                   lambda _: ["age"]):
        report = audit(answer, 0, 1, epsilon=1, profile=300)

        assert ("saw nothing", False) == (report.verdict, report.exceeded)


def test_who_is_stopped_has_a_bound_so_far():
    """Ctrl-C after the event was learned gives the bound of the runs so far; before, nothing."""
    def until(last):
        number = count(1)

        def run(table):
            if next(number) == last:
                raise KeyboardInterrupt
            return table

        return run

    stopped = audit(until(4321), 0, 1, epsilon=1, profile=3000)

    assert ("refuted", 4200) == (stopped.verdict, stopped.runs)
    with pytest.raises(KeyboardInterrupt):
        audit(until(1000), 0, 1, epsilon=1, profile=3000)


@pytest.mark.parametrize("odd", [
    None, float("nan"), 10**400, "1e5", b"x", object(), [[[]]], {"a": {1, 2}}, np.array([1 + 2j]),
    np.array(["a", None], dtype=object), ([1], [2]), range(3), Exception("x"), {(): []},
])
def test_anything_can_be_taken_apart(odd):
    """No output stops an audit."""
    numbers, words = flat(odd)

    assert numbers or words
    assert flat(odd).words == words
    audit(lambda _table: odd, 0, 1, epsilon=1)


def test_a_deep_answer_is_cut():
    """A list in a list, a thousand times."""
    deep = []
    for _ in range(1000):
        deep = [deep]

    assert flat(deep).words
