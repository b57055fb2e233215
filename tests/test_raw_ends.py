"""Laws: whatever a file, an option or a release holds, there is one sentence and an exit code."""

from __future__ import annotations

import datetime as dt
import io
import json
import os
import re
import signal
import sys
import warnings
import zipfile
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest

import forged
import privsieve as ps
from privsieve.cli import run
from privsieve.errors import (
    CheckFailed,
    DomainError,
    LedgerError,
    ParameterError,
    PrivsieveError,
    SchemaError,
)
from privsieve.ledger.chain import Entry
from privsieve.public.canonical import (
    canonical,
    check_name,
    digest,
    hidden,
    parsed,
    quoted,
    visible,
)
from privsieve.public.domain import Csv
from privsieve.rows import open_source
from privsieve.trust.envelope import PLANNED
from privsieve.trust.keys import PrivateKey

DEEP = 50_000
LONG = "9" * 5000
#: What a terminal obeys, or what turns or ends a line.
OBEYED = ("\x1b[31m", "\x9b31m", "\x07", "\r", "\u2028", "\u2029", "\u202e", "\u2066", "\u200f")
DOMAIN = """[table]
unit = "row"

[[column]]
name = "age"
kind = "number"
low = 0
high = 110

[[column]]
name = "dose"
kind = "number"
low = 1
high = 9

[target]
name = "ill"
kind = "label"
values = [0, 1]
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PRIVSIEVE_DEBUG", raising=False)


def command(*args):
    """Exit code, stdout and stderr of a command, as a pipe would get them."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="surrogatepass", newline="")
    err = io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run([str(arg) for arg in args])
        out.flush()
    return code, out.buffer.getvalue().decode("utf-8", "surrogatepass"), err.getvalue()


def refused(*args):
    """The exit code and the sentence of a refusal: one line, short, harmless."""
    code, out, err = command(*args)

    assert "" == out
    assert 1 == err.count("\n"), err
    assert re.fullmatch(r"privsieve: [^\n]{20,900}\n", err), err
    assert not any(hidden(c) for c in err.rstrip("\n"))
    return code, err.removeprefix("privsieve: ").rstrip("\n")


def plan(text, *options):
    """What `plan` says of a domain file."""
    Path("d.toml").write_bytes(text.encode() if isinstance(text, str) else text)
    return ("plan", "--rows", "300", "--domain", "d.toml", "--epsilon", "1", "--top", "1", *options)


# Domain files.

TOO_DEEP = "the domain file is nested too deeply"
TOO_LONG = "the domain file holds a number with too many digits"


@pytest.mark.parametrize(("text", "sentence"), [
    (f"x = {'[' * DEEP}{']' * DEEP}", TOO_DEEP),
    ("x = " + "{a=" * DEEP + "1" + "}" * DEEP, TOO_DEEP),
    ("x" + ".a" * DEEP + " = 1", TOO_DEEP),
    ("x" + ' . "a"' * DEEP + " = 1", TOO_DEEP),
    ("x" + ".'a'" * DEEP + " = 1", TOO_DEEP),
    ("[" + "a." * DEEP + "a]", TOO_DEEP),
    (DOMAIN.replace("110", LONG), TOO_LONG),
    (DOMAIN.replace("[0, 1]", f"[0, {LONG}]"), TOO_LONG),
    (DOMAIN.replace("110", "0x" + "f" * 5000), "high is a very long int; write a finite number"),
    (DOMAIN.replace("110", f"1e{LONG}"), "high is inf; write a finite number"),
    (DOMAIN.replace("[0, 1]", "[0, 0x" + "f" * 5000 + "]"), "has more than 100 digits"),
    (DOMAIN.replace("[0, 1]", "[0, 1]\ndefault = 0x" + "f" * 5000), "not among target.values"),
    (DOMAIN.replace('"row"', '"row"\nrows = 0x' + "f" * 5000), "write a whole number from 1 to"),
    (DOMAIN.replace('"row"', '"row"\nrows = 1099511627777'), "write a whole number from 1 to"),
    (DOMAIN.replace('"row"', f'"{"x" * 100_000}"'), 'write "row" or "person"'),
    (DOMAIN.replace('"label"', '"\\u001b[31m"'), r"kind is '\x1b[31m'"),
    (DOMAIN.replace("high = 110", '"h\\u001b[31m" = 110'), r"'h\x1b[31m' is not known"),
    (DOMAIN.replace('"row"', '"\x1b[31m"'), "the domain file is not TOML"),
    (DOMAIN.encode() + b"\xff", "is not a text in UTF-8"),
    (b"#" * (64 * 2**20 + 1), "the domain file is larger than 64 MB"),
], ids=lambda case: str(case[:24]))
def test_a_domain_file_that_no_parser_likes_is_refused_in_a_sentence(text, sentence):
    """Deep nesting, numbers of 5,000 digits and large files are said, and nothing hangs."""
    with within(20):
        code, message = refused(*plan(text))

    assert 2 == code
    assert sentence in message


