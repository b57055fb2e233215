"""Methods: options, plan, summary and mechanism each.

This list is the registry; who checks has lists of its own (docs/add-a-selector.md).
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

from privsieve.errors import ParameterError
from privsieve.public.canonical import quoted
from privsieve.public.domain import Box, Domain, demand_grids
from privsieve.public.plan import Plan

#: The name of each method, the module that holds it, and its options.
METHODS = {
    "rule-sieve": ("rule_sieve", "RuleSieveOptions"),
    "block-fwell": ("block_fwell", "BlockOptions"),
    "noisy-top-k": ("noisy_top_k", "TopKOptions"),
    "output-fwell": ("output_fwell", "OutputOptions"),
    "objective-fwell": ("objective_fwell", "ObjectiveOptions"),
    "felp": ("felp", "EnsembleOptions"),
    "kernel-ridge": ("ridge.ridge", "RidgeOptions"),
    "noisy-histogram": ("histogram.noisy_histogram", "HistogramOptions"),
}
#: Methods that compare the codes of a number, and never compute with them: bounds are optional.
ANY_CODES = ("rule-sieve",)


def options_of(method: str) -> Any:
    """The class of a method's options, by the method's name.

    >>> options_of("rule-sieve").__name__
    'RuleSieveOptions'
    """
    if not isinstance(method, str) or method not in METHODS:
        from privsieve.public.dropped import explain

        raise ParameterError(explain(
            method, f"method is {quoted(method)}; known are: {', '.join(METHODS)}"))
    module, kind = METHODS[method]
    return getattr(import_module(f"privsieve.methods.{module}"), kind)


def plan(method: str, domain: Domain | str, *, rows: int | None = None,
         **options: object) -> Plan:
    """Plan a release by the name of its method; reads no row.

    `domain` may be the path of a domain file.

    >>> from privsieve.public.domain import Domain
    >>> plan("rule-sieve", Domain.box(0, 1, columns=30), k=3, epsilon=1, rows=569).cost.text
    '1'
    """
    from privsieve.public.option import Choosing, as_json, asked

    domain = Domain.of(domain)
    options_given: Any = asked(method, options_of(method), options)
    if method not in ANY_CODES:
        demand_grids(whole(domain))
    if isinstance(options_given, Choosing):
        from privsieve.methods.choosing import plan_among

        made: Plan = plan_among(options_given, whole(domain), rows)
    else:
        made = options_given.planned(whole(domain), rows)
    return replace(made, asked=as_json(options_given, made.settings))


def whole(domain: Domain) -> Domain:
    """The domain of a table whose columns are known; a plan needs how many there are."""
    if isinstance(domain, Box):
        from privsieve.errors import DomainError

        raise DomainError("this domain fits arrays of any width; to plan before there is one, say "
                          "how many columns: Domain.box(low, high, columns=30)")
    return domain
