"""Law: a release changes nothing of its process; threads release at once."""

from __future__ import annotations

import ast
import json
import locale
import logging
import os
import random
import signal
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import privsieve as ps
from every_method import ESTIMATORS, WARD, table
from privsieve import fit as fitting
from privsieve.extras.spark import frame as spark
from privsieve.fit import UnsignedWarning
from privsieve.noise.streams import replay
from privsieve.rows import open_source
from privsieve.rows.room import Room

SRC = Path(ps.__file__).parent
THREADS, EACH = 8, 50
#: What belongs to the whole process; a name that ends with a point stands for all below it.
OF_THE_PROCESS = (
    "warnings.catch_warnings", "warnings.simplefilter", "warnings.filterwarnings",
    "warnings.resetwarnings", "warnings.showwarning", "warnings.filters", "sys.set", "sys.stdout",
    "sys.stderr", "sys.excepthook", "sys.unraisablehook", "sys.displayhook", "threading.excepthook",
    "contextlib.redirect_std", "contextlib.chdir", "numpy.seterr", "numpy.setbufsize",
    "numpy.set_", "numpy.random.seed",
    "random.seed", "locale.setlocale", "os.environ", "os.putenv", "os.unsetenv", "os.chdir",
    "os.umask", "os.nice", "signal.signal", "signal.alarm", "signal.set", "gc.", "logging.disable",
    "logging.basicConfig", "logging.captureWarnings", "decimal.setcontext", "decimal.getcontext",
    "flint.ctx", "resource.setrlimit", "socket.setdefaulttimeout", "tempfile.tempdir",
    "multiprocessing.set_start_method", "faulthandler.", "pyarrow.set_")
#: What only reads one of them.
READING = ("os.environ.get", "resource.setrlimit.get")
#: Where one is changed all the same, and why nobody else notices; the command line is a process of
#: its own.
ALLOWED = {
    ("noise/balls.py", "flint.ctx"): "its precision is set under a lock, and set back",
    ("rows/arrow.py", "os.environ"): "once, before Arrow is loaded, under a limit of addresses",
    ("extras/desk/columns.py", "warnings.catch_warnings"): "the desk is a process of its own",
    ("extras/spark/frame.py", "logging.disable"): "the first of all readers turns off, the last on",
}


def names_of(tree):
    """Each dotted name of a module, by where it was imported from: `np.seterr` is NumPy's."""
    known = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                known[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0])
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            known |= {alias.asname or alias.name: f"{node.module}.{alias.name}"
                      for alias in node.names}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute | ast.Name):
            continue
        parts, inner = [], node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id in known:
            yield ".".join([known[inner.id], *reversed(parts)])


def changed(name):
    """What of the process a name changes; None where it changes nothing."""
    if name.startswith(READING):
        return None
    return next((single_name for single_name in OF_THE_PROCESS if name.startswith(single_name)),
                None)


def test_no_module_changes_the_process():
    """No module of the package names what changes the process, but those that say why."""
    modules = set()
    for path in SRC.rglob("*.py"):
        name = path.relative_to(SRC).as_posix()
        if name.startswith("cli/") or name == "__main__.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        reads = {"os.environ", *(f"sys.{name}" for name in ("stderr", "stdout"))}
        for each in names_of(tree):
            if (what := changed(each)) and not (what in reads and not _written(tree, what)):
                modules.add((name, what))

    assert set(ALLOWED) == modules


def _written(tree, what):
    """Whether a module changes what others only read: by an assignment, or by a method of it."""
    last = what.rpartition(".")[2]
    changes = ("setdefault", "update", "pop", "clear", "popitem", "__setitem__")
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Delete):
            targets = node.targets if not isinstance(node, ast.AugAssign) else [node.target]
            if any(last in ast.dump(target) for target in targets
                   if isinstance(target, ast.Attribute | ast.Subscript)):
                return True
        if isinstance(node, ast.Attribute) and node.attr in changes and last in ast.dump(
                node.value):
            return True
    return False


def test_the_law_sees_a_change():
    """Each way to write it is seen: as a word of a module, under another name, and imported."""
    for text, what in (("import warnings\nwarnings.catch_warnings()", "warnings.catch_warnings"),
                       ("from warnings import catch_warnings as c\nc()", "warnings.catch_warnings"),
                       ("import numpy as np\nnp.seterr(all='ignore')", "numpy.seterr"),
                       ("from sys import setrecursionlimit as s\ns(1)", "sys.set"),
                       ("import sys\nsys.unraisablehook = print", "sys.unraisablehook")):
        assert what in map(changed, names_of(ast.parse(text)))
    assert _written(ast.parse("import os\nos.environ['a'] = 'b'"), "os.environ")
    assert _written(ast.parse("import os\nos.environ.setdefault('a', 'b')"), "os.environ")
    assert not _written(ast.parse("import os\nx = os.environ.get('a')"), "os.environ")


