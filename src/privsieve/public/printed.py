"""Printed: a noun that prints itself in a few lines; what does it is imported when one looks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from privsieve.entries import load

if TYPE_CHECKING:
    from privsieve.public.shown import Shown


#: No column of a table is made narrower.
NARROW = 8


def fitted(widths: Sequence[int], room: int) -> list[int]:
    """Widths of columns, two spaces apart, that fit into a line: the widest give way.

    >>> fitted([4, 90, 50], 80), fitted([4, 5], 80)
    ([4, 36, 36], [4, 5])
    """
    found = list(widths)
    while sum(found) + 2 * (len(found) - 1) > room and max(found) > NARROW:
        found[found.index(max(found))] -= 1
    return found


class Printed:
    """Prints as a few lines, and in a notebook as a small table: what is public of it."""

    def _shown(self) -> Shown:
        shown: Shown = load("core", "print")(self)
        return shown

    def __repr__(self) -> str:
        return str(self._shown())

    def _repr_html_(self) -> str:
        return self._shown().html
