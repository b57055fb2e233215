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
    import pyarrow.parquet as pq

    table = pq.read_table(protocol.DATA / name / "data.parquet").to_pandas()
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


def ours(options: dict[str, Any], input_table: Data, train: np.ndarray, epsilon: str,
         seed: int) -> Made:
    """Rows of one release; a table of more cells than rows is asked for on purpose, too."""
    X, y = input_table.X[train], input_table.y[train]
    planned = plan("noisy-histogram", input_table.domain, epsilon=epsilon, rows=len(y), bins=BINS,
                   **options)
    table = CountTable.of(fit(planned, open_source(X, y), noise=replay(seed)).body)
    names = [*input_table.domain.names, "y"]
    rows = table.sample(len(y), np.random.default_rng(seed))
    cells = []
    for axis in table.axes:
        values = rows[axis.name]
        if axis.bins:
            low, high = axis.column.low, axis.column.high
            values = np.clip((values - low) / (high - low) * axis.bins, 0, axis.bins - 1)
        cells.append(values.astype(int))
    return Made(np.column_stack(cells), [names.index(axis.name) for axis in table.axes])


def peer(table: Data, train: np.ndarray, epsilon: str, seed: int) -> Made:
    """Rows of MST, over all columns."""
    rows = marginal_peer.mst(table.cells[train], table.sizes, float(epsilon), float(DELTA),
                             np.random.default_rng(seed))
    return Made(rows, list(range(rows.shape[1])))


def peer_of_few(k: int, table: Data, train: np.ndarray, epsilon: str, seed: int) -> Made:
    """Rows of MST over the columns that ours chooses at this epsilon; the choice is for free."""
    from privsieve.methods import plan as choice

    planned = choice("rule-sieve", table.domain, k=k, epsilon=epsilon, rows=len(train))
    chosen = fit(planned, open_source(table.X[train], table.y[train]), noise=replay(seed)).selected
    columns = [table.domain.names.index(name) for name in chosen] + [len(table.sizes) - 1]
    rows = marginal_peer.mst(table.cells[train][:, columns], [table.sizes[j] for j in columns],
                             float(epsilon), float(DELTA), np.random.default_rng(seed))
    return Made(rows, columns)


def far(synthetic: Made, true: np.ndarray, sizes: list[int], ways: int) -> float:
    """The mean total variation distance of margins, over all sets of `ways` columns."""
    distances = []
    for places in combinations(range(len(synthetic.columns)), ways):
        columns = [synthetic.columns[j] for j in places]
        shape = [sizes[j] for j in columns]
        first, two = (np.bincount(np.ravel_multi_index(tuple(cells.T), shape),
                                  minlength=int(np.prod(shape))) / len(cells)
                      for cells in (synthetic.cells[:, places], true[:, columns]))
        distances.append(0.5 * np.abs(first - two).sum())
    return float(np.mean(distances))


def learnt(synthetic: Made, test: np.ndarray, sizes: list[int]) -> float:
    """AUC on true rows of a logistic regression that saw synthetic ones only."""
    def hot(cells: np.ndarray) -> np.ndarray:
        return np.concatenate([np.eye(sizes[j])[cells[:, at]][:, 1:] for at, j in
                               enumerate(synthetic.columns[:-1])], axis=1)

    y = synthetic.cells[:, -1]
    if len(np.unique(y)) < 2:
        return 0.5
    machine = LogisticRegression(max_iter=1000).fit(hot(synthetic.cells), y)
    return float(roc_auc_score(test[:, -1], machine.decision_function(
        hot(test[:, synthetic.columns]))))


def methods(name: str) -> dict[str, Callable[..., Made]]:
    """What is compared on a table."""
    few, many = (4, 8) if name == "adult19" else (2, 4)
    ways = {f"table of {k} chosen, share {share}": partial(ours, {"k": k, "share": share})
            for k in (few, many) for share in ("0.2", "0.5")}
    if name == "adult19":
        ways["whole table of all columns"] = partial(ours, {})
    ways[f"named cells of all columns, delta {DELTA}"] = partial(ours, {"delta": DELTA})
    if marginal_peer.mbi is not None:
        ways[f"MST, delta {DELTA}, all columns"] = peer
        ways[f"MST, delta {DELTA}, {many} columns, chosen for free"] = partial(peer_of_few, many)
    return ways


def measured(table: Data, make: Callable[..., Made], fold: int, epsilon: str) -> list[float]:
    """One- and two-way distance, and AUC, on one fold."""
    train, test = list(protocol.splits(table.y, 0))[fold]
    synthetic = make(table, train, epsilon, 100 + fold)
    true = table.cells[train]
    return [far(synthetic, true, table.sizes, 1), far(synthetic, true, table.sizes, 2),
            learnt(synthetic, table.cells[test], table.sizes), float(len(synthetic.columns) - 1)]


def truth(table: Data, fold: int) -> list[float]:
    """The same of the true training rows."""
    train, test = list(protocol.splits(table.y, 0))[fold]
    synthetic = Made(table.cells[train], list(range(table.cells.shape[1])))
    return [0.0, 0.0, learnt(synthetic, table.cells[test], table.sizes),
            float(len(synthetic.columns) - 1)]


def line(name: str, epsilon: str, distances: list[list[float]]) -> str:
    """One line of the results."""
    each = np.array(distances)
    text = " | ".join(f"{each[:, j].mean():.3f} ± {protocol.corrected_error(each[:, j]):.3f}"
                      for j in range(3))
    return f"| {name} | {epsilon} | {each[:, 3].mean():.0f} | {text} |\n"


HEAD = ("| rows | epsilon | columns | one-way TV | two-way TV | AUC |\n"
        "|---|---|---|---|---|---|\n")


def main() -> None:
    """Measure what is asked for and write it down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="two folds, two epsilons, no peer")
    parser.add_argument("--only", choices=["adult19", "wdbc"])
    arguments = parser.parse_args()
    marginal_peer.quiet()
    memory, text = protocol.Memory("synthetic_rows"), f"Peer: {marginal_peer.version()}.\n"
    for name in ("adult19", "wdbc"):
        if arguments.only not in (None, name):
            continue
        table = data(name)
        text += (f"\n## {name}, {len(table.y)} rows, {table.X.shape[1]} columns\n\n{HEAD}")
        text += line("true rows", "", [truth(table, fold) for fold in range(protocol.FOLDS)])
        for what, make in methods(name).items():
            theirs = what.startswith("MST")
            if arguments.short and theirs:
                continue
            folds = 2 if arguments.short else PEER_FOLDS if theirs else protocol.FOLDS
            for epsilon in EPSILONS[2:4] if arguments.short else EPSILONS:
                text += line(what, epsilon, [memory.cell(
                    (name, what, epsilon, fold),
                    partial(measured, table, make, fold, epsilon)) for fold in range(folds)])
                print(text.splitlines()[-1], flush=True)
    protocol.write("synthetic_rows", text, short=arguments.short)


if __name__ == "__main__":
    main()
