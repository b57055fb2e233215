"""Law: threads.  Nothing that belongs to the process is changed, and nothing due is lost."""

from __future__ import annotations

import ast
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import privsieve as ps
from every_method import CHARGING, ROWS, WARD
from privsieve import fit as fitting
from privsieve.noise.streams import replay
from privsieve.rows import open_source

SRC = Path(ps.__file__).parent
THREADS, FITS = 8, 50
#: What belongs to the process, by the name of what changes it.
CHANGES = {"catch_warnings", "simplefilter", "filterwarnings", "resetwarnings", "seterr",
           "seterrcall", "setlocale", "chdir", "umask", "putenv", "setrlimit", "set_threshold",
           "setswitchinterval", "setrecursionlimit", "set_int_max_str_digits", "stack_size",
           "setcontext", "basicConfig", "captureWarnings", "setdefault_environ"}
HOOKS = {"unraisablehook", "excepthook", "displayhook", "settrace", "setprofile"}
#: Where the process is changed all the same, and why it may be.
EXCUSED = {
    "rows/arrow.py:environ": "asked by Arrow when it is loaded, and never again",
    "noise/balls.py:workprec": "Arb's precision, under a lock, and put back",
}
SMALL = [method for method in CHARGING if method.name in (
    "noisy-top-k", "noisy-histogram", "kernel-ridge") and "fewer" not in method.options]


def changes(path):
    """What a file changes of the process: its name, and the word that does it."""
    name = path.relative_to(SRC).as_posix()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            word = getattr(node.func, "attr", getattr(node.func, "id", ""))
            owner = ast.unparse(node.func)
            if word in CHANGES or owner == "signal.signal" or word == "workprec":
                yield f"{name}:{word}"
            elif owner.startswith("os.environ."):
                yield from [f"{name}:environ"] * (word not in ("get", "items", "copy"))
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.Delete):
            targets = getattr(node, "targets", None) or [node.target]
            for target in targets:
                written = ast.unparse(target)
                if written.startswith(("os.environ[", "sys.modules[")):
                    yield f"{name}:environ"
                if isinstance(target, ast.Attribute) and target.attr in HOOKS:
                    yield f"{name}:{target.attr}"


def test_nothing_of_the_process_is_changed():
    """No module but those of the command, whose process it is, changes what all threads share."""
    library = [path for path in SRC.rglob("*.py") if path.relative_to(SRC).parts[0] not in (
        "cli", "__main__.py")]

    assert set(EXCUSED) == {change for path in library for change in changes(path)}


def test_the_law_sees_a_change(tmp_path, monkeypatch):
    """A file that changes warnings, a hook or the environment is seen."""
    monkeypatch.setitem(globals(), "SRC", tmp_path)
    (tmp_path / "bad.py").write_text("with warnings.catch_warnings():\n    sys.excepthook = f\n"
                                     "    os.environ['A'] = 'b'\n    np.seterr(all='raise')\n")

    assert {"bad.py:catch_warnings", "bad.py:excepthook", "bad.py:environ",
            "bad.py:seterr"} == set(changes(tmp_path / "bad.py"))


def together(work):
    """What each of some threads gives; all begin at once."""
    gate = threading.Barrier(THREADS)

    def begun(number):
        gate.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begun, range(THREADS)))


def state():
    """What belongs to the process."""
    return (list(warnings.filters), warnings.showwarning, sys.unraisablehook, sys.excepthook,
            threading.excepthook)


def test_each_due_warning_comes_once():
    """8 threads fit 50 times each without a ledger: all but the first fit warn, each of its sum."""
    method = next(one for one in SMALL if one.name == "noisy-top-k")
    table = method.table(60)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        before = state()
        together(lambda _number: [method.made().fit(table) for _ in range(FITS)])
        after = state()
    texts = [str(one.message) for one in warned if one.category is fitting.UnsignedWarning]
    counts = sorted(int(text.split()[0]) for text in texts)

    assert before == after
    assert list(range(2, THREADS * FITS + 1)) == counts
    assert all(f"together epsilon {text.split()[0]} if" in text for text in texts)
    assert [] == [one for one in warned if one.category is not fitting.UnsignedWarning]


def test_a_charge_of_each_thread_stands_once(tmp_path):
    """8 threads charge one ledger for other neighbours: each is converted, told and charged."""
    ledger = ps.Ledger(str(tmp_path / "budget.db"), population="clinic")
    ledger.grant(epsilon=100, unit="row", neighbours="replace-one")
    method = next(one for one in SMALL if one.name == "noisy-top-k")
    table, fits = method.table(60), 5
    domain = replace(method.domain, neighbours="add-remove", rows=60)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        together(lambda _number: [method.made(ledger=ledger, domain=domain).fit(table)
                                  for _ in range(fits)])
    told = [one for one in warned if one.category is fitting.ConvertedWarning]

    assert THREADS * fits == len(told) == len(ledger.charges())
    assert ledger.verify_chain().valid
    assert ledger.spent() == sum(made.units for made in ledger.charges()) / 10**9


@pytest.mark.parametrize("method", SMALL, ids=repr)
def test_threads_give_what_one_gives(method):
    """With noise that repeats itself 8 threads release what one does, bit for bit."""
    plan, source = method.plan(), method.table()
    columns = [name for name in source if name != method.domain.target.name]
    tables = source[columns], source[method.domain.target.name]

    def made(number):
        return [fitting.fit(plan, open_source(*tables), noise=replay(seed)).bytes
                for seed in (number, 1, 2)]

    expected = [made(number) for number in range(THREADS)]

    assert expected == together(made)


def test_a_caller_hears_its_own_warnings():
    """A fit in one thread silences no other: what another thread warns of is heard meanwhile."""
    heard, done = [], threading.Event()
    method = next(one for one in SMALL if one.name == "noisy-top-k")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")

        def fits():
            plan = method.plan()
            for seed in range(FITS):
                fitting.fit(plan, open_source(method.table(ROWS)[[*WARD.names, "back"]]),
                            noise=replay(seed))
            done.set()

        other = threading.Thread(target=fits)
        other.start()
        while not done.is_set():
            warnings.warn("mine", stacklevel=1)
            heard.append(1)
        other.join()

    assert len(heard) == len(warned)
