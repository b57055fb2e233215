"""Law: the measures of the house.  What the next reader has to hold in mind is counted."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import privsieve

SRC = Path(privsieve.__file__).parent
#: Lines of Python in the package.  The number only falls: what is added makes room first.
MOST_LINES = 54_887
#: Functions with more than six arguments.
MOST_WIDE = 8


@cache
def trees():
    """Every module of the package as a tree, by its dotted name."""
    found = {}
    for path in sorted(SRC.rglob("*.py")):
        name = ".".join(("privsieve", *path.relative_to(SRC).with_suffix("").parts))
        found[name.removesuffix(".__init__")] = (path, ast.parse(path.read_text(encoding="utf-8")))
    return found


def imported(name, path, tree):
    """The modules of the package that a module imports, wherever the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
            base = ".".join([*parts[:len(parts) - node.level + 1], *filter(None, [node.module])]
                            ) if node.level else node.module or ""
            yield base
            yield from (f"{base}.{each.name}" for each in node.names)


def test_lines():
    """The package has at most `MOST_LINES` lines of Python."""
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path, _ in trees().values())

    assert lines <= MOST_LINES


def test_a_name_has_one_meaning():
    """No two classes of the package have one name."""
    found = defaultdict(list)
    for name, (_, tree) in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(name)

    assert {} == {name: where for name, where in found.items() if len(where) > 1}


def test_functions_take_few_arguments():
    """Few functions take more than six arguments."""
    wide = []
    for name, (_, tree) in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                if len([one for one in given if one.arg not in ("self", "cls")]) > 6:
                    wide.append(f"{name}.{node.name}")

    assert len(wide) <= MOST_WIDE, wide
