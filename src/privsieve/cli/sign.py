"""`privsieve sign`: sign a release folder, or a plan before anybody looks."""

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
from privsieve.folder import sync
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
def command(what: str, *, key: File, as_: Role | None = None,
            out: File | None = None) -> Outcome:
    """Sign WHAT: a release folder, the JSON of privsieve plan, or a plan that others have signed.

    All that lies in a folder is signed together, in signatures.json; the folder is verified first.
    Whoever signs later signs the same, and changes nothing for who signed before.

    key : the private key
    as_ : of a folder: who made the release, and signs first; or who approves it
    out : of a plan: a new file for the signed one (PLAN.signed.json)
    """
    folder = Path(what)
    if folder.is_dir():
        if as_ is None or out is not None:
            raise ParameterError("a folder is signed --as maker or --as approver, in the folder; "
                                 "say which, and leave --out away")
        says = sign_folder(folder, opened(key), as_)
        words.say("says", says)
        return Outcome({"signed": what, "as": as_, "says": says})
    if as_ is not None and folder.exists():
        raise ParameterError("a plan has neither maker nor approver; leave --as away")
    signed = _sign_plan(folder, opened(key), out)
    words.say("plan", signed)
    return Outcome({"signed": signed, "as": None, "says": None})


def sign_folder(folder: Path, key: PrivateKey, role: str) -> str:
    """Add a signature to a folder that holds; what is signed, in a sentence."""
    with _locked(folder):
        try:
            checked = FolderCheck.of(Contents.of(folder), None, None)
            checked.beside()
            before = (checked.contents.read(SIGNATURES, LARGEST_ENVELOPE)
                      if SIGNATURES in checked.contents.files else None)
            files = checked.files() if not checked.reasons else {}
        except (Unreadable, OSError) as error:
            said = str(error) if isinstance(error, Unreadable) else "the folder cannot be read"
            raise CheckFailed(f"{said}; nothing was signed") from None
        if checked.reasons:
            raise CheckFailed(f"{checked.reasons[0]}; nothing is signed that does not hold")
        if before is None:
            maker = key.public if role == "maker" else None
            envelope = Envelope.of(of_release(checked.body, files, maker))
        else:
            envelope = Envelope.read(before)
            signed_parts(envelope, checked.body, files)
            if role == "maker":
                raise ParameterError("the folder is signed already, and the maker signs first: "
                                     "what is signed names the maker; sign it as approver")
        envelope = envelope.signed(key)
        # Read as `verify` reads it before it is written: what nobody could check is not signed.
        checked.signed.update(signed_parts(envelope, checked.body, files))
        mode = (folder / CERTIFICATE).stat().st_mode & 0o666
        _replace(folder / SIGNATURES, envelope.encoded, mode)
    found = checked.found(None)
    for name, why in found.unchecked.items():
        words.say("unchecked", f"{name}: {why}", fg="yellow")
    return found.says


def _sign_plan(path: Path, key: PrivateKey, out: str | None) -> str:
    """Sign a plan, or add a signature to one that is signed; where it stands then."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_ENVELOPE + 1)
        said = parsed(data)
    except (OSError, ValueError):
        raise ParameterError("what is to be signed is neither a release folder nor the JSON of a "
                             "plan; write one with privsieve plan --json") from None
    if isinstance(said, dict) and "payload" in said:
        if out is not None:
            raise ParameterError("the plan is signed already, and a signature is added to it; "
                                 "leave --out away")
        envelope = Envelope.read(data)
        if envelope.statement.kind != PLAN:
            raise ParameterError("what was signed is no plan; of a release name its folder")
        _replace(path, envelope.signed(key).encoded, path.stat().st_mode & 0o666)
        return str(path)
    envelope = Envelope.of(_planned(said)).signed(key)
    place = out or str(path.with_suffix(".signed.json"))
    with new_file(place, "of the signed plan", 0o644) as write:
        write(envelope.encoded)
    return place


def _planned(said: Any) -> Statement:
    terms: Any = said.get("terms") if isinstance(said, Mapping) else None
    if not isinstance(terms, Mapping) or terms.keys() != set(PLANNED):
        raise ParameterError("the file is no plan with its terms; write it with privsieve plan "
                             "--json")
    return of_plan(terms)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """A folder in which one process signs at a time."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(ImportError):
            import fcntl  # not on every system

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _replace(path: Path, data: bytes, mode: int) -> None:
    """Write a file whole or not at all, in the place of an older one."""
    hidden = path.with_name(f".{os.urandom(8).hex()}")
    try:
        with new_file(hidden, "of the signatures", mode) as write:
            write(data)
        hidden.replace(path)
    except OSError:
        hidden.unlink(missing_ok=True)
        raise ParameterError("the signatures cannot be written; the folder must be "
                             "writable") from None
    sync(path.parent)
