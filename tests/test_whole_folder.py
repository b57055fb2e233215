"""Law: a folder is checked as a whole.  Each file in it holds, or is named as not checked."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import privsieve as ps
from privsieve._version import __version__
from privsieve.check import folder as module
from privsieve.errors import ParameterError, SchemaError
from privsieve.ledger.head import of_release
from privsieve.methods.histogram.released import synthetic_csv
from privsieve.public.canonical import parsed
from privsieve.public.plan import sentence

FORGED = "report.html does not follow from the release"


@pytest.fixture(scope="module")
def folders(golden, tmp_path_factory):
    """A folder of each kind; tables of counts have rows beside them."""
    place, names = tmp_path_factory.mktemp("made"), golden[1]
    for name in names:
        shutil.copytree(golden[0] / name, place / name)
    for name in ("histogram", "sparse"):
        (place / name / "synthetic.csv").write_bytes(synthetic_csv(ps.load(place / name).body, 500))
    return place, names


@pytest.fixture
def copy(folders, tmp_path):
    """A folder of one kind that a test may spoil."""
    def of(name):
        shutil.copytree(folders[0] / name, tmp_path / name)
        return tmp_path / name

    return of


def test_every_kind_holds_and_says_what(folders):
    """Each kind of folder holds as it was written, and one sentence says what is true of it."""
    place, names = folders
    for name in names:
        verdict = ps.verify(place / name)
        signed = parsed((place / name / "certificate.json").read_bytes())

        assert () == verdict.reasons, name
        assert {} == dict(verdict.unchecked), name
        assert verdict.says.startswith("Unsigned: nothing shows who made this release. If you "
                                       "trust the sender, this holds: ")
        assert sentence(signed).rstrip(".") in verdict.says
        assert "epsilon" not in signed["claim"] or (
            f"(epsilon {signed['claim']['epsilon']}" in verdict.says)
        assert verdict.says.endswith(".")


def test_a_forged_page_is_found(copy, folders):
    """A page of every kind that says something else by one byte is a reason."""
    for name in folders[1]:
        folder = copy(name)
        page = (folder / "report.html").read_bytes()
        (folder / "report.html").write_bytes(page.replace(b"</p>", b"!</p>", 1))

        assert any(FORGED in reason for reason in ps.verify(folder).reasons), name
        assert "" == ps.verify(folder).says


def test_changed_synthetic_rows_are_found(copy):
    """Rows beside a table of counts are made again."""
    folder = copy("histogram")
    head, *rows = (folder / "synthetic.csv").read_text().splitlines()
    (folder / "synthetic.csv").write_text("\n".join([head, *rows[:0:-1], ""]))

    assert any("synthetic.csv differs from" in reason for reason in ps.verify(folder).reasons)


def test_a_page_that_another_version_wrote_is_a_reason(copy):
    """An unsigned page is the one that this version writes, or there is a reason."""
    folder = copy("selection")
    page = (folder / "report.html").read_bytes()
    old = page.replace(f'content="privsieve {__version__}"'.encode(), b'content="privsieve 0.0.9"')
    assert old != page
    (folder / "report.html").write_bytes(old)

    for page in (old, b"", b"<script>anything</script>"):
        (folder / "report.html").write_bytes(page)
        reasons = ps.verify(folder).reasons

        assert ["report.html was not written by this version"] == [reason[:43]
                                                                   for reason in reasons]
        assert "delete it, and write it again" in reasons[0]


def test_a_missing_page_is_no_reason(copy):
    """A release may leave without its page."""
    folder = copy("selection")
    (folder / "report.html").unlink()

    assert (True, {}) == (ps.verify(folder).valid, dict(ps.verify(folder).unchecked))


def test_what_a_folder_holds_beside_is_named(copy):
    """Other files, links, folders and pipes are named, not read and not followed."""
    folder = copy("selection")
    (folder / "notes\x1b[31m.txt").write_text("x")
    (folder / "table.csv").write_text("a,b\n1,2\n")
    (folder / "synthetic.csv").write_text("a,b\n1,2\n")
    (folder / "internal.html").write_text("PRIVATE")
    (folder / "inner").mkdir()
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe")
    verdict = ps.verify(folder)

    assert verdict.valid
    assert {"inner", "internal.html", "link", "loop", "pipe", "synthetic.csv", "table.csv",
            repr("notes\x1b[31m.txt")} == set(verdict.unchecked)
    assert "not followed" in verdict.unchecked["link"]


@pytest.mark.parametrize("name", ["release.json", "certificate.json", "report.html"])
def test_a_link_in_the_place_of_a_file_is_not_followed(copy, name):
    """A link is not the file that it names, even where that would hold."""
    folder = copy("selection")
    (folder / name).rename(folder.parent / name)
    (folder / name).symlink_to(folder.parent / name)
    verdict = ps.verify(folder)

    if name == "report.html":
        assert "not followed" in verdict.unchecked[name]
    else:
        assert ("the release cannot be read" if name == "release.json"
                else "the certificate cannot be read",) == verdict.reasons


@pytest.mark.parametrize("spoil", [
    lambda file: file.symlink_to(file.parent.parent / "elsewhere"),
    lambda file: file.symlink_to("nowhere"),
    os.mkfifo,
    lambda file: file.mkdir(),
], ids=["a link", "a link to nothing", "a pipe", "a folder"])
@pytest.mark.parametrize("name", ["release.json", "certificate.json"])
def test_only_a_plain_file_is_loaded(copy, cli, name, spoil):
    """What reads a release without a check of its folder follows no link either, and ends."""
    folder = copy("histogram")
    (folder / name).rename(folder.parent / "elsewhere")
    spoil(folder / name)
    where = ["--out", str(folder.parent / "out")]

    with pytest.raises(SchemaError, match=f"{name} is missing, is a link or is not JSON"):
        ps.load(folder)
    for words in (["report", str(folder)], ["export", "label", str(folder)],
                  ["synthesize", "--from", str(folder), "--rows", "5"]):
        assert cli(*words, *where)[0] in {3, 7}, words
    assert not (folder.parent / "out").exists()
    if name == "certificate.json":
        with pytest.raises(ParameterError, match="no certificate that can be read"):
            of_release(str(folder))


def test_an_edited_published_table_is_found(copy):
    """A published table is counted again in its folder."""
    folder = copy("containment")
    lines = (folder / "table.csv").read_text().splitlines()
    (folder / "table.csv").write_text("\n".join([lines[0], *lines[:0:-1], ""]))

    assert "the table is not the certified table" in ps.verify(folder).reasons


def test_a_table_that_is_given_does_not_stand_for_the_one_in_the_folder(copy, tmp_path):
    """Whichever table is counted, that of the folder is looked at, too."""
    folder = copy("containment")
    true = shutil.copy(folder / "table.csv", tmp_path / "true.csv")
    assert ps.verify(folder, table=true).valid
    lines = (folder / "table.csv").read_text().splitlines()
    (folder / "table.csv").write_text("\n".join([lines[0], *lines[:0:-1], ""]))

    assert ("the table in the folder is not the certified table",) == (
        ps.verify(folder, table=true).reasons)


@pytest.mark.parametrize(("kind", "old", "new", "beside"), [
    ("containment", b'"complete":', b'"completed":', {"report.html", "table.csv"}),
    ("histogram", b'"selected":["age"', b'"selected":["sex"', {"report.html", "synthetic.csv"})])
def test_what_lies_beside_a_release_that_does_not_hold_is_not_called_checked(
        copy, kind, old, new, beside):
    """Where the two files contradict each other nothing is made of them, nor called unknown."""
    folder = copy(kind)
    data = (folder / "release.json").read_bytes()
    (folder / "release.json").write_bytes(data.replace(old, new))
    verdict = ps.verify(folder)

    assert (False, "") == (verdict.valid, verdict.says)
    assert beside == set(verdict.unchecked)
    assert kind == "histogram" or {module.UNSURE} == set(verdict.unchecked.values())


def test_a_crowded_folder_and_no_folder_are_reasons(copy, monkeypatch, tmp_path):
    """A folder with very many files is not listed to its end; an empty one is no release."""
    folder = copy("selection")
    monkeypatch.setattr(module, "MOST_FILES", 2)

    assert ("the folder holds more than 2 files",) == ps.verify(folder).reasons
    (tmp_path / "empty").mkdir()
    assert ("the certificate cannot be read",) == ps.verify(tmp_path / "empty").reasons
    assert not ps.verify(tmp_path / "missing").valid
    assert not ps.verify("x" * 5000).valid
    assert not ps.verify("a\0b").valid


def test_a_huge_page_is_a_reason(copy, monkeypatch):
    """A page is not read beyond its limit."""
    folder = copy("selection")
    monkeypatch.setattr(module, "LARGEST_PAGE", 1000)

    assert ("report.html is larger than 0 KB",) == ps.verify(folder).reasons


def test_another_release_and_a_folder_contradict_each_other(copy):
    """Of a folder its own release is checked."""
    folder = copy("selection")

    assert not ps.verify(folder, folder / "release.json").valid
    assert ps.verify(folder / "certificate.json", folder / "release.json").valid


def test_the_command_line_says_the_same(copy, cli):
    """Words and JSON say verdict, sentence and what was not checked."""
    folder = copy("selection")
    (folder / "notes.txt").write_text("x")
    code, out, _ = cli("verify", str(folder))
    words = " ".join(out.split())

    assert 0 == code
    assert "valid" == words.split()[0]
    assert "selected: " in words
    assert "unchecked notes.txt: not a file of a release" in words
    code, out, _ = cli("verify", str(folder), "--json")
    verdict = ps.verify(folder)
    assert {"valid": True, "reasons": [], "notes": list(verdict.notes), "says": verdict.says,
            "signed": {}, "unchecked": {"notes.txt": "not a file of a release"}} == json.loads(out)
    assert Path(folder / "notes.txt").read_text() == "x"
    (folder / "report.html").write_text("forged")
    assert 7 == cli("verify", str(folder))[0]
    page = f'<meta name="generator" content="privsieve {__version__}">'
    (folder / "report.html").write_text(page)
    assert 7 == cli("verify", str(folder))[0]


def test_many_unchecked_files_are_counted(copy, cli):
    """The command line names the first, and how many more there are."""
    folder = copy("selection")
    for at in range(40):
        (folder / f"n{at}").write_text("")

    assert "and 10 more" in cli("verify", str(folder))[1]
    assert 40 == len(ps.verify(folder).unchecked)


@pytest.mark.parametrize("begin", ["n" * 200, "\x1b" * 100])
def test_names_that_begin_alike_are_two_files(copy, begin):
    """Each file that was not checked is named, whatever it is called."""
    folder = copy("selection")
    for end in "ab":
        (folder / f"{begin}{end}").write_text("")

    assert 2 == len(ps.verify(folder).unchecked)
