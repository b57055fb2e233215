"""RuleSieve's scores against scikit-learn's filters, on the same rows, in one process."""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.feature_selection import RFE, f_classif, mutual_info_classif
from sklearn.linear_model import LogisticRegression

from measure import Goal, call
from privsieve import kernels
from privsieve.methods import branches
from privsieve.public.domain import Domain
from privsieve.rows.batch import Batch
from privsieve.summaries.layout import Layout
from privsieve.summaries.rules import Weighing, rule_tables, scores

ROWS, COLUMNS = 100_000, 100


def table(rows=ROWS, columns=COLUMNS):
    """Normal columns, every tenth shifted by the class; and their codes."""
    rng = np.random.default_rng(0)
    y = (rng.random(rows) < 0.5).astype(np.int32)
    X = rng.standard_normal((rows, columns))
    X[:, ::10] += 0.3 * y[:, None]
    codes = np.asfortranarray(np.clip((X / 8 + 0.5) * 65536, 0, 65535).astype(np.uint16))
    row = np.arange(rows, dtype=np.uint64)
    return X, y, Batch(codes, y, row, row)


def scored(batch, order, grid):
    """Codes to scores: what `fit` does between the reader and the race."""
    domain = Domain.box(0, 1, columns=batch.codes.shape[1])
    by = Weighing(np.array([[-1, 1]]), np.zeros((1, batch.codes.shape[1]), np.int64), 1, order,
                  grid)
    tables = rule_tables([batch], 12345, domain=domain, order=order, grid=grid)
    return scores(tables, Layout.of(domain), by)


def wide_goals(runs):
    """Few rows and many columns: scores against a wrapper, and a whole choice against the clock."""
    rng = np.random.default_rng(0)
    lines = []
    for rows, columns in ((64, 2000), (70, 12_000)):
        X, y = rng.random((rows, columns)), (rng.random(rows) < 0.5).astype(np.int32)
        row = np.arange(rows, dtype=np.uint64)
        batch = Batch(np.asfortranarray((X * 65535).astype(np.uint16)), y, row, row)
        deep, grid = branches.depth(branches.Extent(rows, columns), None, branches.MAX_OPS)
        ours = call(partial(scored, batch, deep, grid), runs)
        lines.append((X, y, deep, grid, ours))
    X, y, deep, grid, ours = lines[0]
    rfe = call(lambda: RFE(LogisticRegression(), n_features_to_select=5, step=.1).fit(X, y), runs)
    yield Goal("scores of 64 x 2000 / RFE, steps of a tenth, or .3 s", ours / max(rfe, .3), 1,
               f"RFE {rfe:.2f} s, ours {ours:.2f} s, order {deep}, grid {grid}")
    *_, deep, grid, ours = lines[1]
    yield Goal("scores of 70 x 12000 / 20 s", ours / 20, 1,
               f"ours {ours:.1f} s, order {deep}, grid {grid}")
    seconds = branches.takes(branches.Extent(70, 12_000), deep=deep, grid=grid).seconds
    yield Goal("scores of 70 x 12000 / what plan says", ours / seconds, 1.2,
               f"{seconds:.1f} s said")


def words_goals(runs):
    """Pairs of columns of words, there or not, against counting which words stand together."""
    rng = np.random.default_rng(0)
    there = rng.random((3000, 1360)) < .05
    bins, starts, nominal = (15 * there).astype(np.uint8), np.array([0, 680, 1360]), np.zeros(3000)
    rules = bins, starts, None, np.array([[-1, 1]]), 16, nominal.astype(np.uint8)
    ours = call(partial(kernels.pair_gain, *rules), runs)
    counted = there.astype(np.float32)
    peer = call(lambda: [half @ half.T for half in (counted[:, :680], counted[:, 680:])], runs)
    yield Goal("pairs of 3000 words in 1360 rows / two products of NumPy", ours / peer, 2,
               f"NumPy {peer:.2f} s, ours {ours:.2f} s")


def goals(*, short):
    """Goals of the referee's page: 100,000 x 100, one thread."""
    X, y, batch = table()
    runs = 3 if short else 7
    f = call(lambda: f_classif(X, y), runs)
    # Mutual information is a sum over columns; ten of them are measured in the short form.
    some = 10 if short else COLUMNS
    mutual = call(lambda: mutual_info_classif(X[:, :some], y, random_state=0), 1) * COLUMNS / some
    full = call(lambda: scored(batch, 3, 16), runs)
    usual = call(lambda: scored(batch, 2, 8), runs)
    alone = call(lambda: scored(batch, 1, 0), runs)
    size = f"{ROWS} x {COLUMNS}, {kernels.implementation()}"
    times = (f"{size}: f_classif {f:.3f} s, mutual_info_classif {mutual:.1f} s"
             f"{' extrapolated from 10 columns' if short else ''}, ")
    return [
        Goal("order 3, grid 16 / f_classif", full / f, 6, f"{times}ours {full:.3f} s"),
        Goal("order 3, grid 16 / mutual_info_classif", full / mutual, 1 / 50, f"ours {full:.3f} s"),
        Goal("order 2, grid 8 / f_classif", usual / f, 3, f"ours {usual:.3f} s"),
        Goal("order 2, grid 8 / mutual_info_classif", usual / mutual, 1 / 120,
             f"ours {usual:.3f} s"),
        Goal("intervals alone / f_classif", alone / f, 1 / 2, f"ours {alone:.3f} s"),
        *wide_goals(1 if short else 3),
        *words_goals(1 if short else 3),
    ]
