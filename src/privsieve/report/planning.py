"""Planning: a plan as a document, and what each epsilon would buy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from privsieve.public.canonical import EPSILON_UNITS, decimal
from privsieve.public.option import WISHES
from privsieve.public.plan import Plan, Takes, sought
from privsieve.report.figures import capital
from privsieve.report.plans import FIGURES, figure, heading, noise, settings, share
from privsieve.telling.document import DataTable, Document, Fact, Facts, Part, literal

#: The forecasts of a plan, by epsilon.
Forecasts = Mapping[Fraction, Mapping[str, Any]]
#: Gaps of a forecast that stand for tables: of which the best columns stand out little, and much.
TABLES = {"weak": "0.02", "usual": "0.1", "strong": "0.2"}
_LONGEST = ("the same beside the longest that all can be without noise in any table; in most "
            "tables they are shorter")
_NEXT = ("the same with --epsilon E says all of one of them; who chose which, and what agencies "
         "say: the guide how-much-epsilon")


def plan_document(plan: Plan, forecasts: Forecasts, also: Iterable[tuple[str, str]] = (),
                  ) -> Document:
    """What a plan costs, protects and is worth, and what else who plans should know."""
    said = settings({name: value for name, value in plan.settings.items()
                     if name not in ("k", "at_most", *WISHES)})
    query = " ".join((plan.query or "").split())
    facts = [
        *heading(plan), ("cost", f"{plan.cost.words}, charged before a row is read"),
        *[("rows of", f"{query} (public; that these are the right rows is your word)")]
        * bool(query),
        ("settings", "; ".join(f"{name.replace('_', ' ')} {text}" for name, text in said)),
        ("noise", noise(plan)),
        ("theorem", f"{plan.theorem}; assumes {', '.join(plan.assumes)}"),
        *([] if plan.takes is None else [("takes", taking(plan.takes))])]
    parts = (_found if plan.chooses else _numbers)(plan, forecasts)
    return Document(f"Plan: {literal(plan.method)}", _facts(facts),
                    [*parts, *_more(_facts(also))])


def ladder_document(plans: Sequence[Plan], rungs: Sequence[Mapping[str, Any]],
                    population: str | None) -> Document:
    """What each epsilon buys, what it means in odds, and what it leaves."""
    first = plans[0]
    heads, cells = _worth(first, plans)
    bought = {"odds": "odds_at_most", "1 in 2": "even_at_most", "1 in 100": "one_in_100_at_most",
              **({} if population is None else {"left": "left"})}
    rows = [(plan.cost.text, *cells(plan), *(str(rung[key] or "too little")
                                             for key in bought.values()))
            for plan, rung in zip(plans, rungs, strict=True)]
    poor = ", ".join(plan.cost.text for plan in plans if plan.warning)
    after = [("not here", f"{rung['epsilon']}: {rung['refused']}") for rung in rungs
             if rung["refused"] is not None]
    if poor:
        after.append(("warning", f"close to random on a usual table: epsilon {poor}"))
    return Document(f"Plan: {literal(first.method)}", _facts(heading(first, settled=False)), [
        DataTable("What each epsilon buys", ("epsilon", *heads, *bought), rows, words=0),
        *_more(_facts(_meanings(first, population))), *_more(_facts([*after, ("next", _NEXT)]))])


def taking(made: Takes) -> str:
    """An estimate of time and memory for people, to one digit or two.

    >>> taking(Takes(0.02, whole=98_000_000)), taking(Takes(12.3, whole=2_100_000_000))
    ('less than a second of one core, 98 MB', 'about 12 s of one core, 2.1 GB')
    """
    time = "less than a second" if made.seconds < 1 else f"about {made.seconds:.0f} s"
    return f"{time} of one core, {size(made.bytes)}"


def size(held: int) -> str:
    """Bytes for people."""
    return f"{held / 1e9:.1f} GB" if held >= 1e9 else f"{held / 1e6:.0f} MB"


def _facts(pairs: Iterable[tuple[str, str]]) -> list[Fact]:
    return [Fact(literal(label), literal(text)) for label, text in pairs]


def _more(facts: Sequence[Fact]) -> list[Part]:
    return [Facts("", facts)] if facts else []


def _by_epsilon(caption: str, heads: Sequence[str], plan: Plan, forecasts: Forecasts,
                cells: Callable[[Mapping[str, Any]], Sequence[str]]) -> DataTable:
    """A line for each epsilon, that of the plan with a star."""
    return DataTable(caption, ("epsilon", *heads), [
        (literal("* " * (epsilon == plan.cost.epsilon) + amount(epsilon)), *cells(made))
        for epsilon, made in sorted(forecasts.items())], words=0)


def amount(value: Fraction) -> str:
    """An amount of epsilon, exact.

    >>> amount(Fraction(5, 2))
    '2.5'
    """
    return decimal(int(value * EPSILON_UNITS))


def _found(plan: Plan, forecasts: Forecasts) -> Iterator[Part]:
    """Forecasts by epsilon and by gap."""
    made: Mapping[str, Any] = plan.forecast
    options: Mapping[str, Any] = plan.settings
    most, fixed = options.get("at_most"), len(options.get("always", ()))
    few = [] if most is None else ["names"]
    gaps = list(made["found_percent"])
    best = f"{int(most or 0) - fixed} best columns" if few else ""
    yield _by_epsilon(
        f"Forecast: per cent of the names that are among the {best}" if few else
        f"Forecast: per cent of the {sought(plan.settings)} best columns that are found",
        [*few, *(f"gap {Fraction(gap) * 100} %" for gap in gaps)], plan, forecasts,
        lambda made: [*(str(made[name]) for name in few),
                      *(str(made["found_percent"][gap]) for gap in gaps)])
    voters = "blocks" if plan.method.startswith("block-fwell") else f"{plan.protected}s"
    usual, weak = (Fraction(str(gap)) * 100 for gap in (made["usual_gap"], gaps[0]))
    yield literal(f"Guessing finds {made['guessing_percent']}. The gap is by what share of the "
                  f"{voters} the best columns beat the others: {usual} is usual, {weak} is weak. "
                  "* is this plan.")
    if "after_coding" in made:
        yield literal(f"{capital(str(made['after_coding']))}.")


def _numbers(plan: Plan, forecasts: Forecasts) -> Iterator[Part]:
    """What noise does by epsilon, and what the columns of this table are."""
    figures = {key: told for key, told in FIGURES[plan.kind].items()
               if any(key in made for made in forecasts.values())}
    measured = "longest" in plan.forecast and "noise_length" in figures
    told = [*figures.values(), *([("of longest", _LONGEST)] * measured)]
    yield _by_epsilon("Forecast: what noise does, by cost", [head for head, _ in told], plan,
                      forecasts, lambda made: [*(figure(made.get(key)) for key in figures),
                                               *([share(made)] * measured)])
    yield Facts("", _facts([*told, ("*", "this plan")]))


def _worth(plan: Plan, plans: Sequence[Plan]) -> tuple[tuple[str, ...], Any]:
    """The heads of what a kind of release is worth, and its cells."""
    if not plan.chooses:
        told = {key: head for key, (head, _) in FIGURES[plan.kind].items()
                if any(key in made.forecast for made in plans)}
        return tuple(told.values()), lambda made: [figure(made.forecast.get(key)) for key in told]

    def right(made: Plan) -> list[str]:
        found: Any = made.forecast["found_percent"]
        named = sought(made.settings)
        tenths = [named * found[gap] // 10 for gap in TABLES.values()]
        return [str(named), *(f"{one // 10}.{one % 10}" for one in tenths)]

    return ("names", *TABLES), right


def _meanings(plan: Plan, population: str | None) -> Iterator[tuple[str, str]]:
    """The heads of the table, and what stands below them."""
    unit = f"one {plan.protected}"
    if plan.chooses:
        yield "weak …", ("how many of the names are right on tables where the best columns beat "
                         f"the others by 2 %, 10 % and 20 % of the {plan.protected}s (a forecast; "
                         f"guessing: {plan.forecast['guessing_percent']} %)")
    else:
        yield from ((head, meaning) for key, (head, meaning) in FIGURES[plan.kind].items()
                    if key in plan.forecast)
    but = f", but for a chance of {plan.cost.delta_text}" if plan.cost.delta else ""
    yield "odds", (f"by what factor the release can change anybody's odds of anything about {unit},"
                   f" at most, in either direction{but}")
    yield "1 in 2", f"how sure somebody becomes at most who was in two minds about {unit}"
    yield "1 in 100", "the same of somebody who thought it one chance in a hundred"
    if population is not None:
        yield "left", f"what {population} has left after it"
