"""Laws of keeping a ledger: an older copy is told, a limit rises by two names, all can be read."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import textwrap
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

import privsieve
from privsieve.cli import run
from privsieve.errors import BudgetExceeded, LedgerError, ParameterError
from privsieve.ledger import file as ledger_file
from privsieve.ledger import head as heads
from privsieve.ledger.chain import Entry, exported, imported, replay
from privsieve.ledger.ledger import Ledger, populations, recount, recount_export
from privsieve.public.plan import UNIT, Cost

DIGEST = "ab" * 32
BY = ("A. Clerk", "B. Board")
ROW = {"claim": {"unit": UNIT["row"], "neighbours": "replace-one"}}


@pytest.fixture
def ledger(tmp_path):
    """1 of 2 spent, with a head outside."""
    new_ledger = Ledger(str(tmp_path / "b.db"), "p", head=str(tmp_path / "away" / "head.json"))
    (tmp_path / "away").mkdir()
    new_ledger.grant(2)
    new_ledger.commit(new_ledger.reserve(Cost.of(1), ROW), DIGEST)
    return new_ledger


# --- the head -----------------------------------------------------------------------------------

def test_the_head_follows_each_entry(ledger):
    """The head file holds the newest entry, is private, and is canonical JSON with a name."""
    for act in (lambda: ledger.reserve(Cost.of("0.1"), ROW),
                lambda: ledger.publish("s", ["a"], 2, "m", claim={}),
                lambda: ledger.other_people("t", "A. Clerk"),
                lambda: ledger.raise_limit(epsilon=3, reason="more", by=BY)):
        act()
        report = ledger.verify_chain()
        kept = json.loads(Path(ledger.head).read_bytes())
        assert {"format": "privsieve-head/1", "seq": report.entries, "hash": report.head} == kept
    assert 0o600 == stat.S_IMODE(Path(ledger.head).stat().st_mode)
    assert [Path(ledger.head)] == list(Path(ledger.head).parent.iterdir())


def test_an_older_copy_is_refused(ledger):
    """A ledger that was set back charges nothing, shows nothing, and does not verify."""
    shutil.copy(ledger.path, f"{ledger.path}.old")
    ledger.reserve(Cost.of("0.5"), ROW)
    Path(f"{ledger.path}.old").replace(ledger.path)
    for act in (lambda: ledger.reserve(Cost.of("0.5"), ROW), ledger.left, ledger.entries,
                lambda: ledger.raise_limit(epsilon=9, reason="x", by=BY)):
        with pytest.raises(LedgerError, match=r"older copy.*lacks entry 4"):
            act()

    assert "this is an older copy" in ledger.verify_chain().reasons[0]
    assert 4 == heads.read(ledger.head).seq
    # Without the head nobody can tell.
    assert Ledger(ledger.path, "p").verify_chain().valid


def test_a_release_tells_an_older_copy(ledger, tmp_path):
    """The heads of release folders have to be in the chain."""
    shutil.copy(ledger.path, tmp_path / "old.db")
    reserve = ledger.reserve(Cost.of("0.5"), ROW)
    commit = ledger.commit(reserve, DIGEST)
    folder = tmp_path / "release"
    folder.mkdir()
    (folder / "certificate.json").write_text(json.dumps({"ledger": {
        "request": reserve.request, "reserve": reserve.place, "commit": commit.place,
        "head": commit.hash}}))

    assert () == ledger.verify_chain(str(folder)).reasons
    old = Ledger(str(tmp_path / "old.db"), "p").verify_chain(str(folder / "certificate.json"))
    assert "lacks entry 5" in old.reasons[0]
    (folder / "certificate.json").write_text('{"ledger": null}')
    with pytest.raises(ParameterError, match="made without a ledger"):
        ledger.verify_chain(str(folder))
    for text in ("", "{}", "[]", '{"ledger": 1}', '{"ledger": {"a": {"seq": "1", "hash": ""}}}'):
        (folder / "certificate.json").write_text(text)
        with pytest.raises(ParameterError, match="no certificate that can be read"):
            ledger.verify_chain(str(folder))


def test_another_ledger_is_not_taken_for_it(ledger, tmp_path):
    """A head of one ledger refuses another one."""
    other = Ledger(str(tmp_path / "c.db"), "p", head=ledger.head)
    with pytest.raises(LedgerError, match="or another: it lacks"):
        other.grant(5)

    assert () == populations(other.path)


@pytest.mark.parametrize("text", ["", "{}", "no", '{"format":"privsieve-head/2","hash":"","seq":1}',
                                  '{"format":"privsieve-head/1","hash":"ab","seq":1}'])
def test_a_damaged_head_is_refused(ledger, text):
    """A head file that cannot be read charges nothing."""
    Path(ledger.head).write_text(text)
    with pytest.raises(LedgerError, match="head file cannot be read"):
        ledger.reserve(Cost.of("0.5"), ROW)

    assert Fraction(1) == Ledger(ledger.path, "p").left()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_not_waited_for(ledger, tmp_path, capsys):
    """A pipe or a device as head, certificate or export is refused, and nothing waits for it."""
    os.mkfifo(pipe := str(tmp_path / "pipe"))
    signal.alarm(20)
    try:
        for place in (pipe, "/dev/zero"):
            for act in (lambda ledger: ledger.reserve(Cost.of("0.5"), ROW), Ledger.left,
                        Ledger.verify_chain):
                with pytest.raises(LedgerError, match="head file cannot be read"):
                    act(Ledger(ledger.path, "p", head=place))
            with pytest.raises(ParameterError, match="no certificate that can be read"):
                ledger.verify_chain(place)
            assert 4 == out(capsys, "verify", "--export", place)[0]
    finally:
        signal.alarm(0)

    assert Fraction(1) == ledger.left()


def test_a_head_that_cannot_be_written_charges_nothing(tmp_path):
    """Room for the head is made before the charge."""
    ledger = Ledger(str(tmp_path / "b.db"), "p", head=str(tmp_path / "nowhere" / "head.json"))
    Ledger(ledger.path, "p").grant(1)
    with pytest.raises(LedgerError, match="nothing was charged"):
        ledger.reserve(Cost.of(1), ROW)

    assert Fraction(1) == Ledger(ledger.path, "p").left()


def test_a_ledger_may_be_ahead_of_its_head(ledger):
    """What is charged without the head, or by who died before it was written, is found later."""
    Ledger(ledger.path, "p").reserve(Cost.of("0.25"), ROW)
    assert 3 == heads.read(ledger.head).seq
    ledger.reserve(Cost.of("0.25"), ROW)

    assert 5 == heads.read(ledger.head).seq
    assert ledger.verify_chain().valid


def test_many_at_once_leave_the_newest_head(ledger):
    """Writers at once never leave an older head than the newest entry."""
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: ledger.reserve(Cost.of("0.01"), ROW), range(16)))

    assert 19 == heads.read(ledger.head).seq


# --- the connection that is kept ----------------------------------------------------------------

@pytest.mark.parametrize("put", [shutil.copyfile, os.replace], ids=["written over", "moved in"])
def test_another_ledger_in_its_place_is_seen(tmp_path, put):
    """A file that somebody puts in the place between a charge and its commit is read anew.

    It has seen as many changes as the one that was charged, by which SQLite tells its pages.
    """
    mine, other = (Ledger(str(tmp_path / name), "p") for name in ("b.db", "c.db"))
    mine.grant(2)
    shutil.copy(mine.path, other.path)
    other.reserve(Cost.of("0.25"), ROW)
    other.account()
    entry = mine.reserve(Cost.of(1), ROW)
    put(other.path, mine.path)

    with pytest.raises(LedgerError, match="not an open charge"):
        mine.commit(entry, DIGEST)
    assert mine.verify_chain().valid
    assert Fraction(1, 4) == mine.spent()


# --- raising ------------------------------------------------------------------------------------

def test_a_limit_rises_with_its_entry(ledger):
    """What was charged stays, what is left grows, and the chain says why and who."""
    ledger.raise_limit(epsilon="2.5", reason="a second study", by=BY)
    entry = ledger.entries()[-1]

    assert (Fraction(5, 2), Fraction(1), Fraction(3, 2)) == (ledger.limit(), ledger.spent(),
                                                             ledger.left())
    assert ("raise", "a second study", list(BY)) == (entry.kind, entry.body["reason"],
                                                     entry.body["by"])
    ledger.reserve(Cost.of("1.5"), ROW)
    assert () == ledger.verify_chain().reasons
    with pytest.raises(BudgetExceeded):
        ledger.reserve(Cost.of("1e-9"), ROW)


@pytest.mark.parametrize(("epsilon", "options", "message"), [
    (2, {}, "larger limit"), (1, {}, "larger limit"), (None, {}, "larger limit"),
    (3, {"delta": "1e-6"}, "is pure"), (3, {"by": ("A", "A")}, "two people"),
    (3, {"by": ("A. Clerk", "a. clerk")}, "two people"),
    (3, {"by": ("A. Clerk", "A.  Clerk")}, "two people"),
    (3, {"by": ("A. O'Brien", "A. O\u2019Brien")}, "two people"),
    (3, {"by": ("A. Clerk", "A Clerk")}, "two people"),
    (3, {"by": ("A. Clerk", "A.C1erk")}, "two people"), (3, {"by": ("A",)}, "two people"),
    (3, {"by": "AB"}, "two people"), (3, {"by": ("A", "")}, "of a signer"),
    (3, {"by": ("A", "\x1b")}, "of a signer"), (3, {"reason": ""}, "reason is"),
    (3, {"reason": "a\nb"}, "reason is"), (1001, {}, "there is no protection"),
    ("x", {}, "epsilon is"),
])
def test_what_is_no_raise_is_refused(ledger, epsilon, options, message):
    """Lower or equal limits, a delta of a pure account, one name, no reason."""
    with pytest.raises((LedgerError, ParameterError), match=message):
        ledger.raise_limit(epsilon=epsilon, **{"reason": "x", "by": BY, **options})

    assert (3, ()) == (ledger.verify_chain().entries, ledger.verify_chain().reasons)


def test_who_was_granted_nothing_is_not_raised(tmp_path):
    """People who are only known are granted a budget, and not raised."""
    ledger = Ledger(str(tmp_path / "b.db"), "p")
    ledger.introduce()
    with pytest.raises(LedgerError, match="has no budget yet"):
        ledger.raise_limit(reason="x", by=BY)


@pytest.mark.parametrize(("first", "plain"), [(Cost.of("0.1"), False),
                                              (Cost.of("0.1", delta="9e-7"), True)])
def test_a_delta_rises_in_the_sums_that_were_chosen(tmp_path, first, plain):
    """An account that keeps two sums keeps them, one that keeps plain sums keeps those."""
    ledger = Ledger(str(tmp_path / "b.db"), "p")
    ledger.grant(1, delta="1e-6")
    ledger.reserve(first, ROW)
    before = ledger.account()
    ledger.raise_limit(epsilon=2, delta="4e-6", reason="x", by=BY)
    after = ledger.account()

    assert plain == (after.rho_limit == 0) == (before.rho_limit == 0)
    assert (4 * 10**12 if plain else 2 * 10**12) == after.delta_share
    assert plain or after.rho_limit > before.rho_limit
    assert () == ledger.verify_chain().reasons
    ledger.raise_limit(delta="5e-6", reason="x", by=BY)
    ledger.raise_limit(epsilon=4, reason="x", by=BY)
    assert () == ledger.verify_chain().reasons


@pytest.mark.parametrize("statement", [
    "UPDATE population SET lim = lim + 1", "UPDATE population SET lim = 3000000000, spent = 0",
    "UPDATE population SET lim = 2500000000, account = 'approximate', delta_lim = 1",
    "UPDATE population SET lim = 2000000000, spent = spent - 1",
])
def test_the_table_raises_only_with_its_entry(ledger, statement):
    """A limit that no newest entry says is refused by the table itself."""
    ledger.raise_limit(epsilon="2.5", reason="x", by=BY)
    with contextlib.closing(sqlite3.connect(ledger.path)) as db, pytest.raises(
            sqlite3.IntegrityError, match="append-only"):
        db.execute(statement)


def test_an_odd_name_is_raised(tmp_path):
    """Quotes, backslashes and letters of any script in a name are no way around the trigger."""
    for name in ('a "b" \\c', "Klinik \u00c4rzte", "\u65e5\u672c"):
        ledger = Ledger(str(tmp_path / "b.db"), name)
        ledger.grant(1)
        ledger.raise_limit(epsilon=2, reason='say "limit":5,"population":"x"', by=BY)

        assert (Fraction(2), ()) == (ledger.limit(), ledger.verify_chain().reasons)


@pytest.mark.parametrize("change", [
    {"limit": 1}, {"limit": "20"}, {"delta_limit": "0.1"}, {"rho_limit": "1"}, {"by": ["A", "A"]},
    {"by": ["A"]}, {"reason": ""}, {"population": "q"}, {"limit": 3},
])
def test_an_impossible_raise_is_found(change):
    """A chain whose hashes fit and whose raise cannot be does not pass."""
    grant = Entry.after(None, "grant", {
        "population": "p", "account": "pure", "limit": 10, "delta_limit": "0", "rho_limit": "0",
        "unit": None, "neighbours": None, "rows_per_person": None})
    record = {"population": "p", "limit": 20, "delta_limit": "0", "rho_limit": "0", "reason": "x",
              "by": ["A", "B"]}
    bad = Entry.after(grant, "raise", {**record, **change})

    assert () == replay([grant, Entry.after(grant, "raise", record)])[2]
    assert ("entry 2 is not possible after the earlier entries",) == replay([grant, bad])[2]


# --- the journal --------------------------------------------------------------------------------

def test_a_write_ahead_log_is_refused(ledger, tmp_path):
    """A ledger to which another program gave a log is neither read nor written nor copied."""
    with contextlib.closing(sqlite3.connect(ledger.path)) as db:
        db.execute("PRAGMA journal_mode=WAL")
    for act in (ledger.left, lambda: ledger.reserve(Cost.of("0.1"), ROW),
                lambda: ledger.backup(str(tmp_path / "copy.db"))):
        with pytest.raises(LedgerError, match="PRAGMA journal_mode=DELETE"):
            act()
    with contextlib.closing(sqlite3.connect(ledger.path)) as db:
        db.execute("PRAGMA journal_mode=DELETE")

    assert Fraction(1) == ledger.left()
    assert not (tmp_path / "copy.db").exists()


def test_a_log_of_another_state_is_refused(ledger, tmp_path):
    """A -wal file beside a ledger without one would bring an earlier state back."""
    path = tmp_path / "b.db"
    shutil.copy(path, tmp_path / "other.db")
    with contextlib.closing(sqlite3.connect(tmp_path / "other.db", isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE TABLE x(a)")
        db.execute("DROP TABLE x")
        shutil.copy(tmp_path / "other.db-wal", tmp_path / "kept")
    ledger.reserve(Cost.of("0.1"), ROW)
    left, bytes_ = ledger.left(), path.read_bytes()
    shutil.copy(tmp_path / "kept", f"{path}-wal")
    for act in (ledger.left, lambda: ledger.reserve(Cost.of("0.1"), ROW)):
        with pytest.raises(LedgerError, match="does not belong to it"):
            act()
    Path(f"{path}-wal").unlink()

    assert (left, bytes_) == (ledger.left(), path.read_bytes())


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
def test_a_stale_file_is_not_taken_for_a_new_ledgers(tmp_path, ending):
    """What a deleted ledger left is never read into a new one."""
    (tmp_path / f"b.db{ending}").write_bytes(b"old")
    with pytest.raises(LedgerError, match=f"a {ending} file of a deleted ledger"):
        Ledger(str(tmp_path / "b.db"), "p").grant(1)


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
def test_a_stale_file_is_not_taken_for_a_copys(ledger, tmp_path, ending):
    """No copy is made where what another file left would be read into it."""
    (tmp_path / f"copy.db{ending}").write_bytes(b"old")
    with pytest.raises(LedgerError, match=f"a {ending} file of a deleted ledger"):
        ledger.backup(str(tmp_path / "copy.db"))

    assert not (tmp_path / "copy.db").exists()


def test_a_full_disk_of_a_copy_is_the_copys(ledger, tmp_path, monkeypatch):
    """What has no room is named: the ledger's own disk is not."""
    connect = ledger_file._connect

    def small(path, *options):
        db = connect(path, *options)
        if "copy.db" in path:
            db.execute("PRAGMA max_page_count=2")
        return db

    monkeypatch.setattr(ledger_file, "_connect", small)
    with pytest.raises(LedgerError, match="the disk of the copy is full"):
        ledger.backup(str(tmp_path / "copy.db"))

    assert ["away", "b.db"] == sorted(item.name for item in tmp_path.iterdir())


