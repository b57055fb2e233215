"""Pages: what the desk shows, as HTML without scripts; each text from outside is escaped once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from shlex import join
from typing import Any

from markupsafe import Markup, escape

from privsieve.extras.desk.columns import (
    FIELDS,
    KINDS,
    TARGETS,
    WRITTEN,
    ColumnEntry,
    TableForm,
    written_value,
)
from privsieve.telling import html
from privsieve.telling.document import Code, Document, clean, literal

#: The steps of the road: their addresses and names.
STEPS = {"file": "File", "columns": "Columns", "aim": "Purpose", "cost": "Cost", "result": "Result"}
#: Tables of more columns are edited as a domain file.
MOST_COLUMNS = 400
_FRAME = Markup("""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · privsieve desk</title>
<link rel="stylesheet" href="/style.css"></head>
<body><a class="skip" href="#main">Skip to the page</a>
{private}<div class="page">
<header class="top"><span><b>privsieve</b> desk</span><span>{file}</span></header>
<nav class="steps" aria-label="Steps"><ol>{steps}</ol></nav>
<main id="main"><h1>{title}</h1>
{parts}
</main>
<footer>This page is on your machine only. Nothing is sent to another host.</footer>
</div></body></html>
""")
_MARK = Markup('<div class="mark" role="note">PRIVATE: this page describes rows. Do not show or '
               "send it.</div>\n")


def style() -> str:
    """Return the style of the desk: that of the reports, and its own."""
    own = Path(__file__).with_name("desk.css")
    return Path(html.__file__).with_name("style.css").read_text("utf-8") + own.read_text("utf-8")


def page(step: str, parts: Iterable[str], *, file: str = "", title: str = "",
         private: bool = False) -> str:
    """Return a page of the desk."""
    steps = Markup("").join(
        Markup('<li><a href="/{}"{}>{}. {}</a></li>').format(
            name, Markup(' aria-current="step"') if name == step else "", at, words)
        for at, (name, words) in enumerate(STEPS.items(), 1))
    return _FRAME.format(title=title or STEPS[step], steps=steps, file=clean(file),
                         private=_MARK if private else "", parts=Markup("\n").join(parts))


def wrong(error: str | Exception) -> Markup:
    """Return the box of a refusal, or nothing if there is none."""
    text = clean(str(getattr(error, "message", "") or error), 4000)
    return Markup('<p class="wrong" role="alert">{}</p>').format(text) if text else Markup("")


def right(text: str) -> Markup:
    """Return the box of a success."""
    return Markup('<p class="right" role="status">{}</p>').format(clean(text, 4000))


def paragraph(text: str) -> Markup:
    """Return a paragraph."""
    return Markup("<p>{}</p>").format(text)


def items(heading: str, texts: Iterable[str], before: str = "") -> Markup:
    """Return a heading and a list below it, or nothing if the list is empty."""
    lines = Markup("").join(map(Markup("<li>{}</li>").format, texts))
    return Markup("<h2>{}</h2>{}<ul>{}</ul>").format(heading, before, lines) if lines else lines


def document(content: Document) -> Markup:
    """Return the facts and parts of a document."""
    facts = Markup("").join(
        Markup('<tr><th scope="row">{}</th><td>{}</td></tr>').format(
            *(html.parts([text], content) for text in (fact.label, fact.text)))
        for fact in content.facts)
    return Markup('<table class="kv"><tbody>{}</tbody></table>{}').format(
        facts, html.parts(content.parts, content))


def ways(commands: Sequence[Sequence[str]], python: Sequence[str] = ()) -> Markup:
    """Return the commands and the Python lines that do the same."""
    codes = [Code([literal(join(("privsieve", *words))) for words in commands])]
    codes += [Code([literal(line) for line in python])] if python else []
    return Markup('<details class="ways"><summary>The same on the command line{}</summary>{}'
                  "</details>").format(" and in Python" if python else "",
                                       html.parts(codes, Document("")))


def form(action: str, fields: Iterable[str], button: str) -> Markup:
    """Return a form with its button."""
    return Markup('<form method="post" action="{}">{}<p><button class="main">{}</button></p></form>'
                  ).format(action, Markup("\n").join(fields), clean(button, 300))


def hidden(name: str, value: str) -> Markup:
    """Return a field that a user does not see."""
    return Markup('<input type="hidden" name="{}" value="{}">').format(name, value)


def entry(name: str, label: str, value: object = "", *, kind: str = "text", short: bool = True,
          ) -> Markup:
    """Return a field for a text, with its label."""
    return Markup('<label><span>{}</span><input type="{}" name="{}" value="{}"{}></label>').format(
        label, kind, name, value, Markup(' class="short"') if short else "")


def choice(name: str, options: Mapping[str, str], value: str, *, label: str = "",
           spoken: str = "") -> Markup:
    """Return a list to choose from; `spoken` is the label for a screen reader alone."""
    chosen = Markup("").join(Markup('<option value="{}"{}>{}</option>').format(
        key, Markup(" selected") if key == value else "", words) for key, words in options.items())
    field = Markup('<select name="{}"{}>{}</select>').format(
        name, Markup(' aria-label="{}"').format(spoken) if spoken else "", chosen)
    return Markup("<label><span>{}</span>{}</label>").format(label, field) if label else field


def radios(name: str, options: Mapping[str, str], value: str, legend: str) -> Markup:
    """Return options; a user chooses one of them."""
    lines = Markup("").join(
        Markup('<div><label><input type="radio" name="{}" value="{}"{}> {}</label></div>').format(
            name, key, Markup(" checked") if key == value else "", words)
        for key, words in options.items())
    return fieldset(legend, [lines])


def fieldset(legend: str, fields: Iterable[str]) -> Markup:
    """Return fields under a heading."""
    return Markup("<fieldset><legend>{}</legend>{}</fieldset>").format(
        legend, Markup("\n").join(fields))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """Return a table that becomes a list of cards where a screen is narrow."""
    head = Markup("").join(map(Markup('<th scope="col">{}</th>').format, heads))
    lines = Markup("\n").join(
        Markup('<tr><th scope="row">{}</th>{}</tr>').format(first, Markup("").join(
            Markup('<td data-label="{}">{}</td>').format(name, cell)
            for name, cell in zip(heads[1:], cells, strict=True)))
        for first, *cells in rows)
    return Markup('<div class="scroll"><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>'
                  "</div>").format(head, lines)


def name(text: str) -> Markup:
    """Return the name of a column."""
    return Markup('<code translate="no"><bdi>{}</bdi></code>').format(clean(text))


def columns_fields(rows: TableForm, verdicts: Mapping[str, str]) -> list[Markup]:
    """Return the form of the columns, with the verdict of a private inspection beside each."""
    names = {"": "-", **{row.name: clean(row.name) for row in rows.rows}}
    written = rows.table.get("csv") or {}
    unit = rows.table.get("unit", "")
    return [
        *([fieldset("Format of the file", [
            *(entry(key, words, written_value(written.get(key, "")))
              for key, words in WRITTEN.items()),
            Markup('<label><input type="checkbox" name="line_breaks" value="yes"{}> quoted cells '
                   "contain line breaks</label>").format(
                       Markup(" checked") if written.get("line_breaks") else "")])]
          if written else []),
        fieldset("Who is protected", [
            choice("unit", {"": "-", "row": "each row", "person": "each person"}, unit,
                   label="what"),
            choice("person", names, str(rows.table.get("person", "")),
                   label="column of person ids"),
            entry("rows_per_person", "rows used for each person",
                  rows.table.get("rows_per_person", "")),
            entry("persons", "approximate number of people (public)",
                  rows.table.get("persons", ""))]),
        fieldset("Target: what the columns should predict", [
            choice("target", names, rows.target, label="column"),
            choice("target-kind", TARGETS, str(rows.target_facts.get("kind", "label")),
                   label="kind"),
            *_bounds("target", rows.target_facts)]),
        fieldset("Columns: bounds and values from a code book, never from this table", [
            table(("column", "kind", "low", "high", "values",
                   *(["PRIVATE inspection"] if verdicts else [])),
                  (_row(at, row, verdicts) for at, row in enumerate(rows.rows)))])]


def _bounds(place: str, facts: Mapping[str, Any]) -> list[Markup]:
    return [entry(f"{key}-{place}", key, written_value(facts.get(key, "")), short=key != "values")
            for key in FIELDS]


def _row(at: int, row: ColumnEntry, verdicts: Mapping[str, str]) -> list[Markup]:
    label = name(row.name)
    if row.why and not row.kind:
        label += Markup('<br><span class="t">{}</span>').format(clean(row.why, 400))
    cells = [label, choice(f"kind-{at}", KINDS, row.kind, spoken=f"kind of {clean(row.name)}")]
    cells += [Markup('<input name="{}-{}" value="{}" aria-label="{} of {}">').format(
        key, at, written_value(row.facts.get(key, "")), key, clean(row.name)) for key in FIELDS]
    return [*cells, *([escape(clean(verdicts.get(row.name, ""), 400))] if verdicts else [])]
