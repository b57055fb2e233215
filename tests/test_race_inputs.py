"""Law: the integers that meet noise are known, natively and in the NumPy twin.

A change that is meant to move one writes the file anew and says so under **Privacy**:
`python tests/race_inputs.py > tests/golden/race-inputs.json`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from copy import deepcopy

import pytest

import race_inputs

EXPECTED = json.loads(race_inputs.GOLDEN.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", [*race_inputs.PLANS, *race_inputs.SESSIONS])
def test_what_meets_noise_is_as_it_was(name):
    """Scores, weights and counts, the terms of the noise, and what the release says of its plan."""
    same(EXPECTED[name], json.loads(json.dumps(race_inputs.recorded(name))),
         nearly=name in race_inputs.NEARLY)


def test_the_numpy_twin_hands_on_the_same():
    """Without the native kernels each integer is the same."""
    process = subprocess.run([sys.executable, race_inputs.__file__], check=True, text=True,
                             capture_output=True, env={**os.environ, "PRIVSIEVE_KERNELS": "numpy"})
    for name, inputs in json.loads(process.stdout).items():
        same(EXPECTED[name], inputs, nearly=name in race_inputs.NEARLY)


def test_a_score_that_is_one_off_is_found():
    """The comparison sees one integer of one race."""
    changed = deepcopy(EXPECTED["sieve"])
    changed["handed"][0][1][0] += 1
    with pytest.raises(AssertionError):
        same(EXPECTED["sieve"], changed, nearly=False)


def same(expected, first, *, nearly):
    """Equal; integers of a solver that works in doubles to a part in a million of the largest."""
    expected, first = deepcopy(expected), deepcopy(first)
    if nearly:
        for mine, yours in zip(expected["handed"], first["handed"], strict=True):
            for a, b in zip(mine[1], yours[1], strict=True):
                assert a == pytest.approx(b, abs=2 + max(map(abs, mine[1])) / 10**6)
            mine[1], yours[1] = len(mine[1]), len(yours[1])

    assert expected == first
