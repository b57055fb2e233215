"""The command line: what goes where, which exit code, and that a refusal charges nothing."""

import json
import os
import pty
import random
import re
import signal
import stat
import subprocess
import sys
import threading
from fractions import Fraction
from functools import partial
from pathlib import Path

import click
import pytest

import options
import privsieve as ps
from privsieve import __version__
from privsieve.cli import VERBS, releasing, verbs
from privsieve.cli.verb import VerbOption
from privsieve.errors import LedgerError, ParameterError
from privsieve.ledger.ledger import Ledger
from privsieve.public.canonical import DELTA_UNITS, decimal
from privsieve.public.domain import Domain
from privsieve.rows import Source
from privsieve.rows import batch as reader

ROOT = Path(__file__).parents[1]
DOMAIN = """
[table]
unit = "row"

[[column]]
name = "age"
kind = "number"
low = 0
high = 110

[[column]]
name = "dose"
kind = "number"
low = 0
high = 10

[[column]]
name = "ward"
kind = "category"
values = ["A", "B"]

[[column]]
name = "smoker"
kind = "flag"

[target]
name = "ill"
kind = "label"
values = ["no", "yes"]
"""
BUDGET = ("--ledger", "budget.db", "--population", "clinic")
ASKED = ("--domain", "domain.toml", "--epsilon", "1", "--top", "2")


def rows(count=400):
    """A table whose label follows the dose."""
    rng = random.Random(7)
    lines = ["age,dose,ward,smoker,ill"]
    for _ in range(count):
        dose = rng.randint(0, 10)
        ill = "yes" if dose + rng.randint(-2, 2) > 5 else "no"
        lines.append(f"{rng.randint(0, 110)},{dose},{rng.choice('AB')},{rng.randint(0, 1)},{ill}")
    return "\n".join([*lines, ""])


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a table, its domain and a budget of 2, as the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    (tmp_path / "table.csv").write_text(rows())
    (tmp_path / "domain.toml").write_text(DOMAIN)
    Ledger("budget.db", population="clinic").grant("2")
    return tmp_path


@pytest.fixture
def privsieve(place, cli):
    """Run one command line: its exit code, stdout and stderr."""
    return cli


def select(*options, data="table.csv", arguments=ASKED, out="first"):
    """The words of a selection."""
    return ("select", data, *arguments, *BUDGET, "--out", out, *options)


def spent():
    """What was charged."""
    return Ledger("budget.db", population="clinic").spent()


def commands(group=verbs, words=()):
    """Every command of the tree with the words that call it."""
    ctx = click.Context(group)
    for name in group.list_commands(ctx):
        command = group.resolve_command(ctx, [name])[1]
        yield (*words, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))


def child(*args, **options):
    """A real process; `env` adds to a clean environment."""
    env = {"PYTHONPATH": str(ROOT / "src"), "PATH": os.environ["PATH"], "TERM": "xterm",
           **options.pop("env", {})}
    return subprocess.Popen([sys.executable, "-m", "privsieve", *map(str, args)], env=env,
                            text=True, **options)


def on_terminal(*args, **env):
    """What a person sees: stdout and stderr of a process on a terminal of 80 columns."""
    leader, follower = pty.openpty()
    process = child(*args, env={"COLUMNS": "80", **env}, stdin=follower, stdout=follower,
                    stderr=follower)
    os.close(follower)
    seen = b""
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:  # Linux says so when the other end is closed
            break
        if not piece:
            break
        seen += piece
    os.close(leader)
    return process.wait(), seen.decode()


def test_help():
    """Every command and option has a help text, and every command ends with an example."""
    for words, command in commands():
        assert command.help, words
        assert words[0] in VERBS
        epilog = command.epilog
        assert epilog.startswith("Example: privsieve "), words
        assert epilog.split()[2] == words[0]
        for option in command.params:
            known = isinstance(option, click.Argument) or option.help or option.hidden
            assert known, (words, option.name)


def listed(text):
    """The options that a help lists, by the first word of each."""
    return set(re.findall(r"^  (?:-\w, )?(--?[\w-]+)", text, re.MULTILINE))


def test_help_lists_what_most_need_and_help_all_lists_all(privsieve):
    """`select --help` lists at most 25 options; `--help-all` of each verb lists all it takes."""
    for path, command in commands():
        if isinstance(command, click.Group):
            continue
        with click.Context(command, help_option_names=["-h", "--help"]) as ctx:
            ctx.meta["privsieve.method"] = ()
            options_of_verb = [param for param in command.get_params(ctx)
                               if isinstance(param, click.Option) and not param.hidden]
        flags = {max(option.opts, key=len): option.name for option in options_of_verb}
        (code, short, _), (all_code, long, _) = (privsieve(*path, word)
                                                 for word in ("--help", "--help-all"))
        away = {max(option.opts, key=len) for option in options_of_verb
                if isinstance(option, VerbOption) and option.rare}

        assert (0, 0) == (code, all_code), path
        assert set(flags) <= listed(long), path
        assert set(flags) - away == listed(short) & set(flags), path
    assert 20 <= len(listed(privsieve("select", "--help")[1])) <= 25


