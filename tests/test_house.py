"""Law: the measures of the house.  What the next reader has to hold in mind is counted."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import privsieve
from privsieve.cli import VERBS

SRC = Path(privsieve.__file__).parent
#: Lines of Python in the package.  The number only falls: what is added makes room first.
MOST_LINES = 56_188
#: Functions with more than six arguments.
MOST_WIDE = 8
#: Lines of a module at most: what would be longer with its importer stays apart.
MOST_OF_MODULE = 500
#: Lists that name modules: who adds a method, a score or a form of tables adds a file.
REGISTRIES = ("METHODS", "SCORES", "KINDS", "STORES", "_FORMS", "OPENERS")
#: Rooms with a file for each paper, or for each form of another tool: whoever adds one adds a file.
ROOMS_OF_KINDS = ("papers", "bridges")


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


@cache
def importers():
    """Who imports each module."""
    found = defaultdict(set)
    for name, (path, tree) in trees().items():
        for other in set(imported(name, path, tree)) & set(trees()) - {name}:
            found[other].add(name)
    return found


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


def test_a_module_has_more_than_one_importer():
    """A module with one importer is a part of it, unless that is a face, and too long with it.

    Between two rooms is a wall; there such a module is one with whatever else of its room the same
    importer alone imports, if both fit.  Faces are not, nor kinds: what a list of its room names,
    what lies in a room of kinds, and what says so itself (`marked`).
    """
    once = {name: by for name, by in only().items() if not is_face(name) and not is_kind(name)}
    alone = [f"{name} <- {by or 'nobody'}" for name, by in once.items() if not by
             or not (is_face(by) or room(by) == "cli") or any(
        room(other) == room(name) and length(name) + length(other) <= MOST_OF_MODULE
        for other in [by, *(each for each, its in once.items()
                            if its == by and room(by) != room(name) and each != name)])]

    assert [] == alone


def only():
    """The modules with one importer, or none, and who that is."""
    return {name: next(iter(importers()[name]), None) for name, (path, _) in trees().items()
            if len(importers()[name]) < 2 and path.name != "__init__.py"}


def is_face(name):
    """Whether it is where a public name lives, or a verb."""
    from privsieve import _HOMES

    return name in {f"privsieve.{home}" for home in _HOMES.values()} | {
        f"privsieve.cli.{verb}" for verb in VERBS} | {"privsieve.__main__", "privsieve._version"}


def test_the_lists_of_modules_are_there():
    """Each list by which a module is excused is found, and each room of kinds has files."""
    found = {getattr(target, "id", "") for _, tree in trees().values() for node in tree.body
             if isinstance(node, ast.Assign | ast.AnnAssign)
             for target in getattr(node, "targets", None) or [node.target]}

    assert set() == set(REGISTRIES) - found
    assert set() == set(ROOMS_OF_KINDS) - {room(name) for name in trees()}


def room(name):
    """The folder of the package in which a module lies."""
    return [*name.split("."), ""][1]


def length(name):
    """Lines of a module."""
    return len(trees()[name][0].read_text(encoding="utf-8").splitlines())


def is_kind(name):
    """Whether it is one of several: by its room, a list of its room, or a page of the documents."""
    leaf, docs = name.rsplit(".", 1)[1], Path(__file__).parents[1] / "docs"
    documented = not importers()[name] and any(name in page.read_text(encoding="utf-8")
                                               for page in docs.glob("*.md"))
    if room(name) in ROOMS_OF_KINDS or documented or marked(name):
        return True
    lists = [node for other, (_, tree) in trees().items() if room(other) == room(name)
             for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)
             and getattr(getattr(node, "target", None) or node.targets[0], "id", "") in REGISTRIES]
    entries = [entry for each in lists for entry in (
        each.value.values if isinstance(each.value, ast.Dict) else [each.value])]
    return leaf in {word for entry in entries for node in ast.walk(entry) for word in said(node)}


def marked(name):
    """Whether it says so itself.

    A theorem has its proof beside it, a kernel has its twin marked, a method the name in releases,
    a summary how it adds up, and a search under containment is called as its module.
    """
    path, tree = trees()[name]
    marks = {word.id for node in tree.body for word in getattr(node, "decorator_list", ())
             for word in ast.walk(word) if isinstance(word, ast.Name)}
    names = {each.id for node in tree.body if isinstance(node, ast.Assign)
             for each in node.targets if isinstance(each, ast.Name)}
    adds = any("__add__" in {getattr(each, "name", "") for each in node.body} or "Summary" in {
        getattr(base, "id", "") for base in node.bases}
        for node in tree.body if isinstance(node, ast.ClassDef))
    searches = any(isinstance(node, ast.FunctionDef) and node.name == path.stem
                   and getattr(node.returns, "id", "") == "Choice" for node in tree.body)
    return path.with_suffix(".proof.md").exists() or {
        "kernels": bool(marks & {"kernel", "native"}), "methods": "METHOD" in names,
        "summaries": adds, "containment": searches}.get(room(name), False)


def said(node):
    """The module that an entry of a list names: "folder.module", "module.function", or neither."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from node.value.split(".")
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        yield node.value.id


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
