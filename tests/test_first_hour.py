"""Law: the first hour.  A newcomer with a file that nobody prepared reaches a verified release.

Each journey is data: a table, the command lines in their order, and the lines of the draft that a
person edits (each with what a code book would say).  They are run as they stand, and counted.
"""

from __future__ import annotations

import datetime as dt
import difflib
import json
import random
import shlex
from pathlib import Path

import pytest

import privsieve as ps

BUDGET = "--ledger budget.db --population people"
GRANT = f"ledger grant {BUDGET} --epsilon 3"


def select(data, top):
    """The words of a selection."""
    return f"select {data} --domain domain.toml --epsilon 1 --top {top} {BUDGET} --out release"


VERIFY = "verify release --ledger budget.db"


def breast_cancer():
    """30 measures of 569 tumours, as scikit-learn has them."""
    from sklearn.datasets import load_breast_cancer

    load_breast_cancer(as_frame=True).frame.to_csv("wdbc.csv", index=False)


def survey():
    """101 columns: who was asked, and 95 answers from 1 to 5, of which two tell."""
    rng = random.Random(1)
    questions = [f"q{j:02}" for j in range(1, 96)]
    lines = [",".join(["respondent_id", "age", "sex", "region", "interview_date", *questions,
                       "satisfied"])]
    for j in range(600):
        happy = rng.randrange(2)
        answers = [min(5, rng.randint(1, 5) + (happy and k in (3, 40))) for k in range(95)]
        lines.append(",".join(map(str, [j, rng.randint(18, 90), rng.choice("mf"),
                                        rng.choice("NSEW"), f"2024-03-{rng.randint(1, 28):02}",
                                        *answers, happy])))
    Path("survey.csv").write_text("\n".join([*lines, ""]))


def hospital():
    """A German export: semicolons, decimal commas, latin-1, dates with dots, 99 for missing."""
    rng = random.Random(2)
    lines = [("Patientennummer;Alter;Größe;CRP;Schmerz;Geschlecht;Station;Raucher;Aufnahmedatum;"
             "Bemerkung;verstorben")]
    for j in range(500):
        dead = rng.random() < .3
        day = dt.date(2020, 1, 1) + dt.timedelta(rng.randrange(1400))
        crp = rng.lognormvariate(3 if dead else 1.5, 1)
        lines.append(";".join([
            str(70_000 + j), str(rng.randint(18, 94)),
            f"{rng.uniform(1.5, 2):.2f}".replace(".", ","), f"{crp:.1f}".replace(".", ","),
            str(rng.choice([*range(11), 99])), rng.choice("mw"),
            rng.choice(["Innere", "Chirurgie", "Gynäkologie"]), rng.choice(["ja", "nein"]),
            f"{day:%d.%m.%Y}", f"unauffällig {j}", "ja" if dead else "nein"]))
    Path("klinik.csv").write_bytes("\r\n".join([*lines, ""]).encode("latin-1"))
    Path("codebuch.csv").write_text(
        "Variable;Type;Levels;Min;Max;Missing;Format\n"
        "Alter;number;;0;120;;\n"
        "Größe;number;;0,3;2,5;;\n"
        "Schmerz;number;;0;10;99;\n"
        "Geschlecht;category;m=männlich|w=weiblich|d=divers;;;;\n"
        "Station;category;Innere|Chirurgie|Gynäkologie;;;;\n"
        "Raucher;flag;ja|nein;;;;\n"
        "Aufnahmedatum;date;;2020-01-01;2024-12-31;;%d.%m.%Y\n"
        "verstorben;category;nein|ja;;;;\n", encoding="utf-8")


def visits():
    """Several visits of each person."""
    rng = random.Random(3)
    lines = ["patient_id,visit_date,age,crp,hb,readmitted"]
    for person in range(400):
        back, age = rng.randrange(2), rng.randint(18, 90)
        lines += [f"P{person},2024-01-{rng.randint(1, 28):02},{age},"
                  f"{rng.lognormvariate(1 + back, 1):.1f},{rng.gauss(13, 2):.1f},{back}"
                  for _ in range(rng.randint(1, 4))]
    Path("visits.csv").write_text("\n".join([*lines, ""]))


