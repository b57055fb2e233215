"""Bars in an SVG, without a plotting library."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

#: Heights from LOW to 1 are drawn, SCALE pixels for the whole.
LOW, SCALE, WIDTH = 0.4, 160, 12
SHADES = ("#9ecae1", "#6baed6", "#3182bd", "#08519c")


@dataclass(frozen=True)
class Group:
    """Bars that stand together: the panel they belong to, their name, their heights."""

    panel: str
    name: str
    heights: list[float]


def bars(groups: list[Group], legend: list[str]) -> str:
    """An SVG picture: one panel below the other, groups side by side.

    >>> bars([Group("toy", "true", [0.5])], ["1"]).count("<rect")
    2
    """
    panels = list(dict.fromkeys(group.panel for group in groups))
    parts = [_key(legend)]
    for place, panel in enumerate(panels):
        top = 40 + place * (SCALE + 50)
        parts.append(_text(10, top, panel, 13))
        x, floor = 40, top + SCALE + 8
        for group in (group for group in groups if group.panel == panel):
            for shade, height in zip(SHADES, group.heights, strict=False):
                tall = max(0.0, (height - LOW) / (1 - LOW) * SCALE)
                parts.append(f'<rect x="{x}" y="{floor - tall:.1f}" width="{WIDTH}" height='
                             f'"{tall:.1f}" fill="{shade}"><title>{height:.3f}</title></rect>')
                x += WIDTH + 2
            parts.append(_text(x - len(group.heights) * (WIDTH + 2), floor + 14, group.name, 11))
            x += 60
    height = 40 + len(panels) * (SCALE + 50)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="460" height="{height}" '
            f'font-family="sans-serif">{"".join(parts)}</svg>\n')


def _key(legend: list[str]) -> str:
    return "".join(f'<rect x="{10 + 90 * i}" y="8" width="10" height="10" fill="{shade}"/>'
                   + _text(24 + 90 * i, 17, f"AUC, {name}" if not i else name, 11)
                   for i, (shade, name) in enumerate(zip(SHADES, legend, strict=False)))


def _text(x: float, y: float, words: str, size: int) -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}">{escape(words)}</text>'
