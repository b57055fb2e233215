"""Law: limits.  What was chosen under limits keeps them, and a refusal says what is true."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow.parquet as pq
import pytest

import naive_disclosure as naive
from forged import claim_of
from naive_containment import feasible, stays
from privsieve.check.table import Opened
from privsieve.containment.choose import exact, greedy, maximal, weights
from privsieve.containment.forward import forward
from privsieve.containment.knowledge import Knowledge
from privsieve.containment.labelled import Labelled, Sensitive
from privsieve.containment.limits import Limits, Method, columns_of, limited
from privsieve.errors import NothingFits
from privsieve.kernels.patterns import Rule
from privsieve.rows.matrix import Items
from real_data import folder
from test_disclosure import naive_groups, rule_of, table_of

MUTUAL = "mutual-information"
METHODS = {
    "greedy": Method(greedy, MUTUAL),
    "distinct": Method(lambda table, rule: greedy(table, rule, "distinct"), "distinct"),
    "forward": Method(forward),
    "maximal": Method(maximal, MUTUAL),
    "exact": Method(exact, MUTUAL),
}


def hard(rng):
    """A random table, its rule and limits that it often misses."""
    while True:
        matrix, table = table_of(rng, rows=int(rng.integers(8, 16)))
        sizes = np.bincount(table.y, minlength=len(table.classes))
        if matrix.shape[1] >= 2 and len(sizes) > 1 and sizes.min() >= 2:
            break
    rule = replace(rule_of(rng, matrix.shape[1], len(table.classes)), k=2)
    return matrix, table, rule, Limits.of(
        distinct=int(rng.integers(1, 3)), share=str(rng.choice(["0.6", "0.8", "1"])),
        entropy=str(rng.choice(["1", "1.2", "1.5"])),
        closeness=str(rng.choice(["0.25", "0.45", "1"])))


def broken(matrix, table, rule, limits, selected):
    """Whether a choice breaks its rule or a limit, from the definitions."""
    rows = [set(np.flatnonzero(row).tolist()) for row in matrix]
    limits_now = (limits.distinct, limits.share, limits.entropy, limits.closeness)
    kept = matrix[:, list(selected)]
    known = rule if rule.absent is None else replace(rule, absent=rule.absent[list(selected)])
    return not feasible(rows, table.y.tolist(), set(selected), rule) or any(
        naive.misses(column.codes.tolist(), group, limits_now, column.ordered)
        for column, role in columns_of(table)
        for each in naive_groups(kept, table, known, role) for group in each)


@pytest.mark.parametrize("name", METHODS)
def test_limits_are_kept(name):
    """No choice of any method breaks k or a limit; a refusal comes where no column alone fits."""
    rng = np.random.default_rng(8)
    chosen = repaired = 0
    for _ in range(36):
        matrix, table, rule, limits = hard(rng)
        if name == "maximal" and rule.model != "containment":
            continue
        free = METHODS[name].choose(table, rule)
        try:
            choice = limited(table, rule, limits, METHODS[name])
        except NothingFits:
            gains = weights(table.items, table.y, rule.classes, MUTUAL).values
            assert all(broken(matrix, table, rule, limits, [j])
                       for j in {*np.flatnonzero(gains).tolist(), *free.selected})
            continue
        chosen += bool(choice.selected)
        repaired += choice.selected != free.selected

        assert not choice.selected or not broken(matrix, table, rule, limits, choice.selected)
        if free.selected and not broken(matrix, table, rule, limits, free.selected):
            assert free.selected == choice.selected
        if choice.bound is not None:
            assert choice.bound == free.bound >= choice.objective
            assert choice.proved == (choice.bound == choice.objective)
    assert chosen > 5
    assert repaired > 2


def stepwise(matrix, table, rule, limits):
    """A greedy choice that looks at the rule and at all limits at each step."""
    gains = weights(table.items, table.y, rule.classes, MUTUAL).values
    accepted = []
    for j in sorted(np.flatnonzero(gains).tolist(), key=lambda j: (-gains[j], j)):
        if not broken(matrix, table, rule, limits, [*accepted, j]):
            accepted.append(j)
    return tuple(sorted(accepted))


def test_greedy_under_monotone_limits_is_a_look_at_each_step():
    """Forbidding what misses a limit first, and choosing again, is greedy choice under it."""
    rng = np.random.default_rng(9)
    forbidden = 0
    for _ in range(40):
        matrix, table, rule, limits = hard(rng)
        limits = limits.monotone(rule)
        expected = stepwise(matrix, table, rule, limits)
        free = METHODS["greedy"].choose(table, rule)
        if not expected or not free.selected:
            continue
        forbidden += expected != free.selected

        assert expected == limited(table, rule, limits, METHODS["greedy"]).selected
    assert forbidden > 1


def test_a_choice_that_may_not_be_made_again_is_repaired():
    """With one run, or with rows that may be left out, the limits hold as well."""
    rng = np.random.default_rng(10)
    hits = 0
    for _ in range(25):
        matrix, table, rule, limits = hard(rng)
        try:
            choice = limited(table, rule, limits, replace(METHODS["greedy"], runs=1))
        except NothingFits:
            continue
        hits += 1

        assert not choice.selected or not broken(matrix, table, rule, limits, choice.selected)
    assert hits > 5


def toy(**options):
    """Six rows of two columns, of which the first tells the class, and a ward."""
    items = Items.dense([[1, 1], [1, 1], [1, 0], [0, 0], [0, 1], [0, 0]], ["cough", "fever"])
    return Labelled(items, np.array([1, 1, 1, 0, 0, 0], np.int32), ("no", "yes"), "ill", **options)


@pytest.mark.parametrize(("options", "least"), [
    ({"share": "0.6"}, "0.666667"), ({"entropy": "1.95"}, "1.889881"),
    ({"closeness": "0.1"}, "0.166667")])
def test_a_refusal_says_what_would_work(options, least):
    """The figure that a refusal names is kept, and a little more than it is not."""
    rule = Rule(k=2, classes=2)
    with pytest.raises(NothingFits, match=r"no set .* found that keeps .* for 'ill'") as refused:
        limited(toy(), rule, Limits.of(**options), METHODS["greedy"])
    [level] = re.findall(r"to at (?:least|most) ([\d.]+)", str(refused.value))
    [name] = options

    assert least == level
    assert (1,) == limited(toy(), rule, Limits.of(**{name: level}), METHODS["greedy"]).selected
    step = Fraction(1, 10**6) * (1 if name == "entropy" else -1)
    with pytest.raises(NothingFits):
        limited(toy(), rule, Limits(**{name: Fraction(level) + step}), METHODS["greedy"])


def test_a_refusal_says_it_of_the_whole_table():
    """Where no column keeps a limit, the sentence has the best figure."""
    ward = Sensitive("ward", np.array([0, 0, 0, 0, 0, 1], np.int32), ("a", "b"))
    with pytest.raises(NothingFits) as refused:
        limited(toy(sensitive=(ward,)), Rule(2, 2), Limits.of(distinct=3), METHODS["greedy"])

    assert str(refused.value) == (
        "no set of columns was found that keeps --l-diversity 3 for 'ill': the smallest number of "
        "values in a group is 2 with the best column; set --l-diversity to at most 2; other limits "
        "or columns may also need weaker limits")


def test_refusals_are_true():
    """Whatever a refusal names on random tables is kept by a column, if nothing else is asked."""
    rng = np.random.default_rng(12)
    refused = 0
    for _ in range(50):
        matrix, table, rule, limits = hard(rng)
        try:
            limited(table, rule, limits, METHODS["greedy"])
        except NothingFits as error:
            message = str(error)
        else:
            continue
        refused += 1
        option, column, figure = re.search(r"(--\S+) \S+ for '(\w+)'.* at (?:least|most) ([\d.]+)",
                                          message).groups()
        name = {"--l-diversity": "distinct", "--max-share": "share", "--entropy-l": "entropy",
                "--closeness": "closeness"}[option]
        weaker = Fraction(figure) if name != "distinct" else int(figure)
        only = table if column == "ill" else replace(table, classes=(0,), y=np.zeros_like(table.y))
        only = replace(only, sensitive=tuple(single_column for single_column in table.sensitive
                                             if single_column.name == column))

        assert any(not broken(matrix, only, rule, Limits(**{name: weaker}), [j])
                   for j in range(matrix.shape[1]))
        if "weaker limits" not in message:
            assert limited(table, rule, replace(limits, **{name: weaker}),
                           METHODS["greedy"]).selected
    assert refused > 20


def test_counted_columns_stay():
    """What was published before is counted in every group, and is never taken away."""
    items = Items.dense([[1, 1, 0], [1, 1, 1], [1, 0, 1], [0, 0, 0], [0, 1, 1], [0, 0, 0]])
    table = replace(toy(), items=items, counted=(2,))
    choice = limited(table, Rule(2, 2), Limits.of(share="0.7"), METHODS["greedy"])

    assert 2 in choice.selected
    assert not broken(items_matrix(items), table, Rule(2, 2), Limits.of(share="0.7"),
                      choice.selected)


def items_matrix(items):
    """The cells of items."""
    values = np.zeros((items.rows, len(items)), int)
    for j in range(len(items)):
        values[items.indices[items.indptr[j]:items.indptr[j + 1]], j] = 1
    return values


def test_sources_are_counted_again():
    """What is added after a repair keeps k sources, too."""
    rng = np.random.default_rng(13)
    hits = 0
    for _ in range(36):
        matrix, table, rule, limits = hard(rng)
        table = replace(table, sources=rng.integers(0, 4, len(table.y)).astype(np.int32))
        try:
            choice = limited(table, rule, limits, METHODS["forward"])
        except NothingFits:
            continue
        if choice.selected:
            hits += 1

            assert not broken(matrix, table, rule, limits, choice.selected)
            assert Knowledge.of(table, rule, choice.selected).groups().level() >= rule.k
    assert hits > 2


def test_rows_may_be_left_out():
    """With rows that may be left out, those that stay keep the limits, counted among themselves."""
    rng = np.random.default_rng(14)
    hits = 0
    for _ in range(36):
        matrix, table, rule, limits = hard(rng)
        rule = replace(rule, suppress=2)
        if rule.suppress > len(table.y) - rule.k:
            continue
        try:
            choice = limited(table, rule, limits, METHODS["greedy"])
        except NothingFits:
            continue
        if not choice.selected:
            continue
        rows = [set(np.flatnonzero(row).tolist()) for row in matrix]
        left = sorted(stays(rows, table.y.tolist(), set(choice.selected), rule))
        rest = replace(table, y=table.y[left], sensitive=tuple(
            replace(column, codes=column.codes[left]) for column in table.sensitive))
        hits += len(left) < len(rows)

        assert len(rows) - len(left) <= 2
        assert not broken(matrix[left], rest, replace(rule, suppress=0), limits, choice.selected)
    assert hits > 3


def real(name):
    """Items of a real table that do not depend on how readers cut, and its classes."""
    table = pq.read_table(folder(name) / "data.parquet")
    if name == "waveform":
        points = {"x7": [0.92, 2.26, 3.95], "x14": [1.46, 2.83, 4.07]}
        codes = [np.digitize(table[column].to_numpy(), cuts) for column, cuts in points.items()]
    else:
        codes = [np.unique(table[column].to_numpy().astype(str), return_inverse=True)[1]
                 for column in ("relationship", "education", "occupation")]
    items = [code == value for code in codes for value in range(code.max() + 1)]
    return Items.dense(np.array(items).T), table["y"].to_numpy().astype(np.int32)


@pytest.mark.parametrize(("name", "k", "least"), [
    ("waveform", 5, Fraction(6, 10)), ("adult", 11, Fraction(1, 10))])
def test_real_groups_tell_more_than_one_class_says(name, k, least):
    """Where no group is of one class, many rows lie in groups of 95 % one; a limit ends that.

    Counted from the published file, as anybody can.
    """
    items, y = real(name)
    rule = Rule(k, 2, l_diversity=2)

    def entropies(choice):
        rows = items.take(choice.selected)
        names = [f"c{j}" for j in range(len(rows))]
        lines = [",".join(map(str, [*row, label])) for row, label in zip(
            items_matrix(rows).tolist(), y.tolist(), strict=True)]
        data = "\n".join([",".join([*names, "y"]), *lines, ""]).encode()
        return Opened.of(data, claim_of(names, target="y")).disclosed("y")

    whole = Labelled(items, y, ("no", "yes"), "y")
    free = entropies(METHODS["greedy"].choose(whole, rule))
    kept = entropies(limited(whole, rule, Limits.of(share="0.9"), METHODS["greedy"]))

    assert free.distinct == 2
    assert free.above["0.95"] > least * len(y)
    assert kept.share <= Fraction(9, 10)
    assert kept.above["0.95"] == 0
