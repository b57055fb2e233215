"""An option of a method is declared once: a field with its default, its reader and its help.

The constructor of the estimator, the plan, the settings of a release, the command line and the
table of the documentation are made from the fields of one frozen dataclass, `Options`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from fractions import Fraction
from functools import wraps
from inspect import cleandoc
from typing import Any, TypeVar, dataclass_transform

from privsieve.errors import ParameterError
from privsieve.public.canonical import Json, quoted
from privsieve.public.domain import Domain
from privsieve.public.plan import Plan

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class About:
    """What is known of an option beside its name and its default.

    says : what it is for, in a phrase that help, docstring and documentation share.
    read : its value from the words of a command line.
    choices : the words that it may be, where they are few.
    metavar : what stands for its value in help; None where the command line has another way.
    needed : whether a plan without it is refused.
    setting : its name in a release, where that differs; None where a release does not say it.
    was : its name in version 0.1.0, where that differs.
    """

    says: str
    read: Callable[[str], object] = str
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    needed: bool = False
    setting: str | None = ""
    was: str = ""
    several: bool = False


def option(*, default: Any, kw_only: bool = True, **about: Any) -> Any:
    """Declare an option; the words are those of `About`.  Type checkers read the first two."""
    return field(default=default, kw_only=kw_only, metadata={"about": About(**about)})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option, field))
def declared(kind: type[Kind]) -> type[Kind]:
    """Make a class of options of a class body: frozen, compared and printed as an object."""
    return dataclass(frozen=True, eq=False, repr=False, kw_only=True)(kind)


def whole_number(text: str) -> bool:
    """Whether a text is a whole number that somebody would write.

    >>> whole_number("12"), whole_number("-1"), whole_number("9" * 20)
    (True, False, False)
    """
    return text.isdecimal() and text.isascii() and len(text) <= 18


def integer(value: object, name: str, low: int, high: int) -> int:
    """Read a whole number within limits, also one of NumPy.

    >>> integer(6, "block", 3, 64)
    6
    """
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, bool) or not isinstance(plain, int) or not low <= plain <= high:
        raise ParameterError(f"{name} is {quoted(value)}; write a whole number from {low} to "
                             f"{high}")
    return plain


def yes_or_no(text: object) -> bool:
    """Read a flag, or its text.

    >>> yes_or_no(True), yes_or_no("yes"), yes_or_no("no")
    (True, True, False)
    """
    said = {"True": True, "yes": True, "False": False, "no": False}
    if str(text) not in said:
        raise ValueError
    return said[str(text)]


@declared
class Options:
    """What every private method is asked for."""

    epsilon: Any = option(default=None, says="what this release costs", needed=True, setting=None)
    allow_weak: bool = option(default=False, says="accept an epsilon above 10", setting=None)

    def planned(self, domain: Domain, rows: int | None) -> Plan:
        """All that is decided before a row is read."""
        raise NotImplementedError


@declared
class Choosing(Options):
    """What a method is asked for that chooses columns."""

    n_features_to_select: Any = option(
        default=5, kw_only=False, needed=True, setting="k",
        says="how many columns, or which fraction of them")
    delta: Any = option(default=0, metavar="D", setting=None,
                           says="what it may cost beyond epsilon, such as 1e-9: less noise where "
                                "many columns are chosen")
    ordered: bool = option(default=False, read=yes_or_no,
                           says="release the order of the columns, too")

    @property
    def k(self) -> int:
        """How many columns, where that is settled."""
        return int(self.n_features_to_select)


def abouts(kind: type) -> dict[str, About]:
    """The options of a class, by name and in order.

    >>> list(abouts(Choosing))
    ['epsilon', 'allow_weak', 'n_features_to_select', 'delta', 'ordered']
    """
    return {one.name: one.metadata["about"] for one in fields(kind) if "about" in one.metadata}


def current_abouts(kind: type) -> dict[str, About]:
    """The options of a class by every name that is taken, old ones too."""
    now = abouts(kind)
    return {**{about.was: about for about in now.values() if about.was}, **now}


def settled(kind: type[Kind], asked: Options, **facts: Any) -> Kind:
    """A class of options with the values of another, and what is known beside them."""
    return kind(**{one.name: getattr(asked, one.name) for one in fields(asked)} | facts)


def settings(asked: Options, **facts: Json) -> dict[str, Json]:
    """What a release says of the options, under their names of stored formats."""
    said = {about.setting or name: _plain(getattr(asked, name))
            for name, about in abouts(type(asked)).items() if about.setting is not None}
    return {**said, **facts}


def _plain(value: Any) -> Json:
    if isinstance(value, tuple):
        return [str(part) for part in value]
    return str(value) if isinstance(value, Fraction) else value


def current(kind: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options by their names of today: an old name is taken with a sentence.

    >>> current(Choosing, {"k": 3, "epsilon": 1})
    {'n_features_to_select': 3, 'epsilon': 1}
    """
    now = {"k": "n_features_to_select"} if "n_features_to_select" in abouts(kind) else {}
    old = {about.was: name for name, about in abouts(kind).items() if about.was}
    for name in old.keys() & given.keys():
        warnings.warn(f"{name} is called {old[name]} now, and its old name will go",
                      FutureWarning, stacklevel=3)
    return {(now | old).get(name, name): value for name, value in given.items()}


def asked(method: str, kind: type[Kind], given: Mapping[str, Any]) -> Kind:
    """Options as somebody gave them; refuses one that the method does not know, or lacks."""
    values, known = current(kind, given), abouts(kind)
    shown = {"n_features_to_select": "k"}
    for name in values:
        if name not in known:
            takes = [shown.get(name, name) for name in known]
            raise ParameterError(f"{name} is no option of {method}; it takes: "
                                 f"{', '.join(sorted(takes))}, rows")
    for name, about in known.items():
        if about.needed and name not in values:
            lacks = shown.get(name, name)
            raise ParameterError(f"{lacks} is missing, and {method} needs it: give {lacks}=")
    return kind(**values)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option,))
def estimator(kind: type[Kind]) -> type[Kind]:
    """Make scikit-learn's constructor of the options that a class has or inherits.

    It takes an option by its old name, too.  What scikit-learn sets is not frozen.
    """
    made: Any = declared(kind)
    made.__setattr__, made.__delattr__ = object.__setattr__, object.__delattr__
    if any(about.was for about in abouts(made).values()):
        init = made.__init__

        @wraps(init)
        def __init__(self: Any, *args: Any, **given: Any) -> None:  # noqa: N807  # it is the constructor
            init(self, *args, **current(made, given))

        made.__init__ = __init__
    said, head, examples = cleandoc(made.__doc__ or "").partition("Examples\n")
    made.__doc__ = f"{said.rstrip()}\n\n{documented(made)}\n\n{head}{examples}"
    return made  # type: ignore[no-any-return]


def documented(kind: type) -> str:
    """The options of a class as a section of a docstring."""
    lines = ["Parameters", "----------"]
    for one in fields(kind):
        about: About = one.metadata["about"]
        default = "" if one.default in (None, MISSING) else f", {one.default!r} where left out"
        words = " | ".join(about.choices) or ("value" if one.type == "Any" else one.type)
        was = f" (`{about.was}` in version 0.1.0)" if about.was else ""
        lines += [f"{one.name} : {words}{default}", f"    {about.says}{was}."]
    return "\n".join(lines)
