"""Laws of the account: one change is protected, and no charge is below the true loss."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import privsieve as ps
from privsieve.errors import BudgetExceeded, ParameterError
from privsieve.fit import ConvertedWarning
from privsieve.ledger import account as accounts
from privsieve.ledger.account import Account, Change, Charge, steps
from privsieve.ledger.ledger import Ledger
from privsieve.public.canonical import RHO_UNITS, TOP
from privsieve.public.plan import UNIT, Cost

CHANGES = [Change(unit, neighbours) for unit in ("row", "person")
           for neighbours in ("replace-one", "add-remove")]


def terms(change):
    """What a plan that protects this change says of it."""
    return {"claim": {"unit": UNIT[change.unit], "neighbours": change.neighbours}}


# Tables: a row is (id or None, value); a table is a sorted tuple of rows.
VALUES = (0, 1)


def tables(rows, ids, most):
    """All tables of at most `rows` rows, where a person has a limited number."""
    cells = [(name, value) for name in (*ids, None) for value in VALUES]
    tables_seen = set()
    for count in range(rows + 1):
        for table in itertools.combinations_with_replacement(cells, count):
            if all(sum(row[0] == name for row in table) <= most for name in ids):
                tables_seen.add(tuple(sorted(table, key=str)))
    return tables_seen


def without(table, name):
    """The rows that are not of this person; of nobody, all."""
    return tuple(row for row in table if name is None or row[0] != name)


def related(change, first, other, ids):
    """Whether two tables differ by one change, as the page of the proof says it."""
    a, b = list(first), list(other)
    for row in first:
        if row in b:
            a.remove(row)
            b.remove(row)
    sizes = len(a), len(b)
    if change.unit == "row":
        return sizes == (1, 1) if change.neighbours == "replace-one" else sorted(sizes) == [0, 1]
    # A row without an id weighs nothing where persons are protected.
    first, other = (tuple(row for row in table if row[0]) for table in (first, other))
    present = [{row[0] for row in table} for table in (first, other)]
    if change.neighbours == "add-remove":
        return any(without(first, name) == without(other, name) and (
            (name in present[0]) != (name in present[1])) for name in ids)
    return any(without(first, p) == without(other, q) and (
        p == q or ((p not in present[1] or p is None) and (q not in present[0] or q is None)))
        for p in (*ids, None) for q in (*ids, None))


def weightless(change, table):
    """A table as a plan sees it."""
    return table if change.unit == "row" else tuple(row for row in table if row[0])


def distances(change, nodes, ids):
    """Steps between any two tables: breadth first from each."""
    seen = sorted({weightless(change, node) for node in nodes}, key=str)
    place = {node: at for at, node in enumerate(seen)}
    near = [[j for j, other in enumerate(seen) if related(change, node, other, ids)]
            for node in seen]
    far = np.full((len(seen), len(seen)), np.inf)
    for start in range(len(seen)):
        far[start, start], edge, count = 0, [start], 0
        while edge:
            count += 1
            edge = [j for at in edge for j in near[at] if math.isinf(far[start, j])
                    and not far.__setitem__((start, j), count)]
    return lambda first, other: far[place[weightless(change, first)],
                                    place[weightless(change, other)]]


@pytest.mark.parametrize("most", [1, 2])
def test_the_factors_are_distances_of_tables(most):
    """A factor is the longest shortest path of a plan's changes between neighbours; attained."""
    ids = ("A", "B")
    inner = tables(4, ids, most)
    # A person has more rows on the way than at its ends: paths may go through those tables.
    wide = inner if most == 2 else tables(4, ids, 2)
    for plan in CHANGES:
        far = distances(plan, wide, ids)
        for population in CHANGES:
            worst = max(far(table, other) for table in inner for other in inner
                        if len(table) + len(other) <= 7 and related(population, table, other, ids)
                        and (population.unit == "row" or _of_persons(table, other)))
            expected = steps(population, most, plan)
            if isinstance(expected, str):
                assert math.isinf(worst), (population, plan)
            else:
                assert worst <= expected, (population, plan)
                if most == 2:
                    assert expected == worst, (population, plan)


def _of_persons(person, other):
    """Whether all that differs has an id: in a population of persons every row is somebody's."""
    return all(row[0] for row in (*person, *other))


