r"""Documents: content in sections, tables and texts, without a layout.

A renderer (`terminal`, `html`, `notebook`, `markdown`) shows any `Document`.  Texts may contain
signs: **strong**, *slanted*, ~~quiet~~, `code`, ^(raised), a line break, ☐ for a box to tick,
[a term of the glossary], [words|term], [words|#section].  A text from outside must go through
`name` or `literal`: its signs then mean nothing, and a renderer escapes it like each text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

#: The signs of a text; private characters replace them in a text from outside.
_SIGNS = "*~`^[]|☐\n\x0e\x0f\x10\x11"
_HIDE = {ord(sign): 0xE000 + at for at, sign in enumerate(_SIGNS)}
_SHOW = {0xE000 + at: sign for at, sign in enumerate(_SIGNS)}
#: Private characters that a text from outside already contains are replaced.
_FORGED = dict.fromkeys(_SHOW, 0xFFFD)
#: The longest name from outside.
LARGEST_NAME = 128
#: Characters that a screen hides or obeys: controls, formats, surrogates, separators.
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
_SPANS = re.compile(
    r"\x0e(?P<name>[^\x0f]*)\x0f|\x10(?P<literal>[^\x11]*)\x11|\*\*(?P<strong>.+?)\*\*"
    r"|\*(?P<slanted>[^*]+)\*|~~(?P<quiet>.+?)~~|`(?P<code>[^`]+)`|\^\((?P<raised>[^)]*)\)"
    r"|\[(?P<link>[^\]|]+)(?:\|(?P<key>[^\]]+))?\]|(?P<tick>☐)|(?P<break>\n)", re.DOTALL)


class Text(str):
    """A text of a document, with signs; content from outside is already protected."""

    __slots__ = ()


def name(text: object) -> Text:
    """Protect a name from outside.

    >>> [span.kind for span in spans(f"of {name('<b>')}")]
    ['text', 'name']
    """
    return Text(f"\x0e{str(text).translate(_FORGED).translate(_HIDE)}\x0f")


def literal(text: object) -> Text:
    """Protect a text from outside.

    >>> [span.text for span in spans(literal("**a**"))]
    ['**a**']
    """
    return Text(f"\x10{str(text).translate(_FORGED).translate(_HIDE)}\x11")


def names(texts: Iterable[object]) -> Text:
    """Protect names and join them with commas."""
    return Text(", ".join(map(name, texts)))


class TextSpan(NamedTuple):
    """A piece of a text; `key` is the target of a link, and `text` may contain further spans."""

    kind: str
    text: str
    key: str = ""


def spans(text: str) -> Iterator[TextSpan]:
    """Yield the pieces of a text in order.

    >>> list(spans("a **b** [c|d]"))[1:]
    [TextSpan(kind='strong', text='b', key=''), TextSpan(kind='text', text=' ', key=''), \
TextSpan(kind='link', text='c', key='d')]
    """
    at = 0
    for match in _SPANS.finditer(text):
        if match.start() > at:
            yield TextSpan("text", text[at:match.start()].translate(_SHOW))
        at, kind = match.end(), str("link" if match["key"] else match.lastgroup)
        inner = match[kind]
        yield TextSpan(kind, inner.translate(_SHOW) if kind in ("name", "literal") else inner,
                   match["key"] or "")
    if at < len(text):
        yield TextSpan("text", text[at:].translate(_SHOW))


def clean(text: object, most: int = LARGEST_NAME) -> str:
    r"""Return a text without hidden characters, of at most `most` characters.

    >>> clean("age\u202e\n"), len(clean("x" * 1000)), clean("\x00")
    ('age', 128, '')
    """
    visible = str(text)[:8 * most]
    if not (visible.isascii() and visible.isprintable()):
        visible = "".join(c for c in visible if unicodedata.category(c) not in _HIDDEN)
    return visible if len(visible) <= most else visible[:most - 1] + "…"


def plain(text: str) -> str:
    """Return the words of a text without its signs.

    >>> plain(f"**a** of {name('*b*')} [c|d]")
    'a of *b* c'
    """
    return "".join(span.text if span.kind in ("text", "name", "literal", "tick", "break")
                   else plain(span.text) for span in spans(text))


class Fact(NamedTuple):
    """A label and its text; `term` is the exact wording, `asks` is what a person fills in."""

    label: str
    text: str = ""
    term: str = ""
    asks: str | None = None


class Paragraph(NamedTuple):
    """A paragraph with its exact wording beside it; `quiet` for a note."""

    text: str
    term: str = ""
    quiet: bool = False


class Bullets(NamedTuple):
    """A list of texts."""

    items: Sequence[str]


class Code(NamedTuple):
    """Lines to type, or a formula in pieces that are not broken."""

    lines: Sequence[str]
    formula: bool = False


class Heading(NamedTuple):
    """A heading inside of a section."""

    text: str


class Piece(NamedTuple):
    """A piece of a bar from `start` to `end`, in per cent of its width; fills are f1 to f4."""

    start: float
    end: float
    fill: str = "f1"


class Bar(NamedTuple):
    """A label and a bar; a thin line marks the limit that the header names."""

    label: str
    pieces: Sequence[Piece]
    limit: float | None = None


class DataTable(NamedTuple):
    """A table; its first `words` columns contain words, the others figures.

    marked : the row to highlight; `narrow` for a key of one or two letters
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str | Bar]]
    words: int = 1
    marked: int | None = None
    narrow: bool = False


