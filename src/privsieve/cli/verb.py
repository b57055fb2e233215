"""A verb is a typed function; its command, options, help and output follow from it.

What stands before the star of a signature is an argument, and what follows is an option: a flag
where it is a bool, one of a few words where it is a Literal, repeated where it is a tuple.  A
frozen dataclass stands for its fields.  The words of each are the lines `name : words` of the
docstring, and the rest of the docstring is the help.  What the function returns, an `Outcome`, is
printed as JSON or as text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from functools import partial
from inspect import Parameter, cleandoc, signature
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    get_args,
    get_origin,
    get_type_hints,
)

import click

from privsieve.public.dropped import DROPPED

if TYPE_CHECKING:
    from privsieve.public.canonical import Json

#: What stands for a value that is a place on the disk.
_PLACES = ("FILE", "DIR")
#: A line of a docstring that says what an option is for.
_LINE = re.compile(r"^(\w+) : (.+(?:\n +.+)*)\n?", re.MULTILINE)
#: Where options stand in help that belong to no group.
USUAL = "Options"
#: Where a call of a command keeps that all options are to be listed.
_ALL = "privsieve.help_all"
#: Labels of results that are printed in a colour.
_COLOURS = {
    "valid": "green", "NOT VALID": "red", "stands": "green", "finished": "green", "REFUTED": "red",
    "lost": "yellow", "nothing": "yellow", "saw nothing": "yellow", "warning": "yellow",
    "private": "yellow", "sample": "yellow", "unchecked": "yellow"}


class Outcome(NamedTuple):
    """What a verb found out.

    facts : for programs, with --json.
    lines : for people: a label and a text each, or what prints them.
    failure : the sentence of a check that failed; it ends the command with code 7.
    """

    facts: Mapping[str, Json]
    lines: Iterable[tuple[str, str]] | Callable[[], None] = ()
    failure: str | None = None


def tell(outcome: Outcome) -> None:
    """Print an outcome as the running command was asked to."""
    from privsieve.cli import words

    if click.get_current_context().params.get("as_json"):
        words.json(dict(outcome.facts))
    elif callable(outcome.lines):
        outcome.lines()
    else:
        for label, text in outcome.lines:
            words.show(label, text, fg=_COLOURS.get(label), **({} if text else {"bold": True}))
    if outcome.failure:
        from privsieve.errors import CheckFailed

        raise CheckFailed(outcome.failure)


def existing(path: str) -> str:
    """Return a path to read; where nothing is, the words are wrong, and no check has failed."""
    if os.path.exists(path):  # noqa: PTH110  # never raises
        return path
    from privsieve.errors import ParameterError
    from privsieve.ledger.sql import served
    from privsieve.public.canonical import quoted

    if served(path):
        return path
    raise ParameterError(f"there is nothing at {quoted(path)} that you may read; check the path")


#: A path at which something has to be.
Existing = Annotated[str, "FILE", existing]


class VerbOption(click.Option):
    """An option that knows where help lists it, and with which words where they are to be few."""

    group = USUAL
    rare = False
    brief = ""


class FileName(click.Path):
    """A text of which a shell knows that it names a file; whether there is one is not looked at."""

    def convert(self, value: Any, _param: Any, _ctx: Any) -> str:
        """Return the text as it is."""
        return str(value)


def _help_all(ctx: click.Context, _option: click.Parameter, value: bool) -> None:  # noqa: FBT001  # click's
    """Print the help with all options, and end."""
    if value:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class Verb(click.Command):
    """A command of privsieve: it speaks JSON, lists options in groups, and names what it lacks.

    instead : the command that is run where the words name its first option.
    """

    def __init__(self, name: str | None, *, params: list[click.Parameter] | None = None,
                 instead: click.Command | None = None, **more: Any) -> None:
        self.instead = instead
        super().__init__(name, params=[
            *(params or ()),
            click.Option(["--json", "as_json"], is_flag=True,
                         help="Print one JSON object for machines."),
            click.Option(["--help-all"], is_flag=True, is_eager=True, expose_value=False,
                         callback=_help_all, help="Show all options, also those that few need."),
        ], **more)

    def make_context(self, info_name: str | None, args: list[str],
                     parent: click.Context | None = None, **extra: Any) -> click.Context:
        """Begin a call, of the other command where the words name its first option."""
        words = [word.partition("=")[0] for word in args]
        if self.instead is None or not set(words) & set(self.instead.params[0].opts):
            return super().make_context(info_name, args, parent, **extra)
        taken, own = ({word for param in command.get_params(click.Context(command))
                       for word in param.opts} for command in (self.instead, self))
        wrong = [word for word in words if word in own - taken]
        try:
            if not wrong:
                return self.instead.make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            if type(error) is not click.UsageError:  # what is too many has no class of its own
                raise
            wrong = [_written(self.params[0])]
        raise click.UsageError(f"{wrong[0]} is given with {self.instead.params[0].opts[0]}, and is "
                               "not for it; leave it away", parent)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options by groups; those that few need only where all are asked for."""
        groups: dict[str, list[tuple[str, str]]] = {}
        every, switch = _ALL in ctx.meta, self.instead.params[:1] if self.instead else []
        for param in map(copy, [*self.get_params(ctx), *switch]):
            if isinstance(param, VerbOption):
                param.required &= param.name not in {each.name for each in switch}
                param.help = param.help if every else param.brief or param.help
                if param.rare and not every:
                    continue
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record:
                groups.setdefault(getattr(param, "group", USUAL), []).append(record)
        groups[USUAL] = groups.pop(USUAL, [])  # last
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

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
            lacks = self.missing(ctx, self.make_parser(ctx).parse_args(list(args))[0])
            if len(lacks) < 2:
                raise
            other = f"; or give {_written(self.instead.params[0])}" if self.instead else ""
            raise click.UsageError(f"Missing: {', '.join(lacks)}{other}.", error.ctx) from None

    def missing(self, ctx: click.Context, values: Mapping[str, Any]) -> list[str]:
        """All that has to be there and is not, as help writes it."""
        return [_written(param) for param in self.get_params(ctx) if param.required
                and (param.name not in values or param.value_is_missing(values[param.name]))]


