"""Law: an attacker who knows all rows but one learns no more than the claim says.

One worst pair for the whole of RuleSieve, from table to names: the changed row takes one unit
from the first column's score and gives it to the second.
"""

from __future__ import annotations

import numpy as np
import pytest

from privsieve import audit
from privsieve.core.domain import Domain
from privsieve.fit import fit
from privsieve.privacy.noise import system
from privsieve.selectors import plan
from privsieve.sources import open_source

y = np.arange(12) % 2
FIRST = np.stack([y, y], axis=1).astype(float)
FIRST[[1, 3], 1] = 0  # rows 1 and 3 contradict the second column: scores 144 and 96
SECOND = FIRST.copy()
SECOND[1] = [0, 1]  # row 1 contradicts the first instead: 120 and 120


def sieve(epsilon, **options):
    """The mechanism as it is shipped, at this epsilon."""
    made = plan("rule-sieve", Domain.box(0, 1, columns=2), k=1, epsilon=epsilon, rows=12,
                **options)
    return lambda table: fit(made, open_source(table, y), noise=system()).selected


@pytest.mark.parametrize("options", [{"class_prior": None, "order": 1}, {"ordered": True}])
def test_the_worst_pair_keeps_the_claim_and_comes_near_it(options):
    """The 99 % bound stays under epsilon = 1, and above 0.9: no pair is worse."""
    found = audit(sieve(1, **options), FIRST, SECOND, epsilon=1, profile="ci")

    assert not found.exceeded
    assert 0.9 < found.bound <= 1


def test_half_the_noise_is_caught():
    """A twin that adds half of the noise (it runs at epsilon 2) is found out."""
    found = audit(sieve(2, class_prior=None, order=1), FIRST, SECOND, epsilon=1, profile="ci")

    assert found.exceeded


def test_a_count_that_leaves_is_caught():
    """A twin that shows whether a count is even is refuted in 200 runs."""
    right = sieve(1)
    one_more = FIRST.copy()
    one_more[0, 0] = 1

    found = audit(lambda table: (right(table), int(table.sum()) % 2), FIRST, one_more, epsilon=1)

    assert found.exceeded