# --- the disk -----------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "ceph",
                                  "virtiofs"])
def test_a_disk_of_several_machines_is_refused(ledger, tmp_path, monkeypatch, kind):
    """A network file system charges nothing and makes no ledger; it may be read."""
    mounts = tmp_path / "mountinfo"
    there = f"36 20 0:9 / {tmp_path} rw -"
    mounts.write_text(f"20 1 8:1 / / rw - ext4 /dev/a rw\n{there} {kind} x rw\n")
    monkeypatch.setattr(ledger_file, "MOUNTS", str(mounts))
    for act in (lambda: ledger.reserve(Cost.of("0.1"), ROW),
                lambda: Ledger(str(tmp_path / "new.db"), "p").grant(1)):
        with pytest.raises(LedgerError, match=rf"other machines can share \({kind}\)"):
            act()
    assert Fraction(1) == ledger.left()
    mounts.write_text(f"{there} {kind} x rw\n{there} zfs x rw")

    ledger.reserve(Cost.of("0.1"), ROW)


READING = """
import os, sys, tempfile
from privsieve.errors import PrivsieveError
from privsieve.ledger.ledger import Ledger, recount
from privsieve.public.plan import Cost
with tempfile.TemporaryDirectory() as folder:  # what nobody may import is imported before
    ledger = Ledger(folder + "/b.db", "p")
    ledger.grant(1), ledger.reserve(Cost.of("0.1"), {}), recount(ledger.path)
os.setgid(65534); os.setuid(65534)
ledger = Ledger(sys.argv[1], "p")
for act in (ledger.left, ledger.orphans, lambda: recount(ledger.path)[0].reasons,
            lambda: ledger.reserve(Cost.of("0.1"), {})):
    try:
        print(act())
    except PrivsieveError as error:
        print(error)
"""


