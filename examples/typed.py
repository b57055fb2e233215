"""The public names as a typed program uses them: mypy --strict and pyright read it without a word.

It runs, too: a made-up table in a temporary folder, a budget, releases of each kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import privsieve as ps
from privsieve.public.plan import Plan
from privsieve.release import Release


def public() -> ps.Domain:
    """What is public: lists are columns, and values."""
    return ps.Domain(
        [ps.Number("age", 0, 110), ps.Category("ward", ["A", "B"]), ps.Flag("smoker"),
         ps.Date("admitted", "2020-01-01", "2024-12-31")],
        target=ps.Label("ill", [0, 1]))


def chosen(X: npt.NDArray[np.float64], y: npt.NDArray[Any], ledger: ps.Ledger) -> Release:
    """A choice, with its plan before and its figures after."""
    domain = ps.Domain.box(0.0, 1.0, columns=X.shape[1])
    sieve = ps.RuleSieve(2, epsilon=1, domain=domain, ledger=ledger)
    plan = sieve.plan(rows=len(X))
    assert_type(plan, Plan)
    assert_type(plan.cost.epsilon, Fraction)
    assert_type(plan.warning, str | None)
    assert_type(ps.plan("noisy-top-k", domain, k=2, epsilon=1, rows=9), Plan)
    fitted = sieve.fit(X, y)
    assert_type(fitted, ps.RuleSieve)
    assert_type(fitted.get_support(), npt.NDArray[Any])
    assert_type(fitted.release_, Release)
    return fitted.release_


def others(X: npt.NDArray[np.float64], y: npt.NDArray[Any], ledger: ps.Ledger) -> None:
    """A release of each other kind, and what is made of it."""
    domain = ps.Domain.box(0.0, 1.0, columns=X.shape[1])
    line = ps.Domain.box(0.0, 1.0, target=(0, 1))
    weighed = ps.OutputFWELL(1, epsilon=1, domain=domain, ledger=ledger).fit(X, y)
    assert_type(weighed.weights_, npt.NDArray[np.float64])
    model = ps.PrivateKernelRidge("linear", epsilon=1, domain=line, ledger=ledger).fit(X, X[:, 0])
    assert_type(model.predict(X[:2]), npt.NDArray[np.float64])
    table = ps.NoisyHistogram(["x0"], epsilon=1, domain=domain, ledger=ledger).fit(X, y)
    assert_type(table.marginal("x0"), npt.NDArray[np.int64])
    kept = ps.PublishableColumns(k=5).fit((X > 0.8).astype(int), y)
    assert_type(kept.release_.selected, tuple[str, ...])
    assert_type(kept.release_.level, int)


def checked(release: Release, folder: Path, ledger: ps.Ledger) -> bool:
    """A release that is kept, read again, and checked."""
    assert_type(release.selected, tuple[str, ...])
    body: Mapping[str, object] = release.body
    release.save(folder)
    assert_type(ps.load(folder), Release)
    found = ps.verify(folder, ledger=ledger)
    assert_type(found.reasons, tuple[str, ...])
    assert_type(ledger.left(), Decimal)
    assert_type(ps.recover(folder).did, tuple[str, ...])
    return found.valid and body["kind"] == "selection"


def main() -> None:
    """Run all of it on a made-up table."""
    X = np.random.default_rng(0).random((3000, 4))
    y = X[:, 2] > 0.5
    assert_type(public().names, tuple[str, ...])
    assert_type(ps.inspect([[50]], ps.Domain([ps.Number("age", 0, 99)])).lines(), list[str])
    assert_type(ps.containment_level(y[:, None].astype(int)), int)
    with TemporaryDirectory() as place:
        ledger = ps.Ledger(f"{place}/budget.db", population="clinic")
        ledger.grant(9)
        release = chosen(X, y, ledger)
        others(X, y, ledger)
        print(release)
        print("valid:", checked(release, Path(place) / "first", ledger))


if __name__ == "__main__":
    main()
