"""Displays: figures of a plan's forecast and of a release, in the style of scikit-learn.

`from_plan` and `from_release` make a display, and `plot` draws it; `ax_` and `figure_` are
Matplotlib's.  Figures show only facts of a plan or a release, and may be published.  Matplotlib
(the extra `plot`) is imported when a figure is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

from privsieve.entries import import_library
from privsieve.errors import ParameterError, SchemaError
from privsieve.public.canonical import exact, factor, visible
from privsieve.release import (
    WRONG,
    ColumnWeights,
    Histogram,
    Regression,
    Selection,
    number,
)
from privsieve.report.regression import labels_of

if TYPE_CHECKING:
    from privsieve.public.plan import Plan
    from privsieve.release import Release

#: The most bars of a figure; a note gives the number of the others.
MOST = 30
#: The most letters of a name on an axis.
_NAME = 32
#: The colours of important and other marks, and of limits; most colour-blind people can tell them.
_STRONG, _WEAK, _LIMIT = "C0", "0.65", "C1"
#: The figures of a forecast with the names of their bars: of a model, and of weights.
_PREDICTION = {"noise_prediction": "noise on a prediction", "expected_error": "expected error"}
_NOISES = {"noise_each": "noise on each number", "noise_length": "noise on all numbers together",
           "longest": "greatest length without noise"}


class _Display:
    """The base class of displays: draws public facts on axes."""

    ax_: Any
    figure_: Any

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError

    def plot(self, ax: Any = None) -> Self:
        """Draw on these axes, or on new ones.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            where to draw; by default a new figure.
        """
        if ax is None:
            plt = import_library("matplotlib.pyplot", "plot", "a figure")
            _, ax = plt.subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        self._draw(ax)
        return self


class PlanDisplay(_Display):
    """Draw the forecast of a plan: the accuracy of a choice by epsilon, or the size of noise.

    Examples
    --------
    >>> import privsieve as ps
    >>> plan = ps.plan("rule-sieve", ps.Domain.box(0, 1, columns=9), k=2, epsilon=1, rows=5000)
    >>> PlanDisplay.from_plan(plan).plan is plan
    True
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        """Return the display of a plan."""
        return cls(plan)

    @classmethod
    def from_estimator(cls, estimator: Any, *, rows: int | None = None) -> Self:
        """Return the display of an estimator's plan for a table with this number of rows."""
        return cls(estimator.plan(rows=rows))

    def _draw(self, ax: Any) -> None:
        forecast: Mapping[str, Any] = self.plan.forecast
        if "by_cost" in forecast:
            _draw_costs(ax, forecast, self.plan.cost.text)
            return
        model = "noise_prediction" in forecast
        sizes = {words: float(number(forecast[key]))
                 for key, words in (_PREDICTION if model else _NOISES).items()
                 if forecast.get(key) is not None}
        if "cells" in forecast:
            sizes["rows for each, on average"] = self.plan.units / int(forecast["cells"])
        _bars(ax, list(sizes), list(sizes.values()))
        ax.set(title=f"Forecast at epsilon {self.plan.cost.text}",
               xlabel="in halves of the target's range" if model else "")


def _draw_costs(ax: Any, forecast: Mapping[str, Any], cost: str) -> None:
    """Draw the share of the best columns that each epsilon finds, with this plan and guessing."""
    shares = {float(epsilon): int(share) for epsilon, share in forecast["by_cost"].items()}
    ax.plot(list(shares), list(shares.values()), "o-", color=_WEAK)
    for epsilon, share in shares.items():
        this = epsilon == float(cost)
        if this:
            ax.plot(epsilon, share, "o", color=_STRONG, markersize=10)
        ax.annotate(f"this plan: {share} %" if this else f"{share} %", (epsilon, share), (0, -18),
                    textcoords="offset points", ha="center", color=_STRONG if this else "0.35")
    guessing = int(forecast["guessing_percent"])
    ax.axhline(guessing, color=_LIMIT, linestyle="--")
    ax.annotate(f"guessing: {guessing} %", (0, guessing), (4, 4), ("axes fraction", "data"),
                "offset points", color=_LIMIT)
    ax.set_xscale("log")
    ax.set_xticks(list(shares), [f"{epsilon:g}\n{factor(exact(epsilon, 'epsilon'))} times"
                                for epsilon in shares])
    ax.minorticks_off()
    ax.margins(x=.12)
    ax.set(ylim=(0, 108), ylabel="best columns found, per cent",
           xlabel="epsilon, and the factor by which one row or person can change a probability",
           title="What each epsilon buys (estimated from the table's size)")


