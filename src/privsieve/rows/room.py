"""Room: memory for arrays of rows, then a temporary file without a name.

The file is private (0600), and its name is removed as soon as it is open: nothing of it stays
after the process.  Its bytes are taken from the disk before the charge, so that a disk
that fills later takes nothing from a release.
"""

from __future__ import annotations

import mmap
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from fractions import Fraction
from itertools import chain, islice
from math import prod
from pathlib import Path
from threading import Lock, get_ident
from typing import IO, TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from privsieve.errors import ParameterError
from privsieve.public.canonical import quoted

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Part = TypeVar("Part")
Made = TypeVar("Made")

#: Fewer parts than these are left to one thread: others would come too late.
ALONE = 2
#: Regions of the file begin at multiples of this, as the system maps them.
_PAGE = mmap.ALLOCATIONGRANULARITY
MOST_JOBS = 1024
#: The least that may be allowed.
LEAST_MEMORY = 64_000_000
_UNITS = {"": 1, "B": 1, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SIZE = r"(?i)([0-9]{1,18}(?:\.[0-9]{1,6})?) ?(|B|MB|GB|TB)"
#: The largest block that teaches the allocator, with what it adds.
_KEPT = 2**25 - 2**16
#: A file grows by this number of bytes.
_GROWTH = 2**26


class Room:
    """Memory for arrays of rows, and a file for those that find no place in it.

    memory : bytes that the work may take, beyond what the process has by then; None: all of them.
    jobs : threads that work on rows at a time.

    Examples
    --------
    >>> room = Room(memory=1000)
    >>> held, spilled = room.empty((2, 200), np.uint16), room.empty((2, 200), np.uint16)
    >>> held.base is None, spilled.base is None
    (True, False)
    """

    def __init__(self, memory: int | None = None, *, jobs: int = 1) -> None:
        self.memory, self.jobs = memory, jobs
        self._left = self._ahead = memory
        self._whole = True
        self._file: IO[bytes] | None = None
        self._at = self._taken = 0
        self._lock = Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._owner = self._users = 0

    @classmethod
    def usual(cls, memory: int | str | None = None, jobs: int | None = None) -> Room:
        """Take half of the free memory, and all cores, by default."""
        if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int)
                                 or not (jobs == -1 or 1 <= jobs <= MOST_JOBS)):
            raise ParameterError(f"n_jobs is {quoted(jobs)}; write a whole number from 1 to "
                                 f"{MOST_JOBS}, or -1 for all cores")
        jobs = jobs if jobs and jobs > 0 else os.cpu_count() or 1
        _keep_freed()
        if memory is not None:
            # What a limit of the process leaves is a limit, whatever is allowed.
            limits = [limit for limit in (_bytes(memory), _of_limits()) if limit is not None]
            return cls(min(limits), jobs=jobs)
        free = free_memory()
        return cls(None if free is None else free // 2, jobs=jobs)

    def spend(self, need: int, *, whole: bool) -> None:
        """Reserve `need` bytes for the work; kept rows and rows read ahead share the rest.

        whole : whether there is room for all rows at once.
        """
        if self.memory is not None:
            rest = max(0, self.memory - need)
            self._whole, self._left, self._ahead = whole, rest // 2, rest // 4

    def take(self, size: int) -> bool:
        """Return whether `size` more bytes fit into memory, and count them."""
        if self._left is None:
            return True
        with self._lock:
            if size > self._left:
                return False
            self._left -= size
        return True

    def holds(self, size: int) -> bool:
        """Return whether all rows, of `size` bytes, may be in memory at once."""
        return self.memory is None or (self._whole and size <= self.memory)

    def keeps(self, size: int) -> bool:
        """Return whether kept rows of `size` bytes fit into memory."""
        return self._left is None or size <= self._left

    def ahead(self, size: int) -> bool:
        """Return whether `size` bytes may be read ahead, or be in the hands of threads."""
        return self._ahead is None or size <= self._ahead

    def share(self, wanted: int, least: int) -> int:
        """Bytes of a part that is in four hands of each thread; as many as are wanted, or fewer."""
        if self._ahead is None:
            return wanted
        return min(wanted, max(least, self._ahead // (4 * (self.jobs + 1))))

    def each(self, parts: Iterable[Part], of: Callable[[Part], Made]) -> Iterator[Made]:
        """Yield `of(part)` of each part, in order, computed by threads.

        The same threads read parts and work on them.  Each has the context of the caller, and so
        its filters of NumPy's warnings.

        >>> list(Room(jobs=2).each(range(9), lambda x: x * x))
        [0, 1, 4, 9, 16, 25, 36, 49, 64]
        """
        first = list(islice(coming := iter(parts), ALONE))
        parts = chain(first, coming)
        if self.jobs < 2 or len(first) < ALONE or self._elsewhere():
            yield from map(of, parts)
            return
        waiting: deque[Future[Made]] = deque()
        with self._threads() as pool:
            for item in parts:
                waiting.append(pool.submit(copy_context().run, of, item))
                # No more parts are in memory than threads, and one.
                if len(waiting) > self.jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def kernels(self) -> AbstractContextManager[None]:
        """Let kernels have as many threads as the work on rows has."""
        from privsieve.kernels.contract import using_threads

        return using_threads(self.jobs)

    def _elsewhere(self) -> bool:
        """Return whether another thread asks than the owner of the pool."""
        return self._pool is not None and self._owner != get_ident()

    @contextmanager
    def _threads(self) -> Iterator[ThreadPoolExecutor]:
        """Return the pool; it ends with its last user."""
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool, self._owner = ThreadPoolExecutor(self.jobs), get_ident()
        self._users += 1
        try:
            yield (pool := self._pool)
        finally:
            self._users -= 1
            if not self._users:
                self._pool = None
                pool.shutdown()

    @property
    def spilled(self) -> int:
        """Bytes that lie in the file."""
        return self._at

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()  # what is mapped stays until its arrays go

    def reserve(self, size: int) -> None:
        """Reserve `size` bytes on the disk, or refuse."""
        try:
            self._demand(size)
        except OSError:
            from tempfile import gettempdir

            raise ParameterError(
                f"the table needs {-(-size // 10**6)} MB for temporary files, but {gettempdir()} "
                "has less; free some space, name another folder (TMPDIR), or allow more memory "
                "(max_memory)") from None

    def empty(self, shape: tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
        """Return an empty array: in memory while it fits, else in the file."""
        size = prod(shape) * np.dtype(dtype).itemsize
        if not size or self.take(size):
            return np.empty(shape, dtype)
        return self._mapped(self._region(size), shape, dtype)

    def held(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return an array that is in memory: itself while it fits, else a copy in the file."""
        return array if self.take(array.nbytes) else self.copied(array)

    def copied(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Copy an array to the file."""
        if not array.size:
            return array
        at = self._region(array.nbytes)
        if not hasattr(os, "pwrite"):
            there = self._mapped(at, array.shape, array.dtype)
            there[...] = array
            return there
        assert self._file is not None
        # Written and not assigned: so no page of the map is faulted in before somebody reads it.
        left: memoryview = np.ascontiguousarray(array).data.cast("B")
        while left:
            done = os.pwrite(self._file.fileno(), left, at)
            left, at = left[done:], at + done
        return self._mapped(at - array.nbytes, array.shape, array.dtype)

    def _region(self, size: int) -> int:
        """Reserve `size` bytes in the spill file and return their offset."""
        with self._lock:
            at = self._at
            self._demand(at + size)
            self._at = -(-(at + size) // _PAGE) * _PAGE
        return at

    def _mapped(self, at: int, shape: tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
        assert self._file is not None
        view = mmap.mmap(self._file.fileno(), prod(shape) * np.dtype(dtype).itemsize, offset=at)
        return np.frombuffer(view, dtype).reshape(shape)

    def _demand(self, size: int) -> None:
        """Let the file have at least `size` bytes, allocated on the disk."""
        if self._file is None:
            from tempfile import TemporaryFile  # it loads five compressors

            self._file = TemporaryFile(prefix="privsieve-")  # noqa: SIM115  # it lives on
        if size <= self._taken:
            return
        size = -(-size // _GROWTH) * _GROWTH
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(self._file.fileno(), self._taken, size - self._taken)
        else:
            # A file that is only long has no bytes yet: they are written.
            self._file.seek(self._taken)
            for _ in range((size - self._taken) // 2**20):
                self._file.write(bytes(2**20))
            self._file.flush()
        self._taken = size


def _keep_freed() -> None:
    """Teach the allocator to keep freed blocks of up to 32 MB, whose pages would fault again."""
    np.empty(_KEPT, np.uint8)


def _bytes(text: int | str) -> int:
    """Read a number of bytes.

    >>> _bytes("2GB"), _bytes("512 MB"), _bytes(10**8)
    (2000000000, 512000000, 100000000)
    """
    match = re.fullmatch(_SIZE, str(text))
    size = None if match is None or isinstance(text, bool) else (
        Fraction(match[1]) * _UNITS[match[2].upper()])
    if size is None or not LEAST_MEMORY <= size < 2**60:
        raise ParameterError(f"max_memory is {quoted(text)}; write bytes, or MB or GB such as 2GB; "
                             f"at least {LEAST_MEMORY // 10**6}MB")
    return int(size)


def free_memory() -> int | None:
    """Bytes that this process may still take, by the system and its limits; None: unknown."""
    known = [free for free in (_available(), _of_group(), _of_limits()) if free is not None]
    return max(0, min(known)) if known else None


def _available() -> int | None:
    """Return the free memory of the whole machine."""
    try:
        return _bytes_in("/proc/meminfo", "MemAvailable")
    except (OSError, StopIteration, ValueError):
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
        except (AttributeError, OSError, ValueError):
            return None


def _of_group() -> int | None:
    """Return the free memory of the container, if the system has one."""
    try:
        group = Path("/sys/fs/cgroup")
        most = (group / "memory.max").read_text(encoding="ascii").strip()
        used = (group / "memory.current").read_text(encoding="ascii").strip()
        return None if most == "max" else int(most) - int(used)
    except (OSError, ValueError):
        return None


def _of_limits() -> int | None:
    """Return the free memory under the limits of the process."""
    return min((max(0, most - _mine(name)) for name, most in limited().items()), default=None)


def limited() -> dict[str, int]:
    """Bytes that were allowed to this process, by the name of those that count."""
    try:
        import resource
    except ImportError:
        return {}
    limits = {"VmData": resource.RLIMIT_DATA, "VmSize": resource.RLIMIT_AS}
    highest = {name: resource.getrlimit(limit)[0] for name, limit in limits.items()}
    return {name: most for name, most in highest.items() if most != resource.RLIM_INFINITY}


def _mine(name: str) -> int:
    """Bytes that this process has taken already."""
    try:
        return _bytes_in("/proc/self/status", name)
    except (OSError, StopIteration, ValueError):
        return 0


def _bytes_in(path: str, name: str) -> int:
    """Return the number of kilobytes that a table of the system has under a name, as bytes."""
    lines = Path(path).read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))
