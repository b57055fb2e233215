"""privsieve: choose the columns of a sensitive table that may be shared.

Rows meet a summary; a summary meets noise; only a release leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from privsieve._version import __version__

if TYPE_CHECKING:
    from privsieve.containment.estimators import ExactContainment as ExactContainment
    from privsieve.containment.estimators import GreedyContainment as GreedyContainment
    from privsieve.containment.estimators import MaximalContainment as MaximalContainment
    from privsieve.containment.estimators import PublishableColumns as PublishableColumns
    from privsieve.containment.measures import classification_metric as classification_metric
    from privsieve.containment.measures import containment_level as containment_level
    from privsieve.containment.measures import disclosure_risk as disclosure_risk
    from privsieve.containment.measures import k_anonymity_level as k_anonymity_level
    from privsieve.core.columns import Category as Category
    from privsieve.core.columns import Date as Date
    from privsieve.core.columns import Flag as Flag
    from privsieve.core.columns import Label as Label
    from privsieve.core.columns import Number as Number
    from privsieve.core.domain import Domain as Domain
    from privsieve.core.release import load as load
    from privsieve.local.estimators import FWELL as FWELL
    from privsieve.local.estimators import FWELLEnsemble as FWELLEnsemble
    from privsieve.privacy.audit import audit as audit
    from privsieve.privacy.ledger import Ledger as Ledger
    from privsieve.privacy.verify import verify as verify
    from privsieve.selectors import plan as plan
    from privsieve.selectors.estimators import NoisyTopK as NoisyTopK
    from privsieve.selectors.estimators import PrivateTuning as PrivateTuning
    from privsieve.selectors.estimators import RuleSieve as RuleSieve
    from privsieve.selectors.local_learning import FELP as FELP
    from privsieve.selectors.local_learning import BlockFWELL as BlockFWELL
    from privsieve.selectors.local_learning import OutputFWELL as OutputFWELL
    from privsieve.selectors.objective_learning import ObjectiveFWELL as ObjectiveFWELL
    from privsieve.sources.inspect import inspect as inspect

#: Where each public name lives.  Names are imported when they are asked for: a program that
#: plans or verifies needs no NumPy, and nothing but an estimator needs scikit-learn.
_HOMES = {
    "BlockFWELL": "selectors.local_learning",
    "Category": "core.columns",
    "Date": "core.columns",
    "Domain": "core.domain",
    "ExactContainment": "containment.estimators",
    "FELP": "selectors.local_learning",
    "FWELL": "local.estimators",
    "FWELLEnsemble": "local.estimators",
    "Flag": "core.columns",
    "GreedyContainment": "containment.estimators",
    "Label": "core.columns",
    "Ledger": "privacy.ledger",
    "MaximalContainment": "containment.estimators",
    "NoisyTopK": "selectors.estimators",
    "Number": "core.columns",
    "ObjectiveFWELL": "selectors.objective_learning",
    "OutputFWELL": "selectors.local_learning",
    "PrivateTuning": "selectors.estimators",
    "PublishableColumns": "containment.estimators",
    "RuleSieve": "selectors.estimators",
    "audit": "privacy.audit",
    "classification_metric": "containment.measures",
    "containment_level": "containment.measures",
    "disclosure_risk": "containment.measures",
    "inspect": "sources.inspect",
    "k_anonymity_level": "containment.measures",
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
