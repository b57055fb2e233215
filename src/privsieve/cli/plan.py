"""`privsieve plan`: cost, noise and forecast of a release, from public facts alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from privsieve.cli import words
from privsieve.cli.options import MethodOptions, MethodVerb, refuse
from privsieve.cli.verb import Outcome, verb
from privsieve.errors import ParameterError
from privsieve.fit import SOFTWARE
from privsieve.ledger import account as accounts
from privsieve.ledger.account import Account
from privsieve.ledger.ledger import Ledger
from privsieve.methods import METHODS
from privsieve.public.canonical import EPSILON_UNITS, Json, exact, factor
from privsieve.public.domain import Domain
from privsieve.public.option import RARE, File, Name
from privsieve.public.plan import Plan, terms
from privsieve.report.figures import belief, percent
from privsieve.report.planning import Forecasts, amount, ladder_document, plan_document, size
from privsieve.report.plans import figure

if TYPE_CHECKING:
    from privsieve.rows.source import Source

#: What else the budget could be cut into.
OTHERS = ("0.1", "0.3", "1", "3")
#: A ladder from what hides everybody to what is refused without a word of yours above it.
LADDER = ("0.1", "0.3", "0.5", "1", "2", "3", "5", "10")
_HALF, _FEW = Fraction(1, 2), Fraction(1, 100)


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

    return Outcome(
        {**_json(plan, forecasts), **account, "spilled": str(beside)},
        lambda: words.tell(plan_document(plan, forecasts, _also(plan, asked, account, beside))))



def _also(plan: Plan, asked: ForecastOptions, account: Mapping[str, Any], beside: int,
          ) -> Iterator[tuple[str, str]]:
    """What else who plans should know."""
    if beside:
        yield "file", (f"rows take up to {size(beside)}, more than may lie in memory: they lie in "
                       "a private file without a name while the release is made")
    if exact(asked.of_method.get("delta") or 0, "delta") and not plan.cost.delta:
        yield "delta", ("not charged: for so few columns a race without a delta finds as many or "
                        "more" if plan.chooses else
                        "not charged: here noise without a delta is smaller")
    if plan.warning:
        yield "warning", plan.warning
    if "advice" in plan.forecast:
        yield "advice", str(plan.forecast["advice"])
    if account:
        yield "left", f"{account['left']} for {asked.population}"
    if account.get("converted"):
        yield "converted", str(account["converted"])


def _account(plan: Plan, ledger: Ledger | None) -> dict[str, Json]:
    """What a ledger says of the plan: what is left, and how the charge would be converted."""
    if ledger is None:
        return {}
    return {"left": f"{ledger.left():f}",
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
        "forecasts": {amount(epsilon): made for epsilon, made in forecasts.items()},
        "warning": plan.warning,
        "theorem": plan.theorem,
        "assumes": list(plan.assumes),
        # As far as it is known, what a certificate will say of the release: this can be signed.
        "terms": {name: said for name, said in terms(plan, SOFTWARE).items()
                  if name != "software"},
        **({} if plan.takes is None else {"takes": {
            "seconds": f"{plan.takes.seconds:.3f}", "bytes": str(plan.takes.bytes)}}),
    }


def _beside(plan: Plan, source: Source | None, most: str | None) -> int:
    """Bytes of rows that would lie in a file; what finds no place at all is refused."""
    if source is None:
        refuse(most, "--max-memory is for the rows of a table; name DATA")
        return 0
    from privsieve.rows.batch import spilled
    from privsieve.rows.room import Room

    return spilled(plan, source, Room.usual(most))


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
        lambda: words.tell(ladder_document(plans, rungs, asked.population if account else None)))


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
    odds = factor(plan.cost.epsilon)
    left = None if account is None else _after(plan, account)
    return {"epsilon": plan.cost.text, "delta": plan.cost.delta_text,
            "odds_at_most": "x -" if odds is None else f"x {odds}",
            "even_at_most": percent(belief(plan.cost.epsilon, _HALF)[1]),
            "one_in_100_at_most": percent(belief(plan.cost.epsilon, _FEW)[1]),
            "forecast": dict(plan.forecast), "warning": plan.warning,
            "refused": _refused(plan, asked),
            "left": None if left is None else amount(left)}


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
