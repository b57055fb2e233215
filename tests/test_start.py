"""Law: `start` asks at most ten questions, and the commands that it prints do what it did."""

from __future__ import annotations

import io
import json
import os
import pty
import random
import re
import select
import shlex
import signal
import sys
import time
from pathlib import Path

import pytest
from sklearn.datasets import load_breast_cancer

from privsieve.ledger.ledger import Ledger

#: Answers about the breast cancer table, one a question.
TUMOURS = {"target": "malignant", "kind": "0,1", "unit": "row", "rows": "count",
           "out": "domain.toml", "look": "no", "top": "5", "epsilon": "1"}
#: Answers about the survey, whose people have two rows each.
SURVEY = {"target": "satisfied", "kind": "no,yes", "unit": "respondent_id", "each": "2",
          "people": "300", "numbers": "yes", "out": "survey.toml", "look": "no", "top": "4",
          "epsilon": "0.5"}
PRIVATE_CELLS = ("North", "7.25", "secret remark")


@pytest.fixture(autouse=True)
def tables(tmp_path, monkeypatch):
    """Write two tables into an empty folder, and work there."""
    monkeypatch.chdir(tmp_path)
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X.assign(malignant=1 - y).to_csv("tumours.csv", index=False)
    rng = random.Random(3)
    questions = [f"q{number:02}" for number in range(1, 21)]
    lines = [["respondent_id", "region", "interview_date", "wave", *questions, "income", "comment",
              "satisfied"]]
    lines += [[row // 2, rng.choice(["North", "South"]), "03.04.2024", row % 2,
               *(rng.randint(1, 5) for _ in questions), "7.25", "secret remark",
               rng.choice(["yes", "no"])] for row in range(600)]
    Path("survey.csv").write_text("".join(f"{','.join(map(str, line))}\n" for line in lines))


@pytest.fixture
def start(cli, monkeypatch):
    """Run `privsieve start` with answers from a file: its exit code, stdout and stderr."""
    def call(table, answers, *options):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in answers)))
        return cli("start", table, *options)

    return call


def replaced(answers, **others):
    """Return answers in their order, some of them replaced; a list answers several times."""
    return [line for answer in {**answers, **others}.values()
            for line in ([answer] if isinstance(answer, str) else answer)]


def commands(text):
    """Return the words of the commands that stand at the end of a dialogue."""
    end = text[text.rindex("The domain file."):].replace("\\\n", "")
    return [shlex.split(line)[2:] for line in end.splitlines() if line.startswith("$ ")]


def plan_of(text):
    """Return the lines of the last plan in a text, up to an empty line before a title."""
    plan = text[text.rindex("Plan: "):]
    return plan.partition("\n\nThe domain file.")[0].strip().splitlines()


@pytest.mark.parametrize(("table", "answers"), [
    ("tumours.csv", TUMOURS), ("survey.csv", SURVEY)])
def test_the_commands_do_the_same(start, cli, table, answers):
    """The printed commands give the same domain file and plan, and lead to a release."""
    code, out, err = start(table, replaced(answers))
    assert code == 0, err
    written = Path(answers["out"]).read_bytes()
    draft, inspect, plan, grant, choice = commands(out)

    Path(answers["out"]).unlink()
    assert 0 == cli(*draft)[0]
    assert written == Path(answers["out"]).read_bytes()
    code, again, _ = cli(*plan)
    assert (0, again.strip().splitlines()) == (code, plan_of(out))
    assert 0 == cli(*inspect, "--private-output", "look.txt")[0]
    assert 0 == cli(*grant)[0]
    code, names, err = cli(*choice)
    assert (0, int(answers["top"])) == (code, len(names.splitlines())), err
    assert Ledger("budget.db", population=Path(table).stem).left() == 0


def test_a_table_of_a_public_size(start, cli):
    """With a public number of rows no row is counted: the plan does not name the table."""
    _, out, _ = start("tumours.csv", replaced(TUMOURS, kind="number", rows="600"))
    draft, _, plan, *_ = commands(out)

    assert "--numeric-target" in draft
    assert ["plan", "--rows", "600"] == plan[:3]
    assert plan_of(out) == cli(*plan)[1].strip().splitlines()
    assert 'kind = "number"' in Path("domain.toml").read_text().partition("[target]")[2]


