"""Laws: ready, and recover.  What can be known is known before the charge; after it words are true.

tests/test_crash.py lets every call fail in turn; here is what a person meets.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import privsieve as ps
from every_method import CHARGING
from privsieve import fit as fitting
from privsieve import report
from privsieve.errors import LedgerError, ParameterError, ReleaseFailed, SchemaError
from privsieve.folder import CERTIFICATE, NOTE, RELEASE, Folder
from privsieve.ledger.ledger import Ledger
from privsieve.rows import arrow, open_source, resolve
from privsieve.rows.batch import demand_readable
from privsieve.telling import prose
from test_cli import ASKED, BUDGET, place, privsieve, select, spent  # noqa: F401  # fixtures

ODD = {
    "a zone that nobody knows": pa.array([1, 2], pa.timestamp("us", tz="Mars/Phobos")),
    "a layout of texts": pa.array(["a", "b"], pa.string_view()),
    "a layout of bytes": pa.array([b"a", b"b"], pa.binary_view()),
}
COLUMNS = [ps.Date("odd", "1970-01-01", "2020-01-01"), ps.Category("odd", ["a", "b"])]


def odd(kind):
    """A frame with a column of this type beside a plain one, and its domain."""
    held = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([ODD[kind]])))
    column = COLUMNS["zone" not in kind]
    return (pd.DataFrame({"odd": held, "flag": [0, 1]}),
            ps.Domain([column, ps.Flag("flag")], target=ps.Label("ill", [0, 1])))


# before the charge


@pytest.mark.parametrize("kind", ODD)
def test_a_type_that_cannot_be_read_is_refused_before_the_charge(kind, ledger):
    """By an empty batch of each type, in a sentence that names the column."""
    frame, domain = odd(kind)

    with pytest.raises(SchemaError, match=r"column 'odd' has a type that this system cannot read"):
        ps.RuleSieve(1, epsilon=1, domain=domain, ledger=ledger).fit(frame, [0, 1])
    assert (0, ()) == (ledger.spent(), ledger.orphans())


def test_only_what_is_read_is_tried_and_each_type_once(monkeypatch):
    """A column that the domain does not name may be of any type; of a type one column is tried."""
    tried, read = [], arrow.column
    monkeypatch.setattr(arrow, "column", lambda array: tried.append(str(array.type)) or read(array))
    names = [f"x{j}" for j in range(50)]
    table = pa.table({**{name: pa.array([0, 1], pa.int8()) for name in names},
                      "when": pa.array([1, 2], pa.duration("s")),
                      "y": pa.array([0, 1], pa.int16())})
    domain = ps.Domain([ps.Flag(name) for name in names], target=ps.Label("y", [0, 1]))
    source = open_source(table)
    demand_readable(source, resolve(domain, source.shape(count_rows=True), strict=False))

    assert ["int8", "int16"] == tried


def test_a_disk_without_hard_links_is_no_reason(privsieve, monkeypatch):  # noqa: F811
    """On a file system that has no hard links a release is finished like anywhere else."""
    def none(*_args, **_options):
        raise PermissionError(1, "no links here")

    monkeypatch.setattr(os, "link", none)

    assert 0 == privsieve(*select())[0]
    assert 0 == privsieve("verify", "first", "--ledger", "budget.db")[0]


def test_a_disk_without_room_is_refused_before_the_charge(privsieve, monkeypatch):  # noqa: F811
    """The room is a public upper bound; where it lacks nothing is charged and no folder is left."""
    monkeypatch.setattr(os, "fstatvfs", lambda _handle: SimpleNamespace(f_bavail=100,
                                                                        f_frsize=4096))
    code, out, err = privsieve(*select())

    assert (2, "") == (code, out)
    assert "lacks 2 MB" in err
    assert (0, False) == (spent(), Path("first").exists())


@pytest.mark.parametrize("method", CHARGING, ids=repr)
def test_the_room_is_enough(tmp_path, monkeypatch, method):
    """Of every method the files of a release take less than was demanded."""
    choose, plans = fitting._choose, []
    monkeypatch.setattr(fitting, "_choose", lambda plan, *options: plans.append(plan) or choose(
        plan, *options))
    method.estimator().fit(method.table()).release_.save(tmp_path / "out")
    taken = sum(path.stat().st_size for path in (tmp_path / "out").iterdir())

    assert taken < fitting.needs(plans[-1]) - 2**19


def test_the_room_is_enough_for_many_numbers(tmp_path, monkeypatch):
    """The same for 5,000 weights, 60,000 cells, and levels of long names."""
    choose, plans = fitting._choose, []
    monkeypatch.setattr(fitting, "_choose", lambda plan, *options: plans.append(plan) or choose(
        plan, *options))
    wide = ps.Domain.box(0, 1, columns=5000)
    tall = ps.Domain([ps.Category("a", [f"{'x' * 80}{j}" for j in range(300)]),
                      ps.Number("b", 0, 1)], target=ps.Label("y", [0, 1]))
    for name, estimator, rows in (
            ("weights", ps.OutputFWELL(5, epsilon=1, domain=wide), np.zeros((40, 5000))),
            ("cells", ps.NoisyHistogram(["a", "b"], bins=100, epsilon=1, domain=tall),
             [["x", 0.5]] * 40)):
        monkeypatch.setattr(fitting, "_unsigned", [])
        estimator.fit(rows, [0, 1] * 20).release_.save(tmp_path / name)
        taken = sum(path.stat().st_size for path in (tmp_path / name).iterdir())

        assert taken < fitting.needs(plans[-1])


def test_a_broken_page_is_found_before_the_charge(privsieve, monkeypatch):  # noqa: F811
    """Words that cannot be read cost nothing."""
    def broken(*files):
        raise SyntaxError(files[0].name)

    monkeypatch.setattr("privsieve.report.blocks", broken)

    assert 1 == privsieve(*select())[0]
    assert (0, False) == (spent(), Path("first").exists())


def test_the_words_of_each_kind_are_those_that_its_page_takes():
    """What is read beforehand is all that a page of its kind is made of."""
    from releases import KINDS, released

    for kind in KINDS:
        body, certificate = released(kind)
        prose.blocks.cache_clear()
        report.ready(kind)
        known = prose.blocks.cache_info().misses
        report.html(body, certificate)

        assert known == prose.blocks.cache_info().misses


# requests


def test_a_request_is_charged_and_drawn_once(privsieve, monkeypatch):  # noqa: F811
    """The same words again give the same release: no charge, no draw, no byte changed."""
    first = privsieve(*select("--request", "spring"))
    before = {path.name: path.read_bytes() for path in Path("first").iterdir()}
    monkeypatch.setattr(fitting, "_choose", None)
    code, out, err = privsieve(*select("--request", "spring"))
    document = json.loads(privsieve(*select("--request", "spring", "--json"))[1])

    assert (0, first[1], 1) == (code, out, spent())
    assert "nothing: this request was charged before" in err
    assert ("0", "spring", True) == (document["charged"], document["request"], document["page"])
    assert before == {path.name: path.read_bytes() for path in Path("first").iterdir()}


@pytest.mark.parametrize(("options", "code", "message"), [
    (("--top", "1"), 2, "was charged before, with other options"),
    (("--epsilon", "0.5"), 2, "with other options"),
    (("--out", "second"), 4, "--out is not the folder of its release"),
])
def test_another_wish_under_one_name_is_refused(privsieve, options, code, message):  # noqa: F811
    """Other terms, or another folder: nothing is charged, and nothing is made."""
    privsieve(*select("--request", "spring"))
    got, out, err = privsieve(*select("--request", "spring", *options))

    assert (code, "", 1) == (got, out, spent())
    assert message in err
    assert not Path("second").exists()


def test_a_changed_release_is_not_given_again(privsieve):  # noqa: F811
    """What the ledger did not note, or a changed certificate, is refused."""
    privsieve(*select("--request", "spring"))
    release, certificate = Path("first") / RELEASE, Path("first") / CERTIFICATE
    kept = certificate.read_bytes()
    certificate.write_bytes(kept.replace(b'"epsilon":"1"', b'"epsilon":"2"'))
    code = privsieve(*select("--request", "spring"))
    certificate.write_bytes(kept)
    release.write_bytes(release.read_bytes().replace(b"dose", b"nose"))
    other = privsieve(*select("--request", "spring"))

    assert ((4, ""), (4, "")) == (code[:2], other[:2])
    assert "is missing or changed" in code[2]
    assert "not the folder of its release" in other[2]


@pytest.mark.parametrize("name", ["", " x", "a\nb", "\x1b[31m", "x" * 300])
def test_a_request_has_a_printable_name(privsieve, name):  # noqa: F811
    """Other names are refused, before a folder is made."""
    assert 2 == privsieve(*select("--request", name))[0]
    assert not Path("first").exists()


def test_the_chain_names_a_request_by_its_id():
    """A name of letters becomes 32 digits, others for each population; an id stays as it is."""
    names = [Ledger("b.db", population=population, request=name).request_id
             for population,
             name in (("clinic", "spring"), ("town", "spring"), ("clinic", "ab" * 16))]

    assert [32, 32, 32] == list(map(len, names))
    assert 3 == len(set(names))
    assert "ab" * 16 == names[2]


def test_a_ledger_for_one_request_admits_one_fit(ledger):
    """In Python a ledger with a request pays once; a second fit is refused and charges nothing."""
    once = Ledger(ledger.path, population="clinic", request="spring")
    domain = ps.Domain.box(0, 1, columns=3)
    X, y = np.random.default_rng(0).random((60, 3)), np.arange(60) % 2
    estimator = ps.RuleSieve(1, epsilon=1, domain=domain, ledger=once).fit(X, y)
    with pytest.raises(ParameterError, match="'spring' was charged before; use its release"):
        estimator.fit(X, y)

    assert 1 == ledger.spent()
    assert once.charge()[1].body["release_sha256"] == estimator.release_.sha256


# the page


@pytest.mark.parametrize("verb", ["select", "publish"])
def test_a_page_that_could_not_be_written_is_said(privsieve, monkeypatch, verb):  # noqa: F811
    """Exit code 0, a sentence and a field; `report` writes it into the same folder later."""
    words = {"select": select("--json"), "publish": (
        "publish", "table.csv", "--target", "ill", "-k", "2", "--columns", "smoker,ward", "--out",
        "first", "--json")}[verb]
    with monkeypatch.context() as patch:
        patch.setattr(report, "html", None)
        code, out, err = privsieve(*words)

    assert (0, False) == (code, json.loads(out)["page"])
    assert "`privsieve report DIR` writes it" in " ".join(err.split())
    assert 0 == privsieve("report", "first")[0]
    assert 0 == privsieve("verify", "first")[0]


def test_a_saved_release_says_it_too(tmp_path, monkeypatch):
    """`Release.save` warns where the page could not be written."""
    domain = ps.Domain.box(0, 1, columns=3)
    model = ps.RuleSieve(1, epsilon=1, domain=domain).fit(np.zeros((60, 3)), np.arange(60) % 2)
    monkeypatch.setattr(report, "html", None)
    with pytest.warns(UserWarning, match="the report could not be written"):
        model.release_.save(tmp_path / "out")

    assert model.release_ == ps.load(tmp_path / "out")


# recover


def staged(privsieve, monkeypatch):  # noqa: F811
    """A folder in which a release is staged, as the disk of its ledger failed."""
    def fails(*_args, **_options):
        raise OSError(5, "the disk")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "commit", fails)
        assert 6 == privsieve(*select("--request", "spring"))[0]


def test_another_ledger_is_refused(privsieve, monkeypatch):  # noqa: F811
    """One that was not charged, one that was set back, or none: a sentence, and all stays."""
    shutil.copy("budget.db", "before.db")
    staged(privsieve, monkeypatch)
    Ledger("other.db", population="clinic").grant(3)
    before = sorted(path.name for path in Path("first").iterdir())
    other = privsieve("recover", "first", "--ledger", "other.db")
    back = privsieve("recover", "first", "--ledger", "before.db")
    Path("budget.db").rename("moved.db")
    gone = privsieve("recover", "first")

    shutil.copy("before.db", "budget.db")
    set_back = privsieve("recover", "first")

    assert [4, 4, 4, 4] == [other[0], back[0], gone[0], set_back[0]]
    assert "older copy of the charged ledger" in other[2]
    assert "does not contain the request" in back[2]
    assert "an older copy" in set_back[2]
    assert "name it with --ledger" in gone[2]
    assert before == sorted(path.name for path in Path("first").iterdir())
    assert 0 == privsieve("recover", "first", "--ledger", "moved.db")[0]


@pytest.mark.parametrize("change", [
    lambda: (Path("first") / NOTE).write_text("{}"),
    lambda: (Path("first") / NOTE).write_bytes(b"\xff"),
    lambda: (Path("first") / NOTE).write_text("[" * 50_000),
    lambda: (Path("first") / NOTE).write_text((Path("first") / NOTE).read_text().replace(
        '"terms_sha256":"', '"terms_sha256":"0')),
    lambda: (Path("first") / f".{RELEASE}").write_text(
        (Path("first") / f".{RELEASE}").read_text().replace('"epsilon":"1"', '"epsilon":"2"')),
], ids=["fields", "bytes", "deep", "terms", "release"])
def test_a_foreign_folder_is_refused(privsieve, monkeypatch, change):  # noqa: F811
    """A note or a release that privsieve did not leave so: a sentence; nothing is committed."""
    staged(privsieve, monkeypatch)
    change()
    code, out, err = privsieve("recover", "first")

    assert (True, "", 1) == (code in (3, 4), out, err.count("\n"))
    assert not (Path("first") / RELEASE).exists()
    assert 1 == len(Ledger("budget.db", population="clinic").orphans())


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"key":null}'])
def test_a_foreign_certificate_is_refused(privsieve, monkeypatch, text):  # noqa: F811
    """Where another certificate lies beside what was staged, it is said and stays."""
    staged(privsieve, monkeypatch)
    (Path("first") / CERTIFICATE).write_text(text)
    code, out, err = privsieve("recover", "first")

    assert (4, "", 1) == (code, out, err.count("\n"))
    assert text == (Path("first") / CERTIFICATE).read_text()


@pytest.mark.parametrize("name", ["none", "table.csv", "empty", "link"])
def test_a_folder_that_is_none_of_ours_is_refused(privsieve, name):  # noqa: F811
    """A missing one, a file, a folder of somebody's, a link: exit code 2, and it stays."""
    Path("empty").mkdir()
    (Path("empty") / "mine").write_text("")
    Path("link").symlink_to("empty")

    assert (2, "") == privsieve("recover", name)[:2]
    assert (Path("empty") / "mine").exists()


