"""Law: exports.  Every release speaks every form, says what is in its folder, and nothing else."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from privsieve.cli import run
from privsieve.extras.forms.catalogues import croissant, minimisation
from privsieve.extras.forms.exports import entry, label, results
from privsieve.folder import Folder
from privsieve.ledger.ledger import Ledger
from privsieve.report.officer import form
from privsieve.telling.document import Document, clean
from privsieve.telling.document import plain as words_of
from privsieve.telling.markdown import text as markdown_text
from releases import KINDS, true
from test_report import HOSTILE, ROWS, Page, publication, selection, swapped
from test_report import html as page_of

FORMS = ("registry", "label", "acro", "officer", "croissant", "minimisation")
#: The fields of an entry, as a reader of the registry needs them: name, and what it holds.
FIELDS = {
    "url_slug": str, "status": {"Draft"}, "tier": {1, 2, 3}, "name": str, "intended_use": str,
    "data_product_type": {"Summary statistics", "Machine learning model"},
    "data_product_region": str, "description": str, "publication_date": "day",
    "variant_name": {"Pure DP", "Approximate DP"}, "data_domain": str,
    "unprotected_quantities": str, "privacy_unit": str, "privacy_unit_details": str,
    "epsilon": "number", "delta": "number", "privacy_parameters_details": str,
    "model_name": {"Central"}, "release_type": {"One release"}, "access_type": {"Non-interactive"},
    "post_processing": str, "composition": str, "mechanisms": str}
#: What holds other fields, and lists of one string.
GROUPS = {"deployment", "basic", "dp_variant", "privacy_loss", "privacy_parameters",
          "deployment_model", "accounting", "implementation", "administrative"}
LISTS = {"data_curators", "registry_authors"}
LINE = re.compile(r' *(?:- )?(?:(\w+):)?(?: ?("(?:[^"\\]|\\.)*"|[0-9.]+))?(?: # <- .*)?')


def markdown(parts):
    """The form as Markdown."""
    return markdown_text(Document("Form", parts=parts))


@pytest.fixture
def make_files(golden):
    """The two files of a release of each kind, by its name."""
    place, names = golden
    return {name: tuple(json.loads((place / name / f"{single_name}.json").read_bytes())
                        for single_name in ("release", "certificate")) for name in names}


def read_entry(text):
    """The fields of an entry: a reader of our lines alone, which knows no other YAML."""
    entry = {}
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            continue
        read = LINE.fullmatch(line)
        assert read, line
        name, value = read.groups()
        if value is not None:
            entry[name or "item"] = json.loads(value)
        else:
            assert name in GROUPS | LISTS, line
    return entry


def is_entry(document):
    """Whether an entry has every field, of the type that it has to have."""
    for name, kind in FIELDS.items():
        value = document[name]
        if kind == "number":
            assert type(value) in (int, float), name
        elif kind == "day":
            assert re.fullmatch(r"\d{4}-\d\d-\d\d", value), name
        elif kind is str:
            assert type(value) is str, name
            assert value, name
        else:
            assert value in kind, name
    assert set(document) == {*FIELDS, "item"}


def test_an_entry_has_its_fields(make_files):
    """An entry holds each field of the registry with its type, and the amounts of the claim."""
    private = [files for name, files in make_files.items() if name != "containment"]
    for release, certificate in [*private, *(true(kind) for kind in KINDS)]:
        actual_entry = read_entry(entry(release, certificate))
        claim = certificate["claim"]

        is_entry(actual_entry)
        assert float(claim["epsilon"]) == actual_entry["epsilon"]
        assert float(claim["delta"]) == actual_entry["delta"]
        assert (claim["delta"] == "0") == (actual_entry["variant_name"] == "Pure DP")
        assert claim["unit"] == actual_entry["privacy_unit"]


def test_an_output_has_its_fields(make_files):
    """results.json holds one output with the fields that the viewer reads, and every file."""
    for files in make_files.values():
        document = json.loads(results(*files, ["b", "a"]))
        (uid, output), = document["results"].items()

        assert {"version", "results"} == set(document)
        assert {"uid", "status", "type", "properties", "files", "outcome", "command", "summary",
                "timestamp", "comments", "exception"} == set(output)
        assert (uid, "review", "custom") == (output["uid"], output["status"], output["type"])
        assert ["a", "b"] == [file["name"] for file in output["files"]]


def test_a_file_that_nobody_checked_is_no_output(charged, capsys):
    """What lies beside a release is not listed as checked, and is named; each form says so."""
    place, _files = charged
    for name in ("patients.csv", ".hidden"):
        (place / "out" / name).write_text("age\n41\n")
    for form_ in FORMS:
        assert 0 == run(["export", form_, str(place / "out")])
        out, err = capsys.readouterr()
        assert "patients.csv: not a file of a release" in err
        if form_ == "acro":
            (output,) = json.loads(out)["results"].values()

    assert {"certificate.json", "release.json"} <= {file["name"] for file in output["files"]}
    assert "patients.csv" not in {file["name"] for file in output["files"]}
    assert {f"Not checked, and not listed: {name}" for name in ("patients.csv", ".hidden")} == set(
        output["comments"][2:])


def read_lines(release, certificate):
    """A release in every form of text."""
    texts = [label(release, certificate), markdown(form(release, certificate)),
             results(release, certificate, []).decode(),
             croissant(release, certificate, {}).decode(),
             markdown_text(minimisation(release, certificate, None, {}))]
    if certificate["claim"]["kind"] != "containment":
        texts.append(entry(release, certificate))
    return texts


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_names_do_no_harm(text, tmp_path):
    """A hostile name ends no string, no line, no cell and no mark, and shows no control."""
    new_release = selection(tmp_path)
    release, certificate = (json.loads(json.dumps(dict(document))) for document in (
        new_release.body, new_release.certificate))
    hurt = swapped(release, release["selected"][0], text), swapped(certificate, "clinic-2026", text)
    usual = read_lines(release, certificate)
    both = publication(ROWS, ("a", "b", "c"), ("x", "y", "x", "x", "y", "x"), target="ill")
    opened = swapped(both[0], "a", text), swapped(both[1], "a", text)
    for plain, value in (*zip(usual, read_lines(*hurt), strict=True),
                       *zip(read_lines(*both), read_lines(*opened), strict=True)):
        assert len(plain.splitlines()) == len(value.splitlines())
        assert re.search(r"[\u202a-\u202e\u2066-\u2069\u200b\x00-\x08\x0b-\x1f]", value) is None
    is_entry(read_entry(read_lines(*hurt)[5]))
    json.loads(read_lines(*hurt)[2])
    json.loads(read_lines(*hurt)[3])
    for texts in (read_lines(*hurt)[1], read_lines(*opened)[1]):
        assert re.search(r"<|(?<!\\)[\[`]|://", texts) is None
        if clean(text):
            bare = html.unescape(re.sub(r"\\([^a-z0-9\s])", r"\1", texts))
            cut = clean(text) if len(clean(text)) <= 100 else f"{clean(text)[:99]}…"
            assert f"“{cut}”" in bare


def test_the_page_and_the_text_say_the_same(make_files):
    """One structure feeds both: each label and text of the form stands on the page, in order."""
    for release, certificate in make_files.values():
        page = Page(page_of(release, certificate))
        words = page.words[page.words.rindex("Form to sign"):]
        at = 0
        for section in form(release, certificate):
            texts = (section.caption, *(text for line in section.facts for text in line[:2]))
            for full_words in map(words_of, texts):
                at = words.index(full_words.strip("."), at)

        assert "officer" in [value for _, key, value in page.attributes if key == "id"]
        assert "says that the result is anonymous" in words
        assert 1 == words.count("anonymous")


def test_nothing_is_said_that_is_not_there(make_files):
    """Fields that a release might hold by mistake reach no form."""
    planted = dict.fromkeys(("scores", "rows_read", "path", "user", "accuracy"), "SENTINEL-4711")
    for release, certificate in make_files.values():
        texts = read_lines({**release, **planted}, certificate)

        assert texts == read_lines(release, certificate)
        assert not any("SENTINEL" in text or "/tmp" in text for text in texts)


@pytest.fixture
def charged(tmp_path):
    """Two releases of one ledger; the first is in a folder."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with Folder.create(tmp_path / "out") as folder:
        release = selection(tmp_path, folder=folder)
    return tmp_path, release


