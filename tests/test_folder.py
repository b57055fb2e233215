"""Laws of the release folder: private, new, whole or not at all."""

import os
import stat
import subprocess
import sys

import pytest

from privsieve.errors import ParameterError
from privsieve.folder import Folder

CRASH = """
import os, signal, sys
from privsieve.folder import Folder
folder = Folder.create(sys.argv[1])
folder.stage("release.json", b"{}")
folder.stage("certificate.json", b"{}")
os.kill(os.getpid(), signal.SIGKILL)
"""


def _names(path):
    """What lies in a folder."""
    return sorted(item.name for item in path.iterdir())


def _mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_only_the_owner_may_look(tmp_path):
    """The folder is 0700 and its files 0600, under an open mask as well."""
    mask = os.umask(0)
    try:
        with Folder.create(tmp_path / "out") as folder:
            folder.write("release.json", b"data")
    finally:
        os.umask(mask)

    assert (0o700, 0o600) == (_mode(tmp_path / "out"), _mode(tmp_path / "out" / "release.json"))
    assert b"data" == (tmp_path / "out" / "release.json").read_bytes()
    assert ["release.json"] == _names(tmp_path / "out")


@pytest.mark.parametrize("place", ["folder", "file", "link", "dangling", "."])
def test_what_exists_is_left_alone(tmp_path, place):
    """A folder, a file or a link of that name is refused and not changed."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")

    with pytest.raises(ParameterError, match="exists and is not overwritten"):
        Folder.create(tmp_path / place)

    assert b"old" == (tmp_path / "file").read_bytes()
    assert {"folder", "file", "link", "dangling"} == set(_names(tmp_path))
    assert [] == _names(tmp_path / "folder")


@pytest.mark.parametrize("place", ["missing/out", "file/out", "a\0b", "x" * 300])
def test_a_folder_that_cannot_be_made_is_said(tmp_path, place):
    """A missing or foreign parent is a mistake in a parameter, and its path is not repeated."""
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(ParameterError) as caught:
        Folder.create(f"{tmp_path}/{place}")

    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize("name", [
    "../x", "/etc/x", "a/b", "..", ".", "", ".hidden", "a\0b", "a\nb", "-rf", "x" * 101, "café",
    "..\\x", None, b"x",
])
def test_a_name_is_one_plain_component(tmp_path, name):
    """No name leads out of the folder, hides, or looks like an option."""
    with Folder.create(tmp_path / "out") as folder, pytest.raises(ParameterError, match="file nam"):
        folder.stage(name, b"data")

    assert [] == _names(tmp_path / "out")


def test_nothing_is_overwritten(tmp_path):
    """A second file of a name is refused, also where somebody else put the first."""
    with Folder.create(tmp_path / "out") as folder:
        folder.write("release.json", b"first")
        with pytest.raises(ParameterError, match="is not overwritten"):
            folder.stage("release.json", b"second")
        folder.stage("report.html", b"ours")
        (tmp_path / "out" / "report.html").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(FileExistsError):
            folder.link()

    assert b"first" == (tmp_path / "out" / "release.json").read_bytes()
    assert not (tmp_path / "elsewhere").exists()


def test_a_swapped_folder_is_not_written(tmp_path):
    """Files go to the folder that was made, also when its name is given to another."""
    (tmp_path / "trap").mkdir()
    with Folder.create(tmp_path / "out") as folder:
        (tmp_path / "out").rename(tmp_path / "moved")
        (tmp_path / "out").symlink_to(tmp_path / "trap")
        folder.write("release.json", b"data")

    assert [] == _names(tmp_path / "trap")
    assert ["release.json"] == _names(tmp_path / "moved")


def test_a_crash_before_linking_leaves_no_named_file(tmp_path):
    """Killed between stage and link, a process leaves hidden files alone."""
    died = subprocess.run([sys.executable, "-c", CRASH, tmp_path / "out"], check=False)

    assert -9 == died.returncode
    left = _names(tmp_path / "out")
    assert (2, []) == (len(left), [name for name in left if not name.startswith(".")])


def test_staged_files_appear_together(tmp_path):
    """Before `link` nothing has a name; after it everything has."""
    with Folder.create(tmp_path / "out") as folder:
        folder.stage("release.json", b"1")
        folder.stage("certificate.json", b"2")
        hidden = _names(tmp_path / "out")
        folder.link()

    assert all(name.startswith(".") for name in hidden)
    assert ["certificate.json", "release.json"] == _names(tmp_path / "out")


def test_a_failed_write_leaves_nothing_to_link(tmp_path, monkeypatch):
    """When the disk refuses the bytes, no part of the file is ever given its name."""
    with Folder.create(tmp_path / "out") as folder:
        def full(_handle):
            raise OSError(28, "full")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="full"):
                folder.stage("release.json", b"data")
        folder.link()

    assert [] == _names(tmp_path / "out")


def test_discard_takes_back_what_has_no_name(tmp_path):
    """A refused fit leaves no folder; a folder with a named file stays."""
    with Folder.create(tmp_path / "empty") as folder:
        folder.stage("release.json", b"data")
        folder.discard()
    with Folder.create(tmp_path / "kept") as folder:
        folder.write("release.json", b"data")
        folder.discard()

    assert ["kept"] == _names(tmp_path)
    assert ["release.json"] == _names(tmp_path / "kept")
