"""Account: a population's name, the change that it protects, and the sum of its charges.

Two names of the same people would be two budgets.  Names that look alike, or that differ only in
punctuation, therefore count as one name, and names of mixed scripts are refused.

A population protects one change: a row or a person is replaced, or added and removed.  A release
that protects another change is charged several times, once for each step of the population's
change.  With a delta two sums are kept, and a charge is admitted if either fits.  All amounts are
integers; the three functions with a logarithm round to the side of privacy.  `account.proof.md` has
the theorems.
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
# [margin] The digits of a logarithm, and the shift of a result to the side of privacy.
_PRECISION, _MARGIN = 60, Decimal("1e-25")
#: The steps of a search; its end does not matter for privacy.
_STEPS = 60
#: Scripts that one language mixes.
_TOGETHER = (frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"}),
             frozenset({"CJK", "HANGUL"}), frozenset({"CJK", "BOPOMOFO"}))
#: Letters that look like small and capital Latin letters; apostrophes are removed.
_SMALL = str.maketrans("аеѕіјорсухһԁԛԝӏɑɡıαινορυχγωκłøđħŧ", "aesijopcyxhdqwlagiaivopuxywklodht"
                       ) | str.maketrans("01|", "oll", "\u02bc")
_LARGE = str.maketrans("АВЕЅІЈКМНОРСТУХѴԌԚԜҺӀΑΒΕΖΗΙΚΜΝΟΡΤΥΧŁØĐĦŦ",
                       "ABESIJKMHOPCTYXVGQWHIABEZHIKMNOPTYXLODHT"
                       ) | str.maketrans("01|", "OII", "\u02bc")


# --- charges ------------------------------------------------------------------------------------

class Charge(NamedTuple):
    """A cost in units, of epsilon, delta and rho; TOP if it is not known."""

    units: int
    delta: int
    rho: int


class Account(NamedTuple):
    """The limits and charges of a population, in units: a row of the ledger's table.

    Plain sums may use `delta_share` of the delta; the rest is for the sum of rho.
    """

    account: str  # "pure", or "approximate" if a delta was granted
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
        """Return the change that it protects; None until it is declared."""
        if self.unit is None or self.neighbours is None:
            return None
        return Change(self.unit, self.neighbours)

    @property
    def summed(self) -> bool:
        """Return whether the plain sums are within the limits."""
        return self.spent <= self.limit and self.delta_spent <= self.delta_share

    @property
    def concentrated(self) -> bool:
        """Return whether the sum of rho is within its limit."""
        return self.rho_limit > 0 and self.rho_spent <= self.rho_limit

    def plus(self, charge: Charge) -> Account | None:
        """Return the account after a charge; None if the limits do not cover it."""
        after = self._replace(
            spent=min(TOP, self.spent + charge.units),
            delta_spent=min(TOP, self.delta_spent + charge.delta),
            rho_spent=min(TOP, self.rho_spent + charge.rho))
        if self.spent == 0 and (charge.rho == TOP or not _holds(after)):
            # [first] before any release the first charge may choose plain sums
            after = after._replace(delta_share=after.delta_limit, rho_limit=0)
        return after if _holds(after) else None

    @property
    def left(self) -> int:
        """Return the largest epsilon, in units, that one more pure release may cost.

        >>> Account("pure", 10**9, 4 * 10**8).left
        600000000
        """
        plain = self.limit - self.spent if self.delta_spent <= self.delta_share else 0
        # [left] e^2 / 2 in units of 1e-12, rounded up, fits into the remaining rho
        return max(0, plain, isqrt(2 * self.rho_left * EPSILON_UNITS**2 // RHO_UNITS))

    @property
    def rho_left(self) -> int:
        """Return the remaining rho, in units."""
        return max(0, self.rho_limit - self.rho_spent)

    @property
    def delta_left(self) -> int:
        """Return the remaining delta of the plain sums, in units."""
        share = self.delta_limit if self.spent == 0 else self.delta_share
        return max(0, share - self.delta_spent)

    @property
    def together(self) -> int:
        """Return the epsilon of all charges, in units: the smaller of the two sums."""
        if not self.rho_limit or not self.rho_spent:
            return self.spent
        converted = epsilon_of(self.rho_spent, self.delta_limit - self.delta_share)
        return min(self.spent, converted) if self.summed else converted


def _holds(account: Account) -> bool:
    return account.summed or account.concentrated


def granted(limit: int, delta: int) -> Account:
    """Make an account with these limits, in units.

    >>> granted(10**9, 0).rho_limit, granted(10**9, 10**12).delta_share
    (0, 500000000000)
    """
    if not delta:
        return Account("pure", limit)
    # [halves] one half for plain sums, one for the sum of rho
    rho = rho_limit(limit, delta - delta // 2)
    return Account("approximate", limit, delta_limit=delta,
                   delta_share=delta // 2 if rho else delta, rho_limit=rho)


def raised(account: Account, limit: int, delta: int) -> Account:
    """Return the account with higher limits, in units.

    >>> raised(Account("pure", 5, 4), 7, 0).left
    3
    """
    if not account.limit:
        raise LedgerError("this population has no budget yet; run `privsieve ledger grant`")
    if delta and not account.delta_limit:
        raise LedgerError("the account is pure: its releases have epsilon and no delta; raise "
                          "only epsilon")
    if limit < account.limit or delta < account.delta_limit or (
            (limit, delta) == (account.limit, account.delta_limit)):
        raise LedgerError(f"the limit is epsilon {decimal(account.limit)}"
                          + (f" and delta {decimal(account.delta_limit, DELTA_UNITS)}"
                             if account.delta_limit else "")
                          + "; write a larger limit")
    # [raised] the kind of sums was chosen before the first release
    rho = account.rho_limit and max(account.rho_limit, rho_limit(limit, delta - delta // 2))
    return account._replace(limit=limit, delta_limit=delta,
                            delta_share=delta // 2 if rho else delta, rho_limit=rho)


def signed(reason: object, by: object) -> tuple[str, list[Json]]:
    """Check the reason for a higher limit, and the names of its two signers.

    >>> signed("a second study", ["A. Clerk", "B. Board"])[1]
    ['A. Clerk', 'B. Board']
    """
    if not isinstance(reason, str) or not reason.isprintable() or not 1 <= len(reason) <= 1000 or (
            reason != reason.strip()):
        raise ParameterError(f"reason is {reason!r}; write 1 to 1000 printable characters")
    if not isinstance(by, Sequence) or isinstance(by, str) or len(by) != 2:
        raise ParameterError("two people must raise a limit; write two names")
    first, other = (unicodedata.normalize("NFC", checked_name(name, "the name of a signer"))
                    for name in by)
    if alike(first, other):
        raise ParameterError(f"both names are {first!r}, or look like it; write two people")
    return reason, [first, other]


def charge(units: int, delta: int, rho: int | None, factor: int) -> Charge:
    """Return the charge of a release if `factor` of its changes make one of the population's.

    >>> charge(10**9, 0, 5 * 10**11, 2)
    Charge(units=2000000000, delta=0, rho=2000000000000)
    """
    # [group]
    return Charge(min(TOP, factor * units), _group_delta(units, delta, factor),
                  TOP if rho is None else min(TOP, factor**2 * rho))


def protecting(account: Account, change: Change | None) -> tuple[Account, int]:
    """Return the account with its change, and how many changes of a release make one.

    An account without a declared change protects the change of its first release.
    """
    known = account.protects
    if known is None and change is not None and account.spent == 0:
        return account._replace(unit=change.unit, neighbours=change.neighbours), 1
    if known is None and change is None:
        return account, 1
    if known is None or change is None:
        raise BudgetExceeded("this charge and the earlier charges must all declare a privacy unit, "
                             "or none of them; use another population")
    factor = steps(known, account.rows_per_person, change)
    if isinstance(factor, str):
        raise BudgetExceeded(f"the account protects {known.words}, but this release protects "
                             f"{change.words}: {factor}")
    return account, factor


def charged(account: Account, charge_: Charge, factor: int) -> dict[str, Json]:
    """Return a charge as ledger and certificate store it, in the population's change."""
    return {
        "unit": None if account.unit is None else UNIT[account.unit],
        "neighbours": account.neighbours,
        "rows_per_person": account.rows_per_person,
        "factor": str(factor),
        "epsilon": decimal(charge_.units),
        "delta": decimal(charge_.delta, DELTA_UNITS),
        "rho": None if charge_.rho == TOP else decimal(charge_.rho, RHO_UNITS),
    }