def process():
    """What another thread sees of the process."""
    return (list(warnings.filters), warnings.showwarning, sys.unraisablehook, sys.excepthook,
            threading.excepthook, sys.stdout, sys.stderr, np.geterr(), locale.setlocale(
                locale.LC_ALL), dict(os.environ), Path.cwd(), sys.getrecursionlimit(),
            signal.getsignal(signal.SIGINT), logging.root.manager.disable, random.getstate())


@pytest.mark.parametrize("method", ESTIMATORS, ids=repr)
def test_another_thread_sees_no_change(method):
    """While rows are read, summed up and chosen from, the process is as it was."""
    plan, seen = method.plan(), []

    def look():
        thread = threading.Thread(target=lambda: seen.append(process()))
        thread.start()
        thread.join()

    def looking(work):
        def looked(*arguments):
            look()
            return work(*arguments)

        return looked

    look()
    fitting.fit(replace(plan, mechanism=looking(plan.mechanism)),
                open_source(method.table()), noise=replay(3), progress=lambda _stage: look())
    look()

    assert len(seen) > 4
    assert [seen[0]] * len(seen) == seen


def at_once(work):
    """The results of eight threads that begin together, and are changed as often as can be."""
    ready, usual = threading.Barrier(THREADS), sys.getswitchinterval()

    def begin(number):
        ready.wait()
        return work(number)

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(begin, range(THREADS)))
    finally:
        sys.setswitchinterval(usual)


def frame(rows=60):
    """The ward in columns of pandas' own types: asked for carelessly, they ignore warnings."""
    return table(rows)[[*WARD.names, "back"]].astype(
        {"ward": "category", "smoker": "boolean", "age": "Int64", "stay": "float64[pyarrow]"})


@pytest.mark.parametrize("arguments", ["array", "pandas"])
def test_each_due_warning_comes_once(arguments):
    """Of 400 releases without a ledger 399 are warned of, each with a sum of its own."""
    domain, rows = (WARD, (frame(),)) if arguments == "pandas" else (
        ps.Domain.box(0.0, 1.0), (np.random.default_rng(1).random((60, 3)), [0, 1] * 30))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        before = process()
        at_once(lambda _number: [ps.NoisyTopK(1, epsilon="0.1", domain=domain).fit(*rows)
                                 for _ in range(EACH)])
        after = process()
    words = [str(warning.message).split() for warning in caught]

    # pandas leaves a filter of its own for deprecations, which hides nothing.
    assert before == after if arguments == "array" else before[1:] == after[1:]
    assert {UnsignedWarning} == {warning.category for warning in caught}
    assert list(range(2, THREADS * EACH + 1)) == sorted(int(text[0]) for text in words)
    assert all(Decimal(text[0]) / 10 == Decimal(text[text.index("epsilon") + 1]) for text in words)


def test_threads_release_what_one_thread_does():
    """Under replayed noise eight threads with all methods give what one gives, bit for bit."""
    jobs = [(method, method.plan(), seed) for seed, method in enumerate(ESTIMATORS * 3)][:EACH]
    tables = {repr(method): method.table() for method in ESTIMATORS}

    def released(job):
        method, plan, seed = job
        return fitting.fit(plan, open_source(tables[repr(method)]), noise=replay(seed)).bytes

    expected = [released(job) for job in jobs]

    def shuffled(number):
        order = random.Random(number).sample(range(len(jobs)), len(jobs))
        return {at: released(jobs[at]) for at in order}

    for release in at_once(shuffled):
        assert expected == [release[at] for at in range(len(jobs))]


def test_threads_of_a_release_have_its_silence():
    """What NumPy is told not to warn of, it does not warn of in the threads that read rows."""
    def read(_noise):
        return set(Room(jobs=2).each(range(9), lambda _batch: json.dumps(np.geterr())))

    with np.errstate(all="raise"):
        outcome = fitting.sealed(read, replay(1))

    assert {json.dumps(dict.fromkeys(("divide", "over", "under", "invalid"), "ignore"))} == outcome


def test_a_seal_is_open_to_other_threads():
    """What an object says as it goes is told as ever: it is its owner's, and no hook is changed."""
    hook = sys.unraisablehook

    assert hook is fitting.sealed(lambda _noise: sys.unraisablehook, replay(1))


def test_the_last_reader_of_spark_turns_logs_on():
    """Any thread begins first and ends last: logs are off while one reads, and on after all."""
    before, first, second = logging.root.manager.disable, spark._quiet(), spark._quiet()
    levels = []
    for step in (first.__enter__, second.__enter__, partial(first.__exit__, None, None, None),
                 partial(second.__exit__, None, None, None)):
        step()
        levels.append(logging.root.manager.disable)

    assert [logging.CRITICAL] * 3 + [before] == levels
