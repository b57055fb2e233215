"""Folder: the place of a release, private and new.  Nothing in it is ever overwritten."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Self

from privsieve.errors import ParameterError

#: One plain component: no separator, no leading dot or dash.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


class Folder:
    """A new folder (0700) whose files (0600) appear whole or not at all.

    `stage` makes the bytes durable under a hidden name; `link` gives all of them their names.
    Between the two a ledger is told: a crash leaves no named file that was not committed.

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
        """Make the folder; it must not exist, and the folder around it must."""
        place = Path(path).absolute()
        try:
            place.mkdir(0o700)
            handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except FileExistsError:
            raise ParameterError("the release folder exists; nothing is overwritten: name a "
                                 "folder that does not exist") from None
        except (OSError, ValueError):
            raise ParameterError("the release folder cannot be made; the folder around it must "
                                 "exist and be writable") from None
        sync(place.parent)
        return cls(place, handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # What is staged stays: after a charge it is the only copy of what was paid for.
        os.close(self._handle)

    def write(self, name: str, data: bytes) -> None:
        """Put a file into the folder."""
        self.stage(name, data)
        self.link()

    def stage(self, name: str, data: bytes) -> None:
        """Make the bytes durable under a hidden name."""
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ParameterError(f"the file name is {name!r}; write 1 to 100 letters, digits, "
                                 "dots, dashes or underscores, without a folder")
        if name in self._staged or name in self._linked:
            raise ParameterError(f"{name} is in the release folder; nothing is overwritten: "
                                 "choose another name")
        hidden = f".{os.urandom(8).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        handle = os.open(hidden, flags, 0o600, dir_fd=self._handle)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            os.unlink(hidden, dir_fd=self._handle)
            raise
        self._staged[name] = hidden

    def staged(self, name: str) -> bytes:
        """What a staged file holds, read back from the disk."""
        handle = os.open(self._staged[name], os.O_RDONLY | os.O_NOFOLLOW, dir_fd=self._handle)
        with os.fdopen(handle, "rb") as file:
            return file.read()

    def link(self) -> None:
        """Give all that is staged its name, in the order of staging; never overwrites."""
        for name, hidden in list(self._staged.items()):
            # A link fails where a name exists; a rename would replace it.
            os.link(hidden, name, src_dir_fd=self._handle, dst_dir_fd=self._handle,
                    follow_symlinks=False)
            self._linked.add(name)
            os.unlink(hidden, dir_fd=self._handle)
            del self._staged[name]
        os.fsync(self._handle)

    def discard(self) -> None:
        """Take the folder away, if nothing in it has a name yet: for a refusal before the charge.

        Never call it after the charge: what is staged was paid for.
        """
        if self._linked:
            return
        for hidden in self._staged.values():
            os.unlink(hidden, dir_fd=self._handle)
        self._staged.clear()
        self._path.rmdir()


def sync(path: str | Path) -> None:
    """Make the names in a folder durable.

    >>> sync(".")
    """
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
