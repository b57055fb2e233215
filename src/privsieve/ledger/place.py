"""Place: where a ledger lies, in a file or on a server, and who keeps it there.

A place that begins with postgresql:// is a schema of a server; any other is a file.  A place is
said on command lines, in notes and in errors, so it never holds a password.
"""

from __future__ import annotations

import os
import re
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Protocol
from urllib.parse import parse_qsl, unquote

from privsieve.errors import ParameterError
from privsieve.ledger.sql import Database

_HOST = r"(?:\[[\da-fA-F:.]+\]|[\w.%-]*)(?::\d+)?"
_URL = re.compile(rf"postgres(?:ql)?://(?:[^:@/?#\s]*@)?(?P<hosts>{_HOST}(?:,{_HOST})*)"
                  r"(?:/[^:@/?#\s]*)?(?:\?(?P<more>[^@?#\s]*))?")
#: Who keeps ledgers: files, and what is on a server.
STORES = ("file", "server")
#: What a URL may say besides; a password, and what could switch safeguards off, is not among it.
_MAY = {"host", "port", "user", "dbname", "service", "passfile", "sslmode", "sslrootcert",
        "sslcert", "sslkey", "connect_timeout", "target_session_attrs"}


class Store(Protocol):
    """What a place of ledgers can do; `file` and `server` do it."""

    def create(self, path: str) -> None:
        """Make an empty ledger; leave one that exists."""

    def transaction(self, path: str, population: str = "") -> AbstractContextManager[Database]:
        """One locked transaction: durable when the block ends, undone when it raises."""

    def reading(self, path: str) -> AbstractContextManager[Database]:
        """One consistent view."""

    def backup(self, path: str, copy: str) -> int:
        """A consistent copy; how many entries it has."""


def store(path: str) -> Store:
    """Who keeps the ledger of a place."""
    found: Store = import_module(f"privsieve.ledger.{STORES[served(path)]}")
    return found


def served(path: str) -> bool:
    """Whether a ledger lies on a server.

    >>> served("postgresql://db.example.org/budgets"), served("budget.db")
    (True, False)
    """
    return os.fspath(path).startswith(("postgresql://", "postgres://"))


def checked_path(path: str) -> str:
    """The place of a ledger: a file, or a server's URL without a password."""
    path = os.fspath(path)
    if not path or "\0" in path:
        raise ParameterError("the ledger's path is empty or holds a NUL; write budget.db")
    if served(path):
        _check_url(path)
    elif "://" in path:
        # Not echoed: a URL may hold a password.
        raise ParameterError("the ledger is a URL that is none of a server; name a file, for "
                             "example budget.db, or postgresql://HOST/DATABASE")
    return path


def checked_file(path: str) -> str:
    """The name of a file: of a head, or of a copy."""
    if "://" in (path := checked_path(path)):
        raise ParameterError("this has to be a file, and is a URL; name a file")
    return path


def lies(path: str) -> bool:
    """Whether something may lie at a place; what a server has is known when it is asked."""
    return served(path) or os.path.lexists(path)


def absolute(path: str) -> str:
    """A place in the words that it has from any folder."""
    return path if served(path) else os.path.abspath(path)  # noqa: PTH100  # Path would follow links


def _check_url(url: str) -> None:
    # Nothing of it is echoed: what is written wrongly may be a password.
    found = _URL.fullmatch(url)
    options = parse_qsl(found["more"] or "", keep_blank_values=True) if found else []
    if found is None or any(name not in _MAY for name, _ in options):
        raise ParameterError(
            "the ledger's URL holds a password, or something that is not taken; write "
            "postgresql://USER@HOST/DATABASE, with "
            f"{', '.join(sorted(_MAY))} after a ? where needed.  A password belongs into a file "
            "for its owner alone: PGPASSFILE, or a service file (PGSERVICE)")
    need = transport(url)
    if need and any(name == "sslmode" and value != need for name, value in options):
        raise ParameterError("the ledger's server is on another machine, and sslmode is weaker "
                             "than verify-full; write sslmode=verify-full, with sslrootcert=FILE")


def transport(url: str) -> str | None:
    """The sslmode that a URL has to have; None where it names this machine alone.

    A host that is named elsewhere, in a service file or the environment, may be any.

    >>> transport("postgresql:///budgets?host=/run/postgresql"), transport("postgresql://db/b")
    (None, 'verify-full')
    """
    found = _URL.fullmatch(url)
    assert found is not None
    hosts = [found["hosts"], *(value for name, value in parse_qsl(found["more"] or "")
                               if name == "host")]
    names = [unquote(re.sub(r":\d+$", "", name)) for host in hosts for name in host.split(",")
             if host]
    local = all(name.startswith("/") or name in ("localhost", "127.0.0.1", "[::1]", "::1")
                for name in names)
    return None if names and local else "verify-full"
