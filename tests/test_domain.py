"""The domain file: read back as written, refused in words, all of them at once."""
# ruff: noqa: DTZ001  # a domain's bounds are clock times

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from data_makers import DOMAIN, SEMICOLON, csv_file, read
from privsieve.errors import DomainError
from privsieve.public.columns import MIDDLE, MISSING, Category, Date, Flag, Label, Number
from privsieve.public.domain import Csv, Domain, read_column
from privsieve.public.domain_file import parse, to_toml
from privsieve.rows.cells import encoder
from privsieve.rows.coding import Gather
from privsieve.rows.inspect import inspect

names = st.text(st.characters(exclude_categories=("C",)), min_size=1, max_size=6).filter(str.strip)
scalars = st.one_of(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=4)
                    .filter(lambda text: text.strip(" \t")), st.integers(-5, 5), st.booleans())
values = st.lists(scalars, min_size=2, max_size=4, unique_by=lambda v: str(v).strip(" \t")).filter(
    lambda listed: len({str(int(v)) if isinstance(v, bool) else str(v).strip(" \t")
                        for v in listed}) == len(listed))
moments = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))
missing = st.sampled_from(["middle", "level"])
roles = st.sampled_from(["known", "presences", "both", "sensitive"])
#: Which of the two bounds are cut points, too.
cuts = st.sampled_from([(), (0,), (1,), (0, 1)])
numbers = st.builds(lambda name, low, width, scale, gap, at, role: Number(
                        name, low, low + width, scale, gap, [(low, low + width)[j] for j in at],
                        role),
                    names, st.floats(1e-6, 1e6), st.floats(1, 1e6),
                    st.sampled_from(["linear", "log"]), missing, cuts, roles)
dates = st.builds(lambda name, low, days, form, gap, at, role: Date(
                      name, low, low + days, form, gap, [(low, low + days)[j] for j in at], role),
                  names, moments, st.timedeltas(dt.timedelta(seconds=1), dt.timedelta(999)),
                  st.sampled_from([None, "%d.%m.%Y", "%y-%m-%d %H:%M %z"]), missing, cuts, roles)
parts = st.one_of(numbers, dates, st.builds(Flag, names, st.booleans(), role=roles),
                  st.builds(Category, names, values, roles))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(parts, min_size=1, max_size=4, unique_by=lambda column: column.name.casefold()),
       st.one_of(st.none(), st.builds(lambda v: Label("the target", v, v[-1]), values),
                 st.just(Number("the target", -0.0, 1))),
       st.sampled_from([{}, {"neighbours": "add-remove", "rows": 7}, {"csv": SEMICOLON},
                        {"person": "the person", "persons": 9, "rows_per_person": 3},
                        {"csv": Csv("\t", header=False)}, {"csv": Csv("\x7f")},
                        {"unit_declared": False}]))
def test_round_trip(columns, target, options):
    """A domain that is written and read back is equal, and so is its digest."""
    try:
        domain = Domain(columns, target, **options)
    except DomainError:  # two names that differ in their spelling of an accent only
        reject()
    again = parse(to_toml(domain))

    assert domain == again
    assert domain.digest() == again.digest()
    assert domain.unit_declared == again.unit_declared
    assert domain.columns == tuple(map(read_column, domain.json()["columns"]))


def test_files(tmp_path):
    """A domain file is written once, read back, and never overwritten."""
    path = tmp_path / "domain.toml"
    DOMAIN.to_toml(path)
    with pytest.raises(DomainError, match="is not overwritten"):
        DOMAIN.to_toml(path)

    assert Domain.from_toml(path) == DOMAIN
    assert Domain.from_toml(str(path)) == DOMAIN


