"""Law: what `privsieve.frozen` makes is what the standard library makes, word for word."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import KW_ONLY, FrozenInstanceError, InitVar, field
from functools import cached_property
from typing import Any, ClassVar

import pytest

from privsieve.frozen import dataclass as ours

WAYS = [{}, {"eq": False}, {"repr": False}, {"eq": False, "repr": False}, {"kw_only": True}]


def made(dataclass, **how):
    """A class with a child, made by one of the two."""
    @dataclass(frozen=True, **how)
    class Point:
        """A point."""

        kind: ClassVar = "point"
        x: int
        y: Any = field(default=2, repr=False)
        tags: list = field(default_factory=list, compare=False)

        @cached_property
        def twice(self):
            return 2 * self.x

    @dataclass(frozen=True, **how)
    class Named(Point):
        """A point with a name."""

        name: str = "p"
        _: KW_ONLY
        on: bool = True

        def __post_init__(self):
            object.__setattr__(self, "name", self.name.upper())

    return Point, Named


@pytest.mark.parametrize("how", WAYS, ids=str)
def test_classes_do_what_those_of_the_library_do(how):
    """Equality, hash, text, fields, order of arguments, copies and changes are the same."""
    def told(dataclass):
        Point, Named = made(dataclass, **how)
        one, two, other = Point(x=1), Point(x=1, tags=[3]), Named(x=1, name="q", on=False)
        found = [one == two, one == other, one == 1, one != Point(x=2), Point.__match_args__,
                 Named.__match_args__, other.name, one.twice, dataclasses.asdict(other),
                 [f.name for f in dataclasses.fields(Named)], copy.deepcopy(other).name,
                 dataclasses.replace(other, y=5).y, dataclasses.replace(other, x=9).twice]
        if how.get("eq", True):
            found += [hash(one) == hash(two), hash(one) == hash(other), hash(one)]
        if how.get("repr", True):
            found += [repr(one), repr(other)]
        return found

    assert told(dataclasses.dataclass) == told(ours)


@pytest.mark.parametrize("dataclass", [ours, dataclasses.dataclass])
def test_nothing_is_changed_after_it_was_made(dataclass):
    """No field, no name of the class and no new name is set or deleted, of a child neither."""
    for kind in made(dataclass):
        one = kind(x=1)
        assert (one.twice, vars(one)["twice"]) == (2, 2)
        for name in ("x", "y", "kind", "new", "twice"):
            with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
                setattr(one, name, 3)
            with pytest.raises(FrozenInstanceError, match=f"cannot delete field '{name}'"):
                delattr(one, name)

        assert (1, 2, "point") == (one.x, one.y, one.kind)


@pytest.mark.parametrize("dataclass", [ours, dataclasses.dataclass])
def test_what_is_for_the_beginning_alone_is_handed_over(dataclass):
    """An `InitVar` is an argument in its place, goes to `__post_init__` and is not kept."""
    @dataclass(frozen=True)
    class Sum:
        """A sum of two."""

        one: InitVar[int]
        total: int = 0
        other: InitVar[int] = 3

        def __post_init__(self, one, other):
            object.__setattr__(self, "total", self.total + one + other)

    assert (4, 9, ["total"]) == (Sum(1).total, Sum(1, 5, other=3).total, [*vars(Sum(1))])
    assert "(one: 'InitVar[int]', total: 'int' = 0, other: 'InitVar[int]' = 3) -> None" == str(
        inspect.signature(Sum))


def test_each_class_has_an_init_of_its_own():
    """A child that is made first takes nothing from its parent, nor the parent from it."""
    Point, Named = made(ours)

    assert ("Q", 1) == (Named(x=1, name="q").name, Point(1).x)
    assert "name" not in vars(Point(1))


def test_a_wrong_argument_is_refused_as_ever():
    """`__init__` says what that of the library says."""
    Point, _ = made(ours)

    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()
    with pytest.raises(TypeError, match="unexpected keyword"):
        Point(1, colour=2)


@ours(frozen=True)
class Told:
    """One that says itself what it is."""

    x: int

    def __repr__(self):
        return "told"

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 7


def test_methods_of_the_class_stay():
    """What a class defines itself is not replaced; what is pickled comes back frozen."""
    back = pickle.loads(pickle.dumps(Told(3)))

    assert ("told", True, 7, 3) == (repr(Told(1)), Told(1) == "x", hash(Told(1)), back.x)
    with pytest.raises(FrozenInstanceError):
        back.x = 4
