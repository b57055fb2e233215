"""Terminal: any document as lines of at most 79 characters.

Control characters in texts are written out, so that a terminal does not obey them.
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
#: The least width of a column, and of a label.
NARROW, _LABEL = 8, 9
#: A brief text shows at most this many rows of a table, and the number of the others.
FEW = 6


def lines(document: Document, *, brief: bool = False, bold: bool = False) -> str:
    """Return a document as text; a brief text shows the first rows of tables and cuts long texts.

    >>> print(lines(Document("Thing: one part", [Fact("cost", "1")], [
    ...     DataTable("", ["part", "is"], [["a", "1"], ["bc", "2"]], words=2)]), brief=True))
    Thing: one part
      cost  1
      part  is
      a     1
      bc    2
    """
    document = shortened(document, FEW) if brief else document
    output = _Lines(brief=brief, bold=bold)
    head = [document.private, document.notice, document.title]
    top = [output.strong(short(shown_text(text), WIDTH)) for text in head[::2] if text]
    top[1:1] = output.wrapped(document.notice) if document.notice and not brief else []
    return "\n".join([*top, *output.facts(document.facts), *output.show_parts(document.parts),
                      *([] if brief or not document.closing else output.wrapped(document.closing))])


def shown_text(text: str) -> str:
    """Return a text without signs and control characters.

    >>> shown_text("**a**")
    'a'
    """
    texts = []
    for kind, inner, _ in spans(text):
        if kind in ("name", "literal", "text"):
            texts.append(visible(inner.replace("\n", "\\n" if kind == "name" else " ")))
        else:
            texts.append({"tick": "[ ] ", "break": " "}.get(kind) or shown_text(inner))
    return "".join(texts)


def short(text: str, most: int) -> str:
    """Cut a text after `most` characters."""
    return text if len(text) <= most else f"{text[:most - 1]}…"


def fitted(widths: Sequence[int], room: int) -> list[int]:
    """Return widths of columns that fit into a line; the widest columns become narrower.

    >>> fitted([4, 90, 50], 80), fitted([4, 5], 80)
    ([4, 36, 36], [4, 5])
    """
    fitting = list(widths)
    while sum(fitting) + 2 * (len(fitting) - 1) > room and max(fitting) > NARROW:
        fitting[fitting.index(max(fitting))] -= 1
    return fitting


class _Lines(Renderer):
    """Renders the parts of a document as lines."""

    def __init__(self, *, brief: bool, bold: bool) -> None:
        self._brief, self._bold = brief, bold

    def strong(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self._bold else text

    def wrapped(self, text: str, first: str = "  ", indent: str = "  ") -> list[str]:
        """Return a text in lines that fit."""
        return wrap(shown_text(text), WIDTH, initial_indent=first, subsequent_indent=indent,
                    break_on_hyphens=False) or [first.rstrip()]

    def facts(self, facts: Sequence[Fact], indent: str = "  ") -> Iterator[str]:
        """Yield facts with their labels; a long label has its own line."""
        labels = [shown_text(fact.label) for fact in facts]
        width = min(max([_LABEL * (not self._brief), *map(len, labels)]), WIDTH // 3)
        for label, fact in zip(labels, facts, strict=True):
            blank = "" if fact.asks is None else f" {fact.asks or 'To be filled in'}: ____"
            text = f"{fact.text}{f' ({fact.term})' if fact.term else ''}{blank}"
            head = f"{indent}{label:<{width}}  "
            if len(label) > width:
                yield from wrap(label, WIDTH, initial_indent=indent, subsequent_indent=indent)
                head = " " * len(f"{indent}{'':<{width}}  ")
            wrapped = self.wrapped(text, head, " " * (len(indent) + width + 2))
            yield wrapped[0].replace(head, self.strong(head), 1) if self._bold else wrapped[0]
            yield from wrapped[1:]

    def show(self, element: Part) -> Iterable[str]:
        """Return the lines of a part after an empty line."""
        rows = list(super().show(element))
        return rows if self._brief or not rows else ["", *rows]

    def show_paragraph(self, element: Paragraph) -> list[str]:
        term = self.wrapped(f"({element.term})") if element.term else ()
        return [*self.wrapped(element.text), *term]

    def show_bullets(self, element: Bullets) -> list[str]:
        return [line for item in element.items for line in self.wrapped(item, "  - ", "    ")]

    def show_code(self, element: Code) -> list[str]:
        return [f"    {shown_text(line)}" for line in element.lines]

    def show_heading(self, element: Heading) -> list[str]:
        return list(map(self.strong, self.wrapped(element.text)))

    def show_facts(self, element: Facts) -> list[str]:
        head = self.show_heading(Heading(element.caption)) if element.caption else []
        note = self.wrapped(element.note) if element.note else ()
        return [*head, *note, *self.facts(element.facts)]

    def show_section(self, element: Section) -> list[str]:
        return [*map(self.strong, self.wrapped(element.title, "", "")),
                *self.show_parts(element.parts)]

    def show_datatable(self, element: DataTable) -> Iterator[str]:
        return self.table(element)

    def table(self, table: DataTable) -> Iterator[str]:
        """Yield a table, or a line for each cell if a word does not fit into its column."""
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
    """Yield the lines of a row; a wide cell continues below."""
    cells = [wrap(cell, w) or [""] for cell, w in zip(row, width, strict=True)]
    for parts in zip_longest(*cells, fillvalue=""):
        yield "  " + "  ".join(cell.ljust(w) if to_left else cell.rjust(w) for cell, w, to_left in
                               zip(parts, width, left, strict=True)).rstrip()
