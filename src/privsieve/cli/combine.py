"""`privsieve combine`: begin a study of several sites; add their sums, charge once, release."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from privsieve.cli import options as asked
from privsieve.cli import words
from privsieve.cli.key import needing_cryptography
from privsieve.cli.private import new_file
from privsieve.cli.sum import agreeing
from privsieve.cli.verb import VerbGroup
from privsieve.cli.waiting import all_rounds, stopped_by_hand, wait
from privsieve.errors import ParameterError
from privsieve.methods import METHODS
from privsieve.public.option import whole_number

if TYPE_CHECKING:
    from privsieve.public.plan import Plan
    from privsieve.release import Release
    from privsieve.sites.parts import Combined
    from privsieve.sites.study import Study


@click.group("combine", cls=VerbGroup, epilog="Example: privsieve combine show study")
def command() -> None:
    """Begin a study of several sites; add their sums, charge once, release."""


@command.command("study", cls=asked.OfMethod, methods=tuple(METHODS), epilog=(
    "Example: privsieve combine study study --domain domain.toml --epsilon 1 --top 3 --method "
    "noisy-top-k --unit row --site north=5000 --site south=3000 --key combiner.pem"))
@click.argument("study")
@asked.joining(
    click.option("--rows", metavar="N", type=int,
                 help="Rows of all sites: a public round figure, under add-remove."),
    click.option("--site", "sites", metavar="NAME=ROWS", multiple=True, required=True,
                 help="A site and its public number of rows; its NAME alone under add-remove. "
                      "Once for each."),
    click.option("--key", "key_file", metavar="FILE", required=True,
                 help="A new file for the combiner's private key, for this study alone."),
    click.option("--sites-see-sums", "see", is_flag=True,
                 help="Where a method needs several rounds: let sites see exact sums of all rows."),
    click.option("--anyway", is_flag=True, help="Go on although the forecast warns."),
)
def study(study: str, **options: Any) -> None:
    """Make the new folder STUDY, in which sites join and to which they send their sums.

    All that is asked is written down here, and stays: method, options, epsilon, domain, sites.
    Reads no row and charges nothing.
    """
    sites = dict(map(_site, options["sites"]))
    asked.refuse(len(sites) < len(options["sites"]), "a site is named twice; name each once")
    counted = [rows for rows in sites.values() if rows is not None]
    domain = asked.public({**options, "rows": None if counted else options["rows"]})
    asked.refuse(counted and options["rows"] is not None,
                 "--rows is given, and so are the rows of each site; leave one away")
    plan = asked.planned(domain, sum(counted) if counted else None, options)
    if plan.warning and not options["anyway"]:
        raise ParameterError(f"{plan.warning}; to begin all the same, say --anyway")
    with needing_cryptography():
        from privsieve.sites.masks import SiteKey
        from privsieve.sites.study import COMBINER, Study, put

        key = SiteKey.make()
        with new_file(options["key_file"], "of the private key") as write:
            made = Study.begin(study, (options["method"], domain, asked.asked_for(options)),
                               sites, see=options["see"])
            put(made.pub(COMBINER), key.public.pem)
            write(key.pem)
    if options["as_json"]:
        words.json({"study": study, "key": options["key_file"], "rounds": len(made.words),
                    "fingerprint": key.public.fingerprint})
    else:
        words.line(key.public.fingerprint)
    words.say("study", f"{study}: {len(sites)} sites, {len(made.words)} round(s)")
    words.say("next", "each site: privsieve sum join; then compare combine show")


def _site(text: str) -> tuple[str, int | None]:
    name, given, rows = text.partition("=")
    asked.refuse(given and not whole_number(rows),
                 f"--site is {text!r}; write a name, = and a number of rows")
    return name, int(rows) if given else None


@command.command("show", epilog="Example: privsieve combine show study")
@click.argument("study")
def show(study: str, as_json: bool) -> None:  # noqa: FBT001  # click gives it by name
    """Say what STUDY asks, who is in it, and what was sent; its last line is to be agreed on.

    Reads no row and opens no sum.
    """
    with needing_cryptography():
        from privsieve.sites.study import Study

        found = Study.read(study)
        keys, agreed = found.keys, found.agreed
    sent = {name: [at for at in range(1, len(found.words) + 1) if found.sent(name, at).exists()]
            for name in found.sites}
    if as_json:
        words.json({**found.keyed().json(), "words": list(found.words), "agreed": agreed,
                    "combiner": found.combiner.fingerprint, "sent": sent,
                    "keys": {name: key.fingerprint for name, key in keys.items()}})
        return
    from privsieve.cli.planned import heading

    heading(found.keyed())
    words.show("combiner", found.combiner.fingerprint)
    for name, key in keys.items():
        rows = "" if found.sites[name] is None else f", {found.sites[name]} rows"
        rounds = ", ".join(map(str, sent[name]))
        words.show(name, f"{key.fingerprint}{rows}{f', sent {rounds}' if rounds else ''}")
    words.show("agreed", agreed)


@command.command("add", epilog=(
    "Example: privsieve combine add study --key combiner.pem --agreed DIGEST --ledger budget.db "
    "--population clinics --out first"))
@click.argument("study")
@click.option("--key", "key_file", metavar="FILE", required=True,
              help="The combiner's private key, which combine study made.")
@agreeing
@all_rounds
@asked.asking(*asked.paying(), asked.policy())
def add(study: str, **options: Any) -> None:
    """Add the sums that all sites of STUDY have sent, and release after the last round.

    The budget is charged once, before the first sums are added, and is never given back: the
    study is one request.  Where a site is missing, or sent what does not fit, nothing is charged.
    """
    with needing_cryptography():
        from privsieve.sites.parts import Combined, demand_agreed
        from privsieve.sites.study import Study

        found = Study.read(study)
        demand_agreed(found, options["agreed"])
    plan, rounds = found.keyed(), len(found.words)
    options |= {"method": found.said["method"], "request": found.agreed, "signed_plan": None,
                "anyway": True, "max_memory": None, "jobs": 1,
                "domain_file": str(found.place / "domain.toml")}
    _demand_allowed(plan, options, later=any(found.round(name) > 1 for name in found.sites))
    with stopped_by_hand():
        while True:
            if options["all_rounds"]:
                wait(partial(_all_sent, found), "the sums of all sites")
            engine = Combined.of(found, options["key_file"], agreed=options["agreed"])
            if engine.last:
                _release(plan, engine, options)
                return
            _round(plan, engine, _ledger(options))
            words.say("added", f"round {engine.present} of {rounds}; the budget is charged")
            if not options["all_rounds"]:
                break
    if options["as_json"]:
        words.json({"round": engine.present, "rounds": rounds, "study": found.agreed})
    words.say("next", "each site: privsieve sum add again; then combine add again")


def _demand_allowed(plan: Plan, options: dict[str, Any], *, later: bool) -> None:
    """Refuse what the policy does not allow; in a later round the charge stands."""
    if options["policy"] is None:
        return
    from privsieve.public.policy import Policy

    try:
        asked.demand_allowed(plan, options)
    except ParameterError as error:
        if not later:
            raise
        raise ParameterError(str(error).replace(
            "nothing was charged", "the study's charge stands, and nothing was added")) from None
    asked.refuse(Policy.load(options["policy"]).signed_by is not None,
                 "the policy allows no release of several sites: its signed_by asks for a plan "
                 "that was signed before, and that of a study is agreed on by its sites "
                 "instead; take a policy without signed_by for studies; nothing was added")


def _all_sent(found: Study) -> bool:
    """Whether all sites have sent their sums of the present round."""
    at = min(map(found.round, found.sites))
    return all(found.sent(name, at).exists() for name in found.sites)


def _ledger(options: dict[str, Any]) -> Any:
    from privsieve.ledger.ledger import Ledger

    return Ledger(options["ledger"], population=options["population"], head=options["head"],
                  request=options["request"])


def _round(plan: Plan, engine: Combined, ledger: Any) -> None:
    """Charge, if no round before did; add, and tell the sites."""
    from privsieve.cli.releasing import sealed
    from privsieve.fit import charged

    with sealed() as hold:
        charged(plan, engine.source(), engine.tell, ledger=ledger)
        hold.allow()


def _release(plan: Plan, engine: Combined, options: dict[str, Any]) -> None:
    """The last round: charge, if no round before did; add, draw noise, release."""
    from privsieve.cli.releasing import release

    if engine.once is not None:
        charge = _ledger(options).charge()
        # What has its release already is given again by `release`.
        engine = replace(engine, paid=charge is None or charge[1] is None)
        asked.refuse(engine.paid and engine.once is not None and engine.once.exists(),
                     "the last round of the study was added before, and its release did not come "
                     "to its end; `privsieve recover DIR` finishes it, or says that nothing is to "
                     "be had")
    release(plan, engine.source(), options, lambda made: _lines(made, plan))
    words.say("sites", f"{len(plan.sites)}, whose keys the certificate names")


def _lines(made: Release, plan: Plan) -> Iterable[str]:
    if plan.kind == "regression":
        from privsieve.cli.regress import lines

        return lines(made)
    if plan.kind == "histogram":
        found: Sequence[str] = made.selected
        return found
    from privsieve.cli.select import shown

    return shown(made, plan)