def test_a_domain_file_of_version_0_1_0():
    """It has no number and no key of its own; a draft that nobody filled in gets a sentence."""
    text = ('[table]\nunit = "row"\n\n[[column]]\nname = "age"\nkind = "number"\n'
            "low = {}\nhigh = 9\n")

    assert Domain([Number("age", 0, 9)]) == parse(text.format(0))
    with pytest.raises(DomainError, match=r"the domain file is not TOML: .* \(at line 7"):
        parse(text.format("  <- fill in"))


CUT = '[[column]]\nname = "age"\nkind = "number"\nlow = 0\nhigh = 110\n'
DAY = '[[column]]\nname = "d"\nkind = "date"\nlow = 2020-01-01\nhigh = 2020-12-31\n'


@pytest.mark.parametrize(("text", "message"), [
    (CUT + "cuts = [18, 111]", "the cut point 111 lies outside the bounds, 0 to 110"),
    (CUT + "cuts = [-1]", "the cut point -1 lies outside the bounds"),
    (CUT + "cuts = [65, 18]", "in increasing order"),
    (CUT + "cuts = [18, 18.0]", "in increasing order"),
    (CUT + "cuts = 18", r"list of at most 1000 points, for example cuts = \[18, 65\]"),
    (CUT + 'cuts = ["18"]', "a cut point is '18'; write a finite number"),
    (CUT + "cuts = [nan]", "write a finite number"),
    (CUT + f"cuts = {list(range(1001))}", "of at most 1000"),
    (CUT + "cuts = [18]\nrole = 'secret'", "role is 'secret'; write \"known\", \"presences\""),
    (CUT + "role = ['both']", "role is"),
    (DAY + "cuts = [2021-01-01]", "the cut point 2021-01-01 lies outside the bounds, 2020-01"),
    (DAY + "cuts = ['soon']", "a cut point is 'soon'; write a date"),
    (CUT + '[target]\nname = "y"\nkind = "number"\nlow = 0\nhigh = 1\nrole = "known"',
     "a target has no role"),
    (CUT + '[target]\nname = "y"\nkind = "label"\nvalues = [0, 1]\nrole = "both"',
     r"target 'y' \(\[target\]\): a target has no role"),
    ('[[column]]\nname = "s"\nkind = "flag"\ncuts = [1]', "'cuts' is not known"),
])
def test_roles_and_cuts_are_refused_in_words(text, message):
    """A role that is none, or of a target, and cut points that fit no column, are refused."""
    with pytest.raises(DomainError, match=message):
        parse(text)


@pytest.mark.parametrize("content", [None, b"\xff"])
def test_no_file(tmp_path, content):
    """A domain file that is not there, or not text, is said to be so, without its path."""
    path = tmp_path / "domain.toml"
    if content:
        path.write_bytes(content)
    with pytest.raises(DomainError, match="check the path") as caught:
        Domain.from_toml(path)

    assert str(tmp_path) not in str(caught.value)


def test_unit():
    """What a row is has been declared where the file says so, and only there."""
    column = '[[column]]\nname = "f"\nkind = "flag"\n'

    assert not parse(column).unit_declared
    assert parse('[table]\nunit = "row"\n' + column).unit_declared
    assert parse('[table]\nperson = "p"\n' + column).unit_declared
    assert parse('[table]\nunit = "person"\nperson = "p"\n' + column).person == "p"