@contextmanager
def within(seconds):
    """Fail where the work takes longer."""
    def late(*_args):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class Zone(dt.tzinfo):
    """A zone of somebody's own that fails."""

    def utcoffset(self, _moment):
        raise ZeroDivisionError("Zebedee")

    dst = tzname = utcoffset


@pytest.mark.parametrize("bound", [
    dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=5))),
    dt.datetime(9999, 12, 31, 23, tzinfo=dt.timezone(dt.timedelta(hours=-5))),
    dt.datetime(2010, 1, 1, tzinfo=Zone()), object(), 10**5000, "0000-01-01", "10000-01-01",
    f"2020-{LONG}", "\x1b[31m"],
    ids=["early", "late", "zone", "object", "number", "year 0", "year 10000", "long", "escape"])
def test_a_bound_of_any_type_is_a_date_or_is_refused(bound):
    """What the library is given as a bound of a date never raises anything but DomainError."""
    with pytest.raises(DomainError, match=r"column 'd': low is .*; write "):
        ps.Date("d", bound, dt.datetime(2020, 1, 1))  # noqa: DTZ001


def test_the_whole_calendar_is_a_domain():
    """From year 1 to year 9999, with cells whose offsets leave them: fit, tabulate, sample."""
    domain = ps.Domain([ps.Date("d", "0001-01-01", "9999-12-31"), ps.Flag("f")],
                       target=ps.Label("y", [0, 1]))
    early = dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=14)))
    rows = [[early, 1], [dt.date(9999, 12, 31), 0], ["0001-01-01T00:00:00+23:59", 1],
            ["9999-12-31T23:59:59-23:59", 0]] * 50
    histogram = ps.NoisyHistogram(["d"], epsilon=1, domain=domain)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = ps.RuleSieve(1, epsilon=1, domain=domain).fit(rows, [0, 1, 0, 1] * 50).release_
        sampled = histogram.fit(rows, [0, 1, 0, 1] * 50).sample(40)["d"]

    assert 1 == len(release.selected)
    assert 40 == len(sampled)


# Options and parameters.


@pytest.mark.parametrize(("option", "value"), [
    ("--epsilon", LONG), ("--epsilon", "1e9999999"), ("--epsilon", "1e-9999999"),
    ("--delta", "1e-999999999"), ("--top", LONG), ("--rows", LONG), ("--rows", "1" + "0" * 300),
    ("--order", LONG), ("--candidate", f"rule-sieve {LONG}"), ("--candidate", 'rule-sieve 3 "'),
    ("--bin", f"age={LONG}"), ("--bins", f"age={LONG}"),
    *((name, value) for value in OBEYED for name in ("--epsilon", "--top", "--method")),
], ids=lambda case: ascii(case[:12]))
def test_an_option_that_is_no_number_is_refused_in_a_sentence(option, value):
    """Numbers of 5,000 digits, absurd exponents and escapes in an option: exit code 2."""
    args = {"--rows": "300", "--domain": "d.toml", "--epsilon": "1", "--top": "1", option: value}
    Path("d.toml").write_text(DOMAIN)

    assert 2 == refused("plan", *(value for pair in args.items() for value in pair))[0]


HUGE = 10**5000


