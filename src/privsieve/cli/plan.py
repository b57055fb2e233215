"""`privsieve plan`: cost, noise and forecast of a release, from public facts alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import click

from privsieve.cli import words
from privsieve.cli.options import MethodOptions, MethodVerb, refuse
from privsieve.cli.verb import Outcome, verb
from privsieve.errors import ParameterError
from privsieve.fit import SOFTWARE
from privsieve.ledger import account as accounts
from privsieve.ledger.account import Account
from privsieve.ledger.ledger import Ledger
from privsieve.methods import METHODS
from privsieve.public.canonical import EPSILON_UNITS, Json, exact, factor, visible
from privsieve.public.domain import Domain
from privsieve.public.option import RARE, WISHES, File, Name
from privsieve.public.plan import Plan, Takes, sought, terms
from privsieve.public.planned import FIGURES, figure, heading, noise, settings, share

if TYPE_CHECKING:
    from privsieve.rows.source import Source

#: The forecasts of a plan, by epsilon.
Forecasts = Mapping[Fraction, Mapping[str, Any]]
#: What else the budget could be cut into.
OTHERS = ("0.1", "0.3", "1", "3")
#: A ladder from what hides everybody to what is refused without a word of yours above it.
LADDER = ("0.1", "0.3", "0.5", "1", "2", "3", "5", "10")
#: Gaps of a forecast that stand for tables: of which the best columns stand out little, and much.
TABLES = {"weak": "0.02", "usual": "0.1", "strong": "0.2"}
#: Where the meanings of a table's columns begin.
_INDENT = 15
_HALF, _FEW = Fraction(1, 2), Fraction(1, 100)
_LONGEST = ("the same beside the longest that all can be without noise in any table; in most "
            "tables they are shorter")


@dataclass(frozen=True, kw_only=True)
class ForecastOptions(MethodOptions):
    """Privacy.

    epsilon : what this release may cost, for example 0.5; without it, what each would buy
    ledger : say what the account of --population has left, and whether this is converted
    population : the people whom --ledger protects
    head : a small file that keeps the ledger's newest entry: an older copy of the ledger is
        refused.  It is made if it does not exist
    method : how to choose: rule-sieve, block-fwell or noisy-top-k; or with released weights:
        output-fwell, objective-fwell or felp; or what `regress` (kernel-ridge) or `synthesize`
        (noisy-histogram) would release
    max_memory : memory that a release may take beside Python, such as 2GB: says whether rows that
        do not fit would lie in a private file
    """

    COMMAND: ClassVar[Any] = partial(MethodVerb, methods=METHODS)

    epsilon: Annotated[Any, "E"] = None
    rows: Annotated[Any, int] = None
    ledger: File | None = None
    population: Name | None = None
    head: Annotated[File | None, RARE] = None
    max_memory: Annotated[str | None, "SIZE", RARE] = None

    def account(self) -> Ledger | None:
        """The account that was named, if one was."""
        refuse((self.ledger is None) != (self.population is None),
               "--ledger and --population go together; give both or neither")
        if self.ledger is None:
            return None
        return Ledger(self.ledger, population=str(self.population), head=self.head)


@verb("--rows 20000 --domain domain.toml --unit row --epsilon 0.5 --top 6")
def command(data: str | None = None, *, asked: ForecastOptions) -> Outcome:
    """Say cost, noise and forecast of a release from DATA, or from --rows rows.

    Without --epsilon: what each epsilon would buy, what it means in odds, and what it would leave.
    Reads no row and charges nothing: of DATA only the header and, where it is public, the number
    of rows.
    """
    domain, source, rows = (asked.declared(), None, asked.rows) if data is None else (
        asked.opened(data))
    record = "row" if source is None else source.record
    if asked.epsilon is None:
        return _each_epsilon(domain, rows, record, asked)
    plan = asked.planned(domain, rows)
    asked.demand_allowed(plan)
    plan = replace(plan, record=record, query=None if source is None else source.query)
    beside = _beside(plan, source, asked.max_memory)
    account = _account(plan, asked.account())
    forecasts = _forecasts(plan, asked)

    def show() -> None:
        _show(plan, forecasts)
        _also(plan, asked, beside)
        if account:
            words.show("left", f"{account['left']} for {asked.population}")
        if account.get("converted"):
            words.show("converted", str(account["converted"]))

    return Outcome({**_json(plan, forecasts), **account, "spilled": str(beside)}, show)


def _also(plan: Plan, asked: ForecastOptions, beside: int) -> None:
    """What else who plans should know."""
    if beside:
        words.show("file", f"rows take up to {_size(beside)}, more than may lie in memory: "
                           "they lie in a private file without a name while the release is made")
    if exact(asked.of_method.get("delta") or 0, "delta") and not plan.cost.delta:
        words.show("delta", "not charged: for so few columns a race without a delta finds as "
                            "many or more" if plan.chooses else
                            "not charged: here noise without a delta is smaller")
    if plan.warning:
        click.echo()
        words.show("warning", plan.warning, fg="yellow")
    if "advice" in plan.forecast:
        words.show("advice", str(plan.forecast["advice"]))


def _account(plan: Plan, ledger: Ledger | None) -> dict[str, Json]:
    """What a ledger says of the plan: what is left, and how the charge would be converted."""
    if ledger is None:
        return {}
    return {"left": words.amount(ledger.left()),
            "converted": ledger.conversion(terms(plan, SOFTWARE))}


def _forecasts(plan: Plan, asked: ForecastOptions) -> dict[Fraction, Mapping[str, Any]]:
    """Forecasts by epsilon; a method may refuse another epsilon."""
    forecasts: dict[Fraction, Mapping[str, Any]] = {}
    for epsilon in OTHERS:
        with suppress(ParameterError):
            forecasts[Fraction(epsilon)] = asked.planned(
                plan.domain, plan.units, epsilon).forecast
    return {**forecasts, exact(asked.epsilon, "epsilon"): plan.forecast}


def _json(plan: Plan, forecasts: Forecasts) -> dict[str, Json]:
    return {
        **plan.json(),
        "cost": plan.cost.text,
        "unit": plan.protected,
        "neighbours": plan.domain.neighbours,
        "columns": len(plan.domain.columns),
        "noise_scale": figure(plan.noise.amount),
        "forecast": plan.forecast,
        "forecasts": {words.amount(epsilon): made for epsilon, made in forecasts.items()},
        "warning": plan.warning,
        "theorem": plan.theorem,
        "assumes": list(plan.assumes),
        # As far as it is known, what a certificate will say of the release: this can be signed.
        "terms": {name: said for name, said in terms(plan, SOFTWARE).items()
                  if name != "software"},
        **({} if plan.takes is None else {"takes": {
            "seconds": f"{plan.takes.seconds:.3f}", "bytes": str(plan.takes.bytes)}}),
    }


def _show(plan: Plan, forecasts: Forecasts) -> None:
    for label, text in heading(plan):
        words.show(label, text)
    words.show("cost", f"{plan.cost.words}, charged before a row is read")
    if plan.query is not None:
        words.show("rows of", f"{' '.join(plan.query.split())} (public; that these are the right "
                              "rows is your word)")
    words.show("settings", "; ".join(
        f"{name.replace('_', ' ')} {text}" for name, text in settings({
            name: value for name, value in plan.settings.items()
            if name not in ("k", "at_most", *WISHES)})))
    words.show("noise", noise(plan))
    words.show("theorem", f"{plan.theorem}; assumes {', '.join(plan.assumes)}")
    if plan.takes is not None:
        words.show("takes", taking(plan.takes))
    click.echo()
    (_table if plan.chooses else _numbers)(forecasts, plan)


def _beside(plan: Plan, source: Source | None, most: str | None) -> int:
    """Bytes of rows that would lie in a file; what finds no place at all is refused."""
    if source is None:
        refuse(most, "--max-memory is for the rows of a table; name DATA")
        return 0
    from privsieve.rows.batch import spilled
    from privsieve.rows.room import Room

    return spilled(plan, source, Room.usual(most))


def taking(made: Takes) -> str:
    """An estimate of time and memory for people, to one digit or two.

    >>> taking(Takes(0.02, whole=98_000_000)), taking(Takes(12.3, whole=2_100_000_000))
    ('less than a second of one core, 98 MB', 'about 12 s of one core, 2.1 GB')
    """
    time = "less than a second" if made.seconds < 1 else f"about {made.seconds:.0f} s"
    return f"{time} of one core, {_size(made.bytes)}"


def _size(held: int) -> str:
    return f"{held / 1e9:.1f} GB" if held >= 1e9 else f"{held / 1e6:.0f} MB"


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
                f"{sought(settings)} best columns that are "
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
        click.echo("  " + words.hanging(visible(said[:1].upper() + said[1:] + "."), 2))


def _numbers(forecasts: Forecasts, plan: Plan) -> None:
    """Print forecasts by epsilon, and what their columns are."""
    figures = {key: told for key, told in FIGURES[plan.kind].items()
               if any(key in made for made in forecasts.values())}
    measured = "longest" in plan.forecast and "noise_length" in figures
    click.secho("Forecast: what noise does, by cost", bold=True)
    told = [*figures.values(), *([("of longest", _LONGEST)] * measured)]
    _by_epsilon([head for head, _ in told], forecasts, plan, lambda made: [
        *(figure(made.get(key)) for key in figures), *([share(made)] * measured)])
    _meanings_shown([*told, ("*", "this plan")])


def _meanings_shown(told: Iterable[tuple[str, str]]) -> None:
    """Print the heads of a table, and what stands below them."""
    for head, meaning in told:
        click.echo(f"  {head}".ljust(_INDENT) + words.hanging(meaning, _INDENT))


# --- which epsilon? ------------------------------------------------------------------------------

def _each_epsilon(domain: Domain, rows: int | None, record: Literal["row", "line"],
                  asked: ForecastOptions) -> Outcome:
    """A line for each epsilon; nothing is read and nothing charged."""
    ledger = asked.account()
    account = None if ledger is None else ledger.account()
    plans = [replace(plan, record=record) for plan in _plans(domain, rows, asked)]
    first, rungs = plans[0], [_rung(plan, account, asked) for plan in plans]
    return Outcome(
        {"method": first.method, "unit": first.protected, "units": str(first.units),
         "neighbours": first.domain.neighbours, "columns": len(first.domain.columns),
         "epsilons": [*rungs]},
        lambda: _show_each(plans, rungs, asked))


def _show_each(plans: Sequence[Plan], rungs: Sequence[Mapping[str, Json]],
               asked: ForecastOptions) -> None:
    """Print a line for each epsilon."""
    first = plans[0]
    for label, text in heading(first, settled=False):
        words.show(label, text)
    click.echo()
    click.secho("What each epsilon buys", bold=True)
    heads, cells = _columns(first, plans)
    bought = {"odds": "odds_at_most", "1 in 2": "even_at_most", "1 in 100": "one_in_100_at_most",
              **({"left": "left"} if asked.ledger else {})}
    words.table(("epsilon", *heads, *bought), [
        (plan.cost.text, *cells(plan), *(str(rung[key] or "too little") for key in bought.values()))
        for plan, rung in zip(plans, rungs, strict=True)])
    _meanings_shown(_meanings(first, asked))
    for rung in rungs:
        if rung["refused"] is not None:
            words.show("not here", f"{rung['epsilon']}: {rung['refused']}", fg="yellow")
    poor = [plan.cost.text for plan in plans if plan.warning]
    if poor:
        words.show("warning", f"close to random on a usual table: epsilon {', '.join(poor)}",
                   fg="yellow")
    words.show("next", "the same with --epsilon E says all of one of them; who chose which, and "
                       "what agencies say: the guide how-much-epsilon")


def _plans(domain: Domain, rows: int | None, asked: ForecastOptions) -> Iterator[Plan]:
    """A plan for each epsilon; where none can be made, the reason of the last."""
    made, reason = 0, ParameterError("no epsilon can be planned")
    for epsilon in LADDER:
        try:
            plan = asked.planned(domain, rows, epsilon)
        except ParameterError as error:
            reason = error
            continue
        made += 1
        yield plan
        if not plan.cost.epsilon:
            return  # all columns are asked for: that costs nothing at any epsilon
    if not made:
        raise reason


def _rung(plan: Plan, account: Account | None, asked: ForecastOptions) -> dict[str, Json]:
    """What an epsilon buys: odds in words, what it leaves, and why a policy does not allow it."""
    from privsieve.report.page import belief, percent

    odds = factor(plan.cost.epsilon)
    left = None if account is None else _after(plan, account)
    return {"epsilon": plan.cost.text, "delta": plan.cost.delta_text,
            "odds_at_most": "x -" if odds is None else f"x {odds}",
            "even_at_most": percent(belief(plan.cost.epsilon, _HALF)[1]),
            "one_in_100_at_most": percent(belief(plan.cost.epsilon, _FEW)[1]),
            "forecast": dict(plan.forecast), "warning": plan.warning,
            "refused": _refused(plan, asked),
            "left": None if left is None else words.amount(left)}


def _after(plan: Plan, account: Account) -> Fraction | None:
    """What an account has left after a plan, converted as its charge would be; None: too little."""
    cost = plan.cost
    has, factor = accounts.protecting(account, accounts.change_of(terms(plan, SOFTWARE)))
    after = has.plus(accounts.charge(cost.units, cost.delta_units, cost.rho_units, factor))
    return None if after is None else Fraction(after.left, EPSILON_UNITS)


def _refused(plan: Plan, asked: ForecastOptions) -> str | None:
    try:
        asked.demand_allowed(plan)
    except ParameterError as error:
        return str(error).removesuffix("; nothing was charged")
    return None


def _columns(plan: Plan, plans: Sequence[Plan]) -> tuple[tuple[str, ...], Any]:
    """The heads of what a kind of release is worth, and its cells."""
    if not plan.chooses:
        told = {key: head for key, (head, _) in FIGURES[plan.kind].items()
                if any(key in made.forecast for made in plans)}
        return tuple(told.values()), lambda made: [figure(made.forecast.get(key)) for key in told]

    def right(made: Plan) -> list[str]:
        share: Any = made.forecast["found_percent"]
        named = sought(made.settings)
        tenths = [named * share[gap] // 10 for gap in TABLES.values()]
        return [str(named), *(f"{one // 10}.{one % 10}" for one in tenths)]

    return ("names", *TABLES), right


def _meanings(plan: Plan, asked: ForecastOptions) -> Iterator[tuple[str, str]]:
    """The heads of the table, and what stands below them."""
    one = f"one {plan.protected}"
    if plan.chooses:
        yield "weak …", ("how many of the names are right on tables where the best columns "
                                f"beat the others by 2 %, 10 % and 20 % of the {plan.protected}s "
                                f"(a forecast; guessing: {plan.forecast['guessing_percent']} %)")
    else:
        yield from ((head, meaning) for key, (head, meaning) in FIGURES[plan.kind].items()
                    if key in plan.forecast)
    but = f", but for a chance of {plan.cost.delta_text}" if plan.cost.delta else ""
    yield "odds", (f"by what factor the release can change anybody's odds of anything about {one}, "
                   f"at most, in either direction{but}")
    yield "1 in 2", f"how sure somebody becomes at most who was in two minds about {one}"
    yield "1 in 100", "the same of somebody who thought it one chance in a hundred"
    if asked.ledger is not None:
        yield "left", f"what {asked.population} has left after it"
