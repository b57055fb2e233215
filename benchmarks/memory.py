"""Memory of whole releases: what a plan asks for, and what the process takes beyond its imports.

    python benchmarks/memory.py                       the whole grid
    python benchmarks/memory.py ROWS COLUMNS CLASSES METHOD SOURCE LIMIT [OPTIONS as JSON]

Each release is a process of its own.  Its parent reads what the process holds every millisecond:
private memory (`RssAnon`), and data (`VmData`), which is what `RLIMIT_DATA` counts.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

#: What is measured of a process, in bytes.
MEASURED = ("RssAnon", "VmData")


def status(process, names=MEASURED):
    """What a process holds now, by the names of its status; None once it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return None
    known = dict(line.split(":", 1) for line in lines if ":" in line)
    return {name: 1024 * int(known[name].split()[0]) for name in names if name in known} or None


def released(case, *, data=0):
    """Run a case in a process of its own: how it ended, what it asked for, and what it took.

    data : bytes that the process may take beyond its imports (`RLIMIT_DATA`); 0 for no limit.
    """
    what = json.dumps({**case, "data": data})
    child = subprocess.Popen([sys.executable, __file__, "child", what], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    child.stdout.readline()
    before = peak = status(child.pid)
    child.stdin.write("go\n")
    child.stdin.flush()
    while child.poll() is None:
        now = status(child.pid) or {}
        peak = {name: max(peak[name], now.get(name, 0)) for name in peak}
        time.sleep(.001)
    answer = json.loads(child.stdout.read() or '{"ended": "died"}')
    return {**answer, **{name: peak[name] - before[name] for name in peak}}


def written(folder, case):
    """The table of a case as its source wants it: a frame, or the path of a file."""
    import numpy as np

    rng = np.random.default_rng(0)
    rows, columns, classes = case["rows"], case["columns"], case["classes"]
    table = rng.random((rows, columns))
    target = rng.integers(0, classes, rows)
    if case["source"] == "array":
        return table, target
    import polars as pl

    frame = pl.DataFrame({**{f"x{j}": table[:, j] for j in range(columns)}, "y": target})
    path = Path(folder) / f"table.{case['source']}"
    (frame.write_csv if case["source"] == "csv" else frame.write_parquet)(path)
    return path, None


def child(case):
    """One release, within the limits of its case; prints how it ended."""
    import resource

    import privsieve as ps
    import privsieve.methods.choosing
    from privsieve.errors import ParameterError, ReleaseFailed
    from privsieve.fit import fit
    from privsieve.noise.streams import system
    from privsieve.rows import arrow, open_source, resolve  # noqa: F401
    from privsieve.rows.room import Room

    warnings.simplefilter("ignore")
    system()
    columns = [ps.Number(f"x{j}", 0, 1) for j in range(case["columns"])]
    label = (ps.Number("y", 0, 1) if case["classes"] == 1
             else ps.Label("y", list(range(case["classes"]))))
    domain = ps.Domain(columns, target=label)
    if case["source"] == "array":
        table, target = written(None, case)
        source = open_source(table, y=target)
    else:
        source = open_source(Path(case["path"]))
    domain = resolve(domain, source.shape(count_rows=True))
    # What is loaded by a first release belongs to the process.
    tiny = {**case, "rows": 300}
    small = written(None, {**tiny, "source": "array"})
    few = open_source(small[0][:, :8], y=small[1])
    options = {"epsilon": 1, **case["options"]}
    if case["method"] not in {"noisy-histogram", "kernel-ridge"}:
        options["k"] = 4
    fit(ps.plan(case["method"], ps.Domain(columns[:8], target=label), rows=300, **options), few)
    del small, few
    plan = ps.plan(case["method"], domain, rows=source.count(), **options)
    print("ready", flush=True)
    sys.stdin.readline()
    if case["data"]:
        data = status("self")["VmData"] + case["data"]
        resource.setrlimit(resource.RLIMIT_DATA, (data, data))
    report = {"asked": None}
    try:
        room = Room.usual(case["limit"] or None, case["jobs"])
        whole, need = demanded(plan, source, room)
        report.update(whole=whole, asked=need, jobs=room.jobs, memory=room.memory)
        fit(plan, source, room=room)
        report["ended"] = "released"
    except ReleaseFailed:
        report["ended"] = "FAILED"
    except ParameterError as why:
        report["ended"], report["why"] = "refused", str(why)
    print(json.dumps(report), flush=True)


def demanded(plan, source, room):
    """Whether all rows are to be there at once, and the bytes that a plan asks for."""
    from privsieve.rows.batch import spilled

    demands, spend = [], room.spend
    room.spend = lambda need, *, whole: demands.append((whole, need)) or spend(need, whole=whole)
    spilled(plan, source, room)
    return demands[-1]


def shape(rows, columns, classes, method="rule-sieve", source="parquet", limit=None, jobs=2,
          **options):
    """A case."""
    return {"rows": rows, "columns": columns, "classes": classes, "method": method,
            "source": source, "limit": limit, "jobs": jobs, "options": options}


def measured(case, **how):
    """A case, its table written first where its source is a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = ""
        if case["source"] != "array":
            path = str(written(folder, case)[0])
        return released({**case, "path": path}, **how)


#: The shapes of the printed table.
GRID = (
    *(shape(50_000, 50, classes, limit=limit) for classes, limits in (
        (2, ("64MB", "1GB")), (6, ("100MB", "200MB")), (26, ("250MB", "350MB")),
        (100, ("1GB", "1200MB"))) for limit in limits),
    *(shape(50_000, 50, 26, source=source, limit="350MB") for source in ("array", "csv")),
    *(shape(200_000, 50, 26, limit=limit) for limit in ("350MB", "500MB")),
    *(shape(2_000_000, 20, 2, limit=limit) for limit in ("100MB", "150MB", "300MB")),
    shape(200_000, 50, 1, limit="400MB", numeric="ranks"),
    *(shape(200_000, 50, 2, method, limit=limit) for method, limit in (
        ("noisy-top-k", "64MB"), ("block-fwell", "100MB"), ("output-fwell", "200MB"),
        ("objective-fwell", "200MB"), ("felp", "400MB"))),
)


def table():
    """A line for each case of the grid."""
    print("| rows x columns, classes | method | source | limit | it asks for | it takes | ratio |")
    print("|---|---|---|---|---|---|---|")
    for case in GRID:
        measurement = measured(case)
        took = max(measurement[name] for name in MEASURED) / 1e6
        text = " ".join([case["method"], *(f"{name}={value}" for name, value
                                           in case["options"].items())])
        rows = "" if measurement["whole"] else ", and rows"
        end = (f"{measurement['asked'] / 1e6:.0f} MB{rows} | "
               f"{took:.0f} MB | {measurement['asked'] / 1e6 / took:.2f}"
               if measurement["ended"] == "released"
               else f"{measurement.get('why', measurement['ended'])[:30]} | | ")
        print(f"| {case['rows']} x {case['columns']}, {case['classes']} | {text} | "
              f"{case['source']} | {case['limit']} | {end} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(json.loads(sys.argv[2]))
    elif sys.argv[1:]:
        rows, columns, classes, method, source, limit, *rest = sys.argv[1:]
        print(measured(shape(int(rows), int(columns), int(classes), method, source,
                             None if limit == "-" else limit,
                             **json.loads(rest[0]) if rest else {})))
    else:
        table()
