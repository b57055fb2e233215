"""Law: containment estimators.  scikit-learn's manners, every input, and k on all rows."""

from __future__ import annotations

import inspect
import pickle
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone

import privsieve as ps
from privsieve.containment.estimators import PublishableColumns
from privsieve.containment.knowledge import Knowledge, numbered
from privsieve.containment.measures import containment_level, disclosure_risk, k_anonymity_level
from privsieve.errors import NothingFits, ParameterError, PrivsieveError, SchemaError
from privsieve.rows.matrix import Items


def choosing(method, k=4, **options):
    """An estimator with a method."""
    return PublishableColumns(k, method=method, **options)


KINDS = {
    "greedy": choosing("greedy"),
    "distinct": choosing("greedy", weights="distinct"),
    "errors": choosing("greedy", weights="class-errors"),
    "equal": choosing("greedy", model="k-anonymity"),
    "maximal": choosing("maximal"),
    "exact": choosing("exact", weights="hamming"),
    "few": choosing("few"),
    "most": choosing("most"),
    "strict": choosing("strict"),
}
#: The paper's Table 1.
TOY = np.array([[1, 0, 1, 0, 1], [1, 0, 1, 0, 1], [1, 0, 0, 1, 1],
                [1, 0, 1, 0, 1], [1, 1, 1, 0, 1], [1, 1, 0, 1, 1]])
TOY_Y = [1, 0, 1, 1, 0, 0]


def table(seed=0, rows=80):
    """Rows of yes and no, and a class that three of the columns tell something of."""
    rng = np.random.default_rng(seed)
    X = (rng.random((rows, 9)) < [0.5, 0.3, 0.7, 0.5, 0.2, 0.1, 0.5, 0.02, 1]).astype(int)
    return X, (X[:, 0] + X[:, 1] + X[:, 3] + rng.integers(0, 2, rows) > 1).astype(int)


@pytest.mark.parametrize("name", KINDS)
def test_k_on_all_rows(name):
    """The level that a release states is that of its columns on all rows, and at least k."""
    X, y = table()
    label_rows = np.arange(len(y)) % 3 > 0
    model = clone(KINDS[name]).fit(X, y, label_rows=label_rows)
    chosen = model.transform(X)
    level = k_anonymity_level if model.release_.absent else containment_level

    assert level(chosen) == model.release_.level >= 4
    assert len(model.release_.selected) == chosen.shape[1] > 0
    if name in ("few", "most"):
        assert disclosure_risk(chosen, y, k=4).one_class == 0


@pytest.mark.parametrize("name", KINDS)
def test_inputs(name):
    """The same table in any container gives the same choice, if the same may be known of it."""
    X, y = table()
    names = [f"x{j}" for j in range(X.shape[1])]
    kind = clone(KINDS[name]).set_params(absent="none")
    expected = clone(kind).fit(X, y).release_
    at = [index.ravel() for index in np.indices(X.shape)]
    zeros = sparse.coo_matrix((X.ravel(), at)).tocsr()  # explicit ones
    containers = {
        "flags": (X.astype(bool), y), "floats": (X.astype(float), y), "rows": (X.tolist(), y),
        "sparse": (zeros, y.tolist()), "sparse columns": (sparse.csc_array(X), y),
        "pandas": (pd.DataFrame(X, columns=names), pd.Series(y)),
        "polars": (pl.DataFrame(X, schema=names), pl.Series(y)),
        "target inside": (pd.DataFrame(X, columns=names).assign(ill=y), "ill"),
        "texts": (X, np.where(y > 0, "yes", "no")),
    }
    for container, (data, labels) in containers.items():
        model = clone(kind).fit(data, labels)

        assert expected == model.release_, container
        assert model.n_features_in_ == X.shape[1]


