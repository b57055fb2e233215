"""Policy: what a place allows of a release, in a file of its own; refused before the charge.

A rule that is not in the file is no rule.  Each refusal names the rule, what was asked for, and
what is allowed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Self

from privsieve.errors import ParameterError
from privsieve.frozen import dataclass
from privsieve.public.canonical import quoted
from privsieve.public.cost import exact
from privsieve.public.plan import Plan

#: What a rule that lists may list; methods are called as a plan is asked for.
_LISTS = {"units": ("row", "person"), "neighbours": ("replace-one", "add-remove"),
          "kinds": ("selection", "weights", "regression", "histogram", "containment"),
          "methods": ()}
_AMOUNTS, _FLAGS = ("epsilon", "delta"), ("ledger", "head")
_KEYS = (*_AMOUNTS, *_LISTS, "k", *_FLAGS)
#: A policy has a few lines.
LARGEST_FILE = 2**16


@dataclass(frozen=True)
class Policy:
    """What is allowed; None where nothing is said.

    epsilon, delta : the largest of one release, as decimal texts.
    units, neighbours, kinds, methods : those that are allowed.
    k : the least of a publication.
    ledger, head : whether a publication needs a ledger, and a charge a file that keeps its head.

    >>> Policy.read('epsilon = "1"').demand(kind="selection", epsilon="2")
    Traceback (most recent call last):
        ...
    privsieve.errors.ParameterError: the policy allows an epsilon of at most 1, and 2 is asked \
for; nothing was charged
    """

    epsilon: str | None = None
    delta: str | None = None
    units: tuple[str, ...] | None = None
    neighbours: tuple[str, ...] | None = None
    kinds: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    k: int | None = None
    ledger: bool = False
    head: bool = False

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file of TOML."""
        try:
            with Path(path).open("rb") as file:
                text = file.read(LARGEST_FILE + 1).decode()
        except (OSError, ValueError):
            raise ParameterError("the policy cannot be read; name a file of TOML") from None
        if len(text) > LARGEST_FILE:
            raise ParameterError("the policy is larger than 64 KB; it has a line for each rule")
        return cls.read(text)

    @classmethod
    def read(cls, text: str) -> Self:
        """The same of a text.

        >>> Policy.read('kinds = ["selection"]').kinds
        ('selection',)
        """
        import tomllib

        try:
            said = tomllib.loads(text)
        except (ValueError, RecursionError):
            raise ParameterError("the policy is not TOML; write a line such as "
                                 'epsilon = "1"') from None
        for key in said:
            if key not in _KEYS:
                raise ParameterError(f"the policy has the key {quoted(key)}, which is no rule; "
                                     f"rules are {', '.join(_KEYS)}")
        return cls(**{key: _rule(key, value) for key, value in said.items()})

    def demand(self, *, kind: str, epsilon: str | None = None, delta: str = "0", **more: Any,
               ) -> None:
        """Refuse what is not allowed, with the first rule that speaks against it.

        `more` are unit, neighbours, method, k, ledger and head, as far as the release has them.
        """
        self._listed("kinds", "the kind", kind)
        for rule, what, asked in (("epsilon", "an epsilon", epsilon), ("delta", "a delta", delta)):
            most = getattr(self, rule)
            if most is not None and asked is not None and exact(asked, rule) > exact(most, rule):
                raise _refused(f"{what} of at most {most}, and {asked} is asked for")
        for rule, what in (("units", "unit"), ("neighbours", "neighbours"), ("methods", "method")):
            self._listed(rule, f"the {what}", more.get(what))
        if self.k is not None and more.get("k") is not None and more["k"] < self.k:
            raise _refused(f"a k of at least {self.k}, and {more['k']} is asked for")
        for rule, what in (("ledger", "--ledger"), ("head", "--head")):
            if getattr(self, rule) and rule in more and not more[rule]:
                raise _refused(f"no release without {what}: name one")

    def _listed(self, rule: str, what: str, asked: str | None) -> None:
        allowed = getattr(self, rule)
        if allowed is not None and asked is not None and asked not in allowed:
            raise _refused(f"{what} {', '.join(allowed) or 'of nothing'}, and {asked} is asked for")

    def demand_plan(self, plan: Plan, **more: Any) -> None:
        """The same of a plan; `more` as in `demand`."""
        self.demand(kind=plan.kind, epsilon=plan.cost.text, delta=plan.cost.delta_text,
                    unit=plan.domain.unit, neighbours=plan.domain.neighbours, **more)


def _refused(said: str) -> ParameterError:
    return ParameterError(f"the policy allows {said}; nothing was charged")


def _rule(key: str, value: Any) -> Any:
    """A rule as it was written, if it is one."""
    if key in _AMOUNTS and isinstance(value, str | int) and not isinstance(value, bool):
        if exact(value, f"{key} of the policy") < 0:
            raise ParameterError(f"{key} of the policy is {value}; write 0 or more")
        return str(value)
    if key == "k" and type(value) is int and value > 0:
        return value
    if key in _FLAGS and isinstance(value, bool):
        return value
    if key in _LISTS and isinstance(value, list) and all(isinstance(one, str) for one in value):
        known = _LISTS[key]
        for one in value:
            if known and one not in known:
                raise ParameterError(f"{key} of the policy names {quoted(one)}; known are "
                                     f"{', '.join(known)}")
            if not known and not re.fullmatch("[a-z-]{1,40}", one):
                raise ParameterError(f"{key} of the policy names {quoted(one)}, which no method "
                                     "is called; write a name such as rule-sieve")
        return tuple(value)
    form = ('a decimal text such as "0.5"' if key in _AMOUNTS else "a whole number above 0"
            if key == "k" else "true or false" if key in _FLAGS else "a list of texts")
    raise ParameterError(f"{key} of the policy is {quoted(value)}; write {form}")
