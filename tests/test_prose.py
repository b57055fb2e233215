"""Law: figures in the prose are those of the code, over all that is allowed."""

from __future__ import annotations

import ast
import re
from fractions import Fraction
from itertools import product
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

import privsieve as ps
from papers.kernel_ridge import printed_sensitivity
from privsieve.local.constants import g, objective, r_max
from privsieve.methods import blocks, branches, labels, noisy_top_k, plan, rule_sieve_numeric
from privsieve.methods.histogram.noisy_histogram import LARGEST_NAMED, LARGEST_WHOLE
from privsieve.methods.objective_fwell import SECOND, Perturbing
from privsieve.methods.ridge.answers import whitened
from privsieve.methods.ridge.dual import MOST_KEPT, MOST_RECORDS, Rounding
from privsieve.methods.ridge.sensitivity import (
    LARGEST_LAM,
    SMALLEST_LAM,
    expected_error,
    sensitivity,
    suggest_lambda,
)
from privsieve.public.columns import Label
from privsieve.public.domain import EXACT_ROWS
from privsieve.session import MOST_QUERIES
from privsieve.summaries.blocks import MOST_ROWS

DOCS = Path(__file__).parents[1] / "docs"
#: A grid over each allowed lam, its ends included, and over numbers of records.
LAMS = [Fraction(10) ** (i // 3) * (1, 2, 5)[i % 3] for i in range(-18, 19)]
RECORDS = [1, 2, 3, 10, 30, 100, 300, 1000, 2000, 4000, 8000, 12_000, 16_000, MOST_RECORDS]


def says(page, *sentences):
    """Whether a page says this, wherever its lines are broken."""
    text = re.sub(r"\s+", " ", (DOCS / f"{page}.md").read_text(encoding="utf-8"))
    return [sentence for sentence in sentences if sentence not in text] == []


def rounding(lam, m):
    """What rounding adds to the sensitivity, as a part of it: of one answer, and of 2,048."""
    limits, exact = Rounding.of(lam, m), sensitivity(lam, m)
    return (float(2 * (limits.solver + limits.evaluated) / exact),
            float(2 * whitened(limits, MOST_KEPT) / exact))


def test_what_rounding_adds_in_a_session():
    """least-squares: below 0.3 % and 7.2 % for lam up to 1, nearly reached; above it all."""
    assert (LAMS[0], LAMS[-1]) == (SMALLEST_LAM, LARGEST_LAM)
    assert says("least-squares", "With a `lam` of at most 1 that is less than 0.3 % of Δ for one "
                "answer and less than 7.2 % for a batch, at 16,384 rows and 2,048 kept points",
                "above 1, where little is learned, it can be more than Δ itself",
                "at most 8,192", "at most 16,384 rows", "Laplace, about 1.4 Δ / epsilon")
    assert (8192, 16_384, 2048) == (MOST_QUERIES, MOST_RECORDS, MOST_KEPT)

    rounding_errors = [rounding(lam, m) for lam, m in product(LAMS, RECORDS) if lam <= 1]
    assert .0029 < max(error for error, _ in rounding_errors) < .003
    assert .071 < max(many for _, many in rounding_errors) < .072
    assert min(rounding(LAMS[-1], MOST_RECORDS)) > 1


def test_the_printed_sensitivity_beside_ours():
    """papers/least-squares: 4 / (1 + 2 root lam) times ours; more where lam m is below 4."""
    assert says("papers/least-squares", "4 / (1 + 2√λ) times, which is 1.33 to 4 times. Where "
                "λm < 4, it is larger by another factor 2/√(λm)")
    for lam, m in product([lam for lam in LAMS if lam <= 1], [*RECORDS, 10**6, 10**9]):
        ratio = printed_sensitivity(m, float(lam)) / float(sensitivity(lam, m))
        bound = 4 / (1 + 2 * sqrt(lam)) * max(1, 2 / sqrt(lam * m))

        assert bound == pytest.approx(ratio, rel=1e-6)
        assert lam * m < 4 or 1.33 < ratio < 4


def test_how_far_one_vector_moves_weights():
    """released-weights: g lies between 1 and 2, and is 1.13 at 0.1."""
    assert says("released-weights", "where `g` is a number between 1 and 2 that follows from `lam` "
                "(1.13 at 0.1)", "length of the noise / length of the weights >= 2 · d / (N · "
                "epsilon), N = n / block")

    bounds = {lam: float(g(r_max(lam))) for lam in LAMS[::3]}
    assert "1.13" == f"{bounds[Fraction(1, 10)]:.2f}"
    assert 1 <= min(bounds.values()) < 1.001
    assert 1.999 < max(bounds.values()) <= 2
    # d g / (2 lam N epsilon) is at least 2 d / (N epsilon) times the longest weights
    assert all(bounds[lam] >= 4 * lam * r_max(lam) for lam in bounds)


def test_where_a_delta_shortens_weights():
    """released-weights: at a delta of 1e-6 and epsilon 1 it is used above 17 columns."""
    assert says("released-weights", "at a delta of 1e-6 and epsilon 1, above 17 columns")

    used = [bool(plan("output-fwell", ps.Domain.box(0, 1, columns=d, classes=(0, 1)), k=1,
                      epsilon=1, delta="1e-6", rows=5000).cost.delta) for d in range(1, 40)]
    assert [False] * 17 + [True] * 22 == used


def rows_of(page, heading):
    """The figures of a table of the page: (table, method) -> numbers, without their errors."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8").partition(heading)[2]
    rows, name = {}, ""
    for line in text.lstrip().partition("\n\n")[0].splitlines()[2:]:
        first, method, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        name = first or name
        rows[name, method] = [float(cell.split()[0]) for cell in cells]
    return rows


def test_what_is_said_of_the_measured_weights():
    """released-weights: its sentences hold in each cell of its tables."""
    assert says("released-weights", "finds all columns that matter at each epsilon",
                "finds at least as many as weights without public rows",
                "On the tables below the ratio is eleven to thirty times this bound")
    text = (DOCS / "released-weights.md").read_text(encoding="utf-8")
    rows = rows_of("released-weights", "Share of the columns that matter among the largest "
                   "weights, and for the methods that release names only:")
    noise = rows_of("released-weights", "Length of the noise over the length of the weights:")
    assert "20,000 rows and 20 columns" in text
    assert 8 == len(rows)
    assert 4 == len(noise)
    assert max(row[0] for row in noise.values()) > 1

    for (table, method), row in rows.items():
        if method == "RuleSieve":
            assert [1.0] * 4 == row
        elif "public" not in method:
            assert all(ours >= theirs for ours, theirs in zip(
                rows[table, "BlockFWELL"], row, strict=True)), (table, method)
    # At epsilon 0.1, where the printed figures have the most digits, and N = n / 6
    bound = 2 * 20 / (20_000 / 6 * .1)
    times = {key: row[0] / bound for key, row in noise.items() if "public" not in key[1]}
    assert all(11 < value < 30 for value in times.values())


def test_the_second_noise_of_an_objective():
    """released-weights: 4,000 times shorter than the first in a box, 13 at its worst lam."""
    assert says("released-weights", "at a hundredth of epsilon", "With `lam` from 0.001 to "
                "1, up to 10,000 vectors and 300 columns it is more than 4,000 times shorter than "
                "the first. With the smallest `lam` it is 13 times shorter for these sizes. With "
                "the largest `lam` and millions of vectors it is longer.",
                "at most `1 + 1 / (8 N lam)`; its logarithm is taken off epsilon",
                "If more than half of epsilon would be taken off, e' is half of it")
    assert Fraction(1, 100) == SECOND

    def times(lam, vectors, columns, epsilon):
        noise = Perturbing.of(lam, vectors, columns, Fraction(epsilon))
        problem = noise.problem
        first = 1 / (problem.epsilon * problem.rows * problem.ridge)
        return float(first * noise.fine.beta(noise.second))

    box = list(product((2, 30, 1000, 10_000), (1, 30, 300), ("0.01", "1", "10")))
    least = min(times(lam, *at) for lam in ("0.001", "0.01", "0.1", "1") for at in box)
    assert 4000 < least < 5000
    assert 13 == int(min(times("0.000001", *at) for at in box))
    assert times("1000000", 10**7, 300, "1") < 1


def test_what_the_volume_costs():
    """released-weights: log(1 + 1 / (8 N lam)) is taken off epsilon, half of it at most."""
    for lam, rows, epsilon in product(LAMS[::3], (1, 10, 1000), ("0.01", "1", "10")):
        epsilon_exact, (left, _) = Fraction(epsilon), objective(lam, rows, Fraction(epsilon))
        change = np.log1p(1 / (8 * rows * float(lam)))

        assert float(left) == pytest.approx(
            float(epsilon_exact) - min(change, float(epsilon_exact) / 2), rel=1e-6)



def test_constants_of_rule_sieve():
    """rule-sieve: shares, limits and counts are the code's."""
    assert says("rule-sieve", "if they show a class below 15 %",
                "a tenth of epsilon, and only where units times epsilon is at least 200",
                "(below 1/512 centred labels)",
                "persons of at most ten rows", "up to six classes all of them")

    assert (Fraction(3, 20), Fraction(1, 10), 200, Fraction(1, 512), 10, 6) == (
        labels.RARE, labels.AUTO_SHARE, labels.AUTO_FROM, labels.RAREST, EXACT_ROWS,
        branches.ALL_CUTS)


def test_constants_of_other_methods():
    """Pages of the other methods: shares, limits and grids are the code's."""
    assert says("other-selectors", "at most 50 unless you ask for more", "`None`: 200,000 units in "
                "all, between 2 and 50 times", "(256 at most)", "units of a block, from 3 to 64")
    assert (50, 200_000, 256, 3, 64) == (blocks.MOST_REPEATS, blocks.ENOUGH_UNITS, MOST_ROWS,
                                         blocks.SMALLEST_BLOCK, blocks.LARGEST_BLOCK)
    assert {2, 20, 50} == {blocks.sizes(units, 6, None, single=False)[1]
                           for units in (12, 1000, 10_000, 10**9)}
    assert says("other-selectors", "spends a twentieth of epsilon on noisy class counts")
    assert Fraction(1, 20) == noisy_top_k.COUNT_SHARE
    assert says("numeric-targets", "a tenth of epsilon finds a noisy median",
                "for 15 fixed ranks r", "4 MB a column")
    assert 10 == rule_sieve_numeric.MEDIAN_SHARE
    assert 4 * 2**20 == 16 * 65_536 * 4
    assert says("synthetic-rows", "eight columns with eight bins have sixteen million cells",
                "up to 2^20 cells is released whole", "up to 2^53 cells",
                "of scale `2 / epsilon`")
    assert (2**20, 2**53 - 1) == (LARGEST_WHOLE, LARGEST_NAMED)
    assert 16 == 8**8 // 10**6


@pytest.mark.parametrize(("neighbours", "persons", "times"), [
    ("replace-one", 1, 2), ("add-remove", 1, 1), ("replace-one", 3, 6), ("add-remove", 3, 3)])
def test_the_noise_of_a_table(neighbours, persons, times):
    """synthetic-rows: 2 / epsilon, 1 where rows come and go; with persons times their rows."""
    options = ({"rows": 300} if persons == 1 else
               {"person": "who", "persons": 300, "rows_per_person": persons})
    domain = ps.Domain(ps.Domain.box(0, 1, columns=3).columns, target=Label("y", [0, 1]),
                       neighbours=neighbours, **options)

    planned = plan("noisy-histogram", domain, columns=["x0"], epsilon="0.5")
    assert times / Fraction(1, 2) == planned.noise.amount


def test_epsilon_and_lam():
    """how-much-epsilon: the figures beside its examples."""
    assert says("how-much-epsilon", "# 0.0178: the lam to take at epsilon 1",
                "# 0.023: at most, from noise and ridge",
                "0.01 is an error of a twentieth of the range")

    assert .0178 == round(suggest_lambda(10_000, 1), 4)
    assert .023 == round(expected_error(10_000, 1, 0.0178), 3)
    assert 1 / 20 == sqrt(.01) / 2


def _docstrings():
    for path in sorted((DOCS.parent / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                yield path.name, node, ast.get_docstring(node) or ""


def test_no_name_of_a_function_stands_in_a_sentence():
    """A docstring names a function in backticks or quotes: a replacement of names left none."""
    docstrings = list(_docstrings())
    functions = {node.name for _, node, _ in docstrings if isinstance(node, ast.FunctionDef)
                 and "_" in node.name.strip("_")}
    names = {name.strip("_") for name in functions}
    damaged = [(path, node.lineno, word) for path, node, text in docstrings
               if not isinstance(node, ast.Module)
               for word in re.findall(
                   r"(?<= )[a-z]+_[a-z_]+(?=[ ,;.])",
                   re.sub(r"`[^`]*`|(?:>>>|\.\.\.) .*|\"[^\"\n]*\"|'[^'\n]*'|^[\w, ]+ : ", "", text,
                          flags=re.MULTILINE))
               if word in names]

    assert [] == damaged
