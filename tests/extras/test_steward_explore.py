"""Law: exploring.  The page for who chooses k says what is true of each k, and is for its holder.

What an attacker finds is recounted by loops; an area is honest: labels without meaning give a half.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
import stat
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from naive_containment import group
from privsieve.containment.labelled import Labelled, Sensitive
from privsieve.containment.options import SetOptions
from privsieve.containment.publishable import publishable
from privsieve.errors import ParameterError
from privsieve.extras.steward import explore as command
from privsieve.extras.steward import exploring
from privsieve.extras.steward.curves import (
    Area,
    Attackers,
    ColumnCost,
    CurvePoint,
    Explored,
    ExploreSettings,
    Findable,
    Population,
    Shut,
    Uniques,
    explored_page,
)
from privsieve.extras.steward.exploring import (
    Way,
    area_of,
    costs,
    curve,
    folds,
    honest_area,
    ks_of,
    method_way,
    profile_ways,
)
from privsieve.kernels.patterns import Rule
from privsieve.rows.matrix import Items
from test_report import CLASSES, HOSTILE, harmless

KS = (2, 3, 5, 8)
FLAGS = ("--presences-only", "age,ward")
#: Of the curves that are recounted: each k; and more seconds than any machine needs.
DRAWN, LONG = (3, 5), 6000


def run_explore(rows=160, width=9, seed=1, classes=2, sources=None):
    """Rows whose class follows the first columns."""
    rng = np.random.default_rng(seed)
    held = rng.random((rows, width)) < np.linspace(0.25, 0.6, width)
    score = held[:, :3].sum(axis=1) + rng.normal(0, 0.6, rows)
    y = np.digitize(score, np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1]))
    return Labelled(Items.dense(held), y.astype(np.int32), tuple(range(classes)), "ill", sources)


def rule_of(table, **options):
    """A rule for this table."""
    return Rule(**{"k": 5, "classes": len(table.classes), **options})


def rows_of(items):
    """Rows as sets of items, for loops."""
    rows = [set() for _ in range(items.rows)]
    for j in range(len(items)):
        for row in items.indices[items.indptr[j]:items.indptr[j + 1]]:
            rows[row].add(j)
    return rows


# --- the curve


@pytest.fixture
def unjudged(monkeypatch):
    """No choice is judged: five more choices for each, in a test that asks for no area."""
    monkeypatch.setattr(exploring, "honest_area", lambda *_: None)


@pytest.fixture(scope="module", params=["presences", "absences", "three classes"])
def drawn(request):
    """A table, the ways, and their curve, where no choice is judged."""
    table = run_explore(classes=3 if request.param == "three classes" else 2)
    absent = np.arange(9) % 2 == 0 if request.param == "absences" else None
    ways = profile_ways(rule_of(table, absent=absent))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exploring, "honest_area", lambda *_: None)
        return table, ways, curve(table, ways, DRAWN, 5, LONG)


def test_each_choice_keeps_its_k_by_loops(drawn):
    """The smallest group of each choice is that of loops, and at least k."""
    table, ways, points = drawn
    assert [(way.name, k) for way in ways for k in DRAWN] == [(p.way, p.k) for p in points.points]
    for point in points.points:
        rule = next(way.rule for way in ways if way.name == point.way)
        chosen = points.choices[point.way, point.k].selected
        rows, all_of = rows_of(table.items), set(chosen)
        crowds = [group(rows, i, all_of, rule) for i in range(len(rows))]
        shares = [max(np.bincount(table.y[list(group)])) / len(group) for group in crowds]

        assert min(map(len, crowds)) == point.level
        assert point.level >= point.k
        assert max(shares) == pytest.approx(point.share)
        assert (len(chosen), len({table.items.origin[j] for j in chosen})) == (
            point.items, point.columns)


def test_strangers_are_counted_by_loops(drawn):
    """Rows below k, and alone, are those of loops, with the class and without it."""
    table, _, points = drawn
    for point in points.points:
        own_rows = table.items.take(points.choices[point.way, point.k].selected)
        rows = rows_of(own_rows)
        for known, has, every in (
                (False, point.attackers.has, point.attackers.every),
                (True, point.attackers.has_class, point.attackers.every_class)):
            fits = [[[h for h in range(len(rows)) if (not known or table.y[h] == table.y[i])
                      and same(rows[i], rows[h])] for i in range(len(rows))]
                    for same in (set.__le__, set.__eq__)]
            for fit, crowds in zip((has, every), fits, strict=True):
                sizes = [len(crowd) for crowd in crowds]
                assert sum(size < point.k for size in sizes) == fit.below
                assert sizes.count(1) == fit.alone


def test_what_a_column_costs_is_the_level_without_it(drawn):
    """Without each chosen column the smallest group is that of loops, and no smaller."""
    table, ways, points = drawn
    for way in ways:
        rule = dataclasses.replace(way.rule, k=3)
        chosen = points.choices[way.name, 3].selected
        for cost in costs(table, rule, chosen):
            rest = {j for j in chosen if table.items.origin[j] != cost.name}
            rows = rows_of(table.items)
            level = min(len(group(rows, i, rest, rule)) for i in range(len(rows)))

            assert level == cost.without
            assert level >= points.points[0].k


def test_a_curve_ends_in_time_and_says_what_is_missing(monkeypatch):
    """What there is no time for is left, and said; what was reached is the same as with time."""
    table = run_explore()
    ways = profile_ways(rule_of(table))
    clock = iter(range(10_000))
    monkeypatch.setattr(exploring, "monotonic", lambda: float(next(clock)))
    short, none = curve(table, ways, KS, 5, 12.5), curve(table, ways, KS, 5, -1)
    monkeypatch.setattr(exploring, "monotonic", time.monotonic)
    # what is compared is not judged
    monkeypatch.setattr(exploring, "honest_area", lambda *_: None)
    whole = {(p.way, p.k): p for p in curve(table, ways, KS, 5, LONG).points}

    assert 0 < len(short.points) < len(whole)
    assert ("few", 5) == min((p.way, p.k) for p in short.points if p.way == "few" and p.k == 5)
    assert any("most: no columns were chosen at k = 2, 3, 5, 8" in text for text in short.unreached)
    assert () == none.points
    assert 3 == len(none.unreached)
    for point in short.points:
        kept = whole[point.way, point.k]
        assert vars_of(dataclasses.replace(kept, area=None)) == vars_of(
            dataclasses.replace(point, area=None))


@pytest.mark.parametrize(("seconds", "judged"), [(5.5, False), (6.5, True)])
def test_a_choice_is_judged_if_there_is_time_for_all_folds(monkeypatch, seconds, judged):
    """Where a choice took a second, five more are needed to judge it, or it is not begun."""
    table, clock = run_explore(), [0.0]
    few = profile_ways(rule_of(table), ["few"])[0]

    def choose(table, rule, marked):
        clock[0] += 1
        return few.choose(table, rule, marked)

    monkeypatch.setattr(exploring, "monotonic", lambda: clock[0])
    (point,) = curve(table, [Way("few", few.rule, choose)], (5,), 5, seconds).points
    assert judged == (point.area is not None)
    assert clock[0] <= seconds


def vars_of(noun):
    """A noun as plain values."""
    return dataclasses.asdict(noun)


def test_ctrl_c_keeps_what_was_reached():
    """Somebody who ends the search gets the points of by then."""
    table, seen = run_explore(), []
    few = profile_ways(rule_of(table), ["few"])[0]

    def choose(table, rule, marked):
        seen.append(rule.k)
        if len(seen) == 3:  # after the choices for the first k and the next
            raise KeyboardInterrupt
        return few.choose(table, rule, marked)

    points = curve(table, [Way("few", few.rule, choose)], KS, 5, LONG)
    assert [3, 5] == [point.k for point in points.points]
    assert "Somebody ended the search (Ctrl-C)." == points.unreached[0]


def test_k_is_cut_to_what_the_table_has():
    """No k above the rows, the sources, or (where the class is known) the smallest class."""
    table = run_explore(rows=60)
    small = dataclasses.replace(table, y=(np.arange(60) < 7).astype(np.int32))
    three = dataclasses.replace(table, sources=(np.arange(60) % 3).astype(np.int32))

    assert (2, 3, 4, 5, 8, 10, 11, 20, 50) == ks_of(table, rule_of(table), 4)
    assert (2, 3, 5) == ks_of(small, rule_of(table, labelled=True), 5)
    assert (2, 3) == ks_of(three, rule_of(table), 2)
    with pytest.raises(ParameterError, match="k is 61; with 60 rows it can be 2 to 60"):
        ks_of(table, rule_of(table), 61)
    with pytest.raises(ParameterError, match="with 7 rows in the smallest class"):
        ks_of(small, rule_of(table, labelled=True), 8)


@pytest.mark.usefixtures("unjudged")
def test_sources_are_counted_where_rows_are_of_persons():
    """Groups, attackers and folds are of sources, where a person has several rows."""
    sources = (np.arange(160) // 4).astype(np.int32)
    table = run_explore(sources=sources)
    points = curve(table, profile_ways(rule_of(table)), (2, 5), 5, LONG)
    by_source = {int(s): set(folds(table)[sources == s]) for s in range(40)}

    assert {1} == {len(source) for source in by_source.values()}
    assert {"few", "strict"} == {point.way for point in points.points}
    assert any("most, k = 2: " in text and "sources" in text for text in points.unreached)
    for point in points.points:
        rows, of = rows_of(table.items.take(points.choices[point.way, point.k].selected)), point
        sizes = [len({int(sources[h]) for h in range(160) if rows[i] <= rows[h]})
                 for i in range(160)]
        assert sum(size < of.k for size in sizes) == of.attackers.has.below == 0


@pytest.mark.parametrize("method", ["greedy", "maximal", "exact"])
def test_a_method_is_explored_as_it_publishes(method):
    """Where a method is named the curve is that of the method."""
    table = run_explore(rows=80, width=6)
    way = method_way(rule_of(table), method, "mutual-information", 60)
    points = curve(table, [way], (2, 5), 5, LONG)

    assert [(method, 2), (method, 5)] == [(point.way, point.k) for point in points.points]
    assert all(point.level >= point.k and point.area for point in points.points)


# --- the honest area


def test_labels_that_say_nothing_give_a_half():
    """With shuffled labels the honest area is a half, but for .06; on all rows it is not.

    The other way of judging, columns that were chosen with the labels of all rows, shows that the
    test can fail: on the same noise it is far above a half.
    """
    rng = np.random.default_rng(11)
    items = Items.dense(rng.random((300, 120)) < 0.3)
    table = Labelled(items, rng.permutation(np.arange(300) % 2).astype(np.int32), (0, 1))
    rule = rule_of(table)
    everything = publishable(table, rule, "few")
    honest = honest_area(table, lambda marked: publishable(
        replace(table, marked=marked), rule, "few"))
    leaky = honest_area(table, lambda _: everything)

    assert abs(honest.mean - 0.5) < 0.06
    assert leaky.mean > 0.6
    assert honest.least <= honest.mean <= honest.largest


def test_no_choice_sees_the_rows_that_judge_it():
    """Each fold is chosen without its labels: another label there changes no choice."""
    table, seen = run_explore(), []
    honest_area(table, lambda marked: seen.append(marked) or publishable(
        replace(table, marked=marked), rule_of(table), "strict"))

    assert 5 == len(seen)
    assert [1] * table.items.rows == sum(~marked for marked in seen).astype(int).tolist()
    for at, marked in enumerate(seen):
        turned = np.where(marked, table.y, 1 - table.y).astype(np.int32)
        first, second = (publishable(replace(table, y=y, marked=marked), rule_of(table),
                                     "strict").selected for y in (table.y, turned))
        assert first == second, at


def test_folds_follow_from_the_place_of_a_row():
    """The same place is in the same fold in any table, and folds are about equal."""
    many = folds(run_explore(rows=5000))

    assert many[:160].tolist() == folds(run_explore()).tolist()
    assert 5 == len(np.unique(many))
    assert np.bincount(many).min() > 900


def test_an_area_is_that_of_all_rows_one_by_one():
    """Equal rows fitted once, with their number, give the area of scikit-learn on all rows."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    for classes in (2, 3):
        table = run_explore(rows=500, width=5, classes=classes)
        dense = np.zeros((500, 5))
        for row, held in enumerate(rows_of(table.items)):
            dense[row, list(held)] = 1
        marked = folds(table) != 2
        model = LogisticRegression(max_iter=2000).fit(dense[marked], table.y[marked])
        score = model.decision_function(dense[~marked])
        whole = [roc_auc_score(table.y[~marked] == c, score if classes == 2 else score[:, c])
                 for c in range(1 if classes == 2 else 0, classes)]

        assert np.mean(whole) == pytest.approx(area_of(table.items, table.y, marked), abs=2e-3)