FLAG = '[[column]]\nname = "f"\nkind = "flag"\n'
AGE = '[[column]]\nname = "age"\nkind = "number"\n'
DAY = '[[column]]\nname = "d"\nkind = "date"\nhigh = 2021-01-01\n'
REFUSED = {
    "not TOML": ("low =", "not TOML"),
    "nothing": ("", "names no column"),
    "one bracket": ('[column]\nname = "f"', "write [[column]]"),
    "no table": ("table = 1\n" + FLAG, "[table] is not a table"),
    "misspelled": ("[tabel]\n" + FLAG, "'tabel' is not known; did you mean table?"),
    "misspelled key": ('[table]\nneighbors = "x"\n' + FLAG, "did you mean neighbours?"),
    "foreign key": (FLAG + "low = 0", "column 'f' (1st [[column]]): 'low' is not known; write one"),
    "no name": (FLAG + '[[column]]\nkind = "flag"', "2nd [[column]]: name is missing"),
    "no kind": (FLAG + '[[column]]\nname = "g"', "column 'g' (2nd [[column]]): kind is missing"),
    "kind": ('[[column]]\nname = "f"\nkind = "numbr"', "kind is 'numbr'; write \"number\" or"),
    "low": (FLAG + AGE + "high = 1", "column 'age' (2nd [[column]]): low is missing; write the"),
    "high": (AGE + "low = 1", "column 'age' (1st [[column]]): high is missing; write the"),
    "order": (AGE + "low = 1\nhigh = 1", "low must be the smaller"),
    "infinite": (AGE + "low = 1\nhigh = inf", "write a finite number"),
    "text": (AGE + 'low = "1"\nhigh = 2', "write a finite number"),
    "too near": (AGE + "low = 0\nhigh = 5e-324", "too close or too far apart"),
    "too far": (AGE + "low = -1e308\nhigh = 1e308", "too close or too far apart"),
    "log": (AGE + 'low = 0\nhigh = 1\nscale = "log"', "needs low above 0"),
    "missing": (AGE + 'low = 0\nhigh = 1\nmissing = "drop"', 'write "middle" or "level"'),
    "values": ('[[column]]\nname = "c"\nkind = "category"', "values is missing; list every value"),
    "no values": ('[[column]]\nname = "c"\nkind = "category"\nvalues = []', "values lists 0 texts"),
    "twice": ('[[column]]\nname = "c"\nkind = "category"\nvalues = [1, "1"]', "listed twice"),
    "float": ('[[column]]\nname = "c"\nkind = "category"\nvalues = [0.5]', "whole number"),
    "date": (DAY + 'low = "soon"', "write a date such as 2020-01-01"),
    "no year": (DAY + 'low = 2020-01-01\nformat = "%d.%m"', "write day, month and year"),
    "no date": (DAY + "low = 2020-01-01\nformat = 5", "write day, month and year"),
    "duplicate": (FLAG + '[[column]]\nname = "F"\nkind = "flag"', "named twice"),
    "target": (FLAG + '[target]\nname = "y"\nkind = "date"', 'write "number" or "flag" or "label"'),
    "one class": (FLAG + '[target]\nname = "y"\nkind = "label"\nvalues = [1]', "at least two"),
    "default": (FLAG + '[target]\nname = "y"\nkind = "label"\nvalues = [0, 1]\ndefault = 2',
                "target 'y' ([target]): default is 2"),
    "target low": (FLAG + '[target]\nname = "y"\nkind = "number"\nhigh = 2', "low is missing"),
    "unit": ('[table]\nunit = "household"\n' + FLAG, 'write "row" or "person"'),
    "no person": ('[table]\nunit = "person"\n' + FLAG, "person is missing"),
    "both": ('[table]\nunit = "row"\nperson = "p"\n' + FLAG, "or remove person"),
    "rows": ('[table]\nneighbours = "add-remove"\n' + FLAG, "table.rows is missing"),
    "zero rows": ("[table]\nrows = 0\n" + FLAG, "whole number from 1"),
    "csv": ("[table]\ncsv = 1\n" + FLAG, "[table] csv is not a table"),
    "csv key": ('[table]\ncsv = { delimeter = "," }\n' + FLAG, "did you mean delimiter?"),
    "delimiter": ("[table]\ncsv = { delimiter = 5 }\n" + FLAG, "write one character"),
    "same": ('[table]\ncsv = { decimal = "," }\n' + FLAG, "the same character"),
    "encoding": ('[table]\ncsv = { encoding = "utf-16" }\n' + FLAG, "keeps ASCII"),
    "escapes": ('[table]\ncsv = { encoding = "unicode_escape" }\n' + FLAG, "keeps ASCII"),
}


