"""A release on the command line: its folder, its charge, its progress, and what it prints.

Also reads an existing release, which is verified before use.
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
from privsieve.cli.options import BudgetOptions, PlanOptions
from privsieve.cli.progress import staged
from privsieve.cli.verb import Outcome, tell
from privsieve.errors import CheckFailed, LedgerError, ParameterError, ReleaseFailed
from privsieve.finish import repeated
from privsieve.fit import SOFTWARE, fit
from privsieve.folder import Folder
from privsieve.ledger.ledger import Ledger
from privsieve.public.canonical import DELTA_UNITS, RHO_UNITS, Json, decimal
from privsieve.public.option import RARE, Dir, File
from privsieve.public.plan import PLURALS, Plan, conversion, sentence, terms
from privsieve.public.policy import Policy
from privsieve.release import Release, load
from privsieve.report import NAME
from privsieve.rows import Source
from privsieve.rows.room import Room
from privsieve.trust.signers import Signers

#: Functions that return the lines of a release, and that write more files into its folder.
Show = Callable[["Release"], Iterable[str]]
Beside = Callable[["Folder", "Release"], None]


@dataclass(frozen=True, kw_only=True)
class ReleaseOptions(BudgetOptions):
    """Table and release.

    out : the release folder; it must not exist
    request : a name for this charge; the same command with the same name gives the same release
        without a second charge.  Default: a random name
    signed_plan : a signed plan (privsieve sign); a release that differs from it is refused
    anyway : continue although the forecast warns
    max_memory : the memory for the rows, such as 2GB; rows that do not fit are kept in a private
        temporary file.  Default: half of the free memory
    jobs : the number of threads.  Default: the number of cores
    """

    out: Dir
    request: Annotated[str | None, "ID"] = None
    signed_plan: Annotated[File | None, RARE] = None
    anyway: bool = False
    max_memory: Annotated[str | None, "SIZE", RARE] = None
    jobs: Annotated[int | None, RARE] = None


def release(data: str, options: PlanOptions, paid: ReleaseOptions, show: Show = lambda _release: (),
            beside: Beside = lambda _folder, _release: None) -> Plan:
    """Plan, make the folder, charge, read the rows and release; print the lines and the cost.

    A plan that warns needs --anyway.  `beside` may write more files that are made from the release
    alone.  A request that was charged before gives its earlier release.
    """
    plan, source = options.of_table(data, head=paid.head)
    if plan.warning and not paid.anyway:
        advice = f" ({plan.forecast['advice']})" if plan.forecast.get("advice") else ""
        raise ParameterError(f"{plan.warning}{advice}; to continue, add --anyway (nothing was "
                             "charged)")
    _demand_signed(plan, source, options.policy, paid.signed_plan)
    ledger = Ledger(paid.ledger, population=paid.population, head=paid.head, request=paid.request)
    if paid.request is not None and plan.cost.epsilon:
        before = repeated(replace(plan, record=source.record), ledger, paid.out)
        if before is not None:
            Receipt(before, plan, ledger, paid.out, again=True).tell(show)
            return plan
    _release(plan, source, ledger.named(), paid, (show, beside))
    return plan


def _demand_signed(plan: Plan, source: Source, rules: str | None, signed: str | None) -> None:
    """Refuse a plan that differs from the signed one, or whose signers the policy does not name."""
    if rules is None and signed is None:
        return
    policy = Policy() if rules is None else Policy.load(rules)
    policy.demand_signed(signed)
    if signed is not None:
        demand_signed(signed, terms(replace(plan, record=source.record), SOFTWARE),
                      Signers.of(*policy.signed_by or (), threshold=policy.threshold))


def _release(plan: Plan, source: Source, ledger: Ledger, paid: ReleaseOptions,
             then: tuple[Show, Beside]) -> None:
    """Make a new release; print the name of its request before the charge."""
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

                # The receipt prints conversions; a library's warning could contain rows.
                simplefilter("ignore")
                result = fit(plan, source, ledger=ledger, folder=folder, progress=progress,
                             room=room)
                hold.hold()
        except ReleaseFailed:
            raise
        except BaseException:
            # Any other error comes before the charge: nothing is kept.
            folder.discard()
            raise
        try:
            beside(folder, result)
            Receipt(result, plan, ledger, paid.out, page=NAME in folder).tell(show)
        except Exception as error:
            if not plan.cost.epsilon or isinstance(error, BrokenPipeError):
                raise
            failed = ReleaseFailed(folder.state)  # printing failed; the release did not
        else:
            return
    raise failed


def verified(folder: str, otherwise: str) -> Release:
    """Return the release in a folder; refuse it if its certificate is not valid."""
    release = load(Path(folder))
    if release.certificate is None:
        raise CheckFailed(f"certificate.json is missing beside the release; {otherwise} without a "
                          "certificate")
    wrong = verify(dict(release.certificate), dict(release.body)).reasons
    if wrong:
        raise CheckFailed(f"{wrong[0]}; {otherwise} from a release that is not valid (see "
                          "privsieve verify)")
    return release


def _stages(plan: Plan) -> Mapping[str, str]:
    """Return a text for each stage; the numbers are those of the plan, which are public."""
    columns = f"{len(plan.domain.columns):,}"
    return {"reading": f"reading the table of {plan.units:,} {PLURALS[plan.noun]}",
            "charging": "charging the budget", "writing": "writing the release",
            "choosing": f"choosing {plan.settings['k']} of {columns} columns" if plan.chooses
            else "adding noise"}


@dataclass(frozen=True)
class Receipt:
    """A release and its cost; `again` if it was charged before, `page` if it has a page."""

    release: Release
    plan: Plan
    ledger: Ledger
    out: str
    again: bool = False
    page: bool = True

    def tell(self, show: Show) -> None:
        """Print the release, then its cost on stderr, even if the reader of stdout has gone."""
        left, unread = self._left(), None
        try:
            tell(Outcome(self._facts(left), lambda: words.lines(show(self.release))))
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
        return self.release.certificate or {}

    @property
    def _charged(self) -> Any:
        """The charge in the ledger; a release that costs nothing has none."""
        return (self._certificate["ledger"] or {}).get("charged")

    def _left(self) -> dict[str, str | None]:
        """Return what is left; None if the ledger can no longer be read after the charge."""
        try:
            kept = self.ledger.account()
        except LedgerError:
            return {"left": None, "delta_left": None, "rho_left": None}
        return {"left": decimal(kept.left), "delta_left": decimal(kept.delta_left, DELTA_UNITS),
                "rho_left": decimal(kept.rho_left, RHO_UNITS) if kept.rho_limit else None}

    def _facts(self, left: Mapping[str, Json]) -> dict[str, Json]:
        cost = self.plan.cost
        return {"release": self.release.body, "release_sha256": self.release.sha256,
                "claim": sentence(self._certificate), "charged": "0" if self.again else cost.text,
                "delta_charged": "0" if self.again else cost.delta_text,
                "not_found": self.release.missing or None, "account_charged": self._charged,
                "request": self.ledger.request, "page": self.page, **left}

    def _words(self, left: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
        """Yield the warnings, the cost and the guarantee."""
        plan = self.plan
        if plan.warning:
            yield "warning", plan.warning
        if "advice" in plan.forecast:
            yield "advice", str(plan.forecast["advice"])
        most = plan.settings.get("at_most")
        if most is not None:
            yield "names", f"{plan.settings['k']} (at most {most} requested)"
        delta = f" and delta {left['delta_left']}" if plan.cost.delta else ""
        if delta and left["rho_left"]:
            delta += f" (if deltas are added; or rho {left['rho_left']})"
        rest = f"{left['left']}{delta}" if left["left"] else "an unknown amount"
        cost = "nothing: this request was charged before" if self.again else plan.cost.words
        yield "charged", f"{cost}; {self.ledger.population} has {rest} left"
        converted = conversion(self._charged, self._certificate) if self._charged else None
        if converted:
            yield "converted", converted
        yield "guarantee", sentence(self._certificate)


class Hold:
    """Ignores Ctrl-C while it is in doubt whether the charge was made."""

    def __init__(self) -> None:
        self._obeyed = signal.getsignal(signal.SIGINT)
        self.hold()

    def hold(self) -> None:
        """Ignore Ctrl-C during the charge and while the release is printed."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def allow(self) -> None:
        """Obey Ctrl-C again."""
        signal.signal(signal.SIGINT, self._obeyed)


@contextmanager
def sealed() -> Iterator[Hold]:
    """Prevent core dumps, tracebacks, and Ctrl-C during the charge."""
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
    """Print a constant text for an uncaught error: its own text could contain rows."""
    sys.stderr.write(f"privsieve: {ReleaseFailed()}\n")
