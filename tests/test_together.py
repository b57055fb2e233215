"""Laws: together.  A ledger knows its table again, and all that is published of it keeps a rule."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from claims import SEAL, claimed, naive, noted, sealed, table_of
from privsieve.check.verify import verify
from privsieve.containment.choose import greedy
from privsieve.containment.labelled import Sensitive
from privsieve.containment.snapshot import (
    beside,
    check_together,
    claims_of,
    counted_items,
    limits_of,
    open_part,
    strictest,
    tightened,
    union_of,
)
from privsieve.errors import LedgerError, NothingFits
from privsieve.kernels.patterns import Rule
from privsieve.ledger.ledger import Ledger

LEDGER = ("--ledger", "L.db", "--population", "P", "--snapshot", "S")
GREEDY = ("--method", "greedy", "--weights", "even")


def patients():
    """A table in which `ill` follows a and b, and `other` follows b."""
    draw = random.Random(1)
    lines = ["age,a,b,ward,other,ill"]
    for _ in range(400):
        a, b = int(draw.random() < 0.5), int(draw.random() < 0.5)
        ill = "yes" if (a and b) or draw.random() < 0.3 else "no"
        other = "p" if (b if draw.random() < 0.9 else 1 - b) else "q"
        lines.append(f"{draw.randint(18, 99)},{a},{b},{draw.choice('ABC')},{other},{ill}")
    return "\n".join([*lines, ""])


@pytest.fixture
def privsieve(tmp_path, monkeypatch, cli):
    """Run one command line in a folder with a table: its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    Path("u.csv").write_text(patients())

    def call(*args):
        code, out, err = cli(*args)
        return code, out, " ".join(err.split())

    return call


def publish(*options, out, data="u.csv", target="ill", ledger=LEDGER):
    """The words of a publication under a ledger."""
    return ("publish", data, "--target", target, "-k", 5, *ledger, "--out", out, *options)


# --- the cases of the second review --------------------------------------------------------------

@pytest.mark.parametrize("options", [(), ("--target-unknown",)])
def test_another_target(privsieve, options):
    """After a publication in l classes of one target, nothing is chosen for another one."""
    assert 0 == privsieve(*publish("--columns", "a", "--publish-target", *options, "--first",
                                   out="1"))[0]
    code, _out, err = privsieve(*publish("--columns", "a,b", out="2", target="other"))

    assert (4, True) == (code, "shows or counts the classes of the target 'ill'" in err), err
    assert not Path("2").exists()
    assert 1 == len(Ledger("L.db", population="P").publications())


def test_another_target_that_was_not_published(privsieve):
    """The same holds where the classes were only counted, and not published."""
    assert 0 == privsieve(*publish("--columns", "a", "--first", out="1"))[0]
    code, _out, err = privsieve(*publish("--columns", "b", out="2", target="other"))

    assert (4, True) == (code, "shows or counts the classes of the target 'ill'" in err), err
    code, _out, err = privsieve("publish", "u.csv", "-k", 5, *LEDGER, "--out", "2", *GREEDY,
                                "--without", "ill")
    assert (4, True) == (code, "you read the table without a target; name that" in err), err


def change(lines, how):
    """A table with one change."""
    head, *rows = lines
    if how == "dropped":
        rows = rows[:16] + rows[17:]
    elif how == "added":
        rows = [*rows, rows[5]]
    elif how == "replaced":
        rows[16] = rows[16].replace("yes", "no") if "yes" in rows[16] else rows[16][:-2] + "yes"
    elif how == "swapped":
        rows = rows[::-1]
    elif how == "other column":
        rows = [f"{int(row.split(',')[0]) % 50},{row.partition(',')[2]}" for row in rows]
    return "\n".join([head, *rows, ""])


@pytest.mark.parametrize(("how", "message"), [
    ("dropped", "it has 399 rows instead of 400"),
    ("added", "it has 401 rows instead of 400"),
    ("replaced", "rows or cells were changed"),
])
def test_another_table(privsieve, how, message):
    """A row that was dropped, added or changed under the same snapshot is refused."""
    arguments = ("--columns", "a", "--publish-target")
    assert 0 == privsieve(*publish(*arguments, "--first", out="1"))[0]
    Path("v.csv").write_text(change(patients().splitlines(), how))
    code, _out, err = privsieve(*publish(*arguments, out="2", data="v.csv"))

    assert (4, True) == (code, "is not the one from which 'a' of S was published" in err), err
    assert message in err
    assert not Path("2").exists()
    assert 1 == len(Ledger("L.db", population="P").publications())


