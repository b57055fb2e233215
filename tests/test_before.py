"""Laws: before.  Columns that were published before are read again with the same items."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from claims import claimed
from privsieve.containment.labelled import Labelled
from privsieve.containment.snapshot import beside, read_also, reading
from privsieve.rows.items import items_of


def test_what_was_cut_is_cut_so_again():
    """On 200 tables the columns of a claim are read with the same items, whatever was asked."""
    rng = np.random.default_rng(17)
    for _ in range(200):
        rows = {"age": rng.integers(-5, 90, 60), "dose": np.round(rng.random(60), 2),
                "day": np.datetime64("2020-01-01") + rng.integers(0, 400, 60).astype("m8[D]"),
                "ward": rng.choice(list("ABC"), 60), "smoker": rng.integers(0, 2, 60)}
        frame = pd.DataFrame(rows)
        how = {"age": [0, 18, 65], "dose": [0.2, 0.5], ...: None}
        items, _, _ = items_of(frame, columns=how if rng.random() < 0.5 else None)
        some = [j for j in range(len(items)) if rng.random() < 0.5] or [0]
        claim = claimed([items.names[j] for j in some], origins=[items.origin[j] for j in some])
        wanted_columns = None if rng.random() < 0.5 else ["smoker"]
        columns, closed = reading(wanted_columns, [claim])
        table = Labelled(items_of(frame, columns=columns, cuts=7)[0], np.zeros(60, np.int32),
                         (None,))
        marked = beside(table, [claim], closed)
        held = [items.indices[items.indptr[j]:items.indptr[j + 1]].tolist() for j in some]
        again = marked.items
        place = [again.names.index(items.names[j]) for j in some]

        assert sorted(place) == list(marked.counted)
        assert held == [again.indices[again.indptr[j]:again.indptr[j + 1]].tolist() for j in place]
        assert closed == ({items.origin[j] for j in some} - {"smoker"} if wanted_columns else set())
        assert {j for j, name in enumerate(again.origin) if name in closed} <= set(place)


@pytest.mark.parametrize(("columns", "origins", "how"), [
    (["x=1..2", "x>=2"], ["x", "x"], {"x": [1.0, 2.0]}),
    (["x<-1.5"], ["x"], {"x": [-1.5]}),
    (["x>=10", "x=9..10", "x=1..9"], ["x"] * 3, {"x": [1.0, 9.0, 10.0]}),
    (["x=2020-01-01..2020-07-01"], ["x"],
     {"x": [dt.datetime.fromisoformat(f"2020-{month}-01") for month in ("01", "07")]}),
    (["x=a..b", "x=c"], ["x", "x"], {"x": None}),
    (["x=missing", "y"], ["x", "y"], {"x": None, "y": None}),
])
def test_how_columns_were_cut(columns, origins, how):
    """The names of items say how their column was cut."""
    assert how == read_also([claimed(columns, origins=origins)])


def test_names_that_look_like_cuts():
    """Where a claim notes the columns, a name with signs of its own is not taken apart."""
    claim = claimed(["x<5", "y=1..2"], origins=["x<5", "y=1..2"])

    assert {"x<5": None, "y=1..2": None} == read_also([claim])


def test_what_is_asked_is_kept():
    """What was said of a column is kept; what must be counted is read although it was left out."""
    claim = claimed(["age<40", "ward=A"], origins=["age", "ward"])

    assert ({"age": [50.0], ...: None}, frozenset()) == reading({"age": [50.0], ...: None}, [claim])
    assert ({"age": [40.0], "ward": None, ...: None}, frozenset({"ward"})) == reading(
        {"ward": False, ...: None}, [claim])
    assert (None, frozenset()) == reading(None, [claimed(["a"])])
    assert (["b", "a"], frozenset({"a"})) == reading(["b"], [claimed(["a"])])
