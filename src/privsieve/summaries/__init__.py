"""Rows meet a summary: monoids over batches, integers only.

Any cut of the rows into parts gives the same scores.  Nothing here knows an epsilon or a noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Protocol, Self, TypeVar


class Summary(Protocol):
    """The sum of rows: of(A ++ B) = of(A) + of(B), for any cut.  Private; it has no repr.

    A dataclass that inherits from it adds up field by field: class by class in a tuple, entry by
    entry in a mapping; a field that the plan does not want is None.
    """

    def __add__(self, other: Self, /) -> Self:
        both = ((getattr(self, field.name), getattr(other, field.name))
                for field in fields(self))  # type: ignore[arg-type]  # a dataclass
        return type(self)(*(_sum(mine, others) for mine, others in both))


S = TypeVar("S", bound=Summary)


def _sum(mine: Any, others: Any) -> Any:
    if mine is None or others is None:
        return None
    if isinstance(mine, tuple):
        return tuple(a + b for a, b in zip(mine, others, strict=True))
    if isinstance(mine, Mapping):
        return {name: entry + others[name] for name, entry in mine.items()}
    return mine + others
