"""What `check` says of disclosure: what a group tells of its rows beside who they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from privsieve.cli import words

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from privsieve.containment.disclosure import Disclosure
    from privsieve.containment.labelled import Labelled

#: Of a table with more pairs of different rows nothing is counted: that would take minutes.
MOST_PAIRS = 5 * 10**10


def measured(table: Labelled, absent: npt.NDArray[np.bool_] | None, patterns: int,
             ) -> list[Disclosure] | None:
    """What groups on all columns tell of the target and the sensitive ones; None of large tables.

    absent : the items of which it may be known that a person lacks them.
    """
    from privsieve.containment.disclosure import columns_of, disclosures
    from privsieve.kernels.patterns import Rule

    if not columns_of(table):
        return []
    if patterns**2 > MOST_PAIRS:
        return None
    return disclosures(table, Rule(1, len(table.classes), absent=absent))


def show(told: Sequence[Disclosure] | None) -> None:
    """A table for people: for each column what its worst group tells."""
    if told is None:
        words.show("discloses", "what groups tell of the target was not counted: the table has too "
                                "many different rows; ask of the columns that you would publish "
                                "(--columns)")
    if not told:
        return
    click.echo()
    words.table(("a group tells of", "values", "fewest", "entropy", "share", "t",
                 *(f"at {step}" for step, _ in told[0].above)),
                [_row(one) for one in told])
    click.echo()
    words.show("discloses", "of any group: the fewest values, the least entropy l, the largest "
                            "share of one value, the largest distance t to all rows; and the rows "
                            f"whose group has a share of at least {told[0].above[0][0]}, and of "
                            f"{told[0].above[1][0]}")


def _row(told: Disclosure) -> tuple[str, ...]:
    said = told.json()
    name = told.column if len(told.column) <= _LONGEST else f"{told.column[:_LONGEST - 1]}…"
    return (name, str(told.values), str(told.distinct), _short(str(said["entropy"]), up=False),
            _short(str(said["share"]), up=True), _short(str(said["closeness"]), up=True),
            *(str(rows) for _, rows in told.above))


#: Names are cut here, so that a line fits.
_LONGEST = 18


def _short(text: str, *, up: bool) -> str:
    """A decimal of six digits with three, rounded against ourselves.

    >>> _short("0.666667", up=True), _short("1.889881", up=False), _short("2", up=False)
    ('0.667', '1.889', '2')
    """
    whole, _, part = text.partition(".")
    parts = 1000 * int(whole) + int(f"{part:0<6}") // 1000 + (up and bool(part[3:].strip("0")))
    return f"{parts // 1000}.{parts % 1000:03d}".rstrip("0").rstrip(".")
