"""Laws of the ledger under kill -9: no overspending, no lost charge, no release without one."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from fractions import Fraction

import pytest

from privsieve.ledger.chain import replay
from privsieve.ledger.ledger import Ledger, recount

#: How many processes are killed; PRIVSIEVE_KILLS asks for more.
KILLS = int(os.environ.get("PRIVSIEVE_KILLS", "50"))
#: Where to read, and nothing is added up before it is written: what a planted fault needs.
BLIND = """
def blind(db, place): db.execute("PRAGMA ignore_check_constraints=ON")
file._demand_sum = blind
"""
#: Ledgers with the mistakes that ledgers have; each is a program that a worker runs first.
PLANTED = {
    # A result is shown before its charge is durable.
    "witness first": 'shown = "early"',
    # What is read in one transaction is written in another.
    "check, then act": BLIND + """
def reserve(self, cost, claim):
    has = self.account()
    after = has.plus(account.charge(cost.units, cost.delta_units, cost.rho_units, 1))
    if after is None:
        raise BudgetExceeded
    time.sleep(0.005)
    with file.transaction(self.path) as db:
        sql.write(db, self.population, after)
        return charge(self, db, cost)
module.Ledger.reserve = reserve
""",
}
#: The rest of a charge, for a planted fault.
CHARGE = """
import os
def charge(self, db, cost):
    request = os.urandom(16).hex()
    made = account.charge(cost.units, cost.delta_units, cost.rho_units, 1)
    entry = sql.append(db, "reserve", {
        "population": self.population, "request": request, "units": cost.units,
        "delta": cost.delta_text, "rho": account.decimal(made.rho, account.RHO_UNITS),
        "charged": account.charged(sql.account_of(db, self.population), made, 1), "claim": {},
        "reserved_at": "2026-01-01T00:00:00Z"})
    db.execute("INSERT INTO request VALUES (?, ?, ?, ?, 'reserved', ?, ?, '1')",
               (request, self.population, made.units, made.delta, entry.seq, made.rho))
    return entry
