"""`privsieve doctor`: what this installation has; nothing of who runs it, or where."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

import click

from privsieve import kernels
from privsieve._version import __version__
from privsieve.cli import words
from privsieve.cli.verb import Verb
from privsieve.public.canonical import Json

#: What each package is for; the first ones are needed, the rest is optional.
NEEDED = {
    "numpy": "arrays",
    "msgspec": "fields of releases and certificates",
    "python-flint": "exact noise",
    "click": "this command line",
    "pyarrow": "Parquet and Arrow tables",
    "scikit-learn": "estimators in Python",
    "scipy": "audits, sparse matrices",
    "markupsafe": "reports",
    "tomli-w": "domain files",
}
OPTIONAL = {
    "pandas": "pandas frames",
    "polars": "polars frames",
    "cryptography": "signatures",
    "psycopg": "a shared ledger",
    "pyreadstat": "code books of SPSS, Stata, SAS",
    "openpyxl": "code books in Excel",
}


@click.command("doctor", cls=Verb, epilog="Example: privsieve doctor")
def command(as_json: bool) -> None:  # noqa: FBT001  # click gives it by name
    """Say what this installation has and what it lacks; no secret and no path."""
    found, has = _found(), _versions({**NEEDED, **OPTIONAL})
    if as_json:
        words.json({**found, "packages": has})
        return
    for name, value in found.items():
        words.show(name, str(value))
    click.echo()
    for name, purpose in {**NEEDED, **OPTIONAL}.items():
        lacks = "missing" if name in NEEDED else "not installed"
        style = {"fg": "red"} if has[name] is None and name in NEEDED else {}
        words.show(f"{name:<14}{has[name] or lacks:<16}for {purpose}", **style)


def _found() -> dict[str, Json]:
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


def _versions(names: dict[str, str]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found
