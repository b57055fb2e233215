"""Laws of the terminal: each verb speaks JSON, lacks are named at once, lines fit, TAB works."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import select
import shlex
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import click
import pytest

from privsieve.cli import VERBS, demo, releasing, run, verbs
from privsieve.methods import METHODS, plan
from privsieve.public.columns import Label
from privsieve.public.domain import Domain

DOMAIN = """
[table]
unit = "row"
[[column]]
name = "{long}"
kind = "number"
low = 0
high = 110
[[column]]
name = "dose"
kind = "number"
low = 0
high = 10
[[column]]
name = "smoker"
kind = "flag"
[target]
name = "{target}"
kind = "{kind}"
"""
#: A name that needs a line of its own.
LONG = "the age of the patient at the first visit, in whole years"
PEOPLE = "everybody who came to one of the three clinics in the north between 2019 and 2025"
KEPT = ("--ledger", "budget.db", "--population", PEOPLE)
ASKED = ("table.csv", "--domain", "domain.toml", "--epsilon", "1", "--anyway", *KEPT)
#: One call of every verb, in an order in which each has what it needs.
CALLS = (
    ("doctor",),
    ("tools",),
    ("domain", "table.csv"),
    ("inspect", "table.csv", "--domain", "domain.toml", "--private-output", "look.txt"),
    ("ledger", "grant", *KEPT, "--epsilon", "5"),
    ("ledger", "raise", *KEPT, "--epsilon", "9", "--reason", "a second study", "--by", "A. Clerk",
     "--and", "B. Board"),
    ("plan", "table.csv", "--domain", "domain.toml", "--epsilon", "1", "--top", "2"),
    ("plan", "table.csv", "--domain", "domain.toml", "--epsilon", "1", "--top", "2", "--method",
     "output-fwell"),
    ("select", *ASKED, "--top", "2", "--out", "first"),
    ("synthesize", *ASKED, "--top", "1", "--rows", "9", "--out", "rows"),
    ("synthesize", "--from", "rows", "--rows", "3"),
    ("regress", "table.csv", "--domain", "cost.toml", "--epsilon", "1", "--anyway", "--kernel",
     "linear", *KEPT, "--out", "model"),
    ("predict", "model", "table.csv"),
    ("recover", "first"),
    ("report", "first", "--out", "page.html"),
    ("export", "label", "first"),
    ("key", "make", "maker.pem"), ("key", "show", "maker.pem"),
    ("sign", "first", "--key", "maker.pem", "--as", "maker"),
    ("verify", "first", "--ledger", "budget.db"),
    ("check", "table.csv", "--target", "ill"),
    ("publish", "table.csv", "--target", "ill", "-k", "2", "--out", "columns"),
    ("union", "table.csv", "columns"),
    ("bridge", "sdcmicro", "table.csv", "--target", "ill", "-k", "2", "--out", "sdc"),
    ("explore", "table.csv", "--target", "ill", "--seconds", "2", "--out", "each-k.html"),
    ("audit", "noisy-top-k", "--runs", "100"),
    ("ledger", "show", "--ledger", "budget.db"),
    ("ledger", "verify", "--ledger", "budget.db"), ("ledger", "export", "--ledger", "budget.db"),
    ("ledger", "backup", "copy.db", "--ledger", "budget.db"),
)
#: Lines for programs: keys, names, scripts, cells and files go on as long as they are.
FOR_PROGRAMS = ("tools", "domain", "key", "export", "predict", "synthesize", "publish",
                "select", "regress")


def leaves(group=verbs, before=()):
    """Every command, with the words that lead to it."""
    ctx = click.Context(group)
    for name in group.list_commands(ctx):
        command = group.resolve_command(ctx, [name])[1]
        if isinstance(command, click.Group):
            yield from leaves(command, (*before, name))
        else:
            yield (*before, name), command


def filled(folder):
    """Put a table and its domains into a folder."""
    rng, lines = random.Random(7), [f'"{LONG}",dose,smoker,ill']
    for _ in range(300):
        dose = rng.randint(0, 10)
        lines.append(f"{rng.randint(0, 9) * 10},{dose},{rng.randint(0, 1)},{int(dose > 5)}")
    (folder / "table.csv").write_text("\n".join([*lines, ""]))
    (folder / "domain.toml").write_text(
        DOMAIN.format(long=LONG, target="ill", kind="label") + "values = [0, 1]\n")
    (folder / "cost.toml").write_text(
        DOMAIN.format(long=LONG, target="ill", kind="number") + "low = 0\nhigh = 1\n")


def called(folder, *options):
    """Each call with its exit code and what it says, in one folder."""
    filled(folder)
    paths, home = [], Path.cwd()
    os.chdir(folder)
    try:
        for call in CALLS:
            outputs = [folder / f"{len(paths)}.{name}" for name in ("out", "err")]
            code = spoken(call, options, *outputs)
            paths.append((call, code, *(path.read_text() for path in outputs)))
    finally:
        os.chdir(home)
    return paths


def spoken(call, options, out, err):
    """The exit code of a call whose words go into two files."""
    with out.open("w") as file, err.open("w") as words, pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stdout", file)
        patched.setattr(sys, "stderr", words)
        return run([*call, *options])


def test_every_verb_is_called():
    """The calls below are of every verb but the demo, `start` and `desk`, which call others."""
    known = {words for words, _ in leaves()}

    assert known == {call[:2] if call[:2] in known else call[:1] for call in CALLS} | {
        ("demo",), ("start",), ("desk",)}


def test_every_verb_speaks_json(tmp_path):
    """With --json stdout is one JSON object and no more; what is private stays in its file."""
    for call, code, out, err in called(tmp_path, "--json"):
        assert (0, 1) == (code, out.count("\n")) or call[0] == "inspect", (call, code, out, err)
        text = (tmp_path / "look.txt").read_text() if call[0] == "inspect" else out
        assert isinstance(json.loads(text), dict), call
        assert call[0] != "inspect" or out == ""


def test_the_words_fit_a_screen(tmp_path):
    """No line for people is longer than 80 columns, however long names are."""
    for call, code, out, err in called(tmp_path):
        text = err if call[0] in FOR_PROGRAMS else out + err
        assert code == 0, (call, err)
        assert [] == [line for line in text.splitlines()
                      if len(line) > 80 and str(tmp_path) not in line
                      and not re.search(r"\S{60}", line)], call


def test_json_is_declared_once():
    """Every verb has the one option --json of `Verb`, and no file of a verb declares it."""
    helps = {words: [param.help for param in command.params if "--json" in param.opts]
             for words, command in leaves()}

    assert {("Print one JSON object for machines.",)} == {tuple(help_texts)
                                                          for help_texts in helps.values()}
    sources = Path(releasing.__file__).parent.glob("*.py")
    assert ["verb.py"] == [path.name for path in sources if '["--json", "as_json"]'
                           in path.read_text() or 'option("--json"' in path.read_text()]


def test_the_demo_speaks_json(tmp_path, cli, monkeypatch):
    """The demo names its commands and says what was found, as one object."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "write", partial(demo.write, rows=2500))
    code, out, _err = cli("demo", "--out", "it", "--json")
    document = json.loads(out)

    assert (0, 1) == (code, out.count("\n"))
    assert ["inspect", "ledger", "plan", "select", "verify", "publish", "verify"] == [
        step[1] for step in document["steps"]]
    chosen = json.loads(Path("it/first/release.json").read_bytes())["selected"]
    assert {name for name, count in document["planted"].items() if count} <= set(chosen)


