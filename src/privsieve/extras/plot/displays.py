"""Displays: a plan's forecast and a release as figures, in scikit-learn's manner.

`from_plan` and `from_release` make a display, `plot` draws it; `ax_` and `figure_` are
Matplotlib's.
They draw what a plan or a release says, and nothing else: figures of both may be shown to anybody.
Matplotlib (the extra `plot`) is imported when something is drawn.
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

#: Bars of one figure; of more only the first ones are drawn, and it is said.
MOST = 30
#: Letters of a name on an axis.
_NAME = 32
#: What is drawn strongly, beside it, and as a limit: apart for most colour-blind people, too.
_STRONG, _WEAK, _LIMIT = "C0", "0.65", "C1"
#: What a forecast of numbers may say, and how its bar is called: of a model, and of weights.
_PREDICTION = {"noise_prediction": "noise on a prediction", "expected_error": "expected error"}
_NOISES = {"noise_each": "noise on each number", "noise_length": "noise on all of them together",
           "longest": "longest without any noise"}


class _Display:
    """What every display is: something public, and the axes on which it was drawn."""

    ax_: Any
    figure_: Any

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError

    def plot(self, ax: Any = None) -> Self:
        """Draw on these axes, or on new ones.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            where to draw; a new figure where it is left out.
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
    """What a plan forecasts: of a choice how much is found at which cost, else how strong noise is.

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
        """The display of a plan."""
        return cls(plan)

    @classmethod
    def from_estimator(cls, estimator: Any, *, rows: int | None = None) -> Self:
        """The display of what an estimator plans for a table of so many rows."""
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
    ax.set(ylim=(0, 108), ylabel="best columns that are found, per cent",
           xlabel="epsilon, and the factor by which one row or person can change a probability",
           title="What each epsilon buys (estimated from the table's size)")


class ReleaseDisplay(_Display):
    """What was released as numbers: weights with their noise, a model, or counts.

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
        """The display of a release."""
        return cls(release)

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """The display of what a fitted estimator released."""
        release: Release | None = getattr(estimator, "release_", None)
        if release is None:
            raise ParameterError("the estimator has released nothing yet; fit it first")
        return cls(release)

    def _draw(self, ax: Any) -> None:
        body: Mapping[str, Any] = self.release.body
        if body.get("kind") == Selection.kind:
            raise ParameterError("a choice of columns is a list of names without figures; print "
                                 "release.selected, or draw its plan (PlanDisplay)")
        try:
            draw = {ColumnWeights.kind: _weights, Regression.kind: _model,
                    Histogram.kind: _counts}[str(body["kind"])]
            draw(ax, body)
        except WRONG:
            raise SchemaError("the release says nothing that can be drawn; take one as privsieve "
                              "wrote it") from None


def _part(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """What the domain says of a column, or of the target."""
    parts: list[Mapping[str, Any]] = [*body["domain"]["columns"], body["domain"]["target"] or {}]
    return next((one for one in parts if one.get("name") == name), {"kind": "group"})


def _weights(ax: Any, body: Mapping[str, Any]) -> None:
    """Each weight with a standard deviation of its noise, the largest first."""
    made = ColumnWeights.read(body)
    rows = sorted(zip(body["columns"], made.values.doubles, strict=True), key=lambda one: -one[1])
    _bars(ax, [name for name, _ in rows], [value for _, value in rows],
          noise=float(number(made.noise.each)), strong=len(made.selected))
    ax.set(title="Weights as they were released",
           xlabel="weight; the line is one standard deviation of its noise")


def _model(ax: Any, body: Mapping[str, Any]) -> None:
    """The numbers of a model, by size; of one that only answers, its answers."""
    model = Regression.read(body)
    if model.answers is not None:
        values = [float(number(text)) for text in model.answers]
        names = [f"question {at}" for at in range(1, len(values) + 1)]
    else:
        found = sorted(enumerate(model.values.doubles), key=lambda one: -abs(one[1]))
        labels = labels_of(body["domain"]) if model.map == "linear" else [
            f"number {at}" for at in range(1, len(found) + 1)]
        names, values = [labels[at] for at, _ in found], [value for _, value in found]
    _bars(ax, names, values, noise=float(number(model.noise.each)))
    ax.set(title="The model as it was released",
           xlabel="value; the line is one standard deviation of the noise")


def _counts(ax: Any, body: Mapping[str, Any]) -> None:
    """Counts along the first axis of the table, the others added up."""
    released = Histogram.read(body)
    table = released.cells
    inner = table.many // table.shape[0]
    sums = [0] * table.shape[0]
    for at, count in zip(table.places, table.q, strict=True):
        sums[at // inner] += count
    name = table.names[0]
    ends, part = table.bins.get(name), _part(body, name)
    if ends:
        cells = [*(f"{low} to {high}" for low, high in pairwise(ends)), "missing"]
    else:
        cells = ["no", "yes"] if part["kind"] == "flag" else [*map(str, part["values"]), "other"]
    _bars(ax, cells[:len(sums)], sums, noise=float(number(released.noise.each)) * inner ** .5)
    ax.set(title=f"Rows by {_short(name)}, as they were released",
           xlabel="count; the line is one standard deviation of its noise")


def _bars(ax: Any, names: Sequence[str], values: Sequence[float], *, noise: float = 0,
          strong: int | None = None) -> None:
    """Bars that lie, the first one above; those from `strong` on are pale."""
    shown = list(zip(names, values, strict=True))[:MOST]
    dark = len(shown) if strong is None else strong
    places = range(len(shown))
    ax.barh(places, [value for _, value in shown], xerr=noise or None, ecolor="0.35",
            color=[_STRONG if at < dark else _WEAK for at in places])
    more = len(names) - len(shown)
    ax.set_yticks(places, [_short(name) for name, _ in shown])
    ax.invert_yaxis()
    ax.axvline(0, color="0.35", linewidth=.8)
    if more:
        ax.annotate(f"… and {more} more", (0, 0), (0, -42), "axes fraction", "offset points")


def _short(name: str) -> str:
    """A name on an axis: a dollar sign is no formula."""
    text = visible(name)
    return (text if len(text) <= _NAME else f"{text[:_NAME - 1]}…").replace("$", r"\$")
