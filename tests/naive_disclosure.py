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
    groups_of_rows = [group(rows, i, S, rule) for i in range(len(rows))]
    if known is not None:
        groups_of_rows = [{h for h in group if known[h] == known[i]} for i,
                          group in enumerate(groups_of_rows)]
    return groups_of_rows


def share(values, group):
    """The share of the commonest value."""
    held = [values[i] for i in group]
    return Fraction(max(held.count(value) for value in held), len(held))


def distinct(values, group):
    """How many values there are."""
    return len({values[i] for i in group})


def entropy(values, group):
    """Entropy l, to fifty digits."""
    held = [values[i] for i in group]
    with localcontext() as context:
        context.prec = 60
        total = Decimal(0)
        for value in set(held):
            share = Decimal(held.count(value)) / len(held)
            total -= share * share.ln()
        return total.exp()


def closeness(values, group, ordered):
    """The distance of a group to the whole table: equal, or of numbers along their order."""
    levels = sorted(set(values))
    held = [values[i] for i in group]
    differences = [Fraction(held.count(level), len(held))
                   - Fraction(values.count(level), len(values)) for level in levels]
    if not ordered:
        return sum(map(abs, differences)) / 2
    moved = [abs(sum(differences[:at + 1])) for at in range(len(levels))]
    return sum(moved) / max(len(levels) - 1, 1)


def figures(values, all_groups, ordered):
    """Share, distinct, entropy and distance of the worst group each."""
    return (max(share(values, group) for group in all_groups),
            min(distinct(values, group) for group in all_groups),
            min(entropy(values, group) for group in all_groups),
            max(closeness(values, group, ordered) for group in all_groups))


def misses(values, group, limits, ordered):
    """Whether a group misses one of the limits: distinct, share, entropy, closeness or None."""
    least, most, even, far = limits
    return any((
        least is not None and distinct(values, group) < least,
        most is not None and share(values, group) > most,
        even is not None and entropy(values, group) < Decimal(even.numerator)
        / Decimal(even.denominator) - Decimal("1e-40"),
        far is not None and closeness(values, group, ordered) > far))
