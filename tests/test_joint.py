"""Laws of columns chosen together: exact values of sets, exact laws of races and rounds."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest

import naive
import tables
from exact import geometric_order as geometric
from exact import set_law, top_k_law
from kernel_calls import serve
from privsieve.errors import ParameterError
from privsieve.kernels import joint as kernel
from privsieve.methods import plan
from privsieve.methods.rule_sieve import Beginning, beginning, choose, place
from privsieve.noise import race as race_module
from privsieve.noise.race import Race, top_k
from privsieve.noise.streams import replay
from privsieve.summaries.layout import Layout
from privsieve.summaries.rules import set_values
from test_naive import Table
from test_rules import T5, weighing


@pytest.fixture(params=["native", "numpy"])
def implementation(request, monkeypatch):
    """Kernels of sets of columns, in both forms."""
    serve(request.param, monkeypatch)


# naive


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize("seed", range(60))
def test_sets_of_three_and_four(seed):
    """A set's value is the best of all cuts, one a column, with a free sign for each cell."""
    size = 3 + seed % 2
    t = Table(seed, n=(0, 1, 5, 12)[seed % 4], d=4 if size == 4 else 3 + seed % 2)
    t.bins %= kernel.GRIDS[size]
    found = kernel.joint_best(t.bins, t.starts, t.weight, t.labellings[:2], size, t.nominal)
    v = t.weights()[:2]

    assert naive.joint_best(t.bins.tolist(), v, size, kernel.GRIDS[size], t.nominal) == (
        found.tolist())


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize("seed", range(40))
def test_gain_for_many_classes(seed):
    """A pair's gain is the best of all sets of cells and classes, less that of one column."""
    t = Table(seed, n=(0, 1, 4, 7)[seed % 4], d=1 + seed % 3, classes=2 + seed % 2)
    t.grid = 4
    t.bins %= 4
    weight = [1] * t.n if t.weight is None else t.weight.tolist()
    expected = naive.class_gain(t.bins.tolist(), t.label, weight, t.classes, 4, t.nominal)

    assert expected == kernel.class_gain(t.bins, t.starts, t.weight, 4, t.nominal).tolist()


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize("cells", list(product((0, 1, 2), repeat=4)))
def test_gain_of_every_pattern_of_four_cells(cells):
    """Each cell of two columns has a class, any of three: all 81 patterns, exclusive or as well."""
    order = np.argsort(cells, kind="stable")
    bins = np.array([[0, 0, 3, 3], [0, 3, 0, 3]], np.uint8)[:, order].copy()
    label = sorted(cells)
    starts = np.searchsorted(label, range(4)).astype(np.int64)
    expected = naive.class_gain(bins.tolist(), label, [1] * 4, 3, 4, (0, 0))

    assert expected == kernel.class_gain(bins, starts, None, 4, np.zeros(2, np.uint8)).tolist()


@pytest.mark.parametrize("seed", range(12))
def test_long_columns(seed, monkeypatch):
    """On columns longer than every block native and NumPy agree, weighted or not."""
    size = 3 + seed % 2
    t = Table(seed, n=20_001, d=5, classes=2 + seed % 4)
    found = []
    for which in ("native", "numpy"):
        serve(which, monkeypatch)
        sets = kernel.joint_best(t.bins % kernel.GRIDS[size], t.starts, t.weight, t.labellings,
                                 size, t.nominal)
        gain = kernel.class_gain(t.bins, t.starts, t.weight, t.grid, t.nominal)
        found.append((sets.tolist(), gain.tolist()))

    assert found[0] == found[1]


def test_contract():
    """A size without a kernel, and bins that do not fit, are refused."""
    bins, starts, nominal = np.zeros((3, 2), np.uint8), np.array([0, 2]), np.zeros(3, np.uint8)
    with pytest.raises(ValueError, match="size must be 3 or 4, not 2"):
        kernel.joint_best(bins, starts, None, np.array([[1]]), 2, nominal)
    with pytest.raises(ValueError, match="nominal and bins"):
        kernel.class_gain(bins, starts, None, 4, nominal[:2])