@pytest.fixture
def listing():
    """A folder that everybody may read, and only its owner write; pytest's own are private."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def as_nobody(path):
    """What somebody without rights reads of a ledger, and is told when they write."""
    if os.geteuid():
        pytest.skip("only root can become nobody")
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1",
                   "PYTHONPATH": str(Path(privsieve.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", READING, str(path)], capture_output=True,
                          text=True, check=True, env=environment)
    return done.stdout.splitlines()


def test_who_may_not_write_can_read(listing):
    """A ledger of somebody else is read and recounted; nothing is charged, in words."""
    path = listing / "b.db"
    ledger = Ledger(str(path), "p")
    ledger.grant(1)
    path.chmod(0o644)
    left, orphans, reasons, refused = as_nobody(path)

    assert ("1", "()", "()") == (left, orphans, reasons)
    assert "write access" in refused
    assert ["b.db"] == sorted(item.name for item in listing.iterdir())


def test_who_may_not_write_is_told_of_a_crash(listing):
    """A journal that has to be undone first is said to who cannot."""
    path = listing / "b.db"
    Ledger(str(path), "p").grant(1)
    dying = textwrap.dedent("""
        import os, sqlite3, sys
        db = sqlite3.connect(sys.argv[1], isolation_level=None)
        db.execute("PRAGMA cache_size=1"), db.execute("BEGIN IMMEDIATE")
        for number in range(99):
            db.execute(f"CREATE TABLE t{number}(a)")
        os._exit(0)
        """)
    subprocess.run([sys.executable, "-c", dying, str(path)], check=True)
    assert (listing / "b.db-journal").stat().st_size
    path.chmod(0o644)
    (listing / "b.db-journal").chmod(0o644)

    output = as_nobody(path)
    assert (4, 1) == (len(output), len(set(output)))
    assert "let such a user run" in output[0]
    assert Fraction(1) == Ledger(str(path), "p").left()


# --- copies and texts ---------------------------------------------------------------------------

def test_a_backup_is_a_ledger(ledger, tmp_path):
    """It is private, has the same chain, overwrites nothing, and has the balance of its day."""
    copy = tmp_path / "copy.db"
    assert 3 == ledger.backup(str(copy))
    ledger.reserve(Cost.of("0.5"), ROW)

    assert 0o600 == stat.S_IMODE(copy.stat().st_mode)
    assert recount(ledger.path)[1][:3] == recount(str(copy))[1]
    assert Fraction(1) == Ledger(str(copy), "p").left()
    before = copy.read_bytes()
    with pytest.raises(LedgerError, match="is not overwritten"):
        ledger.backup(str(copy))
    assert before == copy.read_bytes()
    with pytest.raises(LedgerError, match="cannot be made at this path"):
        ledger.backup(str(tmp_path / "nowhere" / "copy.db"))
    with pytest.raises(LedgerError, match="this is an older copy"):
        Ledger(str(copy), "p", head=ledger.head).reserve(Cost.of("0.1"), ROW)
    assert ["away", "b.db", "copy.db"] == sorted(item.name for item in tmp_path.iterdir())


def test_what_does_not_add_up_is_not_copied(ledger, tmp_path):
    """A copy that does not add up is not kept."""
    with contextlib.closing(sqlite3.connect(ledger.path)) as db:
        db.execute("DROP TRIGGER entry_delete")
    with pytest.raises(LedgerError, match="was not kept: the tables, checks or triggers"):
        ledger.backup(str(tmp_path / "copy.db"))

    assert ["away", "b.db"] == sorted(item.name for item in tmp_path.iterdir())


def test_an_export_is_recounted_without_the_ledger(ledger):
    """Entries come back as they were; what was changed in the text is found."""
    ledger.publish("2026", ["\u00e4 \u2028"], 2, "m", claim={})
    entries = recount(ledger.path)[1]
    text = exported(entries)

    assert entries == imported(text)
    assert ledger.verify_chain() == recount_export(text)
    assert text.count("\n") == len(entries) + 1
    assert not recount_export(text.replace("1000000000", "1000000001")).valid
    assert not recount_export(text.replace(text.split("\n")[2] + "\n", "")).valid
    cut = recount_export(exported(entries[:2]), [heads.read(ledger.head)])
    assert "this is an older copy" in cut.reasons[0]
    for bad in ("", "x", text[5:], text + "{}\n", text.replace('"seq":1}', '"seq":"1"}')):
        with pytest.raises(LedgerError, match="export cannot be read"):
            imported(bad)


def out(capsys, *arguments):
    """A command's code, results and words."""
    code = run(["ledger", *arguments])
    return code, *capsys.readouterr()


