"""`privsieve domain`: a draft of the domain file, from names and types alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from privsieve.cli import words
from privsieve.cli.private import new_file
from privsieve.cli.verb import Verb
from privsieve.errors import SchemaError
from privsieve.public.domain import Csv, Domain, to_toml

#: What may part the fields of a header line, the likeliest first.
DELIMITERS = (",", ";", "\t", "|")
_HEADER_BYTES = 2**16


@click.command("domain", cls=Verb,
               epilog="Example: privsieve domain patients.csv --out domain.toml")
@click.argument("data")
@click.option("--out", metavar="FILE", help="Write the draft here; the file must not exist.")
@click.option("--levels", is_flag=True,
              help="DATA was generalised by another tool: list the levels in it, from its rows.")
@click.option("--csv-delimiter", metavar="C",
              help="What parts the fields; guessed from the header line where left out.")
@click.option("--csv-decimal", type=click.Choice([".", ","]), default=".", show_default=True,
              help="What parts the decimals.")
@click.option("--csv-encoding", metavar="NAME", default="utf-8", show_default=True,
              help="How letters are stored, for example cp1252.")
def command(data: str, out: str | None, csv_delimiter: str | None, **options: Any) -> None:
    """Draft a domain file from the schema of DATA: names and types, and no row.

    What is missing in the draft is for you to fill in from a code book.
    """
    path, levels = Path(data), options["levels"]
    text = path.suffix.lower() not in (".parquet", ".pq")
    delimiter = (csv_delimiter or (guess(_header(path)) if text else ",")).replace("\\t", "\t")
    csv = Csv(delimiter=delimiter, decimal=options["csv_decimal"],
              encoding=options["csv_encoding"])
    if levels:
        from privsieve.bridges.back import generalised

        draft = to_toml(generalised(path, csv))
    else:
        draft = _draft(path, csv)
    if out is not None:
        with new_file(out, "of --out", 0o666) as file:
            file.write(draft.encode())
        words.say("written", out)
    if options["as_json"]:
        words.json({"draft": draft, "written": out})
    elif out is None:
        click.echo(draft, nl=False)
    words.say("next", "its levels come from the rows: say who may know them, and take away the "
                      "columns that you do not publish" if levels else
                      "fill in each `<-`: bounds and values from a code book, never from this "
                      "table; then [target] and the unit")


def _draft(path: Path, csv: Csv) -> str:
    """What the header says."""
    from json import dumps  # a TOML string is a JSON string

    from privsieve.rows import open_source

    draft = Domain.draft(open_source(path, csv=csv))
    written = (f"csv = {{ delimiter = {dumps(csv.delimiter)}, decimal = {dumps(csv.decimal)}, "
               f"encoding = {dumps(csv.encoding)} }}\n" if csv != Csv() else "")
    return draft.replace("[table]\n", f"[table]\n{written}", 1)


def guess(header: str) -> str:
    """The character that parts most fields of a header line.

    >>> guess("age;sex;ward"), guess("age")
    (';', ',')
    """
    return max(DELIMITERS, key=header.count)


def _header(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.readline(_HEADER_BYTES).decode("latin-1")
    except (OSError, ValueError):
        raise SchemaError("the data file does not exist, or cannot be read; check the "
                          "path") from None
