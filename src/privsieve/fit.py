"""Fit: charge, read rows, add noise, release.  Privacy depends on the order of statements.

1. The plan follows from public facts; its cost does not depend on rows.
2. The charge is durable before the body of the table is opened.
3. Rows become integers, and integers become a summary.
4. Only the mechanism draws noise; its output is the release.
5. Nothing else is shown: no warning, count or message; a fault of the machine has a constant text.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from privsieve._version import __version__
from privsieve.errors import BudgetExceeded, ParameterError, PrivsieveError, ReleaseFailed
from privsieve.folder import CERTIFICATE, NOTE, RELEASE
from privsieve.public.canonical import EPSILON_UNITS, canonical, decimal, digest, quoted
from privsieve.public.plan import Plan, terms
from privsieve.release import Release, public
from privsieve.report import ready, write_report

if TYPE_CHECKING:
    from privsieve.folder import Folder
    from privsieve.ledger.ledger import Entry, Ledger
    from privsieve.noise.streams import Noise
    from privsieve.rows import Source
    from privsieve.rows.room import Room

Made = TypeVar("Made")

SOFTWARE = {"privsieve": __version__}
#: The form of a folder's note.
REQUEST = "privsieve-request/1"

#: The epsilon of each release in this process without a ledger.
_unsigned: list[Fraction] = []
_counting = threading.Lock()
if hasattr(os, "register_at_fork"):  # a child never inherits it locked
    os.register_at_fork(before=_counting.acquire, after_in_parent=_counting.release,
                        after_in_child=_counting.release)


class UnsignedWarning(UserWarning):
    """A process made several releases without a ledger that adds them up."""


class ConvertedWarning(UserWarning):
    """A release protects another change than its population, and is charged for the latter."""


def fit(plan: Plan, source: Source, *, ledger: Ledger | None = None, noise: Noise | None = None,
        folder: Folder | None = None, progress: Callable[[str], None] = lambda _stage: None,
        room: Room | None = None) -> Release:
    """Charge, read, add noise, release; `source` is opened after the charge only.

    room : memory for rows; by default half of the free memory, then a private file.
    """
    if noise is not None and ledger is not None:
        raise ParameterError("noise that is passed in is not private; leave the ledger out")
    plan = replace(plan, record=source.record, query=source.query)
    if plan.cost.epsilon == 0:
        return _free(plan, folder, replayed=noise is not None and not noise.private)
    room = _ready(plan, source, folder, room)
    ledger, reserved = _paid(plan, ledger, noise, folder, progress)

    def released(source_of_noise: Noise) -> Release:
        output = _choose(plan, source, source_of_noise, room, progress)
        release = Release.of(plan, output, replayed=not source_of_noise.private)
        progress("writing")
        return _finish(plan, release, ledger, reserved, folder)

    return sealed(released, noise, folder)


def sealed(work: Callable[[Noise], Made], noise: Noise | None, folder: Folder | None = None,
           ) -> Made:
    """Call the work on rows and noise after a charge; every failure has a constant text.

    Every exception becomes `ReleaseFailed`: also a library's panic, `SystemExit` and Ctrl-C, since
    the caller must learn of the charge.  Its text follows from the files in the folder, which is
    empty during the work on rows.
    """
    try:
        import numpy as np

        # [quiet] in this thread, and in those that read for it (`Room.each`): settings of the
        # caller cannot make NumPy print or raise after a charge
        with np.errstate(all="ignore"):
            if noise is None:
                from privsieve.noise.streams import system

                noise = system()
            return work(noise)
    except BaseException:  # noqa: BLE001  # its text could contain values of rows
        failed = ReleaseFailed(folder.state if folder is not None else "lost")
    # Raised outside of the handler, so that it has no cause and no context.
    raise failed


def _free(plan: Plan, folder: Folder | None, *, replayed: bool) -> Release:
    """Release a choice without cost: it does not depend on rows, and nothing is charged."""
    certain = tuple(range(len(plan.domain.columns))) if plan.certain is None else plan.certain
    try:
        return _finish(plan, Release.of(plan, certain, replayed=replayed), None, None, folder)
    except OSError:
        raise ParameterError("the release folder cannot be written, and nothing was charged; free "
                             "some space, or name a folder on another disk") from None


def ledger_of(ledger: Ledger | str | os.PathLike[str] | None) -> Ledger | None:
    """Return a ledger as it is, or the only population of a ledger file."""
    if ledger is None:
        return None
    from privsieve.ledger.ledger import Ledger, populations

    if isinstance(ledger, Ledger):
        return ledger
    if not isinstance(ledger, (str, os.PathLike)):
        raise ParameterError(f'ledger is {quoted(ledger)}; give Ledger(path, population="name"), '
                             "or the path of a ledger")
    ledgers = populations(os.fspath(ledger))
    if len(ledgers) == 1:
        return ledgers[0]
    named = ", ".join(each.population for each in ledgers) or "none was granted a budget"
    raise ParameterError(f"the ledger must have exactly one population ({named}); give ledger="
                         'Ledger(path, population="name")')


def _paid(plan: Plan, ledger: Ledger | None, noise: Noise | None, folder: Folder | None = None,
          progress: Callable[[str], None] = lambda _stage: None,
          ) -> tuple[Ledger | None, Entry | None]:
    """Charge the ledger; return it with a named request, and the charge's entry."""
    if ledger is None:
        if noise is None:
            _warn_unsigned(plan.cost.epsilon)
        return None, None
    ledger = ledger.named()
    return ledger, _reserve(plan, ledger, folder, progress)


