"""Laws of figures: they draw what a plan or a release says, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest

import privsieve as ps
from every_method import ESTIMATORS
from privsieve.errors import ParameterError, SchemaError
from privsieve.extras.plot.displays import MOST, PlanDisplay, ReleaseDisplay
from privsieve.release import ColumnWeights, Release

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _closed():
    """Close all figures."""
    yield
    from matplotlib import pyplot as plt

    plt.close("all")


def fitted(method):
    """An estimator that has met the ward's table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return method.made(epsilon=5).fit(method.table())


def words(display):
    """All texts of a figure."""
    from matplotlib.text import Text

    display.figure_.canvas.draw()
    return [one.get_text() for one in display.figure_.findobj(Text) if one.get_text()]


@pytest.mark.parametrize("method", ESTIMATORS, ids=repr)
def test_every_plan_and_release_can_be_drawn(method):
    """Whatever the method: a figure of its plan and one of its release, on axes that were given."""
    from matplotlib import pyplot as plt

    made = fitted(method)
    _, axes = plt.subplots(1, 2)
    plan = made.plan(rows=400).plot(axes[0])
    if made.release_.body["kind"] == "selection":
        with pytest.raises(ParameterError, match="a choice of columns is a list of names"):
            made.release_.plot(axes[1])
        return
    release = made.release_.plot(axes[1])

    assert (axes[0], axes[1]) == (plan.ax_, release.ax_)
    assert isinstance(plan, PlanDisplay)
    assert isinstance(release, ReleaseDisplay)
    assert axes[0].figure is plan.figure_
    again = ReleaseDisplay.from_estimator(made).plot()
    assert words(again)
    assert PlanDisplay.from_estimator(made, rows=400).plan.json() == plan.plan.json()


def test_a_forecast_is_drawn_at_its_place():
    """The points are those of the forecast; guessing and this plan are named with their figures."""
    made = ps.plan("rule-sieve", ps.Domain.box(0, 1, columns=20), k=2, epsilon="0.5", rows=3000)
    shown = made.plot()
    line = shown.ax_.get_lines()[0]

    assert {float(cost): found for cost, found in made.forecast["by_cost"].items()} == dict(
        zip(*line.get_data(), strict=True))
    assert f"guessing: {made.forecast['guessing_percent']} %" in words(shown)
    assert f"this plan: {made.forecast['by_cost']['0.5']} %" in words(shown)


def test_weights_are_drawn_as_they_were_released():
    """Each bar is a released weight, beside the name of its column; names are no formulas."""
    names = [*(f"cost in $, part {at}" for at in range(MOST)), "b"]
    domain = ps.Domain([ps.Number(name, 0, 1) for name in names], target=ps.Label("y", [0, 1]))
    X = np.random.default_rng(0).random((400, len(names)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = ps.OutputFWELL(1, epsilon=4, domain=domain).fit(X, X[:, 0] > 0.5)
    shown = made.release_.plot()
    weights = dict(zip(names, ColumnWeights.read(made.release_.body).values.doubles, strict=True))

    assert MOST == len(shown.ax_.patches)
    labels = [one.get_text() for one in shown.ax_.get_yticklabels()]
    assert all(bar.get_width() == weights[label.replace(r"\$", "$")]
               for bar, label in zip(shown.ax_.patches, labels, strict=True))
    assert "… and 1 more" in words(shown)


def test_a_model_is_drawn_with_its_names():
    """The largest number of a linear model stands beside the column that carries it."""
    X = np.random.default_rng(0).random((4000, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = ps.PrivateKernelRidge("linear", epsilon=9, domain=ps.Domain.box(
            0.0, 1.0, target=(0, 1))).fit(X, X[:, 1])
    shown = made.release_.plot()

    assert made.release_.columns[int(made.feature_importances_.argmax())] == (
        shown.ax_.get_yticklabels()[0].get_text()) == "x1"


def test_what_cannot_be_drawn_is_refused():
    """A body that no maker wrote, and an estimator that released nothing."""
    for body in ({}, {"kind": "weights", "columns": ["a"]}, {"kind": "histogram", "cells": 7}):
        with pytest.raises(SchemaError, match="has no numbers to draw"):
            Release(body, None).plot()
    with pytest.raises(ParameterError, match="has no release"):
        ReleaseDisplay.from_estimator(ps.RuleSieve(1))


def test_nothing_is_drawn_before_it_is_asked_for():
    """A display loads no Matplotlib; without it the refusal says how to install it."""
    code = """
import sys, privsieve as ps
plan = ps.plan("rule-sieve", ps.Domain.box(0, 1, columns=9), k=2, epsilon=1, rows=500)
from privsieve.extras.plot import PlanDisplay
display = PlanDisplay.from_plan(plan)
assert not {"matplotlib", "numpy"} & set(sys.modules), "loaded"
sys.modules["matplotlib"] = None
try:
    display.plot()
except ps.errors.ParameterError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert 'pip install "privsieve[plot]"' in said.stdout
