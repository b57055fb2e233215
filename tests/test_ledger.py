"""Laws of the ledger: what is granted is never overspent, and what is spent is never undone."""

import contextlib
import dataclasses
import pickle
import sqlite3
import stat
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path

import pytest

from privsieve.errors import BudgetExceeded, LedgerError, ParameterError
from privsieve.ledger import account as accounts
from privsieve.ledger import file as ledger_file
from privsieve.ledger import sql as ledger_sql
from privsieve.ledger.account import Account
from privsieve.ledger.chain import Entry, replay
from privsieve.ledger.ledger import Ledger, populations
from privsieve.public.canonical import DELTA_UNITS, RHO_UNITS, decimal, units_of
from privsieve.public.plan import Cost

DIGEST = "ab" * 32
CLAIM = {"claim": {"epsilon": "0.5"}, "software": {}}


@pytest.fixture
def ledger(tmp_path):
    """A ledger with 3 granted to one population."""
    new_ledger = Ledger(str(tmp_path / "budget.db"), population="clinic-2026")
    new_ledger.grant(epsilon="3.0")
    return new_ledger


def _names(path):
    """What lies in a folder."""
    return sorted(item.name for item in path.iterdir())


def _bad(path, population="clinic-2026"):
    return Ledger(str(path), population=population)


def test_a_ledger_is_a_value(tmp_path):
    """A ledger touches no file, equals its like, and is pickled as texts."""
    path = str(tmp_path / "budget.db")
    ledger = Ledger(path, population="clinic-2026")

    assert ledger == Ledger(path, population="clinic-2026")
    assert ledger == pickle.loads(pickle.dumps(ledger))
    assert {"path": path, "population": "clinic-2026", "head": None,
            "request": None} == dataclasses.asdict(ledger)
    assert [] == _names(tmp_path)


def test_granting_makes_a_private_file(ledger, tmp_path):
    """The file is 0600, whole, and alone in its folder."""
    assert 0o600 == stat.S_IMODE(Path(ledger.path).stat().st_mode)
    assert ["budget.db"] == _names(tmp_path)
    assert (Fraction(3), Fraction(0), Fraction(3)) == (ledger.limit(), ledger.spent(),
                                                       ledger.left())


def test_reserve_commit_and_no_way_back(ledger):
    """A charge stays, is committed once, and without a commit it is an orphan."""
    kept = ledger.reserve(Cost.of("0.5"), CLAIM)
    orphan = ledger.reserve(Cost.of("0.25"), CLAIM)
    commit = ledger.commit(kept, DIGEST)

    assert Fraction(9, 4) == ledger.left()
    assert (orphan,) == ledger.orphans()
    assert commit.prev == orphan.hash
    assert ["grant", "reserve", "reserve", "commit"] == [e.kind for e in ledger.entries()]
    assert CLAIM == kept.body["claim"]
    assert DIGEST == commit.body["release_sha256"]
    with pytest.raises(LedgerError, match="committed once"):
        ledger.commit(kept, DIGEST)
    with pytest.raises(LedgerError, match="not an open charge"):
        ledger.commit(ledger.entries()[0], DIGEST)
    with pytest.raises(ParameterError, match="64 hexadecimal"):
        ledger.commit(orphan, "no")
    assert not [name for name in dir(ledger) if "refund" in name or "cancel" in name]
    assert ledger.verify_chain().valid


def test_a_refusal_charges_nothing_and_names_the_amounts(ledger):
    """A cost above what is left is refused with both amounts; the last unit can be spent."""
    ledger.reserve(Cost.of("2.5"), CLAIM)
    with pytest.raises(BudgetExceeded) as caught:
        ledger.reserve(Cost.of("0.500000001"), CLAIM)

    assert ("clinic-2026: the cost is epsilon 0.500000001; the budget has 0.5 left.  "
            "See `privsieve ledger show`.") == str(caught.value)
    assert 2 == len(ledger.entries())
    ledger.reserve(Cost.of("0.5"), CLAIM)
    assert Fraction(0) == ledger.left()


def test_a_free_cost_is_not_reserved(ledger):
    """A cost of nothing, or less, is no charge."""
    for amount in (0, -1):
        with pytest.raises(ParameterError, match="larger than 0"):
            ledger.reserve(Cost(Fraction(amount)), CLAIM)

    assert 1 == len(ledger.entries())