class VerbGroup(click.Group):
    """Commands under one name."""

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


def verb(example: str, *, name: str = "", group: click.Group | None = None,
         instead: click.Command | None = None,
         ) -> Callable[[Callable[..., Outcome | None]], click.Command]:
    """Make a command of a typed function; its name is that of its module where none is named."""
    def command_of(function: Callable[..., Outcome | None]) -> click.Command:
        own, kinds = _parameters(function)
        title = name or function.__module__.rpartition(".")[2]
        path = f"{group.name} {title}" if group else title
        kind = next((each.COMMAND for each in kinds.values() if hasattr(each, "COMMAND")), Verb)
        command: click.Command = kind(title, params=own, callback=partial(_call, function, kinds),
                       help=_LINE.sub("", cleandoc(function.__doc__ or "")).strip(),
                       instead=instead, epilog=f"Example: privsieve {path} {example}".strip())
        if group:
            group.add_command(command)
        return command

    return command_of


def _call(function: Callable[..., Outcome | None], kinds: Mapping[str, Any], **values: Any) -> None:
    """Call a verb with what was said, options in the dataclasses that declare them."""
    del values["as_json"]
    given = {}
    for name, kind in kinds.items():
        known = {each.name for each in fields(kind)}
        given[name] = {each: values.pop(each) for each in known & values.keys()}
    of_methods = {each: values.pop(each) for each in set(values) - set(
        signature(function).parameters)}
    for name, kind in kinds.items():
        more = {"of_method": of_methods} if hasattr(kind, "COMMAND") else {}
        values[name] = kind(**given[name], **more)
    outcome = function(**values)
    if outcome is not None:
        tell(outcome)


def _parameters(function: Callable[..., Any]) -> tuple[list[click.Parameter], dict[str, Any]]:
    """The parameters of a command, and the dataclasses that stand for some of them, by name."""
    hints, about = get_type_hints(function, include_extras=True), _words(function.__doc__)
    own: list[click.Parameter] = []
    kinds: dict[str, Any] = {}
    for each in signature(function).parameters.values():
        if is_dataclass(hints[each.name]):
            kinds[each.name] = hints[each.name]
            own += _fields(hints[each.name])
        elif each.kind is Parameter.KEYWORD_ONLY:
            own.append(_option(each.name, hints[each.name], _default(each.default),
                               about[each.name]))
        else:
            own.append(_argument(each, hints[each.name]))
    return own, kinds


