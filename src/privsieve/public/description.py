"""Description: what a release may say of a chosen column, class by class, with ranges.

A column with levels has counts; a number or date has a count, three quartiles and a mean.  Counts
are integers, and numbers and dates texts.  A figure is three values: the estimate, and from where
to where the table's own figure lies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from privsieve.public.canonical import LARGEST, Json

Figure = tuple[Any, Any, Any]

#: A text of a figure is a number or a date.
LONGEST = 64
#: More classes or levels than these nobody describes.
MOST = 1000
_LEVELS, _NUMBERS = {"levels", "classes"}, {"scale", "classes"}


@dataclass(frozen=True)
class ClassFigures:
    """What is said of a column in one class.

    name : the class; "all" where there are none.
    counts : of each level; or one, of the units that have a value.
    quartiles, mean : of a number or date.
    missing : how many have no value, where that is a level.
    """

    name: str
    counts: tuple[Figure, ...]
    quartiles: tuple[Figure, ...] = ()
    mean: Figure | None = None
    missing: Figure | None = None

    def write(self) -> dict[str, Json]:
        """As a release says it."""
        said: dict[str, Any] = {"class": self.name, "counts": [list(one) for one in self.counts]}
        if self.mean is not None:
            said |= {"quartiles": [list(one) for one in self.quartiles], "mean": list(self.mean)}
        if self.missing is not None:
            said["missing"] = list(self.missing)
        return said

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> Self:
        """What a release says; what is not written here raises."""
        fields = {"class", "counts"} | ({"quartiles", "mean"} if "mean" in said else set())
        if said.keys() - {"missing"} != fields or not isinstance(said["class"], str):
            raise ValueError("a class of a description has other fields")
        figures = [_texts(one) for one in said.get("quartiles", ())]
        if figures and len(figures) != 3:
            raise ValueError("a description has three quartiles")
        return cls(said["class"], tuple(_counts(one) for one in said["counts"]), tuple(figures),
                   _texts(said["mean"]) if "mean" in said else None,
                   _counts(said["missing"]) if "missing" in said else None)


@dataclass(frozen=True)
class Described:
    """What is said of a column.

    levels : their names; None of a number or date.
    scale : "linear", or "log": the mean is then that of logarithms, a geometric mean.

    >>> one = {"levels": ["no", "yes"],
    ...        "classes": [{"class": "0", "counts": [[7, 5, 9], [1, 0, 3]]}]}
    >>> Described.read(one).write() == one
    True
    """

    classes: tuple[ClassFigures, ...]
    levels: tuple[str, ...] | None = None
    scale: str | None = None

    def write(self) -> dict[str, Json]:
        """As a release says it."""
        own: dict[str, Json] = ({"scale": self.scale} if self.levels is None
                                else {"levels": list(self.levels)})
        return {**own, "classes": [one.write() for one in self.classes]}

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> Self:
        """What a release says; what is not written here raises."""
        if said.keys() not in (_LEVELS, _NUMBERS):
            raise ValueError("a description has other fields")
        classes = tuple(ClassFigures.read(one) for one in said["classes"])
        levels = tuple(said["levels"]) if "levels" in said else None
        counts = 1 if levels is None else len(levels)
        if not 0 < len(classes) <= MOST or not 0 < counts <= MOST:
            raise ValueError("a description has no classes or levels, or too many")
        if any(len(one.counts) != counts or (one.mean is None) == (levels is None)
               or len(one.quartiles) != (3 if levels is None else 0) for one in classes):
            raise ValueError("a description lacks a figure")
        if levels is not None and not all(isinstance(one, str) for one in levels):
            raise ValueError("a level is no text")
        if levels is None and said["scale"] not in ("linear", "log"):
            raise ValueError("a scale is linear or log")
        return cls(classes, levels, None if levels is not None else said["scale"])


def descriptions(said: Mapping[str, Any], selected: Sequence[str]) -> dict[str, Described]:
    """All that a release describes, by name, in the order of the names; none beside them."""
    if not said or not set(said) <= set(selected):
        raise ValueError("what is described is not what was chosen")
    return {name: Described.read(said[name]) for name in selected if name in said}


def _counts(said: Sequence[Any]) -> Figure:
    estimate, low, high = _three(said)
    if any(type(one) is not int for one in said) or not 0 <= low <= estimate <= high <= LARGEST:
        raise ValueError("a count of a description is none")
    return estimate, low, high


def _texts(said: Sequence[Any]) -> Figure:
    if any(not isinstance(one, str) or not 0 < len(one) <= LONGEST for one in said):
        raise ValueError("a figure of a description is no text")
    return _three(said)


def _three(said: Sequence[Any]) -> Figure:
    if not isinstance(said, list | tuple) or len(said) != 3:
        raise ValueError("a figure of a description is not three values")
    return said[0], said[1], said[2]