@pytest.mark.parametrize(("work", "error"), [
    (lambda: ps.Number("d", 0, HUGE), DomainError),
    (lambda: ps.Category("d", [0, HUGE]), DomainError),
    (lambda: ps.Label("d", [0, 1], default=HUGE), DomainError),
    (lambda: ps.Flag("d", default=HUGE), DomainError),
    (lambda: ps.Number("d", 0, 1, missing=HUGE), DomainError),
    (lambda: ps.Date("d", "2020-01-01", "2021-01-01", format=HUGE), DomainError),
    (lambda: ps.Flag(HUGE), DomainError),
    (lambda: ps.Domain([ps.Flag("a")], rows=HUGE), DomainError),
    (lambda: ps.Domain.box(0, 1, target=HUGE), DomainError),
    (lambda: ps.plan("rule-sieve", ps.Domain.box(0, 1, columns=3), k=1, epsilon=HUGE, rows=9),
     ParameterError),
    (lambda: ps.plan("rule-sieve", ps.Domain.box(0, 1, columns=3), k=HUGE, epsilon=1, rows=9),
     ParameterError),
    (lambda: ps.plan("rule-sieve", ps.Domain.box(0, 1, columns=3), k=1, epsilon=1, rows=HUGE),
     DomainError),
    (lambda: ps.plan("rule-sieve", ps.Domain.box(0, 1, columns=3), k=1, epsilon=1, rows=10**400),
     DomainError),
    (lambda: ps.plan("noisy-histogram", ps.Domain.box(0, 1, columns=3), bins=HUGE, epsilon=1,
                     rows=9), ParameterError),
])
def test_a_parameter_of_5000_digits_is_refused_in_a_sentence(work, error):
    """Python's limit on the digits of an integer is no error of ours."""
    with pytest.raises(error, match=r"very long int|columns to choose|00…"):
        work()


def test_a_number_of_rows_is_a_whole_number_of_any_type():
    """An integer of NumPy is one; a text, a fraction and a negative number are refused."""
    domain = ps.Domain.box(0, 1, columns=3)

    assert 40 == ps.plan("rule-sieve", domain, k=1, epsilon=1, rows=np.int64(40)).units
    for rows in ("40", 40.0, -1):
        with pytest.raises(DomainError, match="write a whole number up to"):
            ps.plan("rule-sieve", domain, k=1, epsilon=1, rows=rows)


# Tables.


def npz(**arrays):
    """A NumPy archive."""
    np.savez("t.npz", **arrays)
    return "t.npz"


def sparse(shape, form=b"csc", **options):
    """A sparse matrix as SciPy saves it, with any shape."""
    return npz(**{"format": np.array(form), "shape": np.array(shape), "data": np.array([1]),
                  "indices": np.array([0]), "indptr": np.array([0, 1, 1, 1]), **options})


