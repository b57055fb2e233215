"""Plan: all that is decided before a row is read, what it costs, is promised, and assumes.

A selector writes `plan(domain, …) -> Plan` and never sees rows.  What happens with rows and noise
is two functions that the plan carries; `fit.fit` is the one place that calls them, in the one
order that is private.

What a guarantee assumes the proofs say first, in their lines `assumes:` and `rests on:`.  Proofs
are for readers, and no program needs them: what follows from them stands here, and a test holds the
two together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from privsieve.entries import load
from privsieve.errors import ParameterError
from privsieve.public import attackers
from privsieve.public.canonical import (
    DELTA_UNITS,
    EPSILON_UNITS,
    RHO_UNITS,
    TOP,
    Json,
    decimal,
    exact,
    factor,
    read_flag,
)
from privsieve.public.domain import Domain
from privsieve.public.event import Event
from privsieve.public.printed import Printed

#: Above this a claim says little; it needs `allow_weak`.
WEAK_EPSILON = 10
#: Above this it says nothing at all, and is refused.
LARGEST_EPSILON = 1000


@dataclass(frozen=True)
class Cost:
    """A cost: epsilon, exact to 1e-9, and delta, exact to 1e-18.  Pure where delta is 0.

    rho : what the release spends as concentrated privacy (zCDP), where that is known of it.

    >>> Cost.of("0.3").units, Cost.of("0.3", delta="1e-6").delta_units
    (300000000, 1000000000000)
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None

    @classmethod
    def of(cls, epsilon: object, *, delta: object = 0, allow_weak: bool = False) -> Cost:
        """Check an epsilon, and a delta, that a person wrote."""
        value = exact(epsilon, "epsilon")
        if value <= 0:
            raise ParameterError(f"epsilon is {epsilon}; it must be larger than 0")
        if value * EPSILON_UNITS % 1:
            raise ParameterError(f"epsilon is {epsilon}; nine decimals are kept: shorten it")
        if value > LARGEST_EPSILON:
            raise ParameterError(f"epsilon is {epsilon}; above {LARGEST_EPSILON} nothing is "
                                 "promised to anybody")
        if value > WEAK_EPSILON and not read_flag(allow_weak, "allow_weak"):
            raise ParameterError(f"epsilon is {epsilon}; above {WEAK_EPSILON} the promise is weak: "
                                 "choose a smaller one, or say allow_weak (--allow-weak)")
        also = exact(delta, "delta")
        if not 0 <= also < 1:
            raise ParameterError(f"delta is {delta}; it must be 0, or lie between 0 and 1")
        if also * DELTA_UNITS % 1:
            raise ParameterError(f"delta is {delta}; eighteen decimals are kept: shorten it")
        return cls(value, also)

    def check_units(self, units: int) -> None:
        """Refuse a delta of 1/n or more, for n units: it would let one of them out whole.

        >>> Cost.of(1, delta="1e-6").check_units(5000)
        """
        if self.delta and self.delta * units >= 1:
            raise ParameterError(f"delta is {self.delta_text} and {units} units are protected; "
                                 f"above 1/{units} the whole of somebody's rows could be released "
                                 "within the promise: choose a delta far below that, such as 1e-9")

    @property
    def account(self) -> str:
        """What kind of promise it pays for: "pure", or "approximate" where there is a delta."""
        return "approximate" if self.delta else "pure"

    @property
    def units(self) -> int:
        """Integer units of 1e-9, rounded up: a charge is never too small."""
        return -(-self.epsilon * EPSILON_UNITS // 1)

    @property
    def delta_units(self) -> int:
        """Integer units of 1e-18, rounded up."""
        return -(-self.delta * DELTA_UNITS // 1)

    @property
    def rho_units(self) -> int | None:
        """Integer units of 1e-12, rounded up; None where nothing is known of rho.

        A pure release spends at most epsilon^2 / 2, whatever else is known of it.

        >>> Cost.of(1).rho_units, Cost.of(1, delta="1e-6").rho_units
        (500000000000, None)
        """
        known = [self.rho] if self.rho is not None else []
        if not self.delta:
            known.append(self.epsilon**2 / 2)
        return min(TOP, -(-min(known) * RHO_UNITS // 1)) if known else None

    @property
    def text(self) -> str:
        """The decimal text of epsilon, exact.

        >>> Cost.of("0.50").text
        '0.5'
        """
        return decimal(self.units)

    @property
    def delta_text(self) -> str:
        """The decimal text of delta, exact.

        >>> Cost.of(1, delta="1e-6").delta_text, Cost.of(1).delta_text
        ('0.000001', '0')
        """
        return decimal(self.delta_units, DELTA_UNITS)

    @property
    def words(self) -> str:
        """Both, for people; delta where there is one.

        >>> Cost.of(1, delta="1e-6").words, Cost.of(1).words
        ('epsilon 1 and delta 0.000001', 'epsilon 1')
        """
        return f"epsilon {self.text}" + (f" and delta {self.delta_text}" if self.delta else "")


class NoiseSize(NamedTuple):
    """How strong noise is, and in what it is counted; a unit is a row, a line or a person.

    "units on a score" : units that would move a column's score as far as the scale of the law
    "units on the weights" : units that would move the weights as far as the noise is long
    "units on a count" : the mean of each geometric half of the noise on a count
    "on a weight" : the standard deviation on one weight of a formula
    "half ranges on an answer" : the standard deviation on an answer, in half ranges of the target
    """

    amount: Fraction
    unit: Literal["units on a score", "units on the weights", "units on a count", "on a weight",
                  "half ranges on an answer"]


#: Of a certificate, which is what was promised and who paid for it.
FORMAT = "privsieve-certificate/1"
#: What is protected, in words.  A record of a CSV file is a line: whoever puts line breaks into a
#: cell brings in several.
UNIT = {"row": "one row of the table", "line": "one line of the file",
        "person": "one person with all their rows"}
#: The noun of each unit in texts: a line of a file is a row of it.
NOUNS = {words: "person" if key == "person" else "row" for key, words in UNIT.items()}
PLURALS = {"row": "rows", "person": "people"}
_NEIGHBOURS = {"replace-one": "Replacing", "add-remove": "Adding or removing"}
#: What is released, one and several of it, by kind.
_RESULT = {
    "selection": ("set", "sets"),
    "weights": ("vector of weights", "vectors of weights"),
    "regression": ("model", "models"),
    "histogram": ("table of counts", "tables of counts"),
}
#: The kinds of releases that an epsilon was paid for.
KINDS = tuple(_RESULT)
#: Every word that a proof may use, and what it says.
SENTENCES: Mapping[str, str] = {
    "ideal-bits": "The operating system's random numbers cannot be told from coin flips.",
    "ieee-doubles": (
        "Sums, products, quotients and square roots of doubles are rounded as IEEE 754 says, "
        "sums in any order, fused or not; on whole numbers below 2^53 they are exact."),
    "exp-within-4-ulp": "NumPy's exp is within 4 units in the last place of the exact value.",
}


class Chosen(tuple[int, ...]):  # noqa: SLOT001  # a tuple has no room for slots
    """Positions of chosen columns, with further fields of the release.  All of it is released.

    >>> chosen = Chosen((2, 5), branch="pairs")
    >>> chosen, dict(chosen.fields)
    ((2, 5), {'branch': 'pairs'})
    """

    fields: Mapping[str, Json]

    def __new__(cls, columns: Iterable[int], **fields: Json) -> Chosen:
        """Keep the positions, and `fields` of `release.Selection` beside them."""
        chosen = super().__new__(cls, columns)
        chosen.fields = fields
        return chosen


#: Signs of a query at most; a view holds what is longer.
LONGEST_QUERY = 4000


class Takes(NamedTuple):
    """What a run takes, by declared sizes: seconds of one core, and bytes beyond the process.

    Bytes are those of the work on rows that were read; rows that may lie in a file are no part of
    them, and `rows.batch` adds what reading takes.

    stages : of each stage that adds up parts of the rows the bytes of all, and of each thread.
    whole : bytes where all rows are in memory at once instead; 0 where they never are.
    rows : bytes of rows that are kept, in memory or in a file.
    """

    seconds: float
    stages: tuple[tuple[int, int], ...] = ((0, 0),)
    whole: int = 0
    rows: int = 0

    def parts(self, jobs: int) -> int:
        """Bytes on the path by parts; a result more than there are threads waits to be added."""
        return max((all_ + each * (jobs + (jobs > 1)) for all_, each in self.stages), default=0)

    @property
    def bytes(self) -> int:
        """Bytes of one thread that has room for all."""
        return self.whole or self.parts(1) + self.rows


@dataclass(frozen=True, repr=False)
class Plan(Printed):
    """Public facts, a cost, and two functions.

    summarise : (batches, key) -> summary
        rows become integers that add up; `key` is a fresh secret for data-free tie orders.
    mechanism : (summary, noise) -> output
        the only function that meets noise; what it returns leaves.
    says : (output) -> what the release says of it; None where the output is selected positions.
    record : what one record of the source is: a row of a table, or a line of a file.
    query : the text of SQL whose rows the table is; its author answers for what it leaves out.
    options : the options of the caller, as texts of JSON: `verify` plans again from them.
    shows : what a release says of its choice that is known before rows are read.
    certain : the positions that a choice of no cost names; None for all.
    takes : an estimate of time and memory, where there is one; no part of the release.
    reads : the domain by which rows become codes, where that is not the declared one.
    branch_of : (noisy class counts) -> the name of the branch that follows; None where none does.
    """

    method: str  # name/version
    kind: str  # what the release is: "selection"
    domain: Domain
    cost: Cost
    units: int  # public number of rows or persons that shaped the method
    settings: Mapping[str, Json]
    noise: NoiseSize
    forecast: Mapping[str, Json]
    warning: str | None
    theorem: str
    assumes: tuple[str, ...]
    event: Event  # what it does with noise, for an accountant
    summarise: Callable[[Iterable[Any], int], Any] = field(repr=False)
    mechanism: Callable[..., Any] = field(repr=False)
    says: Callable[[Any], Mapping[str, Json]] | None = field(default=None, repr=False)
    record: Literal["row", "line"] = "row"
    query: str | None = None
    options: Mapping[str, Json] = field(default_factory=dict)
    shows: Mapping[str, Json] = field(default_factory=dict, repr=False)
    certain: tuple[int, ...] | None = None
    takes: Takes | None = None
    reads: Domain | None = None
    branch_of: Callable[[Sequence[int]], str] | None = field(default=None, repr=False)

    @property
    def coding(self) -> Domain:
        """The domain by which rows become codes."""
        return self.reads or self.domain

    @property
    def holds(self) -> bool:
        """Whether codes of all rows are kept for the summary; else one pass adds them up."""
        return holds_rows(self.summarise)

    @property
    def chooses(self) -> bool:
        """Whether names of columns are all that it releases."""
        return self.kind == "selection"

    @property
    def protected(self) -> Literal["row", "line", "person"]:
        """One unit, by the name that the source gives it."""
        return "person" if self.domain.unit == "person" else self.record

    @property
    def noun(self) -> str:
        """One unit in texts: a row or a person."""
        return NOUNS[UNIT[self.protected]]

    def plot(self, ax: Any = None) -> Any:
        """Draw the forecast, with Matplotlib (the extra `plot`)."""
        return load("export", "plan").from_plan(self).plot(ax)

    def json(self) -> dict[str, Json]:
        """What a release and a certificate say of the plan."""
        return {
            "method": self.method,
            "epsilon": self.cost.text,
            "delta": self.cost.delta_text,
            "asked": dict(self.options),
            "settings": dict(self.settings),
            "event": self.event.json(),
            "units": str(self.units),
            **({} if self.query is None else {"query": self.query}),
        }


def holds_rows(summarise: object) -> bool:
    """Return whether a summary keeps codes of all rows; else one pass adds them up."""
    return len(getattr(summarise, "stages", "all")) > 1


def sought(settings: Mapping[str, Any]) -> int:
    """How many of the places are raced for.

    >>> sought({"k": 3, "always": ["age"]})
    2
    """
    return int(settings["k"]) - len(settings.get("always") or ())


# --- what is promised -----------------------------------------------------------------------------

def terms(plan: Plan, software: Mapping[str, str]) -> dict[str, Json]:
    """What a plan promises before a row is read: what `Ledger.reserve` keeps with the charge."""
    return {
        "claim": {
            "kind": plan.kind, "account": plan.cost.account, "epsilon": plan.cost.text,
            "delta": plan.cost.delta_text, "unit": UNIT[plan.protected],
            "neighbours": plan.domain.neighbours, "mechanism": plan.method,
            "theorem": plan.theorem, "assumes": list(plan.assumes)},
        "plan": plan.json(),
        "domain_sha256": plan.domain.digest(),
        "software": dict(software),
    }


def conversion(said: Mapping[str, Any], terms: Mapping[str, Any]) -> str | None:
    """A charge that was converted, in a sentence; None where it was not."""
    if said["factor"] == "1":
        return None
    own, rows = terms["claim"], said["rows_per_person"]
    having = f" with up to {rows} rows" if rows is not None and own["unit"] != said["unit"] else ""
    return (f"charged {said['factor']} times: the release protects {unit_text(own['unit'])} "
            f"({own['neighbours']}), and the budget protects {unit_text(said['unit'])}{having} "
            f"({said['neighbours']})")


def unit_text(unit: str) -> str:
    """Return the unit of a claim as texts name it: a line of a file is a row of it."""
    return unit.replace("line of the file", "row of the file")


def sentence(certificate: Mapping[str, Any]) -> str:
    """The claim in one plain sentence.

    >>> sentence({"plan": {}, "claim": {"kind": "selection", "epsilon": "1", "delta": "0",
    ...           "neighbours": "replace-one", "unit": "one row of the table"}})[:63]
    'Replacing one row of the table changes the probability of any r'
    """
    claim = certificate["claim"]
    if claim["kind"] == "containment":
        return attackers.promise(claim)
    result, results = _RESULT.get(claim["kind"], ("result", "results"))
    settings = certificate["plan"].get("settings", {})
    counted = settings.get("class_prior") == "auto" or settings.get("class_share") == "noisy"
    if counted:
        result, results = f"{result} with class counts", f"{results} with class counts"
    changes = (f"{_NEIGHBOURS[claim['neighbours']]} {unit_text(claim['unit'])} changes the "
               "probability of any ")
    times = factor(exact(claim["epsilon"], "epsilon")) or (
        f"e^{claim['epsilon']}, which protects nobody")
    if claim["delta"] == "0":
        return f"{changes}released {result} by a factor of at most {times}."
    # With a delta the sum over several results may grow by delta once, not each of them.
    return (f"{changes}collection of released {results} by a factor of at most {times}, and by at "
            f"most {claim['delta']} beyond that.")
