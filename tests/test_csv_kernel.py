"""Law: the kernel that reads CSV lines gives the answers of the reader in Python, cell by cell.

PRIVSIEVE_BODIES says how many made-up files are read; who asks for many gets others each time.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import os
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from data_makers import DOMAIN, HOSTILE, csv_file, read
from privsieve.public.canonical import FLAGS, plain
from privsieve.public.columns import Category, Date, Flag, Label, Number
from privsieve.public.domain import Csv, Domain
from privsieve.rows import csv_file as csv_rows
from privsieve.rows import open_source
from privsieve.rows.cells import CellRule, NumberRule

pytestmark = pytest.mark.skipif(not csv_rows.readable("utf-8"),
                                reason="the native kernels are not built")

WIDE = Domain(
    [Number("c1", 0, 110), Flag("c9", default=True), Category("c3", ["A", "\ufffd", "é", "3"]),
     Number("c2", 1e-3, 1e3, "log", "level"), Date("c5", "2020-01-01", "2021-01-01"),
     Date("c6", "2020-01-01", "2021-01-01", ["%d.%m.%Y", "ISO 8601"], "level"),
     Flag("c7", true=["ja", "Á"], false="2")],
    target=Label("c4", ["No", "Yes", True, -3], default="Yes"), person="c8", persons=9)
FORMS = [Csv(), Csv(";", ",", "cp1252"), Csv("\t"), Csv("|", encoding="latin-1"), Csv(" "),
         Csv("5"), Csv("e"), Csv(".", ","), Csv("-"), Csv(encoding="ascii"),
         Csv("\x1f", ",", "iso8859-15"), Csv(";", ",", thousands="."), Csv(thousands=","),
         Csv(thousands=" "), Csv(";", ",", thousands=".", censored=["<5", ">"]),
         Csv(missing=["5", "1.5", "-"], censored="<"), Csv(";", line_breaks=True)]
BODIES = int(os.environ.get("PRIVSIEVE_BODIES", "400"))
#: The same files in each run of `make test`.
SAME = "PRIVSIEVE_BODIES" not in os.environ
#: Files of one search: what Hypothesis remembers of a search makes each further file dearer.
MOST = 2_500
SEARCHES = range(-(-BODIES // MOST))
TEXTS = sorted({cell for cell in HOSTILE if isinstance(cell, str) and cell.isprintable()})


def known(encoding):
    """Numbers from 0 for the tags of persons: a run can be compared with another."""
    drawn = itertools.count()
    return lambda n: next(drawn).to_bytes(n, "little")


def answer(path, domain, *, native, **options):
    """Codes, labels and units; by the kernel or in Python."""
    with pytest.MonkeyPatch.context() as patch:
        if not native:
            patch.setattr(csv_rows, "serves", lambda _source: False)
        parts = read(path, domain, entropy=known(domain), strict=False, **options)
    return [[*map(int, codes), int(label), int(unit)] for piece in parts
            for codes, label, unit in zip(piece.codes, piece.label, piece.unit, strict=True)]


digits = st.text("0123456789", max_size=24)
groups = st.lists(st.sampled_from(["1", "12", "032", "999", "", "0000"]), min_size=1, max_size=4)
numbers = st.one_of(
    st.builds(lambda sign, parts, sep, rest: sign + sep.join(parts) + rest,
              st.sampled_from(["", "-", "+", "<", "> ", "<="]), groups, st.sampled_from(".,' "),
              st.sampled_from(["", ",5", ".25", ".", "e1"])),
    st.floats().map(repr), st.integers().map(str), st.from_regex(
        r"[ \t]{0,2}[+-]?[0-9]{0,25}[.,]?[0-9]{0,25}([eE][+-]?[0-9]{1,4})?[ \t]?", fullmatch=True),
    st.builds("{}.{}e-{}".format, digits, digits, st.integers(0, 400)))
fields = st.one_of(
    numbers, st.sampled_from(TEXTS), st.text(max_size=6), st.text('"" aA35.,;e-', max_size=6),
    st.sampled_from(["2020-06-01", "1.6.2020", "01.06.2020",
                     "2020-06-01 12:30", "2020-06-01T12:30:59", "2020-02-30", "20200601",
                     "Yes", "NO", "y", "A\nB", "\n", "Á", "\ufeff", '"A"', '"a""b"',
                     '"', '""', "", "TRUE", "\x1f", "1", "1.0", "+1.", "-3.00", "3.0", "03.", "-0",
                     "ja", "á", "2.0", "False", "+", "-", "1.0.", "+-1", "3.01"]))
quoted = fields.map(lambda text: '"' + text.replace('"', '""') + '"')
ends = st.sampled_from([*[b""] * 9, b"\r", b"\r\r", b"\0", b" ", b"\xff", b"\xe2\x82", b'"'])


def bodies(how):
    """Some lines in this form, most of them with nine fields, and the form."""
    def joined(cells, end):
        return how.delimiter.join(cells).encode(how.encoding, "replace") + end

    cell = st.one_of(fields, fields, quoted)
    line = st.one_of(*[st.builds(joined, st.lists(cell, min_size=many, max_size=many), ends)
                       for many in (9, 9, 9, 8, 1)], st.binary(max_size=60))
    return st.builds(lambda body, end: (how, b"\n".join(body) + end),
                     st.lists(line, max_size=5), st.sampled_from([b"", b"\n", b"\n\n"]))


@pytest.mark.slow
@pytest.mark.parametrize("search", SEARCHES)
@settings(max_examples=min(BODIES, MOST), derandomize=SAME, deadline=None)
@given(st.one_of(*map(bodies, FORMS)), st.booleans(), st.sampled_from([None, 1, 2, 3]))
def test_any_body(tmp_path_factory, search, drawn, header, most):
    """Whatever the body and the form: the same codes, labels and persons, in any batches."""
    how, body = drawn
    # With the delimiter 5 c5 would be two fields; cells with line breaks need a header.
    header = (header and how.delimiter != "5") or how.line_breaks
    first = how.delimiter.join(f"c{j}" for j in range(1, 10)).encode() if header else b"x"
    path = csv_file(tmp_path_factory.getbasetemp(), body, first + b"\n")
    domain = replace(WIDE, csv=replace(how, header=header))

    assert answer(path, domain, native=False) == answer(path, domain, native=True, batch_rows=most)


@pytest.mark.parametrize("search", SEARCHES)
@settings(max_examples=max(500, min(BODIES, MOST)), derandomize=SAME, deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=6), st.sampled_from(FORMS), st.integers(1, 40))
def test_any_bytes_and_blocks(tmp_path_factory, search, raw, how, size):
    """Whatever the bytes, and wherever the file is cut into blocks: the same codes."""
    path = csv_file(tmp_path_factory.getbasetemp(), b"\n".join([b"x", *raw]), b"")
    domain = Domain([Number("c2", 0, 300), Category("c1", ["a", "\ufffd", '"', "é"])],
                    csv=replace(how, header=False, line_breaks=False))
    expected = answer(path, domain, native=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_rows, "_BLOCK", size)

        assert expected == answer(path, domain, native=True)
        assert expected == answer(path, domain, native=False)


def exactly(text, decimal="."):
    """Whether the kernel reads a text as the very number that Python reads."""
    value = float(text)
    if decimal != ".":
        text = text.replace(".", decimal)
    edges = np.array([value, math.nextafter(value, math.inf)])
    records = csv_rows.records_of(Csv(";", decimal), 2, 2, 10**6)
    rule = CellRule({}, 7, False, NumberRule("log", (0.0, 0.0), edges, (65535, 7)), "", decimal)
    records.add(0, rule.native())
    records.add(1, rule.native())
    # Once among others, and once between blanks: these are two ways through the kernel.
    actual_value = records.read(f"{text}; {text}".encode(), 0, 1)[0]
    missing = 7 if math.isinf(value) else 1
    return [[missing]] * 2 == actual_value.tolist()


@settings(max_examples=1000, derandomize=True, deadline=None)
@given(st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.builds("{}.{}e{}".format, st.integers(0, 10**24), digits, st.integers(-400, 400)),
    st.builds("{}e{}".format, st.integers(-(10**19), 10**19), st.integers(-30, 30)),
    st.builds("0.{}{}".format, st.text("0", max_size=9), digits.filter(len))),
    st.sampled_from(".,"))
@example("4503599627370496.5", ".")
@example("4503599627370497.5", ".")
@example("900719925474099.3e1", ".")
@example("9007199254740993.0", ".")
@example("0.000000000000000000000000001", ".")
@example("18446744073709551615e-27", ".")
@example("9999999999999999999e-27", ",")
@example("1e400", ".")
@example("1e-400", ",")
@example("2.4703282292062327e-324", ".")
@example("2.4703282292062328e-324", ",")
@example("0e99999999999999999999", ".")
@example("1e99999999999999999999", ".")
@example("1e-99999999999999999999", ".")
@example("0" * 400 + "1" + "0" * 400 + "e-400", ".")
@example("-0.0", ".")
def test_numbers(text, decimal):
    """A text of a number is rounded once, to the nearest, ties to even: as `float` does it."""
    assert exactly(text, decimal)


def test_numbers_near_ties():
    """Texts of 16 to 19 digits that lie at, above and below the middle of two numbers."""
    rng = random.Random(3)
    for _ in range(1200):
        power = rng.randrange(1, 12)
        middle = (rng.randrange(2**52, 2**53) * 2 + 1) * 5**power  # times 2^-power, exactly
        text = f"{middle}e-{power}"
        for moved in (text, f"{middle}0001e-{power + 4}", f"{middle - 1}9999e-{power + 4}"):
            assert exactly(moved), moved


def test_whole_numbers():
    """Each short text of signs, points and digits has the level that Python gives it."""
    texts = ["".join(character) for many in range(1, 6)
             for character in itertools.product("+-.01", repeat=many)]
    table = {text: code for code, text in enumerate(sorted(set(map(plain, texts))))}
    records = csv_rows.records_of(Csv(), 1, 1, 100)
    records.add(0, CellRule(table, 65535, False, None, "", ".").native())
    values = records.read("\n".join(texts).encode(), 0, len(texts))[0][0]

    assert [table[plain(text)] for text in texts] == values.tolist()
    assert len(table) < len(texts)


EDGES = [0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED,
         0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF]


FORMATS = [None, "%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y %H:%M", "%Y%m%d", "%y%m%d%H%M%S", "%d %b %Y",
           "%j.%Y", "%Y-%m-%d%%", "%d.%m.%Y  %H:%M", ("%d.%m.%Y", "%m/%d/%Y %H:%M")]


@pytest.mark.parametrize("form", FORMATS)
def test_dates(form):
    """A date in any form, whole or spoiled, is the day that Python reads, or is left to Python."""
    rng, column = random.Random(str(form)), Date("x", "1900-01-01", "2100-01-01", form)
    rule, texts = CellRule.of(column), ["", " ", "soon"]
    for _ in range(1500):
        day = dt.datetime(1, 1, 1) + dt.timedelta(seconds=rng.randrange(9998 * 31_536_000))  # noqa: DTZ001
        if rng.random() < .8:
            day = day.replace(year=rng.randrange(1890, 2110), day=min(day.day, 28))
        text = day.strftime(rng.choice([form] if isinstance(form, str) else form or [
            "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y%m%d", "%G-W%V-%u"]))
        at = rng.randrange(len(text))
        texts += [text, f" {text}", text[:at] + rng.choice("0123.9- ") + text[at + 1:], text[:at]]
    texts.append("soon")  # a last line that is not empty
    records = csv_rows.records_of(Csv("|"), 1, 1, 100)
    records.add(0, rule.native())
    codes, ids, _, _ = records.read("\n".join(texts).encode(), 0, len(texts))
    there = (ids[0] < 0) & np.array([bool(text) for text in texts])

    assert np.array_equal(codes[0][there], rule.codes(texts)[there])
    assert there.mean() > .3 or form not in FORMATS[:6]


@pytest.mark.parametrize(("low", "high"), [(1, 16), (1e-3, 1e3), (5e-324, 1e308), (1, 1 + 1e-9),
                                           (1e-310, 1e-300), (2, 2 + 1e-12), (0.1, 0.3)])
def test_edges_of_a_log_scale(low, high):
    """Each edge, and what lies just below and above it, has the code that the edges say."""
    rule = CellRule.of(Number("x", low, high, "log"))
    edges = rule.grade.edges
    rng = np.random.default_rng(0)
    values = np.concatenate([edges, np.nextafter(edges, 0), np.nextafter(edges, np.inf),
                             rng.uniform(low, high, 20_000), edges * (1 + rng.random(len(edges)) * (
                                 edges[1] / edges[0] - 1)), [0.0, -1.0, low, high, 2 * high]])
    records = csv_rows.records_of(Csv(), 1, 1, 100)
    records.add(0, rule.native())
    actual_values = records.read("\n".join(map(repr, values.tolist())).encode(), 0,
                                 len(values))[0][0]

    assert np.array_equal(rule.grade.codes(values), actual_values)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252", "iso8859-7"])
def test_decoding(encoding):
    """Bytes are decoded as Python decodes them: whole characters, and one mark for each ruin."""
    four = itertools.product([0x41, 0xE0, 0xED, 0xF0, 0xF4], EDGES, [0x41, 0x80, 0xBF, 0xED], EDGES)
    texts = [bytes(text) for text in [*itertools.product(EDGES, repeat=3), *four]]
    records = csv_rows.records_of(Csv(encoding=encoding), 1, 1, 100)
    records.add(0, None)
    _, ids, parts, _ = records.read(b"\n".join(texts), 0, len(texts))

    assert [text.decode(encoding, "replace") for text in texts] \
        == [parts[0][at].decode() for at in ids[0]]


def test_long_lines(tmp_path):
    """The longest line that is read, one byte more, and the longest field in quotes."""
    wide = Domain([Number("c1", 0, 9), Category("c1500", ["A"])], csv=Csv(header=False))
    cap = csv_rows.LARGEST_LINE + csv_rows.LARGEST_CELL * 1500
    commas = b"," * 1498
    bodies = [b"5" + commas + b",A" + b" " * length for length in (cap - 1501, cap - 1500)]
    bodies += [b'5,"' + letter * many + b'"' + commas + b"A" for letter, many in (
        (b"x", 131072), (b"x", 131073), (b"\xc3\xa9", 80000), (b"\xff", 131073))]
    path = csv_file(tmp_path, b"\n".join(bodies), b"")
    expected = answer(path, wide, native=False)

    assert expected == answer(path, wide, native=True)
    assert [0, 1, 0, 1, 0, 1] == [row[1] for row in expected]


def test_blank_lines_take_little_memory(tmp_path):
    """A block of nothing but line ends is read in batches, as any other."""
    path = csv_file(tmp_path, b"\n" * 300_000, b"")
    domain = Domain([Number("c1", 0, 9)], csv=Csv(header=False))

    sizes = [len(batch) for batch in read(path, domain, batch_rows=1000)]

    assert [1000] * 300 == sizes


def test_flags_in_capitals():
    """No letter beyond ASCII becomes a letter of a flag when it is made small."""
    letters = set("".join(FLAGS))
    odd = {chr(code) for code in range(128, 0x110000) if set(chr(code).lower()) & letters}

    assert set() == {letter for letter in odd if set(letter.lower()) <= letters}
    assert len(FLAGS) == 10


@pytest.mark.parametrize("how", [Csv(encoding="shift_jis"), Csv(encoding="gb18030"),
                                 Csv(encoding="utf-7")])
def test_other_encodings_are_read_in_python(tmp_path, how):
    """An encoding in which a byte is no character is left to Python."""
    path = csv_file(tmp_path, b"50,5,0,2020-07-01,no,B,No\n")

    assert not csv_rows.serves(open_source(path, csv=how))
    assert csv_rows.serves(open_source(path, csv=Csv()))
    assert 1 == len(answer(path, replace(DOMAIN, csv=how), native=True))
