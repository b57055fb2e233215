"""privsieve: choose the columns of a sensitive table that may be shared.

Rows meet a summary; a summary meets noise; only a release leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from privsieve._version import __version__

if TYPE_CHECKING:
    from privsieve.core.columns import Category as Category
    from privsieve.core.columns import Date as Date
    from privsieve.core.columns import Flag as Flag
    from privsieve.core.columns import Label as Label
    from privsieve.core.columns import Number as Number
    from privsieve.core.domain import Domain as Domain
    from privsieve.core.release import load as load
    from privsieve.privacy.audit import audit as audit
    from privsieve.privacy.ledger import Ledger as Ledger
    from privsieve.privacy.verify import verify as verify
    from privsieve.selectors import plan as plan
    from privsieve.selectors.estimators import RuleSieve as RuleSieve
    from privsieve.sources.inspect import inspect as inspect

#: Where each public name lives.  Names are imported when they are asked for: a program that
#: plans or verifies needs no NumPy, and nothing but an estimator needs scikit-learn.
_HOMES = {
    "Category": "core.columns",
    "Date": "core.columns",
    "Domain": "core.domain",
    "Flag": "core.columns",
    "Label": "core.columns",
    "Ledger": "privacy.ledger",
    "Number": "core.columns",
    "RuleSieve": "selectors.estimators",
    "audit": "privacy.audit",
    "inspect": "sources.inspect",
    "load": "core.release",
    "plan": "selectors",
    "verify": "privacy.verify",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604  # the names are the keys above


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'privsieve' has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"privsieve.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
