"""Policy: the rules of an organisation for releases, in a file; checked before the charge.

Rules that the file does not state do not apply.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from privsieve.errors import ParameterError
from privsieve.public.canonical import exact, quoted
from privsieve.public.plain import read
from privsieve.public.plan import KINDS, Plan

_KINDS = (*KINDS, "containment")
#: The pattern of the entries of each rule with a list, and the end of the error about others.
_LISTS = {"units": ("row|person", "known are row, person"),
          "neighbours": ("replace-one|add-remove", "known are replace-one, add-remove"),
          "kinds": ("|".join(_KINDS), f"known are {', '.join(_KINDS)}"),
          "methods": ("[a-z-]{1,40}", "which is not a method; write a name such as rule-sieve"),
          "signed_by": ("sha256:[0-9a-f]{64}",
                        "not a fingerprint (sha256:0a1b…); copy one from `privsieve key show`")}
_AMOUNTS, _COUNTS, _FLAGS = ("epsilon", "delta"), ("k", "threshold"), ("ledger", "head")
_KEYS = (*_AMOUNTS, *_LISTS, *_COUNTS, *_FLAGS)
#: A policy has a few lines.
LARGEST_FILE = 2**16


@dataclass(frozen=True)
class Policy:
    """The rules of a policy; None if a rule is not stated.

    epsilon, delta : the largest values of one release, as decimal texts.
    units, neighbours, kinds, methods : the allowed ones.
    signed_by, threshold : the keys, and how many of them must sign the plan of a release (default:
        all).  Publications have no plan, and are refused.
    k : the least k of a publication.
    ledger, head : whether a publication needs a ledger, and a charge a file for its head.

    >>> Policy.read('epsilon = "1"').demand(kind="weights", epsilon="2")
    Traceback (most recent call last):
        ...
    privsieve.errors.ParameterError: the policy allows an epsilon of at most 1, but you asked \
for 2; nothing was charged
    """

    epsilon: str | None = None
    delta: str | None = None
    units: tuple[str, ...] | None = None
    neighbours: tuple[str, ...] | None = None
    kinds: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    signed_by: tuple[str, ...] | None = None
    k: int | None = None
    threshold: int | None = None
    ledger: bool = False
    head: bool = False

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file of TOML."""
        return cls.read(read(path, "the policy", ParameterError, LARGEST_FILE, way=(
            "; name a file of TOML with a line for each rule")))

    @classmethod
    def read(cls, text: str | bytes) -> Self:
        """Read the text of a policy.

        >>> Policy.read('kinds = ["weights"]').kinds
        ('weights',)
        """
        import tomllib

        try:
            rules = tomllib.loads(text if isinstance(text, str) else text.decode())
        except (ValueError, RecursionError):
            raise ParameterError("the policy is not TOML; write a line such as "
                                 'epsilon = "1"') from None
        for key in rules:
            if key not in _KEYS:
                raise ParameterError(f"the policy has the key {quoted(key)}, which is not a rule; "
                                     f"the rules are {', '.join(_KEYS)}")
        policy = cls(**{key: _rule(key, value) for key, value in rules.items()})
        keys = len(policy.signed_by or ())
        if (policy.signed_by is not None and not keys) or (
                policy.threshold is not None and policy.threshold > keys):
            raise ParameterError(f"signed_by of the policy names {keys} keys; name one or more, "
                                 "and set threshold to at most the number of keys")
        return policy

    def demand(self, *, kind: str, epsilon: str | None = None, delta: str = "0", **facts: Any,
               ) -> None:
        """Refuse a release that breaks a rule, and name the first such rule.

        `facts` are unit, neighbours, method, k, ledger and head, as far as the release has them.
        """
        self._listed("kinds", "the kind", kind)
        if kind == "containment" and self.signed_by is not None:
            raise _refused("no publication: signed_by requires a signed plan, and a publication "
                           "has no plan; use a policy without signed_by for publications, and "
                           "have the folder signed")
        for rule, what, amount in (("epsilon", "an epsilon", epsilon), ("delta", "a delta", delta)):
            most = getattr(self, rule)
            if most is not None and amount is not None and exact(amount, rule) > exact(most, rule):
                raise _refused(f"{what} of at most {most}, but you asked for {amount}")
        for rule, what in (("units", "unit"), ("neighbours", "neighbours"), ("methods", "method")):
            self._listed(rule, f"the {what}", facts.get(what))
        if self.k is not None and facts.get("k") is not None and facts["k"] < self.k:
            raise _refused(f"a k of at least {self.k}, but you asked for {facts['k']}")
        for rule, what in (("ledger", "--ledger"), ("head", "--head")):
            if getattr(self, rule) and rule in facts and not facts[rule]:
                raise _refused(f"no release without {what}: name one")

    def demand_signed(self, plan: str | None) -> None:
        """Refuse a release without a signed plan if the policy needs one."""
        if self.signed_by is not None and plan is None:
            raise _refused(f"only plans signed by {self.threshold or len(self.signed_by)} of "
                           f"{len(self.signed_by)} keys; name the plan with --signed-plan")

    def _listed(self, rule: str, what: str, value: str | None) -> None:
        allowed = getattr(self, rule)
        if allowed is not None and value is not None and value not in allowed:
            raise _refused(f"{what} {', '.join(allowed) or '(none)'}, but you asked for {value}")

    def demand_plan(self, plan: Plan, **facts: Any) -> None:
        """Refuse a plan that is not allowed; `facts` as in `demand`."""
        self.demand(kind=plan.kind, epsilon=plan.cost.text, delta=plan.cost.delta_text,
                    unit=plan.domain.unit, neighbours=plan.domain.neighbours, **facts)


def _refused(allowed: str) -> ParameterError:
    return ParameterError(f"the policy allows {allowed}; nothing was charged")


def _rule(key: str, value: Any) -> Any:
    """Return the value of a rule, if it is valid."""
    if key in _AMOUNTS and isinstance(value, str | int) and not isinstance(value, bool):
        if exact(value, f"{key} of the policy") < 0:
            raise ParameterError(f"{key} of the policy is {value}; write 0 or more")
        return str(value)
    if key in _COUNTS and type(value) is int and value > 0:
        return value
    if key in _FLAGS and isinstance(value, bool):
        return value
    if key in _LISTS and isinstance(value, list) and all(isinstance(item, str) for item in value):
        pattern, words = _LISTS[key]
        for item in value:
            if not re.fullmatch(pattern, item):
                raise ParameterError(f"{key} of the policy names {quoted(item)}, {words}")
        return tuple(value)
    form = ('a decimal text such as "0.5"' if key in _AMOUNTS else "a whole number above 0"
            if key in _COUNTS else "true or false" if key in _FLAGS else "a list of texts")
    raise ParameterError(f"{key} of the policy is {quoted(value)}; write {form}")
