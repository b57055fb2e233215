"""How the experiments measure: data, folds, classifiers, errors, and a memory of what was done.

Two protocols. "as the paper": columns are chosen, or cells flipped, with the labels and rows of the
whole table, then a classifier is cross-validated on the result; this leaks labels into the test.
"honest": what uses labels sees those of the training folds only.  The anonymity constraint uses no
label and is kept on all rows in both.
"""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.svm import LinearSVC

from privsieve.rows.matrix import Items

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Matrix = Any

HERE = Path(__file__).parent
DATA = Path(os.environ.get("PRIVSIEVE_DATA", HERE.parents[1] / "shared" / "data"))
RESULTS = HERE / "results"
CACHE = RESULTS / "cache"

FOLDS = 5
#: Values of C that the validation part chooses from; the last one not for wide tables.
COSTS, WIDE = (0.01, 0.1, 1.0, 10.0), 150


@dataclass(frozen=True, eq=False)
class Table:
    """A data set: zeros and ones by row and by column, and labels 0 and 1."""

    name: str
    matrix: Matrix
    items: Items
    y: np.ndarray


def load(name: str) -> Table:
    """One of pu1, adult19, aminer_ed, from the folder that PRIVSIEVE_DATA names."""
    import pyarrow.parquet as pq

    folder = DATA / name
    if not folder.is_dir():
        raise SystemExit(f"no data set {name} in {DATA}; set PRIVSIEVE_DATA to the folder of data")
    if (folder / "X.npz").exists():
        matrix = sp.csr_matrix(sp.load_npz(folder / "X.npz") > 0)
        y = pq.read_table(folder / "rows.parquet", columns=["y"])["y"].to_numpy()
    else:
        table = pq.read_table(folder / "data.parquet")
        y = table["y"].to_numpy()
        columns = table.drop_columns(["y"]).columns
        matrix = sp.csr_matrix(np.column_stack([c.to_numpy() for c in columns]) > 0)
    return Table(name, matrix.astype(np.float64), items_of_rows(matrix), y.astype(np.int64))


