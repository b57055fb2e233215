"""HTML: any document as one page without scripts, fonts, or other files.

`page.html` is the frame and `style.css` the style.  Each text is cleaned and escaped here, and
nowhere else.
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from privsieve._version import __version__
from privsieve.public.canonical import digest
from privsieve.telling.document import (
    Bar,
    Beside,
    Bullets,
    Chart,
    Code,
    DataTable,
    Document,
    Fact,
    Facts,
    Fold,
    Heading,
    Paragraph,
    Part,
    Renderer,
    Section,
    Words,
    clean,
    plain,
    spans,
)

#: The longest text and the longest word from outside; a name with its quotes fits into a word.
LARGEST_TEXT, _LARGEST_WORD = 4000, 160
#: A long word may break after a punctuation mark, and after every 16 characters.
_SHORT = 16
_PIECES = r"[^_./-]{0,15}[_./-]|[^_./-]{1,16}"
_FOLDER = Path(__file__).parent
#: Charts: the top and the base in pixels; the width of the scale labels, and of the label of the
#: comparison line, in per cent.
_TOP, _BASE, _SCALE, _COMPARED = 26, 206, 12, 28
#: The mark of each curve.
_MARKS = (
    Markup('<circle cx="{x}" cy="{y}" r="5" class="f1"/>'),
    Markup('<svg x="{x}" y="{y}"><rect x="-4.5" y="-4.5" width="9" height="9" class="f2"/></svg>'),
    Markup('<svg x="{x}" y="{y}"><path d="M0 -6.5 6 5 -6 5z" class="f4"/></svg>'),
)
_TAGS = {
    "strong": Markup("<b>{}</b>"),
    "slanted": Markup("<i>{}</i>"),
    "code": Markup("<code>{}</code>"),
    "quiet": Markup('<span class="t">{}</span>'),
    "raised": Markup("<sup>{}</sup>"),
    "name": Markup('<code translate="no"><bdi>{}</bdi></code>'),
    "break": Markup("<br>"),
    "tick": Markup('<span class="tick" role="img" aria-label="to tick"></span>'),
}
#: Rows and cells of a table: usual ones, and a highlighted row, figures, a cell to fill in.
_ROWS = Markup("<tr>{}</tr>"), Markup('<tr class="me">{}</tr>')
_HEADS = Markup('<th scope="col">{}</th>'), Markup('<th scope="col" class="r">{}</th>')
_ROW_HEADS = Markup('<th scope="row">{}</th>'), Markup('<th scope="row" class="r">{}</th>')
_CELLS = Markup("<td>{}</td>"), Markup('<td class="r">{}</td>')
_BLANK = Markup("<td>{}</td>"), Markup('<td class="sign">{}</td>')


def page(document: Document) -> bytes:
    """Return the page of a document; the same document gives the same bytes.

    >>> b"&lt;b&gt;" in page(Document("<b>"))
    True
    """
    frame, style, sha = _files()
    content = _Page(document)
    return frame.format(
        version=__version__, style=style, sha=sha, tab=clean(plain(document.tab or document.title)),
        kind="internal" if document.private else "public",
        private=Markup('<div class="mark" role="note">{}</div>').format(document.private)
        if document.private else "",
        edition=document.edition, about=content.text(document.about),
        notice=content.tagged('<p class="unsigned">{}</p>', document.notice)
        if document.notice else "", title=content.text(document.title),
        facts=_lines(map(content.answer, document.facts)), contents=content.contents(),
        parts=content.joined(document.parts), closing=content.text(document.closing)).encode()


def parts(elements: Iterable[Part], document: Document) -> Markup:
    """Return some parts of a document without the frame of a page."""
    return _Page(document).joined(elements)


@cache
def _files() -> tuple[Markup, Markup, str]:
    """Return the frame, the style, and the digest of the style for the content policy."""
    frame, style = ((_FOLDER / file).read_text(encoding="utf-8")
                    for file in ("page.html", "style.css"))
    sha = b2a_base64(bytes.fromhex(digest(style.encode())), newline=False).decode()
    return Markup(frame), Markup(style), sha  # noqa: S704  # our own files


def shown_text(text: str, link: Callable[[str, str], Markup]) -> Markup:
    """Return a text of a document as HTML; `link` renders a link."""
    return Markup("").join(_span_markup(span, link) for span in spans(text))


def _span_markup(span: Any, link: Callable[[str, str], Markup]) -> Markup:
    kind, text, key = span
    if kind == "text":
        return escape(clean(text, LARGEST_TEXT))
    if kind == "literal":
        return Markup(" ").join(_breakable(clean(word, _LARGEST_WORD)) for word in
                                text[:LARGEST_TEXT].split(" "))
    if kind == "name":
        name = clean(text)
        return _TAGS[kind].format(_breakable(name)) if name.strip() else Markup(
            '<span class="t">(a name that cannot be shown)</span>')
    if kind == "link":
        return link(text, key)
    if kind in ("tick", "break", "code"):
        return _TAGS[kind].format(clean(plain(text), LARGEST_TEXT))
    return _TAGS[kind].format(shown_text(text, link))


def _breakable(word: str) -> Markup:
    """Return a word with places to break if it is long.

    >>> _breakable("admissions_last_year").count("<wbr>")
    2
    """
    return escape(word) if len(word) <= _SHORT else Markup("<wbr>").join(re.findall(_PIECES, word))


def _lines(parts: Iterable[str]) -> Markup:
    return Markup("\n").join(parts)


def wide(percentage: float) -> str:
    """Return a position in a figure, in per cent of the width; letters are never scaled.

    >>> wide(100 / 3)
    '33.33'
    """
    return f"{percentage:.2f}"


class _Page(Renderer):
    """Renders the parts of one page, and records which terms were used."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._used: set[str] = set()

    def text(self, text: str) -> Markup:
        """Return a text; the first use of a term is a link."""
        return shown_text(text, self._link)

    def tagged(self, tag: str, *texts: str) -> Markup:
        """Return texts in tags."""
        return Markup(tag).format(*map(self.text, texts))  # noqa: S704  # our tags

    def _link(self, text: str, key: str) -> Markup:
        if key.startswith("#"):
            return Markup('<a href="{}">{}</a>').format(key, text)
        term = key or text.replace(" ", "-")
        if term in self._used or term not in self._document.glossary:
            return self.text(text)
        self._used.add(term)
        return Markup('<a class="def" href="#w-{}">{}</a>').format(term, text)

    def answer(self, fact: Fact) -> Markup:
        return self.tagged('<div><dt>{}</dt><dd>{}</dd><dd class="term">{}</dd></div>', *fact[:3])

    def contents(self) -> Markup:
        """Return links to the sections."""
        links = [("words", element.title) if isinstance(element, Words)
                 else (element.key, element.link)
                 for element in self._document.parts if isinstance(element, Section | Words)]
        return Markup(" · ").join(
            Markup('<a href="#{}">{}</a>').format(*link) for link in links if link[1])

    def joined(self, parts: Iterable[Part]) -> Markup:
        return _lines(self.show_parts(parts))

    def show_paragraph(self, element: Paragraph) -> Iterator[Markup]:
        if element.term:
            yield self.tagged('<div class="pt"><p>{}</p><p class="t">{}</p></div>', *element[:2])
        else:
            tag = '<p class="note">{}</p>' if element.quiet else "<p>{}</p>"
            yield self.tagged(tag, element.text)

    def show_bullets(self, element: Bullets) -> Iterator[Markup]:
        yield Markup("<ul>{}</ul>").format(_lines(
            self.tagged("<li>{}</li>", item) for item in element.items))

    def show_code(self, element: Code) -> Iterator[Markup]:
        if element.formula:
            yield self.tagged('<p class="fx">{}</p>'.format(
                " ".join(["<span>{}</span>"] * len(element.lines))), *element.lines)
        else:
            yield Markup("<pre>{}</pre>").format(_lines(map(self.text, element.lines)))

    def show_heading(self, element: Heading) -> Iterator[Markup]:
        yield self.tagged("<h3>{}</h3>", element.text)

    def show_fold(self, element: Fold) -> Iterator[Markup]:
        yield Markup("<details><summary>{}</summary>\n{}\n</details>").format(
            self.text(element.summary), self.joined(element.parts))

    def show_beside(self, element: Beside) -> Iterator[Markup]:
        yield Markup('<div class="two"><div>{}</div>\n<div>{}</div></div>').format(
            self.joined(element.left), self.joined(element.right))

    def show_section(self, element: Section) -> Iterator[Markup]:
        frame = Markup(' class="{}"').format(element.frame) if element.frame else ""
        yield Markup('<section{} aria-labelledby="{}"><h2 id="{}">{}</h2>\n{}\n</section>').format(
            frame, element.key, element.key, self.text(element.title), self.joined(element.parts))

    def show_chart(self, element: Chart) -> Iterator[Markup]:
        yield _chart(element)

    def show_words(self, element: Words) -> Iterator[Markup]:
        entries = _lines(Markup('<div id="w-{}"><dt>{}</dt><dd>{}</dd></div>').format(
            term, term.replace("-", " "), self._document.glossary[term])
            for term in sorted(self._used))
        yield Markup('<section aria-labelledby="words"><h2 id="words">{}</h2>\n<dl '
                     'class="words">{}</dl></section>').format(element.title, entries)

    def show_datatable(self, element: DataTable) -> Iterator[Markup]:
        def cells(row: Sequence[str | Bar], first: Sequence[Markup], other: Sequence[Markup],
                  ) -> Markup:
            return Markup("").join(
                (other if at else first)[at >= element.words].format(
                    self._bar(cell) if isinstance(cell, Bar) else self.text(cell))
                for at, cell in enumerate(row))

        lines = _lines(_ROWS[at == element.marked].format(cells(row, _ROW_HEADS, _CELLS))
                       for at, row in enumerate(element.rows))
        head = cells(element.head, _HEADS, _HEADS)
        yield Markup('<table class="{}"><caption>{}</caption><thead><tr>{}</tr></thead>\n<tbody>\n'
                      "{}\n</tbody></table>").format(
                          "long ks" if element.narrow else "long", self.text(element.caption), head,
                          lines)

    def show_facts(self, element: Facts) -> Iterator[Markup]:
        note = self.tagged('<tr><td colspan="2" class="note">{}</td></tr>\n', element.note
                           ) if element.note else ""
        rows = _lines(Markup('<tr><th scope="row">{}</th>{}</tr>').format(
            self.text(fact.label), _BLANK[fact.asks is not None].format(
                self.text(fact.text) + self._blank(fact))) for fact in element.facts)
        yield Markup('<table class="kv"><caption>{}</caption><tbody>{}{}</tbody></table>').format(
            self.text(element.caption), note, rows)

    def _blank(self, fact: Fact) -> Markup:
        """Return the field that a person fills in."""
        if fact.asks is None:
            return Markup("")
        return Markup('{}<span class="t">{}:</span>').format(
            Markup("<br>") if fact.text else "", fact.asks or "To be filled in")

    def _bar(self, bar: Bar) -> Markup:
        drawn = Markup("").join(
            Markup('<rect x="{}%" y="1" width="{}%" height="12" class="{}"/>').format(
                wide(piece.start), wide(piece.end - piece.start), piece.fill)
            for piece in bar.pieces if piece.end > piece.start)
        line = Markup("") if bar.limit is None else Markup(
            '<line x1="{0}%" x2="{0}%" y1="0" y2="14" class="l1"/>').format(wide(bar.limit))
        return Markup('<div class="bar"><span>{}</span><svg width="100%" height="14" '
                      'aria-hidden="true">{}{}</svg></div>').format(
                          self.text(bar.label), drawn, line)


