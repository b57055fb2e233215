"""Plan: the decisions before rows are read: cost, promise, assumptions, and the functions to run.

A method makes a plan from a domain and options, without rows.  The plan contains two functions, one
for rows and one for noise.  Only `fit.fit` calls them, in the order that protects privacy.

The assumptions of a guarantee follow from the lines `assumes:` and `rests on:` of the proofs.  They
are repeated here, and a test compares both.
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

#: A larger epsilon promises little, and needs `allow_weak`.
WEAK_EPSILON = 10
#: A larger epsilon promises nothing, and is refused.
LARGEST_EPSILON = 1000


@dataclass(frozen=True)
class Cost:
    """A cost: epsilon, exact to 1e-9, and delta, exact to 1e-18.  Pure if delta is 0.

    rho : the cost in concentrated privacy (zCDP), if it is known.

    >>> Cost.of("0.3").units, Cost.of("0.3", delta="1e-6").delta_units
    (300000000, 1000000000000)
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None

    @classmethod
    def of(cls, epsilon: object, *, delta: object = 0, allow_weak: bool = False) -> Cost:
        """Check an epsilon and a delta."""
        value = exact(epsilon, "epsilon")
        if value <= 0:
            raise ParameterError(f"epsilon is {epsilon}; it must be larger than 0")
        if value * EPSILON_UNITS % 1:
            raise ParameterError(f"epsilon is {epsilon}; write at most nine decimals")
        if value > LARGEST_EPSILON:
            raise ParameterError(f"epsilon is {epsilon}; above {LARGEST_EPSILON} there is no "
                                 "protection: choose a smaller one")
        if value > WEAK_EPSILON and not read_flag(allow_weak, "allow_weak"):
            raise ParameterError(f"epsilon is {epsilon}; above {WEAK_EPSILON} the promise is weak: "
                                 "choose a smaller one, or add allow_weak (--allow-weak)")
        also = exact(delta, "delta")
        if not 0 <= also < 1:
            raise ParameterError(f"delta is {delta}; it must be 0, or lie between 0 and 1")
        if also * DELTA_UNITS % 1:
            raise ParameterError(f"delta is {delta}; write at most eighteen decimals")
        return cls(value, also)

    def check_units(self, units: int) -> None:
        """Refuse a delta of 1/n or more, for n units: it would allow releasing one unit's rows.

        >>> Cost.of(1, delta="1e-6").check_units(5000)
        """
        if self.delta and self.delta * units >= 1:
            raise ParameterError(f"delta is {self.delta_text}, which is too large for {units} "
                                 f"units: from 1/{units} it would allow releasing all rows of a "
                                 "unit; choose a much smaller delta, such as 1e-9")

    @property
    def account(self) -> str:
        """Return the kind of promise: "pure", or "approximate" if there is a delta."""
        return "approximate" if self.delta else "pure"

    @property
    def units(self) -> int:
        """Return integer units of 1e-9, rounded up: a charge is never too small."""
        return -(-self.epsilon * EPSILON_UNITS // 1)

    @property
    def delta_units(self) -> int:
        """Return integer units of 1e-18, rounded up."""
        return -(-self.delta * DELTA_UNITS // 1)

    @property
    def rho_units(self) -> int | None:
        """Return integer units of 1e-12, rounded up; None if rho is not known.

        A pure release spends at most epsilon^2 / 2.

        >>> Cost.of(1).rho_units, Cost.of(1, delta="1e-6").rho_units
        (500000000000, None)
        """
        known = [self.rho] if self.rho is not None else []
        if not self.delta:
            known.append(self.epsilon**2 / 2)
        return min(TOP, -(-min(known) * RHO_UNITS // 1)) if known else None

    @property
    def text(self) -> str:
        """Return epsilon as an exact decimal text.

        >>> Cost.of("0.50").text
        '0.5'
        """
        return decimal(self.units)

    @property
    def delta_text(self) -> str:
        """Return delta as an exact decimal text.

        >>> Cost.of(1, delta="1e-6").delta_text, Cost.of(1).delta_text
        ('0.000001', '0')
        """
        return decimal(self.delta_units, DELTA_UNITS)

    @property
    def words(self) -> str:
        """Return epsilon in words, and delta if there is one.

        >>> Cost.of(1, delta="1e-6").words, Cost.of(1).words
        ('epsilon 1 and delta 0.000001', 'epsilon 1')
        """
        return f"epsilon {self.text}" + (f" and delta {self.delta_text}" if self.delta else "")


class NoiseSize(NamedTuple):
    """The size of noise and its unit of measurement; a privacy unit is a row, a line or a person.

    "units on a score" : privacy units that would move a column's score by the scale of the noise
    "units on the weights" : privacy units that would move the weights by the length of the noise
    "units on a count" : the mean of each geometric half of the noise on a count
    "on a weight" : the standard deviation on one weight of a formula
    "half ranges on an answer" : the standard deviation on an answer, in half ranges of the target
    """

    amount: Fraction
    unit: Literal["units on a score", "units on the weights", "units on a count", "on a weight",
                  "half ranges on an answer"]


#: The format of a certificate, which states the promise and its charge.
FORMAT = "privsieve-certificate/1"
#: The protected unit, in words.  A record of a CSV file is a line: a cell with line breaks has
#: several.
UNIT = {"row": "one row of the table", "line": "one line of the file",
        "person": "one person with all their rows"}
#: The noun of each unit in texts: a line of a file is a row of it.
NOUNS = {words: "person" if key == "person" else "row" for key, words in UNIT.items()}
PLURALS = {"row": "rows", "person": "people"}
_NEIGHBOURS = {"replace-one": "Replacing", "add-remove": "Adding or removing"}
#: The result of each kind of release, singular and plural.
_RESULT = {
    "selection": ("set", "sets"),
    "weights": ("vector of weights", "vectors of weights"),
    "regression": ("model", "models"),
    "histogram": ("table of counts", "tables of counts"),
}
#: The kinds of releases that cost epsilon.
KINDS = tuple(_RESULT)
#: Every assumption that a proof may name, in a sentence.
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


#: The most characters of a query; longer queries need a view.
LONGEST_QUERY = 4000


class Takes(NamedTuple):
    """The estimated seconds of one core and bytes of memory of a run, by declared sizes.

    The bytes are those of the work on rows.  They exclude rows that may be in a file, and the
    buffers of reading, which `rows.batch` adds.

    stages : for each stage that adds up batches of rows, its shared bytes and those of each thread.
    whole : bytes if all rows are in memory at once; 0 if they never are.
    rows : bytes of rows that are kept, in memory or in a file.
    """

    seconds: float
    stages: tuple[tuple[int, int], ...] = ((0, 0),)
    whole: int = 0
    rows: int = 0

    def parts(self, jobs: int) -> int:
        """Return the bytes of adding up batches; one result waits beside those of the threads."""
        return max((all_ + each * (jobs + (jobs > 1)) for all_, each in self.stages), default=0)

    @property
    def bytes(self) -> int:
        """Return the bytes of one thread that keeps everything in memory."""
        return self.whole or self.parts(1) + self.rows


@dataclass(frozen=True, repr=False)
class Plan(Printed):
    """Public facts, a cost, and two functions.

    summarise : (batches, key) -> summary
        turns rows into integers that add up; `key` is a fresh secret for tie orders without data.
    mechanism : (summary, noise) -> output
        the only function with noise; its output is released.
    says : (output) -> the fields of the release; None if the output is selected positions.
    record : a record of the source: a row of a table, or a line of a file.
    query : the SQL query whose rows are the table; its author answers for rows that it leaves out.
    options : the options of the caller, as texts of JSON: `verify` plans again from them.
    shows : facts about the choice that are known before rows are read.
    certain : the positions that a choice without cost selects; None for all.
    takes : an estimate of time and memory, if there is one; the release does not contain it.
    reads : the domain that codes the rows, if it is not the declared one.
    branch_of : (noisy class counts) -> the name of the next branch, if the plan has branches.
    """

    method: str  # name/version
    kind: str  # what the release is: "selection"
    domain: Domain
    cost: Cost
    units: int  # the public number of rows or persons
    settings: Mapping[str, Json]
    noise: NoiseSize
    forecast: Mapping[str, Json]
    warning: str | None
    theorem: str
    assumes: tuple[str, ...]
    event: Event  # for an accountant
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
        """Return the domain that codes the rows."""
        return self.reads or self.domain

    @property
    def holds(self) -> bool:
        """Return whether the summary keeps codes of all rows; else one pass adds them up."""
        return holds_rows(self.summarise)

    @property
    def chooses(self) -> bool:
        """Return whether it releases names of columns only."""
        return self.kind == "selection"

    @property
    def protected(self) -> Literal["row", "line", "person"]:
        """Return the protected unit, by the name that the source gives it."""
        return "person" if self.domain.unit == "person" else self.record

    @property
    def noun(self) -> str:
        """Return the protected unit in texts: a row or a person."""
        return NOUNS[UNIT[self.protected]]

    def plot(self, ax: Any = None) -> Any:
        """Draw the forecast, with Matplotlib (the extra `plot`)."""
        return load("export", "plan").from_plan(self).plot(ax)

    def json(self) -> dict[str, Json]:
        """Return the plan as a release and a certificate store it."""
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
    """Return the number of columns that the noise selects.

    >>> sought({"k": 3, "always": ["age"]})
    2
    """
    return int(settings["k"]) - len(settings.get("always") or ())


# --- the promise ----------------------------------------------------------------------------------

def terms(plan: Plan, software: Mapping[str, str]) -> dict[str, Json]:
    """Return the promise of a plan, which `Ledger.reserve` stores with the charge."""
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


def conversion(charged: Mapping[str, Any], terms: Mapping[str, Any]) -> str | None:
    """Describe a converted charge in a sentence; return None if it was not converted."""
    if charged["factor"] == "1":
        return None
    claim, rows = terms["claim"], charged["rows_per_person"]
    same = rows is None or claim["unit"] == charged["unit"]
    most = "" if same else f" with up to {rows} rows"
    return (f"charged {charged['factor']} times: the release protects {unit_text(claim['unit'])} "
            f"({claim['neighbours']}), but the budget protects {unit_text(charged['unit'])}{most} "
            f"({charged['neighbours']})")


def unit_text(unit: str) -> str:
    """Return the unit of a claim as texts name it: a line of a file is a row of it."""
    return unit.replace("line of the file", "row of the file")


def sentence(certificate: Mapping[str, Any]) -> str:
    """Return the claim in one plain sentence.

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
    # With a delta, the sum over several results may grow by delta once, not each result.
    return (f"{changes}collection of released {results} by a factor of at most {times}, and by at "
            f"most {claim['delta']} beyond that.")
