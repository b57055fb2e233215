"""Plain: open and read files that an attacker may have put there."""

from __future__ import annotations

import os
import stat
from io import BufferedReader

#: The largest file that is read; files of a release or domain are far smaller.
LARGEST_FILE = 64 * 2**20


def opened(path: str | os.PathLike[str]) -> BufferedReader:
    """Open a regular file for reading; refuse links, and do not wait for pipes.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as there, opened(there.name) as file:
    ...     file.read()
    b''
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError
    return os.fdopen(handle, "rb")


def read(path: str | os.PathLike[str], what: str, error: type[Exception],
         most: int = LARGEST_FILE, *, named: bool = True, way: str = "") -> bytes:
    """Return the bytes of a file, or raise `error` if it cannot be read or is too large.

    named : whether the user named the file, which may then be a link or a pipe.
    way : the end of the error, with what to do.
    """
    try:
        with open(path, "rb") if named else opened(path) as file:  # noqa: PTH123  # no import
            data = file.read(most + 1)
    except (OSError, ValueError):
        raise error(f"{what} cannot be read{way}") from None
    if len(data) > most:
        size = f"{most // 2**20} MB" if most >= 2**20 else f"{most // 2**10} KB"
        raise error(f"{what} is larger than {size}{way}")
    return data