def test_help_is_light(place):
    """Help imports no verb and no NumPy; `plan`, `ledger` and `verify` import no NumPy.

    A selection imports of NumPy what is needed, and no Arb.
    """
    heavy = ("numpy", "pyarrow", "pandas", "sklearn", "flint", "privsieve.public.domain")
    for args, absent in (
        (["--help"], (*heavy, "privsieve.public.canonical")),
        (["plan", "--rows", "400", *ASKED], heavy[:-1]),
        (["ledger", "show", "--ledger", "budget.db"], heavy[:-1]),
        (select(), ("pyarrow", "pandas", "sklearn", "scipy", "flint", "numpy.ma",
                    "numpy.random", "numpy.fft")),
        (["verify", "first"], (*heavy[:-1], "cryptography", "sqlite3", "privsieve.ledger.chain",
                               "privsieve.ledger.ledger")),
    ):
        code = f"import sys; from privsieve.cli import run; run({list(args)}); print(*sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                              check=True, env={"PYTHONPATH": str(ROOT / "src")})
        loaded = done.stdout.splitlines()[-1].split()

        assert [] == [name for name in absent if name in loaded], args


def test_version(privsieve):
    """`--version` says the version and the kernels in use."""
    code, out, err = privsieve("--version")

    assert (0, "") == (code, err)
    assert out.strip() in {f"privsieve {__version__} (kernels: {kind})"
                           for kind in ("native", "numpy")}


def test_select(privsieve):
    """A selection: names alone on stdout, words on stderr, a folder of its own, a charge."""
    code, out, err = privsieve(*select())

    assert 0 == code
    assert {"age", "dose", "ward", "smoker"} > set(out.splitlines())
    assert 2 == len(out.splitlines())
    assert "clinic has 1 left" in err
    assert "Replacing one row of the file" in err
    assert "first" in err
    assert {"release.json", "certificate.json", "report.html"} == {
        path.name for path in Path("first").iterdir()}
    assert 0o700 == stat.S_IMODE(Path("first").stat().st_mode)
    assert Fraction(1) == spent()


def test_select_json(privsieve):
    """`--json` prints one canonical object: the release, its digest, its claim; no path."""
    code, out, _err = privsieve(*select("--json"))
    document = json.loads(out)

    assert 0 == code
    assert json.loads(Path("first/release.json").read_bytes()) == document["release"]
    assert ("1", "1") == (document["charged"], document["left"])
    assert "2.72." in document["claim"]
    assert "first" not in out
    assert "table.csv" not in out


def test_all_columns_are_free(privsieve):
    """All columns cost nothing: there is nothing to hide in a choice that is none."""
    code, out, err = privsieve(*select(arguments=("--domain", "domain.toml", "--epsilon", "1",
                                                  "--top", "4")))

    assert (0, ["age", "dose", "ward", "smoker"]) == (code, out.splitlines())
    assert "epsilon 0" in err
    assert 0 == spent()


@pytest.mark.parametrize(("change", "code", "text"), [
    ({"--epsilon": "0"}, 2, "larger than 0"),
    ({"--epsilon": "-1"}, 2, "positive decimal"),
    ({"--epsilon": "nan"}, 2, "positive decimal"),
    ({"--epsilon": "inf"}, 2, "positive decimal"),
    ({"--epsilon": "11"}, 2, "--allow-weak"),
    ({"--epsilon": "1e9"}, 2, "above 1000"),
    ({"--epsilon": "0.0123456789"}, 2, "nine decimals"),
    ({"--epsilon": "3"}, 4, "the cost is epsilon 3; the budget has 2 left"),
    ({"--top": "0"}, 2, "at least 1"),
    ({"--top": "5"}, 2, "the domain has 4"),
    ({"--top": "two"}, 2, "write a whole number from 1"),
    ({"--top": "2x"}, 2, "positive decimal"),
    ({"--top": None}, 2, "--top N or --at-most N"),
    ({"--fraction": "0.5"}, 2, "--top also takes a fraction"),
    ({"--at-most": "2"}, 2, "give either --top N"),
    ({"--top": None, "--at-most": "0"}, 2, "choose at least 1"),
    ({"--top": "1.5"}, 2, "between 0 and 1"),
    ({"--top": "-0.5"}, 2, "write a whole number from 1"),
    ({"--method": "magic"}, 2, "rule-sieve"),
    ({"--class-prior": "0.5,0.6"}, 2, "add up"),
    ({"--class-prior": "2"}, 2, "between 0 and 1"),
    ({"--depth": "4"}, 2, "depth is '4'"),
    ({"--epsilon": "0.01"}, 2, "--anyway"),
    ({"--person": "age"}, 2, "another unit"),
    ({"--rows-per-person": "2"}, 2, "person"),
    ({"--domain": "none.toml"}, 2, "domain file"),
    ({"--domain": "table.csv"}, 2, "not TOML"),
    ({"--ledger": "none.db"}, 4, "privsieve ledger grant"),
    ({"--ledger": "table.csv"}, 4, "not a privsieve ledger"),
    ({"--population": "others"}, 4, "does not have this population"),
    ({"--population": ""}, 2, "population"),
    ({"--ledger": "postgresql://u:secret@x/b"}, 2, "PGPASSFILE"),
    ({"--ledger": "mysql://x"}, 2, "URL"),
    ({"--out": "."}, 2, "exists"),
    ({"--out": "none/out"}, 2, "parent folder"),
    ({"--epsilonn": "1"}, 2, "Did you mean one of: '--epsilon'"),
    ({"--out": None}, 2, "Missing option '--out'"),
])
def test_refusals(privsieve, change, code, text):
    """A refused selection says one sentence, charges nothing and leaves no folder."""
    options = {"--domain": "domain.toml", "--epsilon": "1", "--top": "2", "--out": "first",
               "--ledger": "budget.db", "--population": "clinic", **change}
    args = [argument for name, value in options.items() if value is not None
            for argument in (name, value)]
    before = set(Path().iterdir())
    got, out, err = privsieve("select", "table.csv", *args)

    assert (code, "") == (got, out)
    assert err.startswith("privsieve: ")
    assert text in err
    assert 1 == len(err.splitlines())
    assert 0 == spent()
    assert before == set(Path().iterdir())


