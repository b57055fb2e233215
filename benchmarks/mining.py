"""Maximal sets against Borgelt's programs, in the same process, with the same output.

The peers are `fpgrowth` and `eclat` of PyPI's `pyfim`, target "m"; a goal compares with the faster
one.  They take lists of rows, as we take columns; each input is made before the clock starts.
Without `pyfim` only the goals without a peer are measured.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy import sparse

from measure import Goal, call
from privsieve import kernels
from privsieve.kernels import mining

DATA = Path(os.environ.get("PRIVSIEVE_DATA", Path(__file__).parents[2] / "shared" / "data"))
#: Supports of the comparison, and the largest ratio that is allowed.
SUPPORTS = (("retail", (88, 10), 1), ("mushroom", (800, 80, 8), 1), ("dense", (1600, 1200), 2))
PATIENCE = 20  # seconds that a peer gets on the e-mail


def goals(*, short):
    """Goals of the referee's page; the short form leaves the lowest dense support out."""
    if kernels.implementation() != "native":
        return []  # the twins are held to no speed
    lines = []
    for name, supports, limit in SUPPORTS:
        table = dense() if name == "dense" else stored(f"fimi_{name}")
        for k in supports[: 1 if short and name == "dense" else None]:
            lines += [] if table is None else compared(f"{name} {k}", table, k, limit, short=short)
    email = stored("pu1")
    return lines if email is None else [*lines, heaviest(email, short=short)]


def stored(name):
    """A data set as columns, or None where it is not there."""
    path = DATA / name / "X.npz"
    return sparse.load_npz(path).tocsc() if path.is_file() else None


def dense(rows=3196, flags=37):
    """Like the FIMI set "chess": 37 flags, both sides of each an item, most of them lopsided."""
    rng = np.random.default_rng(0)
    mood = rng.random((rows, 3))
    rare = rng.choice([0.99, 0.97, 0.93, 0.85, 0.7, 0.55], flags)
    level = (rng.random((rows, flags)) + mood[:, np.arange(flags) % 3]) / 2
    on = level > np.quantile(level, rare, axis=0).diagonal()
    return sparse.csc_matrix(np.stack([~on, on], axis=2).reshape(rows, -1))


def cells(table):
    """A sparse table as the kernels take it."""
    table.sort_indices()
    return table.indptr.astype(np.int64), table.indices.astype(np.int32)


def lists(table):
    """A sparse table as pyfim takes it."""
    rows = table.tocsr()
    rows.sort_indices()
    return [items.tolist() for items in np.split(rows.indices, rows.indptr[1:-1])]


def compared(name, table, k, limit, *, short):
    """One enumeration against both peers; the outputs must be equal."""
    try:
        import fim
    except ImportError:
        return []
    columns, rows, runs = cells(table), lists(table), 1 if short else 3
    peers = {peer: lambda f=f: f(rows, target="m", supp=-k, zmin=1, report="a")
             for peer, f in (("fpgrowth", fim.fpgrowth), ("eclat", fim.eclat))}
    ours = mining.all_maximal(columns, table.shape[0], k, 10**7)
    theirs = sorted((sorted(items), support) for items, support in peers["fpgrowth"]())
    if list(zip(ours, ours.support.tolist(), strict=True)) != theirs:
        raise RuntimeError(f"{name}: the maximal sets differ from those of fpgrowth")
    spent = {peer: call(mine, runs) for peer, mine in peers.items()}
    own = call(lambda: mining.all_maximal(columns, table.shape[0], k, 10**7), runs)
    best = min(spent, key=spent.get)
    return [Goal(f"all maximal sets, {name} / {best}", own / spent[best], limit,
                 f"{len(ours)} sets, outputs identical; ours {own:.4f} s, "
                 + ", ".join(f"{peer} {seconds:.4f} s" for peer, seconds in spent.items()))]


def heaviest(table, *, short):
    """The largest and the heaviest maximal sets of the e-mail at k = 5, against one second."""
    columns, n = cells(table), table.shape[0]
    y = np.zeros(n, np.int32)
    support = np.diff(columns[0])
    both = [(np.ones(len(support), np.int64), 20), (support * (n - support), 1)]
    spent = sum(call(lambda w=w, r=r: mining.top_maximal(columns, y, w, mining.TopRule(5, r=r)), 3)
                for w, r in both)
    peer = "" if short else f"; {ended(table)}"
    return Goal("e-mail, k = 5: 20 largest and the heaviest / 1 s", spent, 1,
                f"{n} x {len(support)}, ours {spent:.4f} s{peer}")


def ended(table):
    """What becomes of a peer that must list all sets of the e-mail."""
    code = ("import sys, fim, pickle; fim.fpgrowth(pickle.load(sys.stdin.buffer), target='m', "
            "supp=-5, zmin=1, report='a')")
    import pickle

    start = time.monotonic()
    try:
        done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(lists(table)),
                              timeout=PATIENCE, capture_output=True, check=False)
    except subprocess.TimeoutExpired:
        return f"fpgrowth does not end in {PATIENCE} s"
    spent = time.monotonic() - start
    return "no peer" if done.returncode else f"fpgrowth {spent:.1f} s"
