"""A verb is a typed function; its command, options, help and output follow from it.

Parameters before the star of a signature become arguments, the others options: a bool is a flag, a
Literal a choice, a tuple is repeated, and a frozen dataclass gives its fields.  Lines `name : text`
of the docstring describe the options; the rest of the docstring is the help.  The function returns
an `Outcome`, which is printed as JSON or as text.
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
from privsieve.telling.document import Document

if TYPE_CHECKING:
    from privsieve.public.canonical import Json

#: The metavars of paths.
_PATHS = ("FILE", "DIR")
#: A line of a docstring that describes an option.
_LINE = re.compile(r"^(\w+) : (.+(?:\n +.+)*)\n?", re.MULTILINE)
#: The heading of options without a group.
USUAL = "Options"
#: The key of a click context for the request to list all options.
_ALL = "privsieve.help_all"
#: The colours of some labels.
_COLOURS = {
    "valid": "green", "NOT VALID": "red", "the claim stands": "green", "finished": "green",
    "REFUTED": "red", "lost": "yellow", "nothing": "yellow", "saw nothing": "yellow",
    "warning": "yellow", "private": "yellow", "sample": "yellow", "unchecked": "yellow"}


class Outcome(NamedTuple):
    """The result of a verb.

    facts : for programs, with --json
    lines : for people: labels and texts, a document, or a function that prints them
    failure : the sentence of a failed check, which ends the command with code 7
    """

    facts: Mapping[str, Json]
    lines: Document | Iterable[tuple[str, str]] | Callable[[], None] = ()
    failure: str | None = None


def tell(outcome: Outcome) -> None:
    """Print an outcome as JSON or as text, as the options of the command say."""
    from privsieve.cli import words

    if click.get_current_context().params.get("as_json"):
        words.json(dict(outcome.facts))
    elif isinstance(outcome.lines, Document):
        words.tell(outcome.lines)
    elif callable(outcome.lines):
        outcome.lines()
    else:
        for label, text in outcome.lines:
            words.show(label, text, fg=_COLOURS.get(label), **({} if text else {"bold": True}))
    if outcome.failure:
        from privsieve.errors import CheckFailed

        raise CheckFailed(outcome.failure)


def existing(path: str) -> str:
    """Return the path of something that exists; else the argument is wrong (code 2)."""
    if os.path.exists(path):  # noqa: PTH110  # never raises
        return path
    from privsieve.errors import ParameterError
    from privsieve.ledger.sql import served
    from privsieve.public.canonical import quoted

    if served(path):
        return path
    raise ParameterError(f"{quoted(path)} does not exist or cannot be read; check the path")


#: A path that must exist.
Existing = Annotated[str, "FILE", existing]


class VerbOption(click.Option):
    """An option with its group in the help, and a brief description for the short help."""

    group = USUAL
    rare = False
    brief = ""


class FileName(click.Path):
    """A path that a shell completes; whether it exists is not checked."""

    def convert(self, value: Any, _param: Any, _ctx: Any) -> str:
        """Return the text unchanged."""
        return str(value)


def _help_all(ctx: click.Context, _option: click.Parameter, value: bool) -> None:  # noqa: FBT001  # click's
    """Print the help with all options, and exit."""
    if value:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class Verb(click.Command):
    """A command with --json, options in groups, and one message for all missing options.

    instead : the command that runs if the arguments contain its first option
    """

    def __init__(self, name: str | None, *, params: list[click.Parameter] | None = None,
                 instead: click.Command | None = None, **options: Any) -> None:
        self.instead = instead
        super().__init__(name, params=[
            *(params or ()),
            click.Option(["--json", "as_json"], is_flag=True,
                         help="Print one JSON object for machines."),
            click.Option(["--help-all"], is_flag=True, is_eager=True, expose_value=False,
                         callback=_help_all, help="Show all options, also rarely needed ones."),
        ], **options)

    def make_context(self, info_name: str | None, args: list[str],
                     parent: click.Context | None = None, **extra: Any) -> click.Context:
        """Start a call, of the other command if the arguments contain its first option."""
        words = [word.partition("=")[0] for word in args]
        if self.instead is None or not set(words) & set(self.instead.params[0].opts):
            return super().make_context(info_name, args, parent, **extra)
        other, own = ({word for param in command.get_params(click.Context(command))
                       for word in param.opts} for command in (self.instead, self))
        wrong = [word for word in words if word in own - other]
        try:
            if not wrong:
                return self.instead.make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            if type(error) is not click.UsageError:  # too many arguments have no class of their own
                raise
            wrong = [_usage(self.params[0])]
        raise click.UsageError(f"{wrong[0]} cannot be combined with "
                               f"{self.instead.params[0].opts[0]}; leave it out", parent)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options by groups; rare ones only with --help-all."""
        groups: dict[str, list[tuple[str, str]]] = {}
        lists_all, switch = _ALL in ctx.meta, self.instead.params[:1] if self.instead else []
        for param in map(copy, [*self.get_params(ctx), *switch]):
            if isinstance(param, VerbOption):
                param.required &= param.name not in {each.name for each in switch}
                param.help = param.help if lists_all else param.brief or param.help
                if param.rare and not lists_all:
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
        """Parse the arguments; one message names all that is missing."""
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
            other = f"; or give {_usage(self.instead.params[0])}" if self.instead else ""
            raise click.UsageError(f"Missing: {', '.join(lacks)}{other}.", error.ctx) from None

    def missing(self, ctx: click.Context, values: Mapping[str, Any]) -> list[str]:
        """Return the required parameters without a value, as the help writes them."""
        return [_usage(param) for param in self.get_params(ctx) if param.required
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
        """Return the names in the order of their definitions."""
        del ctx
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, each with its whole first sentence."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(limit=1000))
                                for name, command in self.commands.items()])


