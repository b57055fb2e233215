"""The command line: results to stdout, words to stderr, one sentence and a code for a refusal.

A verb is a file, imported when it runs: help and completion cost no more than click.
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
    "demo": "Watch it work on a made-up hospital table.",
    "domain": "Draft a domain file from the schema of a table.",
    "inspect": "PRIVATE: look at a table with its domain, for the holder's eyes.",
    "plan": "Say cost, noise and forecast of a release; reads no row.",
    "select": "Choose columns under differential privacy, once.",
    "regress": "Fit a least-squares model under differential privacy, once.",
    "recover": "Finish a release whose program died or failed after the charge.",
    "predict": "PRIVATE: predict rows from such a model; free.",
    "synthesize": "Release a noisy table of counts, and make synthetic rows of it.",
    "check": "PRIVATE: measure how well the rows of a table hide.",
    "publish": "Choose columns that may be published (k-anonymity by containment).",
    "ledger": "Grant a budget, or show what is left of it.",
    "key": "Make a key that signs, or show its public half.",
    "sign": "Sign a release folder, or a plan before anybody looks.",
    "verify": "Check a release folder: certificate, page, rows, table, signatures, ledger entry.",
    "audit": "Attack a method on two made-up tables that are hard on it.",
    "report": "Make the HTML page of a release again.",
    "doctor": "Say what this installation has and what it lacks.",
    "explore": "PRIVATE: write a page of what each k costs, to choose it.",
    "union": "Measure what published folders tell together, without a ledger.",
    "bridge": "PRIVATE: write a table for sdcMicro or ARX.",
    "export": "Write a release as a registry entry, a label, for a viewer, or to be signed.",
}

INTERRUPTED = 130
#: What a shell makes of SIGPIPE, of which other tools die.
CLOSED = 141
#: A word of a refusal that no screen holds: somebody gave a number of 5,000 digits.
_LONG = r"\S{400,}"


class Verbs(VerbGroup):
    """A group whose verbs are imported when they run."""

    def resolve_command(self, ctx: click.Context, args: list[str],
                        ) -> tuple[str | None, click.Command | None, list[str]]:
        """Import the verb that the words name."""
        name, found, rest = super().resolve_command(ctx, args)
        if name is not None and found is not None:
            found = (load("verb", name) if name in ENTRIES["verb"]
                     else import_module(f"privsieve.cli.{name}").command)
        return name, found, rest


def _version(ctx: click.Context, _option: click.Parameter, asked: bool) -> None:  # noqa: FBT001  # click's signature
    if asked and not ctx.resilient_parsing:
        from privsieve._version import __version__
        from privsieve.kernels import implementation

        click.echo(f"privsieve {__version__} (kernels: {implementation()})")
        ctx.exit()


verbs = Verbs(
    "privsieve",
    commands={name: click.Command(name, short_help=said) for name, said in VERBS.items()},
    help="Choose the columns of a sensitive table that may be shared, and say truthfully what "
         "the choice gives away.",
    epilog="Begin with: privsieve demo",
    params=[click.Option(["--version"], is_flag=True, is_eager=True, expose_value=False,
                         callback=_version, help="Say the version and the kernels in use.")],
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run(args: Sequence[str] | None = None) -> int:
    """Run one command; the exit code.  Whatever goes wrong is one sentence on stderr.

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
    except BaseException as error:  # noqa: BLE001  # its text could speak of rows; its type does not
        # Where a pipe breaks click puts a stdout of its own in the place of ours.
        gone = type(sys.stdout).__module__.startswith("click.")
        if isinstance(error, SystemExit) and (gone or "_PRIVSIEVE_COMPLETE" in os.environ):
            # Click's: nobody reads what is printed; or a shell learned what it may complete.
            code = CLOSED if gone or error.code else 0
        else:
            if os.environ.get("PRIVSIEVE_DEBUG"):
                sys.excepthook(type(error), error, error.__traceback__)
            code = _refuse(f"internal error ({type(error).__name__})", 1, color)
    return code if isinstance(code, int) else 0


def _refuse(text: str, code: int, color: bool | None) -> int:  # noqa: FBT001  # None is click's "as the terminal is"
    from privsieve.public.canonical import visible

    short = re.sub(_LONG, lambda word: f"{word[0][:60]}…", text)
    lines = visible(f"privsieve: {short}").split("\n")
    # For a person words and lines are kept whole; for a program it is one line.
    text = "\n".join(fill(line, 79, subsequent_indent="  ", break_on_hyphens=False)
                     for line in lines) if sys.stderr.isatty() else " ".join(lines)
    name, _, rest = text.partition(" ")
    try:
        click.echo(f"{click.style(name, fg='red', bold=True)} {rest}", err=True, color=color)
    except BrokenPipeError:  # nobody reads it: Python need not try again as it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    return code


def _usage(error: click.ClickException) -> str:
    """Click's words in one line, and where help is."""
    text = " ".join(error.format_message().split())
    ctx = getattr(error, "ctx", None)
    where = ctx.command_path if ctx is not None else "privsieve"
    return f"{text} (help: {where} --help)"