# exact values


def parity(joint, k, **options):
    """Sets of the referee's parity table, coarse bins of two codes."""
    made = plan("rule-sieve", tables.domain("nnnnn"), k=k, epsilon=1, rows=8, joint=joint,
                **options)
    codes = np.array(T5[0]) // 2 * 8192 * (2 if joint == "quad" else 1)
    summary = made.summarise([tables.batch(np.column_stack([codes, codes[:, 0]]), T5[1])], 3)
    return made, summary, Layout.of(made.domain)


def test_the_parity_table_has_the_published_values():
    """Triples 8, 6, 6, 4 (centred four times as much), the quadruple 8, the next round 16."""
    _made, summary, layout = parity("triple", 3)
    first = [place(5, three) for three in combinations(range(4), 3)]

    equal = set_values(summary, layout, weighing([[-1, 1]], 5), 3)[first].tolist()
    centred = set_values(summary, layout, weighing([[-4, 4]], 5), 3)[first].tolist()
    assert [8, 6, 6, 4] == equal
    assert [32, 24, 24, 16] == centred
    assert 16 == sum(equal[1:])
    _made, summary, layout = parity("quad", 4)
    assert 8 == set_values(summary, layout, weighing([[-1, 1]], 5), 4)[0]


def test_the_race_of_triples_has_the_published_law():
    """Epsilon 4, k = 3: mean 1, and the four probabilities that the referee found."""
    law = set_law((8, 6, 6, 4), 1, 1, geometric)

    assert [0.924364, 0.035895, 0.035134, 0.004607] == [round(p, 6) for p in law.values()]


# choice


class Scripted:
    """A race that notes what it is asked, and names what its script says."""

    def __init__(self, *script):
        self.script, self.asked = list(script), []

    def __call__(self, scores, k, sensitivity, epsilon):
        self.asked.append((list(scores), k, sensitivity, epsilon))
        return self.script.pop(0)


def test_rounds_follow_a_triple():
    """Share 3/k for the set, 1/k a round; a round sums over pairs of what is chosen; sorted."""
    d, threes = 7, list(combinations(range(7), 3))
    values = [10**i for i in range(len(threes))]
    race = Scripted((threes.index((1, 3, 5)),), (2,), (0,))

    chosen = choose({3: values}, [0] * d, (3, 5), (2, 24, Fraction(5)), race)

    assert (0, 1, 3, 4, 5) == chosen
    assert [(1, 2, 3), (1, 6, 1), (1, 12, 1)] == [call[1:] for call in race.asked]
    assert race.asked[1][0] == [sum(values[threes.index(tuple(sorted((*two, j))))]
                                for two in combinations((1, 3, 5), 2)) for j in (0, 2, 4, 6)]
    assert race.asked[2][0] == [sum(values[threes.index(tuple(sorted((*two, j))))]
                                for two in combinations((1, 3, 4, 5), 2)) for j in (0, 2, 6)]


@pytest.mark.parametrize(("size", "k"), [(3, 6), (3, 7), (4, 7)])
def test_few_are_left_out_by_one_race(size, k):
    """Where d - k < k - size one race beside the set tells who stays; each left out pays twice."""
    d, sets = 8, list(combinations(range(8), size))
    left, first = d - k, sets[5]
    rest = [j for j in range(d) if j not in first]
    values = {s: [i * i for i in range(math.comb(d, s))] for s in (3, 4)}
    race = Scripted((5,), tuple(range(k - size)))

    chosen = choose(values, [0] * d, (size, k), (2, 24, Fraction(5)), race)

    assert tuple(sorted([*first, *rest[:k - size]])) == chosen
    assert [(1, 2, Fraction(5, 1 + 2 * left)),
            (k - size, 2 * math.comb(size, 2), Fraction(10 * left, 1 + 2 * left))] == [
                call[1:] for call in race.asked]
    assert race.asked[1][0] == [sum(values[3][place(d, (*two, j))]
                                    for two in combinations(first, 2)) for j in rest]