def verb(example: str, *, name: str = "", group: click.Group | None = None,
         instead: click.Command | None = None,
         ) -> Callable[[Callable[..., Outcome | None]], click.Command]:
    """Make a command from a typed function; without a name it has the name of its module."""
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
    """Call a verb with its values, with options in the dataclasses that declare them."""
    del values["as_json"]
    options = {}
    for name, kind in kinds.items():
        declared = {each.name for each in fields(kind)}
        options[name] = {each: values.pop(each) for each in declared & values.keys()}
    of_methods = {each: values.pop(each) for each in set(values) - set(
        signature(function).parameters)}
    for name, kind in kinds.items():
        extra = {"of_method": of_methods} if hasattr(kind, "COMMAND") else {}
        values[name] = kind(**options[name], **extra)
    outcome = function(**values)
    if outcome is not None:
        # A caller that is no terminal takes the outcome itself.
        (click.get_current_context().obj or tell)(outcome)


def _parameters(function: Callable[..., Any]) -> tuple[list[click.Parameter], dict[str, Any]]:
    """Return the parameters of a command, and its dataclasses of options by name."""
    hints, texts = get_type_hints(function, include_extras=True), _words(function.__doc__)
    own: list[click.Parameter] = []
    kinds: dict[str, Any] = {}
    for each in signature(function).parameters.values():
        if is_dataclass(hints[each.name]):
            kinds[each.name] = hints[each.name]
            own += _fields(hints[each.name])
        elif each.kind is Parameter.KEYWORD_ONLY:
            default = MISSING if each.default is Parameter.empty else each.default
            own.append(_option(each.name, hints[each.name], default, texts[each.name]))
        else:
            own.append(_argument(each, hints[each.name]))
    return own, kinds