def test_without_the_number_of_rows_there_is_no_factor():
    """The number of rows of a person has to be declared before rows are converted."""
    person = Change("person", "replace-one")

    assert "rows_per_person" in steps(person, None, Change("row", "add-remove"))
    assert 10 == steps(person, 5, Change("row", "add-remove"))
    for population in CHANGES[1:]:
        assert "public number of rows" in steps(population, 5, Change("row", "replace-one"))


@pytest.fixture
def ledger(tmp_path):
    """A place for a ledger."""
    return Ledger(str(tmp_path / "b.db"), population="clinic")


def test_releases_of_rows_and_persons_add_up(ledger):
    """A row, a person and add-remove release at epsilon 1 cost a row account 1, 2 and 2."""
    ledger.grant("4.5")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.random(600), "b": rng.random(600),
                          "y": rng.integers(0, 2, 600).astype(str),
                          "id": (np.arange(600) // 4).astype(str)})
    columns = [ps.Number("a", 0, 1), ps.Number("b", 0, 1)]
    target = ps.Label("y", ["0", "1"])

    def fit(X, **options):
        domain = ps.Domain(columns, target=target, **options)
        return ps.RuleSieve(1, epsilon=1, domain=domain, ledger=ledger, class_prior=None).fit(X)

    fit(table.drop(columns="id"))
    with pytest.warns(ConvertedWarning, match="charged 2 times.*one person.*one row"):
        model = fit(table, person="id", rows_per_person=4, persons=150)
    kept = model.release_.certificate["ledger"]

    assert (Fraction(3), "2", "2") == (ledger.spent(), kept["charged"]["factor"],
                                       kept["charged"]["epsilon"])
    assert "1" == model.release_.certificate["claim"]["epsilon"]
    assert ps.verify(model.release_.certificate, model.release_.body, ledger=ledger).valid
    with pytest.warns(ConvertedWarning), pytest.raises(BudgetExceeded, match="1, 2 times"):
        fit(table.drop(columns="id"), neighbours="add-remove", rows=600)
    assert Fraction(3) == ledger.spent()
    assert () == ledger.verify_chain().reasons


@pytest.mark.parametrize(("facts", "plan", "message"), [
    ({"unit": "person"}, Change("row", "add-remove"), "name the person column"),
    ({"unit": "person", "rows_per_person": 3}, Change("row", "replace-one"),
     "name the person column of the table, or declare add-remove"),
    ({"unit": "row", "neighbours": "add-remove"}, Change("row", "replace-one"),
     "declare add-remove with a round number of rows"),
])
def test_what_cannot_be_converted_is_refused_with_the_way_out(ledger, facts, plan, message):
    """A plan of another change that no factor covers is refused, and nothing is charged."""
    ledger.grant(1, **facts)
    for act in (ledger.conversion, lambda claim: ledger.reserve(Cost.of("0.1"), claim)):
        with pytest.raises(BudgetExceeded) as caught:
            act(terms(plan))

        assert message in str(caught.value)
        assert str(caught.value).startswith("clinic: the account protects")
    assert (Fraction(0), 1) == (ledger.spent(), len(ledger.entries()))


def test_the_first_release_says_what_is_protected(ledger):
    """A population that was granted nothing else protects what its first release does."""
    ledger.grant(3)
    assert None is ledger.account().protects
    with pytest.raises(BudgetExceeded):
        ledger.reserve(Cost.of(4), terms(CHANGES[2]))
    assert None is ledger.account().protects
    ledger.reserve(Cost.of(1), terms(CHANGES[3]))
    ledger.reserve(Cost.of(1), terms(CHANGES[2]))

    assert CHANGES[3] == ledger.account().protects
    assert Fraction(1) == ledger.left()
    assert ledger.verify_chain().valid


def test_a_charge_that_names_no_change_is_not_mixed(ledger):
    """Who does not say what is protected cannot charge an account that does, nor the other way."""
    ledger.grant(3)
    ledger.reserve(Cost.of(1), {})
    with pytest.raises(BudgetExceeded, match="must all declare a privacy unit"):
        ledger.reserve(Cost.of(1), terms(CHANGES[0]))
    other = Ledger(ledger.path, population="town")
    other.grant(3, unit="row")
    with pytest.raises(BudgetExceeded, match="must all declare a privacy unit"):
        other.reserve(Cost.of(1), {"claim": {"unit": "one household", "neighbours": "none"}})

    assert (Fraction(2), Fraction(3)) == (ledger.left(), other.left())


@pytest.mark.parametrize(("facts", "message"), [
    ({"neighbours": "add-remove"}, "set unit"), ({"rows_per_person": 3}, "set unit"),
    ({"unit": "household"}, "write row or person"),
    ({"unit": "row", "rows_per_person": 3}, "leave it out"),
    ({"unit": "person", "rows_per_person": 0}, "whole number"),
    ({"unit": "person", "rows_per_person": True}, "whole number"),
    ({"unit": "person", "rows_per_person": 2**41}, "whole number"),
    ({"unit": "person", "neighbours": "both"}, "replace-one or add-remove"),
])
def test_facts_of_a_grant_are_checked(ledger, tmp_path, facts, message):
    """A grant that contradicts itself is refused in a sentence, and makes no file."""
    with pytest.raises(ParameterError, match=message):
        ledger.grant(1, **facts)

    assert [] == list(tmp_path.iterdir())


# What a delta buys.

def test_pure_releases_of_a_granted_delta_add_up_in_squares(ledger):
    """Many small releases without a delta are admitted beyond the plain sum of their epsilons."""
    ledger.grant(1, delta="1e-6")
    count = 0
    while ledger.left() >= Fraction(1, 50):
        ledger.reserve(Cost.of("0.02"), terms(CHANGES[0]))
        count += 1

    assert 100 < count < 125  # a hundred, as docs/ledger.md says
    assert ledger.spent() <= 1 < Fraction(count, 50)
    assert () == ledger.verify_chain().reasons


def charges():
    """Sequences of charges, with and without a delta and a rho."""
    rng = np.random.default_rng(11)
    for _ in range(60):
        epsilon, delta = int(rng.integers(1, 3 * 10**9)), int(rng.integers(0, 2)) * 10**12
        yield epsilon, delta, [
            Charge(int(rng.integers(1, 4 * 10**8)), int(rng.integers(0, 2)) * int(
                rng.integers(0, 4 * 10**11)), int(rng.integers(1, 4 * 10**9))
                if rng.random() < .8 else TOP) for _ in range(8)]


def test_what_is_left_can_be_spent_and_a_unit_more_cannot():
    """`left` is the largest pure epsilon that the account still admits, after any charges."""
    tried = 0
    for epsilon, delta, wanted in charges():
        account = accounts.granted(epsilon, delta)
        for charge in wanted:
            account = account.plus(charge) or account
            pure = [accounts.charge(units, 0, -(-units**2 // (2 * 10**6)), 1)
                    for units in (account.left, account.left + 1)]
            tried += account.left > 0

            assert account.left == 0 or account.plus(pure[0]) is not None
            assert account.plus(pure[1]) is None
    assert tried > 100


def test_the_first_release_may_take_the_whole_delta(ledger):
    """One release at all that was granted is admitted; from then on there are plain sums alone."""
    ledger.grant(1, delta="1e-6")
    ledger.reserve(Cost(Fraction(1), Fraction(1, 10**6), rho=Fraction(1, 20)), terms(CHANGES[0]))

    assert (Fraction(0), Fraction(0)) == (ledger.left(), ledger.delta_left())
    assert (10**12, 0) == (ledger.account().delta_share, ledger.account().rho_limit)
    assert ledger.verify_chain().valid


def gaussian(epsilon, delta, rho):
    """Many Gaussian releases of this rho through an account: how many, and their sum."""
    account, count = accounts.granted(int(epsilon * 10**9), int(delta * 10**18)), 0
    cost = Charge(3 * 10**8, 10**10, int(rho * RHO_UNITS))
    while (after := account.plus(cost)) is not None:
        account, count = after, count + 1
    return account, count


@pytest.mark.parametrize(("epsilon", "rho"), [(1, "0.0004"), (3, "0.002"), (0.3, "0.00002")])
def test_many_gaussians_cost_what_they_cost(epsilon, rho):
    """The account's total is never below the truth of dp-accounting, and within a quarter of it."""
    dp_accounting = pytest.importorskip("dp_accounting")
    from dp_accounting import pld, rdp

    account, count = gaussian(epsilon, 1e-6, Fraction(rho))
    event = dp_accounting.SelfComposedDpEvent(
        dp_accounting.GaussianDpEvent(math.sqrt(1 / (2 * float(Fraction(rho))))), count)
    truth = pld.PLDAccountant(value_discretization_interval=1e-3).compose(event).get_epsilon(1e-6)
    renyi = rdp.RdpAccountant().compose(event).get_epsilon(5e-7)

    assert count > 10
    assert truth <= account.together / 1e9 <= epsilon
    assert account.together / 1e9 == pytest.approx(renyi, rel=.02)
    assert account.together / 1e9 <= 1.25 * truth


def log_delta(t, rho, epsilon):
    """Of the conversion of Canonne, Kamath and Steinke at order 1 + t, in balls."""
    from flint import arb, fmpq

    t, rho, epsilon = (arb(fmpq(v.numerator, v.denominator)) for v in (t, rho, epsilon))
    return (t * ((1 + t) * rho - epsilon) + (1 + t) * (t / (1 + t)).log() - t.log())


@pytest.mark.parametrize("epsilon", ["1e-6", "0.01", "0.5", "1", "3", "40", "1000"])
@pytest.mark.parametrize("delta", ["1e-18", "1e-9", "1e-6", "0.01", "0.9"])
def test_a_limit_of_rho_implies_its_epsilon(epsilon, delta):
    """Some order shows in balls that the limit implies (epsilon, delta); none does for more."""
    from flint import arb, ctx, fmpq

    from privsieve.noise.approximate import concentrated

    wanted, allowed = Fraction(Decimal(epsilon)), Fraction(Decimal(delta))
    limit = accounts.rho_limit(int(wanted * 10**9), int(allowed * 10**18))
    ctx.prec, before = 300, ctx.prec
    try:
        target = arb(fmpq(allowed.numerator, allowed.denominator)).log()
        # An order near the best, found in floats: any order is a proof.
        best = min((float(log_delta(Fraction(2) ** e, Fraction(max(limit, 1), RHO_UNITS), wanted)
                          .mid()), e) for e in range(-40, 60))[1]
        orders = [Fraction(2.0 ** (float(best) + step / 200)) for step in range(-400, 401)]
        orders_below = [t for t in orders
                        if log_delta(t, limit * Fraction(99999, 10**17), wanted) <= target]
        orders_above = [t for t in orders
                        if log_delta(t, Fraction(limit + 1, RHO_UNITS) * Fraction(101, 100), wanted)
                        <= target]
    finally:
        ctx.prec = before

    assert limit == 0 or orders_below
    assert [] == orders_above
    # What the plans use is close, so that a grant of two halves counts as half and half.
    assert limit / RHO_UNITS >= .99 * float(concentrated(wanted, allowed)) - 1e-11


@pytest.mark.parametrize("factor", [2, 3, 4, 17])
@pytest.mark.parametrize(("units", "delta"), [(1, 10**12), (10**9, 10**12), (2 * 10**9, 1)])
def test_the_delta_of_a_group_is_rounded_up(factor, units, delta):
    """It is the sum of e^(i epsilon) delta, never below it and hardly above."""
    true = sum(Fraction(Decimal(i * units).scaleb(-9).exp()) for i in range(factor)) * delta
    charge = accounts.charge(units, delta, None, factor)

    assert min(true, TOP) <= charge.delta <= true + 1
    assert (factor * units, TOP) == (charge.units, charge.rho)


def test_amounts_saturate_and_never_hold_again():
    """What passes the largest amount is as much as it, and no limit covers it."""
    huge = accounts.charge(10**12, 10**17, 5 * 10**17, 2**41)

    assert Charge(TOP, TOP, TOP) == huge
    assert None is accounts.granted(10**12, 10**17).plus(huge)
    assert Account("pure", 5).plus(Charge(1, 0, TOP)) is not None


def test_a_rho_of_a_plan_is_charged(ledger):
    """A release with a delta is charged the rho of its theorem, k^2 times in a group of k."""
    ledger.grant(2, delta="1e-6", unit="row")
    entry = ledger.reserve(Cost(Fraction(1, 2), Fraction(1, 10**8), rho=Fraction(1, 1000)),
                           terms(Change("row", "add-remove")))

    assert ("0.001", "0.004", "1") == (entry.body["rho"], entry.body["charged"]["rho"],
                                       entry.body["charged"]["epsilon"])
    assert 4 * 10**9 == ledger.account().rho_spent
    with pytest.raises(ParameterError, match="rho"):
        ledger.reserve(Cost(Fraction(1), Fraction(1, 10**8), rho=Fraction(-1)), terms(CHANGES[0]))
    with pytest.raises(BudgetExceeded, match=r"; in rho, the cost is .* and 0\.0\d* is left"):
        ledger.reserve(Cost(Fraction(2), Fraction(1, 10**8), rho=Fraction(1)), terms(CHANGES[0]))
    assert ledger.verify_chain().valid
