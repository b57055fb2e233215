"""The options of methods by random blocks, or by public rows, and their readers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from privsieve.errors import ParameterError
from privsieve.methods.method import PrivateMethod
from privsieve.public.domain import Domain
from privsieve.public.option import as_given, declared, integer, option, whole

if TYPE_CHECKING:
    from privsieve.kernels.blocks import Rows

#: The units of a part, whose few megabytes of codes stay in a cache (a part of 65,536 takes almost
#: twice the time), and the largest number of parts.
PART_UNITS, MOST_PARTS = 16_384, 1024
#: Repeats cost no epsilon; beyond 50, or this number of units in all, they bring next to nothing.
ENOUGH_UNITS, MOST_REPEATS = 200_000, 50
SMALLEST_BLOCK, LARGEST_BLOCK, LARGEST_REPEATS = 3, 64, 1000


@declared
class Blocked(PrivateMethod):
    """The options of a method that finds neighbours in random blocks, or among public rows."""

    block: int = option(default=6, read=whole, metavar="M", rare=True,
                        says="the number of rows (or persons) in a block, from 3")
    repeats: Any = option(
        default=None, read=whole, metavar="T", rare=True,
        says="how often the table is divided into blocks; this does not change the cost.  By "
             "default the number of rows decides")
    reference: Any = option(
        default=None, metavar="FILE", read=as_given, rare=True,
        says="public rows with the same columns and labels (a path; in Python also a frame or "
             "(X, y)): each row then finds its neighbours there, not in its block")


def parts_of(units: int) -> int:
    """Return the number of parts of a table.

    >>> parts_of(4000), parts_of(10**6)
    (1, 62)
    """
    return min(MOST_PARTS, -(-units // PART_UNITS))


def part_bytes(units: int, columns: int) -> int:
    """Return the bytes of the rows of one part while they vote: in two orders, and as vectors."""
    return -(-units // parts_of(units)) * 3 * (2 * columns + 64)


class KnownRows(NamedTuple):
    """Public rows of which only the digest is known: enough to plan, not to run."""

    sha256: str


def public_rows(reference: object, domain: Domain) -> Rows | KnownRows:
    """Read public labelled rows as integers on the grid of the domain; each row is a unit."""
    if isinstance(reference, KnownRows):
        return reference
    import numpy as np

    from privsieve.kernels.blocks import Rows
    from privsieve.rows import open_source, resolve
    from privsieve.rows.batch import Batch, batches

    X, y = reference if isinstance(reference, tuple) and len(reference) == 2 else (reference, None)
    by_row = replace(domain, person=None, persons=None, rows_per_person=1, rows=None,
                     neighbours="replace-one")
    source = open_source(X, y, csv=domain.csv)
    resolve(by_row, source.shape(count_rows=False), strict=False)
    read = list(batches(source, by_row, rows=None, entropy=bytes))
    whole = Batch.concat([Batch.empty(len(domain.columns)), *read])
    classes = len(np.unique(whole.label))
    if classes < 2:
        raise ParameterError(f"the reference has {len(whole)} rows of {classes} classes; give rows "
                             "of at least two classes")
    return Rows(np.ascontiguousarray(whole.codes), whole.label, np.arange(len(whole) + 1))


def sizes(units: int, block: object, repeats: object, *, single: bool) -> tuple[int, int]:
    """Return the units of a block and the number of repeats.

    single : whether each unit is compared with public rows, and not in a block
    """
    block = integer(block, "block", SMALLEST_BLOCK, LARGEST_BLOCK)
    if repeats is not None:
        repeats = integer(repeats, "repeats", 1, LARGEST_REPEATS)
    if single:
        if repeats not in (None, 1):
            raise ParameterError(f"repeats is {repeats}; with a reference there are no blocks to "
                                 "repeat, so leave it out")
        if units < 1:
            raise ParameterError("the table has no rows; this method needs at least 1")
        return 1, 1
    if units < 2 * block:
        raise ParameterError(f"the table has {units} rows or persons, and blocks of {block} "
                             f"need at least {2 * block}; choose smaller blocks (at least "
                             f"{SMALLEST_BLOCK}), or another method")
    usual = max(2, min(MOST_REPEATS, -(-ENOUGH_UNITS // units)))
    return block, usual if repeats is None else repeats


def digest_of(reference: Rows | KnownRows) -> str:
    """Return the SHA-256 of the public rows on the grid."""
    if isinstance(reference, KnownRows):
        return reference.sha256
    from privsieve.public.canonical import digest

    codes, label, _ = reference
    shape = ",".join(map(str, codes.shape))
    return digest(shape.encode() + codes.astype("<u2").tobytes() + label.astype("<i4").tobytes())
