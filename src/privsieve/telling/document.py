r"""Document: what is told of anything, in parts that every renderer knows.

A noun gives a `Document`; a renderer (`terminal`, `html`, `notebook`, `markdown`) shows any.  Texts
are plain words with a few signs: **strong**, *slanted*, ~~quiet~~, `code`, ^(raised), a line break,
☐ for a box to tick, [a term of the glossary], [words|term], [words|#section].  A text that came
from outside goes in by `name` or `literal`: no sign in it means anything, and a renderer escapes
it as it escapes each text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

#: What means something in a text, and stands for itself by another sign in a text from outside.
_SIGNS = "*~`^[]|☐\n\x0e\x0f\x10\x11"
_HIDE = {ord(sign): 0xE000 + at for at, sign in enumerate(_SIGNS)}
_SHOW = {0xE000 + at: sign for at, sign in enumerate(_SIGNS)}
#: A text that already holds such a sign is not one of ours.
_FORGED = dict.fromkeys(_SHOW, 0xFFFD)
#: A word from outside is cut here.
LARGEST_NAME = 128
#: What a screen does not show, or takes for a direction: controls, formats, surrogates, separators.
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
_SPANS = re.compile(
    r"\x0e(?P<name>[^\x0f]*)\x0f|\x10(?P<literal>[^\x11]*)\x11|\*\*(?P<strong>.+?)\*\*"
    r"|\*(?P<slanted>[^*]+)\*|~~(?P<quiet>.+?)~~|`(?P<code>[^`]+)`|\^\((?P<raised>[^)]*)\)"
    r"|\[(?P<link>[^\]|]+)(?:\|(?P<key>[^\]]+))?\]|(?P<tick>☐)|(?P<break>\n)", re.DOTALL)


class Text(str):
    """A text of a document: its signs mean something, and what came from outside is protected."""

    __slots__ = ()


def name(text: object) -> Text:
    """A name that somebody outside chose.

    >>> [span.kind for span in spans(f"of {name('<b>')}")]
    ['text', 'name']
    """
    return Text(f"\x0e{str(text).translate(_FORGED).translate(_HIDE)}\x0f")


def literal(text: object) -> Text:
    """A text from outside, as it stands.

    >>> [span.text for span in spans(literal("**a**"))]
    ['**a**']
    """
    return Text(f"\x10{str(text).translate(_FORGED).translate(_HIDE)}\x11")


def names(texts: Iterable[object]) -> Text:
    """Names with commas between them."""
    return Text(", ".join(map(name, texts)))


class TextSpan(NamedTuple):
    """A piece of a text; `key` is where a link leads, `text` of other kinds may hold spans."""

    kind: str
    text: str
    key: str = ""


def spans(text: str) -> Iterator[TextSpan]:
    """The pieces of a text, one after the other.

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
    r"""A text that shows as it is: no controls, no directions, at most so many characters.

    >>> clean("age\u202e\n"), len(clean("x" * 1000)), clean("\x00")
    ('age', 128, '')
    """
    shown = str(text)[:8 * most]
    if not (shown.isascii() and shown.isprintable()):
        shown = "".join(c for c in shown if unicodedata.category(c) not in _HIDDEN)
    return shown if len(shown) <= most else shown[:most - 1] + "…"


def plain(text: str) -> str:
    """The words of a text without its signs.

    >>> plain(f"**a** of {name('*b*')} [c|d]")
    'a of *b* c'
    """
    return "".join(span.text if span.kind in ("text", "name", "literal", "tick", "break")
                   else plain(span.text) for span in spans(text))


class Fact(NamedTuple):
    """What is known under a label; `term` says it exactly, `asks` is what a person fills in."""

    label: str
    text: str = ""
    term: str = ""
    asks: str | None = None


class Paragraph(NamedTuple):
    """Words, and the exact term beside them; `quiet` for a note."""

    text: str
    term: str = ""
    quiet: bool = False


class Bullets(NamedTuple):
    """A list of texts."""

    items: Sequence[str]


class Code(NamedTuple):
    """Lines to type, or a formula in parts that are not broken."""

    lines: Sequence[str]
    formula: bool = False


class Heading(NamedTuple):
    """A heading inside of a section."""

    text: str


class Piece(NamedTuple):
    """A part of a bar, from here to there in per cent of its width: f1 to f4 are fillings."""

    start: float
    end: float
    fill: str = "f1"


class Bar(NamedTuple):
    """A label with a bar beside it; a thin line marks the limit that the header names."""

    label: str
    pieces: Sequence[Piece]
    limit: float | None = None


class DataTable(NamedTuple):
    """A table; its first `words` columns hold words, the others figures.

    marked : the number of the row that matters most; `narrow` for a key of one or two letters.
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
    """A curve: its name, and for each place of the axis how high it is (None: nothing there)."""

    name: str
    values: Sequence[float | None]


class Chart(NamedTuple):
    """Curves over places that are equally far apart; one series may stand as stems instead.

    scale : the heights that are drawn, the lowest first, with their words.
    stems : the word at the top of each stem of the only series; `marked` is the place of one.
    line : a height that is compared with, and its word; `ends` stand below the axis.
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
    """Parts that are folded away where a renderer can fold."""

    summary: str
    parts: Sequence[Part]


class Beside(NamedTuple):
    """Two lists of parts, beside each other where there is room."""

    left: Sequence[Part]
    right: Sequence[Part]


class Words(NamedTuple):
    """Here stand the terms that were used before, and what each means."""

    title: str = "Words"


class Section(NamedTuple):
    """Parts under a title; `link` is its name in the contents, `frame` how it is set apart.

    frame : "" for a usual one, "decide" for what is to be decided, "officer" for a page to sign.
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
    """A title, the facts that matter most, and parts.

    tab : the title of its window, in words of ours; `edition` and `about` stand at the top.
    private : why it must not leave, where that is so; `notice` is said before the title.
    glossary : what each term means.
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
    """A chart as a table, for renderers that do not draw.

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
    """The same with the first rows of each table; of more only the number is said."""
    parts: list[Part] = []
    for part in document.parts:
        more = len(part.rows) - rows if isinstance(part, DataTable) else 0
        parts += [part._replace(rows=part.rows[:rows]), f"… and {more} more"] if isinstance(
            part, DataTable) and more > 0 else [part]
    return replace(document, parts=parts)


class Renderer:
    """What shows any document: a method for each kind of part gives its pieces.

    Those without an own method here are for each output to write: `show_paragraph`, `show_bullets`,
    `show_code`, `show_heading`, `show_facts`, `show_datatable` and `show_section`.
    """

    def parts(self, parts: Iterable[Part]) -> list[str]:
        """The pieces of parts, one after the other."""
        return [piece for part in parts for piece in self.part(part)]

    def part(self, part: Part) -> Iterable[str]:
        """The pieces of a part."""
        known = Paragraph(part) if isinstance(part, str) else part
        pieces: Iterable[str] = getattr(self, f"show_{type(known).__name__.lower()}")(known)
        return pieces

    def show_chart(self, part: Chart) -> Iterable[str]:
        """Where nothing can be drawn, a table."""
        return self.part(charted(part))

    def show_beside(self, part: Beside) -> Iterable[str]:
        """Where there is no room beside, one after the other."""
        return self.parts([*part.left, *part.right])

    def show_fold(self, part: Fold) -> Iterable[str]:
        """Where nothing folds, a section."""
        return self.part(Section("", part.summary, part.parts))

    def show_words(self, _part: Words) -> Iterable[str]:
        """Where terms are not links, nothing."""
        return ()
