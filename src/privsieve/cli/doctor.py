"""`privsieve doctor`: the parts of this installation; no user names and no paths."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, requires, version

import click

from privsieve import kernels
from privsieve._version import __version__
from privsieve.cli import words
from privsieve.cli.verb import Outcome, verb
from privsieve.public.canonical import Json

#: A requirement in the package's metadata: its name, and the extra that needs it.
_REQUIREMENT = re.compile(r"([\w.-]+)[^;]*(?:;.*extra == [\"']([\w-]+)[\"'])?")
#: Extras for the development of privsieve.
_DEVELOPMENT = ("bench", "browser", "ci", "docs", "figures", "lint", "test")


@verb("")
def command() -> Outcome:
    """Show what this installation has and what it lacks, without secrets and paths."""
    facts, needs = _facts(), packages()
    versions = {name: _version(name) for name in needs}

    def show() -> None:
        for name, value in facts.items():
            words.show(name, str(value))
        click.echo()
        for name, extra in needs.items():
            missing = f"not installed: privsieve[{extra}]" if extra else "missing"
            words.show(f"{name:<14}{versions[name] or missing}",
                       fg="red" if versions[name] is None and not extra else None)

    return Outcome({**facts, "packages": {**versions}}, show)


def packages() -> dict[str, str]:
    """Return the required packages, each with the extra that needs it, from the metadata."""
    needs: dict[str, str] = {}
    for line in requires("privsieve") or ():
        match = _REQUIREMENT.match(line)
        if match and match[2] not in _DEVELOPMENT:
            needs.setdefault(match[1], match[2] or "")
    return needs


def _facts() -> dict[str, Json]:
    import sqlite3

    reason = kernels.reason()
    return {
        "privsieve": __version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": f"{platform.system()} {platform.machine()}",
        "kernels": kernels.implementation() + (f": {reason}" if reason else ""),
        # Test that the system gives random bytes, and count them without showing them.
        "entropy": f"os.urandom gives {8 * len(os.urandom(32))} bits",
        "sqlite": f"{sqlite3.sqlite_version} (the ledger)",
        "terminal": "yes" if sys.stdout.isatty() else "no",
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
