"""Figure 1 of the anonymity paper (Zhang et al. 2017): its two private baselines, on real data.

    python experiments/containment_figure.py [--short] [--only pu1]

The paper does not say which of three budgets its bars have (see `papers/dp_baselines.py`);
each is measured.  It does not say on which rows it tests; "add instances, then cross-validate"
tests on made-up rows, whose labels are partly noise.  Here both: inside the made-up rows, and on
true rows that neither step has seen.  Beside them our own release with as many columns: RuleSieve
and a noisy table, charged as one.  `--short` takes epsilon 1 and two runs, a minute; without it
some ten minutes.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import scipy.sparse as sp

import protocol
from panels import Panel, save
from papers.containment import greedy_hamdist
from papers.dp_baselines import ACCOUNTINGS, Baseline, Mechanism, Synthetic
from privsieve.fit import fit
from privsieve.methods import plan
from privsieve.methods.histogram.released import CountTable
from privsieve.noise.streams import replay
from privsieve.public.columns import Flag, Label
from privsieve.public.domain import Domain
from privsieve.rows import open_source

DATA = ("aminer_ed", "adult19", "pu1")
EPSILONS = (Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2))
#: The mechanisms in the key of the picture.
NAMES = {"laplace": "Laplace-DP", "exponential": "Exponential-DP", "ours": "RuleSieve and counts"}
#: The paper's N is what greedy HamDist finds at this k.
K = 5

HEAD = """\
| data | columns | mechanism | reading | epsilon | truly spent | AUC inside made-up rows \
| AUC on true rows ± error | share of the true top columns |
|---|---|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Ours:
    """Our release of as many columns; what it claims to spend is what it spends."""

    columns: int
    epsilon: Fraction

    @property
    def spent(self) -> Fraction:
        """What it costs if a row is replaced, its label too."""
        return self.epsilon

    def run(self, matrix: Any, y: np.ndarray, run: int) -> Synthetic:
        """Columns, and rows that are made of their noisy table, as many as there were."""
        domain = Domain([Flag(f"x{j}") for j in range(matrix.shape[1])], target=Label("y", (0, 1)))
        planned = plan("noisy-histogram", domain, k=self.columns, epsilon=self.epsilon, rows=len(y))
        body = fit(planned, open_source(matrix, y), noise=replay(run)).body
        rows = CountTable.of(body).sample(len(y), np.random.default_rng(run))
        held = np.column_stack([rows[name] for name in body["selected"]])
        return Synthetic(tuple(int(name[1:]) for name in body["selected"]), held, rows["y"])


def rows_made(method: Baseline | Ours, matrix: Any, y: np.ndarray, run: int) -> Synthetic:
    """What a method makes of these rows."""
    if isinstance(method, Ours):
        return method.run(matrix, y, run)
    return method.run(protocol.items_of_rows(matrix), y, random_state=run)


def measured(table: protocol.Table, method: Baseline | Ours, run: int) -> list[float]:
    """AUC inside and on true rows, and the share of the best columns that was found."""
    new_rows = rows_made(method, table.matrix, table.y, run)
    top = greedy_hamdist(table.items, table.y, K).selected
    rows = sp.csr_matrix(new_rows.held.astype(np.float64))
    inside = [protocol.svm(rows[train], new_rows.y[train], rows[test], new_rows.y[test])
              for train, test in protocol.splits(new_rows.y, run)]
    train, test = list(protocol.splits(table.y, run))[run % protocol.FOLDS]
    mine = rows_made(method, table.matrix[train], table.y[train], run)
    outside = protocol.svm(sp.csr_matrix(mine.held.astype(np.float64)), mine.y,
                           table.matrix[test][:, list(mine.selected)], table.y[test])
    return [float(np.mean(inside)), outside, len(set(top) & set(new_rows.selected)) / len(top)]


def lines(table: protocol.Table, epsilons: tuple[Fraction, ...], runs: int) -> tuple[str, Panel]:
    """All results of one data set, as lines of the table and as a panel."""
    memory = protocol.Memory(f"figure_1_{table.name}")
    columns = len(greedy_hamdist(table.items, table.y, K).selected)
    text, curves = "", {}
    ways = [*((mechanism, reading) for mechanism in get_args(Mechanism)
                 for reading in ACCOUNTINGS), ("ours", "true")]
    for mechanism, reading in ways:
        points = curves[f"{NAMES[mechanism]}, {reading}"] = []
        for epsilon in epsilons:
            method = (Ours(columns, epsilon) if mechanism == "ours"
                      else Baseline(mechanism, reading, columns, epsilon))
            values = np.array([memory.cell((mechanism, reading, epsilon, run),
                                           lambda m=method, run=run: measured(table, m, run))
                               for run in range(runs)])
            inside, outside, top = values.mean(axis=0)
            points.append((float(epsilon), float(outside)))
            text += (f"| {table.name} | {columns} | {mechanism} | {reading} | {float(epsilon)} "
                     f"| {float(method.spent):g} | {inside:.3f} | {outside:.3f} ± "
                     f"{protocol.corrected_error(values[:, 1]):.3f} | {top:.2f} |\n")
            print(text.splitlines()[-1], flush=True)
    heights = [height for points in curves.values() for _, height in points]
    return text, Panel(table.name, curves, min(heights), max(heights))


def main() -> None:
    """Measure what is asked for, write it down and draw it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="epsilon 1 and two runs")
    parser.add_argument("--only", choices=DATA)
    options = parser.parse_args()
    protocol.require(*([options.only] if options.only else DATA))
    epsilons = EPSILONS[1:2] if options.short else EPSILONS
    curves = [lines(protocol.load(name), epsilons, 2 if options.short else 10)
              for name in DATA if options.only in (None, name)]
    text = "## Figure 1: Laplace-DP and Exponential-DP\n\n" + HEAD + "".join(t for t, _ in curves)
    protocol.write("containment_figure", text, short=options.short)
    if not options.short:
        save(protocol.RESULTS / "containment_figure", [panel for _, panel in curves],
             "AUC on true rows, by epsilon: the private baselines and RuleSieve")


if __name__ == "__main__":
    main()