def test_the_verbs_of_a_ledger(ledger, tmp_path, capsys):
    """Verify, backup, export, raise and show, as a person types them."""
    at, head, text = ["--ledger", ledger.path], ["--head", ledger.head], str(tmp_path / "e.jsonl")
    ledger.reserve(Cost.of("0.25"), {"claim": {"mechanism": "rule-sieve/4", **ROW["claim"]},
                                     "plan": {"settings": {"k": 5}}})
    code, output, _ = out(capsys, "show", *at, "--json")
    lost = json.loads(output)["populations"]["p"]["orphans"]
    assert (0, 4, "0.25", "rule-sieve/4, 5 columns") == (
        code, lost[0]["seq"], lost[0]["epsilon"], lost[0]["plan"])
    code, output, _ = out(capsys, "show", *at, *head)
    assert "rule-sieve/4, 5 columns" in " ".join(output.split())
    assert "never refunded" in " ".join(output.split())
    Ledger(str(tmp_path / "new.db"), "p").grant(1)
    assert "no release" not in out(capsys, "show", "--ledger", str(tmp_path / "new.db"))[1]
    assert 0 == out(capsys, "raise", *at, *head, "--population", "p", "--epsilon", "3", "--reason",
                    "more", "--by", "A", "--and", "B")[0]
    assert 0 == out(capsys, "export", *at, "--out", text)[0]
    assert Path(text).read_text() == out(capsys, "export", *at)[1]
    assert 2 == out(capsys, "export", *at, "--out", text)[0]
    code, output, _ = out(capsys, "verify", *at, *head, "--json")
    assert (0, True, 5, 1) == (code, *(json.loads(output)[key] for key in (
        "valid", "entries", "known_outside")))
    assert "an older copy" in out(capsys, "verify", "--export", text)[1]
    code, _, words = out(capsys, "backup", str(tmp_path / "copy.db"), *at)
    assert (0, True) == (code, "does not contain later charges" in " ".join(words.split()))
    ledger.reserve(Cost.of("0.25"), ROW)
    for kept in (["--ledger", str(tmp_path / "copy.db")], ["--export", text]):
        code, output, words = out(capsys, "verify", *kept, *head)
        assert 7 == code
        assert "this is an older" in output
        assert "stop charging it" in words
    assert 4 == out(capsys, "show", "--ledger", str(tmp_path / "copy.db"), *head)[0]
    for wrong in (["verify"], ["verify", *at, "--export", text]):
        assert 2 == out(capsys, *wrong)[0]
    assert 4 == out(capsys, "verify", *at, "--head", str(tmp_path / "none"))[0]
    assert 4 == out(capsys, "verify", "--export", str(tmp_path / "none"))[0]
    assert 0 == out(capsys, "show", *at, *head)[0]