# --- charts ---------------------------------------------------------------------------------------

def _chart(chart: Chart) -> Markup:
    """Return curves or stems, with all figures as text for screen readers."""
    low, high = chart.scale[0][0], chart.scale[-1][0]
    step = (100 - _SCALE - _COMPARED * bool(chart.line)) / len(chart.axis)
    places = [_SCALE + step * (at + 0.5) for at in range(len(chart.axis))]

    def height(value: float) -> float:
        return round(_BASE - (_BASE - _TOP) * (value - low) / ((high - low) or 1), 1)

    curves = [[(x, None if value is None else height(value)) for x, value in
               zip(places, series.values, strict=True)] for series in chart.series]
    drawn = _stems(chart, curves[0]) if chart.stems else _lines(
        _curve(kind, points) for kind, points in enumerate(curves))
    grid = [Markup('<line x1="0" x2="100%" y1="{0}" y2="{0}" class="l3"/><text x="0" y="{1}" '
                   'class="q">{2}</text>').format(height(at), height(at) - 4, word)
            for at, word in chart.scale if word]
    if chart.line:
        y = height(chart.line[0])
        grid.append(Markup(
            '<line x1="0" x2="100%" y1="{0}" y2="{0}" class="l2 da"/><text x="100%" y="{1}" '
            'text-anchor="end" class="q">{2}</text>').format(
                y, y - 5 if y > 46 else y + 17, chart.line[1]))
    words = Markup("").join(Markup(
        '<text x="{}%" y="225" text-anchor="middle" class="{}">{}</text>').format(
            wide(x), "w" if at == chart.marked else "q", word)
        for at, (x, word) in enumerate(zip(places, chart.axis, strict=True)))
    ends = Markup('<div class="ends">{}</div>').format(Markup("").join(
        Markup("<span>{}</span>").format(word) for word in chart.ends)) if chart.ends else ""
    return Markup(
        '<figure><figcaption>{}</figcaption>\n{}<svg width="100%" height="232" role="img" '
        'aria-label="{}">{}<line x1="0" x2="100%" y1="{base}" y2="{base}" class="l2"/>{}\n{}</svg>'
        "{}</figure>").format(chart.caption, _key(chart), _chart_text(chart), Markup("").join(grid),
                              words, drawn, ends, base=_BASE)


