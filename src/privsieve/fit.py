"""fit: plan, reserve, rows, noise, release.  Written once; the order of statements is the theorem.

1. The plan was made from public facts; its cost cannot depend on a row.
2. The charge is durable before the body of the table is opened.
3. Rows become integers, integers become a summary.
4. The mechanism is the only function that meets noise; what it returns is the release.
5. Nothing else leaves: no warning, no count, no message; a fault of the machine has one text.
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

#: Epsilon spent in this process by releases that no ledger knows.
_unsigned: list[Fraction] = []
_counting = threading.Lock()
if hasattr(os, "register_at_fork"):  # a child never inherits it locked
    os.register_at_fork(before=_counting.acquire, after_in_parent=_counting.release,
                        after_in_child=_counting.release)


class UnsignedWarning(UserWarning):
    """Several releases of one process, and no ledger that adds them up."""


class ConvertedWarning(UserWarning):
    """A release that protects another change than its population is charged for that one."""


def fit(plan: Plan, source: Source, *, ledger: Ledger | None = None, noise: Noise | None = None,
        folder: Folder | None = None, progress: Callable[[str], None] = lambda _stage: None,
        room: Room | None = None) -> Release:
    """Charge, read, add noise, release; `source` is opened after the charge and not before.

    room : where rows are held; left out, half of the memory that is free, then a private file.
    """
    _alone(ledger, noise)
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
    """What meets rows and noise after a charge: one text of failure, whatever happens.

    Whatever is raised becomes `ReleaseFailed`: a library's panic, which is no `Exception`, a
    `SystemExit`, and Ctrl-C too, for the charge is made and its caller has to learn that.  Its text
    follows from the files that are in the folder: there are none while rows are.
    """
    try:
        import numpy as np

        # [quiet] in this thread, and in those that read for it (`Room.each`): what a caller told
        # NumPy to print or raise is not done after a charge
        with np.errstate(all="ignore"):
            if noise is None:
                from privsieve.noise.streams import system

                noise = system()
            return work(noise)
    except BaseException:  # noqa: BLE001  # its text could speak of rows, whatever its type
        failed = ReleaseFailed(folder.state if folder is not None else "lost")
    # Raised outside of the handler: no cause and no context hang on it.
    raise failed


def _free(plan: Plan, folder: Folder | None, *, replayed: bool) -> Release:
    """A choice that costs nothing: it is known before a row is read, and nothing is charged."""
    certain = tuple(range(len(plan.domain.columns))) if plan.certain is None else plan.certain
    try:
        return _finish(plan, Release.of(plan, certain, replayed=replayed), None, None, folder)
    except OSError:
        raise ParameterError("the release folder cannot be written, and nothing was charged; make "
                             "room, or name a folder on another disk") from None


def ledger_of(ledger: Ledger | str | os.PathLike[str] | None) -> Ledger | None:
    """A ledger; of a file that holds one population, that one."""
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
    raise ParameterError(f"which population of the ledger? ({named}); give ledger="
                         'Ledger(path, population="name")')


def _alone(ledger: Ledger | None, noise: Noise | None) -> None:
    if noise is not None and ledger is not None:
        raise ParameterError("a replayed noise is not private; it takes no ledger")


def _paid(plan: Plan, ledger: Ledger | None, noise: Noise | None, folder: Folder | None = None,
          progress: Callable[[str], None] = lambda _stage: None,
          ) -> tuple[Ledger | None, Entry | None]:
    """The ledger with a request of its own, and the charge; neither where no ledger is given."""
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
    """Stage, commit, certify, name: a release stands in the ledger before it can be seen."""
    from privsieve.ledger.chain import certificate

    if "replayed" in release.body:
        return release
    data = release.bytes  # once: of a domain of many columns it takes a while
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
            folder.sync()  # else the page did it for all
        folder.forget(NOTE)
    return Release(release.body, signed)


def _ready(plan: Plan, source: Source, folder: Folder | None, room: Room | None) -> Room:
    """What public facts can tell before the charge: odd types, a broken page, a full disk."""
    from privsieve.rows.batch import demand_readable, demand_room

    demand_valid(plan)
    demand_readable(source, plan.domain)
    if folder is not None:
        ready(plan.kind)
        folder.demand(needs(plan))
    if source.cluster is not None:
        from privsieve.rows.room import Room

        source.cluster.demand_sum(plan, source)
        return Room()  # no row comes into this process
    return demand_room(plan, source, room)


def demand_valid(plan: Plan) -> None:
    """Refuse a plan whose release `verify` would refuse; nothing is charged."""
    from privsieve.check.verify import verify_plan
    from privsieve.ledger.chain import certificate

    known = {**public(plan), "queries": plan.shows.get("queries", [])}
    wrong = verify_plan(certificate(terms(plan, SOFTWARE), "0" * 64), known)
    if wrong:
        raise ParameterError(f"{plan.method}: verify would refuse the release ({wrong[0]}), and "
                             "nothing was charged; change the options, or report this")


def needs(plan: Plan) -> int:
    """Bytes that the files of a release take at most, by what the plan says of it."""
    columns = [*plan.domain.columns, *([plan.domain.target] if plan.domain.target else [])]
    texts = sum(64 + len(column.name) + sum(8 + len(str(value)) for value in levels)
                for column in columns for levels in [getattr(column, "values", ())])
    facts = {**plan.settings, **plan.forecast}
    numbers = [int(text) for name in ("cells", "features")
               if (text := str(facts.get(name))).isdecimal()]
    # A name stands in domain, columns, selection and tables; a number with its place and its row.
    return 2**20 + 64 * texts + 256 * (len(columns) + sum(numbers))


def _reserve(plan: Plan, ledger: Ledger, folder: Folder | None, progress: Callable[[str], None],
             ) -> Entry:
    """The charge; durable when it returns, with the terms of the certificate to come."""
    claim = terms(plan, SOFTWARE)
    # Before the charge: who makes errors of warnings is to lose nothing.
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
        # The ledger itself failed, or was stopped: before its charge was durable, or after.
        if (state := _charged(ledger)) is None:
            raise
    raise ReleaseFailed(state)


def note(folder: Folder, ledger: Ledger, terms: Mapping[str, Any]) -> None:
    """Write into the folder what will be charged, durably; it names places, and holds no row."""
    from privsieve.ledger.sql import absolute

    folder.note(canonical({
        "format": REQUEST, "request": ledger.request, "population": ledger.population,
        "ledger": absolute(ledger.path), "head": ledger.newest(),
        "terms_sha256": digest(canonical(terms))}))


def _charged(ledger: Ledger) -> str | None:
    """What a charge that failed has left: None where it is certain that nothing was charged."""
    try:
        return None if ledger.charge() is None else "lost"
    except PrivsieveError:
        return "unknown"


def _warn_unsigned(epsilon: Fraction) -> None:
    with _counting:
        _unsigned.append(epsilon)
        spent_before = tuple(_unsigned)
    if len(spent_before) > 1:
        spent = -(-sum(spent_before) * EPSILON_UNITS // 1)
        warnings.warn(
            f"{len(spent_before)} releases without a ledger in this process: together epsilon "
            f"{decimal(spent)} if they speak of the same people.  Give a ledger "
            "(ledger=Ledger(...)) to keep the sum.",
            UnsignedWarning, stacklevel=5)
