"""The options of single methods, as the command line asks for them: made from their fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import click

from privsieve.errors import ParameterError
from privsieve.methods import METHODS, options_of
from privsieve.public.option import About, abouts, current_abouts, whole_number, yes_or_no

#: Options that all verbs share, or that have a way of their own on the command line.
SHARED = ("epsilon", "allow_weak", "n_features_to_select", "max_ops", "choice")
#: Where the word of the command line is not the option's name.
_FLAGS = {"candidates": "--candidate", "target": "--no-target"}
#: What releases something else than columns, and how.
VERBS = {"kernel-ridge": "it fits a model: privsieve regress",
         "noisy-histogram": "it counts rows: privsieve synthesize"}
CHOOSING = tuple(method for method in METHODS if method not in VERBS)


#: What a mapping of Python is on the command line.
_BIN = click.option("--bin", "some_bins", metavar="COLUMN=N", multiple=True,
                    help="Bins of one column of a table of counts; once for each.")


def options(*methods: str) -> tuple[Callable[..., Any], ...]:
    """The options of some methods: one for each name, with the methods that know it."""
    known: dict[str, dict[str, About]] = {}
    for method in methods:
        for name, about in abouts(options_of(method)).items():
            if name not in SHARED:
                known.setdefault(name, {})[method] = about
    more = (_BIN,) if "bins" in known else ()
    return (*(made for name, by in known.items() for made in _options(name, by, methods)), *more)


def _options(name: str, by: Mapping[str, About], methods: Sequence[str],
             ) -> Iterator[Callable[..., Any]]:
    """The click option of a name, and a hidden one of its old name."""
    about = next(iter(by.values()))
    choices = dict.fromkeys(word for one in by.values() for word in one.choices)
    more: dict[str, Any] = {"metavar": about.metavar, "multiple": about.several}
    if about.read is yes_or_no:
        more = {"is_flag": True}
    elif about.read is int:
        more["type"] = click.IntRange(int(min(choices)), int(max(choices))) if choices else int
    elif choices:
        more["type"] = click.Choice(list(choices))
    yield click.option(flag(name), name, help=_help(by, methods), **more)
    for old in dict.fromkeys(one.was for one in by.values() if one.was):
        yield click.option(flag(old), f"was_{old}", hidden=True, **more)


def _help(by: Mapping[str, About], methods: Sequence[str]) -> str:
    """What an option is for, with the methods that know it where not all do."""
    said = dict.fromkeys(about.says for about in by.values())
    if len(by) == len(methods) and len(said) == 1:
        [text] = said
        return f"{text[0].upper()}{text[1:]}."
    return "; ".join(f"{', '.join(one for one in by if by[one].says == says)}: {says}"
                     for says in said) + "."


def flag(name: str) -> str:
    """The word of the command line for an option.

    >>> flag("class_prior"), flag("candidates")
    ('--class-prior', '--candidate')
    """
    return _FLAGS.get(name, f"--{name.replace('_', '-')}")


def given(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the method as far as they were given; refuses those of others."""
    known, values = abouts(options_of(method)), {}
    for said, value in options.items():
        name = _today(said, known)
        # 0 was said by somebody, and is refused by the method; a flag that is not given is False
        if name in SHARED or value is None or value is False or value == ():
            continue
        if name in known:
            values[name] = _read(name, known[name], value)
        elif any(name in current_abouts(options_of(one)) for one in METHODS):
            raise ParameterError(f"{_word(name)} is no option of {method}; leave it away, or "
                                 "choose another --method")
    if options.get("some_bins"):
        values["bins"] = bins(options["some_bins"], options["bins"])
    if "candidates" in known and "candidates" not in values:
        raise ParameterError("--method private-tuning needs candidates: give --candidate "
                             '"METHOD K" once for each')
    _check_count(known, options, method)
    _check_pairs(values, options)
    return values


def _word(name: str) -> str:
    return "--bins (or --bin)" if name == "bins" else flag(name)


def _today(name: str, known: Mapping[str, About]) -> str:
    """A name of 0.1.0 by what it is called now."""
    old = name.removeprefix("was_")
    return next((now for now, about in known.items() if about.was == old and old != name), old)


def _read(name: str, about: About, value: Any) -> object:
    if flag(name).startswith("--no-"):
        return not value
    if about.several:
        for text in value:
            choosing(text.partition(" ")[0])
        return [about.read(text) for text in value]
    return about.read(value)


def _check_pairs(values: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Refuse what is said of something that was not asked for."""
    if "share" in values and options.get("top") is None and options.get("fraction") is None:
        raise ParameterError("--share is for a choice: say --top K, or leave it away")
    kernel = values.get("kernel", "rbf")
    for name in ("features", "feature_seed"):
        if name in values and kernel != "rbf":
            raise ParameterError(f"{flag(name)} is for --kernel rbf, and the kernel is {kernel}; "
                                 "leave it away")


def _check_count(known: Mapping[str, About], options: Mapping[str, Any], method: str) -> None:
    if "n_features_to_select" not in known and any(
            options.get(name) is not None for name in ("top", "fraction")):
        why = (": each candidate says how many columns" if "candidates" in known
               else ", which chooses no columns")
        raise ParameterError(f"--top and --fraction are no options of {method}{why}; leave them "
                             "away")


def choosing(method: str) -> None:
    """Refuse a method that releases something else than columns.

    >>> choosing("rule-sieve")
    """
    if method in VERBS:
        raise ParameterError(f"{method} chooses no columns; {VERBS[method]}")


def bins(each: Sequence[str], every: int | None) -> dict[str, int]:
    """The columns that have a number of bins of their own."""
    own: dict[str, int] = {}
    for text in each:
        name, _, many = text.rpartition("=")
        if not name or not whole_number(many):
            raise ParameterError(f"--bin is {text!r}; write a column, = and a number of bins")
        own[name] = int(many)
    if every is not None:
        raise ParameterError("--bins and --bin are both given; columns without a --bin have 8: "
                             "name each that shall have another number")
    return own
