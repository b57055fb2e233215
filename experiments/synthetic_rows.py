"""Synthetic rows: how far their margins are from the table's, and what a model learns from them.

    python experiments/synthetic_rows.py [--short] [--only adult19|wdbc]

Adult with 19 flags, and WDBC in three bins a column, each with its label.  In each fold rows are
made of the training part; one- and two-way margins are compared with those of that part (total
variation, the mean over the columns that the method tells of), and a logistic regression that
learns from the synthetic rows is tested on the true ones of the other part.  Beside it is MST over
private-pgm, where `mbi` is installed.  All promise what they promise where one row is replaced.
`--short` takes two folds and two epsilons, without the peer; without it some twenty minutes, most
of them the peer's.
"""

from __future__ import annotations

import argparse
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import marginal_peer
import protocol
from privsieve.fit import fit
from privsieve.methods import plan
from privsieve.methods.histogram.noisy_histogram import on_axes
from privsieve.methods.histogram.released import CountTable
from privsieve.noise.streams import replay
from privsieve.public.columns import Flag, Label, Number
from privsieve.public.domain import Domain
from privsieve.rows import open_source
from privsieve.rows.batch import batches

if TYPE_CHECKING:
    from collections.abc import Callable

EPSILONS = ("0.1", "0.3", "1", "3", "10")
BINS, DELTA = 3, "1e-9"
#: Folds of which the peer gets some, for each takes it half a minute.
PEER_FOLDS = 3


class Data(NamedTuple):
    """A table, what is public about it, its cells, and how many each column has."""

    X: np.ndarray
    y: np.ndarray
    domain: Domain
    cells: np.ndarray
    sizes: list[int]


class Made(NamedTuple):
    """Synthetic rows as cells, and the columns that they tell of; the last is the label."""

    cells: np.ndarray
    columns: list[int]


def data(name: str) -> Data:
    """One of the two tables; the bounds of WDBC are taken from it, which no release may do."""
    table = protocol.read_frame(name)
    y = table.pop("y").to_numpy()
    X = table.to_numpy(float)
    if name == "adult19":
        columns = [Flag(column) for column in table.columns]
    else:
        columns = [Number(column, low, high) for column, low, high in zip(
            table.columns, X.min(axis=0), X.max(axis=0), strict=True)]
    domain = Domain(columns, target=Label("y", (0, 1)))
    axes = plan("noisy-histogram", domain, columns=[columns[0].name], epsilon=1,
                rows=len(y), bins=BINS)
    run = axes.mechanism.keywords["run"]
    cells, sizes = coded(X, y, domain, run), [a.cells for a in run.axes(domain.names)]
    return Data(X, y, domain, cells, sizes)


def coded(X: np.ndarray, y: np.ndarray, domain: Domain, run: Any) -> np.ndarray:
    """The cell of each row on every axis."""
    read = batches(open_source(X, y), domain, rows=len(y), entropy=bytes)
    return np.concatenate([np.column_stack([*on_axes(run.axes(domain.names), batch, domain)])
                           for batch in read])


def ours(options: dict[str, Any], given: Data, train: np.ndarray, epsilon: str, seed: int) -> Made:
    """Rows of one release; a table of more cells than rows is asked for on purpose, too."""
    X, y = given.X[train], given.y[train]
    made = plan("noisy-histogram", given.domain, epsilon=epsilon, rows=len(y), bins=BINS, **options)
    table = CountTable.of(fit(made, open_source(X, y), noise=replay(seed)).body)
    names = [*given.domain.names, "y"]
    rows = table.sample(len(y), np.random.default_rng(seed))
    cells = []
    for axis in table.axes:
        found = rows[axis.name]
        if axis.bins:
            low, high = axis.column.low, axis.column.high
            found = np.clip((found - low) / (high - low) * axis.bins, 0, axis.bins - 1)
        cells.append(found.astype(int))
    return Made(np.column_stack(cells), [names.index(axis.name) for axis in table.axes])


def peer(given: Data, train: np.ndarray, epsilon: str, seed: int) -> Made:
    """Rows of MST, over all columns."""
    found = marginal_peer.mst(given.cells[train], given.sizes, float(epsilon), float(DELTA),
                              np.random.default_rng(seed))
    return Made(found, list(range(found.shape[1])))


def peer_of_few(k: int, given: Data, train: np.ndarray, epsilon: str, seed: int) -> Made:
    """Rows of MST over the columns that ours chooses at this epsilon; the choice is for free."""
    from privsieve.methods import plan as choice

    made = choice("rule-sieve", given.domain, k=k, epsilon=epsilon, rows=len(train))
    chosen = fit(made, open_source(given.X[train], given.y[train]), noise=replay(seed)).selected
    columns = [given.domain.names.index(name) for name in chosen] + [len(given.sizes) - 1]
    found = marginal_peer.mst(given.cells[train][:, columns], [given.sizes[j] for j in columns],
                              float(epsilon), float(DELTA), np.random.default_rng(seed))
    return Made(found, columns)


