r"""Prose: parts of a document from a file of words, with values filled in.

A file has blocks, each under its name in brackets, with a part of the document in each line:

    ## key | title | link | frame     a section        ### title         a heading in it
    words | exact term                a paragraph      ~ words           a note
    - words                           a list           > words           lines to type
    = caption | note                  facts, then      + label | words | what a person fills in
    $ part | part                     a formula        %left %right %end two sides, side by side
@name, -@name, +@name             parts, points or facts of a value, or parts of a block
    @@name                            the same between two sections

`{name}` is a value or a block; `{a.b}` is an attribute of it; `{a#}` is its length;
`{a!n}` is a name, `{a!x}` a digest; `{a? yes || no}` is one text or the other, and `{a>1? yes}`,
too.  A value is a text from outside unless it is a `Text`.  A line that begins with `?a`, `?!a` or
`?a=b` is used only if that is so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from privsieve.telling.document import (
    Beside,
    Bullets,
    Code,
    Fact,
    Facts,
    Heading,
    Paragraph,
    Part,
    Section,
    Text,
    literal,
    name,
    names,
)

_WHAT = r"([\w.]+)(#?)(?:(!?=|>=?|<=)([\w-]+))?"
FIELD = re.compile(_WHAT + r"(?:!([nx])|(\?))?")
GUARD = re.compile(rf"\?(!?){_WHAT} ")

_COMPARED: dict[str, Callable[[Any, str], bool]] = {
    "=": lambda value, to: str(value) == to, "!=": lambda value, to: str(value) != to,
    ">": lambda value, to: value > int(to), ">=": lambda value, to: value >= int(to),
    "<=": lambda value, to: value <= int(to)}


@cache
def blocks(*files: Path) -> dict[str, tuple[str, ...]]:
    """Return the lines of each block of some files; a later file overrides an earlier one."""
    chunks = [chunk.partition("]\n") for file in files for chunk in
             re.split(r"(?m)^\[(?=\w+\]$)", file.read_text(encoding="utf-8"))[1:]]
    return {head: tuple(line for line in text.split("\n") if line) for head, _, text in chunks}


def split(text: str, between: str, most: int = 0) -> list[str]:
    """Split a text at a separator that is outside of all fields.

    >>> split("a | {b? c | d} | e", " | ")
    ['a', '{b? c | d}', 'e']
    """
    pieces: list[str] = []
    depth = start = 0
    for at, sign in enumerate(text):
        depth += (sign == "{") - (sign == "}")
        if not depth and text.startswith(between, at) and (not most or len(pieces) < most):
            pieces.append(text[start:at])
            start = at + len(between)
    return [*pieces, text[start:]]


def fields(text: str) -> Iterator[tuple[str, str]]:
    """Yield each text before a field, and the content of the field.

    >>> list(fields("a {b? {c}}!"))
    [('a ', 'b? {c}'), ('!', '')]
    """
    depth = start = 0
    before = ""
    for at, sign in enumerate(text):
        if sign == "{" and not depth:
            before, start = text[start:at], at + 1
        depth += (sign == "{") - (sign == "}")
        if sign == "}" and not depth:
            yield before, text[start:at]
            start = at + 1
    yield text[start:], ""


class Prose:
    """Files of words, and the values to fill in; a function is called only when it is needed."""

    def __init__(self, known: Mapping[str, Any], *files: Path) -> None:
        self._known, self._blocks = known, blocks(*files)

    def text(self, block: str) -> Text:
        """Return the text of a block."""
        return Text(" ".join(map(self._filled, self._lines(block))))

    def facts(self, block: str) -> list[Fact]:
        """Return the facts of a block: a label, a text, and the exact term."""
        return [Fact(*self._cells(line)) for line in self._lines(block)]

    def parts(self, block: str) -> list[Part]:
        """Return the parts of a block."""
        lines, parts = self._lines(block), list[Part]()
        while lines:
            self._read(lines, parts)
        return parts

    def _lines(self, block: str) -> list[str]:
        """Return the lines whose conditions hold; a section is kept or dropped as a whole."""
        lines, skipped = [], False
        for line in self._blocks[block]:
            holds, rest = True, line
            while guard := GUARD.match(rest):
                holds = holds and bool(self._find(*guard.groups()[1:])) != bool(guard[1])
                rest = rest[guard.end():]
            if rest.startswith(("## ", "@@")):
                skipped = not holds
            if holds and not skipped:
                lines.append(rest)
        return lines

    def _read(self, lines: list[str], parts: list[Part]) -> None:
        """Read the lines of the next part, and append it to `parts`."""
        sign, _, rest = (line := lines.pop(0)).partition(" ")
        if line.startswith("@"):
            parts += self._named(line.lstrip("@"))
        elif sign == "##":
            inner: list[Part] = []
            while lines and not lines[0].startswith(("## ", "@@")):
                self._read(lines, inner)
            key, title, *options = self._cells(rest)
            parts.append(Section(key, title, inner, *options))
        elif sign == "%left":
            sides: tuple[list[Part], list[Part]] = [], []
            for side, end in zip(sides, ("%right", "%end"), strict=True):
                while lines[0] != end:
                    self._read(lines, side)
                lines.pop(0)
            parts.append(Beside(*sides))
        elif sign == "=":
            caption, *note = self._cells(rest)
            parts.append(Facts(caption, self._items("+", lines, self._fact), *note))
        elif sign in ("-", ">") or line.startswith("-@"):
            lines.insert(0, line)
            texts = self._items(line[0], lines, self._filled)
            parts.append(Bullets(texts) if line[0] == "-" else Code(texts))
        else:
            parts.append(self._paragraph(sign, line, rest))

    def _paragraph(self, sign: str, line: str, rest: str) -> Part:
        if sign == "###":
            return Heading(self._filled(rest))
        if sign == "$":
            return Code(self._cells(rest), formula=True)
        if sign == "~":
            return Paragraph(self._filled(rest), quiet=True)
        text, *term = self._cells(line)
        return Paragraph(text, "".join(term))

    def _items(self, sign: str, lines: list[str], read: Callable[[str], Any]) -> list[Any]:
        """Read the next lines of this sign; a line with a name gives all items of that name."""
        values: list[Any] = []
        while lines and lines[0].startswith((f"{sign} ", f"{sign}@")):
            line = lines.pop(0)
            values += [read(line[2:])] if line[1] != "@" else (
                self._find(line[2:]) if line[2:] in self._known else self.facts(line[2:]))
        return values

    def _fact(self, line: str) -> Fact:
        label, text, *asks = [*self._cells(line), ""][:3]
        return Fact(label, text, asks=asks[0] if len(split(line, " | ")) > 2 else None)

    def _named(self, key: str) -> Sequence[Part]:
        if key not in self._known:
            return self.parts(key)
        value: Any = self._find(key)
        if isinstance(value, str):
            return self.parts(value)
        return [value] if hasattr(value, "_fields") else value

    def _cells(self, line: str) -> list[str]:
        return [self._filled(cell) for cell in split(line, " | ")]

    def _filled(self, text: str) -> Text:
        return Text("".join(before + (self._field(field) if field else "")
                            for before, field in fields(text)))

    def _field(self, field: str) -> str:
        head = FIELD.match(field)
        if head is None:
            raise ValueError(f"a field cannot be read: {field}")
        value: Any = self._find(*head.groups()[:4])
        if head[6]:
            yes, *no = split(field[head.end():], " || ", 1)
            return self._filled(yes.removeprefix(" ") if value else "".join(no))
        if head[5]:
            return name(value) if head[5] == "n" else f"`{literal(value)}`"
        return as_text(value)

    def _find(self, path: str, length: str = "", compared: str | None = None, to: str = "") -> Any:
        """Return the value of a name, the text of a block, or the result of a comparison."""
        first, *rest = path.split(".")
        value: Any = self._known[first] if first in self._known else self.text(first)
        value = value() if callable(value) else value
        for key in rest:
            value = value[int(key)] if key.isdigit() else (
                value[key] if isinstance(value, Mapping) else getattr(value, key))
        value = len(value) if length else value
        return _COMPARED[compared](value, to) if compared else value


def as_text(value: object) -> Text:
    """Return a value as text: a number with thousands separators, names, or a text from outside.

    >>> as_text(1200), len(as_text("a")), as_text(Text("*a*"))
    ('1,200', 3, '*a*')
    """
    if isinstance(value, Text):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Text(f"{value:,}")
    return names(value) if isinstance(value, list | tuple) else literal(value)
