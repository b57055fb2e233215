"""What `inspect` said of a table with a domain.  PRIVATE: it follows from rows.

The verdict stands beside the domain file, readable by its owner alone, or in this process.  After a
STOP a fit is refused before its charge, unless its caller goes on anyway.  Whoever sees the refusal
learns the verdict: it is for the holder of the table.  No release, certificate or ledger knows it.

A file is known by its size and the time of its last change: to compare contents would be to read
rows before the charge, and a digest of them would let guesses about a row be tried out.
"""

from __future__ import annotations

import json
import os
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

from privsieve.errors import ParameterError
from privsieve.public.canonical import canonical, digest
from privsieve.public.domain import Domain

ENDING = ".inspected"
PRIVATE = "PRIVATE: it follows from rows. For the holder of the table; it may be deleted."
#: Verdicts on tables, by digests of domain and file; or by an object, for as long as it lives.
_kept: dict[tuple[str, str], str] = {}


def note(domain: Domain, X: Any, y: Any, verdict: str) -> None:
    """Keep a verdict in this process, and beside the domain file where both are files."""
    key = _key(domain, X, y)
    if key is None:
        return
    is_file = isinstance(X, (str, os.PathLike))
    with suppress(TypeError):  # a list: nobody can say how long it lives
        for part in () if is_file else (X, y):
            if part is not None and not isinstance(part, str):
                weakref.finalize(part, _kept.pop, key, None)
        _kept[key] = verdict
    if not is_file or domain.path is None:
        return
    new = f"{domain.path}{ENDING}.{os.urandom(8).hex()}"
    with suppress(OSError):
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(canonical({"private": PRIVATE, "domain_sha256": key[0],
                                  "file_sha256": key[1], "verdict": verdict}) + b"\n")
        os.replace(new, f"{domain.path}{ENDING}")  # noqa: PTH105  # texts
    Path(new).unlink(missing_ok=True)


def is_recorded(domain: Domain, X: Any) -> bool:
    """Whether a verdict on this table with this domain stands beside the domain file."""
    return _recorded(domain, _key(domain, X, None)) is not None


def demand(domain: Domain, X: Any, y: Any = None, *, anyway: bool) -> None:
    """Refuse a charge after a STOP for this table with this domain; reads no row."""
    key = None if anyway else _key(domain, X, y)
    if key is not None and (_kept.get(key) or _recorded(domain, key)) == "stop":
        raise ParameterError(
            "privsieve inspect said STOP for this table with this domain, and nothing was charged. "
            "Correct what it shows and inspect again, or go on with --anyway (in Python "
            "anyway=True)")


def _key(domain: Domain, X: Any, y: Any) -> tuple[str, str] | None:
    """What a verdict is about: how cells are read, and one table; None of what has no name."""
    said = domain.json()
    read = canonical({"columns": said["columns"], "target": said["target"],
                      "csv": vars(domain.csv)})
    if not isinstance(X, (str, os.PathLike)):
        return digest(read), " ".join(one if isinstance(one, str) else str(id(one))
                                      for one in (X, y))
    try:
        seen = os.stat(X)  # noqa: PTH116  # texts
    except (OSError, ValueError):  # a query
        return None
    return digest(read), digest(f"{seen.st_size} {seen.st_mtime_ns}".encode())


def _recorded(domain: Domain, key: tuple[str, str] | None) -> str | None:
    """The verdict beside the domain file, where it is about the same domain and table."""
    if key is None or domain.path is None:
        return None
    try:
        with open(f"{domain.path}{ENDING}", encoding="utf-8") as file:  # noqa: PTH123  # no import
            said = json.loads(file.read(4096))
        same = (said["domain_sha256"], said["file_sha256"]) == key
        return str(said["verdict"]) if same else None
    except (OSError, ValueError, TypeError, LookupError):
        return None
