"""`privsieve key`: make a key that signs, or show its public half."""

from __future__ import annotations

import os
import sys

import click

from privsieve.cli import words
from privsieve.cli.private import kept, new_file
from privsieve.cli.verb import Outcome, VerbGroup, tell, verb
from privsieve.errors import ParameterError
from privsieve.public.option import File
from privsieve.public.plain import read
from privsieve.trust.keys import LARGEST_KEY, PrivateKey, PublicKey

#: Where a passphrase may stand for programs; people are asked.
VARIABLE = "PRIVSIEVE_PASSPHRASE"
#: So much OpenSSL takes.
MOST = 1023


@click.group("key", cls=VerbGroup, epilog="Example: privsieve key make maker.pem")
def command() -> None:
    """Make a key that signs, or show its public half."""


@verb("maker.pem --passphrase", group=command, name="make")
def make(file: str, *, passphrase: bool = False) -> None:
    """Make a private key in the new FILE, which only its owner can read.

    passphrase : encrypt the key; asks, or takes $PRIVSIEVE_PASSPHRASE
    """
    key = PrivateKey.make()
    data = key.pem(_asked(new=True) if passphrase else None)
    with new_file(file, "of the private key") as write:
        write(data)
    tell(Outcome({"fingerprint": key.public.fingerprint, "key": file},
                 lambda: words.line(key.public.fingerprint)))
    words.say("key", f"{file}: keep it to yourself; others get what privsieve key show prints")


@verb("maker.pem --out maker.pub", group=command, name="show")
def show(file: str, *, out: File | None = None) -> None:
    """Print the public half of the key in FILE, private or public, and say its fingerprint.

    out : a new file for the public half, instead of stdout
    """
    data = read(file, "the key", ParameterError, LARGEST_KEY, way="; name a file of privsieve key")
    public = opened(file).public if b"PRIVATE KEY" in data else PublicKey.of_pem(data)
    text = public.pem.decode()
    tell(kept(text, {"fingerprint": public.fingerprint, "public": text}, out, mode=0o644))
    click.echo(public.fingerprint, err=True)


def opened(path: str) -> PrivateKey:
    """The private key in a file."""
    return PrivateKey.read(path, _asked)


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
