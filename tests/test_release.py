"""Law: release.  What is written is read again, number by number and field by field."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert, to_builtins

from privsieve.errors import SchemaError
from privsieve.public.canonical import LARGEST
from privsieve.release import (
    ColumnWeights,
    GridNumbers,
    Histogram,
    NoiseLaw,
    Regression,
    Selection,
    exactly,
    figure,
    number,
)
from releases import ANSWERS, SAYS, released

#: What each kind says, and the class that says it; of answers and of named cells too.
CONTENTS = [
    (Selection, "selection", {"selected": ["sex", "age"]}),
    (Selection, "selection", {"selected": ["age"], "branch": "pairs"}),
    (ColumnWeights, "weights", SAYS["weights"]),
    (Regression, "regression", SAYS["regression"]),
    (Regression, "regression", ANSWERS),
    (Histogram, "histogram", SAYS["histogram"]),
    (Histogram, "histogram", {**SAYS["histogram"], "cells": {
        **SAYS["histogram"]["cells"], "place": [3, 7], "q": [40, -2]}}),
]
AMOUNTS = st.floats(1e-30, 1e30)


@pytest.mark.parametrize(("cls", "kind", "says"), CONTENTS)
def test_what_is_written_is_read(cls, kind, says):
    """Reading a release and writing it again gives each field as it was, in every kind."""
    content = cls.read({"kind": kind, **says})

    assert cls.kind == kind
    assert says == content.write()
    assert content == cls.read({"kind": kind, **content.write()})


@pytest.mark.parametrize(("cls", "kind", "says"), CONTENTS)
def test_what_lacks_a_field_is_refused(cls, kind, says):
    """A release without one of its fields, or with another value for it, is refused in words."""
    for name in says.keys() - {"branch"}:
        for change in ({}, {name: None}, {name: {}}, {name: 3}, {name: [[3.5]]}):
            body = {key: value for key, value in says.items() if key != name} | change
            with pytest.raises(SchemaError, match="release"):
                cls.read({"kind": kind, **body})


@given(st.integers(-1074, 900), st.lists(st.integers(-LARGEST, LARGEST)))
def test_numbers_on_a_grid_are_what_leaves(exponent, q):
    """Numbers on a grid are read as they were written, and each is a double."""
    numbers = GridNumbers(exponent, tuple(q))

    assert numbers == convert(to_builtins(numbers), GridNumbers)
    assert [math.ldexp(number, exponent) for number in q] == numbers.doubles


@given(st.sampled_from(["gaussian", "gamma-norm"]), AMOUNTS, st.integers(1, 6))
def test_noise_is_read_as_it_was_written(law, each, digits):
    """The law and the amount of noise are read as they were written."""
    noise = NoiseLaw(law, figure(each, digits))

    assert noise == convert(to_builtins(noise), NoiseLaw)


@given(AMOUNTS, st.integers(1, 8), st.sampled_from("fge"))
def test_a_figure_is_written_once(value, digits, form):
    """A figure is within half of its last digit of the value, and is written as itself again."""
    text = figure(value, digits, form)

    assert abs(number(text) - Fraction(value)) <= Fraction(value) * Fraction(501, 10**(digits + 2))
    assert text == figure(number(text), digits, form)


@given(st.fractions(min_value=-10**6, max_value=10**6, max_denominator=10**9),
       st.sampled_from("fg"))
def test_a_fraction_is_written_exactly(value, form):
    """What is written exactly is read exactly."""
    assert value == Fraction(exactly(value, form))


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300))
def test_a_double_is_written_exactly(value):
    """The text of a double, as an answer leaves, is read as that double."""
    assert value == float(number(repr(value)))


@pytest.mark.parametrize("text", ["", "1/3", "1e9999", "NaN", " 1", "1" * 41, 3, None, "1_0"])
def test_what_is_no_number_of_ours_is_refused(text):
    """A text that privsieve does not write is no number."""
    with pytest.raises(ValueError, match="privsieve writes"):
        number(text)


def test_a_release_has_the_fields_of_its_kind():
    """The samples of these tests have the fields that `fit` writes, and are read as theirs."""
    for cls, kind, says in CONTENTS:
        if kind in SAYS and says is SAYS[kind]:
            assert says == cls.read(released(kind)[0]).write()