@pytest.mark.parametrize("name", ["greedy", "maximal", "exact", "few", "most"])
def test_a_table_has_one_meaning(name, tmp_path):
    """A table of cells counts both ways in any container, sparse data presences: it is said."""
    X, y = table()
    names = [f"x{j}" for j in range(X.shape[1])]
    frame, bits = pd.DataFrame(X, columns=names), sparse.csr_matrix(X)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    np.savez(tmp_path / "dense.npz", X=X)
    sparse.save_npz(tmp_path / "sparse.npz", bits)
    (tmp_path / "t.dat").write_text("".join(
        " ".join(map(str, np.flatnonzero(row))) + "\n" for row in X))
    domain = ps.Domain([ps.Flag(name) for name in names])
    cells = {
        "array": X, "flags": X.astype(bool), "floats": X * 1.0, "rows": X.tolist(),
        "objects": X.astype(object), "masked": np.ma.masked_array(X), "pandas": frame,
        "sparse pandas": pd.DataFrame.sparse.from_spmatrix(bits, columns=names),
        "polars": pl.DataFrame(X, schema=names), "arrow": pa.Table.from_pandas(frame),
        "csv": tmp_path / "t.csv", "parquet": tmp_path / "t.parquet",
        "npz": tmp_path / "dense.npz"}
    releases = {cell: clone(KINDS[name]).fit(data, y).release_ for cell, data in cells.items()}
    declared = [clone(KINDS[name]).set_params(domain=domain).fit(data, y).release_
                for data in (frame, cells["csv"], cells["polars"], X, cells["rows"])]
    held = [clone(KINDS[name]).fit(data, y).release_ for data in (
        bits, sparse.coo_array(X), tmp_path / "sparse.npz", tmp_path / "t.dat")]
    both, presences = releases["array"], held[0]

    assert dict.fromkeys(cells, (both.selected, both.level, both.items)) == {
        name: (release.selected, release.level, release.absent) for name,
        release in releases.items()}
    assert [(both.items, both.selected, both.level)] * 5 == [
        (release.absent, release.selected, release.level) for release in declared]
    assert [(len(presences.items), presences.level, ())] * 4 == [
        (len(release.items), release.level, release.absent) for release in held]
    assert (both.selected, both.level) != (presences.selected, presences.level)
    assert "presences and absences" in str(both)
    assert "presences only" in str(presences)


@pytest.mark.parametrize("name", KINDS)
def test_manners(name):
    """A fitted one is cloned without its fit, pickled with it, and holds no more than it says."""
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcdefghi"))
    model = clone(KINDS[name]).set_params(absent="none").fit(frame, y)
    kept = {"n_features_in_", "feature_names_in_", "release_"} | set(model.get_params())

    assert kept == set(vars(model))
    assert model.get_params() == clone(model).get_params()
    assert model.release_ == pickle.loads(pickle.dumps(model)).release_
    assert list(model.release_.selected) == list(model.get_feature_names_out())
    assert model.get_support().sum() == len(model.release_.selected)
    shown_table = model.set_output(transform="pandas").transform(frame)
    assert list(model.release_.selected) == list(shown_table.columns)
    assert (shown_table.to_numpy() == X[:, model.get_support()]).all()


@pytest.mark.parametrize("name", KINDS)
def test_scikit_learn(name):
    """A grid of k and a pipeline work as with any selector."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    X, y = table(rows=120)
    pipe = make_pipeline(clone(KINDS[name]), LogisticRegression())
    key = f"{pipe.steps[0][0]}__k"
    search = GridSearchCV(pipe, {key: [2, 6]}, cv=2, error_score="raise").fit(X, y)

    assert search.best_score_ > 0.6


def test_file(tmp_path):
    """A file is read as a frame is; its columns are those that something was made of."""
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcdefghi")).assign(ill=y)
    frame.to_csv(tmp_path / "table.csv", index=False)
    releases, expected = (choosing("greedy").fit(source, "ill").release_
                          for source in (tmp_path / "table.csv", frame))

    assert expected == releases


def test_toy():
    """On the paper's Table 1 the optima of both objectives are those of its true maximal sets."""
    hamming = choosing("exact", 2, weights="hamming").fit(TOY, TOY_Y).release_
    distinct = choosing("exact", 2, weights="distinct").fit(TOY, TOY_Y).release_

    assert (Fraction(8, 9), Fraction(8, 9), True) == (
        hamming.objective, hamming.bound, hamming.proved)
    assert {"x2", "x3"} <= set(hamming.selected) <= {"x0", "x2", "x3", "x4"}
    assert (Fraction(6, 9), True) == (distinct.objective, distinct.proved)
    assert {"x1"} <= set(distinct.selected) <= {"x0", "x1", "x4"}


