"""Envelope: a statement of files by their digests, and its signatures.

The envelope is DSSE v1 and the statement in-toto v1, so other tools can check both.  The statement
must be canonical JSON, so that it has one text.  All signers sign the same bytes; later signatures
do not change earlier ones.  The statement names the maker of the release, so that nobody can swap
the roles of maker and approver.
"""

from __future__ import annotations

import re
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from privsieve.errors import CheckFailed, ParameterError
from privsieve.public.canonical import Json, canonical, digest, parsed
from privsieve.trust.keys import PrivateKey, PublicKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
#: The kinds of statements; these names are not looked up.
RELEASE, PUBLICATION = "urn:privsieve:dp-release/v1", "urn:privsieve:containment/v1"
PLAN = "urn:privsieve:plan/v1"
#: The fields of a certificate about promise, charge and release.
SAID = ("claim", "plan", "domain_sha256", "release_sha256", "population", "ledger", "software")
#: The fields that are known before rows are read.
PLANNED = ("claim", "plan", "domain_sha256")

#: Larger envelopes would be an attack on memory, or on time.
LARGEST_ENVELOPE, MOST_SIGNATURES = 2**25, 64
#: The name of a file of a release: one plain component.
NAME, _SHA256 = "[A-Za-z0-9_][A-Za-z0-9._-]{0,99}", "[0-9a-f]{64}"


def pae(payload: bytes, payload_type: str = PAYLOAD_TYPE) -> bytes:
    """Return the bytes that DSSE signs: type and payload, each after its length.

    >>> pae(b"hello world", "http://example.com/HelloWorld")
    b'DSSEv1 29 http://example.com/HelloWorld 11 hello world'
    """
    return b"DSSEv1 %d %s %d %s" % (len(payload_type), payload_type.encode(), len(payload), payload)


@dataclass(frozen=True)
class Statement:
    """A signed statement: its kind, its content, and the digests of its subjects.

    >>> statement = Statement(PLAN, {"plan": "00" * 32}, {"plan": {"k": 3}})
    >>> Statement.read(statement.encoded) == statement
    True
    """

    kind: str
    subjects: Mapping[str, str]
    says: Mapping[str, Any]

    @property
    def encoded(self) -> bytes:
        """Return the statement as in-toto writes it, in canonical JSON."""
        subjects: Json = [{"name": name, "digest": {"sha256": sha}}
                          for name, sha in sorted(self.subjects.items())]
        return canonical({"_type": STATEMENT, "subject": subjects, "predicateType": self.kind,
                          "predicate": dict(self.says)})

    @classmethod
    def read(cls, data: bytes) -> Self:
        """Read a statement, if it is written in canonical form."""
        try:
            body = parsed(data)
            subjects = {subject["name"]: subject["digest"]["sha256"] for subject in body["subject"]}
            statement = cls(body["predicateType"], subjects, body["predicate"])
            same = statement.encoded == data and isinstance(statement.kind, str)
            plain = all(re.fullmatch(NAME, name) and re.fullmatch(_SHA256, sha)
                        for name, sha in subjects.items())
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            same = plain = False
        if not same:
            raise CheckFailed("the signed statement is not an in-toto statement in canonical form")
        if not plain:
            raise CheckFailed("the signed statement names files that a release does not have")
        return statement


def of_release(certificate: Mapping[str, Any], files: Mapping[str, str],
               maker: PublicKey | None) -> Statement:
    """Return the statement of a release folder: fields of its certificate, and all files."""
    kind = PUBLICATION if certificate["claim"]["kind"] == "containment" else RELEASE
    says = {name: certificate[name] for name in SAID if name in certificate}
    return Statement(kind, files, {**says, "maker": None if maker is None else maker.keyid})


def of_plan(certificate: Mapping[str, Any]) -> Statement:
    """Return the statement of a plan: the fields of its certificate that are known before rows."""
    says = {name: certificate[name] for name in PLANNED}
    return Statement(PLAN, {"plan": digest(canonical(says))}, says)


@dataclass(frozen=True)
class Envelope:
    """A payload and its signatures, each by another key.

    >>> Envelope.of(Statement(PLAN, {}, {})).signatures
    {}
    """

    payload: bytes
    signatures: Mapping[PublicKey, bytes]

    @classmethod
    def of(cls, statement: Statement) -> Self:
        """Make an envelope without signatures."""
        return cls(statement.encoded, {})

    @classmethod
    def read(cls, data: bytes) -> Self:
        """Read an envelope and check each signature."""
        if len(data) > LARGEST_ENVELOPE:
            raise CheckFailed("the envelope of the signatures is larger than 32 MB")
        try:
            body = parsed(data)
            if body["payloadType"] != PAYLOAD_TYPE:
                raise CheckFailed("the envelope has another type of payload than an in-toto "
                                  "statement")
            listed = [(PublicKey.of_keyid(signature["keyid"]), _decoded(signature["sig"]))
                      for signature in body["signatures"][:MOST_SIGNATURES + 1]]
            envelope = cls(_decoded(body["payload"]), dict(listed))
            whole = len(envelope.signatures) == len(body["signatures"]) <= MOST_SIGNATURES
            same = envelope.encoded == data
        except ParameterError as error:
            raise CheckFailed(f"a signature names no key: {error}") from None
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            raise CheckFailed("the envelope of the signatures is not DSSE in canonical "
                              "form") from None
        if not whole:
            raise CheckFailed("the envelope has two signatures by one key, or more than 64")
        if not same:
            raise CheckFailed("the envelope of the signatures is not DSSE in canonical form")
        return envelope._checked()

    def _checked(self) -> Self:
        if not self.signatures:
            raise CheckFailed("the envelope holds no signature")
        message = pae(self.payload)
        if not all(key.signed(message, sig) for key, sig in self.signatures.items()):
            raise CheckFailed("a signature does not belong to its key and to the statement")
        return self

    @property
    def statement(self) -> Statement:
        """Return the signed statement."""
        return Statement.read(self.payload)

    @property
    def encoded(self) -> bytes:
        """Return the envelope as DSSE writes it, in canonical JSON."""
        return canonical({
            "payload": _written(self.payload), "payloadType": PAYLOAD_TYPE,
            "signatures": [{"keyid": key.keyid, "sig": _written(sig)}
                           for key, sig in self.signatures.items()]})

    def signed(self, key: PrivateKey) -> Self:
        """Return the envelope with one more signature."""
        if key.public in self.signatures:
            raise ParameterError(f"the key {key.public.fingerprint} has already signed this; use "
                                 "another key")
        if len(self.signatures) == MOST_SIGNATURES:
            raise ParameterError("64 keys have already signed this, which is the limit")
        return replace(self, signatures={**self.signatures,
                                         key.public: key.sign(pae(self.payload))})


def _written(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode()


def _decoded(text: str) -> bytes:
    """Decode base64; `Envelope.read` refuses other spellings of it."""
    return a2b_base64(text.encode("ascii"), strict_mode=True)
