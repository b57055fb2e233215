"""Signatures: check the signatures of a folder and of a plan against the certificate.

The module is imported only for signed folders and plans.
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
    """Return who signed this folder, and in which role; refuse signatures of something else."""
    statement = envelope.statement
    maker = _maker(statement)
    due = of_release(certificate, files, maker)
    if statement.subjects.keys() != due.subjects.keys():
        raise CheckFailed("the signed files are not the files in the folder")
    if statement.subjects != due.subjects:
        raise CheckFailed("a file of the folder was changed after it was signed")
    if envelope.payload != due.encoded:
        raise CheckFailed("the signed statement does not match the certificate")
    if maker is not None and maker not in envelope.signatures:
        raise CheckFailed("the maker in the signed statement has not signed")
    return {key.fingerprint: "maker" if key == maker else "approver" for key in envelope.signatures}


def _maker(statement: Statement) -> PublicKey | None:
    """Return the key of the maker that a statement names."""
    keyid = statement.says.get("maker")
    try:
        return None if keyid is None else PublicKey.of_keyid(keyid)
    except ParameterError as error:
        raise CheckFailed(f"the maker in the signed statement is not a key: {error}") from None


def plan_found(plan: str | Path, body: Mapping[str, Any], signers: Signers | None,
               ) -> tuple[list[str], list[str]]:
    """Compare a signed plan with a certificate; return reasons and notes."""
    try:
        promised, by = _plan(plan)
    except CheckFailed as error:
        return [str(error)], []
    reasons = [] if "domain_sha256" in body and promised == of_plan(body) else [
        "the release does not match the signed plan"]
    if signers is not None:
        reasons += signers.revocations(by)
    if signers is None or not signers.wanted:
        who = ", ".join(f"{key[:SHORT]}…" for key in by)
        return reasons, [(f"you named no required signers of the plan; {who} signed it, at an "
                          "unknown time")]
    if not any(map(signers.wants, by)):
        reasons.append("the plan was not signed by a required key")
    return reasons, []


def demand_signed(plan: str | Path, promised: Mapping[str, Any], signers: Signers) -> None:
    """Refuse, before the charge, a release whose plan the required signers have not signed."""
    try:
        statement, by = _plan(plan)
    except CheckFailed as error:
        raise ParameterError(f"{error}; nothing was charged") from None
    wrong = list(signers.reasons(dict.fromkeys(by, "approver")))
    if statement != of_plan(promised):
        wrong = ["the request does not match the signed plan"]
    if wrong:
        raise ParameterError(f"{wrong[0]}; nothing was charged")


def _plan(plan: str | Path) -> tuple[Statement, list[str]]:
    """Read a signed plan; return its statement and the fingerprints of its signers."""
    try:
        with open(os.fspath(plan), "rb") as file:  # noqa: PTH123  # no import
            envelope = Envelope.read(file.read(LARGEST_ENVELOPE + 1))
        return envelope.statement, [key.fingerprint for key in envelope.signatures]
    except ImportError as error:
        raise CheckFailed(f"the plan cannot be checked: {error}") from None
    except (CheckFailed, OSError, ValueError) as error:
        words = str(error) if isinstance(error, CheckFailed) else "it cannot be read"
        raise CheckFailed(f"the plan is not a signed plan: {words}") from None