def test_what_cannot_be_judged_is_not(monkeypatch):
    """One class, a fold without two classes, a choice too large: no area; no column: a half."""
    table = run_explore()
    nobody = dataclasses.replace(table, y=np.zeros(160, np.int32))
    rare = dataclasses.replace(table, y=(np.arange(160) == 0).astype(np.int32))
    none = exploring.profile_ways(rule_of(table))[0]

    def everything(marked):
        return dataclasses.replace(none.choose(table, rule_of(table), marked),
                                   selected=tuple(range(9)))

    assert honest_area(nobody, everything) is None
    assert honest_area(rare, everything) is None
    assert area_of(table.items.take([]), table.y, folds(table) != 1) == 0.5
    monkeypatch.setattr(exploring, "MOST_CELLS", 8)
    assert honest_area(table, everything) is None


# --- the page


def explore_page(text="age", **options):
    """A page with an outsider's text wherever a text can be."""
    settings = ExploreSettings(k=5, named=True, way="few", rows=100, items=9, columns=4, classes=2,
                  both=(text, "b"), presences=("c",), sensitive=(text,), target=text,
                  published=True, limits=("--max-share",))
    of = Attackers(Findable(0, 0), Findable(3, 1), Findable(8, 2), Findable(9, 4))
    points = tuple(CurvePoint(way, k, 2, 3, k + 1, way != "most", of, 0.8,
                         Area(0.7 + k / 100, 0.7, 0.9, 5) if k < 8 else None)
                   for way in ("few", "most") for k in KS if (way, k) != ("most", 8))
    return Explored(**{
        "settings": settings, "ks": KS, "ways": ("few", "most"), "points": points,
        "names": (text, "b", "c"), "costs": (ColumnCost(text, 9, 2), ColumnCost("b", 6, 1)),
        "shut": (Shut(text, 4, 3, 0), Shut("d", 2, 9, 1)), "passed_over": 2,
        "population": Population(1000, (Uniques("few", 1, 4, 0.4, 0.4, 0.03),
                                        Uniques("all columns", 0, 4, 0.0, None, None))),
        "unreached": ("most: no columns were chosen at k = 8, because the time ran out.",),
        "seconds": 60, **options})


