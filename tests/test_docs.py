"""Law: documents.  What is public is documented, links lead somewhere, examples run."""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import options
import privsieve as ps
from privsieve import errors
from privsieve.entries import METHODS
from reading import BLOCK, NOT_RUN, Reader, lines, not_run

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("[!_]*.md"), *DOCS.glob("[!_]*/*.md"),
                *EXAMPLES.glob("*.md"), *ROOT.glob("src/**/*.md")])
#: Pages of which every line is run.
LESSONS = [DOCS / "rule-sieve.md", DOCS / "numeric-targets.md"]
#: The made-up tables of lessons and notebooks.
TABLES = EXAMPLES / "made_up.py"
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def page(name):
    """The text of a page."""
    return (ROOT / name).read_text(encoding="utf-8")


def short(path):
    """The name of a page in the tests' list."""
    return path.relative_to(ROOT).as_posix()


def anchors(text):
    """The places in a page that a link can name."""
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(text))
    return {word.strip().replace(" ", "-") for word in words}


def test_every_public_name_is_documented():
    """`docs/python.md` names all of `__all__`."""
    text = page("docs/python.md")

    assert set() == {name for name in ps.__all__ if not re.search(rf"\b{name}\b", text)}


def test_the_page_of_python_is_made_from_docstrings():
    """The names of `docs/python.md`, below its guide, are what `make options` writes."""
    assert options.python() == page("docs/python.md")


def test_every_error_is_documented():
    """`docs/errors.md` names each error with its exit code, and no other."""
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \|", page("docs/errors.md"), re.MULTILINE)

    assert {(name, str(getattr(errors, name).exit_code)) for name in errors.__all__} == set(rows)


@pytest.mark.parametrize("method", METHODS)
def test_every_option_is_documented(method):
    """Each parameter of an estimator has a row in the section of its method, or of all methods."""
    option = re.compile(r"(?:^\| |: |, )`(\w+)`(?= \||[,.])", re.MULTILINE)
    sections = {section.partition("\n")[0]: set(option.findall(section))
                for section in page("docs/options.md").split("\n## ")[1:]}
    common, own = sections["Every estimator"], sections[method]
    parameters = inspect.signature(getattr(ps, METHODS[method][1])).parameters

    assert set(parameters) == common | own
    assert set() == common & own


@pytest.mark.parametrize(("kind", "name"), [
    (ps.FWELLEnsemble, "docs/other-selectors.md"),
    (ps.KernelRidgeSession, "docs/least-squares.md")])
def test_every_parameter_is_documented(kind, name):
    """Each parameter of what is no method has a row in its page, and no other has."""
    rows = re.findall(r"^\| `(\w+)`", page(name), re.MULTILINE)

    assert set(inspect.signature(kind).parameters) == set(rows)


def test_every_proof_is_named():
    """The page of guarantees leads to each proof file, so that none is out of sight."""
    known = {path.name for path in (ROOT / "src").rglob("*.proof.md")}

    assert set() == {name for name in known if name not in page("docs/guarantees.md")}


def test_every_key_of_the_domain_file_is_documented():
    """Each key that the reader of a domain file knows is named on its page."""
    from dataclasses import fields

    text = page("docs/domain-file.md")
    keys = {item.name for kind in (ps.Number, ps.Category, ps.Flag, ps.Date, ps.Label)
            for item in fields(kind)}
    keys |= {item.name for item in fields(ps.Domain)} - {
        "columns", "target", "unit_declared", "path"}

    assert set() == {key for key in keys if f"`{key}`" not in text}


@pytest.mark.parametrize("path", PAGES, ids=short)
def test_links_lead_somewhere(path):
    """Every relative link names a file that exists, and a heading that it has."""
    broken = []
    for link in LINK.findall(re.sub(r"```.*?```|`[^`]*`", "", path.read_text("utf-8"),
                                    flags=re.DOTALL)):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        if not target.exists() or (anchor and anchor not in anchors(target.read_text("utf-8"))):
            broken.append(link)

    assert [] == broken