def _chart_text(chart: Chart) -> str:
    """Return all figures of a chart as text."""
    line = f". {chart.line[1]}" if chart.line else ""
    return "; ".join(f"{series.name}: " + ", ".join(
        f"{word}: {'nothing' if value is None else format(value, '.4g')}"
        for word, value in zip(chart.axis, series.values, strict=True))
        for series in chart.series) + line


def _key(chart: Chart) -> Markup:
    """Return the name of each curve beside its mark."""
    if chart.stems:
        return Markup("")
    return Markup('<p class="key">{}</p>').format(Markup(" &emsp; ").join(
        Markup('<span class="nb"><svg width="18" height="14" aria-hidden="true">{}</svg> '
               "{}</span>").format(_MARKS[kind].format(x="9", y=7), series.name)
        for kind, series in enumerate(chart.series)))


def _curve(kind: int, points: Sequence[tuple[float, float | None]]) -> Markup:
    """Return lines between neighbouring points that both have values, and a mark at each point."""
    lines = [Markup('<line x1="{}%" y1="{}" x2="{}%" y2="{}" class="s{}"/>').format(
        wide(a), h, wide(b), i, kind + 1) for (a, h), (b, i) in
        pairwise(points) if h is not None and i is not None]
    marks = [_MARKS[kind].format(x=f"{wide(x)}%", y=y) for x, y in points if y is not None]
    return Markup("").join([*lines, *marks])


def _stems(chart: Chart, points: Sequence[tuple[float, float | None]]) -> Markup:
    """Return a stem from the base to each point, with its label above."""
    return _lines(Markup(
        '<line x1="{0}%" x2="{0}%" y1="206" y2="{1}" class="{2}"/><circle cx="{0}%" cy="{1}" '
        'r="{3}" class="{4}"/><text x="{0}%" y="{5}" text-anchor="middle" class="{6}">{7}</text>'
        ).format(wide(x), y, *(("la", 7, "f1") if at == chart.marked else ("lg", 5, "f2")),
                 (y or 0) - 11, "w" if at == chart.marked else "q", word)
        for at, ((x, y), word) in enumerate(zip(points, chart.stems, strict=True)))
