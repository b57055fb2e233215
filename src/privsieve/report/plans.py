"""Planned: what a plan is, in words, for a terminal and a notebook alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from privsieve.public.columns import Number
from privsieve.public.plan import UNIT, Plan

_EXPECTED = ("by how much a prediction is expected to be off, beyond what no model could know, in "
             "the same unit")
_MOVED = ("the rows that noise moves to other cells, as a share of all rows; above 1 nothing of "
          "the table is left")
#: What a forecast may hold, by kind: the head of its column, and what it is.
FIGURES = {
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
#: From so many per cent on it is said how many times.
_MANY = 1000


def heading(plan: Plan, *, settled: bool = True) -> Iterator[tuple[str, str]]:
    """What is planned, for whom and how, each with its label; `settled` where an epsilon was."""
    if plan.chooses:
        most = plan.settings.get("at_most")
        asked_for = f", where at most {most} were asked for" if most is not None else ""
        said = f"{plan.settings['k']} of {len(plan.domain.columns)} columns{asked_for}"
        yield "choose", (said if settled or most is None else
                         f"at most {most} of {len(plan.domain.columns)} columns")
        for label, columns, how, group in beforehand(plan.settings):
            yield label, f"{', '.join(columns)}{f' ({group})' * bool(group)}; {how}"
    else:
        yield "release", _what(plan)
    yield "protects", f"{UNIT[plan.protected]} ({plan.domain.neighbours})"
    yield f"{plan.protected}s", f"{plan.units}"
    yield "method", plan.method


def beforehand(settings: Mapping[str, Any]) -> Iterator[tuple[str, list[str], str, str]]:
    """What is fixed in public, before a row is read: a label, columns, how, and their group.

    >>> list(beforehand({"always": ["age"], "groups": {"home": ["street", "zip"]}}))
    [('always in', ['age'], 'named whatever the rows say', ''), \
('as one', ['street', 'zip'], 'in one place', 'home')]
    """
    if settings.get("always"):
        yield "always in", settings["always"], "named whatever the rows say", ""
    if settings.get("never"):
        yield "never in", settings["never"], "not looked at", ""
    for group, columns in sorted(settings.get("groups", {}).items()):
        yield "as one", columns, "in one place", group


def settings(said: object, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Settings as names and words; what stands inside another has both names."""
    if isinstance(said, Mapping):
        for key, value in sorted(said.items()):
            yield from settings(value, f"{prefix} {key}".strip())
    elif isinstance(said, list | tuple):
        yield prefix, ", ".join(map(str, said))
    else:
        yield prefix, {None: "none", True: "yes", False: "no"}[said] if (
            said is None or isinstance(said, bool)) else str(said)


def _what(plan: Plan) -> str:
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
    """How strong the noise is, against what it hides where that is bounded.

    On scores it is Gumbel's where there is a delta; else its scale is its mean.
    """
    made = plan.forecast
    if plan.chooses:
        scale = f"{figure(plan.noise.amount)} {plan.protected}s"
        return (f"Gumbel noise of scale {scale} on each score" if plan.cost.delta else
                f"raises each column's score by {scale} on average")
    if "noise_prediction" in made:
        return _prediction(plan)
    one = FIGURES[plan.kind]["noise_each"][0].removeprefix("each ")
    said = f"standard deviation {figure(made['noise_each'])} on each {one}"
    if "noise_length" in made and "longest" in made:
        of = share(made)
        said += (f"; together about {figure(made['noise_length'])} long, where the {one}s without "
                 f"it are at most {figure(made['longest'])} long: {of}"
                 f"{' of' if '%' in of else ''} that")
    return said


def _prediction(plan: Plan) -> str:
    """By how much noise moves a prediction, in the unit of the target where it has one."""
    target, share = plan.domain.target, Fraction(str(plan.forecast["noise_prediction"]))
    assert isinstance(target, Number)
    low, high = target.ends
    if target.scale == "log":
        return f"a prediction errs by {figure(share)} of half the target's range, on its log scale"
    return (f"a prediction of {target.name} errs by "
            f"{figure(share * Fraction(high - low) / 2)} from noise (one standard "
            "deviation)")


def share(made: Mapping[str, Any]) -> str:
    """The expected length of the noise beside the longest weights, rounded up."""
    if "longest" not in made or "noise_length" not in made:
        return "-"
    percent = -(-100 * Fraction(made["noise_length"]) // Fraction(made["longest"]))
    return f"{percent} %" if percent < _MANY else f"{-(-percent // 100)} times"


def figure(value: object) -> str:
    """A public number for people: three digits that matter.

    >>> figure("0.0123456"), figure("0.0000001234"), figure("12345.6"), figure(None)
    ('0.0123', '1.23e-07', '12346', '-')
    """
    if value is None:
        return "-"
    amount = float(Fraction(str(value)))
    return f"{amount:.3g}" if amount < 1000 else f"{amount:.0f}"


def declaration(column: Mapping[str, Any]) -> str:
    """What the domain says of a column, in words."""
    kind = column["kind"]
    if kind == "flag":
        return "yes or no"
    if kind in ("category", "label"):
        values = [str(value) for value in column["values"]]
        more = ", …" if len(values) > 12 else ""
        return f"one of {len(values)}: {', '.join(values[:12])}{more}"
    said = str(kind)
    if "low" in column:
        low, high = (_plain(column[end]) for end in ("low", "high"))
        said += f", {low} to {high}{', on a log scale' if column.get('scale') == 'log' else ''}"
    if "missing_values" in column:
        said += f" ({', '.join(map(_plain, column['missing_values']))}: missing)"
    if "near" in column or "low" not in column:
        said += f", in steps that grow with the distance from {_plain(column.get('near', 0))}"
    return said


def _plain(value: object) -> str:
    """A number or a time of a domain, without what goes without saying."""
    return str(value).removesuffix(".0").removesuffix("T00:00:00")
