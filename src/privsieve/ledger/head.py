"""Head: the newest entry of a ledger that somebody outside of it knows of.

A copy that was restored adds up by itself.  Who kept a head, in a small file or with a release,
sees that entries are gone.
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
#: A head file is as long as this at most.
_LONGEST = 200
#: And a certificate is far shorter than this: more is no certificate, and no file may fill memory.
_CERTIFICATE = 64 * 2**20


class Head(NamedTuple):
    """An entry's number and hash."""

    seq: int
    hash: str


def read(path: str) -> Head | None:
    """The head that a file keeps; None where there is no file yet."""
    try:
        with opened(os.path.realpath(path)) as file:
            body = parsed(file.read(_LONGEST + 1))
        head = Head(body["seq"], body["hash"]) if body["format"] == FORMAT else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        head = None
    if head is None or not _plausible(head):
        raise LedgerError("the head file cannot be read, or is none; name the file that --head "
                          "wrote, or a new one")
    return head


def _plausible(head: Head) -> bool:
    return type(head.seq) is int and head.seq > 0 and isinstance(head.hash, str) and (
        len(head.hash) == 64)


@contextmanager
def staged(path: str) -> Iterator[Callable[[Head], None]]:
    """Make room for a head before it is known; what is given then replaces the file, durably.

    A fault after the room was made leaves the old head: the ledger is ahead of it, which is fine.
    """
    place = Path(os.path.realpath(path))
    with ExitStack() as stack:
        try:
            file, hidden = stack.enter_context(hidden_file(place))
            write_durably(file.fileno(), bytes(_LONGEST))
        except OSError:
            raise LedgerError("the head file cannot be written; its folder must exist and be "
                              "writable, and nothing was charged") from None

        def keep(head: Head) -> None:
            with suppress(OSError):
                file.seek(0)  # the room was made before the charge
                file.write(canonical({"format": FORMAT, **head._asdict()}))
                file.truncate()
                os.fsync(file.fileno())
                hidden.replace(place)
                sync(place.parent)

        yield keep


def of_release(path: str) -> tuple[Head, ...]:
    """The entries that a certificate knows of: a release folder, or its certificate.json."""
    place = Path(path)
    try:
        inside = place / "certificate.json" if place.is_dir() else os.path.realpath(place)
        with opened(inside) as file:
            known = parsed(file.read(_CERTIFICATE + 1))["ledger"]
        found = () if known is None else tuple(
            Head(part["seq"], part["hash"]) for part in known.values() if isinstance(part, Mapping)
            and {"seq", "hash"} <= set(part))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        found = (Head(0, ""),)
    if not all(map(_plausible, found)):
        raise ParameterError(f"{path}: there is no certificate that can be read; name a release "
                             "folder, or its certificate.json")
    if not found:
        raise ParameterError(f"{path}: the certificate was made without a ledger; leave it out")
    return found


def known(head: str | None, releases: Iterable[str] = ()) -> tuple[Head, ...]:
    """The entries that a head file and release folders know of."""
    newest = read(head) if head is not None else None
    if head is not None and newest is None:
        raise LedgerError("there is no head file at this place; name the one that --head wrote")
    found = [newest] if newest else []
    return (*found, *(one for path in releases for one in of_release(path)))


def set_back(known: Iterable[Head], holds: Callable[[int, str], bool]) -> str | None:
    """In a sentence, that a chain lacks one of these entries; None where it has them all.

    >>> set_back([Head(3, "ab")], lambda seq, text: False)[:46]
    'the ledger was set back, or is another one: it'
    """
    lost = max((head for head in known if not holds(*head)), default=None)
    return lost and ("the ledger was set back, or is another one: it does not hold entry "
                     f"{lost.seq} as it is known outside; an older copy has the old balance: "
                     "restore the newest one")