class ReleaseDisplay(_Display):
    """Draw released numbers: weights with their noise, a model, or counts.

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(4000.0).reshape(1000, 4) % 97 / 97
    >>> table = ps.NoisyHistogram(["x0"], epsilon=2, bins=3, domain=ps.Domain.box(0, 1))
    >>> table = table.fit(X, X[:, 2] > .5)
    >>> ReleaseDisplay.from_estimator(table).release is table.release_
    True
    """

    def __init__(self, release: Release) -> None:
        self.release = release

    @classmethod
    def from_release(cls, release: Release) -> Self:
        """Return the display of a release."""
        return cls(release)

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """Return the display of a fitted estimator's release."""
        release: Release | None = getattr(estimator, "release_", None)
        if release is None:
            raise ParameterError("the estimator has no release; fit it first")
        return cls(release)

    def _draw(self, ax: Any) -> None:
        body: Mapping[str, Any] = self.release.body
        if body.get("kind") == Selection.kind:
            raise ParameterError("a choice of columns is a list of names without numbers; print "
                                 "release.selected, or draw its plan (PlanDisplay)")
        try:
            draw = {ColumnWeights.kind: _weights, Regression.kind: _model,
                    Histogram.kind: _counts}[str(body["kind"])]
            draw(ax, body)
        except WRONG:
            raise SchemaError("the release has no numbers to draw; use a release as privsieve "
                              "wrote it") from None


def _declaration(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the declaration of a column, or of the target."""
    columns: list[Mapping[str, Any]] = [*body["domain"]["columns"], body["domain"]["target"] or {}]
    return next((column for column in columns if column.get("name") == name), {"kind": "group"})


def _weights(ax: Any, body: Mapping[str, Any]) -> None:
    """Draw each weight with a standard deviation of its noise, the largest first."""
    weights = ColumnWeights.read(body)
    rows = sorted(zip(body["columns"], weights.values.doubles, strict=True),
                  key=lambda row: -row[1])
    _bars(ax, [name for name, _ in rows], [value for _, value in rows],
          noise=float(number(weights.noise.each)), strong=len(weights.selected))
    ax.set(title="Released weights",
           xlabel="weight; the line is one standard deviation of its noise")


def _model(ax: Any, body: Mapping[str, Any]) -> None:
    """Draw the numbers of a model by size, or its answers if the model is not released."""
    model = Regression.read(body)
    if model.answers is not None:
        values = [float(number(text)) for text in model.answers]
        names = [f"question {at}" for at in range(1, len(values) + 1)]
    else:
        ranked = sorted(enumerate(model.values.doubles), key=lambda pair: -abs(pair[1]))
        labels = labels_of(body["domain"]) if model.map == "linear" else [
            f"number {at}" for at in range(1, len(ranked) + 1)]
        names, values = [labels[at] for at, _ in ranked], [value for _, value in ranked]
    _bars(ax, names, values, noise=float(number(model.noise.each)))
    ax.set(title="The released model",
           xlabel="value; the line is one standard deviation of the noise")


def _counts(ax: Any, body: Mapping[str, Any]) -> None:
    """Draw counts along the first axis of the table, summed over the other axes."""
    released = Histogram.read(body)
    table = released.cells
    inner = table.many // table.shape[0]
    sums = [0] * table.shape[0]
    for at, count in zip(table.places, table.q, strict=True):
        sums[at // inner] += count
    name = table.names[0]
    ends, column = table.bins.get(name), _declaration(body, name)
    if ends:
        cells = [*(f"{low} to {high}" for low, high in pairwise(ends)), "missing"]
    elif column["kind"] == "flag":
        cells = ["no", "yes"]
    else:
        cells = [*map(str, column["values"]), "other"]
    _bars(ax, cells[:len(sums)], sums, noise=float(number(released.noise.each)) * inner ** .5)
    ax.set(title=f"Released counts of rows by {_short(name)}",
           xlabel="count; the line is one standard deviation of its noise")


def _bars(ax: Any, names: Sequence[str], values: Sequence[float], *, noise: float = 0,
          strong: int | None = None) -> None:
    """Draw horizontal bars, the first one on top; bars from `strong` on are pale."""
    bars = list(zip(names, values, strict=True))[:MOST]
    dark = len(bars) if strong is None else strong
    places = range(len(bars))
    ax.barh(places, [value for _, value in bars], xerr=noise or None, ecolor="0.35",
            color=[_STRONG if at < dark else _WEAK for at in places])
    rest = len(names) - len(bars)
    ax.set_yticks(places, [_short(name) for name, _ in bars])
    ax.invert_yaxis()
    ax.axvline(0, color="0.35", linewidth=.8)
    if rest:
        ax.annotate(f"… and {rest} more", (0, 0), (0, -42), "axes fraction", "offset points")


def _short(name: str) -> str:
    """Return a short name for an axis; dollar signs do not start a formula."""
    text = visible(name)
    return (text if len(text) <= _NAME else f"{text[:_NAME - 1]}…").replace("$", r"\$")
