"""Selectors: a plan each.  This list is the registry; there is no other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from privsieve.errors import ParameterError
from privsieve.public.domain import Domain
from privsieve.public.plan import Plan

#: The name of each method, and the module whose `plan` plans it.
METHODS = {
    "rule-sieve": "methods.rule_sieve",
    "block-fwell": "methods.block_fwell",
    "noisy-top-k": "methods.noisy_top_k",
    "private-tuning": "methods.tuning",
    "output-fwell": "methods.output_fwell",
    "objective-fwell": "methods.objective_fwell",
    "felp": "methods.felp",
    "kernel-ridge": "methods.ridge.ridge",
    "noisy-histogram": "methods.histogram.noisy_histogram",
}


def planner(method: str) -> Callable[..., Plan]:
    """The function that plans a method, by the method's name.

    >>> planner("rule-sieve").__module__
    'privsieve.methods.rule_sieve'
    """
    if method not in METHODS:
        raise ParameterError(f"method is {method!r}; known are: {', '.join(METHODS)}")
    made: Callable[..., Plan] = import_module(f"privsieve.{METHODS[method]}").plan
    return made


def plan(method: str, domain: Domain, **options: object) -> Plan:
    """Plan a release by the name of its method; reads no row.

    >>> from privsieve.public.domain import Domain
    >>> plan("rule-sieve", Domain.box(0, 1, columns=30), k=3, epsilon=1, rows=569).cost.text
    '1'
    """
    made = planner(method)
    _check(method, made, options)
    return made(domain, **options)


def _check(method: str, made: Callable[..., Plan], options: Mapping[str, object]) -> None:
    """Refuse an option that the method does not know, and the lack of one that it needs."""
    from inspect import Parameter, signature

    takes = {name: each for name, each in signature(made).parameters.items()
             if each.kind is Parameter.KEYWORD_ONLY}
    for name in options:
        if name not in takes:
            raise ParameterError(f"{name} is no option of {method}; it takes: {', '.join(takes)}")
    for name, each in takes.items():
        if each.default is Parameter.empty and name not in options:
            raise ParameterError(f"{name} is missing, and {method} needs it: give {name}=")