LABS = ("NT-proBNP", "Albumin", "CRP", "Leukozyten", "Hämoglobin", "Kreatinin", "Natrium",
        "Kalium", "Harnstoff", "Bilirubin", "Laktat", "Ferritin", "D-Dimere", "Troponin", "Glukose",
        "Thrombozyten", "Kalzium", "Magnesium", "GOT", "GPT", "LDH", "TSH", "HbA1c", "Puls",
        "Blutdruck", "Gewicht")
CAUSE = "NT-proBNP"


def german(value, digits=1):
    """A number as the export writes it: 1.032,3."""
    return f"{value:,.{digits}f}".replace(",", "_").replace(".", ",").replace("_", ".")


def laboratory(rng, name, *, ill):
    """A cell of a laboratory: a number, a limit, or a word for none."""
    chance = rng.random()
    if chance < .03:
        return rng.choice(["k.A.", "-", ""])
    if name == CAUSE:
        return german(rng.lognormvariate(7.6 if ill else 5.6, .5))
    if name in ("CRP", "Troponin") and chance < .3:
        return "<5"
    return german(rng.lognormvariate(2 + sum(map(ord, name)) % 4, .6))


def clinic():
    """The export of FINDINGS: 8,000 visits in 40 columns, as a hospital's program writes them."""
    rng = random.Random(4)
    names = ["PatID", "Aufnahme", "Entlassung", "Geschlecht", "Station", "Versicherung", "Raucher",
             "Diabetes", "Alter", "Größe", *LABS, "Befund", "Bemerkung", "Wiederaufnahme", "Arzt"]
    rows, person = [], 0
    while len(rows) < 8000:
        person += 1
        ill = rng.random() < .5
        for _ in range(min(rng.choice([1, 2, 3, 4, 6]), 8000 - len(rows))):
            day = dt.date(2020, 1, 1) + dt.timedelta(rng.randrange(1400))
            form = "%d.%m.%Y" if rng.random() < .8 else "%Y-%m-%d"
            text = rng.choice(["unauffällig", "siehe\nVorbefund",
                               'Zitat ""gut""\n\nKontrolle; bald'])
            rows.append([
                f"P{person:05}", f"{day:{form}}", f"{day + dt.timedelta(3):{form}}",
                rng.choice("mwd"), rng.choice(["Innere", "Chirurgie", "Gynäkologie"]),
                rng.choice(["AOK", "TK", "privat"]), rng.choice(["ja", "Ja", "nein"]),
                rng.choice(["ja", "nein", "k.A."]), str(rng.randint(18, 95)),
                german(rng.uniform(1.5, 2), 2), *(laboratory(rng, name, ill=ill) for name in LABS),
                f'"{text}"', f"Text {len(rows)}",
                rng.choice(["ja", "Ja", "JA", "j"] if ill else ["nein", "Nein", "NEIN", "n"]),
                f"Dr. {rng.randrange(900)}"])
    assert (8000, 40) == (len(rows), len(names))
    Path("klinik.csv").write_bytes("\r\n".join(
        [";".join(row) for row in [names, *rows]] + [""]).encode("cp1252"))
    kinds = {"Aufnahme": "date;;2020-01-01;2024-12-31;%d.%m.%Y",
             "Entlassung": "date;;2020-01-01;2024-12-31;%d.%m.%Y",
             "Geschlecht": "category;m=männlich|w=weiblich|d=divers;;;",
             "Station": "category;Innere|Chirurgie|Gynäkologie;;;",
             "Versicherung": "category;AOK|TK|privat;;;", "Raucher": "flag;ja|nein;;;",
             "Diabetes": "flag;ja|nein;;;", "Befund": "text;;;;", "Bemerkung": "text;;;;",
             "Arzt": "text;;;;", "PatID": "id;;;;", "Wiederaufnahme": "category;nein|ja;;;"}
    Path("codebuch.csv").write_text("\n".join(
        ["name;kind;values;low;high;format",
         *(f"{name};{kinds.get(name, 'number;;;;')}" for name in names), ""]), encoding="utf-8")


