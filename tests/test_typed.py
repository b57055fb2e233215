"""Law: types.  A program that uses the public names is read by mypy and pyright without a word."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import privsieve

ROOT = Path(__file__).parents[1]
SRC = Path(privsieve.__file__).parents[1]
TYPED = ROOT / "examples" / "typed.py"
WRONG = """
import privsieve as ps

ps.Ledger(5, population="clinic")
ps.Domain(["age"])
ps.plan("rule-sieve", 7, k=1)
left: str = ps.Ledger("b.db", population="clinic").left()
"""


@pytest.fixture
def wrong(tmp_path):
    """A program with a wrong type on each of four lines."""
    path = tmp_path / "wrong.py"
    path.write_text(WRONG)
    return path


def test_the_package_says_that_it_is_typed():
    """The marker of a typed package lies in it."""
    assert (SRC / "privsieve" / "py.typed").is_file()


def test_mypy(wrong):
    """Mypy --strict has nothing to say of the program, and finds each wrong type of another."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    # The configuration and the cache of `make lint`: a second run takes a second.
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", TYPED, wrong], cwd=ROOT,
        capture_output=True, text=True, check=False, env={**os.environ, "MYPYPATH": str(SRC)})
    lines = [line for line in done.stdout.splitlines() if ": error:" in line]

    assert ["4", "5", "6", "7"] == [line.split("wrong.py:")[1].partition(":")[0]
                                   for line in lines], done.stdout


def test_pyright(wrong, tmp_path):
    """Pyright, in its strict mode, agrees with it."""
    pytest.importorskip("basedpyright", reason="basedpyright is not installed")
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({
        "include": [str(TYPED), str(wrong)], "extraPaths": [str(SRC)],
        "typeCheckingMode": "strict"}))
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable,
         "-p", tmp_path], capture_output=True, text=True, check=False)
    faults = [(Path(fault["file"]).name, fault["range"]["start"]["line"])
              for fault in json.loads(done.stdout)["generalDiagnostics"]]

    assert [("wrong.py", line) for line in (3, 4, 5, 6)] == sorted(set(faults)), done.stdout
