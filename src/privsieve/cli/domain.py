"""`privsieve domain`: a draft of the domain file, from names and types; with a look, private."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from privsieve.cli import words
from privsieve.cli.options import PERSONS, TWO_UNITS, asking, refuse
from privsieve.cli.private import PRIVATE, result
from privsieve.cli.verb import Verb
from privsieve.entries import load
from privsieve.public.domain import Csv
from privsieve.public.domain_file import to_toml
from privsieve.public.draft import TableFacts
from privsieve.rows.drafting import drafted
from privsieve.rows.source import TEXT_FILES, open_source
from privsieve.rows.written import looked_at, recognised

_CSV = ("delimiter", "decimal", "encoding")


@click.command("domain", cls=Verb, epilog=(
    "Example: privsieve domain patients.csv --target readmitted --classes 0,1 --unit row "
    "--out domain.toml"))
@click.argument("data")
@click.option("--out", metavar="FILE", help="Write the draft here; the file must not exist.")
@click.option("--target", metavar="COLUMN", help="What the columns are to predict.")
@click.option("--classes", metavar="A,B,...",
              help="The classes of the target, where it has some.")
@click.option("--unit", type=click.Choice(["row", "person"]), help="What is protected.")
@click.option("--person", metavar="COLUMN",
              help="The column that says whose row it is; left out, the one that is named like an "
                   "identifier, with --unit person.")
@asking(*PERSONS)
@click.option("--code-book", metavar="FILE",
              help="What is public about the columns: a CSV file or Excel sheet of names, kinds, "
                   "values and bounds; an SPSS, Stata or SAS file; a Frictionless schema.")
@click.option("--look", is_flag=True,
              help="PRIVATE: look at the rows, too.  The draft is refused until a public fact "
                   "stands in the place of each `seen`.")
@click.option("--levels", is_flag=True,
              help="DATA was generalised by another tool: list the levels in it, from its rows.")
@click.option("--no-header", is_flag=True,
              help="The first line is a row; columns are called c1, c2, ...")
@click.option("--csv-delimiter", metavar="C",
              help="What parts the fields; told from the first line where left out.")
@click.option("--csv-decimal", type=click.Choice([".", ","]),
              help="What parts the decimals; where left out, a comma goes with a semicolon.")
@click.option("--csv-encoding", metavar="NAME",
              help="How letters are stored, for example cp1252; told from the first line where "
                   "left out.")
def command(data: str, **options: Any) -> None:
    """Draft a domain file for DATA from names and types, and no row.

    What needs a fact that nobody said is set aside, with the reason and what to write; a plan takes
    the rest as it is.
    """
    _check(options)
    path, levels, look = Path(data), options["levels"], options["look"]
    csv = _csv(path, options)
    draft = to_toml(load("source", "levels")(path, csv)) if levels else _draft(path, csv, options)
    result(draft, {"draft": draft}, options, mode=0o600 if look else 0o666, note=PRIVATE * look)
    words.say("next", _next(draft, look=look, levels=levels))


def _check(options: dict[str, Any]) -> None:
    refuse(options["unit"] == "row" and options["person"], TWO_UNITS)
    refuse(options["classes"] and not options["target"], "--classes are those of --target; name it")
    refuse(options["look"] and options["out"] is None and not sys.stdout.isatty(),
           "what --look shows is private and stdout is not a terminal; give --out FILE to keep it "
           "in a file")


def _csv(path: Path, options: dict[str, Any]) -> Csv:
    """How the file is written: as the options say, else as its first line does, or a look."""
    if path.suffix.lower() not in TEXT_FILES:
        return Csv()
    given = {key: options[f"csv_{key}"].replace("\\t", "\t") for key in _CSV
             if options[f"csv_{key}"] is not None}
    found = recognised(path)
    if "delimiter" in given or options["levels"]:  # levels are texts
        found = replace(found, decimal="," if given.get("delimiter") == ";" else ".")
    csv = replace(found, **given, header=not options["no_header"])
    if options["look"]:  # what it finds is said in the private draft alone
        return replace(looked_at(path, csv), **given)
    sign = {"\t": "a tab"}.get(csv.delimiter, f"'{csv.delimiter}'")
    more = ("; say so if not: --csv-encoding, --csv-decimal, --csv-delimiter"
            if len(given) < len(_CSV) else "")
    words.say("file", f"fields parted by {sign}, decimals by '{csv.decimal}', letters "
                      f"{csv.encoding}, {'a header' if csv.header else 'no header'}{more}")
    return csv


def _draft(path: Path, csv: Csv, options: dict[str, Any]) -> str:
    """What names, types and a code book say; with a look, what the rows hold."""
    source, book = open_source(path, csv=csv), None
    if options["code_book"] is not None:
        book = load("source", "code-book")(options["code_book"], source.columns)
        words.say("code book", f"{len(book)} of {len(source.columns)} columns are in it")
    return drafted(source, _facts(csv, options), book=book, look=options["look"])


def _facts(csv: Csv, options: dict[str, Any]) -> TableFacts:
    classes = [one.strip() for one in (options["classes"] or "").split(",") if one.strip()]
    named = {key: options[key] for key in ("target", "unit", "person", "rows_per_person",
                                           "persons")}
    return TableFacts(classes=tuple(classes), csv=csv, **named)


def _next(draft: str, *, look: bool, levels: bool) -> str:
    """What is to be done with the draft."""
    if levels:
        return ("its levels come from the rows: say who may know them, and take away the columns "
                "that you do not publish")
    if look:
        return ("put a public fact, from a code book, in the place of each `seen`; then take "
                "`private` away, and inspect the table with it")
    asked = sum("<-" in line and not line.startswith("# #") for line in
                draft.partition("# Set aside")[0].split("\n"))
    return (f"fill in each `<-` ({asked}) from a code book, never from this table; then plan"
            if asked else "nothing has to be filled in: inspect the table with it, then plan")
