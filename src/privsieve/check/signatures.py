"""Signatures of a folder and of a plan, against what the certificate says.

It is loaded where something is signed; an unsigned folder pays nothing for it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from privsieve.check.folder import SHORT
from privsieve.errors import CheckFailed, ParameterError
from privsieve.trust.envelope import LARGEST_ENVELOPE, Envelope, Statement, of_plan, of_release
from privsieve.trust.keys import PublicKey
from privsieve.trust.signers import Role, Signers

if TYPE_CHECKING:
    from pathlib import Path


def signed_parts(envelope: Envelope, certificate: Mapping[str, Any],
                 files: Mapping[str, str]) -> dict[str, Role]:
    """Who signed this folder, and as what; refused where something else was signed."""
    statement = envelope.statement
    maker = _maker(statement)
    due = of_release(certificate, files, maker)
    if statement.subjects.keys() != due.subjects.keys():
        raise CheckFailed("other files were signed than lie in the folder")
    if statement.subjects != due.subjects:
        raise CheckFailed("a file of the folder is not as it was signed")
    if envelope.payload != due.encoded:
        raise CheckFailed("what was signed is not what the certificate says")
    if maker is not None and maker not in envelope.signatures:
        raise CheckFailed("the maker that was signed has not signed")
    return {key.fingerprint: "maker" if key == maker else "approver"
            for key in envelope.signatures}


def _maker(statement: Statement) -> PublicKey | None:
    """The key of the maker that a statement names."""
    keyid = statement.says.get("maker")
    try:
        return None if keyid is None else PublicKey.of_keyid(keyid)
    except ParameterError as error:
        raise CheckFailed(f"what was signed names no maker: {error}") from None


def plan_found(plan: str | Path, body: Mapping[str, Any], signers: Signers | None,
               ) -> tuple[list[str], list[str]]:
    """What speaks against a plan that was signed before: reasons, and notes."""
    try:
        promised, by = _plan(plan)
    except CheckFailed as error:
        return [str(error)], []
    reasons = [] if "domain_sha256" in body and promised == of_plan(body) else [
        "what was planned and signed is not what was done"]
    if signers is not None:
        reasons += signers.revocations(by)
    if signers is None or not signers.wanted:
        who = ", ".join(f"{key[:SHORT]}…" for key in by)
        note = (f"nobody said whose signature of the plan is wanted; it is signed by {who}, at a "
                "time that nothing shows")
        return reasons, [note]
    if not any(map(signers.wants, by)):
        reasons.append("the plan was signed by none of the keys that are wanted")
    return reasons, []


def demand_signed(plan: str | Path, promised: Mapping[str, Any], signers: Signers) -> None:
    """Refuse, before the charge, what is not the plan that these have signed."""
    try:
        statement, by = _plan(plan)
    except CheckFailed as error:
        raise ParameterError(f"{error}; nothing was charged") from None
    wrong = list(signers.reasons(dict.fromkeys(by, "approver")))
    if statement != of_plan(promised):
        wrong = ["what was planned and signed is not what is asked for"]
    if wrong:
        raise ParameterError(f"{wrong[0]}; nothing was charged")


def _plan(plan: str | Path) -> tuple[Statement, list[str]]:
    """What a signed plan says, and the fingerprints of who signed it."""
    try:
        with open(os.fspath(plan), "rb") as file:  # noqa: PTH123  # no import
            envelope = Envelope.read(file.read(LARGEST_ENVELOPE + 1))
        return envelope.statement, [key.fingerprint for key in envelope.signatures]
    except ImportError as error:
        raise CheckFailed(f"the plan cannot be checked: {error}") from None
    except (CheckFailed, OSError, ValueError) as error:
        words = str(error) if isinstance(error, CheckFailed) else "it cannot be read"
        raise CheckFailed(f"the plan is not one that was signed: {words}") from None
