"""A CSV file by the kernel: the answers of `csv_file` and `columns`, cell by cell, and faster.

Numbers and levels become codes there.  Of dates, of flags with words of their own and of persons it
tells the texts apart, and the rules of `cells` see each different one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from privsieve.public.columns import Category, Column, Date, Flag, Label, Number, Target
from privsieve.public.domain import Domain
from privsieve.rows.columns import Codes, encoder, grid, known, log_edges
from privsieve.rows.csv_file import File
from privsieve.rows.source import Source

if TYPE_CHECKING:
    from privsieve.kernels.csv import Records


def serves(source: Source) -> bool:
    """Whether the kernel reads this source: by the implementation and the encoding alone.

    >>> from privsieve.rows import open_source
    >>> serves(open_source([[1]]))
    False
    """
    from privsieve.kernels import csv

    return source.file is not None and csv.serves(source.file.csv.encoding)


def pieces(source: Source, domain: Domain, names: list[str], most: int,
           ) -> Iterator[tuple[Codes, list[str] | None]]:
    """Codes of the columns and the target, a row for each, and the persons; `most` lines at a time.

    `names` are those of the columns, the target and the person, in this order.
    """
    assert source.file is not None
    parts = [*domain.columns, *([domain.target] if domain.target else [])]
    positions = source.positions(names)
    records = _records(source.file, domain, positions)
    told = [(at, encoder(part, domain.csv.decimal)) for at, part in enumerate(parts)
            if _is_text(part)]
    for block in source.file.blocks(source.file.longest(positions)):
        end = 0
        while end < len(block):
            codes, ids, texts, end = records.read(block, end, most)
            for (at, encode), held, which in zip(told, texts, ids, strict=False):
                codes[at] = encode(held)[which]
            yield codes[:len(parts)], (None if domain.person is None
                                       else np.array(texts[-1], object)[ids[-1]].tolist())


def _records(file: File, domain: Domain, positions: list[int]) -> Records:
    from privsieve.kernels.csv import Records

    how = domain.csv
    records = Records((how.delimiter, how.decimal), how.encoding, file.width,
                      max(positions) + 1, file.longest(positions))
    for position, part in zip(positions, (*domain.columns, domain.target), strict=False):
        if part is not None:
            _add(records, position, part)
    if domain.person is not None:
        records.text(positions[-1])
    return records


def _add(records: Records, position: int, part: Column | Target) -> None:
    """The rule of `columns.encoder` in the kernel's words."""
    if _is_text(part):
        records.text(position)
    elif isinstance(part, (Category, Label, Flag)):
        table, other = known(part)
        if isinstance(part, Flag):
            table = {"".join(letters): code for text, code in table.items()
                     for letters in product(*({c, c.upper()} for c in text))}
        records.levels(position, table, other)
    else:
        assert isinstance(part, Number)
        used, missing = grid(part)
        if part.scale == "log":
            records.logarithmic(position, log_edges(part), used, missing)
        else:
            records.linear(position, part.low, used / (part.high - part.low), used, missing)


def _is_text(part: Column | Target) -> bool:
    """What the kernel tells apart and does not code; a word may have capitals beyond ASCII."""
    return isinstance(part, Date) or (isinstance(part, Flag) and bool(part.true or part.false))
