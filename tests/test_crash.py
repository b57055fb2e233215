"""Law: crash.  Whatever call fails, and wherever the process dies, words and charge are true.

Every system call and SQL statement of a selection fails in turn, without its effect and after it,
alone and with all that follow; and the process is killed before each.  Then: the exit code says
whether it was charged, the words say whether a release is to be had, `recover` brings the folder to
one of two good ends, and one request never draws twice.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

import privsieve as ps
from faults import HOW, Machine, faulty
from privsieve import fit as fitting
from privsieve.cli import run
from privsieve.errors import ReleaseFailed
from privsieve.ledger.ledger import Ledger

DOMAIN = """
[table]
unit = "row"
[[column]]
name = "a"
kind = "flag"
[[column]]
name = "b"
kind = "flag"
[target]
name = "y"
kind = "label"
values = [0, 1]
"""
ASK = ("select", "t.csv", "--domain", "d.toml", "--epsilon", "1", "--top", "1", "--method",
       "noisy-top-k", "--ledger", "b.db", "--population", "clinic", "--out", "out", "--request",
       "spring", "--anyway")
#: Exit codes, and states of a failed release, that faults of every kind cause; and some more.
ENDS = {0, 2, 4, "lost", "staged"}
MORE = {"after": {"finished"}, "gone": {"finished", "unknown"}}
#: What a failed release says of itself, by what is to be had.
STATES = {str(ReleaseFailed(state)): state for state in ("lost", "staged", "finished", "unknown")}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A table, its domain, a budget of 2; `draws` counts how often rows met noise."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a,b,y\n" + "1,0,1\n0,1,0\n" * 20)
    Path("d.toml").write_text(DOMAIN)
    ps.Ledger("fresh.db", population="clinic").grant(2)
    choose = fitting._choose

    def counted(*args):
        with Path("draws").open("a") as file:
            file.write("x")
        return choose(*args)

    monkeypatch.setattr(fitting, "_choose", counted)
    return tmp_path


@pytest.fixture
def command(capsys):
    """A command: exit code, and its words."""
    def call(*args):
        capsys.readouterr()
        code = run(list(args))
        output = capsys.readouterr()
        return code, output.out + output.err

    return call


def begin():
    """A fresh ledger, no folder, nothing drawn."""
    shutil.rmtree("out", ignore_errors=True)
    for path in [*Path().glob("b.db*")]:
        path.unlink()
    shutil.copy("fresh.db", "b.db")
    Path("draws").write_text("")


def spent():
    """What was charged."""
    return int(Ledger("b.db", population="clinic").spent())


def drawn():
    """How often rows met noise."""
    return len(Path("draws").read_text())


def whole():
    """Whether a release lies in the folder that its own check and the ledger vouch for."""
    return Path("out/certificate.json").exists() and ps.verify(
        "out/certificate.json", "out/release.json", ledger="b.db").valid


def check_words(code, words):
    """The exit code says whether it was charged; the last words what is to be had."""
    assert code in (0, 2, 4, 6), words
    if code in (2, 4):
        assert (0, 0) == (spent(), drawn()), words
        left = {path.name for path in Path("out").glob("*")}
        assert left <= {"request.json", ".request.json"}
        return
    state = STATES[words.splitlines()[-1].removeprefix("privsieve: ")] if code else "finished"
    if state != "unknown":
        assert 1 == spent(), words
    assert (state == "finished") == whole(), words
    if code == 0:
        unwritten = "not written; the release is valid" in " ".join(words.split())
        assert Path("out/report.html").exists() != unwritten


def check_ends(command):
    """One end, however often it is recovered; and the request is neither drawn nor paid twice."""
    code, output = command("recover", "out")
    if code == 0 and "nothing was charged" in output:
        assert (0, 0, False) == (spent(), drawn(), Path("out").exists())
    elif code == 0:
        assert whole()
        if "privsieve report DIR" in " ".join(output.split()):
            assert 0 == command("report", "out")[0]
        assert {"release.json", "certificate.json", "report.html"} == {
            path.name for path in Path("out").iterdir()}
    elif code == 6:
        assert (1, {"request.json"}) == (spent(), {path.name for path in Path("out").iterdir()})
        assert Ledger("b.db", population="clinic", request="spring").charge()[1] is None
    else:  # no folder, or an empty one, which is left alone
        assert (2, 0, []) == (code, spent(), list(Path("out").glob("*"))), output
        if "is empty, and nothing was charged" in output:
            Path("out").rmdir()
    before = sorted((path.name, path.read_bytes()) for path in Path("out").glob("*"))
    again = command("recover", "out")[0]
    assert again == (code if Path("out").exists() else 2)
    paid = spent()
    rerun, output = command(*ASK)

    assert 1 >= drawn()
    assert (1, {(0, 0): 0, (1, 0): 0}.get((paid, code), rerun)) == (spent(), rerun), output
    if paid:
        assert before == sorted((path.name, path.read_bytes()) for path in Path("out").iterdir())
        assert rerun in (0, 4)


def calls(monkeypatch):
    """How many calls a selection makes that nothing disturbs."""
    begin()
    with faulty(monkeypatch, Machine()) as machine:
        assert 0 == run(list(ASK))
    return machine.names


@pytest.mark.parametrize("how", HOW)
def test_each_call_fails_in_turn(place, monkeypatch, command, how):
    """Exit code and words are true, and `recover` finishes or says that nothing is to be had."""
    names = calls(monkeypatch)
    ends = set()
    for at in range(len(names)):
        begin()
        with faulty(monkeypatch, Machine(at, how)):
            code, output = command(*ASK)
        try:
            check_words(code, output)
            check_ends(command)
        except AssertionError as error:
            error.add_note(f"call {at} of {len(names)}, {names[at]}, {how}")
            raise
        ends.add(STATES[output.splitlines()[-1].removeprefix("privsieve: ")] if code == 6 else code)

    assert {"open", "write", "fsync", "rename", "unlink", "INSERT", "COMMIT"} <= set(names)
    assert ENDS | MORE.get(how, set()) == ends


def killed(monkeypatch, at):
    """A selection in a process of its own that dies before this call; what it said."""
    child = os.fork()
    if child == 0:
        with Path("said").open("w", buffering=1) as sys.stderr, faulty(
                monkeypatch, Machine(at, "kill")):
            code = run(list(ASK))
        os._exit(code)
    status = os.waitpid(child, 0)[1]
    return os.WIFSIGNALED(status) and os.WTERMSIG(status), Path("said").read_text()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_process_that_is_killed_before_each_call(place, monkeypatch, command):
    """It is never charged without the name of its request, and `recover` ends as after a fault."""
    names = calls(monkeypatch)
    states = set()
    for at in range(len(names)):
        begin()
        died, output = killed(monkeypatch, at)
        try:
            assert signal.SIGKILL == died
            assert not spent() or output.startswith("request    spring\n")
            states.add((spent(), whole()))
            check_ends(command)
        except AssertionError as error:
            error.add_note(f"killed before call {at} of {len(names)}, {names[at]}")
            raise

    assert {(0, False), (1, False), (1, True)} == states
