"""A release of the command line: the folder, the charge, the stage on a terminal, and the words.

And a release that is there, which is verified before anything is made of it.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

from privsieve.check.signatures import demand_signed
from privsieve.check.verify import verify
from privsieve.cli import words
from privsieve.cli.progress import staged
from privsieve.errors import CheckFailed, LedgerError, ParameterError, ReleaseFailed
from privsieve.finish import repeated
from privsieve.fit import SOFTWARE, fit
from privsieve.ledger.folder import Folder
from privsieve.ledger.ledger import Ledger
from privsieve.public.canonical import DELTA_UNITS, RHO_UNITS, decimal
from privsieve.public.plan import Plan, conversion, sentence, terms
from privsieve.public.policy import Policy
from privsieve.release import Release, load
from privsieve.report import NAME
from privsieve.rows import Source
from privsieve.rows.room import Room
from privsieve.trust.signers import Signers

#: The lines of a release, and what else is put into its folder.
Show = Callable[["Release"], Iterable[str]]
Beside = Callable[["Folder", "Release"], None]


def release(plan: Plan, source: Source, options: Mapping[str, Any], show: Show,
            beside: Beside = lambda _folder, _made: None) -> None:
    """Make the folder, charge, read, release; then show its lines and say what it cost.

    A plan that warns needs --anyway.  `beside` may put more into the folder, of the release alone.
    A request that was charged before gives the release that it gave.
    """
    if plan.warning and not options["anyway"]:
        advice = plan.forecast.get("advice")
        more = f" ({advice})" if advice else ""
        raise ParameterError(f"{plan.warning}{more}; to go on all the same, say --anyway "
                             "(nothing was charged)")
    _demand_signed(plan, source, options)
    ledger = Ledger(options["ledger"], population=options["population"],
                    head=options["head"], request=options["request"])
    if options["request"] is not None and plan.cost.epsilon:
        made = repeated(replace(plan, record=source.record), ledger, options["out"])
        if made is not None:
            _tell(made, plan, ledger, show, {**options, "charged": None, "page": True})
            return
    _release(plan, source, ledger.named(), options, (show, beside))


def _demand_signed(plan: Plan, source: Source, options: Mapping[str, Any]) -> None:
    """Refuse another plan than the signed one, and signers who are not those of the policy."""
    if options["policy"] is None and options["signed_plan"] is None:
        return
    policy = Policy() if options["policy"] is None else Policy.load(options["policy"])
    policy.demand_signed(options["signed_plan"])
    if options["signed_plan"] is not None:
        demand_signed(options["signed_plan"], terms(replace(plan, record=source.record), SOFTWARE),
                      Signers.of(*policy.signed_by or (), threshold=policy.threshold))


def _release(plan: Plan, source: Source, ledger: Ledger, options: Mapping[str, Any],
             then: tuple[Show, Beside]) -> None:
    """A new request: its name is said before it is charged."""
    (show, beside), room = then, Room.usual(options["max_memory"], options["jobs"])
    with Folder.create(options["out"]) as folder, sealed() as hold:
        try:
            with staged(silence=0) as stages, catch_warnings():

                def progress(stage: str) -> None:
                    if stage == "charging":
                        words.say("request", str(ledger.request))
                    elif stage == "writing":
                        hold.hold()
                    else:
                        hold.allow()
                    stages.stage(_stages(plan).get(stage, stage))

                # `_tell` says a conversion in words of its own; a library might speak of rows.
                simplefilter("ignore")
                made = fit(plan, source, ledger=ledger, folder=folder, progress=progress, room=room)
                hold.hold()
        except ReleaseFailed:
            raise
        except BaseException:
            # All but a failed release comes before the charge: nothing is to be kept.
            folder.discard()
            raise
        try:
            beside(folder, made)
            _tell(made, plan, ledger, show, {**options, "charged": plan.cost.text,
                                             "page": NAME in folder})
        except Exception as error:
            if not plan.cost.epsilon or isinstance(error, BrokenPipeError):
                raise
            failed = ReleaseFailed(folder.state)  # the screen failed, and the release did not
        else:
            return
    raise failed


def verified(folder: str, otherwise: str) -> Release:
    """The release in a folder; refused where its certificate does not hold."""
    release = load(Path(folder))
    if release.certificate is None:
        raise CheckFailed(f"certificate.json is missing beside the release; {otherwise} from what "
                          "nothing vouches for")
    wrong = verify(dict(release.certificate), dict(release.body)).reasons
    if wrong:
        raise CheckFailed(f"{wrong[0]}; {otherwise} from a release that does not hold (privsieve "
                          "verify says more)")
    return release


def _stages(plan: Plan) -> Mapping[str, str]:
    """What goes on at each stage; its totals are those of the plan, which are public."""
    columns = len(plan.domain.columns)
    return {"reading": f"reading the table of {plan.units} {plan.protected}s",
            "charging": "charging the budget", "writing": "writing the release",
            "choosing": f"choosing {plan.settings['k']} of {columns} columns" if plan.chooses
            else "adding noise"}


def _tell(made: Release, plan: Plan, ledger: Ledger, show: Show, options: Mapping[str, Any],
          ) -> None:
    """The release, and what it cost; `charged` is None where it was charged before."""
    assert made.certificate is not None
    left, promise = _left(ledger), sentence(made.certificate)
    kept: Any = made.certificate["ledger"] or {}  # a release that costs nothing has none
    said = conversion(kept["charged"], made.certificate) if kept else None
    unread = None
    try:
        if options["as_json"]:
            words.json({"release": made.body, "release_sha256": made.sha256, "claim": promise,
                        "charged": options["charged"] or "0",
                        "delta_charged": plan.cost.delta_text if options["charged"] else "0",
                        "not_found": made.missing or None,
                        "account_charged": kept.get("charged"), "request": ledger.request,
                        "page": options["page"], **left})
        else:
            for line in show(made):
                words.line(line)
    except BrokenPipeError as error:
        unread = error  # what was charged is said all the same
    if plan.warning:
        words.say("warning", plan.warning, fg="yellow")
    if "advice" in plan.forecast:
        words.say("advice", str(plan.forecast["advice"]))
    most = plan.settings.get("at_most")
    if most is not None:
        words.say("named", f"{plan.settings['k']}, where at most {most} were asked for")
    delta = f" and delta {left['delta_left']}" if plan.cost.delta else ""
    if delta and left["rho_left"]:
        delta += f" (added plainly; or rho {left['rho_left']})"
    known = f"{left['left']}{delta}" if left["left"] else "an unknown amount"
    cost = plan.cost.words if options["charged"] else "nothing: this request was charged before"
    words.say("charged", f"{cost}; {ledger.population} has {known} left")
    if said:
        words.say("converted", said)
    words.say("promise", promise)
    words.page(written=options["page"])
    words.say("folder", options["out"])
    if unread is not None:
        raise unread


def _left(ledger: Any) -> dict[str, str | None]:
    """What is left; None where the ledger went away since the charge, and the release stands."""
    try:
        kept = ledger.account()
    except LedgerError:
        return {"left": None, "delta_left": None, "rho_left": None}
    return {"left": decimal(kept.left), "delta_left": decimal(kept.delta_left, DELTA_UNITS),
            "rho_left": decimal(kept.rho_left, RHO_UNITS) if kept.rho_limit else None}


class Hold:
    """Ctrl-C, held while its outcome would be in doubt: whether the charge was made."""

    def __init__(self) -> None:
        self._obeyed = signal.getsignal(signal.SIGINT)
        self.hold()

    def hold(self) -> None:
        """Ignore Ctrl-C: the charge is being made, or its release is being shown."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def allow(self) -> None:
        """Obey Ctrl-C: it is known whether the charge was made."""
        signal.signal(signal.SIGINT, self._obeyed)


@contextmanager
def sealed() -> Iterator[Hold]:
    """No core dump, no traceback, and no Ctrl-C of which nobody knows what it cost."""
    with suppress(ImportError, OSError, ValueError):
        import resource  # not on every system

        _soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    hold = Hold()
    hooks = sys.excepthook, sys.unraisablehook
    sys.excepthook = sys.unraisablehook = _constant
    try:
        yield hold
    finally:
        hold.allow()
        sys.excepthook, sys.unraisablehook = hooks


def _constant(*_error: object) -> None:
    """What an error that nobody catches may say: nothing of its own."""
    sys.stderr.write(f"privsieve: {ReleaseFailed()}\n")
