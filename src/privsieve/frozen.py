"""Frozen: `dataclass(frozen=True)` of which all classes share their methods.

The standard library writes and compiles six methods for each class.  A selection loads fifty
classes, of which most make one object or none: that took a sixth of its time.  Here a class gets
an `__init__` of its own, and not before it is asked for; to compare, to hash, to print and to
refuse a change is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass  # to whom reads types it is that one
else:
    import dataclasses

    def dataclass(*, frozen: bool, eq: bool = True, repr: bool = True,  # noqa: A002  # its names
                  kw_only: bool = False) -> Callable[[type], type]:
        """Make a frozen dataclass, as `dataclasses.dataclass` does."""
        assert frozen
        methods = {"__eq__": _equal, "__hash__": _hash} if eq else {}
        if repr:
            methods["__repr__"] = _repr

        def made(kind: type) -> type:
            own = {name: method for name, method in methods.items() if name not in vars(kind)}
            if "__init__" not in vars(kind):
                own["__init__"] = _Init()
            kind = dataclasses.dataclass(init=False, eq=False, repr=False, kw_only=kw_only)(kind)
            names = frozenset(field.name for field in dataclasses.fields(kind))

            def set_once(self: Any, name: str, value: Any) -> None:
                # A class's own `__init__` sets each field, so that none is left to be set after it.
                if name not in names or name in vars(self):
                    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
                object.__setattr__(self, name, value)

            for name, method in {**own, "__setattr__": set_once, "__delattr__": _keep}.items():
                setattr(kind, name, method)
            return kind

        return made

    class _Init:
        """What stands for the `__init__` of a class until it is asked for: then it is compiled."""

        def __get__(self, one: Any, kind: type) -> Callable[..., None]:
            home = next(each for each in kind.__mro__ if vars(each).get("__init__") is self)
            home.__init__ = made = _init(home)
            return made if one is None else made.__get__(one)

    def _init(kind: type) -> Callable[..., None]:
        """An `__init__` as the standard library writes it, which sets all fields at once."""
        known: dict[str, Any] = {"_made": object()}
        first, named, body = ["self"], ["*"], ["_own = self.__dict__"]
        kept = {field.name for field in dataclasses.fields(kind)}
        handed = []  # to `__post_init__` alone
        for at, (name, field) in enumerate(kind.__dataclass_fields__.items()):
            if name not in kept and "InitVar" not in str(field.type):
                continue  # of the class
            given = name
            said = name
            if field.default_factory is not dataclasses.MISSING:
                known[f"_{at}"] = field.default_factory
                said, given = f"{name}=_made", f"_{at}() if {name} is _made else {name}"
            elif field.default is not dataclasses.MISSING:
                known[f"_{at}"] = field.default
                said = f"{name}=_{at}"
            (named if field.kw_only else first).append(said)
            if name in kept:
                body.append(f"_own[{name!r}] = {given}")
            else:
                handed.append(name)
        if hasattr(kind, "__post_init__"):
            body.append(f"self.__post_init__({', '.join(handed)})")
        arguments = ", ".join(first + named * (len(named) > 1))
        exec(f"def __init__({arguments}):\n " + "\n ".join(body), known)  # noqa: S102  # our own names
        made: Callable[..., None] = known["__init__"]
        made.__annotations__ = {
            **{name: field.type for name, field in kind.__dataclass_fields__.items()},
            "return": None}
        made.__module__, made.__qualname__ = kind.__module__, f"{kind.__qualname__}.__init__"
        return made

    def _values(self: Any) -> tuple[Any, ...]:
        return tuple(getattr(self, field.name) for field in dataclasses.fields(self)
                     if field.compare)

    def _equal(self: Any, other: object) -> Any:
        return _values(self) == _values(other) if other.__class__ is self.__class__ else (
            NotImplemented)

    def _hash(self: Any) -> int:
        return hash(_values(self))

    def _repr(self: Any) -> str:
        said = [f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self)
                if field.repr]
        return f"{self.__class__.__qualname__}({', '.join(said)})"

    def _keep(_self: Any, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
