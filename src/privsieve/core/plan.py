"""Plan: all that is decided before a row is read.

A selector writes `plan(domain, …) -> Plan` and never sees rows.  What happens with rows and noise
is two functions that the plan carries; `fit.fit` is the one place that calls them, in the one
order that is private.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from fractions import Fraction

    from privsieve.core.batch import Batch
    from privsieve.core.canonical import Json
    from privsieve.core.cost import Cost
    from privsieve.core.domain import Domain


@dataclass(frozen=True)
class Plan:
    """Public facts, a cost, and two functions.

    summarise : (batches, key) -> summary
        rows become integers that add up; `key` is a fresh secret for data-free tie orders.
    mechanism : (summary, noise) -> selected positions
        the only function that meets noise; what it returns leaves.
    """

    method: str  # name/version
    kind: str  # what the release is: "selection"
    domain: Domain
    cost: Cost
    units: int  # public number of rows or persons that shaped the method
    settings: Mapping[str, Json]
    noise: Fraction  # its mean on a column's score, in rows (persons) that would equal it
    forecast: Mapping[str, Json]
    warning: str | None
    theorem: str
    assumes: tuple[str, ...]
    summarise: Callable[[Iterable[Batch], int], Any] = field(repr=False)
    mechanism: Callable[[Any, Any], tuple[int, ...]] = field(repr=False)

    def json(self) -> dict[str, Json]:
        """What a release and a certificate say of the plan."""
        return {
            "method": self.method,
            "epsilon": self.cost.text,
            "delta": self.cost.delta_text,
            "settings": dict(self.settings),
            "units": str(self.units),
        }
