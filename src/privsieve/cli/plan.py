"""`privsieve plan`: cost, noise and forecast of a release, from public facts alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

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

#: Other epsilons of the forecast.
OTHERS = ("0.1", "0.3", "1", "3")
#: The epsilons of the table without --epsilon; above 10, --allow-weak is needed.
LADDER = ("0.1", "0.3", "0.5", "1", "2", "3", "5", "10")
_HALF, _FEW = Fraction(1, 2), Fraction(1, 100)


@dataclass(frozen=True, kw_only=True)
class ForecastOptions(MethodOptions):
    """Privacy.

    epsilon : the privacy cost of this release, for example 0.5; without it, a table of several
    ledger : show the budget that --population has left, and what this release would charge
    population : the people whom --ledger protects
    head : a small file with the ledger's newest entry, so that an older copy of the ledger is
        refused.  It is made if it does not exist
    method : how to choose: rule-sieve, block-fwell or noisy-top-k; to release weights, too:
        output-fwell, objective-fwell or felp; or the release of `regress` (kernel-ridge) or
        `synthesize` (noisy-histogram)
    max_memory : the memory for the rows, such as 2GB; shows whether rows that do not fit would be
        kept in a private temporary file
    """

    COMMAND: ClassVar[Any] = partial(MethodVerb, methods=METHODS)

    epsilon: Annotated[Any, "E"] = None
    rows: Annotated[Any, int] = None
    ledger: File | None = None
    population: Name | None = None
    head: Annotated[File | None, RARE] = None
    max_memory: Annotated[str | None, "SIZE", RARE] = None

    def account(self) -> Ledger | None:
        """Return the account of --population, if there is one."""
        refuse((self.ledger is None) != (self.population is None),
               "--ledger and --population go together; give both or neither")
        if self.ledger is None:
            return None
        return Ledger(self.ledger, population=str(self.population), head=self.head)


@verb("--rows 20000 --domain domain.toml --unit row --epsilon 0.5 --top 6")
def command(data: str | None = None, *, options: ForecastOptions) -> Outcome:
    """Show the cost, noise and forecast of a release from DATA, or from --rows rows.

    Without --epsilon, compares several epsilons: forecast, an attacker's odds, and the budget left.
    Charges nothing and reads no rows.  Of DATA it reads the header and, if the number of rows is
    public, this number.
    """
    domain, source, rows = (options.declared(), None, options.rows) if data is None else (
        options.opened(data))
    record = "row" if source is None else source.record
    if options.epsilon is None:
        return _each_epsilon(domain, rows, record, options)
    plan = options.planned(domain, rows)
    options.demand_allowed(plan)
    plan = replace(plan, record=record, query=None if source is None else source.query)
    spilled = _spilled(plan, source, options.max_memory)
    account = _account(plan, options.account())
    forecasts = _forecasts(plan, options)

    return Outcome(
        {**_json(plan, forecasts), **account, "spilled": str(spilled)},
        plan_document(plan, forecasts, _notes(plan, options, account, spilled)))


def _notes(plan: Plan, options: ForecastOptions, account: Mapping[str, Any], spilled: int,
           ) -> Iterator[tuple[str, str]]:
    """Yield notes, warnings and what is left of the budget."""
    if spilled:
        yield "file", (f"the rows need up to {size(spilled)}, more than the memory limit; a "
                       "private temporary file keeps them during the release")
    if exact(options.of_method.get("delta") or 0, "delta") and not plan.cost.delta:
        yield "delta", ("not charged: for this number of columns, selection without a delta finds "
                        "as many columns or more" if plan.chooses else
                        "not charged: noise without a delta is smaller here")
    if plan.warning:
        yield "warning", plan.warning
    if "advice" in plan.forecast:
        yield "advice", str(plan.forecast["advice"])
    if account:
        yield "left", f"{account['left']} for {options.population}"
    if account.get("converted"):
        yield "converted", str(account["converted"])


def _account(plan: Plan, ledger: Ledger | None) -> dict[str, Json]:
    """Return what is left in a ledger, and how it would convert the charge."""
    if ledger is None:
        return {}
    return {"left": f"{ledger.left():f}", "converted": ledger.conversion(terms(plan, SOFTWARE))}


def _forecasts(plan: Plan, options: ForecastOptions) -> dict[Fraction, Mapping[str, Any]]:
    """Return forecasts by epsilon, without the epsilons that the method refuses."""
    forecasts: dict[Fraction, Mapping[str, Any]] = {}
    for epsilon in OTHERS:
        with suppress(ParameterError):
            forecasts[Fraction(epsilon)] = options.planned(
                plan.domain, plan.units, epsilon).forecast
    return {**forecasts, exact(options.epsilon, "epsilon"): plan.forecast}


def _json(plan: Plan, forecasts: Forecasts) -> dict[str, Json]:
    return {
        **plan.json(),
        "cost": plan.cost.text,
        "unit": plan.protected,
        "neighbours": plan.domain.neighbours,
        "columns": len(plan.domain.columns),
        "noise_scale": figure(plan.noise.amount),
        "forecast": plan.forecast,
        "forecasts": {amount(epsilon): forecast for epsilon, forecast in forecasts.items()},
        "warning": plan.warning,
        "theorem": plan.theorem,
        "assumes": list(plan.assumes),
        # What the certificate of the release will contain, as far as it is known; can be signed.
        "terms": {name: term for name, term in terms(plan, SOFTWARE).items()
                  if name != "software"},
        **({} if plan.takes is None else {"takes": {
            "seconds": f"{plan.takes.seconds:.3f}", "bytes": str(plan.takes.bytes)}}),
    }


def _spilled(plan: Plan, source: Source | None, most: str | None) -> int:
    """Return how many bytes of rows a temporary file would keep; refuse more than fits."""
    if source is None:
        refuse(most, "--max-memory is for the rows of a table; name DATA")
        return 0
    from privsieve.rows.batch import spilled
    from privsieve.rows.room import Room

    return spilled(plan, source, Room.usual(most))


# --- which epsilon? ------------------------------------------------------------------------------

def _each_epsilon(domain: Domain, rows: int | None, record: Literal["row", "line"],
                  options: ForecastOptions) -> Outcome:
    """Return a line for each epsilon; nothing is read or charged."""
    ledger = options.account()
    account = None if ledger is None else ledger.account()
    plans = [replace(plan, record=record) for plan in _plans(domain, rows, options)]
    first, rungs = plans[0], [_rung(plan, account, options) for plan in plans]
    return Outcome(
        {"method": first.method, "unit": first.protected, "units": str(first.units),
         "neighbours": first.domain.neighbours, "columns": len(first.domain.columns),
         "epsilons": [*rungs]},
        ladder_document(plans, rungs, options.population if account else None))


def _plans(domain: Domain, rows: int | None, options: ForecastOptions) -> Iterator[Plan]:
    """Yield a plan for each epsilon; if none is possible, raise the last error."""
    count, reason = 0, ParameterError("no epsilon can be planned")
    for epsilon in LADDER:
        try:
            plan = options.planned(domain, rows, epsilon)
        except ParameterError as error:
            reason = error
            continue
        count += 1
        yield plan
        if not plan.cost.epsilon:
            return  # a request for all columns costs nothing at any epsilon
    if not count:
        raise reason


def _rung(plan: Plan, account: Account | None, options: ForecastOptions) -> dict[str, Json]:
    """Return what an epsilon buys in odds, what it leaves, and why a policy forbids it."""
    odds = factor(plan.cost.epsilon)
    left = None if account is None else _after(plan, account)
    return {"epsilon": plan.cost.text, "delta": plan.cost.delta_text,
            "odds_at_most": "x -" if odds is None else f"x {odds}",
            "even_at_most": percent(belief(plan.cost.epsilon, _HALF)[1]),
            "one_in_100_at_most": percent(belief(plan.cost.epsilon, _FEW)[1]),
            "forecast": dict(plan.forecast), "warning": plan.warning,
            "refused": _refused(plan, options),
            "left": None if left is None else amount(left)}


def _after(plan: Plan, account: Account) -> Fraction | None:
    """Return what an account has left after a plan, with conversion; None if it has too little."""
    cost = plan.cost
    has, factor = accounts.protecting(account, accounts.change_of(terms(plan, SOFTWARE)))
    after = has.plus(accounts.charge(cost.units, cost.delta_units, cost.rho_units, factor))
    return None if after is None else Fraction(after.left, EPSILON_UNITS)


def _refused(plan: Plan, options: ForecastOptions) -> str | None:
    try:
        options.demand_allowed(plan)
    except ParameterError as error:
        return str(error).removesuffix("; nothing was charged")
    return None
