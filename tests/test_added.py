"""Laws of what is added: who follows docs/add-a-selector.md gets releases that hold."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from privsieve.methods import METHODS
from proofs import complaints, main

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "add-a-selector.md").read_text(encoding="utf-8")
#: The tables of the page, under their headings: a file, and what its line says.
LISTS = {heading: re.findall(r"^\| \[[^\]]+\]\(\.\./([^)]+)\) \|", text, re.MULTILINE)
         for heading, text in re.findall(r"^## \d\. (.*)\n((?:(?!## ).*\n)*)", PAGE, re.MULTILINE)}
PLAYED = """
import json, sys
# What is installed for working on it is found before any path.
sys.meta_path = [one for one in sys.meta_path if "Redirecting" not in type(one).__name__]
from pathlib import Path
import numpy as np, privsieve as ps
from privsieve.check.pairs import pair
from privsieve.errors import ParameterError
domain = ps.Domain.box(0, 1, columns=3, classes=(0, 1))
X = np.arange(600.0).reshape(200, 3) % 7 / 7
ledger = ps.Ledger(sys.argv[1] + "/b.db", "p")
ledger.grant(3)
try:
    sieve = ps.NoisyTopK(1, score="toy-counts", epsilon=1, domain=domain, ledger=ledger)
    sieve.fit(X, np.arange(200) % 2)
except ParameterError as error:
    print(json.dumps(["refused", str(ledger.spent())]))
    sys.exit()
sieve.release_.save(sys.argv[1] + "/out")
found = ps.verify(sys.argv[1] + "/out", ledger=ledger)
audited = True
try:
    pair("noisy-top-k", "toy-counts")
except ParameterError:
    audited = False
print(json.dumps([found.valid, audited]))
"""


def named(text):
    """The page's score under another name."""
    return text.replace("class-counts", "toy-counts").replace("class_counts", "toy_counts").replace(
        "ClassCounts", "ToyCounts")


@pytest.fixture
def package(tmp_path):
    """A copy of the package with the page's file under another name, and its proof."""
    shutil.copytree(ROOT / "src" / "privsieve", tmp_path / "src" / "privsieve",
                    ignore=shutil.ignore_patterns("__pycache__", "*.cpp", "*.h"))
    (name, body), = re.findall(r"^```python (src/\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / named(name)).write_text(named(body), encoding="utf-8")
    return tmp_path


def played(package, left_out=None):
    """What becomes of a release where each list but one got its line."""
    for name in LISTS["The lists"]:
        path = package / name
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        assert 1 == sum('"class-counts":' in line for line in lines), name
        if name != left_out:
            path.write_text("".join(line + named(line) * ('"class-counts":' in line)
                                    for line in lines), encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", PLAYED, str(package)], check=False,
                          capture_output=True, text=True,
                          env={"PYTHONPATH": str(package / "src")})
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout)


def test_who_follows_the_page_gets_releases_that_hold(package, capsys):
    """A new score by the page's words: valid, audited, and with a proof."""
    assert [True, True] == played(package)
    main("toy_counts", package / "src")
    lines = [line for line in capsys.readouterr().out.splitlines() if "._" not in line]
    proof = package / "src/privsieve/summaries/scores/toy_counts.proof.md"
    text = (ROOT / "src/privsieve/summaries/scores/class_counts.proof.md").read_text("utf-8")
    proof.write_text("\n".join(lines) + re.sub(r"^covers: .*$", "", text, flags=re.MULTILINE))

    assert [] == complaints(proof, package / "src")


@pytest.mark.parametrize(("left_out", "becomes"), [*zip(LISTS["The lists"], (
    ["refused", "0"], [True, False]), strict=True)])
def test_each_list_of_the_page_is_needed(package, left_out, becomes):
    """Without its line in one of the lists a score is refused before the charge, or not audited."""
    assert becomes == played(package, left_out)


@pytest.mark.parametrize("name", LISTS["A selector that is not a score"])
def test_each_method_stands_in_all_lists_of_the_page(name):
    """What the page names for a new method names every method that there is."""
    text = (ROOT / name).read_text(encoding="utf-8")

    assert [] == [method for method in METHODS if not re.search(rf'"{method}["/]', text)]
    assert len(LISTS["A selector that is not a score"]) == 3
