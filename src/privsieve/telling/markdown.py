"""Markdown: any document as a text for any reader of it; what came from outside has no signs."""

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

#: What a Markdown of any reader takes for a sign.
_SIGNS = re.compile(r"([\\`*_{}\[\]|~@#$])")
#: A text from outside is cut here, and a word of it there.
_LARGEST_TEXT, _LARGEST_WORD = 4000, 160
_BLANK = "_" * 20
_TAGS = {"strong": "**{}**", "slanted": "*{}*", "tick": "[ ] ", "break": " "}


def text(document: Document) -> str:
    r"""The document as Markdown.

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
                      *_Markdown().parts(document.parts)])


def table_text(table: DataTable) -> str:
    """A table alone."""
    return "\n".join([*_Markdown().show_datatable(table), ""])


def literal(words: str) -> str:
    r"""A text that Markdown shows as it is.

    >>> literal("<b> [x](http://y) a|b")
    '&lt;b&gt; \\[x\\](http\\://y) a\\|b'
    """
    shown = " ".join(clean(word, _LARGEST_WORD) for word in words[:_LARGEST_TEXT].split(" "))
    shown = _SIGNS.sub(r"\\\1", shown.replace("&", "&amp;"))
    shown = shown.replace("<", "&lt;").replace(">", "&gt;").replace("://", "\\://")
    return re.sub(r"(?i)\bwww\.", lambda match: f"{match[0][:3]}\\.", shown)


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
    """How the parts of a document become lines."""

    def __init__(self) -> None:
        self._level = 2

    def part(self, part: Part) -> Iterable[str]:
        """The lines of a part, and an empty one."""
        return [*super().part(part), ""]

    def show_paragraph(self, part: Paragraph) -> list[str]:
        """The words, and the exact term in brackets."""
        return [_text(part.text) + (f" ({_text(part.term)})" if part.term else "")]

    def show_bullets(self, part: Bullets) -> list[str]:
        """A point in each line."""
        return [f"- {_text(item)}" for item in part.items]

    def show_code(self, part: Code) -> list[str]:
        """Lines to type."""
        return [f"    {clean(plain(line), _LARGEST_TEXT)}" for line in part.lines]

    def show_heading(self, part: Heading) -> list[str]:
        """A heading of this level."""
        return [f"{'#' * self._level} {_text(part.text)}"]

    def show_facts(self, part: Facts) -> list[str]:
        """The caption, a note, and a point for each fact."""
        note = [_text(part.note), ""] if part.note else []
        head = [*self.show_heading(Heading(part.caption)), ""] if part.caption else []
        return [*head, *note, *map(_fact, part.facts)]

    def show_section(self, part: Section) -> list[str]:
        """The title, and the parts one level deeper."""
        head = self.show_heading(Heading(part.title))
        self._level += 1
        inner = self.parts(part.parts)
        self._level -= 1
        return [*head, "", *inner]

    def show_datatable(self, part: DataTable) -> Iterator[str]:
        """A table with pipes."""
        def row(cells: Sequence[str | Bar]) -> str:
            return f"| {' | '.join(_text(c.label if isinstance(c, Bar) else c) for c in cells)} |"

        if part.caption:
            yield from (f"**{_text(part.caption)}**", "")
        yield row(part.head)
        yield f"|{'---|' * len(part.head)}"
        yield from map(row, part.rows)
