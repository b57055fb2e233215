"""Every speed goal, as a ratio against a named peer in one run.

    python benchmarks/run.py [--short]

`--short` takes fewer runs and allows threefold slack (for shared machines); without it the goals
stand as they are and a dated result file is written to benchmarks/results/.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import platform
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from measure import ONE_THREAD  # noqa: E402

os.environ.update(ONE_THREAD)  # before any library that starts threads is imported

import blocks  # noqa: E402
import busy  # noqa: E402
import cells  # noqa: E402
import command_line  # noqa: E402
import containment  # noqa: E402
import exact  # noqa: E402
import fwell  # noqa: E402
import hamming  # noqa: E402
import ledger  # noqa: E402
import mining  # noqa: E402
import nearest  # noqa: E402
import noise  # noqa: E402
import reader  # noqa: E402
import regression  # noqa: E402
import rule_sieve  # noqa: E402
import scale  # noqa: E402
import solver  # noqa: E402
import threads  # noqa: E402

SLACK = 3
PARTS = (command_line, reader, cells, rule_sieve, blocks, nearest, hamming, fwell, solver, busy,
         noise, containment, mining, exact, regression, ledger, scale, threads)


def main():
    """Measure, print, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="fewer runs, threefold slack")
    short = parser.parse_args().short
    goals = [goal for benchmark in PARTS for goal in benchmark.goals(short=short)]
    slack = SLACK if short else 1
    lines = [f"{'ok  ' if goal.holds(slack) else 'FAIL'} {goal.ratio:9.4f} of {goal.limit:7.4f}"
             f"{f' x {slack}' if slack > 1 else ''}  {goal.name}  [{goal.detail}]"
             for goal in goals]
    print("\n".join(lines))
    if not short:
        write(lines)
    failed = [goal.name for goal in goals if not goal.holds(slack)]
    print(f"{len(goals) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


def write(lines):
    """Keep a long run, with what it ran on."""
    from privsieve import __version__, kernels

    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    today = dt.datetime.now(dt.UTC).date()
    head = (f"# {today}\n\nprivsieve {__version__}, kernels {kernels.implementation()}, "
            f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores\n")
    body = "\n".join(lines)
    (folder / f"{today}.md").write_text(f"{head}\n```\n{body}\n```\n")


if __name__ == "__main__":
    sys.exit(main())
