"""Law: a choice from a sample.  Errors may be a sample's; k is kept on all rows."""

import numpy as np
import pytest

from privsieve.containment import forward as module
from privsieve.containment.forward import MOST_CELLS, Ridge, _pool, forward
from privsieve.containment.labelled import Labelled
from privsieve.containment.measures import containment_level
from privsieve.kernels.patterns import Rule
from privsieve.rows.matrix import Items
from real_data import adult, email


def table(seed, rows=4000, width=12, rare=9):
    """Columns that lean to a class, of which one is rare."""
    rng = np.random.default_rng(seed)
    y = np.zeros(rows, np.int32)
    y[rng.choice(rows, rows // 3, replace=False)] = 1
    y[rng.choice(rows, rare, replace=False)] = 2
    matrix = rng.random((rows, width)) < rng.random(width) * (0.2 + 0.3 * (y[:, None] == 1))
    return Items.dense(matrix), y


def test_a_sample_has_its_share_of_each_class(monkeypatch):
    """A sample fits the bound, and holds each class in its share or as often as it may."""
    monkeypatch.setattr(module, "MOST_CELLS", 12 * 400)
    items, y = table(1)
    marked = np.random.default_rng(1).random(items.rows) < 0.9
    seen = module._seen(y, marked, 12)
    count, whole = np.bincount(y[seen]), np.bincount(y[marked])

    assert marked[seen].all()
    assert sorted(set(seen.tolist())) == seen.tolist()
    assert whole[2] == count[2]
    assert (400 * whole[:2] // marked.sum()).tolist() == count[:2].tolist()
    places = np.searchsorted(np.flatnonzero(marked & (y == 1)), seen[y[seen] == 1])
    assert np.ptp(np.diff(places)) <= 1  # evenly spaced
    assert np.flatnonzero(marked).tolist() == module._seen(y, marked, 1).tolist()


def test_a_regression_on_a_sample_is_that_of_its_rows(monkeypatch):
    """Errors of a sampled regression are those of the regression on the table of these rows."""
    items, y = table(2)
    every, pool = np.ones(items.rows, bool), np.array([3, 0, 7, 5])
    monkeypatch.setattr(module, "MOST_CELLS", 4 * 300)
    seen = module._seen(y, every, 4)
    ridge = Ridge.of(items, pool, y, 3, every)
    dense = np.zeros((items.rows, len(items)), int)
    dense[items.indices, np.repeat(np.arange(len(items)), np.diff(items.indptr))] = 1
    sample = Items.dense(dense[seen])
    monkeypatch.undo()
    whole = Ridge.of(sample, pool, y[seen], 3, np.ones(len(seen), bool))
    for candidate in (1, 3):
        assert whole.errors().tolist() == ridge.errors().tolist()
        whole.add(candidate)
        ridge.add(candidate)
    assert (True, False) == (whole.whole, ridge.whole)


@pytest.mark.parametrize("k", [2, 9, 40])
def test_k_holds_on_all_rows(monkeypatch, k):
    """However small the sample, the groups of all rows are large enough."""
    monkeypatch.setattr(module, "MOST_CELLS", 12 * 100)
    for seed in range(5):
        items, y = table(seed)
        choice = forward(Labelled(items, y), Rule(k, 3))

        assert choice.selected
        assert containment_level(items.take(choice.selected)) == choice.level >= k


@pytest.mark.parametrize("read", [adult, email])
def test_tables_of_usual_size_are_not_sampled(read):
    """The Adult table and the e-mails fit the bound with all their candidates."""
    items, y = read()
    pool = _pool(Labelled(items, y), Rule(5, 2))

    assert items.rows * len(pool) <= MOST_CELLS
