"""Keys: Ed25519 keys of the library `cryptography`.

A public key is 32 bytes.  Its name is the fingerprint, their SHA-256, which people compare.  In an
envelope its `keyid` is the key itself, so a fingerprint is enough to check it.  A private key is a
PKCS8 PEM file that only its owner may read.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from binascii import Error, a2b_base64, b2a_base64
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from privsieve.entries import import_library
from privsieve.errors import ParameterError
from privsieve.public.plain import read

if TYPE_CHECKING:
    from pathlib import Path

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

#: A key file is a few hundred bytes.
LARGEST_KEY = 2**16
#: Patterns are compiled when needed, which makes `verify` start faster.
_KEYID, _FINGERPRINT = "ed25519:([0-9a-f]{64})", "sha256:[0-9a-f]{64}"
#: A SubjectPublicKeyInfo of Ed25519 (RFC 8410) is these bytes and the key.
_SPKI = bytes.fromhex("302a300506032b6570032100")
_PEM = rb"-----BEGIN PUBLIC KEY-----\s+([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----\s*"
#: The prime, and the y coordinates of the points of small order: anybody can sign for such a key.
_PRIME = 2**255 - 19
_SMALL = {0, 1, _PRIME - 1, *(int.from_bytes(bytes.fromhex(y), "little") for y in (
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"))}


@dataclass(frozen=True)
class PublicKey:
    """An Ed25519 public key; a point of small order, or not a point, is refused.

    >>> key = PublicKey(bytes(range(32)))
    >>> key.fingerprint[:19], key.keyid[:16], PublicKey.of_keyid(key.keyid) == key
    ('sha256:630dcd2966c4', 'ed25519:00010203', True)
    """

    raw: bytes

    def __post_init__(self) -> None:
        y = int.from_bytes(self.raw, "little") % 2**255
        if len(self.raw) != 32 or y >= _PRIME or y in _SMALL:
            raise ParameterError("the key is not an Ed25519 public key, or has small order, so "
                                 "that anybody can sign; make one with privsieve key make")

    @classmethod
    def of_keyid(cls, keyid: object) -> Self:
        """Return the key of a `keyid`."""
        known = re.fullmatch(_KEYID, keyid) if isinstance(keyid, str) else None
        if known is None:
            raise ParameterError('the name of a key is not "ed25519:" and 64 hexadecimal digits')
        return cls(bytes.fromhex(known[1]))

    @classmethod
    def of_pem(cls, pem: bytes) -> Self:
        """Read the key of a PEM file."""
        if b"PRIVATE KEY" in pem:
            raise ParameterError("the file contains a private key, which you must keep secret; "
                                 "name its public half (privsieve key show)")
        known = re.fullmatch(_PEM, pem)
        try:
            der = a2b_base64(b"".join(known[1].split()), strict_mode=True) if known else b""
        except Error:
            der = b""
        if not der.startswith(_SPKI):
            raise ParameterError("the file does not contain an Ed25519 public key in PEM; use the "
                                 "key that privsieve key show prints")
        return cls(der.removeprefix(_SPKI))

    @property
    def pem(self) -> bytes:
        """Return the key as a PEM file."""
        return (b"-----BEGIN PUBLIC KEY-----\n" + b2a_base64(_SPKI + self.raw)
                + b"-----END PUBLIC KEY-----\n")

    @property
    def keyid(self) -> str:
        """Return the name of the key in envelopes."""
        return f"ed25519:{self.raw.hex()}"

    @cached_property
    def fingerprint(self) -> str:
        """Return the name of the key for people."""
        return f"sha256:{hashlib.sha256(self.raw).hexdigest()}"

    def signed(self, message: bytes, signature: bytes) -> bool:
        """Return whether this key made the signature of the message."""
        key_kind = _ed25519().Ed25519PublicKey
        from cryptography.exceptions import InvalidSignature

        try:
            key_kind.from_public_bytes(self.raw).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


class PrivateKey:
    """A private key in memory."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public = PublicKey(key.public_key().public_bytes_raw())

    @classmethod
    def make(cls) -> Self:
        """Make a new key from the system's entropy."""
        return cls(_ed25519().Ed25519PrivateKey.generate())

    @classmethod
    def read(cls, path: str | Path, passphrase: Callable[[], str]) -> Self:
        """Read the key in a file; call `passphrase` if the file is encrypted."""
        key_kind = _ed25519().Ed25519PrivateKey
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        data = own_bytes(path)
        word = None
        if b"ENCRYPTED" in data:
            word = passphrase().encode()
        try:
            key = load_pem_private_key(data, word)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            wrong = "the passphrase is wrong, or the" if word is not None else "the"
            raise ParameterError(f"{wrong} file does not contain a private key in PEM; use a "
                                 "key that privsieve key make wrote") from None
        if not isinstance(key, key_kind):
            raise ParameterError("the key is not an Ed25519 key; make one with privsieve "
                                 "key make")
        return cls(key)

    def pem(self, passphrase: str | None) -> bytes:
        """Return the key as a PKCS8 PEM file, encrypted if there is a passphrase."""
        from cryptography.hazmat.primitives import serialization as form

        how = form.BestAvailableEncryption(passphrase.encode()) if passphrase else (
            form.NoEncryption())
        pem: bytes = self._key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, how)
        return pem

    def sign(self, message: bytes) -> bytes:
        """Sign a message."""
        signature: bytes = self._key.sign(message)
        return signature


def _ed25519() -> Any:
    """Import the keys of `cryptography`, or say how to install it."""
    return import_library("cryptography.hazmat.primitives.asymmetric.ed25519", "sign",
                          "a signature")


def own_bytes(path: str | Path, made_by: str = "privsieve key make") -> bytes:
    """Read a file that others must not be able to read."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            about = os.fstat(file.fileno())
            data = file.read(LARGEST_KEY)
    except (OSError, ValueError):
        raise ParameterError("the private key cannot be read; check the path, or make a key "
                             f"with {made_by}") from None
    if os.name == "posix" and (not stat.S_ISREG(about.st_mode) or about.st_mode & 0o077):
        raise ParameterError("others can read the private key; run chmod 600 on it, or make a new "
                             "key if anybody read it")
    return data


def fingerprint_of(name: str) -> str:
    """Return a fingerprint as it is, or that of the public key in a file.

    >>> fingerprint_of("SHA256:" + "0A" * 32) == "sha256:" + "0a" * 32
    True
    """
    if re.fullmatch(_FINGERPRINT, name.lower()):
        return name.lower()
    return PublicKey.of_pem(read(name, "the key", ParameterError, LARGEST_KEY, way=(
        ": name the file of a public key, or a fingerprint (sha256: and 64 hexadecimal "
        "digits)"))).fingerprint
