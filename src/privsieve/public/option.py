"""An option of a method is declared once: a field with its default, its reader and its help.

The constructor of the estimator, the plan, the settings of a release, the command line and the
table of the documentation are made from the fields of one frozen dataclass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from decimal import Decimal
from fractions import Fraction
from functools import wraps
from inspect import cleandoc
from typing import Annotated, Any, TypeVar, dataclass_transform

from privsieve.errors import ParameterError
from privsieve.public.canonical import Json, exact, exactly, quoted
from privsieve.public.dropped import DROPPED, explain

Kind = TypeVar("Kind")
#: Marks an option that few need: `--help-all` lists it, and `--help` does not.
RARE = object()
#: Texts, by what stands for them in help.
File = Annotated[str, "FILE"]
Dir = Annotated[str, "DIR"]
Name = Annotated[str, "NAME"]
Column = Annotated[str, "COLUMN"]
Names = Annotated[str, "A,B,…"]
#: Options that say what a choice is among.
WISHES = ("always", "never", "groups")


def whole_number(text: str) -> bool:
    """Whether a text is a whole number that somebody would write.

    >>> whole_number("12"), whole_number("-1"), whole_number("9" * 20)
    (True, False, False)
    """
    return text.isdecimal() and text.isascii() and len(text) <= 18


def plain(value: Any) -> Any:
    """Return values of NumPy and pandas as Python's; a short float as it is printed.

    >>> import numpy as np
    >>> plain(np.True_), plain(np.float32(0.1)), plain({"age": np.int64(4)})
    (True, 0.1, {'age': 4})
    """
    if hasattr(value, "tolist"):
        own = value.tolist()
        value = float(str(value)) if type(own) is float else (
            [*value] if type(own) is list else own)
    if isinstance(value, Mapping):
        return {plain(name): plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list | tuple | set) else value


def as_given(value: Any) -> Any:
    """Return the value: its method says what it may be."""
    return value


def text(value: Any) -> str:
    """Read a text."""
    if not isinstance(value, str):
        raise ValueError("a text")  # noqa: TRY004  # whoever catches it adds the option's name
    return value


def whole(value: Any) -> int:
    """Read a whole number, or its text.

    >>> whole(3), whole("-3")
    (3, -3)
    """
    if isinstance(value, str) and whole_number(value.removeprefix("-")):
        return int(value)
    if type(value) is not int or abs(value) >= 10**18:
        raise ValueError("a whole number of at most 18 digits")
    return value


def word_or_names(value: Any) -> Any:
    """Read one word, or names."""
    if value is None:
        raise ValueError("'by kind', 'all', 'none', or names of columns")
    return value if isinstance(value, str) else written_names(value)


def whole_of_each(value: Any) -> Any:
    """Read a whole number for all columns, or one for each that is named.

    >>> whole_of_each("4"), whole_of_each(["age=5", "dose=3"])
    (4, {'age': 5, 'dose': 3})
    """
    if isinstance(value, str) and "=" in value:
        value = [value]
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        pairs = [part.rpartition("=") for part in value]
        if len({name for name, _, _ in pairs if name}) < len(value) or not value:
            raise ValueError("a number for every column, or COLUMN=N once for each")
        value = {name: number for name, _, number in pairs}
    if isinstance(value, Mapping):
        return {text(name): whole(each) for name, each in value.items()}
    return whole(value)


def mapping(value: Any) -> Any:
    """Read options by their names."""
    if not isinstance(value, Mapping):
        raise ValueError('a mapping of options, such as {"joint": "none"}')  # noqa: TRY004
    return value


def how_many(value: Any) -> Any:
    """Read a number of columns, a fraction of them, or their text; words are the method's.

    >>> how_many("3"), how_many("0.1"), how_many(0.1), how_many("positive")
    (3, Fraction(1, 10), Fraction(1, 10), 'positive')
    """
    if isinstance(value, str) and whole_number(value):
        return int(value)
    if (isinstance(value, float) and 0 < value < 1) or (
            isinstance(value, str) and value[:1].isdecimal()):
        return exact(number(value), "")
    return value


def count(k: object, d: int, there: str = "the domain has {}") -> int:
    """Read how many columns: a number, or a fraction of them; `there` says how many there are.

    >>> count(5, 30), count(0.1, 30)
    (5, 3)
    """
    if isinstance(k, bool) or not isinstance(k, (int, float, Fraction)):
        raise ParameterError(f"the number of columns to choose is {quoted(k)}; write a whole "
                             "number from 1, or a fraction between 0 and 1")
    if isinstance(k, (float, Fraction)):
        if not 0 < k < 1:
            raise ParameterError(f"the fraction of columns to choose is {k}; it must lie between "
                                 "0 and 1 (for a number of columns write a whole number)")
        k = max(1, int(k * d))
    if k < 1:
        raise ParameterError(f"{quoted(k)} columns are to be chosen; at least 1 is needed")
    if k > d:
        raise ParameterError(f"{quoted(k)} columns are to be chosen, and {there.format(d)}")
    return k


def count_or_positive(k: object, d: int, there: str = "the domain has {}") -> int | str:
    """Read how many columns to name, or "positive".

    >>> count_or_positive(5, 30), count_or_positive("positive", 30)
    (5, 'positive')
    """
    if not isinstance(k, str):
        return count(k, d, there)
    if k != "positive":
        raise ParameterError(f"the number of columns to choose is {k!r}; write a whole number "
                             'from 1, a fraction between 0 and 1, or "positive"')
    return k


def number(value: Any) -> Any:
    """Check a decimal number, or its text; it stays as it is written.

    >>> number(0.1), number("1e-6"), number("1/3")
    (0.1, '1e-6', Fraction(1, 3))
    """
    if isinstance(value, str) and re.fullmatch("[0-9]{1,60}/[1-9][0-9]{0,59}", value):
        return Fraction(value)
    try:
        if isinstance(value, int | float | Decimal | Fraction | str) and exact(value, "") >= 0:
            return value
    except ParameterError:
        pass
    raise ValueError("a positive decimal number such as 0.5")


def seconds(value: Any) -> float:
    """Read a time."""
    return float(number(value))


def number_or_auto(value: Any) -> Any:
    """Check a decimal number, or the word auto."""
    return value if value == "auto" else number(value)


def written_names(value: Any) -> list[str]:
    """Read names, or their text.

    >>> written_names("age,ward"), written_names(("age",))
    (['age', 'ward'], ['age'])
    """
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise ValueError('names of columns, such as ["age", "ward"]')
    return list(parts)


@dataclass(frozen=True)
class About:
    """What is known of an option beside its name and its default.

    says : what it is for, in a phrase that help, docstring and documentation share.
    read : its value from what Python gives or a command line says; a `ValueError` says what to
        write instead.
    choices : the words that it may be, where they are few.
    metavar : what stands for its value in help; None where the command line has another way.
    needed : whether a plan without it is refused.
    setting : its name in a release, where that differs; None where a release does not say it.
    several : what several words of a command line become: a list, or a dict of what has names.
    unsaid : whether a release leaves it out where it has its default.
    flag : its word on the command line; "-" where that is its name, None where it has none.
    rare : whether few need it: `--help` leaves it out, and `--help-all` lists it.
    """

    says: str
    read: Callable[[Any], object] = text
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    needed: bool = False
    setting: str | None = ""
    several: type | None = None
    unsaid: bool = False
    flag: str | None = "-"
    rare: bool = False


def option(*, default: Any, kw_only: bool = True, **about: Any) -> Any:
    """Declare an option; the words are those of `About`.  Type checkers read the first two."""
    return field(default=default, kw_only=kw_only, metadata={"about": About(**about)})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option, field))
def declared(kind: type[Kind]) -> type[Kind]:
    """Make a class of options of a class body: frozen, compared and printed as an object."""
    return dataclass(frozen=True, eq=False, repr=False, kw_only=True)(kind)


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


def written_group(value: Any) -> tuple[str, list[str]]:
    """Read a group: its name and its columns, or their text.

    >>> written_group("address=street,zip"), written_group(("address", ["street", "zip"]))
    (('address', ['street', 'zip']), ('address', ['street', 'zip']))
    """
    if isinstance(value, tuple):
        if not (columns := written_names(value[1])):
            raise ParameterError(f"group {quoted(value[0])} has no columns; name at least one, or "
                                 "leave it away")
        return text(value[0]), columns
    name, _, columns = value.partition("=")
    if not name.strip() or not columns.strip():
        raise ParameterError(f"--group is {quoted(value)}; write a name, = and its columns, such "
                             "as address=street,zip")
    return name.strip(), [one.strip() for one in columns.split(",")]


def read_several(about: About, flag: str, values: Sequence[Any]) -> object:
    """Read what is said several times: a list, or a mapping of what has names.

    >>> from privsieve.methods.choosing import Choosing
    >>> read_several(abouts(Choosing)["groups"], "--group", ["home=street,zip", "who=age"])
    {'home': ['street', 'zip'], 'who': ['age']}
    """
    read: list[Any] = [about.read(value) for value in values]
    names = [name for name, _ in read] if about.several is dict else read
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"{flag} says {quoted(name)} twice; say it once")
    return dict(read) if about.several is dict else read


def read_option(known: Field[Any], value: Any) -> object:
    """Return an option as its field reads it, whether Python gave it or a command line said it.

    None leaves an option out where that is its default.  A text is read as on the command line.
    """
    about: About = known.metadata["about"]
    if value is None and (known.default is None or "None" in str(known.type)):
        return None
    try:
        read = _read(known.name, about, value if about.read is as_given else plain(value))
        if not about.choices or str(read) in about.choices:
            return read
        way_out = ""
    except ParameterError:
        raise
    except ValueError as error:
        way_out = str(error)
    if about.choices:
        *first, last = (f'"{word}"' for word in about.choices)
        way_out = f"{', '.join(first)} or {last}" if first else last
    raise ParameterError(explain(value, f"{known.name} is {quoted(value)}; write {way_out}"))


def _read(name: str, about: About, value: Any) -> object:
    if about.several is None:
        return about.read(value)
    if isinstance(value, Mapping) and about.several is dict:
        value = list(value.items())
    elif isinstance(value, str):
        value = [value]
    elif about.several is dict or not isinstance(value, list):
        raise ValueError('a list of names, such as ["age"]' if about.several is list else
                         "a mapping from names")
    return read_several(about, name, value)


def read_options(kind: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of options, by the names of their fields, as the fields read them."""
    return {one.name: read_option(one, given[one.name])
            for one in fields(kind) if one.name in given}


