"""The last sections of a publication's page, which both editions share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from privsieve.public.strangers import (
    PRESENCES,
    SENSITIVE_OUT,
    TARGET_BESIDE,
    TARGET_UNKNOWN,
)
from privsieve.report.markup import (
    clean,
    count,
    digest,
    facts,
    flowing,
    name,
    names,
    paragraph,
    points,
    section,
)
from privsieve.report.rounding import share_up

if TYPE_CHECKING:
    from privsieve.report.publication import PublicationPage

_ALONE = "Nothing but the published file is passed on: no dates, places or row numbers."
HELD = Markup(
    "<h3>What this edition holds</h3><p>Only what anybody can work out from the published table "
    "itself, and the settings below. Nothing about columns that stay closed.</p>")


def limits(told: PublicationPage) -> Markup:
    """What is not protected, the strongest attack first."""
    return section("not", "What this does not protect", points([
        *_absences(told), _shared(told),
        Markup("<b>Knowledge from elsewhere</b>: dates, places, news, other tables."),
        Markup("<b>Whatever is published later.</b> One more column, one more row or a second "
               "state of this table ends the promise, unless all of it is counted together."
               "{}").format("" if told.population else " No ledger noted this publication."),
        Markup("<b>What the choice tells.</b> A column is closed because of its values, and those "
               "chosen for a class say that they go with it."),
        Markup("<b>Whether somebody is in the table at all.</b>"),
    ]), paragraph("This is not differential privacy. It draws on no budget, and cannot be added "
                  "to one."))


def _absences(told: PublicationPage) -> list[Markup]:
    by_role = dict(told.roles)
    unknown = [name for role in (TARGET_UNKNOWN, TARGET_BESIDE, SENSITIVE_OUT)
               for name in by_role.get(role, ())]
    presences = by_role.get(PRESENCES, ())
    if not presences and not unknown:
        return []
    said = []
    if presences:
        said.append(Markup("<b>Knowing what somebody does not have.</b> Of {} the promise counts "
                           "what is there, and not what is lacking. ").format(names(presences)))
    if unknown:
        said.append(Markup("<b>Knowing {}.</b> It was declared that nobody outside knows it of a "
                           "person; the promise does not count it. ").format(names(unknown)))
    if told.measured is None:
        return [*said[:-1], said[-1] + Markup("This release does not say how much more such a "
                                              "stranger finds.")]
    every, rows = told.measured.every, told.measured.rows
    return [*said[:-1], said[-1] + Markup(
        "Of who knows {}, {} of {} rows ({}) stand alone, and {} ({}) are in a crowd below {}."
        ).format(flowing(every.who), count(every.alone or 0), count(rows),
                 share_up(every.alone or 0, rows), count(every.below), share_up(every.below, rows),
                 count(told.k))]


def _shared(told: PublicationPage) -> Markup:
    first = Markup("<b>What a whole crowd shares.</b> Whoever finds the crowd knows it, without "
                   "finding the row. ")
    if told.target is None:
        return first + Markup("No class is published, so that nobody can count how often crowds "
                              "agree on one.")
    if told.measured is None or told.measured.one_class is None:
        return first + Markup("This release does not say how often crowds agree on the class.")
    return first + Markup("The whole crowd has one class for {} of {} rows; {}.").format(
        count(told.measured.one_class), count(told.measured.rows),
        f"at least {told.l_diversity} classes were asked for" if told.l_diversity > 1
        else "no limit was asked for")


def assumed(told: PublicationPage, beside: Markup) -> Markup:
    """What was declared, and beside it what the edition holds."""
    knows = [Markup("Nobody outside knows more of a person than {}.").format(
        flowing(told.knows))]
    whose = (Markup("The table is the snapshot {} of {}, whole.").format(
        name(told.snapshot), name(told.population)) if told.population else
        "Nothing else about these people is published: no ledger looks.")
    return section("assume", "What was assumed, and what was public", Markup(
        '<div class="two"><div><h3>Declared by the holder of the table</h3>{}{}</div>\n'
        "<div>{}</div></div>").format(
            paragraph("privsieve cannot check these. Where one is wrong, the protection is weaker "
                      "than stated.", "note"),
            points(["Each row is one person.", *knows, _ALONE, whose]),
            beside))


def expert(told: PublicationPage) -> Markup:
    """The exact claim and all settings."""
    ledger = (Markup("snapshot {} of {}, noted in entry {}").format(
        name(told.snapshot), name(told.population), clean(told.entry)) if told.population
        else "none: nothing shows what else was published of these people")
    return section(
        "expert", "For experts",
        Markup("<p>A set of columns may be published when every row <i>e</i> of the published "
               "table has at least <i>k</i> rows that {}.</p>").format(
                   "equal it in all of them" if told.equal else Markup(
                       "fit all that may be known of it: its ones, its zeros in the columns known "
                       "with absences, and its class where that is known")),
        facts("Guarantee and method", [
            ("Claim", told.sentence),
            ("Guarantee", Markup("{}, <i>k</i>&nbsp;=&nbsp;{} asked, level {} reached").format(
                "k-anonymity" if told.equal else "k-anonymity by containment",
                count(told.k), count(told.level))),
            ("Counted", ("different sources, which the published table does not show; whoever has "
                         "it can recount rows only") if told.sources else "rows"),
            *((role[:1].upper() + role[1:], names(columns)) for role, columns in told.roles),
            ("Classes in a crowd", f"at least {told.l_diversity}" if told.l_diversity > 1
             else "any number: no limit was asked for"),
            ("Rows left out", count(told.suppressed) if told.suppressed else "none"),
            ("Patterns", f"{count(told.measured.patterns)} different rows among "
             f"{count(told.measured.rows)}" if told.measured else "This release does not say."),
            ("Settings", ", ".join(f"{clean(key)} {clean(value)}" for key, value in told.settings)),
            ("Ledger", ledger),
            ("Counting", ("the level is counted from the written file by a program that shares "
                          "nothing with the choice; risks are rounded up, protection down")),
            ("Software", ", ".join(f"{clean(key)} {clean(of)}" for key, of in told.software)),
        ]))


def check(told: PublicationPage) -> Markup:
    """How anybody counts the level again."""
    return section(
        "check", "Check this report",
        paragraph("Anybody who has the published table can count its level again. In the folder "
                  "of the release, without a network:"),
        Markup("<pre>privsieve verify .\nprivsieve report . --check</pre>"),
        facts("Digests (SHA-256)", [
            *((what, digest(value)) for what, value in told.digests),
            ("Signature", ("There is none: the certificate shows what is claimed, not who claims "
                           "it.")),
        ]),
        paragraph("There is no digest of the whole table, on purpose: whoever has one can try out "
                  "guesses about closed columns.", "note"))
