"""Option: each option of a method is declared once, as a field with default, reader and help.

The estimator's constructor, the plan, the settings of a release, the command line and the tables of
the documentation all follow from the fields of one frozen dataclass.
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
PLACED = ("always", "never", "groups")


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
        return {plain(name): plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple | set) else value


def as_given(value: Any) -> Any:
    """Return the value unchanged; the method checks it."""
    return value


def text(value: Any) -> str:
    """Read a text."""
    if not isinstance(value, str):
        raise ValueError("a text")  # noqa: TRY004  # the caller adds the option's name
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
    """Read a whole number for all columns, or a number for each named column.

    >>> whole_of_each("4"), whole_of_each(["age=5", "dose=3"])
    (4, {'age': 5, 'dose': 3})
    """
    if isinstance(value, str) and "=" in value:
        value = [value]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        pairs = [item.rpartition("=") for item in value]
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
    """Read a number or a fraction of columns, or its text; leave words to the method.

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
    """Read a number or fraction of columns; `there` ends the error about too many.

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
        raise ParameterError(f"the number of columns to choose is {quoted(k)}; choose at least 1")
    if k > d:
        raise ParameterError(f"{quoted(k)} columns to choose are too many: {there.format(d)}")
    return k


def count_or_positive(k: object, d: int, there: str = "the domain has {}") -> int | str:
    """Read the number of columns to select, or "positive".

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
    """Check a decimal number, or its text, and return it unchanged.

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
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ValueError('names of columns, such as ["age", "ward"]')
    return list(names)


@dataclass(frozen=True)
class About:
    """The facts about an option beside its name and default.

    says : its purpose, in a phrase for help, docstring and documentation.
    read : reads its value from Python or the command line; a `ValueError` says what to write.
    choices : the allowed words, if they are few.
    metavar : the placeholder of its value in help; None if the command line has another way.
    needed : whether it is required.
    setting : its name in a release, if it differs; None if a release omits it.
    several : the type of several values on the command line: a list, or a dict of named values.
    unsaid : whether a release omits it if it has its default.
    flag : its word on the command line; "-" for its name, None for no word.
    rare : whether only `--help-all` lists it.
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
    """Declare an option with the fields of `About`.  Type checkers read the first two."""
    return field(default=default, kw_only=kw_only, metadata={"about": About(**about)})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option, field))
def declared(kind: type[Kind]) -> type[Kind]:
    """Make a class body a frozen class of options, compared and printed by identity."""
    return dataclass(frozen=True, eq=False, repr=False, kw_only=True)(kind)


def integer(value: object, name: str, low: int, high: int) -> int:
    """Read a whole number of Python or NumPy within limits.

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
                                 "leave it out")
        return text(value[0]), columns
    name, _, columns = value.partition("=")
    if not name.strip() or not columns.strip():
        raise ParameterError(f"--group is {quoted(value)}; write a name, = and its columns, such "
                             "as address=street,zip")
    return name.strip(), [column.strip() for column in columns.split(",")]


def read_several(about: About, flag: str, values: Sequence[Any]) -> object:
    """Read the values of an option that may be repeated: a list, or a dict of named values.

    >>> from privsieve.methods.choosing import Choosing
    >>> read_several(abouts(Choosing)["groups"], "--group", ["home=street,zip", "who=age"])
    {'home': ['street', 'zip'], 'who': ['age']}
    """
    read: list[Any] = [about.read(value) for value in values]
    names = [name for name, _ in read] if about.several is dict else read
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"{flag} names {quoted(name)} twice; name it once")
    return dict(read) if about.several is dict else read


def read_option(known: Field[Any], value: Any) -> object:
    """Read the value of an option from Python or the command line.

    None keeps an option at its default of None.  Texts are read as on the command line.
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


