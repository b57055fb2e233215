"""`privsieve domain`: draft a domain file from names and types, or (private) from rows."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from privsieve.cli import words
from privsieve.cli.options import TWO_UNITS, refuse
from privsieve.cli.private import PRIVATE, kept
from privsieve.cli.verb import tell, verb
from privsieve.entries import load
from privsieve.public.canonical import Json
from privsieve.public.domain import Csv
from privsieve.public.domain_file import to_toml
from privsieve.public.draft import UNKNOWN, Proposal, TableFacts, describe_columns, draft
from privsieve.public.option import Column, File, Name, Names
from privsieve.rows.drafting import propose_columns
from privsieve.rows.source import TEXT_FILES, open_source
from privsieve.rows.written import looked_at, recognised

_CSV = ("delimiter", "decimal", "encoding")


@dataclass(frozen=True, kw_only=True)
class TargetOptions:
    """Target and unit.

    target : the column to predict
    classes : the classes of the target, if it has classes
    numeric_target : the target is a number; it has no classes
    unit : what is protected
    person : the column that identifies the person; default: a column with a name like an id
    rows_per_person : the most rows of one person that are used
    persons : the approximate number of people in the table, a public figure
    """

    target: Column | None = None
    classes: Names | None = None
    numeric_target: bool = False
    unit: Literal["row", "person"] | None = None
    person: Column | None = None
    rows_per_person: Annotated[int | None, "G"] = None
    persons: int | None = None

    def facts(self, csv: Csv) -> TableFacts:
        """Return the facts about the table for a draft."""
        refuse(self.unit == "row" and self.person, TWO_UNITS)
        refuse((self.classes or self.numeric_target) and not self.target,
               "--classes and --numeric-target describe --target; name it")
        refuse(self.classes and self.numeric_target,
               "--classes and --numeric-target exclude each other; give one of them")
        classes = [name.strip() for name in (self.classes or "").split(",") if name.strip()]
        return TableFacts(self.target, tuple(classes), self.unit, self.person,
                          self.rows_per_person, self.persons, csv,
                          numeric=self.numeric_target)


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """How the file is written and read.

    look : PRIVATE: read the rows, too, and write their values after `seen =`.  The draft is
        refused until you replace these lines by facts from a code book
    numbers : read a column of a CSV file as numbers if its name does not reveal its kind
    levels : for a table that another tool has generalised: list the values in its rows
    no_header : the first line is a row; columns are called c1, c2, ...
    csv_delimiter : the character between fields; default: as in the first line
    csv_decimal : the decimal mark; default: a comma if semicolons separate the fields
    csv_encoding : the encoding, for example cp1252; default: as in the first line
    """

    look: bool = False
    numbers: bool = False
    levels: bool = False
    no_header: bool = False
    csv_delimiter: Annotated[str | None, "C"] = None
    csv_decimal: Literal[".", ","] | None = None
    csv_encoding: Name | None = None


@verb("patients.csv --target readmitted --classes 0,1 --unit row --out domain.toml")
def command(data: str, public: TargetOptions, file: FileOptions, *, code_book: File | None = None,
            out: File | None = None) -> None:
    """Draft a domain file for DATA from column names and types; --look also reads rows.

    Comments out each column that needs a fact from a code book, with the reason.

    code_book : public facts about the columns: a CSV file or Excel sheet of names, kinds, values
        and bounds; an SPSS, Stata or SAS file; a Frictionless schema
    out : write the draft here; the file must not exist
    """
    public.facts(Csv())  # refused before the file is opened
    refuse(file.look and out is None and not sys.stdout.isatty(),
           "the output of --look is private, but stdout is not a terminal; write it to a private "
           "file with --out FILE")
    csv = _csv(Path(data), file)
    facts = public.facts(csv)
    if file.levels:
        levels = load("source", "levels")(Path(data), csv)
        text = to_toml(levels)
        entries = [Proposal(column.name, column.kind) for column in levels.columns]
    else:
        source, book = open_source(data, csv=csv), None
        if code_book is not None:
            book = load("source", "code-book")(code_book, source.columns)
            words.say("code book", f"{len(book)} of {len(source.columns)} columns are in it")
        entries, facts = propose_columns(source, facts, book=book, look=file.look,
                                         numbers=file.numbers)
        text = draft(entries, facts, private=file.look)
    # What a look finds in the rows goes to a terminal or to the private file, and nowhere else.
    draft_facts: dict[str, Json] = {} if file.look and out is not None else {
        "draft": text, "columns": describe_columns(entries, facts)}
    tell(kept(text, draft_facts, out, mode=0o600 if file.look else 0o666, note=PRIVATE * file.look))
    if unknown := sum(entry.why == UNKNOWN and entry.name not in (facts.target, facts.person)
                      for entry in entries):
        words.say("no kind", f"{unknown} of {len(entries)} columns have names that hide their "
                             "kind, and are commented out; --numbers reads them as numbers")
    words.say("next", _next(text, look=file.look, levels=file.levels))


def _csv(path: Path, file: FileOptions) -> Csv:
    """Return how the file is written: by the options, else by its first line or a look."""
    if path.suffix.lower() not in TEXT_FILES:
        return Csv()
    options = {key: value.replace("\\t", "\t") for key in _CSV
             if (value := getattr(file, f"csv_{key}")) is not None}
    csv = recognised(path)
    if "delimiter" in options or file.levels:  # levels are texts
        csv = replace(csv, decimal="," if options.get("delimiter") == ";" else ".")
    csv = replace(csv, **options, header=not file.no_header)
    if file.look:  # its answer goes into the private draft alone
        return replace(looked_at(path, csv), **options)
    sign = {"\t": "a tab"}.get(csv.delimiter, f"'{csv.delimiter}'")
    hint = ("; if this is wrong, add --csv-encoding, --csv-decimal or --csv-delimiter"
            if len(options) < len(_CSV) else "")
    words.say("file", f"fields separated by {sign}, decimals by '{csv.decimal}', letters "
                      f"{csv.encoding}, {'a header' if csv.header else 'no header'}{hint}")
    return csv


def _next(draft: str, *, look: bool, levels: bool) -> str:
    """Say what to do with the draft."""
    if levels:
        return ("its levels come from the rows: set the role of each column, and remove the "
                "columns that you do not publish")
    if look:
        return ("replace each `seen` by a public fact from a code book; then remove `private`, "
                "and inspect the table with this file")
    blanks = sum("<-" in line and not line.startswith("# #") for line in
                draft.partition("# Set aside")[0].split("\n"))
    return (f"fill in each `<-` ({blanks}) from a code book, never from this table; then plan"
            if blanks else "inspect the table with this file, then plan")
