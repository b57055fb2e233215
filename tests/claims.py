"""Claims: tables and claims by hand, and what columns give away together, from the definition."""

from __future__ import annotations

import numpy as np

from privsieve.containment.labelled import Labelled
from privsieve.containment.snapshot import Seal, fingerprint
from privsieve.ledger.ledger import Publication
from privsieve.rows.matrix import Items

SEAL = Seal(b"k" * 32, "clinic", "2026")


def table_of(cells, y=None, *, classes=2, names=None, **options):
    """A table of zeros and ones with the class of each row."""
    cells = np.asarray(cells)
    y = np.zeros(len(cells), np.int32) if y is None else np.asarray(y, np.int32)
    names = names or [f"c{j}" for j in range(cells.shape[1])]
    return Labelled(Items.dense(cells, names), y, tuple(range(classes)), "ill", **options)


def claimed(columns, **options):
    """A claim with roles, as `publish` makes it."""
    return {"k": 2, "model": "containment", "absent": [], "l_diversity": 1, "suppressed": 0,
            "columns": list(columns), "target": None, "origins": list(columns), "sensitive": [],
            "limits": {"share": None, "entropy": None, "closeness": None}, "fingerprint": None,
            "roles": {"presences": list(columns), "both": [], "sensitive": [], "target": "ill",
                      "target_known": False}, **options}


def noted(claim, seq=1):
    """What a ledger gives back of a claim."""
    return Publication(seq, "2026", tuple(claim["columns"]), claim["k"], claim["model"], claim)


def sealed(table, claim):
    """A claim with the row count and fingerprint of its table."""
    claim = {**claim, "rows": table.items.rows}
    return {**claim, "fingerprint": fingerprint(table, claim, SEAL)}


def groups(cells, y, rule, chosen):
    """The size of each row's group, and its classes: from the definition."""
    for mine, own in zip(cells, y, strict=True):
        labels = [label for other, label in zip(cells, y, strict=True)
                  if all(other[j] if mine[j] else not (other[j] and (
                      rule.model == "k-anonymity" or rule.absent[j])) for j in chosen)]
        yield (labels.count(own) if rule.labelled else len(labels)), len(set(labels))


def naive(cells, y, rule, chosen):
    """Rows in groups below k, and in groups of fewer than l classes."""
    naive_groups = list(groups(cells, y, rule, chosen))
    return (sum(size < rule.k for size, _ in naive_groups),
            sum(classes < rule.l_diversity for _, classes in naive_groups))
