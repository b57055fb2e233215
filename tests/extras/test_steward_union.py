"""Laws: union.  What published folders tell together without a ledger, with a table or not."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from claims import claimed, groups, table_of
from privsieve.extras.steward import union
from privsieve.extras.steward.union import Verified, bounds, counted, differing
from privsieve.kernels.patterns import Rule
from privsieve.rows.matrix import Items
from test_raw_ends import within


@pytest.fixture
def privsieve(tmp_path, monkeypatch, cli):
    """Run one command line in a folder with a table and two publications: code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(1)
    lines = ["a,b,c,ward,id,ill"]
    for _ in range(400):
        a, b, c = (int(draw.random() < share) for share in (0.5, 0.5, 0.3))
        ill = "yes" if (a and b) or draw.random() < 0.3 else "no"
        lines.append(f"{a},{b},{c},{draw.choice('ABC')},{len(lines)},{ill}")
    Path("t.csv").write_text("\n".join([*lines, ""]))
    Path("minus.csv").write_text("\n".join([*lines[:17], *lines[18:], ""]))

    def call(*args):
        code, out, err = cli(*args)
        return code, out, " ".join(err.split())

    def publish(out, columns, *options, data="t.csv", k=20):
        publication = call("publish", data, "--target", "ill", "-k", k, "--columns", columns,
                           "--method",
                           "greedy", "--weights", "even", "--out", out, *options)
        assert 0 == publication[0], publication[2]

    call.publish = publish
    publish("one", "a,b", "--publish-target")
    publish("two", "c,ward", "--publish-target")
    return call


def folder(cells, y, columns, claim, order):
    """A publication of these columns, its rows in this order."""
    names = [f"c{j}" for j in columns]
    texts = {"ill": tuple(str(label) for label in y[order])} if claim["target"] else {}
    return Verified("f", claim, Items.dense(cells[order][:, columns], names), texts)


def publications(rng):
    """Random folders of one table: cells, classes, folders, and the strictest rule by hand."""
    width, rows = int(rng.integers(2, 6)), int(rng.integers(4, 40))
    cells = (rng.random((rows, width)) < rng.choice([0.3, 0.5, 0.9])).astype(int)
    y = rng.integers(0, 2, rows)
    folders = []
    for _ in range(2 if rng.random() < 0.8 else 3):
        columns = [j for j in range(width) if rng.random() < 0.6] or [0]
        known = bool(rng.random() < 0.3)
        claim = claimed([f"c{j}" for j in columns], k=int(rng.integers(2, 6)),
                        absent=[f"c{j}" for j in columns if rng.random() < 0.3],
                        model="k-anonymity" if rng.random() < 0.2 else "containment",
                        target="ill" if known or rng.random() < 0.2 else None)
        claim["roles"]["target_known"] = known
        folders.append(folder(cells, y, columns, claim, rng.permutation(rows)))
    return cells, y, folders


def smallest(cells, y, folders):
    """The smallest group of all columns together, from the definition."""
    claims = [folder.claim for folder in folders]
    chosen = sorted({int(name[1:]) for claim in claims for name in claim["columns"]})
    absent = np.array([any(f"c{j}" in claim["absent"] for claim in claims)
                       for j in range(cells.shape[1])])
    rule = Rule(k=1, classes=2, absent=absent,
                model="k-anonymity" if any(claim["model"] == "k-anonymity" for claim in claims)
                else "containment", labelled=any(folder.known for folder in folders))
    return min(size for size, _ in groups(cells, y, rule, chosen))


def test_bounds_hold_the_truth():
    """On 160 tables the smallest group of all columns lies between the bounds, often narrow."""
    rng = np.random.default_rng(23)
    narrow = above = 0
    for _ in range(160):
        cells, y, folders = publications(rng)
        limits = bounds(folders)
        level = smallest(cells, y, folders)
        narrow += limits.lowest == limits.highest
        above += limits.lowest > 1

        assert limits.lowest <= level <= limits.highest
        assert differing(folders) is None
    assert narrow > 20
    assert above > 20


def test_bounds_are_reached():
    """Each bound is the truth for some table that gives the same two folders."""
    first, other = np.array([1, 1, 0, 0]), np.array([1, 1, 0, 0])
    union, seen = None, set()
    for order in ([0, 1, 2, 3], [0, 2, 1, 3]):
        cells = np.stack([first, other[order]], axis=1)
        folders = [folder(cells, np.zeros(4, int), [j], claimed([f"c{j}"]), np.arange(4))
                   for j in range(2)]
        union = bounds(folders)
        seen.add(smallest(cells, np.zeros(4, int), folders))

    assert seen == {union.lowest, union.highest} == {1, 2}


