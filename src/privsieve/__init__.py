"""privsieve: select the columns of a sensitive table that may be shared, with differential privacy.

Rows become a summary, noise is added to the summary, and only the release is published.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from privsieve._version import __version__
from privsieve.entries import METHODS, import_library

if TYPE_CHECKING:
    from privsieve.check.audit import audit as audit
    from privsieve.check.folder import verify as verify
    from privsieve.containment.estimators import PublishableColumns as PublishableColumns
    from privsieve.containment.measures import classification_metric as classification_metric
    from privsieve.containment.measures import containment_level as containment_level
    from privsieve.containment.measures import disclosure_risk as disclosure_risk
    from privsieve.containment.measures import k_anonymity_level as k_anonymity_level
    from privsieve.estimators import FELP as FELP
    from privsieve.estimators import BlockFWELL as BlockFWELL
    from privsieve.estimators import NoisyHistogram as NoisyHistogram
    from privsieve.estimators import NoisyTopK as NoisyTopK
    from privsieve.estimators import ObjectiveFWELL as ObjectiveFWELL
    from privsieve.estimators import OutputFWELL as OutputFWELL
    from privsieve.estimators import PrivateKernelRidge as PrivateKernelRidge
    from privsieve.estimators import RuleSieve as RuleSieve
    from privsieve.finish import recover as recover
    from privsieve.ledger.ledger import Ledger as Ledger
    from privsieve.local.fwell import FWELL as FWELL
    from privsieve.local.fwell import FWELLEnsemble as FWELLEnsemble
    from privsieve.methods import plan as plan
    from privsieve.public.columns import Category as Category
    from privsieve.public.columns import Date as Date
    from privsieve.public.columns import Flag as Flag
    from privsieve.public.columns import Label as Label
    from privsieve.public.columns import Number as Number
    from privsieve.public.domain import Domain as Domain
    from privsieve.release import load as load
    from privsieve.rows.inspect import inspect as inspect
    from privsieve.session import KernelRidgeSession as KernelRidgeSession
    from privsieve.trust.signers import Signers as Signers

#: The module of each public name.  A name is imported at its first use: a program that plans or
#: verifies does not load NumPy, and only estimators load scikit-learn.
_HOMES = {
    "Category": "public.columns",
    "Date": "public.columns",
    "Domain": "public.domain",
    "FWELL": "local.fwell",
    "FWELLEnsemble": "local.fwell",
    "Flag": "public.columns",
    "KernelRidgeSession": "session",
    "Label": "public.columns",
    "Ledger": "ledger.ledger",
    "Number": "public.columns",
    "PublishableColumns": "containment.estimators",
    "Signers": "trust.signers",
    "audit": "check.audit",
    "classification_metric": "containment.measures",
    "containment_level": "containment.measures",
    "disclosure_risk": "containment.measures",
    "inspect": "rows.inspect",
    "k_anonymity_level": "containment.measures",
    "load": "release",
    "plan": "methods",
    "recover": "finish",
    "verify": "check.folder",
    **{estimator: "estimators" for _file, estimator in METHODS.values()},
}
#: Modules of classes that inherit from scikit-learn's.
_NEED_SKLEARN = {"estimators", "local.fwell", "containment.estimators"}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604  # the names are the keys above


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in _HOMES:
        from privsieve.public.dropped import explain

        raise AttributeError(explain(name, f"module 'privsieve' has no attribute {name!r}"))
    if _HOMES[name] in _NEED_SKLEARN:
        import_library("sklearn", "sklearn", f"privsieve.{name}")
    value = getattr(import_module(f"privsieve.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
