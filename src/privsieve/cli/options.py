"""The options that verbs ask for, those of the methods among them, and the plan they describe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from privsieve.cli import words
from privsieve.errors import DomainError, ParameterError
from privsieve.methods import METHODS, options_of, plan
from privsieve.public.cost import exact
from privsieve.public.domain import Domain
from privsieve.public.option import About, abouts, current_abouts, whole_number, yes_or_no
from privsieve.public.plan import Plan

if TYPE_CHECKING:
    from privsieve.rows import Source

Command = Callable[..., Any]

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


def asking(*options: Command) -> Callable[[Command], Command]:
    """Give a command these options, in this order."""
    def given(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return given


def refuse(wrong: object, said: str) -> None:
    """Refuse options with a sentence, where something is wrong with them."""
    if wrong:
        raise ParameterError(said)


def _top(_context: Any, _option: Any, value: str | None) -> int | str | None:
    """Read a whole number, or the word for columns of positive weight."""
    if value is None or value == "positive":
        return value
    try:
        return int(value)
    except ValueError:
        raise click.BadParameter(f'{value!r} is not a valid integer, nor "positive"') from None


def _cost(*, required: bool = True) -> tuple[Command, ...]:
    return (
        click.option("--domain", "domain_file", metavar="FILE", required=required,
                     help="The domain file: columns, bounds, label, unit."),
        click.option("--epsilon", metavar="E", required=required,
                     help="What this release may cost, for example 0.5."),
    )


_COUNT = (
    click.option("--top", metavar="N", callback=_top,
                 help='How many columns to choose; "positive" where weights are released.'),
    click.option("--fraction", metavar="F", help="Or: which fraction of the columns."),
)
_UNIT = (
    click.option("--unit", type=click.Choice(["row"]),
                 help="Protect a row, where the domain file does not name the unit."),
    click.option("--person", metavar="COLUMN",
                 help="Or: protect a person; this column says whose row it is."),
    click.option("--rows-per-person", metavar="G", type=int,
                 help="Rows of a person that are used at most."),
    click.option("--persons", metavar="N", type=int,
                 help="Persons in the table: a public round figure."),
)
_ROWS = click.option("--rows", metavar="N", type=int,
                     help="Rows in the table: a public figure, where it cannot be counted.")
_END = (
    click.option("--allow-weak", is_flag=True, help="Accept an epsilon above 10."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines."),
)


def _method(more: str = "") -> Command:
    return click.option(
        "--method", metavar="NAME", default="rule-sieve", show_default=True,
        help="How to choose: rule-sieve, block-fwell, noisy-top-k or private-tuning; or with "
             f"released weights: output-fwell, objective-fwell or felp{more}.")


def choosing(command: Command) -> Command:
    """Give a command the options of a selection."""
    return asking(*_cost(), *_COUNT, _method(), *_UNIT, _ROWS, *of_methods(*CHOOSING),
                  *_END)(command)


def planning(command: Command) -> Command:
    """Give a command the options of whatever can be planned."""
    return asking(
        *_cost(), *_COUNT, _method("; or what `regress` (kernel-ridge) or `synthesize` "
                                   "(noisy-histogram) would release"),
        *_UNIT, _ROWS, *of_methods(*METHODS), *_END)(command)


def costing(*own: Command) -> Callable[[Command], Command]:
    """Give a command its own options, and those of what costs: domain, epsilon, unit."""
    return asking(*_cost(), *own, *_UNIT, _ROWS, *_END)


def making(*own: Command) -> Callable[[Command], Command]:
    """The same, for a verb that can also do without a table, and whose --rows are its own."""
    return asking(*_cost(required=False), *own, *_UNIT, *_END)


def releasing(*, required: bool = True) -> Callable[[Command], Command]:
    """Give a command the options of a release: a ledger that is charged, and a folder."""
    return asking(
        click.option("--ledger", metavar="FILE", required=required,
                     help="The budget, made by `ledger grant`."),
        click.option("--population", metavar="NAME", required=required,
                     help="The people whom the budget protects."),
        click.option("--out", metavar="DIR", required=required,
                     help="The release folder; it must not exist."),
        click.option("--anyway", is_flag=True, help="Go on although the forecast warns."),
    )


def of_methods(*methods: str) -> tuple[Command, ...]:
    """The options of some methods: one for each name, with the methods that know it."""
    known: dict[str, dict[str, About]] = {}
    for method in methods:
        for name, about in abouts(options_of(method)).items():
            if name not in SHARED:
                known.setdefault(name, {})[method] = about
    more = (_BIN,) if "bins" in known else ()
    return (*(made for name, by in known.items() for made in _options(name, by, methods)), *more)


def _options(name: str, by: Mapping[str, About], methods: Sequence[str]) -> Iterator[Command]:
    """The click option of a name, and a hidden one of its old name."""
    about = next(iter(by.values()))
    choices = dict.fromkeys(word for one in by.values() for word in one.choices)
    more: dict[str, Any] = {"metavar": about.metavar, "multiple": about.several}
    if about.read is yes_or_no:
        more = {"is_flag": True}
    elif about.read is int:
        limits = sorted(map(int, choices))
        more["type"] = click.IntRange(limits[0], limits[-1]) if limits else int
    elif choices:
        more["type"] = click.Choice(list(choices))
    yield click.option(flag(name), name, help=_help(by, methods), **more)
    for old in dict.fromkeys(one.was for one in by.values() if one.was):
        yield click.option(flag(old), f"was_{old}", hidden=True,
                           callback=_renamed(name), **more)


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
            word = "--bins (or --bin)" if name == "bins" else flag(name)
            raise ParameterError(f"{word} is no option of {method}; leave it away, or "
                                 "choose another --method")
    if options.get("some_bins"):
        values["bins"] = _bins(options["some_bins"], options["bins"])
    refuse("candidates" in known and "candidates" not in values,
           '--method private-tuning needs candidates: give --candidate "METHOD K" once for each')
    counted = any(options.get(name) is not None for name in ("top", "fraction"))
    why = (": each candidate says how many columns" if "candidates" in known
           else ", which chooses no columns")
    refuse(counted and "n_features_to_select" not in known,
           f"--top and --fraction are no options of {method}{why}; leave them away")
    refuse(not counted and "share" in values,
           "--share is for a choice: say --top K, or leave it away")
    kernel = values.get("kernel", "rbf")
    for name in ("features", "feature_seed"):
        refuse(name in values and kernel != "rbf",
               f"{flag(name)} is for --kernel rbf, and the kernel is {kernel}; leave it away")
    return values


def _renamed(now: str) -> Callable[[Any, click.Option, Any], Any]:
    """Take an option by its name of 0.1.0, and say what it is called."""

    def say(_context: Any, option: click.Option, value: Any) -> Any:
        if value not in (None, False, ()):
            words.say("renamed", f"{option.opts[0]} is called {flag(now)} now, and its old name "
                                 "will go", fg="yellow")
        return value

    return say


def _today(name: str, known: Mapping[str, About]) -> str:
    """A name of 0.1.0 by what it is called now."""
    old = name.removeprefix("was_")
    return next((now for now, about in known.items() if about.was == old and old != name), old)


def _read(name: str, about: About, value: Any) -> object:
    if flag(name).startswith("--no-"):
        return not value
    if about.several:
        for text in value:
            demand_choosing(text.partition(" ")[0])
        return [about.read(text) for text in value]
    return about.read(value)


def demand_choosing(method: str) -> None:
    """Refuse a method that releases something else than columns.

    >>> demand_choosing("rule-sieve")
    """
    if method in VERBS:
        raise ParameterError(f"{method} chooses no columns; {VERBS[method]}")


def _bins(each: Sequence[str], every: int | None) -> dict[str, int]:
    """The columns that have a number of bins of their own."""
    own: dict[str, int] = {}
    for text in each:
        name, _, many = text.rpartition("=")
        if not name or not whole_number(many):
            raise ParameterError(f"--bin is {text!r}; write a column, = and a number of bins")
        own[name] = int(many)
    refuse(every is not None,
           "--bins and --bin are both given; columns without a --bin have 8: name each that shall "
           "have another number")
    return own


def public(options: Mapping[str, Any]) -> Domain:
    """Read the domain file and add what the options say of the unit."""
    return declared(Domain.from_toml(options["domain_file"]), options)


def declared(domain: Domain, options: Mapping[str, Any]) -> Domain:
    """The domain with the unit that somebody named; there is no silent one."""
    person = options["person"]
    refuse(options["unit"] and person,
           "--unit row and --person name two units; give one of them")
    asked = "row" if options["unit"] else "person" if person else None
    if asked is None and not domain.unit_declared:
        raise DomainError("nobody has said what one protected unit is: give --unit row, or "
                          "--person COLUMN where a person may have several rows, or write "
                          "unit = in [table] of the domain file")
    named = {"person": person} if person else {}
    if domain.unit_declared and asked and (asked, person) != (domain.unit, domain.person):
        raise DomainError(f"the domain file protects a {domain.unit} and the options another "
                          "unit; leave the option away, or change [table]")
    counts = {name: options[name] for name in ("rows_per_person", "persons", "rows")
              if options[name] is not None}
    return replace(domain, unit_declared=True, **named, **counts)


def opened(domain: Domain, path: str) -> tuple[Domain, Source, int | None]:
    """Open a table's structure: the domain that fits it, the source, its public number of rows."""
    from privsieve.rows import open_source, resolve

    source = open_source(path, csv=domain.csv)
    shape = source.shape(count_rows=domain.rows_are_public)
    return resolve(domain, shape, strict=False), source, shape.rows


def planned(domain: Domain, rows: int | None, options: Mapping[str, Any], *,
            epsilon: str | None = None) -> Plan:
    """The plan that the options ask for, at their epsilon or at another."""
    about = abouts(options_of(options["method"])).get("n_features_to_select")
    wanted = about is not None and (about.needed or any(
        options.get(name) is not None for name in ("top", "fraction")))
    count = {"k": _count(options)} if wanted else {}
    return plan(options["method"], domain, rows=rows, epsilon=epsilon or options["epsilon"],
                allow_weak=options["allow_weak"], **count,
                **given(options["method"], options))


def _count(options: Mapping[str, Any]) -> object:
    top, fraction = options["top"], options.get("fraction")
    refuse((top is None) == (fraction is None),
           "say how many columns to choose: --top N or --fraction F, and not both")
    return exact(fraction, "--fraction") if top is None else top
