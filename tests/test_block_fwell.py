"""BlockFWELL: its plan and what it finds.  What all methods promise is in `test_methods.py`."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest

import privsieve as ps
import tables
import test_methods as methods
from privsieve.methods.block_fwell import least_epsilon
from privsieve.noise.streams import replay

planned, choose = partial(methods.planned, "block-fwell"), partial(methods.choose, "block-fwell")


# the plan


@pytest.mark.parametrize(("units", "expected"), [
    (12, 50), (4000, 50), (4200, 48), (100_000, 2), (1_000_000, 2)])
def test_repeats_follow_the_public_size(units, expected):
    """The smaller the table, the more often it is cut."""
    assert expected == planned(rows=units).settings["repeats"]


def test_the_least_epsilon_is_that_of_the_design():
    """4 k m (ln(d/k) + 1) / (gap n), with those left out if they are fewer."""
    assert 4 * 3 * 6 * (np.log(10) + 1) / (0.2 * 4000) == pytest.approx(
        float(least_epsilon(4000, 30, 3)))
    assert least_epsilon(4000, 30, 3) == least_epsilon(4000, 30, 27)


@pytest.mark.parametrize("k", [3, 9])
def test_the_forecast_tells_the_truth(k):
    """The formula agrees with 400 races on sums of votes that have its gap."""
    from privsieve.noise.race import Race, top_k

    units, gap, repeats = 6000, Fraction(1, 25), 7
    plan = planned(k=k, epsilon="0.5", rows=units, repeats=repeats)
    sums = [int(gap * repeats * (units // 6)) * (j < k) for j in range(12)]
    race = Race(12, k, 2 * repeats, Fraction(1, 2))
    races = [top_k(sums, race, replay(seed)) for seed in range(400)]
    mean = np.mean([sum(j < k for j in race) / k for race in races])

    assert abs(plan.forecast["found_percent"]["0.04"] / 100 - mean) < 0.06


# what it finds


def test_an_exclusive_or_is_found():
    """A pair that matters only together, among 20 columns of 4,200 rows, at epsilon 1."""
    hits = 0
    for seed in range(20):
        X, y, planted = tables.xor(np.random.default_rng(seed))
        hits += planted == {int(name[1:]) for name in choose(
            X, y, ps.Domain.box(0, 1, columns=20), seed=seed, k=2).selected}

    assert hits >= 19


def test_classes_and_categories():
    """Three classes, a category and a missing level that tell them apart, among noise."""
    rng = np.random.default_rng(3)
    n = 3000
    y = rng.integers(0, 3, n)
    stay = rng.random(n)
    stay[(y == 1) & (rng.random(n) < 0.6)] = np.nan
    ward = np.where(rng.random(n) < 0.7, np.array(["A", "B", "C"])[y], "A")
    frame = pd.DataFrame({f"x{j}": rng.random(n) for j in range(6)}).assign(
        stay=stay, ward=ward, y=y)
    domain = ps.Domain([*(ps.Number(f"x{j}", 0, 1) for j in range(6)),
                        ps.Number("stay", 0, 1, missing="level"),
                        ps.Category("ward", ["A", "B", "C"])], target=ps.Label("y", [0, 1, 2]))

    assert {"stay", "ward"} == set(choose(frame, None, domain, k=2, epsilon=2).selected)
