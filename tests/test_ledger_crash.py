"""Laws of the ledger's file: a process may die at any moment, and the file be moved or cut after.

What was acknowledged stays charged, what is half written is undone or refused, and nothing is ever
admitted beyond the limit.  A process dies at each call that changes the disk, one after the other.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from fractions import Fraction
from pathlib import Path

import pytest

import privsieve
from privsieve.errors import BudgetExceeded, LedgerError
from privsieve.ledger import file as ledger_file
from privsieve.ledger.ledger import Ledger, recount
from privsieve.public.plan import Cost

HERE = Path(__file__).parent
SOURCES = str(Path(privsieve.__file__).parents[1])
#: This number of charges was acknowledged before: enough that pages are split and freed.
BEFORE = 11
#: Where each crash has many ends, one of this number is tried; all of them with more time.
SEVERAL = 4 if int(os.environ.get("PRIVSIEVE_KILLS", "50")) < 1000 else 1

#: Die at each call of a charge and its commit in turn; a folder says that it was acknowledged.
DYING = """
import ctypes, json, os, shutil, sys
from privsieve.ledger import file, sql
from privsieve.ledger import ledger as module
from privsieve.public.plan import Cost
base, torn, step, plant = sys.argv[1:]
claim = {}
exec(plant)
crash_at = ctypes.CDLL(None).crash_at
codes = []
while not codes or codes[-1]:
    place = f"{base}-{len(codes) + 1}"
    shutil.copytree(base, place)
    child = os.fork()
    if not child:
        ledger = module.Ledger(f"{place}/b.db", "p", head=f"{place}/head.json")
        crash_at(len(codes) * int(step) + 1, int(torn))
        entry = ledger.reserve(Cost.of("0.4"), claim)
        os.mkdir(f"{place}/reserved")  # acknowledged; this is no call that is counted
        ledger.commit(entry, "ab" * 32)
        crash_at(0, 0)
        os._exit(0)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    assert codes[-1] in (0, 77), codes
print(json.dumps(codes))
"""


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    """What makes a process die at a call; built where a compiler is."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not (compiler and sys.platform == "linux"):
        pytest.skip("needs a C compiler on Linux")
    shim_path = tmp_path_factory.mktemp("shim") / "crash_at.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", shim_path, HERE / "crash_at.c",
                    "-ldl"],
                   check=True)
    return shim_path


def die_everywhere(shim, base, *, torn=False, step=1, plant=""):
    """Copies of a ledger's folder: in each a charge of .4 and its commit died one call later.

    And whether the charge had been acknowledged.
    """
    environment = {**os.environ, "PYTHONPATH": SOURCES, "LD_PRELOAD": str(shim)}
    done = subprocess.run(
        [sys.executable, "-c", DYING, str(base), str(int(torn)), str(step), plant],
        env=environment, check=True, capture_output=True, text=True)
    codes = json.loads(done.stdout)
    places = [base.parent / f"{base.name}-{n + 1}" for n in range(len(codes))]
    return [(place, (place / "reserved").exists()) for place in places]


