"""Every method with an estimator and a table for it: what the laws run over.

A new method gets its laws by one line here; a test compares this list with the registry and with
what the package exports.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

import privsieve as ps
from privsieve.methods import METHODS, options_of
from privsieve.methods.ridge.answers import ASSUMES, THEOREM

ROWS = 400
COLUMNS = (ps.Number("age", 0, 110), ps.Number("stay", 1, 365, scale="log"), ps.Flag("smoker"),
           ps.Category("ward", ["A", "B"]))
#: A ward: whether a patient came back.
WARD = ps.Domain(COLUMNS, target=ps.Label("back", [0, 1]))
#: The same, and one of three ways in which a patient left.
EXITS = ps.Domain(COLUMNS, target=ps.Label("exit", [0, 1, 2]))
#: The same, and what a stay cost.
COSTS = ps.Domain(COLUMNS, target=ps.Number("cost", 0, 100))
#: The same without a category.
GRADED = ps.Domain(COLUMNS[:3], target=COSTS.target)
#: What a session knows as numbers.
POINTS = ps.Domain(COLUMNS[:2], target=COSTS.target)


def table(rows=ROWS):
    """A made-up ward whose readmissions and costs depend on the age."""
    rng = np.random.default_rng(7)
    age = rng.integers(18, 95, rows)
    return pd.DataFrame({
        "age": age, "stay": rng.gamma(2, 5, rows) + 1, "smoker": rng.integers(0, 2, rows),
        "ward": rng.choice(["A", "B", "C"], rows), "back": (age > 60).astype(int),
        "cost": age / 2.0, "exit": age // 30 % 3})


class Session:
    """A session as the laws see estimators: `fit` opens it and asks for one answer."""

    def __init__(self, *, epsilon=None, domain=None, ledger=None):
        self.epsilon, self.domain, self.ledger = epsilon, domain, ledger

    def fit(self, X, y=None):
        """One answer, and what it released."""
        with ps.KernelRidgeSession(X, y, domain=self.domain, ledger=self.ledger) as session:
            session.predict_batch(table(3)[list(self.domain.names)], epsilon=self.epsilon)
            self.release_ = session.release_
        return self


@dataclass(frozen=True)
class Method:
    """An estimator of a method, and what it needs."""

    name: str
    kind: Any
    options: dict = field(default_factory=dict)
    domain: ps.Domain = WARD
    box: ps.Domain = field(default_factory=lambda: ps.Domain.box(0.0, 1.0))

    def __repr__(self):
        return f"{self.kind.__name__}{''.join(f' {value}' for value in self.options.values())}"[:40]

    def estimator(self, **options):
        """The estimator, for one epsilon of the ward."""
        return self.kind(**{"epsilon": 1, "domain": self.domain, **self.options, **options})

    def plan(self, **options):
        """Its plan for the ward, or what a fitted one plans."""
        return self.estimator(**options).plan(rows=ROWS)

    def table(self, rows=ROWS):
        """The ward with this method's columns and target."""
        return table(rows)[[*self.domain.names, self.domain.target.name]]

    @property
    def numbers(self):
        """Whether its target is a number."""
        return isinstance(self.domain.target, ps.Number)


#: What each theorem assumes, with all proofs below it.
THEOREMS = {THEOREM: ASSUMES, **{theorem: options_of(name).assumes for name in METHODS
                                 for theorem in options_of(name).theorems}}
_TWO = {"n_features_to_select": 2}
_ROUNDS = {"n_features_to_select": 3, "joint": "rounds"}
_LINE = ps.Domain.box(0.0, 1.0, target=(0, 1))
SELECTORS = (
    Method("rule-sieve", ps.RuleSieve, _TWO),
    Method("rule-sieve", ps.RuleSieve, {**_TWO, "joint": "pair"}),
    Method("rule-sieve", ps.RuleSieve, {**_TWO, "always": ["smoker"], "never": ["ward"]}),
    Method("noisy-top-k", ps.NoisyTopK, {**_TWO, "groups": {"who": ["age", "ward"]}}),
    Method("rule-sieve", ps.RuleSieve, {**_TWO, "fewer": "auto"}),
    Method("block-fwell", ps.BlockFWELL, _TWO),
    *(Method("noisy-top-k", ps.NoisyTopK, {**_TWO, "score": score})
      for score in ("mean-difference", "class-counts")),
    Method("output-fwell", ps.OutputFWELL, _TWO),
    Method("objective-fwell", ps.ObjectiveFWELL, _TWO),
    Method("felp", ps.FELP, _TWO),
)
ESTIMATORS = (
    *SELECTORS,
    Method("rule-sieve", ps.RuleSieve, {**_ROUNDS, "class_prior": None}),
    Method("rule-sieve", ps.RuleSieve, {**_ROUNDS}, EXITS),
    Method("rule-sieve", ps.RuleSieve, {**_TWO, "numeric": "ranks"}, COSTS, _LINE),
    Method("rule-sieve", ps.RuleSieve, {**_TWO, "joint": "none"}, COSTS, _LINE),
    Method("kernel-ridge", ps.PrivateKernelRidge, {"kernel": "linear"}, COSTS, _LINE),
    Method("kernel-ridge", ps.PrivateKernelRidge, {"kernel": "rbf", "features": 20}, COSTS, _LINE),
    Method("noisy-histogram", ps.NoisyHistogram, {"columns": ["age", "ward"]},
           box=ps.Domain.box(0.0, 1.0, classes=(0, 1))),
    Method("noisy-histogram", ps.NoisyHistogram, {**_TWO, "bins": 2}),
)
#: All that charges: the estimators, and the session.
CHARGING = (*ESTIMATORS, Method("kernel-ridge-session", Session, domain=POINTS))
