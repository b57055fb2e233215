"""Tables 4, 5 and 6 of the anonymity paper (Zhang et al. 2017), on real data.

    python experiments/containment_tables.py [--short] [--only pu1] [--method NAME] [--shuffled]

`--short` takes k = 5 and one shuffle of the folds, a minute; without it k = 5, 8, 11, and an hour.
`--method` takes these rows only, a minute without `--short`; it and `--only` may be said again.
`--repeats 1` takes one shuffle of the folds, and one run of RF, for every k.
`--shuffled` is the control: labels are dealt out anew to the rows, so that an honest AUC is near .5
and what is above it "as the paper" is leakage.  A run that is cut off goes on.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

import protocol
from methods import OURS, PRINTED, everything
from papers.random_flips import random_flips
from privsieve.containment.measures import disclosure_risk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from methods import Method

KS = (5, 8, 11)
#: Repeats of a random method, and deals of the labels in the control.
RUNS, DEALS = 10, 5


@dataclass(frozen=True)
class Asked:
    """One table: its data, its classifier, and what the paper prints, for k = 5, 8 and 11."""

    number: str
    data: str
    title: str
    score: Callable[..., float]
    repeats: int
    printed: dict[str, tuple[str, str, str]]


#: Table 4 of the paper.
NAMES = {
    "Maximal": (".82 (61)", ".81 (43)", ".79 (32)"),
    "HamDist": (".88 (27)", ".88 (24)", ".81 (16)"),
    "DistCnt": (".81 (11)", ".81 (11)", ".80 (10)"),
    "CM Greedy": (".68 (2)",) * 3,
    "k-anonymity HamDist": (".55 (3)", ".55 (2)", ".55 (2)"),
    "k-anonymity DistCnt": (".79 (3)", ".79 (3)", ".77 (2)"),
    "RF": (".75 (11.99%)", ".73 (14.03%)", ".72 (16.49%)"),
    "all columns": (".87 (552)",) * 3}

TABLES = (
    Asked("4", "aminer_ed", "name disambiguation (a stand-in for the paper's data): topic entropy",
          protocol.topic_entropy, 10, NAMES),
    Asked("4 again", "aminer_ed", "the same data, linear SVM", protocol.svm, 10, NAMES),
    Asked("5", "adult19", "Adult (five of its cuts are guessed): linear SVM", protocol.svm, 2, {
        "Maximal": (".74 (8)", ".74 (8)", ".75 (7)"),
        "HamDist": (".77 (9)", ".77 (9)", ".76 (8)"),
        "DistCnt": (".78 (10)", ".78 (10)", ".76 (8)"),
        "CM Greedy": (".71 (5)",) * 3,
        "k-anonymity HamDist": (".72 (8)",) * 3,
        "k-anonymity DistCnt": (".73 (8)", ".70 (6)", ".70 (6)"),
        "RF": (".80 (0.60%)", ".80 (1.00%)", ".80 (1.44%)"),
        "all columns": (".82 (19)",) * 3}),
    Asked("6", "pu1", "e-mail (PU1, the paper's data): linear SVM", protocol.svm, 5, {
        "Maximal": (".94 (121)", ".92 (66)", ".90 (58)"),
        "HamDist": (".91 (11)",) * 3,
        "DistCnt": (".95 (11)", ".93 (7)", ".93 (7)"),
        "CM Greedy": (".86 (3)",) * 3,
        "k-anonymity HamDist": (".84 (4)",) * 3,
        "k-anonymity DistCnt": (".81 (4)",) * 3,
        "RF": (".87 (1.30%)", ".86 (1.73%)", ".87 (2.03%)"),
        "all columns": (".95 (24604)",) * 3}),
)

HEAD = """\
| method | k | paper AUC (columns) | as the paper: AUC (columns) | honest: AUC ± error (columns) \
| level | equal rows | unique | found: worst / average | one-class groups | below k, large cut |
|---|---|---|---|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True, eq=False)
class Bench:
    """One table on its data, with the memory of its cells."""

    settings: Asked
    table: protocol.Table
    memory: protocol.Memory
    repeats: int
    shuffled: bool

    def labels(self, repeat: int) -> np.ndarray:
        """The labels of a repeat: the true ones, or in the control a new deal of them."""
        y = self.table.y
        return np.random.default_rng(repeat).permutation(y) if self.shuffled else y

    def chosen(self, name: str, method: Method, k: int, repeat: int, fold: int) -> list[int]:
        """The columns of a method; fold -1 is all rows."""
        def compute() -> list[int]:
            y = self.labels(repeat)
            train = (np.arange(len(y)) if fold < 0 else list(protocol.splits(y, repeat))[fold][0])
            return list(method(self.table.items, y, k, np.isin(np.arange(len(y)), train)))

        return self.memory.cell((name, k, "columns", repeat, fold), compute)

    def score(self, columns: list[int], repeat: int, fold: int) -> float:
        """AUC of the classifier on these columns in one fold."""
        rows, y = self.table.matrix[:, columns], self.labels(repeat)
        train, test = list(protocol.splits(y, repeat))[fold]
        return self.settings.score(rows[train], y[train], rows[test], y[test])

    def row(self, name: str, method: Method, k: int) -> str:
        """One line of the table."""
        leaky, honest, whole, sizes = [], [], [], []
        for repeat, fold in product(range(self.repeats), range(protocol.FOLDS)):
            every = self.chosen(name, method, k, repeat if self.shuffled else 0, -1)
            mine = self.chosen(name, method, k, repeat, fold)
            whole.append(len(every))
            sizes.append(len(mine))
            leaky.append(self.memory.cell((name, k, "as the paper", repeat, fold),
                                          partial(self.score, every, repeat, fold)))
            honest.append(leaky[-1] if mine == every else self.memory.cell(
                (name, k, "honest", repeat, fold), partial(self.score, mine, repeat, fold)))
        return line(name, "" if method is everything else k, self.paper(name, k),
                    f"{np.mean(leaky):.3f} ({np.mean(whole):g})",
                    f"{full_text(honest)} ({np.mean(sizes):.1f})",
                    *self.memory.cell((name, k, "protection"), lambda: self.protection(
                        self.chosen(name, method, k, 0, -1), k)))

    def protection(self, columns: list[int], k: int) -> list[str]:
        """What the projection gives away."""
        n = self.table.items.rows
        risk = disclosure_risk(self.table.items.take(columns), self.labels(0), k=k)
        return [str(risk.containment.level), str(risk.prosecutor.level),
                f"{risk.unique / n:.1%}",
                f"{risk.prosecutor.highest:.3f} / {risk.prosecutor.average:.3f}",
                f"{risk.one_class / n:.1%}", f"{risk.hub.below / max(risk.hub.left, 1):.1%}"]

    def flips(self, rule: Any, k: int, runs: int) -> str:
        """The line of RF: flips on all rows, then on training rows with true test rows."""
        leaky, honest, share = [], [], []
        for run in range(runs):
            actual_share = self.memory.cell(("RF", rule, k, run),
                                            partial(self.flipped, rule, k, run))
            leaky += actual_share[0]
            honest += actual_share[1]
            share.append(actual_share[2])
        printed = self.paper("RF", k) if rule == "member" else ""
        return line(f"RF ({rule})", k, printed, f"{np.mean(leaky):.3f} ({np.mean(share):.2%})",
                    full_text(honest), "", f"≥ {k}", "0.0%", f"≤ {1 / k:.3f}", "", "")

    def flipped(self, rule: Any, k: int, run: int) -> list[Any]:
        """AUCs of both protocols, and the share of flipped cells."""
        table, y = self.table, self.labels(run)
        flipped = random_flips(table.items, k, rule=rule, random_state=run)
        matrix = sp.csr_matrix(flipped.matrix.astype(np.float64))
        leaky, honest = [], []
        for train, test in protocol.splits(y, run):
            leaky.append(self.settings.score(matrix[train], y[train], matrix[test], y[test]))
            mine = random_flips(protocol.items_of_rows(table.matrix[train]), k, rule=rule,
                                random_state=run)
            honest.append(self.settings.score(sp.csr_matrix(mine.matrix.astype(np.float64)),
                                              y[train],
                                           table.matrix[test], y[test]))
        return [leaky, honest, flipped.share]

    def paper(self, name: str, k: int) -> str:
        """What the paper prints in this place."""
        return self.settings.printed[name][KS.index(k)] if name in self.settings.printed else ""