@pytest.mark.parametrize(("name", "body", "text"), [
    ("none.csv", None, "does not exist"),
    ("odd.xlsx", b"x", ".parquet"),
    ("empty.csv", b"", "empty"),
    ("headerless.csv", rows().partition("\n")[2].encode(), "csv.header"),
    ("wrong.csv", rows().replace(",", ";").encode(), "csv.delimiter"),
    ("short.csv", b"age,dose,ward,ill\n1,2,A,no\n", "'smoker'"),
    ("twice.csv", b"age,dose,ward,smoker,ill,Age\n", ""),
    ("utf16.csv", rows().encode("utf-16"), "UTF-16"),
    ("cut.parquet", b"PAR1 and then no more", "Parquet"),
])
def test_bad_tables(privsieve, name, body, text):
    """A table whose structure does not fit is code 3, one sentence, nothing charged."""
    if body is not None:
        Path(name).write_bytes(body)
    code, out, err = privsieve(*select(data=name))

    assert (3, "", 1) == (code, out, len(err.splitlines()))
    assert err.startswith("privsieve: ")
    assert text in err
    assert 0 == spent()
    assert not Path("first").exists()


def test_header_only(privsieve):
    """A table of no row is refused before the charge: the number of rows is public."""
    Path("table.csv").write_text(rows(0))
    code, out, err = privsieve(*select())

    assert (2, "") == (code, out)
    assert "needs at least 2" in err
    assert 0 == spent()


def test_warned(privsieve):
    """What the forecast calls random goes on with --anyway, and says so again."""
    arguments = ("--domain", "domain.toml", "--epsilon", "0.01", "--top", "2")
    code, out, err = privsieve(*select("--anyway", arguments=arguments))

    assert (0, 2) == (code, len(out.splitlines()))
    assert "close to random" in err


def test_budget_ends(privsieve):
    """Two releases of 1 empty a budget of 2; the third is refused and leaves no folder."""
    codes = [privsieve(*select(out=name))[0] for name in ("first", "second", "third")]

    assert [0, 0, 4] == codes
    assert not Path("third").exists()


def test_another_spelling_is_seen_in_the_class_counts(privsieve, monkeypatch):
    """"Yes" for "yes" is no word of select; the noisy counts say that the class was not found."""
    Path("spelled.csv").write_text(rows().replace("yes", "Yes"))
    monkeypatch.setattr("privsieve.noise.streams.discrete_laplace", lambda _mean, _noise: -3)
    plain = privsieve(*select())
    odd = privsieve(*select(data="spelled.csv", out="second"))

    assert ("NOT FOUND" in plain[2], "NOT FOUND: class yes" in odd[2]) == (False, True)
    assert ("would be right" in plain[2], "would be right" in odd[2]) == (True, False)
    assert "Yes" not in odd[1] + odd[2]
    assert (0, 2) == (odd[0], len(odd[1].splitlines()))
    code, out, _err = privsieve("inspect", "spelled.csv", "--domain", "domain.toml",
                                "--private-output", "look.txt")
    text = Path("look.txt").read_text()
    assert (0, "") == (code, out)
    assert 'the domain lists "yes"' in text
    assert text.startswith("PRIVATE")
    assert 0o600 == stat.S_IMODE(Path("look.txt").stat().st_mode)


def test_inspect_is_for_a_terminal(privsieve):
    """Inspect shows nothing to a pipe, never overwrites, and spends nothing."""
    arguments = ("inspect", "table.csv", "--domain", "domain.toml")
    code, out, err = privsieve(*arguments)

    assert (2, "") == (code, out)
    assert "--private-output" in err
    Path("look.txt").write_text("mine")
    assert 2 == privsieve(*arguments, "--private-output", "look.txt")[0]
    assert "mine" == Path("look.txt").read_text()
    assert 2 == privsieve(*arguments, "--private-output", "none/look.txt")[0]
    assert 0 == spent()


def test_terminal(place):
    """On a terminal inspect begins with a red PRIVATE line; NO_COLOR takes every colour away."""
    arguments = ("inspect", "table.csv", "--domain", "domain.toml")
    code, seen = on_terminal(*arguments)
    plain_code, plain = on_terminal(*arguments, NO_COLOR="1")

    assert (0, 0) == (code, plain_code)
    assert seen.startswith("\x1b[31m\x1b[1mPRIVATE")
    assert plain.startswith("PRIVATE")
    assert "\x1b" not in plain


def test_select_on_a_terminal(place):
    """A person sees the stage of the work, the names and the words; NO_COLOR is obeyed."""
    code, seen = on_terminal(*select())
    refused, error = on_terminal("select", NO_COLOR="1")

    assert 0 == code
    assert all(stage in seen for stage in ("charging", "reading the table", "choosing", "writing"))
    assert "guarantee" in seen
    assert (2, True) == (refused, error.startswith("privsieve: Missing"))
    assert "\x1b" not in error
    assert max(map(len, on_terminal(*select(out="."), NO_COLOR="1")[1].splitlines())) < 80


def test_plan_reads_no_row(privsieve, monkeypatch):
    """A plan reads no row, charges nothing, and says cost, noise and forecast."""

    def never(*_args):
        raise AssertionError

    monkeypatch.setattr(Source, "raw", never)
    code, out, err = privsieve("plan", "table.csv", *ASKED)

    assert (0, "") == (code, err)
    for word in ("epsilon 1", "rule-sieve", "one row of the file", "gap 10 %", "* 1",
                 "adds a random amount to each column's score: 4.44 rows"):
        assert word in out
    assert max(map(len, out.splitlines())) <= 80
    code, out, err = privsieve("plan", "--rows", "400", *ASKED, "--json")
    document = json.loads(out)
    assert ("1", "4.44", "400") == (document["cost"], document["noise_scale"], document["units"])
    assert ["0.1", "0.3", "1", "3"] == sorted(document["forecasts"], key=float)
    assert 0 == spent()


