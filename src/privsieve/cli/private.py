"""A file that was not there before; unless somebody says otherwise only its owner may read it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from privsieve.errors import ParameterError


def new_file(path: str | Path, what: str, mode: int = 0o600) -> BinaryIO:
    """Open a new file for its owner alone; nothing is overwritten, no link is followed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        return os.fdopen(os.open(path, flags, mode), "wb")
    except FileExistsError:
        raise ParameterError(f"the file {what} exists; nothing is overwritten: name a new "
                             "one") from None
    except (OSError, ValueError):
        raise ParameterError(f"the file {what} cannot be written; its folder must exist and be "
                             "writable") from None


@contextmanager
def new_page(path: str, what: str) -> Iterator[Callable[[bytes], None]]:
    """Make the file before the work; take it away if the work leaves it empty."""
    file, written = new_file(path, what), False

    def write(page: bytes) -> None:
        nonlocal written
        written = bool(file.write(page))

    try:
        with file:
            yield write
    finally:
        if not written:
            Path(path).unlink(missing_ok=True)