INSPECT = "inspect {} --domain domain.toml --private-output seen.txt"
#: A maker of the table, the command lines, what is edited between the first and the second, the
#: most commands, and the most lines that may be edited.
JOURNEYS = {
    "thirty numbers": (breast_cancer, (
        "domain wdbc.csv --target target --unit row --out domain.toml",
        GRANT, select("wdbc.csv", 5), VERIFY), (
        (('# values =   <- fill in: every class, for example [0, 1]; or kind = "number", for a '
         "number"), "values = [0, 1]"),), 4, 3),
    "thirty numbers, said at once": (breast_cancer, (
        "domain wdbc.csv --target target --classes 0,1 --unit row --out domain.toml",
        GRANT, select("wdbc.csv", 5), VERIFY), (), 4, 0),
    "a survey": (survey, (
        "domain survey.csv --target satisfied --classes 0,1 --unit row --out domain.toml",
        GRANT, select("survey.csv", 2), VERIFY), (
        (('# [[column]]\n# name = "sex"\n# kind = "category"\n# values =   <- fill in: every '
         'value, for example ["A", "B"]'),
         '[[column]]\nname = "sex"\nkind = "category"\nvalues = ["m", "f"]'),), 4, 6),
    "a hospital with a code book": (hospital, (
        ("domain klinik.csv --target verstorben --unit row --code-book codebuch.csv "
        "--out domain.toml"),
        INSPECT.format("klinik.csv"), GRANT, select("klinik.csv", 1), VERIFY), (), 5, 0),
    "a hospital, by a look": (hospital, (
        "domain klinik.csv --target verstorben --unit row --look --out domain.toml",
        INSPECT.format("klinik.csv"), GRANT, select("klinik.csv", 1), VERIFY), (
        ("private = true\n", ""),
        ('names = ["Alter", "Größe", "CRP", "Schmerz"]', 'names = ["Alter", "Größe", "CRP"]'),
        ("SEEN", '\n[[column]]\nname = "Schmerz"\nkind = "number"\nmissing_values = [99]\n'),
        ('seen = ["m", "w"]', 'values = ["m", "w", "d"]'),
        ('seen = ["Chirurgie", "Gynäkologie", "Innere"]',
         'values = ["Chirurgie", "Gynäkologie", "Innere"]'),
        (r'seen = ["ja", "nein", "true = \"ja\"", "false = \"nein\""]',
         'true = "ja"\nfalse = "nein"'),
        ("SEEN", "low = 2020-01-01\nhigh = 2024-12-31\n"),
        ('seen = ["ja", "nein"]', 'values = ["nein", "ja"]')), 5, 15),
    "visits by person": (visits, (
        ("domain visits.csv --target readmitted --classes 0,1 --unit person --persons 400 "
        "--rows-per-person 4 --out domain.toml"),
        INSPECT.format("visits.csv"), GRANT, select("visits.csv", 1), VERIFY), (), 5, 0),
}


