"""`privsieve sum`: at one of several sites: join a study, and add up its rows under masks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from privsieve.cli import options as asked
from privsieve.cli import words
from privsieve.cli.key import needing_cryptography
from privsieve.cli.private import new_file
from privsieve.cli.verb import VerbGroup
from privsieve.cli.waiting import all_rounds, stopped_by_hand, wait

if TYPE_CHECKING:
    from privsieve.public.domain import Domain
    from privsieve.sites.study import Study

#: What a site and the combiner say to each other before anything is summed.
agreeing = click.option(
    "--agreed", metavar="DIGEST", required=True,
    help="What combine show prints of the study and all keys; compare it with the other sites "
         "over another way than the folder.")


@click.group("sum", cls=VerbGroup,
             epilog="Example: privsieve sum join study --site north --key north.pem")
def command() -> None:
    """At one of several sites: join a study, and add up its rows under masks."""


@command.command("join", epilog="Example: privsieve sum join study --site north --key north.pem")
@click.argument("study")
@click.option("--site", metavar="NAME", required=True, help="The site's name in the study.")
@click.option("--key", "key_file", metavar="FILE", required=True,
              help="A new file for the site's private key, for this study alone.")
def join(study: str, site: str, key_file: str, as_json: bool) -> None:  # noqa: FBT001  # click gives it by name
    """Make a key for this site and STUDY, and put its public half into the folder."""
    with needing_cryptography():
        from privsieve.sites.masks import SiteKey
        from privsieve.sites.study import Study

        found, key = Study.read(study), SiteKey.make()
        with new_file(key_file, "of the private key") as write:
            found.join(site, key.public)
            write(key.pem)
    if as_json:
        words.json({"site": site, "key": key_file, "fingerprint": key.public.fingerprint})
    else:
        words.line(key.public.fingerprint)
    words.say("key", f"{key_file}: keep it to yourself, and tell the others its fingerprint")


@command.command("add", epilog=(
    "Example: privsieve sum add study north.csv --key north.pem --agreed DIGEST"))
@click.argument("study")
@click.argument("data")
@click.option("--key", "key_file", metavar="FILE", required=True,
              help="The site's private key, which sum join made.")
@agreeing
@click.option("--domain", "domain_file", metavar="FILE",
              help="A domain file of this site, where its table is written in another way; it "
                   "must declare the same.")
@all_rounds
@asked.asking(*asked.reading())
def add(study: str, data: str, **options: Any) -> None:
    """Add up what the present round of STUDY asks of DATA, and send it, masked and sealed.

    No noise is drawn and nothing is charged here: the combiner charges one ledger before it adds
    the sums of all sites.  Nobody can read this site's sum, unless all other sites and the
    combiner work together.
    """
    from privsieve.rows import open_source
    from privsieve.rows.room import Room

    with needing_cryptography():
        from privsieve.sites.parts import demand_agreed, send
        from privsieve.sites.study import Study

        found = Study.read(study)
        demand_agreed(found, options["agreed"])
    domain = _domain(found, options["domain_file"])

    def once() -> int:
        return send(found, options["key_file"], open_source(data, csv=domain.csv),
                    agreed=options["agreed"],
                    room=Room.usual(options["max_memory"], options["jobs"]))

    if options["all_rounds"]:
        with stopped_by_hand():
            at = _to_the_end(found, options["key_file"], once)
    else:
        at = once()
    rounds = len(found.words)
    if options["as_json"]:
        words.json({"round": at, "rounds": rounds, "study": found.agreed})
    words.say("sent", f"the sum of round {at} of {rounds}, masked and sealed")
    if at < rounds:
        words.say("next", f"when the combiner has added round {at}: the same command again")


def _domain(found: Study, own: str | None) -> Domain:
    """The domain as this site's table is written."""
    from privsieve.public.domain import Domain

    domain = found.domain if own is None else Domain.from_toml(own)
    asked.refuse(
        found.domain.digest() != domain.digest(),
        "the domain of this site is not that of the study: they have to declare the same "
        "columns, bounds, values, label and unit; nothing was sent")
    return domain


def _to_the_end(found: Study, key_file: str, once: Callable[[], int]) -> int:
    """Send each round that this site has not sent, as it comes; the last one."""
    from privsieve.sites.masks import SiteKey

    name, rounds = found.owner(SiteKey.read(key_file)), len(found.words)
    while True:
        at = found.round(name)
        # The combiner sends nothing: `once` says so.
        if name not in found.sites or not found.sent(name, at).exists():
            once()
        if at == rounds:
            return at
        words.say("sent", f"the sum of round {at} of {rounds}, masked and sealed")
        wait(found.told(name, at + 1).exists, f"round {at + 1} of {rounds}")
