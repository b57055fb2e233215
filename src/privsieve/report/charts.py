"""Charts: bars inside table rows, and one chart of costs.  No viewBox: type is never scaled.

x is in per cent of the width, y in pixels.  Every figure also stands in a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from privsieve.report.markup import joined

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROW = Markup('<div class="bar"><span>{}</span><svg width="100%" height="14" aria-hidden="true">'
              "{}{}</svg></div>")
_RECT = Markup('<rect x="{}%" y="1" width="{}%" height="12" class="{}"/>')
_LINE = Markup('<line x1="{0}%" x2="{0}%" y1="0" y2="14" class="l1"/>')

#: Of the chart of costs: heights of the scale, in pixels.
_TOP, _BASE = 26, 206
#: The part of the width that has points; beside it stand the scale, and the word on guessing.
_LEFT, _RIGHT = 10, 68


class Piece(NamedTuple):
    """A part of a bar, from here to there in per cent of the width."""

    start: float
    end: float
    kind: str = "f1"


def bar(label: str, pieces: Sequence[Piece], limit: float | None = None) -> Markup:
    """A label with its bar beside it; a thin line marks the limit that the header names.

    >>> bar("x", [Piece(0, 50)]).count("<rect")
    1
    """
    line = Markup("") if limit is None else _LINE.format(_x(limit))
    drawn = joined((_RECT.format(_x(p.start), _x(p.end - p.start), p.kind) for p in pieces
                    if p.end > p.start), "")
    return _ROW.format(label, drawn, line)


class Cost(NamedTuple):
    """A cost, the percentage that is found at it, and whether it is that of this release."""

    text: str
    found: int
    this: bool


def costs(points: Sequence[Cost], guessing: int) -> Markup:
    """What is found by cost, with guessing drawn and this release marked."""
    said = ", ".join(f"{p.text}: {p.found} per cent{' (this release)' if p.this else ''}"
                     for p in points)
    marks = [_height(mark) for mark in (50, 100)]
    grid = joined((Markup('<line x1="0" x2="100%" y1="{0}" y2="{0}" class="l3"/>'
                          '<text x="0" y="{1}" class="q">{2} %</text>').format(y, y - 5, mark)
                   for y, mark in zip(marks, (50, 100), strict=True)), "")
    y = _height(guessing)
    step = (_RIGHT - _LEFT) / len(points)
    drawn = joined(_point(p, _LEFT + step * (at + 0.5)) for at, p in enumerate(points))
    return Markup(
        '<figure><figcaption>How many of the best columns would be found?</figcaption>\n'
        '<svg width="100%" height="232" role="img" aria-labelledby="c1 c2"><title id="c1">Share '
        'of the best columns that would be found, by privacy cost</title><desc id="c2">A forecast. '
        "{said}. Guessing finds {guessing} per cent.</desc>\n{grid}"
        '<line x1="0" x2="100%" y1="{base}" y2="{base}" class="l2"/>'
        '<line x1="0" x2="100%" y1="{y}" y2="{y}" class="l2 da"/>'
        '<text x="100%" y="{above}" text-anchor="end" class="q">guessing: {guessing} %</text>\n'
        '{drawn}</svg>\n<div class="ends"><span>←&nbsp;stronger protection</span>'
        "<span>cost (ε)</span><span>better answer&nbsp;→</span></div></figure>").format(
            said=said, guessing=guessing, grid=grid, base=_BASE, y=y,
            above=y - 5 if y > _TOP + 20 else y + 17, drawn=drawn)


def _point(point: Cost, x: float) -> Markup:
    y = _height(point.found)
    kind, radius, word = ("f1", 7, "w") if point.this else ("f2", 5, "q")
    return Markup(
        '<line x1="{x}%" x2="{x}%" y1="{base}" y2="{y}" class="{line}"/>'
        '<circle cx="{x}%" cy="{y}" r="{radius}" class="{kind}"/>'
        '<text x="{x}%" y="{label}" text-anchor="middle" class="{word}">{found} %</text>'
        '<text x="{x}%" y="225" text-anchor="middle" class="{word}">{text}</text>').format(
            x=_x(x), y=y, base=_BASE, radius=radius, kind=kind, word=word, found=point.found,
            line="la" if point.this else "lg", label=y - 11, text=point.text)


def _height(percentage: int) -> int:
    return _BASE - (_BASE - _TOP) * percentage // 100


def _x(value: float) -> str:
    return f"{value:.2f}"
