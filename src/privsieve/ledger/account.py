"""Account: what a population's releases add up to, about the one change that it protects.

A population protects one change: of a row or of a person, replaced or added and removed.  A release
that protects another one is charged as many times as its own steps make that change.  With a delta
two sums are kept, and a charge is admitted while either holds.  Everything is integers; the three
functions that need a logarithm round to the side of privacy.  `account.proof.md` has the theorems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from math import isqrt
from typing import NamedTuple

from privsieve.errors import BudgetExceeded
from privsieve.ledger.certificate import UNIT
from privsieve.ledger.change import Change, steps
from privsieve.public.canonical import Json
from privsieve.public.cost import DELTA_UNITS, EPSILON_UNITS, RHO_UNITS, TOP, decimal

# [margin] Digits of a logarithm, and how far a figure is moved to the side of privacy.
_PRECISION, _MARGIN = 60, Decimal("1e-25")
#: Steps of a search; where it ends matters to nobody's privacy.
_STEPS = 60


class Charge(NamedTuple):
    """A cost in units, of epsilon, delta and rho; TOP where there is no telling."""

    units: int
    delta: int
    rho: int


class Account(NamedTuple):
    """What a population was granted and has spent, in units: a row of the ledger's table.

    Plain sums may use `delta_share` of the delta; the rest is for the sum of rho.
    """

    account: str  # "pure", or "approximate" where a delta was granted
    limit: int = 0
    spent: int = 0
    delta_limit: int = 0
    delta_spent: int = 0
    delta_share: int = 0
    rho_limit: int = 0
    rho_spent: int = 0
    unit: str | None = None
    neighbours: str | None = None
    rows_per_person: int | None = None

    @property
    def protects(self) -> Change | None:
        """The change that it protects, once somebody has said so."""
        if self.unit is None or self.neighbours is None:
            return None
        return Change(self.unit, self.neighbours)

    @property
    def summed(self) -> bool:
        """Whether the plain sums still hold."""
        return self.spent <= self.limit and self.delta_spent <= self.delta_share

    @property
    def concentrated(self) -> bool:
        """Whether the sum of rho still holds."""
        return self.rho_limit > 0 and self.rho_spent <= self.rho_limit

    def plus(self, charge: Charge) -> Account | None:
        """The account after a charge; None where it does not cover it."""
        after = self._replace(
            spent=min(TOP, self.spent + charge.units),
            delta_spent=min(TOP, self.delta_spent + charge.delta),
            rho_spent=min(TOP, self.rho_spent + charge.rho))
        if self.spent == 0 and (charge.rho == TOP or not _holds(after)):
            # [first] nothing was said of these people yet: the first charge may choose plain sums
            after = after._replace(delta_share=after.delta_limit, rho_limit=0)
        return after if _holds(after) else None

    @property
    def left(self) -> int:
        """The largest epsilon, in units, that a pure release may still have.

        >>> Account("pure", 10**9, 4 * 10**8).left
        600000000
        """
        plain = self.limit - self.spent if self.delta_spent <= self.delta_share else 0
        # [left] e^2 / 2 in units of 1e-12, rounded up, is within what is left of rho
        return max(0, plain, isqrt(2 * self.rho_left * EPSILON_UNITS**2 // RHO_UNITS))

    @property
    def rho_left(self) -> int:
        """The rho, in units, that is left of its limit."""
        return max(0, self.rho_limit - self.rho_spent)

    @property
    def delta_left(self) -> int:
        """The delta, in units, that releases may still take by plain sums."""
        share = self.delta_limit if self.spent == 0 else self.delta_share
        return max(0, share - self.delta_spent)

    @property
    def together(self) -> int:
        """The epsilon, in units, that all charges amount to: the smaller of the two figures."""
        if not self.rho_limit or not self.rho_spent:
            return self.spent
        converted = epsilon_of(self.rho_spent, self.delta_limit - self.delta_share)
        return min(self.spent, converted) if self.summed else converted


def _holds(account: Account) -> bool:
    return account.summed or account.concentrated


def granted(limit: int, delta: int) -> Account:
    """A new account with these limits, in units.

    >>> granted(10**9, 0).rho_limit, granted(10**9, 10**12).delta_share
    (0, 500000000000)
    """
    if not delta:
        return Account("pure", limit)
    # [halves] one for plain sums, one for the sum of rho
    rho = rho_limit(limit, delta - delta // 2)
    return Account("approximate", limit, delta_limit=delta,
                   delta_share=delta // 2 if rho else delta, rho_limit=rho)


def charge(units: int, delta: int, rho: int | None, factor: int) -> Charge:
    """What a release costs that protects a change of which `factor` make the population's.

    >>> charge(10**9, 0, 5 * 10**11, 2)
    Charge(units=2000000000, delta=0, rho=2000000000000)
    """
    # [group]
    return Charge(min(TOP, factor * units), _group_delta(units, delta, factor),
                  TOP if rho is None else min(TOP, factor**2 * rho))


def protecting(account: Account, change: Change | None) -> tuple[Account, int]:
    """The account with what it protects, and how many of these changes make one of its own.

    Who nobody granted a change protects the one of the first release.
    """
    known = account.protects
    if known is None and change is not None and account.spent == 0:
        return account._replace(unit=change.unit, neighbours=change.neighbours), 1
    if known is None and change is None:
        return account, 1
    if known is None or change is None:
        raise BudgetExceeded("this charge says what it protects, and those before it do not, or "
                             "the other way round; their sum would say nothing")
    factor = steps(known, account.rows_per_person, change)
    if isinstance(factor, str):
        raise BudgetExceeded(f"the account protects {known.words} and this release {change.words}: "
                             f"{factor}")
    return account, factor


def charged(account: Account, made: Charge, factor: int) -> dict[str, Json]:
    """What a ledger and a certificate say of a charge, in the population's own change."""
    return {
        "unit": None if account.unit is None else UNIT[account.unit],
        "neighbours": account.neighbours,
        "rows_per_person": account.rows_per_person,
        "factor": str(factor),
        "epsilon": decimal(made.units),
        "delta": decimal(made.delta, DELTA_UNITS),
        "rho": None if made.rho == TOP else decimal(made.rho, RHO_UNITS),
    }


