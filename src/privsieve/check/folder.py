"""Folder: verify a release folder; each file is checked, or named as not checked.

`check.verify` checks the two JSON files.  Other files are made or counted again: the report from
the two files, synthetic rows from the released table, the level from the published table.
Signatures cover all files together.  Links are not followed.  Each file is read once, so that the
checked bytes are the signed bytes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from privsieve.check import verify as two_files
from privsieve.check.reasons import Unreadable
from privsieve.check.replan import is_made_again
from privsieve.check.verify import UNSIGNED, Source, Verification
from privsieve.errors import CheckFailed, PrivsieveError
from privsieve.public.canonical import digest, parsed, quoted, visible
from privsieve.public.plain import LARGEST_FILE, opened, read
from privsieve.public.plan import sentence
from privsieve.release import WRONG

if TYPE_CHECKING:
    from pathlib import Path

    from privsieve.ledger.ledger import Ledger
    from privsieve.trust.signers import Role, Signers

RELEASE, CERTIFICATE, SIGNATURES = "release.json", "certificate.json", "signatures.json"
REPORT, ROWS = "report.html", "synthetic.csv"
#: The name of the table in the folder of a publication.
TABLES = ("table.csv",)
#: Files that are not checked.
NOT_CHECKED = {"request.json": "the request of an unfinished release"}
#: Why files that follow from the two JSON files are not checked if these have faults.
UNSURE = "not checked, because the release or its certificate has faults"
#: The most bytes of a page; real pages have a few hundred kilobytes.
LARGEST_PAGE = 256 * 2**20
#: The most bytes of all signed files of a folder.
LARGEST_FOLDER = 2**30
#: The most names of columns in a sentence, and the most files of a folder.
MANY = 30
MOST_FILES = 1000
#: The shown characters of a fingerprint.
SHORT = len("sha256:") + 16
_TOO_LARGE = "the folder holds more than 1 GB, more than any release: remove large files"
_OTHER_ROWS = ("synthetic.csv differs from the rows that privsieve makes from this release; make "
               "it again with privsieve synthesize --from")
#: Why a signed page of another version is not checked.
_FOREIGN = "not compared, because this version of privsieve did not write it"
_WHAT = {CERTIFICATE: "the certificate", RELEASE: "the release"}


@dataclass(frozen=True)
class Contents:
    """The contents of a folder: its plain files, and for other entries why they are not read."""

    place: str | os.PathLike[str]
    files: tuple[str, ...]
    others: Mapping[str, str]

    @classmethod
    def of(cls, place: str | os.PathLike[str]) -> Self:
        """List a folder, without following a link."""
        files, others = [], {}
        with os.scandir(place) as entries:
            for at, entry in enumerate(entries):
                if at == MOST_FILES:
                    raise Unreadable(f"the folder holds more than {MOST_FILES} files")
                if entry.is_symlink():
                    others[entry.name] = "a link, which is not followed"
                elif entry.is_dir():
                    others[entry.name] = "a folder, which is not read"
                elif not entry.is_file():
                    others[entry.name] = "not a plain file"
                else:
                    files.append(entry.name)
        return cls(place, tuple(sorted(files)), dict(sorted(others.items())))

    def at(self, name: str) -> str:
        """Return the path of a file of the folder."""
        return os.path.join(self.place, name)  # noqa: PTH118  # no import

    def read(self, name: str, largest: int = LARGEST_FILE) -> bytes:
        """Read a file."""
        return read(self.at(name), _WHAT.get(name, name), Unreadable, largest, named=False)

    def digest(self, name: str) -> str:
        """Return the digest of a file; refuse one that is too large."""
        from hashlib import file_digest  # faster for large files

        try:
            with opened(self.at(name)) as file:
                if os.fstat(file.fileno()).st_size <= LARGEST_FOLDER:
                    return file_digest(file, "sha256").hexdigest()
        except OSError:
            raise Unreadable(f"{quoted(name)} cannot be read") from None
        raise Unreadable(_TOO_LARGE)

    def digests(self, known: Mapping[str, bytes], signed: Collection[str] | None = None,
                ) -> dict[str, str]:
        """Return the digests of all signed files: every file except hidden ones and signatures.

        `known` holds bytes that were read before.  Files are not read if their names differ from
        those that were `signed`, or if they are too large.
        """
        from privsieve.trust.envelope import NAME

        if any(not name.startswith(".") for name in self.others):
            raise Unreadable("the folder holds links or folders, which cannot be signed")
        names = [name for name in self.files if name != SIGNATURES and not name.startswith(".")]
        if not all(re.fullmatch(NAME, name) for name in names):
            raise Unreadable("the folder holds a file with a name that cannot be signed: remove it")
        if signed is not None and set(names) != set(signed):
            raise Unreadable("the signed files are not the files in the folder")
        if sum(os.lstat(self.at(name)).st_size for name in names) > LARGEST_FOLDER:
            raise Unreadable(_TOO_LARGE)
        return {name: digest(known[name]) if name in known else self.digest(name) for name in names}


def verify(certificate: Source, release: Source | None = None, *,
           ledger: str | Path | Ledger | None = None, table: object = None,
           signers: Signers | None = None, plan: str | Path | None = None) -> Verification:
    """Check a release folder, or a certificate and the other files.

    table : the published table; by default the one in the folder
    signers : the required signers of the folder
    plan : a plan that was signed before the release, to compare with it

    >>> verify({}).valid
    False
    """
    if not isinstance(certificate, str | os.PathLike) or not os.path.isdir(certificate):  # noqa: PTH112  # never raises
        result = two_files.verify(certificate, release, ledger=ledger, table=table)
        needs_folder = signers is not None or plan is not None
        return replace(result, reasons=(*result.reasons, *[
            "signatures need a release folder: name the folder"] * needs_folder))
    if release is not None:
        reason = ("a folder already contains its release: name only the folder, or name its "
                  "certificate.json and another release")
        return Verification((reason,), ())
    try:
        checked = FolderCheck.of(Contents.of(certificate), ledger, table)
        checked.beside()
        checked.signatures(signers)
        if plan is not None:
            from privsieve.check.signatures import plan_found

            reasons, notes = plan_found(plan, checked.body, signers)
            checked.reasons.extend(reasons)
            checked.notes.extend(notes)
        return checked.result(signers)
    except Unreadable as error:
        reason = str(error)
    except OSError:
        reason = "the folder cannot be read"
    except WRONG:
        reason = "a field of the files has a wrong type"
    return Verification((reason,), ())


@dataclass(frozen=True)
class FolderCheck:
    """The state of the check of a folder; `body` is its certificate, if the two files are valid.

    `known`, `reasons`, `notes`, `unchecked` and `signed` grow during the check.
    """

    contents: Contents
    known: dict[str, bytes]
    first: Verification
    reasons: list[str]
    unchecked: dict[str, str]
    body: Mapping[str, Any]
    release: Mapping[str, Any]
    signed: dict[str, Role] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, contents: Contents, ledger: str | Path | Ledger | None, table: object) -> Self:
        """Check the two JSON files and, of a publication, the table."""
        known = {name: contents.read(name) for name in (CERTIFICATE, RELEASE)}
        inside = [name for name in TABLES if name in contents.files]
        other_table = table
        if table is None and inside:
            table = contents.at(inside[0])
        first = two_files.verify(known[CERTIFICATE], known[RELEASE], ledger=ledger, table=table)
        body, release = (parsed(known[name]) if first.valid else {}
                         for name in (CERTIFICATE, RELEASE))
        check = cls(contents, known, first, list(first.reasons), dict(contents.others), body,
                    release)
        published = bool(body) and body["claim"]["kind"] == "containment"
        checked = {*known, REPORT, ROWS, SIGNATURES, *(inside if published else ())}
        why = NOT_CHECKED if body else {**NOT_CHECKED, **dict.fromkeys(TABLES, UNSURE)}
        check.unchecked.update((name, why.get(name, "not a file of a release"))
                              for name in contents.files if name not in checked)
        if published and other_table is not None and inside and (  # another table was counted
                contents.digest(inside[0]) != body["claim"]["table_sha256"]):
            check.reasons.append("the table in the folder is not the certified table")
        return check

    def beside(self) -> None:
        """Check the files that follow from the two JSON files."""
        for name, check in ((REPORT, self._page), (ROWS, self._rows)):
            if name in self.contents.files:
                why = check() if self.body else UNSURE
                if why is not None:
                    self.unchecked[name] = why

    def _page(self) -> str | None:
        """Compare the report with the two files, or return why it was not compared."""
        from privsieve.report import html

        self.known[REPORT] = page = self.contents.read(REPORT, LARGEST_PAGE)
        try:
            if page == html(self.release, self.body):
                return None
        except PrivsieveError:
            self.reasons.append("report.html cannot be checked: the release lacks facts for it")
            return None
        if not ours(page) and SIGNATURES in self.contents.files:  # they bind the page
            return _FOREIGN
        if not ours(page):
            self.reasons.append("report.html was not written by this version of privsieve: delete "
                                "it, and write it again with privsieve report")
            return None
        self.reasons.append("report.html does not follow from the release: it was changed, or "
                            "belongs to another release")
        return None

    def _rows(self) -> str | None:
        """Make synthetic rows again from the release, or return why there are none."""
        if "cells" not in self.release:
            return "synthetic rows need a table of counts, and the release has none"
        self.known[ROWS] = data = self.contents.read(ROWS)
        if not is_made_again(data, self.release):
            self.reasons.append(_OTHER_ROWS)
        return None

    def signatures(self, signers: Signers | None) -> None:
        """Check who signed the files of the folder."""
        due = bool(signers and signers.wanted)
        if SIGNATURES not in self.contents.files:
            self.reasons.extend(["the folder holds no signatures, but you require some"] * due)
            return
        if not self.body:
            self.unchecked[SIGNATURES] = UNSURE
            return
        from privsieve.check.signatures import signed_parts
        from privsieve.trust.envelope import LARGEST_ENVELOPE, Envelope

        try:
            envelope = Envelope.read(self.contents.read(SIGNATURES, LARGEST_ENVELOPE))
            digests = self.files(envelope.statement.subjects)
            self.signed.update(signed_parts(envelope, self.body, digests))
        except (CheckFailed, Unreadable) as error:
            self.reasons.append(str(error))
            return
        except ImportError as error:
            why = str(error)
            self.unchecked[SIGNATURES] = why
            due = due or self.unchecked.get(REPORT) == _FOREIGN  # no checked signature binds it
            self.reasons.extend([f"the signatures cannot be checked: {why}"] * due)
            return
        self.reasons.extend(signers.reasons(self.signed) if signers else ())

    def files(self, signed: Collection[str] | None = None) -> dict[str, str]:
        """Return the digests of all signed files, as they were checked."""
        digests = self.contents.digests(self.known, signed)
        tables = {digests[name] for name in TABLES if name in digests}
        if not tables <= {self.body["claim"].get("table_sha256"), *(
                tables if "epsilon" in self.body["claim"] else ())}:
            raise Unreadable("the table is not the certified table")
        return digests

    def result(self, signers: Signers | None) -> Verification:
        """Return the result of the check."""
        # A sentence on a valid folder already says that it is unsigned.
        is_stated = self.signed or not self.reasons
        notes = [note for note in self.first.notes if not is_stated or note != UNSIGNED]
        notes += self.notes
        if self.signed and not (signers and signers.wanted):
            notes.append("you named no required signers, and anybody can sign with their own key: "
                         "compare the fingerprints")
        return Verification(
            tuple(self.reasons), tuple(notes), "" if self.reasons else self._says(), self.signed,
            {_printable(name): why for name, why in sorted(self.unchecked.items())})

    def _says(self) -> str:
        """Return the claim of a valid folder, in one sentence."""
        claim = self.body["claim"]
        who = ", ".join(f"{key[:SHORT]}… as {role}" for key, role in self.signed.items())
        first = (f"If you trust the signature{'s' * (len(self.signed) > 1)} of {who}, this holds"
                 if who else f"{UNSIGNED}. If you trust the sender, this holds")
        names = claim["columns"] if "columns" in claim else self.release["selected"]
        others = f" and {len(names) - MANY} more" if len(names) > MANY else ""
        amounts = ""
        if "epsilon" in claim:
            delta = "" if claim["delta"] == "0" else f", delta {claim['delta']}"
            amounts = f" (epsilon {claim['epsilon']}{delta}, {claim['neighbours']})"
        promise = sentence(self.body).rstrip(".")
        selected = ", ".join(visible(str(name)) for name in names[:MANY]) or "nothing"
        return f"{first}: {promise}{amounts}; selected: {selected}{others}."


def ours(page: bytes) -> bool:
    """Return whether a page names this version as its maker.

    >>> ours(b'<meta name="generator" content="privsieve 0.0.1">')
    False
    """
    from privsieve._version import __version__

    return f'<meta name="generator" content="privsieve {__version__}">'.encode() in page


def _printable(name: str) -> str:
    r"""Return the name of a file that an attacker may have chosen, for a screen.

    >>> _printable("notes.txt"), _printable("a\x1b[31m")
    ('notes.txt', "'a\\x1b[31m'")
    """
    # In full: two names that begin alike are two files.
    return name if re.fullmatch("[A-Za-z0-9._-]{1,100}", name) else repr(name)
