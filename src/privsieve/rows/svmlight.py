"""svmlight lines: a label, then `index:value` for what is not zero.  Values are 0 or 1 here."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from privsieve.errors import SchemaError
from privsieve.rows.basket import lines_of
from privsieve.rows.cells import number_cell
from privsieve.rows.items import Found, from_pairs, label_codes
from privsieve.rows.matrix import LARGEST_ITEMS


def read(path: Path, label: str | None) -> Found:
    """Items of a file of lines, and the labels at their beginning; item j is called xj."""
    if label is not None:
        raise SchemaError("an svmlight file holds its labels at the beginning of its lines; name "
                          "no target, or give the labels apart from the file")
    row, item, classes = [], [], []
    lines = [line for line in (line.partition(b"#")[0].strip() for line in lines_of(path)) if line]
    for at, line in enumerate(lines):
        first, *pairs = line.split()
        classes.append(_label(first, at))
        held = [j for j in (_index(pair, at) for pair in pairs) if j is not None]
        row += [at] * len(held)
        item += held
    if not lines:
        raise SchemaError("the file holds no line but comments; a table has at least one row")
    low, high = (min(item), max(item)) if item else (0, -1)
    start = min(low, 1)
    names = [f"x{j}" for j in range(start, high + 1)]
    items = from_pairs(np.array(row, np.int64), np.array(item, np.int64) - start, len(lines), names)
    return items, *label_codes(classes)


def _label(word: bytes, at: int) -> float:
    found = number_cell(word)
    if found != found:  # noqa: PLR0124  # NaN
        raise SchemaError(f"record {at + 1} of the svmlight file does not begin with a label "
                          "that is a number; correct it")
    return found


def _index(pair: bytes, at: int) -> int | None:
    """The index of a value that is one; None for an explicit zero and for a query."""
    index, colon, value = pair.partition(b":")
    if index == b"qid":
        return None
    number = number_cell(value)
    plain = colon and index.isdigit()
    if plain and (len(index.lstrip(b"0")) > 18 or int(index) > LARGEST_ITEMS):
        raise SchemaError(f"record {at + 1} of the svmlight file has an index above "
                          f"{LARGEST_ITEMS}, and a table has a column for each index up to the "
                          "largest: number its columns anew")
    if not plain or number not in (0.0, 1.0):
        raise SchemaError(f"record {at + 1} of the svmlight file holds something else than "
                          "index:0 and index:1; cut its values into yes and no first")
    return int(index) if number else None