@pytest.fixture
def memory(tmp_path):
    """A folder in memory where there is one: what is synchronised there takes no time."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        yield Path(place)


@pytest.fixture
def base(memory):
    """A folder with a ledger: 5.5 of 6 spent, so that one more charge of .4 fits."""
    place = memory / "base"
    place.mkdir()
    ledger = Ledger(str(place / "b.db"), "p", head=str(place / "head.json"))
    ledger.grant(6)
    for _ in range(BEFORE):
        ledger.reserve(Cost.of("0.5"), {"claim": {}, "software": {"x": "y" * 700}})
    return place


def never_beyond(path, acknowledged, head=None):
    """Spend all that a ledger gives; whether it gave, and what is wrong with what it did."""
    ledger, granted = Ledger(str(path), "p", head=head and str(head)), acknowledged
    before = len(recount_or_none(path) or ())
    try:
        while True:
            ledger.reserve(Cost.of("0.1"), {})
            granted += Fraction(1, 10)
    except BudgetExceeded:
        gave = True
    except LedgerError:
        gave = False
    wrong = []
    if granted > 6:
        wrong.append(f"{granted} of 6 acknowledged")
    if gave and (report := recount(str(path))[0]).reasons:
        wrong.append(f"it gives, and does not add up: {report.reasons[0]}")
    if gave and before < BEFORE + 1:
        wrong.append("entries were lost")
    return gave, wrong


def recount_or_none(path):
    """The entries of a ledger, if they can be read."""
    with contextlib.suppress(LedgerError):
        return recount(str(path))[1]
    return None


def acknowledged(done):
    """What all processes had been told."""
    return BEFORE * Fraction(1, 2) + (Fraction(2, 5) if done else 0)


@pytest.mark.parametrize("torn", [False, True], ids=["whole", "torn"])
def test_a_crash_is_undone_in_its_place(shim, base, torn):
    """Whatever call was the last one: all that was acknowledged is there, and the rest is right."""
    places = die_everywhere(shim, base, torn=torn)

    assert len(places) > 30
    assert {True, False} == {done for _, done in places}
    for place, done in places:
        path = place / "b.db"
        left = Ledger(str(path), "p").left()
        report, entries = recount(str(path))
        assert () == report.reasons
        # The charge of the dead process is there as a whole, or not at all; then its commit.
        assert (left, len(entries)) in (
            [(Fraction(1, 10), BEFORE + 2), (Fraction(1, 10), BEFORE + 3)] if done
            else [(Fraction(1, 10), BEFORE + 2), (Fraction(1, 2), BEFORE + 1)])
        assert (True, []) == never_beyond(path, acknowledged(done), place / "head.json")


@pytest.mark.parametrize("torn", [False, True], ids=["whole", "torn"])
def test_a_crash_and_then_another_name(shim, base, torn):
    """Moved without its journal, a half-written ledger gives nothing, and a whole one goes on.

    With its journal put back beside it, each of them goes on.
    """
    refused = 0
    for place, done in die_everywhere(shim, base, torn=torn):
        hot = (place / "b.db-journal").exists()
        (place / "b.db").rename(place / "moved.db")
        gave, wrong = never_beyond(place / "moved.db", acknowledged(done))
        assert [] == wrong
        assert gave or hot
        if not gave:
            refused += 1
            shutil.copy(place / "b.db-journal", place / "moved.db-journal")
            assert (True, []) == never_beyond(place / "moved.db", acknowledged(done))

    assert refused > 2


def test_a_journal_that_is_cut_short(shim, base):
    """A journal cut after each of its pages undoes all, or what it leaves gives nothing."""
    hot = [(place, done) for place, done in die_everywhere(shim, base, step=SEVERAL)
           if (place / "b.db-journal").exists()]
    refused = tried = 0
    for place, done in hot:
        journal = (place / "b.db-journal").read_bytes()
        for size in range(0, len(journal) + 1, 4096 + 8):
            other = place / f"cut-{size}"
            other.mkdir()
            shutil.copy(place / "b.db", other / "b.db")
            for cut in {size, min(len(journal), size + 512)}:
                (other / "b.db-journal").write_bytes(journal[:cut])
                gave, wrong = never_beyond(other / "b.db", acknowledged(done))
                assert [] == wrong
                refused, tried = refused + (not gave), tried + 1
                shutil.copy(place / "b.db", other / "b.db")

    assert refused > 2
    assert tried > 10


#: A ledger without a journal, and one that shows what it does before it is durable.
PLANTED = {
    "journal off": """
open_ = file._open
def planted(*more):
    db = open_(*more)
    db.execute("PRAGMA journal_mode=OFF")
    return db
file._open = planted
""",
    "two transactions": """
real = sql.append
def planted(db, *more):
    db.execute("COMMIT")
    db.execute("BEGIN IMMEDIATE")
    return real(db, *more)