def test_plan_warns(privsieve):
    """A plan shows the warning that select would refuse on; without a row count it asks for one."""
    arguments = ("--domain", "domain.toml", "--epsilon", "0.01", "--top", "2")

    assert "close to" in privsieve("plan", "--rows", "400", *arguments)[1]
    code, _out, err = privsieve("plan", *arguments)
    assert 2 == code
    assert "--rows" in err


def test_unit_has_no_default(privsieve):
    """Where nobody names the unit there is a question, and no silent answer."""
    Path("domain.toml").write_text(DOMAIN.replace('unit = "row"', ""))
    code, _out, err = privsieve(*select())

    assert 2 == code
    assert "--unit row, or --person COLUMN" in err
    assert 2 == privsieve(*select("--unit", "row", "--person", "patient"))[0]
    assert 0 == spent()
    assert 0 == privsieve(*select("--unit", "row"))[0]
    code, _out, err = privsieve("plan", *ASKED, "--person", "patient")
    assert 2 == code
    assert "persons" in err
    code, out, _err = privsieve("plan", *ASKED, "--person", "patient", "--persons", "300",
                                "--rows-per-person", "2")
    assert 0 == code
    assert "one person with all their rows" in out


def test_persons(privsieve):
    """A person with all their rows is one unit; its column is read and never released."""
    head, *lines = rows().splitlines()
    body = [f"{line},p{number // 2}" for number, line in enumerate(lines)]
    Path("table.csv").write_text("\n".join([f"{head},patient", *body, ""]))
    Path("domain.toml").write_text(DOMAIN.replace('unit = "row"', ""))
    arguments = ("--person", "patient", "--rows-per-person", "2", "--persons", "200")
    code, out, err = privsieve(*select(*arguments))

    assert (0, 2) == (code, len(out.splitlines()))
    assert "one person with all their rows" in err
    assert b"p199" not in b"".join(path.read_bytes() for path in Path("first").iterdir())


@pytest.mark.parametrize("words", [
    "verify nosuch", "verify nosuch --json", "verify nosuch/certificate.json",
    "verify first --ledger nosuch", "verify first --table nosuch", "verify first --plan nosuch",
    "verify first/certificate.json --release nosuch", "verify first/release.json --table nosuch",
    "report nosuch", "predict nosuch table.csv", "recover nosuch",
    "recover first --ledger nosuch", "export label nosuch", "export officer first --ledger nosuch",
    "export acro nosuch", "export registry nosuch", "sign nosuch --key nosuch",
    "sign nosuch --key nosuch --as maker", "synthesize --from nosuch --rows 9"])
def test_where_nothing_is_no_check_has_failed(privsieve, words):
    """A mistyped path is usage, in one sentence, and no answer about a release or a ledger."""
    privsieve(*select())
    code, out, err = privsieve(*words.split())

    assert (2, "") == (code, out)
    assert 1 == err.count("\n")
    assert re.search("'nosuch[^ ]*' does not exist|release folder does not exist|neither a release "
                     "folder nor|the private key cannot be read", err)


def test_a_folder_without_a_certificate_does_not_hold(privsieve, place):
    """What is there and is no release fails the check, as before."""
    (place / "empty").mkdir()

    assert 7 == privsieve("verify", "empty")[0]
    assert 7 == privsieve("verify", "table.csv")[0]


def test_the_ledger_goes_away(privsieve, monkeypatch):
    """A ledger that cannot be read after the charge does not take the release back."""

    def gone(_ledger):
        raise LedgerError("gone")

    def last(ledger, *committed):
        row_count = commit(ledger, *committed)
        monkeypatch.setattr(Ledger, "account", gone)
        return row_count

    commit = Ledger.commit
    monkeypatch.setattr(Ledger, "commit", last)
    code, out, err = privsieve(*select())

    assert (0, 2) == (code, len(out.splitlines()))
    assert "unknown" in err


@pytest.mark.parametrize("fault", [RuntimeError("row 17 says 42"), KeyboardInterrupt()])
def test_failed_after_the_charge(privsieve, monkeypatch, fault):
    """A fault after the charge has one text and code 6, Ctrl-C too, and the charge stays."""

    def broken(*_args, **_options):
        raise fault

    monkeypatch.setattr(reader, "batches", broken)
    code, out, err = privsieve(*select())

    request, *_lines, lines = err.splitlines()
    assert (6, "", "privsieve: release failed; the budget is charged") == (code, out, lines)
    assert re.fullmatch("request    [0-9a-f]{32}", request)
    assert 1 == spent()
    code, out, _err = privsieve("ledger", "show", "--ledger", "budget.db")
    assert 0 == code
    assert "1 charge has no release (epsilon 1 together)" in " ".join(out.split())


def test_internal_error(privsieve, monkeypatch):
    """An unforeseen error shows its type alone, unless somebody debugs."""

    def broken(_path):
        raise RuntimeError("row 17 says 42")

    monkeypatch.setattr(Domain, "from_toml", broken)
    code, out, err = privsieve(*select())

    assert (1, "", "privsieve: internal error (RuntimeError)\n") == (code, out, err)
    monkeypatch.setenv("PRIVSIEVE_DEBUG", "1")
    assert "Traceback" in privsieve(*select())[2]


