"""Law: codes.  How a number becomes a code is said by its declaration, for each reader."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import privsieve as ps
from data_makers import read
from privsieve.errors import DomainError
from privsieve.methods import METHODS
from privsieve.public.columns import Flag, Label, Number, read_finely
from privsieve.public.domain import Domain
from privsieve.public.domain_file import parse, to_toml
from privsieve.rows import csv_file as csv_rows
from privsieve.rows.cells import encoder, log_linear
from test_csv_kernel import answer

WHOLE, LEVEL = (65536, 32768), (65535, 65535)
#: Numbers of the design pages: x and its code.
C1 = {0.0: 32768, 1.0: 43009, -1.0: 22527, 0.5: 42497, 140.0: 46641, 140.5: 46643, 2**-20: 32769,
      2**-21: 32768, 2.0**43: 65025, 2.0**60: 65535, -2.0**60: 1}
NEAR_2000 = {1950.0: 19679, 1951.0: 19695, 2000.0: 32768, 2026.0: 45377}
C2 = {2.0**44: (65535, 65534), math.inf: (65535, 65534), -math.inf: (1, 2),
      5e-324: (32768, 32768), -0.0: (32768, 32768), math.nextafter(2.0**43, 0): (65024, 65024),
      math.nextafter(2**-20, 0): (32768, 32768), math.nan: (32768, 65535),
      1.7976931348623157e308: (65535, 65534)}


def codes(values, near=0.0, how=WHOLE):
    """The codes of some numbers."""
    return log_linear(np.array(values, np.float64), near, *how).tolist()


def naive(x, near=0.0, most=32767):
    """The code of one number, in rationals: the words of the definition."""
    z = Fraction(x - near)  # a subtraction of doubles
    if abs(z) < Fraction(1, 2**20):
        return 32768
    e = abs(z).numerator.bit_length() - abs(z).denominator.bit_length() - 1
    e += Fraction(2)**(e + 1) <= abs(z)
    q = math.floor((abs(z) / Fraction(2)**e - 1) * 512)
    c = min(512 * (e + 20) + q + 1, most)
    return 32768 + c if z > 0 else 32768 - c


def test_the_pages_values():
    """C1 and C2 of the design pages."""
    assert list(C1.values()) == codes(list(C1))
    assert list(NEAR_2000.values()) == codes(list(NEAR_2000), 2000.0)
    assert [whole for whole, _ in C2.values()] == codes(list(C2))
    assert [level for _, level in C2.values()] == codes(list(C2), how=LEVEL)


def doubles(seed, many):
    """Doubles of all sizes, with those beside powers of two."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2**64, many, np.uint64).view(np.float64)
    powers = 2.0**rng.integers(-30, 60, many) * rng.choice([-1, 1], many)
    beside = np.nextafter(powers, rng.choice([-np.inf, np.inf], many))
    usual = rng.normal(0, 10.0**rng.integers(-8, 12, many))
    values = np.concatenate([values, powers, beside, usual])
    return values[np.isfinite(values)]


@pytest.mark.parametrize("near", [0.0, 2000.0, 0.1, -3e7])
def test_bits_are_the_rational_definition(near):
    """Bits of doubles give the codes of exact rationals after one subtraction of doubles."""
    values = doubles(1, 500)

    assert [naive(x, near) for x in values.tolist()] == codes(values, near)
    assert [naive(x, near, 32766) for x in values.tolist()] == codes(values, near, LEVEL)


@pytest.mark.parametrize("how", [WHOLE, LEVEL])
@pytest.mark.parametrize("near", [0.0, 1e-3, 2000.0, -1e300])
def test_codes_are_monotone_and_leave_missing_alone(how, near):
    """A larger number never has a smaller code, and no number has the code of a missing level."""
    values = np.sort(doubles(2, 20_000))
    codes_read = codes(values, near, how)

    assert sorted(codes_read) == codes_read
    assert 65535 not in codes_read or how == WHOLE


PARTS = [Number("x"), Number("x", missing="level"), Number("x", near=140),
         Number("x", 0, 1e6, near=140),
         Number("x", near=-0.25, missing="level"), Number("x", 0, 150, near=140),
         Number("x", 120, 160, missing="level"), Number("x", 100, 180),
         Number("x", 1, 1000, "log")]
CELLS = ["140", "140.5", "", "x", "1e400", "-1e400", "nan", "inf", "-7", "0", "-0", "1e-30",
         "2000.1", "139.99999999", "1e15", "-1e15", "1_0", "5e-324", "119.9", "160", "160.1"]


