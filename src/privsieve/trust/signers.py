"""Signers: whose signatures are wanted, how many of them, and whose count no longer."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Literal, Self

from privsieve.errors import CheckFailed, ParameterError
from privsieve.frozen import dataclass
from privsieve.trust.envelope import LARGEST_ENVELOPE, ROTATION, Envelope, of_rotation
from privsieve.trust.keys import PublicKey, fingerprint_of

if TYPE_CHECKING:
    from pathlib import Path

Role = Literal["maker", "approver"]
ROLES: tuple[Role, ...] = ("maker", "approver")
#: A line of a list of revoked keys: a fingerprint, and what people want to say of it.
_LINE = r"(?i)(sha256:[0-9a-f]{64})(?:\s+(\S.*))?"
LARGEST_LIST = 2**20


@dataclass(frozen=True)
class Signers:
    """Fingerprints that are wanted, with their part where it matters; `threshold` of them are due.

    revoked : fingerprints that count no longer, and why
    successors : by fingerprint, the one that took its place

    >>> anna = "sha256:" + "0a" * 32
    >>> wanted = Signers.of(f"approver={anna}")
    >>> list(wanted.reasons({anna: "maker"}))
    ['of the 1 keys that are wanted 0 have signed, and 1 are due']
    >>> list(wanted.reasons({anna: "approver"}))
    []
    """

    wanted: tuple[tuple[Role | None, str], ...] = ()
    threshold: int = 0
    revoked: Mapping[str, str] = field(default_factory=dict)
    successors: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, *wanted: str, threshold: int | None = None, revoked: str | Path | None = None,
           rotated: Sequence[str | Path] = ()) -> Self:
        """Signers by fingerprint or file, `maker=` or `approver=` before them; all are due.

        revoked : a file with a fingerprint a line, and after it a date, a reason or nothing
        rotated : envelopes of `privsieve key rotate`
        """
        due = len(wanted) if threshold is None else threshold
        if type(due) is not int or not (0 if not wanted else 1) <= due <= len(wanted) or (
                threshold is not None and not wanted):
            raise ParameterError(f"the threshold is {due}, and {len(wanted)} keys are wanted; "
                                 "write a number from 1 to how many are wanted")
        gone = {} if revoked is None else _revoked(revoked)
        made = cls(tuple(map(_wanted, wanted)), due, gone, _successors(rotated, gone))
        lines = [made._line(key) for _role, key in made.wanted]
        if len({key for line in lines for key in line}) < sum(map(len, lines)):
            raise ParameterError("a key is wanted twice, by itself or by the one that took its "
                                 "place; name each once")
        return made

    def _line(self, key: str) -> list[str]:
        """A key and those that took its place, one after the other."""
        line = [key]
        while (after := self.successors.get(line[-1])) is not None:
            line.append(after)
        return line

    def reasons(self, signed: Mapping[str, Role]) -> Iterator[str]:
        """What speaks against these signatures, by fingerprint and with their part."""
        yield from self.revocations(signed)
        found = sum(any(one in signed and role in (None, signed[one]) for one in self._line(key))
                    for role, key in self.wanted)
        if found < self.threshold:
            yield (f"of the {len(self.wanted)} keys that are wanted {found} have signed, and "
                   f"{self.threshold} are due")

    def revocations(self, keys: Iterable[str]) -> Iterator[str]:
        """Keys that have signed and count no longer."""
        for key in keys:
            if key in self.revoked:
                said = self.revoked[key]
                yield f"the key {key} is revoked{f' ({said})' if said else ''}, and has signed"

    def wants(self, key: str) -> bool:
        """Whether it is one of those that are wanted, or took the place of one."""
        return any(key in self._line(wanted) for _role, wanted in self.wanted)


def _wanted(said: str) -> tuple[Role | None, str]:
    for role in ROLES:
        if said.startswith(f"{role}="):
            return role, fingerprint_of(said.removeprefix(f"{role}="))
    return None, fingerprint_of(said)


def _read(path: str | Path, largest: int, what: str) -> bytes:
    try:
        with open(os.fspath(path), "rb") as file:  # noqa: PTH123  # no import
            data = file.read(largest + 1)
    except (OSError, ValueError):
        data = b""
    if not 0 < len(data) <= largest:
        raise ParameterError(f"the {what} cannot be read, is empty or far too large")
    return data


def _revoked(path: str | Path) -> dict[str, str]:
    """A list of revoked keys; a line that is not understood is refused, not passed over."""
    found = {}
    text = _read(path, LARGEST_LIST, "list of revoked keys").decode("utf-8", "replace")
    for number, line in enumerate(text.splitlines(), 1):
        said = line.partition("#")[0].strip()
        known = re.fullmatch(_LINE, said)
        if said and known is None:
            raise ParameterError(f"line {number} of the list of revoked keys is not a fingerprint "
                                 "(sha256: and 64 hexadecimal digits) with words after it")
        if known is not None:
            found[known[1].lower()] = (known[2] or "").strip()
    return found


def _successors(rotated: Sequence[str | Path], revoked: Mapping[str, str]) -> dict[str, str]:
    """Who took whose place: what a revoked key says of it counts no longer."""
    found: dict[str, str] = {}
    for path in rotated:
        old, new = rotation(_read(path, LARGEST_ENVELOPE, "rotation of a key"))
        if old.fingerprint in revoked:
            continue
        if found.get(old.fingerprint, new.fingerprint) != new.fingerprint:
            raise ParameterError(f"two keys take the place of {old.fingerprint}; name the rotation "
                                 "that is true")
        found[old.fingerprint] = new.fingerprint
    ends = set(found.values())
    if len(ends) < len(found) or _circular(found):
        raise ParameterError("a key takes the place of two others, or of itself; name the "
                             "rotations that are true")
    return found


def _circular(after: Mapping[str, str]) -> bool:
    for first in after:
        at: str | None = after[first]
        while at is not None and at != first:
            at = after.get(at)
        if at == first:
            return True
    return False


def rotation(data: bytes) -> tuple[PublicKey, PublicKey]:
    """The old key and the new one of an envelope that both have signed."""
    try:
        envelope = Envelope.read(data)
        said = envelope.statement
        old, new = (PublicKey.of_keyid(said.says.get(name)) for name in ("old", "new"))
        true = said == of_rotation(old, new) and {old, new} == set(envelope.signatures)
    except (CheckFailed, ParameterError, TypeError, AttributeError) as error:
        raise ParameterError(f"the rotation of a key does not hold: {error}") from None
    if not true or said.kind != ROTATION or old == new:
        raise ParameterError("the rotation of a key is not one that the old key and the new one "
                             "have signed")
    return old, new
