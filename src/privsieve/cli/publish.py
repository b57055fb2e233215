"""`privsieve publish`: choose columns that may be published, write them, and note it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import click

from privsieve.cli import tables, words
from privsieve.cli.options import HEAD, POLICY, asking, refuse
from privsieve.cli.private import new_file
from privsieve.cli.progress import staged
from privsieve.cli.verb import Verb
from privsieve.containment.choose import Choice, demand_rule, gap, listening
from privsieve.containment.labelled import Labelled
from privsieve.containment.limits import RUNS, Method, limited
from privsieve.containment.measures import closed
from privsieve.containment.publish import Form, Issued, Promise, Snapshot, issue, people_of
from privsieve.containment.publishable import PROFILES, by_method, publishable
from privsieve.containment.snapshot import open_part, recognise, tightened, tightened_limits
from privsieve.errors import ParameterError
from privsieve.kernels.patterns import Rule
from privsieve.ledger.folder import Folder
from privsieve.ledger.ledger import Ledger
from privsieve.public.canonical import Json
from privsieve.public.plan import sentence
from privsieve.public.policy import Policy
from privsieve.public.strangers import WHO, counted, spoken
from privsieve.report import internal_html
from privsieve.report.plans import figure

#: How often a search that takes long is made again for limits.
_FEW = 5
#: Limits that `publish` checks after a choice, by the names of their options.
LIMITS = ("max_share", "entropy_l", "closeness")
#: How well values are spread in a group.
diversity = click.option(
    "--l-diversity", metavar="L", type=click.IntRange(1),
    help="Classes, and values of each sensitive column, in a group at least: 2 where the "
         "target is published, else 1.")
#: Gives a command what is to be known of the target.
target = asking(
    click.option("--publish-target", is_flag=True,
                 help="Publish the target with the columns; it then counts toward k."),
    click.option("--target-unknown", is_flag=True,
                 help="Declare that nobody outside knows the published target of a person."),
)
#: Gives a command the options of a choice.
choosing = asking(
    click.option("--profile", type=click.Choice(["few", "most", "strict"]),
                 help="What the columns are for (few, where no method is named)."),
    click.option("--method", type=click.Choice(["greedy", "maximal", "exact"]),
                 help="Or: how to choose."),
    click.option("--weights", metavar="NAME",
                 help="With a method: mutual-information (default), hamming, distinct, or even "
                      "(needs no target)."),
    click.option("--model", type=click.Choice(["containment", "k-anonymity"]),
                 default="containment", show_default=True,
                 help="Whether absences count of all columns, or by role."),
    diversity,
    tables.limits,
    target,
    click.option("--time-limit", metavar="SECONDS", type=int, default=60, show_default=True,
                 help="How long to search, with --method maximal or exact."),
)


@click.command("publish", cls=Verb, epilog=(
    "Example: privsieve publish patients.csv --target ill -k 5 --out columns"))
@click.argument("data")
@click.option("-k", "k", metavar="K", type=int, required=True,
              help="Each row's group has at least so many rows.")
@tables.table
@choosing
@click.option("--publish-sensitive", is_flag=True,
              help="Publish the sensitive columns, too, as they are.")
@click.option("--suppress", metavar="N", type=click.IntRange(0), default=0, show_default=True,
              help="Leave out at most so many rows.")
@click.option("--ledger", metavar="FILE", help="The ledger that notes what was published.")
@click.option("--population", metavar="NAME", help="The people of the table.")
@click.option("--snapshot", metavar="NAME", help="The state of their table, such as 2026-spring.")
@HEAD
@click.option("--fingerprint-key", metavar="FILE",
              help="The secret by which a ledger on a server knows a table again; it is made with "
                   "the first publication.")
@click.option("--first", is_flag=True, help="Nothing was published or granted of them before.")
@click.option("--other-people", metavar="NAME",
              help="Who signs that this snapshot is of other people than those before it.")
@POLICY
@click.option("--out", metavar="DIR", required=True,
              help="The release folder; it must not exist.")
@click.option("--internal-report", metavar="FILE",
              help="PRIVATE: a page that also speaks of closed columns, for the holder's eyes.")
def command(data: str, **options: Any) -> None:
    """Choose columns of DATA that may be published together, and write them to DIR.

    Every row's group, the rows that fit all that may be known of it, has at least K rows.  The
    rows are shuffled; only the chosen columns leave, as zeros and ones.  No noise, no epsilon:
    this is not differential privacy.
    """
    _check(options)
    _demand_policy(options)
    _publish(data, options)


def _demand_policy(options: Mapping[str, Any]) -> None:
    """Refuse what the place does not allow."""
    if options["policy"] is not None:
        kept = {"head": options["head"]} if options["ledger"] else {}
        Policy.load(options["policy"]).demand(kind="containment", k=options["k"],
                                              ledger=options["ledger"], **kept)


def _publish(data: str, options: Mapping[str, Any]) -> None:
    """Read, choose, write, count, note: in this order."""
    people = people_of(
        Ledger(options["ledger"], population=options["population"], head=options["head"]),
        options["snapshot"], signed=options["other_people"], first=options["first"],
        key=options["fingerprint_key"]) if options["ledger"] else None
    page = options["internal_report"]
    with new_file(page, "of --internal-report") if page else nullcontext() as write:
        with staged() as progress, listening(progress.known):
            progress.stage("reading the table")
            table, promise = _read(data, options, people)
            form = Form(_plan(table, promise, options), options["publish_target"],
                        options["publish_sensitive"])
            with Folder.create(options["out"]) as folder:
                try:
                    progress.stage("choosing (Ctrl-C ends it)")
                    choice = _chosen(table, promise, options, people.before if people else ())
                    progress.stage("writing, and counting the file's groups and risks")
                    issued = issue(table, choice, promise, form, folder, people=people)
                except OSError:
                    folder.discard()
                    raise ParameterError(
                        "the disk failed while the publication was written; use nothing of it, "
                        "make room, or name a folder on another disk: what the ledger noted "
                        "stands, and the same may be published again") from None
                except BaseException:
                    # A note that was made stands; the same may be published again.
                    folder.discard()
                    raise
        _show(table, choice, issued, options)
        if write:
            write(internal_html(issued.release, issued.certificate,
                                closed(table, promise.rule, choice.selected)))
            words.say("internal", f"{page} (PRIVATE: not to be released)", fg="yellow")


def _read(data: str, options: Mapping[str, Any],
          people: Snapshot | None) -> tuple[Labelled, Promise]:
    """The table, recognised by its ledger, and what is to be promised of it."""
    table = tables.opened(data, options, people.before if people else ())
    if people:
        recognise(table, people.before, people.seal)
    promise = promise_of(table, options)
    if options["publish_target"]:  # also where nobody is said to know it
        demand_rule(table, replace(promise.rule, labelled=True))
    return table, promise


def _chosen(table: Labelled, promise: Promise, options: Mapping[str, Any],
            before: Sequence[Mapping[str, Any]]) -> Choice:
    """A choice that keeps rule and limits, also together with what was published before."""
    slow = options["method"] in ("maximal", "exact") or options["profile"] == "most"
    weights = tables.weights_of(table, options) if options["method"] else None
    return open_part(table, promise.rule, limited(
        table, tightened(table, promise.rule, before), tightened_limits(promise.limits, before),
        Method(partial(_choose, options), weights, runs=_FEW if slow else RUNS)))


def _check(options: Mapping[str, Any]) -> None:
    """Refuse options that contradict each other, or speak of a ledger that is not named."""
    check_choice(options)
    noted = sum(bool(options[name]) for name in ("ledger", "population", "snapshot"))
    refuse(0 < noted < 3,
           "--ledger, --population and --snapshot go together; give all three or none")
    refuse(not noted and any(options[name] for name in (
        "first", "other_people", "head", "fingerprint_key")),
           "--first, --other-people, --head and --fingerprint-key speak to a ledger: give "
           "--ledger, --population and --snapshot")


def check_choice(options: Mapping[str, Any]) -> None:
    """Refuse options of a choice that contradict each other."""
    method, profile, weights = (options[name] for name in ("method", "profile", "weights"))
    people = tables.person_of(options)
    refuse(people and (method or profile) not in (None, "greedy", "few", "strict"),
           f"k counts people, by {people!r}, who are counted by --method greedy and by the "
           "profiles few and strict; take one of these, or publish a table with one row a person")
    refuse(people and any(options[name] for name in LIMITS),
           f"k counts people, by {people!r}, and --max-share, --entropy-l and --closeness would "
           "count rows, of which one person may have many; leave them away, or publish a table "
           "with one row a person")
    refuse(profile and (method or weights),
           "--profile chooses its own method and weights; leave --method and --weights away, or "
           "leave --profile")
    refuse(weights and not method, "--weights are for a method: say --method greedy")
    refuse(not _is_labelled(options) and weights != "even",
           "columns are chosen for what they say about classes: give --target COLUMN, or --method "
           "greedy --weights even for as many as fit")
    check_target(options)


def check_target(options: Mapping[str, Any]) -> None:
    """Refuse what is said of a published target where none is published."""
    published = options["publish_target"]
    refuse(published and not _is_labelled(options),
           "--publish-target needs a target: give --target COLUMN")
    refuse(options["target_unknown"] and not published,
           "--target-unknown speaks of a published target: give --publish-target, or leave it away")


def _is_labelled(options: Mapping[str, Any]) -> bool:
    return any(options[name] for name in ("target", "labels", "domain_file"))


def promise_of(table: Labelled, options: Mapping[str, Any]) -> Promise:
    """What the columns must keep, and what a stranger may know; a profile says a part of it."""
    profile = _profile(options)
    refuse(profile not in (None, "strict") and options["model"] == "k-anonymity",
           "--model k-anonymity is --profile strict; or name a --method")
    refuse(options["publish_sensitive"] and not table.sensitive,
           "--publish-sensitive needs a sensitive column: give --sensitive COLUMN, or leave it "
           "away")
    least = 2 if options["publish_target"] or profile in ("few", "most") else 1
    roles = tables.roles_of(table, options)
    equal = profile == "strict" or options["model"] == "k-anonymity"
    values = max(options["l_diversity"] or least, 2 if profile in ("few", "most") else 1)
    rule = Rule(
        k=options["k"], classes=len(table.classes),
        model="k-anonymity" if equal else "containment", l_diversity=values,
        absent=None if equal else roles.absent(table.items),
        suppress=options["suppress"], labelled=roles.target_known)
    return Promise(rule, roles, tables.limits_of(
        rule.l_diversity if table.sensitive else None, options))


def _profile(options: Mapping[str, Any]) -> str | None:
    found: str | None = options["profile"] or (None if options["method"] else "few")
    return found


def _choose(options: Mapping[str, Any], table: Labelled, rule: Rule) -> Choice:
    """What the profile chooses, or the method."""
    profile = _profile(options)
    if profile:
        return publishable(table, rule, profile)
    return by_method(table, rule, options["method"], tables.weights_of(table, options),
                     options["time_limit"])


def _plan(table: Labelled, promise: Promise, options: Mapping[str, Any]) -> dict[str, Json]:
    profile, rule = _profile(options), promise.rule
    return {
        "method": options["method"] or "profile",
        "profile": profile,
        "weights": None if profile else options["weights"] or "mutual-information",
        "k": rule.k, "model": rule.model, "l_diversity": rule.l_diversity,
        "suppress": rule.suppress,
        **({"counted": table.counts} if table.counts else {}),
    }


def _show(table: Labelled, choice: Choice, issued: Issued, options: Mapping[str, Any]) -> None:
    selected = list(dict.fromkeys(table.items.origin[j] for j in choice.selected))
    claim, promise = issued.certificate["claim"], sentence(issued.certificate)
    measured = issued.release["measured"]
    if options["as_json"]:
        words.json({"claim": claim, "selected": selected, "promise": promise,
                    "complete": choice.complete, "measured": measured,
                    "unique": measured["strangers"]["all"]["alone"],
                    "hub": tables.hub(issued.hub, claim["k"]), "warning": issued.hub.warning,
                    "page": issued.page})
    else:
        for name in selected:
            words.line(name)
    who = f" {counted(claim)[1]}" if table.counts else ""
    words.say("level", f"{claim['level']} rows (k = {claim['k']}{who}, {claim['model']}), "
                       f"{len(choice.selected)} items, {choice.suppressed} rows left out")
    if choice.bound is not None or not choice.complete:
        words.say("search", _searched(choice))
    words.say("promise", promise)
    for role, names in spoken(claim):
        words.say("role", f"{role}: {', '.join(names)}")
    profile = _profile(options)
    if profile:
        words.say("profile", f"{profile}: {PROFILES[profile]}")
    strangers, rows = measured["strangers"], measured["rows"]
    for key, who in WHO.items():
        if key in strangers:  # how many rows each finds alone, or in a crowd below k
            words.say("found", f"who knows {who.format(target=claim['target'])}: "
                               f"{strangers[key]['alone']} of {rows} rows alone, "
                               f"{strangers[key]['below']} below {claim['k']}")
    words.say("hub", tables.hub(issued.hub, claim["k"]))
    if issued.hub.warning:
        words.say("warning", issued.hub.warning, fg="yellow")
    words.page(written=issued.page)
    words.say("folder", options["out"])


def _searched(choice: Choice) -> str:
    """What a search knows of its own result."""
    if choice.bound is None:
        return "stopped before it was done: another set may be better"
    if choice.proved:
        return "no other set of columns is better: proved"
    return (f"stopped: another set may be better, by {figure(100 * gap(choice))} % "
            "at most")