@pytest.mark.parametrize("name", JOURNEYS)
def test_a_newcomer_comes_to_a_release(name, tmp_path, monkeypatch, cli):
    """Each command succeeds at once, the release holds, its page is there; few lines are edited."""
    monkeypatch.chdir(tmp_path)
    make, commands, edits, most_commands, most_lines = JOURNEYS[name]
    make()
    for at, line in enumerate(commands):
        code, out, err = cli(*shlex.split(line))
        assert 0 == code, (line, err)
        if at == 0:
            before = Path("domain.toml").read_text(encoding="utf-8")
            after = edited(before, edits)
            Path("domain.toml").write_text(after, encoding="utf-8")
    assert "valid" == out.splitlines()[0]
    assert Path("release/report.html").stat().st_size > 1000
    assert set(ps.load("release").selected) <= set(ps.Domain.from_toml("domain.toml").names)
    assert len(commands) <= most_commands
    assert changed(before, after) <= most_lines
    if Path("seen.txt").is_file():  # right at the first look: nothing to correct
        seen = Path("seen.txt").read_text(encoding="utf-8")
        assert not [line for line in seen.split("\n") if "->" in line or "unparsable" in line]


#: The commands from the export to a release that protects people.  After the second one a person
#: edits what inspect proposes: a line of the draft, its new text, and the words of inspect.
CLINIC = (
    ("domain klinik.csv --target Wiederaufnahme --unit person --persons 3000 --rows-per-person 4 "
     "--code-book codebuch.csv --out domain.toml"),
    "inspect klinik.csv --domain domain.toml --private-output first.txt",
    "inspect klinik.csv --domain domain.toml --private-output second.txt", GRANT,
    select("klinik.csv", 1), VERIFY)
OPTIONS = ('csv = { thousands = ".", missing = ["-", "k.A."], censored = ["<"], '
           'line_breaks = true, delimiter = ";", decimal = ",", encoding = "cp1252" }')
FORMATS = 'format = ["%d.%m.%Y", "ISO 8601"]'
WORDS = 'words = [["nein", "n"], ["ja", "j"]]'
EDITS = (('csv = { delimiter = ";", decimal = ",", encoding = "cp1252" }', OPTIONS, OPTIONS),
         ('format = "%d.%m.%Y"', FORMATS, FORMATS),
         ('values = ["nein", "ja"]', f'values = ["nein", "ja"]\nignore_case = true\n{WORDS}',
          "write ignore_case = true"))
MOST_COMMANDS = MOST_EDITS = 6


def test_a_hospital_export_as_it_is(tmp_path, monkeypatch, cli):
    """Six commands and six lines lead from an export that nobody cleaned to a release of people."""
    monkeypatch.chdir(tmp_path)
    clinic()
    export = Path("klinik.csv").read_bytes()
    for at, line in enumerate(CLINIC, 1):
        code, out, err = cli(*shlex.split(line))
        assert 0 == code, (line, err)
        if at == 1:
            before = Path("domain.toml").read_text(encoding="utf-8")
        if at == 2:
            seen = Path("first.txt").read_text(encoding="utf-8")
            assert [] == [edit for _, _, edit in EDITS if edit not in seen]
            assert WORDS in seen
            after = edited(before, [(old, new) for old, new, _ in EDITS])
            Path("domain.toml").write_text(after, encoding="utf-8")
    seen = Path("second.txt").read_text(encoding="utf-8")

    assert at <= MOST_COMMANDS
    assert changed(before, after) <= MOST_EDITS
    assert export == Path("klinik.csv").read_bytes()
    assert [] == [line for line in seen.split("\n") if "->" in line or "unparsable" in line]
    assert "valid" == out.splitlines()[0]
    release = json.loads(Path("release/release.json").read_text(encoding="utf-8"))
    assert ("person", [CAUSE]) == (release["domain"]["unit"], release["selected"])


def edited(text, edits):
    """The text as somebody edits it, from above to below; SEEN is the next list of that name."""
    for edit, new in edits:
        old = edit
        if edit == "SEEN":
            start = text.index("\nseen = [") + 1
            end = "\n]\n" if text[start + 8] == "\n" else "]\n"
            old = text[start:text.index(end, start) + len(end)]
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    return text


def changed(before, after):
    """How many lines were written, changed or taken away."""
    delta = [line[0] for line in difflib.ndiff(before.split("\n"), after.split("\n"))]
    return max(delta.count("+"), delta.count("-"))


