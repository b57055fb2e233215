"""Finish: a request that was charged before gives its release, whole or from where work ended.

Nothing here meets a row or draws noise: what is finished was drawn and staged by `fit`.  What can
go wrong is about files, and `Folder.state` says what is to be had.

1. What is asked for is written into the folder; then it is charged.
2. The release is durable under a hidden name before the ledger is told its digest.
3. The certificate is made of the ledger's entries; then release and certificate get their names.
4. The page is written, and the note of what was asked for is taken away.

A process that dies leaves the folder at one of these; `recover` goes on from there.
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
    """What a folder came to, and in words what was done for that.

    state : "finished" (the release lies in its folder), "lost" (charged, and nothing to be had) or
        "uncharged" (nothing was charged, and the folder was taken away).
    """

    state: Literal["finished", "lost", "uncharged"]
    did: tuple[str, ...]


def repeated(plan: Plan, ledger: Ledger, folder: str | Path) -> Release | None:
    """The release that the ledger's request gave before, from its folder; None if there was none.

    What was charged and has no release there is refused.  Nothing is charged or drawn, and no table
    is opened: whether its rows are those of then is not looked at.
    """
    charge = ledger.charge()
    if charge is None:
        return None
    reserve, commit = charge
    known = f"{ledger.population}: request {ledger.request!r} was charged before"
    if _without_software(reserve.body["claim"]) != _without_software(terms(plan, SOFTWARE)):
        raise ParameterError(f"{known}, for something else; ask for the same as then, or name "
                             "another request")
    if commit is None:
        raise LedgerError(f"{known}, and its release is not finished; `privsieve recover DIR` "
                          "finishes it, or says that nothing is to be had")
    try:
        release = load(folder)
    except SchemaError:
        release = None
    if release is None or release.sha256 != commit.body["release_sha256"]:
        raise LedgerError(f"{known}, and --out is not the folder of its release; name that one, or "
                          "another request (after a crash: `privsieve recover DIR`)")
    expected = certificate(reserve.body["claim"], release.sha256, reserve, commit)
    if release.certificate is None or not _says(release.certificate, expected):
        raise LedgerError(f"{known}, and its certificate is not there, or was changed; "
                          "`privsieve recover DIR` writes it where the folder lacks it")
    return release


def recover(folder: str | Path, *, ledger: str | Path | Ledger | None = None) -> Recovered:
    """Finish the release that a process left which died or failed; costs and draws nothing.

    Parameters
    ----------
    folder : the release folder.
    ledger : where the ledger lies now; left out, where it lay when it was charged.

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
        except OSError:  # the disk again: what was kept is kept
            kept = None
            with suppress(OSError):  # a link is not followed, and nothing is known of it
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
            raise LedgerError("this ledger does not know the request: it is another one than that "
                              "which was to be charged, or nothing was charged; name that one")
        return _uncharged(left)
    reserve, commit = charge
    if digest(canonical(reserve.body["claim"])) != note["terms_sha256"]:
        raise LedgerError("the ledger's charge is for something else than the folder's note; "
                          "name the ledger that was charged")
    body = _body(left, reserve.body["claim"], commit)
    if body is None:
        left.forget(f".{RELEASE}")
        words = ("the ledger has the charge, and there is no whole release on the disk: the "
                "work ended before; a charge is never given back")
        return Recovered("lost", (words,))
    return Recovered("finished", tuple(_finished(left, body, kept, reserve, commit)))


def _without_note(left: Folder) -> Recovered:
    """Without a note there was no charge, or all was done."""
    if left.state == "finished":
        same = False
        with suppress(OSError, ValueError, LookupError, TypeError):
            spoken = parsed(left.read(CERTIFICATE, LARGEST_FILE))["release_sha256"]
            same = spoken == digest(left.read(RELEASE))
        if not same:
            raise SchemaError("the release in the folder is not the one that its certificate "
                              "speaks of; `privsieve verify DIR` says more")
        page = () if NAME in left else ("it has no page: `privsieve report DIR` writes it",)
        return Recovered("finished", ("the release was finished before", *page))
    names = left.names()
    if names == {f".{NOTE}"}:  # it ended while the note was written
        return _uncharged(left)
    if not names:  # it could be anybody's
        raise ParameterError("the folder is empty, and nothing was charged for it; take it away, "
                             "and ask again")
    raise ParameterError("the folder holds neither a finished release nor the note of a request "
                         "(request.json); name a folder that select, regress or synthesize made")


