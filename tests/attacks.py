"""How much long tests do: little in `make test`, more in `make audit` and `make soak`.

`PRIVSIEVE_RUNS` is how often an attacked release runs on each of its two tables.
"""

from __future__ import annotations

import os

from privsieve.check.audit import audit
from privsieve.noise.streams import system
from privsieve.release import write_output
from privsieve.rows.batch import batches

#: The profile of an attack: enough to catch half of the noise, and to come near a true claim.
RUNS = int(os.environ.get("PRIVSIEVE_RUNS", "3000"))
#: Where a run costs next to nothing, or a small leak is looked for.
MANY = max(RUNS, 30_000)


def near(bound):
    """What an attack comes above that runs 30,000 times; one that runs seldom knows less."""
    return bound if RUNS >= 30_000 else max(-1.0, bound - 0.35)


def stands(*attack, least=-1.0, **how):
    """Whether one of three audits does not refute what is right, and comes above `least`.

    One audit in a hundred refutes a right mechanism, and there are fifty of them in `make test`:
    three in a row do so once in a million.
    """
    return any(least < report.bound and not report.exceeded
               for report in (audit(*attack, **how) for _ in range(3)))


def refuted(*attack, **how):
    """Whether one of three audits catches what is wrong."""
    return any(audit(*attack, **how).exceeded for _ in range(3))


def again(plan, source, noise=None):
    """A plan's mechanism on a table that is read and summarised once: each call has fresh noise.

    For plans whose summary draws nothing: where it samples blocks or rows, a run makes it anew.
    """
    noise = noise or system()
    summary = plan.summarise(batches(source, plan.coding, rows=plan.units, entropy=noise.bytes),
                             noise.key())
    return lambda: write_output(plan, plan.mechanism(summary, noise))["selected"]


def run(mechanism):
    """What `audit` does with a table that is the mechanism on it."""
    return mechanism()
