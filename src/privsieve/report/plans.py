"""Plans in words, for a terminal, a notebook and a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from privsieve.public.columns import Number
from privsieve.public.plan import PLURALS, UNIT, Plan, unit_text

_EXPECTED = ("the expected error of a prediction, beyond the error that every model makes, in the "
             "same unit")
_MOVED = ("the rows that noise moves to other cells, as a share of all rows; above 1, noise hides "
          "the whole table")
_PREDICTION = "the standard deviation of the noise on a prediction; 1 is half the target's range"
#: The figures of a forecast, by kind: the head of the column, and its meaning.
FIGURES = {
    "weights": {
        "noise_each": ("each weight", "the standard deviation of the noise on one weight"),
        "noise_length": ("together", "the approximate length of the noise on all weights together"),
    },
    "regression": {
        "noise_each": ("each number", "the standard deviation of the noise on one number"),
        "noise_prediction": ("prediction", _PREDICTION),
        "expected_error": ("error", _EXPECTED),
        "error_bound": ("error bound", "an upper bound of this error"),
    },
    "histogram": {
        "noise_each": ("each cell", "the standard deviation of the noise on one count"),
        "expected_error": ("moved", _MOVED),
    },
}
#: Words for the selection rules of rule-sieve and their setting, where texts do not use its own.
_RULES = {"branches": "rules", "one race": "one top-k selection"}
#: From this percentage on, a text says "times" instead of per cent.
_MANY = 1000


def heading(plan: Plan, *, has_epsilon: bool = True) -> Iterator[tuple[str, str]]:
    """Yield what is planned, for whom and how, each with its label."""
    if plan.chooses:
        most, columns = plan.settings.get("at_most"), f"{len(plan.domain.columns):,} columns"
        if most is None:
            yield "choose", f"{plan.settings['k']} of {columns}"
        elif has_epsilon:
            yield "choose", f"{plan.settings['k']} of {columns} (at most {most} requested)"
        else:
            yield "choose", f"at most {most} of {columns}"
        for label, names, how, group in beforehand(plan.settings):
            yield label, f"{', '.join(names)}{f' ({group})' * bool(group)}; {how}"
    else:
        yield "release", _what(plan)
    yield "protects", f"{unit_text(UNIT[plan.protected])} ({plan.domain.neighbours})"
    yield PLURALS[plan.noun], f"{plan.units:,}"
    if plan.domain.weight is not None:
        yield "row weights", f"column {plan.domain.weight}, from 0 to {plan.domain.weight_max}"
    yield "method", plan.method


def beforehand(settings: Mapping[str, Any]) -> Iterator[tuple[str, list[str], str, str]]:
    """Yield the choices that are public before a row is read: label, columns, effect, group.

    >>> list(beforehand({"always": ["age"], "groups": {"home": ["street", "zip"]}}))
    [('always', ['age'], 'always included', ''), \
('together', ['street', 'zip'], 'counts as one column', 'home')]
    """
    if settings.get("always"):
        yield "always", settings["always"], "always included", ""
    if settings.get("never"):
        yield "never", settings["never"], "not read", ""
    for group, columns in sorted(settings.get("groups", {}).items()):
        yield "together", columns, "counts as one column", group


def settings(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield settings as names and texts; the name of an inner setting has two words.

    >>> dict(settings({"k": 3, "scale": "347/10", "groups": {}}))
    {'k': '3', 'scale': '34.7'}
    """
    if isinstance(value, Mapping):
        for key, inner in sorted(value.items()):
            yield from settings(inner, f"{name} {_RULES.get(key, key)}".strip())
    elif isinstance(value, list | tuple):
        yield name, ", ".join(_RULES.get(item, str(item)) for item in value)
    elif value is None or isinstance(value, bool):
        yield name, {None: "none", True: "yes", False: "no"}[value]
    elif isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,300}/[1-9][0-9]{0,299}", value):
        yield name, figure(value, 6)
    else:
        yield name, str(value)