def test_a_limit_is_granted_once(ledger):
    """A second grant is refused with what is there, also under other capitals."""
    for name in ("clinic-2026", "Clinic-2026"):
        with pytest.raises(LedgerError, match=r"a limit of epsilon 3 \(3 left\)"):
            Ledger(ledger.path, population=name).grant("5")

    Ledger(ledger.path, population="Town").grant("1")
    with pytest.raises(LedgerError, match="Town: this population already has a limit"):
        Ledger(ledger.path, population="tOWN").grant("1")
    assert Fraction(3) == ledger.limit()


def test_populations_have_separate_budgets(ledger):
    """A charge on one population leaves another alone, in one chain."""
    other = Ledger(ledger.path, population="town")
    other.grant("1")
    entry = other.reserve(Cost.of("1"), CLAIM)

    assert (Fraction(3), Fraction(0)) == (ledger.left(), other.left())
    assert (ledger, other) == populations(ledger.path)
    assert [1] == [e.seq for e in ledger.entries()]
    with pytest.raises(LedgerError):
        ledger.commit(entry, DIGEST)
    assert 3 == ledger.verify_chain().entries


def test_publications_never_touch_the_budget(ledger):
    """Columns published under containment are listed in order, at no epsilon."""
    ledger.publish("2026-spring", ["age", "ward"], 5, "containment", claim={})
    ledger.publish("2026-spring", ["age"], 10, "containment", claim={})

    assert [(("age", "ward"), 5), (("age",), 10)] == [(p.columns, p.k)
                                                      for p in ledger.publications()]
    assert Fraction(3) == ledger.left()
    assert ledger.verify_chain().valid
    for bad in (("", ["a"], 5, "m"), ("s", "age", 5, "m"), ("s", [1], 5, "m"),
                ("s", ["a"], 0, "m"), ("s", ["a"], True, "m"), ("s", ["a"], 2**60, "m")):
        with pytest.raises(ParameterError):
            ledger.publish(*bad, claim={})