def test_defaults_are_in_brackets(start):
    """Enter takes the answer in brackets; it gives what the same words give."""
    _, expected, _ = start("tumours.csv", replaced(TUMOURS))
    Path("domain.toml").unlink()
    code, out, _ = start("tumours.csv", [""] * len(TUMOURS))

    assert (0, commands(expected)) == (code, commands(out))
    assert list(TUMOURS.values()) == re.findall(r"^\[(.*?)\] > ", out, re.MULTILINE)


@pytest.mark.parametrize(("table", "answers"), [
    ("tumours.csv", TUMOURS), ("survey.csv", SURVEY)])
def test_at_most_ten_questions(start, table, answers):
    """Each question has a number, and there are at most ten, however often one is repeated."""
    Path(answers["out"]).touch()
    _, out, err = start(table, replaced(
        answers, unit=["nobody", answers["unit"]], out=[answers["out"], "replace"], look="yes"))
    numbers = [int(number) for number in re.findall(r"^(\d+)\.  ", out, re.MULTILINE)]

    assert list(range(1, len(answers) + 1)) == numbers, err
    assert 10 >= len(numbers)


@pytest.mark.parametrize(("table", "answers"), [
    ("tumours.csv", TUMOURS), ("survey.csv", SURVEY)])
def test_the_screen_is_80_columns_wide(start, table, answers):
    """No line of a dialogue is longer than a screen, and each answer is followed by a command."""
    _, out, err = start(table, replaced(answers, look="yes"))

    assert [] == [line for line in (out + err).splitlines() if len(line) > 80]
    assert len(answers) == len(re.findall(r"> [^\n]*\n\$ privsieve ", out))


BAD = [
    ("tumours.csv", TUMOURS, "target", "malignent", "did you mean 'malignant'?"),
    ("tumours.csv", TUMOURS, "kind", "yes", "a label needs at least two"),
    ("tumours.csv", TUMOURS, "kind", "0,0", "a value is listed twice"),
    ("survey.csv", SURVEY, "unit", "respondent", "did you mean 'respondent_id'?"),
    ("survey.csv", SURVEY, "unit", "satisfied", "is named twice"),
    ("survey.csv", SURVEY, "each", "0", "write a whole number from 1"),
    ("survey.csv", SURVEY, "people", "", "write a whole number from 1"),
    ("survey.csv", SURVEY, "people", "many", "write a whole number from 1"),
    ("tumours.csv", TUMOURS, "rows", "all", "write a whole number from 1"),
    ("tumours.csv", TUMOURS, "out", "no/such/domain.toml", "its folder must exist"),
    ("tumours.csv", TUMOURS, "out", "tumours.csv", "'tumours.csv' exists; name a new file"),
    ("tumours.csv", TUMOURS, "look", "perhaps", "write yes or no"),
    ("survey.csv", SURVEY, "numbers", "some", "write yes or no"),
    ("tumours.csv", TUMOURS, "top", "31", "write a whole number from 1 to 30"),
    ("tumours.csv", TUMOURS, "epsilon", "0", "it must be larger than 0"),
    ("tumours.csv", TUMOURS, "epsilon", "11", "above 10 the promise is weak"),
    ("tumours.csv", TUMOURS, "epsilon", "some", "epsilon is 'some'"),
]


@pytest.mark.parametrize(("table", "answers", "question", "bad", "sentence"), BAD)
def test_a_bad_answer_is_asked_again(start, table, answers, question, bad, sentence):
    """A bad answer gets a sentence with what is allowed, and a good one still counts."""
    code, out, err = start(table, replaced(answers, **{question: [bad, bad, answers[question]]}))
    refusal, good = " ".join(out.split()), commands(out)

    assert (0, 2) == (code, refusal.count(sentence)), err
    assert "line " not in refusal
    Path(answers["out"]).unlink()
    assert good == commands(start(table, replaced(answers))[1])


