"""Plan: all that is decided before a row is read.

A selector writes `plan(domain, …) -> Plan` and never sees rows.  What happens with rows and noise
is two functions that the plan carries; `fit.fit` is the one place that calls them, in the one
order that is private.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from privsieve.public.canonical import Json
from privsieve.public.cost import Cost
from privsieve.public.domain import Domain

if TYPE_CHECKING:
    from privsieve.rows.batch import Batch


@dataclass(frozen=True, order=True)
class NoiseSize:
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


@dataclass(frozen=True)
class Plan:
    """Public facts, a cost, and two functions.

    summarise : (batches, key) -> summary
        rows become integers that add up; `key` is a fresh secret for data-free tie orders.
    mechanism : (summary, noise) -> output
        the only function that meets noise; what it returns leaves.
    says : (output) -> what the release says of it; None where the output is selected positions.
    record : what one record of the source is: a row of a table, or a line of a file.
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
    summarise: Callable[[Iterable[Batch], int], Any] = field(repr=False)
    mechanism: Callable[[Any, Any], Any] = field(repr=False)
    says: Callable[[Any], Mapping[str, Json]] | None = field(default=None, repr=False)
    record: Literal["row", "line"] = "row"

    @property
    def protected(self) -> Literal["row", "line", "person"]:
        """One unit, by the name that the source gives it."""
        return "person" if self.domain.unit == "person" else self.record

    def json(self) -> dict[str, Json]:
        """What a release and a certificate say of the plan."""
        return {
            "method": self.method,
            "epsilon": self.cost.text,
            "delta": self.cost.delta_text,
            "settings": dict(self.settings),
            "units": str(self.units),
        }
