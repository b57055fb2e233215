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
        return method.estimator(epsilon=5).fit(method.table())


def words(display):
    """All texts of a figure."""
    from matplotlib.text import Text

    display.figure_.canvas.draw()
    return [text.get_text() for text in display.figure_.findobj(Text) if text.get_text()]


@pytest.mark.parametrize("method", ESTIMATORS, ids=repr)
def test_every_plan_and_release_can_be_drawn(method):
    """Whatever the method: a figure of its plan and one of its release, on axes that were given."""
    from matplotlib import pyplot as plt

    estimator = fitted(method)
    _, axes = plt.subplots(1, 2)
    plan = estimator.plan(rows=400).plot(axes[0])
    if estimator.release_.body["kind"] == "selection":
        with pytest.raises(ParameterError, match="a choice of columns is a list of names"):
            estimator.release_.plot(axes[1])
        return
    release = estimator.release_.plot(axes[1])

    assert (axes[0], axes[1]) == (plan.ax_, release.ax_)
    assert isinstance(plan, PlanDisplay)
    assert isinstance(release, ReleaseDisplay)
    assert axes[0].figure is plan.figure_
    again = ReleaseDisplay.from_estimator(estimator).plot()
    assert words(again)
    assert PlanDisplay.from_estimator(estimator, rows=400).plan.json() == plan.plan.json()


def test_a_forecast_is_drawn_at_its_place():
    """The points are those of the forecast; guessing and this plan are named with their figures."""
    planned = ps.plan("rule-sieve", ps.Domain.box(0, 1, columns=20), k=2, epsilon="0.5", rows=3000)
    drawing = planned.plot()
    line = drawing.ax_.get_lines()[0]

    assert {float(cost): share for cost, share in planned.forecast["by_cost"].items()} == dict(
        zip(*line.get_data(), strict=True))
    assert f"guessing: {planned.forecast['guessing_percent']} %" in words(drawing)
    assert f"this plan: {planned.forecast['by_cost']['0.5']} %" in words(drawing)


def test_weights_are_drawn_as_they_were_released():
    """Each bar is a released weight, beside the name of its column; names are no formulas."""
    names = [*(f"cost in $, part {at}" for at in range(MOST)), "b"]
    domain = ps.Domain([ps.Number(name, 0, 1) for name in names], target=ps.Label("y", [0, 1]))
    X = np.random.default_rng(0).random((400, len(names)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = ps.OutputFWELL(1, epsilon=4, domain=domain).fit(X, X[:, 0] > 0.5)
    drawing = estimator.release_.plot()
    weights = dict(zip(names, ColumnWeights.read(estimator.release_.body).values.doubles,
                       strict=True))

    assert MOST == len(drawing.ax_.patches)
    labels = [label.get_text() for label in drawing.ax_.get_yticklabels()]
    assert all(bar.get_width() == weights[label.replace(r"\$", "$")]
               for bar, label in zip(drawing.ax_.patches, labels, strict=True))
    assert "… and 1 more" in words(drawing)


def test_a_model_is_drawn_with_its_names():
    """The largest number of a linear model is next to the column that carries it."""
    X = np.random.default_rng(0).random((4000, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = ps.PrivateKernelRidge("linear", epsilon=9, domain=ps.Domain.box(
            0.0, 1.0, target=(0, 1))).fit(X, X[:, 1])
    drawing = estimator.release_.plot()

    assert estimator.release_.columns[int(estimator.feature_importances_.argmax())] == (
        drawing.ax_.get_yticklabels()[0].get_text()) == "x1"


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
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                             check=True)

    assert 'pip install "privsieve[plot]"' in process.stdout
