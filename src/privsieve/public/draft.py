"""Draft: a domain file for a table, proposed from names and types alone; it holds no value of it.

What needs nothing but a kind is in; what would need a fact that nobody said (the range of a date,
the values of a category), or should not be used (identifiers, free text), is set aside with the
reason and with what to write.  So a draft is a domain at once, unless its target lacks its classes.

What a code book says goes in as it is.  What somebody saw in the rows goes in as `seen`, which no
plan accepts: it is private until a public fact stands in its place.
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

#: Why a column is set aside.
ID = ("named like identifiers, which predict nothing; one that says whose row it is may be the "
      "person of [table]")
TEXT = "named like free text, which no rule compares; make a column of what matters in it"
UNREADABLE = "of a type that no rule reads"
UNKNOWN = ("named by no word that says what they hold: if numbers, take the # away (or draft with "
           "--numbers); else write their kind, too")
_DATE = "dates of which nobody said where they lie: write low and high, then take the # away"
_VALUES = "categories of which nobody said the values: list them, then take the # away"
#: What a kind cannot do without, and how it is asked for.
_NEEDED = {
    "date": {"low": "<- fill in: a date such as 2020-01-01", "high": "<- fill in"},
    "category": {"values": '<- fill in: every value, for example ["A", "B"]'},
    "label": {"values": "<- fill in: every class, for example [0, 1]; "
                        'or kind = "number", for a number'},
}

_PROPOSED = (
    "# What is public about the table, by names, types and code books; no row was read.",
    "# Correct it by a code book or the study's plan, never by what this table happens to hold.")
_BY_DTYPE = (
    "# Values of categories come from the column types of a frame.  The author of this draft",
    "# declared them public.  Take out each value that only the table knows.")
_PRIVATE = (
    "# PRIVATE: some thousand rows were looked at, so that nothing of this may leave as it is.",
    "# For each `seen` ask a code book or the study's plan, write what it says, and take the",
    "# line away; then take `private` away.")
_NUMBERS = (
    "# Numbers, where nothing says otherwise: inspect counts the cells that are none.",
    "# RuleSieve needs no bounds; methods that compute with numbers ask for low and high.")

#: Words of names, in English and German; a part of a name says what it holds.
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
#: Words for yes and no that flags do not know by themselves.
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
    """What is proposed for one column.

    facts : keys of the domain file, beside name and kind.
    why : why it is set aside; "" where nothing speaks against it.
    seen : what the rows hold, as texts or values; None where nobody looked.  PRIVATE.
    says : what a code book calls it, for people.
    """

    name: str
    kind: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""
    seen: tuple[Any, ...] | None = None
    says: str = ""

    @property
    def open(self) -> dict[str, str]:
        """What nobody said, and how it is asked for."""
        needed = _NEEDED.get(self.kind, {})
        return {key: blank for key, blank in needed.items() if key not in self.facts}

    @property
    def aside(self) -> str:
        """Why the column is not read as it stands; "" where it is."""
        if self.why or not self.open or self.seen is not None:
            return self.why
        return _DATE if self.kind == "date" else _VALUES


@dataclass(frozen=True)
class TableFacts:
    """What is said of a table beside its columns.

    unit : "row", "person" or None, where nobody said.
    classes : of the target, where it has some.
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
    """What a name and a physical type propose; "other" is a file that declares no type.

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
    found = kind if kind in ("date", "flag", "number") else _kind(words, kind)
    if found != "number":
        return Proposal(name, found)
    facts = _near(words)
    is_known = (kind == "number" or bool(facts) or not _MEASURES.isdisjoint(words)
                or max(map(len, words), default=0) < 2)
    return Proposal(name, found, facts, "" if is_known else UNKNOWN)


def _not_used(words: Sequence[str], kind: str) -> str:
    """Why nobody should use a column of this name; "" where its name says nothing against it."""
    last = words[-1] if words else ""
    if last in _IDS or last.endswith("nummer") or re.fullmatch(_JOINED_ID, "".join(words)):
        return ID
    return TEXT if kind in ("text", "other") and _TEXTS & set(words) else ""


def _kind(words: Sequence[str], kind: str) -> str:
    """What a name says a text is; a file that declares no type holds numbers at a guess."""
    if kind == "text" or _CATEGORIES & set(words):
        return "category"
    if any(map(_is_date, words)) or (words[-1:] == ["at"] and len(words) > 1):
        return "date"
    return "flag" if words and words[0] in _ASKING else "number"


def draft(entries: Sequence[Proposal], facts: TableFacts, *, private: bool = False) -> str:
    """The text of a domain file: the table, columns in blocks, the target, what is set aside.

    `private` says that rows were looked at.

    >>> print(draft([proposed(f"q{j}", "other") for j in range(1, 6)], TableFacts(unit="row")))
    # What is public about the table, by names, types and code books; no row was read.
    # Correct it by a code book or the study's plan, never by what this table happens to hold.
    <BLANKLINE>
    [table]
    unit = "row"
    <BLANKLINE>
    # Numbers, where nothing says otherwise: inspect counts the cells that are none.
    # RuleSieve needs no bounds; methods that compute with numbers ask for low and high.
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
    number = False
    for _, block in groupby(used, _alike):
        members = list(block)
        if members[0].kind == "number" and not number:
            lines += ["", *_NUMBERS]
            number = True
        else:
            lines.append("")
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
    """Codes of years are fine around 2000 and coarse around 0: no look at a row says so."""
    return {"near": 2000} if any(word in _YEARS or word.endswith("jahr") for word in words) else {}


