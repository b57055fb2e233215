"""Signatures of a folder and of a plan, against what the certificate says.

It is loaded where something is signed; an unsigned folder pays nothing for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from privsieve.errors import CheckFailed, ParameterError
from privsieve.trust.envelope import LARGEST_ENVELOPE, Envelope, Statement, of_plan, of_release
from privsieve.trust.keys import PublicKey
from privsieve.trust.signers import Role, Signers

if TYPE_CHECKING:
    from pathlib import Path


def signed_parts(envelope: Envelope, certificate: Mapping[str, Any],
                 files: Mapping[str, str]) -> dict[str, Role]:
    """Who signed this folder, and as what; refused where something else was signed."""
    said = envelope.statement
    maker = _maker(said)
    due = of_release(certificate, files, maker)
    if said.subjects.keys() != due.subjects.keys():
        raise CheckFailed("other files were signed than lie in the folder")
    if said.subjects != due.subjects:
        raise CheckFailed("a file of the folder is not as it was signed")
    if envelope.payload != due.encoded:
        raise CheckFailed("what was signed is not what the certificate says")
    if maker is not None and maker not in envelope.signatures:
        raise CheckFailed("the maker that was signed has not signed")
    return {key.fingerprint: "maker" if key == maker else "approver"
            for key in envelope.signatures}


def _maker(said: Statement) -> PublicKey | None:
    """The key of the maker that a statement names."""
    keyid = said.says.get("maker")
    try:
        return None if keyid is None else PublicKey.of_keyid(keyid)
    except ParameterError as error:
        raise CheckFailed(f"what was signed names no maker: {error}") from None


def plan_reasons(plan: str | Path, body: Mapping[str, Any], signers: Signers | None,
                 ) -> Iterator[str]:
    """Whether a plan that was signed before is the one of the certificate."""
    try:
        with open(os.fspath(plan), "rb") as file:  # noqa: PTH123  # no import
            envelope = Envelope.read(file.read(LARGEST_ENVELOPE + 1))
        promised = envelope.statement
    except (CheckFailed, OSError, ValueError) as error:
        words = str(error) if isinstance(error, CheckFailed) else "it cannot be read"
        yield f"the plan is not one that was signed: {words}"
        return
    except ImportError:
        yield "the plan cannot be checked: cryptography is not installed"
        return
    if "domain_sha256" not in body or promised != of_plan(body):
        yield "what was planned and signed is not what was done"
    if signers is not None:
        by = [key.fingerprint for key in envelope.signatures]
        yield from signers.revocations(by)
        if signers.wanted and not any(map(signers.wants, by)):
            yield "the plan was signed by none of the keys that are wanted"
