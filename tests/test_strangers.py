"""Law: who adds a score or a method by docs/add-a-selector.md edits few files."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from proofs import complaints, digest, main

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "add-a-selector.md").read_text(encoding="utf-8")
SCORES = "src/privsieve/summaries/scores/"
#: What a score or a method is asked for in the copy of the package, from all sides.
PLAYED = """
import json, sys
# What is installed for working on it is found before any path.
sys.meta_path = [one for one in sys.meta_path if "Redirecting" not in type(one).__name__]
from pathlib import Path
import numpy as np, privsieve as ps
from privsieve.cli import run
from privsieve.errors import ParameterError
from privsieve.methods.worst import pair
place, name, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
method, mode = options.pop("method"), options.pop("mode")
domain = ps.Domain.box(0, 1, columns=3, classes=(0, 1))
X = np.arange(600.0).reshape(200, 3) % 7 / 7
ledger = ps.Ledger(place + "/b.db", "p")
ledger.grant(3)
found = {}
try:
    sieve = getattr(ps, name)(1, epsilon=1, domain=domain, ledger=ledger, **options)
    sieve.fit(X, np.arange(200) % 2)
except ParameterError:
    print(json.dumps({"spent": str(ledger.spent())}))
    sys.exit()
sieve.release_.save(place + "/out")
found["valid"] = ps.verify(place + "/out", ledger=ledger).valid
found["planned"] = ps.plan(method, domain, k=1, epsilon=1, rows=200, **options).method
found["report"] = method in Path(place, "out", "report.html").read_text(encoding="utf-8")
attacked = pair(method, mode).attacked(1)
found["audited"] = len(attacked(pair(method, mode).first)["selected"])
Path(place, "t.csv").write_text("x0,x1,x2,y\\n" + "".join(
    ",".join(map(str, [*row, i % 2])) + "\\n" for i, row in enumerate(X.tolist())))
ps.Domain([ps.Number(f"x{j}", 0, 1) for j in range(3)], target=ps.Label("y", [0, 1])).to_toml(
    place + "/d.toml")
words = [f"--{option}={value}" for option, value in options.items()]
found["select"] = run(["select", place + "/t.csv", "--domain", place + "/d.toml", "--unit", "row",
                       "--method", method, *words, "--epsilon", "1", "--top", "1",
                       "--out", place + "/chosen", "--ledger", place + "/b.db",
                       "--population", "p"])
print(json.dumps(found))
"""


def played(package, estimator, **options):
    """What becomes of a release in a copy of the package."""
    done = subprocess.run(
        [sys.executable, "-c", PLAYED, str(package), estimator, json.dumps(options)], check=False,
        capture_output=True, text=True, env={"PYTHONPATH": str(package / "src")})
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def changed(package):
    """The files of the copy that are new or edited."""
    return {path.relative_to(package).as_posix() for path in (package / "src").rglob("*")
            if path.suffix in {".py", ".md"} and (
                not (old := ROOT / path.relative_to(package)).is_file()
                or old.read_bytes() != path.read_bytes())}


def listed(package, file, beside, line):
    """Write a line beside another one of a list."""
    path = package / file
    text = path.read_text(encoding="utf-8")
    (old,) = re.findall(rf"^    {re.escape(beside)}: .*\n", text, re.MULTILINE)
    path.write_text(text.replace(old, old + line), encoding="utf-8")


@pytest.fixture
def package(tmp_path):
    """A copy of the package."""
    shutil.copytree(ROOT / "src" / "privsieve", tmp_path / "src" / "privsieve",
                    ignore=shutil.ignore_patterns("__pycache__", "*.cpp", "*.h"))
    return tmp_path


def named(text):
    """The page's score under another name."""
    return text.replace("class-counts", "toy-counts").replace("class_counts", "toy_counts").replace(
        "ClassCounts", "ToyCounts")


