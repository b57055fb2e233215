"""Form: what a JSON value may look like, said once.

A declaration of a few frozen classes says every field with its type; what it does not name is
refused.  `fault` checks a value and says where it is not of the form, in declared names alone; it
quotes nothing of the value.  `schema` is the same declaration as JSON Schema, draft 2020-12.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Protocol

from privsieve.frozen import dataclass
from privsieve.public.canonical import LARGEST

#: Names, texts of numbers and digests are shorter.
LONGEST = 512
#: The end of a text in every dialect of patterns; `$` stands before the end of a line, too.
_END = r"(?![\s\S])"
_SPECIAL = str.maketrans({mark: f"\\{mark}" for mark in r"\.^$*+?{}()[]|"})


class Shaped(Protocol):
    """What values may look like."""

    def fault(self, value: object, at: str) -> str | None:
        """The place where a value is not of the form; None where it is."""

    def schema(self) -> dict[str, Any]:
        """The same as JSON Schema."""


@dataclass(frozen=True)
class Text:
    r"""A text, all of which fits a pattern.

    >>> Text("[0-9]+").fault("12", "k"), Text("[0-9]+").fault("12\n", "k"), Text().fault(1, "k")
    (None, 'k', 'k')
    """

    pattern: str = ""
    longest: int = LONGEST

    def fault(self, value: object, at: str) -> str | None:
        """Where it is no such text."""
        fits = (isinstance(value, str) and len(value) <= self.longest
                and (not self.pattern or re.fullmatch(self.pattern, value) is not None))
        return None if fits else at

    def schema(self) -> dict[str, Any]:
        """A string with a pattern."""
        said: dict[str, Any] = {"type": "string", "maxLength": self.longest}
        return said | ({"pattern": f"^(?:{self.pattern}){_END}"} if self.pattern else {})


@dataclass(frozen=True)
class WholeNumber:
    """An integer within limits.

    >>> WholeNumber(1).fault(0, "k"), WholeNumber(1).fault(True, "k"), WholeNumber(1).fault(2, "k")
    ('k', 'k', None)
    """

    low: int = 0
    high: int = LARGEST

    def fault(self, value: object, at: str) -> str | None:
        """Where it is no such integer."""
        return None if type(value) is int and self.low <= value <= self.high else at

    def schema(self) -> dict[str, Any]:
        """An integer with its limits."""
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True)
class OneOf:
    """One of a few listed words, flags or null.

    >>> OneOf(True).fault(1, "complete"), OneOf("a", None).fault(None, "x")
    ('complete', None)
    """

    values: tuple[str | bool | int | None, ...]

    def __init__(self, *values: str | bool | int | None) -> None:
        object.__setattr__(self, "values", values)

    def fault(self, value: object, at: str) -> str | None:
        """Where it is none of them."""
        fits = any(value == one and type(value) is type(one) for one in self.values)
        return None if fits else at

    def schema(self) -> dict[str, Any]:
        """An enumeration."""
        return {"enum": list(self.values)}


@dataclass(frozen=True)
class Several:
    """A list, each part of which has the same form.

    >>> Several(WholeNumber()).fault([1, -1], "q"), Several(WholeNumber(), most=1).fault([1, 1], "")
    ('q[]', '')
    """

    each: Shaped
    least: int = 0
    most: int = LARGEST

    def fault(self, value: object, at: str) -> str | None:
        """Where it is no such list."""
        if not isinstance(value, list | tuple) or not self.least <= len(value) <= self.most:
            return at
        if type(self.each) is WholeNumber and all(
                type(one) is int and self.each.low <= one <= self.each.high for one in value):
            return None  # a table may have a million cells
        inside = f"{at}[]"
        return next(filter(None, (self.each.fault(one, inside) for one in value)), None)

    def schema(self) -> dict[str, Any]:
        """An array of items."""
        most = {} if self.most == LARGEST else {"maxItems": self.most}
        least = {"minItems": self.least} if self.least else {}
        return {"type": "array", "items": self.each.schema(), **least, **most}


@dataclass(frozen=True)
class Row:
    """A list of so many parts, each of a form of its own.

    >>> Row((Text(), WholeNumber())).fault(["a", 1], "x"), Row((Text(),)).fault([], "x")
    (None, 'x')
    """

    parts: tuple[Shaped, ...]

    def fault(self, value: object, at: str) -> str | None:
        """Where it is no such list."""
        if not isinstance(value, list | tuple) or len(value) != len(self.parts):
            return at
        return next(filter(None, (form.fault(one, f"{at}[]") for form, one in zip(
            self.parts, value, strict=True))), None)

    def schema(self) -> dict[str, Any]:
        """An array of prefixed items."""
        size = len(self.parts)
        return {"type": "array", "prefixItems": [one.schema() for one in self.parts],
                "minItems": size, "maxItems": size}


@dataclass(frozen=True)
class Fields:
    """An object with these fields and no others; what is optional may be left out.

    >>> form = Fields({"k": WholeNumber(1)}, {"sure": Text()})
    >>> form.fault({"k": 1, "sure": "0.1"}, "x"), form.fault({"k": 1, "more": 1}, "x")
    (None, 'x: a field that is not declared')
    >>> form.fault({}, "x"), form.fault({"k": 0}, "x")
    ('x.k', 'x.k')
    """

    needed: Mapping[str, Shaped]
    optional: Mapping[str, Shaped] = field(default_factory=dict)

    def fault(self, value: object, at: str) -> str | None:
        """Where it is no such object."""
        if not isinstance(value, Mapping):
            return at
        where = f"{at}." if at else ""
        lacking = next((name for name in self.needed if name not in value), None)
        if lacking is not None:
            return where + lacking
        for name in value:
            form = self.needed.get(name) or self.optional.get(name)
            if form is None:
                return f"{at or 'the file'}: a field that is not declared"
            found = form.fault(value[name], where + name)
            if found is not None:
                return found
        return None

    def schema(self) -> dict[str, Any]:
        """A closed object."""
        each = {name: form.schema() for name, form in {**self.needed, **self.optional}.items()}
        return {"type": "object", "properties": each, "required": list(self.needed),
                "additionalProperties": False}

    def also(self, needed: Mapping[str, Shaped], **optional: Shaped) -> Fields:
        """The same with more fields."""
        return Fields({**self.needed, **needed}, {**self.optional, **optional})


@dataclass(frozen=True)
class Named:
    """An object whose fields are names of the file's own, all of the same form.

    >>> Named(WholeNumber(1)).fault({"age": 3}, "bins"), Named(WholeNumber(1)).fault({"a": 0}, "x")
    (None, 'x{}')
    """

    each: Shaped
    name: Text = field(default_factory=Text)
    least: int = 0

    def fault(self, value: object, at: str) -> str | None:
        """Where it is no such object."""
        if not isinstance(value, Mapping) or len(value) < self.least or any(
                self.name.fault(name, at) for name in value):
            return at
        return next(filter(None, (self.each.fault(one, f"{at}{{}}") for one in value.values())),
                    None)

    def schema(self) -> dict[str, Any]:
        """An object of additional properties."""
        return {"type": "object", "propertyNames": self.name.schema(),
                "additionalProperties": self.each.schema(),
                **({"minProperties": self.least} if self.least else {})}


@dataclass(frozen=True)
class Either:
    """Any of several forms.

    >>> Either(OneOf(None), WholeNumber()).fault("x", "rows")
    'rows'
    """

    forms: tuple[Shaped, ...]

    def __init__(self, *forms: Shaped) -> None:
        object.__setattr__(self, "forms", forms)

    def fault(self, value: object, at: str) -> str | None:
        """Where it is of none of them."""
        return None if any(form.fault(value, at) is None for form in self.forms) else at

    def schema(self) -> dict[str, Any]:
        """Any of their schemas."""
        return {"anyOf": [one.schema() for one in self.forms]}


@dataclass(frozen=True)
class ByWord:
    """An object of the form that its own word says.

    >>> form = ByWord("kind", {"flag": Fields({"kind": OneOf("flag")})})
    >>> form.fault({"kind": "flag"}, "x"), form.fault({"kind": "other"}, "x")
    (None, 'x.kind')
    """

    word: str
    forms: Mapping[str, Shaped]

    def fault(self, value: object, at: str) -> str | None:
        """Where it is not of the form of its word."""
        if not isinstance(value, Mapping):
            return at
        said = value.get(self.word)
        form = self.forms.get(said) if isinstance(said, str) else None
        return f"{at}.{self.word}" if form is None else form.fault(value, at)

    def schema(self) -> dict[str, Any]:
        """Any of the forms; their words tell them apart."""
        return {"anyOf": [one.schema() for one in self.forms.values()]}


def sentence(*texts: str, number: str) -> str:
    """A pattern for any of some sentences; # stands for a number.

    >>> bool(re.fullmatch(sentence("about # rows.", number="[0-9]+"), "about 12 rows."))
    True
    """
    return "|".join(text.translate(_SPECIAL).replace("#", f"(?:{number})") for text in texts)

