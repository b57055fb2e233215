"""Places: public wishes for what a choice is among; `choosing.among` reads them.

always : in the answer whatever the rows say, and not raced
never : not looked at: the method is given a domain without them
groups : raced, chosen and released as one; what a group is worth is the most of its columns
costs, price : a race for as many as can be paid

All of it is public, so that nothing here costs anything; see places.proof.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from privsieve.errors import ParameterError
from privsieve.methods.choosing import amount
from privsieve.public.canonical import quoted
from privsieve.public.domain import Domain
from privsieve.public.option import Choosing
from privsieve.public.plan import Chosen, Plan
from privsieve.release import exactly

if TYPE_CHECKING:
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch

#: Options that say what a choice is among.
WISHES = ("always", "never", "groups", "costs", "price", "targets", "over")


# --- from what somebody gave to a plan ----------------------------------------------------------

def planned(asked: Choosing, domain: Domain, rows: int | None) -> Plan:
    """Plan a choice of columns among those that may be chosen; reads no row.

    >>> from privsieve.methods import plan
    >>> from privsieve.public.domain import Domain
    >>> made = plan("rule-sieve", Domain.box(0, 1, columns=9), k=3, epsilon=1, rows=500,
    ...             never=["x4"], always="x0")
    >>> made.settings["k"], made.settings["always"], made.settings["never"]
    (3, ['x0'], ['x4'])
    """
    wishes = written(asked, domain)
    if wishes is None:
        return asked.planned(domain, rows)
    asked = replace(asked, **wishes)
    if asked.targets:
        from privsieve.methods.targets import planned_for_all

        return planned_for_all(asked, domain, rows)
    keep = kept(asked, domain)
    if len(keep) == len(domain.columns):
        return asked.planned(domain, rows)
    inner = asked.planned(narrow(domain, keep), rows)
    return replace(
        inner, domain=domain, certain=None if inner.certain is None else widened(
            inner.certain, keep),
        summarise=partial(narrowed, keep=keep, summarise=inner.summarise),
        mechanism=partial(chosen_of, keep=keep, mechanism=inner.mechanism))


def written(asked: Choosing, domain: Domain) -> dict[str, Any] | None:
    """The public wishes in one form; None where there are none."""
    if asked.over != "maximum" and not asked.targets:
        raise ParameterError(f"over is {quoted(asked.over)}, and there is one target; leave it "
                             "away, or name targets=")
    if all(getattr(asked, name) is None for name in WISHES if name != "over"):
        return None
    wishes: dict[str, Any] = {name: _names(getattr(asked, name), name)
                              for name in ("always", "never", "targets")}
    wishes["groups"] = _mapping(asked.groups, "groups", "address", ["street", "zip"])
    if wishes["groups"]:
        wishes["groups"] = {name: _group(columns, name)
                            for name, columns in wishes["groups"].items()}
    wishes["costs"] = _mapping(asked.costs, "costs", "mri", 5)
    both = [name for name in wishes["always"] or () if name in (wishes["never"] or ())]
    if both:
        raise ParameterError(f"{quoted(both[0])} is named by always and by never; name it once")
    for option in ("never", "targets"):
        for name in wishes[option] or ():
            if name not in domain.names:
                raise ParameterError(f"{option} names {quoted(name)}, which is no column of the "
                                     "domain; write names of its columns")
            _only_there(name, option, wishes)
    if asked.price is not None:
        wishes["price"] = exactly(amount(asked.price, "price"))
    if wishes["costs"]:
        wishes["costs"] = {name: exactly(amount(cost, f"costs[{quoted(name)}]"))
                           for name, cost in wishes["costs"].items()}
    return wishes


def _only_there(name: str, option: str, wishes: Mapping[str, Any]) -> None:
    """Refuse a column that cannot be chosen and is named where it would be."""
    why = "is never chosen" if option == "never" else "is a target, and so is never chosen"
    if option == "targets" and name in (wishes["never"] or ()):
        raise ParameterError(f"{quoted(name)} is named by never and by targets; a target is not "
                             "chosen anyhow: take it out of never")
    groups = [group for group, columns in (wishes["groups"] or {}).items() if name in columns]
    if groups:
        raise ParameterError(f"{quoted(name)} {why}, and group {quoted(groups[0])} has it; take it "
                             "out of one of them")
    for other in ("always", "costs"):
        if name in (wishes[other] or ()):
            raise ParameterError(f"{quoted(name)} {why}, and {other} names it; take it out of one "
                                 "of them")


def _names(value: object, option: str) -> tuple[str, ...] | None:
    """One name, or several; each once."""
    if value is None:
        return None
    names = [value] if isinstance(value, str) else value
    if isinstance(names, Mapping) or not isinstance(names, Iterable):
        names = [None]
    listed = list(names)
    if not all(isinstance(name, str) for name in listed):
        raise ParameterError(f'{option} is {quoted(value)}; write a list of names, such as ["age"]')
    for name in listed:
        if listed.count(name) > 1:
            raise ParameterError(f"{option} names {quoted(name)} twice; name it once")
    return tuple(map(str, listed)) or None


def _mapping(value: object, option: str, name: str, one: object) -> dict[str, Any] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ParameterError(f"{option} is {quoted(value)}; write a mapping from names, such as "
                             f"{({name: one})!r}")
    return dict(value) or None


def _group(columns: object, name: str) -> list[str]:
    listed = _names(columns, f"group {quoted(name)}")
    if listed is None:
        raise ParameterError(f"group {quoted(name)} has no columns; name at least one, or leave it "
                             "away")
    return list(listed)


# --- columns that are not looked at -------------------------------------------------------------

def kept(asked: Choosing, domain: Domain) -> tuple[int, ...]:
    """The positions of the columns that a method is given."""
    out = {*(asked.never or ()), *(asked.targets or ())}
    found = tuple(j for j, name in enumerate(domain.names) if name not in out)
    if not found:
        raise ParameterError("never and targets name all columns; leave some to choose from")
    return found


def narrow(domain: Domain, keep: Sequence[int], **changed: Any) -> Domain:
    """The domain with some of its columns."""
    return replace(domain, columns=tuple(domain.columns[j] for j in keep), **changed)


def narrowed(batches: Iterable[Batch], key: int, *, keep: Sequence[int], summarise: Any,
             label: int | None = None) -> Any:
    """A summary of some of the columns, and of another label where one is named."""
    # [cell-by-cell] units, positions and tags stay: one unit is changed in one unit's rows
    return summarise((narrower(batch, keep, label) for batch in batches), key)


def narrower(batch: Batch, keep: Sequence[int], label: int | None = None) -> Batch:
    """Rows with some of their columns; `label` is the column that is their target."""
    import numpy as np

    codes = np.ascontiguousarray(batch.codes.T[list(keep)]).T
    if label is None:
        return replace(batch, codes=codes)
    return replace(batch, codes=codes, label=batch.codes[:, label].astype(np.int32))


def widened(named: Iterable[int], keep: Sequence[int]) -> tuple[int, ...]:
    """Positions among the columns that were kept, as positions among all; what is said, too."""
    return Chosen((keep[j] for j in named), **getattr(named, "said", {}))


def chosen_of(summary: Any, noise: Noise, *, keep: Sequence[int], mechanism: Any,
              ) -> tuple[int, ...]:
    """What a mechanism names of the columns that were kept."""
    return widened(mechanism(summary, noise), keep)
