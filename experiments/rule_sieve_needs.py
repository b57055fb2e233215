"""What RuleSieve needs: units times epsilon for four fifths of what there is to gain.

    python experiments/rule_sieve_needs.py [--short] [--only "one in ten"]

Generated tables with planted columns, so that what is found can be counted, and Soybean, whose
choices are judged by two classifiers.  For each way to weigh the classes, and for sets of columns
chosen together, the mean quality is measured on a grid of epsilons; the need is where its rising
envelope reaches the level, between two points of the grid on a logarithmic scale.  `--short` takes
few tables and draws, about a minute; without it about ten.  A run that is cut off goes on.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

import protocol
from privsieve.methods import plan
from privsieve.noise.streams import replay
from privsieve.public.columns import Category, Label
from privsieve.public.domain import Domain
from privsieve.rows import open_source
from privsieve.rows.batch import batches

if TYPE_CHECKING:
    from collections.abc import Callable

    Options = dict[str, Any]

#: The part of the way from guessing to the top that counts as found.
PART = 0.8
#: Bootstrap samples of the tables, and the limits that are printed.
SAMPLES, LIMITS = 2000, (5, 95)


@dataclass(frozen=True)
class Drawn:
    """A table, what is public about it, and how good a choice is."""

    X: np.ndarray
    y: np.ndarray
    domain: Domain
    quality: Callable[[tuple[int, ...]], float]


@dataclass(frozen=True)
class Case:
    """A family of tables: how many columns are sought, by which methods, on which grid."""

    name: str
    make: Callable[[np.random.Generator], Drawn]
    k: int
    n: int
    least: float  # units times epsilon at which the grid begins; two steps double it
    methods: dict[str, Options]
    top: float = 1.0
    points: int = 17
    tables: int = 16
    guessing: float | None = None
    weak: Options = field(default_factory=lambda: {"allow_weak": True, "joint": "none"})

    def epsilons(self) -> list[float]:
        """The grid."""
        return [round(self.least * 2 ** (i / 2) / self.n, 9) for i in range(self.points)]


def recall(planted: set[int], chosen: tuple[int, ...]) -> float:
    """The share of planted columns that was chosen."""
    return len(planted & set(chosen)) / len(planted)


def box(X: np.ndarray, y: np.ndarray, planted: set[int]) -> Drawn:
    """A generated table on the unit box."""
    domain = Domain.box(0, 1, classes=range(int(y.max()) + 1), columns=X.shape[1])
    return Drawn(X, y, domain, partial(recall, planted))


def rare(rng: np.random.Generator, n: int, share: float) -> Drawn:
    """Five of fifty normal columns are shifted by one deviation; bounds are four either way."""
    y = (rng.random(n) < share).astype(int)
    X = rng.standard_normal((n, 50))
    planted = rng.choice(50, 5, replace=False)
    X[:, planted] += y[:, None] * rng.choice([-1, 1], 5)
    return box(np.clip(X / 8 + 0.5, 0, 1), y, set(planted.tolist()))


def six_classes(rng: np.random.Generator) -> Drawn:
    """Four of thirty normal columns have class means of their own, of deviation 0.5."""
    y = rng.integers(0, 6, 3000)
    X = rng.standard_normal((3000, 30))
    planted = rng.choice(30, 4, replace=False)
    X[:, planted] += 0.5 * rng.standard_normal((6, 4))[y]
    return box(np.clip(X / 8 + 0.5, 0, 1), y, set(planted.tolist()))


def parity(rng: np.random.Generator, size: int, cut: float) -> Drawn:
    """The parity of some of fourteen columns above `cut`, with a tenth of the labels flipped."""
    X = rng.random((4000, 14))
    planted = rng.choice(14, size, replace=False)
    y = (X[:, planted] > cut).sum(axis=1) + (rng.random(4000) < 0.1)
    return box(X, y % 2, set(planted.tolist()))


def groups(rng: np.random.Generator) -> Drawn:
    """Three hidden causes, each shown by four near copies among thirty columns, make the class.

    Quality is the share of causes of which the choice holds a copy.
    """
    n = 1750
    cause = rng.standard_normal((n, 3))
    y = (cause.sum(axis=1) + 0.5 * rng.standard_normal(n) > 0).astype(int)
    X = rng.standard_normal((n, 30))
    X[:, :12] = np.repeat(cause, 4, axis=1) + 0.3 * rng.standard_normal((n, 12))
    domain = box(np.clip(X / 8 + 0.5, 0, 1), y, set())
    return Drawn(domain.X, domain.y, domain.domain,
                 lambda chosen: len({j // 4 for j in chosen if j < 12}) / 3)


def soybean(rng: np.random.Generator) -> Drawn:
    """Seven tenths of Soybean, 19 diseases; quality is the accuracy of two machines."""
    codes, levels, y = _soybean()
    train = np.zeros(len(y), bool)
    train[rng.permutation(len(y))[: round(0.7 * len(y))]] = True
    domain = Domain([Category(f"x{j}", [str(v) for v in range(many)])
                     for j, many in enumerate(levels)], target=Label("y", list(range(19))))
    return Drawn(codes[train], y[train], domain, partial(_accuracy, codes, y, train))


@cache
def _soybean() -> tuple[np.ndarray, list[int], np.ndarray]:
    import pyarrow.parquet as pq

    table = pq.read_table(protocol.DATA / "soybean" / "data.parquet")
    names = [name for name in table.column_names if name not in ("y", "disease19")]
    codes = np.column_stack([table[name].to_pandas().fillna(-1).to_numpy(int) for name in names])
    levels = [int(column.max()) + 1 for column in codes.T]
    return codes, levels, table["disease19"].to_numpy()


def _accuracy(codes: np.ndarray, y: np.ndarray, train: np.ndarray,
              chosen: tuple[int, ...]) -> float:
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import LinearSVC

    accuracies = _HOT.setdefault((train.tobytes(), chosen), [])
    if not accuracies:
        X = np.concatenate([codes[:, [j]] == np.arange(-1, codes[:, j].max() + 1) for j in chosen],
                           axis=1).astype(float)
        for machine in (KNeighborsClassifier(3), LinearSVC()):
            accuracies.append(machine.fit(X[train], y[train]).score(X[~train], y[~train]))
    return float(np.mean(accuracies))


#: Accuracies that are known: many draws choose the same columns.
_HOT: dict[tuple[bytes, tuple[int, ...]], list[float]] = {}

RARE = {"auto": {}, "centred": {"class_prior": "centred"}}
MANY = {"centred": {}, "noisy counts": {"class_prior": "unbalanced"},
        "equal": {"class_prior": None}}
TOGETHER = {"one by one": {}, "pair": {"joint": "pair"}}

CASES = (
    Case("one in ten", partial(rare, n=7000, share=0.1), 5, 7000, 150,
         {**RARE, "public share": {"class_prior": 0.1}}),
    Case("one in twenty", partial(rare, n=7000, share=0.05), 5, 7000, 300,
         {**RARE, "public share": {"class_prior": 0.05}}),
    Case("one in a hundred", partial(rare, n=20_000, share=0.01), 5, 20_000, 1500,
         {**RARE, "public share": {"class_prior": 0.01}}),
    Case("even classes", partial(rare, n=7000, share=0.5), 5, 7000, 25,
         {**RARE, "equal": {"class_prior": None}}),
    Case("six classes", six_classes, 4, 3000, 50,
         {**MANY, "all cuts, public shares": {"class_prior": [Fraction(1, 6)] * 6}}, top=0.97),
    Case("soybean, 19 classes", soybean, 5, 215, 10, MANY, top=0.6, guessing=0.46, tables=6),
    Case("parity of three", partial(parity, size=3, cut=0.5), 3, 4000, 8, TOGETHER),
    Case("groups of copies", groups, 3, 1750, 20, TOGETHER),
)

HEAD = """\
| tables | k of d, n | method | n times epsilon for 80 % [5 %, 95 %] | at the grid's end ± error |
|---|---|---|---|---|
"""


def measured(case: Case, options: Options, table: int, draws: int) -> list[float]:
    """The mean quality at each epsilon of the grid, on one table."""
    drawn = case.make(np.random.default_rng([7, table]))
    n = len(drawn.y)
    hits, summary = [], None
    for i, epsilon in enumerate(case.epsilons()):
        planned = plan("rule-sieve", drawn.domain, k=case.k, epsilon=f"{epsilon:.9f}", rows=n,
                       **{**case.weak, **options})
        if summary is None:
            source = open_source(drawn.X, drawn.y)
            summary = planned.summarise(batches(source, planned.coding, rows=n, entropy=bytes),
                                        table)
        noise = replay(1000 * table + i)
        chosen = [planned.mechanism(summary, noise) for _ in range(draws)]
        hits.append(float(np.mean([drawn.quality(tuple(column)) for column in chosen])))
    return hits


def need(epsilons: list[float], quality: np.ndarray, level: float) -> float:
    """The epsilon at which the rising envelope reaches a level; infinite if it never does.

    >>> need([1.0, 4.0], np.array([0.0, 1.0]), 0.5)
    2.0
    """
    rising = np.maximum.accumulate(quality)
    i = int(np.argmax(rising >= level))
    if rising[-1] < level:
        return float("inf")
    if i == 0:
        return epsilons[0]
    share = (level - rising[i - 1]) / (rising[i] - rising[i - 1])
    return float(np.exp((1 - share) * np.log(epsilons[i - 1]) + share * np.log(epsilons[i])))


def line(case: Case, name: str, curves: np.ndarray) -> str:
    """One line of the results."""
    d = len(case.make(np.random.default_rng(0)).domain.columns)
    guessing = case.k / d if case.guessing is None else case.guessing
    level = guessing + PART * (case.top - guessing)
    rng, epsilons = np.random.default_rng(3), case.epsilons()
    again = [case.n * need(epsilons, curves[rng.integers(0, len(curves), len(curves))].mean(0),
                           level) for _ in range(SAMPLES)]
    low, high = np.percentile(again, LIMITS, method="nearest")
    error = curves[:, -1].std(ddof=1) / np.sqrt(len(curves))
    return (f"| {case.name} | {case.k} of {d}, {case.n} | {name} "
            f"| {case.n * need(epsilons, curves.mean(0), level):.0f} [{low:.0f}, {high:.0f}] "
            f"| {curves[:, -1].mean():.3f} ± {error:.3f} |\n")


def main() -> None:
    """Measure what is asked for and write it down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="four tables, two draws each")
    parser.add_argument("--only", choices=[case.name for case in CASES])
    arguments = parser.parse_args()
    memory, text = protocol.Memory("rule_sieve_needs"), ""
    for case in CASES:
        if arguments.only not in (None, case.name):
            continue
        tables, draws = (min(4, case.tables), 2) if arguments.short else (case.tables, 4)
        for name, options in case.methods.items():
            curves = np.array([
                memory.cell((case.name, name, draws, table),
                            partial(measured, case, options, table, draws))
                for table in range(tables)])
            text += line(case, name, curves)
            print(text.splitlines()[-1], flush=True)
    if arguments.only is None:
        protocol.write("rule_sieve_needs", "## RuleSieve: what it needs\n\n" + HEAD + text,
                       short=arguments.short)


if __name__ == "__main__":
    main()