@pytest.fixture
def scored(package):
    """The copy with the page's file under another name."""
    (name, body), = re.findall(r"^```python (src/\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (package / named(name)).write_text(named(body), encoding="utf-8")
    return package


def test_a_score_touches_four_files(scored, capsys):
    """Its file, its proof, a line and a test: valid, audited, chosen from the shell."""
    listed(scored, f"{SCORES}__init__.py", '"class-counts"',
           '    "toy-counts": ("toy_counts", "ToyCounts"),\n')
    main("toy_counts", scored / "src")
    lines = [line for line in capsys.readouterr().out.splitlines() if "._" not in line]
    proof = scored / f"{SCORES}toy_counts.proof.md"
    text = (ROOT / f"{SCORES}class_counts.proof.md").read_text("utf-8")
    proof.write_text("\n".join(lines) + re.sub(r"^covers: .*$", "", text, flags=re.MULTILINE))

    assert {"valid": True, "planned": "noisy-top-k/1", "report": True, "audited": 1,
            "select": 0} == played(scored, "NoisyTopK", method="noisy-top-k", mode="toy-counts",
                                   score="toy-counts")
    assert [] == complaints(proof, scored / "src")
    assert {f"{SCORES}{name}" for name in ("__init__.py", "toy_counts.py", "toy_counts.proof.md")
            } == changed(scored)


def test_a_score_without_its_line_is_refused(scored):
    """Before the charge."""
    assert {"spent": "0"} == played(scored, "NoisyTopK", method="noisy-top-k", mode="toy-counts",
                                    score="toy-counts")


#: A method of one file: it chooses columns by how many rows lie above, or below, their middle.
METHOD = '''"""Halves: a set of columns by how many rows lie in one half of their range."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from privsieve.methods.choosing import Choosing, ColumnChoice, Run, charged, selection
from privsieve.methods.method import BITS
from privsieve.public.option import declared, option, settings
from privsieve.public.plan import Plan
from privsieve.summaries.stages import adding

METHOD = "halves/1"


@declared
class HalvesOptions(Choosing):
    """Choose columns under pure epsilon-DP by how many rows lie in one half of their range."""

    theorems = ("halves",)
    assumes = BITS

    side: str = option(default="above", choices=("above", "below"), says="which half is counted")

    def planned_choice(self, choice: ColumnChoice, rows: int | None) -> Plan:
        """Plan one selection; reads no row."""
        cost, units = choice.priced(rows)
        rules = choice.run(Rules, cost, units)
        return selection(choice, rules, charged(cost, rules.race), method=METHOD, theorem="halves",
                         settings=settings(rules), noise=rules.race.scale, event=rules.race.event,
                         summarise=adding(partial(summarise, rules=rules), choice.domain),
                         mechanism=partial(choose, rules=rules))

    @classmethod
    def worst_pairs(cls) -> Mapping[str, Any]:
        """A row takes one unit from a column and gives it to another."""
        from privsieve.methods.worst import in_two, sides

        return {"": in_two(sides(), k=1)}


@declared
class Rules(HalvesOptions, Run):
    """The public parameters of one run."""


def summarise(batches: Iterable[Any], key: int, *, rules: Rules) -> Any:
    """Rows become counts."""
    return sum(((batch.codes >= 2**15) == (rules.side == "above")).sum(axis=0)
               for batch in batches) + np.zeros(len(rules.domain.columns), np.int64)


def choose(summary: Any, noise: Any, *, rules: Rules) -> tuple[int, ...]:
    """Counts meet noise: a race."""
    return rules.places.chosen(summary.tolist(), replace(rules.race, sensitivity=1), noise)
'''
PROOF = """# halves

{covers}
assumes: ideal-bits
rests on: noise/race.proof.md

A row is in one half of each column, so that replacing it moves each count by at most 1: the race of
noise/race.proof.md
is for scores that move so far.
"""


@pytest.fixture
def halved(package):
    """The copy with a method of one file, its proof and its line."""
    methods = package / "src/privsieve/methods"
    (methods / "halves.py").write_text(METHOD, encoding="utf-8")
    covers = "\n".join(f"covers: {name} @ {digest(name, package / 'src')}" for name in (
        "privsieve.methods.halves.summarise", "privsieve.methods.halves.choose"))
    (methods / "halves.proof.md").write_text(PROOF.format(covers=covers), encoding="utf-8")
    listed(package, "src/privsieve/entries.py", '"felp"', '    "halves": ("halves", "Halves"),\n')
    return package


@pytest.mark.parametrize("options", [{}, {"side": "below"}])
def test_a_method_is_one_file(halved, options):
    """File, proof, line and test: planned, released, verified, audited, asked for in the shell."""
    assert {"valid": True, "planned": "halves/1", "report": True, "audited": 1, "select": 0
            } == played(halved, "Halves", method="halves", mode="", **options)
    assert {f"src/privsieve/{name}" for name in (
        "entries.py", "methods/halves.py", "methods/halves.proof.md")} == changed(halved)
    assert [] == complaints(halved / "src/privsieve/methods/halves.proof.md", halved / "src")


def test_a_method_without_its_line_is_unknown(package):
    """Its name is no name of the package."""
    (package / "src/privsieve/methods/halves.py").write_text(METHOD, encoding="utf-8")

    with pytest.raises(AssertionError, match="has no attribute 'Halves'"):
        played(package, "Halves", method="halves", mode="")
