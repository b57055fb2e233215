"""Pages: memory for the codes of one batch after another.

A batch is a few megabytes.  The system's allocator gives such blocks back as soon as they are free,
and fetches others, each page of which is a fault that all threads of a process wait for.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

Memory = npt.NDArray[np.uint16]


class Loan:
    """Some memory as an array: each view of it holds the loan, which gives it back when it goes."""

    def __init__(self, memory: Memory, size: int, home: deque[Memory]) -> None:
        self.memory, self.home = memory, home
        self.__array_interface__: dict[str, Any] = memory[:size].__array_interface__

    def __del__(self) -> None:
        self.home.append(self.memory)


class Pages:
    """Arrays of codes whose memory is lent again once nobody looks at it.

    Examples
    --------
    >>> pages = Pages()
    >>> first, second = pages.lend(6), pages.lend(6)
    >>> there, part = first.ctypes.data, first[1:]
    >>> del first
    >>> pages.lend(6).ctypes.data == there
    False
    >>> del part
    >>> there in {pages.lend(6).ctypes.data, pages.lend(6).ctypes.data}
    True
    """

    def __init__(self) -> None:
        self._idle: deque[Memory] = deque()

    def lend(self, size: int) -> Memory:
        """So many codes, without contents; their memory comes back when the last view goes."""
        try:
            memory = self._idle.popleft()
        except IndexError:
            memory = np.empty(size, np.uint16)
        if len(memory) < size:  # that of a shorter part is let go
            memory = np.empty(size, np.uint16)
        return np.asarray(Loan(memory, size, self._idle))
