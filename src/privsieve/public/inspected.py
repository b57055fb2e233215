"""Which domain file somebody has looked at a table with: a digest beside it, and no more.

That somebody looked is public, and so may not hang on what was seen: the note is written after
every look, whatever the verdict, and holds the digest of the domain file alone.
"""

from __future__ import annotations

import os
from pathlib import Path

from privsieve.public.canonical import digest as sha256

ENDING = ".inspected"
_TEXT = ("# privsieve inspect looked at a table with the domain file of this digest.\n"
         "# It says nothing of the table, and may be deleted.\nsha256:{}\n")


def digest(domain_file: str | os.PathLike[str]) -> str | None:
    """SHA-256 of a domain file, byte for byte; None where it cannot be read."""
    try:
        return sha256(Path(domain_file).read_bytes())
    except OSError:
        return None


def note(domain_file: str | os.PathLike[str], seen: str) -> bool:
    """Write the digest that was seen beside the domain file, in place of an earlier one.

    False where nothing can be written there: then a selection asks for a look.
    """
    path = f"{os.fspath(domain_file)}{ENDING}"
    new = Path(f"{path}.{os.urandom(8).hex()}")
    try:
        with new.open("x", encoding="utf-8") as file:
            file.write(_TEXT.format(seen))
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        return False
    return True


def was_seen(domain_file: str | os.PathLike[str]) -> bool:
    """Whether somebody has looked at a table with the domain file as it stands."""
    try:
        said = Path(f"{os.fspath(domain_file)}{ENDING}").read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return False
    return f"sha256:{digest(domain_file)}" in said
