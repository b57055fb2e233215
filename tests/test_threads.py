"""Law: a release changes nothing of its process and warns of no row; threads release at once."""

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
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

import privsieve as ps
from every_method import ESTIMATORS, WARD, table
from privsieve import fit as fitting
from privsieve.extras.spark import frame as spark
from privsieve.fit import ConvertedWarning, UnsignedWarning
from privsieve.noise.streams import replay
from privsieve.rows import open_source, resolve
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
    return next((one for one in OF_THE_PROCESS if name.startswith(one)), None)


def test_no_module_changes_the_process():
    """No module of the package names what changes the process, but those that say why."""
    found = set()
    for path in SRC.rglob("*.py"):
        name = path.relative_to(SRC).as_posix()
        if name.startswith("cli/") or name == "__main__.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        reads = {"os.environ", *(f"sys.{one}" for one in ("stderr", "stdout"))}
        for each in names_of(tree):
            if (what := changed(each)) and not (what in reads and not _written(tree, what)):
                found.add((name, what))

    assert set(ALLOWED) == found


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
        def looked(*given):
            look()
            return work(*given)

        return looked

    look()
    fitting.fit(replace(plan, mechanism=looking(plan.mechanism)),
                open_source(method.table()), noise=replay(3), progress=lambda _stage: look())
    look()

    assert len(seen) > 4
    assert [seen[0]] * len(seen) == seen


def at_once(work):
    """What eight threads come to that begin together, and are changed as often as can be."""
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


@pytest.mark.parametrize("given", ["array", "pandas"])
def test_each_due_warning_comes_once(given):
    """Of 400 releases without a ledger 399 are warned of, each with a sum of its own."""
    domain, rows = (WARD, (frame(),)) if given == "pandas" else (
        ps.Domain.box(0.0, 1.0), (np.random.default_rng(1).random((60, 3)), [0, 1] * 30))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        before = process()
        at_once(lambda _number: [ps.NoisyTopK(1, epsilon="0.1", domain=domain).fit(*rows)
                                 for _ in range(EACH)])
        after = process()
    words = [str(one.message).split() for one in said]

    # pandas leaves a filter of its own for deprecations, which hides nothing.
    assert before == after if given == "array" else before[1:] == after[1:]
    assert {UnsignedWarning} == {one.category for one in said}
    assert list(range(2, THREADS * EACH + 1)) == sorted(int(text[0]) for text in words)
    assert all(Decimal(text[0]) / 10 == Decimal(text[text.index("epsilon") + 1]) for text in words)


def test_each_converted_charge_is_said(tmp_path):
    """Eight threads charge one ledger for other neighbours: each is said, and charged once."""
    ledger = ps.Ledger(str(tmp_path / "budget.db"), population="p")
    ledger.grant(epsilon=100, unit="person", rows_per_person=4, neighbours="add-remove")
    rows, domain = table(60)[[*WARD.names, "back"]], replace(WARD, neighbours="add-remove", rows=60)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        at_once(lambda _number: [ps.NoisyTopK(1, epsilon="0.1", domain=domain, ledger=ledger).fit(
            rows) for _ in range(3)])

    assert [ConvertedWarning] * 24 == [one.category for one in said]
    assert (24, True) == (len(ledger.charges()), ledger.verify_chain().valid)
    assert Fraction("0.4") * 24 == ledger.spent()


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

    for found in at_once(shuffled):
        assert expected == [found[at] for at in range(len(jobs))]


#: Cells at which a library might warn: beyond a type, no numbers, of odd types, or of none.
HOSTILE = (float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 5e-324, 10**30, -10**400,
           2j, b"1", b"\xff", "1e999", "x" * 5000, "9" * 5000, "2020-02-30", "0001-01-01",
           Decimal("sNaN"), Decimal("1e999999"), Fraction(1, 3), np.float16(65504),
           np.longdouble("1e4000"), np.complex128(1j), np.array([1.0]), np.ma.masked,
           np.datetime64("NaT"), np.datetime64(2**62, "s"), np.timedelta64(1, "Y"),
           pd.Timestamp("2020-01-01T00:00:00.000000001"), pd.NaT, pd.NA, None, (), [1], {"a": 1},
           object(), np.str_("1"), np.bytes_(b"1"), True, np.True_, pd.Series([1.0]),
           pd.Timestamp("2020-01-01", tz="UTC"), pd.Period("2020"), pd.Interval(0, 1))


def doubles(rows, width, kind):
    """An array of numbers at the ends of their type, in no order."""
    rng = np.random.default_rng(11)
    ends = np.array([np.nan, np.inf, -np.inf, np.finfo(kind).max, -np.finfo(kind).max,
                     np.finfo(kind).tiny, 0.0, 0.5, 1.0], kind)
    return rng.choice(ends, (rows, width))


def objects(rows=200):
    """A frame of odd cells, with the names of the ward; its columns have no type of their own."""
    rng = np.random.default_rng(12)
    frame = pd.DataFrame({name: pd.Series([HOSTILE[at] for at in rng.integers(
        0, len(HOSTILE), rows)], dtype=object) for name in (*WARD.names, "back", "cost")})
    frame.loc[:9, "back"] = pd.Series([0, 1] * 5, dtype=object)
    return frame


def texts(rows=200):
    """The same as texts, which all readers hold."""
    return objects(rows).map(lambda cell: str(cell)[:40].replace("\n", " ")).astype(str)


def numbers(kind):
    """A frame of numbers at the ends of a type."""
    return pd.DataFrame(doubles(200, 6, kind), columns=[*WARD.names, "back", "cost"]).assign(
        ward="A")


