"""Roles of columns, from the domain file and the command line: which wins, and what contradicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from privsieve.errors import ParameterError
from privsieve.public.domain import Domain

if TYPE_CHECKING:
    from privsieve.containment.labelled import Labelled, Roles


Command = Callable[..., Any]

ALL = "all"

OPTIONS = (
    click.option("--sensitive", metavar="A,B,…",
                 help="Columns that must not be learned: not chosen from; limits speak of them."),
    click.option("--known", metavar="A,B,…",
                 help="Columns that may be known although the domain file calls them sensitive."),
    click.option("--absences", "--absent", metavar="A,B,…|all",
                 help="Columns of which it may be known that a person lacks something (default: "
                      "all but those of sparse data)."),
    click.option("--presences-only", metavar="A,B,…|all",
                 help="Columns of which only what a person has may be known."),
)


def sensitive_names(options: Mapping[str, Any], domain: Domain | None) -> tuple[str, ...]:
    """The columns that must not be learned, each once: they are not made into items."""
    known = listed(options["known"])
    said = [column.name for column in (domain.columns if domain else ())
            if getattr(column, "role", None) == "sensitive" and column.name not in known]
    named = listed(options["sensitive"])
    _demand_apart(named, "--sensitive", known, "--known")
    for name in named:
        if name == options["target"]:
            raise ParameterError(f"--sensitive names the target {name!r}; the target has limits of "
                                 "its own: leave it there")
        if name == options["source"]:
            raise ParameterError(f"--sensitive names the source {name!r}, which never leaves the "
                                 "table; leave it away")
    return tuple(dict.fromkeys([*said, *named]))


def roles_of(table: Labelled, options: Mapping[str, Any], domain: Domain | None, *,
             target_known: bool = False) -> Roles:
    """The role of each column: the command line before the domain file before its kind."""
    from privsieve.containment.labelled import Roles

    items = table.items
    names = tuple(dict.fromkeys(items.origin))
    by_kind = {name for name, absent in zip(items.origin, items.absent, strict=False) if absent}
    said = {one.name: getattr(one, "role", None) for one in (domain.columns if domain else ())}
    both = {name for name in names
            if said.get(name) == "both" or (name in by_kind and said.get(name) != "presences")}
    with_absences = _asked(options, "absences", table)
    without = _asked(options, "presences_only", table)
    _asked(options, "known", table)
    _demand_apart(with_absences, "--absences", without, "--presences-only")
    equal = options.get("model") == "k-anonymity" or options.get("profile") == "strict"
    if equal and without:
        raise ParameterError("--presences-only contradicts k-anonymity, which counts absences of "
                             "all columns; leave one of them away")
    if options["presences_only"] == ALL:
        both = set(with_absences)
    if options["absences"] == ALL or equal:
        both = set(names) - set(without)
    both = both - set(without) | set(with_absences)
    return Roles(tuple(name for name in names if name not in both),
                 tuple(name for name in names if name in both),
                 tuple(one.name for one in table.sensitive), table.target, target_known)


def listed(text: str | None) -> tuple[str, ...]:
    """The names in a list with commas."""
    return tuple(text.split(",")) if text else ()


def _asked(options: Mapping[str, Any], option: str, table: Labelled) -> tuple[str, ...]:
    """The columns that an option names, none for "all"; refused where one is not a known one."""
    text, said = options[option], f"--{option.replace('_', '-')}"
    if text == ALL and option != "known":
        return ()
    found = listed(text)
    hidden = {one.name for one in table.sensitive}
    for name in found:
        if name in hidden:
            raise ParameterError(f"{said} names {name!r}, which is sensitive: nobody outside knows "
                                 "it; take it out of one of the two")
        if name not in table.items.origin:
            raise ParameterError(f"{said} names {name!r}, which is no column of the table; "
                                 "correct it")
    return found


def _demand_apart(first: Iterable[str], one: str, second: Iterable[str], other: str) -> None:
    both = sorted(set(first) & set(second))
    if both:
        raise ParameterError(f"{one} and {other} both name {both[0]!r}; a column has one role: "
                             "leave it in one of them")