def test_columns_of_cells():
    """Results name the table's columns; what is not yes or no leaves as items only."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"ward": rng.choice(list("AB"), 60), "age": rng.integers(20, 80, 60),
                          "same": 1.5, "smoker": rng.integers(0, 2, 60)})
    y = (frame["ward"] == "A").to_numpy()
    model = choosing("greedy", 3).fit(frame, y)

    assert model.release_.columns == ("ward", "age", "same", "smoker")
    assert "ward" in model.release_.selected
    assert any(item.startswith("ward=") for item in model.release_.items)
    assert "ward" in model.release_.partial
    assert [True, False] == model.get_support()[[0, 2]].tolist()
    with pytest.raises(ParameterError, match="only some items of column 'ward'"):
        model.transform(frame)


def test_label_rows():
    """Labels of rows that are not marked change nothing."""
    X, y = table()
    marked = np.arange(len(y)) < 50
    other = np.where(marked, y, 1 - y)
    for name in ("greedy", "distinct", "maximal", "exact", "strict"):
        first, second = (clone(KINDS[name]).fit(X, labels, label_rows=marked).release_
                         for labels in (y, other))
        assert first == second, name


def test_sources():
    """With sources every group is of k sources."""
    X, y = (np.repeat(array, 3, axis=0) for array in table())  # each row three times
    y[::7] = 1 - y[::7]
    sources = [f"person {i // 3}" for i in range(len(y))]
    for kind in map(choosing, ("greedy", "few", "strict")):
        chosen = kind.fit(X, y, sources=sources).transform(X)
        careless = kind.fit(X, y).transform(X)

        fewest, without = (
            Knowledge(Items.dense(selection), unit=numbered(sources)).groups().sizes().min()
            for selection in (chosen, careless))
        assert fewest >= 4 > without
        assert chosen.shape[1] > 0


def test_absent():
    """Where all absences may be known, containment is k-anonymity."""
    X, y = table()
    known = choosing("greedy", absent="all").fit(X, y).release_
    some = choosing("greedy", absent=["x0", "x1"]).fit(X, y).release_

    assert known.selected == choosing("greedy", model="k-anonymity").fit(X, y).release_.selected
    assert some.selected != known.selected
    assert choosing("greedy", absent="x3").fit(X, y).release_.level >= 4


@pytest.mark.parametrize("name", KINDS)
def test_absences_by_kind(name):
    """Unless it is said otherwise, absences count where the kinds of the columns say so."""
    X, y = table()
    columns = {"x0", "x1", "x3"}
    items = Items.dense(X)
    by_kind = replace(items, absent=tuple(name in columns for name in items.names))
    release, expected, nowhere, none = (
        clone(KINDS[name]).set_params(**{"absent": "by kind", **how}).fit(data, y).release_
        for data, how in (
            (by_kind, {}), (items, {"absent": sorted(columns)}),
            (by_kind, {"absent": "none"}), (items, {})))

    assert expected == release
    assert none == nowhere


def class_level(X, y, absent):
    """The fewest rows of a row's class that agree with all that may be known of it."""
    return min(sum(y[h] == y[i] and (X[h] >= X[i]).all() and (X[h] <= X[i])[absent].all()
                   for h in range(len(y))) for i in range(len(y)))


@pytest.mark.parametrize("name", KINDS)
def test_known_classes(name):
    """Where the class may be known, too, each row's group has k rows of its class."""
    X, y = table()
    strict = name in ("equal", "strict")
    for absent in ([], ["x0", "x2"]):
        model = clone(KINDS[name]).set_params(
            k=3, absent=absent or "none", target_known=True).fit(X, y)
        chosen = model.get_support()
        known = np.array([strict or f"x{j}" in absent for j in range(X.shape[1])])

        assert class_level(X[:, chosen], y, known[chosen]) == model.release_.level >= 3


def test_weights():
    """Weights may be numbers, and then no label is needed."""
    X, _ = table()
    model = choosing("greedy", weights=[0, 0, 0, 0, 0, 0, 3, 0, 0]).fit(X)

    assert model.release_.selected == ("x6",)
    assert model.release_.objective == 3
    assert choosing("maximal", weights=np.ones(9)).fit(X).release_.level >= 4


