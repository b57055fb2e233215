"""State: the choices of a user so far, saved in the folder so that nothing is lost."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import msgspec

from privsieve.folder import CERTIFICATE, NOTE, hidden_file, write_durably

#: Files of the desk in its folder.
STATE, DOMAIN, LEDGER, INSPECTION = ("desk.json", "domain.toml", "budget.db", "inspection.json")
#: Tables that the readers know, by the end of their names.
TABLES = (".csv", ".tsv", ".parquet", ".xlsx")


@dataclass(frozen=True, repr=False)
class Choices:
    """The choices of a user, without any cell of a row.

    roles : of a column: always, never or sensitive
    groups : of a column the name of its group
    request : the name of the next charge, and `out` the folder of its release
    """

    file: str = ""
    purpose: str = "names"
    count: str = "5"
    k: str = "5"
    profile: str = "few"
    epsilon: str = ""
    population: str = ""
    roles: dict[str, str] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    request: str = ""
    out: str = ""


class Ran(NamedTuple):
    """The end of a command: its code, its JSON, and its one sentence of refusal."""

    code: int
    facts: Mapping[str, Any]
    error: str

    def __repr__(self) -> str:
        return object.__repr__(self)


class Desk:
    """The folder of a desk, and the choices of its user."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.lock = folder.resolve(), Lock()

    @property
    def choices(self) -> Choices:
        """Return the choices that are saved in the folder, or the defaults."""
        try:
            return msgspec.json.decode((self.folder / STATE).read_bytes(), type=Choices)
        except (OSError, ValueError):
            return Choices()

    def choose(self, **changes: Any) -> Choices:
        """Save some choices."""
        choices = replace(self.choices, **changes)
        self.write(STATE, msgspec.json.encode(asdict(choices)))
        return choices

    def write(self, name: str, data: bytes) -> None:
        """Write a file of the desk, which only its owner may read; the old one stays until then."""
        with hidden_file(self.folder / name) as (file, hidden):
            write_durably(file.fileno(), data)
            hidden.replace(self.folder / name)

    def facts(self, *path: str) -> dict[str, Any]:
        """Return the JSON object in a file of the folder; an empty one if there is none."""
        file = self.folder.joinpath(*path)
        return _object(file.read_bytes()) if file.is_file() else {}

    def tables(self) -> list[str]:
        """Return the names of the tables in the folder."""
        return sorted(path.name for path in self._files() if path.suffix.lower() in TABLES)

    def path(self, folder: str, name: str) -> Path | None:
        """Return a file of a release folder; None for a path that leads elsewhere."""
        return next((path for release in self._folders() if release.name == folder
                     for path in release.iterdir() if path.name == name
                     and path.is_file() and not path.is_symlink()), None)

    def releases(self) -> list[str]:
        """Return the finished release folders, the newest first."""
        return [path.name for path in self._folders() if (path / CERTIFICATE).is_file()
                and not (path / NOTE).exists()]

    def unfinished(self) -> list[str]:
        """Return the release folders that a crash left unfinished."""
        return [path.name for path in self._folders() if (path / NOTE).exists()]

    def next_request(self) -> Choices:
        """Return the choices with the name of the next charge and its folder.

        The same names come again until the release is finished: so a second click, a reload and a
        new start of the desk ask for the same charge.
        """
        choices = self.choices
        word = "selection" if choices.purpose == "names" else "table"
        if choices.request and choices.out.startswith(word) and (
                choices.out not in self.releases()):
            return choices
        taken = {path.name for path in self.folder.iterdir()}
        out = next(name for at in range(1, 10**6) if (name := f"{word}-{at}") not in taken)
        return self.choose(request=f"desk-{secrets.token_hex(8)}", out=out)

    def run(self, words: Sequence[str]) -> Ran:
        """Run a command of privsieve in the folder."""
        done = subprocess.run(  # noqa: S603  # our own program, and no shell
            [sys.executable, "-m", "privsieve", *words, "--json"], cwd=self.folder, check=False,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8",
            env={**os.environ, "NO_COLOR": "1", "PYTHONUTF8": "1"})
        facts = _object(done.stdout)
        last = [line for line in done.stderr.splitlines() if line.startswith("privsieve: ")]
        error = last[-1].removeprefix("privsieve: ") if done.returncode and last else (
            "the command failed" if done.returncode else "")
        return Ran(done.returncode, facts, error)

    def _files(self) -> list[Path]:
        return [path for path in self.folder.iterdir()
                if path.is_file() and not path.is_symlink() and not path.name.startswith(".")]

    def _folders(self) -> list[Path]:
        paths = [path for path in self.folder.iterdir() if path.is_dir() and not path.is_symlink()
                 and ((path / CERTIFICATE).is_file() or (path / NOTE).exists())]
        return sorted(paths, key=lambda path: path.stat().st_mtime, reverse=True)


def _object(text: str | bytes) -> dict[str, Any]:
    """Return the object that a text of JSON holds; else an empty one."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except ValueError:
        return {}