@pytest.mark.parametrize(("size", "k", "shares"), [
    (2, 2, [1]), (2, 5, [Fraction(2, 5), Fraction(3, 5)]), (3, 3, [1]), (4, 4, [1]),
    (4, 6, [Fraction(2, 3), Fraction(1, 6), Fraction(1, 6)]),
    (2, 7, [Fraction(2, 7), Fraction(5, 7)]), (3, 7, [Fraction(1, 3), Fraction(2, 3)]),
    (4, 7, [Fraction(1, 3), Fraction(2, 3)])])
def test_all_of_epsilon_is_shared(size, k, shares):
    """The races' shares add up to the whole, whatever the beginning."""
    values = {s: [0] * math.comb(8, s) for s in (2, 3, 4)}
    several = size == 2 or len(shares) == 2
    race = Scripted((0,), tuple(range(k - size)) if several else (0,), (0,))

    chosen = choose(values, [0] * 8, (size, k), (2, 24, Fraction(1)), race)

    assert shares == [call[3] for call in race.asked]
    assert 1 == sum(shares)
    assert tuple(range(k)) == chosen


def test_places_are_lexicographic():
    """The place of a set is its index among all of its size."""
    for d, size in product(range(2, 9), (2, 3, 4)):
        every = list(combinations(range(d), size))

        assert list(range(len(every))) == [place(d, columns) for columns in every]


def law_of(values, score, rules, epsilon):
    """The exact law of a set and what follows, by sums over what each race may name."""
    law = {}

    def run(script):
        race = Scripted(*script)
        try:
            return choose(values, score, rules, (2, 24, epsilon), race), race.asked
        except IndexError:
            return None, race.asked

    def grow(script, weight):
        chosen, asked = run(script)
        if chosen is not None:
            law[chosen] = law.get(chosen, 0.0) + weight
            return
        for names, p in top_k_law(*asked[-1]).items():
            grow([*script, names], weight * p)

    grow([], 1.0)
    assert len(score) > rules[1]
    return law


def losses(one, two):
    """Log ratios of two laws."""
    return [abs(math.log(one[chosen] / two[chosen])) for chosen in one]


@pytest.mark.parametrize(("size", "k", "d"), [
    (2, 2, 3), (2, 3, 4), (2, 4, 5), (2, 2, 5), (3, 3, 4), (3, 5, 6), (4, 6, 7)])
def test_the_law_of_a_joint_choice_keeps_epsilon(size, k, d):
    """Values and scores that move at random, as far as they may: no set beyond epsilon."""
    rng = np.random.default_rng(4)
    epsilon, worst = Fraction(2), 0.0
    for _ in range(4 if d > 5 else 20):
        laws = []
        values = {s: rng.integers(0, 6, math.comb(d, s)) for s in (2, 3, 4)}
        score = rng.integers(0, 60, d)
        moves = {s: rng.choice((-2, 2), len(values[s])) for s in values}, rng.choice((-24, 24), d)
        for sign in (0, 1):
            laws.append(law_of({s: (values[s] + sign * moves[0][s]).tolist() for s in values},
                               (score + sign * moves[1]).tolist(), (size, k), epsilon))
        assert 1 == pytest.approx(sum(laws[0].values()))
        worst = max(worst, *losses(*laws))

    assert .2 < worst <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize(("size", "k", "d"), [(2, 2, 3), (2, 3, 4), (2, 4, 5), (3, 3, 4),
                                              (4, 6, 7)])
