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

WORDS = {"errors", "_version", "entries", "public"}
ROWS = WORDS | {"kernels", "rows", "summaries"}
#: What each room may import; a room may always import itself.
BELOW = {
    "errors": set(),
    "_version": set(),
    "kernels": set(),
    # Where each extra begins; what it loads is a string.
    "entries": {"errors"},
    "public": {"errors", "entries"},
    # A folder that is written whole or not at all.
    "folder": {"errors"},
    "release": {"errors", "entries", "public", "folder"},
    # A file becomes units: integers on the public grid.
    "rows": WORDS | {"kernels"},
    # Units become integers that add up, and how far one unit moves them; they meet no noise.
    "summaries": WORDS | {"kernels", "rows"},
    # Noise knows neither rows nor summaries: they meet in a method.
    "noise": WORDS,
    # What was spent; it knows no noise, so that a checker can read it.
    "ledger": WORDS | {"folder"},
    # Keys, envelopes, and whose signatures are wanted: words and bytes, and no release.
    "trust": WORDS,
    # It plans again (`replan`), and makes the page again that lies beside a release.
    "check": WORDS | {"ledger", "folder", "release", "trust", "report", "methods"},
    # A convex problem and its constants; of noise it takes the ball arithmetic alone.
    "local": WORDS | {"kernels", "noise"},
    # Another kind of guarantee: it meets rows, the ledger and the page, and never noise.
    "containment": ROWS | {"ledger", "folder", "check", "release", "report", "telling"},
    # Documents and what shows them: no renderer knows what it shows.
    "telling": {"public", "_version"},
    # A face: what a domain, a plan, a release and an account say, as documents; it knows no row.
    "report": WORDS | {"ledger", "release", "telling"},
    # Nothing is charged for what `verify` would refuse.
    "fit": WORDS | {"rows", "summaries", "noise", "ledger", "folder", "release", "report", "check"},
    # What was charged before, and what a crash left: files, and no row.
    "finish": WORDS | {"ledger", "folder", "release", "report", "fit"},
    # Plans and mechanisms: no method knows who calls it.
    "methods": ROWS | {"noise", "release", "local"},
    # Faces: who holds a table calls `fit` through them.
    "estimators": ROWS | {"ledger", "release", "fit", "methods"},
    "session": ROWS | {"noise", "ledger", "release", "fit", "methods"},
    "cli": ROWS | {"ledger", "folder", "trust", "check", "release", "fit", "finish", "methods",
                   "containment", "report", "telling"},
    "__main__": {"cli"},
    # The names of the public surface, imported when they are asked for.
    "__init__": WORDS | {"rows", "ledger", "trust", "check", "release", "methods", "local",
                         "containment", "finish", "estimators", "session"},
}
#: An extra may import any part of the core; nothing imports an extra, but through `entries`.
BELOW["extras"] = set(BELOW) - {"__init__", "__main__"}
#: What a room without NumPy may load all the same, by file.
NEEDS = {"check/audit.py": {"numpy"}, "check/events.py": {"numpy"}, "check/views.py": {"numpy"}}
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
            aliases = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = [inside, *package[: len(package) + 1 - node.level]] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            aliases = [f"{module}.{alias.name}" if is_module(f"{module}.{alias.name}") else module
                       for alias in node.names]
        else:
            continue
        for full in aliases:
            if full.split(".")[0] == inside:
                ours.add(full.removeprefix(inside).lstrip(".") or "__init__")
            else:
                others.add(full.split(".")[0])
    return ours, others


def is_module(full):
    """Whether a dotted name is one of our files or packages."""
    place = SRC.parent.joinpath(*full.split("."))
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def layer(name):
    """The part of the package that a file or module belongs to."""
    return name.removesuffix(".py").replace("/", ".").split(".")[0]


@pytest.mark.parametrize("name", modules())
def test_imports_point_down(name):
    """A module imports its own part and the parts below it, also inside functions and for types."""
    ours, _ = imported(name)

    wrong = {module for module in ours
             if layer(module) not in {layer(name), *BELOW[layer(name)]}
             and layer(module) != "__init__"}
    if layer(name) not in ("cli", "__main__"):
        wrong |= {module for module in ours if module == "__init__"}
    assert set() == wrong


def test_a_part_stands_above_what_it_imports():
    """The table has no circle: no part is among what lies below it."""
    def below(name, seen=()):
        assert name not in seen, [*seen, name]
        for other in BELOW[name] - {name}:
            below(other, (*seen, name))

    for name in BELOW:
        below(name)


def test_one_file_of_the_checker_plans_again():
    """Of methods the checker takes plans alone, in `replan`; the rest shares no code with them."""
    takes = {name for name in modules() if layer(name) == "check"
             and any(layer(module) == "methods" for module in imported(name)[0])}

    assert {"check/replan.py"} == takes


def test_every_part_has_a_place():
    """A new part of the package is put into a layer on purpose."""
    assert set() == {layer(name) for name in modules()} - set(BELOW)


@pytest.mark.parametrize("name", [name for name in modules() if layer(name) in ("check", "ledger")])
def test_who_checks_needs_no_numpy(name):
    """A ledger and a checker load the standard library and `click`'s peers at most."""
    _, others = imported(name)

    assert set() == others & (NUMPY - NEEDS.get(name, set()))


def test_a_report_knows_no_row():
    """A report imports the words of plans and releases, MarkupSafe, and nothing else."""
    for name in modules():
        if layer(name) in ("report", "telling"):
            _, others = imported(name)

            assert {"markupsafe"} >= others - sys.stdlib_module_names, name


def test_local_meets_no_noise():
    """The convex solve and its constants take ball arithmetic, and nothing else of noise."""
    for name in modules():
        if layer(name) == "local":
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
from privsieve.folder import Folder
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
    modules = loaded(SELECT, tmp_path)

    assert set() == modules & {*SLOW, "flint"}
    assert {"numpy", "markupsafe"} <= modules
    assert (tmp_path / "out" / "report.html").exists()
