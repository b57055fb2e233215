"""Law: progress.  Who waits at a terminal sees the stage; nobody else sees anything."""

from __future__ import annotations

import io
import re
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from privsieve.cli import progress as module
from privsieve.cli import run
from privsieve.containment.choose import listening, maximal, tell
from privsieve.containment.forward import forward
from privsieve.containment.labelled import Labelled
from privsieve.kernels.patterns import Rule
from privsieve.rows.matrix import Items

STAGES = ("reading the table", "choosing (Ctrl-C stops the search)",
          "writing, and counting groups and risks")


class Terminal(io.StringIO):
    """Stderr of a person."""

    def isatty(self):
        return True


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A folder with a table."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a,b,ill\n" + "1,0,0\n0,1,1\n1,0,1\n0,1,0\n" * 5)
    return ["publish", "t.csv", "--target", "ill", "-k", "5", "--out", "out", "--method", "greedy",
            "--weights", "even"]


def slowed(work):
    """The same, in a third of a second and with something to tell."""
    def slow(*arguments, **named):
        tell("7 nodes")
        time.sleep(0.3)
        return work(*arguments, **named)

    return slow


def test_stages_on_a_terminal(table, monkeypatch, capsys):
    """Each stage that takes long is shown on stderr with the seconds, and what is known."""
    from privsieve.cli import publish
    from privsieve.containment.options import SetOptions, TableOptions

    terminal = Terminal()
    monkeypatch.setattr(module, "SILENCE", 0)
    monkeypatch.setattr(module, "PAUSE", 0.01)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    for place, name in ((TableOptions, "opened"), (SetOptions, "choose"), (publish, "issue")):
        monkeypatch.setattr(place, name, slowed(getattr(place, name)))

    assert 0 == run(table)
    text = terminal.getvalue()
    assert [True] * 3 == [
        bool(re.search(rf"{re.escape(stage)}, \d s: 7 nodes", text)) for stage in STAGES]
    assert not re.search(r"\x1b\[(3[0-7]|9[0-7])m", text)
    assert "a\nb\n" == capsys.readouterr().out


def test_check_is_seen_within_a_second(table, monkeypatch):
    """A check that takes longer says within a second what goes on."""
    from privsieve.containment.options import TableOptions

    terminal, opened = Terminal(), TableOptions.opened
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")

    def slow(*arguments):
        time.sleep(1)
        assert "reading the table" in terminal.getvalue()
        return opened(*arguments)

    monkeypatch.setattr(TableOptions, "opened", slow)

    assert 0 == run(["check", table[1]])


def test_silence(table, monkeypatch, capsys):
    """A quick command shows nothing of it, and never loads what would draw it; nor does a pipe."""
    terminal = Terminal()
    for stream in (terminal, io.StringIO()):
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stderr", stream)
            patched.setattr(module, "SILENCE", 30 if stream is terminal else 0)
            with module.staged() as progress:
                progress.stage("choosing")
                time.sleep(0.05)

        assert "" == stream.getvalue()
    assert 0 == run(table)
    assert "choosing (" not in capsys.readouterr().err


def test_an_error_ends_it(monkeypatch):
    """Whatever ends the work ends the thread that shows it."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt), module.staged():
        raise KeyboardInterrupt

    assert before == threading.active_count()


def test_searches_tell():
    """The forward choice tells columns, a miner its nodes; without a listener nothing is told."""
    rng = np.random.default_rng(0)
    items = Items.dense(rng.random((400, 150)) < rng.random(150) * 0.4)
    y = rng.integers(0, 2, 400).astype(np.int32)
    heard = []
    with listening(heard.append):
        forward(Labelled(items, y), Rule(5, 2))
        maximal(Labelled(items, y), Rule(5, 2))
    count = len(heard)
    forward(Labelled(items, y), Rule(5, 2))

    assert "1 of at most 30 columns tried" == heard[0]
    assert re.fullmatch(r"\d+ nodes, best at \d+ % of the bound", heard[-1])
    assert count == len(heard)