def test_every_page_is_linked():
    """A page that no other page names is not found by anybody."""
    linked = {(path.parent / link.partition("#")[0]).resolve()
              for path in PAGES for link in LINK.findall(path.read_text("utf-8"))}
    pages = {path for path in PAGES if path.is_relative_to(DOCS)}

    alone = {short(p) for p in pages - linked if p.with_name("README.md") not in linked}
    assert set() == alone - {"docs/index.md"}


def test_every_page_is_in_the_index():
    """The index, from which the site's sidebar is made, names each page once.

    Decisions are below theirs.
    """
    named = [(DOCS / link).resolve() for link in LINK.findall(
        "\n".join(line for line in page("docs/index.md").splitlines()
                  if line.lstrip().startswith("- ")))]
    pages = {path for path in PAGES if path.is_relative_to(DOCS) and "decisions" not in path.parts}

    assert [] == sorted(short(page) for page in pages - set(named) - {DOCS / "index.md"})
    assert sorted(set(named)) == sorted(named)


def test_every_public_name_has_its_reference():
    """The pages made from docstrings name each public name once, and no other."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.glob("reference/*.rst"))
    names = re.findall(r"^\.\. auto(?:class|function|data):: (\w+)", text, re.MULTILINE)

    assert sorted(ps.__all__) == sorted(names)


def find_blocks():
    """The blocks of all pages that show a file of the package: page, file, text."""
    return [(short(path), name, body) for path in PAGES
            for _, name, body in BLOCK.findall(path.read_text("utf-8")) if name.startswith("src/")]


def test_a_file_that_is_shown_is_the_file():
    """Where a page shows a file of the package, it shows all of it as it is."""
    assert {("docs/add-a-selector.md", "src/privsieve/summaries/scores/class_counts.py")} <= {
        (place, name) for place, name, _ in find_blocks()}
    assert [] == [(place, name) for place, name, body in find_blocks() if page(name) != body]


def prepared(reader):
    """The table and the domain file of the quickstart."""
    blocks = [block for block in BLOCK.findall(page("docs/quickstart.md"))
              if block[1] or "patients.csv" in block[2]]
    reader.read("".join(f"```{a}{' ' + b if b else ''}\n{c}```\n" for a, b, c in blocks
                        if b or blocks.index((a, b, c)) == 0))


#: What was done before a page is opened, where it goes on with the quickstart.
BEFORE = {"docs/bridges.md": prepared, "docs/domain-draft.md": prepared}


@pytest.mark.parametrize("name", [short(p) for p in PAGES if p != ROOT / "CHANGELOG.md"
                                  and any(BLOCK.findall(p.read_text("utf-8")))])
def test_examples_run(name, tmp_path, monkeypatch, capsys):
    """Every Python block and every shell line of a page runs, in order, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    if TABLES.name in page(name):
        shutil.copy(TABLES, tmp_path)
    with Reader(tmp_path) as reader, warnings.catch_warnings():
        warnings.simplefilter("error")
        BEFORE.get(name, lambda _: None)(reader)
        reader.read(page(name))
    capsys.readouterr()


@pytest.mark.parametrize("path", PAGES, ids=short)
def test_every_block_is_run_or_is_no_program(path):
    """A block is a file, Python, shell lines, a piece of a domain file, or a picture in letters.

    SQL is run by the tests of the shared ledger.  No command hides in what is taken for text.
    """
    text = path.read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)

    assert len(re.findall(r"^ *```", text, re.MULTILINE)) == 2 * len(blocks)
    for language, name, body in blocks:
        assert name or language in ("sh", "python", "toml", "text", "sql"), body
        if language == "text" and not name:
            assert not re.search(r"^\W*(privsieve|python|pip|make|cd|git|R\w*|java\w*) [\w-]", body,
                                 re.MULTILINE), body
        if language == "sql":
            assert f'"{path.name}"' in page("tests/extras/test_postgres.py")


