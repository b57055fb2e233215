"""Law: documents.  Each noun gives one, each renderer shows any, and no name from outside acts."""

from __future__ import annotations

import html as standard_html
import json
import re
from pathlib import Path

import pandas as pd
import pytest

import privsieve as ps
from every_method import CHARGING
from privsieve import report
from privsieve.extras.steward import curves, inspected
from privsieve.fit import SOFTWARE, fit
from privsieve.ledger.chain import certificate
from privsieve.methods import METHODS
from privsieve.public.canonical import canonical, digest
from privsieve.public.plan import terms
from privsieve.release import KINDS, Release
from privsieve.report import officer
from privsieve.report.brief import describe
from privsieve.report.frame import paths
from privsieve.report.planning import plan_document
from privsieve.report.publication import internal
from privsieve.rows import open_source
from privsieve.rows.inspect import inspect
from privsieve.telling import html, markdown, notebook, terminal
from privsieve.telling.document import (
    Beside,
    Bullets,
    DataTable,
    Document,
    Fact,
    Facts,
    Paragraph,
    Renderer,
    Section,
    Text,
    Words,
    literal,
    name,
    plain,
    spans,
)
from privsieve.telling.prose import FIELD, GUARD, Prose, blocks, fields, split
from releases import KINDS as KINDS_OF_NUMBERS
from releases import released as released_of
from test_report import CLOSED, ROWS, publication
from test_steward_explore import explore_page as explored

pytestmark = pytest.mark.filterwarnings("ignore")

TELLING = Path(html.__file__).parent
#: What shows a document, by its name.
RENDERERS = {
    "terminal": lambda document: terminal.lines(document, bold=True),
    "brief": lambda document: terminal.lines(document, brief=True),
    "page": lambda document: html.page(document).decode(),
    "notebook": notebook.fragment,
    "markdown": markdown.text,
}
SIGNS = "<script>a|b</script>**c**`d`[e](http://f)"
HOSTILE = f"{SIGNS}\x1b[31m\u202e"


def released(method):
    """A release of a method, with its certificate."""
    table = method.table()
    plan = method.estimator().plan(rows=len(table))
    X, y = table[list(method.domain.names)], table[method.domain.target.name]
    release = Release(fit(plan, open_source(X, y)).body, None)
    body = json.loads(canonical(release.body))
    return plan, body, json.loads(canonical(certificate(terms(plan, SOFTWARE),
                                                        digest(canonical(body)))))


def published():
    """A publication whose columns have hostile names."""
    return publication(ROWS, (HOSTILE, "b", "c"), ("x", "y") * 3, target=HOSTILE)


def chosen():
    """A selection."""
    return released(next(method for method in CHARGING if method.name == "rule-sieve"))[1:]


def looked():
    """What a look at a table with hostile names finds."""
    table = pd.DataFrame({SIGNS: ["1", "x"] * 9, "y": ["no", "yes"] * 9})
    return inspect(table, ps.Domain([ps.Flag(SIGNS), ps.Flag("gone")],
                                    target=ps.Label("y", [SIGNS, "yes"]))).json()


@pytest.fixture(scope="module")
def nouns(tmp_path_factory):
    """A document of each noun, by its name; columns of a publication have hostile names."""
    place = tmp_path_factory.mktemp("nouns")
    nouns_read = {}
    for method in CHARGING:
        if method.name == "kernel-ridge-session":
            continue
        plan, body, signed = released(method)
        nouns_read[f"plan of {method}"] = plan_document(plan, {plan.cost.epsilon: plan.forecast})
        nouns_read[f"brief plan of {method}"] = describe(plan)
        nouns_read[f"release of {method}"] = report.document(body, signed)
        nouns_read[f"brief release of {method}"] = describe(Release(body, signed))
        nouns_read[f"form of {method}"] = Document("Form", parts=officer.form(body, signed))
    nouns_read["publication"] = report.document(*published())
    nouns_read["internal edition"] = report.document(*published(), {
        **CLOSED, "closed": [[HOSTILE, 1, 4, 2]]})
    ledger = ps.Ledger(str(place / "budget.db"), population="clinic")
    ledger.grant(9)
    nouns_read["account"] = describe(ledger)
    domain = ps.Domain([ps.Flag(SIGNS)], target=ps.Label("y", ["no", "yes"]))
    nouns_read["domain"] = describe(domain)
    nouns_read["inspection"] = inspected.inspected_document(looked())
    return nouns_read


