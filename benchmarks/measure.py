"""CPU seconds of calls and of whole programs; medians, because machines are shared."""

from __future__ import annotations

import gc
import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

#: One thread each: a ratio of CPU times is then a ratio of work.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                             "POLARS_MAX_THREADS"), "1")


@dataclass(frozen=True)
class Goal:
    """A ratio that was measured, and the largest that is allowed."""

    name: str
    ratio: float
    limit: float
    detail: str

    def holds(self, slack: float) -> bool:
        """Whether the goal is met, with this slack."""
        return self.ratio <= self.limit * slack


def call(function, runs):
    """Median CPU seconds of a call, after one warm-up."""
    function()
    spent = []
    for _ in range(runs):
        gc.collect()
        start = time.process_time()
        function()
        spent.append(time.process_time() - start)
    return statistics.median(spent)


def paired(peer, ours, runs):
    """The median ratio of our call to the peer's, and both times; in turns, on a shared machine."""
    ratios = []
    for _ in range(runs):
        theirs, spent = call(peer, 1), call(ours, 1)
        ratios.append((spent / theirs, theirs, spent))
    return sorted(ratios)[runs // 2]


def program(command, runs, cwd=None):
    """Median CPU seconds of a process and its children; it must succeed."""
    # Compiled modules may be kept: a user's second run does not compile.
    environment = {**os.environ, **ONE_THREAD}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    spent = []
    for _ in range(runs + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([str(word) for word in command], check=True, cwd=cwd,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(spent[1:] or spent)


def bare(runs):
    """Median CPU seconds of Python that does nothing."""
    return program([sys.executable, "-c", "pass"], runs)
