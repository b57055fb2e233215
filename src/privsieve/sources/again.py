"""Again: items that were published before, from a table that is now cut in another way.

What left before has to be counted with what leaves now, whatever k, cut points or levels are asked
for now.  A name says how its item was made: `age`, `age<18`, `age=18..65`, `age>=65`, `ward=A`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privsieve.core.spelling import FLAGS, coded
from privsieve.sources.cells import date_cell, number_cell

if TYPE_CHECKING:
    from collections.abc import Iterable

    from privsieve.sources.coding import Mask
    from privsieve.sources.gather import Coded


def columns_of_item(item: str, columns: Iterable[str]) -> list[str]:
    """The columns that an item of this name may be made of, the longest name first.

    >>> columns_of_item("age=18<5", ["age", "a", "age=18"]), columns_of_item("ages", ["age"])
    (['age=18', 'age'], [])
    """
    fits = [name for name in columns if item == name
            or (item.startswith(name) and item[len(name):].startswith(("<", "=", ">=")))]
    return sorted(fits, key=len, reverse=True)


def item_again(column: Coded, item: str) -> Mask | None:
    """Which distinct cells an item of this name holds; None where none of this name was made.

    >>> from privsieve.sources.gather import Gather
    >>> ages = Gather("age")
    >>> ages.add([17, 30, 70, None])
    >>> item_again(ages.coded(), "age=18..65").tolist()
    [False, True, False, False]
    """
    said, texts = item[len(column.name):], column.texts()
    if not said:
        lower = [text.lower() for text in texts]
        return _mask([FLAGS[text] == 1 for text in lower]) if {*lower} <= FLAGS.keys() else None
    table = coded([said.removeprefix("=")])
    if said.startswith("=") and any(text in table for text in texts):
        return _mask([text in table for text in texts])
    if said == "=missing":
        return np.append(np.zeros(len(texts), np.bool_), True)
    return _between(column, said)


def _between(column: Coded, said: str) -> Mask | None:
    """A bin, or an item of a thermometer."""
    if said.startswith("<"):
        ends = ["", said[1:]]
    else:
        ends = [said[2:], ""] if said.startswith(">=") else said[1:].split("..")
    for one, read in ((column, date_cell if column.dates else number_cell),
                      (column.as_dates(), date_cell)):
        points = [read(end) for end in ends if end]
        numbers = one.numbers() if one.cells else np.zeros(0)
        if len(ends) == 2 and not any(map(np.isnan, points)) and numbers is not None:
            low, high = (read(end) if end else bound
                         for end, bound in zip(ends, (-np.inf, np.inf), strict=True))
            return _mask((numbers >= low) & (numbers < high))
    return None


def _mask(marked: object) -> Mask:
    return np.append(np.asarray(marked, np.bool_), False)
