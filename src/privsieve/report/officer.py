"""Officer: the form that a data protection officer signs, as parts that page and Markdown show.

Made of release.json and certificate.json alone, and of the sums of a ledger where one is given.
What only people know is a line to fill in.  Nothing here is called anonymous: whether somebody can
be identified depends on who receives a release, and on what else they have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from privsieve.public.canonical import canonical, digest, exact, factor
from privsieve.public.plan import SENTENCES, UNIT, conversion, sentence
from privsieve.public.strangers import UNITS, counted, known, limits, spoken
from privsieve.release import what
from privsieve.report.page import (
    belief,
    clean,
    clean_sentence,
    count,
    percent,
    plural,
)

#: From here on a promise is called a weak one, as everywhere on a page.
WEAK = 5
#: Letters of names that stand in one line; of more the number.
_LETTERS = 600
#: A longer name is cut here: with its quotation marks it is a word that no page cuts.
_LONGEST = 100
_WHO = "By whom, from which source"
_SIGNED = "Name, office, date and signature"
_KEY = "Fingerprint of the key"
#: What a Markdown of any reader takes for a sign.
_SIGNS = r"([\\`*_{}\[\]|~@#$])"
_NOUNS = {words: noun for noun, words in UNIT.items()}


class Line(NamedTuple):
    """A line of the form: what is known, and what somebody has to fill in (None: nothing)."""

    label: str
    text: str = ""
    asks: str | None = None


class FormPart(NamedTuple):
    """A part of the form, with a sentence before its lines."""

    title: str
    lines: tuple[Line, ...]
    note: str = ""


class Spending(NamedTuple):
    """What a ledger says of the people: epsilon granted, before this charge, after it, now left."""

    limit: str
    before: str
    after: str
    left: str

    @property
    def words(self) -> str:
        """The same in a sentence.

        >>> Spending("3", "0.5", "1", "1.5").words
        'epsilon 0.5 before this charge and 1 after it, of 3 granted; 1.5 is left today'
        """
        return (f"epsilon {self.before} before this charge and {self.after} after it, of "
                f"{self.limit} granted; {self.left} is left today")


def form(release: Mapping[str, Any], certificate: Mapping[str, Any], sums: Spending | None = None,
         ) -> tuple[FormPart, ...]:
    """The eight parts."""
    claim = certificate["claim"]
    published = claim["kind"] == "containment"
    own = _published if published else _private
    protection, tests, declared, unchecked, uncovered = own(release, certificate, sums)
    return (
        FormPart("1 Object", tuple(_object(release, certificate))),
        FormPart("2 Recipient and purpose", (
            Line("Recipient", asks=""), Line("What else the recipient has or can get", asks=""),
            Line("Purpose, legal basis", asks=""), Line("Conditions of use", asks="")),
            "Whether somebody can be identified may depend on who receives this (CJEU "
            "C-413/23 P): this form holds for the recipient named here"),
        FormPart("3 Protection", tuple(protection)),
        FormPart("4 The three tests of WP216", tuple(tests),
             "Each answer says what is limited, and by how much, and what is not. Not one says "
             "that the result is anonymous: that is decided with part 2"),
        FormPart("5 What was declared public", tuple(declared),
             "Declared by people, before the table was read"),
        FormPart("6 What no software checked", tuple(unchecked)),
        FormPart("7 What is not covered", tuple(uncovered)),
        FormPart("8 Review and signatures", tuple(_signatures(certificate))))


def markdown(parts: Sequence[FormPart], title: str) -> str:
    r"""The form as Markdown; names are texts and no signs.

    >>> print(markdown([FormPart("1 Object", (Line("What", "a_b"), Line("When", asks="")))], "F"))
    # F
    <BLANKLINE>
    ## 1 Object
    <BLANKLINE>
    - **What**: a\_b
    - **When**: ____________________
    <BLANKLINE>
    """
    said = [f"# {title}", ""]
    for part in parts:
        said += [f"## {part.title}", "", *[f"{literal(part.note)}.", ""][:2 * bool(part.note)]]
        for label, text, asks in part.lines:
            blank = [] if asks is None else [f"{asks}: {'_' * 20}" if asks else "_" * 20]
            known = [literal(text)] if text else []
            said.append(f"- **{literal(label)}**: {'. '.join([*known, *blank])}")
        said.append("")
    return "\n".join(said)


def literal(text: str) -> str:
    r"""A text that Markdown shows as it is.

    >>> literal("<b> [x](http://y) a|b")
    '&lt;b&gt; \\[x\\](http\\://y) a\\|b'
    """
    words = re.sub(_SIGNS, r"\\\1", clean_sentence(text).replace("&", "&amp;"))
    words = words.replace("<", "&lt;").replace(">", "&gt;").replace("://", "\\://")
    return re.sub(r"(?i)\bwww\.", lambda found: f"{found[0][:3]}\\.", words)


def quoted(texts: Sequence[object]) -> str:
    """Names in quotation marks, as many as a line holds.

    >>> quoted(["age", "ward"]), quoted(["x" * 128] * 9)[-11:]
    ('“age”, “ward”', ' and 4 more')
    """
    shown: list[str] = []
    for whole in map(clean, texts):
        text = whole if len(whole) <= _LONGEST else f"{whole[:_LONGEST - 1]}…"
        if sum(map(len, shown)) + len(text) > _LETTERS:
            break
        shown.append(f"“{text}”")
    more = [f"and {count(len(texts) - len(shown))} more"] if len(texts) > len(shown) else []
    return ", ".join(shown) + " ".join(["", *more])


def _object(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> Iterator[Line]:
    claim = certificate["claim"]
    names = claim["columns"] if claim["kind"] == "containment" else release["selected"]
    yield Line("Result", what(release, certificate))
    yield Line("Columns", quoted(names) if names else "none")
    if certificate["population"] is not None:
        yield Line("People", quoted([certificate["population"]]))
    else:
        yield Line("People", "no ledger names them", "Which people")
    kept = certificate["ledger"] or {}
    if "reserved_at" in kept:
        yield Line("Charged", f"on {clean(kept['reserved_at'][:10])}, request "
                              f"{clean(kept['request'])}")
    yield Line("SHA-256 of release.json", clean(certificate["release_sha256"]))
    yield Line("SHA-256 of certificate.json", digest(canonical(certificate)))
    if "domain_sha256" in certificate:
        yield Line("SHA-256 of the domain", clean(certificate["domain_sha256"]))
    if "table_sha256" in claim:
        yield Line("SHA-256 of the published table", clean(claim["table_sha256"]))


# --- with an epsilon ----------------------------------------------------------------------------

def _private(release: Mapping[str, Any], certificate: Mapping[str, Any], sums: Spending | None,
             ) -> tuple[Iterator[Line], ...]:
    return (_cost(certificate, sums), _limited(certificate), _domain(release, certificate),
            _assumed(certificate), _beyond(certificate))


def _noun(claim: Mapping[str, Any]) -> str:
    return _NOUNS[claim["unit"]]


def odds(claim: Mapping[str, Any], said: str) -> str:
    """The strongest statement of a promise, in odds; `said` is the claim as a sentence."""
    epsilon, noun = exact(claim["epsilon"], "epsilon"), _noun(claim)
    if not epsilon:
        return "none change: no row was read"
    if claim["delta"] != "0":
        return f"{said.rstrip('.')}; with a delta no range of odds holds always"
    times = factor(epsilon)
    most = times or f"e^{claim['epsilon']}, so large that nothing is promised"
    low, high = (percent(end) for end in belief(epsilon, exact("0.5", "a half")))
    idea = (f"between two ideas of one {noun}" if claim["neighbours"] == "replace-one" else
            f"over whether one {noun} is in the table")
    return (f"whoever knows all the rest, and wavers {idea}, changes the "
            f"odds by a factor of at most {most}; from 50 % to no less than {low} and no more than "
            f"{high}")


def summed(certificate: Mapping[str, Any], sums: Spending | None) -> str:
    """What these people have been charged together."""
    if sums is not None:
        return sums.words
    if exact(certificate["claim"]["epsilon"], "epsilon") == 0:
        return "this release adds nothing to it"
    return ("stands in the ledger (privsieve ledger show)" if certificate["ledger"] else
            "no ledger keeps it: nothing shows what else was released of these people")


def _cost(certificate: Mapping[str, Any], sums: Spending | None) -> Iterator[Line]:
    claim = certificate["claim"]
    yield Line("Unit", claim["unit"])
    yield Line("Neighbours", "one unit is replaced by another" if
               claim["neighbours"] == "replace-one" else "one unit is added or removed")
    yield Line("Cost", f"epsilon {claim['epsilon']}, delta {claim['delta']} "
                       f"({clean(claim['account'])} differential privacy)")
    yield Line("Strongest statement", odds(claim, sentence(certificate)))
    yield Line("Sum over these people, before and after", summed(certificate, sums))
    ledger = certificate["ledger"]
    converted = conversion(ledger["charged"], certificate) if ledger else None
    if converted:
        yield Line("Converted", converted)


def _limited(certificate: Mapping[str, Any]) -> Iterator[Line]:
    claim = certificate["claim"]
    epsilon, noun = exact(claim["epsilon"], "epsilon"), _noun(claim)
    how = "limits" if epsilon < WEAK else (
        "limits weakly" if factor(epsilon) else "limits in name only")
    bound = ("not at all, for no row was read" if not epsilon else
             f"by the factor of part 3 at most{', up to the delta' * (claim['delta'] != '0')}")
    yield Line("Singling out", f"{how} what the result tells of one {noun}: no row stands in it, "
                               f"and another content changes how likely it was {bound}")
    yield Line("Linkability", f"{how} how far the result tells whether a record from elsewhere "
                              f"fits one {noun}: the odds change {bound}; other results about the "
                              "same people add to it")
    yield Line("Inference", f"{how} what is learnt of somebody because of one {noun} of theirs: "
                            f"the odds change {bound}; what is true of people in general is learnt "
                            "of everybody, in the table or not")


def _domain(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> Iterator[Line]:
    claim, units = certificate["claim"], release["plan"]["units"]
    noun = _noun(claim)
    yield Line("Columns", f"{plural(len(release['columns']), 'name')}, with kinds, bounds, levels "
                          "and classes, as in the domain", _WHO)
    yield Line("Unit", f"{claim['unit']} is protected, and no more", _WHO)
    if noun == "person":
        rows = release["domain"]["rows_per_person"]
        yield Line("Rows of a person", f"at most {count(rows)} are used", _WHO)
    yield Line(f"Number of {noun}s", count(int(units)), _WHO)
    if query := release["plan"].get("query"):
        text = " ".join(map(clean, query.split()))
        yield Line("Rows", f"those of the query: {text}; that these are the right rows is its "
                           "author's word", _WHO)


def _assumed(certificate: Mapping[str, Any]) -> Iterator[Line]:
    yield Line("Table", "that it is the right one, whole, and about these people")
    yield Line("Declarations", "that they come from outside of the table, and are true")
    yield Line("Budget", "that all copies of these data draw on the same ledger"
               if certificate["ledger"] else
               "that nothing else is released about these people: no ledger adds it up")
    yield Line("Noise", "that it was drawn as the method says: this rests on the software, its "
                        "proofs and its tests")
    for word in certificate["claim"]["assumes"]:
        yield Line(f"Assumed ({clean(word)})", SENTENCES.get(str(word), "").rstrip("."))


def _beyond(certificate: Mapping[str, Any]) -> Iterator[Line]:
    noun = _noun(certificate["claim"])
    yield Line("Several units", "people who appear under several names" if noun == "person" else
               f"people with several {noun}s: for g of them the promise is that of g times the "
               "cost")
    yield Line("Other releases", "what this ledger does not know: earlier, elsewhere, or under "
                                 "another name")
    yield Line("The table itself", "whoever holds it, or watches the machine while it works; "
                                   "values of the columns named here")
    yield Line("People in general", "what holds for all who are alike")


# --- with a level -------------------------------------------------------------------------------

def _published(release: Mapping[str, Any], certificate: Mapping[str, Any], _sums: Spending | None,
               ) -> tuple[Iterator[Line], ...]:
    claim = certificate["claim"]
    return (_level(certificate), _crowds(claim, release["measured"]),
            _roles(certificate), _taken(certificate), _wider(claim))


def _level(certificate: Mapping[str, Any]) -> Iterator[Line]:
    claim = certificate["claim"]
    yield Line("Unit", UNITS[counted(claim)[0]])
    yield Line("Cost", f"no epsilon, and no differential privacy: k = {count(claim['k'])} "
                       f"{counted(claim)[1]} asked for, level {count(claim['level'])} rows counted")
    yield Line("Strongest statement", sentence(certificate).rstrip("."))
    yield Line("Sum over these people, before and after",
               "a level does not add to a budget; publications of the same snapshot are counted "
               "together in its ledger" if certificate["population"] else
               "no ledger looks: nothing shows what else was published of these people")


def _crowds(claim: Mapping[str, Any], measured: Mapping[str, Any]) -> Iterator[Line]:
    level = count(claim["level"])
    sources, (one, many) = bool(claim.get("counted")), counted(claim)
    crowd = (f"rows of at least {count(claim['k'])} different {many}" if sources else
             f"at least {level} rows")
    strangers = measured["strangers"]
    alone = next(strangers[who]["alone"] for who in ("everything", "all_class", "all")
                 if who in strangers)
    more = (f"; of who knows all that is published, {count(alone)} of "
            f"{count(measured['rows'])} rows stand alone")
    guess = (f"for that to one row at least {count(claim['k'])} {many} have rows that fit, and "
             f"how many are of one {one} is not bounded" if sources else
             f"limits that to one row: a guess is right at most 1 time in {level}")
    yield Line("Singling out", f"limits it: whoever knows {known(claim)} finds {crowd} that "
                               f"fit{more}")
    yield Line("Linkability", "does not limit the link to a group of rows, which is what such a "
                              f"stranger finds; {guess}; whoever knows "
                              "more, or has another table about the same people, may link more")
    asked = [" ".join(limit) for limit in limits(claim)]
    yield Line("Inference", "limits only what was asked for: what a whole group shares is known to "
                            "whoever finds the group; asked for of each group: "
                            f"{'; '.join(asked) or 'nothing'}")


def _roles(certificate: Mapping[str, Any]) -> Iterator[Line]:
    for role, names in spoken(certificate["claim"]):
        yield Line(role[:1].upper() + role[1:], quoted(names), _WHO)
    if certificate["population"] is not None:
        yield Line("Snapshot", quoted([certificate["ledger"]["snapshot"]]), _WHO)


def _taken(certificate: Mapping[str, Any]) -> Iterator[Line]:
    claim = certificate["claim"]
    yield Line("Roles", "that nobody outside knows more of a person than they say")
    many = counted(claim)[1]
    yield Line(many.capitalize(), {
        "rows": "that each row is one person", "sources": "that two sources are two people",
        "people": "that two ids are two people, and all rows of a person have one id"}[many])
    yield Line("Table", "that it is the right one, whole, and about these people")
    yield Line("Other tables", "what else is published of these people"
               + (" outside of the ledger" if certificate["population"] else ""))


def _wider(claim: Mapping[str, Any]) -> Iterator[Line]:
    yield Line("More knowledge", "whoever knows more than the roles say, or rows that stand beside "
                                 "a person’s")
    yield Line("What a group shares", "beyond the limits of part 4")
    if claim["suppressed"]:
        yield Line("Rows left out", f"{count(claim['suppressed'])}: who is missing is rare")
    yield Line("The table itself", "whoever holds it; columns that stay closed are not published")


def _signatures(certificate: Mapping[str, Any]) -> Iterator[Line]:
    yield Line("To be reviewed on", asks="")
    yield Line("Revoked if, by whom, how this is told", asks="")
    ledger = " --ledger LEDGER" if certificate["ledger"] else ""
    yield Line("To be verified with", f"privsieve verify .{ledger} --signed-by maker=FINGERPRINT "
                                      "--signed-by approver=FINGERPRINT")
    for who in ("Made by", "Approved by"):
        yield Line(who, asks=_SIGNED)
        yield Line(f"{who}: key", asks=_KEY)
