"""`privsieve plan`: cost, noise and forecast of a release, from public facts alone."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from privsieve.cli import options as asked
from privsieve.cli import words
from privsieve.errors import ParameterError
from privsieve.methods import METHODS
from privsieve.public.canonical import Json, exact, visible
from privsieve.public.plan import Plan, Takes

if TYPE_CHECKING:
    from privsieve.ledger.ledger import Ledger
    from privsieve.rows.source import Source

#: The forecasts of a plan, by epsilon.
Forecasts = Mapping[Fraction, Mapping[str, Any]]
#: What else the budget could be cut into.
OTHERS = ("0.1", "0.3", "1", "3")
#: Tables that are smaller and larger, for machines.
TIMES = (Fraction(1, 4), Fraction(1), Fraction(4))


@click.command("plan", cls=asked.OfMethod, methods=tuple(METHODS), epilog=(
    "Example: privsieve plan --rows 20000 --domain domain.toml --unit row "
    "--epsilon 0.5 --top 6"))
@click.argument("data", required=False)
@asked.planning
@click.option("--ledger", metavar="FILE",
              help="Say what the account of --population has left, and whether this is converted.")
@click.option("--population", metavar="NAME", help="The people whom --ledger protects.")
@asked.head()
@asked.memory()
def command(data: str | None, **options: Any) -> None:
    """Say cost, noise and forecast of a release from DATA, or from --rows rows.

    Without --epsilon: what each epsilon would buy, what it means in odds, and what it would leave.
    Reads no row and charges nothing: of DATA only the header and, where it is public, the number
    of rows.
    """
    domain, rows, source = asked.public(options), options["rows"], None
    if data is not None:
        domain, source, rows = asked.opened(domain, data, options["connect"])
    record = "row" if source is None else source.record
    if options["epsilon"] is None:
        from privsieve.cli import epsilons

        epsilons.show(domain, rows, record, options)
        return
    plan = replace(asked.planned(domain, rows, options), record=record,
                   query=None if source is None else source.query)
    beside = _beside(plan, source, options["max_memory"])
    account = _account(plan, options)
    sizes = {max(2, int(plan.units * times)): made for times in TIMES
             if (made := _forecasts(plan, options, times))}
    forecasts = sizes[plan.units]
    forecasts[exact(options["epsilon"], "epsilon")] = plan.forecast
    if options["as_json"]:
        words.json({
            **_json(plan, forecasts), **account, "spilled": str(beside), "forecasts_by_size": {
                str(units): {words.amount(epsilon): made for epsilon, made in found.items()}
                for units, found in sizes.items()}})
    else:
        _show(plan, forecasts)
        _also(plan, options, beside)
        if account:
            words.show("left", f"{account['left']} for {options['population']}")
        if account.get("converted"):
            words.show("converted", str(account["converted"]))


def _also(plan: Plan, options: Mapping[str, Any], beside: int) -> None:
    """What else who plans should know."""
    if beside:
        words.show("file", f"rows take up to {_size(beside)}, more than may lie in memory: "
                           "they lie in a private file without a name while the release is made")
    if _could_vote(plan):
        words.show("also", "all are numbers with a typical value: --joint votes is one race "
                           "over sets, for columns that repeat each other")
    if exact(options.get("delta") or 0, "delta") and not plan.cost.delta:
        words.show("delta", "not charged: for so few columns a race without a delta finds as "
                            "many or more" if plan.kind == "selection" else
                            "not charged: here noise without a delta is smaller")
    if plan.warning:
        click.echo()
        words.show("warning", plan.warning, fg="yellow")
    if "advice" in plan.forecast:
        words.show("advice", str(plan.forecast["advice"]))


def _could_vote(plan: Plan) -> bool:
    """Whether sets by votes are another good way to choose what RuleSieve is to choose."""
    from privsieve.methods.votes import METHOD, suits

    return (plan.method.startswith("rule-sieve") and plan.method != METHOD
            and not plan.settings["ordered"]
            and suits(plan.domain, int(str(plan.settings["k"])), plan.units * plan.cost.epsilon))


def ledger_of(options: Mapping[str, Any]) -> Ledger | None:
    """The account that was named, if one was."""
    asked.refuse((options["ledger"] is None) != (options["population"] is None),
                 "--ledger and --population go together; give both or neither")
    if options["ledger"] is None:
        return None
    from privsieve.ledger.ledger import Ledger

    return Ledger(options["ledger"], population=options["population"], head=options["head"])


def _account(plan: Plan, options: Mapping[str, Any]) -> dict[str, Json]:
    """What a ledger says of the plan: what is left, and how the charge would be converted."""
    from privsieve.fit import SOFTWARE
    from privsieve.public.plan import terms

    ledger = ledger_of(options)
    if ledger is None:
        return {}
    return {"left": words.amount(ledger.left()),
            "converted": ledger.conversion(terms(plan, SOFTWARE))}


def _forecasts(plan: Plan, options: Mapping[str, Any], times: Fraction,
               ) -> dict[Fraction, Mapping[str, Any]]:
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


def _json(plan: Plan, forecasts: Forecasts) -> dict[str, Json]:
    return {
        **plan.json(),
        "cost": plan.cost.text,
        "unit": plan.protected,
        "neighbours": plan.domain.neighbours,
        "columns": len(plan.domain.columns),
        "noise_scale": words.number(plan.noise.amount),
        "forecast": plan.forecast,
        "forecasts": {words.amount(epsilon): made for epsilon, made in forecasts.items()},
        "warning": plan.warning,
        "theorem": plan.theorem,
        "assumes": list(plan.assumes),
        "terms": _terms(plan),
        **({} if plan.takes is None else {"takes": {
            "seconds": f"{plan.takes.seconds:.3f}", "bytes": str(plan.takes.bytes)}}),
    }


def _terms(plan: Plan) -> dict[str, Json]:
    """What a certificate will say of the release, as far as it is known: this can be signed."""
    from privsieve.fit import SOFTWARE
    from privsieve.public.plan import terms

    return {name: said for name, said in terms(plan, SOFTWARE).items() if name != "software"}


def heading(plan: Plan, *, settled: bool = True) -> None:
    """Print what is planned, for whom and how; `settled` where an epsilon was."""
    from privsieve.public.plan import UNIT

    if plan.kind == "selection":
        most = plan.settings.get("at_most")
        asked_for = f", where at most {most} were asked for" if most is not None else ""
        said = f"{count(plan)} of {len(plan.domain.columns)} columns{asked_for}"
        words.show("choose", said if settled or most is None else
                   f"at most {most} of {len(plan.domain.columns)} columns")
        for word, said in _beforehand(plan.settings):
            words.show(word, said)
    else:
        words.show("release", _what(plan))
    words.show("protects", f"{UNIT[plan.protected]} ({plan.domain.neighbours})")
    words.show(f"{plan.protected}s", f"{plan.units}")
    words.show("method", plan.method)


def _show(plan: Plan, forecasts: Forecasts) -> None:
    chosen, unit = plan.kind == "selection", f"{plan.protected}s"
    heading(plan)
    words.show("cost", f"{plan.cost.words}, charged before a row is read")
    if plan.query is not None:
        words.show("rows of", f"{' '.join(plan.query.split())} (public; what it joins, adds up or "
                              "leaves out is your word)")
    words.show("settings", _said({name: value for name, value in plan.settings.items()
                                  if name not in ("k", "at_most", *_WISHES)}))
    words.show("noise", _noise(plan, unit) if chosen else noise(plan))
    words.show("theorem", f"{plan.theorem}; assumes {', '.join(plan.assumes)}")
    if plan.takes is not None:
        words.show("takes", taking(plan.takes))
    click.echo()
    (_table if chosen else _numbers)(forecasts, plan)


def _beside(plan: Plan, source: Source | None, most: str | None) -> int:
    """Bytes of rows that would lie in a file; what finds no place at all is refused."""
    if source is None:
        asked.refuse(most, "--max-memory is for the rows of a table; name DATA")
        return 0
    from privsieve.rows.batch import spilled
    from privsieve.rows.room import Room

    return spilled(plan, source, Room.usual(most))


def taking(made: Takes) -> str:
    """An estimate of time and memory for people, to one digit or two.

    >>> taking(Takes(0.02, 98_000_000)), taking(Takes(12.3, 2_100_000_000))
    ('less than a second of one core, 98 MB', 'about 12 s of one core, 2.1 GB')
    """
    time = "less than a second" if made.seconds < 1 else f"about {made.seconds:.0f} s"
    return f"{time} of one core, {_size(made.bytes)}"


def _size(held: int) -> str:
    return f"{held / 1e9:.1f} GB" if held >= 1e9 else f"{held / 1e6:.0f} MB"


#: Settings that have a line of their own.
_WISHES = ("always", "never", "groups", "costs", "price", "targets", "over")


def _beforehand(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is fixed in public, before a row is read."""
    for word, option, said in (
            ("always in", "always", "; a race is for the other places"),
            ("never in", "never", "; not looked at")):
        if option in settings:
            yield word, ", ".join(settings[option]) + said
    for group, columns in settings.get("groups", {}).items():
        yield "as one", f"{', '.join(columns)} ({group}), in one place"
    if "price" in settings:
        costs = ", ".join(f"{name} {cost}" for name, cost in settings.get("costs", {}).items())
        yield "price", (f"at most {settings['price']}, and at most {settings['k']} chosen; "
                        f"{f'{costs}, each other 1' if costs else '1 each'}")
    if "targets" in settings:
        counts = "the mean over them" if "over" in settings else "the most for any"
        yield "targets", f"also {', '.join(settings['targets'])}; {counts} counts"


