"""Law: the measures of the house.  What the next reader has to hold in mind is counted.

Each number here may only fall: what does not fit makes room first, or waits.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import privsieve
from plain import bad_names, bad_words, groups
from privsieve.cli import run
from privsieve.methods import METHODS

SRC = Path(privsieve.__file__).parent
#: Lines of Python in the core, in the desk, and in all other extras together.
MOST_LINES, MOST_LINES_OF_DESK, MOST_LINES_OF_EXTRAS = 44_293, 1162, 4883
#: Names that say nothing about their value, and words of texts that are not plain English.
MOST_BAD_NAMES, MOST_BAD_WORDS = 0, 0
#: Functions with more than six arguments.
MOST_WIDE = 8
#: Files of the core that know a kind of release by its name.
MOST_FILES_OF_KINDS = 12
#: Lists of the core that name every method.
MOST_LISTS_OF_METHODS = 1
#: Options that `privsieve select --help` shows.
MOST_OPTIONS = 25
#: Parts that take part in no circle of imports.
WITHOUT_CIRCLES = ("ledger", "public.domain", "public.plan", "release")
KIND = re.compile(r"""["'](selection|regression|histogram)["']""")


@cache
def trees():
    """Every module of the package as a tree, by its dotted name."""
    modules = {}
    for path in sorted(SRC.rglob("*.py")):
        name = ".".join(("privsieve", *path.relative_to(SRC).with_suffix("").parts))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        modules[name.removesuffix(".__init__")] = (path, tree)
    return modules


def is_extra(name):
    """Whether a module is part of an extra."""
    return name.startswith("privsieve.extras")


def core():
    """The modules of the core, with their texts."""
    return {name: path.read_text(encoding="utf-8") for name, (path, _) in trees().items()
            if not is_extra(name)}


def imported(name, path, tree):
    """The modules of the package that a module imports anywhere, but for types alone."""
    types = {id(node) for branch in ast.walk(tree) if isinstance(branch, ast.If)
             and getattr(branch.test, "id", "") == "TYPE_CHECKING" for node in ast.walk(branch)}
    for node in ast.walk(tree):
        if id(node) in types:
            continue
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
            base = ".".join([*parts[:len(parts) - node.level + 1], *filter(None, [node.module])]
                            ) if node.level else node.module or ""
            for each in node.names:
                yield f"{base}.{each.name}" if f"{base}.{each.name}" in trees() else base


def test_lines():
    """The core, the desk and the other extras have a limited number of lines of Python."""
    lines = {"core": 0, "desk": 0, "extras": 0}
    for name, (path, _) in trees().items():
        group = "core" if not is_extra(name) else (
            "desk" if name.startswith("privsieve.extras.desk") else "extras")
        lines[group] += len(path.read_text(encoding="utf-8").splitlines())

    assert lines["core"] <= MOST_LINES
    assert lines["desk"] <= MOST_LINES_OF_DESK
    assert lines["extras"] <= MOST_LINES_OF_EXTRAS


def test_a_name_has_one_meaning():
    """No two classes of the package have one name."""
    places = defaultdict(list)
    for name, (_, tree) in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(name)

    assert {} == {name: where for name, where in places.items() if len(where) > 1}


def test_functions_take_few_arguments():
    """Few functions take more than six arguments."""
    wide = []
    for name, (_, tree) in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                if len([argument for argument in arguments
                        if argument.arg not in ("self", "cls")]) > 6:
                    wide.append(f"{name}.{node.name}")

    assert len(wide) <= MOST_WIDE, wide


def test_few_files_know_a_kind_by_name():
    """What a kind is and how it is told is in few files."""
    named = [name for name, text in core().items() if KIND.search(text)]

    assert len(named) <= MOST_FILES_OF_KINDS, named


def test_one_list_names_the_methods():
    """Who adds a method writes its name into one list."""
    lists = []
    for name, (_, tree) in trees().items():
        for node in tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign):
                words = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
                if set(METHODS) <= words:
                    lists.append(f"{name}:{node.lineno}")

    assert len(lists) <= MOST_LISTS_OF_METHODS, lists


def test_few_options_are_shown(capsys):
    """`select --help` shows what most people need; `--help-all` lists the rest."""
    assert 0 == run(["select", "--help"])
    options = re.findall(r"^ +(?:-\w, )?--[\w-]+", capsys.readouterr().out, re.MULTILINE)

    assert 20 < len(options) <= MOST_OPTIONS


def test_the_middle_has_no_circles():
    """Domain, plan, ledger and release import nothing that imports them."""
    arrows = {name: set(imported(name, path, tree)) & set(trees()) - {name}
              for name, (path, tree) in trees().items()}

    def reached(start):
        seen, left = set(), [start]
        while left:
            for other in arrows[left.pop()] - seen:
                seen.add(other)
                left.append(other)
        return seen

    assert [] == [name for name in trees() if name.removeprefix("privsieve.").startswith(
        WITHOUT_CIRCLES) and name in reached(name)]


def test_names_and_words_are_plain():
    """Few names say nothing about their value, and few words of texts are not plain English."""
    paths = [path for files in groups().values() for path in files]

    assert MOST_BAD_NAMES >= sum(len(bad_names(path)) for path in paths if path.suffix == ".py")
    assert MOST_BAD_WORDS >= sum(len(list(bad_words(path))) for path in paths)