def full_text(scores: list[float]) -> str:
    """A mean with its corrected standard error."""
    return f"{np.mean(scores):.3f} ± {protocol.corrected_error(scores):.3f}"


def line(*cells: object) -> str:
    """A line of a Markdown table."""
    return "| " + " | ".join(map(str, cells)) + " |\n"


def written(options: Asked, methods: Sequence[str], repeats: int | None, *, short: bool,
            shuffled: bool) -> str:
    """One table of the paper as Markdown, of these methods; of all if none is named."""
    name, table = f"table {options.number}", protocol.load(options.data)
    memory = protocol.Memory(f"{name} shuffled" if shuffled else name)
    repeats = repeats or (1 if short else None)
    bench = Bench(options, table, memory, DEALS if shuffled else repeats or options.repeats,
                  shuffled)
    text = f"## Table {options.number}: {options.title}\n\n{HEAD}"
    for k in KS[:1] if short else KS:
        for name, method in {**PRINTED, **OURS}.items():
            if (methods and name not in methods) or (method is everything and k != KS[0]):
                continue
            text += bench.row(name, method, k)
            print(text.splitlines()[-1], flush=True)
        for rule in ("member", "majority") if not methods or "RF" in methods else ():
            text += bench.flips(rule, k, repeats or RUNS)
            print(text.splitlines()[-1], flush=True)
    return text


def main() -> None:
    """Measure what is asked for and write it down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="k = 5 and one repeat")
    parser.add_argument("--only", action="append", choices=sorted({table.data for table in TABLES}))
    parser.add_argument("--method", action="append", default=[], choices=[*PRINTED, *OURS, "RF"])
    parser.add_argument("--repeats", type=int, help="shuffles of the folds, and runs of RF")
    parser.add_argument("--shuffled", action="store_true", help="labels dealt out anew")
    options = parser.parse_args()
    protocol.require(*(options.only or [table.data for table in TABLES]))
    tables = [written(request, options.method, options.repeats, short=options.short,
                      shuffled=options.shuffled)
              for request in TABLES if not options.only or request.data in options.only]
    kind = "_shuffled" * options.shuffled + "_some" * bool(options.method)
    protocol.write(f"containment_tables{kind}", "\n".join(tables), short=options.short)


if __name__ == "__main__":
    main()
