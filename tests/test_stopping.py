"""Random stopping follows its law, and never costs more than 40/21 of one try."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, log

import numpy as np
import pytest

from privsieve.errors import ParameterError
from privsieve.methods.tuning import CHOOSING
from privsieve.noise.race import geometric_race
from privsieve.noise.stopping import GAMMA, MOST, PRICE, below, best_of, chances, tries
from privsieve.noise.streams import Noise, discrete_laplace, replay
from whole_tunings import LOST, Whole, loss, needed, worst


def law(most=MOST):
    """P(K = 1), P(K = 2), ...."""
    weights = chances(most)
    return [weight / sum(weights) for weight in weights]


def best_law(base, most=MOST):
    """Exact probabilities of `best_of` over outputs with scores: (score, output) -> probability."""
    found = {}
    for pair, chance in base.items():
        under = sum(p for (score, _), p in base.items() if score < pair[0])
        equal = sum(p for (score, _), p in base.items() if score == pair[0])
        reached = sum(w * ((under + equal) ** i - under ** i)
                      for i, w in enumerate(law(most), 1))
        found[pair] = chance / equal * reached
    return found


def test_without_the_cut_the_law_is_the_known_one():
    """The logarithmic law at gamma = 0.05: its first values, its mean, the best of two outputs."""
    found = law(600)

    assert [.317118, .150631, .095400] == [round(p, 6) for p in found[:3]]
    assert 6.342356 == round(sum(i * p for i, p in enumerate(found, 1)), 6)
    assert .355409 == round(best_law({(1, "high"): .1, (0, "low"): .9}, 600)[1, "high"], 6)


def test_tries_follow_the_law():
    """20,000 draws agree with the law by a chi-square test at one in a million."""
    noise = replay(3)
    counts = np.bincount([tries(noise) for _ in range(20_000)], minlength=MOST + 1)[1:]
    expected = 20_000 * np.array(law())

    square = ((counts - expected) ** 2 / expected).sum()

    # The millionth quantile of chi-square with 23 degrees of freedom is 74.1.
    assert square < 74.1
    assert ((counts - 20_000 / MOST) ** 2 / (20_000 / MOST)).sum() > 74.1


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 256, 257])
def test_below_is_uniform(bound):
    """Every number below the bound comes, equally often; none beyond it."""
    noise = replay(bound)
    counts = np.bincount([below(bound, noise) for _ in range(300 * bound)])

    assert bound == len(counts)
    assert np.abs(counts - 300).max() < 5.5 * 300 ** .5


def test_below_nothing_is_refused():
    """There is no number below nought."""
    with pytest.raises(ParameterError, match="below 0"):
        below(0, replay(1))


def pairs_of_laws(rng):
    """Two laws over six outputs with three scores."""
    outputs = list(product(range(3), "ab"))
    first = rng.dirichlet(np.full(6, rng.choice([.3, 1, 5]))) * .999 + .001 / 6
    second = first * np.exp(rng.uniform(-1, 1, 6) * rng.choice([.1, .5, 1]))
    return (dict(zip(outputs, first, strict=True)),
            dict(zip(outputs, second / second.sum(), strict=True)))


def apart(one, other):
    """The largest log ratio of two laws: over sets it is attained at a single output."""
    return max(abs(log(one[key] / other[key])) for key in one)


def test_the_best_of_many_costs_its_price_at_most():
    """Over 2,000 pairs of laws that are epsilon apart, the best are PRICE epsilon apart at most."""
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(2000):
        first, second = pairs_of_laws(rng)
        worst = max(worst, apart(best_law(first), best_law(second)) / apart(first, second))

    assert worst <= PRICE
    assert worst > 1


def extremes(law_, most):
    """Laws as far as e^epsilon from one: each chance but one at an end, the last what is left."""
    for free, ends in product(law_, product((1 / most, most), repeat=len(law_) - 1)):
        others = [key for key in law_ if key != free]
        found = {key: law_[key] * end for key, end in zip(others, ends, strict=True)}
        rest = 1 - sum(found.values())
        if law_[free] / most <= rest <= law_[free] * most:
            yield {**found, free: rest}


@pytest.mark.parametrize("epsilon", [.01, .1, .5, 1, 2, 4])
def test_no_law_of_three_scores_costs_more(epsilon):
    """All laws of a grid over three scores, and all that lie as far off as epsilon allows."""
    grid = (1e-6, .01, .1, .25, 1 / (1 + exp(epsilon)), .5, .75, .9)
    worst = 0.0
    for high, middle in product(grid, grid):
        if high + middle < 1:
            base = {(2, "a"): high, (1, "b"): middle, (0, "c"): 1 - high - middle}
            worst = max([worst, *(apart(best_law(base), best_law(other))
                                  for other in extremes(base, exp(epsilon)))])

    bound = epsilon + log((exp(epsilon) + GAMMA) / (1 + GAMMA * exp(epsilon)))
    assert worst <= bound * (1 + 1e-9) <= PRICE * epsilon
    assert worst > .96 * bound


@pytest.mark.parametrize("epsilon", [.001, .01, .1, .25, .5])
def test_the_price_is_attained(epsilon):
    """A rare second-best output moves by 40/21 epsilon: half a per cent less is refuted."""
    most, rare = exp(epsilon), 1e-9
    first = {(2, "a"): 1 / (most + 1), (1, "b"): rare}
    second = {(2, "a"): most / (most + 1), (1, "b"): rare / most}
    first[0, "c"], second[0, "c"] = 1 - sum(first.values()), 1 - sum(second.values())

    moved = apart(best_law(first), best_law(second))

    assert apart(first, second) <= epsilon * (1 + 1e-9)
    assert float(PRICE) * .995 * epsilon < moved <= PRICE * epsilon


def test_all_tries_are_made_whatever_counts():
    """The number of attempts is the same for every draw of K: work does not tell it."""
    made = []
    for seed in range(50):
        calls = []

        def attempt(calls=calls):
            calls.append(1)
            return 0, "x"

        best_of(attempt, replay(seed))
        made.append(len(calls))

    assert {MOST} == set(made)


def test_the_best_counted_try_wins_and_of_equals_the_first():
    """Only the first K tries count; of equal scores the earliest stands."""
    class Fixed(Noise):
        """Bytes that make K large: the last number below the total."""

        def bytes(self, count):
            total = sum(chances())
            size = -(-(total - 1).bit_length() // 8)
            assert count == size
            return ((total - 1) << (8 * size - (total - 1).bit_length())).to_bytes(size)

    results = iter([(1, "a"), (5, "b"), (5, "c")] + [(0, "z")] * (MOST - 3))

    assert "b" == best_of(lambda: next(results), Fixed())


def test_gamma_and_price_are_those_of_the_proof():
    """The constants that the proof file speaks of."""
    assert (Fraction(1, 20), Fraction(40, 21)) == (GAMMA, PRICE)


def wins(share, score, other, own):
    """How often the best of K tries is of one kind, which comes with this share and score.

    Scores have Laplace noise at `own`; those of the other tries lie around `other`.
    """
    at = np.linspace(-25, 25, 5001)
    mine, others = at - score, at - other
    below = [np.where(x < 0, np.exp(own * np.minimum(x, 0)) / 2, 1 - np.exp(-own * np.abs(x)) / 2)
             for x in (mine, others)]
    under = share * below[0] + (1 - share) * below[1]
    kept = sum(w * i * under**(i - 1) for i, w in enumerate(law(), 1))
    return (share * own / 2 * np.exp(-own * np.abs(mine)) * kept).sum() * (at[1] - at[0])


OWN = 2 / float(PRICE)  # what a try costs, of a tuning that spends 2


def test_twice_the_price_of_a_whole_tuning_hardly_shows_where_a_unit_judges():
    """A tuning at 2 loses 1 at most in what comes in a tenth of runs, and one judges.

    The attacker knows that it judges: one kind of try goes up by a unit's worth, the other down.
    """
    losses = []
    for share in np.linspace(.05, .5, 10):
        for middle in np.linspace(-2, 2, 9):
            more, less = (wins(share, middle + way, 0, OWN) for way in (1, -1))
            if more > .1:
                losses.append(log(more / less))

    assert .9 < max(losses) < 1.03


def test_twice_the_price_of_a_whole_tuning_hardly_shows_where_a_unit_learns():
    """Where one learns its choice loses less than 1; where the cut is secret both together do."""
    chosen, known, secret = exp(OWN * 2 / 3), [], []
    for less in np.linspace(.05, .6, 12):
        more = min(less * chosen, 1 - (1 - less) / chosen)
        for ahead in (0, 1, 2, 3, 5):
            learned = [wins(share, 0, ahead, OWN) for share in (more, less)]
            judged = [wins((more + less) / 2, up, ahead + 1 - up, OWN) for up in (1, 0)]
            known.append(log(learned[0] / learned[1]))
            secret.append(log((2 * learned[0] + judged[0]) / (2 * learned[1] + judged[1])))

    assert .9 < max(known) < .94
    assert .75 < max(secret) < .85


def drawn(pair, way, noise, fine=4096):
    """Whether `mine` is released, by what is shipped: its race, its noise and its stopping."""
    tried = 2 / PRICE
    choosing, predicting = tried * CHOOSING, tried * (1 - CHOOSING)

    def ahead(gap):
        return 0 == geometric_race([round(gap * fine), 0], 1, 2 * fine / choosing, noise)[0]

    def up():
        """What two cells decide: each is half a unit above what decides it, or below."""
        return sum(way * fine / 2 + discrete_laplace(2 * fine / predicting, noise) > 0
                   for _ in range(2)) - 1

    def attempt():
        if below(fine, noise) < pair.share * fine:
            own = ahead(way - pair.behind)
            score = pair.score + up() * pair.step if own else LOST
        else:
            own, best = False, ahead(pair.gap - way)
            score = pair.good - up() * pair.stride if best else LOST
        return round(score * fine) + discrete_laplace(fine / tried, noise), own

    return best_of(attempt, noise)


@pytest.mark.parametrize("way", [1, -1])
def test_what_is_computed_of_a_whole_tuning_is_what_is_drawn(way):
    """600 releases by the shipped draws: as often as the computed law says, at one in a million.

    The other table's law is refused.
    """
    pair, noise = Whole(.6, .5, .5, 1, 1, .5, 1), replay(way + 8)
    computed = pair.parts(2)[0]
    mine, other = computed if way == 1 else reversed(computed)
    hits = sum(drawn(pair, way, noise) for _ in range(600))

    assert abs(hits - 600 * mine) < 4.9 * (600 * mine * (1 - mine)) ** .5
    assert abs(hits - 600 * other) > 4.9 * (600 * other * (1 - other)) ** .5


@pytest.mark.parametrize(("often", "most"), [(.1, 1), (.02, 1.05), (.005, 1.07)])
def test_rare_events_of_a_whole_tuning_hardly_lose_more_than_half_of_what_it_spends(often, most):
    """The worst pair of a search at 2: no bound above 1 in half a million counted runs.

    If the attacker knew that the unit learns, it would show: the search is not blind.
    """
    rng = np.random.default_rng(1)
    pair = max((worst(often, 2, rng, steps=300) for _ in range(2)), key=lambda one: loss(one, 2))
    more, less = pair.parts(2)[0]

    assert most - .06 < loss(pair, 2) < most
    assert (needed(pair, 2, 1) or 1e9) > 500_000
    assert log(more / less) > 1.1


def test_a_try_as_bad_as_its_price_shows_in_the_best_of_many():
    """One that answers by randomised response at its whole price: the best of many loses 1.4."""
    likely = 1 / (1 + exp(-OWN))
    worst = [best_law({(1, "told"): p, (0, "not"): 1 - p})[0, "not"] for p in (likely, 1 - likely)]

    assert log(worst[1] / worst[0]) > 1.4