def _noise(plan: Plan, unit: str) -> str:
    """What the noise does to a score; only exponential noise has its scale as its mean."""
    law = "gumbel" if plan.cost.delta else plan.settings.get("mechanism", "exponential")
    scale = f"{words.number(plan.noise.amount)} {unit}"
    return (f"raises each column's score by {scale} on average" if law == "exponential" else
            f"{str(law).capitalize()} noise of scale {scale} on each score")


def count(plan: Plan) -> str:
    """How many columns are chosen; of a tuning, what its candidates say."""
    candidates: Any = plan.settings.get("candidates")
    if candidates is None:
        return str(plan.settings["k"])
    return " or ".join(str(k) for k in sorted({one["settings"]["k"] for one in candidates}))


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


def _by_epsilon(heads: Sequence[str], forecasts: Forecasts, plan: Plan,
                cells: Callable[[Mapping[str, Any]], Sequence[str]]) -> None:
    """Print a line for each epsilon, that of the plan with a star."""
    words.table(("epsilon", *heads), [
        (("* " if epsilon == plan.cost.epsilon else "") + words.amount(epsilon), *cells(made))
        for epsilon, made in sorted(forecasts.items())])


def _table(forecasts: Forecasts, plan: Plan) -> None:
    """Forecasts by epsilon and by gap."""
    settings: Mapping[str, Any] = plan.settings
    found: Mapping[str, Any] = plan.forecast
    most, fixed = settings.get("at_most"), len(settings.get("always", ()))
    few = [] if most is None else ["names"]
    click.secho(f"Forecast: per cent of the names that are among the {int(most or 0) - fixed} best "
                "columns" if few else f"Forecast: per cent of the "
                f"{int(count(plan)) - fixed if fixed else count(plan)} best columns that are "
                "found", bold=True)
    gaps = list(found["found_percent"])
    _by_epsilon([*few, *(f"gap {Fraction(gap) * 100} %" for gap in gaps)], forecasts, plan,
                lambda made: [*(str(made[name]) for name in few),
                              *(str(made["found_percent"][gap]) for gap in gaps)])
    voters = "blocks" if plan.method.startswith("block-fwell") else f"{plan.protected}s"
    usual, weak = (Fraction(str(gap)) * 100 for gap in (plan.forecast["usual_gap"], gaps[0]))
    click.echo(f"  Guessing finds {plan.forecast['guessing_percent']}.  The gap is by what share "
               f"of the {voters}\n  the best columns beat the others: {usual} is usual, "
               f"{weak} is weak.  * is this plan.")
    if "after_coding" in plan.forecast:
        said = str(plan.forecast["after_coding"])
        click.echo(textwrap.fill(visible(said[:1].upper() + said[1:] + "."), 78,
                                 initial_indent="  ", subsequent_indent="  "))


