"""Laws of a shared ledger: a server keeps what a file keeps, even if any side is killed."""

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

import privsieve as ps
from privsieve.errors import BudgetExceeded, LedgerError, ParameterError
from privsieve.extras.postgres import server
from privsieve.fit import note
from privsieve.folder import Folder
from privsieve.ledger import sql
from privsieve.ledger.chain import exported
from privsieve.ledger.ledger import Ledger, populations, recount, recount_export
from privsieve.public.plan import Cost
from test_ledger_kill import WORKER, grant, kill_many, wrong_of

psycopg = pytest.importorskip("psycopg", reason="psycopg, which reaches PostgreSQL, is missing")

DIGEST = "ab" * 32
CLAIM = {"claim": {"epsilon": "0.5"}, "software": {}}
KILLS = int(os.environ.get("PRIVSIEVE_KILLS", "20"))
ROLES = Path(__file__).parents[2] / "docs" / "ledger.md"


@pytest.fixture
def base(postgres):
    """The name of an empty database."""
    return postgres.database()


@pytest.fixture
def shared(postgres, base):
    """A shared ledger with 3 granted."""
    ledger = Ledger(postgres.url(base), population="clinic-2026")
    ledger.grant("3.0")
    return ledger


@pytest.fixture(params=["file", "server"])
def place(request, tmp_path):
    """Where a ledger can lie."""
    if request.param == "file":
        return str(tmp_path / "budget.db")
    postgres = request.getfixturevalue("postgres")
    return postgres.url(postgres.database())


def test_a_server_on_the_net_proves_its_name(monkeypatch):
    """A server is taken that proves the URL's name to the authority, and no other is."""
    from postgres import Server

    url = "postgresql://owner@db.example.org/budgets"
    with Server.started("db.example.org") as server:
        server.database()
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        Ledger(url, population="clinic").grant(3)

        assert 3 == Ledger(url, population="clinic").left()
        with pytest.raises(LedgerError):
            Ledger(url.replace("example.org", "example.com"), population="clinic").left()
        with Server.started("db.example.org") as other:
            monkeypatch.setenv("PGSSLROOTCERT", other.environment()["PGSSLROOTCERT"])
            with pytest.raises(LedgerError):
                Ledger(url, population="clinic").left()


# --- the laws of both ---------------------------------------------------------------------------

def test_what_is_granted_is_spent_once(place):
    """A charge stays, is committed once, is an orphan without a commit; the limit is exact."""
    ledger = Ledger(place, population="clinic-2026")
    ledger.grant("3.0")
    kept = ledger.reserve(Cost.of("0.5"), CLAIM)
    orphan = ledger.reserve(Cost.of("0.25"), CLAIM)
    commit = ledger.commit(kept, DIGEST)

    assert Fraction(9, 4) == ledger.left()
    assert (orphan,) == ledger.orphans()
    assert ["grant", "reserve", "reserve", "commit"] == [e.kind for e in ledger.entries()]
    assert commit.prev == orphan.hash
    with pytest.raises(LedgerError, match="committed once"):
        ledger.commit(kept, DIGEST)
    with pytest.raises(BudgetExceeded, match=r"2\.250000001; the budget has 2\.25 left"):
        ledger.reserve(Cost.of("2.250000001"), CLAIM)
    ledger.reserve(Cost.of("2.25"), CLAIM)
    assert Fraction(0) == ledger.left()
    assert ledger.verify_chain().valid
    assert (5, ()) == (ledger.verify_chain().entries, ledger.verify_chain().reasons)
    assert recount_export(exported(recount(place)[1])).valid


def test_a_name_is_a_budget(place):
    """A grant is made once, a look-alike is refused, and names have the order of their letters."""
    for name in ("Zoo", "clinic", "été"):
        Ledger(place, population=name).grant(1)

    with pytest.raises(LedgerError, match="already has a limit"):
        Ledger(place, population="Clinic").grant(1)
    for name in ("c1inic", "cl-inic", "CLINIC."):
        for act in (Ledger.introduce, Ledger.left, lambda call: call.reserve(Cost.of("0.1"), {})):
            with pytest.raises(LedgerError, match="clinic: the ledger has this population"):
                act(Ledger(place, population=name))
    with pytest.raises(LedgerError, match="does not have this population"):
        Ledger(place, population="town").left()
    assert ["Zoo", "clinic", "été"] == [population.population for population in populations(place)]


