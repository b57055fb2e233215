"""A file that somebody else may have laid there: opened as it is, or not at all."""

from __future__ import annotations

import os
import stat
from io import BufferedReader

#: The files of a release, and of a domain, are far below; more is an attack on memory.
LARGEST_FILE = 64 * 2**20


def opened(path: str | os.PathLike[str]) -> BufferedReader:
    """A plain file, to be read: no link is followed, and a pipe is not waited for.

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
    """The bytes of a file; what cannot be read, or is too large, is refused in a sentence.

    named : whether its reader named it, who may have named a link or a pipe.
    way : the way out.
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
