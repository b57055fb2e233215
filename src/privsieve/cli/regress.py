"""`privsieve regress`: one least-squares model; predictions from it are free."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from privsieve.cli import words
from privsieve.cli.options import MethodVerb, PlanOptions
from privsieve.cli.releasing import ReleaseOptions, release
from privsieve.cli.verb import verb
from privsieve.methods.ridge.ridge import Released
from privsieve.release import Release
from privsieve.report.plans import noise

METHOD = "kernel-ridge"


@dataclass(frozen=True, kw_only=True)
class RegressOptions(PlanOptions):
    """The options of a model."""

    COMMAND: ClassVar[Any] = partial(MethodVerb, methods=(METHOD,))

    method: Any = METHOD


@verb("patients.csv --domain domain.toml --epsilon 1 --kernel linear --unit row "
      "--ledger budget.db --population clinic-2026 --out model")
def command(data: str, options: RegressOptions, paid: ReleaseOptions) -> None:
    """Fit a least-squares model to DATA under differential privacy.

    The domain file must name a numeric target with bounds.  The budget is charged before a row is
    read, and is never refunded.  Predictions from DIR cost nothing (`privsieve predict`).  Prints
    the columns, largest weight first (not for --kernel rbf, whose features mix all columns).  To
    see cost and noise first: privsieve plan --method kernel-ridge.
    """
    words.say("noise", noise(release(data, options, paid, lines)))


def lines(model: Release) -> Iterator[str]:
    """Yield the columns by the length of their weights; none if features mix all columns."""
    lengths = Released.of(model).lengths()
    if lengths is not None:
        order = sorted(range(len(lengths)), key=lambda j: -lengths[j])
        yield from (f"{model.columns[j]}\t{lengths[j]:.4g}" for j in order)