def test_a_request_pays_once(place):
    """A named request is charged once, and its charge and completion are found by its name."""
    ledger = Ledger(place, population="clinic", request="spring 100%")
    ledger.grant(1, delta="1e-6")
    assert ledger.charge() is None
    entry = ledger.reserve(Cost.of("0.5", delta="1e-9"), CLAIM)

    assert (entry, None) == ledger.charge()
    with pytest.raises(ParameterError, match="charged before"):
        ledger.reserve(Cost.of("0.1"), CLAIM)
    assert (entry, ledger.commit(entry, DIGEST)) == ledger.charge()


def test_limits_are_raised_by_two(place):
    """A raise needs two names, is in the chain, and never lowers."""
    ledger = Ledger(place, population='odd "name" \\ here')
    ledger.grant(1, delta="1e-6")
    ledger.reserve(Cost.of("0.5"), CLAIM)
    ledger.raise_limit(epsilon=2, reason="more", by=("A. Clerk", "B. Board"))

    assert Fraction(2) == ledger.limit()
    assert ledger.verify_chain().valid
    with pytest.raises(LedgerError, match="write a larger limit"):
        ledger.raise_limit(epsilon=1, reason="less", by=("A. Clerk", "B. Board"))


def test_publications_are_kept_in_order(place):
    """What is published is noted; a client that looked before another wrote is refused."""
    ledger = Ledger(place, population="clinic")
    ledger.introduce()
    first = ledger.publish("2026", ["a", "b"], 5, "items", claim={})

    with pytest.raises(LedgerError, match="another publication was noted"):
        ledger.publish("2026", ["c"], 5, "items", claim={}, after=0)
    assert [("a", "b")] == [publication.columns for publication in ledger.publications()]
    assert first.seq == ledger.publications()[0].seq
    assert ledger.verify_chain().valid


def test_a_head_tells_an_older_copy(place, tmp_path):
    """A ledger that lacks the newest entry that a head knows is neither charged nor shown."""
    head = str(tmp_path / "head.json")
    ledger = Ledger(place, population="clinic", head=head)
    ledger.grant(1)
    entry = ledger.reserve(Cost.of("0.5"), CLAIM)
    assert ledger.holds(entry.hash)
    assert entry.hash == ledger.newest()
    body = json.loads(Path(head).read_text())
    assert entry.hash == body["hash"]
    Path(head).write_text(Path(head).read_text().replace(entry.hash, "00" * 32))

    with pytest.raises(LedgerError):
        ledger.reserve(Cost.of("0.5"), CLAIM)
    with pytest.raises(LedgerError):
        ledger.left()


# --- a place ------------------------------------------------------------------------------------

@pytest.mark.parametrize("url", [
    "postgresql://u:secret@host/db", "postgres://:secret@/db", "postgresql://u@h/d?password=secret",
    "postgresql://u@h/d?pass%77ord=secret", "postgresql://h/d?sslpassword=secret",
    "postgresql://u:se#secret@h/d", "postgresql://u:se/secret@h/d", "postgresql://u:secret",
    "postgresql://h/d?options=-csecret", "mysql://u:secret@h/d", "postgresql://h/d?user=a@secret"])
def test_a_url_holds_no_password(url):
    """A password is refused where it could be shown, with what to use instead, and not echoed."""
    with pytest.raises(ParameterError) as caught:
        Ledger(url, population="p")

    assert "secret" not in str(caught.value)
    assert ("PGPASSFILE" in str(caught.value)) is not url.startswith("mysql")


