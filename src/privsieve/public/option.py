"""An option of a method is declared once: a field with its default, its reader and its help.

The constructor of the estimator, the plan, the settings of a release, the command line and the
table of the documentation are made from the fields of one frozen dataclass, `Options`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, field, fields
from fractions import Fraction
from functools import wraps
from inspect import cleandoc
from typing import Any, Self, TypeVar, dataclass_transform

from privsieve.errors import ParameterError
from privsieve.frozen import dataclass
from privsieve.public.canonical import Json, quoted
from privsieve.public.domain import Domain
from privsieve.public.dropped import explain
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
    unsaid : whether a release leaves it out where it has its default.
    """

    says: str
    read: Callable[[str], object] = str
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    needed: bool = False
    setting: str | None = ""
    was: str = ""
    several: bool = False
    unsaid: bool = False


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


def written_group(text: str) -> tuple[str, list[str]]:
    """A group of a command line.

    >>> written_group("address=street,zip")
    ('address', ['street', 'zip'])
    """
    name, _, columns = text.partition("=")
    if not name.strip() or not columns.strip():
        raise ParameterError(f"--group is {quoted(text)}; write a name, = and its columns, such as "
                             "address=street,zip")
    return name.strip(), [one.strip() for one in columns.split(",")]


def written_cost(text: str) -> tuple[str, str]:
    """What something costs, of a command line.

    >>> written_cost("mri=5")
    ('mri', '5')
    """
    name, _, cost = text.rpartition("=")
    if not name.strip() or not cost.strip():
        raise ParameterError(f"--cost is {quoted(text)}; write a column or a group, = and what it "
                             "costs, such as mri=5")
    return name.strip(), cost.strip()


def read_several(about: About, flag: str, texts: Sequence[str]) -> object:
    """What a command line says several times: a list, or a mapping of what has names.

    >>> read_several(abouts(Choosing)["costs"], "--cost", ["mri=5", "ward=2"])
    {'mri': '5', 'ward': '2'}
    """
    values: list[Any] = [about.read(text) for text in texts]
    if not all(isinstance(value, tuple) for value in values):
        return values
    names = [name for name, _ in values]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"{flag} says {quoted(name)} twice; say it once")
    return dict(values)


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
    sure: Any = option(
        default=None, metavar="S", unsaid=True,
        says="count how many of the chosen columns are surely related to the target, for this "
             "share of epsilon, such as 0.1; needs independent rows")
    independent_rows: bool = option(
        default=False, read=yes_or_no, unsaid=True,
        says="confirm that rows were drawn independently, without which a sure count is not true")
    describe: Any = option(
        default=None, metavar="S", unsaid=True,
        says="describe the chosen columns by class, for this share of epsilon, such as 0.2")
    always: Any = option(
        default=None, several=True, unsaid=True, metavar="NAME",
        says="columns, or groups, that are in whatever the rows say; they count among k")
    never: Any = option(
        default=None, several=True, unsaid=True, metavar="NAME",
        says="columns that are not looked at")
    groups: Any = option(
        default=None, several=True, unsaid=True, read=written_group, metavar="NAME=A,B,…",
        says="columns that are chosen and released as one, under a name; a group takes one place")
    costs: Any = option(
        default=None, several=True, unsaid=True, read=written_cost, metavar="NAME=P",
        says="what a column, or a group, costs to collect: public; the others cost 1")
    price: Any = option(
        default=None, unsaid=True, metavar="P",
        says="stay within this sum of costs; k is then the most that may be chosen")
    targets: Any = option(
        default=None, several=True, unsaid=True, metavar="NAME",
        says="columns that are targets, too, and are not chosen: one release for all targets")
    over: str = option(
        default="maximum", choices=("maximum", "mean"), unsaid=True,
        says="what a column is worth for several targets: the most for any, or the mean")
    fewer: Any = option(default=None, choices=("auto",), setting="at_most", unsaid=True,
                        says="auto names fewer columns where so many cannot be found: at most k")

    @property
    def k(self) -> int:
        """How many columns, where that is settled."""
        return _settled(self.n_features_to_select)

    @property
    def sought(self) -> int:
        """How many columns were asked for, where it is settled how many are named."""
        return self.k if self.fewer is None else _settled(self.fewer)

    @property
    def one_race(self) -> bool:
        """Whether one race may name all columns."""
        return True

    @property
    def alone(self) -> Self:
        """The same where one race names all columns."""
        return self


