"""Change: what is protected, and how many changes of one kind make one of another.

The table stands in `account.proof.md`, Theorem 1, with its proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from privsieve.errors import ParameterError
from privsieve.ledger.certificate import UNIT

NEIGHBOURS = ("replace-one", "add-remove")
#: The most rows that a person may be said to have: as in a domain.
LARGEST_ROWS = 2**40


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
    # A line of a file is a row.
    unit = {words: "person" if key == "person" else "row" for key, words in UNIT.items()}
    found = unit.get(str(said.get("unit"))), said.get("neighbours")
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