def recharged(stated: Mapping[str, Any], rho: str | None, terms: Mapping[str, Any]) -> bool:
    """Return whether a stored charge follows from these terms."""
    claim = terms["claim"]
    own = change_of({"claim": {"unit": stated["unit"], "neighbours": stated["neighbours"]}})
    units = units_of(claim["epsilon"], EPSILON_UNITS)
    delta = units_of(claim["delta"], DELTA_UNITS)
    rho_units = None if rho is None else units_of(rho, RHO_UNITS)
    if own is None or units is None or delta is None or (rho_units is None and rho is not None):
        return False
    with suppress(BudgetExceeded, ValueError):  # a change that accounts cannot protect
        account, factor = protecting(Account("pure", **facts(*own, stated["rows_per_person"])),
                                     change_of(terms))
        return dict(stated) == charged(account, charge(units, delta, rho_units, factor), factor)
    return False


@lru_cache(maxsize=64)  # its keys are public limits, needed whenever a ledger is read
def rho_limit(units: int, delta: int) -> int:
    """Return a rho that implies (epsilon, delta)-DP, the largest known, in units.

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
    """Return an epsilon, in units and rounded up, that rho-zCDP implies with this delta."""
    with localcontext(_arithmetic()):
        spent, log = Decimal(rho) / RHO_UNITS, (Decimal(delta) / DELTA_UNITS).ln()

        def value(t: Decimal) -> Decimal:
            return -((t + 1) * spent - _loss(t, log))  # [epsilon-of-rho]

        best = -max(map(value, _search(value, (-log / spent).sqrt())))
        return min(TOP, max(0, int((best + _MARGIN) * EPSILON_UNITS) + 1))


def _loss(t: Decimal, log: Decimal) -> Decimal:
    """Return the contribution of the delta at order 1 + t."""
    return (log + t.ln() - (t + 1) * (t / (t + 1)).ln()) / t


def _search(value: Callable[[Decimal], Decimal], start: Decimal) -> Iterator[Decimal]:
    """Yield orders near a first guess, by golden section of their logarithm; each is sound."""
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
    """Return the sum of e^(i epsilon) delta over i < factor, in units, rounded up."""
    if factor == 1 or not delta:
        return delta
    if factor * units > 50 * EPSILON_UNITS:
        return TOP  # e^50 times the smallest delta is more than 1
    with localcontext(_arithmetic()):
        epsilon = Decimal(units) / EPSILON_UNITS
        # [geometric] never below delta * factor
        total = delta * ((factor * epsilon).exp() - 1) / (epsilon.exp() - 1)
        return min(TOP, int(total * (1 + _MARGIN)) + 1)


def _arithmetic() -> Context:
    """Return decimal arithmetic of the standard, equal on every machine."""
    return Context(prec=_PRECISION, rounding=ROUND_HALF_EVEN, Emin=-999999, Emax=999999, traps=[])


# --- the protected change -----------------------------------------------------------------------

class Change(NamedTuple):
    """A protected change: a row or a person, and how it changes."""

    unit: str
    neighbours: str

    @property
    def words(self) -> str:
        """Return the change in words.

        >>> Change("row", "add-remove").words
        'one row of the table (add-remove)'
        """
        return f"{UNIT[self.unit]} ({self.neighbours})"


def steps(protects: Change, rows_per_person: int | None, plan: Change) -> int | str:
    """Return how many changes of a plan make one of the population, or an error text.

    >>> steps(Change("row", "replace-one"), None, Change("person", "replace-one"))
    2
    """
    if protects == plan:
        return 1
    kept = protects == Change("row", "replace-one")
    if plan == Change("row", "replace-one"):
        # [size] the public number of rows reveals the change
        return ("its public number of rows reveals whether a person's rows are in the table; "
                + ("name the person column of the table, or " if protects.unit == "person" else "")
                + "declare add-remove with a round number of rows")
    if plan.unit == "person":
        # [moved] a row whose id changes affects two persons
        return (2 if kept else 1) * (2 if plan.neighbours == "add-remove" else 1)
    if kept:
        return 2  # [swap] one row leaves and another enters
    if rows_per_person is None:
        return ("rows_per_person is not declared; name the person column of the table, or grant a "
                "new population with rows_per_person (--rows-per-person)")
    return rows_per_person * (2 if protects.neighbours == "replace-one" else 1)  # [rows]


def change_of(claim: Mapping[str, Any]) -> Change | None:
    """Return the change that the terms of a release protect; None if they name none.

    >>> change_of({"claim": {"unit": "one row of the table", "neighbours": "add-remove"}})
    Change(unit='row', neighbours='add-remove')
    """
    stated = claim.get("claim") if isinstance(claim, Mapping) else None
    if not isinstance(stated, Mapping):
        return None
    change = NOUNS.get(str(stated.get("unit"))), stated.get("neighbours")
    return Change(str(change[0]), str(change[1])) if change[0] and change[1] in NEIGHBOURS else None


def facts(unit: object, neighbours: object, rows_per_person: object) -> dict[str, Any]:
    """Check the change that a grant declares; all fields are None without one.

    >>> facts("person", None, 4)
    {'unit': 'person', 'neighbours': 'replace-one', 'rows_per_person': 4}
    """
    if unit is None:
        if neighbours is not None or rows_per_person is not None:
            raise ParameterError("neighbours or rows_per_person is given without a unit; set "
                                 "unit to row or person")
        return {"unit": None, "neighbours": None, "rows_per_person": None}
    neighbours = NEIGHBOURS[0] if neighbours is None else neighbours
    if unit not in ("row", "person"):
        raise ParameterError(f"unit is {unit!r}; write row or person")
    if neighbours not in NEIGHBOURS:
        raise ParameterError(f"neighbours is {neighbours!r}; write replace-one or add-remove")
    if rows_per_person is not None and unit == "row":
        raise ParameterError("rows_per_person is given, but the unit is a row; leave it out")
    if rows_per_person is not None and (type(rows_per_person) is not int
                                        or not 1 <= rows_per_person <= LARGEST_ROWS):
        raise ParameterError(f"rows_per_person is {rows_per_person!r}; write a whole number from 1")
    return {"unit": unit, "neighbours": neighbours, "rows_per_person": rows_per_person}


# --- names --------------------------------------------------------------------------------------

def checked_name(name: object, what: str) -> str:
    """Return a name that a screen can show as it is; refuse others."""
    plain = isinstance(name, str) and name.isprintable() and name == name.strip()
    if not isinstance(name, str) or not plain or not 1 <= len(name) <= LARGEST_NAME:
        raise ParameterError(f"{what} is {name!r}; write 1 to {LARGEST_NAME} printable "
                             "characters, without a space at either end")
    return name


def check_new_name(name: str) -> None:
    """Refuse a new name with letters of several scripts, or not in compatibility form.

    >>> check_new_name("Клиника 2026"), check_new_name("clinic-2026")
    (None, None)
    """
    plain = unicodedata.normalize("NFKC", name)
    if plain != name:
        raise ParameterError(f"population is {name!r}; it has letters in a special form; write "
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
                             f"({', '.join(sorted(scripts)).lower()}), so it could look like "
                             "another name; write it in one script")


def check_unlike(name: str, known: Iterable[str]) -> None:
    """Refuse a name that looks like a known one."""
    for other in known:
        if other != name and alike(other, name):
            raise LedgerError(f"{other}: the ledger has this population, and {name!r} looks like "
                              "it; write the known name, because two names would be two accounts")


def alike(name: str, other: str) -> bool:
    """Return whether two names look or sound the same to people.

    They may differ in capitals, accents, forms, look-alikes, and signs between letters.

    >>> alike("Clinic 2026", "clınic_2026"), alike("clinic-1", "cIinic.l"), alike("a-1", "a-2")
    (True, True, False)
    """
    return any(form(_bare(name)) == form(_bare(other)) for form in (_small, _sans, _large))


def _small(name: str) -> str:
    return _bare(name.casefold().translate(_SMALL)).replace("rn", "m")


def _sans(name: str) -> str:
    """Return the small form with I read as l, as some typefaces show it."""
    return _small(name.replace("I", "l"))


def _large(name: str) -> str:
    return _bare(name.upper().translate(_LARGE)).casefold()


def _bare(name: str) -> str:
    """Remove accents, spaces and punctuation, and write plain digits."""
    return "".join(str(unicodedata.digit(c, c)) for c in unicodedata.normalize("NFKD", name)
                   if unicodedata.category(c)[0] not in "MPZ" and c not in "`\u2212")
