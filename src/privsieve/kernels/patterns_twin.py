"""NumPy twin of the native pattern kernels: the same names, the same answers."""
# ruff: noqa: PLR0917  six arguments are allowed by the house

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

I32: TypeAlias = npt.NDArray[np.int32]
I64: TypeAlias = npt.NDArray[np.int64]
U8: TypeAlias = npt.NDArray[np.uint8]
Bools: TypeAlias = npt.NDArray[np.bool_]
U64: TypeAlias = npt.NDArray[np.uint64]
Cells: TypeAlias = tuple[I64, I32]

#: Pairs of patterns that are compared at once.
PAIRS = 1 << 20
#: Stands last where the user ended a choice.
ENDED = -1


@dataclass(frozen=True, eq=False, repr=False)
class _Rule:
    k: int
    diversity: int
    suppress: int
    classes: int
    codes: int
    skip: bool
    equal: bool
    labelled: bool
    absent: U8


class _State:
    """Patterns of the rows on the items accepted so far."""

    def __init__(self, items: Cells, y: I32, rule: _Rule) -> None:
        self.indptr, self.indices = items
        self.y, self.rule = y.astype(np.int64), rule
        self.pattern = np.zeros(len(y), np.int64)
        self.masks = np.zeros((min(len(y), 1), 1), np.uint64)
        self.bits = 0
        self.whole = np.zeros((len(self.masks), rule.codes), np.int64)
        self.inside = self.whole
        np.add.at(self.whole, (self.pattern, self.y), 1)

    def column(self, item: int) -> I32:
        return self.indices[self.indptr[item] : self.indptr[item + 1]]

    def count(self, item: int) -> None:
        rows, codes = self.column(item), self.rule.codes
        fused = self.pattern[rows] * codes + self.y[rows]
        self.inside = np.bincount(fused, minlength=self.whole.size).reshape(self.whole.shape)

    def accept(self, item: int) -> None:
        """Take the item that was counted: patterns that it cuts are cut."""
        both = bool(self.rule.absent[item])
        while self.bits + 1 + both > 64 * self.masks.shape[1]:
            self.masks = np.hstack([self.masks, np.zeros_like(self.masks)])
        held = self.inside.sum(1) > 0
        cut = np.flatnonzero(held & (self.inside.sum(1) < self.whole.sum(1)))
        number = np.arange(len(self.masks))
        number[cut] = len(number) + np.arange(len(cut))
        word, bit = divmod(self.bits, 64)
        self.masks = np.vstack([self.masks, self.masks[cut]])
        mine = np.concatenate([np.flatnonzero(held & (number < len(held))), number[cut]])
        self.masks[mine, word] |= np.uint64(1) << np.uint64(bit)
        if both:
            word, bit = divmod(self.bits + 1, 64)
            rest = np.setdiff1d(np.arange(len(self.masks)), mine)
            self.masks[rest, word] |= np.uint64(1) << np.uint64(bit)
        self.bits += 1 + both
        self.whole = np.vstack([self.whole, self.inside[cut]])
        self.whole[cut] -= self.inside[cut]
        rows = self.column(item)
        self.pattern[rows] = number[self.pattern[rows]]

    def plain(self, counts: I64) -> I64:
        """Counts per class, whether or not the label is hidden."""
        classes = self.rule.classes
        out: I64 = counts.reshape(len(counts), self.rule.codes // classes, classes).sum(1)
        return out

    def hopeless(self, item: int) -> bool:
        rule = self.rule
        held = int(self.indptr[item + 1] - self.indptr[item])
        rest = len(self.y) - held
        both = rule.equal or rule.absent[item]
        return not rule.suppress and (0 < held < rule.k or bool(both and 0 < rest < rule.k))

    def keeps(self, item: int) -> bool:
        """Whether the rule holds with the item that was counted."""
        rule, sides = self.rule, [self.inside, self.whole - self.inside]
        parts = [self.plain(side) for side in sides]
        if rule.equal:
            left = [alone(part, rule.k, rule.diversity, labelled=rule.labelled) for part in parts]
            lost = sum(int(part.sum() - some.sum()) for part, some in zip(parts, left, strict=True))
            return lost <= rule.suppress and bool(left[0].any() or not parts[0].any())
        if rule.suppress:
            return self._suppressed_keeps(item, parts)
        known = parts[: 2 if rule.absent[item] else 1]
        return all(_covered(self.masks, part, rule) for part in known)

    def _suppressed_keeps(self, item: int, parts: list[I64]) -> bool:
        """Whether few rows must leave, and not all that hold the item."""
        bits = np.zeros((2, len(self.masks), 1), np.uint64)
        bits[0] = 1
        bits[1] = 2 * bool(self.rule.absent[item])
        masks = np.vstack([np.hstack([self.masks, bits[0]]), np.hstack([self.masks, bits[1]])])
        counts = np.vstack(parts)
        there = counts.any(1)
        stays = peel(masks[there], counts[there], self.rule.k, self.rule.diversity,
                     labelled=self.rule.labelled)
        left = counts[there] * stays
        held = np.flatnonzero(there) < len(parts[0])
        lost = int(counts.sum() - left.sum())
        return lost <= self.rule.suppress and bool(left[held].any() or not held.any())

    def told_apart(self) -> int:
        known = self.rule.classes
        a, b = self.inside[:, :known], (self.whole - self.inside)[:, :known]
        return int((a.sum(1) * b.sum(1)).sum() - (a * b).sum())

    def errors(self) -> int:
        """Classification errors with the item that was counted."""
        total = 0
        for counts in (self.inside, self.whole - self.inside):
            known = counts[:, : self.rule.classes]
            large = counts.sum(1) >= self.rule.k
            total += int(known.sum()) - int(known.max(1, initial=0)[large].sum())
        return total


def _covered(masks: U64, counts: I64, rule: _Rule) -> bool:
    there = counts.any(1)
    group = superset_counts(masks[there], counts[there])
    good = kept(group, rule.k, rule.diversity, labelled=rule.labelled)
    return bool(good[counts[there] > 0].all())


def kept(group: I64, k: int, diversity: int, *, labelled: bool) -> Bools:
    """Which rows, by pattern and class, have a group that is large and diverse enough."""
    size = group if labelled else np.broadcast_to(group.sum(1, keepdims=True), group.shape)
    good: Bools = (size >= k) & ((group > 0).sum(1, keepdims=True) >= diversity)
    return good


def alone(counts: I64, k: int, diversity: int, *, labelled: bool) -> I64:
    """The rows that stay, by pattern and class, where each pattern is a group by itself."""
    large = counts * kept(counts, k, 0, labelled=labelled)
    left: I64 = large * ((large > 0).sum(1, keepdims=True) >= diversity)
    return left


def _begun(items: Cells, y: I32, facts: I64, absent: U8) -> _State | None:
    """The state with no item; none if even that breaks the rule."""
    k, diversity, suppress, classes, codes, *flags = (int(fact) for fact in facts)
    skip, equal, labelled = (bool(flag) for flag in flags)
    rule = _Rule(k, diversity, suppress, classes, codes, skip, equal, labelled, absent)
    state = _State(items, y, rule)
    left = alone(state.plain(state.whole), k, diversity, labelled=labelled)
    return None if len(y) - int(left.sum()) > suppress else state


def _take(state: _State, item: int) -> bool:
    if state.hopeless(item):
        return False
    state.count(item)
    good = state.keeps(item)
    if good:
        state.accept(item)
    return good


def class_counts(indptr: I64, indices: I32, y: I32, classes: int) -> I64:
    """Rows of each class that hold each item."""
    label = y[indices]
    out = np.zeros((len(indptr) - 1, classes), np.int64)
    for c in range(classes):
        out[:, c] = np.diff(np.concatenate([[0], np.cumsum(label == c)])[indptr])
    return out


def greedy(items: Cells, y: I32, order: I64, facts: I64, absent: U8) -> I64:
    """Items of `order` that are accepted one after the other; a last -1: the user ended it."""
    state, accepted = _begun(items, y, facts, absent), []
    try:
        for item in order.tolist() if state else []:
            assert state is not None
            if _take(state, item):
                accepted.append(item)
            elif not state.rule.skip:
                break
    except KeyboardInterrupt:
        accepted.append(ENDED)
    return np.array(accepted, np.int64)


def lazy_distinct(
    items: Cells, y: I32, candidates: I64, prefix: I64, facts: I64, absent: U8
) -> I64:
    """Not lazy at all: each step counts all gains."""
    def gain(state: _State) -> int:
        return state.told_apart()

    return _best_first(_begun(items, y, facts, absent), candidates, prefix, (gain, 1))


def class_errors(items: Cells, y: I32, candidates: I64, prefix: I64, facts: I64, absent: U8) -> I64:
    """Greedily the items that leave fewest rows outside the majority of their pattern."""
    def right(state: _State) -> int:
        return -state.errors()

    return _best_first(_begun(items, y, facts, absent), candidates, prefix, (right, None))


def _best_first(
    state: _State | None, candidates: I64, prefix: I64, worth: tuple[Any, int | None]
) -> I64:
    """Take the best candidate, first of equals, while it is worth at least so much."""
    accepted: list[int] = []
    try:
        _grow(state, candidates, prefix, worth, accepted)
    except KeyboardInterrupt:
        accepted.append(ENDED)
    return np.array(accepted, np.int64)


def _grow(
    state: _State | None, candidates: I64, prefix: I64, worth: tuple[Any, int | None],
    accepted: list[int],
) -> None:
    value, least = worth
    for item in prefix.tolist() if state else []:
        assert state is not None
        if not _take(state, item):
            return
        accepted.append(item)
    left = candidates.tolist() if state else []
    fresh: list[tuple[int, int]] = []
    while left:
        assert state is not None
        if not fresh:
            for position, item in enumerate(left):
                state.count(item)
                fresh.append((-value(state), position))
            fresh.sort(reverse=True)
        negative, position = fresh.pop()
        if least is not None and -negative < least:
            break
        if _take(state, left[position]):
            accepted.append(left[position])
            left = [left[p] for p in sorted(p for _, p in fresh)]
            fresh = []
        elif not state.rule.skip or not fresh:
            break


def pattern_table(items: Cells, y: I32, classes: int, absent: U8) -> tuple[U64, I64, I32]:
    """Patterns of the rows, numbered by their first row."""
    rule = _Rule(0, 1, 0, classes, classes, True, False, False, absent)
    state = _State(items, y, rule)
    for item in range(len(items[0]) - 1):
        state.count(item)
        state.accept(item)
    _, first, pattern = np.unique(state.pattern, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.argsort(order).astype(np.int32)
    words = max(-(-state.bits // 64), 1)
    masks = np.ascontiguousarray(state.masks[order, :words])
    return masks, np.ascontiguousarray(state.whole[order]), number[pattern]


def around(masks: U64, counts: I64, asked: U64, rows: I64) -> tuple[I64, I64]:
    """Sums over the masks that contain an asked one, and over the asked ones that a mask contains.

    What contains a mask holds its rarest bit: only the masks with that bit are looked at.
    """
    over = np.zeros((len(asked), counts.shape[1]), np.int64)
    held = np.zeros(len(masks), np.int64)
    for some, among in _by_rarest_bit(masks, asked):
        step = max(PAIRS // max(len(among) * masks.shape[1], 1), 1)
        for part in (some[low : low + step] for low in range(0, len(some), step)):
            holds = ~(asked[part, None] & ~masks[among][None]).any(2)
            over[part] = holds.astype(np.int64) @ counts[among]
            held[among] += rows[part] @ holds
    return over, held


def _by_rarest_bit(masks: U64, asked: U64) -> Iterator[tuple[I64, I64]]:
    """The asked masks with the same rarest bit, and the masks that have it."""
    plane = np.uint64(1) << np.arange(64, dtype=np.uint64)
    fewest = np.full(len(asked), len(masks))  # of masks with a bit
    rarest = np.full(len(asked), -1)
    for word in range(masks.shape[1]):
        for place, one in enumerate(plane):
            count = int(np.count_nonzero(masks[:, word] & one))
            better = ((asked[:, word] & one) > 0) & ((rarest < 0) | (count < fewest))
            fewest[better], rarest[better] = count, 64 * word + place
    for bit in np.unique(rarest):
        has = masks[:, bit // 64] & plane[bit % 64]
        yield (np.flatnonzero(rarest == bit),
               np.flatnonzero(has) if bit >= 0 else np.arange(len(masks)))


def superset_counts(masks: U64, counts: I64) -> I64:
    """For each mask the sum of the counts of all masks that contain it."""
    return around(masks, counts, masks, np.zeros(len(masks), np.int64))[0]


def peel(masks: U64, counts: I64, k: int, diversity: int, *, labelled: bool) -> U8:
    """Which rows stay, by pattern and class, when all whose group is too small leave."""
    stays = np.ones(counts.shape, np.bool_)
    while True:
        good = kept(superset_counts(masks, counts * stays), k, diversity, labelled=labelled)
        if good[stays].all():
            return stays.view(np.uint8)
        stays &= good
