"""Methods: each file has the options, plan, summary, mechanism and worst pairs of a method.

`METHODS` of `privsieve.entries` is the registry: the estimators, `plan`, the command line, the
settings of a release and the page of options follow from it (docs/add-a-selector.md).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from privsieve.entries import METHODS as METHODS
from privsieve.errors import DomainError, ParameterError

if TYPE_CHECKING:
    from privsieve.public.domain import Domain
    from privsieve.public.plan import Plan


def options_of(method: str) -> Any:
    """Return the class of a method's options, by the method's name.

    >>> options_of("rule-sieve").__name__
    'RuleSieveOptions'
    """
    if not isinstance(method, str) or method not in METHODS:
        from privsieve.public.canonical import quoted
        from privsieve.public.dropped import explain

        raise ParameterError(explain(
            method, f"method is {quoted(method)}; choose one of: {', '.join(METHODS)}"))
    file, estimator = METHODS[method]
    return getattr(import_module(f"privsieve.methods.{file}"), f"{estimator}Options")


def plan(method: str, domain: Domain | str, *, rows: int | None = None, **options: object) -> Plan:
    """Plan a release by the name of its method; reads no row.

    `domain` may be the path of a domain file.

    >>> from privsieve.public.domain import Domain
    >>> plan("rule-sieve", Domain.box(0, 1, columns=30), k=3, epsilon=1, rows=569).cost.text
    '1'
    """
    from privsieve.public.domain import Domain, demand_grids
    from privsieve.public.option import read_request

    domain = demand_width(Domain.of(domain))
    request = read_request(method, options_of(method), options)
    if request.needs_bounds:
        demand_grids(domain)
    if not request.takes_weights:
        demand_equal_rows(domain, method)
    planned: Plan = request.planned(domain, rows)
    return planned


def demand_equal_rows(domain: Domain, method: str) -> None:
    """Refuse a declared weight for a method that counts all rows alike."""
    if domain.weight is not None:
        able = [name for name in METHODS if options_of(name).takes_weights]
        raise DomainError(f"table.weight is {domain.weight!r}, but {method} counts all rows alike; "
                          f"remove weight and weight_max, or choose {' or '.join(able)}")


def demand_width(domain: Domain) -> Domain:
    """Return the domain of a table whose columns are known; a plan needs how many there are."""
    from privsieve.public.domain import Box

    if isinstance(domain, Box):
        raise DomainError("this domain does not name its columns; to plan without a table, give "
                          "their number: Domain.box(low, high, columns=30)")
    return domain