def _fields(kind: Any) -> Iterator[VerbOption]:
    """An option for each field of a dataclass, in the group of the class that declares it."""
    hints, known = get_type_hints(kind, include_extras=True), {each.name: each
                                                               for each in fields(kind)}
    about: dict[str, tuple[str, str]] = {}
    for base in reversed(kind.__mro__[:-1]):
        title = cleandoc(base.__doc__).partition("\n")[0].rstrip(".")
        for name, words in _words(base.__doc__).items():
            about[name] = about.get(name, (title, ""))[0], words
    for name, (title, words) in about.items():
        option = _option(name, hints[name], known[name].default, words)
        option.group = title
        yield option


def _words(text: str | None) -> dict[str, str]:
    """What a docstring says of each option, as sentences."""
    return {name: sentence(" ".join(said.split())) for name, said in _LINE.findall(
        cleandoc(text or ""))}


def sentence(words: str) -> str:
    """Words as a sentence.

    >>> sentence("the ledger")
    'The ledger.'
    """
    return f"{words[0].upper()}{words[1:]}{'' if words.endswith('.') else '.'}"


def _default(value: Any) -> Any:
    """The default of an option, with one value for "there is none"."""
    return MISSING if value is Parameter.empty else value


def _unfolded(hint: Any) -> tuple[Any, list[Any]]:
    """A type without None, and what it is annotated with."""
    marks: list[Any] = []
    while True:
        if get_origin(hint) is Annotated:
            hint, marks = hint.__origin__, [*hint.__metadata__, *marks]
        elif NoneType in get_args(hint):
            hint = next(each for each in get_args(hint) if each is not NoneType)
        elif get_origin(hint) is tuple and get_args(hint)[1:] == (...,):
            return tuple, [*_unfolded(get_args(hint)[0])[1], *marks]
        else:
            return hint, marks


def _option(name: str, hint: Any, default: Any, words: str) -> VerbOption:
    """The click option of a keyword or field."""
    from privsieve.public.option import RARE

    kind, marks = _unfolded(hint)
    kind = int if int in marks else kind
    metavar = next((mark for mark in marks if isinstance(mark, str)), None)
    word = name.rstrip("_").replace("_", "-")
    more: dict[str, Any] = {"metavar": metavar}
    if kind is bool:
        more = {"is_flag": True}
    elif get_origin(kind) is Literal:
        more = {"type": click.Choice(get_args(kind))}
    elif kind is tuple:
        more["multiple"] = True
    elif get_origin(kind) is tuple:
        more["nargs"] = len(get_args(kind))
    elif kind is int:
        more |= {"type": int, "metavar": metavar or ("K" if word == "k" else "N")}
    if metavar in _PLACES:
        more["type"] = FileName()
    if not (default is MISSING or default is None or default is False or default == ()):
        more |= {"default": default, "show_default": default != ""}
    option = VerbOption(
        ["-k" if word == "k" else f"--{word}", name], help=words, required=default is MISSING,
        callback=_reading(marks), shell_complete=_completing(marks), **more)
    option.rare = RARE in marks and not option.required
    return option


def _argument(known: Parameter, hint: Any) -> click.Argument:
    """The click argument of a parameter."""
    kind, marks = _unfolded(hint)
    metavar = next((mark for mark in marks if isinstance(mark, str)), None)
    offered = _completing(marks)
    more: dict[str, Any] = {"nargs": -1, "metavar": metavar} if kind is tuple else {}
    return click.Argument(
        [known.name], required=known.default is Parameter.empty, callback=_reading(marks),
        shell_complete=offered, type=click.Choice(get_args(kind)) if get_origin(kind) is Literal
        else None if offered else FileName(), **more)


class Completed(NamedTuple):
    """Marks an option or argument for which a shell offers some words."""

    offer: Callable[[], Iterable[str]]


def _completing(marks: Iterable[Any]) -> Callable[..., list[str]] | None:
    known = next((mark for mark in marks if isinstance(mark, Completed)), None)
    if known is None:
        return None
    return lambda _ctx, _param, begun: [
        word for word in known.offer() if word.startswith(begun)]


def _reading(marks: Iterable[Any]) -> Callable[..., Any] | None:
    """What reads a value, where its type says so."""
    read = next((mark for mark in marks if callable(mark) and mark is not int), None)
    if read is None:
        return None
    return lambda _ctx, _param, value: None if value is None else read(value)


def _written(param: click.Parameter) -> str:
    """A parameter as help writes it."""
    value = param.metavar or str(param.name).upper()
    if not isinstance(param, click.Option):
        return value
    return param.opts[0] if param.is_flag else f"{param.opts[0]} {value}"