@pytest.mark.parametrize(("table", "answers", "question", "bad", "sentence"), BAD)
def test_three_bad_answers_end(start, table, answers, question, bad, sentence):
    """After three bad answers the verb ends with exit code 2 and a sentence."""
    number = list(answers).index(question) + 1
    code, out, err = start(table, replaced(answers, **{question: [bad] * 3}))

    assert (2, 3) == (code, " ".join(out.split()).count(sentence))
    assert f"question {number} got 3 answers that are not allowed" in " ".join(err.split())
    assert f"\n{number + 1}.  " not in out


@pytest.mark.parametrize("count", range(len(SURVEY)))
def test_the_end_of_input(start, count):
    """Without a terminal the verb ends with exit code 2, and a sentence with the commands."""
    code, _, err = start("survey.csv", replaced(SURVEY)[:count])
    sentence = " ".join(err.split())

    assert 2 == code
    assert f"the answers end at question {count + 1}" in sentence
    assert "run privsieve domain survey.csv" in sentence
    assert ("--target satisfied" in sentence) == (count > 0)
    assert "then privsieve plan and privsieve select" in sentence
    assert Path("survey.toml").exists() == (count > list(SURVEY).index("out"))


def test_no_stdin(cli, monkeypatch):
    """A process that was started without stdin gets the same sentence."""
    monkeypatch.setattr(sys, "stdin", None)
    code, _, err = cli("start", "tumours.csv")

    assert (2, True) == (code, "the answers end at question 1" in " ".join(err.split()))


def test_an_existing_file(start):
    """A file with the name is kept; on request it is renamed, and never a second time."""
    Path("domain.toml").write_text("mine")
    start("tumours.csv", replaced(TUMOURS, out=["domain.toml", "other.toml"]))
    assert ("mine", True) == (Path("domain.toml").read_text(), Path("other.toml").exists())

    start("tumours.csv", replaced(TUMOURS, out=["domain.toml", "replace"]))
    assert "mine" == Path("domain.toml.old").read_text()
    assert Path("other.toml").read_bytes() == Path("domain.toml").read_bytes()

    code, out, _ = start("tumours.csv", replaced(TUMOURS, out=["domain.toml", "replace", "c.toml"]))
    assert (0, True) == (code, "cannot be renamed to 'domain.toml.old'" in " ".join(out.split()))
    assert "mine" == Path("domain.toml.old").read_text()


def test_only_a_domain_file_is_replaced(start):
    """`replace` never renames the table or a folder, and is no name of a file."""
    Path("folder.toml").mkdir()
    for name in ("tumours.csv", "folder.toml"):
        code, out, _ = start("tumours.csv", replaced(TUMOURS, out=[name, "replace", "replace"]))
        assert 2 == code
        assert "or write replace" not in out
    assert {"tumours.csv", "survey.csv", "folder.toml"} == {each.name for each in Path().iterdir()}


def test_an_interrupted_file(start, monkeypatch):
    """Ctrl-C while the domain file is written leaves no file."""
    def interrupt(_file):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    code, _, err = start("tumours.csv", replaced(TUMOURS))

    assert (130, False) == (code, Path("domain.toml").exists())
    assert "interrupted; nothing was charged" in err


def test_nothing_is_charged_or_released(start):
    """Beside the tables there is one new file: no ledger, no release folder."""
    start("survey.csv", replaced(SURVEY))

    assert {"survey.csv", "tumours.csv", "survey.toml"} == {path.name for path in Path().iterdir()}


def test_no_row_is_read(start, monkeypatch):
    """Without a look no cell of the table is on the screen or in the file, whatever rows hold."""
    _, out, err = start("survey.csv", replaced(SURVEY))
    first = Path("survey.toml").read_text()
    Path("survey.toml").unlink()
    Path("survey.csv").write_text(Path("survey.csv").read_text().partition("\n")[0] + '\n\0"\n')

    assert [] == [cell for cell in PRIVATE_CELLS if cell in out + err + first]
    assert (0, out, err) == start("survey.csv", replaced(SURVEY))
    assert first == Path("survey.toml").read_text()


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_unknown_names(start, answer):
    """Columns whose names do not say what they hold are asked for, and numbers only after yes."""
    _, out, _ = start("survey.csv", replaced(SURVEY, numbers=answer))
    used = Path("survey.toml").read_text().partition("# Set aside")[0]

    assert "do not say what they hold: wave." in " ".join(out.split())
    assert (answer == "yes") == ("--numbers" in commands(out)[0]) == ('"wave"' in used)


