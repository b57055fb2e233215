"""Selectors: a plan each.  This list is the registry; there is no other."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from privsieve.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from privsieve.core.domain import Domain
    from privsieve.core.plan import Plan

#: The name of each method, and the module whose `plan` plans it.
METHODS = {
    "rule-sieve": "rule_sieve",
    "block-fwell": "block_fwell",
    "noisy-top-k": "noisy_top_k",
    "private-tuning": "tuning",
    "output-fwell": "output_fwell",
    "objective-fwell": "objective_fwell",
    "felp": "felp",
}


def planner(method: str) -> Callable[..., Plan]:
    """The function that plans a method, by the method's name.

    >>> planner("rule-sieve").__module__
    'privsieve.selectors.rule_sieve'
    """
    if method not in METHODS:
        raise ParameterError(f"method is {method!r}; known are: {', '.join(METHODS)}")
    made: Callable[..., Plan] = import_module(f"privsieve.selectors.{METHODS[method]}").plan
    return made


def plan(method: str, domain: Domain, **options: object) -> Plan:
    """Plan a release by the name of its method; reads no row.

    >>> from privsieve.core.domain import Domain
    >>> plan("rule-sieve", Domain.box(0, 1, columns=30), k=3, epsilon=1, rows=569).cost.text
    '1'
    """
    return planner(method)(domain, **options)
