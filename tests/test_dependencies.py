"""Law: what is installed is used.  Each package that is asked for has code behind it."""

from __future__ import annotations

import ast
import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

from every_method import CHARGING
from privsieve.cli import doctor

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: Where a package is not imported under its own name.
IMPORTED = {"scikit-learn": "sklearn", "python-flint": "flint", "tomli-w": "tomli_w",
            "dp-accounting": "dp_accounting", "pyfim": "fim", "faiss-cpu": "faiss",
            "myst-parser": "myst_parser", "pillow": "PIL"}
#: Programs and plug-ins: nobody imports them, and these words call them.
CALLED = {"ruff": "/ruff ", "mypy": "/mypy", "pytest-cov": "--cov", "pytest-xdist": "-n $(JOBS)",
          "pytest": "-m pytest", "sphinx": "-m sphinx", "furo": 'html_theme = "furo"'}

#: Functions that import the module that their first argument names.
IMPORTERS = ("import_module", "import_library", "importorskip")
#: What `pip install privsieve` may take on a disk, in bytes.
LARGEST_INSTALLED = 130 * 10**6
#: Begins a program that can import the standard library, this package, and the packages named.
LIMITED = """
import sys

class Limit:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in {*sys.stdlib_module_names, "privsieve", *ALLOWED} and top[0] != "_":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Limit())
from privsieve.cli import run

def command(words, code=0):
    assert run(words.split()) == code, words
"""
#: Verbs of the core, on a CSV file.
VERBS = """
from pathlib import Path
Path("t.csv").write_text("a,b,c,y\\n" + "1,0,1,1\\n0,1,0,0\\n1,0,1,0\\n0,1,0,1\\n1,0,0,1\\n" * 40)
Path("d.toml").write_text('''
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
for words in (
        "--help", "domain t.csv --out draft.toml",
        "inspect t.csv --domain d.toml --private-output i.txt",
        "ledger grant --ledger b.db --population p --epsilon 5",
        "plan t.csv --domain d.toml --epsilon 1 --top 1",
        "select t.csv --domain d.toml --epsilon 1 --top 1 --ledger b.db --population p --out s",
        "synthesize t.csv --domain d.toml --columns a --epsilon 1 --rows 9 --ledger b.db "
        "--population p --out h",
        "publish t.csv --target y -k 2 --out p", "check t.csv",
        "verify s", "verify h", "verify p", "verify s --ledger b.db", "ledger show --ledger b.db",
        "report s --out again.html", "union p", "doctor",
        "demo --out demo", "verify demo/first", "verify demo/columns"):
    command(words)
"""
#: What needs a library of an extra, the library, and the extra.
ABSENT = (
    ("ps.RuleSieve", "sklearn", "sklearn"), ("ps.FWELL", "sklearn", "sklearn"),
    ("ps.PublishableColumns", "sklearn", "sklearn"),
    ("ps.audit(len, (), (), epsilon=1)", "scipy", "sklearn"),
    ("ps.Domain.draft('t.parquet')", "pyarrow", "parquet"),
    ("ps.Domain.draft(polars.DataFrame({'a': [1, 2]}))", "pyarrow", "parquet"),
)


def packages(lines):
    """Names of packages in requirements."""
    return [re.match(r"[\w.-]+", line)[0].lower() for line in lines]


