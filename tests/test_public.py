"""Law: the public surface.  Its names exist, take no seed, and name what they spend."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from pathlib import Path

import pytest

import privsieve as ps

SRC = Path(ps.__file__).parent
DECISIONS = Path(__file__).parents[1] / "docs" / "decisions"
SEEDS = {"seed", "random_state", "rng", "generator", "prng", "noise"}
PRIVACY = {"epsilon", "delta", "domain", "ledger", "class_prior", "allow_weak"}
BODY, ARGUMENTS = 40, 6


def callables():
    """Every public function, class and public method, with the parameters a caller gives."""
    for name in ps.__all__:
        value = getattr(ps, name)
        if not callable(value):
            continue
        yield name, parameters(value)
        if inspect.isclass(value):
            for method, inner in inspect.getmembers(value, callable):
                if not method.startswith("_") and not inspect.isclass(inner) and (
                        inner.__module__.startswith("privsieve")):
                    yield f"{name}.{method}", parameters(inner)


def parameters(function):
    """Parameters without `self`."""
    return [p for p in inspect.signature(function).parameters.values() if p.name != "self"]


def test_all_is_what_can_be_imported():
    """Every name of `__all__` can be imported, and `dir` lists no other public name."""
    assert {name for name in ps.__all__ if hasattr(ps, name)} == set(ps.__all__)
    assert sorted(ps.__all__) == dir(ps)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ps.nothing


def test_no_seed():
    """No public callable takes a seed, a generator or a source of noise.

    `FWELLEnsemble` is not private: its `random_state` draws samples, and there is no noise in it.
    """
    assert ["FWELLEnsemble"] == [name for name, callable_ in callables()
                                 if SEEDS & {p.name for p in callable_}]


def test_privacy_parameters_are_keyword_only():
    """Wherever there is more than one parameter, what is spent or protected is named by the caller.

    (A positional epsilon in the wrong slot would be a silent, different promise.)
    """
    wrong = [f"{name}({p.name})" for name, callable_ in callables() for p in callable_
             if p.name in PRIVACY and len(callable_) > 1 and p.kind is not p.KEYWORD_ONLY
             # The domain is what a plan is about: its subject comes first.
             and not (name.rpartition(".")[2] in ("plan", "planned") and p.name == "domain")
             and not (name == "inspect" and p.name == "domain")
             # A grant is of an epsilon: the one amount without a name; its delta has one.
             and not (name == "Ledger.grant" and p.name == "epsilon")]

    assert [] == wrong


def excused():
    """What the page about sizes names."""
    return (DECISIONS / "008-sizes.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sorted(SRC.rglob("*.py")), ids=lambda p: p.stem)
def test_sizes(path):
    """A function has 40 lines and six arguments, unless a decision page names it."""
    name = path.relative_to(SRC).as_posix()
    large = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.FunctionDef):
            continue
        body = node.body[1:] if ast.get_docstring(node) else node.body
        lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
        takes = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        takes = [a for a in takes if a.arg not in ("self", "cls")]
        if lines > BODY or len(takes) > ARGUMENTS:
            large.append(f"{name}:{node.name}")

    assert [] == [thing for thing in large if f"`{thing}`" not in excused()]


def test_every_name_has_an_example_that_runs():
    """The docstring of each public name has an example, and it uses that name."""
    finder = doctest.DocTestFinder(recurse=False)
    without = []
    for name in ps.__all__:
        value = getattr(ps, name)
        examples = "" if isinstance(value, str) else "".join(
            example.source for test in finder.find(value, name) for example in test.examples)
        if not isinstance(value, str) and not re.search(rf"\b{name}\(|\b{name}\.\w+\(", examples):
            without.append(name)

    assert [] == without


@pytest.mark.parametrize("name", ["PrivateTuning", "near_duplicates"])
def test_a_name_that_was_dropped_is_explained(name):
    """Who asks for a public name that was dropped reads what to do instead."""
    with pytest.raises(AttributeError, match=" removed: "):
        getattr(ps, name)
