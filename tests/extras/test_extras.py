"""Law: extras.  The core imports none, one table names each, and each says what it needs."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import privsieve as ps
from privsieve.cli import VERBS
from privsieve.entries import ENTRIES, load
from privsieve.errors import ParameterError
from privsieve.ledger.sql import store
from privsieve.rows import open_source

SRC = Path(ps.__file__).parent
ROOT = Path(__file__).parents[2]
NAMES = sorted(path.name for path in (SRC / "extras").iterdir() if (path / "__init__.py").exists())
#: What may be done without any extra.
CORE = """
import privsieve as ps
from privsieve.cli import run
open("t.csv", "w").write("a,b,c,y\\n" + "1,0,1,1\\n0,1,0,0\\n1,0,1,0\\n0,1,0,1\\n1,0,0,1\\n" * 40)
open("d.toml", "w").write('''
[table]
unit = "row"
[[column]]
names = ["a", "b", "c"]
kind = "flag"
[target]
name = "y"
kind = "label"
values = [0, 1]
''')
for name in ps.__all__:
    getattr(ps, name)
for words in (
        "--help", "ledger grant --ledger b.db --population p --epsilon 2",
        "plan t.csv --domain d.toml --epsilon 1 --top 1",
        "select t.csv --domain d.toml --epsilon 1 --top 1 --ledger b.db --population p --out s",
        "publish t.csv --target y -k 2 --out p", "verify s", "verify p", "check t.csv",
        "report s --out again.html", "doctor"):
    assert run(words.split()) == 0, words
"""


def imports(path):
    """The names that a module imports, wherever the import stands, with those of its strings."""
    inside = ["privsieve", *path.relative_to(SRC).with_suffix("").parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = inside[:len(inside) + 1 - node.level] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            yield module
            yield from (f"{module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (node.value,) if node.value.startswith("extras.") else ()


def test_no_module_of_the_core_imports_an_extra():
    """Only the table of entries names the folder, in the string that `load` completes."""
    guilty = {path.relative_to(SRC).as_posix() for path in SRC.rglob("*.py")
              if "extras" not in path.relative_to(SRC).parts
              and any(name.startswith(("privsieve.extras", "extras.")) for name in imports(path))}

    assert {"entries.py"} == guilty


def test_the_core_runs_without_loading_an_extra(tmp_path):
    """To plan, choose, publish and verify, in Python and by verbs, no extra is loaded."""
    ending = "\nimport sys\nprint(*(name for name in sys.modules if 'privsieve.extras' in name))"
    done = subprocess.run(
        [sys.executable, "-c", CORE + ending], cwd=tmp_path, capture_output=True, text=True,
        check=False, env={**os.environ, "PYTHONPATH": str(SRC.parent)})

    assert (0, "") == (done.returncode, done.stdout.splitlines()[-1]), done.stderr


def test_an_extra_that_is_asked_for_is_seen(tmp_path):
    """The test above can fail: a verb of an extra loads its folder."""
    program = ("import sys\nfrom privsieve.cli import run\nrun(['explore', '--help'])\n"
               "assert 'privsieve.extras.steward.explore' in sys.modules")

    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, capture_output=True,
                   env={**os.environ, "PYTHONPATH": str(SRC.parent)})


@pytest.mark.parametrize(("kind", "name"), [
    (kind, name) for kind, names in ENTRIES.items() for name in names])
def test_each_entry_is_there(kind, name):
    """An entry leads to something that can be called, a command, or a store; verbs are listed."""
    entry = load(kind, name)

    assert callable(entry) or callable(entry.reading)
    assert kind != "verb" or (name in VERBS and entry.name == name)


def test_each_extra_has_tests_a_page_and_an_entry():
    """A folder of extras is tested, described, named by the index, and reached by the table."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    reached = {path.split(".")[1] for names in ENTRIES.values() for path in names.values()
               if path.startswith("extras.")}

    assert set(NAMES) == reached
    for name in NAMES:
        assert list(Path(__file__).parent.glob(f"test_{name}*.py")), name
        page, = re.findall(rf"^\| `{name}` \| \[[^\]]*\]\(([\w/-]+\.md)", index, re.MULTILINE)
        assert f"privsieve.extras.{name}" in (
            ROOT / "docs" / page).read_text(encoding="utf-8"), name


def of_spark():
    """An object that looks like a frame of Spark."""
    kind = type("DataFrame", (), {"mapInArrow": None})
    kind.__module__ = "pyspark.sql"
    return kind()


def book(name):
    """A draft from an empty code book of some format."""
    Path(name).write_bytes(b"")
    return ps.Domain.draft([[1, 2]], code_book=name)


PLAN = {"k": 1, "epsilon": 1, "rows": 100}
#: A library, its extra, and what needs it.
NEEDED = [
    ("pyspark", "spark", lambda: open_source(of_spark())),
    ("duckdb", "queries", lambda: open_source("sql:SELECT a FROM t")),
    ("psycopg", "postgres", lambda: store("postgresql://localhost/x").create(
        "postgresql://localhost/x")),
    ("matplotlib", "plot", lambda: ps.plan(
        "rule-sieve", ps.Domain.box(0, 1, columns=4), **PLAN).plot()),
    ("openpyxl", "codebooks", lambda: book("b.xlsx")),
    ("pyreadstat", "codebooks", lambda: book("b.sav")),
]


@pytest.mark.parametrize(("name", "extra", "use"), NEEDED, ids=[package[0] for package in NEEDED])
def test_a_library_that_is_absent_is_named_with_its_extra(name, extra, use, monkeypatch, tmp_path):
    """One sentence says what is missing and how to install it; the extra brings that library."""
    monkeypatch.chdir(tmp_path)
    for module in [module for module in sys.modules if module.split(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ParameterError) as error:
        use()

    assert f'which is not installed: pip install "privsieve[{extra}]"' in str(error.value)
    assert extra in NAMES
    brought = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert any(package.startswith(name)
               for package in brought["project"]["optional-dependencies"][extra])


@pytest.mark.parametrize(("words", "verb"), [
    (("publish", "t.csv", "-k", 2, "--out", "o", "--explore", "e.html"), "explore"),
    (("publish", "t.csv", "-k", 2, "--out", "o", "--population-size", 9), "explore"),
    (("publish", "t.csv", "-k", 2, "--out", "o", "--seconds", 9), "explore"),
    (("publish", "t.csv", "-k", 2, "--out", "o", "--export", "arx"), "bridge"),
    (("publish", "t.csv", "-k", 2, "--out", "o", "--by-path"), "bridge"),
    (("check", "folder"), "union"),
])
def test_what_became_a_verb_is_named(words, verb, cli, tmp_path, monkeypatch):
    """An option that an extra took along gets a sentence with the verb that does it now."""
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("folder/certificate.json").touch()
    code, out, err = cli(*words)

    assert (2, "") == (code, out)
    assert f"privsieve {verb}" in " ".join(err.split())


def test_names_of_an_extra_are_not_in_the_package():
    """Who asks the package for a figure is told where it is."""
    for name in ("PlanDisplay", "ReleaseDisplay"):
        with pytest.raises(AttributeError, match=r"privsieve\.extras\.plot"):
            getattr(ps, name)