@pytest.mark.parametrize("how", ["swapped", "other column"])
def test_the_same_table(privsieve, how):
    """Rows in another order, and columns that were never published, are no other table."""
    arguments = ("--columns", "a", "--publish-target")
    assert 0 == privsieve(*publish(*arguments, "--first", out="1"))[0]
    Path("v.csv").write_text(change(patients().splitlines(), how))

    assert 0 == privsieve(*publish(*arguments, out="2", data="v.csv"))[0]
    first, second = (json.loads(Path(out, "certificate.json").read_text())["claim"]["fingerprint"]
                     for out in "12")
    assert (first, 64) == (second, len(first))
    assert 0 == privsieve("verify", "2", "--ledger", "L.db")[0]


def test_a_fingerprint_that_was_edited(privsieve):
    """`verify` refuses a certificate whose fingerprint is none, another, or without a ledger."""
    assert 0 == privsieve(*publish("--columns", "a", "--first", out="1"))[0]
    assert 0 == privsieve("publish", "u.csv", "--target", "ill", "-k", 5, "--columns", "a", "--out",
                          "2")[0]
    noted, alone = (json.loads(Path(out, "certificate.json").read_text()) for out in "12")
    print_of = noted["claim"]["fingerprint"]
    for body, other in ((noted, None), (noted, "0" * 63), (noted, "0" * 64),
                        (noted, print_of[::-1]), (noted, print_of.upper()), (alone, print_of)):
        assert verify({**body, "claim": {**body["claim"], "fingerprint": other}}).reasons

    assert () == verify(noted).reasons == verify(alone).reasons
    assert alone["claim"]["fingerprint"] is None


def test_the_same_again_within_a_limit(privsieve):
    """What was published within a limit may be published again, as after a lost folder."""
    arguments = ("--columns", "ward,age", "--max-share", "0.9", *GREEDY)
    first = privsieve(*publish(*arguments, "--first", out="1"))
    assert 0 == first[0], first[2]
    again = privsieve(*publish(*arguments, out="2"))
    assert 0 == again[0], again[2]
    names = [json.loads(Path(out, "release.json").read_text())["columns"] for out in "12"]

    assert sorted(names[0]) == sorted(names[1])


# --- the union ------------------------------------------------------------------------------------

def any_claim(rng, width):
    """A claim of some columns."""
    chosen = [j for j in range(width) if rng.random() < 0.5] or [0]
    names = [f"c{j}" for j in chosen]
    known = bool(rng.random() < 0.3)
    claim = claimed(names, k=int(rng.integers(2, 5)), l_diversity=int(rng.integers(1, 3)),
                    model=str(rng.choice(["containment", "containment", "k-anonymity"])),
                    absent=[name for name in names if rng.random() < 0.3],
                    target="ill" if known else None)
    claim["roles"]["target_known"] = known
    return claim, chosen


def test_the_union_is_the_definition():
    """On 200 tables a publication is refused where all columns break the strictest rule, only."""
    rng = np.random.default_rng(11)
    refused = 0
    for _ in range(200):
        width = int(rng.integers(2, 5))
        cells = rng.random((int(rng.integers(6, 30)), width)) < rng.choice([0.5, 0.8, 0.95])
        y = rng.integers(0, 2, len(cells))
        table = table_of(cells, y)
        (now, first), *others = [any_claim(rng, width) for _ in range(rng.integers(2, 4))]
        absent = np.array([any(f"c{j}" in single_claim["absent"] for single_claim in
                               (now, *(claim for claim, _ in others))) for j in range(width)])
        claims = [now, *(claim for claim, _ in others)]
        rule = Rule(k=max(claim["k"] for claim in claims), classes=2, absent=absent,
                    l_diversity=max(claim["l_diversity"] for claim in claims),
                    model="k-anonymity" if any(claim["model"] == "k-anonymity" for claim in claims)
                    else "containment",
                    labelled=any(claim["roles"]["target_known"] for claim in claims))
        chosen = sorted({*first, *(j for _, some in others for j in some)})
        bad = naive(cells, y, rule, chosen)
        earlier = [noted(sealed(table, claim)) for claim, _ in others]
        strictest_claim = strictest(table.items, claims, 2)
        union = union_of(table, strictest_claim, chosen)
        refused += any(bad)

        assert bad == (union.small, union.poor)
        assert (rule.k, rule.model, rule.l_diversity, rule.labelled, absent.tolist()) == (
            strictest_claim.k, strictest_claim.model, strictest_claim.l_diversity,
            strictest_claim.labelled, strictest_claim.absent.tolist())
        if any(bad):
            text = f"leave {bad[0] or bad[1]} of {len(cells)} rows in groups"
            with pytest.raises(LedgerError, match=text):
                check_together(table, sealed(table, now), earlier, SEAL)
        else:
            assert None is check_together(table, sealed(table, now), earlier, SEAL)
    assert 20 <= refused <= 180


