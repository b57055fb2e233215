"""Law: what is installed is used.  Each package that is asked for has code behind it."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

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


def packages(lines):
    """Names of packages in requirements."""
    return [re.match(r"[\w.-]+", line)[0].lower() for line in lines]


@cache
def imported(*folders):
    """Names of foreign packages that Python files import, in code or by a string."""
    found = set()
    for folder in folders:
        for path in [folder] if folder.is_file() else folder.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    found |= {each.name.partition(".")[0] for each in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    found.add(node.module.partition(".")[0])
                elif isinstance(node, ast.Call) and node.args and isinstance(
                        node.args[0], ast.Constant) and getattr(node.func, "attr", getattr(
                            node.func, "id", "")) in ("import_module", "importorskip"):
                    found.add(str(node.args[0].value).partition(".")[0])
    return found


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
    words = "".join((ROOT / one).read_text(encoding="utf-8")
                    for one in ("Makefile", ".ci/run", "docs/conf.py"))
    folders = [ROOT / one for one in ("src", "tests", "benchmarks", "experiments", "docs/_ext",
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
