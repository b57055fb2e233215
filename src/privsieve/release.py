"""Release: what leaves: public facts and a mechanism's output, and no row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from privsieve.errors import SchemaError
from privsieve.public.canonical import Json, canonical, digest, parsed
from privsieve.public.shown import quoted

FORMAT = "privsieve-release/1"
#: The file of a release is far below; more is an attack on memory.
LARGEST_FILE = 64 * 2**20


@dataclass(frozen=True)
class Release:
    """A release and its certificate, each as JSON.

    `selected` are names; `certificate` is None for what is not private (a replayed noise).
    """

    body: Mapping[str, Json]
    certificate: Mapping[str, Json] | None

    def __repr__(self) -> str:
        """The kind and the chosen names: a table of counts may have a million cells."""
        return f"Release({self.body.get('kind')}: {', '.join(map(str, self.selected))})"

    @property
    def selected(self) -> tuple[str, ...]:
        """The names that were chosen."""
        return tuple(self.body["selected"])  # type: ignore[arg-type]

    @property
    def columns(self) -> tuple[str, ...]:
        """All names that could have been chosen."""
        return tuple(self.body["columns"])  # type: ignore[arg-type]

    @property
    def bytes(self) -> bytes:
        """`release.json`, byte for byte."""
        return canonical(self.body)

    @property
    def sha256(self) -> str:
        """The digest that the certificate binds."""
        return digest(self.bytes)

    def save(self, folder: str | Path) -> None:
        """Write the release folder, with its report; it must not exist."""
        from privsieve.ledger.folder import Folder
        from privsieve.report import stage_report

        with Folder.create(folder) as opened:
            opened.stage("release.json", self.bytes)
            if self.certificate is not None:
                opened.stage("certificate.json", canonical(self.certificate))
                stage_report(opened, self.body, self.certificate)
            opened.link()


def load(folder: str | Path) -> Release:
    """Read a release folder; `verify` says whether it is what its certificate claims."""
    body = _read(Path(folder) / "release.json")
    if body.get("format") != FORMAT:
        raise SchemaError(f"release.json says format {quoted(body.get('format'))}; this version "
                          f"reads {FORMAT!r}")
    if not all(_is_names(body.get(name)) for name in ("columns", "selected")):
        raise SchemaError("release.json does not say its columns and those that were selected; "
                          "take the file as privsieve wrote it")
    certificate = Path(folder) / "certificate.json"
    return Release(body, _read(certificate) if certificate.exists() else None)


def _read(path: Path) -> dict[str, Json]:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
        found = parsed(data) if len(data) <= LARGEST_FILE else None
    except (OSError, ValueError):
        raise SchemaError(f"{path.name} is missing or is not JSON; name a release folder that "
                          "privsieve wrote") from None
    if not isinstance(found, dict):
        raise SchemaError(f"{path.name} is not a release, or larger than 64 MB; name a release "
                          "folder that privsieve wrote")
    return found


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)
