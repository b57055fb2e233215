"""Files of yes and no by lines: svmlight, and baskets as in the FIMI repository.

An svmlight line is a label, then `index:value` for what is not zero; a basket line the items of a
row, with blanks between them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from privsieve.errors import SchemaError
from privsieve.rows.cells import number_cell
from privsieve.rows.matrix import LARGEST_ITEMS, Items, from_pairs
from privsieve.rows.source import RawColumn


def read(path: Path, label: str | None) -> tuple[Items, RawColumn | None]:
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
    return from_pairs(np.array(row, np.int64), np.array(item, np.int64) - start, len(lines),
                      names), classes


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


#: A line with more bytes is no basket.
LARGEST_LINE = 2**24


def read_basket(path: Path, label: str | None) -> tuple[Items, RawColumn | None]:
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
    return items, classes if label is not None else None


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
