"""A private folder for an export: new, its owner's alone, whole or not there at all."""

from __future__ import annotations

import csv
import io
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from privsieve.errors import ParameterError


def write_folder(out: str | Path, files: Mapping[str, bytes],
                 check: Callable[[Path], object] | None = None) -> None:
    """Write files, by their paths inside, into a folder that does not exist yet.

    `check` may refuse what was written; then nothing stays.
    """
    place = Path(out)
    try:
        place.mkdir(0o700)
    except FileExistsError:
        raise ParameterError("the folder of --out exists; nothing is overwritten: name a folder "
                             "that does not exist") from None
    except (OSError, ValueError):
        raise ParameterError("the folder of --out cannot be made; the folder around it must exist "
                             "and be writable") from None
    try:
        for name, data in files.items():
            path = place / name
            path.parent.mkdir(0o700, exist_ok=True)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
        if check is not None:
            check(place)
    except BaseException as error:
        shutil.rmtree(place, ignore_errors=True)
        if isinstance(error, OSError):
            raise ParameterError("the folder of --out cannot be filled; make room on its disk and "
                                 "try again") from None
        raise


def csv_bytes(rows: Iterable[Sequence[str]], delimiter: str = ",") -> bytes:
    r"""Rows as CSV in UTF-8; a quote in a field is doubled.

    >>> csv_bytes([["a", "b c"], ["", "x,y"]])
    b'a,b c\n,"x,y"\n'
    """
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def file_name(at: int, name: str) -> str:
    """A name for a file, and for a variable, that no column's name can get out of.

    >>> file_name(3, "hours per week"), file_name(1, '"); quit("')
    ('v3_hours_per_week', 'v1_quit')
    """
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in name).split()
    return "_".join([f"v{at}", *words])[:40].rstrip("_")
