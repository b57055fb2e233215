"""A file that only its owner may read, and that was not there before."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from privsieve.errors import ParameterError


def new_file(path: str | Path, what: str) -> BinaryIO:
    """Open a new file for its owner alone; nothing is overwritten, no link is followed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        return os.fdopen(os.open(path, flags, 0o600), "wb")
    except FileExistsError:
        raise ParameterError(f"the file {what} exists; nothing is overwritten: name a new "
                             "one") from None
    except (OSError, ValueError):
        raise ParameterError(f"the file {what} cannot be written; its folder must exist and be "
                             "writable") from None
