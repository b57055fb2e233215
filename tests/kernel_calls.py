"""Which implementation serves a test; calls of each kernel that fit its contract, at random."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest

import naive
from privsieve import kernels
from privsieve.kernels import blocks, contract, mining, nearest, patterns, sums

try:
    from privsieve.kernels import _native as native
except ImportError:
    native = None


def serve(which, monkeypatch):
    """Let the native kernels answer, or their twins."""
    if which == "native" and native is None:
        pytest.skip("the native kernels were not built here")  # in CI `conftest` makes it a failure
    monkeypatch.setattr(contract, "extension", native if which == "native" else None)


class Calls:
    """Arguments of the public kernels, for tables small enough to be tried by thousands."""

    def __init__(self, rng):
        self.rng = rng

    # parts of tables

    def pick(self, *values):
        """One of some numbers."""
        return int(self.rng.choice(values))

    def cuts(self, n, parts):
        """Where `parts` parts of n entries begin, and the end."""
        return np.array([0, *np.sort(self.rng.integers(0, n + 1, parts - 1)), n], np.int64)

    def starts(self, n, classes):
        """Where each class begins; no row may be of no class."""
        nobody = not n and self.rng.random() < 0.5
        return np.zeros(1, np.int64) if nobody else self.cuts(n, classes)

    def shape(self):
        """How many rows and columns; where each class begins."""
        n = self.pick(0, 1, 2, 9, 70, 300)
        return n, self.pick(0, 1, 2, 3, 5), self.starts(n, self.pick(1, 2, 3))

    def codes(self, d, n):
        """Codes, most of them tied, some missing."""
        if self.rng.random() < 0.3:
            return self.rng.integers(0, 65536, (d, n)).astype(np.uint16)
        return self.rng.choice(np.array([0, 1, 2, 300, 65534, 65535], np.uint16), (d, n))

    def words(self, *shape):
        """Some words of bits."""
        return self.rng.integers(0, 2**64, shape, np.uint64)

    def weight(self, n):
        """Nothing, or a weight a row."""
        return self.rng.integers(0, 2521, n) if self.rng.random() < 0.5 else None

    def labellings(self, starts):
        """A few signed class weights."""
        return self.rng.integers(-4096, 4097, (self.pick(0, 1, 3), len(starts) - 1))

    def kind(self, d):
        """What each column is."""
        return self.rng.integers(0, 4, d).astype(np.uint8)

    def flags(self, d):
        """Nothing, or yes and no."""
        return self.rng.random(d) < 0.5 if self.rng.random() < 0.5 else None

    def labels(self, n, classes=3):
        """The class of each row."""
        return self.rng.integers(0, classes, n).astype(np.int32)

    # kernels.__init__

    def mix64(self):
        return (self.words(5),)

    def tie_keys(self):
        return self.words(5), self.pick(0, 7, 2**20), int(self.words())

    def runs_together(self):
        n, d, starts = self.shape()
        weight = self.weight(n)
        parts = tuple((self.codes(d, n), starts, weight) for _ in range(self.pick(1, 2, 3)))
        return (parts,)

    def runs(self):
        n, d, starts = self.shape()
        return self.codes(d, n), starts, self.weight(n)

    def merge_runs(self):
        n, d, starts = self.shape()
        return tuple(kernels.runs(self.codes(d, n), starts, self.weight(n)) for _ in range(2))

    def interval(self):
        codes, starts, weight = self.runs()
        return kernels.runs(codes, starts, weight), self.labellings(starts), self.kind(len(codes))

    def ranked(self):
        n, d, _ = self.shape()
        return (self.codes(d, n), self.rng.integers(0, 5, n).astype(np.uint64),
                self.rng.permutation(n).astype(np.uint64), int(self.words()), self.kind(d))

    def sign_planes(self):
        codes, unit, row, key, kind = self.ranked()
        cuts = naive.cuts(codes, unit, row, key, kind)
        return codes, self.starts(len(row), 2), np.stack([unit, row]), key, cuts, kind

    def sign_pairs(self):
        codes, starts, *rest = self.sign_planes()
        planes = kernels.sign_planes(codes, starts, *rest)
        words = kernels.plane_words(starts)
        return (*planes, words, np.diff(starts), self.labellings(starts))

    sign_triples = sign_pairs

    def pair_gain(self, grid=None):
        n, d, starts = self.shape()
        grid = grid or self.pick(4, 8, 16)
        return (self.rng.integers(0, grid, (d, n)).astype(np.uint8), starts, self.weight(n),
                self.labellings(starts), grid, self.rng.integers(0, 2, d).astype(np.uint8))

    pair_best = pair_gain

    # sums

    def cell_sums(self):
        bins, starts, weight, _, grid, _ = self.pair_gain()
        return bins, starts, weight, grid

    def code_sums(self):
        n, d, _ = self.shape()
        classes = self.pick(3, 8, 9)
        return self.codes(d, n), self.labels(n, classes), classes

    def product_sums(self):
        return (*self.sign_pairs()[:5], self.pick(2, 3))

    def tie_counts(self):
        codes, unit, row, key, _ = self.ranked()
        many = self.pick(0, 1, 4) if len(codes) else 0
        places = np.stack([self.rng.integers(0, max(1, len(codes)), many),
                           self.rng.choice([0, 1, 2, 300, 65535], many)], axis=1)
        return codes, np.stack([unit, row]), key, places.astype(np.int64)

    def tied(self):
        codes, ids, key, places = self.tie_counts()
        tops = sums.tie_counts(codes, ids, key, places).argmax(axis=1).reshape(-1, 1)
        tops[self.rng.random(tops.shape) < .3] = -1
        return codes, ids, key, np.concatenate([places, tops], axis=1)

    # blocks

    def table(self, d):
        """Rows of units."""
        n = self.pick(0, 1, 2, 7, 40)
        return blocks.Rows(np.ascontiguousarray(self.codes(d, n).T), self.labels(n),
                           self.cuts(n, self.pick(1, 3, 9)))

    def kinds(self, d):
        """Nothing, or which columns are no plain numbers."""
        return (self.rng.choice(np.array([0, 65535], np.uint16), (2, d))
                if self.rng.random() < 0.5 else None)

    def block_moves(self):
        d = self.pick(0, 1, 3, 33)
        table = self.table(d)
        units = len(table.starts) - 1
        return (table, blocks.Blocks(self.rng.permutation(units), self.cuts(units, 4)),
                self.kinds(d))

    def block_votes(self):
        return (*self.block_moves(), self.pick(0, 3))

    def reference_moves(self):
        d = self.pick(0, 1, 3, 33)
        return self.table(d), self.table(d), self.kinds(d)

    def reference_votes(self):
        return (*self.reference_moves(), self.pick(0, 3))

    def deal(self):
        n, d = self.pick(0, 1, 31, 32, 65), self.pick(0, 1, 8, 9)
        return self.codes(d, n), self.rng.permutation(n), np.zeros((n, d), np.uint16)

    # patterns

    def items(self):
        """Items, and how many rows there are."""
        n, d = self.pick(0, 1, 2, 6, 12), self.pick(0, 1, 2, 4, 6)
        share = self.rng.choice([0.2, 0.7, 1.0], d)
        held = [np.flatnonzero(self.rng.random(n) < single_share) for single_share in share]
        return ((np.array([0, *accumulate(map(len, held))], np.int64),
                 np.concatenate([np.empty(0), *held]).astype(np.int32)), n)

    def class_counts(self):
        (indptr, indices), n = self.items()
        return indptr, indices, self.labels(n), 3

    def pattern_table(self):
        items, n = self.items()
        return items, self.labels(n), 3, self.flags(len(items[0]) - 1)

    def superset_counts(self):
        return patterns.pattern_table(*self.pattern_table())[:2]

    def around(self):
        masks, counts = self.superset_counts()
        masks_wanted = masks[self.rng.integers(0, len(masks), len(masks) and 3)]
        return masks, counts, masks_wanted, self.rng.integers(0, 4, len(masks_wanted))

    def peel(self):
        return (*self.superset_counts(), self.pick(1, 2, 3), self.pick(1, 2))

    def greedy(self):
        items, n = self.items()
        d, classes = len(items[0]) - 1, self.pick(1, 2, 3)
        rule = patterns.Rule(
            self.pick(1, 2, 3), classes, ("skip", "break")[self.pick(0, 1)],
            ("containment", "k-anonymity")[self.pick(0, 1)], self.pick(1, 2), self.flags(d),
            self.pick(0, 0, 1, 2), labelled=bool(self.pick(0, 0, 1)))
        return items, self.labels(n, classes * self.pick(1, 2)), self.rng.permutation(d), rule

    def lazy_distinct(self):
        items, y, order, rule = self.greedy()
        cut = int(self.rng.integers(0, len(order) + 1))
        return items, y, order[cut:].copy(), rule, order[:cut].copy()

    class_errors = lazy_distinct

    # mining and search

    def all_maximal(self):
        items, n = self.items()
        return items, n, self.pick(1, 2, 3), 64

    def top_by_rows(self):
        items, n = self.items()
        rule = mining.TopRule(self.pick(1, 2, 3), self.pick(1, 2), self.pick(1, 2, 3))
        return items, self.labels(n, 2), self.rng.integers(0, 9, len(items[0]) - 1), rule

    top_maximal = top_by_rows

    def top_by_items(self):
        items, y, weights, rule = self.top_by_rows()
        return items, len(y), weights, rule._replace(l_diversity=1)

    def search(self):
        items, y, order, rule = self.greedy()
        weights = self.rng.integers(0, 9, len(order)) if self.rng.random() < 0.5 else None
        return items, y, weights, rule, order[:1].copy()

    # ranks and nearest rows

    def rank_intervals(self):
        return self.interval()[::2]

    def nearest(self):
        n, d = self.pick(0, 1, 2, 9, 40), self.pick(0, 1, 3, 70)
        metric = str(self.rng.choice(nearest.METRICS))
        X = (self.rng.integers(0, 2, (n, d)) if metric == "hamming"
             else self.rng.normal(size=(n, d)).round(1))
        return X.astype(np.float64), self.labels(n), metric

    def nearest_in(self):
        X, label, metric = self.nearest()
        return X, label, metric, self.rng.random((len(X), self.pick(0, 1, 3, 65))) < 0.5
