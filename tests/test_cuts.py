"""Law: cut points and classes.  No name holds what belongs to fewer than k rows."""


import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from naive_cuts import bins, enough, period, public, shared, shared_date
from privsieve.containment.labelled import Labelled
from privsieve.containment.limits import disclosures
from privsieve.errors import ParameterError, PrivsieveError, SchemaError
from privsieve.kernels.patterns import Rule
from privsieve.public.columns import Category, Date, Flag, Label, Number
from privsieve.public.domain import Domain
from privsieve.rows.cells import encoder
from privsieve.rows.cutting import Cutting, shared_cuts
from privsieve.rows.items import Reading, items_of, table_of
from privsieve.rows.matrix import Items


def drawn(rng):
    """A column of one of many shapes, and whose its rows are."""
    n = int(rng.integers(1, 90))
    shape = rng.integers(0, 9)
    values = [lambda: rng.integers(0, 12, n).astype(float),
              lambda: np.where(rng.random(n) < 0.8, 0, np.round(rng.uniform(1e4, 9e4, n), 2)),
              lambda: np.where(rng.random(n) < 0.8, 0, -np.round(rng.exponential(3, n), 3)),
              lambda: np.round(np.exp(rng.normal(0, 4, n)), 4),
              lambda: np.round(rng.normal(0, 1, n), int(rng.integers(0, 6))),
              lambda: 2.0**rng.integers(-9, 30, n),
              lambda: np.repeat(rng.normal(0, 50, n // 3 + 1), 3)[:n],
              lambda: rng.choice([99.0, 100.0, 1e8], n, p=[0.1, 0.8, 0.1]) + rng.integers(0, 2, n),
              lambda: np.round(rng.uniform(1990, 2020, n))][shape]()
    values = np.where(rng.random(n) < 0.1, np.nan, values)
    whose = rng.integers(0, max(1, n // 2), n) if rng.random() < 0.3 else np.arange(n)
    return values, whose


def test_cuts_are_shared():
    """Each cut is a round value to which k rows round down, or public; each bin holds k rows."""
    rng = np.random.default_rng(11)
    count = 0
    for _ in range(150):
        values, whose = drawn(rng)
        k = int(rng.integers(1, 12))
        cuts = shared_cuts(values, Cutting(int(rng.integers(2, 6)), k, whose))
        count += len(cuts)

        assert sorted(set(cuts)) == cuts
        # At public points where no cut is shared.
        assert all(shared(values.tolist(), cut, whose, k) for cut in cuts) or all(map(public, cuts))
        assert not cuts or all(enough(rows, whose, k) for rows in bins(values, cuts))

    assert count > 110


def test_dates_are_cut_at_months_years_or_decades():
    """Each cut of dates begins a period in which k rows lie; never a day of its own."""
    rng = np.random.default_rng(12)
    kinds_of_cuts = set()
    for _ in range(100):
        n = int(rng.integers(1, 120))
        days = rng.integers(0, rng.choice([40, 800, 20000]), n) + rng.choice([0, 0.5, -9000])
        days = np.where(rng.random(n) < 0.1, np.nan, days)
        k = int(rng.integers(1, 9))
        cuts = shared_cuts(days, Cutting(4, k), dates=True)

        decades = all(period(cut, "decade") == np.datetime64(int(cut), "D").astype(object)
                      for cut in cuts)
        assert decades or all(shared_date(days.tolist(), cut, range(n), k) for cut in cuts)
        assert not cuts or all(enough(rows, range(n), k) for rows in bins(days, cuts))
        kinds_of_cuts |= {str(np.datetime64(int(cut), "D"))[5:] for cut in cuts}

    assert {"01"} == {day[3:] for day in kinds_of_cuts}
    assert "07-01" in kinds_of_cuts


@pytest.mark.parametrize(("values", "k", "cuts"), [
    (range(9), 5, []),
    ([3] * 40, 5, []),
    ([0] * 40 + [7] * 4, 5, []),
    ([0] * 40 + [7] * 5, 5, [7]),
    ([-7] * 5 + [0] * 40, 5, [0]),
    ([0] * 75 + list(range(1000, 1025)), 5, [1000]),
    ([2.0**j for j in range(12)], 5, [100]),
    ([1e9] * 10 + list(range(100)), 5, [25, 55, 80]),
    ([1e15 + j for j in range(60)], 5, [1e15 + 15, 1e15 + 30, 1e15 + 45]),
    ([-1.7e308] * 9 + [5e-324] * 9 + [1.7e308] * 9, 5, [0, 1.7e308]),
    ([0.1, 0.2, 0.3] * 20, 5, [0.2, 0.3]),
    (np.array([0.1, 0.2, 0.3] * 20, np.float32).astype(float), 21, []),
])
def test_cuts_of_some_columns(values, k, cuts):
    """Few rows, a constant, a mass point, far and odd values: each column has its cuts."""
    assert cuts == shared_cuts(np.array([*values], float), Cutting(4, k))


def test_the_last_bin_and_the_first_say_nothing_of_few():
    """Moving the k - 1 largest and smallest values as far as one likes moves no cut."""
    rng = np.random.default_rng(4)
    for _ in range(100):
        values = np.sort(np.round(rng.normal(50, 20, 200)))
        far = values.copy()
        far[:4], far[-4:] = -1e12, 1e12

        assert shared_cuts(values, Cutting(4, 5)) == shared_cuts(far, Cutting(4, 5))


def test_k_counts_persons():
    """A value that one person repeats is shared by one."""
    values = np.array([1.0] * 20 + [7.25] * 20)
    whose = np.array([*range(20), *[20] * 20])

    assert [7.25] == shared_cuts(values, Cutting(4, 5))
    assert [] == shared_cuts(values, Cutting(4, 5, whose))
    assert () == table_of(pd.DataFrame({"a": values}), None, Reading(sources=whose)).items.names
    with pytest.raises(SchemaError, match="the sources and the table have different numbers"):
        table_of(pd.DataFrame({"a": values}), None, Reading(sources=whose[1:]))


AGES = pd.DataFrame({"age": [*range(18, 68)] * 2, "ill": ["no", "yes"] * 50})


def test_cuts_come_from_the_domain():
    """A domain's cut points are used as they are, and --cut comes before them."""
    domain = Domain([Number("age", 0, 110, cuts=[18, 65])], target=Label("ill", ["no", "yes"]))

    assert ("age<18", "age=18..65", "age>=65") == items_of(AGES, domain=domain)[0].names
    assert ("age<40", "age>=40") == items_of(AGES, domain=domain, columns={"age": [40]})[0].names
    for cuts in ([40, 111], [-1]):
        with pytest.raises(ParameterError, match="outside its bounds in the domain, 0 to 110"):
            items_of(AGES, domain=domain, columns={"age": cuts})
    for k in (0, -1, "5", True, 2.0):
        with pytest.raises(ParameterError, match="a group of one protects nobody"):
            items_of(AGES, k=k)


def test_methods_with_noise_do_not_ask_for_cuts():
    """Codes of a column are the same with cut points and roles, and without."""
    cells = ["3", "17", "x", None, "200"]
    for column, other in (
            (Number("a", 0, 110), Number("a", 0, 110, cuts=[18], role="sensitive")),
            (Flag("a", true="ja"), Flag("a", true="ja", role="both")),
            (Category("a", [3, 17]), Category("a", [3, 17], "presences"))):
        assert encoder(column, ".")(cells).tolist() == encoder(other, ".")(cells).tolist()


DATES = pd.DataFrame({"d": [f"2020-{1 + j % 12:02d}-{1 + j % 28:02d}" for j in range(84)]})


def test_dates_are_cut_as_asked():
    """Points of dates, with a domain or without, and no text that is no date."""
    import datetime as dt

    domain = Domain([Date("d", "2020-01-01", "2020-12-31", cuts=["2020-07-01"])])
    at = dt.date(2020, 7, 1)
    noon = dt.datetime(2020, 7, 1, 12)  # noqa: DTZ001
    both = ("d<2020-07-01", "d>=2020-07-01")

    assert both == items_of(DATES, domain=domain)[0].names
    assert both == items_of(DATES, columns={"d": [at]})[0].names
    assert items_of(DATES, domain=domain)[0].indices.tolist() == items_of(
        DATES, columns={"d": [at]})[0].indices.tolist()
    assert ("d<2020-07-01T12:00:00", "d>=2020-07-01T12:00:00") == items_of(
        DATES, columns={"d": [noon]})[0].names
    with pytest.raises(SchemaError, match="cells are not dates"):
        items_of(pd.DataFrame({"d": ["soon", "5"]}), columns={"d": [at]})
    with pytest.raises(ParameterError, match="outside its bounds in the domain, 2020-01"):
        items_of(DATES, domain=domain, columns={"d": ["2021-07-01"]})


def test_classes_that_are_dates():
    """Two moments of one day are two classes, and have two names."""
    moments = pd.to_datetime(["2020-01-01T08:00", "2020-01-01T09:00", "2020-01-02T00:00"])

    assert ("2020-01-01T08:00:00", "2020-01-01T09:00:00", "2020-01-02") == items_of(
        pd.DataFrame({"a": [0, 1, 1], "y": moments}), "y")[2]
    assert ("01", "1") == items_of(pd.DataFrame({"a": [0, 1], "y": ["01", "1"]}), "y")[2]


def test_levels_in_any_spelling():
    """Listed levels are found as a domain's values are: 1.0 is 1, true is 1 and True."""
    cells = ["1", "1.0", "+1", "True", "01", "x"]
    for level in ("1", "1.0", 1, 1.0, "+1"):
        items, _, _ = items_of(pd.DataFrame({"a": cells}), columns={"a": [str(level), "x"]})
        assert (("a=1", "a=x"), [0, 1, 2, 3, 5]) == (items.names, items.indices.tolist())
    items, _, _ = items_of(pd.DataFrame({"a": cells}), columns={"a": ["true", "1.0", "1"]})
    assert (("a=true", "a=1"), [0, 1, 2]) == (items.names, items.indices.tolist())
    items, _, _ = items_of(pd.DataFrame({"a": [1.0, 2.5, 3.0]}), columns={"a": ["1.0", "2.5"]})
    assert (("a=1", "a=2.5"), [0, 1]) == (items.names, items.indices.tolist())


SALARIES = pd.DataFrame({"a": [0, 1] * 60, "salary": [20000 + 350 * j for j in range(120)],
                         "job": [f"job {j % 9}" for j in range(120)]})


@pytest.mark.parametrize("y", ["salary", "id", "when"])
def test_an_identifier_is_no_target(y):
    """A target that differs in almost every row from the others is refused, with the ways out."""
    frame = SALARIES.assign(id=range(120), when=pd.date_range("2020-01-01", periods=120))
    with pytest.raises(SchemaError) as caught:
        items_of(frame, y, columns=["a"])

    for word in (f"target {y!r}", "identifier", "choose another target", f"--cut {y}=",
                 f"--levels {y}="):
        assert word in str(caught.value)
    with pytest.raises(SchemaError, match="like an identifier"):
        items_of(np.zeros((60, 2), int), [f"p{j}" for j in range(60)])


def test_targets_are_cut_and_merged():
    """A target that is cut has its bins as classes; of listed levels all others are one class."""
    rows = np.arange(120)
    for columns in ({"salary": [30000, 50000]}, {"salary": [30000, 50000], ...: None}):
        items, y, classes = items_of(SALARIES, "salary", columns=columns)
        assert ("salary<30000", "salary=30000..50000", "salary>=50000") == classes
        assert np.searchsorted([30000, 50000], 20000 + 350 * rows, "right").tolist() == y.tolist()
        assert "salary" not in items.origin
    assert ("salary=10000..30000", "salary>=30000") == items_of(
        SALARIES, "salary", columns={"salary": [10000, 30000], ...: None})[2][-2:]
    assert ("salary<41000", "salary>=41000") == items_of(
        SALARIES, "salary", columns={"salary": 2, ...: None}, k=2)[2]
    items, y, classes = items_of(SALARIES, "job", columns={"job": ["job 3", "job 1"], "a": None})
    assert (("job 3", "job 1", "other"), ("a",)) == (classes, items.names)
    assert [{3: 0, 1: 1}.get(row % 9, 2) for row in rows] == y.tolist()
    for how, text in (([50000, 30000], "in increasing order"),
                      (object(), "write None")):
        with pytest.raises(PrivsieveError, match=text):
            items_of(SALARIES, "salary", columns={"salary": how})
    with pytest.raises(SchemaError, match="has no cut point with enough rows"):
        items_of(SALARIES, "salary", columns={"salary": 4}, k=70)


def test_classes_that_came_apart_are_cut_and_merged(tmp_path):
    """The ways out of a refusal are there for labels of arrays, lists and files, too."""
    y = np.arange(60) + 0.5
    matrix = np.array([[j % 2, 1] for j in range(60)])
    np.savez(tmp_path / "t.npz", X=matrix, y=y)
    (tmp_path / "t.dat").write_text("".join(f"{j} 7\n" for j in range(60)))
    cut = [0] * 20 + [1] * 40
    for X, label, name in ((matrix, y, "y"), (tmp_path / "t.npz", None, "y"),
                           (tmp_path / "t.dat", "first", "first"),
                           (pd.DataFrame({"a": matrix[:, 0]}), y, "y")):
        with pytest.raises(SchemaError, match=f"the target '{name}' differs in almost every row"):
            items_of(X, label)
        for columns in ({name: [20]}, {name: [20], ...: None}):
            items, actual_items, classes = items_of(X, label, columns=columns)
            assert ((f"{name}<20", f"{name}>=20"), cut) == (classes, actual_items.tolist())
            assert len(items)
    assert 2 == len(items_of(tmp_path / "t.npz", ["no", "yes"] * 30)[2])
    actual_items = table_of(pd.DataFrame({"a": matrix[:, 0], "pay": y}), y, Reading(
        columns={"pay": [20], ...: None}, target="pay"))
    assert (("a",), ("pay<20", "pay>=20")) == (actual_items.items.names, actual_items.classes)
    frame = pd.DataFrame({"a": [0, 1], "y": [1, 0]})
    assert ("a", "y") == items_of(frame, ["no", "yes"])[0].names


def test_a_target_of_the_domain_is_read_by_it():
    """Labels in any spelling, unknown ones the default; a number is cut, missing is the middle."""
    frame = pd.DataFrame({"f": ["1", "0"] * 3, "y": ["True", "1.0", "0", "?", None, "FALSE"]})
    flag = Flag("f")
    for default, y in ((False, [1, 1, 0, 0, 0, 0]), (True, [1, 1, 0, 1, 1, 0])):
        domain = Domain([flag], target=Label("y", [False, True], default))
        _, items, classes = items_of(frame, domain=domain)
        assert (y, (False, True)) == (items.tolist(), classes)
        apart = items_of(frame[["f"]], frame["y"], domain=domain)
        assert (y, (False, True)) == (apart[1].tolist(), apart[2])
    assert (0,) == items_of(frame.assign(y="0"), domain=Domain(
        [flag], target=Label("y", [1, 0])))[2]
    frame["y"] = ["10", "90", "x", None, "40", "1000"]
    for column, y, classes in (
            (Number("y", 0, 100, cuts=[50]), [0, 1, 1, 1, 0, 1], ("y<50", "y>=50")),
            (Number("y", 1, 100, "log", cuts=[20]), [0, 1, 0, 0, 1, 1], ("y<20", "y>=20")),
            (Number("y", 0, 100, missing="level", cuts=[50]), [0, 1, 2, 2, 0, 1],
             ("y<50", "y>=50", "y=missing"))):
        items = items_of(frame, domain=Domain([flag], target=column))
        assert (y, classes) == (items[1].tolist(), items[2])


def test_sensitive_columns_are_values():
    """Texts as they are, numbers and dates in order, bins where they are cut, missing last."""
    frame = pd.DataFrame({
        "a": [0, 1, 1, 0], "ill": ["flu", None, "aids", "flu"], "pay": [900, 70000, None, 900.5],
        "day": pd.to_datetime(["2020-02-01", None, "2019-01-01", "2020-02-01"])})
    table = table_of(frame, None, Reading(sensitive=("pay", "ill", "day")))

    assert ("a",) == table.items.names
    assert [("pay", ("900", "900.5", "70000", "missing"), [0, 2, 3, 1], True),
            ("ill", ("aids", "flu", "missing"), [1, 2, 0, 1], False),
            ("day", ("2019-01-01", "2020-02-01", "missing"), [1, 2, 0, 1], False)] == [
        (column.name, column.values, column.codes.tolist(), column.ordered)
        for column in table.sensitive]
    for columns in ({"pay": [1000]}, {"pay": [1000], "ill": ["flu"], ...: None}):
        cut = table_of(frame, None, Reading(columns=columns, sensitive=("pay", "ill"))).sensitive
        assert (("pay<1000", "pay>=1000", "missing"), [0, 1, 2, 0], False) == (
            cut[0].values, cut[0].codes.tolist(), cut[0].ordered)
    assert (("flu", "other", "missing"), [0, 2, 1, 0]) == (cut[1].values, cut[1].codes.tolist())


@pytest.mark.parametrize("yes_no", [
    ("no", "yes"), (0.0, 1.0), ("0", "1"), (False, True), (1, 2), ("2019-01-01", "2020-01-01"),
    (pd.Timestamp("2019-01-01"), pd.Timestamp("2020-01-01"))], ids=str)
@pytest.mark.parametrize("how", ["as it is", "file", "cut"])
def test_two_values_have_no_order(yes_no, how, tmp_path):
    """A group of yes alone is as far from the table in any spelling, with missing cells or not."""
    cells = [*[yes_no[0]] * 6, *[yes_no[1]] * 3, None]
    frame = pd.DataFrame({"a": [0] * 8 + [1] * 2, "flag": pd.Series(cells)})
    columns, data = None, frame
    if how == "file":
        data = tmp_path / "t.csv"
        frame.to_csv(data, index=False)
    elif how == "cut" and isinstance(yes_no[1], float | int) and not isinstance(yes_no[1], bool):
        columns = {"flag": [yes_no[1]], ...: None}
    flag = table_of(data, None, Reading(columns=columns, sensitive=("flag",))).sensitive[0]
    labelled = Labelled(Items.dense(frame[["a"]].to_numpy(), ["a"]), np.zeros(10, np.int32),
                        (None,),
                        sensitive=(flag,))
    disclosures_read = disclosures(labelled, Rule(2, 1, absent=np.ones(1, np.bool_)))

    # of a = 1: one yes and one missing of 2; of all: 6, 3 and 1 of 10
    assert ["0.6"] == [disclosure.json()["closeness"] for disclosure in disclosures_read]
    assert not flag.ordered


def test_sensitive_columns_of_a_domain():
    """A column with the role is read apart from the items; the caller may say otherwise."""
    frame = pd.DataFrame({"a": ["1", "0", "1"], "w": ["A", "Z", None], "n": ["5", "5.0", "900"],
                          "s": ["ja", "?", None], "y": [0, 1, 1]})
    domain = Domain([Flag("a"), Category("w", ["A", "B"], role="sensitive"),
                     Number("n", 0, 100, role="sensitive"),
                     Flag("s", true="ja", role="sensitive")], target=Label("y", [0, 1]))
    table = table_of(frame, None, Reading(domain))

    assert ("a",) == table.items.names
    assert [("w", ("A", "other", "missing"), [0, 1, 2]), ("n", ("5", "100"), [0, 0, 1]),
            ("s", ("no", "yes"), [1, 0, 0])] == [
        (column.name, column.values, column.codes.tolist()) for column in table.sensitive]
    assert ("a", "w=A", "w=B", "s") == table_of(frame, None, Reading(
        domain, sensitive=())).items.names
    assert ("a",) == items_of(frame, domain=domain)[0].names


@pytest.mark.parametrize(("sensitive", "columns", "text"), [
    (("y",), None, "column 'y' is the target"),
    (("z",), None, "column 'z' is not in the table"),
    ("a", None, "sensitive is a text; give a list of names"),
    (("n",), None, "more than 1000 values; cut it"),
    (("n", "a"), None, "no column is left"),
])
def test_sensitive_columns_are_refused_in_words(sensitive, columns, text):
    """The target, an unknown column, too many values: no sensitive column."""
    frame = pd.DataFrame({"a": [0, 1] * 550, "n": [f"n{j}" for j in range(1100)],
                          "y": ["no", "yes"] * 550})
    with pytest.raises(PrivsieveError, match=text):
        table_of(frame, "y", Reading(columns=columns, sensitive=sensitive))


def test_sensitive_items_of_a_table_without_cells():
    """A column of zeros and ones is yes or no, and no longer among the items."""
    matrix = np.array([[1, 0, 1], [0, 0, 1]])
    table = table_of(matrix, None, Reading(sensitive=["x2", "x0"]))

    assert (("x1",), (True,)) == (table.items.names, table.items.absent)
    assert [("x2", ("no", "yes"), [1, 1]), ("x0", ("no", "yes"), [1, 0])] == [
        (column.name, column.values, column.codes.tolist()) for column in table.sensitive]
    with pytest.raises(SchemaError, match="'x9' is not in the table"):
        table_of(matrix, None, Reading(sensitive=["x9"]))


def test_absences_are_known_of_cells():
    """Items of a table of cells say so, those of sparse matrices and lines do not."""
    frame = pd.DataFrame({"a": [0, 1, 1], "w": ["A", "B", None]})
    items, _, _ = items_of(frame, missing="level")

    assert (True,) * 5 == items.absent
    assert (True, True) == items.take([4, 1]).absent
    assert (True,) == items_of(items, columns=["w=A"])[0].absent
    bits = sparse.csr_matrix([[0, 1]])
    assert () == items_of(bits)[0].absent == items_of(items_of(bits)[0], columns=["x0"])[0].absent