@pytest.mark.parametrize("text", HOSTILE)
def test_the_page_is_harmless(text):
    """No script, no reference outside, nothing of a name that runs; it is marked as private."""
    page = harmless(explored_page(explore_page(text)))

    assert "DO NOT RELEASE" in page.words
    assert page.titles[0].startswith("PRIVATE, do not release")
    assert {value for _, key, value in page.attributes if key == "class"} <= {
        *CLASSES, "long ks", "key", "officer", "f4", "s1", "s2", "s3"}
    assert 1 == len({value for _, key, value in page.attributes
                     if key == "class" and value == "internal"})


def test_the_page_says_its_figures():
    """Every figure of the nouns that a steward needs stands on the page, and what is missing."""
    words = harmless(explored_page(explore_page())).words

    for fact in ("100 rows, 4 columns", "2 (3)", "0.750", "0.700\u20130.900", "not reached",
                 "2 (3; cut)",
                 "3; 1 alone", "8; 2 alone", "9; 4 alone", "80.0 %", "about 1 (100 %)", "3 %",
                 "10 %", "no columns were chosen at k = 8", "smallest group has 6 rows",
                 "Is a group of 6 large enough", "--max-share", "Zayatz (1991)",
                 "Skinner and Elliot (2002)", "No outsider knows the class of a person.",
                 "1 time in 6", "Name and office", "2 more are not shown"):
        assert fact in words, fact
    assert 3 == words.count("not reached")  # the curve, the shares, and the heading of why
    assert "None" not in words
    assert "nan" not in words.split()


