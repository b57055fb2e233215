"""`privsieve key`: make a signing key, or show its public half."""

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

#: The environment variable of a passphrase; without it, a terminal asks.
VARIABLE = "PRIVSIEVE_PASSPHRASE"
#: The longest passphrase of OpenSSL in bytes.
MOST = 1023


@click.group("key", cls=VerbGroup, epilog="Example: privsieve key make maker.pem")
def command() -> None:
    """Make a signing key, or show its public half."""


@verb("maker.pem --passphrase", group=command, name="make")
def make(file: str, *, passphrase: bool = False) -> None:
    """Make a private key in the new FILE, which only its owner can read.

    passphrase : encrypt the key; the terminal asks, or $PRIVSIEVE_PASSPHRASE holds the passphrase
    """
    key = PrivateKey.make()
    data = key.pem(_read_passphrase(new=True) if passphrase else None)
    with new_file(file, "of the private key") as write:
        write(data)
    tell(Outcome({"fingerprint": key.public.fingerprint, "key": file},
                 lambda: words.lines([key.public.fingerprint])))
    words.say("key", f"{file}: keep it private. `privsieve key show` prints the public half for "
                     "others")


@verb("maker.pem --out maker.pub", group=command, name="show")
def show(file: str, *, out: File | None = None) -> None:
    """Print the public half of the key in FILE, private or public, and its fingerprint.

    out : a new file for the public half, instead of stdout
    """
    data = read(file, "the key", ParameterError, LARGEST_KEY, way="; name a file of privsieve key")
    public = opened(file).public if b"PRIVATE KEY" in data else PublicKey.of_pem(data)
    text = public.pem.decode()
    tell(kept(text, {"fingerprint": public.fingerprint, "public": text}, out, mode=0o644))
    click.echo(public.fingerprint, err=True)


def opened(path: str) -> PrivateKey:
    """Read the private key in a file."""
    return PrivateKey.read(path, _read_passphrase)


def _read_passphrase(*, new: bool = False) -> str:
    """Return the passphrase of a key, from the environment or the terminal."""
    passphrase = os.environ.get(VARIABLE)
    if passphrase is None and sys.stdin.isatty():
        passphrase = click.prompt("Passphrase of the key", hide_input=True,
                                  confirmation_prompt=new, err=True)
    if not passphrase:
        raise ParameterError("the key needs a passphrase, but there is no terminal to ask for it; "
                             f"set {VARIABLE}")
    if len(passphrase.encode("utf-8", "surrogateescape")) > MOST or any(
            "\ud800" <= c <= "\udfff" for c in passphrase):
        raise ParameterError(f"the passphrase has more than {MOST:,} bytes, or is not UTF-8 text; "
                             "choose another")
    return str(passphrase)