"""
SLOTS = 8

#: Reserve, witness, commit, witness, without end.  A witness is on the disk before work goes on.
WORKER = """
import os, random, sys, time
from privsieve.public.plan import Cost
from privsieve.errors import BudgetExceeded
from privsieve.ledger import account, file, sql
from privsieve.ledger import ledger as module
path, witness, seed, early = sys.argv[1:]
exec(early)
early = locals().get("shown", "late")
dice = random.Random(int(seed))
log = os.open(witness, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
def say(*words):
    os.write(log, (" ".join(map(str, words)) + "\\n").encode())
    os.fsync(log)
while True:
    name = dice.choice(["wide", "narrow"])
    cost = Cost.of(f"0.0{dice.randint(1, 9)}", delta=f"{dice.randint(1, 9)}e-9")
    if early == "early":  # the planted fault: a result is shown before its charge is durable
        request = dice.randbytes(16).hex()
        os.urandom = lambda count: bytes.fromhex(request)[:count]
        say("charged", name, request, cost.units, cost.delta_units)
        time.sleep(0.03)
    try:
        entry = module.Ledger(path, name).reserve(cost, {})
    except BudgetExceeded:
        say("denied", name)
        continue
    if early != "early":
        say("charged", name, entry.request, cost.units, cost.delta_units)
    module.Ledger(path, name).commit(entry, "ab" * 32)
    say("committed", name, entry.request)
"""


def _at(tmp_path, place):
    return place or str(tmp_path / "b.db")


def _spawn(tmp_path, seed, plant, place):
    witness = tmp_path / f"witness{seed}"
    return witness, subprocess.Popen(
        [sys.executable, "-c", WORKER, _at(tmp_path, place), str(witness), str(seed), plant],
        stderr=subprocess.DEVNULL if plant else None)  # the tables refuse some of what is planted


def kill_many(tmp_path, kills, plant="", place=None):
    """Kill working processes at random moments; the witnesses that they left, and kills a second.

    Whether the work went on is not asked of a ledger with a planted fault.
    """
    dice, plant = random.Random(7), plant and CHARGE + plant
    slots = [_spawn(tmp_path, seed, plant, place) for seed in range(SLOTS)]
    begun = time.monotonic()
    for seed in range(SLOTS, SLOTS + kills):
        slot = seed % SLOTS
        witness, process = slots[slot]
        while not (witness.exists() and witness.stat().st_size):
            ended = process.poll() is not None  # asked once: it may end between two questions
            if plant and ended:
                break
            assert not ended
            time.sleep(0.005)
        time.sleep(dice.expovariate(20))
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL or plant
        slots[slot] = _spawn(tmp_path, seed, plant, place)
    rate = kills / (time.monotonic() - begun)
    for _, process in slots:
        process.kill()
        process.wait()
    lines = [line.split() for path in sorted(tmp_path.glob("witness*"))
             for line in path.read_text().splitlines()]
    return ({line[2]: (line[1], int(line[3]), int(line[4]))
             for line in lines if line[0] == "charged"},
            {line[2] for line in lines if line[0] == "committed"},
            Counter(line[0] for line in lines), rate)


def grant(tmp_path, place=None):
    """Two populations, one of which is spent soon."""
    for name, limit in (("wide", 1000), ("narrow", "0.5")):
        Ledger(_at(tmp_path, place), population=name).grant(limit, delta="1e-3")


def wrong_of(tmp_path, charged, committed, place=None):
    """What the witnesses say against the ledger."""
    report, entries = recount(_at(tmp_path, place))
    requests = replay(entries)[0].request
    wrong = list(report.reasons)
    if charged != {key: requests[key][:3] for key in charged if key in requests}:
        wrong.append("a charge was lost")
    if not all(key in requests and requests[key][3] == "committed" for key in committed):
        wrong.append("a commit was lost")
    for name in ("wide", "narrow"):
        ledger = Ledger(_at(tmp_path, place), population=name)
        own = [row for row in requests.values() if row[0] == name]
        if ledger.spent() > ledger.limit():
            wrong.append("a limit was passed")
        if not ledger.account().summed and not ledger.account().concentrated:
            wrong.append("both sums were passed")
        if ledger.account().spent != sum(row[1] for row in own):
            wrong.append("the sum is not that of the charges")
        if ledger.delta_limit() - ledger.delta_left() != Fraction(
                sum(row[2] for row in own), 10**18):
            wrong.append("the delta is not that of the charges")
        if len(ledger.orphans()) != sum(row[3] == "reserved" for row in own):
            wrong.append("charges without a release are not those that were not committed")
    return wrong, requests


def test_kill_9_loses_no_charge(tmp_path):
    """After 50 kills at random moments every witness has its charge and no limit is passed."""
    grant(tmp_path)
    charged, committed, counts, rate = kill_many(tmp_path, KILLS)
    wrong, requests = wrong_of(tmp_path, charged, committed)
    states = Counter(row[3] for row in requests.values())
    print(json.dumps({**counts, **states, "kills": KILLS, "kills a second": round(rate, 2)}))

    assert [] == wrong
    # The work was real: charges, refusals, and processes that died with a charge in hand.
    assert min(len(charged), counts["denied"]) > KILLS
    assert states["reserved"] > 0


@pytest.mark.parametrize("plant", PLANTED)
def test_the_kills_find_a_planted_fault(tmp_path, plant):
    """The same kills find a ledger with a classic mistake: the test has power."""
    def wrong(attempt):
        (place := tmp_path / str(attempt)).mkdir()
        grant(place)
        charged, committed, counts, _ = kill_many(place, 24, PLANTED[plant])
        assert counts["charged"]
        return wrong_of(place, charged, committed)[0]

    # Two processes may miss each other, on a machine that lets nobody run at once.
    assert any(wrong(attempt) for attempt in range(10))