READERS = {
    "pandas": lambda frame, _place: frame,
    "nullable": lambda frame, _place: frame.convert_dtypes(),
    "category": lambda frame, _place: frame.astype("category"),
    "arrow": lambda frame, _place: pa.Table.from_pandas(frame, preserve_index=False),
    "polars": lambda frame, _place: pl.from_pandas(frame),
    "csv": lambda frame, place: _saved(place / "t.csv", lambda to: frame.to_csv(
        to, index=False)),
    "parquet": lambda frame, place: _saved(place / "t.parquet", lambda to: pq.write_table(
        pa.Table.from_pandas(frame, preserve_index=False), to)),
}


def _saved(path, write):
    write(path)
    return path


# Odd objects are held by pandas alone.
@pytest.mark.parametrize(("cells", "reader"), [("objects", "pandas"), *(
    (cells, reader) for cells in ("texts", "doubles", "halves") for reader in READERS)])
@pytest.mark.parametrize("filters", ["always", "error"])
def test_no_library_warns_of_rows(reader, cells, filters, tmp_path, monkeypatch):
    """After the charge nothing warns, whatever the cells are: no release fails under `-W error`."""
    made = {"objects": objects, "texts": texts, "doubles": lambda: numbers(np.float64),
            "halves": lambda: numbers(np.float32)}[cells]()
    for method in ESTIMATORS if reader in ("pandas", "arrow") else ESTIMATORS[:4]:
        names = [*method.domain.names, method.domain.target.name]
        given = READERS[reader](made[names], tmp_path)
        source = open_source(given, csv=method.domain.csv)
        plan = ps.plan(method.name, resolve(method.domain, source.shape(count_rows=True),
                                            strict=True), rows=len(made),
                       **{name: value for name, value in method.made().options().items()
                          if value is not None or name in method.options})
        with warnings.catch_warnings(record=True) as said, np.errstate(all="warn"):
            warnings.simplefilter(filters)
            with monkeypatch.context() as patched:
                # Nor does a library that is called switch filters, which all threads have.
                patched.setattr(warnings.catch_warnings, "__enter__", lambda _self: said.append(1))
                fitting.fit(plan, source, noise=replay(5), room=Room(jobs=2))

        assert [] == list(map(str, said)), method


@pytest.mark.parametrize("make", [
    lambda: doubles(300, 3, np.float64), lambda: doubles(300, 3, np.float32),
    lambda: doubles(300, 3, np.longdouble), lambda: doubles(300, 3, np.float64).astype(object),
    lambda: np.ma.masked_invalid(doubles(300, 3, np.float64)),
    lambda: doubles(300, 3, np.float64).tolist(),
    lambda: sparse.csr_array(np.nan_to_num(doubles(300, 3, np.float64))),
    lambda: np.array([HOSTILE[at % len(HOSTILE)] if not isinstance(
        HOSTILE[at % len(HOSTILE)], tuple | list | np.ndarray | pd.Series) else None
        for at in range(900)], dtype=object).reshape(300, 3)])
def test_no_array_warns_of_rows(make):
    """Nor do arrays, masked or sparse ones, and lists; nor do the labels beside them."""
    domain = ps.Domain.box(0.0, 1.0, columns=3)
    labels = np.array([np.nan, np.inf, 0.0, 1.0] * 75)
    for name in ("rule-sieve", "noisy-top-k", "block-fwell", "noisy-histogram"):
        plan = ps.plan(name, domain, rows=300, epsilon=1,
                       **({"columns": ["x0"]} if name == "noisy-histogram" else {"k": 1}))
        with warnings.catch_warnings(), np.errstate(all="raise"):
            warnings.simplefilter("error")
            fitting.fit(plan, open_source(make(), labels), noise=replay(5))


def test_threads_of_a_release_have_its_silence():
    """What NumPy is told not to warn of, it does not warn of in the threads that read rows."""
    def read(_noise):
        return set(Room(jobs=2).each(range(9), lambda _part: json.dumps(np.geterr())))

    with np.errstate(all="raise"):
        found = fitting.sealed(read, replay(1))

    assert {json.dumps(dict.fromkeys(("divide", "over", "under", "invalid"), "ignore"))} == found


def test_a_seal_is_open_to_other_threads():
    """What an object says as it goes is told as ever: it is its owner's, and no hook is changed."""
    hook = sys.unraisablehook

    assert hook is fitting.sealed(lambda _noise: sys.unraisablehook, replay(1))


def test_the_last_reader_of_spark_turns_logs_on():
    """Whoever begins first and ends last: logs are off while one reads, and on again after all."""
    before, first, second = logging.root.manager.disable, spark._quiet(), spark._quiet()
    levels = []
    for step in (first.__enter__, second.__enter__, partial(first.__exit__, None, None, None),
                 partial(second.__exit__, None, None, None)):
        step()
        levels.append(logging.root.manager.disable)

    assert [logging.CRITICAL] * 3 + [before] == levels


def test_a_caller_hears_its_own_warnings():
    """A release in one thread silences no other: what another thread warns of is heard."""
    heard, plan = 0, ps.plan("noisy-top-k", WARD, k=1, epsilon=1, rows=60)
    with warnings.catch_warnings(record=True) as said, ThreadPoolExecutor(1) as pool:
        warnings.simplefilter("always")
        other = pool.submit(lambda: [fitting.fit(plan, open_source(frame()), noise=replay(seed))
                                     for seed in range(EACH)])
        while not other.done():
            warnings.warn("mine", stacklevel=1)
            heard += 1

    assert len(other.result()) == EACH
    assert heard == len(said)