@cache
def scaled(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A table of numbers and its classes from 0; columns are brought to 0..1.

    The bounds are the columns' own and are treated as public; a missing number becomes the median.
    """
    import pyarrow.parquet as pq

    folder = DATA / name
    if name == "wdbc" and not folder.is_dir():
        from sklearn.datasets import load_breast_cancer

        X, y = load_breast_cancer(return_X_y=True)
    elif not folder.is_dir():
        raise SystemExit(f"no data set {name} in {DATA}; set PRIVSIEVE_DATA to the folder of data")
    elif (folder / "X.npz").exists():
        X = np.minimum(sp.load_npz(folder / "X.npz").toarray(), 1).astype(float)
        y = pq.read_table(folder / "rows.parquet", columns=["y"])["y"].to_numpy()
    else:
        table = pq.read_table(folder / "data.parquet").to_pandas()
        y = table["y"].to_numpy()
        X = table.drop(columns=[c for c in ("y", "disease19") if c in table]).to_numpy(float)
    X = np.where(np.isfinite(X), X, np.nanmedian(X, axis=0))
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.maximum(high - low, 1e-12), np.unique(y, return_inverse=True)[1]


def items_of_rows(matrix: Matrix) -> Items:
    """A sparse or dense table of zeros and ones as `Items`."""
    columns = sp.csc_matrix(matrix)
    columns.eliminate_zeros()
    columns.sort_indices()
    names = tuple(f"x{j}" for j in range(columns.shape[1]))
    return Items(columns.indptr.astype(np.int64), columns.indices.astype(np.int32),
                 columns.shape[0], names, names)


def splits(y: np.ndarray, repeat: int, folds: int = FOLDS,
           ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Stratified folds; a repeat shuffles anew."""
    cut = StratifiedKFold(folds, shuffle=True, random_state=repeat)
    yield from cut.split(np.zeros(len(y)), y)


def training_only(y: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Labels with those of the other rows hidden, as `experiments/papers` takes them."""
    hidden = np.full(len(y), -1, np.int64)
    hidden[train] = y[train]
    return hidden


def svm(train: Matrix, y: np.ndarray, test: Matrix, truth: np.ndarray) -> float:
    """AUC of a linear support vector machine, squared hinge and L2 penalty.

    C is the best on a fifth of the training rows; the machine is then fitted to all of them.
    """
    if not train.shape[1] or len(np.unique(y)) < 2:
        return 0.5
    inner = train_test_split(np.arange(len(y)), test_size=0.2, random_state=0,
                             stratify=y if np.bincount(y).min() > 1 else None)
    costs = COSTS if train.shape[1] <= WIDE else COSTS[:-1]
    scores = [_auc(_machine(c, train[inner[0]], y[inner[0]]), train[inner[1]], y[inner[1]])
              for c in costs]
    return _auc(_machine(costs[int(np.argmax(scores))], train, y), test, truth)


def topic_entropy(train: Matrix, y: np.ndarray, test: Matrix, truth: np.ndarray) -> float:
    """AUC of the paper's score of table 4: the entropy of a row's topics (equation 5).

    The topics are those of a latent Dirichlet model of ten topics, of all rows; neither the paper's
    number of topics nor its model is known.  No label is used.
    """
    from sklearn.decomposition import LatentDirichletAllocation

    del y
    if not train.shape[1]:
        return 0.5
    model = LatentDirichletAllocation(10, random_state=0)
    share = model.fit_transform(sp.vstack([test, train]))[:test.shape[0]]
    return float(roc_auc_score(truth, -(share * np.log(share)).sum(axis=1)))


def _machine(cost: float, rows: Matrix, y: np.ndarray) -> LinearSVC:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # an unsettled machine is still scored
        return LinearSVC(C=cost, random_state=0, max_iter=2000).fit(rows, y)


def _auc(machine: LinearSVC, rows: Matrix, y: np.ndarray) -> float:
    if len(np.unique(y)) < 2:
        return 0.5
    return float(roc_auc_score(y, machine.decision_function(rows)))


def corrected_error(scores: list[float] | np.ndarray, folds: int = FOLDS) -> float:
    """The standard error of a mean over folds that share training rows (Nadeau and Bengio 2003).

    The plain error assumes that folds are independent, and is about half of it.
    """
    if len(scores) < 2:
        return float("nan")
    return float(np.sqrt((1 / len(scores) + 1 / (folds - 1)) * np.var(scores, ddof=1)))


class Memory:
    """What was computed before, one JSON line for each cell: a run that was cut off goes on."""

    def __init__(self, name: str) -> None:
        CACHE.mkdir(parents=True, exist_ok=True)
        self.path = CACHE / f"{name}.jsonl"
        text = self.path.read_text("utf-8") if self.path.exists() else ""
        whole = text[:text.rfind("\n") + 1]  # a run may have been cut off within its last line
        self.path.write_text(whole, "utf-8")
        self.known = dict(json.loads(line) for line in whole.splitlines())

    def cell(self, key: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        """The value of a cell, from memory or computed now."""
        name = " ".join(map(str, key))
        if name not in self.known:
            value = self.known[name] = compute()
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([name, value]) + "\n")
        return self.known[name]


def write(name: str, text: str, *, short: bool) -> None:
    """Keep a result, with its day and what it ran on."""
    import platform
    from datetime import UTC, datetime

    import sklearn

    from privsieve import __version__, kernels

    today = datetime.now(UTC).date()
    head = (f"# {today}{', short' if short else ''}\n\nprivsieve {__version__}, kernels "
            f"{kernels.implementation()}, Python {platform.python_version()}, scikit-learn "
            f"{sklearn.__version__}.  How it was measured: [README](../README.md).\n\n")
    RESULTS.mkdir(exist_ok=True)
    place = RESULTS / f"{name}{'_short' if short else ''}_{today}.md"
    place.write_text(head + text, "utf-8")
    print(place)