def test_a_page_of_nothing_is_a_page():
    """Where no column fits, nothing is drawn that is not there, and the page says it."""
    empty = explore_page(points=(), costs=(), shut=(), names=(), population=None)
    words = harmless(explored_page(empty)).words

    assert "At k = 5 no column fits (few)." in words
    assert "no column of this table could be published" in words
    assert "You did not say how many people there are" in words


def test_nouns_print_nothing():
    """What the page holds is not shown by a repr."""
    assert "4711" not in repr(explore_page("4711"))


# --- the command


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a table."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    lines = ["age,dose,ward,smoker,ill"]
    for _ in range(200):
        dose = rng.integers(0, 10)
        ill = "yes" if dose + rng.integers(-2, 3) > 5 else "no"
        lines.append(f"{rng.integers(18, 90)},{dose},{rng.choice(list('ABC'))},"
                     f"{rng.integers(0, 2)},{ill}")
    Path("t.csv").write_text("\n".join([*lines, ""]))
    return tmp_path


def files(folder="."):
    """The names in a folder."""
    return {path.name for path in Path(folder).iterdir()}


def call(*args):
    """Run the command; a refusal is raised as it is."""
    command.command.main(["t.csv", "--target", "ill", *map(str, args)], standalone_mode=False)


def test_exploring_writes_one_private_file_and_publishes_nothing(here, capsys):
    """One new file, for its owner alone; the same table gives the same page; nothing else."""
    common = ("-k", 11, "--population-size", 2000, "--method", "greedy", *FLAGS)
    call("--out", "one.html", *common)
    call("--out", "two.html", *common)

    assert {"t.csv", "one.html", "two.html"} == files()
    assert 0o600 == stat.S_IMODE(Path("one.html").stat().st_mode)
    assert Path("one.html").read_bytes() == Path("two.html").read_bytes()
    page = harmless(Path("one.html").read_bytes())
    assert "k of 2, 3, 5, 8, 10, 11, 20, 50, 100; greedy." in page.words
    assert "The table holds 200 of 2,000 people: 10 %." in page.words
    assert "and for dose, smoker also what the person lacks" in page.words
    output = capsys.readouterr()
    assert "" == output.out
    assert "PRIVATE: do not release" in output.err


