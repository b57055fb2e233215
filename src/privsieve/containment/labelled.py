"""Labelled: a table as containment takes it, with the class of each row and what is sensitive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from privsieve.rows.matrix import Items

    Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class Sensitive:
    """A column that must not be learned: the value of each row.

    codes : for each row the position of its value.
    values : the texts of the values, in their order; a missing cell is the text "missing", last.
    ordered : whether they are numbers or dates, so that some are nearer to each other.
    """

    name: str
    codes: Codes
    values: tuple[str, ...]
    ordered: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Labelled:
    """Items with the class of each row; `target` is the name of the column of classes.

    sources : whose row each is, where a group is k distinct sources; never published.
    sensitive : columns that are not chosen from, and must not be learned.
    counted : positions of items that were published before: they count, whatever is chosen.
    closed : columns of which only these are here, because they are counted; they do not leave now.
    """

    items: Items
    y: Codes
    classes: tuple[Any, ...]
    target: str | None = None
    sources: Codes | None = None
    sensitive: tuple[Sensitive, ...] = ()
    counted: tuple[int, ...] = ()
    closed: tuple[str, ...] = ()
