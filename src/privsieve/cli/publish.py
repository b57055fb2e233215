"""`privsieve publish`: choose columns that may be published, write them, and record it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from privsieve.cli import words
from privsieve.cli.private import new_file
from privsieve.cli.progress import staged
from privsieve.cli.verb import Outcome, tell, verb
from privsieve.containment.choose import Choice, gap, listening
from privsieve.containment.labelled import Labelled
from privsieve.containment.measures import closed, hub_figure
from privsieve.containment.options import PublishOptions, SnapshotOptions, TableOptions
from privsieve.containment.publish import Issued, issue
from privsieve.containment.publishable import PROFILES
from privsieve.errors import ParameterError
from privsieve.folder import Folder
from privsieve.public.attackers import WHO, counted, spoken
from privsieve.public.option import Dir, File
from privsieve.public.plan import sentence
from privsieve.public.policy import Policy
from privsieve.report import internal_html
from privsieve.report.plans import figure


@dataclass(frozen=True, kw_only=True)
class PlaceOptions:
    """Release.

    k : the smallest allowed group: every row looks like at least k - 1 other rows
    out : the release folder; it must not exist
    internal_report : PRIVATE: a page that also shows the unpublished columns, for the holder
    policy : the policy file of your organisation; a publication that it forbids is refused
    """

    k: int
    out: Dir
    internal_report: File | None = None
    policy: File | None = None


@verb("patients.csv --target ill -k 5 --out columns")
def command(data: str, place: PlaceOptions, options: TableOptions, wanted: PublishOptions,
            noted: SnapshotOptions) -> None:
    """Choose columns of DATA that may be published together, and write them to DIR.

    Every row is in a group of at least K rows that match all that an attacker may know about it.
    The rows are shuffled.  Only the chosen columns leave, as zeros and ones.  There is no noise
    and no epsilon: this is not differential privacy.
    """
    wanted.demand(options)
    noted.demand()
    if place.policy is not None:
        head: dict[str, Any] = {"head": noted.head} if noted.ledger else {}
        Policy.load(place.policy).demand(kind="containment", k=place.k, ledger=noted.ledger, **head)
    people, page = noted.people(), place.internal_report
    with new_file(page, "of --internal-report") if page else nullcontext() as write:
        with staged() as progress, listening(progress.known):
            progress.stage("reading the table")
            table, promise = wanted.read(data, options, place.k, people)
            with _removed_if_it_fails(place.out) as folder:
                progress.stage("choosing (Ctrl-C stops the search)")
                choice = wanted.chosen(table, promise, people.before if people else ())
                progress.stage("writing, and counting groups and risks")
                issued = issue(table, choice, promise, wanted.form(table, promise.rule), folder,
                               people=people)
        _show(table, choice, issued, wanted.purpose)
        words.say("folder", place.out)
        if write:
            write(internal_html(issued.release, issued.certificate,
                                closed(table, promise.rule, choice.selected)))
            words.say("internal", f"{page} (PRIVATE: do not release)", fg="yellow")


@contextmanager
def _removed_if_it_fails(out: str) -> Iterator[Folder]:
    """Make a folder, and remove it after an error; a ledger entry stays, so you can try again."""
    with Folder.create(out) as folder:
        try:
            yield folder
        except OSError:
            folder.discard()
            raise ParameterError(
                "the disk is full or failed while the publication was written; do not use its "
                "files, and publish again to a disk with space (the ledger entry stays valid)"
            ) from None
        except BaseException:
            folder.discard()
            raise


def _show(table: Labelled, choice: Choice, issued: Issued, profile: str | None) -> None:
    selected = list(dict.fromkeys(table.items.origin[j] for j in choice.selected))
    claim, promise = issued.certificate["claim"], sentence(issued.certificate)
    measured, hub = issued.release["measured"], hub_figure(issued.hub, claim["k"])
    tell(Outcome({"claim": claim, "selected": [*selected], "promise": promise,
                  "complete": choice.complete, "measured": measured,
                  "unique": measured["strangers"]["all"]["alone"], "hub": hub,
                  "warning": issued.hub.warning, "page": issued.page},
                 lambda: words.lines(selected)))
    k = f"k = {claim['k']}{f' {counted(claim)[1]}' if table.counts else ''}"
    words.say("groups", f"of {claim['level']:,} or more rows ({k}, {claim['model']}), "
              f"{len(choice.selected):,} yes-or-no columns, {choice.suppressed:,} rows left out")
    if choice.bound is not None or not choice.complete:
        words.say("search", _search_text(choice))
    words.say("guarantee", promise)
    for role, names in spoken(claim):
        words.say("role", f"{role}: {', '.join(names)}")
    if profile:
        words.say("profile", f"{profile}: {PROFILES[profile]}")
    rows = measured["rows"]
    for key, knowledge in WHO.items():
        if figures := measured["strangers"].get(key):
            words.say("attacker", f"knows {knowledge.format(target=claim['target'])}: "
                                  f"{figures['alone']:,} of {rows:,} rows are alone, "
                                  f"{figures['below']:,} are in a group below {claim['k']}")
    words.say("same rows", hub)
    if issued.hub.warning:
        words.say("warning", issued.hub.warning, fg="yellow")
    words.page(written=issued.page)


def _search_text(choice: Choice) -> str:
    """Return how good the result of a search is known to be."""
    if choice.bound is None:
        return "stopped early: another set may be better"
    if choice.proved:
        return "proved: no other set of columns is better"
    return (f"stopped early: another set may be better, by at most "
            f"{figure(100 * gap(choice))} %")
