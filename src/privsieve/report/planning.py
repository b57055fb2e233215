"""Planning: documents about one plan, and about the plans for several epsilons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from privsieve.public.canonical import EPSILON_UNITS, decimal
from privsieve.public.option import PLACED
from privsieve.public.plan import PLURALS, Plan, Takes, sought
from privsieve.report.figures import capital
from privsieve.report.plans import FIGURES, figure, heading, noise, settings, share
from privsieve.telling.document import DataTable, Document, Fact, Facts, Part, literal

#: The forecasts of a plan, by epsilon.
Forecasts = Mapping[Fraction, Mapping[str, Any]]
#: By kind of table: the share of the rows by which the best columns beat the others.
TABLES = {"weak": "0.02", "usual": "0.1", "strong": "0.2"}
_LONGEST = ("the length of the noise, in per cent of the greatest length of all weights without "
            "noise; in most tables the weights are shorter")
_NEXT = 'Add --epsilon E for details. See the guide "How much epsilon?"'


def plan_document(plan: Plan, forecasts: Forecasts, notes: Iterable[tuple[str, str]] = (),
                  ) -> Document:
    """Return a document of what a plan costs, protects and finds, with notes at its end."""
    options = settings({name: value for name, value in plan.settings.items()
                        if name not in ("k", "at_most", *PLACED)})
    query = " ".join((plan.query or "").split())
    facts = [
        *heading(plan), ("cost", f"{plan.cost.words}, charged before a row is read"),
        *[("query", f"{query} (public; you are responsible for choosing the right rows)")]
        * bool(query),
        ("settings", "; ".join(f"{name.replace('_', ' ')}: {text}" for name, text in options)),
        ("noise", noise(plan)),
        ("theorem", f"{plan.theorem}, assuming {', '.join(plan.assumes)}"),
        *([] if plan.takes is None else [("takes", duration_text(plan.takes))])]
    parts = (_forecast if plan.chooses else _numbers)(plan, forecasts)
    return Document(f"Plan: {literal(plan.method)}", _facts(facts),
                    [*parts, *_unlabelled(_facts(notes))])


def ladder_document(plans: Sequence[Plan], rungs: Sequence[Mapping[str, Any]],
                    population: str | None) -> Document:
    """Return a document of what each epsilon buys, what it means in odds, and what it leaves."""
    first = plans[0]
    heads, cells = _results(first, plans)
    bought = {"odds": "odds_at_most", "1 in 2": "even_at_most", "1 in 100": "one_in_100_at_most",
              **({} if population is None else {"left": "left"})}
    rows = [(plan.cost.text, *cells(plan), *(str(rung[key] or "too little")
                                             for key in bought.values()))
            for plan, rung in zip(plans, rungs, strict=True)]
    poor = ", ".join(plan.cost.text for plan in plans if plan.warning)
    notes = [("not allowed", f"{rung['epsilon']}: {rung['refused']}") for rung in rungs
             if rung["refused"] is not None]
    if poor:
        notes.append(("warning", f"close to random on a usual table: epsilon {poor}"))
    return Document(f"Plan: {literal(first.method)}", _facts(heading(first, has_epsilon=False)), [
        DataTable("What each epsilon buys", ("epsilon", *heads, *bought), rows, words=0),
        *_unlabelled(_facts(_meanings(first, population))),
        *_unlabelled(_facts([*notes, ("next", _NEXT)]))])


def odds_document(rungs: Iterable[Mapping[str, Any]], top: int, unit: str) -> Document:
    """Return a document of what each epsilon means in odds, and how many names would be right."""
    rows = [(rung["epsilon"], (
        f"{rung['odds_at_most']}: from 50 % sure to {rung['even_at_most']}, from 1 % to "
        f"{rung['one_in_100_at_most']}"),
        f"{_right(top, rung['forecast']['found_percent'][TABLES['usual']])} of {top}")
        for rung in rungs]
    heads = "epsilon", f"an attacker's odds of a guess about one {unit}", "right names"
    return Document("", parts=[
        DataTable("What each epsilon buys", heads, rows, words=2),
        literal("The odds grow at most by this factor. A name is right if its column is among the "
                f"best {top} columns of a usual table of this size.")])


def _right(names: int, percent: int) -> str:
    """Return how many of some names would be right, rounded down to a tenth."""
    tenths = names * percent // 10
    return f"{tenths // 10}.{tenths % 10}"


def duration_text(takes: Takes) -> str:
    """Return an estimate of time and memory, to one or two digits.

    >>> duration_text(Takes(0.02, whole=98_000_000)), duration_text(Takes(12.3, whole=21 * 10**8))
    ('less than a second of one core, 98 MB', 'about 12 s of one core, 2.1 GB')
    """
    time = "less than a second" if takes.seconds < 1 else f"about {takes.seconds:,.0f} s"
    return f"{time} of one core, {size(takes.bytes)}"


def size(count: int) -> str:
    """Return a number of bytes as text."""
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def _facts(pairs: Iterable[tuple[str, str]]) -> list[Fact]:
    return [Fact(literal(label), literal(text)) for label, text in pairs]


def _unlabelled(facts: Sequence[Fact]) -> list[Part]:
    return [Facts("", facts)] if facts else []


def _by_epsilon(caption: str, heads: Sequence[str], plan: Plan, forecasts: Forecasts,
                cells: Callable[[Mapping[str, Any]], Sequence[str]]) -> DataTable:
    """Return a table of the forecasts by epsilon; a star marks the plan."""
    return DataTable(caption, ("epsilon", *heads), [
        (literal("* " * (epsilon == plan.cost.epsilon) + amount(epsilon)), *cells(forecast))
        for epsilon, forecast in sorted(forecasts.items())], words=0)


def amount(value: Fraction) -> str:
    """Return an exact amount of epsilon.

    >>> amount(Fraction(5, 2))
    '2.5'
    """
    return decimal(int(value * EPSILON_UNITS))


def _forecast(plan: Plan, forecasts: Forecasts) -> Iterator[Part]:
    """Yield the forecasts by epsilon and by gap."""
    own: Mapping[str, Any] = plan.forecast
    if "found_percent" not in own:  # a method from outside may forecast nothing
        return
    options: Mapping[str, Any] = plan.settings
    most, fixed = options.get("at_most"), len(options.get("always", ()))
    few = [] if most is None else ["names"]
    gaps = list(own["found_percent"])
    best = f"{int(most or 0) - fixed} best columns" if few else ""
    yield _by_epsilon(
        f"Forecast: per cent of the names that are among the {best}" if few else
        f"Forecast: per cent of the {sought(plan.settings)} best columns that are found",
        [*few, *(f"gap {figure(Fraction(gap) * 100)} %" for gap in gaps)], plan, forecasts,
        lambda forecast: [*(str(forecast[name]) for name in few),
                      *(str(forecast["found_percent"][gap]) for gap in gaps)])
    voters = "blocks" if plan.method.startswith("block-fwell") else PLURALS[plan.noun]
    usual, weak = (figure(Fraction(str(gap)) * 100) for gap in (own["usual_gap"], gaps[0]))
    yield literal(f"The forecast is estimated from the table's size, not from its rows. Guessing "
                  f"finds {own['guessing_percent']} %. The gap is the share of the {voters} by "
                  f"which the best columns beat the others: {usual} % is usual, {weak} % is weak. "
                  "The star marks this plan.")
    if "after_coding" in own:
        yield literal(f"{capital(str(own['after_coding']))}.")


def _numbers(plan: Plan, forecasts: Forecasts) -> Iterator[Part]:
    """Yield the effect of the noise by epsilon, and the meaning of the columns."""
    figures = {key: meaning for key, meaning in FIGURES[plan.kind].items()
               if any(key in forecast for forecast in forecasts.values())}
    measured = "longest" in plan.forecast and "noise_length" in figures
    meanings = [*figures.values(), *([("of longest", _LONGEST)] * measured)]
    yield _by_epsilon("Forecast: the effect of the noise, by cost", [head for head, _ in meanings],
                      plan, forecasts, lambda forecast: [
                          *(figure(forecast.get(key)) for key in figures),
                          *([share(forecast)] * measured)])
    yield Facts("", _facts([*meanings, ("*", "this plan")]))


def _results(plan: Plan, plans: Sequence[Plan]) -> tuple[tuple[str, ...], Any]:
    """Return the heads of the expected results, and a function that gives their cells."""
    if not plan.chooses:
        heads = {key: head for key, (head, _) in FIGURES[plan.kind].items()
                 if any(key in each.forecast for each in plans)}
        return tuple(heads.values()), lambda each: [figure(each.forecast.get(key)) for key in heads]

    def right(each: Plan) -> list[str]:
        percent: Any = each.forecast["found_percent"]
        named = sought(each.settings)
        return [str(named), *(_right(named, percent[gap]) for gap in TABLES.values())]

    return ("names", *TABLES), right


def _meanings(plan: Plan, population: str | None) -> Iterator[tuple[str, str]]:
    """Yield the heads of the table with their meaning."""
    unit = f"one {plan.noun}"
    if plan.chooses:
        yield "weak …", ("the expected number of right names on tables where the best columns beat "
                         f"the others by 2 %, 10 % and 20 % of the {PLURALS[plan.noun]} (estimated "
                         "from the table's size, not from its rows; guessing: "
                         f"{plan.forecast['guessing_percent']} %)")
    else:
        yield from ((head, meaning) for key, (head, meaning) in FIGURES[plan.kind].items()
                    if key in plan.forecast)
    but = f", except with probability {plan.cost.delta_text}" if plan.cost.delta else ""
    yield "odds", (f"the largest factor by which the release can change an attacker's odds of a "
                   f"guess about {unit}{but}")
    yield "1 in 2", f"how sure an attacker can become of a guess about {unit}, from 50 % sure"
    yield "1 in 100", "the same, from 1 % sure"
    if population is not None:
        yield "left", f"the budget of {population} after the release"
