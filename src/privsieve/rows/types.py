"""Types: which declared types of a column are read as which kinds of the domain.

A container that declares a type has decided it for all rows alike, so that a refusal by it speaks
of no row.  Texts are always taken: each is read alone.  A type is refused where its cells cannot
say what the domain lists: the text was lost before, and one odd cell would bring it back for all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from privsieve.errors import SchemaError
from privsieve.public.canonical import coded, is_whole, reads_flags
from privsieve.public.columns import Category, Column, Date, Flag, Label, Number, Target, text_of
from privsieve.public.domain import Domain

if TYPE_CHECKING:
    from privsieve.rows.source import Shape, Type

_WORDS = {"number": "numbers", "flag": "true and false", "date": "dates",
          "unreadable": "cells that no rule reads (durations, lists, records)"}
_WAY_OUT = ("give the path of the file, or the column as text (pandas: dtype=str), or correct the "
            "domain")


def check_types(domain: Domain, shape: Shape, types: Iterable[Type]) -> None:
    """Refuse a column whose declared type cannot be read as the domain says.

    `types` are those of the domain's columns, in its order, then of its target and its person.
    """
    target = [] if domain.target is None else [domain.target]
    parts: list[Column | Target | str] = [*domain.columns, *target]
    if domain.person is not None:
        parts.append(domain.person)
    for part, kind in zip(parts, types, strict=True):
        if isinstance(part, str):
            if kind == "unreadable":
                raise SchemaError(f"the person {part!r} is a column of {_WORDS[kind]}; {_WAY_OUT}")
        else:
            check_type(part, kind, array=shape.by == "position")


def check_type(part: Column | Target, kind: Type, *, array: bool = False) -> None:
    """Refuse a declared type whose cells cannot be read as a part of the domain."""
    if not reads(part, kind, array=array):
        raise SchemaError(_refusal(part, kind))


def reads(part: Column | Target, kind: Type, *, array: bool = False) -> bool:
    """Whether cells of a declared type are read as a part of the domain.

    `array`: all columns have one type, that the caller chose; its true and false are 1 and 0.

    >>> reads(Category("zip", ["01", "02"]), "number"), reads(Category("n", [1, 2]), "number")
    (False, True)
    """
    if kind in ("text", "other"):
        return True
    if kind == "number":
        return _of_numbers(part)
    if kind == "flag":
        if isinstance(part, (Category, Label)):
            return reads_flags(coded([text_of(value) for value in part.values]))
        return isinstance(part, Flag) or (array and isinstance(part, Number))
    return kind == "date" and isinstance(part, Date)


def _of_numbers(part: Column | Target) -> bool:
    if isinstance(part, (Category, Label)):
        return all(is_whole(text_of(value)) for value in part.values)
    if isinstance(part, Date):
        # A year in front keeps its zeros: 20200601 is the text that the format reads.
        return (part.format is not None and part.format.startswith("%Y")
                and is_whole(part.low.strftime(part.format)))
    return True


def _refusal(part: Column | Target, kind: Type) -> str:
    what = "target" if isinstance(part, Label) else "column"
    said = f"{what} {part.name!r} holds {_WORDS[kind]} by its type, and the domain says {part.kind}"
    if kind == "number" and isinstance(part, (Category, Label)):
        odd = next(text for value in part.values if not is_whole(text := text_of(value)))
        said += f" with the value {odd!r}, which no number says"
    return f"{said}; {_WAY_OUT}"