@pytest.mark.parametrize("column", PARTS, ids=repr)
def test_containers_are_read_alike(column, tmp_path):
    """A cell has one code, alone or in a column, as text, number or object, in any container."""
    are_numbers = [re.fullmatch(csv_rows.NUMBER, cell) and math.isfinite(float(cell))
                   for cell in CELLS]
    values = [float(cell) if good else math.nan for cell,
              good in zip(CELLS, are_numbers, strict=True)]
    encode = encoder(column)
    expected = encode(CELLS).tolist()
    ways = {
        "alone": [encode([cell])[0] for cell in CELLS],
        "numbers": encode(values), "array": encode(np.array(values)),
        "none": encode([None if value != value else value for value in values]),
        "infinite": encode(np.array([float(cell) if cell == "1e400" else value
                                     for cell, value in zip(CELLS, values, strict=True)])),
    }
    domain = Domain([column], Label("y", [0, 1]))
    path = tmp_path / "table.csv"
    path.write_text("x,y\n" + "".join(f"{cell},1\n" for cell in CELLS))
    y = [1] * len(CELLS)
    parquet = tmp_path / "table.parquet"
    pq.write_table(pa.table({"x": values, "y": y}), parquet)
    tables = {"pandas": (pd.DataFrame({"x": values}), y),
              "polars": (pl.DataFrame({"x": values}), y),
              "arrow": (pa.table({"x": values, "y": y}), None), "parquet": (parquet, None),
              "csv": (path, None), "objects": (pd.DataFrame({"x": CELLS}, dtype=object), y)}
    for name, (table, label) in tables.items():
        ways[name] = np.concatenate([batch.codes[:, 0] for batch in read(table, domain, label)])
    if csv_rows.readable("utf-8"):
        for native in (True, False):
            ways[f"csv {native}"] = [row[0] for row in answer(path, domain, native=native)]
    for name, read_codes in ways.items():
        assert expected == [int(code) for code in read_codes], name


def test_kernel_reads_any_number_as_the_twin(tmp_path):
    """The kernel codes the texts of doubles of all sizes as the definition does."""
    values = doubles(3, 400)
    path = tmp_path / "table.csv"
    path.write_text("x\n" + "".join(f"{value!r}\n" for value in values.tolist()))
    for column in PARTS[:7]:
        domain = Domain([column])
        actual_values = np.concatenate([batch.codes[:, 0] for batch in read(path, domain)])

        assert encoder(column)(values).tolist() == actual_values.tolist()


# What is declared


def test_old_domains_keep_their_digests():
    """A number with bounds is written as before; what is not given is left out."""
    old = Domain([Number("age", 0, 110), Flag("smoker")], Label("ill", [0, 1]))

    assert {"kind": "number", "name": "age", "low": "0.0", "high": "110.0", "scale": "linear",
            "missing": "middle"} == old.json()["columns"][0]


@pytest.mark.parametrize("column", PARTS, ids=repr)
def test_a_file_says_all(column):
    """A domain file that is written and read again is the same domain."""
    domain = Domain([column])

    assert domain == parse(to_toml(domain))
    assert domain.digest() == parse(to_toml(domain)).digest()


REFUSED = {
    "low alone": ({"low": 1}, "high is missing"), "high alone": ({"high": 1}, "low is missing"),
    "near": ({"near": "2000"}, "near is '2000'; write a finite number"),
    "near nan": ({"near": math.nan}, "near is nan; write a finite number"),
    "log": ({"scale": "log"}, "low and high are missing"),
    "log near": ({"scale": "log", "low": 1, "high": 9, "near": 2}, "remove scale or near"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(options, message):
    """A declaration that says too little or too much is refused in one sentence."""
    with pytest.raises(DomainError) as caught:
        Number("x", **options)

    assert message in str(caught.value)
    assert "column 'x'" in str(caught.value)


@pytest.mark.parametrize("kind", ['kind = "flag"', 'kind = "category"\nvalues = ["a"]',
                                  'kind = "date"\nlow = 2020-01-01\nhigh = 2021-01-01'])
def test_only_numbers_are_near_something(kind):
    """`near` of another kind of column is refused."""
    with pytest.raises(DomainError, match="is not known; write one of"):
        parse(f'[[column]]\nname = "x"\n{kind}\nnear = 3\n')


@pytest.mark.parametrize("method", [name for name in METHODS if name != "rule-sieve"])
@pytest.mark.parametrize("place", ["column", "target"])
def test_methods_that_compute_refuse(method, place):
    """Before a plan, with the column and the ways out."""
    free, bound = Number("free"), Number("bound", 0, 1)
    domain = Domain([free, bound], Label("y", [0, 1])) if place == "column" else (
        Domain([bound, Number("more", 0, 1)], free))
    options = {"epsilon": 1, "k": 1, "columns": ["bound"]}
    known = set(ps.methods.options_of(method).__dataclass_fields__)
    input_options = {name: value for name, value in options.items()
                     if name in known or (name == "k" and "n_features_to_select" in known)}
    with pytest.raises(DomainError, match=r"column 'free' needs low and high.*write low and high"):
        ps.plan(method, domain, rows=1000, **input_options)


def test_typical_is_gone():
    """A domain file of before gets one sentence, with the way out."""
    with pytest.raises(DomainError, match="typical was removed: RuleSieve needs no bounds"):
        parse('[[column]]\nname = "x"\nkind = "number"\ntypical = [140, 5]\n')


@pytest.mark.parametrize(("options", "near"), [
    ({"low": 0, "high": 9}, 0), ({"low": 3, "high": 9}, 3), ({"low": -9, "high": -3}, -3),
    ({"low": -1e6, "high": 1e6}, 0), ({}, None), ({"low": 0, "high": 9, "near": 5}, 5),
    ({"low": 1, "high": 9, "scale": "log"}, None)], ids=str)
def test_rules_read_numbers_finely(options, near):
    """Around 0 or the bound that is nearest to it, unless something else is declared."""
    read = read_finely(Number("x", **options))

    assert near == read.near
    assert replace(read, near=None) == replace(Number("x", **options), near=None)


def test_what_is_missing_is_in_the_middle():
    """Of the bounds, also where codes lie around one of them; without bounds, around `near`."""
    for column, middle in ((Number("x", 10, 20), 15), (Number("x", 10, 20, near=10), 15),
                           (Number("x", near=7), 7)):
        first, second = encoder(column)([None, middle]).tolist()
        assert first == second

