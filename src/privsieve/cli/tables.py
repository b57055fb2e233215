"""The options that `check` and `publish` share, and the table that they ask for."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any

import click

from privsieve.cli.options import asking, refuse
from privsieve.containment.labelled import Labelled, Roles
from privsieve.containment.limits import Limits
from privsieve.containment.measures import Hub
from privsieve.containment.snapshot import beside, reading
from privsieve.errors import ParameterError
from privsieve.public.domain import Domain
from privsieve.rows.cells import date_cell, number_cell
from privsieve.rows.items import Long, Reading, Thermometer, column_of, read_long, table_of

#: Gives a command the options of a table of items.
table = asking(
    click.option("--target", metavar="COLUMN", help="The column of classes."),
    click.option("--labels", metavar="FILE",
                 help="Or: classes in a file of their own, one a line, or its column --target."),
    click.option("--long", "long", metavar="USER ITEM", nargs=2,
                 help="DATA is a log: these columns say who has what."),
    click.option("--value", metavar="COLUMN", help="Of a log: the column of 0 and 1."),
    click.option("--people", metavar="FILE",
                 help="Of a log: a table of the users, one a row, that may hold --target."),
    click.option("--source", metavar="COLUMN",
                 help="Whose row it is: a group counts people, not rows, as with the person of a "
                      "domain file."),
    click.option("--columns", metavar="A,B,…", help="Use these columns only."),
    click.option("--without", metavar="A,B,…", help="Leave these columns out."),
    click.option("--bins", metavar="N", type=int, default=4, show_default=True,
                 help="Cut numbers into so many bins, by quantiles."),
    click.option("--cut", "cuts", metavar="COLUMN=X,Y", multiple=True,
                 help="Cut a column at these points."),
    click.option("--thermometer", metavar="COLUMN=X,Y", multiple=True,
                 help="Cut a column into items `at least X`, `at least Y`."),
    click.option("--levels", metavar="COLUMN=A,B", multiple=True,
                 help="Tell only these levels of a column apart."),
    click.option("--missing", type=click.Choice(["absent", "level"]), default="absent",
                 show_default=True, help="A missing cell holds nothing, or is an item."),
    click.option("--domain", "domain_file", metavar="FILE",
                 help="A domain file: columns, their kinds, and how the CSV file is written."),
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


def opened(data: str, options: Mapping[str, Any], before: Sequence[Mapping[str, Any]] = (),
           ) -> Labelled:
    """Read the table that the options describe, and what claims of `before` published of it."""
    person = person_of(options)
    if options["long"]:
        columns, closed = reading([*listed(options["columns"])] or None, before)
        items, y, classes = _log(data, options, columns)
        return beside(Labelled(items, y, classes, options["target"]), before, closed)
    refuse(options["value"] or options["people"],
           "--value and --people are for logs: say --long USER ITEM")
    domain, target = domain_of(options), options["target"]
    csv = domain.csv if domain else None
    if target is None and domain is not None and domain.target is not None:
        target = domain.target.name
    y = column_of(Path(options["labels"]), target, csv) if options["labels"] else target
    columns, closed = reading(_columns(options, target), before)
    found = table_of(data, y, Reading(
        domain, columns, options["bins"], options["missing"], options["k"],
        sensitive=sensitive_names(options, domain), person=person,
        target=target if options["labels"] else None))
    table = Labelled(found.items, found.y, found.classes,
                     target or ("label" if len(found.classes) > 1 else None), found.sources,
                     found.sensitive, people=domain is not None and domain.person is not None)
    return beside(table, before, closed)


def person_of(options: Mapping[str, Any]) -> str | None:
    """The column by which k counts people: --source, or the person of the domain file.

    In a log each user is one row, and nothing has to be told apart.
    """
    domain, source = domain_of(options), options["source"]
    person = domain.person if domain else None
    if options["long"]:
        refuse(source or person not in (None, options["long"][0]),
               f"in a log each user is one row, and the person that k counts; leave "
               f"{'--source' if source else 'person in the domain file'} away")
        return None
    refuse(source and person not in (None, source),
           f"--source names {source!r}, and the person of the domain file is {person!r}; leave one "
           "of them away")
    return source or person


def hub(found: Hub, k: int) -> str:
    """The figure that stands beside every level: whether the same few rows hide everybody."""
    return (f"{found.everywhere} rows sit in every group; without the busiest {k} rows "
            f"{found.below} of {found.left} fall below {k}")


def domain_of(options: Mapping[str, Any]) -> Domain | None:
    """The domain file, where one was given."""
    return Domain.from_toml(options["domain_file"]) if options["domain_file"] else None


def _log(data: str, options: Mapping[str, Any], columns: Sequence[str] | None) -> Any:
    refuse(options["target"] and not options["people"],
           "the target of a log stands in a table of its users: give --people FILE")
    refuse(any(options[name] for name in ("cuts", "thermometer", "levels", "without", "labels")),
           "the items of a log are not cut, and are chosen by --columns; leave --cut, "
           "--thermometer, --levels, --without and --labels away")
    user, item = options["long"]
    return read_long(data, Long(user, item, options["value"], options["people"], options["target"]),
                     items=columns, domain=domain_of(options))


def _columns(options: Mapping[str, Any], target: str | None) -> Any:
    """What `items_of` takes: names, or how each column is coded."""
    how: dict[Any, Any] = {}
    for option, flag, coded in (
            ("cuts", "--cut", lambda values: [*map(_number, values)]),
            ("thermometer", "--thermometer", lambda values: Thermometer((*map(_number, values),))),
            ("levels", "--levels", list)):
        for text in options[option]:
            name, _, values = text.rpartition("=")
            refuse(not name or not values,
                   f"{flag} is {text!r}; write a column, =, and values with commas between them")
            how[name] = coded(values.split(","))
    how |= dict.fromkeys(listed(options["without"]), False)
    names = [*listed(options["columns"])]
    if not how:
        return names or None
    if not names:
        return how | {...: None}
    absent = [name for name in how if name not in names and name != target]
    if absent:
        raise ParameterError(f"column {absent[0]!r} is cut or left out, and is not among "
                             "--columns; add it there, or say nothing of it")
    return dict.fromkeys(names) | how


def _number(text: str) -> float | dt.datetime:
    """A number; of a date column a date."""
    found = number_cell(text)
    refuse(isnan(found) and isnan(date_cell(text)),
           f"the cut point {text!r} is no number and no date (2020-12-31)")
    return dt.datetime.fromisoformat(text.strip()) if isnan(found) else found


ALL = "all"


def sensitive_names(options: Mapping[str, Any], domain: Domain | None) -> tuple[str, ...]:
    """The columns that must not be learned, each once: they are not made into items."""
    known = listed(options["known"])
    said = [name for name, role in _roles_said(domain).items()
            if role == "sensitive" and name not in known]
    named = listed(options["sensitive"])
    _demand_apart(named, "--sensitive", known, "--known")
    for name in named:
        refuse(name == options["target"],
               f"--sensitive names the target {name!r}; the target has limits of its own: leave it "
               "there")
    return tuple(dict.fromkeys([*said, *named]))


def _roles_said(domain: Domain | None) -> dict[str, str | None]:
    """The role of each column in the domain file."""
    return {one.name: getattr(one, "role", None) for one in (domain.columns if domain else ())}


def roles_of(table: Labelled, options: Mapping[str, Any]) -> Roles:
    """The role of each column: the command line before the domain file before its kind."""
    items = table.items
    names = tuple(dict.fromkeys(items.origin))
    by_kind = {name for name, absent in zip(items.origin, items.absent, strict=False) if absent}
    said = _roles_said(domain_of(options))
    both = {name for name in names
            if said.get(name) == "both" or (name in by_kind and said.get(name) != "presences")}
    with_absences = _asked(options, "absences", table)
    without = _asked(options, "presences_only", table)
    _asked(options, "known", table)
    _demand_apart(with_absences, "--absences", without, "--presences-only")
    target_known = bool(options.get("publish_target") and not options.get("target_unknown"))
    equal = options.get("model") == "k-anonymity" or options.get("profile") == "strict"
    refuse(equal and without,
           "--presences-only contradicts k-anonymity, which counts absences of all columns; leave "
           "one of them away")
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
    for name in listed(text):
        refuse(name in (one.name for one in table.sensitive),
               f"{said} names {name!r}, which is sensitive: nobody outside knows it; take it out "
               "of one of the two")
        refuse(name not in table.items.origin,
               f"{said} names {name!r}, which is no column of the table; correct it")
    return listed(text)


def _demand_apart(first: Iterable[str], one: str, second: Iterable[str], other: str) -> None:
    both = sorted(set(first) & set(second))
    if both:
        raise ParameterError(f"{one} and {other} both name {both[0]!r}; a column has one role: "
                             "leave it in one of them")


#: Gives a command the options of limits.
limits = asking(
    click.option("--max-share", metavar="P",
                 help="In no group a larger share of one value, such as 0.9."),
    click.option("--entropy-l", metavar="L",
                 help="In each group an entropy l of at least so much, such as 1.5."),
    click.option("--closeness", metavar="T",
                 help="No group at a larger distance to the whole table, such as 0.3."),
)


def limits_of(distinct: int | None, given: Mapping[str, Any]) -> Limits:
    """The limits that are asked for; `distinct` is that of values in a group."""
    return Limits.of(distinct=distinct, share=given.get("max_share"),
                     entropy=given.get("entropy_l"), closeness=given.get("closeness"))


def weights_of(table: Labelled, given: Mapping[str, Any]) -> Any:
    """The weights of a method: their name, or ones where they are even."""
    import numpy as np

    asked = given["weights"] or "mutual-information"
    return np.ones(len(table.items), np.int64) if asked == "even" else asked
