"""What a release may select, by the public wishes that its settings say: recounted.

It shares no code with what chooses.  Settings are of a file that anybody may have written: what has
no sense agrees with no selection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

#: Settings that say what a choice is among.
WISHES = ("always", "never", "groups", "costs", "price", "targets")
_AMOUNT = r"[0-9]{1,12}(\.[0-9]{1,12})?"


def agrees(settings: Mapping[str, Any], columns: Sequence[str], selected: Sequence[str]) -> bool:
    """Whether the columns that were selected are what the settings allow.

    A group counts as one, and is whole; with a price as many are chosen as can be paid.

    >>> said = {"k": 2, "always": ["age"], "groups": {"home": ["street", "zip"]}}
    >>> columns = ["age", "street", "zip", "mri"]
    >>> [agrees(said, columns, one) for one in (["age", "street", "zip"], ["age", "street"])]
    [True, False]
    >>> priced = {"k": 2, "costs": {"mri": "3"}, "price": "3"}
    >>> [agrees(priced, columns, one) for one in (["mri"], ["age", "zip"], ["age"], ["age", "mri"])]
    [True, True, False, False]
    """
    groups = settings.get("groups") or {}
    group_of = {name: group for group, members in groups.items() for name in members}
    whole: dict[str, set[str]] = {}
    for name in columns:
        whole.setdefault(group_of.get(name, name), set()).add(name)
    out = {*_list(settings.get("never")), *_list(settings.get("targets"))}
    chosen = {group_of.get(name, name) for name in selected}
    always = set(_list(settings.get("always")))
    k = settings.get("k")
    if (type(k) is not int or not always <= chosen <= whole.keys() or chosen & out
            or set(selected) != {name for one in chosen for name in whole[one]}):
        return False
    if settings.get("price") is None:
        return len(chosen) == k
    costs = {name: _amount(cost) for name, cost in (settings.get("costs") or {}).items()}
    left = _amount(settings["price"]) - sum(costs.get(name, Fraction(1)) for name in chosen)
    rest = [costs.get(name, Fraction(1)) for name in whole.keys() - chosen - out]
    if left < 0 or len(chosen) > k:
        return False
    # as many as can be paid: where fewer than k were named, nothing that is left could be
    return len(chosen) == k or min(rest, default=left + 1) > left


def _list(names: object) -> Sequence[str]:
    if names is None:
        return ()
    if not isinstance(names, list | tuple):
        raise TypeError
    return names


def _amount(text: object) -> Fraction:
    if not isinstance(text, str) or not re.fullmatch(_AMOUNT, text):
        raise ValueError
    return Fraction(text)
