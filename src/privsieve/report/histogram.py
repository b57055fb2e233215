"""Histogram: what the page of a table of counts fills into `words/histogram.txt`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

from privsieve.release import number
from privsieve.report.figures import MANY, count, listed, up
from privsieve.report.frame import Known
from privsieve.report.numbers import NoiseFigure, numbers
from privsieve.telling.document import Bar, DataTable, Fact, Part, Piece, literal, name

#: The page shows at most this many bars of a column; the others are in release.json.
_BARS = 60
#: A line shows at most this many labels of a column.
_LABELS = 8


class TableAxis(NamedTuple):
    """A column of the table: the labels of its cells, and sums of released counts (may be < 0)."""

    name: str
    labels: Sequence[str]
    counts: Sequence[int]


def histogram(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> Known:
    """Return what a page of a table of counts fills in."""
    known, domain = numbers(release, certificate), release["domain"]
    table, forecast = known["content"].cells, release["forecast"]
    sums = margins(table.shape, table.q, range(prod(table.shape)) if isinstance(table.place, str)
                   else table.place)
    declared = {column["name"]: column for column in (*domain["columns"], domain["target"])
                if column}
    axes = [TableAxis(axis, labels(declared.get(axis, {}), table.bins.get(axis), len(counts)),
                      counts) for axis, counts in zip(table.names, sums, strict=True)]
    # how many cells make one sum of a column: at most the released ones
    added = [max(1, min(int(table.many) // len(axis.labels), len(table.q))) for axis in axes]
    product = " × ".join(count(len(axis.labels)) for axis in axes[:MANY])
    error = forecast.get("expected_error")
    return {
        **known, "fixed_sum": known["fixed_units"] and not known["weight"],
        "axes": axes, "listed": listed([axis.name for axis in axes], "cells"),
        "whole": table.place == "all", "cells": int(table.many), "held": len(table.q),
        "product": f"{product} × …" if len(axes) > MANY else product,
        "choice": release["plan"]["settings"].get("choice"),
        "cell_table": DataTable("The cells of each column", (
            "Column", "Its values, or ranges", "Cells"), [
                [name(axis.name), _first_labels(axis.labels), count(len(axis.labels))]
                for axis in axes], words=2),
        "bars": [table for axis, many in zip(axes, added, strict=True)
                 for table in _bars(axis, known["noise"].of_sum(many),
                                    "Weight" if known["weight"] else "Rows")],
        "sum_noises": [Fact(f"Noise on a sum of {count(many)} cells",
                            f"standard deviation {up(known['noise'].of_sum(many).each)}")
                       for many in sorted(set(added)) if many > 1],
        "moved": "" if error is None else up(100 * number(error)),
    }


def _bars(axis: TableAxis, noise: NoiseFigure, head: str) -> Iterator[Part]:
    """Yield a table of bars for one column; negative sums are shown as zero."""
    counts = [max(0, released) for released in axis.counts]
    largest = max([*counts, 1])
    yield DataTable(
        f"{head} by {name(axis.name)}",
        (f"Value (standard deviation of the noise: {up(noise.each)})", head),
        [[Bar(literal(label) if label.strip() else "(empty)", [Piece(0, 100 * held / largest)]),
          noise.text_of(Fraction(held), whole=True)]
         for label, held in list(zip(axis.labels, counts, strict=True))[:_BARS]])
    if len(axis.labels) > _BARS:
        yield f"The other {count(len(axis.labels) - _BARS)} are in release.json."


def _first_labels(texts: Sequence[str]) -> str:
    """Return the first labels and the last one."""
    first = ", ".join(map(literal, texts[:_LABELS]))
    return first if len(texts) <= _LABELS else f"{first}, … {literal(texts[-1])}"


def margins(shape: Sequence[int], q: Sequence[int], place: Iterable[int]) -> list[list[int]]:
    """Return, for each column, the sums of the released cells over all other columns.

    >>> margins([2, 3], [1, 2, 3, 10, 20, 30], range(6)), margins([2, 3], [3, 30], [2, 5])
    ([[6, 60], [11, 22, 33]], [[3, 30], [0, 0, 33]])
    """
    sums: list[list[int]] = []
    held: Iterable[tuple[int, int]] = zip(place, q, strict=True)
    for cells in reversed(shape):
        column, above = [0] * cells, Counter[int]()
        for cell, counted in held:
            outer, level = divmod(cell, cells)
            column[level] += counted
            above[outer] += counted
        sums.append(column)
        held = above.items()
    return sums[::-1]


def labels(declared: Mapping[str, Any], bins: Sequence[str] | None, cells: int) -> list[str]:
    """Return a label for each cell of a column, from its declaration and its bins.

    >>> labels({"kind": "flag"}, None, 2), labels({"kind": "number"}, ["0", "5", "10"], 3)
    (['no', 'yes'], ['0 to 5', '5 to 10', 'missing'])
    """
    kind, values = declared.get("kind"), [str(value) for value in declared.get("values", ())]
    if kind == "flag":
        names = ["no", "yes"]
    elif values:
        names = [*values, *(["other"] if kind == "category" else [])]
    elif bins is not None:
        names = [f"{low} to {high}" for low, high in pairwise(map(_edge, bins))]
        names += ["missing"] * (len(names) < cells)
    else:
        names = [f"bin {at}" for at in range(1, cells + 1)]
    if len(names) != cells:
        raise ValueError("the cells of a column are not those that its domain and bins give")
    return names


def _edge(text: str) -> str:
    """Return an edge as a number of four digits, or as a date."""
    try:
        value = float(text)
    except ValueError:
        return text
    return f"{value:,.0f}" if abs(value) >= 10**4 else f"{value:.4g}"
