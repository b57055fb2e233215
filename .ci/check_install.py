"""Check an installed wheel in an empty folder: its public names, and the lines of the README.

Usage: python check_install.py README.md native|numpy
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import privsieve as ps
from privsieve import kernels

BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAM = [sys.executable, "-m", "privsieve"]


def check_public_names(implementation: str) -> None:
    """Import every public name; compare the version and the kernels with what is expected."""
    assert "site-packages" in str(ps.__file__), ps.__file__
    assert ps.__version__ == version("privsieve")
    assert kernels.implementation() == implementation, kernels.implementation()
    assert set(dir(ps)) == set(ps.__all__)
    needs_sklearn = find_spec("sklearn") is None
    for name in ps.__all__:
        try:
            public = getattr(ps, name)
        except ImportError:
            assert needs_sklearn, name
            continue
        assert not callable(public) or inspect.signature(public) is not None
        assert not inspect.isclass(public) or public.__doc__, name


def check_readme(text: str) -> None:
    """Run the lines of the README that start privsieve, and its Python."""
    for language, body in BLOCK.findall(text):
        if language == "python":
            if find_spec("sklearn") is None:
                print("skipped: Python of the README, because scikit-learn is not installed")
            else:
                exec(compile(body, "README.md", "exec"), {"__name__": "readme"})
            continue
        for line in body.splitlines():
            words = line.partition("#")[0].split()
            if words[:2] == ["privsieve", "start"]:
                print("skipped: privsieve start, which asks questions")
            elif words[:1] == ["privsieve"]:
                run(*words[1:])


def run(*words: str) -> None:
    """Run one command of the installed program."""
    done = subprocess.run([*PROGRAM, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.stderr)


def main() -> None:
    """Run all checks."""
    readme, implementation = sys.argv[1:]
    check_public_names(implementation)
    check_readme(Path(readme).read_text(encoding="utf-8"))
    for folder in ("first", "columns"):
        run("verify", f"privsieve-demo/{folder}")
    for form in ("officer", "croissant", "minimisation", "registry"):  # templates are in the wheel
        run("export", form, "privsieve-demo/first", "--out", f"{form}.txt")
    run("plan", "privsieve-demo/patients.csv", "--domain", "privsieve-demo/domain.toml",
        "--top", "6", "--epsilon", "1")
    print(f"ok: privsieve {ps.__version__}, kernels {implementation}, "
          f"Python {sys.version.split()[0]}")


main()
