"""Laws of the canonical form: one text per value, the same in every language."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privsieve.public.canonical import LARGEST, canonical, digest

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-LARGEST, LARGEST)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4),
    max_leaves=12,
)


def test_keys_are_sorted_by_utf16():
    """Keys have the order of their UTF-16 code units, as RFC 8785 shows (3.2.3)."""
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    expected = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]

    assert expected == list(json.loads(canonical(dict.fromkeys(keys))))


def test_strings_are_escaped_as_little_as_possible():
    """Only quotes, backslashes and control characters are escaped, in their shortest form."""
    text = "\u20ac$\x0f\nA'B\"\\\\\"/\x7f\u2028"
    expected = '"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/\x7f\u2028"'.encode()

    assert expected == canonical(text)


def test_digest_is_known():
    """A fixed document has a fixed digest, whatever order it was written in."""
    expected = "aaeb9dc17ceb57d5bbdf6bb5dc736cc79705221e982e1c7e591688d276c387ec"

    first = digest(canonical({"b": [1, None, True], "a": {"y": "ä", "x": -7}}))
    second = digest(canonical({"a": {"x": -7, "y": "ä"}, "b": (1, None, True)}))

    assert expected == first == second


@pytest.mark.parametrize("value", [0.5, float("nan"), 2**53, -(2**53), {1: 2}.keys(), {0.5}])
def test_other_values_are_refused(value):
    """A float, an integer beyond a double and a foreign type have no canonical form."""
    with pytest.raises(TypeError):
        canonical({"a": [value]})


@settings(derandomize=True, max_examples=200, deadline=None)
@given(VALUES)
def test_reading_and_writing_again_changes_nothing(value):
    """The canonical form reads back as the value, and is its own canonical form."""
    data = canonical(value)

    assert value == json.loads(data)
    assert data == canonical(json.loads(data))
