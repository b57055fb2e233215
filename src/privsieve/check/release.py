"""Verify what a release says: that it selects what was planned, and holds the numbers of its kind.

The numbers themselves were drawn with fresh noise; nobody can recount them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

#: What leaves is clamped to the integers that a double holds exactly, on grids of doubles.
LARGEST = 2**53
EXPONENTS = range(-1074, 971)
#: How the numbers of a regression's features are called.
#: Instead of a number of columns: all whose released weight is above zero, and at least one.
POSITIVE = "positive"
#: Of "answers" there are queries, and an answer to each.
ANSWERS = "answers"
MAPS = ("linear", "fourier", "cosine", "polynomial", ANSWERS)
#: A column has at most as many cells as codes.
CODES = 65536
CELLS = {"names", "shape", "bins", "place", "q"}
#: A decimal text, as an amount of noise or an answer is told.
_NUMBER = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?")


def checks(kind: str, plan: Mapping[str, Any], release: Mapping[str, Any]) -> dict[str, bool]:
    """What has to hold of a release of this kind, and whether it does.

    >>> found = checks("selection", {"settings": {"k": 1}}, {"columns": ["a"], "selected": []})
    >>> [reason for reason, holds in found.items() if not holds]
    ['the release does not select as many columns as planned']
    """
    selected, columns = _names(release.get("selected")), _names(release.get("columns"))
    found = {"the release selects what is not among its columns, or twice":
             len(set(selected)) == len(selected) and set(selected) <= set(columns)}
    if kind != "regression":
        count = _count(plan.get("settings"), release.get("candidate"))
        if kind == "weights" and count == POSITIVE:
            q = _on_grid(release.get("values")) or []
            count = max(1, sum(weight > 0 for weight in q))
        found["the release does not select as many columns as planned"] = (
            type(count) is int and len(selected) == count)
    numbers = {"weights": _weights, "regression": _regression, "histogram": _histogram}.get(kind)
    if numbers is not None:
        found |= {**numbers(release), "the noise of the release is not a law and an amount":
                  _noise(release.get("noise"))}
    return found


def _names(value: object) -> tuple[str, ...]:
    """A list of names; empty, and so in agreement with no plan, where it is not one."""
    listed = value if isinstance(value, list | tuple) else ()
    return tuple(listed) if all(isinstance(name, str) for name in listed) else ()


def _count(settings: object, candidate: object) -> object:
    """How many columns were to be chosen: by the plan, or by the candidate that a tuning names."""
    if not isinstance(settings, Mapping):
        return None
    candidates = settings.get("candidates")
    if candidates is None:
        return settings.get("k")
    known = isinstance(candidates, list) and type(candidate) is int
    if not known or not 0 <= candidate < len(candidates):  # type: ignore[operator]  # an int by then
        return None
    chosen = candidates[candidate]
    return _count(chosen.get("settings"), None) if isinstance(chosen, Mapping) else None


def _weights(release: Mapping[str, Any]) -> dict[str, bool]:
    q, columns = _on_grid(release.get("values")), _names(release.get("columns"))
    whole = q is None or len(q) == len(columns)
    return {
        _GRID: q is not None,
        "the release does not hold one weight for each column": whole,
        "the release does not select the columns of its largest weights":
            q is None or not whole or _largest(q, columns, _names(release.get("selected"))),
    }


def _largest(q: list[int], columns: tuple[str, ...], selected: tuple[str, ...]) -> bool:
    """Whether no other column has a larger weight, or the same one at an earlier place."""
    best = sorted(range(len(q)), key=lambda j: (-q[j], j))[:len(selected)]
    return {columns[j] for j in best} == set(selected)


def _regression(release: Mapping[str, Any]) -> dict[str, bool]:
    q, features = _on_grid(release.get("values")), release.get("features")
    known = isinstance(features, Mapping) and features.get("map") in MAPS
    return {
        _GRID: q is not None,
        "the release names no known map of features": known,
        "the release does not hold one weight for each feature, or one answer for each query":
            q is None or not known or _whole_model(release, len(q)),
    }


def _whole_model(release: Mapping[str, Any], numbers: int) -> bool:
    if release["features"]["map"] != ANSWERS:
        return bool(release["features"].get("features") == numbers)
    queries, answers = release.get("queries"), release.get("answers")
    return (isinstance(queries, list | tuple) and isinstance(answers, list | tuple)
            and len(queries) == len(answers) and all(map(_number, answers)))


def _histogram(release: Mapping[str, Any]) -> dict[str, bool]:
    cells = release.get("cells")
    if not isinstance(cells, Mapping) or cells.keys() != CELLS:
        return {"the release does not have the fields of a table of cells": False}
    names, selected = _names(cells["names"]), _names(release.get("selected"))
    shape, q = _integers(cells["shape"], 1, CODES), _integers(cells["q"], -LARGEST, LARGEST)
    return {
        # what is tabulated beside the selected columns is the target
        "the table of cells is not one of the selected columns":
            bool(names) and names[:len(selected)] == selected and len(names) <= len(selected) + 1,
        "the shape of the cells is not a number of bins for each column":
            shape is not None and len(shape) == len(names),
        "the bins of the cells are not told by column": isinstance(cells["bins"], Mapping),
        "the counts of the release are not integers that a double holds": q is not None,
        "the release does not hold one count for each of its cells":
            shape is None or q is None or _placed(cells["place"], len(q), _cells(shape)),
    }


_GRID = "the values of the release are not integers on a grid of doubles"


def _on_grid(values: object) -> list[int] | None:
    """The integers of released values; None where they are something else."""
    if not isinstance(values, Mapping) or values.keys() != {"exponent", "q"}:
        return None
    if type(values["exponent"]) is not int or values["exponent"] not in EXPONENTS:
        return None
    return _integers(values["q"], -LARGEST, LARGEST)


def _integers(value: object, low: int, high: int) -> list[int] | None:
    if not isinstance(value, list | tuple):
        return None
    fit = all(type(one) is int and low <= one <= high for one in value)
    return list(value) if fit else None


def _cells(shape: list[int]) -> int | None:
    """How many cells there are; None where their places are beyond what a double holds.

    >>> _cells([4, 3, 2]), _cells([65536] * 4)
    (24, None)
    """
    cells = 1
    for bins in shape:
        cells *= bins
        # a product of as many numbers as a file may hold would never be done
        if cells >= LARGEST:
            return None
    return cells


def _placed(place: object, held: int, cells: int | None) -> bool:
    """Whether so many counts stand at known cells, each once and in order."""
    if cells is None:
        return False
    if place == "all":
        return held == cells
    known = _integers(place, 0, cells - 1)
    return (known is not None and len(known) == held
            and all(one < other for one, other in pairwise(known)))


def _noise(said: object) -> bool:
    return (isinstance(said, Mapping) and said.keys() == {"law", "each"}
            and isinstance(said["law"], str) and _number(said["each"])
            and float(said["each"]) > 0)


def _number(text: object) -> bool:
    return isinstance(text, str) and _NUMBER.fullmatch(text) is not None
