"""Law: verify.  What anybody may have written takes seconds and little memory, or has a reason."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

import privsieve as ps
from forged import _published, claim_of, table
from privsieve.check import table as table_of
from privsieve.check.table import MOST_ROWS, Unreadable
from privsieve.cli import run
from privsieve.public.canonical import canonical, digest
from privsieve.report import html
from privsieve.trust.keys import PrivateKey

#: What a check of a small file may take.
SECONDS, MEGABYTES = 15, 500
#: Runs the command line, and says last on stderr how long it took and how much memory.
_MEASURED = """
import re, resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, (9 * 2**30,) * 2)
began = time.process_time()
from privsieve.cli import run
code = run(sys.argv[1:])
most = re.search("VmHWM: *([0-9]+)", open("/proc/self/status").read().replace("\t", " "))
print(time.process_time() - began, int(most[1]) // 1024, file=sys.stderr)
sys.exit(code)
"""


def measured(*words, seconds=60):
    """What a command says as JSON, its exit code, and how long it took, in how much memory."""
    done = subprocess.run([sys.executable, "-c", _MEASURED, *map(str, words), "--json"],  # ours
                          capture_output=True, text=True, timeout=seconds, check=False)
    took, most = done.stderr.split("\n")[-2].split()
    return json.loads(done.stdout), done.returncode, float(took), int(most)


def lines(header, rows):
    """A CSV file."""
    return "\n".join([header, *rows, ""]).encode()


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The certificate of a publication, without a ledger, and its release."""
    place = tmp_path_factory.mktemp("published")
    folder = place / _published(place, table()[0])
    body = json.loads((folder / "certificate.json").read_bytes())
    return folder, body


@pytest.fixture
def folder(published, tmp_path):
    """A copy of the publication, which may be changed."""
    return shutil.copytree(published[0], tmp_path / "out")


def claimed(body, data, **claim):
    """A certificate that claims just this file, as a forger writes it."""
    new_claim = {**body["claim"], "table_sha256": digest(data), "target": None, "sensitive": [],
                 "absent": [], "l_diversity": 1, "k": 2, "level": 2, **claim}
    columns, target = new_claim["columns"], new_claim["target"]
    new_claim |= {"origins": columns, "fingerprint": None,
                  "limits": {"share": None, "entropy": None, "closeness": None, "ordered": []},
                  "roles": {"presences": columns, "both": [], "sensitive": new_claim["sensitive"],
                            "target": target, "target_known": target is not None}}
    return {**body, "claim": new_claim, "population": None, "ledger": None}


def many_classes(rows, classes):
    """A CSV file of two columns and a target of many classes, each of which has two rows."""
    return lines("a,b,y", (f"{row // 2 % 2},1,c{row // 2 % classes}" for row in range(rows)))


#: What makes a small file that is a large table, and what is claimed of it.
FILES = {
    "as many rows as are counted": lambda: (
        b"a\n" + b"1\n" * MOST_ROWS, {"columns": ["a"], "rows": MOST_ROWS, "level": MOST_ROWS}),
    "more rows than are counted": lambda: (
        b"a\n" + b"1\n" * (MOST_ROWS + 1), {"columns": ["a"], "rows": MOST_ROWS + 1}),
    "a target of 20,000 classes": lambda: (
        many_classes(40_000, 20_000), {"columns": ["a", "b"], "rows": 40_000, "target": "y"}),
    "a target of 100,000 classes": lambda: (
        many_classes(200_000, 100_000), {"columns": ["a", "b"], "rows": 200_000, "target": "y"}),
    "a sensitive column of 100,000 values": lambda: (
        lines("a,s", (f"1,v{row // 2}" for row in range(200_000))),
        {"columns": ["a"], "rows": 200_000, "sensitive": ["s"], "level": 200_000}),
    "100,000 values in 60 groups": lambda: (
        lines(",".join([*"abcdef", "s"]), (
            ",".join([*f"{row % 60:06b}", f"v{row // 2}"]) for row in range(200_000))),
        {"columns": [*"abcdef"], "rows": 200_000, "sensitive": ["s"], "level": 2000}),
    "100,000 values in 1000 groups": lambda: (
        lines(",".join([*"abcdefghij", "s"]), (
            ",".join([*f"{row % 1000:010b}", f"v{row // 2}"]) for row in range(200_000))),
        {"columns": [*"abcdefghij"], "rows": 200_000, "sensitive": ["s"], "level": 200}),
    "100,000 columns": lambda: (
        lines(",".join(f"c{at}" for at in range(100_000)), [",".join("1" * 100_000)] * 4),
        {"columns": [f"c{at}" for at in range(100_000)], "rows": 4, "level": 4}),
}


@pytest.mark.parametrize("name", FILES)
def test_a_small_file_takes_seconds(name, published, tmp_path):
    """A table of any number of rows, values or columns is counted soon, or has a reason."""
    data, claim = FILES[name]()
    (tmp_path / "table").write_bytes(data)
    (tmp_path / "certificate.json").write_bytes(canonical(claimed(published[1], data, **claim)))
    text, code, seconds, most = measured("verify", tmp_path / "certificate.json",
                                         "--table", tmp_path / "table")

    assert code in (0, 7)
    assert "certified" not in " ".join(text["reasons"])
    assert (seconds < SECONDS, most < MEGABYTES) == (True, True), (seconds, most, text)


@pytest.mark.parametrize(("limit", "what"), [
    ("MOST_ROWS", "rows"), ("MOST_CELLS", "cells"), ("MOST_STEPS", "different rows"),
    ("MOST_TEXTS", "different texts"), ("MOST_VALUES", "values in its groups")])
def test_each_limit_is_a_sentence(limit, what, monkeypatch):
    """What is beyond a limit is not counted; at the limit it is."""
    data = b"a,b,y\n1,0,p\n1,0,p\n1,1,q\n1,1,q\n"
    most = {"MOST_ROWS": 4, "MOST_CELLS": 12, "MOST_TEXTS": 4, "MOST_VALUES": 4,
            "MOST_STEPS": 2 * 4 * (2 + table_of._LEAST_STEPS)}[limit]

    def counted():
        opened = table_of.Opened.of(data, claim_of(["a", "b"], target="y"))
        opened.smallest()
        opened.disclosures()

    monkeypatch.setattr(table_of, limit, most)
    counted()
    monkeypatch.setattr(table_of, limit, most // 3)
    with pytest.raises(Unreadable, match=f"too many {what}"):
        counted()


def test_another_table_is_not_counted(folder, monkeypatch):
    """A table that is not the certified one is a reason before it is read as a table."""
    def counted(_data):
        raise AssertionError

    monkeypatch.setattr(table_of, "read_columns", counted)
    (folder / "table.csv").write_bytes(b"a\n1\n")

    assert ("the table is not the certified table",) == ps.verify(folder).reasons


def test_a_sparse_table_is_not_read(folder):
    """A table beyond what is counted is a reason by its size alone."""
    with (folder / "table.csv").open("r+b") as file:
        file.truncate(200 * 2**30)
    text, code, seconds, most = measured("verify", folder)

    assert (7, ["the table is larger than 512 MB"]) == (code, text["reasons"])
    assert (seconds < SECONDS, most < MEGABYTES) == (True, True), (seconds, most)


@pytest.fixture
def signed(folder):
    """The same, signed by its maker."""
    key = folder.parent / "key.pem"
    key.write_bytes(PrivateKey.make().pem(None))
    key.chmod(0o600)
    assert 0 == run(["sign", str(folder), "--key", str(key), "--as", "maker"])
    return folder


def test_names_are_compared_before_files_are_read(signed):
    """An extra file beside what was signed is a reason whatever its size."""
    with (signed / "more.bin").open("wb") as file:
        file.truncate(200 * 2**30)
    text, code, seconds, _ = measured("verify", signed)

    assert (7, ["the signed files are not the files in the folder"]) == (code, text["reasons"])
    assert seconds < SECONDS


def test_a_signed_file_that_grew_is_not_read(signed):
    """A file that was signed, and is now larger than any release, is a reason by its size."""
    with (signed / "report.html").open("r+b") as file:
        file.truncate(200 * 2**30)
    text, code, seconds, most = measured("verify", signed)

    assert (7, True) == (code, "larger than 256 MB" in text["reasons"][0])
    assert (seconds < SECONDS, most < MEGABYTES) == (True, True), (seconds, most)


def test_too_much_is_not_signed(folder, capsys):
    """What nobody could check is not signed, and says so in a sentence."""
    with (folder / "more.bin").open("wb") as file:
        file.truncate(200 * 2**30)
    key = folder.parent / "key.pem"
    key.write_bytes(PrivateKey.make().pem(None))
    key.chmod(0o600)

    assert 7 == run(["sign", str(folder), "--key", str(key), "--as", "maker"])
    assert "more than 1 GB" in capsys.readouterr().err


def test_a_signed_page_of_another_version_is_not_compared(folder, monkeypatch):
    """The signatures bind a page that an older version wrote: it is named, and no reason."""
    with monkeypatch.context() as older:
        older.setattr("privsieve.telling.html.__version__", "0.0.9")
        body, release = (json.loads((folder / f"{name}.json").read_bytes())
                         for name in ("certificate", "release"))
        (folder / "report.html").write_bytes(html(release, body))
        older.setattr("privsieve._version.__version__", "0.0.9")
        key = folder.parent / "key.pem"
        key.write_bytes(PrivateKey.make().pem(None))
        key.chmod(0o600)
        assert 0 == run(["sign", str(folder), "--key", str(key), "--as", "maker"])
    verdict = ps.verify(folder)

    assert ((), True) == (verdict.reasons, "not compared" in verdict.unchecked["report.html"])
    (folder / "signatures.json").unlink()
    assert not ps.verify(folder).valid