@pytest.mark.parametrize(("url", "mode"), [
    ("postgresql://db.example.org/b", "verify-full"), ("postgresql:///b", "verify-full"),
    ("postgresql://db:5432/b", "verify-full"), ("postgresql://localhost,db/b", "verify-full"),
    ("postgresql://localhost/b?host=db", "verify-full"),
    ("postgresql://localhost:5432/b", None), ("postgresql://%2Frun%2Fpostgresql/b", None),
    ("postgresql:///b?host=/run/postgresql", None), ("postgresql://[::1]:5432/b", None)])
def test_a_server_elsewhere_proves_who_it_is(url, mode):
    """What is not this machine by its name needs verify-full, and a weaker word is refused."""
    extra = f"{url}{'&' if '?' in url else '?'}sslmode="

    assert mode == server.transport(url)
    if mode:
        assert Ledger(f"{extra}verify-full", population="p").path
        with pytest.raises(ParameterError, match="verify-full"):
            Ledger(f"{extra}require", population="p")
    else:
        assert Ledger(f"{extra}disable", population="p").path


def test_what_fails_is_said_without_the_server_s_words(postgres, base, tmp_path):
    """No server, no such database, no ledger, no copy: a sentence each."""
    for url in (f"postgresql://u@/secret?host={tmp_path}", postgres.url("secret")):
        with pytest.raises(LedgerError, match="cannot be reached") as caught:
            Ledger(url, population="p").grant(1)
        assert "secret" not in str(caught.value)
    with pytest.raises(LedgerError, match="no ledger in this database"):
        Ledger(postgres.url(base), population="p").left()
    with pytest.raises(LedgerError, match="pg_dump"):
        Ledger(postgres.url(base), population="p").backup(str(tmp_path / "copy"))


def test_the_command_line_takes_a_url(cli, postgres, base, tmp_path):
    """Grant, show, export and verify are the same words for a server."""
    url = postgres.url(base)

    assert cli("ledger", "grant", "--ledger", url, "--population", "p", "--epsilon", "2")[0] == 0
    code, out, _ = cli("ledger", "show", "--ledger", url, "--json")
    assert 0 == code
    assert '"left":"2"' in out.replace(" ", "")
    assert cli("ledger", "verify", "--ledger", url)[0] == 0
    assert cli("ledger", "export", "--ledger", url, "--out", tmp_path / "e.jsonl")[0] == 0
    assert cli("ledger", "verify", "--export", tmp_path / "e.jsonl")[0] == 0


