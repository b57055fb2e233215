"""`privsieve inspect`: the one verb that speaks of rows, to the holder of the table alone."""

from __future__ import annotations

import sys

import click

from privsieve.cli import words
from privsieve.cli.private import new_file
from privsieve.cli.verb import Verb
from privsieve.errors import ParameterError
from privsieve.public.canonical import visible


@click.command("inspect", cls=Verb,
               epilog="Example: privsieve inspect patients.csv --domain domain.toml")
@click.argument("data")
@click.option("--domain", "domain_file", metavar="FILE", required=True, help="The domain file.")
@click.option("--private-output", metavar="FILE",
              help="Write into this new file (only its owner may read it) instead of the terminal.")
def command(data: str, domain_file: str, private_output: str | None,
            as_json: bool) -> None:  # noqa: FBT001  # click gives it by name
    """Look at DATA with its domain: what is missing, odd, out of bounds or unlisted, and fixes.

    The only verb that speaks of rows.  It spends nothing, writes to a terminal only, and what it
    shows is not to be shared.
    """
    from privsieve.public.domain import Domain
    from privsieve.rows.inspect import inspect

    if private_output is None and not sys.stdout.isatty():
        raise ParameterError("what inspect shows is private and stdout is not a terminal; "
                             "give --private-output FILE to keep it in a file")
    first, *rest = inspect(data, Domain.from_toml(domain_file)).lines()
    if as_json:
        first, rest = words.document({"private": first, "lines": [*rest]}), []
    if private_output is None:
        if as_json:
            click.echo(first)
            return
        click.secho(first, fg="red", bold=True)
        click.echo(visible("\n".join(rest)))
        return
    with new_file(private_output, "of --private-output") as file:
        file.write("\n".join([first, *rest, ""]).encode())
    words.say("written", f"{private_output} (private: only its owner may read it)")