def abouts(kind: type) -> dict[str, About]:
    """The options of a class, by name and in order.

    >>> from privsieve.methods.choosing import Choosing
    >>> list(abouts(Choosing))
    ['epsilon', 'allow_weak', 'n_features_to_select', 'delta', 'ordered', 'always', \
'never', 'groups', 'fewer']
    """
    return {one.name: one.metadata["about"] for one in fields(kind) if "about" in one.metadata}


def resolve_options(kind: type[Kind], asked: Any, **facts: Any) -> Kind:
    """A class of options with the values of another, and what is known beside them."""
    known = {one.name for one in fields(kind)}  # type: ignore[arg-type]
    return kind(**{one.name: getattr(asked, one.name) for one in fields(asked)
                   if one.name in known} | facts)


def settings(asked: Any, **facts: Json) -> dict[str, Json]:
    """What a release says of the options, under their names of stored formats."""
    default = {one.name: one.default for one in fields(asked)}
    said = {about.setting or name: _plain(getattr(asked, name))
            for name, about in abouts(type(asked)).items() if about.setting is not None
            and not (about.unsaid and getattr(asked, name) == default[name])}
    return {**said, **facts}


def as_json(given: Any, settings: Mapping[str, Json]) -> dict[str, Json]:
    """Return the options that differ from their defaults, as JSON from which they are read again.

    An empty wish says nothing.  Of public rows that were given as a reference the digest stands
    for them, as in the settings.

    >>> from privsieve.methods.choosing import Choosing
    >>> as_json(Choosing(3, epsilon=0.50, always=["age"]), {})
    {'epsilon': '0.5', 'n_features_to_select': 3, 'always': ['age']}
    """
    found = {}
    for one in fields(given):
        if one.name == "reference":
            if given.reference is not None:
                found["reference"] = settings["reference"]
        elif "about" in one.metadata:
            value, usual = (_as_json(each, one.metadata["about"].read)
                            for each in (getattr(given, one.name), one.default))
            if one.name in WISHES:
                value = value or None
            if value != usual or one.metadata["about"].needed:
                found[one.name] = value
    return found