def test_a_joint_choice_reaches_epsilon(size, k, d):
    """The first k columns rise by as much as all others fall, and their loss is epsilon."""
    first, whole, laws = tuple(range(size)), tuple(range(k)), []
    for mine, theirs in ((0, 4), (2, 2)):
        # Another set of the first k would lead to the same choice: none is ever named.
        values = {size: [mine if one == first else -1000 if max(one) < k else theirs
                         for one in combinations(range(d), size)]}
        score = [12 * mine if j < k else 12 * theirs for j in range(d)]
        if size == 4:  # beside the first set a column is worth six sets of three
            values[3] = [mine if max(three) < k else theirs
                         for three in combinations(range(d), 3)]
        laws.append(law_of(values, score, (size, k), Fraction(2)))

    assert 2.0 == pytest.approx(math.log(laws[1][whole] / laws[0][whole]))


def test_triple_and_round_keep_epsilon_on_every_searched_pair():
    """The exact law of a set and a round moves by at most e^epsilon; d = 5, k = 4."""
    rng = np.random.default_rng(3)
    worst = 0.0
    for _ in range(30):
        n = int(rng.integers(1, 4))
        bins = rng.integers(0, 2, (5, n + 1)).astype(np.uint8) * 7
        label = rng.integers(0, 2, n + 1)
        laws = []
        for rows in (np.arange(n), np.r_[np.arange(n - 1), n]):
            order = rows[np.argsort(label[rows], kind="stable")]
            starts = np.searchsorted(label[order], range(3)).astype(np.int64)
            values = kernel.joint_best(np.ascontiguousarray(bins[:, order]), starts, None,
                                       np.array([[-1, 1]]), 3, np.zeros(5, np.uint8)).tolist()
            laws.append(law_of({3: values}, [0] * 5, (3, 4), Fraction(2)))
        assert 1 == pytest.approx(sum(laws[0].values()))
        worst = max(worst, *(abs(math.log(laws[0][s] / laws[1][s])) for s in laws[0]))

    assert 0.5 < worst <= 2 + 1e-9


# sensitivity


def moved(records, n, value):
    """The most that one replaced record moves some values, over all tables of n records."""
    found = {rows: value(rows) for rows in combinations_with_replacement(range(records), n)}
    return max(int(np.abs(found[rows] - found[tuple(sorted((*rows[:i], *rows[i + 1:], other)))])
                   .max()) for rows in found for i in range(n) for other in range(records))


def test_a_set_moves_by_two_and_a_round_by_two_a_pair():
    """All tables of 3 binary rows and 4 columns: the bounds 2 (triple, quadruple) and 6 are met."""
    bits = list(product((0, 1), repeat=5))

    def valued(rows, size):
        table = np.array(sorted((bits[r] for r in rows), key=lambda row: row[-1]), np.int64)
        starts = np.searchsorted(table[:, -1], range(3)).astype(np.int64)
        return kernel.joint_best(np.ascontiguousarray(table[:, :-1].T).astype(np.uint8), starts,
                                 None, np.array([[-1, 1]]), size, np.zeros(4, np.uint8))

    def both(rows):
        three = valued(rows, 3)
        # Given {0, 1, 2}, column 3 is worth the sets 013, 023 and 123 together.
        return np.array([3 * three.max(), 3 * valued(rows, 4)[0], three[1:].sum()])

    assert 6 == moved(len(bits), 2, both) == moved(len(bits), 3, both)
    assert 2 == moved(len(bits), 2, lambda rows: valued(rows, 3))
    assert 2 == moved(len(bits), 2, lambda rows: valued(rows, 4))


# public


def test_what_a_beginning_needs():
    """Rounds need triples, whatever came first; a set that is the whole choice needs no more."""
    assert [Beginning(2, (2,)), Beginning(3, (3,)), Beginning(3, (3,)), Beginning(4, (3, 4)),
            Beginning(4, (4,))] == [beginning(joint, k) for joint, k in (
                ("pair", 5), ("triple", 3), ("triple", 7), ("quad", 5), ("quad", 4))]


