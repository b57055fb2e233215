"""Law: layers.  Imports point down only, and the fast paths load no slow library."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import privsieve

SRC = Path(privsieve.__file__).parent

WORDS = {"errors", "_version", "frozen", "entries", "public"}
ROWS = WORDS | {"kernels", "rows", "summaries"}
#: What each room may import; a room may always import itself.
BELOW = {
    "errors": set(),
    "_version": set(),
    "frozen": set(),
    "kernels": set(),
    # Where each extra begins; what it loads is a string.
    "entries": set(),
    "public": {"errors", "frozen", "entries"},
    "release": {"errors", "frozen", "entries", "public"},
    # A file becomes units: integers on the public grid.
    "rows": WORDS | {"kernels"},
    # Units become integers that add up, and how far one unit moves them; they meet no noise.
    "summaries": WORDS | {"kernels", "rows"},
    # Noise knows neither rows nor summaries: they meet in a method.
    "noise": WORDS,
    # What was spent; it knows no noise, so that a checker can read it.
    "ledger": WORDS,
    # Keys, envelopes, and whose signatures are wanted: words and bytes, and no release.
    "trust": WORDS,
    # Neither methods nor noise (see `ATTACKS`).
    "check": WORDS | {"ledger", "release", "trust"},
    # A convex problem and its constants; of noise it takes the ball arithmetic alone.
    "local": WORDS | {"kernels", "noise"},
    # Another kind of guarantee: it meets rows, the ledger and the page, and never noise.
    "containment": ROWS | {"ledger", "check", "release", "report", "telling"},
    # As printed, for experiments and tests: no module of the package imports it.
    "papers": ROWS | {"containment"},
    # Documents and what shows them: no renderer knows what it shows.
    "telling": {"public", "_version"},
    # A face: what a domain, a plan, a release and an account say, as documents; it knows no row.
    "report": WORDS | {"ledger", "release", "telling"},
    "fit": WORDS | {"rows", "summaries", "noise", "ledger", "release", "report"},
    # What was charged before, and what a crash left: files, and no row.
    "finish": WORDS | {"ledger", "release", "report", "fit"},
    "methods": ROWS | {"noise", "ledger", "release", "fit", "local"},
    "cli": ROWS | {"ledger", "trust", "check", "release", "fit", "finish", "methods",
                   "containment", "report", "telling"},
    "__main__": {"cli"},
    # The names of the public surface, imported when they are asked for.
    "__init__": WORDS | {"rows", "ledger", "trust", "check", "release", "methods", "local",
                         "containment", "finish"},
}
#: An extra may import any part of the core; nothing imports an extra, but through `entries`.
BELOW["extras"] = set(BELOW) - {"__init__", "__main__", "papers"}
#: Imports that point up, each with the reason why it may.
UPWARD = {
    ("release.py", "ledger.folder"): "`Release.save` is a word; the folder is asked for late",
    ("release.py", "report"): "`Release.save` writes the page, too, and asks for it late",
    ("fit.py", "check.verify"): "nothing is charged for what verify would refuse; asked for late",
    ("check/folder.py", "report"): "a page is compared with the one that its two files give",
    ("public/plan.py", "rows.batch"): "a type: what is summarised",
    ("public/domain.py", "rows"): "`Domain.draft` asks a source for its names and types",
}
#: `replan` plans again; the rest of `check` shares no code with a maker.
ATTACKS = {"check/replan.py": {"methods"}}
#: What a room without NumPy may load all the same, by file.
NEEDS = {"check/audit.py": {"numpy", "scipy"}, "check/events.py": {"numpy"},
         "check/table.py": {"pyarrow"}, "check/views.py": {"numpy"}}
NOISES = ("noise", "streams")
NUMPY = {"numpy", "pandas", "polars", "pyarrow", "scipy", "sklearn", "flint"}
SLOW = {"pandas", "polars", "pyarrow", "scipy", "sklearn", "jinja2", "cryptography"}


def modules():
    """Every Python file of the package, by its path inside it."""
    return sorted(path.relative_to(SRC).as_posix() for path in SRC.rglob("*.py"))


def imported(name, inside="privsieve"):
    """The modules that a file imports: `a.b` for ours, and the first word of others."""
    ours, others = set(), set()
    package = name.removesuffix(".py").split("/")[:-1]
    for node in ast.walk(ast.parse((SRC / name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = [inside, *package[: len(package) + 1 - node.level]] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found = [f"{module}.{alias.name}" if is_module(f"{module}.{alias.name}") else module
                     for alias in node.names]
        else:
            continue
        for full in found:
            if full.split(".")[0] == inside:
                ours.add(full.removeprefix(inside).lstrip(".") or "__init__")
            else:
                others.add(full.split(".")[0])
    return ours, others


def is_module(full):
    """Whether a dotted name is one of our files or packages."""
    place = SRC.parent.joinpath(*full.split("."))
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def part(name):
    """The part of the package that a file or module belongs to."""
    return name.removesuffix(".py").replace("/", ".").split(".")[0]


@pytest.mark.parametrize("name", modules())
def test_imports_point_down(name):
    """A module imports its own part and the parts below it, also inside functions and for types."""
    ours, _ = imported(name)

    wrong = {module for module in ours
             if part(module) not in {part(name), *BELOW[part(name)]}
             and part(module) != "__init__"
             and not any(name == file and module.startswith(up) for file, up in UPWARD)
             and part(module) not in ATTACKS.get(name, ())}
    if part(name) not in ("cli", "__main__"):
        wrong |= {module for module in ours if module == "__init__"}
    assert set() == wrong


def test_every_part_has_a_place():
    """A new part of the package is put into a layer on purpose."""
    assert set() == {part(name) for name in modules()} - set(BELOW)


@pytest.mark.parametrize("name", [name for name in modules() if part(name) in ("check", "ledger")])
def test_who_checks_needs_no_numpy(name):
    """A ledger and a checker load the standard library and `click`'s peers at most."""
    _, others = imported(name)

    assert set() == others & (NUMPY - NEEDS.get(name, set()))


