"""What a group tells, by loops over rows: the oracle of disclosure, limits and their recount.

`rows[i]` is the set of items that row i holds, `values[i]` what it has in the sensitive column, in
whole numbers by their order.  Groups are those of `naive_containment.group`.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

from naive_containment import group


def groups(rows, S, rule, known=None):
    """The group of each row; `known` are the classes of the rows, where they may be known."""
    found = [group(rows, i, S, rule) for i in range(len(rows))]
    if known is not None:
        found = [{h for h in one if known[h] == known[i]} for i, one in enumerate(found)]
    return found


def share(values, found):
    """The share of the commonest value."""
    held = [values[i] for i in found]
    return Fraction(max(held.count(value) for value in held), len(held))


def distinct(values, found):
    """How many values there are."""
    return len({values[i] for i in found})


def entropy(values, found):
    """Entropy l, to fifty digits."""
    held = [values[i] for i in found]
    with localcontext() as context:
        context.prec = 60
        total = Decimal(0)
        for value in set(held):
            part = Decimal(held.count(value)) / len(held)
            total -= part * part.ln()
        return total.exp()


def closeness(values, found, ordered):
    """The distance of a group to the whole table: equal, or of numbers along their order."""
    levels = sorted(set(values))
    held = [values[i] for i in found]
    differences = [Fraction(held.count(level), len(held))
                   - Fraction(values.count(level), len(values)) for level in levels]
    if not ordered:
        return sum(map(abs, differences)) / 2
    moved = [abs(sum(differences[:at + 1])) for at in range(len(levels))]
    return sum(moved) / max(len(levels) - 1, 1)


def figures(values, all_groups, ordered):
    """Share, distinct, entropy and distance of the worst group each."""
    return (max(share(values, one) for one in all_groups),
            min(distinct(values, one) for one in all_groups),
            min(entropy(values, one) for one in all_groups),
            max(closeness(values, one, ordered) for one in all_groups))


def misses(values, found, limits, ordered):
    """Whether a group misses one of the limits: distinct, share, entropy, closeness or None."""
    least, most, even, far = limits
    return any((
        least is not None and distinct(values, found) < least,
        most is not None and share(values, found) > most,
        even is not None and entropy(values, found) < Decimal(even.numerator)
        / Decimal(even.denominator) - Decimal("1e-40"),
        far is not None and closeness(values, found, ordered) > far))