def test_a_private_look(start, cli):
    """A look is marked PRIVATE, has a file of its own for its owner, and changes nothing else."""
    _, out, err = start("survey.csv", replaced(SURVEY))
    public, listed = Path("survey.toml").read_text(), commands(out)
    Path("survey.toml").unlink()
    code, out, err = start("survey.csv", replaced(SURVEY, look="yes"))
    private = Path("survey.private.toml")

    assert (0, public, listed) == (code, Path("survey.toml").read_text(), commands(out))
    assert [] == [cell for cell in PRIVATE_CELLS if cell in out + err]
    assert "PRIVATE" in out
    assert private.read_text().startswith("# PRIVATE:")
    assert 'seen = ["North", "South"]' in private.read_text()
    assert 0o600 == private.stat().st_mode & 0o777
    assert 2 == cli("plan", "survey.csv", "--domain", private, "--top", "2", "--epsilon", "1")[0]


@pytest.mark.parametrize(("flags", "sentence"), [
    ("--numeric-target", "--classes and --numeric-target describe --target"),
    ("--target q01 --classes 1,2 --numeric-target", "exclude each other")])
def test_a_numeric_target_has_no_classes(cli, flags, sentence):
    """`domain` refuses a numeric target without a name, or with classes."""
    code, _, err = cli("domain", "survey.csv", *flags.split())

    assert (2, True) == (code, sentence in " ".join(err.split()))


def test_a_look_skips_a_numeric_target(cli):
    """What is declared is not read: a private draft has no `seen` of a numeric target."""
    assert 0 == cli("domain", "survey.csv", "--target", "income", "--numeric-target", "--look",
                    "--out", "look.toml")[0]
    target = Path("look.toml").read_text().partition("[target]")[2].partition("#")[0]

    assert ["", 'name = "income"', 'kind = "number"'] == target.rstrip().split("\n")


def test_no_column_is_complete(start):
    """If all columns need facts, the file is written, and a sentence says how to go on."""
    Path("wards.csv").write_text("ward,sex,ill\nA,M,1\n")
    code, _, err = start("wards.csv", replaced({**TUMOURS, "target": "ill"}))

    assert (2, True) == (code, Path("domain.toml").exists())
    assert "then run privsieve plan wards.csv --domain domain.toml --top N" in " ".join(err.split())


def test_json(start):
    """With --json stdout is one object with the commands, and the dialogue is on stderr."""
    code, out, err = start("tumours.csv", replaced(TUMOURS), "--json")

    assert (0, 1) == (code, out.count("\n"))
    assert commands(err) == [words[1:] for words in json.loads(out)["commands"]]


def test_a_table_that_does_not_exist(cli):
    """A wrong path is refused before the first question."""
    code, out, err = cli("start", "none.csv")

    assert (3, "") == (code, out)
    assert "check the path" in " ".join(err.split())


def test_a_terminal_and_ctrl_c():
    """At a terminal keys answer; Ctrl-C ends at any question with code 130 and no file."""
    child, terminal = pty.fork()
    if not child:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.execv(sys.executable, [sys.executable, "-m", "privsieve", "start", "tumours.csv"])
    for keys, expected in (("", "[malignant] > "), ("malignnt\n", "did you mean"),
                           ("malignant\n", "[0,1] > "), ("0,1\n", "[row] > "),
                           ("row\n", "[count] > "), ("\n", "[domain.toml] > "),
                           ("dom", "dom"), ("\x03", "interrupted")):
        # Python hears a signal late that comes after the question and before it waits for keys.
        time.sleep(0.3)
        os.write(terminal, keys.encode())
        assert expected in screen(terminal, expected)

    assert 130 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert {"tumours.csv", "survey.csv"} == {path.name for path in Path().iterdir()}


def screen(terminal, expected):
    """Return what a terminal shows until a text appears, or the process ends."""
    text, end = "", time.monotonic() + 30
    while expected not in text and time.monotonic() < end:
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                text += os.read(terminal, 4096).decode()
            except OSError:  # the process has ended
                break
    return text
