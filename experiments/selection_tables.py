"""Which private selector finds what, and from which epsilon on: tables with standard errors.

    python experiments/selection_tables.py [--short] [--jobs 2] [table ...]

writes a dated table and a picture into `results/`: about an hour; `--short` takes a few minutes.
"""

from __future__ import annotations

import argparse
import datetime as dt
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

import protocol
from original import weights
from panels import Panel, save
from privsieve.methods import plan
from privsieve.noise.streams import replay
from privsieve.public.domain import Domain
from privsieve.rows import open_source
from privsieve.rows.batch import batches

EPSILONS = ("0.03", "0.1", "0.3", "1", "3", "10")
SPLITS, DRAWS = 10, 3
#: How each method is asked for; None is a random choice.
METHODS = {
    "RuleSieve": ("rule-sieve", {"max_ops": 2**31}),
    "BlockFWELL": ("block-fwell", {}),
    "BlockFWELL, public reference": ("block-fwell", {"reference": 100}),
    "mean-difference": ("noisy-top-k", {"score": "mean-difference"}),
    "random": None,
}
#: A table of fewer training rows gives away no reference.
LEAST = 300


@dataclass(frozen=True)
class Task:
    """A table and how many columns to choose; `planted` for generated ones."""

    name: str
    k: int
    make: object  # seed -> X, y, planted or None
    classes: int = 2


def real(name: str):
    """A real table, its columns brought to 0..1 by bounds that are treated as public."""
    def make(_seed):
        return *protocol.scaled(name), None
    return make


def gauss(n, d, k, positives=.5, weakest=.3):
    """Normal columns; k of them are shifted between the classes by 1.0 down to `weakest`."""
    def make(seed):
        rng = np.random.default_rng([seed, n, d])
        y = (rng.random(n) < positives).astype(int)
        X = rng.standard_normal((n, d))
        chosen = rng.choice(d, k, replace=False)
        X[:, chosen] += (np.linspace(1, weakest, k) * (-1) ** np.arange(k)) * (y[:, None] - .5)
        return np.clip(X / 8 + .5, 0, 1), y, set(chosen.tolist())
    return make


def xor(seed):
    """Two of 20 columns decide by exclusive or; a tenth of the labels are flipped."""
    rng = np.random.default_rng([seed, 4200])
    X = rng.random((4200, 20))
    y = (X[:, 3] > .5) ^ (X[:, 11] > .5) ^ (rng.random(4200) < .1)
    return X, y.astype(int), {3, 11}


#: Real tables, and how many columns to choose.
REAL = {"wdbc": 3, "waveform": 2, "sonar": 3, "soybean": 3, "basehock": 20, "arcene": 20}
TASKS = {task.name: task for task in (
    *(Task(name, k, real(name)) for name, k in REAL.items()),
    Task("gauss", 5, gauss(14_000, 50, 5)), Task("xor", 2, xor),
    Task("rare", 5, gauss(7000, 50, 5, positives=.1, weakest=1)),
    Task("wide", 10, gauss(5000, 2000, 10, weakest=.8)),
)}