def test_a_report_knows_no_row():
    """A report imports the words of plans and releases, MarkupSafe, and nothing else."""
    for name in modules():
        if part(name) in ("report", "telling"):
            _, others = imported(name)

            assert {"markupsafe"} >= others - sys.stdlib_module_names, name


def test_local_meets_no_noise():
    """The convex solve and its constants take ball arithmetic, and nothing else of noise."""
    for name in modules():
        if part(name) == "local":
            text = (SRC / name).read_text(encoding="utf-8")

            taken = set(re.findall(r"privsieve\.noise(.*)", text))
            assert {".balls import arithmetic"} >= taken, name


def test_nothing_shipped_replays_noise():
    """`noise.replay` is for tests: no module of the package names it outside `noise` itself."""
    users = set()
    for name in modules():
        if name == "noise/streams.py":
            continue
        for node in ast.walk(ast.parse((SRC / name).read_text(encoding="utf-8"))):
            from_noise = (isinstance(node, ast.ImportFrom) and node.module is not None
                          and node.module.endswith("streams")
                          and "replay" in [alias.name for alias in node.names])
            attribute = (isinstance(node, ast.Attribute) and node.attr == "replay"
                         and isinstance(node.value, ast.Name) and node.value.id in NOISES)
            if from_noise or attribute:
                users.add(name)

    assert set() == users


def loaded(program, tmp_path):
    """The first words of all modules that a program loads in a fresh interpreter."""
    ending = "\nimport sys\nprint(*sorted({name.split('.')[0] for name in sys.modules}))"
    environment = {**os.environ, "PYTHONPATH": str(SRC.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", program + ending], cwd=tmp_path, check=True,
                          env=environment, capture_output=True, text=True)
    return set(done.stdout.splitlines()[-1].split())


PLAN = """
import privsieve as ps
import privsieve.ledger.ledger, privsieve.check.verify
ps.plan("rule-sieve", ps.Domain.box(0, 1, columns=30), k=3, epsilon=1, rows=569)
ps.plan("noisy-top-k", ps.Domain.box(0, 1, columns=30), k=3, epsilon=1, rows=569)
ps.plan("noisy-histogram", ps.Domain.box(0, 1, columns=30), k=3, epsilon=1, rows=569)
"""

SELECT = """
import privsieve as ps
from pathlib import Path
from privsieve.fit import fit
from privsieve.ledger.folder import Folder
from privsieve.rows import open_source, resolve
Path("t.csv").write_text("a,b,y\\n" + "1,0,1\\n0,1,0\\n" * 50)
domain = ps.Domain([ps.Number("a", 0, 1), ps.Number("b", 0, 1)], target=ps.Label("y", [0, 1]))
source = open_source(Path("t.csv"), csv=domain.csv)
shape = source.shape(count_rows=True)
domain = resolve(domain, shape, strict=True)
ledger = ps.Ledger("budget.db", population="people")
ledger.grant(epsilon=1)
with Folder.create("out") as folder:
    fit(ps.plan("rule-sieve", domain, k=1, epsilon=1, rows=shape.rows), source, ledger=ledger,
        folder=folder)
"""


def test_a_plan_needs_no_numpy(tmp_path):
    """Planning, the ledger and `verify` load neither NumPy nor anything larger."""
    assert set() == loaded(PLAN, tmp_path) & NUMPY


def test_a_selection_needs_numpy_only(tmp_path):
    """A selection from a CSV file loads no frame library, no scikit-learn, no cryptography.

    Its report is written with what escapes, and with no engine of templates; its noise is drawn
    without Arb.
    """
    found = loaded(SELECT, tmp_path)

    assert set() == found & {*SLOW, "flint"}
    assert {"numpy", "markupsafe"} <= found
    assert (tmp_path / "out" / "report.html").exists()