def _says(certificate: Mapping[str, Any] | bytes | None, expected: Mapping[str, Any]) -> bool:
    """Whether a certificate says what is expected, whoever signed it."""
    body: Any = certificate
    with suppress(ValueError, TypeError, RecursionError):
        if isinstance(certificate, bytes):
            body = parsed(certificate)
        return canonical({**body, "key": None, "signature": None}) == canonical(expected)
    return False


def _without_software(promised: Mapping[str, Any]) -> dict[str, Any]:
    """Terms without the version of the software: the same is asked for after an update."""
    return {name: value for name, value in promised.items() if name != "software"}


def _noted(left: Folder) -> dict[str, Any]:
    """The note of a folder, if privsieve wrote it."""
    note: Any = None
    with suppress(OSError, ValueError, RecursionError):
        note = parsed(left.read(NOTE, LARGEST_FILE))
    if (not isinstance(note, dict) or set(note) != _FIELDS or note["format"] != REQUEST
            or not all(isinstance(value, str) for value in note.values())):
        raise SchemaError("request.json is not as privsieve writes it; take the folder as it was "
                          "left")
    return note


def _ledger_of(note: Mapping[str, str], ledger: str | Path | Ledger | None) -> Ledger:
    """The ledger that was charged, for the request that was noted."""
    if ledger is None:
        path = note["ledger"]
    else:
        path = ledger.path if isinstance(ledger, Ledger) else os.fspath(ledger)
    if not sql.lies(path):
        raise LedgerError("the ledger is not where it was when it was charged; name it with "
                          "--ledger FILE (in Python ledger=)")
    kept = Ledger(path, population=note["population"], request=note["request"])
    if not kept.holds(note["head"]):
        raise LedgerError("this is another ledger than the one that was charged, or an older copy "
                          "of it; name that one with --ledger FILE (in Python ledger=)")
    return kept


def _uncharged(left: Folder) -> Recovered:
    """The work ended before its charge: nothing is kept."""
    if left.state == "finished" or left.adopt(RELEASE) is not None:
        raise LedgerError("a release lies in the folder, and the ledger does not know its charge: "
                          "it is another one, or was set back; restore its newest copy")
    gone = left.discard()
    return Recovered("uncharged", ("nothing was charged: the work ended before that",
                                   "the folder was taken away" if gone else
                                   "the folder holds other files, and was left"))


def _body(left: Folder, promised: Mapping[str, Any], commit: Entry | None,
          ) -> Mapping[str, Json] | None:
    """The release that was staged or named; None where there is no whole one."""
    data = left.adopt(RELEASE)
    body: Any = None
    # A part of a JSON object is no JSON object.
    with suppress(ValueError, RecursionError):
        body = parsed(data or b"")
    whole = isinstance(body, dict) and canonical(body) == data
    if commit is not None:
        if whole and digest(data or b"") != commit.body["release_sha256"]:
            raise LedgerError("the ledger notes another release of this request than the one that "
                              "lies in the folder, which is not to be used")
    elif whole and (body.get("plan") != promised["plan"]
                    or digest(canonical(body.get("domain"))) != promised["domain_sha256"]):
        raise LedgerError("the release in the folder is not what was charged, and is not to be "
                          "used")
    return body if whole else None


def _finished(left: Folder, body: Mapping[str, Json], kept: Ledger, reserve: Entry,
              commit: Entry | None) -> list[str]:
    """Go on from where the work ended; what was done, in words."""
    did = []
    sha = digest(canonical(body))
    if commit is None:
        left.sync()  # the bytes, before the ledger is told of them
        commit = kept.commit(reserve, sha)
        did.append("the ledger was told the digest of the release")
    due = certificate(reserve.body["claim"], sha, reserve, commit)
    if CERTIFICATE in left:
        if not _says(left.adopt(CERTIFICATE), due):
            raise LedgerError("the certificate in the folder is not the one of this charge; take "
                              "it away, and recover again")
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
