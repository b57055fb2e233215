"""Law: what version 0.1.0 wrote verifies, loads, renders, predicts and samples, for ever."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from pathlib import Path

import pytest

import privsieve as ps
from privsieve.cli import run
from privsieve.ledger.ledger import recount
from privsieve.methods import METHODS
from privsieve.public.canonical import canonical, digest
from privsieve.report import html

GOLDEN = Path(__file__).parent / "golden" / "0.1.0"
FOLDERS = sorted(path.parent.relative_to(GOLDEN).as_posix()
                 for path in GOLDEN.glob("*/*/certificate.json"))
#: Keys of a release that nobody has to read: what they say stands in the certificate, too.
SAID_TWICE = {"warning"}


def files(name):
    """The release and the certificate of a folder."""
    return tuple(json.loads((GOLDEN / name / f"{one}.json").read_bytes())
                 for one in ("release", "certificate"))


def of_kind(kind):
    """Folders of one kind."""
    return [name for name in FOLDERS if files(name)[0]["kind"] == kind]


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """The ledger that 0.1.0 kept of these folders."""
    path = str(tmp_path_factory.mktemp("golden") / "ledger.db")
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript((GOLDEN / "ledger.sql").read_text(encoding="utf-8"))
    return path


def test_there_is_a_folder_of_every_method():
    """All nine methods, the session and a publication are among them, and every kind of release."""
    first = {name.split("/")[0] for name in FOLDERS}
    kinds = {files(name)[0]["kind"] for name in FOLDERS}

    assert {*METHODS, "kernel-session", "publication"} == first
    assert {"selection", "weights", "regression", "histogram", "containment"} == kinds
    assert {"0.1.0"} == {files(name)[1]["software"]["privsieve"] for name in FOLDERS}


@pytest.mark.parametrize("name", FOLDERS)
def test_an_old_folder_verifies(name, ledger):
    """Its numbers, plan and table hold as they did; one of each method is in the ledger."""
    folder = GOLDEN / name
    table = next(folder.glob("table.*"), None)
    alone = name == next(one for one in FOLDERS if one.split("/")[0] == name.split("/")[0])
    kept = ledger if files(name)[1]["ledger"] and (alone or name.endswith("noted")) else None
    checked = ps.verify(folder / "certificate.json", folder / "release.json", table=table,
                        ledger=kept)

    assert () == checked.reasons


def test_the_old_ledger_is_recounted(ledger):
    """All entries hold; of each population is left what its limit leaves."""
    report, entries = recount(ledger)

    assert () == report.reasons
    assert 125 < len(entries)


@pytest.mark.parametrize("name", FOLDERS)
def test_an_old_folder_loads(name, tmp_path):
    """`load` gives its names, and `save` writes the same bytes again."""
    release, certificate = files(name)
    found = ps.load(GOLDEN / name)
    found.save(tmp_path / "again")

    assert (tuple(release["columns"]), certificate) == (found.columns, found.certificate)
    if "selected" in release:
        assert tuple(release["selected"]) == found.selected
    for one in ("release.json", "certificate.json"):
        assert (GOLDEN / name / one).read_bytes() == (tmp_path / "again" / one).read_bytes()


@pytest.mark.parametrize("name", FOLDERS)
def test_an_old_folder_renders(name, tmp_path):
    """`report` makes its page, with the names that were chosen."""
    page = tmp_path / "page.html"
    assert 0 == run(["report", str(GOLDEN / name), "--out", str(page)])
    text, release = page.read_text(), files(name)[0]

    for column in release.get("selected", release["columns"]):
        assert column.split("=")[0] in text


def test_an_old_page_is_made_again(tmp_path):
    """A folder keeps its page of 0.1.0 until that is removed; then one of today is made."""
    shutil.copytree(GOLDEN / "publication" / "few", tmp_path / "few")
    page = tmp_path / "few" / "report.html"
    old = page.read_bytes()

    assert 2 == run(["report", str(tmp_path / "few")])
    assert old == page.read_bytes()
    page.unlink()
    assert 0 == run(["report", str(tmp_path / "few")])
    assert 0 == run(["report", str(tmp_path / "few"), "--check"])
    assert 0 == run(["verify", str(tmp_path / "few")])


@pytest.mark.parametrize("name", [one for one in FOLDERS if one.startswith("kernel-ridge/")])
def test_an_old_model_predicts(name, capsys):
    """Predictions are those that 0.1.0 made of its release, and the estimator's are the same."""
    assert 0 == run(["predict", str(GOLDEN / name), str(GOLDEN / "new.csv")])
    assert (GOLDEN / name / "predictions.txt").read_text() == capsys.readouterr().out
    model = ps.PrivateKernelRidge.of_release(ps.load(GOLDEN / name))
    assert 2 == len(model.predict(GOLDEN / "new.csv"))


@pytest.mark.parametrize("name", of_kind("histogram"))
def test_an_old_table_samples(name, capsys):
    """Counts are those of 0.1.0, and synthetic rows have the names of its cells."""
    expected = json.loads((GOLDEN / name / "counts.json").read_text())

    assert expected == ps.NoisyHistogram.of(ps.load(GOLDEN / name)).counts_.tolist()
    assert 0 == run(["synthesize", "--from", str(GOLDEN / name), "--rows", "20"])
    lines = capsys.readouterr().out.splitlines()
    assert (21, files(name)[0]["cells"]["names"]) == (len(lines), lines[0].split(","))


@pytest.mark.parametrize("name", ["rule-sieve/two", "output-fwell/top", "kernel-ridge/rbf",
                                  "kernel-ridge/linear", "kernel-session/batch-rbf",
                                  "noisy-histogram/columns", "publication/few"])
def test_each_key_of_an_old_release_is_read(name):
    """A release without one of its keys, with a certificate for it, is refused or shown otherwise.

    So a reader that looks for another name of a key turns the tests above red.
    """
    release, certificate = files(name)
    page = html(release, certificate)
    for key in set(release) - SAID_TWICE:
        bad = {other: value for other, value in release.items() if other != key}
        signed = {**certificate, "release_sha256": digest(canonical(bad))}
        try:
            noticed = ps.verify(signed, bad).reasons or html(bad, signed) != page
        except Exception:  # noqa: BLE001  # any refusal is one
            noticed = True
        assert noticed, key
