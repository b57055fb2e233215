"""Laws of columns chosen together: exact values of pairs, exact laws of races."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest

import tables
from exact import top_k_law
from privsieve.errors import ParameterError
from privsieve.methods import branches, labels, plan
from privsieve.methods.branches import (
    ALL,
    ALONE,
    ONE,
    PAIRS,
    ROUNDS,
    WHOLE,
    Extent,
    Sizes,
    Switch,
    switch,
    unit_value,
)
from privsieve.methods.rule_sieve import choose, mechanism, summarise
from privsieve.noise import race as race_module
from privsieve.noise import streams
from privsieve.noise.streams import replay
from privsieve.public.columns import Label, Number
from privsieve.public.domain import Domain
from privsieve.summaries import pairs as tabled
from privsieve.summaries.layout import Layout
from privsieve.summaries.pairs import pair_scores
from privsieve.summaries.rules import rule_tables, scores
from test_rules import weighing

# values


@pytest.mark.parametrize("grid", [4, 8, 16])
def test_a_pair_is_worth_its_best_rule_or_both_columns(grid):
    """The score of the best rule of both, less chance, or the floor of the mean of both alone."""
    rng = np.random.default_rng(6)
    for _ in range(10):
        new_tables = rule_tables([tables.batch(rng.integers(0, 65536, (9, 4)),
                                               rng.integers(0, 2, 9))], 1,
                                 domain=tables.domain("nmfw"), order=3, grid=grid)
        layout, by = Layout.of(tables.domain("nmfw")), weighing([[-3, 2]], 4, grid=grid)
        by = by._replace(by_cells=50, by_chance=(10, 20, 30))
        score = scores(new_tables, layout, by)
        best = new_tables.bins.pairs(by.labellings, grid, layout)
        wanted = [max(12 * int(best[at]) - 50, math.floor(Fraction(int(score[a] + score[b]), 2)))
                  for at, (a, b) in enumerate(combinations(range(4), 2))]

        values, alone = pair_scores(new_tables, layout, by)
        assert alone.tolist() == score.tolist()  # with what `Bins.gain` says of partners
        assert values.tolist() == wanted


def test_many_labellings_count_by_their_mean():
    """The score of a set of many classes is the floor of the mean of its scores by each cut."""
    rng = np.random.default_rng(2)
    planned = plan("rule-sieve", tables.domain("nnnn", 3), k=3, epsilon=1, rows=9, joint="pair")
    summary = planned.summarise([tables.batch(rng.integers(0, 65536, (9, 4)),
                                              rng.integers(0, 3, 9))], 3)
    layout, labellings = Layout.of(planned.domain), [[-5, 2, 1], [-1, 1, 0], [4, 3, -7]]
    by = weighing(labellings, 4, grid=16)
    each = [pair_scores(summary, layout, by.alone(cut)) for cut in range(3)]

    for which in (0, 1):
        mean = sum(scores_of_cut[which] for scores_of_cut in each) // 3
        assert mean.tolist() == pair_scores(summary, layout, by)[which].tolist()
    assert scores(summary, layout, by.alone(1)).tolist() == each[1][1].tolist()


# choice


class Scripted:
    """A race that notes what it is asked, and names what its script says."""

    def __init__(self, *script):
        self.script, self.requests = list(script), []

    def __call__(self, scores, *race):
        self.requests.append((tuple(scores), *race))
        return self.script.pop(0)


@pytest.mark.parametrize(("size", "k"), [(1, 1), (1, 4), (2, 2), (2, 5)])
def test_singles_follow_a_pair(size, k):
    """Share size/k for the pair, the rest for one race over the other columns; sorted."""
    d, sets = 8, list(combinations(range(8), size))
    first, score = sets[5], [j * j for j in range(d)]
    rest = [j for j in range(d) if j not in first]
    race = Scripted((5,), tuple(range(k - size)))

    chosen = choose(list(range(len(sets))), score, (size, k, d), race)

    assert tuple(sorted([*first, *rest[:k - size]])) == chosen
    assert [tuple(score[j] for j in rest)] * (k > size) == [call[0] for call in race.requests[1:]]
    races = races_of(size, k, d, 5)
    shares = [(1, Fraction(5 * size, k)), (k - size, Fraction(5 * (k - size), k))]
    assert shares[:1 + (k > size)] == [(race.k, race.epsilon) for race in races]
    assert len(race.requests) == len(races)
    assert [len(sets), len(rest)][:len(races)] == [race.d for race in races]
    assert 5 == sum(race.epsilon for race in races)


def races_of(size, k, d, epsilon):
    """The shipped races for k of d columns, a pair first, beside 2 - size that are always in."""
    domain = tables.domain("n" * (d + 2 - size))
    planned = plan("rule-sieve", domain, k=k + 2 - size, epsilon=epsilon, rows=1000, joint="pair",
                   class_prior=None, always=list(domain.names[:2 - size]))
    return planned.mechanism.keywords["rules"].races(PAIRS)


top_law = cache(top_k_law)


def grown(run):
    """The exact law of what is chosen by races one after another, each as scripted."""
    law = {}

    def grow(script, weight):
        race = Scripted(*script)
        try:
            chosen = run(race)
        except IndexError:  # it asks for one race more
            for names, p in top_law(*race.requests[-1]).items():
                grow([*script, names], weight * p)
        else:
            law[chosen] = law.get(chosen, 0.0) + weight

    grow([], 1.0)
    return law


def law_of(values, score, sizes, epsilon):
    """The exact law of a set and what follows."""
    def run(race):
        races = iter(races_of(*sizes, len(score), epsilon))

        def shipped(raced):
            how = next(races)
            return race(raced, how.k, 24, how.epsilon)

        return choose(values, score, (*sizes, len(score)), shipped)

    return grown(run)


def losses(scores, two):
    """Log ratios of two laws."""
    return [abs(math.log(scores[chosen] / two[chosen])) for chosen in scores]


@pytest.mark.parametrize(("size", "k", "d"), [(1, 2, 4), (2, 2, 3), (2, 3, 4), (2, 4, 5)])
def test_a_joint_choice_reaches_epsilon(size, k, d):
    """The first k columns rise by as much as all others fall, and their loss is epsilon."""
    first, whole, laws = tuple(range(size)), tuple(range(k)), []
    for mine, theirs in ((0, 48), (24, 24)):
        # Another set of the first k would lead to the same choice: none is ever named.
        values = [mine if combination == first else -12_000 if max(combination) < k else theirs
                  for combination in combinations(range(d), size)]
        score = [mine if j < k else theirs for j in range(d)]
        laws.append(law_of(values, score, (size, k), Fraction(2)))

    assert 2.0 == pytest.approx(math.log(laws[1][whole] / laws[0][whole]))


# sensitivity


def tables_of(records, n):
    """All tables of n records, none of which has a place."""
    return combinations_with_replacement(range(records), n)


def replaced(table, records):
    """The most that one replaced record moves values, over all tables that were valued."""
    return max(int(np.abs(value - table[tuple(sorted((*rows[:i], *rows[i + 1:], other)))]).max())
               for rows, value in table.items() for i in range(len(rows))
               for other in range(records))


def left(table, fewer):
    """The most that one record moves values by leaving."""
    return max(int(np.abs(value - fewer[rows[:i] + rows[i + 1:]]).max())
               for rows, value in table.items() for i in range(len(rows)))


def valued(kinds, records, weights):
    """For all tables of some records: what pairs are worth, and single columns."""
    planned = plan("rule-sieve", tables.domain(kinds), k=2, epsilon=1, rows=9, max_ops=10**9,
                   joint="pair", depth=3)
    rules, layout = planned.mechanism.keywords["rules"], Layout.of(planned.domain)

    def value(rows):
        batch = tables.batch([records[r][:-1] for r in rows], [records[r][-1] for r in rows])
        summary = planned.summarise([batch], 3)
        counts = summary.runs.counts
        labels = weights if weights is not None else [[-int(counts[1]), int(counts[0])]]
        by = weighing(labels, len(kinds), rules.depth, rules.grid)
        return np.concatenate(pair_scores(summary, layout, by))

    return lambda n: {rows: value(rows) for rows in tables_of(len(records), n)}


def test_a_pair_or_two_singles_moves_as_published():
    """T9, all tables of three codes by two and weights -1, 4: 48 if one leaves, which is met.

    Centred on the table's own counts 24 (n - 1) is met: 48 with three rows, 72 with four.
    """
    records = [(a, b, y) for a in (0, 32768, 65535) for b in (0, 65535) for y in (0, 1)]
    weighed, centred = (valued("nn", records, weights) for weights in ([[-1, 4]], None))
    two, three = map(weighed, (2, 3))

    assert 48 == left(three, two)
    assert 48 < replaced(three, 12) <= 24 * 4
    assert [48, 72] == [replaced(centred(n), 12) for n in (3, 4)]


# switch


def test_the_joint_law_of_count_and_set_keeps_epsilon(monkeypatch):
    """The shipped mechanism, d = 4 and k = 3: one race or a pair first, by a noisy count.

    The exact law of all that a release says: the noisy counts of the classes and the names, on
    neighbours that a search makes worse.
    """
    epsilon, rng = Fraction(25), np.random.default_rng(8)
    records, memo = list(product((0, 1), repeat=5)), {}
    monkeypatch.setattr(labels, "FINEST", 4)  # small integers, for exact laws
    monkeypatch.setattr(tabled, "pair_scores", lambda summary, layout, by: memo.setdefault(
        (id(summary), by.labellings.tobytes()), pair_scores(summary, layout, by)))

    @cache
    def law(table):
        planned = plan("rule-sieve", tables.domain("nnnn"), k=3, epsilon=epsilon, rows=len(table),
                       depth=1, class_prior=None, allow_weak=True)
        rules = replace(planned.mechanism.keywords["rules"], class_prior="auto")
        # Few rows would not pay for it: the switch of as many as would.
        rules.__dict__["switch"] = Switch((ONE, PAIRS), 3, Fraction(900), (40, 450))
        rows, laws, n = np.array([records[r] for r in table]), {}, len(table)
        summary = summarise([tables.batch(rows[:, :4] * 65535, rows[:, 4])], 3, rules=rules)
        q = math.exp(-epsilon / 10)
        # Counts farther beyond the table's ends have one ratio, and weigh as these do.
        for count in range(-1, n + 2):
            drawn = count - int(rows[:, 4].sum())
            p = q ** abs(drawn) * (1 / (1 + q) if count in (-1, n + 1) else (1 - q) / (1 + q))
            for output, share in grown(partial(run, summary, rules, drawn)).items():
                assert (str(n - count),
                        str(count)) == output[0]  # all of it leaves, as it was drawn
                laws[output] = p * share
        return laws

    def run(summary, rules, drawn, race):
        monkeypatch.setattr(streams, "discrete_laplace", lambda _mean, _noise: drawn)
        monkeypatch.setattr(race_module, "top_k", lambda raced, wanted_race, _noise: race(
            raced, wanted_race.k, wanted_race.sensitivity, wanted_race.epsilon))
        chosen = mechanism(summary, replay(1), rules=rules)
        ran.add(chosen.fields["branch"])
        return chosen.fields["class_counts"].q, tuple(chosen)

    def loss(table, other):
        first, two = law(table), law(other)
        return max(losses(first, two))

    ran, worst = set(), 0.0
    for n in (4, 5):
        table, other = tuple(sorted(rng.integers(0, 32, n).tolist())), None
        best = 0.0
        for _ in range(12):
            single_table, place = list(table), int(rng.integers(n))
            if other is not None and rng.random() < .5:
                single_table[int(rng.integers(n))] = int(rng.integers(32))
            two = [*single_table[:place], *single_table[place + 1:], int(rng.integers(32))]
            loss_now = loss(tuple(sorted(single_table)), tuple(sorted(two)))
            if loss_now >= best:
                table, other, best = tuple(sorted(single_table)), tuple(sorted(two)), loss_now
        worst = max(worst, best)

    assert 1 == pytest.approx(sum(law(table).values()))
    assert {"one race", "pairs"} == ran
    assert .3 * epsilon < worst <= epsilon * (1 + Fraction(1, 10**9))


# public


def settings_of(rng):
    """Any public numbers, and what may be asked for."""
    d = int(rng.integers(2, 60))
    k = int(rng.integers(1, d + 1))
    sizes = Sizes(k, d, int(rng.integers(2, 10**6)), int(rng.choice((2, 2, 3, 6))),
                  int(rng.choice((0, 4, 16))), int(2.0 ** rng.integers(10, 60)))
    return sizes, Fraction(int(rng.integers(1, 10**6)), int(rng.integers(1, 100)))


def test_a_switch_answers_for_whatever_is_released():
    """Any integers, below 0 and above all units too, give a branch that the plan has listed."""
    rng, ran = np.random.default_rng(1), set()
    for _ in range(3000):
        sizes, strength = settings_of(rng)
        choice = switch("auto", sizes, strength, ordered=bool(rng.random() < .1),
                        cells=bool(rng.random() < .8), go_on=bool(rng.random() < .5))
        for many in (2, 3, 6):
            counts = [int(c) for c in rng.integers(-1000, 1000, many) * rng.choice((1, 10**9))]
            total = int(rng.integers(0, 2000))
            for centred in (False, True):
                value = unit_value(counts, total, centred=centred)
                branch = choice.branch(value)
                ran.add((branch, choice.reachable))
                assert 0 < value <= 1
                assert branch in choice.reachable
                known = choice.known(value)
                assert (branch,) == known.reachable == (known.branch(1),)
                assert branch.size <= sizes.k
                # What a first race takes on top of the scores is an eighth more at most.
                table = Extent(sizes.units, sizes.d, cuts=branches.many_cuts(sizes.classes))
                assert not branch.size or (sizes.grid and WHOLE * branches.OPS
                                         * table.raced(sizes.grid) <= ALL * sizes.max_ops)

    assert {ONE, PAIRS, ROUNDS, ALONE} == {branch for branch, _ in ran}
    assert {3, 2, 1} == {len(reachable) for _, reachable in ran}


@pytest.mark.parametrize(("counts", "total", "centred", "expected"), [
    ([50, 50], 100, False, 1), ([90, 10], 100, False, Fraction(1, 5)), ([0, 9], 4, False, .5),
    ([103, -3], 100, False, Fraction(1, 50)), ([50, 50], 100, True, .5), ([1, -1], 0, False, 1),
    ([30, 0, -5, 10], 100, False, .5), ([0, 0, 0], 100, False, 1), ([-9, -9, -9], 100, True, .5),
    ([10, 10, 10], 30, False, Fraction(2, 3)), ([5, 0, 0], 5, False, 1),
])
def test_what_units_are_worth(counts, total, centred, expected):
    """Twice the share of the rarer class, clamped; of many the rarest that is there."""
    assert Fraction(expected) == unit_value(counts, total, centred=centred)


@pytest.mark.parametrize(("rows", "epsilon", "k", "named"), [
    (100, "0.44", 3, ["one race"]), (100, "0.45", 3, ["pairs"]), (1000, "0.6", 2, ["pairs"]),
    (1000, 1, 1, ["one race"]), (10**6, 1, 5, ["rounds"]), (1000, 1, 6, ["one race"]),
])
def test_the_switch_counts_units_times_epsilon(rows, epsilon, k, named):
    """One race below 15 a column, then a pair first; never for most of the columns, or one."""
    options = {"epsilon": epsilon, "rows": rows, "class_prior": "0.5"}

    planned = plan("rule-sieve", tables.domain("n" * 10), k=k, **options)
    assert named == planned.settings["branches"]
    assert planned.settings == plan("rule-sieve", tables.domain("n" * 10), k=k, joint=None,
                                    **options).settings


@pytest.mark.parametrize(("public", "options", "named"), [
    ({}, {}, ["one race", "pairs"]), ({}, {"ordered": True}, ["one race"]),
    ({}, {"joint": "none"}, ["one race"]), ({}, {"class_prior": "centred"}, ["pairs"]),
    ({}, {"class_prior": "0.2"}, ["pairs"]), ({}, {"max_ops": 10**6}, ["one race"]),
    ({"neighbours": "add-remove", "rows": 1000}, {}, ["one race", "pairs"]),
], ids=str)
def test_a_plan_lists_what_may_run(public, options, named):
    """All branches that a released count may lead to, and no other."""
    planned = plan("rule-sieve", tables.domain("n" * 10, **public), k=3, epsilon=1, rows=1000,
                   **options)

    assert named == planned.settings["branches"]


def test_the_release_names_the_branch_that_ran():
    """Of all that are in the plan a rare class takes one race, even classes a pair first."""
    rng, branches = np.random.default_rng(3), []
    planned = plan("rule-sieve", tables.domain("n" * 10), k=3, epsilon=1, rows=1000)
    for share in (.05, .5):
        batch = tables.batch(rng.integers(0, 65536, (1000, 10)), rng.random(1000) < share)
        chosen = planned.mechanism(planned.summarise([batch], 3), replay(1))
        branches.append(chosen.fields["branch"])

    assert ["one race", "pairs"] == branches == planned.settings["branches"]


def test_what_is_summarised_does_not_tell_the_branch():
    """Tables of a rare and of an even class have the same parts: those of all branches."""
    planned = plan("rule-sieve", tables.domain("n" * 10), k=3, epsilon=1, rows=1000)
    parts = []
    for ones in (5, 500):
        batch = tables.batch(np.zeros((1000, 10)), np.arange(1000) < ones)
        summary = planned.summarise([batch], 3)
        parts.append((summary.signs is None, summary.bins is None))

    assert parts[0] == parts[1] == (False, False)


@pytest.mark.parametrize(("options", "message"), [
    ({"joint": "five"}, 'write "auto", "none", "pair" or "rounds"'),
    ({"joint": True}, 'write "auto", "none", "pair" or "rounds"'),
    ({"joint": "triple"}, "sets of three or four columns were removed"),
    ({"joint": "pair", "k": 1}, "begins with 2 columns, but you choose 1"),
    ({"joint": "pair", "ordered": True}, "leave out ordered"),
    ({"joint": "rounds", "ordered": True}, "leave out ordered"),
    ({"joint": "rounds", "delta": "1e-9"}, "leave out delta and fewer"),
    ({"joint": "pair", "max_ops": 1}, "raise max_ops, declare fewer columns"),
    ({"joint": "pair", "rows": 2**40}, "raise max_ops, declare fewer columns"),
], ids=str)
def test_public_mistakes_are_refused(options, message):
    """Each names the option, its limit and the way out."""
    request = {"k": 3, "epsilon": 1, "rows": 100, **options}

    with pytest.raises(ParameterError, match=message):
        plan("rule-sieve", tables.domain("nnnnnn"), **request)


def test_a_pair_of_columns_without_bounds_comes_first_where_rounds_follow():
    """Their cells are coarse: by itself the choice is one race while rows are few."""
    domain = Domain([Number("free"), *tables.domain("nnnnnn").columns], Label("y", [0, 1]))
    branches_of = {rows: plan("rule-sieve", domain, rows=rows, k=3, epsilon=1, **options
                              ).settings["branches"]
                   for rows, options in ((500, {}), (9000, {}), (501, {"joint": "pair"}))}

    assert {500: ["one race"], 9000: ["one race", "rounds"], 501: ["pairs"]} == branches_of


def asked_of(monkeypatch):
    """The races that are run from now on."""
    races, shipped = [], race_module.top_k
    monkeypatch.setattr("privsieve.noise.race.top_k", lambda scores, race, noise: races.append(
        race) or shipped(scores, race, noise))
    return races


@pytest.mark.parametrize(("joint", "k"), [
    ("pair", 3), ("pair", 5), ("pair", 6), ("pair", 7), ("none", 5)])
@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_a_plan_tells_the_noise_with_which_columns_are_told_apart(monkeypatch, joint, k, delta):
    """Its noise is that of the race after the set; a delta is its alone, and used once."""
    races = asked_of(monkeypatch)
    planned = plan("rule-sieve", tables.domain("n" * 8), k=k, epsilon=1, rows=60, joint=joint,
                   class_prior=None, delta=delta)
    rng = np.random.default_rng(2)
    batch = tables.batch(rng.integers(0, 65536, (60, 8)), rng.integers(0, 2, 60))

    planned.mechanism(planned.summarise([batch], 3), replay(1))

    assert 1 == sum(race.epsilon for race in races)
    assert planned.cost.delta == sum(race.delta for race in races)
    for race in races if joint == "none" else races[1:]:
        assert float(planned.noise.amount) == pytest.approx(float(race.scale / race.sensitivity))


def test_a_delta_goes_to_the_branch_that_can_use_it(monkeypatch):
    """It is charged if one branch that can be reached needs it, and rho is that of the dearest."""
    wanted_races = asked_of(monkeypatch)
    planned = plan("rule-sieve", tables.domain("n" * 60), k=20, epsilon=1, rows=8000, delta="1e-6")
    rng = np.random.default_rng(5)
    for share, races in ((.05, 1), (.5, 2)):
        wanted_races.clear()
        batch = tables.batch(rng.integers(0, 65536, (8000, 60)), rng.random(8000) < share)
        planned.mechanism(planned.summarise([batch], 3), replay(1))

        *first, after = wanted_races
        assert races == len(wanted_races)
        assert [planned.cost.delta] == [race.delta for race in wanted_races
                                        if race.delta] == [after.delta]
        assert Fraction(9, 10) == sum(race.epsilon for race in wanted_races)
        assert planned.cost.rho >= after.rho + Fraction(1, 200) + sum(
            race.epsilon**2 / 2 for race in first)


@pytest.mark.parametrize(("rows", "options", "prior", "named"), [
    (149, {}, "centred", "one race"), (150, {}, "centred", "pairs"),
    (449, {}, "centred", "pairs"),
    (1000, {"joint": "none"}, "centred", "one race"),
    (100, {"joint": "pair"}, "centred", "pairs"), (1000, {"k": 2}, "centred", "pairs"),
])
def test_many_classes_are_cut_in_two(rows, options, prior, named):
    """All public cuts of the classes are weighed, centred."""
    planned = plan("rule-sieve", tables.domain("n" * 7, 4), **{"k": 3, "epsilon": 2, "rows": rows,
                                                             **options})

    assert (prior, [named]) == (planned.settings["class_prior"], planned.settings["branches"])