def far(made: Made, true: np.ndarray, sizes: list[int], ways: int) -> float:
    """The mean total variation distance of margins, over all sets of so many columns."""
    found = []
    for places in combinations(range(len(made.columns)), ways):
        columns = [made.columns[j] for j in places]
        shape = [sizes[j] for j in columns]
        one, two = (np.bincount(np.ravel_multi_index(tuple(cells.T), shape),
                                minlength=int(np.prod(shape))) / len(cells)
                    for cells in (made.cells[:, places], true[:, columns]))
        found.append(0.5 * np.abs(one - two).sum())
    return float(np.mean(found))


def learnt(made: Made, test: np.ndarray, sizes: list[int]) -> float:
    """AUC on true rows of a logistic regression that saw synthetic ones only."""
    def hot(cells: np.ndarray) -> np.ndarray:
        return np.concatenate([np.eye(sizes[j])[cells[:, at]][:, 1:] for at, j in
                               enumerate(made.columns[:-1])], axis=1)

    y = made.cells[:, -1]
    if len(np.unique(y)) < 2:
        return 0.5
    machine = LogisticRegression(max_iter=1000).fit(hot(made.cells), y)
    return float(roc_auc_score(test[:, -1], machine.decision_function(
        hot(test[:, made.columns]))))


def methods(name: str) -> dict[str, Callable[..., Made]]:
    """What is compared on a table."""
    few, more = (4, 8) if name == "adult19" else (2, 4)
    found = {f"table of {k} chosen, share {share}": partial(ours, {"k": k, "share": share})
             for k in (few, more) for share in ("0.2", "0.5")}
    if name == "adult19":
        found["whole table of all columns"] = partial(ours, {})
    found[f"named cells of all columns, delta {DELTA}"] = partial(ours, {"delta": DELTA})
    if marginal_peer.mbi is not None:
        found[f"MST, delta {DELTA}, all columns"] = peer
        found[f"MST, delta {DELTA}, {more} columns, chosen for free"] = partial(peer_of_few, more)
    return found


def measured(given: Data, make: Callable[..., Made], fold: int, epsilon: str) -> list[float]:
    """One- and two-way distance, and AUC, on one fold."""
    train, test = list(protocol.splits(given.y, 0))[fold]
    made = make(given, train, epsilon, 100 + fold)
    true = given.cells[train]
    return [far(made, true, given.sizes, 1), far(made, true, given.sizes, 2),
            learnt(made, given.cells[test], given.sizes), float(len(made.columns) - 1)]


def truth(given: Data, fold: int) -> list[float]:
    """The same of the true training rows."""
    train, test = list(protocol.splits(given.y, 0))[fold]
    made = Made(given.cells[train], list(range(given.cells.shape[1])))
    return [0.0, 0.0, learnt(made, given.cells[test], given.sizes), float(len(made.columns) - 1)]


def line(name: str, epsilon: str, found: list[list[float]]) -> str:
    """One line of the results."""
    each = np.array(found)
    said = " | ".join(f"{each[:, j].mean():.3f} ± {protocol.corrected_error(each[:, j]):.3f}"
                      for j in range(3))
    return f"| {name} | {epsilon} | {each[:, 3].mean():.0f} | {said} |\n"


HEAD = ("| rows | epsilon | columns | one-way TV | two-way TV | AUC |\n"
        "|---|---|---|---|---|---|\n")


def main() -> None:
    """Measure what is asked for and write it down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="two folds, two epsilons, no peer")
    parser.add_argument("--only", choices=["adult19", "wdbc"])
    asked = parser.parse_args()
    protocol.require(asked.only or "adult19")
    marginal_peer.quiet()
    memory, text = protocol.Memory("synthetic_rows"), f"Peer: {marginal_peer.version()}.\n"
    for name in ("adult19", "wdbc"):
        if asked.only not in (None, name):
            continue
        given = data(name)
        text += (f"\n## {name}, {len(given.y)} rows, {given.X.shape[1]} columns\n\n{HEAD}")
        text += line("true rows", "", [truth(given, fold) for fold in range(protocol.FOLDS)])
        for what, make in methods(name).items():
            theirs = what.startswith("MST")
            if asked.short and theirs:
                continue
            folds = 2 if asked.short else PEER_FOLDS if theirs else protocol.FOLDS
            for epsilon in EPSILONS[2:4] if asked.short else EPSILONS:
                text += line(what, epsilon, [memory.cell(
                    (name, what, epsilon, fold),
                    partial(measured, given, make, fold, epsilon)) for fold in range(folds)])
                print(text.splitlines()[-1], flush=True)
    protocol.write("synthetic_rows", text, short=asked.short)


if __name__ == "__main__":
    main()
