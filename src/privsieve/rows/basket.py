"""Basket lines, as in the FIMI repository: the items of a row stand on its line, with blanks."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from privsieve.errors import SchemaError
from privsieve.rows.items import Found, from_pairs, label_codes, without_labels

#: A line with more bytes is no basket.
LARGEST_LINE = 2**24


def read(path: Path, label: str | None) -> Found:
    """Items of a file of lines; `label` says where a line holds its class: "first", "last" or None.

    An item is a whole number, and its name in the results is that number.  An empty line is a
    row without items.
    """
    if label not in (None, "first", "last"):
        raise SchemaError(f"the label of a basket line is its 'first' or 'last' number, not "
                          f"{label!r}; or give the labels apart from the file")
    row, item, classes = [], [], []
    lines = lines_of(path)
    for at, line in enumerate(lines):
        numbers = [_number(word, at) for word in line.split()]
        if label is not None:
            if not numbers:
                raise SchemaError(f"line {at + 1} of the file is empty, and should hold a label")
            classes.append(numbers.pop(0 if label == "first" else -1))
        row += [at] * len(numbers)
        item += numbers
    known, column = np.unique(np.array(item, np.int64), return_inverse=True)
    items = from_pairs(np.array(row, np.int64), column.reshape(-1), len(lines),
                       [str(number) for number in known.tolist()])
    found = label_codes(classes) if label is not None else without_labels(len(lines))
    return items, *found


def lines_of(path: Path) -> list[bytes]:
    """The lines of a file of ASCII text; what follows the last line end is one if not empty."""
    data = path.read_bytes()
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    if not data.isascii() or b"\0" in data or any(len(line) > LARGEST_LINE for line in lines):
        raise SchemaError("the file is not lines of numbers in plain text; convert it")
    if not lines:
        raise SchemaError("the file is empty; a table has at least one line")
    return lines


def _number(word: bytes, at: int) -> int:
    if not word.isdigit() or len(word) > 18:
        raise SchemaError(f"line {at + 1} of the file holds something else than whole numbers "
                          "with blanks between them; correct it, or name the file .csv")
    return int(word)