def _what(plan: Plan) -> str:
    """Return what is released, in a few words."""
    d, k = len(plan.domain.columns), plan.settings.get("k")
    if plan.kind == "histogram":
        least = plan.settings.get("threshold")
        over = f" over {k} of {d} columns" if k is not None else ""
        most = "at most " if plan.settings.get("choice") else ""
        named = f"; only counts of at least {least} are named" if least is not None else ""
        return f"a table of {most}{int(str(plan.forecast['cells'])):,} counts{over}{named}"
    if plan.kind == "regression":
        return "a model; its predictions cost nothing more"
    chosen = "the positive ones are chosen" if k == "positive" else (
        "the largest one is chosen" if k == 1 else f"the {k} largest are chosen")
    return f"a weight for each of {d:,} columns; {chosen}"


def noise(plan: Plan) -> str:
    """Return how strong the noise is, and how large the numbers without it can be.

    A selection with a delta uses Gumbel noise; without one, the scale of the noise is its mean.
    """
    forecast = plan.forecast
    if plan.chooses:
        scale = f"{figure(plan.noise.amount)} {PLURALS[plan.noun]}"
        return (f"Gumbel noise of scale {scale} on each score" if plan.cost.delta else
                f"adds a random amount to each column's score: {scale} on average")
    if "noise_prediction" in forecast:
        return _prediction_noise(plan)
    noun = FIGURES[plan.kind]["noise_each"][0].removeprefix("each ")
    text = f"standard deviation {figure(forecast['noise_each'])} on each {noun}"
    if "noise_length" in forecast and "longest" in forecast:
        ratio = share(forecast)
        text += (f"; on all {noun}s together about {figure(forecast['noise_length'])} long, "
                 f"{ratio}{' of' if '%' in ratio else ''} their greatest length without noise "
                 f"({figure(forecast['longest'])})")
    return text


def _prediction_noise(plan: Plan) -> str:
    """Return the noise of a prediction, in the unit of the target if it has one."""
    target, share = plan.domain.target, Fraction(str(plan.forecast["noise_prediction"]))
    assert isinstance(target, Number)
    low, high = target.ends
    amount = (f"{figure(share)} of half the target's range, on its log scale"
              if target.scale == "log" else figure(share * Fraction(high - low) / 2))
    return f"moves a prediction of {target.name} by {amount} (one standard deviation)"


def share(forecast: Mapping[str, Any]) -> str:
    """Return the length of the noise as a share of the longest weights, rounded up."""
    if "longest" not in forecast or "noise_length" not in forecast:
        return "-"
    percent = -(-100 * Fraction(forecast["noise_length"]) // Fraction(forecast["longest"]))
    return f"{percent} %" if percent < _MANY else f"{-(-percent // 100):,} times"


def figure(value: object, digits: int = 3) -> str:
    """Return a public number with its significant digits, and thousands separators.

    >>> figure("0.0123456"), figure("0.0000001234"), figure("12345.6"), figure(None)
    ('0.0123', '1.23e-07', '12,346', '-')
    """
    if value is None:
        return "-"
    amount = float(Fraction(str(value)))
    return f"{amount:.{digits}g}" if abs(amount) < 1000 else f"{amount:,.0f}"


def declaration(column: Mapping[str, Any]) -> str:
    """Return the declaration of a column in words."""
    kind = column["kind"]
    if kind == "flag":
        return "yes or no"
    if kind in ("category", "label"):
        values = [str(value) for value in column["values"]]
        return (f"one of {len(values):,}: {', '.join(values[:12])}"
                f"{', …' if len(values) > 12 else ''}")
    text = str(kind)
    if "low" in column:
        low, high = (_plain(column[end]) for end in ("low", "high"))
        text += f", {low} to {high}{', on a log scale' if column.get('scale') == 'log' else ''}"
    if "missing_values" in column:
        text += f" ({', '.join(map(_plain, column['missing_values']))}: missing)"
    if "near" in column or "low" not in column:
        text += f", in steps that grow with the distance from {_plain(column.get('near', 0))}"
    return text


def _plain(value: object) -> str:
    """Return a number or a date of a domain without empty decimals or times.

    >>> _plain(2000.0), _plain("12000"), _plain("2024-01-01T00:00:00")
    ('2000', '12,000', '2024-01-01')
    """
    text = str(value).removesuffix(".0").removesuffix("T00:00:00")
    return f"{int(text):,}" if re.fullmatch(r"-?[0-9]{5,30}", text) else text
