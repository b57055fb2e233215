"""Selectors: a plan each.  This list is the registry; there is no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privsieve.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from privsieve.core.domain import Domain
    from privsieve.core.plan import Plan

METHODS = ("rule-sieve", "block-fwell", "noisy-top-k", "private-tuning", "output-fwell", "felp")


def planner(method: str) -> Callable[..., Plan]:
    """The function that plans a method, by the method's name.

    >>> planner("rule-sieve").__module__
    'privsieve.selectors.rule_sieve'
    """
    if method == "rule-sieve":
        from privsieve.selectors import rule_sieve

        return rule_sieve.plan
    if method == "block-fwell":
        from privsieve.selectors import block_fwell

        return block_fwell.plan
    if method == "noisy-top-k":
        from privsieve.selectors import noisy_top_k

        return noisy_top_k.plan
    if method == "private-tuning":
        from privsieve.selectors import tuning

        return tuning.plan
    if method == "output-fwell":
        from privsieve.selectors import output_fwell

        return output_fwell.plan
    if method == "felp":
        from privsieve.selectors import felp

        return felp.plan
    raise ParameterError(f"method is {method!r}; known are: {', '.join(METHODS)}")


def plan(method: str, domain: Domain, **options: object) -> Plan:
    """Plan a release by the name of its method; reads no row.

    >>> from privsieve.core.domain import Domain
    >>> plan("rule-sieve", Domain.box(0, 1, columns=30), k=3, epsilon=1, rows=569).cost.text
    '1'
    """
    return planner(method)(domain, **options)
