"""Law: experiments.  What is called honest saw no test label; a run that was cut off goes on."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))

import bars
import least_squares
import objective_and_output
import protocol
import rule_sieve_needs as needs
import synthetic_rows
from methods import OURS, PRINTED
from privsieve.core.items import Items
from privsieve.local.solver import minimise
from privsieve.privacy.noise import replay


@pytest.mark.parametrize("name", [name for name in (*PRINTED, *OURS)
                                  if name not in ("ours: few", "ours: most")])
def test_honest_columns_see_no_test_label(name):
    """A method chooses the same columns whatever the labels are of rows that are not marked."""
    rng = np.random.default_rng(9)
    choose = {**PRINTED, **OURS}[name]
    for _ in range(20):
        y = rng.integers(0, 2, 80)
        held = rng.random((80, 9)) < np.where(y[:, None] > 0, 0.5, rng.random(9))
        items, marked = Items.dense(held), rng.random(80) < 0.8
        other = np.where(marked, y, 1 - y)

        assert list(choose(items, y, 3, marked)) == list(choose(items, other, 3, marked))


def test_a_run_that_was_cut_off_goes_on(tmp_path, monkeypatch):
    """Whole lines are remembered, a broken last line is computed again, nothing twice."""
    monkeypatch.setattr(protocol, "CACHE", tmp_path)
    first = protocol.Memory("cells")
    first.cell(("a", 5), lambda: [0.5])
    first.cell(("b", 5), lambda: 0.25)
    text = first.path.read_text("utf-8")
    first.path.write_text(text[:-3], "utf-8")
    second = protocol.Memory("cells")

    assert [0.5] == second.cell(("a", 5), lambda: pytest.fail("it was there"))
    assert 0.75 == second.cell(("b", 5), lambda: 0.75)
    assert {"a 5": [0.5], "b 5": 0.75} == protocol.Memory("cells").known


def test_errors_and_classifiers():
    """The corrected error is sqrt((1/J + 1/4) variance); a separable table has AUC 1."""
    assert np.sqrt(1 / 4 + 1 / 4) == pytest.approx(protocol.corrected_error([0.0, 0.0, 2.0, 0.0]))
    y = np.arange(40) % 2
    rows = sparse.csr_matrix(np.column_stack([y, 1 - y]).astype(float))

    assert [1.0, 0.5] == [protocol.svm(rows[:, columns], y, rows[:, columns], y)
                          for columns in ([0, 1], [])]
    assert [list(range(40))] * 2 == [
        sorted(np.concatenate([test for _, test in protocol.splits(y, repeat)]).tolist())
        for repeat in range(2)]


def test_bars_are_as_high_as_their_values():
    """A bar of height h takes (h - .4) / .6 of the panel; what is below is not drawn upwards."""
    picture = bars.bars([bars.Group("toy", "true", [1.0, 0.7, 0.3])], ["1", "2", "3"])

    assert [f'height="{h}.0" fill' in picture for h in (160, 80, 0)] == [True] * 3


def test_needs_are_read_off_a_rising_envelope():
    """Between two points the logarithm is straight; what is never reached is infinite."""
    grid = [1.0, 4.0, 16.0]

    assert [1.0, 2.0, 8.0, np.inf] == pytest.approx([
        needs.need(grid, np.array(quality), 0.5) for quality in (
            [0.6, 0.1, 0.9], [0.0, 1.0, 0.0], [0.25, 0.0, 0.75], [0.1, 0.2, 0.3])])


@pytest.mark.parametrize("case", [c for c in needs.CASES if "soybean" not in c.name],
                         ids=lambda case: case.name)
def test_a_table_of_an_experiment_has_what_was_planted(case):
    """Every case draws a table of its size, whose best choice is worth 1, and guesses less."""
    drawn = case.make(np.random.default_rng(1))
    columns = range(drawn.X.shape[1])
    best = [j for j in columns if drawn.quality((j,)) > 0]

    assert case.n == len(drawn.X) == len(drawn.y)
    assert 1 == drawn.quality(tuple(best))
    assert drawn.quality(tuple(j for j in columns if j not in best)) == 0


@pytest.mark.parametrize("r", least_squares.SMOOTH)
def test_the_rate_of_theorem_3_is_found_and_its_bound_holds(r):
    """With the printed noise the error falls by the claimed power of m, within 0.03; ours faster.

    The bound is never passed; ours is below the printed noise everywhere.
    """
    rows = least_squares.rule_rows(least_squares.World(r), [1000, 2000, 4000, 8000, 16_000], 2)

    assert least_squares.CLAIMED[r] == pytest.approx(least_squares.slope(rows, 4), abs=0.03)
    assert least_squares.slope(rows, 5) < least_squares.slope(rows, 4) - 0.03
    for _, _, _, plain, printed, ours, bound in rows:
        assert plain < ours < printed < bound


def test_the_better_lambda_has_a_twentieth_of_the_error():
    """At 10,000 records: below 0.01 with epsilon 1, where the rule of Theorem 3 gives 0.19."""
    rule, _, better = (error for *_, error in least_squares.both_rules(10_000, 1.0, 2))

    assert 0.18 < rule < 0.2
    assert better < 0.01


def test_a_world_is_what_it_says():
    """The kernel is at most 1, the target is bounded, and many records find the truth."""
    world = least_squares.World(0.5)
    x = np.linspace(0, 1, 500)
    e = np.sqrt(2) * np.cos(np.pi * np.outer(x, np.arange(1, least_squares.FEATURES + 1)))
    table = world.moments(30_000, 0)

    assert (e**2 @ world.eigenvalues).max() <= 1 + 1e-12
    assert np.abs(e @ world.truth).max() <= 0.5 + 1e-12
    assert world.excess(table.fit(1e-5, world.eigenvalues)) < 0.002
    assert abs(table.error(world.truth) - world.floor) < 0.004


def test_the_gap_of_theorem_1_holds():
    """Error on all x less error on the table is above nothing and below the theorem's bound."""
    measured, bound = least_squares.gap(1000, 0.1, 10)

    assert 0 < measured < bound


