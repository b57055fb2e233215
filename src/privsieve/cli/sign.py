"""`privsieve sign`: sign a release folder, or a plan before the release."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from privsieve.check.folder import CERTIFICATE, SIGNATURES, Contents, FolderCheck
from privsieve.check.reasons import Unreadable
from privsieve.check.signatures import signed_parts
from privsieve.cli import words
from privsieve.cli.key import opened
from privsieve.cli.private import new_file
from privsieve.cli.verb import Outcome, verb
from privsieve.errors import CheckFailed, ParameterError
from privsieve.folder import hidden_file, sync, write_durably
from privsieve.public.canonical import parsed
from privsieve.public.option import File
from privsieve.trust.envelope import (
    LARGEST_ENVELOPE,
    PLAN,
    PLANNED,
    Envelope,
    Statement,
    of_plan,
    of_release,
)
from privsieve.trust.keys import PrivateKey
from privsieve.trust.signers import Role


@verb("first --key maker.pem --as maker")
def command(what: str, *, key: File, as_: Role | None = None, out: File | None = None) -> Outcome:
    """Sign WHAT: a release folder, the JSON of privsieve plan, or a plan that others have signed.

    Verifies a folder first, then signs all its files together in signatures.json.  Later
    signatures cover the same files and keep the earlier signatures valid.

    key : the private key
    as_ : for a folder: the maker of the release, who signs first, or an approver
    out : for a plan: a new file for the signed plan (default: PLAN.signed.json)
    """
    folder = Path(what)
    if folder.is_dir():
        if as_ is None or out is not None:
            raise ParameterError("a folder needs --as maker or --as approver, and stores its "
                                 "signatures itself; add --as, and leave out --out")
        says = sign_folder(folder, opened(key), as_)
        words.say("says", says)
        return Outcome({"signed": what, "as": as_, "says": says})
    if as_ is not None and folder.exists():
        raise ParameterError("a plan has neither maker nor approver; leave out --as")
    signed = _sign_plan(folder, opened(key), out)
    words.say("plan", signed)
    return Outcome({"signed": signed, "as": None, "says": None})


def sign_folder(folder: Path, key: PrivateKey, role: str) -> str:
    """Add a signature to a valid folder, and return what is signed in a sentence."""
    with _locked(folder):
        try:
            checked = FolderCheck.of(Contents.of(folder), None, None)
            checked.beside()
            before = (checked.contents.read(SIGNATURES, LARGEST_ENVELOPE)
                      if SIGNATURES in checked.contents.files else None)
            files = checked.files() if not checked.reasons else {}
        except (Unreadable, OSError) as error:
            reason = str(error) if isinstance(error, Unreadable) else "the folder cannot be read"
            raise CheckFailed(f"{reason}; nothing was signed") from None
        if checked.reasons:
            raise CheckFailed(f"{checked.reasons[0]}; only a valid folder can be signed")
        if before is None:
            maker = key.public if role == "maker" else None
            envelope = Envelope.of(of_release(checked.body, files, maker))
        else:
            envelope = Envelope.read(before)
            signed_parts(envelope, checked.body, files)
            if role == "maker":
                raise ParameterError("the folder is already signed, and the maker must sign "
                                     "first; sign it --as approver")
        envelope = envelope.signed(key)
        # Check the envelope as `verify` does before it is written.
        checked.signed.update(signed_parts(envelope, checked.body, files))
        mode = (folder / CERTIFICATE).stat().st_mode & 0o666
        _replace(folder / SIGNATURES, envelope.encoded, mode)
    result = checked.result(None)
    for name, why in result.unchecked.items():
        words.say("unchecked", f"{name}: {why}", fg="yellow")
    return result.says


def _sign_plan(path: Path, key: PrivateKey, out: str | None) -> str:
    """Sign a plan, or add a signature to a signed plan; return its path."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_ENVELOPE + 1)
        content = parsed(data)
    except (OSError, ValueError):
        raise ParameterError("the path is neither a release folder nor the JSON of a plan; write a "
                             "plan with privsieve plan --json") from None
    if isinstance(content, dict) and "payload" in content:
        if out is not None:
            raise ParameterError("the plan is already signed, and the new signature is added to "
                                 "it; leave out --out")
        envelope = Envelope.read(data)
        if envelope.statement.kind != PLAN:
            raise ParameterError("the signed file is not a plan; to sign a release, name its "
                                 "folder")
        _replace(path, envelope.signed(key).encoded, path.stat().st_mode & 0o666)
        return str(path)
    envelope = Envelope.of(_plan_statement(content)).signed(key)
    signed = out or str(path.with_suffix(".signed.json"))
    with new_file(signed, "of the signed plan", 0o644) as write:
        write(envelope.encoded)
    return signed


def _plan_statement(content: Any) -> Statement:
    terms: Any = content.get("terms") if isinstance(content, Mapping) else None
    if not isinstance(terms, Mapping) or terms.keys() != set(PLANNED):
        raise ParameterError("the file is not a plan with its terms; write it with privsieve plan "
                             "--json")
    return of_plan(terms)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder, so that one process signs at a time."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(ImportError):
            import fcntl  # not on every system

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _replace(path: Path, data: bytes, mode: int) -> None:
    """Replace a file completely or not at all."""
    try:
        with hidden_file(path, mode) as (file, hidden):
            write_durably(file.fileno(), data)
            hidden.replace(path)
        sync(path.parent)
    except OSError:
        raise ParameterError("the signatures cannot be written; the folder must be "
                             "writable, and its disk must have room") from None