def test_a_draft_is_planned_without_an_edit(tmp_path, monkeypatch, cli):
    """Where nothing has to be declared, the first plan after the draft works."""
    monkeypatch.chdir(tmp_path)
    survey()
    drafted = cli("domain", "survey.csv", "--target", "satisfied", "--classes", "0,1", "--unit",
                  "row", "--out", "domain.toml")
    planned = cli("plan", "survey.csv", "--domain", "domain.toml", "--epsilon", "1", "--top", "3")

    assert (0, 0) == (drafted[0], planned[0])
    assert "next inspect the table" in " ".join(drafted[2].split())
    assert 96 == len(ps.Domain.from_toml("domain.toml").columns)


def test_a_look_is_refused_until_it_is_replaced(tmp_path, monkeypatch, cli):
    """A draft made from rows is its owner's alone; no verb takes it, and no refusal quotes it."""
    monkeypatch.chdir(tmp_path)
    hospital()
    words = ("domain", "klinik.csv", "--target", "verstorben", "--unit", "row", "--look")
    code, out, err = cli(*words)

    assert (2, "") == (code, out)  # stdout is no terminal
    assert "private" in err
    assert 0 == cli(*words, "--out", "look.toml")[0]
    assert 0o600 == Path("look.toml").stat().st_mode & 0o777
    text = Path("look.toml").read_text(encoding="utf-8")
    for left in (text, text.replace("private = true\n", "")):  # the mark alone is not enough
        Path("left.toml").write_text(left, encoding="utf-8")
        for verb in (("plan",), ("select", "--out", "o", *BUDGET.split())):
            code, out, err = cli(verb[0], "klinik.csv", "--domain", "left.toml", "--epsilon", "1",
                                 "--top", "1", *verb[1:])
            assert (2, "") == (code, out)
            assert "seen holds values from the rows" in err
            for secret in ("Gynäkologie", "31.10", "nein", "0 to 10", "99 far"):
                assert secret not in err


def test_a_draft_reads_no_row(tmp_path, monkeypatch, cli):
    """Names and types decide a draft: tables that differ in every row have the same."""
    monkeypatch.chdir(tmp_path)
    Path("one.csv").write_text("id;Größe;ward;q1;q2;q3;y\n1;1,80;A;1;2;3;yes\n", encoding="cp1252")
    Path("two.csv").write_text("id;Größe;ward;q1;q2;q3;y\n" + "x;7;\u20ac;é;;\n" * 50,
                               encoding="cp1252")
    first, two = (cli("domain", file, "--target", "y") for file in ("one.csv", "two.csv"))

    assert first == two
    assert 'encoding = "cp1252"' in first[1]


def test_in_python(tmp_path, monkeypatch):
    """A draft of a frame, a domain and a ledger by their paths, and a folder that is verified."""
    import pandas as pd

    monkeypatch.chdir(tmp_path)
    visits()
    frame = pd.read_csv("visits.csv")[["age", "crp", "hb", "readmitted"]]
    text = ps.Domain.draft(frame, "readmitted", classes=[0, 1])
    Path("d.toml").write_text(text, encoding="utf-8")
    ps.Ledger("budget.db", population="people").grant(epsilon=3)
    sieve = ps.RuleSieve(1, epsilon=1, domain="d.toml", ledger="budget.db").fit(frame)
    sieve.release_.save("release")

    assert ps.verify("release").valid
    assert 2 == ps.Ledger("budget.db", population="people").left()
    assert ["age", "crp", "hb"] == list(ps.plan("rule-sieve", "d.toml", k=1, epsilon=1,
                                                rows=900).domain.names)
    assert ps.inspect(frame, "d.toml").rows == len(frame)
    ps.Ledger("budget.db", population="others").grant(epsilon=1)
    with pytest.raises(ps.errors.ParameterError, match=r"one population \(others, people\)"):
        ps.RuleSieve(1, epsilon=1, domain="d.toml", ledger="budget.db").fit(frame)
