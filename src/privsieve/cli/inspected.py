"""Which domain file somebody has looked at a table with: a digest beside it, and no more.

That somebody looked is public, and so may not hang on what was seen: the note is written after
every look, whatever the verdict, and holds the digest of the domain file alone.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from privsieve.cli import words

ENDING = ".inspected"
_TEXT = ("# privsieve inspect looked at a table with the domain file of this digest.\n"
         "# It says nothing of the table, and may be deleted.\nsha256:{}\n")


def digest(domain_file: str) -> str | None:
    """SHA-256 of a domain file, byte for byte; None where it cannot be read."""
    try:
        return hashlib.sha256(Path(domain_file).read_bytes()).hexdigest()
    except OSError:
        return None


def note(domain_file: str, seen: str) -> None:
    """Write the digest that was seen beside the domain file, in place of an earlier one."""
    path = f"{domain_file}{ENDING}"
    new = f"{path}.{os.getpid()}"
    try:
        Path(new).write_text(_TEXT.format(seen), encoding="utf-8")
        os.replace(new, path)  # noqa: PTH105  # texts
    except OSError:
        Path(new).unlink(missing_ok=True)
        words.say("noted", "not: beside the domain file nothing can be written, so that select "
                           "will ask for a look", fg="yellow")
    else:
        words.say("noted", f"{path}: that somebody looked with this domain file, and nothing of "
                           "the table")


def was_seen(domain_file: str) -> bool:
    """Whether somebody has looked at a table with the domain file as it stands."""
    try:
        said = Path(f"{domain_file}{ENDING}").read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return False
    return f"sha256:{digest(domain_file)}" in said


def ask(domain_file: str | None) -> None:
    """Say where nobody has looked: a fact about two files, before a row is read."""
    if domain_file is not None and not was_seen(domain_file):
        words.say("inspect", "nobody has looked at a table with this domain file as it stands: "
                             "what it misspells, a label above all, is silent here and costs all "
                             "the same; privsieve inspect shows it", fg="yellow")