class Facts(NamedTuple):
    """Facts in a table of two columns."""

    caption: str
    facts: Sequence[Fact]
    note: str = ""


class Series(NamedTuple):
    """A curve: its name, and its height at each point of the axis (None: no value)."""

    name: str
    values: Sequence[float | None]


class Chart(NamedTuple):
    """Curves over equally spaced points; a single series may be drawn as stems.

    scale : the heights of grid lines, the lowest first, with their labels
    stems : the label of each stem of the only series; `marked` is the highlighted point
    line : the height of a line for comparison, and its label; `ends` are labels below the axis
    """

    caption: str
    axis: Sequence[str]
    series: Sequence[Series]
    scale: Sequence[tuple[float, str]]
    stems: Sequence[str] = ()
    marked: int | None = None
    line: tuple[float, str] | None = None
    ends: Sequence[str] = ()


class Fold(NamedTuple):
    """Parts that a renderer may fold away."""

    summary: str
    parts: Sequence[Part]


class Beside(NamedTuple):
    """Two lists of parts, side by side if there is space."""

    left: Sequence[Part]
    right: Sequence[Part]


class Words(NamedTuple):
    """A list of the glossary terms that the document uses."""

    title: str = "Words"


class Section(NamedTuple):
    """Parts under a title; `link` is the title in the contents.

    frame : "" for none, "decide" for a decision, "officer" for a form to sign
    """

    key: str
    title: str
    parts: Sequence[Part]
    link: str = ""
    frame: str = ""


Part = (str | Paragraph | Bullets | Code | Heading | DataTable | Facts | Chart | Fold | Beside
        | Words | Section)


@dataclass(frozen=True)
class Document:
    """A title, the most important facts, and parts.

    tab : the title of the browser tab, without texts from outside; `edition` and `about` are at the
        top
    private : why the document must stay private, if so; `notice` comes before the title
    glossary : the meaning of each term
    """

    title: str
    facts: Sequence[Fact] = ()
    parts: Sequence[Part] = ()
    tab: str = ""
    edition: tuple[str, str] = ("", "")
    about: str = ""
    private: str = ""
    notice: str = ""
    closing: str = ""
    glossary: Mapping[str, str] = field(default_factory=dict)


def charted(chart: Chart) -> DataTable:
    """Return a chart as a table, for renderers that do not draw.

    >>> charted(Chart("c", ["2"], [Series("few", [4.0])], [(0, "0")])).rows
    [['2', '4']]
    """
    words = [chart.stems] if chart.stems else [
        ["–" if value is None else f"{value:.4g}" for value in series.values]
        for series in chart.series]
    caption = f"{chart.caption} ({chart.line[1]})" if chart.line else chart.caption
    head = [chart.ends[1] if chart.ends else "", *(series.name for series in chart.series)]
    return DataTable(caption, head, [list(row) for row in zip(chart.axis, *words, strict=True)],
                     marked=chart.marked)


def shortened(document: Document, rows: int) -> Document:
    """Return the document with the first rows of each table, and the number of the others."""
    parts: list[Part] = []
    for element in document.parts:
        rest = len(element.rows) - rows if isinstance(element, DataTable) else 0
        parts += [element._replace(rows=element.rows[:rows]), f"… and {rest:,} more"] if isinstance(
            element, DataTable) and rest > 0 else [element]
    return replace(document, parts=parts)


class Renderer:
    """The base of all renderers: a method for each kind of part returns its pieces.

    Each output must write `show_paragraph`, `show_bullets`, `show_code`, `show_heading`,
    `show_facts`, `show_datatable` and `show_section`.
    """

    def show_parts(self, parts: Iterable[Part]) -> list[str]:
        """Return the pieces of some parts in order."""
        return [piece for element in parts for piece in self.show(element)]

    def show(self, element: Part) -> Iterable[str]:
        """Return the pieces of a part."""
        element = Paragraph(element) if isinstance(element, str) else element
        pieces: Iterable[str] = getattr(self, f"show_{type(element).__name__.lower()}")(element)
        return pieces

    def show_chart(self, chart: Chart) -> Iterable[str]:
        """Return a table, unless the renderer draws."""
        return self.show(charted(chart))

    def show_beside(self, beside: Beside) -> Iterable[str]:
        """Return both sides, one after the other."""
        return self.show_parts([*beside.left, *beside.right])

    def show_fold(self, fold: Fold) -> Iterable[str]:
        """Return a section, unless the renderer folds."""
        return self.show(Section("", fold.summary, fold.parts))

    def show_words(self, _words: Words) -> Iterable[str]:
        """Return nothing, unless terms are links."""
        return ()