def _settled(count: Any) -> int:
    """A number of columns; before it is settled there is no such attribute.

    So `dir` and `hasattr` of scikit-learn, which look at every property, take it.
    """
    if isinstance(count, str):
        raise AttributeError(  # noqa: TRY004  # so that there is none yet
            f"{count!r} is no number of columns: it is settled when this is "
            "planned")
    return int(count)


def abouts(kind: type) -> dict[str, About]:
    """The options of a class, by name and in order.

    >>> list(abouts(Choosing))
    ['epsilon', 'allow_weak', 'n_features_to_select', 'delta', 'ordered', 'sure', \
'independent_rows', 'describe', 'always', 'never', 'groups', 'costs', 'price', 'targets', 'over', \
'fewer']
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
    default = {one.name: one.default for one in fields(asked)}
    said = {about.setting or name: _plain(getattr(asked, name))
            for name, about in abouts(type(asked)).items() if about.setting is not None
            and not (about.unsaid and getattr(asked, name) == default[name])}
    return {**said, **facts}


def asks_more(given: Options) -> bool:
    """Whether an option is given that a release does not speak of where it is not.

    >>> asks_more(Choosing(epsilon=1)), asks_more(Choosing(epsilon=1, sure="0.1"))
    (False, True)
    """
    return any(one.metadata["about"].unsaid and getattr(given, one.name) != one.default
               for one in fields(given) if "about" in one.metadata)


def _plain(value: Any) -> Json:
    if isinstance(value, tuple):
        return [str(part) for part in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    return str(value) if isinstance(value, Fraction) else value


def current(kind: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options by their names of today: an old name is taken with a sentence.

    >>> current(Choosing, {"k": 3, "epsilon": 1})
    {'n_features_to_select': 3, 'epsilon': 1}
    """
    now = {"k": "n_features_to_select"} if "n_features_to_select" in abouts(kind) else {}
    if now and {"k", "n_features_to_select"} <= given.keys():
        raise ParameterError("k and n_features_to_select are two names of one option; give one")
    old = {about.was: name for name, about in abouts(kind).items() if about.was}
    for name in old.keys() & given.keys():
        warnings.warn(f"{name} is called {old[name]} now, and its old name will go",
                      FutureWarning, stacklevel=3)
    return {(now | old).get(name, name): value for name, value in given.items()}


def asked(method: str, kind: type[Kind], given: Mapping[str, Any]) -> Kind:
    """Options as somebody gave them; refuses one that the method does not know, or lacks."""
    values, known = current(kind, given), abouts(kind)
    if values.get("price") is not None:
        # as many as the price allows
        values.setdefault("n_features_to_select", None)
    shown = {"n_features_to_select": "k"}
    for name in values:
        if name not in known:
            takes = [shown.get(name, name) for name in known]
            raise ParameterError(explain(name, f"{name} is no option of {method}; it takes: "
                                               f"{', '.join(sorted(takes))}, rows"))
    for name, about in known.items():
        if about.needed and name not in values:
            lacks = shown.get(name, name)
            raise ParameterError(f"{lacks} is missing, and {method} needs it: give {lacks}=")
    return kind(**values)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option,))
def estimator(kind: type[Kind]) -> type[Kind]:
    """Make scikit-learn's constructor of the options that a class has or inherits.

    It takes an option by its old name, too, and `k` for the number of columns.  What scikit-learn
    sets is not frozen.
    """
    made: Any = declared(kind)
    made.__setattr__, made.__delattr__ = object.__setattr__, object.__delattr__
    if any(about.was or name == "n_features_to_select" for name, about in abouts(made).items()):
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
