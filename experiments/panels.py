"""Small curves side by side in an SVG, without a plotting library, and their points in a CSV."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from html import escape
from math import log10
from pathlib import Path

WIDE, HIGH, GAP, ACROSS = 190, 110, 52, 3
#: Pixels that a number under a picture takes.
LABEL = 28
INKS = ("#0b5a9d", "#c4580a", "#6a8f1f", "#8a4fa0", "#7f8990", "#b0235f", "#14181b", "#0a8a86",
        "#b08900")
DASHES = ("none", "7 3", "2 2", "9 3 2 3", "1 4", "5 2", "3 5", "8 2 1 2", "14 3")


@dataclass(frozen=True)
class Panel:
    """A picture: its name, curves by name, the floor and the top of heights.

    A point of a curve is an epsilon, or a number of columns, and a height.
    """

    name: str
    curves: dict[str, list[tuple[float, float]]]
    low: float
    high: float


def save(place: Path, drawn: list[Panel], title: str) -> None:
    """Write a figure as `place.svg`, and the points of its curves as `place.csv`."""
    place.with_suffix(".svg").write_text(panels(drawn, title), "utf-8")
    with place.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(("panel", "curve", "x", "height"))
        lines.writerows((panel.name, name, f"{x:g}", f"{height:.4f}") for panel in drawn
                        for name, points in panel.curves.items() for x, height in points)


def panels(panels_made: list[Panel], title: str) -> str:
    """All pictures in rows of three, under one key.

    >>> panels([Panel("toy", {"a": [(0.1, 0.0), (1.0, 1.0)]}, 0, 1)], "Toys").count("<polyline")
    1
    """
    names = list(dict.fromkeys(name for panel in panels_made for name in panel.curves))
    width = 44 + ACROSS * (WIDE + GAP)
    key, below = _key(names, width)
    parts = [_text(10, 20, title, 14), *key]
    for place, panel in enumerate(panels_made):
        left = 44 + place % ACROSS * (WIDE + GAP)
        parts += _panel(panel, names, left, below + place // ACROSS * (HIGH + GAP + 14))
    height = below - (-len(panels_made) // ACROSS) * (HIGH + GAP + 14)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'font-family="sans-serif" role="img"><title>{escape(title)}</title>'
            f'<rect width="{width}" height="{height}" fill="#fff"/>{"".join(parts)}</svg>\n')


def _panel(panel: Panel, names: list[str], left: float, top: float) -> list[str]:
    epsilons = sorted({x for points in panel.curves.values() for x, _ in points})
    first, span = log10(epsilons[0]), (log10(epsilons[-1]) - log10(epsilons[0])) or 1

    def at(epsilon: float, height: float) -> str:
        x = left + WIDE * (log10(epsilon) - first) / span
        share = (height - panel.low) / ((panel.high - panel.low) or 1)
        return f"{x:.1f},{top + HIGH * (1 - min(max(share, 0), 1)):.1f}"

    parts = [_text(left, top - 8, panel.name, 12),
             (f'<rect x="{left}" y="{top}" width="{WIDE}" height="{HIGH}" fill="none" '
              'stroke="#d3d9dc"/>'),
             _text(left - 4, top + 8, f"{panel.high:.2f}", 9, "end"),
             _text(left - 4, top + HIGH, f"{panel.low:.2f}", 9, "end")]
    free = 0.0
    for x in epsilons:
        place = float(at(x, panel.low).split(",")[0])
        if place >= free:
            parts.append(_text(place, top + HIGH + 13, f"{x:g}", 9, "middle"))
            free = place + LABEL
    for name, points in panel.curves.items():
        where = names.index(name) % len(INKS)
        parts.append(f'<polyline points="{" ".join(at(*point) for point in points)}" fill="none" '
                     f'stroke="{INKS[where]}" stroke-width="1.8" '
                     f'stroke-dasharray="{DASHES[where]}"/>')
    return parts


def _key(names: list[str], width: float) -> tuple[list[str], float]:
    """What each curve is, in lines as wide as the picture; and where the panels begin."""
    parts, x, y = [], 10, 44
    for place, name in enumerate(names):
        ink, dash = INKS[place % len(INKS)], DASHES[place % len(DASHES)]
        if x > 10 and x + 40 + 6 * len(name) > width:
            x, y = 10, y + 18
        parts.append(f'<line x1="{x}" x2="{x + 28}" y1="{y}" y2="{y}" stroke="{ink}" '
                     f'stroke-width="1.8" stroke-dasharray="{dash}"/>')
        parts.append(_text(x + 34, y + 4, name, 11))
        x += 56 + 7 * len(name)
    return parts, y + 48


def _text(x: float, y: float, words: str, size: int, anchor: str = "start") -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="#14181b">{escape(words)}</text>')
