"""Least squares: one charge, then predictions for nothing.  What a model is asked for."""

from __future__ import annotations

from typing import Any

from privsieve.public.domain import Domain
from privsieve.public.option import Options, declared, number, number_or_auto, option, whole
from privsieve.public.plan import Plan


@declared
class RidgeOptions(Options):
    """What PrivateKernelRidge is asked for."""

    kernel: str = option(
        default="rbf", kw_only=False, choices=("rbf", "linear", "cosine", "polynomial"),
        says="what a prediction may look like")
    gamma: Any = option(
        default=None, metavar="G", read=number,
        says="of rbf, how fast near rows become far: exp(-gamma |x - x'|^2) on columns from 0 to "
             "1; one over the number of columns where this is left out")
    degree: int | None = option(
        default=None, read=whole, metavar="N",
        says="of polynomial the largest power (2), of cosine the number of waves (3)")
    features: int = option(
        default=200, read=whole, metavar="N", says="of rbf, how many cosines and sines")
    feature_seed: int = option(
        default=0, read=whole, metavar="N", says="of rbf, the public seed of their frequencies")
    delta: Any = option(
        default=0, metavar="D", read=number,
        says="what it may cost beyond epsilon, such as 1e-9: less noise where there are many "
             "features")
    lam: Any = option(
        default="auto", metavar="L", read=number_or_auto,
        says="how strongly the model is held small; the noise falls fast where it grows; auto "
             "takes the smallest expected error, from public numbers")

    def planned(self, domain: Domain, rows: int | None) -> Plan:
        """Plan one model; reads no row.  Its arithmetic is loaded when it is asked for."""
        from privsieve.methods.ridge.ridge import planned

        return planned(self, domain, rows)