def test_interrupted_before_the_charge(place):
    """Ctrl-C before the charge is code 130, and nothing is charged."""
    os.mkfifo("pipe.toml")
    process = child("select", "table.csv", "--domain", "pipe.toml", "--epsilon", "1", "--top", "2",
                    *BUDGET, "--out", "first", stderr=subprocess.PIPE)
    with Path("pipe.toml").open("w"):  # waits until the other process reads
        process.send_signal(signal.SIGINT)
        error = process.communicate()[1]

    assert 130 == process.returncode
    assert "privsieve: interrupted; nothing was charged" == error.strip()
    assert 0 == spent()


def test_sealed():
    """Inside the seal Ctrl-C waits, errors have one text, cores are off; after it all is back."""
    import resource

    hooks = sys.excepthook, sys.unraisablehook, signal.getsignal(signal.SIGINT)
    with releasing.sealed() as seal:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            pytest.fail("Ctrl-C came through")
        hook = sys.excepthook is sys.unraisablehook is releasing._constant
        seal.allow()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    assert hook
    assert 0 == resource.getrlimit(resource.RLIMIT_CORE)[0]
    assert hooks == (sys.excepthook, sys.unraisablehook, signal.getsignal(signal.SIGINT))


def test_the_constant_text(capsys):
    """An error that nobody catches says that the budget is charged, and nothing of its own."""
    releasing._constant(ValueError, ValueError("row 17 says 42"), None)

    assert "privsieve: release failed; the budget is charged\n" == capsys.readouterr().err


def test_ledger(privsieve):
    """A budget is granted once; show says limit, spent, left and releases, of one or of all."""
    grant = ("ledger", "grant", "--ledger", "budget.db", "--population")

    assert (0, "") == privsieve(*grant, "ward-3", "--epsilon", "0.5")[:2]
    assert 4 == privsieve(*grant, "ward-3", "--epsilon", "5")[0]
    assert 2 == privsieve(*grant, "ward-4", "--epsilon", "0")[0]
    assert 0 == privsieve(*select())[0]
    code, out, err = privsieve("ledger", "show", "--ledger", "budget.db", "--json")
    populations = json.loads(out)["populations"]
    assert (0, "", {"clinic", "ward-3"}) == (code, err, set(populations))
    assert ("2", "1", "1", 1) == tuple(populations["clinic"][key]
                                       for key in ("limit", "spent", "left", "releases"))
    code, out, _err = privsieve("ledger", "show", "--ledger", "budget.db", "--population", "ward-3")
    assert 0 == code
    assert ["ward-3", "0.5", "0", "0.5", "0"] == out.splitlines()[3].split()
    assert 4 == privsieve("ledger", "show", "--ledger", "none.db")[0]


def wide(place, columns=40):
    """Many columns with a population that has a delta: the words of a selection from them."""
    rng = random.Random(3)
    names = [f"c{j}" for j in range(columns)]
    lines = [",".join([*names, "ill"])]
    lines += [",".join([*(str(rng.randint(0, 1)) for _ in names), rng.choice(["yes", "no"])])
              for _ in range(900)]
    (place / "wide.csv").write_text("\n".join([*lines, ""]))
    head, target = DOMAIN.split("[[column]]", 1)[0], "[target]" + DOMAIN.split("[target]", 1)[1]
    columns = "".join(f'[[column]]\nname = "{name}"\nkind = "flag"\n' for name in names)
    (place / "wide.toml").write_text(head + columns + target)
    return ("wide.csv", "--domain", "wide.toml", "--epsilon", "1", "--unit", "row", "--top", "16")


def test_a_delta_from_grant_to_certificate(place, privsieve):
    """A delta is granted, planned, charged, shown and certified; a pure account refuses it."""
    ledger_arguments, delta = wide(place), ("--delta", "1e-6")
    assert 0 == privsieve("ledger", "grant", "--ledger", "budget.db", "--population", "towns",
                          "--epsilon", "3", "--delta", "2e-6")[0]
    out = privsieve("plan", *ledger_arguments, *delta)[1]
    assert "epsilon 1 and delta 0.000001, charged before a row is read" in out
    out = privsieve("plan", *ledger_arguments[:-1], "2", *delta)[1]
    assert "epsilon 1, charged" in out
    assert "not charged: for this number of columns" in out
    select = ("select", *ledger_arguments, *delta, "--ledger", "budget.db", "--anyway",
              "--population")
    code, out, err = privsieve(*select, "clinic", "--out", "pure")
    assert (4, "") == (code, out)
    assert "the account is pure" in err
    code, out, err = privsieve(*select, "towns", "--out", "first", "--json")

    document = json.loads(out)
    kept = Ledger("budget.db", population="towns").account()
    left = decimal(kept.delta_left, DELTA_UNITS)
    assert (0, "1", "0.000001", "2", left) == (
        code, document["charged"], document["delta_charged"], document["left"],
        document["delta_left"])
    assert f"towns has 2 and delta {left} " in " ".join(err.split())
    assert "and by at most 0.000001 beyond that." in " ".join(err.split())
    assert 0 == privsieve("verify", "first", "--ledger", "budget.db")[0]
    out = privsieve("ledger", "show", "--ledger", "budget.db")[1]
    assert f"delta {left} of {decimal(kept.delta_share, DELTA_UNITS)} left" in " ".join(out.split())