PAID = "--ledger FILE, --population NAME, --out DIR"


@pytest.mark.parametrize(("words", "message"), [
    ("select", f"Missing: DATA, --domain FILE, --epsilon E, {PAID}, --top N (or --at-most N). "),
    ("select t.csv --top 3", f"Missing: --domain FILE, --epsilon E, {PAID}. (help"),
    ("regress t.csv --domain d", f"Missing: --epsilon E, {PAID}."),
    ("ledger raise", "Missing: --ledger FILE, --population NAME, --reason TEXT, --by NAME, --and "),
    ("ledger grant --epsilon 1 --ledger l", "Missing option '--population'."),
    ("synthesize t.csv --rows 3",
     f"Missing: --domain FILE, --epsilon E, {PAID}; or give --from DIR."),
    ("publish t.csv --target ill", "Missing: -k K, --out DIR."),
    ("predict", "Missing: RELEASE, DATA."),
])
def test_what_is_missing_is_named_at_once(cli, words, message):
    """One refusal names all that a verb lacks."""
    code, out, err = cli(*words.split())

    assert (2, "") == (code, out)
    assert message in err


def test_groups_are_listed_with_whole_sentences(cli):
    """No line of the lists of verbs ends in three dots."""
    for group in ("ledger", "key"):
        listed = cli(group, "--help")[1]

        assert "..." not in listed.split("Commands:")[1]
        assert all(len(line) <= 80 for line in listed.splitlines())


