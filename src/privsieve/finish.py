"""Finish: return or complete the release of a request that was charged before.

This code does not read rows or draw noise: `fit` drew and staged the release.  Its faults are those
of files, and `Folder.state` is the state of the release.

1. The request is written into the folder, and then it is charged.
2. The release is durable under a hidden name before the ledger stores its digest.
3. The certificate is made from the ledger's entries; then release and certificate get their names.
4. The report is written, and the note of the request is removed.

A process that dies leaves the folder after one of these steps; `recover` completes the others.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from privsieve.errors import LedgerError, ParameterError, ReleaseFailed, SchemaError
from privsieve.fit import REQUEST, SOFTWARE
from privsieve.folder import CERTIFICATE, NOTE, RELEASE, Folder
from privsieve.ledger import sql
from privsieve.ledger.chain import Entry, certificate
from privsieve.ledger.ledger import Ledger
from privsieve.public.canonical import Json, canonical, digest, parsed
from privsieve.public.plain import LARGEST_FILE
from privsieve.public.plan import Plan, terms
from privsieve.release import Release, load
from privsieve.report import NAME, write_report

_FIELDS = {"format", "request", "population", "ledger", "head", "terms_sha256"}


@dataclass(frozen=True)
class Recovered:
    """The state of a recovered folder, and what was done, in words.

    state : "finished" (the release is in its folder), "lost" (charged, without a release) or
        "uncharged" (nothing was charged, and the folder was removed).
    """

    state: Literal["finished", "lost", "uncharged"]
    did: tuple[str, ...]


def repeated(plan: Plan, ledger: Ledger, folder: str | Path) -> Release | None:
    """Return the earlier release of the ledger's request from its folder; None without a charge.

    A charge without a release in the folder is refused.  Nothing is charged or drawn, and the table
    is not opened, so changes of its rows are not noticed.
    """
    charge = ledger.charge()
    if charge is None:
        return None
    reserve, commit = charge
    known = f"{ledger.population}: request {ledger.request!r} was charged before"
    # An update of the software does not change a request.
    if {**reserve.body["claim"], "software": None} != {**terms(plan, SOFTWARE), "software": None}:
        raise ParameterError(f"{known}, with other options; repeat the earlier options, or "
                             "name another request")
    if commit is None:
        raise LedgerError(f"{known}, but its release is not finished; `privsieve recover DIR` "
                          "finishes it, or reports that it is lost")
    try:
        release = load(folder)
    except SchemaError:
        release = None
    if release is None or release.sha256 != commit.body["release_sha256"]:
        raise LedgerError(f"{known}, but --out is not the folder of its release; name this folder, "
                          "or another request (after a crash: `privsieve recover DIR`)")
    expected = certificate(reserve.body["claim"], release.sha256, reserve, commit)
    if release.certificate is None or not _says(release.certificate, expected):
        raise LedgerError(f"{known}, but its certificate is missing or changed; "
                          "`privsieve recover DIR` writes a missing one")
    return release


def recover(folder: str | Path, *, ledger: str | Path | Ledger | None = None) -> Recovered:
    """Finish the release of a process that died or failed, without a charge or new noise.

    Parameters
    ----------
    folder : the release folder.
    ledger : the place of the ledger; by default its place at the charge.

    Examples
    --------
    >>> import tempfile, numpy as np, privsieve as ps
    >>> X = np.arange(4000.0).reshape(1000, 4) % 97 / 97
    >>> sieve = ps.RuleSieve(k=1, epsilon=2, domain=ps.Domain.box(0, 1)).fit(X, X[:, 2] > 0.5)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     sieve.release_.save(f"{place}/first")
    ...     ps.recover(f"{place}/first").state
    'finished'
    """
    with Folder.reopen(folder) as left:
        try:
            return _recovered(left, ledger)
        except OSError:  # the disk failed again; the files stay
            kept = None
            with suppress(OSError):  # a link is not followed
                kept = left.adopt(RELEASE)
            raise ReleaseFailed("unknown" if kept is None else left.state) from None


def _recovered(left: Folder, ledger: str | Path | Ledger | None) -> Recovered:
    if NOTE not in left:
        return _without_note(left)
    note = _noted(left)
    kept = _ledger_of(note, ledger)
    charge = kept.charge()
    if charge is None:
        if sql.absolute(kept.path) != note["ledger"]:
            raise LedgerError("this ledger does not contain the request: it is another ledger, "
                              "or nothing was charged; name the ledger of the request")
        return _uncharged(left)
    reserve, commit = charge
    if digest(canonical(reserve.body["claim"])) != note["terms_sha256"]:
        raise LedgerError("the charge in the ledger does not match request.json; name the "
                          "ledger that was charged")
    body = _body(left, reserve.body["claim"], commit)
    if body is None:
        left.forget(f".{RELEASE}")
        return Recovered("lost", (("the ledger has the charge, but the release is incomplete; a "
                                   "charge is not refunded"),))
    return Recovered("finished", tuple(_finished(left, body, kept, reserve, commit)))


def _without_note(left: Folder) -> Recovered:
    """Recover a folder without a note: nothing was charged, or the release was finished."""
    if left.state == "finished":
        same = False
        with suppress(OSError, ValueError, LookupError, TypeError):
            certified = parsed(left.read(CERTIFICATE, LARGEST_FILE))["release_sha256"]
            same = certified == digest(left.read(RELEASE))
        if not same:
            raise SchemaError("the release in the folder does not match its certificate; "
                              "`privsieve verify DIR` lists the faults")
        page = () if NAME in left else ("it has no report: `privsieve report DIR` writes it",)
        return Recovered("finished", ("the release was finished before", *page))
    names = left.names()
    if names == {f".{NOTE}"}:  # the process died while it wrote the note
        return _uncharged(left)
    if not names:  # perhaps not a folder of privsieve
        raise ParameterError("the folder is empty, and nothing was charged for it; remove it, and "
                             "repeat the request")
    raise ParameterError("the folder contains neither a finished release nor request.json; name a "
                         "folder that select, regress or synthesize made")


def _says(certificate: Mapping[str, Any] | bytes | None, expected: Mapping[str, Any]) -> bool:
    """Return whether a certificate has the expected content, apart from signatures."""
    body: Any = certificate
    with suppress(ValueError, TypeError, RecursionError):
        if isinstance(certificate, bytes):
            body = parsed(certificate)
        return canonical({**body, "key": None, "signature": None}) == canonical(expected)
    return False


def _noted(left: Folder) -> dict[str, Any]:
    """Read the note of a folder; refuse a changed one."""
    note: Any = None
    with suppress(OSError, ValueError, RecursionError):
        note = parsed(left.read(NOTE, LARGEST_FILE))
    if (not isinstance(note, dict) or set(note) != _FIELDS or note["format"] != REQUEST
            or not all(isinstance(value, str) for value in note.values())):
        raise SchemaError("request.json was changed; restore the file that privsieve wrote")
    return note


def _ledger_of(note: Mapping[str, str], ledger: str | Path | Ledger | None) -> Ledger:
    """Return the ledger of a noted request; refuse another ledger."""
    if ledger is None:
        path = note["ledger"]
    else:
        path = ledger.path if isinstance(ledger, Ledger) else os.fspath(ledger)
    if not sql.lies(path):
        raise LedgerError("the ledger was moved or removed after the charge; name it with "
                          "--ledger FILE (in Python ledger=)")
    kept = Ledger(path, population=note["population"], request=note["request"])
    if not kept.holds(note["head"]):
        raise LedgerError("this is another ledger, or an older copy of the charged ledger; name "
                          "the charged ledger with --ledger FILE (in Python ledger=)")
    return kept


def _uncharged(left: Folder) -> Recovered:
    """Remove the folder of a process that died before its charge."""
    if left.state == "finished" or left.adopt(RELEASE) is not None:
        raise LedgerError("the folder has a release, but the ledger lacks its charge: it is "
                          "another ledger or an older copy; restore the newest copy")
    gone = left.discard()
    return Recovered("uncharged", ("nothing was charged: the process ended before the charge",
                                   "the folder was removed" if gone else
                                   "the folder contains other files, and was not removed"))


def _body(left: Folder, promised: Mapping[str, Any], commit: Entry | None,
          ) -> Mapping[str, Json] | None:
    """Return the staged or named release; None if there is no complete one."""
    data = left.adopt(RELEASE)
    body: Any = None
    # An incomplete file is not a JSON object.
    with suppress(ValueError, RecursionError):
        body = parsed(data or b"")
    whole = isinstance(body, dict) and canonical(body) == data
    if commit is not None:
        if whole and digest(data or b"") != commit.body["release_sha256"]:
            raise LedgerError("the release in the folder differs from the digest in the ledger; "
                              "do not use it")
    elif whole and (body.get("plan") != promised["plan"]
                    or digest(canonical(body.get("domain"))) != promised["domain_sha256"]):
        raise LedgerError("the release in the folder is not the charged release; do not use it")
    return body if whole else None


def _finished(left: Folder, body: Mapping[str, Json], kept: Ledger, reserve: Entry,
              commit: Entry | None) -> list[str]:
    """Complete the steps of a release; return what was done, in words."""
    did = []
    sha = digest(canonical(body))
    if commit is None:
        left.sync()  # before the ledger stores the digest
        commit = kept.commit(reserve, sha)
        did.append("the digest of the release was written to the ledger")
    due = certificate(reserve.body["claim"], sha, reserve, commit)
    if CERTIFICATE in left:
        if not _says(left.adopt(CERTIFICATE), due):
            raise LedgerError("the certificate in the folder does not belong to this charge; "
                              "remove certificate.json, and recover again")
        left.link()
    else:
        left.forget(f".{CERTIFICATE}")
        left.stage(CERTIFICATE, canonical(due))
        left.link()
        did.append("release.json and certificate.json have their names")
    if NAME not in left:
        left.forget(f".{NAME}")
        written = write_report(left, body, due)
        did.append("the report was written" if written else
                   "the report could not be written; `privsieve report DIR` writes it")
    left.forget(NOTE)
    left.sync()
    return did or ["the release was finished before"]