@pytest.fixture
def nobody():
    """The URL of a server on a port of this machine where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"postgresql://127.0.0.1:{taken.getsockname()[1]}/budgets"


@pytest.mark.parametrize("words", [
    ["verify", "first"], ["verify", "first/certificate.json"], ["ledger", "show"],
    ["ledger", "verify"], ["select", "t.csv", "--domain", "d.toml", "--epsilon", "1", "--top", "1",
                           "--population", "p", "--out", "second"]])
def test_a_server_that_does_not_answer_is_said_so(cli, nobody, tmp_path, monkeypatch, words):
    """One sentence with what to do, and the code of a ledger: nothing is said of a certificate."""
    monkeypatch.chdir(tmp_path)
    domain = ps.Domain.box(0, 1, columns=["a", "b"])
    domain.to_toml(tmp_path / "d.toml")
    rows = [[0, 1], [1, 0]] * 50
    lines = [f"a,b,{domain.target.name}", *(f"{a},{b},{a}" for a, b in rows)]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    ledger = Ledger("budget.db", population="p")
    ledger.grant(1)
    ps.RuleSieve(1, epsilon=1, domain=domain, ledger=ledger).fit(rows, [a for a, _ in rows]
                                                                 ).release_.save("first")
    code, out, err = cli(*words, "--ledger", nobody)

    assert (4, "", 1) == (code, out, len(err.splitlines()))
    assert "the ledger's server cannot be reached" in err
    assert "check the URL, the password file and the server, and try again" in err
    assert not (tmp_path / "second").exists()


def test_a_release_is_paid_by_a_server(cli, tmp_path, postgres, base):
    """A release is charged, finished and verified; its folder notes the URL as it is."""
    ledger = Ledger(postgres.url(base), population="clinic", request="spring")
    ledger.grant(1)
    sieve = ps.RuleSieve(1, epsilon="0.5", domain=ps.Domain.box(0, 1, columns=3), ledger=ledger)
    sieve.fit([[0, 1, 1], [1, 0, 1]] * 50, [0, 1] * 50)
    sieve.release_.save(tmp_path / "first")

    assert (Fraction(1, 2), ()) == (ledger.spent(), ledger.orphans())
    assert "| Remaining | epsilon 0.5 |" in cli("export", "label", tmp_path / "first", "--ledger",
                                                ledger.path)[1]
    with pytest.raises(ParameterError, match="charged before"):
        sieve.fit([[0, 1, 1], [1, 0, 1]] * 50, [0, 1] * 50)
    with Folder.create(tmp_path / "out") as folder:
        note(folder, ledger, {})
    assert ledger.path == json.loads((tmp_path / "out" / "request.json").read_text())["ledger"]


def test_a_publication_is_noted_on_a_server(cli, postgres, base, tmp_path, monkeypatch):
    """Machines that have one key know the table again, with a head; no other table is published."""
    monkeypatch.chdir(tmp_path)
    lines = ["a,b,ill", *(f"{i % 2},{i // 2 % 2},{i % 10 // 3 % 2}" for i in range(200))]
    Path("t.csv").write_text("\n".join(lines))
    Path("fewer.csv").write_text("\n".join(lines[:-1]))
    url = postgres.url(base)

    def publish(out, *options, data="t.csv"):
        code, _out, err = cli("publish", data, "--target", "ill", "-k", "5", "--out", out,
                              "--ledger", url, "--population", "p", "--snapshot", "2026", *options)
        return code, " ".join(err.split())

    first_key, other = (("--fingerprint-key", name, "--head", f"{name}.head")
                        for name in ("one", "other"))
    code, output = publish("first", "--first")
    assert (2, True) == (code, "name it with --fingerprint-key" in output)
    with psycopg.connect(url) as db:  # and nothing was noted for it
        assert [(None,)] == list(db.execute("SELECT to_regclass('privsieve.entry')"))
    assert 0 == publish("first", "--first", *first_key)[0]
    assert 0o600 == Path("one").stat().st_mode & 0o777
    assert 0 == cli("verify", "first", "--ledger", url)[0]
    for wrong, words in ((other, "key other is missing"), (other, "is the key of another ledger")):
        code, output = publish("second", *wrong)
        assert (4, True) == (code, words in output), output
        Path("other").write_bytes(bytes(32))
        Path("other").chmod(0o600)
    Path("other").write_bytes(Path("one").read_bytes())  # as somebody carries it over
    assert 0 == publish("second", *other)[0]
    assert 0 == publish("third", *first_key)[0]
    code, output = publish("fourth", *first_key, data="fewer.csv")
    assert (4, True) == (code, "not the one from which" in output), output
    assert not Path("fourth").exists()
    assert 3 == len(Ledger(url, population="p").publications())
    assert cli("ledger", "verify", "--ledger", url, "--head", "one.head", "first", "third")[0] == 0


# --- the server ---------------------------------------------------------------------------------

def test_a_ledger_is_made_once(postgres, base):
    """Eight who come at once make one ledger."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: Ledger(postgres.url(base), population=f"p{'abcdefgh'[i]}").grant(1),
                      range(8)))

    assert 8 == len(populations(postgres.url(base)))
    assert recount(postgres.url(base))[0].valid


def test_a_charge_waits_for_the_disk(postgres, base, shared):
    """A role or database that acknowledges early is overruled; a server that cannot keep is not."""
    with postgres.root(base) as db:
        db.execute(f"ALTER DATABASE {base} SET synchronous_commit = off")
    with server.transaction(shared.path, "clinic-2026") as db:
        assert "on" == db.execute("SHOW synchronous_commit").fetchone()[0]
    with postgres.root(base) as db:
        db.execute(f"ALTER DATABASE {base} SET session_replication_role = replica")
    with pytest.raises(LedgerError, match="is not durable"):
        shared.reserve(Cost.of("0.5"), CLAIM)


