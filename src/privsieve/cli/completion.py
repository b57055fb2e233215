"""`privsieve completion`: what lets a shell complete verbs, options and files."""

from __future__ import annotations

import os
import sys
from pathlib import PurePath

import click

from privsieve.cli import words
from privsieve.cli.verb import Verb
from privsieve.errors import ParameterError

#: How each shell takes it, where it is to stay.
SHELLS = {
    "bash": 'eval "$(privsieve completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(privsieve completion zsh)" in ~/.zshrc, below compinit',
    "fish": "privsieve completion fish | source in ~/.config/fish/config.fish",
}


@click.command("completion", cls=Verb, epilog="Example: privsieve completion fish | source")
@click.argument("shell", type=click.Choice(list(SHELLS)), required=False)
def command(shell: str | None, as_json: bool) -> None:  # noqa: FBT001  # click gives it by name
    """Print what SHELL has to run so that TAB completes verbs, options and files.

    SHELL is bash, zsh or fish; left out, the one of $SHELL.
    """
    from click.shell_completion import get_completion_class

    from privsieve.cli import verbs

    name = shell or PurePath(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise ParameterError("the shell is not known; say which: privsieve completion bash, zsh or "
                             "fish")
    kind = get_completion_class(name)
    assert kind is not None  # click has all of them
    script = kind(verbs, {}, "privsieve", "_PRIVSIEVE_COMPLETE").source()
    if as_json:
        words.json({"shell": name, "script": script, "where": SHELLS[name]})
    else:
        click.echo(script, nl=False)
    if sys.stdout.isatty():  # and not each time that a shell starts
        words.say("to stay", SHELLS[name])
