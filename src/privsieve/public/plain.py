"""A file that somebody else may have laid there: opened as it is, or not at all."""

from __future__ import annotations

import os
import stat
from io import BufferedReader


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
