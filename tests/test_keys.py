"""Laws of keys: what anybody can sign for, see or mistake for a key is refused."""

from __future__ import annotations

import os

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from privsieve.errors import ParameterError
from privsieve.trust.keys import PrivateKey, PublicKey, fingerprint_of

MAKER, ANNA = PrivateKey.make(), PrivateKey.make()


def order_is_small(raw):
    """Whether eight times a point is nothing: the curve's own arithmetic, by the book."""
    p = 2**255 - 19
    d = -121665 * pow(121666, -1, p) % p
    y = int.from_bytes(raw, "little") % 2**255
    square = (y * y - 1) * pow(d * y * y + 1, -1, p) % p
    x = pow(square, (p + 3) // 8, p)
    x = x if x * x % p == square else x * pow(2, (p - 1) // 4, p) % p
    if x * x % p != square:
        return False
    for _ in range(3):
        t = d * x * x * y * y % p
        x, y = 2 * x * y * pow(1 + t, -1, p) % p, (y * y + x * x) * pow(1 - t, -1, p) % p
    return (x, y) == (0, 1)


SMALL = ["00" * 32, "01" + "00" * 31, "ec" + "ff" * 30 + "7f",
         "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
         "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"]


@pytest.mark.parametrize("raw", [*SMALL, *(f"{key[:-2]}{int(key[-2:], 16) | 128:02x}"
                                           for key in SMALL)])
def test_keys_of_small_order_are_refused(raw):
    """Anybody can sign for them."""
    assert order_is_small(bytes.fromhex(raw))
    assert not order_is_small(ANNA.public.raw)
    with pytest.raises(ParameterError, match="small order"):
        PublicKey(bytes.fromhex(raw))


@pytest.mark.parametrize("raw", [
    "ed" + "ff" * 30 + "7f", "ee" + "ff" * 31, "ff" * 32, "", "00" * 31, "09" * 33])
def test_what_is_no_key_is_refused(raw):
    """Coordinates beyond the prime are second spellings of others; other lengths are no keys."""
    with pytest.raises(ParameterError):
        PublicKey(bytes.fromhex(raw))


def test_a_small_order_key_does_sign_for_anybody():
    """What the refusal is for: a signature of nothing holds for any message, unless refused."""
    raw = bytes.fromhex("01" + "00" * 31)
    forged = raw + b"\0" * 32  # the neutral point, and zero
    try:
        Ed25519PublicKey.from_public_bytes(raw).verify(forged, b"anything")
    except InvalidSignature:
        pytest.skip("this cryptography refuses it by itself")


def garbage():
    """Files that hold no public key of ours."""
    pem, other = MAKER.public.pem, ec.generate_private_key(ec.SECP256R1()).public_key()
    return {"nothing": b"", "text": b"x", "cut": pem[:-30], "more": pem + b"x", "twice": pem * 2,
            "another kind": pem.replace(b"MCow", b"MCoW"), "private": MAKER.pem(None),
            "encrypted": MAKER.pem("secret"),
            "P-256": other.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)}


@pytest.mark.parametrize("name", sorted(garbage()))
def test_garbage_is_no_public_key(tmp_path, name):
    """Other PEM files, and private keys, are refused in words that show nothing of them."""
    pem = garbage()[name]
    (tmp_path / "x.pub").write_bytes(pem)

    with pytest.raises(ParameterError) as error:
        fingerprint_of(str(tmp_path / "x.pub"))
    assert ("private" in str(error.value)) == (b"PRIVATE" in pem)


@pytest.mark.parametrize("message", ["missing.pub", "sha256:00", "", "a\0b", "."])
def test_what_names_no_key_is_refused(message):
    """Neither a fingerprint nor a file."""
    with pytest.raises(ParameterError, match="name the file of a public key"):
        fingerprint_of(message)


def written(path, data, mode=0o600):
    """A key file."""
    path.write_bytes(data)
    path.chmod(mode)
    return path


def test_private_keys_are_read_back(tmp_path):
    """Plain and encrypted; a wrong passphrase, another kind, a public one are refused."""
    path = written(tmp_path / "k", MAKER.pem(None))
    assert PrivateKey.read(path, pytest.fail).public == MAKER.public
    path = written(path, MAKER.pem("secret"))
    assert PrivateKey.read(path, lambda: "secret").public == MAKER.public
    other = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for data in (MAKER.pem("other"), MAKER.public.pem, other, b"", b"-----BEGIN PRIVATE KEY-----",
                 MAKER.pem(None)[:-40]):
        with pytest.raises(ParameterError):
            PrivateKey.read(written(path, data), lambda: "secret")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o610, 0o601])
def test_a_private_key_that_others_can_read_is_refused(tmp_path, mode):
    """Anyone who can read it can sign."""
    with pytest.raises(ParameterError, match="others can read the private key"):
        PrivateKey.read(written(tmp_path / "k", MAKER.pem(None), mode), pytest.fail)


def test_a_pipe_is_no_key(tmp_path):
    """What is no file is not waited for."""
    os.mkfifo(tmp_path / "pipe", 0o600)
    for bad in (tmp_path / "pipe", tmp_path, tmp_path / "missing"):
        with pytest.raises(ParameterError):
            PrivateKey.read(bad, pytest.fail)


def test_a_key_says_nothing_of_itself():
    """Neither `repr` nor attributes of a signer show the private half."""
    raw = MAKER._key.private_bytes_raw()

    assert raw.hex() not in repr(MAKER) + repr(vars(MAKER))