@pytest.mark.parametrize(("options", "said"), [
    ({"joint": "five"}, 'write "pair", "triple" or "quad"'),
    ({"joint": True}, 'write "pair", "triple" or "quad"'),
    ({"joint": "triple", "k": 2}, "begins with 3 columns, and 2"),
    ({"joint": "quad", "k": 3}, "begins with 4 columns, and 3"),
    ({"joint": "triple", "ordered": True}, "ordered=False"),
    ({"joint": "pair", "max_ops": 1}, "pair grid"),
    ({"joint": "triple", "max_ops": 10**5}, "raise it, name fewer columns"),
    ({"joint": "quad", "k": 4, "rows": 2**40}, "raise it, name fewer columns"),
    ({"joint": "triple", "classes": 3}, "two classes, and the label has 3"),
], ids=str)
def test_public_mistakes_are_refused(options, said):
    """Each names the option, its limit and the way out."""
    classes = options.pop("classes", 2)
    asked = {"k": 3, "epsilon": 1, "rows": 100, **options}

    with pytest.raises(ParameterError, match=said):
        plan("rule-sieve", tables.domain("nnnnnn", classes), **asked)


@pytest.mark.parametrize(("joint", "k"), [
    ("pair", 3), ("pair", 5), ("pair", 6), ("pair", 7), ("triple", 4), ("triple", 5),
    ("triple", 6), ("triple", 7), ("quad", 5), ("quad", 6), ("quad", 7), (None, 5)])
@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_a_plan_tells_the_noise_with_which_columns_are_told_apart(monkeypatch, joint, k, delta):
    """Its noise is that of the races after the set; a delta is theirs alone, and used once."""
    asked, shipped = [], race_module.top_k
    made = plan("rule-sieve", tables.domain("n" * 8), k=k, epsilon=1, rows=60, joint=joint,
                class_prior=None, delta=delta)
    rng = np.random.default_rng(2)
    batch = tables.batch(rng.integers(0, 65536, (60, 8)), rng.integers(0, 2, 60))

    def top_k(scores, race, noise):
        asked.append(race)
        return shipped(scores, race, noise)

    monkeypatch.setattr("privsieve.noise.race.top_k", top_k)
    made.mechanism(made.summarise([batch], 3), replay(1))

    assert 1 == sum(race.epsilon for race in asked)
    assert made.cost.delta == sum(race.delta for race in asked)
    for race in asked if joint is None else asked[1:]:
        assert float(made.noise.amount) == pytest.approx(float(race.scale / race.sensitivity))


@pytest.mark.parametrize("joint", ["pair", "triple", "quad"])
def test_all_columns_are_free_and_all_but_one_can_be_had(joint):
    """With k = d nothing is charged; with k = d - 1 one column is left out."""
    domain, noise = tables.domain("n" * 6), replay(5)
    everything, most = (plan("rule-sieve", domain, k=k, epsilon=1, rows=60, joint=joint)
                        for k in (6, 5))
    batch = tables.batch(np.arange(360).reshape(60, 6) * 181, np.arange(60) % 2)

    assert (0, tuple(range(6))) == (everything.cost.epsilon, everything.mechanism(
        everything.summarise([batch], 3), noise))
    assert (1, 5) == (most.cost.epsilon, len(most.mechanism(most.summarise([batch], 3), noise)))


def test_a_pair_is_for_many_classes_too():
    """A pair first weighs all cuts of the classes, by noisy counts or alike."""
    made = plan("rule-sieve", tables.domain("nnn", 3), k=2, epsilon=1, rows=300, joint="pair")

    assert ("pair", "auto") == (made.settings["joint"], made.settings["class_prior"])


def test_the_races_are_the_shipped_ones():
    """The law above is that of `top_k`: one race for one of d, geometric, lower index first."""
    noise = replay(4)
    drawn = [top_k((3, 1, 2), Race(3, 1, 2, Fraction(2)), noise)[0] for _ in range(4000)]
    law = set_law((3, 1, 2), 1, 2, geometric)

    assert all(abs(drawn.count(j) / 4000 - p) < 0.04 for (j,), p in law.items())