def test_a_conversion_is_said_before_and_after(place, privsieve):
    """`plan` and `select` say how a charge is converted, and `ledger show` what is protected."""
    people = ("--ledger", "budget.db", "--population", "people")
    domain = (place / "domain.toml").read_text()
    (place / "added.toml").write_text(domain.replace('unit = "row"', (
        'unit = "row"\nneighbours = "add-remove"\nrows = 400')))
    out, err = privsieve("ledger", "grant", *people, "--epsilon", "2", "--unit", "person",
                         "--rows-per-person", "2", "--neighbours", "add-remove")[1:]
    assert "one person with all their rows (add-remove), with up to 2 rows" in " ".join(err.split())
    added = ("--domain", "added.toml", *ASKED[2:])
    words = ("charged 2 times: the release protects one row of the file (add-remove), but the "
             "budget protects one person with all their rows with up to 2 rows (add-remove)")
    out = privsieve("plan", "table.csv", *added, *people)[1]
    assert "left       2 for people\n  converted  charged 2 times: the release protects" in out
    assert words in json.loads(privsieve("plan", "table.csv", *added, *people, "--json")[1])[
        "converted"]
    code, out, err = privsieve("select", "table.csv", *added, *people, "--out", "one", "--anyway",
                               "--json")

    document = json.loads(out)
    assert (0, "1", "2", "0") == (code, document["charged"], document["account_charged"]["epsilon"],
                                  document["left"])
    assert "converted  charged 2 times: the release protects" in err
    assert "Warning" not in err
    assert 0 == privsieve("verify", "one", "--ledger", "budget.db")[0]
    page = Path("one/report.html").read_text(encoding="utf-8")
    assert "charged 2 times" in page
    assert "but the budget protects" in page
    assert "2 of the privacy budget of the people: 2 times 1" in re.sub("<[^>]*>", "", page)
    code, out, err = privsieve("select", "table.csv", *ASKED, *people, "--out", "two", "--anyway")
    assert (4, "", False) == (code, out, Path("two").exists())
    assert "name the person column of the table, or declare add-remove" in " ".join(err.split())
    assert 4 == privsieve("plan", "table.csv", *ASKED, *people)[0]
    assert 2 == privsieve("plan", "table.csv", *ASKED, *people[:2])[0]
    out = privsieve("ledger", "show", "--ledger", "budget.db", "--json")[1]
    shown_people = json.loads(out)["populations"]["people"]
    assert ("person", "add-remove", 2, "0") == tuple(
        shown_people[key] for key in ("unit", "neighbours", "rows_per_person", "left"))


def test_ledger_publications(privsieve):
    """What was published under containment is listed with its k."""
    Ledger("budget.db", population="clinic").publish(
        "2026-01", ["age", "ward"], 5, "containment", claim={})
    out = privsieve("ledger", "show", "--ledger", "budget.db")[1]

    assert re.search(r"published +age, ward of 2026-01 \(containment, k = 5\)", out)


def test_verify(privsieve):
    """A release verifies as a folder and as files; a changed one is code 7 with reasons."""
    assert 0 == privsieve(*select())[0]
    code, out, err = privsieve("verify", "first", "--ledger", "budget.db")

    assert (0, "", "valid") == (code, err, out.splitlines()[0])
    assert 0 == privsieve("verify", "first/certificate.json", "--release", "first/release.json")[0]
    body = json.loads(Path("first/release.json").read_bytes())
    Path("first/release.json").write_text(json.dumps({**body, "warning": "none"}))
    code, out, err = privsieve("verify", "first", "--json")
    document = json.loads(out)
    assert (7, False) == (code, document["valid"])
    assert document["reasons"]
    assert err.startswith("privsieve: verification failed (1 problem)")
    Path("first/certificate.json").write_text("{}")
    code, out, err = privsieve("verify", "first")
    assert 7 == code
    assert out.startswith("NOT VALID")


@pytest.mark.parametrize("arguments", [("none",), ("here/none.json",), ("here", "--table", "none"),
                                       ("here", "--plan", "none"), ("here", "--ledger", "none"),
                                       ("here/x", "--release", "none")])
def test_what_does_not_exist_is_no_forgery(privsieve, arguments):
    """A place at which nothing lies is a mistake of who typed it: nothing is said of a release."""
    Path("here").mkdir()
    Path("here/x").write_text("{}")
    code, out, err = privsieve("verify", *arguments)

    assert (2, "") == (code, out)
    assert "does not exist or cannot be read" in err
    assert "none" in err


def test_domain(privsieve):
    """A draft comes from the header alone, is never overwritten, and asks for what is missing."""
    code, out, err = privsieve("domain", "table.csv")

    assert 0 == code
    assert '\nnames = ["age", "dose"]' in out
    assert '\n# names = ["smoker", "ill"]' in out
    assert "fill in each `<-` (1)" in " ".join(err.split())  # the unit
    assert 0 == privsieve("domain", "table.csv", "--out", "draft.toml")[0]
    assert out == Path("draft.toml").read_text()
    code, _out, err = privsieve("domain", "table.csv", "--out", "draft.toml")
    assert (2, True) == (code, "exists" in err)
    assert 2 == privsieve("domain", "table.csv", "--out", "none/draft.toml")[0]
    assert 3 == privsieve("domain", "none.csv")[0]
    refused = ("plan", "table.csv", "--domain", "draft.toml", "--unit", "row", "--epsilon", "1",
               "--top", "2")
    assert 2 == privsieve(*refused)[0]  # it has no target
    words = ("domain", "table.csv", "--target", "ill", "--out", "asked.toml")
    assert 0 == privsieve(*words)[0]
    code, _out, err = privsieve("plan", "table.csv", "--domain", "asked.toml", *refused[4:])
    assert (2, True) == (code, "target 'ill' ([target]): values is missing" in err)
    for wrong in (("--classes", "a,b"), ("--unit", "row", "--person", "age"),
                  ("--target", "illl"), ("--unit", "person"), ("--code-book", "none.csv")):
        assert privsieve("domain", "table.csv", *wrong)[0] in (2, 3)


