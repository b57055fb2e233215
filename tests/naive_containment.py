"""What the pattern kernels compute, by loops over sets: the oracle of both implementations.

`rows[i]` is the set of items that row i holds, `y[i]` its class; `hidden[i]` says that its class
may not be used for scores.  A rule is read by its attributes.
"""

from __future__ import annotations

from itertools import combinations


def holds(rows, item):
    """The rows that hold an item."""
    return {i for i, row in enumerate(rows) if item in row}


def group(rows, i, S, rule):
    """The rows that agree with row i in all that may be known of it."""
    def agrees(row):
        if rule.model == "k-anonymity":
            return row & S == rows[i] & S
        absences = {j for j in S - rows[i] if rule.absent is not None and rule.absent[j]}
        return rows[i] & S <= row and not row & absences

    return {h for h, row in enumerate(rows) if agrees(row)}


def stays(rows, y, S, rule):
    """The rows that remain when those with a bad group leave, again and again."""
    left, crowds = set(range(len(rows))), {}
    for i, row in enumerate(rows):  # rows that show the same have the same group
        if (patterns_kept := frozenset(row & S)) not in crowds:
            crowds[patterns_kept] = group(rows, i, S, rule)
    while True:
        bad = {i for i in left if not enough(crowds[frozenset(rows[i] & S)] & left, y, rule, i)}
        if not bad:
            return left
        left -= bad


def kept(rows, y, S, rule, left, i):
    """Whether the group of row i among `left` is large and diverse enough."""
    return enough(group(rows, i, S, rule) & left, y, rule, i)


def enough(group, y, rule, i):
    """Whether a group of row i is large and diverse enough.

    Where its class may be known, this number must be of its class.
    """
    known = {h for h in group if y[h] == y[i]} if rule.labelled else group
    return len(known) >= rule.k and len({y[h] for h in group}) >= rule.l_diversity


def feasible(rows, y, S, rule):
    """Whether at most `suppress` rows must leave (none, where that is 0)."""
    return len(rows) - len(stays(rows, y, S, rule)) <= rule.suppress


def fits(rows, y, S, item, rule):
    """Whether an item keeps the rule with S, and some row that stays holds it (or none at all)."""
    held = holds(rows, item)
    wasted = rule.suppress and held and not held & stays(rows, y, S | {item}, rule)
    return feasible(rows, y, S | {item}, rule) and not wasted


def rare_subset(rows, S, k):
    """Whether some part of S is held by 1 to k - 1 rows."""
    return any(0 < sum(set(Y) <= row for row in rows) < k
               for size in range(len(S) + 1) for Y in combinations(sorted(S), size))


def around(masks, counts, wanted_masks, rows):
    """Counts of what contains each asked mask; rows of the asked masks that each mask contains."""
    table, others = ([int.from_bytes(mask.astype("<u8").tobytes(), "little") for mask in some]
                     for some in (masks, wanted_masks))
    over = [counts[[q for q, large in enumerate(table) if small & large == small]].sum(0).tolist()
            for small in others]
    held = [sum(int(rows[p]) for p, small in enumerate(others) if small & large == small)
            for large in table]
    return over, held


def patterns(rows, S):
    """The rows of each pattern, in the order of their first row."""
    counts = {}
    for i, row in enumerate(rows):
        counts.setdefault(frozenset(row & S), []).append(i)
    return counts


def told_apart(rows, y, hidden, S):
    """Cross-class pairs of rows that differ on S."""
    return sum(rows[a] & S != rows[b] & S for a, b in combinations(range(len(rows)), 2)
               if y[a] != y[b] and not hidden[a] and not hidden[b])


def differences(rows, y, hidden, S):
    """Differing items over all cross-class pairs of rows."""
    return sum(len((rows[a] ^ rows[b]) & S) for a, b in combinations(range(len(rows)), 2)
               if y[a] != y[b] and not hidden[a] and not hidden[b])


def errors(rows, y, hidden, S, k):
    """Rows outside the majority of their pattern, and all rows of small patterns."""
    total = 0
    for pattern in patterns(rows, S).values():
        labels = [y[i] for i in pattern if not hidden[i]]
        most = max((labels.count(c) for c in labels), default=0)
        total += len(labels) - (most if len(pattern) >= k else 0)
    return total


def greedy(rows, y, order, rule):
    """Algorithm 2: accept in this order."""
    S, accepted = set(), []
    for item in order if feasible(rows, y, set(), rule) else []:
        if fits(rows, y, S, item, rule):
            S.add(item)
            accepted.append(item)
        elif rule.stop == "break":
            break
    return accepted


def best_first(rows, y, candidates, prefix, rule, value, least):
    """Algorithm 3: the best candidate, first of equals, while it adds at least this gain."""
    accepted = greedy(rows, y, prefix, rule)
    left = list(candidates)
    if not feasible(rows, y, set(), rule) or accepted != list(prefix):
        return accepted
    while left:
        S = set(accepted)
        best = max(left, key=lambda j: (value(S | {j}), -left.index(j)))
        if least is not None and value(S | {best}) - value(S) < least:
            break
        left.remove(best)
        if fits(rows, y, S, best, rule):
            accepted.append(best)
        elif rule.stop == "break":
            break
    return accepted
