"""Law: publish under limits.  What leaves keeps them, and everybody can count that again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from privsieve.check.verify import verify
from privsieve.public.canonical import canonical, digest


@pytest.fixture
def privsieve(tmp_path, monkeypatch, cli):
    """Run one command line in a folder with a table of persons."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    ill = rng.random(400) < 0.4
    lines = [f"{int(rng.random() < (0.6 if label else 0.3))},{'ABC'[rng.integers(3)]},"
             f"{int(rng.random() < (0.7 if label else 0.2))},{'yes' if label else 'no'},"
             f"{500 * rng.integers(1, 9)}" for label in ill]
    Path("p.csv").write_text("smoker,ward,cough,ill,income\n" + "\n".join(lines) + "\n")
    return cli


ASK = ("publish", "p.csv", "--target", "ill", "-k", 5)
WHOLE = ("--publish-target", "--sensitive", "income", "--publish-sensitive")


@pytest.mark.parametrize("limit", [("--max-share", "0.75"), ("--entropy-l", "1.8"),
                                   ("--closeness", "0.2"), ("--l-diversity", "2")])
@pytest.mark.parametrize("how", [("--profile", "few"), ("--profile", "strict"),
                                 ("--method", "greedy"), ("--method", "maximal", "--presences-only",
                                                          "all")])
def test_limits_are_kept_and_recounted(privsieve, limit, how):
    """A publication under a limit says it, keeps it, and is valid for who has the file alone."""
    code, _, err = privsieve(*ASK, *WHOLE, *how, *limit, "--out", "out")
    assert (0, "") == (code, err if code else "")
    claim = json.loads(Path("out/certificate.json").read_bytes())["claim"]
    disclosures = json.loads(Path("out/release.json").read_bytes())["measured"]["disclosure"]
    verdict = verify("out/certificate.json", "out/release.json", table="out/table.csv")
    name = limit[0].removeprefix("--").removeprefix("max-").removesuffix("-l")

    assert () == verdict.reasons
    assert ["ill", "income"] == [disclosure["column"] for disclosure in disclosures]
    assert ["income"] == claim["limits"]["ordered"]
    assert limit[1] == (str(claim["l_diversity"]) if name == "l-diversity"
                        else claim["limits"][name])
    assert "What a group tells" in Path("out/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "limit"), [("share", "0.5"), ("entropy", "1.999"),
                                             ("closeness", "0.01")])
def test_a_forged_limit_is_found(privsieve, name, limit):
    """A claim of a limit that the file does not keep is a reason, though all digests agree."""
    assert 0 == privsieve(*ASK, *WHOLE, "--out", "out")[0]
    certificate = json.loads(Path("out/certificate.json").read_bytes())
    certificate["claim"]["limits"][name] = limit

    assert any("misses the claimed limit" in reason
               for reason in verify(certificate, table="out/table.csv").reasons)


def test_a_forged_figure_is_found(privsieve):
    """A release that says less of its groups than the file shows is not valid with it."""
    assert 0 == privsieve(*ASK, *WHOLE, "--out", "out")[0]
    release = json.loads(Path("out/release.json").read_bytes())
    release["measured"]["disclosure"][0]["share"] = "0.51"
    certificate = json.loads(Path("out/certificate.json").read_bytes())
    certificate["release_sha256"] = digest(canonical(release))

    reason = "the release's figures about a column's values do not follow from the table"
    assert (reason,) == verify(certificate, release, table="out/table.csv").reasons


def test_a_limit_that_nothing_keeps_is_refused(privsieve):
    """One sentence with what would work, exit code 5, and no folder; what it names works."""
    code, out, err = privsieve(*ASK, "--max-share", "0.5", "--out", "out")
    least = err.rpartition("to at least ")[2].strip()

    assert (5, "", False) == (code, out, Path("out").exists())
    assert "no set of columns was found that keeps --max-share 0.5 for 'ill'" in err
    assert 0 == privsieve(*ASK, "--max-share", least, "--out", "out")[0]


@pytest.mark.parametrize(("limit", "message"), [
    (("--max-share", "1.5"), "at most 1"), (("--entropy-l", "0.2"), "at least 1"),
    (("--closeness", "much"), "such as 0.8")])
def test_a_limit_that_is_none_is_refused(privsieve, limit, message):
    """A limit out of its range is refused by its option, and nothing is written."""
    code, _, err = privsieve(*ASK, *limit, "--out", "out")

    assert (2, True, False) == (code, message in err, Path("out").exists())
    assert limit[0] in err


def test_what_is_not_published_is_noted(privsieve):
    """Limits on columns that stay behind are kept, and it is said that nobody recounted them."""
    assert 0 == privsieve(*ASK, "--sensitive", "income", "--max-share", "0.8", "--out", "out")[0]
    verdict = verify("out/certificate.json", "out/release.json", table="out/table.csv")

    assert () == verdict.reasons
    assert any("not recounted" in note and "limited" in note for note in verdict.notes)
    assert [] == json.loads(Path("out/release.json").read_bytes())["measured"]["disclosure"]


LEDGER = ("--ledger", "n.db", "--population", "clinic", "--snapshot", "2026")
KNOWN = ("--method", "greedy", "--weights", "even")


@pytest.fixture
def before(privsieve):
    """The command line after `ward` was published, whose groups tell nearly all of two columns."""
    rng = np.random.default_rng(2)
    Path("q.csv").write_text("ward,cough,stage,ill\n" + "".join(
        f"{'AB'[at % 2]},{rng.integers(2)},{'x' if at % 2 else 'xyz'[rng.integers(3)]},"
        f"{'yes' if at % 20 == 0 or (at % 2 and rng.random() < 0.9) else 'no'}\n"
        for at in range(200)))
    assert 0 == privsieve("publish", "q.csv", "--target", "ill", "-k", 5, "--columns", "ward",
                          *KNOWN, *LEDGER, "--first", "--out", "first")[0]
    return privsieve


@pytest.mark.parametrize("columns", [(), ("--columns", "ward,cough"), ("--columns", "cough"),
                                     ("--columns", "ward")])
@pytest.mark.parametrize(("limit", "least"), [
    (("--max-share", "0.7", "--target-unknown"), "--max-share 0.7 for 'ill'"),
    (("--entropy-l", "1.9", "--target-unknown"), "--entropy-l 1.9 for 'ill'"),
    (("--closeness", "0.1", "--target-unknown"), "--closeness 0.1 for 'ill'"),
    (("--sensitive", "stage", "--publish-sensitive"), "--l-diversity 2 for 'stage'"),
    (("--sensitive", "stage", "--closeness", "0.2", "--target-unknown"), "for 'ill'")])
def test_what_was_published_before_misses_a_new_limit(before, columns, limit, least):
    """A limit that is new and missed by what left before is refused, with what would work."""
    noted = Path("n.db").read_bytes()
    code, out, err = before("publish", "q.csv", "--target", "ill", "-k", 5, "--publish-target",
                            *KNOWN, *LEDGER, *columns, *limit, "--out", "second")
    text = " ".join(err.split())

    assert (5, "", False, noted) == (code, out, Path("second").exists(), Path("n.db").read_bytes())
    assert least in text
    assert "and the published columns of this snapshot" in text
    assert " to at " in text
    assert "bug in privsieve" not in text