def test_the_ledger_says_the_sums(charged, capsys):
    """With the ledger, label and form say what was spent before, after, and is left today."""
    place, _files = charged
    book = str(place / "budget.db")
    before = [str(place / "out"), "--ledger", book]
    assert 0 == run(["export", "officer", *before])
    assert "epsilon 0 before this charge and 0.5 after it, of 1 granted; 0.5 is left today" in (
        capsys.readouterr().out)
    assert 0 == run(["export", "label", *before])
    assert "| Remaining | epsilon 0.5 |" in capsys.readouterr().out
    assert 0 == run(["export", "label", before[0]])
    assert "| Remaining | see the ledger |" in capsys.readouterr().out

    Ledger(str(place / "other.db"), population="clinic-2026").grant(epsilon=1)
    assert 7 == run(["export", "label", before[0], "--ledger", str(place / "other.db")])


def test_what_does_not_hold_is_not_exported(charged, capsys):
    """A changed folder gives exit code 7 and not a byte; a new file is written once."""
    place, files = charged
    folder = place / "out"
    assert 0 == run(["export", "acro", str(folder), "--out", str(place / "results.json")])
    assert 2 == run(["export", "acro", str(folder), "--out", str(place / "results.json")])
    document = json.loads((place / "results.json").read_text())
    (output,) = document["results"].values()
    assert ["certificate.json", "release.json", "report.html"] == [
        file["name"] for file in output["files"]]

    path = folder / "release.json"
    path.chmod(0o600)
    path.write_bytes(files.bytes.replace(files.selected[0].encode(), b"other"))
    for form_ in FORMS:
        capsys.readouterr()
        assert 7 == run(["export", form_, str(folder)])
        assert "" == capsys.readouterr().out


