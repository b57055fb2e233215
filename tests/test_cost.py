"""Laws of amounts: what a person writes is what is charged, to the last unit."""

from fractions import Fraction

import pytest

from privsieve.errors import ParameterError
from privsieve.public.canonical import decimal, exact
from privsieve.public.plan import Cost


def test_ten_tenths_are_one():
    """Ten charges of 0.1 are exactly 1, and the units of a float are those of its text."""
    tenth = Cost.of(0.1)

    assert Cost.of("1").units == sum(tenth.units for _ in range(10))
    assert Cost.of("0.1") == tenth


@pytest.mark.parametrize(("text", "units"), [
    ("1", 10**9), ("0.000000001", 1), ("1e-9", 1), ("+2.50", 2_500_000_000), (" 3 ", 3 * 10**9),
    (Fraction(1, 8), 125_000_000), (7, 7 * 10**9),
])
def test_amounts_are_exact(text, units):
    """An amount becomes its integer units without rounding."""
    assert units == Cost.of(text).units


@pytest.mark.parametrize("bad", [
    0, "0", "0.0", -1, "-0.5", float("nan"), float("inf"), "nan", "inf", "1e30", "0.1234567891",
    "1e-10", Fraction(1, 3), True, False, "\u0661", "\uff11",
    "1_000", "0x1", "", " ", None, b"1", [1],
    "1,5", "1e999", "1/3", 1001, "9" * 400,
])
def test_bad_amounts_are_refused(bad):
    """What is not a positive decimal number of at most nine decimals is refused in words."""
    with pytest.raises(ParameterError, match="epsilon is "):
        Cost.of(bad, allow_weak=True)


@pytest.mark.parametrize(("text", "units"), [
    ("1e-6", 10**12), (0, 0), ("0", 0), (1e-9, 10**9), ("0.000000000000000001", 1),
    (Fraction(1, 2), 5 * 10**17),
])
def test_deltas_are_exact(text, units):
    """A delta becomes its integer units of 1e-18 without rounding, and its text says them."""
    cost = Cost.of(1, delta=text)

    assert units == cost.delta_units
    assert cost.delta == exact(cost.delta_text, "delta")
    assert cost.account == ("approximate" if units else "pure")


@pytest.mark.parametrize("bad", [
    -1, "-1e-9", 1, "1.0", 2, "1e-19", Fraction(1, 3), float("nan"), float("inf"), True, "", None,
    "1/2",
])
def test_bad_deltas_are_refused(bad):
    """What is not a decimal number from 0 to below 1, of at most eighteen decimals, is refused."""
    with pytest.raises(ParameterError, match="delta is "):
        Cost.of(1, delta=bad)


def test_a_delta_of_one_in_n_is_refused():
    """A delta that would let one of n units out whole is refused where n is public."""
    cost = Cost.of(1, delta="0.001")
    cost.check_units(999)
    Cost.of(1).check_units(10**9)

    with pytest.raises(ParameterError, match="1000 units"):
        cost.check_units(1000)


def test_a_weak_promise_is_asked_for():
    """Above 10 an epsilon needs `allow_weak`, and the text says so."""
    with pytest.raises(ParameterError, match="allow_weak"):
        Cost.of("10.1")

    assert Fraction(101, 10) == Cost.of("10.1", allow_weak=True).epsilon


def test_a_charge_rounds_up():
    """A cost between two units is charged as the larger."""
    assert Cost(Fraction(1, 3)).units == 333_333_334


@pytest.mark.parametrize("units", [0, 1, 10**9, 10**9 + 1, 999_999_999, 12_340_000_000])
def test_the_text_says_the_units(units):
    """Decimal text and units are two forms of one number."""
    assert units == exact(decimal(units), "epsilon") * 10**9
