"""fit: plan, reserve, rows, noise, release.  Written once; the order of statements is the theorem.

1. The plan was made from public facts; its cost cannot depend on a row.
2. The charge is durable before the body of the table is opened.
3. Rows become integers, integers become a summary.
4. The mechanism is the only function that meets noise; what it returns is the release.
5. Nothing else leaves: no warning, no count, no message; a fault of the machine has one text.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from privsieve._version import __version__
from privsieve.errors import ParameterError, ReleaseFailed
from privsieve.public.cost import EPSILON_UNITS, decimal
from privsieve.public.plan import Plan
from privsieve.release import Release
from privsieve.report import stage_report  # here, so that a broken one fails before the charge

if TYPE_CHECKING:
    from privsieve.ledger.folder import Folder
    from privsieve.ledger.ledger import Entry, Ledger
    from privsieve.noise.streams import Noise
    from privsieve.rows import Source

Made = TypeVar("Made")

SOFTWARE = {"privsieve": __version__}

#: Epsilon spent in this process by releases that no ledger knows.
_unsigned: list[Fraction] = []


class UnsignedWarning(UserWarning):
    """Several releases of one process, and no ledger that adds them up."""


class ConvertedWarning(UserWarning):
    """A release that protects another change than its population is charged for that one."""


def fit(plan: Plan, source: Source, *, ledger: Ledger | None = None, noise: Noise | None = None,
        folder: Folder | None = None, progress: Callable[[str], None] = lambda _stage: None,
        ) -> Release:
    """Charge, read, add noise, release; `source` is opened after the charge and not before."""
    if noise is not None and ledger is not None:
        raise ParameterError("a replayed noise is not private; it takes no ledger")
    plan = replace(plan, record=source.record)
    free = plan.cost.epsilon == 0
    if ledger is None and noise is None and not free:
        _warn_unsigned(plan.cost.epsilon)
    reserved = _reserve(plan, ledger) if ledger is not None and not free else None

    def released(source_of_noise: Noise) -> Release:
        output = _choose(plan, source, source_of_noise, progress)
        release = Release.of(plan, output, private=source_of_noise.private)
        return _finish(plan, release, ledger, reserved, folder)

    return sealed(released, noise)


def sealed(work: Callable[[Noise], Made], noise: Noise | None) -> Made:
    """What meets rows and noise after a charge: no warning leaves it, and one text of failure.

    Whatever is raised becomes `ReleaseFailed`: a library's panic, which is no `Exception`, a
    `SystemExit`, and Ctrl-C too, for the charge is made and its caller has to learn that.
    """
    try:
        with _silence():
            if noise is None:
                from privsieve.noise.streams import system

                noise = system()
            return work(noise)
    except BaseException:  # noqa: BLE001  # its text could speak of rows, whatever its type
        failed = ReleaseFailed()
    # Raised outside of the handler: no cause and no context hang on it.
    raise failed


def _choose(plan: Plan, source: Source, noise: Noise, progress: Callable[[str], None]) -> Any:
    if plan.cost.epsilon == 0:
        return tuple(range(len(plan.domain.columns)))
    from privsieve.rows.batch import batches

    progress("reading")
    rows = plan.units if plan.domain.rows_are_public else None
    read = batches(source, plan.domain, rows=rows, entropy=noise.bytes)
    summary = plan.summarise(read, noise.key())
    progress("choosing")
    return plan.mechanism(summary, noise)


def _finish(plan: Plan, release: Release, ledger: Ledger | None, reserved: Entry | None,
            folder: Folder | None) -> Release:
    """Stage, commit, certify, link: a release stands in the ledger before it can be seen."""
    from privsieve.ledger.certificate import certificate
    from privsieve.public.canonical import canonical, digest

    if not release.body["private"]:
        return release
    data = release.bytes  # once: of a domain of many columns it takes a while
    if folder is not None:
        folder.stage("release.json", data)
    committed = ledger.commit(reserved, digest(data)) if ledger and reserved else None
    signed = certificate(plan, digest(data), reserved, committed, SOFTWARE)
    if folder is not None:
        folder.stage("certificate.json", canonical(signed))
        stage_report(folder, release.body, signed)
        folder.link()
    return Release(release.body, signed)


def _reserve(plan: Plan, ledger: Ledger) -> Entry:
    """The charge; durable when it returns, with the terms of the certificate to come."""
    from privsieve.ledger.certificate import terms

    claim = terms(plan, SOFTWARE)
    # Before the charge: who makes errors of warnings is to lose nothing.
    if said := ledger.conversion(claim):
        warnings.warn(f"{ledger.population}: {said}", ConvertedWarning, stacklevel=4)
    return ledger.reserve(plan.cost, claim)


@contextmanager
def _silence() -> Iterator[None]:
    """No warning of a library may speak of rows; nor what a caller told NumPy to print or raise.

    Nor what is raised where nobody can catch it, as an object goes: Python would print its text.
    """
    import numpy as np

    mine, over, before = threading.get_ident(), threading.Event(), sys.unraisablehook

    def unraisable(lost: sys.UnraisableHookArgs) -> None:
        # Another thread may have taken this hook for what was there before.
        if over.is_set() or threading.get_ident() != mine:
            before(lost)

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        sys.unraisablehook = unraisable
        try:
            yield
        finally:
            sys.unraisablehook = before
            over.set()


def _warn_unsigned(epsilon: Fraction) -> None:
    _unsigned.append(epsilon)
    if len(_unsigned) > 1:
        spent = -(-sum(_unsigned) * EPSILON_UNITS // 1)
        warnings.warn(
            f"{len(_unsigned)} releases without a ledger in this process: together epsilon "
            f"{decimal(spent)} if they speak of the same people.  Give a ledger "
            "(ledger=Ledger(...)) to keep the sum.",
            UnsignedWarning, stacklevel=4)
