"""Curves of a forecast as an SVG picture: per cent found by epsilon, a curve for each size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import log10

Points = Sequence[tuple[float, float]]

LEFT, TOP, WIDE, HIGH = 64, 56, 440, 240
#: Darker is more units; dashes tell the curves apart without colour.
INKS = ("#74a9cf", "#2b8cbe", "#045a8d")
DASHES = ("3 3", "8 3", "none")


def curves(title: str, lines: Mapping[str, Points], guessing: float) -> str:
    """One picture; each line is a name and its points (epsilon, per cent), epsilon increasing.

    >>> picture = curves("3 of 30", {"569 rows": [(0.1, 20), (1, 90)]}, 10)
    >>> picture.count("<polyline"), "569 rows" in picture
    (1, True)
    """
    epsilons = sorted({epsilon for points in lines.values() for epsilon, _ in points})
    first, last = log10(epsilons[0]), log10(epsilons[-1])

    def x(epsilon: float) -> float:
        return LEFT + WIDE * (log10(epsilon) - first) / ((last - first) or 1)

    parts = [_text(LEFT, 24, title, 14), _text(LEFT, 42, "per cent of the columns sought that are "
                                               "found", 11)]
    parts += [_grid(level) for level in (0, 25, 50, 75, 100)]
    parts += [_text(x(epsilon), TOP + HIGH + 18, f"{epsilon:g}", 11, "middle")
              for epsilon in epsilons]
    parts.append(_text(LEFT + WIDE / 2, TOP + HIGH + 36, "epsilon", 11, "middle"))
    parts.append(f'<line x1="{LEFT}" x2="{LEFT + WIDE}" y1="{_y(guessing):.1f}" '
                 f'y2="{_y(guessing):.1f}" stroke="#666" stroke-dasharray="1 3"/>')
    parts.append(_text(LEFT + WIDE + 6, _y(guessing) + 4, "guessing", 11))
    for place, (name, points) in enumerate(lines.items()):
        ink, dash = INKS[place % len(INKS)], DASHES[place % len(DASHES)]
        path = " ".join(f"{x(epsilon):.1f},{_y(share):.1f}" for epsilon, share in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{ink}" stroke-width="2" '
                     f'stroke-dasharray="{dash}"/>')
        # The key stands above the curves: labels at their ends would lie on one another.
        key = LEFT + WIDE + 6, TOP + 14 + 18 * place
        parts.append(f'<line x1="{key[0]}" x2="{key[0] + 26}" y1="{key[1] - 4}" y2="{key[1] - 4}" '
                     f'stroke="{ink}" stroke-width="2" stroke-dasharray="{dash}"/>')
        parts.append(_text(key[0] + 32, key[1], name, 11))
    told = "; ".join(f"{name}: " + ", ".join(f"{share:g} % at {epsilon:g}"
                                             for epsilon, share in points)
                     for name, points in lines.items())
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="680" height="350" role="img" '
            f'font-family="sans-serif" fill="#14181b"><title>{escape(title)}</title>'
            f'<desc>{escape(told)}</desc><rect width="680" height="350" fill="#fff"/>'
            f'{"".join(parts)}</svg>\n')


def _y(share: float) -> float:
    return TOP + HIGH * (1 - share / 100)


def _grid(level: int) -> str:
    y = _y(level)
    return (f'<line x1="{LEFT}" x2="{LEFT + WIDE}" y1="{y:.1f}" y2="{y:.1f}" stroke="#d3d9dc"/>'
            + _text(LEFT - 8, y + 4, str(level), 11, "end"))


def _text(x: float, y: float, words: str, size: int, anchor: str = "start") -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">'
            f"{escape(words)}</text>")
