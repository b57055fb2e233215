"""Head: the newest entry of a ledger, kept outside of the ledger.

A restored copy of a ledger adds up by itself.  A head, in a small file or with a release, shows
that the copy lacks entries.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from privsieve.errors import LedgerError, ParameterError
from privsieve.folder import hidden_file, sync, write_durably
from privsieve.public.canonical import canonical, parsed
from privsieve.public.plain import opened

FORMAT = "privsieve-head/1"
#: The most bytes of a head file.
_LONGEST = 200
#: The most bytes of a certificate; real ones are far shorter.
_CERTIFICATE = 64 * 2**20


class Head(NamedTuple):
    """An entry's number and hash."""

    seq: int
    hash: str


def read(path: str) -> Head | None:
    """Read the head in a file; return None if there is no file yet."""
    try:
        with opened(os.path.realpath(path)) as file:
            body = parsed(file.read(_LONGEST + 1))
        head = Head(body["seq"], body["hash"]) if body["format"] == FORMAT else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        head = None
    if head is None or not _plausible(head):
        raise LedgerError("the head file cannot be read, or is not a head file; name the file that "
                          "--head wrote, or a new file")
    return head


def _plausible(head: Head) -> bool:
    return type(head.seq) is int and head.seq > 0 and isinstance(head.hash, str) and (
        len(head.hash) == 64)


@contextmanager
def staged(path: str) -> Iterator[Callable[[Head], None]]:
    """Reserve disk space for a head; yield a function that then replaces the file, durably.

    A fault in between leaves the old head.  The ledger is then ahead of its head, which is valid.
    """
    place = Path(os.path.realpath(path))
    with ExitStack() as stack:
        try:
            file, hidden = stack.enter_context(hidden_file(place))
            write_durably(file.fileno(), bytes(_LONGEST))
        except OSError:
            raise LedgerError("the head file cannot be written, and nothing was charged; choose "
                              "a folder that exists and is writable") from None

        def keep(head: Head) -> None:
            with suppress(OSError):
                file.seek(0)  # the reserved space
                file.write(canonical({"format": FORMAT, **head._asdict()}))
                file.truncate()
                os.fsync(file.fileno())
                hidden.replace(place)
                sync(place.parent)

        yield keep


def of_release(path: str) -> tuple[Head, ...]:
    """Return the entries in the certificate of a release folder, or in a certificate.json."""
    place = Path(path)
    try:
        inside = place / "certificate.json" if place.is_dir() else os.path.realpath(place)
        with opened(inside) as file:
            known = parsed(file.read(_CERTIFICATE + 1))["ledger"]
        places = () if known is None else known.values()
        heads = tuple(Head(entry["seq"], entry["hash"]) for entry in places
                      if isinstance(entry, Mapping) and {"seq", "hash"} <= set(entry))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        heads = (Head(0, ""),)
    if not all(map(_plausible, heads)):
        raise ParameterError(f"{path}: there is no certificate that can be read; name a release "
                             "folder, or its certificate.json")
    if not heads:
        raise ParameterError(f"{path}: the certificate was made without a ledger; leave it out")
    return heads


def known(head: str | None, releases: Iterable[str] = ()) -> tuple[Head, ...]:
    """Return the entries in a head file and in release folders."""
    newest = read(head) if head is not None else None
    if head is not None and newest is None:
        raise LedgerError("there is no head file at this path; name the file that --head wrote")
    heads = [newest] if newest else []
    return (*heads, *(head_ for path in releases for head_ in of_release(path)))


def set_back(known: Iterable[Head], holds: Callable[[int, str], bool]) -> str | None:
    """Return an error if a chain lacks one of these entries; None if it has all.

    >>> set_back([Head(3, "ab")], lambda seq, text: False)[:49]
    'this is an older copy of the ledger, or another: '
    """
    lost = max((head for head in known if not holds(*head)), default=None)
    return lost and ("this is an older copy of the ledger, or another: it lacks entry "
                     f"{lost.seq}, which is in a head or certificate; restore the newest copy")