def test_both_noises_are_of_the_same_rows():
    """Against corners a row is its distance from the middle, with the class as its sign.

    At a huge epsilon every arm then releases the minimiser of these rows.
    """
    rng = np.random.default_rng(2)
    X, y = rng.random((400, 3)), rng.integers(0, 2, 400)
    table = objective_and_output.Table("toy", X, y, 1)
    Z = objective_and_output.vectors(table, np.arange(400), "corners", 1)
    true = (2 * X - 1) * (2 * y - 1)[:, None]
    true /= np.maximum(0.05 * 3**0.5, np.linalg.norm(true, axis=1, keepdims=True))
    released = [release(replay(1)) for release in
                objective_and_output.arms(Z, "0.1", "1000").values()]

    assert np.sort(Z.ravel()) == pytest.approx(np.sort(true.ravel()), abs=1e-3)
    assert 1e-3 > np.abs(released - minimise(Z, 0.1).w).max() > 0


def test_synthetic_rows_are_judged_by_margins_and_by_what_is_learnt():
    """Equal rows are at distance 0 and learn all; turned ones are far and learn the contrary."""
    rng = np.random.default_rng(1)
    true = np.column_stack([rng.integers(0, 3, 400), np.arange(400) % 2, np.arange(400) % 2])
    same = synthetic_rows.Made(true, [0, 1, 2])
    turned = synthetic_rows.Made(true[:, [0, 1, 2]] * [1, 1, -1] + [0, 0, 1], [0, 1, 2])
    apart = synthetic_rows.Made(np.zeros((9, 2), int), [1, 2])

    assert [0.0, 1.0] == [synthetic_rows.far(same, true, [3, 2, 2], 2),
                          synthetic_rows.learnt(same, true, [3, 2, 2])]
    assert 0.0 == synthetic_rows.learnt(turned, true, [3, 2, 2])
    assert [0.5, 0.5] == [synthetic_rows.far(apart, true, [3, 2, 2], 1),
                          synthetic_rows.learnt(apart, true, [3, 2, 2])]


def test_the_peer_gets_all_that_its_epsilon_allows():
    """The rho of MST is that of the tight conversion, above the simple one."""
    from fractions import Fraction

    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    from privsieve.privacy.approximate import concentrated

    rho = synthetic_rows.marginal_peer.rho_of(1.0, 1e-9)
    orders = 1 + np.exp(np.linspace(np.log(1e-2), np.log(1e4), 4000))
    found = rdp.compute_epsilon(orders, rho * orders, 1e-9)[0]

    assert 1.0 == pytest.approx(found, abs=1e-3)
    assert concentrated(Fraction(1), Fraction(1, 10**9)) < rho