def test_a_part_of_a_release_is_none(privsieve, monkeypatch):  # noqa: F811
    """A process that died while it wrote leaves a part, which is taken away."""
    staged(privsieve, monkeypatch)
    hidden = Path("first") / f".{RELEASE}"
    hidden.write_bytes(hidden.read_bytes()[:-1])

    code, out, _err = privsieve("recover", "first", "--json")
    assert (6, "lost") == (code, json.loads(out)["state"])
    assert [NOTE] == [path.name for path in Path("first").iterdir()]


def test_who_is_at_work_is_left_alone(privsieve, monkeypatch):  # noqa: F811
    """While a process has the folder open nobody recovers it."""
    staged(privsieve, monkeypatch)
    with Folder.reopen("first"), pytest.raises(ParameterError, match="another process uses"):
        ps.recover("first")

    assert "recover" in privsieve(*select("--request", "spring", "--out", "third"))[2]
    assert "finished" == ps.recover("first").state


def test_a_release_that_the_ledger_notes_otherwise_is_refused(privsieve, monkeypatch):  # noqa: F811
    """Where the commit names another digest, the release in the folder is not to be used."""
    staged(privsieve, monkeypatch)
    ledger = Ledger("budget.db", population="clinic", request="spring")
    ledger.commit(ledger.charge()[0], "0" * 64)

    with pytest.raises(LedgerError, match="differs from the digest in the ledger"):
        ps.recover("first")


