"""A verb: what all commands have in common, said once.

Each takes `--json`, names all that is missing at once, lets a shell complete names of files, and
leaves options that few need to `--help-all`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import click

from privsieve.public.dropped import DROPPED

#: What stands for a value that is a place on the disk.
_PLACES = ("FILE", "DIR")
#: Arguments that are no places.
_WORDS = ("form", "method")
#: Options by what they are about, as help lists them; what is in no group comes last.
GROUPS = {
    "Table and release": ("domain_file", "connect", "out", "request", "signed_plan", "anyway"),
    "Columns to choose": ("top", "at_most", "always", "never", "groups", "ordered"),
    "Privacy": ("epsilon", "delta", "unit", "person", "rows_per_person", "persons", "rows",
                "allow_weak", "ledger", "path", "head", "population", "policy"),
    "Method": ("method", "class_prior", "joint", "score"),
}
#: Options that few need: `--help-all` lists them, and `--help` does not.
RARE = frozenset({
    "allow_weak", "beta", "block", "clip", "connect", "depth", "head", "jobs", "lam", "max_memory",
    "numeric", "reference", "repeats", "signed_plan", "tau", "votes"})
#: Where a call of a command keeps that all options are to be listed.
_ALL = "privsieve.help_all"


class FileName(click.Path):
    """A text of which a shell knows that it names a file; whether there is one is not looked at."""

    def convert(self, value: Any, _param: Any, _ctx: Any) -> str:
        """Return the text as it is."""
        return str(value)


def existing(_context: Any, _parameter: Any, path: str | None) -> str | None:
    """Return a path to read; where nothing is, the words are wrong, and no check has failed."""
    if path is None or os.path.exists(path):  # noqa: PTH110  # never raises
        return path
    from privsieve.errors import ParameterError
    from privsieve.ledger.sql import served
    from privsieve.public.canonical import quoted

    if served(path):
        return path
    raise ParameterError(f"there is nothing at {quoted(path)} that you may read; check the path")


def _help_all(ctx: click.Context, _option: click.Parameter, value: bool) -> None:  # noqa: FBT001  # click's
    """Print the help with all options, and end."""
    if value:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class Verb(click.Command):
    """A command of privsieve."""

    def __init__(self, name: str | None, *, params: list[click.Parameter] | None = None,
                 **more: Any) -> None:
        super().__init__(name, params=[
            *(params or ()),
            click.Option(["--json", "as_json"], is_flag=True,
                         help="Print one JSON object for machines."),
            click.Option(["--help-all"], is_flag=True, is_eager=True, expose_value=False,
                         callback=_help_all, help="Show all options, also those that few need."),
        ], **more)
        for one in self.params:
            place = (one.metavar in _PLACES if isinstance(one, click.Option)
                     else one.name not in _WORDS)
            if place and one.type is click.STRING:
                one.type = FileName()

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options by groups; those that few need only where all are asked for."""
        records: dict[str, list[tuple[str, str]]] = {title: [] for title in (*GROUPS, "Options")}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record and (param.required or param.name not in RARE or _ALL in ctx.meta):
                title = next((title for title, names in GROUPS.items() if param.name in names),
                             "Options")
                records[title].append(record)
        for title, lines in records.items():
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words; what is missing is named all at once."""
        try:
            return super().parse_args(ctx, list(args))
        except click.NoSuchOption as error:
            word = error.option_name.lstrip("-").replace("-", "_")
            if word not in DROPPED:
                raise
            raise click.UsageError(DROPPED[word], error.ctx) from None
        except click.MissingParameter as error:
            said = self.missing(ctx, self.make_parser(ctx).parse_args(list(args))[0])
            if len(said) < 2:
                raise
            raise click.UsageError(f"Missing: {', '.join(said)}.", error.ctx) from None

    def missing(self, ctx: click.Context, given: Mapping[str, Any]) -> list[str]:
        """All that is not given and has to be, as help writes it."""
        return [written(one) for one in self.get_params(ctx) if one.required
                and (one.name not in given or one.value_is_missing(given[one.name]))]


class VerbGroup(click.Group):
    """Commands under one name."""

    command_class = Verb

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name, or explain that it was dropped."""
        command = super().get_command(ctx, cmd_name)
        if command is None and cmd_name in DROPPED:
            raise click.UsageError(DROPPED[cmd_name], ctx)
        return command

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which they were written."""
        del ctx
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, each with the whole of its first sentence."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(limit=1000))
                                for name, command in self.commands.items()])


def written(one: click.Parameter) -> str:
    """A parameter as help writes it."""
    value = one.metavar or str(one.name).upper()
    if not isinstance(one, click.Option):
        return value
    return one.opts[0] if one.is_flag else f"{one.opts[0]} {value}"