@pytest.mark.parametrize("words", [
    ("domain", "table.csv", "--target", "ill", "--classes", "no,yes", "--unit", "row"),
    ("key", "show", "maker.pem"), ("ledger", "export", "--ledger", "budget.db")])
def test_a_file_that_is_not_written_is_not_named_as_written(privsieve, words):
    """The JSON of a command names a file only after the file is written."""
    assert 0 == privsieve("key", "make", "maker.pem")[0]
    assert 0 == privsieve("ledger", "grant", "--ledger", "budget.db", "--population", "p",
                          "--epsilon", "1")[0]
    code, out, _err = privsieve(*words, "--out", "result", "--json")
    assert (0, "result") == (code, json.loads(out)["written"])
    code, out, err = privsieve(*words, "--out", "result", "--json")
    assert (2, "", True) == (code, out, "exists" in err)


@pytest.mark.parametrize(("delimiter", "written"), [(";", '";"'), ("\t", '"\\t"'), ("|", '"|"')])
def test_domain_guesses_the_delimiter(privsieve, delimiter, written):
    """The delimiter is guessed from the header line and written into the draft."""
    Path("table.csv").write_text(rows().replace(",", delimiter))
    out = privsieve("domain", "table.csv")[1]

    assert f"csv = {{ delimiter = {written}" in out
    assert '"smoker"' in out
    assert out == privsieve("domain", "table.csv", "--csv-delimiter", delimiter)[1]


def test_domain_of_a_file_without_header(privsieve):
    """Its columns are numbered, if somebody says so; else its first line is not shown."""
    Path("bare.csv").write_text("17,A,1\n18,B,0\n")
    code, out, err = privsieve("domain", "bare.csv")

    assert (3, "", False) == (code, out, "17" in err)
    assert "--no-header" in err
    out = privsieve("domain", "bare.csv", "--no-header")[1]
    assert 'names = ["c1..c3"]' in out
    assert "header = false" in out


def test_domain_of_parquet(privsieve):
    """The draft of a Parquet file knows the types."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"age": [1, 2], "smoker": [True, False]}), "table.parquet")
    out = privsieve("domain", "table.parquet")[1]

    assert 'kind = "number"' in out
    assert 'kind = "flag"' in out


def test_doctor(privsieve, place, monkeypatch):
    """Doctor says what is there and why, as text and as JSON, and no place or secret."""
    monkeypatch.setenv("PRIVSIEVE_KEY", "very-secret")
    code, out, err = privsieve("doctor")

    assert (0, "") == (code, err)
    for word in ("kernels", "numpy", "python-flint", "sqlite", "os.urandom"):
        assert word in out
    assert "very-secret" not in out
    assert str(Path.home()) not in out
    assert str(place) not in out
    document = json.loads(privsieve("doctor", "--json")[1])
    assert __version__ == document["privsieve"]
    assert document["packages"]["numpy"]


def test_doctor_says_why():
    """Where NumPy serves, doctor says why."""
    process = child("doctor", env={"PRIVSIEVE_KERNELS": "numpy"}, stdout=subprocess.PIPE)
    out = process.communicate()[0]

    assert 0 == process.returncode
    assert "numpy: PRIVSIEVE_KERNELS=numpy asks for it" in out


@pytest.mark.parametrize(("words", "closed", "expected"), [
    (["--help"], ["stdout"], 141), (["plan", "--help"], ["stdout", "stderr"], 141),
    (["doctor"], ["stdout"], 141), (["nonsense"], ["stderr"], 2),
    (["nonsense"], ["stdout", "stderr"], 2), (["doctor"], ["stderr"], 0)])
def test_a_closed_pipe_ends_it_quietly(words, closed, expected):
    """Where nobody reads any more it ends as other tools do, without a word; a refusal stays."""
    reader, writer = os.pipe()
    os.close(reader)
    ends = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **dict.fromkeys(closed, writer)}
    process = child(*words, **ends)
    os.close(writer)
    output = process.communicate()

    assert (expected, "") == (process.returncode, output[1] or "")


@pytest.mark.parametrize(("closed", "code", "charged"), [
    (["stdout"], 141, 1), (["stderr"], 141, 0), (["stdout", "stderr"], 141, 0)])
def test_a_closed_pipe_takes_no_release_away(place, closed, code, charged):
    """A release that nobody reads on is whole, and its charge is said; unsaid none is made."""
    reader, writer = os.pipe()
    os.close(reader)
    ends = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **dict.fromkeys(closed, writer)}
    process = child(*select(), **ends)
    os.close(writer)
    err = process.communicate()[1] or ""

    assert (code, charged) == (process.returncode, spent())
    assert ("epsilon 1; clinic has 1 left" in err) == bool(charged)
    assert "fail" not in err
    assert bool(charged) == (place / "first" / "certificate.json").is_file()


def test_usage(privsieve):
    """No verb shows the help; an unknown verb is told its likeness; each is code 2."""
    code, out, err = privsieve()

    assert (2, "") == (code, out)
    assert err.startswith("Usage: privsieve")
    code, out, err = privsieve("verfy")
    assert (2, "", 1) == (code, out, len(err.splitlines()))
    assert "'verify'" in err


def test_completion():
    """Click's completion knows the verbs and their options."""
    process = child(env={"_PRIVSIEVE_COMPLETE": "bash_complete", "COMP_WORDS": "privsieve sel",
                         "COMP_CWORD": "1"}, stdout=subprocess.PIPE)
    assert "plain,select" == process.communicate()[0].strip()
    process = child(env={"_PRIVSIEVE_COMPLETE": "bash_source"}, stdout=subprocess.PIPE)
    assert "complete" in process.communicate()[0]