def _fields(kind: Any) -> Iterator[VerbOption]:
    """Yield an option for each field of a dataclass, in the group of the class that declares it."""
    hints = get_type_hints(kind, include_extras=True)
    defaults = {each.name: each.default for each in fields(kind)}
    texts: dict[str, tuple[str, str]] = {}
    for base in reversed(kind.__mro__[:-1]):
        title = cleandoc(base.__doc__).partition("\n")[0].rstrip(".")
        for name, words in _words(base.__doc__).items():
            texts[name] = texts.get(name, (title, ""))[0], words
    for name, (title, words) in texts.items():
        option = _option(name, hints[name], defaults[name], words)
        option.group = title
        yield option


def _words(text: str | None) -> dict[str, str]:
    """Return the descriptions of options in a docstring, as sentences."""
    return {name: sentence(" ".join(line.split())) for name, line in _LINE.findall(
        cleandoc(text or ""))}


def sentence(words: str) -> str:
    """Return a text as a sentence, with a capital letter and a full stop.

    >>> sentence("the ledger")
    'The ledger.'
    """
    return f"{words[0].upper()}{words[1:]}{'' if words.endswith('.') else '.'}"


def _unfolded(hint: Any) -> tuple[Any, list[Any]]:
    """Return a type without None, and its annotations."""
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
    """Return the click option of a keyword or field."""
    from privsieve.public.option import RARE

    kind, marks = _unfolded(hint)
    kind = int if int in marks else kind
    metavar = next((mark for mark in marks if isinstance(mark, str)), None)
    word = name.rstrip("_").replace("_", "-")
    attributes: dict[str, Any] = {"metavar": metavar}
    if kind is bool:
        attributes = {"is_flag": True}
    elif get_origin(kind) is Literal:
        attributes = {"type": click.Choice(get_args(kind))}
    elif kind is tuple:
        attributes["multiple"] = True
    elif get_origin(kind) is tuple:
        attributes["nargs"] = len(get_args(kind))
    elif kind is int:
        attributes |= {"type": int, "metavar": metavar or ("K" if word == "k" else "N")}
    if metavar in _PATHS:
        attributes["type"] = FileName()
    if not (default is MISSING or default is None or default is False or default == ()):
        attributes |= {"default": default, "show_default": default != ""}
    option = VerbOption(
        ["-k" if word == "k" else f"--{word}", name], help=words, required=default is MISSING,
        callback=_reader(marks), shell_complete=_completer(marks), **attributes)
    option.rare = RARE in marks and not option.required
    return option


def _argument(parameter: Parameter, hint: Any) -> click.Argument:
    """Return the click argument of a parameter."""
    kind, marks = _unfolded(hint)
    metavar = next((mark for mark in marks if isinstance(mark, str)), None)
    completer = _completer(marks)
    attributes: dict[str, Any] = {"nargs": -1, "metavar": metavar} if kind is tuple else {}
    return click.Argument(
        [parameter.name], required=parameter.default is Parameter.empty, callback=_reader(marks),
        shell_complete=completer, type=click.Choice(get_args(kind)) if get_origin(kind) is Literal
        else None if completer else FileName(), **attributes)


class Completed(NamedTuple):
    """Marks an option or argument whose values a shell completes."""

    offer: Callable[[], Iterable[str]]


def _completer(marks: Iterable[Any]) -> Callable[..., list[str]] | None:
    completed = next((mark for mark in marks if isinstance(mark, Completed)), None)
    if completed is None:
        return None
    return lambda _ctx, _param, prefix: [
        word for word in completed.offer() if word.startswith(prefix)]


def _reader(marks: Iterable[Any]) -> Callable[..., Any] | None:
    """Return the function that reads a value, if the annotations contain one."""
    read = next((mark for mark in marks if callable(mark) and mark is not int), None)
    if read is None:
        return None
    return lambda _ctx, _param, value: None if value is None else read(value)


def _usage(param: click.Parameter) -> str:
    """Return a parameter as the help writes it."""
    value = param.metavar or str(param.name).upper()
    if not isinstance(param, click.Option):
        return value
    return param.opts[0] if param.is_flag else f"{param.opts[0]} {value}"
