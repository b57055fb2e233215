"""ObjectiveFWELL as a method: its plan, its rows between neighbours, its release, an attack."""

from __future__ import annotations

import math
import re
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import privsieve as ps
import tables
from privsieve.errors import ParameterError
from privsieve.fit import fit
from privsieve.local.constants import objective, r_max
from privsieve.local.solver import minimise
from privsieve.methods import plan
from privsieve.methods.objective_fwell import Perturbing, Problem, perturbed
from privsieve.noise.streams import replay
from privsieve.rows import open_source
from test_block_fwell import strong
from test_blocks import random_pair

BOX = ps.Domain.box(0, 1, columns=12)


def planned(domain=BOX, **options):
    """A plan of three columns."""
    return plan("objective-fwell", domain, **{"k": 3, "epsilon": 1, "rows": 3000, **options})


def released(X, y, seed=5, **options):
    """A release with a repeatable noise."""
    return fit(planned(rows=len(X), **options), open_source(X, y), noise=replay(seed))


def rows(made, batch, key=1):
    """The rows of the problem for a table."""
    return made.summarise.keywords["learning"].stacked(made.summarise([batch], key))


# the plan


@pytest.mark.parametrize("options", [
    {}, {"block": 3}, {"repeats": 4}, {"lam": "0.03"}, {"clip": "0.4"}], ids=str)
def test_each_option_finds_strong_columns(options):
    """Whatever the options, three strong columns of twelve are found at epsilon 10."""
    X, y = strong()

    assert ("x2", "x5", "x9") == released(X, y, epsilon=10, **options).selected


def test_what_a_plan_says():
    """The vectors, the noise, the longest weights and the second ridge follow from public numbers.

    A small lam with few vectors needs a second ridge, and the weights are then shorter.
    """
    made, small = planned(), planned(lam="0.0005", rows=60)
    by = Perturbing.of("0.1", 500, 12, Fraction(1))

    assert (500, 1, "0") == tuple(made.settings[n] for n in ("vectors", "repeats", "second_ridge"))
    assert f"{float(by.length):.4g}" == made.forecast["noise_length"]
    assert "1.178" == made.forecast["longest"]
    _, second = objective("0.0005", 10, Fraction(99, 100))
    assert float(small.settings["second_ridge"]) == pytest.approx(float(second), rel=1e-3) != 0
    repeated = planned(repeats=3).mechanism.keywords["by"]
    assert Problem.of("0.1", 500, 12, Fraction(99, 100), partitions=3) == repeated.problem
    longest = r_max(Fraction("0.0005") + second / 2)
    assert float(small.forecast["longest"]) == pytest.approx(float(longest), rel=1e-3)


def test_close_to_noise_is_said():
    """Where noise moves weights by more than they are long, the plan says so, and where it ends."""
    said = planned(rows=600).warning
    enough = re.search(r"epsilon of about (\S+), and", said)[1]

    assert "mostly noise" in said
    assert planned(rows=600, epsilon=float(enough) / 2, allow_weak=True).warning is not None
    assert planned(rows=600, epsilon=enough, allow_weak=True).warning is None


@pytest.mark.parametrize(("options", "said"), [
    ({"lam": "1e-7"}, "lam is 1e-7"), ({"repeats": 0}, "repeats is 0"),
    ({"rows": 11}, "at least 12"), ({"clip": "4"}, "clip is 4"), ({"k": "most"}, "positive"),
    ({"epsilon": "0.000000001", "rows": 12}, "need a ridge above"), ({"k": 13}, "domain has 12"),
], ids=str)
def test_what_is_wrong_is_refused(options, said):
    """A wrong public parameter is refused by the plan, in words."""
    with pytest.raises(ParameterError, match=said):
        planned(**options)


# its rows between neighbours


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize(("repeats", "reference"), [(1, False), (3, False), (1, True)])
def test_neighbours_differ_in_a_row_of_each_repeat(neighbours, repeats, reference):
    """Replaced, come or gone, in blocks or against public rows: one row of each repeat changes.

    Their number does not, and no row is longer than 1.
    """
    rng = np.random.default_rng(6)
    many, replaced, seen = 14, neighbours == "replace-one", set()
    for trial in range(50):
        letters = "".join(rng.choice(list("nmf"), rng.integers(1, 4)))
        (codes, label), second, one = random_pair(rng, letters, many, 2)
        domain = tables.domain(letters, neighbours=neighbours, rows=None if replaced else many)
        made = planned(domain, k=1, rows=many, block=3, repeats=repeats,
                       reference=public(rng, len(letters)) if reference else None)
        unit = np.arange(many) if replaced else rng.permutation(2**20)[:many]
        kept = np.arange(many) if replaced else np.delete(np.arange(many), one)
        changed = second if replaced else (codes[kept], label[kept])

        first = rows(made, tables.batch(codes, label, unit), trial)
        then = rows(made, tables.batch(*changed, unit[kept]), trial)
        gone = Counter(map(tuple, first.tolist())) - Counter(map(tuple, then.tolist()))

        assert first.shape == then.shape
        assert gone.total() <= repeats
        assert (np.linalg.norm(first, axis=1) <= 1).all()
        seen.add(gone.total())
    assert {0, repeats} <= seen


