"""Terminal: any document as lines of at most 79 columns.

Each text is made visible here: what a terminal would obey is written out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap

from privsieve.public.canonical import visible
from privsieve.telling.document import (
    Bar,
    Bullets,
    Code,
    DataTable,
    Document,
    Fact,
    Facts,
    Heading,
    Paragraph,
    Part,
    Renderer,
    Section,
    shortened,
    spans,
)

WIDTH = 79
#: No column of a table is made narrower, and no label shorter.
NARROW, _LABEL = 8, 9
#: Rows of a table that a brief text shows; of more only the number is said.
FEW = 6


def lines(document: Document, *, brief: bool = False, bold: bool = False) -> str:
    """The document as text; a brief one shows the first rows of tables, and cuts what is long.

    >>> print(lines(Document("Thing: one part", [Fact("cost", "1")], [
    ...     DataTable("", ["part", "is"], [["a", "1"], ["bc", "2"]], words=2)]), brief=True))
    Thing: one part
      cost  1
      part  is
      a     1
      bc    2
    """
    document = shortened(document, FEW) if brief else document
    told = _Lines(brief=brief, bold=bold)
    head = [document.private, document.notice, document.title]
    shown = [told.strong(short(shown_text(text), WIDTH)) for text in head[::2] if text]
    shown[1:1] = told.wrapped(document.notice) if document.notice and not brief else []
    return "\n".join([*shown, *told.facts(document.facts), *told.parts(document.parts),
                      *([] if brief or not document.closing else told.wrapped(document.closing))])


def table_lines(table: DataTable, *, bold: bool = False) -> Iterator[str]:
    r"""A table alone.

    >>> print(*table_lines(DataTable("", ("population", "left"), [
    ...     ("all who came to the north, " * 3, "1")], words=0)), sep="\n")
      population                                                               left
      all who came to the north, all who came to the north, all who came to       1
      the north,
    >>> print(*table_lines(DataTable("", ("request", "digest"), [
    ...     ("ab" * 16, "cd" * 32)])), sep="\n")
      request  abababababababababababababababab
      digest   cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd
    """
    return _Lines(brief=False, bold=bold).table(table)


def shown_text(text: str) -> str:
    """A text without signs, and with nothing that a terminal obeys.

    >>> shown_text("**a**")
    'a'
    """
    found = []
    for kind, inner, _ in spans(text):
        if kind in ("name", "literal", "text"):
            found.append(visible(inner.replace("\n", "\\n" if kind == "name" else " ")))
        else:
            found.append({"tick": "[ ] ", "break": " "}.get(kind) or shown_text(inner))
    return "".join(found)


def short(text: str, most: int) -> str:
    """A text that is cut where it is long."""
    return text if len(text) <= most else f"{text[:most - 1]}…"


def fitted(widths: Sequence[int], room: int) -> list[int]:
    """Widths of columns, two spaces apart, that fit into a line: the widest give way.

    >>> fitted([4, 90, 50], 80), fitted([4, 5], 80)
    ([4, 36, 36], [4, 5])
    """
    found = list(widths)
    while sum(found) + 2 * (len(found) - 1) > room and max(found) > NARROW:
        found[found.index(max(found))] -= 1
    return found


class _Lines(Renderer):
    """How the parts of a document become lines."""

    def __init__(self, *, brief: bool, bold: bool) -> None:
        self._brief, self._bold = brief, bold

    def strong(self, text: str) -> str:
        """A text that stands out."""
        return f"\x1b[1m{text}\x1b[0m" if self._bold else text

    def wrapped(self, text: str, first: str = "  ", indent: str = "  ") -> list[str]:
        """A text in lines that fit."""
        return wrap(shown_text(text), WIDTH, initial_indent=first, subsequent_indent=indent,
                    break_on_hyphens=False) or [first.rstrip()]

    def facts(self, facts: Sequence[Fact], indent: str = "  ") -> Iterator[str]:
        """Facts, each with its label before it; a long label stands above."""
        labels = [shown_text(fact.label) for fact in facts]
        width = min(max([_LABEL * (not self._brief), *map(len, labels)]), WIDTH // 3)
        for label, fact in zip(labels, facts, strict=True):
            blank = "" if fact.asks is None else f" {fact.asks or 'To be filled in'}: ____"
            text = f"{fact.text}{f' ({fact.term})' if fact.term else ''}{blank}"
            head = f"{indent}{label:<{width}}  "
            if len(label) > width:
                yield from wrap(label, WIDTH, initial_indent=indent, subsequent_indent=indent)
                head = " " * len(f"{indent}{'':<{width}}  ")
            told = self.wrapped(text, head, " " * (len(indent) + width + 2))
            yield told[0].replace(head, self.strong(head), 1) if self._bold else told[0]
            yield from told[1:]

    def part(self, part: Part) -> Iterable[str]:
        """The lines of a part, with an empty one before them."""
        shown = list(super().part(part))
        return shown if self._brief or not shown else ["", *shown]

    def show_paragraph(self, part: Paragraph) -> list[str]:
        """The words, and the exact term in brackets."""
        return [*self.wrapped(part.text), *(self.wrapped(f"({part.term})") if part.term else ())]

    def show_bullets(self, part: Bullets) -> list[str]:
        """A line for each point."""
        return [line for item in part.items for line in self.wrapped(item, "  - ", "    ")]

    def show_code(self, part: Code) -> list[str]:
        """The lines to type."""
        return [f"    {shown_text(line)}" for line in part.lines]

    def show_heading(self, part: Heading) -> list[str]:
        """A heading."""
        return list(map(self.strong, self.wrapped(part.text)))

    def show_facts(self, part: Facts) -> list[str]:
        """Each fact with its label."""
        head = self.show_heading(Heading(part.caption)) if part.caption else []
        return [*head, *(self.wrapped(part.note) if part.note else ()), *self.facts(part.facts)]

    def show_section(self, part: Section) -> list[str]:
        """The title, and the parts."""
        return [*map(self.strong, self.wrapped(part.title, "", "")), *self.parts(part.parts)]

    def show_datatable(self, part: DataTable) -> Iterator[str]:
        """A table."""
        return self.table(part)

    def table(self, table: DataTable) -> Iterator[str]:
        """A table; where that would break a word, a line for each cell of each row."""
        if table.caption:
            yield from map(self.strong, self.wrapped(table.caption, "", ""))
        rows = [table.head, *table.rows]
        cells = [[shown_text(cell.label if isinstance(cell, Bar) else cell) for cell in row]
                 for row in rows]
        widest = [max(map(len, column)) for column in zip(*cells, strict=True)]
        width = fitted(widest, WIDTH - 2)
        if self._brief:
            cells = [[short(cell, w) for cell, w in zip(row, width, strict=True)] for row in cells]
        elif any(len(word) > w for column, w in zip(zip(*cells, strict=True), width, strict=True)
                 for cell in column for word in cell.split()):
            yield from self._records(cells[0], cells[1:])
            return
        left = [at < table.words or w < whole for at, (w, whole) in enumerate(
            zip(width, widest, strict=True))]
        for number, row in enumerate(cells):
            for line in _aligned(row, width, left):
                yield line if number else self.strong(line)

    def _records(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
        for number, row in enumerate(rows):
            if number:
                yield ""
            width = min(max(map(len, head)), WIDTH // 3)
            for name, cell in zip(head, row, strict=True):
                label = f"  {short(name, width):<{width}}  "
                first, *rest = wrap(cell, WIDTH - len(label)) or [""]
                yield (self.strong(label) + first).rstrip()
                yield from (" " * len(label) + line for line in rest)


def _aligned(row: Sequence[str], width: Sequence[int], left: Sequence[bool]) -> Iterator[str]:
    """A row in lines: what is too wide goes on below itself."""
    cells = [wrap(cell, w) or [""] for cell, w in zip(row, width, strict=True)]
    for parts in zip_longest(*cells, fillvalue=""):
        yield "  " + "  ".join(part.ljust(w) if to_left else part.rjust(w) for part, w, to_left in
                               zip(parts, width, left, strict=True)).rstrip()