@pytest.mark.parametrize("statement", [
    "UPDATE entry SET kind = 'x'", "DELETE FROM entry", "TRUNCATE entry CASCADE",
    "UPDATE population SET spent = 0", "UPDATE population SET lim = lim + 1",
    "UPDATE population SET spent = lim + 1", "DELETE FROM population", "DELETE FROM request",
    "UPDATE request SET units = 1", "UPDATE request SET state = 'reserved'",
    "UPDATE head SET seq = 9", "UPDATE head SET hash = repeat('0', 64), seq = seq + 1",
    "DELETE FROM head", "TRUNCATE head", "INSERT INTO head VALUES (2, 0, '')",
    "UPDATE safeguards SET format = 4",
    "INSERT INTO entry VALUES (9, 'commit', '{}', 'a', 'b')",
    "INSERT INTO entry VALUES (4, 'commit', '{}', 'a', 'b')"])
def test_the_tables_refuse(postgres, base, shared, statement):
    """Its owner, too, changes nothing that was written."""
    shared.commit(shared.reserve(Cost.of("0.5"), CLAIM), DIGEST)
    with postgres.root(base) as db:
        db.execute("SET search_path = privsieve")
        with pytest.raises(psycopg.Error):
            db.execute(statement)

    assert shared.verify_chain().valid


@pytest.mark.parametrize("statement", [
    "UPDATE population SET spent = 0", "UPDATE population SET lim = lim * 2", "DELETE FROM request",
    "UPDATE entry SET payload = replace(payload, '500000000', '400000000') WHERE seq = 2",
    "DELETE FROM request; DELETE FROM entry WHERE seq = 2",
    "ALTER TABLE population DROP CONSTRAINT population_check",
    "DROP TRIGGER population_update ON population", "UPDATE head SET seq = 1",
    "ALTER TABLE entry DISABLE TRIGGER entry_update",
    ("CREATE OR REPLACE FUNCTION entry_delete() RETURNS trigger LANGUAGE plpgsql AS "
     "$$BEGIN RETURN OLD; END$$")])
def test_what_a_superuser_changes_is_found(postgres, base, shared, statement):
    """Around the triggers everything can be changed; the recount tells, and nothing is charged."""
    shared.reserve(Cost.of("0.5"), CLAIM)
    with postgres.root(base) as db:
        db.execute("SET session_replication_role = replica; SET search_path = privsieve")
        db.execute(statement)
    sql._counted.clear()  # another process

    assert not shared.verify_chain().valid
    with pytest.raises(LedgerError, match="does not add up"):
        shared.reserve(Cost.of("0.5"), CLAIM)


def test_roles_do_what_their_page_says(postgres, base, shared):
    """The page's lines are run; who reads, spends or grants can do that and no more."""
    with postgres.root(base) as db:
        for name in ("reader", "spender", "granter"):
            with suppress(psycopg.errors.DuplicateObject):
                db.execute(f"CREATE ROLE {name} LOGIN")
        db.execute(re.search(r"```sql\n(.*?)```", ROLES.read_text(), re.DOTALL)[1])
    reader, spender, granter = (Ledger(postgres.url(base, name), population="clinic-2026")
                                for name in ("reader", "spender", "granter"))
    grant = {"epsilon": 4, "reason": "more", "by": ("A", "B")}

    for role in (reader, spender, granter):
        assert Fraction(3) == role.limit()
        assert role.verify_chain().valid
    entry = spender.reserve(Cost.of("0.5"), CLAIM)
    spender.commit(entry, DIGEST)
    spender.publish("2026", ["a"], 5, "containment", claim={})
    granter.raise_limit(**grant)
    Ledger(granter.path, population="town").grant(1)
    for refused in (lambda: reader.reserve(Cost.of("0.5"), CLAIM),
                    lambda: granter.reserve(Cost.of("0.5"), CLAIM),
                    lambda: spender.raise_limit(**{**grant, "epsilon": 5}),
                    lambda: Ledger(spender.path, population="village").grant(1),
                    lambda: reader.raise_limit(**{**grant, "epsilon": 5})):
        with pytest.raises(LedgerError, match="may not do that"):
            refused()
    assert (Fraction(4), Fraction(1, 2)) == (shared.limit(), shared.spent())
    assert shared.verify_chain().valid