def _as_json(value: Any, read: Callable[[Any], object] = as_given) -> Json:
    if isinstance(value, Mapping):
        return {str(name): _as_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(part) for part in value]
    figure = read in (number, number_or_auto) and value is not None and value != "auto"
    if figure or isinstance(value, float | Decimal | Fraction):
        return exactly(exact(value, "an option"))
    return value  # type: ignore[no-any-return]


def _plain(value: Any) -> Json:
    if isinstance(value, tuple):
        return [str(part) for part in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    return str(value) if isinstance(value, Fraction) else value


def current(kind: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options by their names: `k` is the number of columns; refuse what was dropped.

    >>> from privsieve.methods.choosing import Choosing
    >>> current(Choosing, {"k": 3, "epsilon": 1})
    {'n_features_to_select': 3, 'epsilon': 1}
    """
    known = {one.name for one in fields(kind)}
    for name in given.keys() & DROPPED.keys() - known:
        raise ParameterError(DROPPED[name])
    if "n_features_to_select" not in known or "k" not in given:
        return dict(given)
    if "n_features_to_select" in given:
        raise ParameterError("k and n_features_to_select are two names of one option; give one")
    return {"n_features_to_select" if name == "k" else name: value
            for name, value in given.items()}


def read_request(method: str, kind: type[Kind], given: Mapping[str, Any]) -> Kind:
    """Options as somebody gave them; refuses one that the method does not know, or lacks."""
    values, known = current(kind, given), abouts(kind)
    shown = {"n_features_to_select": "k"}
    words = {"k": " (--top)", "fewer": " (--at-most)"}
    for name in values:
        if name not in known:
            takes = [shown.get(name, name) for name in known]
            raise ParameterError(f"{name}{words.get(name, '')} is no option of {method}; it takes: "
                                 f"{', '.join(sorted(takes))}, rows")
    for name, about in known.items():
        if about.needed and name not in values:
            lacks = shown.get(name, name)
            raise ParameterError(f"{lacks} is missing, and {method} needs it: give {lacks}=")
    return kind(**read_options(kind, values))


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option,))
def estimator(kind: type[Kind]) -> type[Kind]:
    """Make scikit-learn's constructor of the options that a class has or inherits.

    It takes `k` for the number of columns, too.  What scikit-learn sets is not frozen.
    """
    made: Any = declared(kind)
    made.__setattr__, made.__delattr__ = object.__setattr__, object.__delattr__
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
        lines += [f"{one.name} : {words}{default}", f"    {about.says}."]
    return "\n".join(lines)
