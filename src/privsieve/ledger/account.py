"""Account: a population's name, the one change that it protects, and what its releases add up to.

Two names of the same people are two budgets.  What a screen shows alike, or differs in punctuation
alone, is therefore one name, and a name of mixed scripts is none.

A population protects one change: of a row or of a person, replaced or added and removed.  A release
that protects another one is charged as many times as its own steps make that change.  With a delta
two sums are kept, and a charge is admitted while either holds.  Everything is integers; the three
functions that need a logarithm round to the side of privacy.  `account.proof.md` has the theorems.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from functools import lru_cache
from math import isqrt
from typing import Any, NamedTuple

from privsieve.errors import BudgetExceeded, LedgerError, ParameterError
from privsieve.public.canonical import (
    DELTA_UNITS,
    EPSILON_UNITS,
    RHO_UNITS,
    TOP,
    Json,
    decimal,
    units_of,
)
from privsieve.public.domain import LARGEST_ROWS
from privsieve.public.plan import NOUNS, UNIT

LARGEST_NAME = 128
NEIGHBOURS = ("replace-one", "add-remove")
# [margin] Digits of a logarithm, and how far a figure is moved to the side of privacy.
_PRECISION, _MARGIN = 60, Decimal("1e-25")
#: Steps of a search; where it ends matters to nobody's privacy.
_STEPS = 60
#: Scripts that one language mixes.
_TOGETHER = (frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"}),
             frozenset({"CJK", "HANGUL"}), frozenset({"CJK", "BOPOMOFO"}))
#: What looks like Latin letters as small letters, and as capitals; an apostrophe is left out.
_SMALL = str.maketrans("аеѕіјорсухһԁԛԝӏɑɡıαινορυχγωκłøđħŧ", "aesijopcyxhdqwlagiaivopuxywklodht"
                       ) | str.maketrans("01|", "oll", "\u02bc")
_LARGE = str.maketrans("АВЕЅІЈКМНОРСТУХѴԌԚԜҺӀΑΒΕΖΗΙΚΜΝΟΡΤΥΧŁØĐĦŦ",
                       "ABESIJKMHOPCTYXVGQWHIABEZHIKMNOPTYXLODHT"
                       ) | str.maketrans("01|", "OII", "\u02bc")


# --- what is charged ----------------------------------------------------------------------------

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


def raised(account: Account, limit: int, delta: int) -> Account:
    """The account with higher limits, in units.

    >>> raised(Account("pure", 5, 4), 7, 0).left
    3
    """
    if not account.limit:
        raise LedgerError("nothing was granted to these people yet; grant them a budget")
    if delta and not account.delta_limit:
        raise LedgerError("the account is pure: every release that it paid for keeps a promise "
                          "without a delta; raise epsilon alone")
    if limit < account.limit or delta < account.delta_limit or (
            (limit, delta) == (account.limit, account.delta_limit)):
        raise LedgerError(f"the limit is epsilon {decimal(account.limit)}"
                          + (f" and delta {decimal(account.delta_limit, DELTA_UNITS)}"
                             if account.delta_limit else "")
                          + "; it is only raised: write a larger one")
    # [raised] what kind of sums it keeps was chosen before anything was said of these people
    rho = account.rho_limit and max(account.rho_limit, rho_limit(limit, delta - delta // 2))
    return account._replace(limit=limit, delta_limit=delta,
                            delta_share=delta // 2 if rho else delta, rho_limit=rho)


def signed(reason: object, by: object) -> tuple[str, list[Json]]:
    """Why a limit is raised, and the two who say so.

    >>> signed("a second study", ["A. Clerk", "B. Board"])[1]
    ['A. Clerk', 'B. Board']
    """
    if not isinstance(reason, str) or not reason.isprintable() or not 1 <= len(reason) <= 1000 or (
            reason != reason.strip()):
        raise ParameterError(f"reason is {reason!r}; write 1 to 1000 printable characters")
    if not isinstance(by, Sequence) or isinstance(by, str) or len(by) != 2:
        raise ParameterError("a limit is raised by two people; write two names")
    one, other = (unicodedata.normalize("NFC", checked_name(name, "the name of who signs"))
                  for name in by)
    if alike(one, other):
        raise ParameterError(f"both names are {one!r}, or look like it; two people raise a limit")
    return reason, [one, other]


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


def recharged(said: Mapping[str, Any], rho: str | None, terms: Mapping[str, Any]) -> bool:
    """Whether a charge is what these terms come to in the change that it names."""
    claim = terms["claim"]
    own = change_of({"claim": {"unit": said["unit"], "neighbours": said["neighbours"]}})
    units = units_of(claim["epsilon"], EPSILON_UNITS)
    delta = units_of(claim["delta"], DELTA_UNITS)
    rho_units = None if rho is None else units_of(rho, RHO_UNITS)
    if own is None or units is None or delta is None or (rho_units is None and rho is not None):
        return False
    with suppress(BudgetExceeded, ValueError):  # of what no account protects
        account, factor = protecting(Account("pure", **facts(*own, said["rows_per_person"])),
                                     change_of(terms))
        return dict(said) == charged(account, charge(units, delta, rho_units, factor), factor)
    return False


@lru_cache(maxsize=64)  # its keys are public: limits, asked again whenever a ledger is read
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


# --- what is protected --------------------------------------------------------------------------

class Change(NamedTuple):
    """What is protected: a row or a person, and how it changes."""

    unit: str
    neighbours: str

    @property
    def words(self) -> str:
        """For people.

        >>> Change("row", "add-remove").words
        'one row of the table (add-remove)'
        """
        return f"{UNIT[self.unit]} ({self.neighbours})"


def steps(protects: Change, rows_per_person: int | None, plan: Change) -> int | str:
    """How many changes of a plan make one of the population; or, in words, why none do.

    >>> steps(Change("row", "replace-one"), None, Change("person", "replace-one"))
    2
    """
    if protects == plan:
        return 1
    kept = protects == Change("row", "replace-one")
    if plan == Change("row", "replace-one"):
        # [size] its number of rows is public, and the change shows in it
        return ("its number of rows is public, and shows whether somebody's rows are there: "
                + ("name the person column of the table, or " if protects.unit == "person" else "")
                + "declare add-remove with a round number of rows")
    if plan.unit == "person":
        # [moved] a row that changes its id is of two persons
        return (2 if kept else 1) * (2 if plan.neighbours == "add-remove" else 1)
    if kept:
        return 2  # [swap] one row goes and another comes
    if rows_per_person is None:
        return ("nobody has said how many rows a person may have: name the person column of the "
                "table; a grant to a new population says it with rows_per_person "
                "(--rows-per-person)")
    return rows_per_person * (2 if protects.neighbours == "replace-one" else 1)  # [rows]


def change_of(claim: Mapping[str, Any]) -> Change | None:
    """The change that the terms of a release name; None where they name none.

    >>> change_of({"claim": {"unit": "one row of the table", "neighbours": "add-remove"}})
    Change(unit='row', neighbours='add-remove')
    """
    said = claim.get("claim") if isinstance(claim, Mapping) else None
    if not isinstance(said, Mapping):
        return None
    found = NOUNS.get(str(said.get("unit"))), said.get("neighbours")
    return Change(str(found[0]), str(found[1])) if found[0] and found[1] in NEIGHBOURS else None


def facts(unit: object, neighbours: object, rows_per_person: object) -> dict[str, Any]:
    """What a population protects, as somebody said at its grant; nothing where nobody did.

    >>> facts("person", None, 4)
    {'unit': 'person', 'neighbours': 'replace-one', 'rows_per_person': 4}
    """
    if unit is None:
        if neighbours is not None or rows_per_person is not None:
            raise ParameterError("neighbours or rows_per_person is given without a unit; say unit, "
                                 "too: row or person")
        return {"unit": None, "neighbours": None, "rows_per_person": None}
    neighbours = NEIGHBOURS[0] if neighbours is None else neighbours
    if unit not in ("row", "person"):
        raise ParameterError(f"unit is {unit!r}; write row or person")
    if neighbours not in NEIGHBOURS:
        raise ParameterError(f"neighbours is {neighbours!r}; write replace-one or add-remove")
    if rows_per_person is not None and unit == "row":
        raise ParameterError("rows_per_person is given and the unit is a row; leave it out")
    if rows_per_person is not None and (type(rows_per_person) is not int
                                        or not 1 <= rows_per_person <= LARGEST_ROWS):
        raise ParameterError(f"rows_per_person is {rows_per_person!r}; write a whole number from 1")
    return {"unit": unit, "neighbours": neighbours, "rows_per_person": rows_per_person}


# --- names --------------------------------------------------------------------------------------

def checked_name(name: object, what: str) -> str:
    """A name that a screen can show as it is."""
    plain = isinstance(name, str) and name.isprintable() and name == name.strip()
    if not isinstance(name, str) or not plain or not 1 <= len(name) <= LARGEST_NAME:
        raise ParameterError(f"{what} is {name!r}; write 1 to {LARGEST_NAME} printable "
                             "characters, without a space at either end")
    return name


def check_new_name(name: str) -> None:
    """Refuse a new name that is not in compatibility form, or of letters of several scripts.

    >>> check_new_name("Клиника 2026"), check_new_name("clinic-2026")
    (None, None)
    """
    plain = unicodedata.normalize("NFKC", name)
    if plain != name:
        raise ParameterError(f"population is {name!r}; its letters have a plain form: write "
                             f"{plain!r}")
    # A bare accent or a sign outside of ASCII could be seen as something else, or not at all.
    odd = [c for c in name if not c.isascii() and unicodedata.category(c)[0] not in "LMNP"]
    if odd:
        raise ParameterError(f"population is {name!r}; write letters, digits, punctuation and "
                             "spaces")
    # The first word of a letter's name is its script.
    scripts = {unicodedata.name(c, "UNKNOWN").split()[0]
               for c in name if unicodedata.category(c)[0] == "L"}
    if len(scripts) > 1 and not any(scripts <= mixed for mixed in _TOGETHER):
        raise ParameterError(f"population is {name!r}; its letters are of several scripts "
                             f"({', '.join(sorted(scripts)).lower()}), and a name that looks like "
                             "another one would be a budget of its own: write it in one script")


def check_unlike(name: str, known: Iterable[str]) -> None:
    """Refuse a name that looks like a known one, which it names."""
    for other in known:
        if other != name and alike(other, name):
            raise LedgerError(f"{other}: these people are in the ledger under this spelling, and "
                              f"{name!r} looks like it; use it, for two names would be two "
                              "accounts")


def alike(one: str, other: str) -> bool:
    """Whether two names differ in nothing that people see or say.

    That is capitals, accents, forms, look-alikes, and all that stands between letters.

    >>> alike("Clinic 2026", "clınic_2026"), alike("clinic-1", "cIinic.l"), alike("a-1", "a-2")
    (True, True, False)
    """
    return any(form(_bare(one)) == form(_bare(other)) for form in (_small, _sans, _large))


def _small(name: str) -> str:
    return _bare(name.casefold().translate(_SMALL)).replace("rn", "m")


def _sans(name: str) -> str:
    """As in a typeface whose large I is a small l."""
    return _small(name.replace("I", "l"))


def _large(name: str) -> str:
    return _bare(name.upper().translate(_LARGE)).casefold()


def _bare(name: str) -> str:
    """Without accents, spaces and punctuation, and with plain digits."""
    return "".join(str(unicodedata.digit(c, c)) for c in unicodedata.normalize("NFKD", name)
                   if unicodedata.category(c)[0] not in "MPZ" and c not in "`\u2212")
