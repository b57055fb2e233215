"""Law: experiments.  What is called honest saw no test label; a run that was cut off goes on."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))

import bars
import objective_and_output
import protocol
import rule_sieve_needs as needs
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