def public(rng, columns):
    """Public rows of both classes."""
    return rng.integers(0, 2, (5, columns)), np.array([0, 1, 0, 1, 1])


def test_a_person_decides_a_row_of_each_repeat():
    """However many rows a person has, one vector changes, and each vector reads its own persons."""
    rng = np.random.default_rng(7)
    domain = tables.domain("nn", person="id", rows_per_person=9, persons=12)
    made = planned(domain, k=1, rows=None, block=3)
    for trial in range(30):
        many = rng.integers(1, 9, 12)
        codes, label = rng.integers(0, 65536, (many.sum(), 2)), rng.integers(0, 2, many.sum())
        unit = np.repeat(np.arange(12) * 77 + 5, many)
        changed = codes.copy()
        changed[unit == 5] = rng.integers(0, 65536, (many[0], 2))
        first, then = (Counter(map(tuple, rows(made, tables.batch(x, label, unit), trial).tolist()))
                       for x in (codes, changed))

        assert (first - then).total() <= 1


# the release


@pytest.mark.parametrize("k", [2, 0.5, "positive"])
def test_a_release_says_what_left(k):
    """Integers of a public grid, the columns of the largest of them, and the noise in words."""
    X, y = strong()
    body = released(X, y, k=k).body
    made, weights = planned(k=k), body["values"]["q"]
    count = {2: 2, 0.5: 6}.get(k, sum(w > 0 for w in weights))

    assert ("weights", 12) == (body["kind"], len(weights))
    best = np.sort(np.argsort([-w for w in weights], kind="stable")[:count])
    assert [f"x{j}" for j in best] == body["selected"]
    assert {"law": "gamma-norm", "each": made.forecast["noise_each"]} == body["noise"]
    assert made.mechanism.keywords["by"].exponent == body["values"]["exponent"]


def test_weights_are_near_the_minimiser():
    """At a large epsilon the released weights are those of the problem without noise."""
    X, y = strong(60_000)
    made = planned(rows=60_000, epsilon=10)
    held = tables.batch(np.floor(X * 65535), y)
    true = minimise(rows(made, held), 0.1).w
    drawn = np.array(made.mechanism(made.summarise([held], 1), replay(3)))
    found = drawn * 2.0**made.mechanism.keywords["by"].exponent

    assert np.linalg.norm(found - true) <= 3 * float(made.forecast["noise_length"])
    assert np.linalg.norm(true) > 30 * np.linalg.norm(found - true)


def test_the_estimator_reads_the_release():
    """`weights_` are the released numbers, in the order of the columns that were fitted."""
    X, y = strong()
    made = ps.ObjectiveFWELL(3, epsilon=10, allow_weak=True,
                             domain=ps.Domain.box(0, 1, columns=12)).fit(X, y)
    values = made.release_.body["values"]

    assert [q * 2.0**values["exponent"] for q in values["q"]] == made.weights_.tolist()
    assert {2, 5, 9} == set(np.argsort(made.weights_)[-3:].tolist())
    assert "objective-fwell/1" == made.release_.certificate["claim"]["mechanism"]


@pytest.mark.parametrize(("lam", "partitions"), [("0.1", 1), ("0.01", 1), ("0.1", 3)])
def test_what_leaves_has_the_law_that_is_paid_for(lam, partitions):
    """The weights of two tables are as likely as the density of the proof says, and within epsilon.

    With and without a second ridge: the smaller lam has one.
    """
    ends = [np.tile([[-0.38789, sign * 0.9217], [0.6, 0.8]], (partitions, 1)) for sign in (1, -0.5)]
    by = Perturbing.of(lam, 2, 2, Fraction(1), partitions=partitions)
    noise, mu = replay(1), 2 * float(by.problem.ridge)

    def log_density(w, Z):
        """Of the minimiser at w: that of b there, and the change of volume."""
        s = 1 / (1 + np.exp(w @ Z.T))
        b = s @ Z / partitions - 2 * mu * w
        volume = np.einsum("ri,ij,ik->rjk", s * (1 - s), Z, Z) / partitions + 2 * mu * np.eye(2)
        return (np.linalg.slogdet(volume)[1]
                - float(by.problem.epsilon) / 2 * np.linalg.norm(b, axis=1))

    ratio = []
    for Z in ends:
        w = np.array([perturbed(Z, by, noise) for _ in range(2000)]) * 2.0**by.exponent
        ratio.append(log_density(w, ends[0]) - log_density(w, ends[1]))
        # A density: what is as likely as another is drawn as often, wherever b is.
        assert abs(radial(w, Z, by, mu, partitions) - 2) < 0.15
    assert max(np.abs(ratio[0]).max(), np.abs(ratio[1]).max()) < 1
    # What one table draws, weighed by the ratio, is what the other one draws.
    weighed = np.where(ratio[0] > 0, np.exp(-ratio[0]), 0)
    error = math.hypot(weighed.std(), (ratio[1] > 0).std()) / math.sqrt(2000)
    assert abs(weighed.mean() - (ratio[1] > 0).mean()) < 4 * error


def radial(w, Z, by, mu, partitions):
    """The mean length of the b that belongs to weights, over the scale of its law: 2 in a plane."""
    b = (1 / (1 + np.exp(w @ Z.T))) @ Z / partitions - 2 * mu * w
    return np.linalg.norm(b, axis=1).mean() * float(by.problem.epsilon) / 2
