"""Draft: a domain file for a table, proposed from names and types, without values of the rows.

Columns that need only a kind are declared.  Other columns are commented out, with the reason and
what to write: identifiers, free text, and columns that lack a public fact, such as the range of a
date or the values of a category.  The draft is a valid domain, unless its target lacks its classes.

Facts from a code book are copied.  Values from the rows are written as `seen`, which is private: no
plan accepts a draft with `seen`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from privsieve.errors import DomainError, SchemaError
from privsieve.public.blocks import written
from privsieve.public.canonical import Json, hidden, is_whole, near, plain
from privsieve.public.domain import Csv

#: Why a column is commented out.
ID = ("named like identifiers, which do not predict; if a column identifies people, write it as "
      "person in [table]")
TEXT = "named like free text, which cannot be compared; derive a column from the text"
UNREADABLE = "of a type that cannot be read"
UNKNOWN = ("with names that do not reveal their kind: for numbers remove the # (or draft with "
           "--numbers); for others also write their kind")
_DATE = "dates without bounds: write low and high, then remove the #"
_VALUES = "categories without values: list them, then remove the #"
#: The keys that a kind needs, with the text that asks for each.
_NEEDED = {
    "date": {"low": "<- fill in: a date such as 2020-01-01", "high": "<- fill in"},
    "category": {"values": '<- fill in: every value, for example ["A", "B"]'},
    "label": {"values": "<- fill in: every class, for example [0, 1]; "
                        'or kind = "number", for a number'},
}

_PROPOSED = (
    "# Public facts about the table, from names, types and code books; rows were not read.",
    "# Correct them with a code book or the study's plan, never with values of this table.")
_BY_DTYPE = (
    "# Values of categories come from the column types of a frame.  The author of this draft",
    "# declared them public.  Remove each value that only the table knows.")
_PRIVATE = (
    "# PRIVATE: this draft contains values from some thousand rows.  Do not share it.",
    "# Replace each `seen` by the public fact in a code book or in the study's plan, and",
    "# remove the line; then remove `private`.")
_NUMBERS = (
    "# Numbers by default: `privsieve inspect` counts the cells that are not numbers.",
    "# RuleSieve needs no bounds; methods that compute with numbers need low and high.")

#: Words of column names, in English and German, that reveal the kind of a column.
_IDS = frozenset(("id", "ids", "uuid", "guid", "mrn", "ssn", "patient", "nr", "kennung",
                  "pseudonym"))
_PEOPLE = ("patient", "patienten", "subject", "person", "participant", "respondent", "customer",
           "client", "member", "user", "employee", "student", "case", "fall", "record")
_JOINED_ID = rf"(?:{'|'.join(_PEOPLE)})s?(?:id|no|nr|num|number|nummer|code|key)"
_DATES = frozenset(("date", "datum", "dob", "timestamp", "datetime"))
_NO_DATES = ("update", "candidate", "mandate", "validate")
_TEXTS = frozenset((
    "name", "names", "firstname", "lastname", "surname", "vorname", "nachname", "email", "mail",
    "phone", "telephone", "telefon", "address", "adresse", "street", "strasse", "straße", "url",
    "comment", "comments", "kommentar", "note", "notes", "notiz", "remark", "remarks", "bemerkung",
    "freitext", "freetext", "text", "description", "beschreibung"))
_CATEGORIES = frozenset((
    "sex", "gender", "geschlecht", "ward", "station", "department", "abteilung", "klinik", "city",
    "ort", "stadt", "country", "land", "region", "state", "bundesland", "county", "race",
    "ethnicity", "religion", "nationality", "marital", "familienstand", "education", "bildung",
    "occupation", "profession", "beruf", "job", "type", "typ", "category", "kategorie", "group",
    "gruppe", "status", "diagnosis", "diagnose", "icd", "insurance", "versicherung", "color",
    "colour", "farbe", "zip", "plz", "postcode", "language", "sprache", "workclass"))
#: Words for yes and no beside those that flags always know.
YES, NO = frozenset(("ja", "oui", "si", "sí", "tak", "sim")), frozenset(
    ("nein", "non", "nie", "nej", "não"))
#: Words of names of numbers; a single letter is one, too.
_MEASURES = frozenset((
    "age", "alter", "height", "größe", "weight", "gewicht", "size", "bmi", "crp", "hb",
    "hemoglobin", "hämoglobin", "sodium", "natrium", "potassium", "kalium", "creatinine",
    "kreatinin", "glucose", "glukose", "albumin", "cholesterol", "pulse", "puls", "temperature",
    "temp", "pressure", "druck", "blutdruck", "dose", "dosis", "pain", "schmerz", "lab", "gene",
    "count", "num", "number", "anzahl", "zahl", "score", "punkte", "points", "index", "item",
    "question", "frage", "var", "feature", "value", "wert", "mean", "avg", "median", "mittel",
    "min", "max", "sum", "total", "std", "error", "worst", "rate", "ratio", "percent", "share",
    "income", "einkommen", "salary", "gehalt", "price", "cost", "costs", "kosten", "amount",
    "distance", "length", "länge", "width", "area", "volume", "radius", "duration", "dauer",
    "stay", "time", "days", "tage", "hours", "stunden", "months", "years", "kg", "cm", "mm", "mg",
    "ml"))
_ASKING = frozenset(("is", "has", "had", "ist", "hat", "hatte"))
_YEARS = frozenset(("year", "jahr", "yob", "birthyear"))
_PARTS = r"[^\W\d_]+"
_CAMEL = r"(?<=[a-zäöüß])(?=[A-ZÄÖÜ])"


@dataclass(frozen=True, repr=False)
class Proposal:
    """The proposed declaration of one column.

    facts : keys of the domain file, beside name and kind.
    why : why the column is commented out; "" if it is not.
    seen : PRIVATE: values from the rows; None if rows were not read.
    says : the description in a code book.
    """

    name: str
    kind: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""
    seen: tuple[Any, ...] | None = None
    says: str = ""

    @property
    def open(self) -> dict[str, str]:
        """Return the missing keys, each with the text that asks for it."""
        needed = _NEEDED.get(self.kind, {})
        return {key: blank for key, blank in needed.items() if key not in self.facts}

    @property
    def aside(self) -> str:
        """Return why the column is commented out; "" if it is not."""
        if self.why or not self.open or self.seen is not None:
            return self.why
        return _DATE if self.kind == "date" else _VALUES


@dataclass(frozen=True)
class TableFacts:
    """The public facts about a table beside its columns.

    unit : "row", "person" or None, if it is not declared.
    classes : the classes of the target, if it has some.
    by_dtype : whether values of categories come from the types of a frame's columns.
    numeric : whether the target is a number.
    """

    target: str | None = None
    classes: tuple[str, ...] = ()
    unit: str | None = None
    person: str | None = None
    rows_per_person: int | None = None
    persons: int | None = None
    csv: Csv = field(default_factory=Csv)
    by_dtype: bool = False
    numeric: bool = False
    #: The same with what a look found in cells.  PRIVATE.
    seen: Csv | None = None


def proposed(name: str, kind: str) -> Proposal:
    """Propose a declaration from a name and a type; "other" means that the file has no types.

    >>> [proposed(name, "other").kind for name in ("crp", "birth_year", "isSmoker", "ward")]
    ['number', 'number', 'flag', 'category']
    >>> proposed("patient_id", "number").aside == ID, proposed("Aufnahmedatum", "other").kind
    (True, 'date')
    """
    words = [word.casefold() for word in re.findall(_PARTS, re.sub(_CAMEL, " ", name))]
    if kind == "unreadable":
        return Proposal(name, "", why=UNREADABLE)
    why = "" if kind == "date" else _not_used(words, kind)
    if why:
        return Proposal(name, "", why=why)
    guess = kind if kind in ("date", "flag", "number") else _kind(words, kind)
    if guess != "number":
        return Proposal(name, guess)
    facts = _near(words)
    is_known = (kind == "number" or bool(facts) or not _MEASURES.isdisjoint(words)
                or max(map(len, words), default=0) < 2)
    return Proposal(name, guess, facts, "" if is_known else UNKNOWN)


def _not_used(words: Sequence[str], kind: str) -> str:
    """Return why a column of this name should not be used; "" if it may be."""
    last = words[-1] if words else ""
    if last in _IDS or last.endswith("nummer") or re.fullmatch(_JOINED_ID, "".join(words)):
        return ID
    return TEXT if kind in ("text", "other") and _TEXTS & set(words) else ""


def _kind(words: Sequence[str], kind: str) -> str:
    """Guess the kind of a column from its name; without types the default is a number."""
    if kind == "text" or _CATEGORIES & set(words):
        return "category"
    if any(map(_is_date, words)) or (words[-1:] == ["at"] and len(words) > 1):
        return "date"
    return "flag" if words and words[0] in _ASKING else "number"


def draft(entries: Sequence[Proposal], facts: TableFacts, *, private: bool = False) -> str:
    """Return the text of a domain file: table, blocks of columns, target, and other columns.

    private : whether rows were read.

    >>> print(draft([proposed(f"q{j}", "other") for j in range(1, 6)], TableFacts(unit="row")))
    # Public facts about the table, from names, types and code books; rows were not read.
    # Correct them with a code book or the study's plan, never with values of this table.
    <BLANKLINE>
    [table]
    unit = "row"
    <BLANKLINE>
    # Numbers by default: `privsieve inspect` counts the cells that are not numbers.
    # RuleSieve needs no bounds; methods that compute with numbers need low and high.
    [[column]]
    names = ["q1..q5"]
    kind = "number"
    <BLANKLINE>
    """
    names = {entry.name: entry for entry in entries}
    for name in filter(None, (facts.target, facts.person)):
        if name not in names:
            meant = near(name, names)
            hint = f"did you mean {meant!r}?" if meant else "give a name of its header"
            raise SchemaError(f"column {name!r} is not in the table; {hint}")
    facts = _with_person(entries, facts)
    columns = [entry for entry in entries if entry.name not in (facts.target, facts.person)]
    used = [entry for entry in columns if not entry.aside]
    head = [*(_PRIVATE if private else _PROPOSED), *(_BY_DTYPE if facts.by_dtype else ())]
    lines = [*head, "", *_table(facts, private=private)]
    note: Sequence[str] = _NUMBERS
    for _, block in groupby(used, _alike):
        members = list(block)
        lines.append("")
        if members[0].kind == "number":
            lines += note
            note = ()
        lines += _block(members)
    if facts.target is not None:
        lines += ["", "[target]", *_body(_as_target(names[facts.target], facts))]
    lines += _set_aside([entry for entry in columns if entry.aside])
    return "\n".join([*lines, ""])


def describe_columns(entries: Iterable[Proposal], facts: TableFacts) -> list[Json]:
    """Return the name and kind of each column, and why it is set aside ("" if it is read)."""
    columns: list[Json] = []
    for entry in entries:
        is_target = entry.name == facts.target
        kind = _as_target(entry, facts).kind if is_target else entry.kind
        aside = "" if is_target or entry.name == facts.person else entry.aside
        columns.append({"name": entry.name, "kind": kind, "set_aside": aside})
    return columns


def _is_date(word: str) -> bool:
    return word in _DATES or word.endswith("datum") or (
        word.endswith("date") and word not in _NO_DATES)


def _near(words: Sequence[str]) -> dict[str, Any]:
    """Return `near` for a column of years, whose codes are then fine around 2000."""
    return {"near": 2000} if any(word in _YEARS or word.endswith("jahr") for word in words) else {}


def _with_person(entries: Sequence[Proposal], facts: TableFacts) -> TableFacts:
    """Add the person: as declared, or the only column that is named like an identifier."""
    if facts.unit != "person" or facts.person is not None:
        return facts
    ids = [entry.name for entry in entries if entry.why == ID and entry.name != facts.target]
    if len(ids) == 1:
        return replace(facts, person=ids[0])
    reason = f"several columns look like identifiers: {', '.join(ids)}" if ids else (
        "no column is named like an identifier")
    raise DomainError(f"the column with the person's id is unknown: {reason}; name it with "
                      "--person COLUMN (in Python person=)")


def _as_target(entry: Proposal, table: TableFacts) -> Proposal:
    """Return the entry of a target: a label, unless it is declared as a number."""
    if table.classes:
        return Proposal(entry.name, "label", {"values": [
            int(text) if is_whole(text) else text for text in map(plain, table.classes)]})
    if table.numeric:
        return replace(entry, kind="number", why="", facts={
            key: entry.facts[key] for key in ("low", "high", "near") if key in entry.facts})
    if entry.kind == "flag" and entry.seen is None:
        return replace(entry, why="")
    if entry.kind == "number" and "low" in entry.facts:
        return replace(entry, why="")
    facts = {"values": entry.facts["values"]} if "values" in entry.facts else {}
    return replace(entry, kind="label", facts=facts, why="")


def _table(facts: TableFacts, *, private: bool) -> Iterator[str]:
    yield "[table]"
    if private:
        yield "private = true"
    if facts.unit is None and facts.person is None:
        yield '# unit =   <- fill in: "row"; or "person", with person = "the column of ids"'
    elif facts.person is None:
        yield 'unit = "row"'
    else:
        yield 'unit = "person"'
        yield _key_line("person", facts.person)
        yield (_key_line("rows_per_person", facts.rows_per_person) if facts.rows_per_person else
               "rows_per_person = 1   # the largest number of rows used of a person")
        yield (_key_line("persons", facts.persons) if facts.persons else
               "# persons =   <- fill in: a public round figure, such as 5000")
    by_row = facts.unit != "person" and facts.person is None
    csv = replace(facts.csv, line_breaks=False) if by_row else facts.csv
    if csv != facts.csv:
        yield "# Some cells have line breaks.  line_breaks = true in csv reads them, and needs"
        yield '# unit = "person", or neighbours = "add-remove" and rows.'
    if csv != Csv():
        yield f"csv = {{ {_options(csv, ('delimiter', 'decimal', 'encoding'))} }}"
    cells = {key: getattr(facts.seen or csv, key) for key in ("missing", "censored")}
    if facts.seen and any(cells[key] != getattr(csv, key) for key in cells):
        yield f"seen = {{ {_options(Csv(**cells))} }}   # write into csv what a code book says"


def _options(csv: Csv, always: Sequence[str] = ()) -> str:
    """Return the options that differ from their default, and some that are always written."""
    return ", ".join(f"{key} = {toml_value(value)}" for key, value in vars(csv).items()
                     if key in always or value != getattr(Csv(), key))


def _alike(entry: Proposal) -> str:
    """Return a text that is equal for columns that share a block."""
    seen = None if entry.seen is None else entry.kind if entry.kind == "number" else entry.seen
    # A name that would be read as a block has its own entry, and so has a column without values.
    alone = entry.name if "values" in entry.open or written([entry.name]) is None else ""
    return repr((entry.kind, sorted(entry.facts.items()), seen, alone))


def _block(members: Sequence[Proposal]) -> list[str]:
    """Return the lines of one [[column]], of one name or of many."""
    first = members[0]
    if len(members) == 1:
        return ["[[column]]", *_body(first)]
    if first.seen is not None and first.kind == "number":
        first = replace(first, seen=tuple(
            f"{member.name}: {', '.join(map(str, member.seen or ()))}" for member in members))
    return ["[[column]]", *_names(members), *_body(first)[1:]]


def _names(members: Sequence[Proposal]) -> list[str]:
    words = [toml_value(word) for word in written([member.name for member in members]) or ()]
    if len(", ".join(words)) <= 80:
        return [f"names = [{', '.join(words)}]"]
    comments = {toml_value(member.name): member.says for member in members}
    return ["names = [", *(f"  {word},{_comment(comments.get(word, ''))}" for word in words), "]"]


def _body(entry: Proposal) -> list[str]:
    """Return the lines of one column or target."""
    lines = [_key_line("name", entry.name) + _comment(entry.says), _key_line("kind", entry.kind)]
    lines += [_key_line(key, value) for key, value in entry.facts.items()]
    if entry.seen is None:
        lines += [f"# {key} =   {blank}" for key, blank in entry.open.items()]
    else:
        listed = list(map(toml_value, entry.seen))
        short = f"seen = [{', '.join(listed)}]"
        lines += [short] if len(short) <= 100 else ["seen = [", *(f"  {text}," for text in listed),
                                                    "]"]
    return lines


def _set_aside(entries: Iterable[Proposal]) -> Iterator[str]:
    """Yield the commented lines of other columns, grouped by reason."""
    ordered = sorted(entries, key=lambda entry: entry.aside)
    if ordered:
        yield from ("", "# Set aside: the lines below are comments.")
    for why, group in groupby(ordered, lambda entry: entry.aside):
        members = list(group)
        yield from ("#", f"# {why}:")
        for _, block in groupby(members, _alike):
            same = list(block)
            lines = _block(same) if same[0].kind else _names(same) if len(same) > 1 else [
                _key_line("name", same[0].name) + _comment(same[0].says)]
            yield from (f"# {line}".replace("# # ", "# ") for line in lines)


def _comment(text: str) -> str:
    """Return the description of a code book as a comment at the end of a line."""
    words = " ".join("".join(" " if hidden(c) else c for c in text).split())
    return f"  # {words[:80]}" if words else ""


def _key_line(key: str, value: Any) -> str:
    """Return a line with a key and its value."""
    return f"{key} = {toml_value(value)}"


def toml_value(value: Any) -> str:
    """Return a value as TOML writes it, in one line."""
    import tomli_w

    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    return tomli_w.dumps({"k": value}).removeprefix("k = ").rstrip("\n").replace("\t", "\\t")