def test_what_is_refused_leaves_no_file(here):
    """A file that exists, a k that cannot be, too few people: one sentence, and no new file."""
    Path("old.html").write_text("mine")
    for options, says in (
            (("--out", "old.html", "-k", 5), "exists and is not overwritten"),
            (("--out", "new.html", "-k", 201), "k is 201; with 200 rows it can be 2 to 200"),
            (("--out", "new.html", "-k", 1), "k is 1; with 200 rows"),
            (("--out", "new.html", "--seconds", 0), "--seconds is 0; give 1 or more"),
            (("--out", "new.html", "--population-size", 9), "give at least 200"),
            (("--out", "new.html", "--source", "age", "--population-size", 900), "--source")):
        with pytest.raises(ParameterError, match=says):
            call(*options)
        assert {"t.csv", "old.html"} == files()
    assert "mine" == Path("old.html").read_text()
    with pytest.raises(ParameterError, match="with at least two classes"):
        command.command.main(["t.csv", "--out", "new.html", "--method", "greedy", "--weights",
                              "even"], standalone_mode=False)
    assert {"t.csv", "old.html"} == files()


@pytest.mark.usefixtures("here", "unjudged")
def test_without_a_k_the_usual_one_is_taken_and_said():
    """Nobody has to name a k to see the curve."""
    call("--out", "one.html", "--profile", "strict", "--publish-target", "--seconds", LONG)
    words = harmless(Path("one.html").read_bytes()).words
    assert "k of 2, 3, 5, 8, 10, 11, 20, 50; few, strict and most." in words

    assert "You gave no k for the tables below: 5 is used." in words
    assert "For k = 5, strict." in words
    assert "with the class of each row" in words


