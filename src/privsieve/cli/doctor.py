"""`privsieve doctor`: what this installation has; nothing of who runs it, or where."""

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

#: What the package's own metadata says of a requirement: its name, and the extra that needs it.
_REQUIREMENT = re.compile(r"([\w.-]+)[^;]*(?:;.*extra == [\"']([\w-]+)[\"'])?")
#: Extras of those who work on privsieve, and not of those who use it.
_OF_MAKERS = ("bench", "browser", "ci", "docs", "figures", "lint", "test")


@verb("")
def command() -> Outcome:
    """Say what this installation has and what it lacks; no secret and no path."""
    facts, needs = _facts(), packages()
    has = {name: _version(name) for name in needs}

    def show() -> None:
        for name, value in facts.items():
            words.show(name, str(value))
        click.echo()
        for name, extra in needs.items():
            lacks = f"not installed: privsieve[{extra}]" if extra else "missing"
            words.show(f"{name:<14}{has[name] or lacks}",
                       fg="red" if has[name] is None and not extra else None)

    return Outcome({**facts, "packages": {**has}}, show)


def packages() -> dict[str, str]:
    """The packages that are needed, and those of an extra with its name, as the metadata says."""
    needs: dict[str, str] = {}
    for line in requires("privsieve") or ():
        match = _REQUIREMENT.match(line)
        if match and match[2] not in _OF_MAKERS:
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
        # Whether the system gives random bytes; they are counted, not shown.
        "entropy": f"os.urandom gives {8 * len(os.urandom(32))} bits",
        "sqlite": f"{sqlite3.sqlite_version} (the ledger)",
        "terminal": "yes" if sys.stdout.isatty() else "no",
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
