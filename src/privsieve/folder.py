"""Folder: the new private folder of a release, and files that are written completely or not."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Literal, Self

from privsieve.errors import ParameterError

#: One plain component: no separator, no leading dot or dash.
_NAME = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}"
#: The files of a complete release.
RELEASE, CERTIFICATE = "release.json", "certificate.json"
#: The note of a request, from before the charge until the release is finished.
NOTE = "request.json"
#: How a new file is opened: it is not overwritten, and a link is not followed.
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


class Folder:
    """A new folder (0700) whose files (0600) appear complete or not at all.

    `stage` makes the bytes of a file durable under a hidden name, and `link` gives all files their
    names.  In between, the ledger commits the release, so a crash leaves no uncommitted named file.
    An open folder is locked; the system releases the lock of a process that dies.

    >>> import tempfile, pathlib
    >>> place = tempfile.TemporaryDirectory()
    >>> with Folder.create(pathlib.Path(place.name) / "out") as folder:
    ...     folder.write("release.json", b"{}")
    >>> (pathlib.Path(place.name) / "out" / "release.json").read_bytes()
    b'{}'
    >>> place.cleanup()
    """

    def __init__(self, path: Path, handle: int) -> None:
        self._path = path
        self._handle = handle
        self._staged: dict[str, str] = {}
        self._linked: set[str] = set()

    @classmethod
    def create(cls, path: str | Path) -> Self:
        """Make the folder, which must not exist, in an existing folder."""
        place = Path(path).absolute()
        try:
            place.mkdir(0o700)
        except FileExistsError:
            hint = ("; its request is not finished: run `privsieve recover DIR`"
                    if os.path.lexists(place / NOTE) else "")
            raise ParameterError("the release folder already exists and is not overwritten; name a "
                                 f"new folder{hint}") from None
        except (OSError, ValueError):
            raise ParameterError("the release folder cannot be made; choose a parent folder that "
                                 "exists and is writable") from None
        try:
            sync(place.parent)
            return cls(place, _opened(place))
        except OSError:
            with suppress(OSError):
                place.rmdir()
            raise ParameterError("the release folder cannot be saved durably; name a folder on a "
                                 "disk of this machine") from None

    @classmethod
    def reopen(cls, path: str | Path) -> Self:
        """Open the folder of a process that died or failed; its lock must be free."""
        place = Path(path).absolute()
        try:
            return cls(place, _opened(place))
        except ParameterError:
            raise
        except (OSError, ValueError):
            raise ParameterError("the release folder does not exist, or you have no access to it; "
                                 "name the folder of --out") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # Staged files stay: after a charge they are the only copy of the release.
        os.close(self._handle)

    def __contains__(self, name: str) -> bool:
        """Return whether an entry of this name exists."""
        try:
            os.stat(name, dir_fd=self._handle, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    @property
    def state(self) -> Literal["lost", "staged", "finished"]:
        """Return the state of the release, which depends on the existence of files only."""
        with suppress(OSError):
            if RELEASE in self and CERTIFICATE in self:
                return "finished"
        return "staged" if RELEASE in {*self._staged, *self._linked} else "lost"

    def demand(self, room: int) -> None:
        """Refuse a disk without room for this number of bytes."""
        try:
            disk = os.fstatvfs(self._handle)
        except (OSError, AttributeError):  # not supported by the system
            return
        if disk.f_bavail * disk.f_frsize < room:
            raise ParameterError(f"the disk of the release folder lacks "
                                 f"{-(-room // 2**20)} MB; free some space, or name a folder on "
                                 "another disk")

    def note(self, data: bytes) -> None:
        """Write the note of a request before its charge, by the same steps as the release.

        A failing disk is thus refused before it costs anything.
        """
        try:
            self.write(NOTE, data)
        except OSError:
            raise ParameterError("the release folder cannot be written; free some space, or name "
                                 "a folder on another disk") from None

    def write(self, name: str, data: bytes) -> None:
        """Write a file into the folder."""
        self.stage(name, data)
        try:
            self.link()
        except BaseException:
            self.forget(self._staged.pop(name, name))
            raise
        self.sync()

    def stage(self, name: str, data: bytes) -> None:
        """Make the bytes durable under a hidden name."""
        if not isinstance(name, str) or not re.fullmatch(_NAME, name):
            raise ParameterError(f"the file name is {name!r}; write 1 to 100 letters, digits, "
                                 "dots, dashes or underscores, without a folder")
        if name in self._staged or name in self._linked:
            raise ParameterError(f"{name} exists in the release folder and is not overwritten; "
                                 "choose another name")
        hidden = f".{name}"
        try:
            self._put(hidden, data)
        except FileExistsError:
            raise
        except BaseException:
            self.forget(hidden)
            raise
        self._staged[name] = hidden

    def _put(self, hidden: str, data: bytes) -> None:
        handle = os.open(hidden, NEW, 0o600, dir_fd=self._handle)
        try:
            write_durably(handle, data)
        finally:
            os.close(handle)

    def staged(self, name: str) -> bytes:
        """Read a staged file back from the disk."""
        return self.read(self._staged[name])

    def read(self, name: str, most: int = -1) -> bytes:
        """Read a file under its name or a hidden one, without following links."""
        # O_NONBLOCK: do not wait for a pipe.
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self._handle)
        with os.fdopen(handle, "rb") as file:
            return file.read(most)

    def adopt(self, name: str) -> bytes | None:
        """Take over a file that another process staged or named; return None without one."""
        hidden = f".{name}"
        if name in self:
            self._linked.add(name)
            return self.read(name)
        if hidden in self:
            self._staged[name] = hidden
            return self.read(hidden)
        return None

    def link(self) -> None:
        """Give all staged files their names, in the order of staging, without overwriting."""
        for name, hidden in list(self._staged.items()):
            # The folder is new and private, so no other process takes the name in between.
            # (A hard link would need one step, but not all file systems have them.)
            if name in self:
                raise FileExistsError(errno.EEXIST, "nothing is overwritten")
            os.rename(hidden, name, src_dir_fd=self._handle, dst_dir_fd=self._handle)
            self._linked.add(name)
            del self._staged[name]

    def sync(self) -> None:
        """Make the names in the folder durable."""
        os.fsync(self._handle)

    def forget(self, name: str) -> None:
        """Remove a file; if that fails, it stays and does no harm."""
        with suppress(OSError):
            os.unlink(name, dir_fd=self._handle)

    def names(self) -> set[str]:
        """Return the names of all entries of the folder."""
        return set(os.listdir(self._handle))  # noqa: PTH208  # also after the folder was renamed

    def discard(self) -> bool:
        """Remove the folder if no file of a release has its name yet; return whether it is gone.

        It is for a refusal before the charge.  After a charge the staged files are paid for.
        """
        if self._linked - {NOTE}:
            return False
        for name in (*self._staged.values(), NOTE, f".{NOTE}"):
            self.forget(name)
        self._staged.clear()
        with suppress(OSError):
            self._path.rmdir()
            return True
        return False


def _opened(place: Path) -> int:
    """Open and lock a folder; return its handle."""
    handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise ParameterError("another process uses the release folder; wait for its end") from None
    except (ImportError, OSError):  # a system or a disk without locks
        pass
    return handle


@contextmanager
def hidden_file(path: str | Path, mode: int = 0o600) -> Iterator[tuple[FileIO, Path]]:
    """Make a hidden file beside a path; yield it and its own path.

    The caller writes it and gives it its name.  A file that is still hidden at the end is removed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with hidden_file(f"{folder}/head") as (file, hidden):
    ...         write_durably(file.fileno(), b"{}")
    ...         _ = hidden.replace(f"{folder}/head")
    ...     os.listdir(folder)
    ['head']
    """
    hidden = Path(path).with_name(f".{Path(path).name}.{os.urandom(8).hex()}")
    try:
        with os.fdopen(os.open(hidden, NEW, mode), "wb", buffering=0) as file:
            yield file, hidden
    finally:
        hidden.unlink(missing_ok=True)


def write_durably(handle: int, data: bytes) -> None:
    """Write all bytes to an open file, and return when they are on the disk."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest):]
    os.fsync(handle)


def sync(path: str | Path) -> None:
    """Make the names in a folder durable.

    >>> sync(".")
    """
    if os.name != "posix":  # other systems cannot open folders
        return
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