@pytest.mark.usefixtures("here", "unjudged")
def test_a_way_that_cannot_be_gone_is_refused_with_its_reason():
    """Where the profile that was asked for is refused, no page is left behind."""
    table = run_explore(rows=60, sources=(np.arange(60) % 30).astype(np.int32))
    page = command.EachOptions(k=5, out="one.html")
    with pytest.raises(ParameterError, match=r"most, k = 5: .*choose 'few'"):
        command.explore(table, rule_of(table), SetOptions(profile="most"), page)
    assert {"t.csv"} == files()


def test_a_sensitive_column_is_said_and_never_chosen():
    """What must not be learned is named on the page."""
    table = run_explore()
    secret = Sensitive("income", np.zeros(160, np.int32), ("low",))
    settings = command._settings_of(dataclasses.replace(table, sensitive=(secret,)),
                           rule_of(table, labelled=True), SetOptions(closeness="0.3"), named=False)

    assert (("income",), True, ("--closeness",)) == (settings.sensitive, settings.known,
                                                     settings.limits)


# --- the document


@pytest.mark.slow
def test_the_figures_of_choosing_k_are_those_of_its_run(tmp_path, monkeypatch):
    """docs/k-anonymity.md: its table, and what it says of all people, are those of its command."""
    text = (Path(__file__).parents[2] / "docs" / "k-anonymity.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], {})
    line = re.search(r"^privsieve explore (.*)$", text, re.MULTILINE)[1]
    seen = []
    monkeypatch.setattr(command, "explored_page", lambda facts: seen.append(facts) or b"page")
    monkeypatch.setattr(command, "_ways", lambda rule, options: profile_ways(rule, ["few"]))
    listed = (2, 11, 100)  # of nine; a choice that changes is seen at one of them
    monkeypatch.setattr(command, "ks_of", lambda *_: listed)
    command.command.main(shlex.split(line), standalone_mode=False)

    head = text.index("| k | columns (yes/no items)")
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in text[head:].partition("\n\n")[0].splitlines()[2:]]
    rows = [row for row in rows if int(row[0]) in listed]
    assert [[str(k), f"{p.columns} ({p.items})", str(p.level), f"{p.area.mean:.3f}",
             str(p.attackers.every_class.below)]
            for k in listed for p in [seen[0].point("few", k)]] == rows
    every = seen[0].population.uniques[-1]
    words = " ".join(text.split())
    assert (f"{every.alone} rows have no equal on all columns. About {int(every.unique) + 1} of "
            f"them are unique among 60,000 people, and a match is right in "
            f"{int(100 * every.right) + 1} of 100 cases") in words


def test_thresholds_of_others_are_the_same_in_page_and_document():
    """The page and docs/k-anonymity.md name the same k, and the same sources."""
    text = (Path(__file__).parents[2] / "docs" / "k-anonymity.md").read_text(encoding="utf-8")
    page = harmless(explored_page(explore_page())).words

    for k, source in (("3", "OECD Glossary of Statistical Terms"), ("5", "Cell Size Precedents"),
                      ("10", "10 threshold rule"), ("11", "CMS Cell Size Suppression Policy"),
                      ("20", "El Emam, as above")):
        assert re.search(rf"^\| {k} \|.*{source}", text, re.MULTILINE)
        assert source in page