def test_what_is_not_run_is_listed():
    """Each excuse is needed by a page, and each `make` of a page is a target of the Makefile."""
    pages = [*PAGES, ROOT / "experiments" / "README.md"]
    blocks = [words for path in pages for language, name, body in BLOCK.findall(
        path.read_text("utf-8")) if language == "sh" and not name for words in lines(body)]
    excused = [words for words in blocks if not_run(words)]

    assert set(NOT_RUN) == {not_run(words) for words in excused}
    targets = set(re.findall(r"^(\w+):", page("Makefile"), re.MULTILINE))
    assert {words[1] for words in excused if words[0] == "make"} <= targets
    assert all((ROOT / words[1]).is_file() for words in excused if words[0] == "python")


def test_what_a_page_prints_is_printed(tmp_path, monkeypatch, capsys):
    """What an epsilon buys stands on its page as the command above it prints it."""
    monkeypatch.chdir(tmp_path)
    name = "docs/how-much-epsilon.md"
    before, _, after = page(name).partition("```text\n")
    with Reader(tmp_path) as reader:
        reader.read(before)

    assert after.partition("```")[0] in capsys.readouterr().out


@pytest.mark.parametrize("path", LESSONS, ids=short)
def test_a_lesson_has_no_line_that_is_not_run(path):
    """Each block of a lesson is a file, Python, or lines that `shell` runs; no other is shown."""
    text = path.read_text(encoding="utf-8")
    fences = re.findall(r"^```(?!$).*$", text, re.MULTILINE)

    assert len(fences) == len(BLOCK.findall(text)) == text.count("\n```\n")
    for language, name, body in BLOCK.findall(text):
        assert language in ("sh", "python") or name, body
        assert {"privsieve", "python"} >= {words[0] for words in lines(body) if language == "sh"}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=short)
def test_a_notebook_runs(path, tmp_path, monkeypatch, capsys):
    """Its cells run in order, beside `made_up.py`; it holds no output, which would tell of a run.

    `make docs` runs it again, and shows what it says.
    """
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    shutil.copy(TABLES, tmp_path)

    assert [[]] * len(code) == [cell["outputs"] for cell in cells if "outputs" in cell]
    space = {"__name__": "notebook"}
    for cell in code:
        exec(compile(cell, path.name, "exec"), space)
    assert capsys.readouterr().out


def test_the_figures_beside_selectkbest(tmp_path, monkeypatch, capsys):
    """docs/compared-with-selectkbest.md has the accuracies that its notebook measures."""
    monkeypatch.chdir(tmp_path)
    cells = json.loads((EXAMPLES / "selectkbest.ipynb").read_text(encoding="utf-8"))["cells"]
    space = {"__name__": "notebook"}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), "selectkbest", "exec"), space)
    capsys.readouterr()
    rows = re.findall(r"^\| ([^|]*) \| ([0-9.]+) \(([0-9.]+)\) \| ([0-9.]+) \(([0-9.]+)\) \|$",
                      page("docs/compared-with-selectkbest.md"), re.MULTILINE)
    names = {"`SelectKBest`": "SelectKBest", "chance": "any columns",
             "(all columns)": "all columns",
             **{f"`RuleSieve`, epsilon {value}": f"epsilon {value}" for value in ("3", "1", "0.3")}}

    assert set(names) == {row[0] for row in rows}
    for name, *figures in rows:
        for table, mean, error in zip(("breast cancer", "digits"), figures[::2], figures[1::2],
                                      strict=True):
            measured = space["measured"][table][names[name]][:, 0].mean()
            limit = 8 * float(error) if "epsilon" in name else 0.01
            assert abs(float(mean) - measured) < limit, (name, table)


def test_examples_of_the_folder_run(tmp_path):
    """Each program in `examples/` runs in an empty folder, and says something."""
    for path in sorted((ROOT / "examples").glob("*.py")):
        place = tmp_path / path.stem
        place.mkdir()
        shutil.copy(path, place)
        environment = {**os.environ, "PYTHONPATH": str(Path(ps.__file__).parents[1])}
        done = subprocess.run([sys.executable, "-W", "error", path.name], cwd=place,
                              env=environment, capture_output=True, text=True, check=False)

        assert (0, "") == (done.returncode, done.stderr), path.name
        assert done.stdout
