"""Releases of every kind that tests make without a method: public plans, and numbers as given."""

from __future__ import annotations

import json
from fractions import Fraction
from math import prod

from privsieve.ledger.chain import certificate
from privsieve.public.canonical import canonical, digest
from privsieve.public.columns import Category, Flag, Label, Number
from privsieve.public.domain import Domain
from privsieve.public.event import NOTHING
from privsieve.public.plan import Cost, NoiseSize, Plan, terms
from privsieve.release import Release

SOFTWARE = {"privsieve": "0.0.1"}
NAMES = ("age", "dose", "sex")
#: What a release of each kind says of its own, for three columns (a number, a number, a category).
SAYS = {
    "weights": {"selected": ["age", "sex"],
                "values": {"exponent": -10, "q": [900, -130, 415]},
                "noise": {"law": "gamma-norm", "each": "0.1234"}},
    "regression": {"selected": ["age", "dose", "sex"],
                   "features": {"map": "linear", "features": 6, "degree": 1},
                   "values": {"exponent": -10, "q": [77, 900, -130, 415, -31, 8]},
                   "noise": {"law": "gaussian", "each": "0.1234"}},
    "histogram": {"selected": ["age", "sex"],
                  "cells": {"names": ["age", "sex", "ill"], "shape": [4, 3, 2],
                            "bins": {"age": ["0.0", "27.5", "55.0", "82.5004", "110.0"]},
                            "place": "all",
                            "q": [31, 28, -2, 60, 55, 1, 70, 81, 0, 12, 40, -5,
                                  9, 12, 44, 18, -3, -1, 5, 24, 11, 9, -7, -1]},
                  "noise": {"law": "discrete-laplace", "each": "2.83"}},
}
#: A regression has a target that is a number.
TARGETS = {"regression": Number("days", 0, 365)}
FORECASTS = {
    "weights": {"noise_each": "0.1234", "noise_length": "0.2138", "longest": "1.9"},
    "regression": {"noise_each": "0.1234", "noise_length": "0.2138", "longest": "1.58",
                   "noise_prediction": "0.0171", "expected_error": "0.214"},
    "histogram": {"noise_each": "2.83", "cells": "24", "expected_error": "0.0061"},
}
KINDS = tuple(SAYS)
#: What a session releases: answers to queries, and no formula.
ANSWERS = {"selected": ["age", "dose", "sex"],
           "features": {"map": "answers", "kernel": "rbf", "gamma": "1", "lam": "0.1"},
           "values": {"exponent": -10, "q": [900, -130]},
           "noise": {"law": "laplace", "each": "0.1234"},
           "queries": [[1, 2, 0], [9, 9, 1]], "answers": ["88.213904", "-3.25"]}


def domain_of(columns=NAMES, target=None, **options):
    """A domain of a number, a number on a log scale, a category, and flags after them."""
    first = (Number(columns[0], 0, 110), *(Number(name, 1, 9, scale="log")
                                           for name in columns[1:2]),
             *(Category(name, ["F", "M"]) for name in columns[2:3]))
    return Domain((*first, *(Flag(name) for name in columns[3:])),
                  target=target or Label("ill", ["no", "yes"]), **options)


def plan_of(kind, *, domain=None, epsilon="0.5", delta=0, warning=None, forecast=None,
            settings=None):
    """A plan of this kind, as a method would make it."""
    return Plan(
        method=f"demo-{kind}/1", kind=kind, domain=domain or domain_of(target=TARGETS.get(kind)),
        cost=Cost.of(epsilon, delta=delta), units=100,
        settings={"k": 2, "lam": "0.1"} if settings is None else settings,
        noise=NoiseSize(Fraction(4), "units on a score"),
        forecast=FORECASTS[kind] if forecast is None else forecast, warning=warning,
        theorem="demo", assumes=("ideal-bits",), event=NOTHING, summarise=lambda *_: None,
        mechanism=lambda *_: None, says=lambda _: SAYS[kind])


def true(kind, *, settings=None, numbers=None, ledger=None):
    """release.json and certificate.json that a method might have made, with numbers as given."""
    from privsieve.methods import plan
    from privsieve.methods.histogram.noisy_histogram import NoisyTable

    numbers = numbers or SAYS[kind].get("values", SAYS[kind].get("cells"))["q"]
    method, own, output = {
        "weights": ("output-fwell", {"k": 2}, numbers),
        "regression": ("kernel-ridge", {"kernel": "linear", "lam": "0.1"}, numbers),
        "histogram": ("noisy-histogram", {"columns": ["age", "sex"], "bins": {"age": 4}},
                      NoisyTable(("age", "sex"), None, numbers)),
    }[kind]
    planned = plan(method, domain_of(target=TARGETS.get(kind)), epsilon="0.5", rows=100,
                   **{**own, **(settings or {})})
    body = Release.of(planned, output, replayed=False).body
    return issued(body, planned, ledger)


def released(kind, *, ledger=None, says=None, plan=None, **options):
    """release.json and certificate.json of this kind, as read from their files."""
    plan = plan or plan_of(kind, **options)
    body = Release.of(plan, None, replayed=False).body
    return issued({**body, **(says or SAYS[kind])}, plan, ledger)


def issued(body, plan, ledger=None):
    """A release with its certificate, charged where there is a ledger."""
    sha = digest(canonical(body))
    reserve = ledger.reserve(plan.cost, terms(plan, SOFTWARE)) if ledger else None
    commit = ledger.commit(reserve, sha) if ledger else None
    signed = certificate(terms(plan, SOFTWARE), sha, reserve, commit)
    return json.loads(canonical(body)), json.loads(canonical(signed))


def many(kind, columns):
    """What a release of this kind says of any columns as in `domain_of`."""
    d, each = len(columns), SAYS[kind]["noise"]
    if kind == "histogram":
        return {"selected": list(columns[:8]), "cells": _table(columns[:8]), "noise": each}
    own, chosen, numbers = {}, list(columns), d
    if kind == "regression":
        numbers = 1 + d + 2 * (d > 2)  # the category has two levels more
        own = {"features": {"map": "linear", "features": numbers, "degree": 1}}
    q = [round(900 * 0.97**j) * (-1) ** (j % 3) for j in range(numbers)]
    if kind == "weights":
        best = sorted(range(d), key=lambda j: -q[j])[:max(1, d // 3)]
        chosen = [columns[j] for j in sorted(best)]
    return {"selected": chosen, **own, "values": {"exponent": -10, "q": q}, "noise": each}


def _table(columns):
    """Cells of some columns, without the target."""
    shape = [(4, 8, 3)[j] if j < 3 else 2 for j in range(len(columns))]
    edges = [["0.0", "27.5", "55.0", "82.5", "110.0"], [str(1 + at) for at in range(9)]]
    return {"names": list(columns), "shape": shape,
            "bins": dict(zip(columns[:2], edges, strict=False)), "place": "all",
            "q": [at * 7 % 23 - 3 for at in range(prod(shape))]}
