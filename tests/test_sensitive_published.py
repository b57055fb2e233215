"""Law: sensitive columns.  They leave as they are if asked for; the file shows what they tell."""

import json
import random
from pathlib import Path

import pytest

from privsieve.check.verify import verify
from privsieve.cli import run


@pytest.fixture
def privsieve(tmp_path, monkeypatch, capsys):
    """Run one command line in a folder with a table of a hospital: its exit code and stderr."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(3)
    lines = ["age,sex,ward,diagnosis,income,day,ill"]
    for _ in range(300):
        age = rng.randint(18, 90)
        lines.append(f"{age},{rng.choice('FM')},{rng.choice('ABC')},"
                     f"{rng.choice(['flu', 'asthma', 'fracture'])},{rng.randint(-3, 9) * 1000},"
                     f"2020-0{rng.randint(1, 9)}-01,"
                     f"{'yes' if age + rng.randint(-30, 30) > 60 else 'no'}")
    Path("t.csv").write_text("\n".join([*lines, ""]))

    def call(*words):
        code = run([str(word) for word in words])
        return code, capsys.readouterr().err

    return call


ASKED = ("publish", "t.csv", "--target", "ill", "-k", 5, "--publish-target", "--out", "out")


@pytest.mark.parametrize(("options", "texts"), [
    (("--sensitive", "diagnosis"), {"flu", "asthma", "fracture"}),
    (("--sensitive", "income"), {str(1000 * at) for at in range(-3, 10)}),
    (("--sensitive", "income", "--cut", "income=0,9000"),
     {"income<0", "income=0..9000", "income>=9000"}),
    (("--sensitive", "day"), {f"2020-0{at}-01" for at in range(1, 10)}),
    (("--sensitive", "diagnosis,day,income"), None),
])
def test_sensitive_columns_leave_as_they_are(privsieve, options, texts):
    """The file holds their values; claim, figures and a recount of the file alone agree."""
    code, err = privsieve(*ASKED, *options, "--publish-sensitive", "--max-share", "0.99")
    assert 0 == code, err
    claim = json.loads(Path("out/certificate.json").read_text())["claim"]
    release = json.loads(Path("out/release.json").read_text())
    verdict = verify("out/certificate.json", "out/release.json", table="out/table.csv")

    assert () == verdict.reasons
    assert set(options[1].split(",")) == set(claim["sensitive"]) == set(claim["roles"]["sensitive"])
    assert {*claim["sensitive"], "ill"} == {disclosure["column"] for disclosure in
                                           release["measured"]["disclosure"]}
    assert "everything" in release["measured"]["strangers"]
    assert any(note.startswith("sensitive, published, declared unknown") for note in verdict.notes)
    if texts is not None:
        place = Path("out/table.csv").read_text().splitlines()[0].split(",").index(options[1])
        rows = Path("out/table.csv").read_text().splitlines()[1:]
        assert texts == {row.split(",")[place] for row in rows}


def test_a_sensitive_column_stays_where_nobody_asks_for_it(privsieve):
    """Unpublished it is in no file but by its name, and `verify` says that it was not recounted."""
    code, err = privsieve(*ASKED, "--sensitive", "diagnosis", "--max-share", "0.9")
    assert 0 == code, err
    written = "".join(path.read_text() for path in Path("out").iterdir())
    notes = verify("out/certificate.json", table="out/table.csv").notes

    assert not {"flu", "asthma", "fracture"} & set(written.replace(",", " ").split())
    assert any("were not recounted" in note for note in notes)
    assert any(note.startswith("sensitive, not published: diagnosis") for note in notes)


def test_an_edited_sensitive_value_is_found(privsieve):
    """One value of the file that is another one makes the folder invalid."""
    assert 0 == privsieve(*ASKED, "--sensitive", "diagnosis", "--publish-sensitive")[0]
    text = Path("out/table.csv").read_text()
    Path("other.csv").write_text(text.replace("flu", "asthma", 1))

    assert verify("out/certificate.json", "out/release.json", table="other.csv").reasons
