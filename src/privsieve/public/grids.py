"""Grids: what of a number's declaration decides how its values become codes, checked.

Bounds, or a typical centre and spread, make a grid of equal steps.  Without either, and around a
declared `near`, codes are a sign, an octave and 9 bits (`rows.cells.log_linear`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from privsieve.errors import DomainError
from privsieve.public.canonical import quoted

if TYPE_CHECKING:
    from privsieve.public.columns import Number
    from privsieve.public.domain import Domain

#: Codes are unsigned 16-bit integers.
CODES = 65536
#: Most values within so many codes of each other are too few different ones to be compared.
FEW_CODES = 8
#: So many columns are named; and the part of its distance from `near` that a step is at most.
_NAMED, _PART = 3, "0.2 %"
#: Numbers that stand for none.
MOST_CODES = 100
#: How many typical spreads a grid reaches to either side of its centre.
SPREADS = 4


def around(centre: float, spread: float) -> tuple[float, float]:
    """Where the grid of a typical centre and spread begins and ends.

    >>> around(140.0, 5.0)
    (120.0, 160.0)
    """
    return centre - SPREADS * spread, centre + SPREADS * spread


def finite(value: object, name: str, end: str) -> float:
    """Read a public number, which `end` names."""
    if value is None:
        raise DomainError(f"column {name!r}: {end} is missing; write the {end}est value that a "
                          "person could have, from a code book, never from this table (or leave "
                          "both bounds away: RuleSieve needs none)")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or isinstance(value, (bool, str)):
        raise DomainError(f"column {name!r}: {end} is {quoted(value)}; write a finite number")
    # -0.0 equals 0.0, and equal domains have equal digests.
    return number + 0.0


def check_bounds(name: str, low: float, high: float) -> None:
    """Refuse bounds between which there is no grid."""
    said = f"column {name!r}: low is {low:g} and high is {high:g};"
    if not low < high:
        raise DomainError(f"{said} low must be the smaller")
    if not _fits(low, high):
        raise DomainError(f"{said} no grid fits between them: bring them to bounds that a "
                          "value could have")


def typical(part: Number) -> tuple[float, float]:
    """A centre and a spread, checked."""
    given: object = part.typical
    shown = f"column {part.name!r}: typical is {quoted(given)};"
    listed = [] if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__") else [*given]
    if len(listed) != 2 or None in listed:
        raise DomainError(f"{shown} write two numbers, the centre and the spread, for example "
                          "typical = [140, 5]")
    centre, spread = (finite(one, part.name, "a number of typical") for one in listed)
    if spread <= 0:
        raise DomainError(f"{shown} the spread must be above 0")
    if part.near is not None:
        raise DomainError(f"{shown} near says otherwise how values become codes: leave one away")
    low, high = part.reach
    if not low <= centre <= high:
        raise DomainError(f"{shown} the centre must lie within the bounds")
    if not _fits(*around(centre, spread)):
        raise DomainError(f"{shown} no grid fits around it: bring it to what a value could have")
    return centre, spread


def missing_values(part: Number) -> tuple[float, ...]:
    """The numbers that stand for none, checked, each once and in their order."""
    given: object = part.missing_values
    listed = [] if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__") else [*given]
    if (not listed and given not in ((), [])) or None in listed or len(listed) > MOST_CODES:
        raise DomainError(f"column {part.name!r}: missing_values is {quoted(given)}; write a list "
                          f"of at most {MOST_CODES} numbers, for example missing_values = [99]")
    return tuple(sorted({finite(one, part.name, "a missing value") for one in listed}))


def check_scale(part: Number) -> None:
    """Refuse a log scale that has no bounds above 0, or another way to codes beside it."""
    said = f"column {part.name!r}: scale is log and"
    if part.low is None:
        raise DomainError(f"{said} low and high are missing; write both, or leave scale away: "
                          "codes without bounds are finer near 0 anyhow")
    if part.low <= 0:
        raise DomainError(f"{said} low is {part.low:g}; a log scale needs low above 0")
    if part.near is not None or part.typical is not None:
        other = "near" if part.typical is None else "typical"
        raise DomainError(f"{said} {other} says otherwise how values become codes: leave one away")


def demand_grids(domain: Domain) -> None:
    """Refuse a number whose codes have no equal steps, for a method that computes with them."""
    from privsieve.public.columns import Number

    for part in (*domain.columns, domain.target):
        if isinstance(part, Number) and part.gridless:
            raise DomainError(no_grid(part.name))


def no_grid(name: str) -> str:
    """What to do where a method computes with the codes of a number that has no grid.

    >>> no_grid("sodium")[:38]
    "column 'sodium' has no bounds, or has "
    """
    return (f"column {name!r} has no bounds, or has near, so that its codes are no equal steps: "
            "write low and high from a code book, without near, or typical = [centre, spread], "
            "never from this table (RuleSieve takes it as it is)")


def after_coding(domain: Domain) -> str | None:
    """Which gap a forecast means, and which columns cannot be found; None without numbers.

    >>> from privsieve.public.columns import Number
    >>> from privsieve.public.domain import Domain
    >>> after_coding(Domain([Number("age", 0, 110), Number("sodium")]))[-54:]
    'within 0.2 % of their distance from near (0 of sodium)'
    """
    from privsieve.public.columns import Number

    numbers = [column for column in domain.columns if isinstance(column, Number)]
    steps = sorted((column for column in numbers if not column.gridless), key=_width, reverse=True)
    free = [column for column in numbers if column.gridless]
    said = []
    if steps:
        said.append(f"within {FEW_CODES} of {CODES} steps of each other "
                    f"({_named(map(_step, steps))})")
    if free:
        said.append(f"{'or, where codes have no bounds, ' if steps else ''}within {_PART} of their "
                    f"distance from near ({_named(map(_near, free))})")
    if not said:
        return None
    return ("the gap is that of codes, and no forecast knows how many values share one: a column "
            f"cannot be found if most of its values lie {', '.join(said)}")


def _width(column: Number) -> float:
    low, high = column.ends
    return high - low


def _step(column: Number) -> str:
    if column.scale == "log":
        low, high = column.ends
        return f"{100 * ((high / low) ** (FEW_CODES / CODES) - 1):.2g} % of {column.name}"
    step = _width(column) * FEW_CODES / CODES
    return f"{step:{'.0f' if step >= 100 else '.2g'}} of {column.name}"


def _near(column: Number) -> str:
    return f"{column.near or 0:g} of {column.name}"


def _named(words: Iterable[str]) -> str:
    """Some of the columns, the widest steps first."""
    listed = list(words)
    more = len(listed) - _NAMED
    return ", ".join(listed[:_NAMED]) + (f", and {more} more" if more > 0 else "")


def _fits(low: float, high: float) -> bool:
    """Whether a grid of codes fits between two numbers."""
    return 0 < high - low < math.inf and CODES / (high - low) < math.inf


def check_word(part: Any, key: str, words: Sequence[str]) -> None:
    """Refuse an option of a column that is none of its words."""
    value = getattr(part, key)
    if not isinstance(value, str) or value not in words:
        *first, last = (f'"{word}"' for word in words)
        raise DomainError(f"column {part.name!r}: {key} is {quoted(value)}; write "
                          f"{', '.join(first)} or {last}")
