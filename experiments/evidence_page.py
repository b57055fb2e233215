"""Write `docs/evidence.md`, its figures and the tables of all sets from the newest result files.

    python experiments/evidence_page.py

No figure of the page is typed: all come from `results/evidence_DATE.csv` and
`results/evidence_planted_DATE.csv`. The reasons of losses are sentences of this file; a loss
without a reason stops the script.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import evidence
from evidence import EPSILONS, OURS
from panels import Panel, panels
from protocol import RESULTS
from unseen import error

PAGE = Path(__file__).parents[1] / "docs" / "evidence.md"
#: Random columns are far from all columns where they predict at least this much less.
FAR = 0.1
#: At which epsilon a loss is of the score and not of the noise.
LOW_NOISE = "10"
KINDS = {"class": "Classes", "number": "Numbers"}
#: Baselines without a budget.
PLAIN = ("random", "all columns")


@dataclass(frozen=True)
class Comparison:
    """RuleSieve less a rival on one set at one epsilon, paired by split."""

    name: str
    rival: str
    epsilon: str
    ahead: float
    error: float

    @property
    def result(self) -> str:
        """A win or a loss is beyond two standard errors."""
        if abs(self.ahead) <= 2 * self.error:
            return "level"
        return "win" if self.ahead > 0 else "loss"


class Measured:
    """The scores of one kind of target, by set, method and epsilon; one for each split."""

    def __init__(self, lines: list[dict[str, str]], kind: str) -> None:
        scores: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        self.shapes: dict[str, tuple[int, int, int]] = {}
        for line in lines:
            if line["kind"] == kind:
                scores[line["set"], line["method"], line["epsilon"]].append(float(line["score"]))
                self.shapes[line["set"]] = (int(line["rows"]), int(line["columns"]),
                                            int(line["k"]))
        self.scores = {key: np.array(values) for key, values in scores.items()}
        self.sets = sorted(self.shapes)
        self.rivals = list(dict.fromkeys(method for _, method, epsilon in self.scores
                                         if epsilon and method != OURS))
        self.far = [name for name in self.sets if self.distance(name) >= FAR]

    def distance(self, name: str) -> float:
        """Return how far random columns are from all columns."""
        return float(np.mean(self.scores[name, "all columns", ""]
                             - self.scores[name, "random", ""]))

    def values(self, name: str, method: str, epsilon: str) -> np.ndarray:
        """Return the scores of a method, one for each split."""
        return self.scores[name, method, "" if method in PLAIN else epsilon]

    def compare(self, name: str, rival: str, epsilon: str) -> Comparison:
        """Compare RuleSieve with a rival on one set."""
        ahead = self.scores[name, OURS, epsilon] - self.values(name, rival, epsilon)
        return Comparison(name, rival, epsilon, float(ahead.mean()), error(ahead))

    def comparisons(self, names: list[str], rival: str, epsilon: str) -> list[Comparison]:
        """Compare RuleSieve with a rival on some sets."""
        return [self.compare(name, rival, epsilon) for name in names]

    def share(self, name: str, method: str, epsilon: str) -> float:
        """Return the share of the way from random to all columns, at least -1."""
        start = self.scores[name, "random", ""].mean()
        way = self.scores[name, "all columns", ""].mean() - start
        return max(-1.0, float((self.values(name, method, epsilon).mean() - start) / way))


def count(comparisons: list[Comparison]) -> str:
    """Return wins/level/losses.

    >>> count([Comparison("a", "b", "1", 0.3, 0.1), Comparison("a", "b", "1", 0.1, 0.1)])
    '1/1/0'
    """
    results = [comparison.result for comparison in comparisons]
    return "/".join(str(results.count(result)) for result in ("win", "level", "loss"))


def tabulate(header: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a table."""
    return ["| " + " | ".join(header) + " |", "|---" * len(header) + "|",
            *("| " + " | ".join(row) + " |" for row in rows), ""]


def count_table(measured: Measured, names: list[str]) -> list[str]:
    """Return wins/level/losses against each rival, by epsilon."""
    return tabulate(["RuleSieve against", *EPSILONS], [
        [rival, *(count(measured.comparisons(names, rival, epsilon)) for epsilon in EPSILONS)]
        for rival in (*measured.rivals, "random")])


def share_table(measured: Measured) -> list[str]:
    """Return the mean share of the way from random to all columns, with its standard error."""
    rows = []
    for method in (OURS, *measured.rivals):
        cells = []
        for epsilon in EPSILONS:
            shares = np.array([measured.share(name, method, epsilon) for name in measured.far])
            cells.append(f"{shares.mean():.2f} ({shares.std(ddof=1) / len(shares)**.5:.2f})")
        rows.append([method, *cells])
    return tabulate(["method", *EPSILONS], rows)


def share_panel(measured: Measured, title: str) -> Panel:
    """Return the same as curves."""
    curves = {method: [(float(epsilon), float(np.mean([measured.share(name, method, epsilon)
                                                       for name in measured.far])))
                       for epsilon in EPSILONS] for method in (OURS, *measured.rivals)}
    heights = [height for points in curves.values() for _, height in points]
    return Panel(title, curves, min(0.0, *heights), max(heights))


def losses(measured: Measured) -> list[Comparison]:
    """Return every loss against a rival that has a budget."""
    return [comparison for rival in measured.rivals for epsilon in EPSILONS
            for comparison in measured.comparisons(measured.sets, rival, epsilon)
            if comparison.result == "loss"]


def set_tables(measured: Measured, kind: str) -> list[str]:
    """Return a table for each set: mean and standard error over splits, by method and epsilon."""
    what = "R2" if kind == "number" else "balanced accuracy"
    lines = []
    for name in measured.sets:
        rows, columns, k = measured.shapes[name]
        splits = len(measured.scores[name, OURS, "1"])
        lines += [f"### {name}: {rows} x {columns}, k = {k}, {splits} splits, {what}", ""]
        lines += [f"Random columns {cell(measured.scores[name, 'random', ''])}, all columns "
                  f"{cell(measured.scores[name, 'all columns', ''])}.", ""]
        lines += tabulate(["method", *EPSILONS], [
            [method, *(cell(measured.values(name, method, epsilon)) for epsilon in EPSILONS)]
            for method in (OURS, *measured.rivals)])
    return lines


def cell(values: np.ndarray) -> str:
    """Return a mean with its standard error over splits that overlap."""
    return f"{values.mean():.3f} ({error(values):.3f})"
