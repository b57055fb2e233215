"""Histogram: what the page of a table of counts knows; its words lie in `words/histogram.txt`."""

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

#: More bars of one column than this are left to release.json.
_BARS = 60
#: Labels of a column that stand in a line.
_LABELS = 8


class TableAxis(NamedTuple):
    """A column of the table: a label for each of its cells, and how many units are counted there.

    The counts are sums of released ones, and may be below zero.
    """

    name: str
    labels: Sequence[str]
    counts: Sequence[int]


def histogram(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> Known:
    """What a page of a table of counts knows."""
    known, domain = numbers(release, certificate), release["domain"]
    table, forecast = known["content"].cells, release["forecast"]
    sums = margins(table.shape, table.q, range(prod(table.shape)) if isinstance(table.place, str)
                   else table.place)
    declared = {part["name"]: part for part in (*domain["columns"], domain["target"]) if part}
    axes = [TableAxis(axis, labels(declared.get(axis, {}), table.bins.get(axis), len(counts)),
                      counts) for axis, counts in zip(table.names, sums, strict=True)]
    # how many cells make one sum of a column: at most those that are held
    added = [max(1, min(int(table.many) // len(axis.labels), len(table.q))) for axis in axes]
    product = " × ".join(count(len(axis.labels)) for axis in axes[:MANY])
    error = forecast.get("expected_error")
    return {
        **known, "axes": axes, "listed": listed([axis.name for axis in axes], "cells"),
        "whole": table.place == "all", "cells": int(table.many), "held": len(table.q),
        "product": f"{product} × …" if len(axes) > MANY else product,
        "choice": release["plan"]["settings"].get("choice"),
        "cell_table": DataTable("The cells of each column", (
            "Column", "Its values, or ranges", "Cells"), [
                [name(axis.name), _shortly(axis.labels), count(len(axis.labels))]
                for axis in axes], words=2),
        "bars": [part for axis, many in zip(axes, added, strict=True)
                 for part in _bars(axis, known["noise"].of_sum(many))],
        "sum_noises": [Fact(f"On a sum of {count(many)} cells",
                            f"standard deviation {up(known['noise'].of_sum(many).each)}")
                       for many in sorted(set(added)) if many > 1],
        "moved": "" if error is None else up(100 * number(error)),
    }


def _bars(axis: TableAxis, noise: NoiseFigure) -> Iterator[Part]:
    """A column alone, drawn; what noise made negative is shown as zero."""
    counts = [max(0, one) for one in axis.counts]
    largest = max([*counts, 1])
    yield DataTable(
        f"Rows by {name(axis.name)}",
        (f"Value (standard deviation of the noise: {up(noise.each)})", "Rows"),
        [[Bar(literal(label) if label.strip() else "(empty)", [Piece(0, 100 * held / largest)]),
          noise.shown(Fraction(held), whole=True)]
         for label, held in list(zip(axis.labels, counts, strict=True))[:_BARS]])
    if len(axis.labels) > _BARS:
        yield f"The other {len(axis.labels) - _BARS} stand in release.json."


def _shortly(texts: Sequence[str]) -> str:
    """The first labels, and the last one."""
    shown = ", ".join(map(literal, texts[:_LABELS]))
    return shown if len(texts) <= _LABELS else f"{shown}, … {literal(texts[-1])}"


def margins(shape: Sequence[int], q: Sequence[int], place: Iterable[int]) -> list[list[int]]:
    """For each column the sums over all others, of the cells that are held.

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
    """A label for each cell of a column, from what is public.

    >>> labels({"kind": "flag"}, None, 2), labels({"kind": "number"}, ["0", "5", "10"], 3)
    (['no', 'yes'], ['0 to 5', '5 to 10', 'missing'])
    """
    kind, values = declared.get("kind"), [str(one) for one in declared.get("values", ())]
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
    """An edge as a number in four digits or whole, or as the date that it is."""
    try:
        value = float(text)
    except ValueError:
        return text
    return f"{value:,.0f}" if abs(value) >= 10**4 else f"{value:.4g}"