def rho_limit(units: int, delta: int) -> int:
    """The largest rho, in units and rounded down, that is known to imply (epsilon, delta).

    >>> round(rho_limit(10**9, 10**12) / 10**12, 4)
    0.0244
    """
    if not units or not delta:
        return 0
    with localcontext(_arithmetic()):
        epsilon, log = Decimal(units) / EPSILON_UNITS, (Decimal(delta) / DELTA_UNITS).ln()

        def value(t: Decimal) -> Decimal:
            return (epsilon + _loss(t, log)) / (t + 1)  # [rho-of-epsilon]

        start = ((epsilon - log).sqrt() - (-log).sqrt()) ** 2
        best = max(map(value, _search(value, (-log / start).sqrt())))
        return max(0, int((best - _MARGIN) * RHO_UNITS))


def epsilon_of(rho: int, delta: int) -> int:
    """An epsilon, in units and rounded up, that rho-zCDP implies with this delta."""
    with localcontext(_arithmetic()):
        spent, log = Decimal(rho) / RHO_UNITS, (Decimal(delta) / DELTA_UNITS).ln()

        def value(t: Decimal) -> Decimal:
            return -((t + 1) * spent - _loss(t, log))  # [epsilon-of-rho]

        best = -max(map(value, _search(value, (-log / spent).sqrt())))
        return min(TOP, max(0, int((best + _MARGIN) * EPSILON_UNITS) + 1))


def _loss(t: Decimal, log: Decimal) -> Decimal:
    """What the delta gives at order 1 + t."""
    return (log + t.ln() - (t + 1) * (t / (t + 1)).ln()) / t


def _search(value: Callable[[Decimal], Decimal], start: Decimal) -> Iterator[Decimal]:
    """Orders around a first guess, by golden section of their logarithm: each of them is sound."""
    golden = (Decimal(5).sqrt() - 1) / 2
    low, high = start.ln() - 20, start.ln() + 6
    for _ in range(_STEPS):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if value(left.exp()) < value(right.exp()):
            low = left
        else:
            high = right
    yield start
    yield ((low + high) / 2).exp()


def _group_delta(units: int, delta: int, factor: int) -> int:
    """The sum of e^(i epsilon) delta over i < factor, in units, rounded up."""
    if factor == 1 or not delta:
        return delta
    if factor * units > 50 * EPSILON_UNITS:
        return TOP  # e^50 times the smallest delta is more than 1
    with localcontext(_arithmetic()):
        one = Decimal(units) / EPSILON_UNITS
        # [geometric] never below delta * factor
        total = delta * ((factor * one).exp() - 1) / (one.exp() - 1)
        return min(TOP, int(total * (1 + _MARGIN)) + 1)


def _arithmetic() -> Context:
    """Decimal arithmetic as its standard says: the same on every machine."""
    return Context(prec=_PRECISION, rounding=ROUND_HALF_EVEN, Emin=-999999, Emax=999999, traps=[])