def test_too_much_to_compare(monkeypatch):
    """Where there is too much to compare the bounds are wider, and hold all the same."""
    rng = np.random.default_rng(29)
    publications_drawn = [publications(rng) for _ in range(30)]
    tight = [bounds(folders) for _, _, folders in publications_drawn]
    for limit in ("MOST", "MOST_KEPT"):
        monkeypatch.setattr(union, limit, 8)
        for (cells, y, folders), narrow in zip(publications_drawn, tight, strict=True):
            wide = bounds(folders)

            assert wide.lowest <= narrow.lowest <= smallest(cells, y, folders) <= narrow.highest
            assert narrow.highest <= wide.highest
        monkeypatch.undo()


def test_the_count_is_the_definition():
    """On 100 tables the smallest group that is counted from the table is the naive one."""
    rng = np.random.default_rng(31)
    for _ in range(100):
        cells, y, folders = publications(rng)
        table = table_of(cells, y, classes=2)
        level = smallest(cells, y, folders)
        union = counted({None: table, "ill": table}, folders, level + 1)

        assert (level, 0) == (union.level, union.poor)
        assert union.below > 0
        assert 0 == counted({None: table, "ill": table}, folders, level).below


def test_folders_of_other_rows():
    """Folders of tables that differ in one row are told apart where what both publish differs."""
    rng = np.random.default_rng(37)
    apart = 0
    for _ in range(150):
        cells, y, folders = publications(rng)
        first, second = folders[0], folders[1]
        less = np.delete(np.arange(len(cells)), rng.integers(len(cells)))
        columns = [int(name[1:]) for name in second.claim["columns"]]
        changed = cells.copy()
        changed[0] = 1 - changed[0]
        other = folder(changed, y, columns, second.claim, np.arange(len(cells)))
        shared = sorted(set(first.items.names) & set(second.items.names))
        at = [int(name[1:]) for name in shared]
        texts = bool(first.texts and second.texts)
        rows, now = (sorted((*row, *([label] if texts else [])) for row, label in
                            zip(some[:, at].tolist(), y.tolist(), strict=True))
                     for some in (cells, changed))
        differences = differing([first, other])
        apart += differences is not None

        assert (rows == now) == (differences is None)
        fewer = differing([first, folder(cells, y, columns, second.claim, less)])
        assert (1, 0) == (fewer.only_first, fewer.only_second)
    assert 25 < apart < 150


# --- the command ----------------------------------------------------------------------------------

def test_folders_alone(privsieve):
    """Two folders give bounds, a warning where k may be broken, and no exit code for it."""
    code, out, err = privsieve("union", "one", "two")
    assert (0, "") == (code, err)
    assert "level between" in " ".join(out.split())
    assert "may leave groups below k = 20" in " ".join(out.split())
    document = json.loads(privsieve("union", "one", "two", "--json")[1])

    assert (20, False, 2) == (document["k"], document["counted"], len(document["folders"]))
    assert document["lowest"] < 20 <= document["highest"]
    alone = json.loads(privsieve("union", "two", "--json")[1])
    claim = json.loads(Path("two/certificate.json").read_text())["claim"]
    assert claim["level"] == alone["lowest"] == alone["highest"]


def test_certainly_below(privsieve):
    """Folders that certainly leave less than the largest k promised, or asked, exit with 7."""
    code, out, err = privsieve("union", "one", "two", "-k", 200)
    assert (7, True) == (code, "below k = 200" in err), err
    assert "level between" in " ".join(out.split())
    privsieve.publish("three", "c,ward", k=5)
    level = json.loads(privsieve("union", "one", "three", "--json")[1])["highest"]
    code, _out, err = privsieve("union", "one", "three", "-k", level + 1)

    assert (7, True) == (code, f"a group of at most {level} row" in err), err
    assert 0 == privsieve("union", "one", "three", "-k", level)[0]


def test_folders_with_their_table(privsieve):
    """With the table the level is counted, for all of its targets, under the strictest rule."""
    document = json.loads(privsieve("union", "t.csv", "one", "two", "--json")[1])
    text = Path("t.csv").read_text().splitlines()
    head, rows = text[0].split(","), [line.split(",") for line in text[1:]]
    names = sorted({name for single_name in ("one", "two") for name in json.loads(
        Path(single_name, "certificate.json").read_text())["claim"]["columns"]})
    cells = np.array([[int(row[head.index("ward")] == name[5:]) if "=" in name
                       else int(row[head.index(name)]) for name in names] for row in rows])
    y = np.array([row[-1] == "yes" for row in rows]).astype(int)
    claims = [json.loads(Path(name, "certificate.json").read_text())["claim"]
              for name in ("one", "two")]
    absent = {name for claim in claims for name in claim["absent"]}

    def fits(mine, other):
        return all(other[j] if mine[j] else not (other[j] and name in absent)
                   for j, name in enumerate(names))

    level = min(sum(fits(mine, other) and own == label
                    for other, label in zip(cells, y, strict=True))
                for mine, own in zip(cells, y, strict=True))

    assert (True, level, level) == (document["counted"], document["lowest"], document["highest"])
    code, _out, err = privsieve("union", "t.csv", "one", "two", "-k", level + 1)
    assert (7, True) == (code, f"leave a group of {level} rows, below k" in err), err
    assert 0 == privsieve("union", "t.csv", "one", "two", "-k", level)[0]


