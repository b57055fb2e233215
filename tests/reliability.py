"""What was tried against this version: `python tests/reliability.py` prints docs/reliability.md.

`make audit` runs it after the attacks of the tests.  PRIVSIEVE_RUNS is how often each mode of each
method runs on each of its two tables, PRIVSIEVE_PAIRS how many neighbours each family of the
recorded audit has.  Named parts alone are printed where some are named: methods, `faults`,
`alarms`, `recorded`.
"""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path

from attacks import RUNS
from planted import FAULTS
from privsieve import __version__
from privsieve.check.audit import audit
from privsieve.methods import METHODS
from privsieve.methods.worst import modes, pair
from recorded import boundary
from test_recorded_audit import FAMILIES, PAIRS, audited

RESULTS = Path(__file__).parents[1] / "experiments" / "results"

#: Modes of which a run costs next to nothing, and audits of all of them.
CHEAP = [("noisy-top-k", ""), ("noisy-top-k", "class-counts"), ("noisy-histogram", ""),
         ("kernel-ridge", "one-answer"), ("kernel-ridge", "batch")]
AUDITS = 300

HEAD = f"""# Reliability: what was tried, and what was found

*Made by `tests/reliability.py` on {dt.datetime.now(dt.UTC):%Y-%m-%d} from privsieve {__version__}.*

A guarantee is proved, not tested. These attacks look for mistakes in the proof or in the code:
each mode of each method runs on two made-up tables that are hard on it, and differ in one row or
person. What was found is a lower bound on epsilon that is wrong once in a hundred times. A bound
above the claim refutes it. A bound far below the claim proves nothing: it may be a loose proof, or
a weak attack. So each attack runs a second time, on a twin that spends twice the claim, and the
last column says whether it found that out.

## Each mode of each method, at a claim of 1

{RUNS:,} runs on each table; of a mode that needs more by itself, as many times more.

| method | mode | found at 1 | by | verdict | found of a twin at 2 | caught |
|---|---|---|---|---|---|---|"""


def attacked(method, mode, spent):
    """What an audit finds of a mode that spends this epsilon."""
    attacked_pair = pair(method, mode)
    return audit(attacked_pair.attacked(spent), attacked_pair.first, attacked_pair.second,
                 epsilon=1, delta=attacked_pair.delta,
                 profile=RUNS * attacked_pair.runs // pair("rule-sieve").runs)


def bound(report):
    """A bound, where the attack saw anything."""
    return f"{max(0.0, report.bound):.2f}"


def rows(methods):
    """A line for each mode of some methods, and which twins were not found out."""
    missed = []
    for method in methods:
        for mode in modes(method):
            right, twin = (attacked(method, mode, spent) for spent in (1, 2))
            if not twin.exceeded:
                missed.append(f"{method} {mode}".strip())
            yield (f"| {method} | {mode or 'plain'} | {bound(right)} | {right.view} | "
                   f"{right.verdict} | {bound(twin)} | {'yes' if twin.exceeded else 'no'} |")
    yield ""
    yield ("A twin that spends twice the claim was found out in every mode." if not missed else
           f"Not found out at twice the claim: {', '.join(missed)}. What we know of that is in "
           "[known gaps](known-gaps.md).")


def alarms():
    """How many of 300 short audits of right mechanisms say that they are wrong."""
    each = AUDITS // len(CHEAP)
    pairs = [pair(*single_pair) for single_pair in CHEAP for _ in range(each)]
    reports = [audit(pair.attacked(1), pair.first, pair.second, epsilon=1, delta=pair.delta)
               for pair in pairs]
    likely, surely = sum(report.bound95 > 1 for report in reports), sum(report.exceeded
                                                                        for report in reports)
    named = ", ".join(f"{method} {mode or 'plain'}" for method, mode in CHEAP)
    yield "\n## False alarms\n"
    yield (f"{len(reports)} audits of {reports[0].runs} runs, {each} each of {named}, at exactly "
           f"they claim: {surely} said refuted, where one in a hundred may; {likely} had a bound "
           "of 95 % above the claim, where five in a hundred may.")


def faults():
    """A line for each fault that was planted."""
    yield "\n## Planted faults\n\n| fault | runs | found | caught |\n|---|---|---|---|"
    for fault in FAULTS:
        claimed = 3.0 if "ties" in fault.name else 1.0
        report = audit(fault.run, fault.first, fault.second, epsilon=claimed, profile=fault.runs)
        yield (f"| {fault.name} | {report.runs:,} | {bound(report)} of {claimed:g} | "
               f"{'yes' if report.exceeded else 'NO'} |")


def recorded():
    """A line for each family of the recorded audit."""
    with boundary():
        outcomes = [(family, audited(family, PAIRS, stop=False)) for family in FAMILIES]
    faults = sum(bool(worst.faults) for _, worst in outcomes)
    yield "\n## The noise of neighbours, recorded and played\n"
    yield (f"{sum(worst.pairs for _, worst in outcomes):,} pairs of neighbouring tables in "
           f"{len(outcomes)} families of plans: {faults or 'none'} showed a fault. "
           "*Moved* is the largest distance between the numbers of two neighbours that met the "
           "noise of one call, as a share of what that noise, its epsilon and its "
           "declared sensitivity allow. *Spent* is what all calls together declare, or lose by "
           "counts, as a share of the cost of the plan; a dash where nothing is declared or a "
           "delta or an objective pays. 1 is exactly what is promised, and more is a fault. The "
           "[guarantees](guarantees.md#how-this-is-audited) say how it works.\n")
    yield "| method | family | pairs | moved | spent |\n|---|---|---|---|---|"
    for family, worst in outcomes:
        kind = getattr(family.kind, "__name__", "KernelRidgeSession")
        moved, spent = (f"{share:.3f}" if share else "-" for share in (worst.ratio, worst.spent))
        yield f"| {kind} | {family.name} | {worst.pairs:,} | {moved} | {spent} |"


def lines():
    """The page, a line at a time."""
    yield HEAD
    yield from rows(METHODS)
    yield from alarms()
    yield from faults()
    yield from recorded()
    yield "\n## Kills and searches\n"
    for kind in ("audit", "soak"):
        if dated := sorted(RESULTS.glob(f"{kind}_*.txt")):
            *_, last = dated[-1].read_text(encoding="utf-8").strip().splitlines()
            yield f"- `make {kind}`, {dated[-1].stem.removeprefix(f'{kind}_')}: {last.strip('= ')}"
    yield ("- Each run of `make test` kills processes that charge a ledger at random moments, and "
           "asks for no lost charge, no limit passed and no release without a charge.")


PARTS = {"alarms": alarms, "faults": faults, "recorded": recorded}


def parts(names):
    """Some parts of the page alone."""
    for name in names:
        yield from PARTS[name]() if name in PARTS else rows([name])


if __name__ == "__main__":
    for line in parts(sys.argv[1:]) if sys.argv[1:] else lines():
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
