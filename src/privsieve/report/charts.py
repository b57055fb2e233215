"""Charts: bars in table rows, a chart of costs, and curves.  No viewBox: type is never scaled.

x is in per cent of the width, y in pixels.  Every figure also stands in a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup

from privsieve.report.page import joined

_ROW = Markup('<div class="bar"><span>{}</span><svg width="100%" height="14" aria-hidden="true">'
              "{}{}</svg></div>")
_RECT = Markup('<rect x="{}%" y="1" width="{}%" height="12" class="{}"/>')
_LINE = Markup('<line x1="{0}%" x2="{0}%" y1="0" y2="14" class="l1"/>')

#: Of the chart of costs: heights of the scale, in pixels.
_TOP, _BASE = 26, 206
#: The part of the width that has points; beside it stand the scale, and the word on guessing.
_LEFT, _RIGHT = 10, 68
#: Of curves: the part of the width that the words of the scale take, and a mark for each curve.
_SCALE = 12
_MARKS = (
    Markup('<circle cx="{x}" cy="{y}" r="5" class="f1"/>'),
    Markup('<svg x="{x}" y="{y}"><rect x="-4.5" y="-4.5" width="9" height="9" class="f2"/></svg>'),
    Markup('<svg x="{x}" y="{y}"><path d="M0 -6.5 6 5 -6 5z" class="f4"/></svg>'),
)


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


class CostMark(NamedTuple):
    """A cost, the percentage that is found at it, and whether it is that of this release."""

    text: str
    percent: int
    this: bool


def costs(points: Sequence[CostMark], guessing: int,
          counted: tuple[str, str] = ("best columns", "found")) -> Markup:
    """What is found by cost, with guessing drawn and this release marked.

    counted : of what a share is drawn, and what that share is
    """
    said = ", ".join(f"{p.text}: {p.percent} per cent{' (this release)' if p.this else ''}"
                     for p in points)
    marks = [_height(mark) for mark in (50, 100)]
    grid = joined((Markup('<line x1="0" x2="100%" y1="{0}" y2="{0}" class="l3"/>'
                          '<text x="0" y="{1}" class="q">{2} %</text>').format(y, y - 5, mark)
                   for y, mark in zip(marks, (50, 100), strict=True)), "")
    y = _height(guessing)
    step = (_RIGHT - _LEFT) / len(points)
    drawn = joined(_point(p, _LEFT + step * (at + 0.5)) for at, p in enumerate(points))
    return Markup(
        '<figure><figcaption>How many of the {what} would be {good}?</figcaption>\n'
        '<svg width="100%" height="232" role="img" aria-labelledby="c1 c2"><title id="c1">Share '
        'of the {what} that would be {good}, by privacy cost</title><desc id="c2">A forecast. '
        "{said}. Guessing finds {guessing} per cent.</desc>\n{grid}"
        '<line x1="0" x2="100%" y1="{base}" y2="{base}" class="l2"/>'
        '<line x1="0" x2="100%" y1="{y}" y2="{y}" class="l2 da"/>'
        '<text x="100%" y="{above}" text-anchor="end" class="q">guessing: {guessing} %</text>\n'
        '{drawn}</svg>\n<div class="ends"><span>←&nbsp;stronger protection</span>'
        "<span>cost (ε)</span><span>better answer&nbsp;→</span></div></figure>").format(
            what=counted[0], good=counted[1], said=said, guessing=guessing, grid=grid,
            base=_BASE, y=y, above=y - 5 if y > _TOP + 20 else y + 17, drawn=drawn)


def _point(point: CostMark, x: float) -> Markup:
    y = _height(point.percent)
    kind, radius, word = ("f1", 7, "w") if point.this else ("f2", 5, "q")
    return Markup(
        '<line x1="{x}%" x2="{x}%" y1="{base}" y2="{y}" class="{line}"/>'
        '<circle cx="{x}%" cy="{y}" r="{radius}" class="{kind}"/>'
        '<text x="{x}%" y="{label}" text-anchor="middle" class="{word}">{found} %</text>'
        '<text x="{x}%" y="225" text-anchor="middle" class="{word}">{text}</text>').format(
            x=_x(x), y=y, base=_BASE, radius=radius, kind=kind, word=word, found=point.percent,
            line="la" if point.this else "lg", label=y - 11, text=point.text)


class Series(NamedTuple):
    """A curve: its name, and for each place of the axis how high it is (None: nothing there)."""

    name: str
    values: tuple[float | None, ...]


def curves(caption: str, axis: Sequence[str], series: Sequence[Series],
           scale: Sequence[tuple[float, str]]) -> Markup:
    """Up to three curves over places that are equally far apart; each has a mark of its own.

    `scale` are the heights that are drawn, the lowest first, with their words.

    >>> drawn = curves("Columns", ["2", "5"], [Series("few", (4, 3))], [(0, "0"), (4, "4")])
    >>> drawn.count("<circle"), drawn.count('class="s1"')
    (3, 1)
    """
    low, high = scale[0][0], scale[-1][0]
    step = (100 - _SCALE) / len(axis)
    places = [_SCALE + step * (at + 0.5) for at in range(len(axis))]

    def height(value: float) -> float:
        return round(_BASE - (_BASE - _TOP) * (value - low) / ((high - low) or 1), 1)

    grid = joined((Markup('<line x1="0" x2="100%" y1="{0}" y2="{0}" class="l3"/><text x="0" '
                          'y="{1}" class="q">{2}</text>').format(height(at), height(at) - 4, word)
                   for at, word in scale), "")
    words = joined((Markup('<text x="{}%" y="225" text-anchor="middle" class="q">{}</text>').format(
        _x(x), word) for x, word in zip(places, axis, strict=True)), "")
    drawn = joined(_curve(kind, [(x, None if value is None else height(value))
                                 for x, value in zip(places, one.values, strict=True)])
                   for kind, one in enumerate(series))
    key = joined((Markup('<span class="nb"><svg width="18" height="14" aria-hidden="true">{}</svg> '
                         "{}</span>").format(_MARKS[kind].format(x="9", y=7), one.name)
                  for kind, one in enumerate(series)), Markup(" &emsp; "))
    said = "; ".join(f"{one.name}: " + ", ".join(
        f"{word}: {'nothing' if value is None else format(value, '.4g')}"
        for word, value in zip(axis, one.values, strict=True)) for one in series)
    return Markup(
        '<figure><figcaption>{}</figcaption>\n<p class="key">{}</p><svg width="100%" height="232" '
        'role="img" aria-label="{}">{}<line x1="0" x2="100%" y1="{}" y2="{}" class="l2"/>{}\n{}'
        "</svg></figure>").format(caption, key, said, grid, _BASE, _BASE, words, drawn)


def _curve(kind: int, points: Sequence[tuple[float, float | None]]) -> Markup:
    """Lines between neighbours that are both there, and a mark at each."""
    lines = (Markup('<line x1="{}%" y1="{}" x2="{}%" y2="{}" class="s{}"/>').format(
        _x(a), h, _x(b), i, kind + 1) for (a, h), (b, i) in pairwise(points)
        if h is not None and i is not None)
    marks = (_MARKS[kind].format(x=f"{_x(x)}%", y=y) for x, y in points if y is not None)
    return joined([*lines, *marks], "")


def _height(percentage: int) -> int:
    return _BASE - (_BASE - _TOP) * percentage // 100


def _x(value: float) -> str:
    return f"{value:.2f}"