_LONGEST = ("the same beside the longest that all can be without noise in any table; in most "
            "tables they are shorter")
#: Where the meanings of a table's columns begin.
INDENT = 15
#: From so many per cent on it is said how many times.
_MANY = 1000
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
    """How strong the noise is, against what it hides where that is bounded."""
    made = plan.forecast
    if "noise_prediction" in made:
        return _prediction(plan)
    one = FIGURES[plan.kind]["noise_each"][0].removeprefix("each ")
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
    low, high = target.ends
    if target.scale == "log":
        return f"a prediction errs by {figure(share)} of half the target's range, on its log scale"
    return (f"a prediction of {target.name} errs by "
            f"{figure(share * Fraction(high - low) / 2)} from noise (one standard "
            "deviation)")


def figure(value: object) -> str:
    """A public number for people: three digits that matter.

    >>> figure("0.0123456"), figure("0.0000001234"), figure("12345.6"), figure(None)
    ('0.0123', '1.23e-07', '12346', '-')
    """
    return "-" if value is None else words.number(Fraction(str(value)))


def _numbers(forecasts: Forecasts, plan: Plan) -> None:
    """Print forecasts by epsilon, and what their columns are."""
    figures = {key: told for key, told in FIGURES[plan.kind].items()
               if any(key in made for made in forecasts.values())}
    measured = "longest" in plan.forecast and "noise_length" in figures
    click.secho("Forecast: what noise does, by cost", bold=True)
    told = [*figures.values(), *([("of longest", _LONGEST)] * measured)]
    _by_epsilon([head for head, _ in told], forecasts, plan, lambda made: [
        *(figure(made.get(key)) for key in figures), *([_share(made)] * measured)])
    for head, meaning in told:
        lines = click.wrap_text(meaning, words.WIDTH - INDENT).replace("\n", "\n" + " " * INDENT)
        click.echo(f"  {head}".ljust(INDENT) + lines)
    click.echo("  *".ljust(INDENT) + "this plan")


def _share(made: Mapping[str, Any]) -> str:
    """The expected length of the noise beside the longest weights, rounded up."""
    if "longest" not in made or "noise_length" not in made:
        return "-"
    percent = -(-100 * Fraction(made["noise_length"]) // Fraction(made["longest"]))
    return f"{percent} %" if percent < _MANY else f"{-(-percent // 100)} times"
