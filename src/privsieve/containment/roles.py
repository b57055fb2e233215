"""Roles: what a stranger may know of each column, and what must not be learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from privsieve.public.canonical import Json

if TYPE_CHECKING:
    from privsieve.rows.matrix import Items


@dataclass(frozen=True)
class Roles:
    """The role of each column of a table, by its name there.

    presences : may be known, as far as a row has something; counts toward k.
    both : may be known, present or absent: whoever knows the value of a category, number or date
        knows all of its items; counts toward k.
    sensitive : must not be learned; it does not count toward k.
    target : what columns are chosen for; `target_known`: it is published, and counts toward k.
    """

    presences: tuple[str, ...] = ()
    both: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    target: str | None = None
    target_known: bool = False

    def absent(self, items: Items) -> npt.NDArray[np.bool_] | None:
        """The items of which absences count, as `Rule.absent` takes them; None for none."""
        both = set(self.both)
        found = np.array([name in both for name in items.origin], np.bool_)
        return found if found.any() else None

    def json(self) -> dict[str, Json]:
        """What a claim says of them."""
        return {"presences": list(self.presences), "both": list(self.both),
                "sensitive": list(self.sensitive), "target": self.target,
                "target_known": self.target_known}