def test_suppressed():
    """Rows that may be left out are counted."""
    X, y = table()
    release = choosing("greedy", suppress=6).fit(X, y).release_

    assert 0 < release.suppressed <= 6
    assert release.level >= 4


def test_odd_tables():
    """Equal columns, equal rows and rows without anything are no trouble."""
    X, y = table()
    X[:, 4], X[:5], X[10:20] = X[:, 0], X[5], 0
    for name, kind in KINDS.items():
        assert clone(kind).fit(X, y).release_.level >= 4, name


def test_nothing_fits():
    """Where no column keeps k the error says which k one would keep, and its code is 5."""
    X = np.eye(6, dtype=int)
    X[:3, 0] = 1

    with pytest.raises(NothingFits, match="one column alone keeps at most k = 3") as caught:
        choosing("greedy").fit(X, [0, 0, 1, 1, 0, 1])
    assert caught.value.exit_code == 5


X0, Y0 = table()
SHORT = {
    "k 1": (lambda: choosing("greedy", 1).fit(X0, Y0), "k is 1"),
    "k 81": (lambda: PublishableColumns(81).fit(X0, Y0), "the table has 80 rows"),
    "method": (lambda: choosing("best").fit(X0, Y0), "few, most, strict, greedy, maximal, exact"),
    "of a profile": (lambda: choosing("few", weights="hamming").fit(X0, Y0), "its own weights"),
    "of sets": (lambda: choosing("maximal", weights="distinct").fit(X0, Y0), "choose greedy"),
    "weights": (lambda: choosing("greedy", weights="idf").fit(X0, Y0), "mutual-information"),
    "negative": (lambda: choosing("greedy", weights=[-1] * 9).fit(X0, Y0), "0 or more"),
    "model": (lambda: choosing("greedy", model="t-closeness").fit(X0, Y0), "'k-anonymity'"),
    "classes": (lambda: choosing("greedy", l_diversity=3).fit(X0, Y0), "1 to 2"),
    "time": (lambda: choosing("exact", time_limit=0).fit(X0, Y0), "seconds above 0"),
    "known": (lambda: choosing("greedy", target_known="maybe").fit(X0, Y0),
              "target_known is 'maybe'"),
    "absent None": (lambda: choosing("greedy", absent=None).fit(X0, Y0), "'by kind', 'all'"),
    "small class": (lambda: choosing("greedy", 40, target_known=True).fit(X0, Y0), "merge classes"),
    "sources": (lambda: choosing("exact").fit(X0, Y0, sources=Y0), "choose one of them"),
}
ODD = {
    "no label": (lambda: choosing("greedy").fit(X0), "y is missing"),
    "one class": (lambda: PublishableColumns().fit(X0, Y0 * 0), "one class"),
    "absent": (lambda: choosing("greedy", absent=["age"]).fit(X0, Y0), "'age'"),
    "mask": (lambda: choosing("greedy").fit(X0, Y0, label_rows=Y0), "true or false"),
    "no mark": (lambda: choosing("greedy").fit(X0, Y0, label_rows=Y0 > 1), "marks no row"),
    "short": (lambda: choosing("greedy").fit(X0, Y0, sources=[1]), "different numbers of rows"),
    "counts": (lambda: choosing("greedy").fit(sparse.csr_matrix(X0 * 2), Y0), "than 0 and 1"),
    "length": (lambda: choosing("greedy").fit(X0, Y0[:5]), "different numbers of rows"),
}


@pytest.mark.parametrize("case", [*SHORT, *ODD])
def test_refusals(case):
    """What is wrong is refused in a sentence that names the way out."""
    call, words = (SHORT | ODD)[case]

    with pytest.raises(ParameterError if case in SHORT else SchemaError, match=words) as caught:
        call()
    assert isinstance(caught.value, PrivsieveError)


def test_every_parameter_is_documented():
    """Each parameter has a row under the estimator in `docs/options.md`, and no other has."""
    text = (Path(__file__).parents[1] / "docs" / "options.md").read_text(encoding="utf-8")
    section = text.split("## PublishableColumns")[1].split("\n#")[0]

    assert list(inspect.signature(PublishableColumns).parameters) == re.findall(
        r"^\| `(\w+)`", section, re.MULTILINE)