def _choose(plan: Plan, source: Source, noise: Noise, room: Room,
            progress: Callable[[str], None] = lambda _stage: None) -> Any:
    from privsieve.rows.batch import Passes, batches

    progress("reading")
    if source.cluster is not None:
        summary = source.cluster.on_workers(plan, source, noise.key())
    else:
        rows = plan.units if plan.domain.rows_are_public else None
        read = batches(source, plan.coding, rows=rows, entropy=noise.bytes, room=room)
        summary = plan.summarise(Passes(read, room), noise.key())
    progress("choosing")
    with room.kernels():
        return plan.mechanism(summary, noise)


def _finish(plan: Plan, release: Release, ledger: Ledger | None, reserved: Entry | None,
            folder: Folder | None) -> Release:
    """Stage, commit, certify, name: the ledger knows a release before it can be seen."""
    from privsieve.ledger.chain import certificate

    if "replayed" in release.body:
        return release
    data = release.bytes  # once: it is slow for many columns
    sha256 = digest(data)
    if folder is not None:
        folder.stage(RELEASE, data)
        folder.sync()
    committed = ledger.commit(reserved, sha256) if ledger and reserved else None
    signed = certificate(terms(plan, SOFTWARE), sha256, reserved, committed)
    if folder is not None:
        folder.stage(CERTIFICATE, canonical(signed))
        folder.link()
        if not write_report(folder, release.body, signed):
            folder.sync()  # writing the report does it otherwise
        folder.forget(NOTE)
    return Release(release.body, signed)


def _ready(plan: Plan, source: Source, folder: Folder | None, room: Room | None) -> Room:
    """Refuse before the charge what public facts reveal: odd types, a full disk."""
    from privsieve.rows.batch import demand_readable, demand_room

    demand_valid(plan)
    demand_readable(source, plan.coding)
    if folder is not None:
        ready(plan.kind)
        folder.demand(needs(plan))
    if source.cluster is not None:
        from privsieve.rows.room import Room

        source.cluster.demand_sum(plan, source)
        return Room()  # rows do not come into this process
    return demand_room(plan, source, room)


def demand_valid(plan: Plan) -> None:
    """Refuse a plan whose release `verify` would refuse."""
    from privsieve.check.verify import verify_plan
    from privsieve.ledger.chain import certificate

    known = {**public(plan), "queries": plan.shows.get("queries", [])}
    wrong = verify_plan(certificate(terms(plan, SOFTWARE), "0" * 64), known)
    if wrong:
        raise ParameterError(f"{plan.method}: verify would refuse the release ({wrong[0]}); "
                             "nothing was charged: change the options, or report this bug")


def needs(plan: Plan) -> int:
    """Return the most bytes of the files of a release, from its plan."""
    columns = [*plan.domain.columns, *([plan.domain.target] if plan.domain.target else [])]
    texts = sum(64 + len(column.name) + sum(8 + len(str(value)) for value in levels)
                for column in columns for levels in [getattr(column, "values", ())])
    facts = {**plan.settings, **plan.forecast}
    numbers = [int(text) for name in ("cells", "features")
               if (text := str(facts.get(name))).isdecimal()]
    # A name occurs in domain, columns, selection and tables; a number with its place and its row.
    return 2**20 + 64 * texts + 256 * (len(columns) + sum(numbers))


def _reserve(plan: Plan, ledger: Ledger, folder: Folder | None, progress: Callable[[str], None],
             ) -> Entry:
    """Charge durably, and store the terms of the future certificate."""
    claim = terms(plan, SOFTWARE)
    # Before the charge: a warning that raises must not lose budget.
    if sentence := ledger.conversion(claim):
        warnings.warn(f"{ledger.population}: {sentence}", ConvertedWarning, stacklevel=5)
    ledger.demand(plan.cost, claim)
    if folder is not None:
        note(folder, ledger, claim)
    progress("charging")
    try:
        return ledger.reserve(plan.cost, claim)
    except (BudgetExceeded, ParameterError):
        raise
    except BaseException:
        # The ledger failed or was stopped, before or after its charge was durable.
        if (state := _charged(ledger)) is None:
            raise
    raise ReleaseFailed(state)


def note(folder: Folder, ledger: Ledger, terms: Mapping[str, Any]) -> None:
    """Write a durable note of the future charge into the folder; it does not depend on rows."""
    from privsieve.ledger.sql import absolute

    folder.note(canonical({
        "format": REQUEST, "request": ledger.request, "population": ledger.population,
        "ledger": absolute(ledger.path), "head": ledger.newest(),
        "terms_sha256": digest(canonical(terms))}))


def _charged(ledger: Ledger) -> str | None:
    """Return the state after a failed charge; None if certainly nothing was charged."""
    try:
        return None if ledger.charge() is None else "lost"
    except PrivsieveError:
        return "unknown"


def _warn_unsigned(epsilon: Fraction) -> None:
    with _counting:
        _unsigned.append(epsilon)
        epsilons = tuple(_unsigned)
    if len(epsilons) > 1:
        spent = -(-sum(epsilons) * EPSILON_UNITS // 1)
        warnings.warn(
            f"{len(epsilons)} releases without a ledger in this process: if they are about the "
            f"same people, they cost epsilon {decimal(spent)} together.  Give a ledger "
            "(ledger=Ledger(...)) to add up the costs.",
            UnsignedWarning, stacklevel=5)