def test_what_was_published_counts_while_choosing():
    """On 120 tables a choice beside earlier columns keeps the strictest rule with them."""
    rng = np.random.default_rng(13)
    count = 0
    for _ in range(120):
        width = int(rng.integers(3, 7))
        cells = rng.random((40, width)) < rng.choice([0.5, 0.8, 0.95])
        y = rng.integers(0, 2, 40)
        table = table_of(cells, y)
        claim, _ = any_claim(rng, width)
        closed = set(claim["columns"]) if rng.random() < 0.5 else set()
        marked = beside(table, [claim], closed)
        rule = Rule(k=int(rng.integers(2, 4)), classes=2)
        try:
            strict = tightened(marked, rule, [claim])
        except LedgerError:
            every = replace(strictest(table.items, [claim], 2), k=max(rule.k, claim["k"]))
            assert any(naive(cells, y, every, counted_items(table, [claim])))
            continue
        actual_choice = greedy(marked, strict, np.ones(width, np.int64))
        try:
            choice = open_part(marked, rule, actual_choice)
        except NothingFits:
            assert set(actual_choice.selected) <= set(marked.counted)
            continue
        names = {marked.items.names[j] for j in choice.selected}
        chosen = [j for j in range(width) if f"c{j}" in names | set(claim["columns"])]
        count += len(names - set(claim["columns"]))
        both = strictest(table.items, [claim, claimed(names, k=rule.k)], 2)

        assert not names & closed
        assert (0, 0) == naive(cells, y, both, chosen)
        assert None is check_together(table, sealed(table, claimed(names, k=rule.k)),
                                    [noted(sealed(table, claim))], SEAL)
    assert count > 15


def test_a_k_that_cannot_be_kept_any_more():
    """A larger k than what was published keeps is refused before a choice, with the count."""
    table = table_of([[1, 0], [1, 0], [0, 1], [0, 1]])
    with pytest.raises(LedgerError, match="leave 2 of 4 rows in groups below k = 3"):
        tightened(table, Rule(k=3, classes=2), [claimed(["c0"])])

    assert 2 == tightened(table, Rule(k=2, classes=2), [claimed(["c0"])]).k


def test_limits_are_the_strictest():
    """Of limits the stricter one counts, as numbers and not as texts."""
    some = [{"limits": {"share": "0.9", "entropy": "10", "closeness": None}},
            {"limits": {}},
            {"limits": {"share": "0.85", "entropy": "9.5", "closeness": "0.3"}}]

    assert {"share": "0.85", "entropy": "10", "closeness": "0.3"} == limits_of(some)


def test_a_limit_is_counted_together():
    """A share that some publication promised is kept by all columns, or the later is refused."""
    rng = np.random.default_rng(19)
    refused = 0
    for _ in range(50):
        cells, y = (rng.random((24, 2)) < 0.5).astype(int), rng.integers(0, 2, 24)
        table = table_of(cells, y)
        limit = str(rng.choice(["0.75", "0.85", "0.95"]))
        first = claimed(["c0"], limits={"share": limit, "entropy": None, "closeness": None})
        earlier = [noted(sealed(table, first))]
        groups = [[label for other, label in zip(cells, y, strict=True)
                   if all(other[j] for j in (0, 1) if mine[j])] for mine in cells]
        beyond = sum(max(group.count(0), group.count(1)) * 100 > float(limit) * 100 * len(group)
                     for group in groups)
        if min(map(len, groups)) < 2:
            continue
        if beyond:
            refused += 1
            with pytest.raises(LedgerError, match=f"leave {beyond} of 24 rows beyond a limit"):
                check_together(table, claimed(["c1"]), earlier, SEAL)
        else:
            assert None is check_together(table, claimed(["c1"]), earlier, SEAL)
    assert 5 < refused < 45


