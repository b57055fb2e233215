"""Masks: what each pair of sites adds and subtracts, so that only the sum of all is seen.

The protocol is that of Bonawitz and others 2017 ("Practical Secure Aggregation for
Privacy-Preserving Machine Learning", CCS), without its recovery of drop-outs: where a site is
missing nothing is added.  X25519, HKDF, ChaCha20 and ChaCha20-Poly1305 are those of the package
`cryptography`.  What is private is derived for one use, which names the study with all of its
keys, the round, what the round rests on, and the two who share it.  See masks.proof.md.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from privsieve.errors import ParameterError
from privsieve.frozen import dataclass
from privsieve.public.canonical import canonical
from privsieve.summaries.flat import Words
from privsieve.trust.keys import own_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

TAG = b"privsieve-sites/1\0"
#: Bytes before a sealed text, fresh for each.
_NONCE = 12
_MADE_BY = "privsieve sum join"


@dataclass(frozen=True)
class SitePublic:
    """The X25519 public key of a site or of the combiner.

    >>> SitePublic(bytes(range(32))).fingerprint[:19]
    'sha256:630dcd2966c4'
    """

    raw: bytes

    @classmethod
    def of_pem(cls, pem: bytes) -> Self:
        """The key of a PEM file."""
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key

        try:
            key = load_pem_public_key(pem)
        except (ValueError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, X25519PublicKey):
            raise ParameterError("a key of the study is no X25519 public key in PEM; its owner "
                                 f"makes it with {_MADE_BY}")
        return cls(key.public_bytes_raw())

    @property
    def pem(self) -> bytes:
        """The key as a PEM file."""
        from cryptography.hazmat.primitives import serialization as form
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

        found: bytes = X25519PublicKey.from_public_bytes(self.raw).public_bytes(
            form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
        return found

    @cached_property
    def fingerprint(self) -> str:
        """How people name the key."""
        return f"sha256:{hashlib.sha256(self.raw).hexdigest()}"


class SiteKey:
    """The private key of a site or of the combiner, for one study."""

    def __init__(self, key: X25519PrivateKey) -> None:
        self._key = key
        self.public = SitePublic(key.public_key().public_bytes_raw())

    @classmethod
    def make(cls) -> Self:
        """A new key, of the system's entropy."""
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        return cls(X25519PrivateKey.generate())

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The key in a file that its owner alone can read."""
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        data = own_bytes(path, _MADE_BY)
        try:
            key = load_pem_private_key(data, None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, X25519PrivateKey):
            raise ParameterError("the file holds no private key of a study (X25519 in PEM); take "
                                 f"the one that {_MADE_BY} or privsieve combine study wrote")
        return cls(key)

    @property
    def pem(self) -> bytes:
        """The key as a PKCS8 PEM file."""
        from cryptography.hazmat.primitives import serialization as form

        found: bytes = self._key.private_bytes(
            form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
        return found

    # [secret]
    def secret(self, other: SitePublic, use: Use) -> bytes:
        """32 bytes that these two share, for one use."""
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        try:
            shared = self._key.exchange(X25519PublicKey.from_public_bytes(other.raw))
        except ValueError:  # a point of small order shares the same with everybody
            raise ParameterError(f"the key {other.fingerprint} of the study is no key that two "
                                 f"can share; its owner makes another with {_MADE_BY}") from None
        return HKDF(SHA256(), 32, None, use.info(self.public, other)).derive(shared)
    # [/secret]

    # [own]
    def own(self, use: Use) -> bytes:
        """32 bytes that nobody shares, for one use: the same each time."""
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        info = use.info(self.public, self.public)
        return HKDF(SHA256(), 32, None, info).derive(self._key.private_bytes_raw())
    # [/own]


@dataclass(frozen=True)
class Use:
    """What a secret is for; no two uses share one.

    word : a mask of two sites, a site's message to the combiner, the combiner's to a site, the
        order of a site's ties, or its note of its rows
    study : the digest of the study with all of its keys
    at : the round; of ties the column
    rests_on : the digest of what the rounds before came to; of ties how often it was tried
    """

    word: Literal["mask", "sum", "found", "ties", "rows"]
    study: str
    at: int
    rests_on: str = ""

    def info(self, one: SitePublic, other: SitePublic) -> bytes:
        """The use as bytes, the same for both."""
        return TAG + canonical({
            "use": self.word, "study": self.study, "round": self.at, "rests_on": self.rests_on,
            "pair": sorted([one.raw.hex(), other.raw.hex()])})


# [stream]
def stream(secret: bytes, size: int) -> Words:
    """So many words of ChaCha20 under a secret that has this one use.

    >>> len(stream(bytes(32), 3))
    3
    """
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

    made = Cipher(ChaCha20(secret, bytes(16)), None).encryptor().update(bytes(8 * size))
    return np.frombuffer(made, "<u8").astype(np.uint64)
# [/stream]


# [masked]
def masked(words: Words, key: SiteKey, sites: Sequence[SitePublic], use: Use) -> Words:
    """A site's words modulo 2^64: plus a mask for each site after it, minus one for each before.

    >>> one, other = SiteKey.make(), SiteKey.make()
    >>> both, use = [one.public, other.public], Use("mask", "00" * 32, 1)
    >>> (masked(np.arange(3, dtype=np.uint64), one, both, use)
    ...  + masked(np.full(3, 2**64 - 1, np.uint64), other, both, use)).tolist()
    [18446744073709551615, 0, 1]
    """
    mine, found = sites.index(key.public), words.copy()
    for at, other in enumerate(sites):
        if at > mine:
            found += stream(key.secret(other, use), len(words))
        elif at < mine:
            found -= stream(key.secret(other, use), len(words))
    return found
# [/masked]


# [sealed]
def sealed(text: bytes, head: bytes, key: SiteKey, other: SitePublic, use: Use) -> bytes:
    """A text that these two can read, bound to a head that all can read.

    >>> one, other, use = SiteKey.make(), SiteKey.make(), Use("sum", "00" * 32, 1)
    >>> opened(sealed(b"text", b"head", one, other.public, use), b"head", other, one.public, use)
    b'text'
    """
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    nonce = os.urandom(_NONCE)
    return nonce + ChaCha20Poly1305(key.secret(other, use)).encrypt(nonce, text, head)


def opened(data: bytes, head: bytes, key: SiteKey, other: SitePublic, use: Use) -> bytes | None:
    """The text, if the two sealed it with this head for this use; else None."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    try:
        return ChaCha20Poly1305(key.secret(other, use)).decrypt(data[:_NONCE], data[_NONCE:], head)
    except (InvalidTag, ValueError):
        return None
# [/sealed]