sql.append = planted
""",
}


@pytest.mark.parametrize("plant", PLANTED)
def test_the_crashes_find_a_planted_fault(shim, base, plant):
    """The same crashes find a ledger whose transaction is none: the test has power."""
    wrong = []
    for place, _done in die_everywhere(shim, base, plant=PLANTED[plant]):
        with contextlib.suppress(LedgerError):
            if not recount(str(place / "b.db"))[0].reasons:
                continue
        wrong.append(place)

    assert wrong


FILLING = """
import resource, sys
from privsieve.errors import LedgerError
from privsieve.ledger.ledger import Ledger
from privsieve.public.plan import Cost
path, most = sys.argv[1:]
if int(most):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(most), int(most)))
try:
    for number in range(10_000):
        Ledger(path, "p").reserve(Cost.of("0.01"), {"software": {"x": "y" * 3000}})
        print(number, flush=True)
except LedgerError as error:
    print(error)
"""


def filled(path, most):
    """Charge until the disk is full; how often it was acknowledged, and what was said then."""
    done = subprocess.run([sys.executable, "-c", FILLING, str(path), str(most)], check=True,
                          capture_output=True, text=True, env={**os.environ, "PYTHONPATH": SOURCES})
    *numbers, lines = done.stdout.splitlines()
    return len(numbers), lines


@contextlib.contextmanager
def mounting(place, *words):
    """Something mounted at a place, while it lasts; skipped where that is not allowed."""
    if shutil.which("mount") is None or subprocess.run(
            ["mount", *words, place], check=False, capture_output=True).returncode:
        pytest.skip("this user may not mount")
    try:
        yield
    finally:
        subprocess.run(["umount", place], check=True)


def test_a_file_with_two_names(tmp_path, monkeypatch):
    """A hard link is refused under both names, a symbolic link is the file itself."""
    monkeypatch.setattr(ledger_file, "MAKING", 0)
    ledger = Ledger(str(tmp_path / "b.db"), "p")
    ledger.grant(1)
    (tmp_path / "soft.db").symlink_to(tmp_path / "b.db")
    Ledger(str(tmp_path / "soft.db"), "p").reserve(Cost.of("0.25"), {})
    os.link(tmp_path / "b.db", tmp_path / "hard.db")
    for name in ("b.db", "hard.db", "soft.db"):
        for act in (lambda ledger: ledger.reserve(Cost.of("0.25"), {}),
                    lambda ledger: ledger.left()):
            with pytest.raises(LedgerError, match="has a second name"):
                act(Ledger(str(tmp_path / name), "p"))
    (tmp_path / "hard.db").unlink()

    assert Fraction(3, 4) == ledger.left()


def test_a_second_name_is_nobodys_to_delete(tmp_path, monkeypatch):
    """A hard link that is named like a draft is refused, and stays; a maker is waited for."""
    ledger, draft = Ledger(str(tmp_path / "b.db"), "p"), tmp_path / "b.db.0123456789abcdef"
    ledger.grant(1)
    os.link(tmp_path / "b.db", draft)
    monkeypatch.setattr(ledger_file, "MAKING", 0)
    with pytest.raises(LedgerError, match="has a second name"):
        ledger.left()
    assert draft.exists()
    monkeypatch.setattr(ledger_file, "MAKING", 60)
    threading.Timer(0.2, draft.unlink).start()

    assert Fraction(1) == ledger.left()
    assert ["b.db"] == sorted(item.name for item in tmp_path.iterdir())


def test_a_file_that_is_mounted_alone(tmp_path):
    """A file that is mounted by itself is refused; with its folder mounted it is one ledger."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    ledger = Ledger(str(tmp_path / "one" / "b.db"), "p")
    ledger.grant(1)
    alone = tmp_path / "two" / "b.db"
    alone.touch()
    with mounting(alone, "--bind", str(tmp_path / "one" / "b.db")):
        for act in (lambda ledger: ledger.reserve(Cost.of("0.25"), {}),
                    lambda ledger: ledger.left()):
            with pytest.raises(LedgerError, match="mount its folder instead"):
                act(Ledger(str(alone), "p"))
    with mounting(tmp_path / "two", "--bind", str(tmp_path / "one")):
        Ledger(str(alone), "p").reserve(Cost.of("0.25"), {})
        ledger.reserve(Cost.of("0.25"), {})

        assert Fraction(1, 2) == Ledger(str(alone), "p").left()
    assert Fraction(1, 2) == ledger.left()
