"""Figure 1 of the anonymity paper (Zhang et al. 2017): its two private baselines, on real data.

    python experiments/containment_figure.py [--short] [--only pu1]

The paper does not say which of three budgets its bars have (see `privsieve.papers.dp_baselines`);
each is measured.  Nor does it say on which rows it tests; "add instances, then cross-validate"
tests on made-up rows, whose labels are partly noise.  Here both: inside the made-up rows, and on
true rows that neither step has seen.  `--short` takes epsilon 1 and two runs, half a
minute; without it some ten minutes.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from typing import get_args

import numpy as np
import scipy.sparse as sp

import protocol
from bars import Group, bars
from privsieve.papers.containment import greedy_hamdist
from privsieve.papers.dp_baselines import ACCOUNTINGS, Baseline, Mechanism

DATA = ("aminer_ed", "adult19", "pu1")
EPSILONS = (Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2))
#: The paper's N is what greedy HamDist finds at this k.
K = 5

HEAD = """\
| data | columns | mechanism | reading | epsilon | truly spent | AUC inside made-up rows \
| AUC on true rows ± error | share of the true top columns |
|---|---|---|---|---|---|---|---|---|
"""


def measured(table: protocol.Table, method: Baseline, run: int) -> list[float]:
    """AUC inside and on true rows, and the share of the best columns that was found."""
    made = method.run(table.items, table.y, random_state=run)
    top = greedy_hamdist(table.items, table.y, K).selected
    rows = sp.csr_matrix(made.held.astype(np.float64))
    inside = [protocol.svm(rows[train], made.y[train], rows[test], made.y[test])
              for train, test in protocol.splits(made.y, run)]
    train, test = list(protocol.splits(table.y, run))[run % protocol.FOLDS]
    mine = method.run(protocol.items_of_rows(table.matrix[train]), table.y[train],
                      random_state=run)
    outside = protocol.svm(sp.csr_matrix(mine.held.astype(np.float64)), mine.y,
                           table.matrix[test][:, list(mine.selected)], table.y[test])
    return [float(np.mean(inside)), outside, len(set(top) & set(made.selected)) / len(top)]


def lines(table: protocol.Table, epsilons: tuple[Fraction, ...], runs: int,
          ) -> tuple[str, list[Group]]:
    """All bars of one data set, as lines of the table and as bars."""
    memory = protocol.Memory(f"figure_1_{table.name}")
    columns = len(greedy_hamdist(table.items, table.y, K).selected)
    text, drawn = "", []
    for mechanism in get_args(Mechanism):
        for reading in ACCOUNTINGS:
            heights = []
            for epsilon in epsilons:
                method = Baseline(mechanism, reading, columns, epsilon)
                found = np.array([memory.cell((mechanism, reading, epsilon, run),
                                              lambda m=method, run=run: measured(table, m, run))
                                  for run in range(runs)])
                inside, outside, top = found.mean(axis=0)
                heights.append(float(outside))
                text += (f"| {table.name} | {columns} | {mechanism} | {reading} | {float(epsilon)} "
                         f"| {float(method.spent):g} | {inside:.3f} | {outside:.3f} ± "
                         f"{protocol.corrected_error(found[:, 1]):.3f} | {top:.2f} |\n")
                print(text.splitlines()[-1], flush=True)
            drawn.append(Group(f"{table.name}, {mechanism}", reading, heights))
    return text, drawn


def main() -> None:
    """Measure what is asked for, write it down and draw it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="epsilon 1 and two runs")
    parser.add_argument("--only", choices=DATA)
    options = parser.parse_args()
    epsilons = EPSILONS[1:2] if options.short else EPSILONS
    found = [lines(protocol.load(name), epsilons, 2 if options.short else 10)
             for name in DATA if options.only in (None, name)]
    text = "## Figure 1: Laplace-DP and Exponential-DP\n\n" + HEAD + "".join(t for t, _ in found)
    protocol.write("containment_figure", text, short=options.short)
    if not options.short:
        picture = bars([group for _, groups in found for group in groups],
                       [f"ε {float(e):g}" for e in epsilons])
        (protocol.RESULTS / "containment_figure.svg").write_text(picture, "utf-8")


if __name__ == "__main__":
    main()
