"""How `privsieve plan` tells of a release of numbers: its noise in words, and by cost."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import click

from privsieve.cli import words
from privsieve.public.canonical import Json
from privsieve.public.plan import Plan

Forecasts = Mapping[Fraction, Mapping[str, Json]]

_LONGEST = ("the same beside the longest that all can be without noise in any table; in most "
            "tables they are shorter")
#: Where the meanings of a table's columns begin.
_INDENT = 15
#: From so many per cent on it is said how many times.
_MANY = 1000
_EXPECTED = ("by how much a prediction is expected to be off, beyond what no model could know, in "
             "the same unit")
_MOVED = ("the rows that noise moves to other cells, as a share of all rows; above 1 nothing of "
          "the table is left")
#: What a forecast may hold, by kind: the head of its column, and what it is.
_FIGURES = {
    "weights": {
        "noise_each": ("each weight", "the standard deviation of the noise on one weight"),
        "noise_length": ("together", "how long the noise on all of them is together, about"),
    },
    "regression": {
        "noise_each": ("each number", "the standard deviation of the noise on one number"),
        "noise_prediction": ("prediction", "that of a prediction, in halves of the target's range"),
        "expected_error": ("error", _EXPECTED),
        "error_bound": ("error bound", "a bound of that"),
    },
    "histogram": {
        "noise_each": ("each cell", "the standard deviation of the noise on one count"),
        "expected_error": ("moved", _MOVED),
    },
}


def what(plan: Plan) -> str:
    """What is released, in a few words."""
    d, k = len(plan.domain.columns), plan.settings.get("k")
    if plan.kind == "histogram":
        least = plan.settings.get("threshold")
        over = f" over {k} of {d} columns" if k is not None else ""
        most = "at most " if plan.settings.get("choice") else ""
        named = f"; those from {least} on are named" if least is not None else ""
        cells = f"{int(str(plan.forecast['cells'])):,}".replace(",", " ")
        return f"a table of {most}{cells} counts{over}{named}"
    if plan.kind == "regression":
        return "a model from which predictions are free"
    chosen = "those above zero are chosen" if k == "positive" else (
        "the largest one is chosen" if k == 1 else f"the {k} largest are chosen")
    return f"a weight for each of {d} columns; {chosen}"


def noise(plan: Plan) -> str:
    """How strong the noise is, against what it hides where that is bounded."""
    made = plan.forecast
    figures = _FIGURES[plan.kind]
    if "noise_prediction" in made:
        return _prediction(plan)
    one = figures["noise_each"][0].removeprefix("each ")
    said = f"standard deviation {figure(made['noise_each'])} on each {one}"
    if "noise_length" in made and "longest" in made:
        share = _share(made)
        said += (f"; together about {figure(made['noise_length'])} long, where the {one}s without "
                 f"it are at most {figure(made['longest'])} long: {share}"
                 f"{' of' if '%' in share else ''} that")
    return said


def _prediction(plan: Plan) -> str:
    """By how much noise moves a prediction, in the unit of the target where it has one."""
    from privsieve.public.columns import Number

    target, share = plan.domain.target, Fraction(str(plan.forecast["noise_prediction"]))
    assert isinstance(target, Number)
    if target.scale == "log":
        return f"a prediction errs by {figure(share)} of half the target's range, on its log scale"
    return (f"a prediction of {target.name} errs by "
            f"{figure(share * Fraction(target.high - target.low) / 2)} from noise (one standard "
            "deviation)")


def figure(value: object) -> str:
    """A public number for people: three digits that matter.

    >>> figure("0.0123456"), figure("0.0000001234"), figure("12345.6"), figure(None)
    ('0.0123', '1.23e-07', '12346', '-')
    """
    return "-" if value is None else words.number(Fraction(str(value)))


def table(forecasts: Forecasts, plan: Plan) -> None:
    """Print forecasts by epsilon, and what their columns are."""
    figures = {key: told for key, told in _FIGURES[plan.kind].items()
               if any(key in made for made in forecasts.values())}
    measured = "longest" in plan.forecast and "noise_length" in figures
    click.secho("Forecast: what noise does, by cost", bold=True)
    words.table(["epsilon", *(head for head, _ in figures.values()),
                 *(["of longest"] * measured)], [
        [("* " if epsilon == plan.cost.epsilon else "") + words.amount(epsilon),
         *(figure(made.get(key)) for key in figures), *([_share(made)] * measured)]
        for epsilon, made in sorted(forecasts.items())])
    told = list(figures.values())
    if measured:
        told.append(("of longest", _LONGEST))
    for head, meaning in told:
        lines = click.wrap_text(meaning, words.WIDTH - _INDENT).replace("\n", "\n" + " " * _INDENT)
        click.echo(f"  {head}".ljust(_INDENT) + lines)
    click.echo("  *".ljust(_INDENT) + "this plan")


def _share(made: Mapping[str, Any]) -> str:
    """The expected length of the noise beside the longest weights, rounded up."""
    if "longest" not in made or "noise_length" not in made:
        return "-"
    percent = -(-100 * Fraction(made["noise_length"]) // Fraction(made["longest"]))
    return f"{percent} %" if percent < _MANY else f"{-(-percent // 100)} times"