@pytest.mark.parametrize("renderer", RENDERERS)
def test_each_noun_is_told_by_each_renderer(nouns, renderer):
    """The title and the label of each fact at the top are in the output of a renderer."""
    for noun, document in nouns.items():
        text = RENDERERS[renderer](document)
        words = bare(text)

        for wanted in (document.title, *(fact.label for fact in document.facts)):
            assert bare(plain(wanted))[:20] in words, (noun, wanted)
        assert len(text) > 20
        harmless(renderer, text)


def bare(text):
    """The letters and digits of a text, without the tags of a page."""
    return re.sub(r"[^a-z0-9]", "", standard_html.unescape(
        re.sub(r"(?s)<style>.*?</style>|<[^>]*>", "", text)).lower())


def harmless(renderer, text):
    """Nothing from outside acts on who reads it."""
    assert "\u202e" not in text
    if renderer == "terminal":
        assert set() == set(re.findall(r"\x1b\[[0-9;]*m", text)) - {"\x1b[1m", "\x1b[0m"}
    else:
        assert "\x1b" not in text
    if renderer in ("page", "notebook", "markdown"):
        assert "<script" not in text
    if renderer == "markdown":
        assert not re.search(r"(?<!\\)\]\(", text)
        assert "a|b" not in text
    assert not re.search("[\ue000-\uf8ff\x0e-\x11]", text)


def hostile_document():
    """A document that has a hostile name wherever a text can stand."""
    text = f"of {name(HOSTILE)} and {literal(HOSTILE)}"
    fact = Fact(text, text, text)
    table = DataTable(text, (text, "b"), [[text, text]])
    parts = [text, Paragraph(text, text), Bullets([text]), table, Facts(text, [fact], text)]
    return Document(text, [fact], [*parts, Beside(parts, parts), Section("k", text, parts),
                                   Words()], about=text, notice=text, closing=text)


@pytest.mark.parametrize("renderer", RENDERERS)
def test_a_name_from_outside_is_a_text_everywhere(renderer):
    """Tags, escapes, pipes, links and signs of ours in a name are shown, and do nothing."""
    text = RENDERERS[renderer](hostile_document())

    harmless(renderer, text)
    assert "<b>c</b>" not in text
    if renderer == "markdown":
        assert r"\*\*c\*\*" in text
    for line in text.splitlines():
        assert renderer not in ("terminal", "brief") or len(
            re.sub(r"\x1b\[\d+m", "", line)) <= 80, line


@pytest.mark.parametrize("text", [HOSTILE, "a\nb", "\x0ea\x0f", "\x10*a*\x11", "\ue000", "[a|#b]",
                                  "☐ ~~a~~ ^(b)"])
def test_what_came_from_outside_is_one_span(text):
    """No sign, delimiter or stand-in of ours in such a text ends it, or begins another."""
    for wrap in (name, literal):
        values = list(spans(f"before {wrap(text)} after"))

        assert 3 == len(values)
        assert text.replace("\ue000", "\ufffd") == values[1].text
        assert ["text", wrap.__name__, "text"] == [span.kind for span in values]


def test_renderers_know_no_noun():
    """No renderer, nor what documents are made of, names a kind or a method."""
    words = {*KINDS, *METHODS, "publication", "ledger"}
    for file in TELLING.iterdir():
        if file.suffix in (".py", ".html", ".css"):
            text = file.read_text(encoding="utf-8")

            assert set() == {word for word in words if re.search(rf"\b{word}\b", text)}, file.name
    for file in TELLING.glob("*.py"):
        imported = re.findall(r"(?m)^from privsieve\.(\w+)", file.read_text(encoding="utf-8"))
        assert {"telling", "public", "_version"} >= set(imported)


