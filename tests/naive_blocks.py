"""Block votes by loops over lists: the oracle of both kernels and of the engine.

A row is (unit, position, codes, label); `kinds` is a letter a column as in `tables.domain`.
"""

from __future__ import annotations

from naive import tie_key

WHOLE = 65535


def gap(a, b, kind):
    """How far two codes of a column are apart."""
    if a == b:
        return 0
    if kind in "fcw" or (kind == "m" and WHOLE in (a, b)):
        return WHOLE
    return abs(a - b)


def distance(x, other, kinds):
    """L1 over the columns."""
    return sum(gap(a, b, kind) for a, b, kind in zip(x, other, kinds, strict=True))


def nearest(x, others, kinds):
    """The first of the nearest rows, or None."""
    best = None
    for other in others:
        if best is None or distance(x, other, kinds) < distance(x, best, kinds):
            best = other
    return best


def leaning(row, others, kinds):
    """|x - miss| - |x - hit| by column; zeros where there is no hit or no miss."""
    _, _, x, label = row
    hit = nearest(x, [codes for codes, other in others if other == label], kinds)
    miss = nearest(x, [codes for codes, other in others if other != label], kinds)
    if hit is None or miss is None:
        return [0] * len(kinds)
    return [gap(a, q, kind) - gap(a, h, kind)
            for a, q, h, kind in zip(x, miss, hit, kinds, strict=True)]


def vote(sums, tau):
    """The sign of each sum, or the sum cut at tau."""
    if tau:
        return [max(-tau, min(tau, s)) for s in sums]
    return [(s > 0) - (s < 0) for s in sums]


def total(leanings, kinds):
    """The sum of the rows' leanings, by column."""
    return [sum(column) for column in zip(*leanings, strict=True)] or [0] * len(kinds)


def block_move(rows, kinds):
    """What one block would vote by: rows in its order."""
    return total([leaning(row, [(x, label) for unit, _, x, label in rows if unit != row[0]], kinds)
                  for row in rows], kinds)


def block_vote(rows, kinds, tau):
    """The vote of one block."""
    return vote(block_move(rows, kinds), tau)


def reference_move(rows, reference, kinds):
    """What one unit would vote by, against public (codes, label)."""
    return total([leaning(row, reference, kinds) for row in rows], kinds)


def reference_vote(rows, reference, kinds, tau):
    """The vote of one unit against public (codes, label)."""
    return vote(reference_move(rows, reference, kinds), tau)


def scaled(draw, many):
    """64 bits as a number below `many`."""
    return (draw >> 32) * many >> 32


def blocks(units, key, scheme, taken=lambda _unit, _repeat: True):
    """All blocks of a table, as lists of units, by the words of the proof."""
    block_list = []
    for part_number in range(scheme.parts):
        mine = [u for u in units if scaled(tie_key(u, 2**23, key), scheme.parts) == part_number]
        for repeat in range(scheme.repeats):
            ranked = sorted((u for u in mine if taken(u, repeat)),
                            key=lambda u: tie_key(u, repeat, key))
            if scheme.blocks is None:
                block_list += [ranked[at:at + scheme.block]
                               for at in range(0, len(ranked) - scheme.block + 1, scheme.block)]
            else:
                for block in range(scheme.blocks):
                    inside = [u for u in ranked
                              if scaled(tie_key(u, repeat, key), scheme.blocks) == block]
                    block_list.append(inside[:scheme.block])
    return block_list


def moves(rows, key, scheme, kinds, taken=lambda _unit, _repeat: True):
    """What each block of a table would vote by: by part, repeat and block."""
    units = sorted({row[0] for row in rows})
    of = {u: sorted(row for row in rows if row[0] == u)[:256] for u in units}
    return [block_move([row for u in block for row in of[u]], kinds)
            for block in blocks(units, key, scheme, taken)]


def votes(rows, key, scheme, kinds):
    """The sum of all votes of a table."""
    return total([vote(move, scheme.tau) for move in moves(rows, key, scheme, kinds)], kinds)