# --- a lost connection --------------------------------------------------------------------------

class _Lost:
    """A connection whose COMMIT gets no answer: before or after the server has done it."""

    def __init__(self, raw, postgres, base, *, done):
        self.raw, self.postgres, self.base, self.done = raw, postgres, base, done

    def __getattr__(self, name):
        return getattr(self.raw, name)

    def execute(self, statement, arguments=None):
        if statement not in ("COMMIT", b"COMMIT"):
            return self.raw.execute(statement, arguments)
        if self.done:
            self.raw.execute("COMMIT")
        with self.postgres.root(self.base) as db:
            db.execute("SELECT pg_terminate_backend(%s)", (self.raw.info.backend_pid,))
        return self.raw.execute("COMMIT")


@pytest.mark.parametrize("done", [True, False])
def test_a_lost_answer_is_looked_up(postgres, base, shared, monkeypatch, done):
    """Where COMMIT has no answer, the charge is looked up: it is acknowledged, or was not made."""
    connect, first = server._connect, [True]

    def connected(path):
        raw = connect(path)
        if first and threading.current_thread() and first.pop():
            return _Lost(raw, postgres, base, done=done)
        return raw

    shared.left()
    with server.transaction(shared.path, ""):
        pass  # counted: the next connection is the one that writes
    monkeypatch.setattr(server, "_connect", connected)
    if done:
        entry = shared.reserve(Cost.of("0.5"), CLAIM)
        assert (entry,) == shared.orphans()
    else:
        with pytest.raises(LedgerError, match="nothing was written"):
            shared.reserve(Cost.of("0.5"), CLAIM)
        assert () == shared.orphans()
    assert 3 - shared.left() == (Decimal("0.5") if done else 0)
    assert shared.verify_chain().valid


def test_what_stays_unknown_is_said(postgres, base, shared, monkeypatch):
    """A server that does not come back leaves open what became of a charge, and no word else."""
    connect, calls = server._connect, []

    def connected(path):
        calls.append(path)
        if len(calls) > 1:
            raise psycopg.OperationalError("secret")
        return _Lost(connect(path), postgres, base, done=True)

    with server.transaction(shared.path, ""):
        pass
    monkeypatch.setattr(server, "_connect", connected)
    monkeypatch.setattr(server, "PATIENCE", 0.5)
    with pytest.raises(LedgerError, match="may or may not be written") as caught:
        shared.reserve(Cost.of("0.5"), CLAIM)
    assert "secret" not in str(caught.value)


# --- kills --------------------------------------------------------------------------------------

def test_kills_lose_no_charge(tmp_path, postgres, base):
    """Eight processes, killed at random moments: each witness has its charge."""
    url = postgres.url(base)
    grant(tmp_path, url)
    charged, committed, counts, rate = kill_many(tmp_path, KILLS, place=url)
    wrong, requests = wrong_of(tmp_path, charged, committed, url)
    states = Counter(row[3] for row in requests.values())
    print(json.dumps({**counts, **states, "kills": KILLS, "kills a second": round(rate, 2)}))

    assert [] == wrong
    # The work was real: charges, refusals, and processes that died with a charge in hand.
    assert len(charged) > KILLS // 2
    assert counts["denied"]
    assert states["reserved"]


def _work(tmp_path, url, seed):
    """A worker with its witness, and what it says at its end."""
    witness = tmp_path / f"witness{seed}"
    return subprocess.Popen([sys.executable, "-c", WORKER, url, str(witness), str(seed), ""],
                            stderr=subprocess.PIPE, text=True)


