"""Written: synthetic rows as a CSV file that the domain reads again."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from privsieve.public.columns import Date, Number, text_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from privsieve.methods.histogram.axes import Axis


def as_csv(axes: Sequence[Axis], rows: Mapping[str, npt.NDArray[Any]]) -> bytes:
    r"""Header and rows: commas, points, UTF-8; what is missing is blank.

    >>> from privsieve.public.columns import Flag
    >>> from privsieve.methods.histogram.axes import Axis
    >>> import numpy as np
    >>> as_csv([Axis(Flag("ill")), Axis(Number("age", 0, 110), 8)],
    ...        {"ill": np.array([True, False]), "age": np.array([3.5, np.nan])})
    b'ill,age\n1,3.5\n0,\n'
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([axis.name for axis in axes])
    writer.writerows(zip(*(_texts(axis, rows[axis.name]) for axis in axes), strict=True))
    return out.getvalue().encode()


def _texts(axis: Axis, cells: npt.NDArray[Any]) -> list[str]:
    column = axis.column
    if isinstance(column, Number):
        return ["" if cell != cell else repr(cell) for cell in cells.tolist()]  # noqa: PLR0124  # NaN
    if isinstance(column, Date):
        form = column.format
        return ["" if cell is None else cell.strftime(form) if form else cell.isoformat()
                for cell in cells.astype(object)]
    return ["" if cell is None else text_of(cell) for cell in cells.tolist()]
