"""The command line: results go to stdout, notes to stderr; a refusal is one sentence and a code.

Each verb is a file that is imported only when it runs, so help and completion start fast.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from textwrap import fill

import click

from privsieve.cli.verb import VerbGroup
from privsieve.entries import ENTRIES, load
from privsieve.errors import PrivsieveError

#: Each verb and its line of help; `privsieve.cli.<verb>` or `privsieve.entries` has its command.
VERBS = {
    "demo": "Show a complete example with a made-up hospital table.",
    "start": "Ask at most ten questions, write a domain file and show a plan.",
    "domain": "Draft a domain file from the column names and types of a table.",
    "inspect": "PRIVATE: compare a table with its domain file.",
    "plan": "Show the cost, noise and forecast of a release, without reading rows.",
    "select": "Choose columns under differential privacy.",
    "regress": "Fit a least-squares model under differential privacy.",
    "recover": "Finish a release that was charged and interrupted.",
    "predict": "PRIVATE: predict rows from a released model, at no cost.",
    "synthesize": "Release a noisy table of counts, and make synthetic rows from it.",
    "check": "PRIVATE: measure the k-anonymity of a table.",
    "publish": "Choose columns that may be published (k-anonymity by containment).",
    "ledger": "Grant a budget, or show how much of it is left.",
    "key": "Make a signing key, or show its public half.",
    "sign": "Sign a release folder, or a plan before the release.",
    "verify": "Check a release: certificate, page, rows, table, signatures, ledger entry.",
    "audit": "Test a method: try to distinguish two made-up tables by its output.",
    "report": "Write the HTML page of a release again.",
    "doctor": "Show what this installation has and what it lacks.",
    "desk": "Open pages in your browser that do the same as these commands.",
    "explore": "PRIVATE: write a page of the cost of each k.",
    "union": "Measure what several published folders reveal together.",
    "bridge": "PRIVATE: write a table for sdcMicro or ARX.",
    "export": "Write a release as a registry entry, label, catalogue entry or form to sign.",
    "tools": "List or call the tools for AI agents, which read no rows.",
}

INTERRUPTED = 130
#: The exit code that a shell reports for a program that SIGPIPE ended.
CLOSED = 141
#: A word that is too long for a screen, such as a number of 5,000 digits.
_LONG = r"\S{400,}"


class Verbs(VerbGroup):
    """A group whose verbs are imported when they run."""

    def resolve_command(self, ctx: click.Context, args: list[str],
                        ) -> tuple[str | None, click.Command | None, list[str]]:
        """Import the verb that the arguments name."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and command is not None:
            command = (load("verb", name) if name in ENTRIES["verb"]
                       else import_module(f"privsieve.cli.{name}").command)
        return name, command, rest


def _version(ctx: click.Context, _option: click.Parameter, is_set: bool) -> None:  # noqa: FBT001  # click's signature
    if is_set and not ctx.resilient_parsing:
        from privsieve._version import __version__
        from privsieve.kernels import implementation

        click.echo(f"privsieve {__version__} (kernels: {implementation()})")
        ctx.exit()


verbs = Verbs(
    "privsieve",
    commands={name: click.Command(name, short_help=text) for name, text in VERBS.items()},
    help="Choose the columns of a sensitive table that may be shared, and state what the choice "
         "reveals.",
    epilog="Start with: privsieve demo; with your own table: privsieve start FILE",
    params=[click.Option(["--version"], is_flag=True, is_eager=True, expose_value=False,
                         callback=_version, help="Show the version and the kernels in use.")],
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run(args: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; an error is one sentence on stderr.

    >>> run(["plan", "--rows", "100", "--domain", "no-such.toml", "--epsilon", "1", "--top", "1"])
    2
    """
    color = False if os.environ.get("NO_COLOR") else None
    try:
        code = verbs.main(args, "privsieve", standalone_mode=False, color=color)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return error.exit_code
    except click.ClickException as error:
        return _refuse(_usage(error), error.exit_code, color)
    except click.Abort:
        return _refuse("interrupted; nothing was charged", INTERRUPTED, color)
    except PrivsieveError as error:
        return _refuse(str(error), error.exit_code, color)
    except BaseException as error:  # noqa: BLE001  # its text could contain rows; its type does not
        # When a pipe breaks, click replaces stdout by a stream of its own.
        closed = type(sys.stdout).__module__.startswith("click.")
        if isinstance(error, SystemExit) and (closed or "_PRIVSIEVE_COMPLETE" in os.environ):
            # The reader of the pipe has gone, or a shell asked for completions.
            code = CLOSED if closed or error.code else 0
        else:
            if os.environ.get("PRIVSIEVE_DEBUG"):
                sys.excepthook(type(error), error, error.__traceback__)
            code = _refuse(f"internal error ({type(error).__name__})", 1, color)
    return code if isinstance(code, int) else 0


def _refuse(text: str, code: int, color: bool | None) -> int:  # noqa: FBT001  # None is click's "as the terminal is"
    from privsieve.public.canonical import visible

    short = re.sub(_LONG, lambda word: f"{word[0][:60]}…", text)
    lines = visible(f"privsieve: {short}").split("\n")
    # A terminal gets wrapped lines; a program gets one line.
    text = "\n".join(fill(line, 79, subsequent_indent="  ", break_on_hyphens=False)
                     for line in lines) if sys.stderr.isatty() else " ".join(lines)
    name, _, rest = text.partition(" ")
    try:
        click.echo(f"{click.style(name, fg='red', bold=True)} {rest}", err=True, color=color)
    except BrokenPipeError:  # no reader: Python must not try again when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    return code


def _usage(error: click.ClickException) -> str:
    """Return click's message in one line, with the command that shows help."""
    text = " ".join(error.format_message().split())
    ctx = getattr(error, "ctx", None)
    where = ctx.command_path if ctx is not None else "privsieve"
    return f"{text} (help: {where} --help)"
