"""What a profile costs where more may be known: four real tables, k = 5, 11 and 50.

    python experiments/containment_roles.py [--short] [--only adult] [--profile few] [--folds 2]

`--short` takes k = 5 and two folds, some minutes; without it about an hour.  `--only` and
`--profile` may be said again.  Of e-mail and "most", which mines for a minute, two folds are taken
unless `--folds` says more.  A run that is cut off goes on.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

import protocol
from privsieve.containment.knowledge import Knowledge
from privsieve.containment.labelled import Labelled
from privsieve.containment.publishable import PROFILES, publishable
from privsieve.kernels.patterns import Rule
from privsieve.rows.items import items_of
from privsieve.rows.matrix import Items

KS = (5, 11, 50)
DATA = ("breast_w", "waveform", "adult", "pu1")
#: Folds of what takes minutes each.
SLOW = {("pu1", "most"): 2}
#: What may be known: absences that count, and whether the class does.
ROLES = {
    "presences": (False, False),
    "by kind": (True, False),
    "by kind, and the class": (True, True),
}
HEAD = """\
| data | k | profile | may be known | folds | AUC ± error | columns | level | below k: all cells | \
alone | below k: cells and class | alone |
|---|---|---|---|---|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True, eq=False)
class Table:
    """A data set as items; the matrix is by row."""

    items: Items
    y: np.ndarray
    matrix: Any


@cache
def load(name: str) -> Table:
    """E-mail as words that are there, the others as cells that are cut as the product cuts them."""
    if name == "pu1":
        table = protocol.load(name)
        return Table(table.items, table.y.astype(np.int32), table.matrix)
    folder = protocol.DATA / name
    if not folder.is_dir():
        raise SystemExit(f"no data set {name} in {protocol.DATA}; set PRIVSIEVE_DATA to the folder "
                         "of data")
    items, y, _ = items_of(folder / "data.parquet", "y")
    ones = np.ones(len(items.indices))
    matrix = sp.csc_matrix((ones, items.indices, items.indptr), shape=(items.rows, len(items)))
    return Table(items, y, matrix.tocsr())


def rule_of(table: Table, k: int, role: str) -> Rule | None:
    """The rule of a role; None where it is that of presences."""
    kinds, known = ROLES[role]
    absent = np.array(table.items.absent) if kinds and any(table.items.absent) else None
    if kinds and absent is None and not known:
        return None
    return Rule(k, int(table.y.max()) + 1, absent=absent, labelled=known)


def chosen(table: Table, rule: Rule, profile: str, train: np.ndarray) -> list[int]:
    """The columns of a profile, with the labels of the training rows."""
    marked = np.zeros(len(table.y), np.bool_)
    marked[train] = True
    return list(publishable(Labelled(table.items, table.y, marked=marked), rule, profile).selected)


def score(table: Table, columns: list[int], train: np.ndarray, test: np.ndarray) -> float:
    """AUC of the linear machine on rows that had no part in the choice."""
    rows = table.matrix[:, columns]
    return protocol.svm(rows[train], table.y[train], rows[test], table.y[test])


def exposed(table: Table, columns: list[int], rule: Rule) -> list[int]:
    """The smallest group under the rule; rows below k and alone, for who knows all cells.

    The last two are for who knows the class, too.
    """
    rows = table.items.take(columns)
    absent = None if rule.absent is None else rule.absent[columns]
    everything = Knowledge(rows).groups().equals()
    labelled = Knowledge(rows, None, (table.y,)).groups().equals()
    group = Knowledge(rows, absent, (table.y,) if rule.labelled else ()).groups().sizes()
    return [int(group.min()), int((everything < rule.k).sum()), int((everything == 1).sum()),
            int((labelled < rule.k).sum()), int((labelled == 1).sum())]


def row(memory: protocol.Memory, name: str, k: int, profile: str, role: str, folds: int) -> str:
    """One line of the table."""
    table = load(name)
    rule = rule_of(table, k, role)
    if rule is None or (profile == "strict" and role == "presences"
                        and rule_of(table, k, "by kind")):  # which is the same for "strict"
        return ""
    cuts = list(protocol.splits(table.y, 0))[:folds]
    scores, sizes, figures = [], [], []
    for at, (train, test) in enumerate(cuts):
        key = (k, profile, role, at)
        columns = memory.cell((*key, "columns"), partial(chosen, table, rule, profile, train))
        scores.append(memory.cell((*key, "auc"), partial(score, table, columns, train, test)))
        kept = replace(rule, absent=np.ones(len(table.items), np.bool_)) \
            if profile == "strict" else rule
        figures.append(exposed(table, columns, kept))
        sizes.append(len(columns))
    level, *risks = np.min(figures, axis=0)[0], *np.mean(figures, axis=0)[1:]
    return (f"| {name} | {k} | {profile} | {role} | {len(cuts)} | {np.mean(scores):.4f} ± "
            f"{protocol.corrected_error(scores):.4f} | {np.mean(sizes):.1f} | {level} | "
            + " | ".join(f"{risk:.0f}" for risk in risks) + " |\n")


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--short", action="store_true", help="k = 5, two folds")
    parser.add_argument("--only", action="append", choices=DATA, help="this table")
    parser.add_argument("--profile", action="append", choices=list(PROFILES), help="this profile")
    parser.add_argument("--folds", type=int, help="the first folds only")
    arguments = parser.parse_args()
    text = HEAD
    for name in arguments.only or DATA:
        memory = protocol.Memory(f"containment_roles_{name}")
        for k, profile, role in product(KS[:1] if arguments.short else KS,
                                        arguments.profile or PROFILES,
                                        ROLES):
            folds = arguments.folds or SLOW.get((name, profile), protocol.FOLDS)
            line = row(memory, name, k, profile, role, min(2, folds) if arguments.short else folds)
            text += line
            print(line, end="", flush=True)
    protocol.write("containment_roles", text, short=arguments.short)


if __name__ == "__main__":
    main()
