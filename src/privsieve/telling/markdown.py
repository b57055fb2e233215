"""Markdown: any document as Markdown text; signs in texts from outside are escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

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
    clean,
    plain,
    spans,
)

#: Signs of any dialect of Markdown.
_SIGNS = re.compile(r"([\\`*_{}\[\]|~@#$])")
#: The longest text and the longest word from outside.
_LARGEST_TEXT, _LARGEST_WORD = 4000, 160
_BLANK = "_" * 20
_TAGS = {"strong": "**{}**", "slanted": "*{}*", "tick": "[ ] ", "break": " "}


def text(document: Document) -> str:
    r"""Return a document as Markdown.

    >>> print(text(Document("F", parts=[Facts("1 Object", [Fact("What", "a_b"),
    ...                                                    Fact("When", asks="")])])))
    # F
    <BLANKLINE>
    ## 1 Object
    <BLANKLINE>
    - **What**: a\_b
    - **When**: ____________________
    <BLANKLINE>
    """
    head = [f"**{_text(document.private)}**", ""] if document.private else []
    notice = [_text(document.notice), ""] if document.notice else []
    facts = [*map(_fact, document.facts), ""] if document.facts else []
    return "\n".join([*head, f"# {_text(document.title)}", "", *notice, *facts,
                      *_Markdown().show_parts(document.parts)])


def table_text(table: DataTable) -> str:
    """Return a table as Markdown."""
    return "\n".join([*_Markdown().show_datatable(table), ""])


def literal(words: str) -> str:
    r"""Escape a text so that Markdown shows it unchanged.

    >>> literal("<b> [x](http://y) a|b")
    '&lt;b&gt; \\[x\\](http\\://y) a\\|b'
    """
    escaped = " ".join(clean(word, _LARGEST_WORD) for word in words[:_LARGEST_TEXT].split(" "))
    escaped = _SIGNS.sub(r"\\\1", escaped.replace("&", "&amp;"))
    escaped = escaped.replace("<", "&lt;").replace(">", "&gt;").replace("://", "\\://")
    return re.sub(r"(?i)\bwww\.", lambda match: f"{match[0][:3]}\\.", escaped)


def _text(words: str) -> str:
    return "".join(
        literal(inner) if kind in ("text", "name", "literal") else
        _TAGS[kind].format(_text(inner) if kind in ("strong", "slanted") else "")
        if kind in _TAGS else _text(inner) for kind, inner, _ in spans(words))


def _fact(fact: Fact) -> str:
    blank = [] if fact.asks is None else [f"{fact.asks}: {_BLANK}" if fact.asks else _BLANK]
    known = [f"{_text(fact.text)}{f' ({_text(fact.term)})' if fact.term else ''}"]
    return f"- **{_text(fact.label)}**: {'. '.join([*filter(None, known), *blank])}"


class _Markdown(Renderer):
    """Renders the parts of a document as lines."""

    def __init__(self) -> None:
        self._level = 2

    def show(self, element: Part) -> Iterable[str]:
        """Return the lines of a part and an empty line."""
        return [*super().show(element), ""]

    def show_paragraph(self, element: Paragraph) -> list[str]:
        return [_text(element.text) + (f" ({_text(element.term)})" if element.term else "")]

    def show_bullets(self, element: Bullets) -> list[str]:
        return [f"- {_text(item)}" for item in element.items]

    def show_code(self, element: Code) -> list[str]:
        return [f"    {clean(plain(line), _LARGEST_TEXT)}" for line in element.lines]

    def show_heading(self, element: Heading) -> list[str]:
        return [f"{'#' * self._level} {_text(element.text)}"]

    def show_facts(self, element: Facts) -> list[str]:
        note = [_text(element.note), ""] if element.note else []
        head = [*self.show_heading(Heading(element.caption)), ""] if element.caption else []
        return [*head, *note, *map(_fact, element.facts)]

    def show_section(self, element: Section) -> list[str]:
        head = self.show_heading(Heading(element.title))
        self._level += 1
        inner = self.show_parts(element.parts)
        self._level -= 1
        return [*head, "", *inner]

    def show_datatable(self, element: DataTable) -> Iterator[str]:
        def row(cells: Sequence[str | Bar]) -> str:
            return f"| {' | '.join(_text(c.label if isinstance(c, Bar) else c) for c in cells)} |"

        if element.caption:
            yield from (f"**{_text(element.caption)}**", "")
        yield row(element.head)
        yield f"|{'---|' * len(element.head)}"
        yield from map(row, element.rows)
