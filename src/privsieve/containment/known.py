"""Known: a table as the promised stranger may know it, every thing known an item of its own.

Who may know that a person lacks something knows an item "not that"; who may know the class knows
an item of the class.  What is counted of such a table as if absences were unknown is then what
this stranger finds; so all measures serve every role.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from privsieve.rows.matrix import Items

Codes = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


def as_known(items: Items, absent: Bools | None, label: tuple[str, Codes, Sequence[str]] | None,
             ) -> Items:
    """These items, the absences that may be known, and the class, if it may be: name, codes, texts.

    What is added comes from the same column as what it speaks of.

    >>> items = Items.dense([[1], [0], [0]], ["smoker"])
    >>> made = as_known(items, np.array([True]), ("ill", np.array([0, 1, 1], np.int32), "ny"))
    >>> made.names, made.origin, np.diff(made.indptr).tolist()
    (('smoker', 'not smoker', 'ill=n', 'ill=y'), ('smoker', 'smoker', 'ill', 'ill'), [1, 2, 1, 2])
    """
    pieces, names, origin = [items.indices], list(items.names), list(items.origin)
    lacking = np.flatnonzero(absent).tolist() if absent is not None else []
    for j in lacking:
        held = np.zeros(items.rows, bool)
        held[items.indices[items.indptr[j]:items.indptr[j + 1]]] = True
        pieces.append(np.flatnonzero(~held).astype(np.int32))
        names.append(f"not {items.names[j]}")
        origin.append(items.origin[j])
    if label is not None:
        name, codes, texts = label
        pieces += [np.flatnonzero(codes == at).astype(np.int32) for at in range(len(texts))]
        names += [f"{name}={text}" for text in texts]
        origin += [name] * len(texts)
    more = np.cumsum([len(piece) for piece in pieces[1:]], dtype=np.int64)
    return Items(np.concatenate([items.indptr, items.indptr[-1] + more]),
                 np.concatenate(pieces), items.rows, tuple(names), tuple(origin))
