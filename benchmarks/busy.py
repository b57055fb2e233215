"""CPU time beside two busy processes, against the same alone: nothing may spin while it waits."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager

import nearest as searches
import solver
from measure import Goal, call
from privsieve.kernels.nearest import nearest
from privsieve.local.solver import minimise

#: Processes that take all the time they get, and the most that it may cost.
BESIDE, LIMIT = 2, 1.2


@contextmanager
def beside():
    """Keep this number of processes busy, while it lasts."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BESIDE)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def goals(*, short):
    """In turns, because the machine is shared; the search has threads, the solver has none."""
    runs = 3 if short else 7
    X, y = searches.table(20_000 if not short else 6000, 50)
    Z = solver.rows(3343, 20)
    for name, work in ((f"nearest hit and miss, {len(X)} x 50",
                        lambda: nearest(X, y, "manhattan")),
                       ("solver, 3343 x 20, 50 times",
                        lambda: [minimise(Z, 0.1) for _ in range(50)])):
        ratios = []
        for _ in range(runs):
            alone = call(work, 1)
            with beside():
                busy = call(work, 1)
            ratios.append((busy / alone, alone, busy))
        ratio, alone, busy = sorted(ratios)[runs // 2]
        yield Goal(f"{name}: CPU beside {BESIDE} busy processes / alone", ratio, LIMIT,
                   f"{alone:.4f} s, beside {busy:.4f} s")


if __name__ == "__main__":
    for goal in goals(short="--short" in sys.argv):
        print(f"{goal.ratio:.3f} of {goal.limit:.3f}  {goal.name}  [{goal.detail}]", flush=True)