def test_progress_says_of_how_many():
    """The stages of a release name their totals, which the plan knows."""
    domain = Domain.box(0.0, 1.0, columns=40)
    planned = plan("rule-sieve", domain, k=6, epsilon=1, rows=20_000)
    stages = releasing._stages(planned)

    assert "reading the table of 20,000 rows" == stages["reading"]
    assert "choosing 6 of 40 columns" == stages["choosing"]
    assert isinstance(domain.target, Label)


# TAB.

SHELLS = {"bash": ("bash", "--norc", "--noprofile", "-i"), "zsh": ("zsh", "-f", "-i"),
          "fish": ("fish", "--no-config", "-i")}
READY = {"bash": 'PS1="ready> "; bind "set enable-bracketed-paste off"; '
                 'eval "$(_PRIVSIEVE_COMPLETE=bash_source privsieve)"; echo set-""up',
         "zsh": 'PS1="ready> "; unsetopt zle_bracketed_paste; autoload -U compinit; '
                'compinit -u -D; eval "$(_PRIVSIEVE_COMPLETE=zsh_source privsieve)"; echo set-""up',
         "fish": '_PRIVSIEVE_COMPLETE=fish_source privsieve | source; echo set-""up'}


@pytest.fixture
def on_path(tmp_path):
    """An environment whose PATH has `privsieve`, and a folder with files to complete."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "privsieve"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m privsieve "$@"\n')
    program.chmod(0o755)
    (tmp_path / "patients.csv").write_text("a\n1\n")
    return {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "TERM": "xterm",
            "HOME": str(tmp_path), "COLUMNS": "200"}


@pytest.mark.parametrize("shell", SHELLS)
def test_tab_completes(shell, on_path, tmp_path):
    """In the shell itself TAB completes a verb, an option, and the name of a file."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    with Typed(shell, on_path, tmp_path) as typed:
        typed.say(READY[shell] + "\n", "set-up")
        for words, whole in (("privsieve sel", "privsieve select "),
                             ("privsieve ledger ba", "privsieve ledger backup "),
                             ("privsieve select --popu", "--population "),
                             ("privsieve select patie", "patients.csv"),
                             ("privsieve select x --domain pati", "patients.csv"),
                             ("privsieve select x --method felp --bet", "--beta ")):
            seen = typed.say(f"{words}\t", whole)

            assert whole in seen, (words, seen)
            typed.say("\x15")


class Typed:
    """A shell at a terminal."""

    def __init__(self, shell, env, folder):
        self.child, self.terminal = pty.fork()
        if not self.child:
            os.chdir(folder)
            os.execvpe(SHELLS[shell][0], SHELLS[shell], env)

    def __enter__(self):
        return self

    def say(self, keys, until=None):
        """Press keys; what is seen until a text appears, or for half a second."""
        os.write(self.terminal, keys.encode())
        seen, end = "", time.monotonic() + (20 if until else 0.2)
        while time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.05)[0]:
                seen += plainly(os.read(self.terminal, 4096).decode(errors="replace"))
            if until and until in seen:
                break
        return seen

    def __exit__(self, *_error):
        os.close(self.terminal)
        os.kill(self.child, 9)
        os.waitpid(self.child, 0)


def plainly(text):
    """What is written, without what moves the cursor and colours it."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r", "", text)


def test_verbs_are_completed_without_being_imported(on_path, tmp_path):
    """To list the verbs loads none of them, nor NumPy."""
    process = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "privsieve"], cwd=tmp_path, check=True,
        capture_output=True, text=True, env={
            **on_path, "_PRIVSIEVE_COMPLETE": "bash_complete", "COMP_WORDS": "privsieve ",
            "COMP_CWORD": "1"})

    assert [f"plain,{name}" for name in VERBS] == process.stdout.split()[:len(VERBS)]
    assert "numpy" not in process.stderr
    assert set() == {name for name in VERBS if f"privsieve.cli.{name}\n" in process.stderr}


def test_methods_are_completed(on_path, tmp_path):
    """Where a method is asked for, the methods are offered."""
    process = subprocess.run(
        [sys.executable, "-m", "privsieve"], cwd=tmp_path, check=True, capture_output=True,
        text=True, env={**on_path, "_PRIVSIEVE_COMPLETE": "bash_complete",
                        "COMP_WORDS": "privsieve plan --method rule", "COMP_CWORD": "3"})

    assert {f"plain,{name}" for name in METHODS if name.startswith("rule")} == set(
        process.stdout.split())