def test_a_target_that_is_a_column_elsewhere(privsieve):
    """The target of one folder may be a column of another: both are counted."""
    privsieve.publish("first", "c,b")
    code = privsieve("publish", "t.csv", "--target", "c", "-k", 5, "--columns", "a", "--method",
                     "greedy", "--weights", "even", "--publish-target", "--out", "second")[0]
    assert 0 == code
    code, out, err = privsieve("union", "t.csv", "second", "first", "--json")
    names = json.loads(Path("first/certificate.json").read_text())["claim"]["columns"]
    at = sorted({"abc".index(name) for name in [*names, "a"]})
    rows = [line.split(",") for line in Path("t.csv").read_text().splitlines()[1:]]
    absent = json.loads(Path("first/certificate.json").read_text())["claim"]["absent"]
    absent += json.loads(Path("second/certificate.json").read_text())["claim"]["absent"]

    def fits(mine, other):
        return mine[2] == other[2] and all(
            other[j] == mine[j] if mine[j] == "1" or "abc"[j] in absent else True for j in at)

    assert code in (0, 7), err
    assert json.loads(out)["lowest"] == min(sum(fits(mine, other) for other in rows)
                                            for mine in rows)


def test_one_row_less(privsieve):
    """Folders of tables that differ by somebody are said to, by how many rows, and exit with 7."""
    privsieve.publish("minus", "a,b", "--publish-target", data="minus.csv")
    code, _out, err = privsieve("union", "one", "minus")
    assert (7, True) == (code, "1 rows of the first and 0 of the second have no match" in err), err
    code, out, _err = privsieve("union", "one", "minus", "--json")
    assert (7, [1, 0]) == (code, json.loads(out)["differ"])
    code, _out, err = privsieve("union", "t.csv", "one", "minus")

    assert (7, True) == (code, "do not have the same rows" in err), err
    code, _out, err = privsieve("union", "t.csv", "minus")
    assert (7, True) == (code, "minus does not have the rows of this table" in err), err


def test_an_edited_folder(privsieve):
    """A folder that was edited is refused in one sentence, as `verify` says it."""
    shutil.copytree("one", "edited")
    lines = Path("edited/table.csv").read_text().splitlines()
    Path("edited/table.csv").write_text("\n".join([*lines[:-1], ""]))
    code, _out, err = privsieve("union", "edited", "two")

    assert (7, True) == (code, "edited does not fit its certificate: the table is not the "
                               "certified table" in err), err


@pytest.mark.parametrize("spoil", [os.mkfifo, lambda file: file.symlink_to("../two/release.json")],
                         ids=["a pipe", "a link"])
def test_a_folder_with_what_is_no_file(privsieve, spoil):
    """A link in the place of a file is not followed, and a pipe is not waited for."""
    shutil.copytree("two", "spoilt")
    Path("spoilt/release.json").unlink()
    spoil(Path("spoilt/release.json"))
    with within(20):
        code, _out, err = privsieve("union", "one", "spoilt")

    assert (3, True) == (code, "release.json is missing, is a link or is not JSON" in err), err


@pytest.mark.parametrize(("args", "code", "message"), [
    (("t.csv", "minus.csv"), 2, "name at least one folder"),
    (("t.csv", "minus.csv", "one"), 2, "at most one table"),
    (("empty",), 2, "has no certificate.json"),
    (("one", "one"), 2, "named twice"),
    (("one", "./one"), 2, "named twice"),
    (("one", "nothing.csv"), 3, "does not exist"),
    (("bare",), 2, "does not contain a published table"),
])
def test_refusals(privsieve, args, code, message):
    """What cannot be checked is refused in one sentence, and nothing is printed before."""
    Path("empty").mkdir()
    Path("bare").mkdir()
    shutil.copy("one/certificate.json", "bare")
    actual_code, out, err = privsieve("union", *args)

    assert (code, "", True) == (actual_code, out, message in err), err


def test_parquet_and_texts(privsieve):
    """Folders in Parquet tell the same as in CSV."""
    privsieve.publish("p", "c,ward", "--publish-target")

    assert 0 == privsieve("union", "p", "two")[0]
    documents = [json.loads(privsieve("union", "one", name, "--json")[1]) for name in ("p", "two")]
    assert [(document["lowest"], document["highest"]) for document in documents] == [
        (documents[0]["lowest"], documents[0]["highest"])] * 2
