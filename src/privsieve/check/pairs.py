"""For each mode of each method two made-up tables that differ in one unit, to be told apart.

They are public, and worst pairs or near to it: the changed unit moves what the method computes as
far as one unit can.  `privsieve audit` and the tests attack a method on them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.errors import ParameterError
from privsieve.methods import options_of, plan
from privsieve.noise.streams import system
from privsieve.public.domain import Domain
from privsieve.release import said
from privsieve.rows.batch import Batch

TWO = Domain.box(0, 1, columns=2)
TOP = 65535  # the last code of a column
#: Runs on each table that show most of what a pair loses.
RUNS = 3000

#: Codes of both tables, and the label of each row.
Tables = tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16], npt.NDArray[np.int64]]
Made = Callable[[str], "Pair"]


@dataclass(frozen=True)
class Pair:
    """A method's plan but for epsilon, and two neighbouring tables for it."""

    method: str
    domain: Domain
    options: Mapping[str, Any]
    first: Batch
    second: Batch

    def attacked(self, epsilon: object) -> Callable[[Batch], Any]:
        """The method as it is shipped, from rows to what a release says, at this epsilon.

        >>> run = pair("rule-sieve").attacked(1)
        >>> run(pair("rule-sieve").first)["selected"] in (["x0"], ["x1"])
        True
        """
        made = plan(self.method, self.domain, epsilon=epsilon, rows=self.units,
                    allow_weak=True, **self.options)
        noise = system()

        def run(table: Batch) -> Any:
            return said(made, made.mechanism(made.summarise([table], noise.key()), noise))

        return run

    @property
    def runs(self) -> int:
        """How often an audit runs on each table where nobody says a number: public."""
        return RUNS

    @property
    def delta(self) -> float:
        """What is claimed beside epsilon."""
        return float(self.options.get("delta", 0))

    @property
    def units(self) -> int | None:
        """The public number of rows; None where persons are declared, or nobody says a number."""
        public = self.domain.person is None and self.domain.neighbours == "replace-one"
        return len(self.first) if public else None


def pair(method: str, mode: str = "") -> Pair:
    """The pair of a mode of a method; the plain one where none is named.

    >>> len(pair("block-fwell").first), pair("felp").options["beta"]
    (6, 1)
    """
    known = modes(method)
    if mode not in known:
        named = ", ".join(filter(None, known))
        raise ParameterError(f"{method} is attacked in no mode {mode!r}; "
                             + (f"known are: {named}" if named else "leave the mode out"))
    return _made(method)[mode](method)


def modes(method: str) -> tuple[str, ...]:
    """The modes of a method that have a pair; "" is the plain one.

    >>> "joint" in modes("rule-sieve")
    True
    """
    options_of(method)  # refuses a name that is none
    return tuple(_made(method))


def _made(method: str) -> Mapping[str, Made]:
    known: dict[str, Mapping[str, Made]] = {}
    for module in ("pairs_choice", "pairs_numbers"):
        known |= import_module(f"privsieve.check.{module}").PAIRS
    return known[method]



def table(codes: npt.ArrayLike, label: npt.ArrayLike) -> Batch:
    """Rows as the reader would give them; each is a unit."""
    made = np.asfortranarray(np.array(codes, dtype=np.uint16))
    row = np.arange(len(made), dtype=np.uint64)
    return Batch(made, np.array(label, dtype=np.int32), row, row)


def in_two(tables: Callable[[], Tables], **options: Any) -> Made:
    """A pair in two columns of numbers, under a label that stays."""
    def made(method: str) -> Pair:
        first, second, label = tables()
        return Pair(method, TWO, options, table(first, label), table(second, label))

    return made


def of_codes(domain: Domain, first: npt.ArrayLike, second: npt.ArrayLike, **options: Any) -> Made:
    """A pair from two tables of codes, of which the last column is the target."""
    def made(method: str) -> Pair:
        tables = (table(codes[:, :-1], codes[:, -1])
                  for codes in (np.array(first), np.array(second)))
        return Pair(method, domain, options, *tables)

    return made