def _with_person(entries: Sequence[Proposal], facts: TableFacts) -> TableFacts:
    """Whose row it is: as said, or the one column that is named like an identifier."""
    if facts.unit != "person" or facts.person is not None:
        return facts
    ids = [entry.name for entry in entries if entry.why == ID and entry.name != facts.target]
    if len(ids) == 1:
        return replace(facts, person=ids[0])
    found = f"several are named like an identifier: {', '.join(ids)}" if ids else (
        "none is named like an identifier")
    raise DomainError(f"which column says whose row it is? {found}; say --person COLUMN (in Python "
                      "person=)")


def _as_target(entry: Proposal, table: TableFacts) -> Proposal:
    """Return the entry of a target: a label, unless somebody says that it is a number."""
    if table.classes:
        return Proposal(entry.name, "label", {"values": [
            int(one) if is_whole(one) else one for one in map(plain, table.classes)]})
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
        yield '# unit =   <- fill in: "row"; or "person", with person = "whose row it is"'
    elif facts.person is None:
        yield 'unit = "row"'
    else:
        yield 'unit = "person"'
        yield _said("person", facts.person)
        yield (_said("rows_per_person", facts.rows_per_person) if facts.rows_per_person else
               "rows_per_person = 1   # so many rows of a person are used at most")
        yield (_said("persons", facts.persons) if facts.persons else
               "# persons =   <- fill in: a public round figure, such as 5000")
    by_row = facts.unit != "person" and facts.person is None
    csv = replace(facts.csv, line_breaks=False) if by_row else facts.csv
    if csv != facts.csv:
        yield "# Some cells hold line breaks.  line_breaks = true in csv reads them, and needs"
        yield '# unit = "person", or neighbours = "add-remove" and rows.'
    if csv != Csv():
        yield f"csv = {{ {_options(csv, ('delimiter', 'decimal', 'encoding'))} }}"
    cells = {key: getattr(facts.seen or csv, key) for key in ("missing", "censored")}
    if facts.seen and any(cells[key] != getattr(csv, key) for key in cells):
        yield f"seen = {{ {_options(Csv(**cells))} }}   # write in csv what a code book says of it"


def _options(csv: Csv, always: Sequence[str] = ()) -> str:
    """Return the options that differ from their default, and some that are always written."""
    return ", ".join(f"{key} = {toml_value(value)}" for key, value in vars(csv).items()
                     if key in always or value != getattr(Csv(), key))


def _alike(entry: Proposal) -> str:
    """What two neighbours have alike if they are said in one block."""
    seen = None if entry.seen is None else entry.kind if entry.kind == "number" else entry.seen
    # A name that would be read as a block stands alone, and values are asked for one by one.
    alone = entry.name if "values" in entry.open or written([entry.name]) is None else ""
    return repr((entry.kind, sorted(entry.facts.items()), seen, alone))


def _block(members: Sequence[Proposal]) -> list[str]:
    """One [[column]], of one name or of many."""
    first = members[0]
    if len(members) == 1:
        return ["[[column]]", *_body(first)]
    if first.seen is not None and first.kind == "number":
        first = replace(first, seen=tuple(
            f"{one.name}: {', '.join(map(str, one.seen or ()))}" for one in members))
    return ["[[column]]", *_names(members), *_body(first)[1:]]


def _names(members: Sequence[Proposal]) -> list[str]:
    words = [toml_value(word) for word in written([one.name for one in members]) or ()]
    if len(", ".join(words)) <= 80:
        return [f"names = [{', '.join(words)}]"]
    said = {toml_value(one.name): one.says for one in members}
    return ["names = [", *(f"  {word},{_comment(said.get(word, ''))}" for word in words), "]"]


def _body(entry: Proposal) -> list[str]:
    """The lines of one column or target."""
    lines = [_said("name", entry.name) + _comment(entry.says), _said("kind", entry.kind)]
    lines += [_said(key, value) for key, value in entry.facts.items()]
    if entry.seen is None:
        lines += [f"# {key} =   {blank}" for key, blank in entry.open.items()]
    else:
        listed = list(map(toml_value, entry.seen))
        short = f"seen = [{', '.join(listed)}]"
        lines += [short] if len(short) <= 100 else ["seen = [", *(f"  {one}," for one in listed),
                                                    "]"]
    return lines


def _set_aside(entries: Iterable[Proposal]) -> Iterator[str]:
    """What is not read, by reason."""
    told = sorted(entries, key=lambda entry: entry.aside)
    if told:
        yield from ("", "# Set aside: nothing below is read.")
    for why, group in groupby(told, lambda entry: entry.aside):
        members = list(group)
        yield from ("#", f"# {why}:")
        for _, block in groupby(members, _alike):
            same = list(block)
            lines = _block(same) if same[0].kind else _names(same) if len(same) > 1 else [
                _said("name", same[0].name) + _comment(same[0].says)]
            yield from (f"# {line}".replace("# # ", "# ") for line in lines)


def _comment(text: str) -> str:
    """Words of a code book behind a line."""
    shown = " ".join("".join(" " if hidden(c) else c for c in text).split())
    return f"  # {shown[:80]}" if shown else ""


def _said(key: str, value: Any) -> str:
    """A line that gives a key."""
    return f"{key} = {toml_value(value)}"


def toml_value(value: Any) -> str:
    """A value as TOML writes it, in one line."""
    import tomli_w

    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    return tomli_w.dumps({"k": value}).removeprefix("k = ").rstrip("\n").replace("\t", "\\t")
