"""`privsieve plan`: cost, noise and forecast of a release, from public facts alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import click

from privsieve.cli import options as asked
from privsieve.cli import words
from privsieve.errors import ParameterError
from privsieve.public.canonical import Json
from privsieve.public.plan import Plan

_EXAMPLE = ("Example: privsieve plan --rows 20000 --domain domain.toml --unit row "
            "--epsilon 0.5 --top 6")

#: What else the budget could be cut into.
OTHERS = ("0.1", "0.3", "1", "3")
#: Tables that are smaller and larger, for the figure and for machines.
TIMES = (Fraction(1, 4), Fraction(1), Fraction(4))


@click.command("plan", epilog=_EXAMPLE)
@click.argument("data", required=False)
@asked.planning
@click.option("--ledger", metavar="FILE",
              help="Say what the account of --population has left, and whether this is converted.")
@click.option("--population", metavar="NAME", help="The people whom --ledger protects.")
@click.option("--figure", metavar="FILE",
              help="Draw the forecast over epsilon and size (SVG); FILE must not exist.")
def command(data: str | None, **options: Any) -> None:
    """Say cost, noise and forecast of a release from DATA, or from --rows rows.

    Reads no row and charges nothing: of DATA only the header and, where it is public, the number
    of rows.
    """
    from privsieve.public.cost import exact

    domain, rows, source = asked.public(options), options["rows"], None
    if data is not None:
        domain, source, rows = asked.opened(domain, data)
    plan = asked.planned(domain, rows, options)
    if source is not None:
        plan = replace(plan, record=source.record)
    account = _account(plan, options)
    if options["figure"] and plan.kind != "selection":
        raise ParameterError(f"--figure draws how many columns are found, and {options['method']} "
                             "releases numbers; leave it away")
    sizes = {max(2, int(plan.units * times)): made for times in TIMES
             if (made := _forecasts(plan, options, times))}
    forecasts = sizes[plan.units]
    forecasts[exact(options["epsilon"], "epsilon")] = plan.forecast
    if options["figure"]:
        _draw(options["figure"], plan, sizes)
    if options["as_json"]:
        words.json({**_json(plan, forecasts), **account, "forecasts_by_size": {
            str(units): {words.amount(epsilon): made for epsilon, made in found.items()}
            for units, found in sizes.items()}})
    else:
        _show(plan, forecasts)
        _speak(plan, options["delta"])
        if account:
            words.show("left", f"{account['left']} for {options['population']}")
        if account.get("converted"):
            words.show("converted", str(account["converted"]))


def _account(plan: Plan, options: Mapping[str, Any]) -> dict[str, Json]:
    """What a ledger says of the plan: what is left, and how the charge would be converted."""
    if (options["ledger"] is None) != (options["population"] is None):
        raise ParameterError("--ledger and --population go together; give both or neither")
    if options["ledger"] is None:
        return {}
    from privsieve.fit import SOFTWARE
    from privsieve.ledger.certificate import terms
    from privsieve.ledger.ledger import Ledger

    ledger = Ledger(options["ledger"], population=options["population"])
    return {"left": words.amount(ledger.left()),
            "converted": ledger.conversion(terms(plan, SOFTWARE))}


def _forecasts(plan: Plan, options: Mapping[str, Any], times: Fraction,
               ) -> dict[Fraction, Mapping[str, Json]]:
    """Forecasts by epsilon for a table so many times as large."""
    units = max(2, int(plan.units * times))
    domain, rows = plan.domain, units
    if domain.person is not None:
        domain = replace(domain, persons=units)
    elif not domain.rows_are_public:
        domain = replace(domain, rows=units)
    try:
        return {Fraction(epsilon): asked.planned(domain, rows, options, epsilon=epsilon).forecast
                for epsilon in OTHERS}
    except ParameterError:
        # A method may refuse a table of another size: too few rows, or too many for the delta.
        return {}


def _draw(path: str, plan: Plan, sizes: Mapping[int, Mapping[Fraction, Mapping[str, Any]]],
          ) -> None:
    """The picture, at the usual gap."""
    from privsieve.cli.curves import curves

    unit = f"{plan.protected}s"
    gap = str(plan.forecast["usual_gap"])
    lines = {f"{units:,} {unit}".replace(",", " "): [
        (float(epsilon), float(found[epsilon]["found_percent"][gap]))
        for epsilon in sorted(found)] for units, found in sizes.items()}
    title = (f"{_count(plan)} of {len(plan.domain.columns)} columns by "
             f"{plan.method.partition('/')[0]}, gap {Fraction(gap) * 100} %")
    try:
        with open(path, "x", encoding="utf-8", newline="\n") as file:  # noqa: PTH123  # no import
            file.write(curves(title, lines, float(plan.forecast["guessing_percent"])))  # type: ignore[arg-type]
    except OSError:
        raise ParameterError("--figure names a file that exists already or cannot be made; name "
                             "another") from None


def _json(plan: Plan, forecasts: Mapping[Fraction, Mapping[str, Json]]) -> dict[str, Json]:
    return {
        **plan.json(),
        "cost": plan.cost.text,
        "unit": plan.protected,
        "neighbours": plan.domain.neighbours,
        "columns": len(plan.domain.columns),
        "noise_scale": words.number(plan.noise.amount),
        "forecast": plan.forecast,
        "forecasts": {words.amount(epsilon): forecasts[epsilon] for epsilon in forecasts},
        "warning": plan.warning,
        "theorem": plan.theorem,
        "assumes": list(plan.assumes),
    }


def _show(plan: Plan, forecasts: Mapping[Fraction, Mapping[str, Json]]) -> None:
    from privsieve.cli import plan_numbers as numbers
    from privsieve.ledger.certificate import UNIT

    chosen = plan.kind == "selection"
    unit = f"{plan.protected}s"
    if chosen:
        words.show("choose", f"{_count(plan)} of {len(plan.domain.columns)} columns")
    else:
        words.show("release", numbers.what(plan))
    words.show("cost", f"{plan.cost.words}, charged before a row is read")
    words.show("protects", f"{UNIT[plan.protected]} ({plan.domain.neighbours})")
    words.show(unit, f"{plan.units}")
    words.show("method", plan.method)
    words.show("settings", _settings(plan))
    words.show("noise", _noise(plan, unit) if chosen else numbers.noise(plan))
    words.show("theorem", f"{plan.theorem}; assumes {', '.join(plan.assumes)}")
    click.echo()
    (_table if chosen else numbers.table)(forecasts, plan)


def _speak(plan: Plan, delta: str | None) -> None:
    """What has to be said of the plan."""
    from privsieve.public.cost import exact

    if exact(delta or 0, "delta") and not plan.cost.delta:
        words.show("delta", "not charged: for so few columns a race without a delta finds as many "
                            "or more" if plan.kind == "selection" else
                            "not charged: here noise without a delta is smaller")
    if plan.warning:
        click.echo()
        words.show("warning", plan.warning, fg="yellow")


def _noise(plan: Plan, unit: str) -> str:
    """What the noise does to a score; only exponential noise has its scale as its mean."""
    law = "gumbel" if plan.cost.delta else plan.settings.get("mechanism", "exponential")
    if law == "exponential":
        return f"raises each column's score by {words.number(plan.noise.amount)} {unit} on average"
    scale = words.number(plan.noise.amount)
    return f"{str(law).capitalize()} noise of scale {scale} {unit} on each score"


def _count(plan: Plan) -> str:
    """How many columns are chosen; of a tuning, what its candidates say."""
    candidates: Any = plan.settings.get("candidates")
    if candidates is None:
        return str(plan.settings["k"])
    return " or ".join(str(k) for k in sorted({one["settings"]["k"] for one in candidates}))


def _settings(plan: Plan) -> str:
    return _said({name: value for name, value in plan.settings.items() if name != "k"})


def _said(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {_setting(name, value)}"
                     for name, value in settings.items())


def _setting(name: str, value: Any) -> str:
    """A setting in words; what stands inside of it in brackets."""
    if isinstance(value, dict):
        return f"({_said(value)})"
    if isinstance(value, list | tuple):
        return str(len(value)) if name == "candidates" else " ".join(map(str, value))
    return {"True": "yes", "False": "no", "None": "none"}.get(str(value), str(value))


def _table(forecasts: Mapping[Fraction, Mapping[str, Any]], plan: Plan) -> None:
    """Forecasts by epsilon and by gap."""
    click.secho(f"Forecast: per cent of the {_count(plan)} best columns that are found",
                bold=True)
    gaps = list(forecasts[plan.cost.epsilon or Fraction(1)]["found_percent"])
    rows = [
        (("* " if epsilon == plan.cost.epsilon else "") + words.amount(epsilon),
         *(str(made["found_percent"][gap]) for gap in gaps))
        for epsilon, made in sorted(forecasts.items())
    ]
    words.table(("epsilon", *(f"gap {Fraction(gap) * 100} %" for gap in gaps)), rows)
    usual, weak = (Fraction(str(gap)) * 100 for gap in (plan.forecast["usual_gap"], gaps[0]))
    click.echo(f"  Guessing finds {plan.forecast['guessing_percent']}.  The gap is by what share "
               f"of the {_voters(plan)}\n  the best columns beat the others: {usual} is usual, "
               f"{weak} is weak.  * is this plan.")


def _voters(plan: Plan) -> str:
    """What is counted for a column."""
    if plan.method.startswith("block-fwell"):
        return "blocks"
    return f"{plan.protected}s"
