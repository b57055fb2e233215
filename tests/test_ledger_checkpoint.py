"""Laws of checkpoints: a process counts from the second newest one on, `verify` from the beginning.

What is set back in the totals, or in what was counted since, charges nothing; what was changed
before the second newest checkpoint is found by `ledger verify`.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import sqlite3
from functools import partial

import pytest

from privsieve.errors import BudgetExceeded, LedgerError
from privsieve.ledger import chain, sql
from privsieve.ledger.chain import Entry
from privsieve.ledger.ledger import Ledger, recount
from privsieve.public.plan import UNIT, Cost
from test_ledger_crash import (  # noqa: F401  # fixtures
    acknowledged,
    base,
    die_everywhere,
    memory,
    never_beyond,
    shim,
)
from test_postgres import place  # noqa: F401  # fixture

DIGEST = "ab" * 32
CLAIM = {"claim": {"unit": UNIT["row"], "neighbours": "replace-one"}, "software": {}}
MILLI = Cost.of("0.001")


@pytest.fixture
def often(monkeypatch):
    """A checkpoint after four entries."""
    monkeypatch.setattr(chain, "EVERY", 4)


def another_process():
    """Nothing is known of any ledger."""
    sql._counted.clear()


def filled(place, charges=9):  # noqa: F811
    """A ledger of two populations with publications, charges, and checkpoints among them."""
    ledger = Ledger(place, "p")
    ledger.grant(2)
    Ledger(place, "q").grant(1)
    ledger.publish("s", ["a"], 2, "m", claim={"k": 2})
    for _ in range(charges):
        ledger.commit(ledger.reserve(MILLI, CLAIM), DIGEST)
    return ledger


def marks(place):  # noqa: F811
    """The checkpoints of a ledger."""
    return [entry for entry in recount(place)[1] if entry.kind == "checkpoint"]


@contextlib.contextmanager
def by_hand(place, request):  # noqa: F811
    """Change a ledger around its triggers, and leave these as they were."""
    if sql.served(place):
        postgres = request.getfixturevalue("postgres")
        with postgres.root(place.split("/")[3].split("?")[0]) as db:
            db.execute("SET session_replication_role = replica; SET search_path = privsieve")
            yield lambda text, arguments=(): db.execute(text.replace("?", "%s"), arguments or None)
            db.execute("UPDATE head SET (seq, hash) = (SELECT seq, hash FROM entry "
                       "ORDER BY seq DESC LIMIT 1)")
        return
    with contextlib.closing(sqlite3.connect(place, isolation_level=None)) as db:
        tables = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in tables:
            db.execute(f"DROP TRIGGER {name}")
        yield db.execute
        for _, text in tables:
            db.execute(text)


# --- what is counted ----------------------------------------------------------------------------

def test_a_new_process_counts_no_more_of_a_long_ledger(place, often, monkeypatch):  # noqa: F811
    """The first charge counts two spaces between checkpoints at most, however long the chain."""
    counts, real = [], sql.replay
    monkeypatch.setattr(sql, "replay", lambda entries, *known: (
        counts.append(len(tuple(entries))), real(entries, *known))[1])
    ledger = filled(place)
    for _ in range(12):
        another_process()
        counts.clear()
        ledger.commit(ledger.reserve(MILLI, CLAIM), DIGEST)
        assert max(counts) <= 2 * (chain.EVERY + 2)

    assert len(marks(place)) == recount(place)[0].entries // (chain.EVERY + 1)


@pytest.mark.usefixtures("often")
def test_what_is_counted_on_is_what_is_counted_anew(place):  # noqa: F811
    """Any history gives the same accounts, in one process or in many, and adds up."""
    rng, open_ = random.Random(7), []
    names = ["p", "q", "r"]
    ledgers = [Ledger(place, name) for name in names]
    ledgers[0].grant(3)
    ledgers[1].grant(3, delta="1e-6", unit="person", rows_per_person=3)
    ledgers[2].introduce()
    acts = {
        "charge": lambda ledger: open_.append(
            partial(ledger.commit, ledger.reserve(MILLI, CLAIM), DIGEST)),
        "delta": lambda ledger: ledger.reserve(Cost.of("0.01", delta="1e-9"), CLAIM),
        "commit": lambda _ledger: open_ and open_.pop(rng.randrange(len(open_)))(),
        "publish": lambda ledger: ledger.publish("s", [f"c{rng.random()}"], 2, "m", claim={}),
        "other": lambda ledger: ledger.other_people("t", "A. Clerk"),
        "raise": lambda ledger: ledger.raise_limit(epsilon=ledger.limit() + 1, reason="x",
                                                   by=("A. Clerk", "B. Board")),
        "grant": lambda ledger: ledger.grant(3)}
    for step in range(80):
        if rng.random() < 0.5:
            another_process()
        with contextlib.suppress(BudgetExceeded, LedgerError):
            acts[rng.choice(list(acts) + ["charge", "commit"] * 3)](rng.choice(ledgers))
        if step % 20 == 19:
            assert () == recount(place)[0].reasons

    assert len(marks(place)) > 5
    assert {entry.kind for entry in recount(place)[1]} >= {
        "raise", "grant", "publish", "other-people", "checkpoint", "commit"}


def test_a_ledger_of_many_populations_is_not_filled_with_checkpoints(often, tmp_path):
    """A checkpoint, which says all accounts, comes after as many entries as there are accounts."""
    path = str(tmp_path / "b.db")
    for number in range(20):
        Ledger(path, f"p{number}").grant(1)
    for number in range(60):
        another_process()
        Ledger(path, f"p{number % 20}").reserve(MILLI, CLAIM)

    seqs = [entry.seq for entry in marks(path)]
    assert [21, 21] == [b - a for a, b in zip(seqs[-3:], seqs[-2:], strict=False)]
    assert () == recount(path)[0].reasons


# --- what is found ------------------------------------------------------------------------------

def spends(less):
    """A checkpoint in which the first population has spent less."""
    def change(_entry, body):
        kind, limit, spent, *rest = body["accounts"]["p"]
        body["accounts"] = {**body["accounts"], "p": [kind, limit, str(int(spent) - less), *rest]}
    return change


def renamed(_entry, body):
    """A checkpoint of other people."""
    body["accounts"] = {"x": body["accounts"]["p"], "q": body["accounts"]["q"]}


def unlike(_entry, body):
    """A checkpoint without its accounts."""
    body["accounts"] = "none"


def bare(entry):
    """The body of an entry, without its place."""
    return {name: value for name, value in entry.body.items() if name not in ("kind", "seq")}


def chained(seqs, change):
    """These entries with another body, and the chain from there on written anew: all hashes fit."""
    def act(execute, entries):
        previous = None
        for entry in entries:
            body = bare(entry)
            if entry.seq in seqs(entries):
                change(entry, body)
            previous = Entry.after(previous, entry.kind, body)
            execute("UPDATE entry SET payload = ?, prev = ?, hash = ? WHERE seq = ?",
                    (previous.payload, previous.prev, previous.hash, entry.seq))
    return act


def balances(*statements):
    """Statements alone; the chain is left as it is."""
    return lambda execute, _entries: [execute(statement) for statement in statements]


def together(*acts):
    """One after the other."""
    return lambda execute, entries: [act(execute, entries) for act in acts]


def appended(execute, entries):
    """The newest checkpoint twice more, at the end."""
    body = bare(entries[_marks(entries)[-1] - 1])
    for _ in range(2):
        last = Entry.after(entries[-1], "checkpoint", body)
        entries = (*entries, last)
        execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?)",
                (last.seq, last.kind, last.payload, last.prev, last.hash))


def closed_over(execute, entries):
    """The second newest checkpoint is gone, and the chain closed over it."""
    gone = second(entries)[0]
    previous = entries[gone - 2]
    execute("DELETE FROM entry WHERE seq = ?", (gone,))
    for entry in entries[gone:]:
        previous = Entry.after(previous, entry.kind, bare(entry))
        execute("UPDATE entry SET payload = ?, prev = ?, hash = ?, seq = ? WHERE seq = ?",
                (previous.payload, previous.prev, previous.hash, previous.seq, entry.seq))


def _marks(entries):
    return [entry.seq for entry in entries if entry.kind == "checkpoint"]


def newest(entries):
    """The newest checkpoint."""
    return _marks(entries)[-1:]


def second(entries):
    """The second newest."""
    return _marks(entries)[-2:-1]


_OLD = "(SELECT min(seq) FROM request)"
_MARK = "(SELECT {}(seq) FROM entry WHERE kind = 'checkpoint')"
_BEFORE = f"(SELECT max(seq) FROM entry WHERE kind = 'checkpoint' AND seq < {_MARK.format('max')})"
_TEXT = ("UPDATE entry SET payload = replace(payload, '\"2000000000\"', '\"3000000000\"') "
         "WHERE seq = ")
LESS = balances("UPDATE population SET spent = spent - 5 WHERE id = 'p'")
#: What is done by hand, and whether the next charge finds it; `verify` finds all.
EDITS = {
    "the totals": (LESS, True),
    "the totals of others": (balances("UPDATE population SET lim = lim + 1 WHERE id = 'q'"), True),
    "a newest request": (balances("UPDATE request SET units = 1 WHERE seq > (SELECT max(seq) FROM "
                                  "request) - 3"), True),
    "the newest charge": (chained(lambda entries: [len(entries) - 1],
                                  lambda _entry, body: body.update(units=1)), True),
    "a limit": (balances("UPDATE population SET lim = 10 * lim WHERE id = 'p'"), True),
    "a newest state": (balances(
        "UPDATE request SET state = 'reserved' WHERE seq = (SELECT max(seq) "
                                "FROM request)"), True),
    "a publication": (balances("UPDATE publication SET k = 99"), True),
    "an entry of another kind": (balances("UPDATE entry SET kind = 'commit' WHERE seq = (SELECT "
                                          "max(seq) FROM request)"), True),
    "an entry of no text": (balances("UPDATE entry SET payload = 'garbage' WHERE seq = (SELECT "
                                     "max(seq) FROM request)"), True),
    "a trigger": (balances("CREATE TABLE more(a BIGINT)"), True),
    "a publication gone": (balances("DELETE FROM publication"), True),
    "the newest checkpoint's text": (balances(_TEXT + _MARK.format("max")), True),
    "the newest checkpoint gone": (balances("DELETE FROM entry WHERE seq = " + _MARK.format("max")),
                                   True),
    "the second checkpoint gone, closed over": (closed_over, True),
    "the newest checkpoint lower": (together(chained(newest, spends(5)), LESS), True),
    "the newest checkpoint of others": (chained(newest, renamed), True),
    "the second checkpoint's text": (balances(_TEXT + _BEFORE), True),
    "the second checkpoint gone": (balances("DELETE FROM entry WHERE seq = " + _BEFORE), True),
    "the second checkpoint lower": (together(chained(second, spends(5)), LESS), True),
    "the second checkpoint of others": (chained(second, renamed), True),
    "the second checkpoint without accounts": (chained(second, unlike), True),
    "checkpoints twice": (appended, True),
    "all checkpoints lower, alike": (together(chained(_marks, spends(5)), LESS), False),
    "an old charge's text": (balances("UPDATE entry SET payload = replace(payload, '1000000', '1') "
                                      f"WHERE seq = {_OLD}"), False),
    "an old charge": (chained(lambda entries: [next(
        entry.seq for entry in entries if entry.kind == "reserve")],
        lambda _entry, body: body.update(units=1)), False),
    "an old request": (balances(f"UPDATE request SET units = 1 WHERE seq = {_OLD}"), False),
    "an old request gone": (balances(f"DELETE FROM request WHERE seq = {_OLD}"), False),
    "an old entry gone": (balances("DELETE FROM entry WHERE seq = 5"), False),
    "the first checkpoint lower": (chained(lambda entries: _marks(entries)[:1], spends(5)), False),
}


#: Of these all are tried on a file, and some on a server.
_SERVED = [edit for number, edit in enumerate(EDITS) if number % 3 == 0]


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize(("place", "edit"), [("file", edit) for edit in EDITS] + [
    ("server", edit) for edit in _SERVED], indirect=["place"])
def test_what_is_changed_by_hand_is_found(place, request, edit):  # noqa: F811
    """The next charge of a new process, or `verify`, finds each edit, in a sentence."""
    ledger = filled(place)
    act, at_a_charge = EDITS[edit]
    entries = recount(place)[1]
    assert len(_marks(entries)) > 3
    with by_hand(place, request) as execute:
        act(execute, entries)
    another_process()

    report = ledger.verify_chain()
    assert not report.valid
    if not at_a_charge:
        ledger.reserve(MILLI, CLAIM)
        assert not ledger.verify_chain().valid
        return
    for call in (lambda: ledger.reserve(MILLI, CLAIM), lambda: Ledger(place, "r").grant(1)):
        with pytest.raises(LedgerError, match=r"does not add up, and nothing was written|is damaged"
                           ) as caught:
            call()
        assert "ledger verify" in str(caught.value)
    assert report.entries == recount(place)[0].entries


def test_a_damaged_index_is_found(tmp_path, often):
    """What is wrong in the file and in no row is found by `verify`."""
    path = str(tmp_path / "b.db")
    ledger = filled(path)
    with contextlib.closing(sqlite3.connect(path)) as db:
        (size,), (root,) = db.execute("PRAGMA page_size").fetchone(), db.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_entry_1'").fetchone()
    with open(path, "r+b") as file:  # noqa: PTH123
        file.seek(size * root - 20)
        file.write(b"1" * 20)

    assert ("the file is damaged",) == ledger.verify_chain().reasons
    with pytest.raises(LedgerError, match="the copy does not add up"):
        ledger.backup(str(tmp_path / "copy.db"))


def test_a_crash_at_a_checkpoint_never_passes_the_limit(shim, memory, monkeypatch):  # noqa: F811
    """Whatever call was the last one, and torn from its journal: never beyond, and nothing lost."""
    monkeypatch.setattr(chain, "EVERY", 4)
    there = memory / "base"
    there.mkdir()
    ledger = Ledger(str(there / "b.db"), "p", head=str(there / "head.json"))
    ledger.grant(6)
    for _ in range(11):
        ledger.reserve(Cost.of("0.5"), {"claim": {}, "software": {"x": "y" * 700}})
    plant = "from privsieve.ledger import chain; chain.EVERY = 4"
    kinds = [entry.kind for entry in recount(ledger.path)[1]]
    assert kinds[-5:].count("checkpoint") == 1
    refused = 0
    for torn in (False, True):
        for crashed, done in die_everywhere(shim, there, torn=torn, plant=plant):
            hot = (crashed / "b.db-journal").exists()
            (crashed / "b.db").rename(crashed / "moved.db")
            another_process()
            gave, wrong = never_beyond(crashed / "moved.db", acknowledged(done))
            # Half a page of an index is seen by `verify` alone; no sum hangs on it.
            assert [] == wrong or (torn and wrong[0].endswith("the file is damaged"))
            assert gave or hot
            refused += not gave
            shutil.rmtree(crashed)

    assert refused > 9
