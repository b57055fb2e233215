"""`privsieve key`: make a key that signs, show its public half, put another in its place."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from privsieve.cli import words
from privsieve.cli.private import new_file, result
from privsieve.cli.verb import VerbGroup
from privsieve.errors import ParameterError
from privsieve.public.plain import read
from privsieve.trust.keys import LARGEST_KEY, PrivateKey, PublicKey

#: Where a passphrase may stand for programs; people are asked.
VARIABLE = "PRIVSIEVE_PASSPHRASE"
#: So much OpenSSL takes.
MOST = 1023

_passphrase = click.option("--passphrase", is_flag=True,
                           help=f"Encrypt the key; asks, or takes ${VARIABLE}.")


@click.group("key", cls=VerbGroup, epilog="Example: privsieve key make maker.pem")
def command() -> None:
    """Make a key that signs, show its public half, or put another in its place."""


@command.command("make", epilog="Example: privsieve key make maker.pem --passphrase")
@click.argument("file")
@_passphrase
def make(file: str, passphrase: bool, as_json: bool) -> None:  # noqa: FBT001  # click gives them by name
    """Make a private key in the new FILE, which only its owner can read."""
    key, data = _new(encrypt=passphrase)
    with new_file(file, "of the private key") as write:
        write(data)
    if as_json:
        words.json({"fingerprint": key.public.fingerprint, "key": file})
    else:
        words.line(key.public.fingerprint)
    words.say("key", f"{file}: keep it to yourself; others get what privsieve key show prints")


@command.command("show", epilog="Example: privsieve key show maker.pem --out maker.pub")
@click.argument("file")
@click.option("--out", metavar="FILE", help="A new file for the public half, instead of stdout.")
def show(file: str, **options: Any) -> None:
    """Print the public half of the key in FILE, private or public, and say its fingerprint."""
    public = _public(file)
    text = public.pem.decode()
    result(text, {"fingerprint": public.fingerprint, "public": text}, options, mode=0o644)
    click.echo(public.fingerprint, err=True)


def opened(path: str) -> PrivateKey:
    """The private key in a file."""
    with needing_cryptography():
        return PrivateKey.read(path, _asked)


@contextmanager
def needing_cryptography() -> Iterator[None]:
    """Say how to install what signs, where it is missing."""
    try:
        yield
    except ImportError:
        raise ParameterError("signing needs the cryptography package: pip install "
                             "'privsieve[sign]'") from None


def _new(*, encrypt: bool) -> tuple[PrivateKey, bytes]:
    """A new key, and its file's bytes."""
    with needing_cryptography():
        key = PrivateKey.make()
        return key, key.pem(_asked(new=True) if encrypt else None)


def _asked(*, new: bool = False) -> str:
    """The passphrase of a key: of the environment, or of a person."""
    said = os.environ.get(VARIABLE)
    if said is None and sys.stdin.isatty():
        said = click.prompt("Passphrase of the key", hide_input=True, confirmation_prompt=new,
                            err=True)
    if not said:
        raise ParameterError(f"the key needs a passphrase, and nobody can be asked; set {VARIABLE}")
    if len(said.encode("utf-8", "surrogateescape")) > MOST or any(
            "\ud800" <= c <= "\udfff" for c in said):
        raise ParameterError(f"the passphrase has more than {MOST} bytes, or is no plain text in "
                             "UTF-8; take another")
    return said


def _public(path: str) -> PublicKey:
    data = read(path, "the key", ParameterError, LARGEST_KEY, way="; name a file of privsieve key")
    return opened(path).public if b"PRIVATE KEY" in data else PublicKey.of_pem(data)
