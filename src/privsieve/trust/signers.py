"""Signers: the required keys, their number, and revoked keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Self

from privsieve.errors import ParameterError
from privsieve.public.plain import read
from privsieve.trust.keys import fingerprint_of

if TYPE_CHECKING:
    from pathlib import Path

Role = Literal["maker", "approver"]
ROLES: tuple[Role, ...] = ("maker", "approver")
#: A line of a list of revoked keys: a fingerprint, and a comment.
_LINE = r"(?i)(sha256:[0-9a-f]{64})(?:\s+(\S.*))?"
LARGEST_LIST = 2**20


@dataclass(frozen=True)
class Signers:
    """List the keys that may sign, by fingerprint and role; at least `threshold` must sign.

    revoked : revoked fingerprints, with the reason

    >>> anna = "sha256:" + "0a" * 32
    >>> wanted = Signers.of(f"approver={anna}")
    >>> list(wanted.reasons({anna: "maker"}))
    ['0 of the 1 required keys have signed, but 1 must sign']
    >>> list(wanted.reasons({anna: "approver"}))
    []
    """

    wanted: tuple[tuple[Role | None, str], ...] = ()
    threshold: int = 0
    revoked: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, *wanted: str, threshold: int | None = None, revoked: str | Path | None = None,
           ) -> Self:
        """Read signers: fingerprints or key files; write `approver=` before one to demand a role.

        threshold : how many of them must sign; by default all
        revoked : a file with a fingerprint on each line, and perhaps a date or a reason after it
        """
        due = len(wanted) if threshold is None else threshold
        if type(due) is not int or not (0 if not wanted else 1) <= due <= len(wanted) or (
                threshold is not None and not wanted):
            raise ParameterError(f"the threshold is {due}, but {len(wanted)} keys are named; "
                                 "write a number from 1 to the number of keys")
        gone = {} if revoked is None else _revoked(revoked)
        signers = cls(tuple(map(_wanted, wanted)), due, gone)
        if len({key for _role, key in signers.wanted}) < len(signers.wanted):
            raise ParameterError("a key is named twice; name each key once")
        return signers

    def reasons(self, signed: Mapping[str, Role]) -> Iterator[str]:
        """Yield the reasons against these signatures, given as fingerprints and roles."""
        yield from self.revocations(signed)
        count = sum(key in signed and role in (None, signed[key]) for role, key in self.wanted)
        if count < self.threshold:
            yield (f"{count} of the {len(self.wanted)} required keys have signed, but "
                   f"{self.threshold} must sign")

    def revocations(self, keys: Iterable[str]) -> Iterator[str]:
        """Yield a reason for each key that has signed and is revoked."""
        for key in keys:
            if key in self.revoked:
                reason = self.revoked[key]
                yield f"the key {key}, which signed, is revoked{f' ({reason})' if reason else ''}"

    def wants(self, key: str) -> bool:
        """Return whether a key is required."""
        return any(key == wanted for _role, wanted in self.wanted)


def _wanted(text: str) -> tuple[Role | None, str]:
    role = next((role for role in ROLES if text.startswith(f"{role}=")), None)
    return role, fingerprint_of(text.removeprefix(f"{role}="))


def _revoked(path: str | Path) -> dict[str, str]:
    """Read a list of revoked keys; refuse lines in another form."""
    revoked = {}
    text = read(path, "the list of revoked keys", ParameterError, LARGEST_LIST).decode(
        "utf-8", "replace")
    if not text:
        raise ParameterError("the list of revoked keys is empty; write one fingerprint a line")
    for number, line in enumerate(text.splitlines(), 1):
        entry = line.partition("#")[0].strip()
        known = re.fullmatch(_LINE, entry)
        if entry and known is None:
            raise ParameterError(f"line {number} of the list of revoked keys must begin with a "
                                 "fingerprint (sha256: and 64 hexadecimal digits)")
        if known is not None:
            revoked[known[1].lower()] = (known[2] or "").strip()
    return revoked
