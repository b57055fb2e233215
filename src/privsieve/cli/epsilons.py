"""Which epsilon?  What each of some would buy, what it means in odds, and what it would leave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import click

from privsieve.cli import options as asked
from privsieve.cli import words
from privsieve.errors import ParameterError
from privsieve.frozen import dataclass
from privsieve.public.canonical import EPSILON_UNITS, Json
from privsieve.public.domain import Domain
from privsieve.public.plan import Plan

if TYPE_CHECKING:
    from privsieve.ledger.account import Account

#: A ladder from what hides everybody to what is refused without a word of yours above it.
LADDER = ("0.1", "0.3", "0.5", "1", "2", "3", "5", "10")
#: Gaps of a forecast that stand for tables: of which the best columns stand out little, and much.
TABLES = {"weak": "0.02", "usual": "0.1", "strong": "0.2"}
_HALF, _FEW = Fraction(1, 2), Fraction(1, 100)


@dataclass(frozen=True)
class Buys:
    """What an epsilon buys: its plan, odds in words, what it leaves, and whether it is allowed.

    left : of the account that was named; None where none was, or where it cannot pay
    refused : why the policy of the place does not allow it
    """

    plan: Plan
    odds: str
    even: str
    few: str
    left: Fraction | None
    refused: str | None

    def json(self) -> dict[str, Json]:
        """The same for programs."""
        return {"epsilon": self.plan.cost.text, "delta": self.plan.cost.delta_text,
                "odds_at_most": self.odds, "even_at_most": self.even,
                "one_in_100_at_most": self.few, "forecast": dict(self.plan.forecast),
                "warning": self.plan.warning, "refused": self.refused,
                "left": None if self.left is None else words.amount(self.left)}


def show(domain: Domain, rows: int | None, record: Literal["row", "line"],
         options: Mapping[str, Any]) -> None:
    """Print a line for each epsilon; nothing is read and nothing charged."""
    from privsieve.cli.plan import INDENT, heading, ledger_of

    ledger = ledger_of(options)
    account = None if ledger is None else ledger.account()
    found = [_bought(replace(made, record=record), account, options)
             for made in _plans(domain, rows, options)]
    first = found[0].plan
    if options["as_json"]:
        words.json({"method": first.method, "unit": first.protected, "units": str(first.units),
                    "neighbours": first.domain.neighbours, "columns": len(first.domain.columns),
                    "epsilons": [one.json() for one in found]})
        return
    heading(first, settled=False)
    click.echo()
    click.secho("What each epsilon buys", bold=True)
    heads, cells = _columns(first, found)
    words.table(("epsilon", *heads, "odds", "1 in 2", "1 in 100", *(["left"] if account else [])), [
        (one.plan.cost.text, *cells(one.plan), one.odds, one.even, one.few,
         *([_left(one)] if account else [])) for one in found])
    for head, meaning in _meanings(first, options):
        lines = click.wrap_text(meaning, words.WIDTH - INDENT).replace("\n", "\n" + " " * INDENT)
        click.echo(f"  {head}".ljust(INDENT) + lines)
    for one in found:
        if one.refused is not None:
            words.show("not here", f"{one.plan.cost.text}: {one.refused}", fg="yellow")
    poor = [one.plan.cost.text for one in found if one.plan.warning]
    if poor:
        words.show("warning", f"close to random on a usual table: epsilon {', '.join(poor)}",
                   fg="yellow")
    words.show("next", "the same with --epsilon E says all of one of them; who chose which, and "
                       "what agencies say: the guide how-much-epsilon")


def _plans(domain: Domain, rows: int | None, options: Mapping[str, Any]) -> Iterator[Plan]:
    """A plan for each epsilon; where none can be made, the reason of the last."""
    made, reason = 0, ParameterError("no epsilon can be planned")
    for epsilon in LADDER:
        try:
            plan = asked.planned(domain, rows, options, epsilon=epsilon)
        except ParameterError as error:
            reason = error
            continue
        made += 1
        yield plan
        if not plan.cost.epsilon:
            return  # all columns are asked for: that costs nothing at any epsilon
    if not made:
        raise reason


def _bought(plan: Plan, account: Account | None, options: Mapping[str, Any]) -> Buys:
    from privsieve.public.canonical import factor
    from privsieve.report.page import belief, percent

    epsilon = plan.cost.epsilon
    odds = factor(epsilon)
    return Buys(plan, "x -" if odds is None else f"x {odds}",
                percent(belief(epsilon, _HALF)[1]), percent(belief(epsilon, _FEW)[1]),
                None if account is None else _after(plan, account), _refused(plan, options))


def _after(plan: Plan, account: Account) -> Fraction | None:
    """What an account has left after a plan, converted as its charge would be; None: too little."""
    from privsieve.fit import SOFTWARE
    from privsieve.ledger import account as accounts
    from privsieve.public.plan import terms

    cost = plan.cost
    has, factor = accounts.protecting(account, accounts.change_of(terms(plan, SOFTWARE)))
    after = has.plus(accounts.charge(cost.units, cost.delta_units, cost.rho_units, factor))
    return None if after is None else Fraction(after.left, EPSILON_UNITS)


def _refused(plan: Plan, options: Mapping[str, Any]) -> str | None:
    if options["policy"] is None:
        return None
    from privsieve.public.policy import Policy

    try:
        Policy.load(options["policy"]).demand_plan(plan, method=options["method"])
    except ParameterError as error:
        return str(error).removesuffix("; nothing was charged")
    return None


def _left(one: Buys) -> str:
    return "too little" if one.left is None else words.amount(one.left)


def _columns(plan: Plan, found: list[Buys]) -> tuple[tuple[str, ...], Any]:
    """The heads of what a kind of release is worth, and its cells."""
    from privsieve.cli.plan import FIGURES, figure

    if plan.kind != "selection":
        told = {key: head for key, (head, _) in FIGURES[plan.kind].items()
                if any(key in one.plan.forecast for one in found)}
        return tuple(told.values()), lambda made: [figure(made.forecast.get(key)) for key in told]

    def right(made: Plan) -> list[str]:
        share: Any = made.forecast["found_percent"]
        tenths = [_named(made) * share[gap] // 10 for gap in TABLES.values()]
        return [str(_named(made)), *(f"{one // 10}.{one % 10}" for one in tenths)]

    return ("names", *TABLES), right


def _named(plan: Plan) -> int:
    """How many places a race is for; of a tuning, those of the largest candidate."""
    settings: Mapping[str, Any] = plan.settings
    candidates = settings.get("candidates")
    k = max(one["settings"]["k"] for one in candidates) if candidates else settings["k"]
    return int(k) - len(settings.get("always", ()))


def _meanings(plan: Plan, options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The heads of the table, and what stands below them."""
    from privsieve.cli.plan import FIGURES

    one = f"one {plan.protected}"
    if plan.kind == "selection":
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
    if options["ledger"] is not None:
        yield "left", f"what {options['population']} has left after it"
