"""`privsieve regress`: one least-squares model, from which predictions are free."""

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
    """What a model is asked for."""

    COMMAND: ClassVar[Any] = partial(MethodVerb, methods=(METHOD,))

    method: Any = METHOD


@verb("patients.csv --domain domain.toml --epsilon 1 --kernel linear --unit row "
      "--ledger budget.db --population clinic-2026 --out model")
def command(data: str, asked: RegressOptions, paid: ReleaseOptions) -> None:
    """Fit a least-squares model to DATA under differential privacy, once.

    The target of the domain file is a number with bounds.  The budget is charged before a row is
    read, and is never given back; predictions from DIR are free for ever (`privsieve predict`).
    Columns go to stdout by the length of their weights, the longest first; rbf has none.  What it
    would cost and be worth: privsieve plan --method kernel-ridge.
    """
    words.say("noise", noise(release(data, asked, paid, lines)))


def lines(made: Release) -> Iterator[str]:
    """The columns by the length of their weights; none where features mix all columns."""
    lengths = Released.of(made).lengths()
    if lengths is not None:
        places = sorted(range(len(lengths)), key=lambda j: -lengths[j])
        yield from (f"{made.columns[j]}\t{lengths[j]:.4g}" for j in places)