def test_a_release_that_was_edited_is_not_called_finished(privsieve):  # noqa: F811  # the fixture
    """Of a folder without a note the two files have to belong together."""
    privsieve(*select())
    assert "finished" == ps.recover("first").state
    path = Path("first/release.json")
    path.write_bytes(path.read_bytes().replace(b'"epsilon":"', b'"epsilon":"9'))

    with pytest.raises(SchemaError, match="does not match its certificate"):
        ps.recover("first")


@pytest.mark.parametrize("noted", [False, True])
def test_a_link_in_the_place_of_a_release_is_not_followed(
        privsieve, monkeypatch, noted):  # noqa: F811
    """The user who put it there gets a sentence; nothing is finished of what lies elsewhere."""
    if noted:
        staged(privsieve, monkeypatch)
        Path("first/.release.json").rename("elsewhere.json")
    else:
        privsieve(*select())
        Path("first/release.json").rename("elsewhere.json")
    Path("first/release.json").symlink_to("../elsewhere.json")
    code, out, err = privsieve("recover", "first")

    assert (6 if noted else 3, "") == (code, out)
    assert "internal" not in err


@pytest.mark.parametrize(("words", "message"), [
    (select(arguments=("--domain", "domain.toml", "--epsilon", "1", "--top", "4")),
     "nothing was charged"),
    (("publish", "table.csv", "--target", "ill", "-k", "2", "--columns", "smoker,ward", "--out",
      "first"), "the disk is full or failed while the publication was written")],
    ids=["free", "publication"])
