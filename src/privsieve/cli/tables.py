"""The options that `check` and `publish` share, and the table that they ask for."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from privsieve.cli import roles
from privsieve.errors import ParameterError
from privsieve.public.domain import Csv, Domain

if TYPE_CHECKING:
    from privsieve.containment.labelled import Labelled
    from privsieve.containment.measures import Hub


Command = Callable[..., Any]

_OPTIONS = (
    click.option("--target", metavar="COLUMN", help="The column of classes."),
    click.option("--labels", metavar="FILE",
                 help="Or: classes in a file of their own, one a line, or its column --target."),
    click.option("--long", "long", metavar="USER ITEM", nargs=2,
                 help="DATA is a log: these columns say who has what."),
    click.option("--value", metavar="COLUMN", help="Of a log: the column of 0 and 1."),
    click.option("--people", metavar="FILE",
                 help="Of a log: a table of the users, one a row, that may hold --target."),
    click.option("--source", metavar="COLUMN",
                 help="Whose row it is: a group counts persons or sources, not rows."),
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
    *roles.OPTIONS,
)


def table(command: Command) -> Command:
    """Give a command the options of a table of items."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def opened(data: str, options: Mapping[str, Any], before: Sequence[Mapping[str, Any]] = (),
           ) -> Labelled:
    """Read the table that the options describe, and what claims of `before` published of it."""
    from privsieve.containment.labelled import Labelled, Sensitive
    from privsieve.containment.together import beside, reading
    from privsieve.rows.items import Reading, column_of, table_of

    _check_source(options)
    if options["long"]:
        columns = options["columns"].split(",") if options["columns"] else None
        columns, closed = reading(columns, before)
        items, y, classes = _log(data, options, columns)
        return beside(Labelled(items, y, classes, options["target"]), before, closed)
    if options["value"] or options["people"]:
        raise ParameterError("--value and --people are for logs: say --long USER ITEM")
    domain = domain_of(options)
    target = options["target"]
    if domain is not None and domain.target is not None and target is None:
        target = domain.target.name
    csv = domain.csv if domain else None
    y = column_of(Path(options["labels"]), target, csv) if options["labels"] else target
    source = options["source"] if domain is None or options["source"] in domain.names else None
    columns, closed = reading(_columns(options, source, target), before)
    sources = _sources(data, options["source"], csv) if options["source"] else None
    found = table_of(data, y, Reading(
        domain, columns, options["bins"], options["missing"], options["k"],
        sensitive=roles.sensitive_names(options, domain), sources=sources,
        target=target if options["labels"] else None))
    sensitive = tuple(Sensitive(one.name, one.codes, one.values, one.ordered)
                      for one in found.sensitive)
    table = Labelled(found.items, found.y, found.classes,
                     target or ("label" if len(found.classes) > 1 else None), sources, sensitive)
    return beside(table, before, closed)


def _check_source(options: Mapping[str, Any]) -> None:
    source = options["source"]
    if source and options["long"]:
        raise ParameterError("--source is for tables: in a log each user is one row, and one "
                             "source; leave it away")
    if source and source in (options["target"], *(options["columns"] or "").split(",")):
        raise ParameterError(f"the source {source!r} never leaves the table, so that it is neither "
                             "the target nor among --columns; name another")


def _sources(data: str, source: str, csv: Csv | None) -> Any:
    from privsieve.rows.whose import whose

    return whose(data, source, csv)


def hub(found: Hub, k: int) -> str:
    """The figure that stands beside every level: whether the same few rows hide everybody."""
    return (f"{found.everywhere} rows sit in every group; without the busiest {k} rows "
            f"{found.below} of {found.left} fall below {k}")


def domain_of(options: Mapping[str, Any]) -> Domain | None:
    """The domain file, where one was given."""
    from privsieve.public.domain import Domain

    return Domain.from_toml(options["domain_file"]) if options["domain_file"] else None


def _log(data: str, options: Mapping[str, Any], columns: Sequence[str] | None) -> Any:
    from privsieve.rows.long_log import Long, People, read_long

    if options["target"] and not options["people"]:
        raise ParameterError("the target of a log stands in a table of its users: give --people "
                             "FILE")
    if any(options[name] for name in ("cuts", "thermometer", "levels", "without", "labels")):
        raise ParameterError("the items of a log are not cut, and are chosen by --columns; leave "
                             "--cut, --thermometer, --levels, --without and --labels away")
    user, item = options["long"]
    people = People(options["people"], options["target"]) if options["people"] else None
    return read_long(data, Long(user, item, options["value"]), people=people,
                     items=columns, domain=domain_of(options))


def _columns(options: Mapping[str, Any], source: str | None, target: str | None) -> Any:
    """What `items_of` takes: names, or how each column is coded."""
    from privsieve.rows.items import Thermometer

    how: dict[Any, Any] = {}
    for text in options["cuts"]:
        name, values = _split(text, "--cut")
        how[name] = [_number(value) for value in values]
    for text in options["thermometer"]:
        name, values = _split(text, "--thermometer")
        how[name] = Thermometer(tuple(_number(value) for value in values))
    for text in options["levels"]:
        name, values = _split(text, "--levels")
        how[name] = values
    how |= dict.fromkeys(options["without"].split(",") if options["without"] else (), False)
    names = options["columns"].split(",") if options["columns"] else None
    if source is not None and names is None:
        if how.get(source, False) is not False:
            raise ParameterError(f"the source {source!r} never leaves the table, and is not cut; "
                                 "leave that away")
        how[source] = False
    if not how:
        return names
    if names is None:
        return how | {...: None}
    absent = [name for name in how if name not in names and name != target]
    if absent:
        raise ParameterError(f"column {absent[0]!r} is cut or left out, and is not among "
                             "--columns; add it there, or say nothing of it")
    return dict.fromkeys(names) | how


def _split(text: str, option: str) -> tuple[str, list[str]]:
    name, _, values = text.rpartition("=")
    if not name or not values:
        raise ParameterError(f"{option} is {text!r}; write a column, =, and values with commas "
                             "between them")
    return name, values.split(",")


def _number(text: str) -> float | dt.datetime:
    """A number; of a date column a date."""
    from privsieve.rows.cells import date_cell, number_cell

    found = number_cell(text)
    if isnan(found) and isnan(date_cell(text)):
        raise ParameterError(f"the cut point {text!r} is no number and no date (2020-12-31)")
    return dt.datetime.fromisoformat(text.strip()) if isnan(found) else found