def read_options(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Read the values of options, by the names of their fields."""
    return {each.name: read_option(each, values[each.name])
            for each in fields(kind) if each.name in values}


def abouts(kind: type) -> dict[str, About]:
    """Return the options of a class, by name and in order.

    >>> from privsieve.methods.choosing import Choosing
    >>> list(abouts(Choosing))
    ['epsilon', 'allow_weak', 'n_features_to_select', 'delta', 'ordered', 'always', \
'never', 'groups', 'fewer']
    """
    return {each.name: each.metadata["about"] for each in fields(kind) if "about" in each.metadata}


def resolve_options(kind: type[Kind], options: Any, **facts: Any) -> Kind:
    """Make a class of options from the values of another and from further facts."""
    known = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    return kind(**{each.name: getattr(options, each.name) for each in fields(options)
                   if each.name in known} | facts)


def settings(options: Any, **facts: Json) -> dict[str, Json]:
    """Return the options as a release stores them, by their names in the format."""
    default = {each.name: each.default for each in fields(options)}
    stored = {about.setting or name: _plain(getattr(options, name))
            for name, about in abouts(type(options)).items() if about.setting is not None
            and not (about.unsaid and getattr(options, name) == default[name])}
    return {**stored, **facts}


def as_json(options: Any, settings: Mapping[str, Json]) -> dict[str, Json]:
    """Return the options that differ from their defaults, as JSON that `read_options` reads.

    Empty lists of columns are omitted.  A reference of public rows is stored as its digest, as in
    the settings.

    >>> from privsieve.methods.choosing import Choosing
    >>> as_json(Choosing(3, epsilon=0.50, always=["age"]), {})
    {'epsilon': '0.5', 'n_features_to_select': 3, 'always': ['age']}
    """
    differing = {}
    for each in fields(options):
        if each.name == "reference":
            if options.reference is not None:
                differing["reference"] = settings["reference"]
        elif "about" in each.metadata:
            value, usual = (_as_json(item, each.metadata["about"].read)
                            for item in (getattr(options, each.name), each.default))
            if each.name in PLACED:
                value = value or None
            if value != usual or each.metadata["about"].needed:
                differing[each.name] = value
    return differing


def _as_json(value: Any, read: Callable[[Any], object] = as_given) -> Json:
    if isinstance(value, Mapping):
        return {str(name): _as_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    figure = read in (number, number_or_auto) and value is not None and value != "auto"
    if figure or isinstance(value, float | Decimal | Fraction):
        return exactly(exact(value, "an option"))
    return value  # type: ignore[no-any-return]


def _plain(value: Any) -> Json:
    if isinstance(value, tuple):
        return [str(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    return str(value) if isinstance(value, Fraction) else value


def current(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return options by their current names; `k` is the number of columns.  Refuse dropped ones.

    >>> from privsieve.methods.choosing import Choosing
    >>> current(Choosing, {"k": 3, "epsilon": 1})
    {'n_features_to_select': 3, 'epsilon': 1}
    """
    known = {each.name for each in fields(kind)}
    for name in values.keys() & DROPPED.keys() - known:
        raise ParameterError(DROPPED[name])
    if "n_features_to_select" not in known or "k" not in values:
        return dict(values)
    if "n_features_to_select" in values:
        raise ParameterError("k and n_features_to_select are two names of one option; give one")
    return {"n_features_to_select" if name == "k" else name: value
            for name, value in values.items()}


def read_request(method: str, kind: type[Kind], arguments: Mapping[str, Any]) -> Kind:
    """Read the options of a request; refuse unknown and missing ones."""
    values, known = current(kind, arguments), abouts(kind)
    short = {"n_features_to_select": "k"}
    words = {"k": " (--top)", "fewer": " (--at-most)"}
    for name in values:
        if name not in known:
            takes = [short.get(name, name) for name in known]
            raise ParameterError(f"{name}{words.get(name, '')} is not an option of {method}; it "
                                 f"takes: {', '.join(sorted(takes))}, rows")
    for name, about in known.items():
        if about.needed and name not in values:
            lacks = short.get(name, name)
            raise ParameterError(f"{lacks} is missing, and {method} needs it; give {lacks}=")
    return kind(**read_options(kind, values))


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option,))
def estimator(kind: type[Kind]) -> type[Kind]:
    """Make a scikit-learn estimator of a class: its options are the constructor's parameters.

    The constructor also takes `k` for the number of columns.  Attributes can be set.
    """
    options_class: Any = declared(kind)
    options_class.__setattr__, options_class.__delattr__ = object.__setattr__, object.__delattr__
    init = options_class.__init__

    @wraps(init)
    def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807  # it is the constructor
        init(self, *args, **current(options_class, options))

    options_class.__init__ = __init__
    description, head, examples = cleandoc(options_class.__doc__ or "").partition("Examples\n")
    options_class.__doc__ = "\n\n".join([
        description.rstrip(), documented(options_class), head + examples])
    return options_class  # type: ignore[no-any-return]


def documented(kind: type) -> str:
    """Return the options of a class as a section of a docstring."""
    lines = ["Parameters", "----------"]
    for each in fields(kind):
        about: About = each.metadata["about"]
        default = "" if each.default in (None, MISSING) else f", default: {each.default!r}"
        words = " | ".join(about.choices) or ("value" if each.type == "Any" else each.type)
        lines += [f"{each.name} : {words}{default}", f"    {about.says}."]
    return "\n".join(lines)