@pytest.mark.parametrize("step", ["stage", "link", "sync"])
def test_what_costs_nothing_and_fails_was_not_charged(
        privsieve, monkeypatch, step, words, message):  # noqa: F811
    """A sentence and exit code 2: no budget is touched, nor said to be."""
    def fails(*_args):
        raise OSError(28, "full")

    monkeypatch.setattr(Folder, step, fails)
    code, out, err = privsieve(*words)

    assert (2, "", 1, 0) == (code, out, err.count("\n"), spent())
    assert message in err


def test_a_screen_that_fails_takes_no_release_away(privsieve, monkeypatch):  # noqa: F811
    """Where the words cannot be written, the release is finished, and called so."""
    from privsieve.cli import words

    def fails(_text):
        raise OSError(28, "full")

    with monkeypatch.context() as patched:
        patched.setattr(words, "lines", fails)
        code, _out, err = privsieve(*select())

    assert (6, 1) == (code, spent())
    assert err.endswith(f"privsieve: {ReleaseFailed('finished')}\n")
    assert 0 == privsieve("verify", "first", "--ledger", "budget.db")[0]


def test_a_free_release_has_no_request(privsieve):  # noqa: F811
    """What costs nothing is not noted; it holds, with its ledger and without."""
    arguments = ("--domain", "domain.toml", "--epsilon", "1", "--top", "4", "--request", "all")
    code, _out, err = privsieve(*select(arguments=arguments))

    assert (0, 0) == (code, spent())
    assert "request" not in err
    assert 0 == privsieve("verify", "first")[0]
    assert 0 == privsieve("verify", "first", "--ledger", "budget.db")[0]
    assert [0, 2] == [privsieve(*select(arguments=arguments, out=out))[0]
                      for out in ("second", "second")]