def split(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """70 % of each class to learn, 30 % to test."""
    order = np.random.default_rng([seed, 17]).permutation(len(y))
    test = np.zeros(len(y), bool)
    for label in np.unique(y):
        mine = order[y[order] == label]
        test[mine[: round(.3 * len(mine))]] = True
    return np.flatnonzero(~test), np.flatnonzero(test)


class Judge:
    """How good a set of columns is: recall, or the balanced accuracy of two plain classifiers."""

    def __init__(self, X, y, planted, seed):
        self.X, self.y, self.planted = X, y, planted
        self.train, self.test = split(y, seed)
        self._known: dict[tuple[int, ...], float] = {}

    def __call__(self, selected) -> float:
        """The figure of a choice; each is worked out once."""
        chosen = tuple(sorted(selected))
        if chosen not in self._known:
            self._known[chosen] = self._judge(chosen)
        return self._known[chosen]

    def _judge(self, chosen):
        if self.planted is not None:
            return len(self.planted & set(chosen)) / len(self.planted)
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import balanced_accuracy_score
        from sklearn.neighbors import KNeighborsClassifier

        X, y, columns = self.X, self.y, list(chosen)
        scores = []
        for machine in (KNeighborsClassifier(3), LogisticRegression(max_iter=200)):
            machine.fit(X[self.train][:, columns], y[self.train])
            guessed = machine.predict(X[self.test][:, columns])
            scores.append(balanced_accuracy_score(y[self.test], guessed))
        return float(np.mean(scores))


def one_split(task_name: str, seed: int, epsilons: tuple[str, ...], draws: int) -> dict:
    """Scores by method and epsilon on one split (one fresh table, if it is generated)."""
    task = TASKS[task_name]
    X, y, planted = task.make(seed)
    judge = Judge(X, y, planted, seed)
    train = judge.train
    qualities = {("original", ""): judge(np.argsort(-weights(X[train], y[train]))[:task.k])}
    rng = np.random.default_rng([seed, 99])
    for name, how in METHODS.items():
        if how is None:
            for epsilon in epsilons:
                qualities[name, epsilon] = float(np.mean([
                    judge(rng.choice(X.shape[1], task.k, replace=False))
                    for _ in range(10 * draws)]))
        elif "reference" not in how[1] or len(train) >= LEAST:
            for epsilon, score in measured(task, judge, how, epsilons, seed, draws):
                qualities[name, epsilon] = score
    return qualities


def measured(task, judge, how, epsilons, seed, draws):
    """The mean quality of a method's choices, by epsilon; rows are read once."""
    X, y, rows = judge.X, judge.y, judge.train
    method, options = how[0], dict(how[1])
    if "reference" in options:
        # These rows are taken as public, and do not choose.
        dealt = np.random.default_rng([seed, 5]).permutation(rows)
        public, rows = dealt[:options["reference"]], np.sort(dealt[options["reference"]:])
        options["reference"] = (X[public], y[public])
    domain = Domain.box(0, 1, columns=X.shape[1], classes=list(range(task.classes)))
    source, summaries = open_source(X[rows], y=y[rows]), {}
    for epsilon in epsilons:
        planned = plan(method, domain, k=task.k, epsilon=epsilon, rows=len(rows), **options)
        key = repr(planned.settings.get("branches"))
        if key not in summaries:
            summaries[key] = planned.summarise(batches(
                source, planned.coding, rows=len(rows), entropy=replay(seed).bytes), seed + 1)
        summary = summaries[key]
        yield epsilon, float(np.mean([
            judge(planned.mechanism(summary, replay(1000 * seed + draw)))
            for draw in range(draws)]))


def tabulate(task: Task, rows: list[dict], epsilons: tuple[str, ...]) -> tuple[list[str], Panel]:
    """The lines of one table, and its picture."""
    # Splits of one table overlap (Nadeau and Bengio); generated tables are fresh.
    factor = (1 / len(rows) + (3 / 7 if task.name in REAL else 0)) ** .5

    def cell(key):
        values = np.array([row[key] for row in rows])
        return f"{values.mean():.3f} ({factor * values.std(ddof=1):.3f})"

    names = [name for name in METHODS if (name, epsilons[0]) in rows[0]]
    kind = "mean of two balanced accuracies" if task.name in REAL else "share of planted found"
    lines = [f"## {task.name}: k = {task.k}, {kind}", "",
             f"Without privacy (original FWELL): {cell(('original', ''))}.", "",
             "| method | " + " | ".join(epsilons) + " |", "|---" * (len(epsilons) + 1) + "|"]
    lines += [f"| {name} | " + " | ".join(cell((name, epsilon)) for epsilon in epsilons) + " |"
              for name in names]
    curves = {name: [(float(epsilon), float(np.mean([row[name, epsilon] for row in rows])))
                     for epsilon in epsilons] for name in names}
    heights = [height for points in curves.values() for _, height in points]
    return [*lines, ""], Panel(f"{task.name} (k = {task.k})", curves, min(heights), max(heights))


REAL = ("wdbc", "waveform", "sonar", "soybean", "basehock", "arcene")

HEAD = """\
# Private selection: what is found, by epsilon

Mean (standard error) over {splits} splits, {draws} draws of noise in each: 70 % of the rows choose,
30 % test. A public reference is 100 of the choosing rows, which then choose no more. Real tables:
bounds are the columns' own and are treated as public here; a standard error counts that splits
overlap. Generated tables are fresh in each split. Balanced accuracy is the mean over classes; three
nearest neighbours and a logistic regression are trained on the chosen columns without privacy.
Noise is replayed from a seed: these are experiments, no releases. RuleSieve runs with `max_ops`
2^31, a thirty-second of its default: shallower on wide tables, the same on the others.
"""


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("tables", nargs="*")
    arguments = parser.parse_args()
    splits, draws = (3, 1) if arguments.short else (SPLITS, DRAWS)
    epsilons = ("0.1", "1") if arguments.short else EPSILONS
    names = arguments.tables or list(TASKS)
    protocol.require(*(name for name in names if name in REAL))
    lines, drawn = [HEAD.format(splits=splits, draws=draws)], []
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        futures_by_name = {name: [pool.submit(one_split, name, seed, epsilons, draws)
                                  for seed in range(splits)] for name in names}
        for name, futures in futures_by_name.items():
            extra_lines, panel = tabulate(TASKS[name], [done.result() for done in futures],
                                          epsilons)
            print(name, file=sys.stderr, flush=True)
            lines += extra_lines
            drawn.append(panel)
    short = "_short" if arguments.short else ""
    out = protocol.RESULTS / f"selection_tables{short}_{dt.datetime.now(dt.UTC):%Y-%m-%d}.md"
    out.write_text("\n".join(lines), encoding="utf-8")
    save(protocol.RESULTS / f"selection_tables{short}", drawn, "What is found (height), by epsilon")
    print(out.name)


if __name__ == "__main__":
    main()