@cache
def imported(*folders):
    """Names of foreign packages that Python files import, in code or by a string."""
    modules = set()
    for folder in folders:
        for path in [folder] if folder.is_file() else folder.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    modules |= {each.name.partition(".")[0] for each in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    modules.add(node.module.partition(".")[0])
                elif isinstance(node, ast.Call) and node.args and isinstance(
                        node.args[0], ast.Constant) and getattr(
                            node.func, "attr", getattr(node.func, "id", "")) in IMPORTERS:
                    modules.add(str(node.args[0].value).partition(".")[0])
    return modules


@pytest.mark.parametrize("package", packages(PROJECT["dependencies"]))
def test_each_dependency_is_imported(package):
    """What everybody has to install is imported by the package itself."""
    assert IMPORTED.get(package, package) in imported(ROOT / "src")


@pytest.mark.parametrize(("extra", "package"), [
    (extra, package) for extra, lines in PROJECT["optional-dependencies"].items()
    for package in packages(lines)])
def test_each_extra_has_code_behind_it(extra, package):
    """What an extra brings is imported by code, tests, benchmarks or experiments, or called."""
    if package == "privsieve":
        named = re.findall(r"[\w-]+", PROJECT["optional-dependencies"][extra][0].partition("[")[2])
        assert set(named) < set(PROJECT["optional-dependencies"])
        return
    words = "".join((ROOT / path).read_text(encoding="utf-8")
                    for path in ("Makefile", ".ci/run", "docs/conf.py"))
    folders = [ROOT / folder for folder in ("src", "tests", "benchmarks", "experiments",
                                            "docs/_ext",
                                            "docs/pictures", "conftest.py")]
    used = imported(*folders)

    assert IMPORTED.get(package, package) in used or CALLED.get(package, "\0") in words


@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_no_extra_is_empty(extra):
    """An extra that brings nothing promises something."""
    assert PROJECT["optional-dependencies"][extra]


def test_doctor_tells_the_truth():
    """It asks for all dependencies and no other, and for extras that the package knows."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")
                     if path.name != "doctor.py")
    needs = doctor.packages()

    assert set(packages(PROJECT["dependencies"])) == {name for name in needs if not needs[name]}
    assert [] == [name for name, extra in needs.items() if extra
                  if not re.search(rf"\b{IMPORTED.get(name, name)}\b", text)]
    assert {extra for extra in needs.values() if extra} <= set(PROJECT["optional-dependencies"])


# --- what is not installed ----------------------------------------------------------------------

def run_limited(program, allowed, place):
    """Run a program in a folder where some packages alone can be imported."""
    return subprocess.run(
        [sys.executable, "-c", f"ALLOWED = {sorted(allowed)}\n{LIMITED}{program}"], cwd=place,
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"})


def required():
    """The modules that `pip install privsieve` brings."""
    return {IMPORTED.get(name, name) for name in packages(PROJECT["dependencies"])}


def test_what_everybody_installs_is_small():
    """The dependencies with their own dependencies take at most 130 MB."""
    waiting, sizes = packages(PROJECT["dependencies"]), {}
    while waiting:
        if (name := waiting.pop()) not in sizes:
            known = importlib.metadata.distribution(name)
            sizes[name] = sum(path.stat().st_size for file in known.files
                              if (path := Path(file.locate())).is_file())
            waiting += packages(line for line in known.requires or () if ";" not in line)

    assert sum(sizes.values()) <= LARGEST_INSTALLED, sizes
    assert sizes["numpy"] > 10**7  # the files are there, and were counted


def test_the_core_needs_no_extra(tmp_path):
    """A draft, a plan, a selection, a publication and their checks need no extra's library."""
    done = run_limited(VERBS, required(), tmp_path)

    assert 0 == done.returncode, done.stdout[-2000:] + done.stderr


@pytest.mark.parametrize(("use", "library", "extra"), ABSENT)
def test_an_absent_library_is_named_with_its_extra(use, library, extra, tmp_path):
    """One sentence says what is not installed and what installs it; it is an ImportError, too."""
    Path(tmp_path / "t.parquet").write_bytes(b"PAR1")
    program = f"""
import privsieve as ps
from privsieve.errors import ParameterError
if "polars" in {use!r}:
    import polars
try:
    {use}
except ImportError as error:
    assert isinstance(error, ParameterError)
    print(error)
"""
    done = run_limited(program, required() | {"polars", "_polars_runtime_32"}, tmp_path)

    assert 0 == done.returncode, done.stderr
    assert f"needs {library}, which is not installed" in done.stdout
    assert f'pip install "privsieve[{extra}]"' in done.stdout


@pytest.mark.filterwarnings("ignore::privsieve.fit.UnsignedWarning")
def test_a_release_is_checked_without_numpy(tmp_path):
    """Who receives a folder needs none of the large libraries, for all but three methods.

    A plan of these is made with NumPy: there the check says that it was not made again, and fails.
    """
    checks = "import privsieve as ps\n"
    for at, method in enumerate(CHARGING):
        table = method.table()
        target = table.pop(method.domain.target.name)
        method.estimator().fit(table, target).release_.save(tmp_path / str(at))
        checks += f"found = ps.verify('{at}')\nprint('{method.name}', *found.reasons)\n"
    done = run_limited(checks, required() - {"numpy"}, tmp_path)
    lines = [line.partition(" ") for line in done.stdout.splitlines()]

    assert len(CHARGING) == len(lines), done.stderr
    for method, _, reasons in lines:
        needs = method in ("kernel-ridge", "kernel-ridge-session", "noisy-histogram")
        assert reasons == needs * (
            "the plan was not checked, because numpy is not installed; install "
            "privsieve with all its requirements")


def test_a_publication_is_counted_without_numpy(tmp_path):
    """The checker counts a published table again in Python alone."""
    begin = VERBS.partition("for words in")[0]
    process = run_limited(begin + "command('publish t.csv --target y -k 2 --out p')", required(),
                          tmp_path)
    whole = run_limited("command('verify p')", {"click", "msgspec", "markupsafe"}, tmp_path)
    (tmp_path / "p" / "table.csv").write_text("a,y\n1,0\n")
    cut = run_limited("command('verify p', 7)", {"click", "msgspec", "markupsafe"}, tmp_path)

    assert (0, 0, 0) == (process.returncode, whole.returncode, cut.returncode), whole.stderr
