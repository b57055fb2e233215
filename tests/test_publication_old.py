"""Law: what version 0.1.0 published is still read, and what it did not count is said."""

import json
import shutil
from pathlib import Path

import pytest

from privsieve.check.verify import verify
from privsieve.public.canonical import parsed
from privsieve.public.plan import sentence
from privsieve.public.strangers import spoken
from privsieve.report import html

GOLDEN = Path(__file__).parent / "golden" / "publication-0.1.0"


def files(name):
    """The certificate and the release of a golden folder."""
    return tuple(parsed((GOLDEN / name / f"{one}.json").read_bytes())
                 for one in ("certificate", "release"))


@pytest.mark.parametrize("name", ["contained", "strict"])
def test_an_old_publication_verifies(name):
    """Claims without roles hold as they did, and their page is written."""
    folder = GOLDEN / name
    certificate, release = files(name)
    found = verify(folder / "certificate.json", folder / "release.json",
                   table=folder / "table.csv")

    assert ((), "0.1.0") == (found.reasons, certificate["software"]["privsieve"])
    assert b"Who may know what" in html(release, certificate)


def test_a_target_that_was_not_counted_is_said_so():
    """Promise, page and check say of an old publication that its target was not counted."""
    certificate, release = files("contained")
    notes = verify(GOLDEN / "contained" / "certificate.json").notes

    assert ("target, published, not counted", ("ill",)) in spoken(certificate["claim"])
    assert "who also knows ill may find fewer" in sentence(certificate)
    assert any("was not counted toward k" in note for note in notes)
    assert b"target, published, not counted" in html(release, certificate)


def test_an_old_claim_that_was_edited_is_found(tmp_path):
    """An old folder has reasons against it when its claim or table is edited."""
    shutil.copytree(GOLDEN / "contained", tmp_path / "out")
    good = json.loads((tmp_path / "out" / "certificate.json").read_text())
    for name, value in (("level", 9), ("k", 9), ("target", None), ("roles", {})):
        bad = {**good, "claim": {**good["claim"], name: value}}

        assert verify(bad, table=tmp_path / "out" / "table.csv").reasons, name
