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

from privsieve.ledger.chain import replay
from privsieve.ledger.ledger import Ledger, recount

#: How many processes are killed; PRIVSIEVE_KILLS asks for more.
KILLS = int(os.environ.get("PRIVSIEVE_KILLS", "50"))
SLOTS = 4

#: Reserve, witness, commit, witness, for ever.  A witness is on the disk before work goes on.
WORKER = """
import os, random, sys, time
from privsieve.public.cost import Cost
from privsieve.errors import BudgetExceeded
from privsieve.ledger import ledger as module
path, witness, seed, early = sys.argv[1:]
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
        module.os.urandom = lambda count: bytes.fromhex(request)[:count]
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


def _spawn(tmp_path, seed, early):
    witness = tmp_path / f"witness{seed}"
    return witness, subprocess.Popen(
        [sys.executable, "-c", WORKER, str(tmp_path / "b.db"), str(witness), str(seed), early])


def _kill_many(tmp_path, kills, early=""):
    """Kill working processes at random moments; the witnesses that they left."""
    dice = random.Random(7)
    slots = [_spawn(tmp_path, seed, early) for seed in range(SLOTS)]
    for seed in range(SLOTS, SLOTS + kills):
        slot = seed % SLOTS
        witness, process = slots[slot]
        while not (witness.exists() and witness.stat().st_size):
            assert process.poll() is None
            time.sleep(0.005)
        time.sleep(dice.expovariate(20))
        process.send_signal(signal.SIGKILL)
        assert -signal.SIGKILL == process.wait()
        slots[slot] = _spawn(tmp_path, seed, early)
    for _, process in slots:
        process.kill()
        process.wait()
    lines = [line.split() for path in sorted(tmp_path.glob("witness*"))
             for line in path.read_text().splitlines()]
    return ({line[2]: (line[1], int(line[3]), int(line[4]))
             for line in lines if line[0] == "charged"},
            {line[2] for line in lines if line[0] == "committed"},
            Counter(line[0] for line in lines))


def _grant(tmp_path):
    for name, limit in (("wide", 1000), ("narrow", "0.5")):
        Ledger(str(tmp_path / "b.db"), population=name).grant(limit, delta="1e-3")


def test_kill_9_loses_no_charge(tmp_path):
    """After 50 kills at random moments every witness has its charge and no limit is passed."""
    _grant(tmp_path)
    charged, committed, counts = _kill_many(tmp_path, KILLS)
    report, entries = recount(str(tmp_path / "b.db"))
    requests = replay(entries)[0].request
    states = Counter(row[3] for row in requests.values())
    print(json.dumps({**counts, **states, "entries": len(entries)}))

    assert () == report.reasons
    assert charged == {key: requests[key][:3] for key in charged if key in requests}
    assert all(requests[key][3] == "committed" for key in committed)
    for name in ("wide", "narrow"):
        ledger = Ledger(str(tmp_path / "b.db"), population=name)
        assert ledger.spent() <= ledger.limit()
        assert ledger.delta_limit() - ledger.delta_left() == Fraction(
            sum(row[2] for row in requests.values() if row[0] == name), 10**18)
        assert len(ledger.orphans()) == sum(
            row[0] == name and row[3] == "reserved" for row in requests.values())
    # The work was real: charges, refusals, and processes that died with a charge in hand.
    assert min(len(charged), counts["denied"]) > KILLS
    assert states["reserved"] > 0


def test_the_kills_catch_a_witness_before_its_charge(tmp_path):
    """The same kills find a charge that was shown before it was durable: the test has power."""
    _grant(tmp_path)
    charged, _, _ = _kill_many(tmp_path, 12, early="early")
    requests = replay(recount(str(tmp_path / "b.db"))[1])[0].request

    denied_or_lost = {key for key in charged if key not in requests and charged[key][0] == "wide"}
    assert denied_or_lost
