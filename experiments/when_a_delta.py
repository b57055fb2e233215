"""When a delta helps: the table of `docs/how-much-epsilon.md`, from public numbers alone."""

from __future__ import annotations

from fractions import Fraction

from privsieve.noise.race import Race

#: d, k, epsilon and delta.
CASES = (
    (30, 3, "1", "1e-6"), (30, 8, "1", "1e-6"), (100, 5, "1", "1e-6"), (100, 10, "1", "1e-6"),
    (100, 20, "1", "1e-6"), (1000, 100, "1", "1e-9"),
)
#: How far the best columns stand out, in scales of the pure race.
GAP = 3


def rows() -> list[str]:
    """The table in Markdown, a text for each line.

    >>> rows()[3]
    '| 30 | 8 | 1 | 1e-6 | .73 | .88 | .91 |'
    """
    lines = ["| d | k | epsilon | delta | noise | found without | found with |",
             "|---|---|---|---|---|---|---|"]
    for d, k, epsilon, delta in CASES:
        pure, other = (Race(d, k, 1, Fraction(epsilon), delta=some)
                       for some in (Fraction(0), Fraction(delta)))
        reach = GAP * float(pure.scale)
        less, rest = (("-", "-") if other.account == "pure" else
                      (_up(other.scale / pure.scale), _down(other.share(d, k, reach))))
        cells = d, k, epsilon, delta, less, _down(pure.share(d, k, reach)), rest
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def _down(share: float) -> str:
    return f".{int(100 * share):02d}"


def _up(ratio: Fraction) -> str:
    return f".{-(-100 * ratio // 1):02d}"


if __name__ == "__main__":
    print("\n".join(rows()))  # what it is for
