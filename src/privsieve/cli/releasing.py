"""A release of the command line: the folder, the charge, the stage on a terminal, and the words.

And a release that is there, which is verified before anything is made of it.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any
from warnings import catch_warnings, simplefilter

from privsieve.check.signatures import demand_signed
from privsieve.check.verify import verify
from privsieve.cli import words
from privsieve.cli.options import PlanOptions
from privsieve.cli.progress import staged
from privsieve.cli.verb import Outcome, tell
from privsieve.errors import CheckFailed, LedgerError, ParameterError, ReleaseFailed
from privsieve.finish import repeated
from privsieve.fit import SOFTWARE, fit
from privsieve.folder import Folder
from privsieve.ledger.ledger import Ledger
from privsieve.public.canonical import DELTA_UNITS, RHO_UNITS, Json, decimal
from privsieve.public.option import RARE, Dir, File, Name
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


@dataclass(frozen=True, kw_only=True)
class BudgetOptions:
    """Privacy.

    ledger : the budget, made by `ledger grant`
    population : the people whom the budget protects
    head : a small file that keeps the ledger's newest entry: an older copy of the ledger is
        refused.  It is made if it does not exist
    """

    ledger: File
    population: Name
    head: Annotated[File | None, RARE] = None


@dataclass(frozen=True, kw_only=True)
class ReleaseOptions(BudgetOptions):
    """Table and release.

    out : the release folder; it must not exist
    request : a name for this charge, which is made once: the same words again give the same
        release; one is drawn where left out
    signed_plan : the plan as it was signed (privsieve sign): another one is refused before the
        charge
    anyway : go on although the forecast warns
    max_memory : memory that a release may take beside Python, such as 2GB; rows that do not fit lie
        in a private file that has no name. Half of what is free where left out
    jobs : threads that work on the rows; as many as cores where left out
    """

    out: Dir
    request: Annotated[str | None, "ID"] = None
    signed_plan: Annotated[File | None, RARE] = None
    anyway: bool = False
    max_memory: Annotated[str | None, "SIZE", RARE] = None
    jobs: Annotated[int | None, RARE] = None


def release(data: str, asked: PlanOptions, paid: ReleaseOptions, show: Show = lambda _made: (),
            beside: Beside = lambda _folder, _made: None) -> Plan:
    """Plan, make the folder, charge, read, release; show its lines, say what it cost.

    A plan that warns needs --anyway.  `beside` may put more into the folder, of the release alone.
    A request that was charged before gives the release that it gave.
    """
    plan, source = asked.of_table(data, head=paid.head)
    if plan.warning and not paid.anyway:
        advice = plan.forecast.get("advice")
        more = f" ({advice})" if advice else ""
        raise ParameterError(f"{plan.warning}{more}; to go on all the same, say --anyway "
                             "(nothing was charged)")
    _demand_signed(plan, source, asked.policy, paid.signed_plan)
    ledger = Ledger(paid.ledger, population=paid.population, head=paid.head, request=paid.request)
    if paid.request is not None and plan.cost.epsilon:
        before = repeated(replace(plan, record=source.record), ledger, paid.out)
        if before is not None:
            Receipt(before, plan, ledger, paid.out, again=True).tell(show)
            return plan
    _release(plan, source, ledger.named(), paid, (show, beside))
    return plan


def _demand_signed(plan: Plan, source: Source, rules: str | None, signed: str | None) -> None:
    """Refuse another plan than the signed one, and signers who are not those of the policy."""
    if rules is None and signed is None:
        return
    policy = Policy() if rules is None else Policy.load(rules)
    policy.demand_signed(signed)
    if signed is not None:
        demand_signed(signed, terms(replace(plan, record=source.record), SOFTWARE),
                      Signers.of(*policy.signed_by or (), threshold=policy.threshold))


def _release(plan: Plan, source: Source, ledger: Ledger, paid: ReleaseOptions,
             then: tuple[Show, Beside]) -> None:
    """A new request: its name is said before it is charged."""
    (show, beside), room = then, Room.usual(paid.max_memory, paid.jobs)
    with Folder.create(paid.out) as folder, sealed() as hold:
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

                # The receipt says a conversion in its own words; a library might speak of rows.
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
            Receipt(made, plan, ledger, paid.out, page=NAME in folder).tell(show)
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


@dataclass(frozen=True)
class Receipt:
    """A release and what it cost; `again` where it was charged before, `page` if it has one."""

    made: Release
    plan: Plan
    ledger: Ledger
    out: str
    again: bool = False
    page: bool = True

    def tell(self, show: Show) -> None:
        """Print the release; then say what it cost, also where nobody reads on."""
        left, unread = self._left(), None
        try:
            tell(Outcome(self._facts(left), lambda: words.lines(show(self.made))))
        except BrokenPipeError as error:
            unread = error
        for label, text in self._words(left):
            words.say(label, text, fg="yellow" if label == "warning" else None)
        words.page(written=self.page)
        words.say("folder", self.out)
        if unread is not None:
            raise unread

    @property
    def _certificate(self) -> Mapping[str, Any]:
        return self.made.certificate or {}

    @property
    def _charged(self) -> Any:
        """The charge as the ledger keeps it; a release that costs nothing has none."""
        return (self._certificate["ledger"] or {}).get("charged")

    def _left(self) -> dict[str, str | None]:
        """What is left; None where the ledger went away since the charge: the release stands."""
        try:
            kept = self.ledger.account()
        except LedgerError:
            return {"left": None, "delta_left": None, "rho_left": None}
        return {"left": decimal(kept.left), "delta_left": decimal(kept.delta_left, DELTA_UNITS),
                "rho_left": decimal(kept.rho_left, RHO_UNITS) if kept.rho_limit else None}

    def _facts(self, left: Mapping[str, Json]) -> dict[str, Json]:
        cost = self.plan.cost
        return {"release": self.made.body, "release_sha256": self.made.sha256,
                "claim": sentence(self._certificate), "charged": "0" if self.again else cost.text,
                "delta_charged": "0" if self.again else cost.delta_text,
                "not_found": self.made.missing or None, "account_charged": self._charged,
                "request": self.ledger.request, "page": self.page, **left}

    def _words(self, left: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
        """What it warned of, what it cost, and what it promises."""
        plan = self.plan
        if plan.warning:
            yield "warning", plan.warning
        if "advice" in plan.forecast:
            yield "advice", str(plan.forecast["advice"])
        most = plan.settings.get("at_most")
        if most is not None:
            yield "named", f"{plan.settings['k']}, where at most {most} were asked for"
        delta = f" and delta {left['delta_left']}" if plan.cost.delta else ""
        if delta and left["rho_left"]:
            delta += f" (added plainly; or rho {left['rho_left']})"
        known = f"{left['left']}{delta}" if left["left"] else "an unknown amount"
        cost = "nothing: this request was charged before" if self.again else plan.cost.words
        yield "charged", f"{cost}; {self.ledger.population} has {known} left"
        converted = conversion(self._charged, self._certificate) if self._charged else None
        if converted:
            yield "converted", converted
        yield "promise", sentence(self._certificate)


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