def member(header, body=b"\0" * 8):
    """An archive whose one array has this header."""
    text = header.encode().ljust(117) + b"\n"
    with zipfile.ZipFile("t.npz", "w") as file:
        file.writestr("X.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body)
    return "t.npz"


def of_shape(shape):
    """A header that claims a shape."""
    return f"{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}, }}"


def not_an_array():
    """An archive that holds bytes under the name of an array."""
    with zipfile.ZipFile("t.npz", "w") as file:
        file.writestr("X.npy", b"no array")
    return "t.npz"


TOO_LARGE = "at most 134217728 and 1048576 are allowed"
NO_NPZ = "the .npz file cannot be read"


@pytest.mark.parametrize(("make", "sentence"), [
    (lambda: sparse((3, 2**40)), TOO_LARGE),
    (lambda: sparse((2**40, 3)), TOO_LARGE),
    (lambda: sparse((2**62, 2**62)), TOO_LARGE),
    (lambda: sparse((2**50, 2**50), b"coo", row=np.array([0]), col=np.array([2**49])), TOO_LARGE),
    (lambda: sparse((-3, 3)), NO_NPZ),
    (lambda: sparse((3, -3)), NO_NPZ),
    (lambda: sparse((np.inf, 3.0)), NO_NPZ),
    (lambda: sparse((np.nan, 3.0)), NO_NPZ),
    (lambda: sparse(3), NO_NPZ),
    (lambda: sparse((3, 3), indptr=np.array([0, 2**62, 2**62, 2**62])), NO_NPZ),
    (lambda: sparse((3, 3), indptr=np.array([0, 5, 1, 1])), NO_NPZ),
    (lambda: member(of_shape("(1099511627776, 3)")), NO_NPZ),
    (lambda: member(of_shape("(8589934592,)")), NO_NPZ),
    (lambda: member(of_shape("(-1,)")), NO_NPZ),
    (lambda: member(of_shape(f"({LONG},)")), NO_NPZ),
    (lambda: member(of_shape("(" * 5000 + ")" * 5000)), NO_NPZ),
    (not_an_array, NO_NPZ),
    *((lambda c=c: npz(X=np.eye(2), names=np.array([f"a{c}b", "d"])), "a column name contains")
      for c in OBEYED),
])
def test_a_sparse_table_that_claims_too_much_is_refused_in_a_sentence(make, sentence):
    """One line or one header asks for no gigabytes: it is refused by public caps, with code 3."""
    import tracemalloc

    path = make()
    tracemalloc.start()
    try:
        with within(20):
            code, message = refused("check", path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert 3 == code
    assert sentence in message
    assert peak < 64 * 2**20


def test_a_footer_that_claims_rows_its_groups_lack_is_refused():
    """The rows of a Parquet footer are those of its groups, and no more than a file can hold."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from privsieve.rows.parquet import ROWS_A_BYTE, _rows_of

    class Footer:
        def __init__(self, rows, *groups):
            self.num_rows, self._groups, self.num_row_groups = rows, groups, len(groups)

        def row_group(self, j):
            return type("Group", (), {"num_rows": self._groups[j]})

    pq.write_table(pa.table({"age": [1.0, 2.0] * 50}), "t.parquet")
    whole = Path("t.parquet").read_bytes()
    Path("t.parquet").write_bytes(whole[:-20] + b"\xff" * 12 + whole[-8:])

    assert 100 == _rows_of(Footer(100, 60, 40), 100)
    for footer in (Footer(101, 60, 40), Footer(20, 60, -40), Footer(2**60, 2**60),
                   Footer(ROWS_A_BYTE * 100 + 1, ROWS_A_BYTE * 100 + 1)):
        with pytest.raises(ValueError, match=r"^$"):
            _rows_of(footer, 100)
    assert 3 == refused("check", "t.parquet")[0]


@pytest.mark.parametrize("obeyed", OBEYED, ids=ascii)
def test_no_name_or_level_that_a_terminal_obeys_is_taken(obeyed):
    """Names and levels with controls, directions or ends of lines are refused before anything."""
    bad = f"a{obeyed}b"
    Path("t.csv").write_text(f"{bad},dose,ill\n1,2,0\n1,2,1\n", newline="")
    Path("u.csv").write_text(f"ward,ill\n{bad},0\nB,1\n" * 30, newline="")

    for work in (lambda: check_name(bad), lambda: ps.Category("ward", ["A", bad]),
                 lambda: ps.Label("ward", ["A", bad])):
        with pytest.raises(DomainError, match="control or direction characters"):
            work()
    for path in ("t.csv", "u.csv"):
        assert 3 == refused("check", path)[0]
    assert 2 == refused(*plan(DOMAIN.replace('"age"', json.dumps(bad))))[0]
    assert 2 == refused(*plan(DOMAIN.replace("[0, 1]", json.dumps(["A", bad]))))[0]


@pytest.mark.parametrize("how", ["utf-8", "cp1252", "CP1252"])
def test_another_encoding_is_proposed_than_the_one_that_failed(how):
    """Who is told that a file is not written so is not told to say so."""
    Path("t.csv").write_bytes(b"a\x81,b\n1,2\n")
    with pytest.raises(SchemaError, match=f"not written in {how}") as caught:
        open_source(Path("t.csv"), csv=Csv(encoding=how)).shape(count_rows=False)

    assert f'example to "{how.lower()}"' not in str(caught.value)


def test_a_cell_of_5000_digits_is_a_cell():
    """Long numbers and far dates in rows are normal input: a release, and nothing said."""
    body = [f"{cell},{i % 9 + 1},{i % 2}" for i, cell in enumerate(
        [LONG, f"1e{LONG}", f"-{LONG}.5", "0001-01-01T00:00:00+14:00", "\x1b[31m", "\u2028"] * 50)]
    Path("t.csv").write_text("\n".join(["age,dose,ill", *body, ""]))
    Path("d.toml").write_text(DOMAIN)
    ps.Ledger("budget.db", population="clinic").grant(epsilon=2)
    code, out, err = command("select", "t.csv", "--domain", "d.toml", "--epsilon", "1", "--top",
                             "1", "--ledger", "budget.db", "--population", "clinic", "--out",
                             "out", "--anyway")

    assert 0 == code, err
    assert out.strip() in ("age", "dose")
    assert not any(hidden(c) for c in (out + err).replace("\n", ""))


def test_a_prediction_that_cannot_be_made_charges_nothing_and_says_so(golden):
    """A table that breaks while it is read for predictions is a damaged table, not a release."""
    folder, _names = golden
    model = ps.PrivateKernelRidge.of_release(ps.load(folder / "regression"))
    X, _y = forged.table()
    source = open_source(forged.frame_of(X))

    def broken(*_args):
        yield from ()
        raise OSError("Zebedee")

    from dataclasses import replace

    with pytest.raises(SchemaError, match="cannot be read to its end") as caught:
        model.predict(replace(source, read=broken))
    assert caught.value.__cause__ is None
    assert "Zebedee" not in str(caught.value)


# Releases, certificates and ledgers.


TEXTS = ["[" * DEEP + "]" * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP, f'{{"a":{LONG}}}', LONG,
         '{"a":NaN}', '{"a":1.5}', '{"a":1e999}', '"\\ud800"', "\ufeff{}", "", "{", "nul\0", "[]",
         '{"format":"\\u001b[31m"}', "{}"]


@pytest.mark.parametrize("name", ["release.json", "certificate.json"])
@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text[:12]))
def test_a_file_of_a_release_that_is_no_json_of_ours_is_refused_in_a_sentence(golden, text, name):
    """Nesting, long numbers and floats in either file: load, verify and each verb say it."""
    folder, _ = golden
    for file in ("release.json", "certificate.json"):
        Path("r").mkdir(exist_ok=True)
        (Path("r") / file).write_bytes((folder / "regression" / file).read_bytes())
    (Path("r") / name).write_text(text, encoding="utf-8")
    wrong = ps.verify("r/certificate.json", "r/release.json")

    assert not wrong.valid
    assert 7 == command("verify", "r")[0]
    for args in (("report", "r", "--out", "r.html"), ("predict", "r", folder / "new.csv"),
                 ("synthesize", "--from", "r", "--rows", "9")):
        assert refused(*args)[0] in (3, 7)
    if name == "release.json":
        with pytest.raises(SchemaError, match=r"release\.json"):
            ps.load("r")


NOTE = {"format": "privsieve-request/1", "request": "x", "population": "clinic", "head": "",
        "ledger": "/nowhere.db", "terms_sha256": ""}


@pytest.mark.parametrize("text", [
    *TEXTS, *(json.dumps({**NOTE, name: value}) for name in NOTE for value in (
        "", "a\u2028b", "\x1b[31m", "a\0b", "x" * 5000, "https://u:p@h/x", "."))],
    ids=lambda text: ascii(text[:40]))
def test_a_note_of_a_request_that_is_none_of_ours_is_refused_in_a_sentence(text):
    """Whatever `request.json` holds, `recover` says one sentence, and takes nothing away."""
    Path("r").mkdir()
    (Path("r") / "request.json").write_text(text, encoding="utf-8", errors="surrogatepass")

    assert refused("recover", "r")[0] in (2, 3, 4)
    assert (Path("r") / "request.json").exists()


@pytest.mark.parametrize("name", ["a\u2028b", "\x1b[31m", "x" * 5000, "a\0b", ""])
@pytest.mark.parametrize("verb", [("recover",), ("report",),
                                  ("synthesize", "--rows", "9", "--from")])
def test_a_folder_of_any_name_is_refused_in_a_sentence(verb, name):
    """U+2028, escapes, and what no system takes as a name, for each verb that reads a folder."""
    assert refused(*verb, name)[0] in (2, 3)


WRITES = [
    ("key", "make", "new"), ("key", "show", "key.pem", "--out", "new"),
    ("sign", "plan.json", "--key", "key.pem", "--out", "new"),
    ("ledger", "export", "--ledger", "budget.db", "--out", "new"),
    ("report", "selection", "--out", "new"),
    *(("export", form, "selection", "--out", "new") for form in ("registry", "label", "officer")),
    ("synthesize", "--from", "histogram", "--rows", "9", "--out", "new"),
    ("predict", "regression", "new.csv", "--out", "new"),
    ("domain", "new.csv", "--out", "new"),
    ("inspect", "t.csv", "--domain", "d.toml", "--private-output", "new")]


@pytest.mark.parametrize("verb", WRITES, ids=lambda verb: "-".join(verb[:2]))
def test_a_full_disk_leaves_no_part_of_a_file(golden, verb, monkeypatch):
    """Whatever a verb writes is whole, or taken away with a sentence: it may be asked for again."""
    for item in golden[0].iterdir():
        Path(item.name).symlink_to(item)
    Path("t.csv").write_text("age,dose\n1,2\n")
    Path("d.toml").write_text(DOMAIN)
    key = PrivateKey.make()
    document = parsed((golden[0] / "selection/certificate.json").read_bytes())
    Path("key.pem").write_bytes(key.pem(None))
    Path("key.pem").chmod(0o600)
    Path("plan.json").write_bytes(canonical({"terms": {name: document[name] for name in PLANNED}}))

    def full(_handle):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        code, _, output = command(*verb)
    assert 2 == code
    assert "its disk is full or fails; free some space" in output
    assert not Path("new").exists()
    assert 0 == command(*verb)[0]
    assert Path("new").stat().st_size


@pytest.mark.parametrize("verb", [
    ("show", "--ledger", "budget.db", "--head", "/dev/zero"), ("verify", "--export", "/dev/zero"),
    ("verify", "--ledger", "budget.db", "/dev/zero")], ids=" ".join)
def test_a_file_without_an_end_is_not_read(verb):
    """A file that is far longer than what is looked for is refused, and fills no memory."""
    import resource

    ps.Ledger("budget.db", population="clinic").grant(epsilon=2)
    limits, room = resource.getrlimit(resource.RLIMIT_AS), 2**30
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + room, limits[1]))
    try:
        assert refused("ledger", *verb)[0] in (2, 4)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def test_nobody_waits_for_a_pipe():
    """A pipe under the name of a note is no note of ours."""
    Path("r").mkdir()
    os.mkfifo("r/request.json")
    with within(20):
        assert 3 == refused("recover", "r")[0]


@pytest.mark.parametrize("columns", [[{}], [[]], [None], [{"a": []}], [1], {}, "age", None],
                         ids=str)
@pytest.mark.parametrize("field", ["columns", "absent"])
def test_a_claim_whose_names_are_no_names_does_not_hold(field, columns):
    """`claim.columns=[{}]` and its like are reasons, for a file and for a mapping."""
    claim = {"kind": "containment", "k": 2, "level": 2, "model": "containment", "absent": [],
             "l_diversity": 1, "suppressed": 0, "columns": ["age"], "target": None,
             "table_sha256": digest(b""), field: columns}
    signed = {"format": "privsieve-certificate/1", "claim": claim, "plan": {}, "software": {},
              "release_sha256": digest(b""), "population": None, "ledger": None, "key": None,
              "signature": None}
    Path("certificate.json").write_bytes(canonical(signed))
    Path("t.csv").write_text("age\n1\n1\n")
    code, out, _err = command("verify", "certificate.json", "--table", "t.csv")

    assert not ps.verify(signed).valid
    assert not ps.verify(signed, table="t.csv").valid
    assert (7, True) == (code, "NOT VALID" in out)


def judged(work):
    """What a call of the library gives; any error but one of ours goes through."""
    try:
        return work()
    except PrivsieveError:
        return None


@pytest.mark.parametrize("seed", range(4))
def test_a_forged_folder_gets_a_sentence_from_everything_that_reads_it(golden, seed):
    """One odd value anywhere in a release or certificate: no raw error, no escape, no long wait."""
    folder, names = golden
    random = forged.seeded(seed)
    place, table = Path("forged"), forged.frame_of(forged.table()[0]).iloc[:5]
    codes = set()
    for _ in range(30):
        name = random.choice(names)
        forged.forge(folder / name, place, random)
        (place / "r.html").unlink(missing_ok=True)
        with within(20), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            judged(lambda: ps.verify(place / "certificate.json", place / "release.json"))
            judged(lambda: ps.verify(dict(ps.load(place).certificate), dict(ps.load(place).body)))
            judged(lambda: (repr(ps.load(place)), ps.load(place).sha256))
            judged(lambda: ps.PrivateKernelRidge.of_release(ps.load(place)).predict(table))
            judged(lambda: ps.NoisyHistogram.of_release(ps.load(place)).sample(5))
            for args in (("verify", place), ("report", place, "--out", place / "r.html"),
                         ("predict", place, folder / "new.csv"),
                         ("synthesize", "--from", place, "--rows", "9")):
                code, out, err = command(*args)
                codes.add(code)
                assert code in (0, 2, 3, 7), err
                assert not any(hidden(c) for c in (out + err).replace("\n", ""))
    page = place / "r.html"
    if page.exists():
        assert not any(hidden(c) for c in page.read_text("utf-8").replace("\n", ""))

    assert {3, 7} <= codes


@pytest.mark.parametrize("payload", ["[" * DEEP, LONG, "[]", "nul", '{"a":1.5}'],
                         ids=lambda text: text[:4])
def test_a_damaged_entry_of_a_ledger_is_said(payload):
    """Whatever an entry's payload is, the ledger says that the entry is damaged."""
    with pytest.raises(LedgerError, match="entry 3 of the ledger is damaged"):
        _ = Entry(3, "grant", payload, "00", "00").body


@pytest.mark.parametrize("text", ["[" * DEEP, LONG, "1.5", "NaN", "[1, 9007199254740992]",
                                  '"\\ud800"', "[" * 65 + "]" * 65])
def test_json_that_has_no_canonical_form_is_no_json_of_ours(text):
    """What `parsed` takes, `canonical` writes; all else is a ValueError."""
    with pytest.raises(ValueError, match=r"."):
        parsed(text)


def test_a_value_of_any_depth_has_a_canonical_form_or_a_type_error():
    """A mapping that is nested too deeply is of a wrong type, and no RecursionError."""
    with pytest.raises(TypeError, match="nested too deeply"):
        canonical(forged.nested(sys.getrecursionlimit()))
    with pytest.raises(TypeError, match="a very long int is beyond"):
        canonical([HUGE])


# What reaches a terminal.


@pytest.mark.parametrize("obeyed", OBEYED, ids=ascii)
def test_words_reach_a_terminal_as_words(obeyed, capsys):
    """Each way in which a verb speaks writes out what a terminal would obey."""
    from privsieve.cli import words
    from privsieve.telling.document import DataTable, Document, literal

    words.say(f"a{obeyed}", f"b{obeyed}")
    words.show(f"a{obeyed}", f"b{obeyed}")
    words.show(f"a{obeyed}b")
    words.lines([f"a{obeyed}b"])
    words.tell(Document("t", (), [DataTable("", ("name",), [(literal(f"a{obeyed}b"),)])]))
    words.json({f"a{obeyed}": f"b{obeyed}\U000e0001"})
    out, err = capsys.readouterr()

    assert not any(hidden(c) for c in (out + err).replace("\n", ""))
    assert {f"a{obeyed}": f"b{obeyed}\U000e0001"} == json.loads(out.splitlines()[-1])


def test_a_refusal_that_quotes_a_file_is_harmless(monkeypatch):
    """An error that repeats a name of a file is one line without escapes, whatever the name."""
    import privsieve.cli as module

    def work(*_args, **_kwargs):
        raise CheckFailed("".join(OBEYED) + "\n" + "x" * 5000 + " end")

    monkeypatch.setattr(module.verbs, "main", work)
    code, message = refused("plan")

    assert 7 == code
    assert message.endswith("… end")


def test_a_library_that_panics_in_a_verb_gets_a_sentence(monkeypatch):
    """What is no `Exception` leaves no traceback: its type is named, and nothing of its text.

    Only who completes a word, or reads no more, ends without a word.
    """
    import privsieve.cli as module

    class Panic(BaseException):
        """As a library in another language raises it."""

    for error in (Panic("Zebedee"), GeneratorExit("Zebedee"), *map(SystemExit, ("Zebedee", 0, 1))):
        def work(*_args, error=error, **_kwargs):
            raise error

        monkeypatch.setattr(module.verbs, "main", work)
        assert (1, f"internal error ({type(error).__name__})") == refused("plan")


def test_quoted_and_visible_show_what_is_there():
    """A quote is short, a visible text is whole; letters of all scripts stay as they are."""
    plain = "Zürich, Ελλάδα, हिन्दी, ‌می‌خواهم, 👩‍⚕️"

    assert plain == visible(plain)
    assert "a\tb\nc" == visible("a\tb\nc")
    assert r"a\x1bb\u2028c\u202ed\x9be" == visible("a\x1bb\u2028c\u202ed\x9be")
    assert 80 == len(quoted("é" * 5000))
    assert r"'\x1b\u2028'" == quoted("\x1b\u2028")