def test_what_leaves_beside_the_names_is_said(make_files):
    """Noisy counts of the classes belong to the object."""
    release, certificate = make_files["selection"]
    less = {name: value for name, value in release.items() if name != "class_counts"}

    assert "2 of 3 columns\n" in markdown(form(less, certificate))
    assert "2 of 3 columns, noisy counts of the classes\n" in (markdown(form(release, certificate)))


def test_a_weak_promise_is_called_weak(make_files):
    """Ranges that are not ideal are named in words, in the label and in the three tests."""
    release, certificate = make_files["selection"]
    for epsilon, promise in (
            ("0.5", "limits what|limits how"), ("6", "limits weakly"), ("40", "limits in name")):
        claim = {**certificate["claim"], "epsilon": epsilon}
        text = markdown(form(release, {**certificate, "claim": claim}))
        page = label(release, {**certificate, "claim": claim})

        assert 3 == len(re.findall(rf"\*\*: ({promise})", text))
        assert (epsilon != "0.5") == ("weak guarantee" in page)


#: The Python of an environment that has mlcroissant, which is not one of our own.
READERS = Path(os.environ.get("PRIVSIEVE_READERS") or
                   Path(__file__).parents[2] / "build" / "readers" / "bin" / "python")
#: Validates each file, and reads the records that it describes.
PROGRAM = """
import json, sys
import mlcroissant
for path in sys.argv[1:]:
    dataset = mlcroissant.Dataset(jsonld=path)
    assert dataset.metadata.ctx.conforms_to.value.endswith("/1.1"), path
    (records,) = [each.id for each in dataset.metadata.record_sets]
    print(json.dumps([len(list(dataset.records(records))), path]))
"""


def exported(folder, form_, capsys):
    """The text of a form, made by the command line."""
    capsys.readouterr()
    assert 0 == run(["export", form_, str(folder)])
    return capsys.readouterr().out


def test_metadata_name_each_file_and_column(golden, capsys):
    """Croissant metadata has a digest for each file, and a field or record for each column."""
    place, names = golden
    for name in names:
        document = json.loads(exported(place / name, "croissant", capsys))
        files = {file["@id"]: file["sha256"] for file in document["distribution"]}
        (records,) = document["recordSet"]
        release = json.loads((place / name / "release.json").read_bytes())

        assert {path.name: sha256(path.read_bytes()).hexdigest()
                for path in (place / name).iterdir()} == files
        assert {"prov:wasGeneratedBy", "prov:wasDerivedFrom", "usageInfo"} <= set(document)
        if "table.csv" in files:
            header = (place / name / "table.csv").read_text().splitlines()[0].split(",")
            assert header == [field["name"] for field in records["field"]]
        else:
            assert release["selected"] == [row["columns/column"] for row in records["data"]
                                           if row["columns/named"]]
            assert release["columns"] == [row["columns/column"] for row in records["data"]]


@pytest.mark.skipif(not READERS.exists(), reason=(
    "mlcroissant is not installed in build/readers; PRIVSIEVE_READERS may name a Python"))
def test_another_library_reads_the_metadata(golden, tmp_path, capsys):
    """Mlcroissant validates the metadata of each kind and reads every record."""
    place, names = golden
    paths = []
    for name in names:
        shutil.copytree(place / name, tmp_path / name)
        paths.append(tmp_path / name / "croissant.json")
        paths[-1].write_text(exported(place / name, "croissant", capsys))
    done = subprocess.run([READERS, "-c", PROGRAM, *paths], capture_output=True, text=True,
                          check=False)

    assert 0 == done.returncode, done.stderr[-2000:]
    records = {Path(path).parent.name: count for count, path in map(
        json.loads, done.stdout.splitlines())}
    assert set(names) == set(records)
    assert min(records.values()) >= 3
    assert len((place / "containment" / "table.csv").read_text().splitlines()) - 1 == (
        records["containment"])


def test_a_record_of_minimisation_names_every_variable(make_files):
    """Each variable has one row: named, left out or not named, with the reason."""
    release, certificate = make_files["selection"]
    settings = {**release["plan"]["settings"], "never": ["dose"], "always": ["age"]}
    text = markdown_text(minimisation(
        {**release, "selected": ["age", "sex"], "plan": {**release["plan"], "settings": settings}},
        certificate, None, {"sha256:0123": "maker"}))

    assert re.search(r"^\| age \| named \| always included", text, re.MULTILINE)
    assert re.search(r"^\| dose \| left out \| excluded before", text, re.MULTILINE)
    assert re.search(r"^\| sex \| named \| by rule-sieve", text, re.MULTILINE)
    assert "sha256:0123 as maker" in text
    assert f"epsilon {certificate['claim']['epsilon']}" in text
    for release_, certificate_ in make_files.values():
        text = markdown_text(minimisation(release_, certificate_, None, {}))
        columns = release_["columns"] if "epsilon" in certificate_["claim"] else (
            certificate_["claim"]["roles"]["both"])
        assert all(f"\n| {name} | " in text for name in columns)
        assert "unsigned" in text