@pytest.mark.parametrize(("text", "word"), REFUSED.values(), ids=REFUSED)
def test_refused(text, word):
    """What is missing, unknown or wrong is said with its place and with what to write."""
    with pytest.raises(DomainError) as caught:
        parse(text)

    assert word in str(caught.value)


def test_box_is_not_written():
    """A domain of any width has no columns to write."""
    with pytest.raises(DomainError, match="name its columns"):
        to_toml(Domain.box(0, 1))


def test_all_faults_are_said_at_once():
    """Each fault has its line, in the order of the file; a file with one has no list."""
    text = """[table]
unit = "household"

[[column]]
name = "age"
kind = "number"
low = 5
high = 1

[[column]]
names = ["q1..q3", "q3"]
kind = "number"
near = "0"
lo = 3

[target]
name = "y"
kind = "label"
values = [1]
"""
    with pytest.raises(DomainError) as caught:
        parse(text)

    faults = str(caught.value).split("\n")
    assert "the domain file has 5 faults:" == faults[0]
    expected = [
        "line 2: [table]: unit is", "line 7: column 'age' (1st [[column]]): low is 5",
        "line 13: columns 'q1' to 'q3' (2nd [[column]]): near",
        "line 14: columns 'q1' to 'q3' (2nd [[column]]): 'lo' is not known; did you mean low?",
        "line 16: target 'y' ([target]) has one value"]
    assert expected == [line[:len(start)] for line, start in zip(faults[1:], expected, strict=True)]
    with pytest.raises(DomainError, match=r"^line 3: column 'f' \(1st \[\[column\]\]\): kind is"):
        parse('[[column]]\nname = "f"\nkind = "numbr"\n')
    good = '[[column]]\nname = "a"\nkind = "flag"\n'
    for bad in ('[[column]]\nname = "f"\nkind = "numbr"\n', '[table]\nunit = "household"\n', good):
        with pytest.raises(DomainError) as caught:
            parse(good + bad)
        assert 1 == len(str(caught.value).split("\n"))
    many = "".join(f'[[column]]\nname = "x{j}"\nkind = 1\n' for j in range(50))
    with pytest.raises(DomainError, match=r"50 faults(.|\n)*and 30 more$"):
        parse(many)


def test_lines_that_cannot_be_told():
    """Tables that are written in another way have their faults without a line."""
    with pytest.raises(DomainError, match=r"^column 'f' \(1st \[\[column\]\]\): kind is missing"):
        parse('column = [{ name = "f" }]')
    with pytest.raises(DomainError, match=r"^line 2: column 'f'"):  # the line of its table
        parse('\n[[column]]\n"name" = "f"\n"kind" = "x"')


BLOCKS = {
    "range": (["q08..q11"], ["q08", "q09", "q10", "q11"]),
    "widths": ("q9..q11", ["q9", "q10", "q11"]),
    "ending": (["x1_a..x3_a"], ["x1_a", "x2_a", "x3_a"]),
    "braces": (["{sys,dia}_{1..2}"], ["sys_1", "sys_2", "dia_1", "dia_2"]),
    "words": (["age", "a..b", "{c}", "q1..p3"], ["age", "a..b", "{c}", "q1..p3"]),
}


@pytest.mark.parametrize(("block", "expected"), BLOCKS.values(), ids=BLOCKS)
def test_blocks(block, expected):
    """A block is the columns that it names, one by one, with one digest."""
    import tomli_w

    domain = parse("[[column]]\n" + tomli_w.dumps({"names": block, "kind": "number", "low": 0,
                                                "high": 5}))
    one_by_one = Domain([Number(name, 0, 5) for name in expected])

    assert one_by_one == domain
    assert one_by_one.digest() == domain.digest()