def _witnessed(tmp_path):
    lines = [line.split() for path in sorted(tmp_path.glob("witness*"))
             for line in path.read_text().splitlines()]
    return ({line[2]: (line[1], int(line[3]), int(line[4]))
             for line in lines if line[0] == "charged" and len(line) == 5},
            {line[2] for line in lines if line[0] == "committed" and len(line) == 3})


def test_a_killed_server_keeps_what_it_acknowledged(tmp_path, postgres, base):
    """The server and all its processes are killed at work, and started again: nothing is lost."""
    url, dice = postgres.url(base), random.Random()
    grant(tmp_path, url)
    workers = [_work(tmp_path, url, seed) for seed in range(4)]
    until = time.monotonic() + 30
    while len(_witnessed(tmp_path)[0]) < 20 and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(dice.random() / 5)
    postgres.kill()
    time.sleep(0.3)
    postgres.start()
    before = len(_witnessed(tmp_path)[0])
    time.sleep(2)
    for worker in workers:
        worker.send_signal(signal.SIGKILL)
    messages = [worker.communicate()[1] for worker in workers]
    charged, committed = _witnessed(tmp_path)
    wrong, requests = wrong_of(tmp_path, charged, committed, url)
    print(json.dumps({"charged": len(charged), "at the kill": before, "requests": len(requests)}))

    assert [] == wrong
    assert before >= 20
    # Who was told of a failure was told in a sentence.
    assert all("psycopg" not in message.rsplit("Traceback", 1)[-1].split("LedgerError")[-1]
               for message in messages)


@pytest.fixture
def unlocked(monkeypatch):
    """A planted fault: a writer reads what another one is changing."""
    monkeypatch.setattr(server, "LOCKS", tuple(lock.removesuffix(" FOR UPDATE")
                                               for lock in server.LOCKS))


def _at_once(url, monkeypatch):
    """Eight threads, three charges each: how many are made, and what else is said."""
    append = sql.append

    def slowly(*arguments):
        time.sleep(0.02)  # between what is read and what is written
        return append(*arguments)

    def ask(_):
        try:
            Ledger(url, population="p").reserve(Cost.of("0.1"), {})
        except BudgetExceeded:
            return "denied"
        except LedgerError as error:
            return str(error)
        return "charged"

    monkeypatch.setattr(sql, "append", slowly)
    with ThreadPoolExecutor(8) as pool:
        return Counter(pool.map(ask, range(24)))


def test_a_writer_waits_for_another(postgres, base, monkeypatch):
    """Who comes while another one writes is refused for the budget alone."""
    Ledger(postgres.url(base), population="p").grant(1)
    waits = _at_once(postgres.url(base), monkeypatch)

    assert {"charged": 10, "denied": 14} == waits


@pytest.mark.parametrize("name", ["p", "other"])
def test_one_writer_at_a_time(postgres, base, name):
    """A second writer waits for a lock, of the same people or of the chain, and goes on after."""
    url = postgres.url(base)
    for single_name in ("p", "other"):
        Ledger(url, population=single_name).grant(1)

    def waiting():
        with postgres.root(base) as db:
            return db.execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = "
                              "'Lock' AND datname = %s", (base,)).fetchone()[0]

    with ThreadPoolExecutor(1) as pool:
        with server.transaction(url, "p"):
            second = pool.submit(Ledger(url, population=name).reserve, Cost.of("0.5"), {})
            while not waiting():
                assert not second.done()
                time.sleep(0.01)
        assert 3 == second.result().seq


@pytest.mark.usefixtures("unlocked")
def test_missing_locks_are_found(postgres, base, monkeypatch):
    """Without the row locks a sum forgets a charge, or writers collide: the tests have power."""
    Ledger(postgres.url(base), population="p").grant(1)
    waits = _at_once(postgres.url(base), monkeypatch)

    assert set(waits) - {"charged", "denied"} or not recount(postgres.url(base))[0].valid
