"""`privsieve publish`: choose columns that may be published, write them, and note it."""

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
from privsieve.public.option import Dir, File
from privsieve.public.plan import sentence
from privsieve.public.policy import Policy
from privsieve.public.strangers import WHO, counted, spoken
from privsieve.report import internal_html
from privsieve.report.plans import figure


@dataclass(frozen=True, kw_only=True)
class PlaceOptions:
    """Release.

    k : each row's group has at least so many rows
    out : the release folder; it must not exist
    internal_report : PRIVATE: a page that also speaks of closed columns, for the holder's eyes
    policy : the policy of your place: what it does not allow is refused before the charge
    """

    k: int
    out: Dir
    internal_report: File | None = None
    policy: File | None = None


@verb("patients.csv --target ill -k 5 --out columns")
def command(data: str, place: PlaceOptions, asked: TableOptions, wanted: PublishOptions,
            noted: SnapshotOptions) -> None:
    """Choose columns of DATA that may be published together, and write them to DIR.

    Every row's group, the rows that fit all that may be known of it, has at least K rows.  The
    rows are shuffled; only the chosen columns leave, as zeros and ones.  No noise, no epsilon:
    this is not differential privacy.
    """
    wanted.demand(asked)
    noted.demand()
    if place.policy is not None:
        kept: dict[str, Any] = {"head": noted.head} if noted.ledger else {}
        Policy.load(place.policy).demand(kind="containment", k=place.k, ledger=noted.ledger, **kept)
    people, page = noted.people(), place.internal_report
    with new_file(page, "of --internal-report") if page else nullcontext() as write:
        with staged() as progress, listening(progress.known):
            progress.stage("reading the table")
            table, promise = wanted.read(data, asked, place.k, people)
            with _removed_if_it_fails(place.out) as folder:
                progress.stage("choosing (Ctrl-C ends it)")
                choice = wanted.chosen(table, promise, people.before if people else ())
                progress.stage("writing, and counting the file's groups and risks")
                issued = issue(table, choice, promise, wanted.form(table, promise.rule), folder,
                               people=people)
        _show(table, choice, issued, wanted.purpose)
        words.say("folder", place.out)
        if write:
            write(internal_html(issued.release, issued.certificate,
                                closed(table, promise.rule, choice.selected)))
            words.say("internal", f"{page} (PRIVATE: not to be released)", fg="yellow")


@contextmanager
def _removed_if_it_fails(out: str) -> Iterator[Folder]:
    """A folder that is taken away; a note that was made stands, and the same may be asked again."""
    with Folder.create(out) as folder:
        try:
            yield folder
        except OSError:
            folder.discard()
            raise ParameterError(
                "the disk failed while the publication was written; use nothing of it, make room, "
                "or name a folder on another disk: what the ledger noted stands, and the same may "
                "be published again") from None
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
    who = f" {counted(claim)[1]}" if table.counts else ""
    words.say("level", f"{claim['level']} rows (k = {claim['k']}{who}, {claim['model']}), "
                       f"{len(choice.selected)} items, {choice.suppressed} rows left out")
    if choice.bound is not None or not choice.complete:
        words.say("search", _searched(choice))
    words.say("promise", promise)
    for role, names in spoken(claim):
        words.say("role", f"{role}: {', '.join(names)}")
    if profile:
        words.say("profile", f"{profile}: {PROFILES[profile]}")
    strangers, rows = measured["strangers"], measured["rows"]
    for key, who in WHO.items():
        if key in strangers:  # how many rows each finds alone, or in a crowd below k
            words.say("found", f"who knows {who.format(target=claim['target'])}: "
                               f"{strangers[key]['alone']} of {rows} rows alone, "
                               f"{strangers[key]['below']} below {claim['k']}")
    words.say("hub", hub)
    if issued.hub.warning:
        words.say("warning", issued.hub.warning, fg="yellow")
    words.page(written=issued.page)


def _searched(choice: Choice) -> str:
    """What a search knows of its own result."""
    if choice.bound is None:
        return "stopped before it was done: another set may be better"
    if choice.proved:
        return "no other set of columns is better: proved"
    return (f"stopped: another set may be better, by {figure(100 * gap(choice))} % "
            "at most")
