"""Selectors: a plan each.  This list is the registry; there is no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privsieve.errors import ParameterError

if TYPE_CHECKING:
    from privsieve.core.domain import Domain
    from privsieve.core.plan import Plan

METHODS = ("rule-sieve", "block-fwell")


def plan(method: str, domain: Domain, **options: object) -> Plan:
    """Plan a release by the name of its method; reads no row.

    >>> from privsieve.core.domain import Domain
    >>> plan("rule-sieve", Domain.box(0, 1, columns=30), k=3, epsilon=1, rows=569).cost.text
    '1'
    """
    if method == "rule-sieve":
        from privsieve.selectors.rule_sieve import plan as rule_sieve

        return rule_sieve(domain, **options)  # type: ignore[arg-type]
    if method == "block-fwell":
        from privsieve.selectors.block_fwell import plan as block_fwell

        return block_fwell(domain, **options)  # type: ignore[arg-type]
    raise ParameterError(f"method is {method!r}; known are: {', '.join(METHODS)}")