class Outline(Renderer):
    """A toy output: all that a new one needs is this class, and its name where it is called."""

    def show_paragraph(self, paragraph):
        """Words."""
        return [plain(paragraph.text)]

    def show_bullets(self, bullets):
        """Each point."""
        return [f"* {plain(item)}" for item in bullets.items]

    show_code = show_heading = show_datatable = show_facts = lambda _self, lines: [f"({lines[0]})"]

    def show_section(self, section):
        """The title, and what is in it."""
        return [plain(section.title), *(f"  {line}" for line in self.show_parts(section.parts))]


def test_a_new_output_is_one_class(nouns):
    """A renderer of seven methods shows every document: two files, it and its caller."""
    for document in nouns.values():
        assert Outline().show_parts(document.parts) or not document.parts


# --- words

def asked_of(known, files):
    """The names that files of words ask for, beside those of blocks, and what is known."""
    lines = blocks(*files)
    return {path.partition(".")[0] for block in lines.values() for line in block
            for path in options(line)} - set(lines), set(known)


def options(text):
    """The names that a line asks for."""
    while guard := GUARD.match(text):
        yield guard[2]
        text = text[guard.end():]
    if here := re.match(r"(?:[-+]?@|@@)(\w+)$", text):
        yield here[1]
    for _, field in fields(text):
        if field:
            head = FIELD.match(field)
            assert head, field
            assert head[6] or head.end() == len(field), field
            yield head[1]
            for choice in split(field[head.end():], " || "):
                yield from options(choice)


def test_every_name_of_words_is_known():
    """No line, however rare, asks for a name that neither the noun nor a block has."""
    releases = [(kind, released_of(kind)) for kind in KINDS_OF_NUMBERS]
    releases += [("selection", chosen()), ("containment", published())]
    for kind, files in releases:
        path, *words = report.KINDS[kind]
        wanted, known = asked_of(report._function(path)(*files), paths(*words))

        assert set() == wanted - known, kind
    known = internal(*published(), CLOSED)
    assert set() == asked_of(known, paths("publication", "internal"))[0] - set(known)
    for known, file in ((curves._known(explored()), curves.WORDS),
                        (inspected._known(looked()), inspected.WORDS)):
        assert set() == asked_of(known, [file])[0] - set(known)


def toy(folder, text):
    """The parts of a toy noun."""
    (folder / "toy.txt").write_text(f"a comment\n\n[x]\n{text}\n", encoding="utf-8")
    blocks.cache_clear()
    known = {"many": 1200, "names": ["a*", "b"], "none": None, "late": lambda: Text("**yes**")}
    return Prose(known, folder / "toy.txt").parts("x")


@pytest.mark.parametrize(("line", "words"), [
    ("{many} of {names}", "1,200 of a*, b"), ("{late}", "yes"), ("{names#}", "2"),
    ("{many>9? more || less}{none? x ||  than}", "more than"), ("?none no", None),
    ("?!none ?many=1200 yes", "yes"), ("{names.0!n}", "a*"),
    ("{many? {names? {many} a || b} || c}", "1,200 a")])
def test_a_line_of_words(tmp_path, line, words):
    """Values, names, lengths, choices inside of choices, and lines that stand where it is so."""
    lines = toy(tmp_path, line)

    assert ([] if words is None else [words]) == [plain(line.text) for line in lines]


def test_parts_of_words(tmp_path):
    """Sections hold their lines; lists, facts and side notes are parts."""
    first, second = toy(tmp_path, """## a | A | Link
- one
- two
= Facts
+ label | text
+ blank |  | by hand
%left
left | exact
%right
~ note
%end
?none ## b | B
gone
## c | C""")

    assert ("a", "A", "Link", "c") == (*first[:2], first.link, second.key)
    points, facts, beside = first.parts
    assert ["one", "two"] == points.items
    assert [None, "by hand"] == [fact.asks for fact in facts.facts]
    assert ("exact", True) == (beside.left[0].term, beside.right[0].quiet)