def test_only_a_reservation_has_a_time(ledger):
    """`reserved_at` is the one time in the chain, in whole seconds of universal time."""
    ledger.commit(ledger.reserve(Cost.of("0.5"), CLAIM), DIGEST)
    ledger.publish("s", ["a"], 2, "m", claim={})

    timed = [e.kind for e in ledger.entries() if "_at" in e.payload]
    assert ["reserve"] == timed
    stamp = ledger.entries()[1].body["reserved_at"]
    assert stamp == time.strftime("%Y-%m-%dT%H:%M:%SZ", time.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ"))


@pytest.mark.parametrize("name", ["", " a", "a ", "a\nb", "a\x1b[31m", "a\u202eb", "x" * 129,
                                  None, 7, "\ud800"])
def test_a_population_is_a_printable_name(name):
    """A name that a screen could not show as it is is refused."""
    with pytest.raises(ParameterError, match="printable"):
        Ledger("budget.db", population=name)


def test_one_spelling_of_an_accent():
    """Two encodings of a name are one population."""
    assert Ledger("b.db", population="cafe\u0301") == Ledger("b.db", population="caf\u00e9")


@pytest.mark.parametrize("path", ["postgresql://u:secret@host/db", "file://x", "", "a\0b"])
def test_a_path_is_a_file(path):
    """A URL is refused in words, and what may be a password is not repeated."""
    with pytest.raises(ParameterError) as caught:
        Ledger(path, population="p")

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("amount", [0, -1, "1e30", "0.1234567891", True, float("nan"), 1001])
def test_a_bad_limit_makes_no_file(tmp_path, amount):
    """A limit that is no amount is refused before a file is made."""
    with pytest.raises(ParameterError):
        _bad(tmp_path / "b.db").grant(amount)

    assert [] == _names(tmp_path)


def _all_refused(ledger):
    """Each operation says in one sentence that the ledger cannot serve."""
    messages = []
    for act in (lambda: ledger.grant(1), ledger.left, ledger.entries, ledger.orphans,
                ledger.publications, ledger.verify_chain,
                lambda: ledger.reserve(Cost.of(1), CLAIM)):
        with pytest.raises(LedgerError) as caught:
            act()
        messages.append(str(caught.value))
        assert str(Path(ledger.path).parent) not in messages[-1]
        assert "\n" not in messages[-1]
    return messages


def test_a_foreign_file_is_refused_and_not_changed(tmp_path):
    """Text, an empty file, another database, a cut ledger or a folder is no ledger."""
    good = _bad(tmp_path / "good.db")
    good.grant(1)
    with contextlib.closing(sqlite3.connect(tmp_path / "other.db")) as db:
        db.execute("CREATE TABLE entry(a)")
    (tmp_path / "text.db").write_bytes(b"not a database at all, but long enough" * 50)
    (tmp_path / "empty.db").write_bytes(b"")
    (tmp_path / "cut.db").write_bytes(Path(good.path).read_bytes()[:5000])
    (tmp_path / "link.db").symlink_to(tmp_path / "nowhere.db")
    (tmp_path / "folder.db").mkdir()
    for name in ("other.db", "text.db", "empty.db", "cut.db"):
        before = (tmp_path / name).read_bytes()
        _all_refused(_bad(tmp_path / name))
        assert before == (tmp_path / name).read_bytes()
    _all_refused(_bad(tmp_path / "link.db"))
    assert "name a file" in _all_refused(_bad(tmp_path / "folder.db"))[0]
    assert not (tmp_path / "nowhere.db").exists()


def test_a_newer_ledger_is_refused(ledger):
    """A format that this version does not know is not guessed at."""
    with contextlib.closing(sqlite3.connect(ledger.path)) as db:
        db.execute("PRAGMA user_version=4")

    assert "format 4, but this privsieve reads 3" in _all_refused(ledger)[0]


def test_a_ledger_of_version_0_1_0_is_refused(tmp_path, cli):
    """Whatever reads or writes it says that a new ledger is made, and no byte of it changes."""
    path = tmp_path / "old.db"
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript(
            "PRAGMA application_id=1886615089; PRAGMA user_version=1; PRAGMA journal_mode=WAL;"
            "CREATE TABLE population(id TEXT PRIMARY KEY, account TEXT, lim INTEGER) STRICT;"
            "INSERT INTO population VALUES ('p', 'pure', 1)")
    before, old = path.read_bytes(), _bad(path)

    assert all("made by version 0.1.0" in message and "make a new ledger in another file, with "
               "`privsieve ledger grant" in message for message in _all_refused(old))
    place = ("--ledger", path, "--population", "p")
    for verb, *options in (("show",), ("verify",), ("grant", "--epsilon", 1),
                           ("raise", "--epsilon", 2, "--reason", "x", "--by", "A", "--and", "B"),
                           ("backup", tmp_path / "copy.db"), ("export",)):
        own = place[:2] if verb in ("verify", "backup", "export") else place
        code, _out, message = cli("ledger", verb, *options, *own)
        assert (4, True) == (code, "was never released" in message), (verb, message)
    assert (before, ["old.db"]) == (path.read_bytes(), _names(tmp_path))


def test_a_missing_ledger_says_how_to_grant(tmp_path):
    """A missing file, folder or population names the command that makes it."""
    with pytest.raises(LedgerError, match="`privsieve ledger grant --ledger FILE"):
        _bad(tmp_path / "b.db").left()
    with pytest.raises(LedgerError, match="choose a folder that exists"):
        _bad(tmp_path / "missing" / "b.db").grant(1)
    _bad(tmp_path / "b.db").grant(1)
    for act in (lambda lost: lost.left(), lambda lost: lost.reserve(Cost.of(1), CLAIM),
                lambda lost: lost.publish("s", ["a"], 2, "m", claim={})):
        with pytest.raises(LedgerError, match="--population 'the town'"):
            act(_bad(tmp_path / "b.db", "the town"))
    assert ["b.db"] == _names(tmp_path)


def test_a_busy_ledger_is_said(ledger, monkeypatch):
    """A ledger that another process holds for too long refuses, and charges nothing."""
    monkeypatch.setattr(ledger_file, "PATIENCE", 0.05)
    with contextlib.closing(sqlite3.connect(ledger.path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="busy"):
            ledger.reserve(Cost.of(1), CLAIM)
        db.execute("ROLLBACK")

    assert Fraction(3) == ledger.left()


def test_an_interrupted_charge_is_undone(ledger, monkeypatch):
    """An interruption inside the transaction leaves neither a charge nor a lock."""
    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ledger_sql, "append", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ledger.reserve(Cost.of(1), CLAIM)

    assert Fraction(3) == ledger.left()
    assert ledger.verify_chain().valid


def test_a_commit_to_disk_waits_for_the_disk(ledger):
    """Every connection that writes asks for full synchronisation and foreign keys."""
    with ledger_file.transaction(ledger.path) as db:
        settings = [db.execute(f"PRAGMA {name}").fetchone()[0]
                    for name in ("journal_mode", "synchronous", "foreign_keys", "trusted_schema")]

    assert ["delete", 3, 1, 0] == settings


def _population(account, *amounts, unit="NULL", neighbours="NULL", rows="NULL"):
    """A statement that makes a population with these amounts, in the table's order."""
    seven = [*amounts, *[0] * (7 - len(amounts))]
    cells = ", ".join(map(str, [*seven, unit, neighbours, rows]))
    return f"INSERT INTO population VALUES ('y', '{account}', {cells})"


@pytest.mark.parametrize("statement", [
    "UPDATE population SET spent = 0", "UPDATE population SET lim = 10 * lim",
    "UPDATE population SET spent = lim + 1", "DELETE FROM population",
    "UPDATE entry SET payload = '{}'", "DELETE FROM entry WHERE seq = 2", "DELETE FROM request",
    "UPDATE request SET units = 1", "UPDATE request SET state = 'reserved' WHERE seq = 2",
    "UPDATE publication SET k = 99", "DELETE FROM publication",
    "INSERT INTO request VALUES ('x', 'nobody', 1, 0, 'reserved', 1, 1, '1')",
    "INSERT INTO request VALUES ('x', 'clinic-2026', 1, -1, 'reserved', 1, 1, '1')",
    "INSERT INTO request VALUES ('x', 'clinic-2026', 1, 0, 'reserved', 1, 0, '1')",
    _population("pure", 1, 2),
    _population("pure", "'many'"),
    _population("pure", 1, 0, 1),
    _population("approximate", 1),
    _population("approximate", 1, 0, 5, 6, 5),
    _population("approximate", 1, 0, 5, 0, 6),
    _population("approximate", 1, 2, 5, 0, 2, 7, 8),
    _population("pure", 1, 2, 0, 0, 0, 7, 1),
    _population("pure", 1, unit="'household'", neighbours="'replace-one'"),
    _population("pure", 1, unit="'row'"),
    _population("pure", 1, unit="'row'", neighbours="'replace-one'", rows=4),
    "UPDATE population SET unit = 'row', neighbours = 'add-remove' WHERE id = 'ward'",
    "UPDATE population SET rows_per_person = 3 WHERE id = 'ward'",
    "UPDATE population SET unit = NULL, neighbours = NULL WHERE id = 'ward'",
    "UPDATE population SET rho_lim = rho_lim + 1 WHERE id = 'ward'",
    "UPDATE population SET rho_spent = 0 WHERE id = 'ward'",
    "UPDATE request SET factor = '1', rho_units = 1 WHERE population = 'ward'",
    "UPDATE population SET account = 'approximate', delta_lim = 5",
    "UPDATE population SET delta_lim = delta_lim + 1 WHERE account = 'approximate'",
    "UPDATE population SET delta_spent = 0 WHERE account = 'approximate'",
    "UPDATE population SET delta_spent = delta_lim + 1 WHERE account = 'approximate'",
    "UPDATE request SET delta_units = 1 WHERE state = 'reserved'",
])
def test_the_file_defends_itself(ledger, statement):
    """Each table refuses what no ledger does, from any client."""
    ledger.commit(ledger.reserve(Cost.of(1), CLAIM), DIGEST)
    ledger.publish("s", ["a"], 2, "m", claim={})
    other = Ledger(ledger.path, population="town")
    other.grant(1, delta="1e-6")
    other.reserve(Cost.of(1, delta="1e-7"), CLAIM)
    ward = Ledger(ledger.path, population="ward")
    ward.grant(1, delta="1e-6", unit="person", rows_per_person=4)
    ward.reserve(Cost.of("0.1"), {"claim": {"unit": "one row of the table",
                                            "neighbours": "add-remove"}})
    with contextlib.closing(sqlite3.connect(ledger.path)) as db:
        db.execute("PRAGMA foreign_keys=ON")
        with pytest.raises(sqlite3.IntegrityError):
            db.execute(statement)


def _granted(population, limit, delta="0", /, **options):
    """The body of a grant; `more` makes it one that cannot be."""
    granted = accounts.granted(limit, units_of(delta, DELTA_UNITS))
    return {"population": population, "account": granted.account, "limit": limit,
            "delta_limit": delta, "rho_limit": decimal(granted.rho_limit, RHO_UNITS), "unit": None,
            "neighbours": None, "rows_per_person": None, **options}


def _reserved(units, delta="0", /, **options):
    """The body of a charge in plain sums; `more` makes it one that cannot be."""
    charge = accounts.charge(units, units_of(delta, DELTA_UNITS), None, 1)
    return {"population": "p", "request": "b", "units": units, "delta": delta,
            "rho": None, "charged": accounts.charged(Account("approximate"), charge, 1), **options}


def _chain():
    """A grant, a charge and its completion."""
    grant = Entry.after(None, "grant", _granted("p", 10, "0.1"))
    reserve = Entry.after(grant, "reserve", _reserved(4, "0.06", request="a"))
    return [grant, reserve, Entry.after(reserve, "commit", {"population": "p", "request": "a"})]


@pytest.mark.parametrize(("kind", "body"), [
    ("grant", _granted("p", 5)), ("grant", _granted("q", 5, limit=0)),
    ("grant", _granted("q", 5, delta_limit="0.1")),
    ("grant", _granted("q", 5, account="approximate")),
    ("grant", _granted("q", 5, "0.1", delta_limit="-0.1")),
    ("grant", _granted("q", 5, rho_limit="1")), ("grant", _granted("q", 5, unit="table")),
    ("reserve", _reserved(7)), ("reserve", _reserved(1, "0.05")),
    ("reserve", _reserved(1, "0.01", delta="-0.01")),
    ("reserve", _reserved(1, "0.01", delta="0.010")), ("reserve", _reserved(1, delta=0)),
    ("reserve", _reserved(1, units=0)), ("reserve", _reserved(1, units=-1)),
    ("reserve", _reserved(1, units="1")), ("reserve", _reserved(1, units=2)),
    ("reserve", _reserved(1, rho="1")), ("reserve", _reserved(1, request="a")),
    ("reserve", _reserved(1, population="q")), ("schema", {"version": 3}),
    ("commit", {"population": "q", "request": "a"}),
    ("commit", {"population": "p", "request": "b"}),
    ("publish", {"population": "q", "snapshot": "s", "columns": [], "k": 2, "model": "m"}),
    ("refund", {"population": "p", "units": 1}), ("commit", {}),
])
def test_an_impossible_entry_is_found(kind, body):
    """A chain whose hashes fit, and whose amounts or states cannot be, does not pass."""
    grant, reserve, commit = _chain()

    assert () == replay(_chain())[2]
    assert ("entry 4 is not possible after the earlier entries",) == replay(
        [grant, reserve, commit, Entry.after(commit, kind, body)])[2]


@pytest.mark.parametrize("change", [
    {"prev": "no hash"}, {"payload": "garbage"}, {"hash": "A" * 64}, {"kind": "commit"},
    {"seq": 4}])
def test_an_entry_that_was_changed_is_found(change):
    """What is not as it was hashed does not pass, whichever part it is."""
    grant, reserve, commit = _chain()
    reasons = replay([grant, dataclasses.replace(reserve, **change), commit])[2]

    assert reasons
    assert "entry" in reasons[0]


@pytest.mark.parametrize(("kind", "body"), [
    ("grant", _granted("q", 5, "0.1")), ("reserve", _reserved(6, "0.04")),
    ("people", {"population": "q"})])
def test_what_is_possible_passes(kind, body):
    """The entries of which each field that is changed makes one that cannot be."""
    *_, commit = new_commit = _chain()

    assert () == replay([*new_commit, Entry.after(commit, kind, body)])[2]


def test_damaged_pages_never_become_a_traceback(ledger):
    """A file with random bytes in it is refused, or reported, or unharmed: nothing else."""
    for _ in range(6):
        ledger.commit(ledger.reserve(Cost.of("0.1"), CLAIM), DIGEST)
    clean = bytearray(Path(ledger.path).read_bytes())
    written = [at for at in range(30, len(clean), 128) if any(clean[at:at + 40])]
    acts = [ledger.left, ledger.entries, ledger.orphans, ledger.publications,
            lambda: ledger.reserve(Cost.of("0.1"), CLAIM)]
    caught = 0
    for place in written:
        damaged = bytearray(clean)
        damaged[place:place + 40] = b"\xa5" * 40
        Path(ledger.path).write_bytes(damaged)
        try:
            caught += not ledger.verify_chain().valid
        except LedgerError:
            caught += 1
        for act in acts:
            with contextlib.suppress(LedgerError, BudgetExceeded):
                act()
        for item in Path(ledger.path).parent.iterdir():
            item.unlink()

    assert len(written) / 2 < caught


def test_a_delta_is_charged_with_its_epsilon(tmp_path):
    """Both are charged or neither; each is spent to the last unit and no further."""
    ledger = Ledger(str(tmp_path / "b.db"), population="p")
    ledger.grant(1, delta="1e-6")
    for _ in range(4):
        ledger.reserve(Cost.of("0.1", delta="2.5e-7"), CLAIM)
    with pytest.raises(BudgetExceeded) as caught:
        ledger.reserve(Cost.of("0.1", delta="1e-18"), CLAIM)

    assert ("p: the cost is epsilon 0.1 and delta 0.000000000000000001; the budget has epsilon 0.6 "
            "and delta 0 left.  See `privsieve ledger show`.") == str(caught.value)
    assert (Fraction(6, 10), Fraction(0)) == (ledger.left(), ledger.delta_left())
    ledger.reserve(Cost.of("0.6"), CLAIM)
    assert (Fraction(0), Fraction(1, 10**6)) == (ledger.left(), ledger.delta_limit())
    assert (6, ()) == (ledger.verify_chain().entries, ledger.verify_chain().reasons)


def test_a_pure_account_has_no_delta(ledger):
    """A release that needs a delta is refused by people to whom none was granted."""
    with pytest.raises(BudgetExceeded, match="the account is pure: it has no delta"):
        ledger.reserve(Cost.of("0.1", delta="1e-9"), CLAIM)

    assert (Fraction(3), Fraction(0)) == (ledger.left(), ledger.delta_limit())
    assert 1 == len(ledger.entries())


def _attempts(ledger, times, start, delta=0):
    """Try to spend 0.1 many times; how often it was granted."""
    time.sleep(max(0.0, start - time.time()))
    granted = 0
    for _ in range(times):
        with contextlib.suppress(BudgetExceeded):
            ledger.reserve(Cost.of("0.1", delta=delta), CLAIM)
            granted += 1
    return granted


def _race(pool, ledger, workers, times, delta=0):
    """How many of all attempts were granted."""
    start = time.time() + 1.5
    with pool:
        return sum(pool.map(_attempts, [ledger] * workers, [times] * workers, [start] * workers,
                            [delta] * workers))


POOLS = [
    pytest.param(lambda: ThreadPoolExecutor(8), 8, 8, id="threads"),
    pytest.param(lambda: ProcessPoolExecutor(4, get_context("spawn")), 4, 16, id="processes"),
]


@pytest.mark.parametrize(("pool", "workers", "times"), POOLS)
def test_a_race_grants_exactly_the_limit(tmp_path, pool, workers, times):
    """64 attempts of 0.1 at once on a limit of 3 are granted 30 times."""
    ledger = Ledger(str(tmp_path / "b.db"), population="p")
    ledger.grant(3)

    assert 30 == _race(pool(), ledger, workers, times)
    assert Fraction(0) == ledger.left()
    assert (31, ()) == (ledger.verify_chain().entries, ledger.verify_chain().reasons)


def test_granting_at_once_makes_one_ledger(tmp_path):
    """Eight threads that grant a new file make one ledger and one limit."""
    ledger = Ledger(str(tmp_path / "b.db"), population="p")

    def grant(_):
        with contextlib.suppress(LedgerError):
            ledger.grant(2)
            return 1
        return 0

    with ThreadPoolExecutor(8) as pool:
        granted = sum(pool.map(grant, range(8)))

    assert (1, Fraction(2)) == (granted, ledger.limit())
    assert ledger.verify_chain().valid
    assert ["b.db"] == _names(tmp_path)
