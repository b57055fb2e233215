"""Laws of taking over: a ledger of 0.1.0 is read as it is, and changes whole or not at all."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path

import pytest

from privsieve.check.verify import verify
from privsieve.errors import BudgetExceeded, LedgerError
from privsieve.ledger import sql as ledger_schema
from privsieve.ledger.chain import Entry, replay
from privsieve.ledger.ledger import Ledger, populations, recount
from privsieve.public.plan import UNIT, Cost

GOLDEN = Path(__file__).parent / "golden" / "ledger-0.1.0.sql"
FOLDERS = Path(__file__).parent / "golden" / "0.1.0"
ROW = {"claim": {"unit": UNIT["row"], "neighbours": "replace-one"}}
ADDED = {"claim": {"unit": UNIT["row"], "neighbours": "add-remove"}}
PERSON = {"claim": {"unit": UNIT["person"], "neighbours": "replace-one"}}
DIGEST = "ab" * 32


@pytest.fixture
def old(tmp_path):
    """A file that version 0.1.0 wrote; see the first line of its text."""
    path = str(tmp_path / "old.db")
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript(GOLDEN.read_text(encoding="utf-8"))
    return path


def _version(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        return db.execute("PRAGMA user_version").fetchone()[0]


def _lines(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT * FROM entry ORDER BY seq").fetchall()


def _left(path):
    return {one.population: one.left() for one in populations(path)}


def test_an_old_ledger_is_read_as_it_is(old):
    """It is shown and verified without a change of a byte, in the change it will protect."""
    before = Path(old).read_bytes()
    report, entries = recount(old)
    left = _left(old)

    assert ((), 30) == (report.reasons, len(entries))
    # Rows: .75 of 3.  Mixed: .5 and twice .5 (add-remove) and twice .5 (a person) of 3.
    assert {"rows": Fraction(9, 4), "mixed": Fraction(1, 2), "persons": Fraction(2)} == {
        name: left[name] for name in ("rows", "mixed", "persons")}
    assert ("row", "replace-one", None) == Ledger(old, population="mixed").account()[-3:]
    assert ["1", "2", "2"] == [made.factor for made in Ledger(old, population="mixed").charges()]
    assert 1 == len(Ledger(old, population="guests").publications())
    assert 1 == len(Ledger(old, population="rows").orphans())
    assert (1, before) == (_version(old), Path(old).read_bytes())


def test_an_old_ledger_is_taken_over_by_its_first_charge(old):
    """Old entries stay byte for byte, one entry marks the change, and all balances stay."""
    lines, left = _lines(old), _left(old)
    committed = Ledger(old, population="rows").orphans()[0]
    entry = Ledger(old, population="rows").reserve(Cost.of("0.25"), ADDED)
    after = _lines(old)

    assert lines == after[:len(lines)]
    assert "schema" == after[len(lines)][1]
    assert (len(lines) + 2, "2") == (entry.seq, entry.body["charged"]["factor"])
    assert {**left, "rows": left["rows"] - Fraction(1, 2)} == _left(old)
    assert (3, ()) == (_version(old), recount(old)[0].reasons)
    Ledger(old, population="rows").commit(committed, DIGEST)
    Ledger(old, population="guests").grant(1, unit="person")
    assert () == recount(old)[0].reasons


def test_old_certificates_hold(tmp_path):
    """A certificate of 0.1.0 is valid against its ledger before and after, and no edit of it is."""
    old = str(tmp_path / "golden.db")
    with contextlib.closing(sqlite3.connect(old)) as db:
        db.executescript((FOLDERS / "ledger.sql").read_text(encoding="utf-8"))
    body = json.loads((FOLDERS / "rule-sieve" / "two" / "certificate.json").read_bytes())
    assert () == verify(body, ledger=old).reasons
    Ledger(old, population="row").reserve(Cost.of("0.1"), ROW)

    assert () == verify(body, ledger=old).reasons
    body["ledger"]["reserved_at"] = "2020-01-01T00:00:00Z"
    assert not verify(body).valid


def test_an_account_that_its_charges_pass_is_closed(old):
    """Old charges of a change that cannot be converted leave nothing, and nothing is refunded."""
    closed = Ledger(old, population="closed")

    assert (Fraction(3), Fraction(0)) == (closed.spent(), closed.left())
    assert ["1", "0"] == [made.factor for made in closed.charges()]
    with pytest.raises(BudgetExceeded, match="0 left"):
        closed.reserve(Cost.of("1e-9"), PERSON)
    assert (Fraction(0), ()) == (closed.left(), recount(old)[0].reasons)


def test_an_old_delta_keeps_plain_sums(old):
    """A population to which 0.1.0 granted a delta may spend all of it, and adds plainly."""
    for name, left in (("fresh", Fraction(1, 10**6)), ("town", Fraction(9, 10**7))):
        people = Ledger(old, population=name)
        assert left == people.delta_left()
        people.reserve(Cost(Fraction(1, 2), left, rho=Fraction(1, 10**6)), ROW)
        assert (Fraction(0), 0) == (people.delta_left(), people.account().rho_limit)
        with pytest.raises(BudgetExceeded):
            people.reserve(Cost(Fraction(1, 2), left, rho=Fraction(1, 10**6)), ROW)
    assert () == recount(old)[0].reasons


def test_an_old_name_stays_as_it_stands(old):
    """A name that would be refused today is used on, under its own spelling alone."""
    name = "K\u043eln"  # the second letter is Cyrillic
    Ledger(old, population=name).reserve(Cost.of("0.5"), ROW)

    assert Fraction(1, 2) == Ledger(old, population=name).left()
    with pytest.raises(LedgerError, match=f"{name}: a limit of 1 is granted already"):
        Ledger(old, population="Koln").grant(1)


@pytest.mark.parametrize("statement", range(10))
def test_a_half_done_change_leaves_the_old_ledger(old, monkeypatch, statement):
    """Whatever statement fails, the file is the old one, and the next opening succeeds."""
    dump = _lines(old)

    class Failing(sqlite3.Connection):
        """A disk that fails at one statement."""

        seen = 0

        def execute(self, text, *more):
            if self.in_transaction and text.strip().startswith(("DROP", "CREATE", "INSERT",
                                                                "PRAGMA user_version=")):
                Failing.seen += 1
                if Failing.seen == statement + 1:
                    raise KeyboardInterrupt
            return super().execute(text, *more)

    connect = sqlite3.connect
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **{**k, "factory": Failing}))
        with pytest.raises(KeyboardInterrupt):
            Ledger(old, population="rows").reserve(Cost.of("0.1"), ROW)

    assert (1, dump, ()) == (_version(old), _lines(old), recount(old)[0].reasons)
    Ledger(old, population="rows").reserve(Cost.of("0.1"), ROW)
    assert (3, ()) == (_version(old), recount(old)[0].reasons)


def test_a_changed_old_ledger_is_not_taken_over(old):
    """A file that does not add up is left as it is: a new schema would wash it clean."""
    with contextlib.closing(sqlite3.connect(old, isolation_level=None)) as db:
        (text,) = db.execute("SELECT sql FROM sqlite_master WHERE name = 'population_update'"
                             ).fetchone()
        db.execute("DROP TRIGGER population_update")
        db.execute("UPDATE population SET spent = 0")
        db.execute(text)
    with pytest.raises(LedgerError, match="does not add up, and was left as it is"):
        Ledger(old, population="rows").reserve(Cost.of("0.1"), ROW)

    assert 1 == _version(old)


def test_a_new_file_that_says_it_is_old_is_found(tmp_path):
    """Setting the version back turns no ledger into an old one."""
    ledger = Ledger(str(tmp_path / "b.db"), population="p")
    ledger.grant(1)
    with contextlib.closing(sqlite3.connect(ledger.path)) as db:
        db.execute("PRAGMA user_version=1")

    assert not ledger.verify_chain().valid
    with pytest.raises(LedgerError):
        ledger.reserve(Cost.of("0.1"), ROW)


def test_old_entries_are_not_possible_after_new_ones():
    """An entry of 0.1.0 would be charged without its factor: the chain tells when they end."""
    grant = Entry.after(None, "grant", {"population": "p", "account": "pure", "limit": 10,
                                        "delta_limit": "0"})
    schema = Entry.after(grant, "schema", {"version": 2})
    late = Entry.after(schema, "reserve", {"population": "p", "request": "a", "units": 4,
                                           "delta": "0", "claim": ROW})
    again = Entry.after(schema, "schema", {"version": 2})

    assert () == replay([grant, schema])[2]
    assert ("entry 3 is not possible after those before it",) == replay([grant, schema, late])[2]
    assert ("entry 3 is not possible after those before it",) == replay([grant, schema, again])[2]


def _charge(path, number):
    entry = Ledger(path, population="rows").reserve(Cost.of("0.01"), ROW)
    return entry.seq, number


def test_eight_processes_take_over_one_ledger(old):
    """Eight processes that open an old ledger at once change it once and lose no charge."""
    with ProcessPoolExecutor(8, get_context("spawn")) as pool:
        done = list(pool.map(_charge, [old] * 16, range(16)))
    kinds = [entry.kind for entry in recount(old)[1]]

    assert 16 == len({seq for seq, _ in done})
    assert (1, ()) == (kinds.count("schema"), recount(old)[0].reasons)
    assert Fraction(9, 4) - Fraction(16, 100) == Ledger(old, population="rows").left()


def test_the_old_tables_are_those_of_the_old_version(old):
    """What is expected of an old file is what 0.1.0 wrote."""
    with contextlib.closing(sqlite3.connect(old)) as db:
        assert ledger_schema.expected_safeguards(1) == ledger_schema.safeguards(db)