#: Verbs that take the options of methods.
METHODICAL = ("plan", "select", "regress", "synthesize")


def test_documented():
    """docs/command-line.md names every command, and under it every option that is no method's."""
    text = (ROOT / "docs" / "command-line.md").read_text()
    of_methods = options.PAGE.read_text(encoding="utf-8")
    sections = {section.partition("\n")[0].strip("` "): section
                for section in text.split("\n## ")[1:]}
    for words, command in commands():
        section = sections["privsieve " + " ".join(words[:1])]
        assert f"privsieve {' '.join(words)}" in section
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden and (
                    option.name not in ("help_all", "as_json")):
                named = section if words[0] not in METHODICAL else section + of_methods
                assert f"`{option.opts[0]}" in named, (words, option.opts)


def test_pages_of_options_are_made_from_the_code():
    """docs/options.md and docs/command-line.md are what `make options` writes."""
    assert options.page() == options.PAGE.read_text(encoding="utf-8")
    assert options.command_line() == options.COMMAND_LINE.read_text(encoding="utf-8")


def test_threads_may_not_seal():
    """The seal is for the main thread, which alone receives Ctrl-C."""
    caught = []

    def attempt():
        try:
            releasing.Hold()
        except ValueError as error:
            caught.append(error)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()

    assert 1 == len(caught)


@pytest.mark.parametrize(("method", "options", "message"), [
    ("block-fwell", ["--top", "2", "--block", "4", "--repeats", "3", "--votes", "clip"], "block: "),
    ("noisy-top-k", ["--top", "2", "--score", "class-counts"], "class-counts"),
    ("rule-sieve", ["--top", "2", "--joint", "pair", "--class-prior", "0.3,0.7"], "joint: pair"),
])
def test_each_method_has_its_options(privsieve, method, options, message):
    """A plan of each method says its settings, and forecasts for other epsilons."""
    arguments = ("plan", "--rows", "400", "--domain", "domain.toml", "--epsilon", "1",
                 "--method", method, *options)
    code, out, _err = privsieve(*arguments)

    assert 0 == code
    assert message in out
    assert len(json.loads(privsieve(*arguments, "--json")[1])["forecasts"]) >= 2


@pytest.mark.parametrize(("options", "message"), [
    (["--method", "block-fwell", "--top", "2", "--joint", "pair"], "--joint is not an option"),
    (["--method", "noisy-top-k", "--top", "2", "--depth", "2"], "--depth is not an option"),
    (["--method", "magic", "--top", "1"], "choose one of"),
    (["--method", "block-fwell", "--top", "2", "--lam", "0.2"], "--lam is not an option"),
    (["--method", "output-fwell", "--top", "2", "--beta", "0.5"], "--beta is not an option"),
    (["--method", "rule-sieve", "--top", "positive"], "write a whole number"),
    (["--method", "felp", "--top", "all"], "write a whole number"),
])
def test_options_of_another_method_are_refused(privsieve, options, message):
    """What a method does not know is said, and nothing is planned."""
    code, _out, err = privsieve("plan", "--rows", "400", "--domain", "domain.toml", "--epsilon",
                                "1", *options)

    assert 2 == code
    assert message in err


@pytest.mark.parametrize("words", [("sum", "add"), ("combine", "show"), ("key", "rotate", "a"),
    ("completion", "bash"), ("ledger", "orphans"), ("verify", "out", "--rotated", "a"), (
    "plan", "--rows", "9", "--domain", "domain.toml", "--epsilon", "1", "--method",
    "private-tuning"), ("select", "a.csv", "--resamples", "3"), ("report", "out", "--check"),
    ("select", "a.csv", "--order", "2"), ("select", "a.csv", "--class-share", "none"), *(
    ("plan", "--rows", "9", "--domain", "domain.toml", "--epsilon", "1", "--top", "1", *option)
    for option in (
        ("--sure", "0.1"), ("--independent-rows",), ("--describe", "0.2"),
        ("--target", "b"), ("--over", "mean"), ("--cost", "b=2"), ("--price", "3"),
        ("--fraction", "0.5"), ("--method", "noisy-top-k", "--score", "disagreement"),
        ("--mechanism", "laplace"), ("--sampling", "bootstrap"),
        ("--joint", "votes")))], ids=" ".join)
def test_what_is_gone_is_explained(privsieve, words):
    """A verb, an option or a method that was dropped gets a sentence that says what to do."""
    code, out, err = privsieve(*words)

    assert (2, "") == (code, out)
    assert re.search(" (removed|renamed): ", err)


@pytest.mark.parametrize("options", [{"targets": ["b"]}, {"over": "mean"}, {"costs": {"b": 2}},
                                     {"price": 3}, {"sure": "0.1"}, {"independent_rows": True},
                                     {"describe": "0.2"}, {"anyway": True}], ids=str)
def test_an_option_that_is_gone_is_explained_in_python(options):
    """A plan and an estimator explain it, as the command line does."""
    for make in (lambda **options: ps.plan("rule-sieve", ps.Domain.box(0, 1, columns=3), k=1,
                                           epsilon=1, rows=9, **options), ps.NoisyTopK):
        with pytest.raises(ParameterError, match=r" (removed|renamed): "):
            make(**options)


def test_a_value_that_is_gone_is_explained_in_python():
    """The value says what to do; an option of the same name is one of another method."""
    plan = partial(ps.plan, "rule-sieve", ps.Domain.box(0, 1, columns=3), k=1, epsilon=1, rows=9)

    with pytest.raises(ParameterError, match=r"^votes and sets of three"):
        plan(joint="votes")
    with pytest.raises(ParameterError, match=r"^votes is not an option of rule-sieve"):
        plan(votes="clip")
