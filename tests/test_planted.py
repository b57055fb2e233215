"""Law: planted faults.  Seven mistakes that innocent code makes each turn a law red."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import privsieve
import proofs

TESTS = Path(__file__).parent
PACKAGE = Path(privsieve.__file__).parent


def patched(tmp_path, name, old, new):
    """A copy of the package in which one text of one file is another."""
    copy = tmp_path / "src" / "privsieve"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("*.cpp", "*.h"))
    text = (copy / name).read_text(encoding="utf-8")
    assert 1 == text.count(old), f"{name} changed: plant this fault anew"
    (copy / name).write_text(text.replace(old, new), encoding="utf-8")
    return tmp_path / "src"


#: Runs pytest over a copy; an editable install would put its own finder before any path.
PROGRAM = """
import sys
src, *arguments = sys.argv[1:]
sys.meta_path[:] = [f for f in sys.meta_path if "editable" not in type(f).__module__]
sys.path.insert(0, src)
import privsieve, pytest
assert privsieve.__file__.startswith(src), privsieve.__file__
sys.exit(pytest.main(arguments))
"""


def law(src, *tests):
    """Run some laws over the package in `src`; the line of the first test that failed."""
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("PYTEST_", "COV_"))}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(src), "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
         "--no-header", "--tb=no", "--assert=plain", "-rf", "-x", *tests],
        cwd=TESTS.parent, env=environment | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if line.startswith("FAILED")]


#: The faults lie in what all methods share: the laws of one of them see them.
ONE = "[RuleSieve 2]"
SPEND = f"tests/test_laws.py::test_a_refused_spend_reads_no_row{ONE}"
HOLDS = f"tests/test_laws.py::test_a_fitted_one_holds_its_release_only{ONE}"
LAYERS = "tests/test_layers.py::test_imports_point_down"
NOISE = "tests/test_race.py::test_top_k_enumerated[scores1-2-True]"

RESERVE = "    ledger, reserved = _paid(plan, ledger, noise, folder, progress)\n"
FAULTS = {
    "half-noise": (
        "noise/race.py", "return Fraction(2 * self.named) / self.epsilon",
        "return Fraction(self.named) / self.epsilon", NOISE),
    "spend-after-rows": (
        "fit.py", RESERVE,
        "    _choose(plan, source, noise or __import__('privsieve.noise.streams', "
        "fromlist=['system']).system(), room, progress)\n" + RESERVE, SPEND),
    "scores-attribute": (
        "estimators.py", "        self.n_features_in_ = ",
        "        self.scores_ = [1.0] * len(domain.columns)\n        self.n_features_in_ = ",
        HOLDS),
    "upward-import": (
        "public/plan.py", "from privsieve.errors import ParameterError\n",
        "from privsieve.errors import ParameterError\nfrom privsieve import rows  # noqa\n",
        LAYERS),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught(tmp_path, fault):
    """Half the noise, a late or lost charge, a stored score, an upward import: a law says no."""
    name, old, new, test = FAULTS[fault]

    assert [] != law(patched(tmp_path, name, old, new), test)


@pytest.mark.slow
def test_the_same_laws_hold_without_a_fault(tmp_path):
    """An unchanged copy passes: the harness itself plants nothing."""
    src = patched(tmp_path, "errors.py", "exit_code = 1\n", "exit_code = 1\n")

    assert [] == law(src, *{test for *_, test in FAULTS.values()})


def test_an_edited_proof_is_noticed(tmp_path):
    """A proved function that changed asks for its proof to be read again."""
    src = patched(tmp_path, "noise/race.py", "if not race.smallest:", "if ordered:")
    proof = src / "privsieve" / "noise" / "race.proof.md"

    assert [] == proofs.complaints(PACKAGE / "noise" / "race.proof.md", PACKAGE.parent)
    complaints = proofs.complaints(proof, src)
    assert any("privsieve.noise.race.top_k changed" in line for line in complaints), complaints
