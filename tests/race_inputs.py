"""What meets noise, for fixed plans on fixed tables: `python tests/race_inputs.py` prints it anew.

Functions of `privsieve.noise` are watched from outside while a plan runs with replayed noise,
however they were imported: integers that a race, a vector or a table of counts is handed, and its
terms.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import random
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa

import privsieve as ps
from privsieve import fit as fitting
from privsieve.noise.streams import replay
from privsieve.rows import open_source, resolve

GOLDEN = Path(__file__).parent / "golden" / "race-inputs.json"
WATCHED = {"top_k", "gamma", "laplace", "gaussian", "gamma_drawn", "added", "noisy", "above"}
#: What a race is told beside its scores.
TERMS = ("k", "sensitivity", "epsilon", "ordered", "delta")
ROWS = 60
NUMBERS = (0.0, 1.0, 0.5, 0.49, 0.26, 0.74, 0.1, 0.9, None, float("nan"), -3.0, float("inf"))
TARGETS = {"two": ps.Label("y", [0, 1]), "three": ps.Label("y", [0, 1, 2]),
           "number": ps.Number("y", 0, 9)}
PUBLIC = {"row": {}, "added": {"neighbours": "add-remove", "rows": ROWS},
          "person": {"person": "id", "persons": 20, "rows_per_person": 3}}
#: One race, whatever the number of rows.
ALONE = {"joint": "none"}
#: Plans: target, what is protected, method and its options.
PLANS = {
    "sieve": ("two", "row", "rule-sieve", ALONE),
    "sieve ordered": ("two", "row", "rule-sieve", {**ALONE, "ordered": True}),
    "sieve first order": ("two", "row", "rule-sieve", {**ALONE, "depth": 1}),
    "sieve third order": ("two", "row", "rule-sieve", {**ALONE, "depth": 3, "class_prior": None}),
    "sieve centred": ("two", "row", "rule-sieve", {**ALONE, "class_prior": "centred"}),
    "sieve unbalanced": ("two", "row", "rule-sieve", {**ALONE, "class_prior": "unbalanced"}),
    "sieve share": ("two", "row", "rule-sieve", {**ALONE, "class_prior": "0.2"}),
    "sieve pair": ("two", "row", "rule-sieve", {"joint": "pair"}),
    "sieve pair and third": ("two", "row", "rule-sieve", {"joint": "pair", "k": 3,
                                                          "class_prior": "0.5"}),
    "sieve few operations": ("two", "row", "rule-sieve", {**ALONE, "max_ops": 2000}),
    "sieve by itself": ("two", "row", "rule-sieve", {}),
    "classes by itself": ("three", "row", "rule-sieve", {"epsilon": 10}),
    "sieve delta": ("two", "row", "rule-sieve", {**ALONE, "delta": "1e-6", "k": 4,
                                                 "epsilon": "0.5"}),
    "sieve added": ("two", "added", "rule-sieve", ALONE),
    "sieve persons": ("two", "person", "rule-sieve", ALONE),
    "sieve centred persons": ("two", "person", "rule-sieve", {**ALONE, "class_prior": "centred"}),
    "classes": ("three", "row", "rule-sieve", ALONE),
    "classes shares": ("three", "row", "rule-sieve", {
        **ALONE, "class_prior": ["0.5", "0.3", "0.2"]}),
    "classes pair persons": ("three", "person", "rule-sieve", {"joint": "pair"}),
    "ranks": ("number", "row", "rule-sieve", {"numeric": "ranks"}),
    "ranks persons": ("number", "person", "rule-sieve", {"numeric": "ranks", "depth": 2}),
    "median cut": ("number", "row", "rule-sieve", {"numeric": "median-cut", "joint": "pair"}),
    "median cut persons": ("number", "person", "rule-sieve", {
        "numeric": "median-cut", "joint": "pair"}),
    "rounds": ("number", "row", "rule-sieve", {"k": 3, "joint": "pair", "epsilon": 100}),
    "rounds persons": ("number", "person", "rule-sieve", {"k": 3, "joint": "pair",
                                                          "epsilon": 400}),
    "number by itself": ("number", "row", "rule-sieve", {"epsilon": 10}),
    "blocks": ("two", "row", "block-fwell", {"block": 6, "repeats": 3}),
    "blocks clip": ("two", "row", "block-fwell", {"block": 6, "votes": "clip", "tau": "0.06"}),
    "blocks persons": ("two", "person", "block-fwell", {"block": 4}),
    "blocks added": ("two", "added", "block-fwell", {"block": 4, "repeats": 2}),
    **{score: (TARGET, "row", "noisy-top-k", {"score": score}) for score, TARGET in (
        ("mean-difference", "two"), ("class-counts", "two"), ("correlation", "number"))},
    "mean-difference added": ("two", "added", "noisy-top-k", {}),
    "output": ("two", "row", "output-fwell", {"block": 6}),
    "output persons": ("two", "person", "output-fwell", {"block": 4, "delta": "1e-6"}),
    "objective": ("two", "row", "objective-fwell", {"block": 6}),
    "felp": ("two", "row", "felp", {"block": 6, "repeats": 5}),
    "ridge linear": ("number", "row", "kernel-ridge", {"k": None, "kernel": "linear"}),
    "ridge cosine": ("number", "row", "kernel-ridge", {"k": None, "kernel": "cosine",
                                                       "delta": "1e-6"}),
    "ridge persons": ("number", "person", "kernel-ridge", {"k": None, "kernel": "cosine"}),
    "ridge rbf": ("number", "row", "kernel-ridge", {"k": None, "kernel": "rbf", "features": 20}),
    "table": ("two", "row", "noisy-histogram", {"k": None, "columns": ["n", "c"], "bins": 3}),
    "table chosen": ("two", "row", "noisy-histogram", {
        "k": 2, "bins": 3, "choice": ALONE}),
    "table delta": ("two", "person", "noisy-histogram", {
        "k": None, "columns": ["n", "l", "d"], "delta": "1e-6", "epsilon": 10}),
}
SESSIONS = ("one", "batch")
#: Minimisers are solved in doubles, to a certified error: other machines may round otherwise.
NEARLY = ("output", "output persons", "objective", "felp", *SESSIONS)


def domain(target, unit):
    """Columns of each kind."""
    return ps.Domain([ps.Number("n", 0, 1), ps.Number("l", 0.01, 1, scale="log", missing="level"),
                      ps.Flag("f"), ps.Category("c", ["A", "B", "C"]),
                      ps.Date("d", dt.date(2020, 1, 1), dt.date(2024, 12, 31))],
                     target=TARGETS[target], **PUBLIC[unit])


def table(target, unit):
    """Sixty rows with ties, missing and odd cells."""
    rng = random.Random(f"{target} {unit}")
    lean = [rng.random() for _ in range(ROWS)]
    data = {"n": pa.array([rng.choice(NUMBERS) if rng.random() < 0.6 else round(value, 3)
                           for value in lean], pa.float64()),
            "l": pa.array([rng.choice(NUMBERS) for _ in lean], pa.float64()),
            "f": pa.array([rng.choice(("1", "0", "yes", None)) for _ in lean]),
            "c": pa.array(["ABCz"[min(3, int(4 * value + rng.random() / 2))] for value in lean]),
            "d": pa.array([dt.date(2019, 6, 1) + dt.timedelta(days=int(2000 * value))
                           for value in lean])}
    if target == "number":
        data["y"] = pa.array([None if rng.random() < 0.05 else round(9 * value, 2)
                              for value in lean])
    else:
        classes = 2 if target == "two" else 3
        data["y"] = pa.array([str(min(classes - 1, int(classes * value))) for value in lean])
    if unit == "person":
        data["id"] = pa.array([rng.choice((None, *(f"p{i}" for i in range(20)))) for _ in lean])
    return pa.table(data)


class Watch:
    """Notes what functions of the folder of noise are handed."""

    def __init__(self):
        self.handed = []

    def __call__(self, frame, event, _):
        code = frame.f_code
        if event != "call" or code.co_name not in WATCHED or (
                Path(code.co_filename).parent.name != "noise"):
            return
        names = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
        values = [frame.f_locals[name] for name in names]
        terms = [str(value) for value in values if isinstance(value, int | Fraction | str)]
        if "race" in names:
            race = frame.f_locals["race"]
            terms = [str(getattr(race, name)) for name in TERMS]
        first = [] if isinstance(values[0], int) else _short([int(x) for x in values[0]])
        self.handed.append([code.co_name, first, *terms])

    def __enter__(self):
        sys.setprofile(self)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)


def _short(numbers):
    """Some integers as they are, many by their digest."""
    if len(numbers) <= 64:
        return numbers
    return hashlib.sha256(json.dumps(numbers).encode()).hexdigest()


def _plain(value):
    """What a release says, with its integers, short."""
    if isinstance(value, dict):
        return {name: _plain(single_value) for name, single_value in value.items()}
    whole = isinstance(value, list) and all(isinstance(single_value, int) for single_value in value)
    return _short(value) if whole else value


def recorded(name):
    """What one plan hands to noise, and what it says of itself."""
    if name in SESSIONS:
        return _session(name)
    target, unit, method, options = PLANS[name]
    public, source = domain(target, unit), open_source(table(target, unit))
    rows = source.shape(count_rows=True).rows
    options = {"k": 2, "epsilon": 4, "allow_weak": True, **options}
    if options["k"] is None:
        del options["k"]
    plan = ps.plan(method, resolve(public, source.shape(count_rows=True), strict=True), rows=rows,
                   **options)
    with Watch() as watch:
        release = fitting.fit(plan, source, noise=replay(1))
    return _line(watch, release.body, name)


def _session(name):
    public = ps.Domain([ps.Number("a", 0, 1), ps.Number("b", 0, 1)], target=ps.Number("y", 0, 9))
    rng = random.Random(5)
    X = np.array([[rng.random(), rng.random()] for _ in range(40)])
    with ps.KernelRidgeSession(X, 9 * X[:, 0], lam="0.1", domain=public) as session:
        session._noise = replay(1)
        with Watch() as watch:
            if name == "one":
                session.predict_one([0.2, 0.3], epsilon=2)
            else:
                session.predict_batch([[0.2, 0.3], [0.7, 0.1]], epsilon=2)
    return _line(watch, session.release_.body, name)


def _line(watch, body, name):
    says = {key: _plain(value) for key, value in body.items()
            if key not in ("columns", "domain", "format", "replayed")}
    if name in NEARLY:
        says = {key: says[key] for key in ("forecast", "plan", "noise")}
    return {"handed": watch.handed, "says": says}


def recounted():
    """All of it."""
    return {name: recorded(name) for name in (*PLANS, *SESSIONS)}


if __name__ == "__main__":
    text = ",\n".join(f"{json.dumps(name)}: {json.dumps(inputs, separators=(',', ':'))}"
                      for name, inputs in recounted().items())
    sys.stdout.write("{\n" + text + "\n}\n")