def test_sensitive_columns_stay_sensitive():
    """What an earlier publication promised of a sensitive column is counted, or refused."""
    hidden = Sensitive("s", np.array([0, 1, 0, 1], np.int32), ("u", "v"))
    table = table_of([[1, 0], [1, 0], [0, 1], [0, 1]], [0, 1, 0, 1], sensitive=(hidden,))
    claim = claimed(["c0"], l_diversity=2)
    claim["roles"]["sensitive"] = ["s"]
    earlier = [noted(sealed(table, claim))]
    same = replace(hidden, codes=np.array([0, 0, 1, 1], np.int32))

    assert None is check_together(table, claimed(["c1"]), earlier, SEAL)
    with pytest.raises(LedgerError, match="is not sensitive here"):
        check_together(replace(table, sensitive=()), claimed(["c1"]), earlier, SEAL)
    with pytest.raises(LedgerError, match="rows or cells were changed"):
        check_together(replace(table, sensitive=(same,)), claimed(["c1"]), earlier, SEAL)
    with pytest.raises(LedgerError, match="it cannot be sensitive now; remove this role"):
        counted_items(replace(table, sensitive=(replace(hidden, name="c9"),)), [claimed(["c9"])])


def test_sources_are_counted_by_the_same_column():
    """Where k counted sources, the same column of sources is needed again."""
    table = table_of([[1, 0], [1, 0], [0, 1], [0, 1]], sources=np.array([0, 1, 0, 1], np.int32))
    earlier = [noted(sealed(table, claimed(["c0"], counted="sources")))]
    other = replace(table, sources=np.array([0, 0, 1, 1], np.int32))

    assert None is check_together(table, claimed(["c1"], counted="sources"), earlier, SEAL)
    with pytest.raises(LedgerError, match="with --source"):
        check_together(replace(table, sources=None), claimed(["c1"]), earlier, SEAL)
    with pytest.raises(LedgerError, match="rows or cells were changed"):
        check_together(other, claimed(["c1"]), earlier, SEAL)


# --- columns of before ----------------------------------------------------------------------------

def test_another_cut_is_refused_and_named(privsieve):
    """Another cut of a published column is refused with the points to give; none takes the old."""
    first = publish(*GREEDY, "--columns", "age", "--cut", "age=40,60", "--first", out="1")
    assert 0 == privsieve(*first)[0]
    code, _out, err = privsieve(*publish(*GREEDY, "--columns", "age", "--cut", "age=50", out="2"))

    assert (4, True) == (code, "with the same cuts (--cut age=40,60)" in err), err
    assert 0 == privsieve(*publish(*GREEDY, "--columns", "a,age", "--bins", 9, out="3"))[0]
    names = json.loads(Path("3/certificate.json").read_text())["claim"]["columns"]
    assert {"age<40", "age=40..60", "age>=60"} >= {name for name in names if name != "a"}
    code, _out, err = privsieve(*publish(*GREEDY, "--columns", "a", out="4", target="age"))
    assert (4, True) == (code, "it cannot be the target now" in err), err


def test_columns_of_before_need_not_be_chosen(privsieve):
    """Columns are chosen from those named now; those of before are counted, and do not leave."""
    assert 0 == privsieve(*publish(*GREEDY, "--columns", "ward", "--first", out="1"))[0]
    assert 0 == privsieve(*publish(*GREEDY, "--columns", "a,b", out="2"))[0]
    claim = json.loads(Path("2/certificate.json").read_text())["claim"]

    assert {"a", "b"} >= set(claim["columns"]) != set()
    assert claim["columns"] == Path("2/table.csv").read_text().splitlines()[0].split(",")
    publications = Ledger("L.db", population="P").publications()
    assert claim["columns"] == list(publications[1].columns)
    assert 2 == len(claims_of(publications, "S"))
    code, out, _err = privsieve("union", "u.csv", "1", "2", "--json")
    assert (0, True) == (code, json.loads(out)["lowest"] >= 5)
