"""The options that verbs of releases share, and the plan of a selection that they ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from privsieve.cli import methods
from privsieve.errors import DomainError, ParameterError
from privsieve.methods import METHODS, options_of, plan
from privsieve.public.domain import Domain
from privsieve.public.option import abouts
from privsieve.public.plan import Plan

if TYPE_CHECKING:
    from privsieve.rows import Source


Command = Callable[..., Any]


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
    return _given(command, (*_cost(), *_COUNT, _method(), *_UNIT, _ROWS,
                            *methods.options(*methods.CHOOSING), *_END))


def planning(command: Command) -> Command:
    """Give a command the options of whatever can be planned."""
    return _given(command, (
        *_cost(), *_COUNT, _method("; or what `regress` (kernel-ridge) or `synthesize` "
                                   "(noisy-histogram) would release"),
        *_UNIT, _ROWS, *methods.options(*METHODS), *_END))


def costing(*own: Command) -> Callable[[Command], Command]:
    """Give a command its own options, and those of what costs: domain, epsilon, unit."""
    return lambda command: _given(command, (*_cost(), *own, *_UNIT, _ROWS, *_END))


def making(*own: Command) -> Callable[[Command], Command]:
    """The same, for a verb that can also do without a table, and whose --rows are its own."""
    return lambda command: _given(command, (*_cost(required=False), *own, *_UNIT, *_END))


def releasing(*, required: bool = True) -> Callable[[Command], Command]:
    """Give a command the options of a release: a ledger that is charged, and a folder."""
    return lambda command: _given(command, (
        click.option("--ledger", metavar="FILE", required=required,
                     help="The budget, made by `ledger grant`."),
        click.option("--population", metavar="NAME", required=required,
                     help="The people whom the budget protects."),
        click.option("--out", metavar="DIR", required=required,
                     help="The release folder; it must not exist."),
        click.option("--anyway", is_flag=True, help="Go on although the forecast warns."),
    ))


def _given(command: Command, options: tuple[Command, ...]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def public(options: Mapping[str, Any]) -> Domain:
    """Read the domain file and add what the options say of the unit."""
    from privsieve.public.domain import Domain

    domain = Domain.from_toml(options["domain_file"])
    return declared(domain, options)


def declared(domain: Domain, options: Mapping[str, Any]) -> Domain:
    """The domain with the unit that somebody named; there is no silent one."""
    person = options["person"]
    if options["unit"] and person:
        raise ParameterError("--unit row and --person name two units; give one of them")
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
                **methods.given(options["method"], options))


def _count(options: Mapping[str, Any]) -> object:
    from privsieve.public.cost import exact

    top, fraction = options["top"], options.get("fraction")
    if (top is None) == (fraction is None):
        raise ParameterError("say how many columns to choose: --top N or --fraction F, "
                             "and not both")
    return exact(fraction, "--fraction") if top is None else top