@pytest.mark.parametrize(("line", "message"), [
    ('names = "q3..q1"', "counts down"), ("names = []", "write a name, a range or a list"),
    ("names = [1]", "write a name, a range or a list"), ('names = "q1..q999999"', "100000 names"),
    ('names = "{1..999}{1..999}"', "100000 names"), ('names = ["a", "A"]', "named twice"),
    ('name = "a"\nnames = "b"', "write one of them"), ('names = "' + "{a,b}" * 400 + '"', "2000"),
])
def test_blocks_are_refused_in_words(line, message):
    """A block that names nothing, too much or a name twice is refused."""
    with pytest.raises(DomainError, match=message):
        parse(f'[[column]]\n{line}\nkind = "flag"')


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.one_of(names, st.builds("q{}".format, st.integers(0, 120)),
                          st.builds("q{:03}".format, st.integers(0, 120)),
                          st.sampled_from(["a{b,c}", "q1..q3"])), min_size=1, max_size=9))
def test_a_block_that_is_written_is_read_back(listed):
    """`written` says exactly the names that it was given, or that it cannot."""
    from privsieve.public.blocks import expanded, written

    words = written(listed)

    assert (words is None) == any(expanded(name) != [name] for name in listed)
    assert words is None or listed == [name for word in words for name in expanded(word)]


def test_missing_values():
    """Numbers that stand for none are missing, and only then bind the digest."""
    plain, coded = Number("pain", 0, 10), Number("pain", 0, 10, missing_values=[99, -1, 99.0])
    cells = ["3", "99", "99.0", " -1 ", "98", "", "x"]

    assert (-1.0, 99.0) == coded.missing_values
    assert coded == parse(to_toml(Domain([coded]))).columns[0] == read_column(
        Domain([coded]).json()["columns"][0])
    assert "missing_values" not in Domain([plain]).json()["columns"][0]
    missing = encoder(plain)([None])[0]
    assert [code == missing for code in encoder(coded)(cells)] == [
        False, True, True, True, False, True, True]
    assert encoder(plain)(cells)[4] == encoder(coded)(cells)[4]
    items = Gather("pain", coded)
    items.add(cells)
    assert [0, -1, -1, -1, 1, -1, -1] == items.coded().codes.tolist()  # 98 is the bound
    assert encoder(coded)(np.array([3, 99, -1, 98])).tolist() == encoder(coded)(
        ["3", "99", "-1", "98"]).tolist()
    for wrong in (99, "99", [None], [float("nan")], [[1]], list(range(101))):
        with pytest.raises(DomainError, match=r"missing value|missing_values is"):
            Number("pain", missing_values=wrong)


def test_missing_values_of_a_file(tmp_path):
    """The kernel reads a code for missing as Python does, decimal commas too; inspect counts it."""
    path = csv_file(tmp_path, b"3;1,5\n99;9,9\n99,0;7\n;2\nx;1\n", b"a;b\n")
    domain = Domain([Number("a", 0, 10, missing_values=[99], missing="level"),
                     Number("b", missing_values=[9.9])], csv=SEMICOLON)
    codes = np.concatenate([batch.codes for batch in read(path, domain)])
    inspection = inspect(path, domain)

    assert [False, True, True, True, True] == (codes[:, 0] == MISSING).tolist()
    assert [False, True, False, False, False] == (codes[:, 1] == MIDDLE).tolist()
    assert [(3, 1), (1, 0)] == [(finding.missing, finding.unparsable)
                                for finding in inspection.findings]


def test_negative_zero():
    """Equal domains have equal digests."""
    assert Domain([Number("x", -0.0, 1)]).digest() == Domain([Number("x", 0, 1)]).digest()


def test_a_target_in_python_has_no_role():
    """What a domain file refuses is refused in Python."""
    with pytest.raises(DomainError, match="a target has no role"):
        Domain([Flag("s")], target=Number("y", 0, 1, role="sensitive"))
    with pytest.raises(DomainError, match="write a list of at most 1000 points"):
        Number("age", 0, 110, cuts=[None])
