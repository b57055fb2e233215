"""Options of a publication: how to read its table, what groups keep, what leaves.

Each option is a field.  Options that contradict each other are refused here.  Names of columns are
a text with commas between them, or a sequence.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from privsieve.containment.choose import MUTUAL, Choice, demand_rule
from privsieve.containment.labelled import Labelled, Roles
from privsieve.containment.limits import RUNS, Limits, Method, limited
from privsieve.containment.publish import Form, Promise, Snapshot, people_of
from privsieve.containment.publishable import by_method, publishable
from privsieve.containment.snapshot import (
    beside,
    open_part,
    reading,
    recognise,
    tightened,
    tightened_limits,
)
from privsieve.errors import ParameterError
from privsieve.kernels.patterns import Rule
from privsieve.ledger.ledger import Ledger
from privsieve.public.canonical import Json
from privsieve.public.domain import Domain
from privsieve.public.option import RARE, Column, File, Name, Names
from privsieve.rows.cells import date_cell, number_cell
from privsieve.rows.items import Long, Reading, column_of, read_long, table_of

#: The word for all columns.
ALL = "all"
#: The most runs of a slow search for limits.
_FEW = 5
#: Methods and profiles that count people, of whom one may have several rows.
_OF_PEOPLE = ("greedy", "few", "strict")


def listed(names: str | Sequence[str] | None) -> tuple[str, ...]:
    """Split a text at its commas; keep a sequence of names.

    >>> listed("age,ward"), listed(None)
    (('age', 'ward'), ())
    """
    return tuple(names.split(",")) if isinstance(names, str) and names else tuple(names or ())


def _demand(right: object, sentence: str) -> None:
    if not right:
        raise ParameterError(sentence)


def _demand_apart(first: Iterable[str], other: Iterable[str], words: str) -> None:
    both = sorted(set(first) & set(other))
    _demand(not both, f"{words} both name {[*both, ''][0]!r}, and a column has only one role; "
                      "remove it from one of the two")


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """Table and roles.

    target : the column of classes
    labels : a file with the classes: one a line, or in its column --target
    long : DATA is a log: the column of the user and the column of the item
    value : for a log: the column of 0 and 1
    people : for a log: a table of the users, one a row; it may hold --target
    source : the column that identifies the person: groups then count people, not rows
    columns : use these columns only
    without : leave out these columns
    bins : the number of bins into which numbers are cut, by quantiles
    cut : cut a column at these points
    levels : the levels of a column to keep; all others become one level
    missing : absent: a missing cell has no level; level: it is a level of its own
    domain : a domain file: columns, their kinds, and how the CSV file is written
    sensitive : columns that nobody may learn: never chosen, and limited in each group
    known : columns that may be known although the domain file calls them sensitive
    absences : columns (or all) for which an attacker may know what a person lacks; default: all,
        except for sparse data
    presences_only : columns (or all) for which an attacker may know only what a person has
    """

    target: Column | None = None
    labels: Annotated[File | None, RARE] = None
    long: Annotated[tuple[str, str] | None, "USER ITEM", RARE] = None
    value: Annotated[Column | None, RARE] = None
    people: Annotated[File | None, RARE] = None
    source: Column | None = None
    columns: Names | None = None
    without: Names | None = None
    bins: int = 4
    cut: tuple[Annotated[str, "COLUMN=X,Y"], ...] = ()
    levels: Annotated[tuple[Annotated[str, "COLUMN=A,B"], ...], RARE] = ()
    missing: Annotated[Literal["absent", "level"], RARE] = "absent"
    domain: File | None = None
    sensitive: Names | None = None
    known: Annotated[Names | None, RARE] = None
    absences: Annotated[str | None, "A,B,…|all"] = None
    presences_only: Annotated[str | None, "A,B,…|all", RARE] = None

    @property
    def labelled(self) -> bool:
        """Return whether rows may have classes."""
        return bool(self.target or self.labels or self.domain)

    @property
    def facts(self) -> Domain | None:
        """Return the domain of the domain file, if there is one."""
        return Domain.from_toml(self.domain) if self.domain else None

    @property
    def person(self) -> str | None:
        """Return the column by which k counts people: `source`, or the person of the domain.

        In a log each user is one row, and k counts rows.
        """
        facts = self.facts
        person = facts.person if facts else None
        if self.long:
            _demand(not self.source and person in (None, self.long[0]),
                    f"in a log, each user is one row, so k already counts people; leave out "
                    f"{'--source' if self.source else 'person in the domain file'}")
            return None
        _demand(not self.source or person in (None, self.source),
                f"--source names {self.source!r}, but the person of the domain file is {person!r}; "
                "leave out one of them")
        return self.source or person

    def opened(self, data: str, k: int, before: Sequence[Mapping[str, Any]] = ()) -> Labelled:
        """Read the table with these options, and the columns that claims `before` published."""
        person = self.person
        if self.long:
            columns, closed = reading([*listed(self.columns)] or None, before)
            items, y, classes = self._log(data, self.long, columns)
            return beside(Labelled(items, y, classes, self.target), before, closed)
        _demand(not self.value and not self.people,
                "--value and --people are for logs; add --long USER ITEM, or leave them out")
        facts, target = self.facts, self.target
        csv = facts.csv if facts else None
        if target is None and facts is not None and facts.target is not None:
            target = facts.target.name
        y = column_of(Path(self.labels), target, csv) if self.labels else target
        columns, closed = reading(self._columns(target), before)
        table = table_of(data, y, Reading(
            facts, columns, self.bins, self.missing, k, sensitive=self._sensitive(facts),
            person=person, target=target if self.labels else None))
        return beside(Labelled(
            table.items, table.y, table.classes,
            target or ("label" if len(table.classes) > 1 else None), table.sources,
            table.sensitive, people=facts is not None and facts.person is not None), before, closed)

    def _log(self, data: str, long: tuple[str, str], columns: Sequence[str] | None) -> Any:
        _demand(not self.target or self.people,
                "the target of a log is a column of a table of its users; add --people FILE")
        _demand(not any((self.cut, self.levels, self.without, self.labels)),
                "--cut, --levels, --without and --labels are not for logs; leave them out, and "
                "choose the items with --columns")
        return read_long(data, Long(*long, self.value, self.people, self.target), items=columns,
                         domain=self.facts)

    def _columns(self, target: str | None) -> Any:
        """Return the columns for `items_of`: names, or how to code each column."""
        how: dict[Any, Any] = {}
        for flag, texts, coded in (
                ("--cut", self.cut, lambda values: [*map(_point, values)]),
                ("--levels", self.levels, list)):
            for text in texts:
                name, _, values = text.rpartition("=")
                _demand(name and values, f"{flag} is {text!r}; write COLUMN=VALUE,VALUE")
                how[name] = coded(values.split(","))
        how |= dict.fromkeys(listed(self.without), False)
        names = [*listed(self.columns)]
        if not how:
            return names or None
        if not names:
            return how | {...: None}
        lacking = [name for name in how if name not in names and name != target]
        _demand(not lacking, f"column {[*lacking, ''][0]!r} is in --cut, --levels or --without, "
                             "but not in --columns; add it there, or leave out that option")
        return dict.fromkeys(names) | how

    def _sensitive(self, facts: Domain | None) -> tuple[str, ...]:
        """Return the columns that must not be learned, each once; they do not become items."""
        named, known = listed(self.sensitive), listed(self.known)
        _demand_apart(named, known, "--sensitive and --known")
        _demand(not self.target or self.target not in named,
                f"--sensitive names the target {self.target!r}, which has its own limits; remove "
                "it from --sensitive")
        return tuple(dict.fromkeys([*(name for name, role in _roles_in(facts).items()
                                      if role == "sensitive" and name not in known), *named]))

    def roles(self, table: Labelled, *, target_known: bool = False, equal: bool = False) -> Roles:
        """Return the role of each column: from options, then the domain file, then its kind.

        equal : whether all absences count, as in k-anonymity.
        """
        items, of = table.items, _roles_in(self.facts)
        names = tuple(dict.fromkeys(items.origin))
        by_kind = {name for name, absent in zip(items.origin, items.absent, strict=False) if absent}
        both = {name for name in names
                if of.get(name) == "both" or (name in by_kind and of.get(name) != "presences")}
        absences, presences = (self._named(table, flag, text) for flag, text in (
            ("--absences", self.absences), ("--presences-only", self.presences_only)))
        self._named(table, "--known", self.known)
        _demand_apart(absences, presences, "--absences and --presences-only")
        _demand(not equal or not presences,
                "--presences-only contradicts k-anonymity, which counts absences of all columns; "
                "leave out one of them")
        if self.presences_only == ALL:
            both = set(absences)
        if self.absences == ALL or equal:
            both = set(names) - set(presences)
        both = both - set(presences) | set(absences)
        return Roles(tuple(name for name in names if name not in both),
                     tuple(name for name in names if name in both),
                     tuple(each.name for each in table.sensitive), table.target, target_known)

    @staticmethod
    def _named(table: Labelled, flag: str, text: str | None) -> tuple[str, ...]:
        """Return the columns that an option names, none for "all"; refuse unknown columns."""
        if text == ALL and flag != "--known":
            return ()
        sensitive = {each.name for each in table.sensitive}
        for name in listed(text):
            _demand(name not in sensitive, f"{flag} names the sensitive column {name!r}, which "
                                           f"attackers do not know; remove it from {flag}")
            _demand(name in table.items.origin, f"{flag} names {name!r}, but the table has no such "
                                                "column; correct the name")
        return listed(text)


def _point(text: str) -> float | dt.datetime:
    """Read a cut point: a number or a date."""
    number = number_cell(text)
    _demand(not isnan(number) or not isnan(date_cell(text)),
            f"the cut point {text!r} is not a number or date; write it like 40 or 2020-12-31")
    return dt.datetime.fromisoformat(text.strip()) if isnan(number) else number


def _roles_in(facts: Domain | None) -> dict[str, str | None]:
    """Return the role of each column in the domain file."""
    return {each.name: getattr(each, "role", None) for each in (facts.columns if facts else ())}


@dataclass(frozen=True, kw_only=True)
class GroupOptions:
    """What each group keeps.

    l_diversity : the least number of classes, and of values of each sensitive column, in a group;
        default: 2 if the target is published, else 1
    max_share : the largest share of one value in a group, such as 0.9
    entropy_l : the least entropy l-diversity of each group, such as 1.5
    closeness : the largest distance (t-closeness) between a group and the whole table, such as 0.3
    publish_target : publish the target with the columns; it then counts toward k
    target_unknown : declare that no outsider knows the published target of a person
    """

    l_diversity: Annotated[int | None, "L"] = None
    max_share: Annotated[str | None, "P"] = None
    entropy_l: Annotated[str | None, "L", RARE] = None
    closeness: Annotated[str | None, "T", RARE] = None
    publish_target: bool = False
    target_unknown: bool = False

    @property
    def of_rows(self) -> dict[str, str]:
        """Return the limits that count rows, by their options."""
        values = {"--max-share": self.max_share, "--entropy-l": self.entropy_l,
                  "--closeness": self.closeness}
        return {flag: value for flag, value in values.items() if value is not None}

    @property
    def target_known(self) -> bool:
        """Return whether an attacker may know the class of a person."""
        return self.publish_target and not self.target_unknown

    def limits(self, distinct: int | None) -> Limits:
        """Return the limits; `distinct` is the least number of values in a group."""
        return Limits.of(distinct=distinct, share=self.max_share, entropy=self.entropy_l,
                         closeness=self.closeness)

    def demand_target(self, table: TableOptions) -> None:
        """Refuse options of a published target if no target is published."""
        _demand(self.l_diversity is None or self.l_diversity >= 1,
                f"--l-diversity is {self.l_diversity}; write 1 or more")
        _demand(not self.publish_target or table.labelled,
                "--publish-target needs a target: give --target COLUMN")
        _demand(not self.target_unknown or self.publish_target,
                "--target-unknown is for a published target: give --publish-target, or leave it "
                "out")


@dataclass(frozen=True, kw_only=True)
class SetOptions(GroupOptions):
    """Columns to choose.

    profile : few columns that predict best (default), most, or strict k-anonymity
    method : instead of a profile: how to choose
    weights : with a method: mutual-information (default), hamming, distinct, or even (needs no
        target)
    model : an attacker knows every cell (k-anonymity), or what the roles allow (containment)
    time_limit : how long to search, with --method maximal or exact
    """

    profile: Literal["few", "most", "strict"] | None = None
    method: Literal["greedy", "maximal", "exact"] | None = None
    weights: Name | None = None
    model: Annotated[Literal["containment", "k-anonymity"], RARE] = "containment"
    time_limit: Annotated[int, "SECONDS", RARE] = 60

    @property
    def purpose(self) -> str | None:
        """Return the profile that chooses; None if a method chooses."""
        return self.profile or (None if self.method else "few")

    def demand(self, table: TableOptions) -> None:
        """Refuse options of a choice that contradict each other."""
        people = table.person
        way = self.method or self.profile
        _demand(not people or way in (None, *_OF_PEOPLE),
                f"k counts people (column {people!r}), which only --method greedy and the profiles "
                "few and strict can do; choose one, or give a table with one row a person")
        _demand(not people or not self.of_rows,
                f"k counts people (column {people!r}), but --max-share, --entropy-l and "
                "--closeness count rows; leave them out, or give a table with one row a person")
        _demand(not self.profile or not (self.method or self.weights),
                "--profile chooses its own method and weights; leave out --method and --weights, "
                "or leave out --profile")
        _demand(not self.weights or self.method,
                "--weights needs a method; add --method greedy, or leave out --weights")
        _demand(table.labelled or self.weights == "even",
                "privsieve chooses columns that predict a target; add --target COLUMN, or add "
                "--method greedy --weights even to choose as many columns as possible")
        _demand(self.purpose in (None, "strict") or self.model == "containment",
                "--model k-anonymity needs --profile strict or a --method; add one of them")
        self.demand_target(table)

    def promise(self, options: TableOptions, table: Labelled, k: int, suppress: int = 0) -> Promise:
        """Return what the columns must keep, and what an attacker may know."""
        equal = self.purpose == "strict" or self.model == "k-anonymity"
        diverse = self.purpose in ("few", "most")
        values = max(self.l_diversity or 1 + (self.publish_target or diverse), 1 + diverse)
        roles = options.roles(table, target_known=self.target_known, equal=equal)
        rule = Rule(k=k, classes=len(table.classes), l_diversity=values, suppress=suppress,
                    model="k-anonymity" if equal else "containment",
                    absent=None if equal else roles.absent(table.items),
                    labelled=self.target_known)
        return Promise(rule, roles, self.limits(values if table.sensitive else None))

    def chosen(self, table: Labelled, promise: Promise,
               before: Sequence[Mapping[str, Any]] = ()) -> Choice:
        """Choose columns that keep rule and limits, with what was published before."""
        slow = self.method in ("maximal", "exact") or self.profile == "most"
        method = Method(self.choose, self._objective(table) if self.method else None,
                        runs=_FEW if slow else RUNS)
        return open_part(table, promise.rule, limited(
            table, tightened(table, promise.rule, before),
            tightened_limits(promise.limits, before), method))

    def choose(self, table: Labelled, rule: Rule) -> Choice:
        """Choose by the profile or the method."""
        if self.purpose:
            return publishable(table, rule, self.purpose)
        return by_method(table, rule, str(self.method), self._objective(table), self.time_limit)

    def _objective(self, table: Labelled) -> Any:
        return (np.ones(len(table.items), np.int64) if self.weights == "even" else
                self.weights or MUTUAL)


@dataclass(frozen=True, kw_only=True)
class PublishOptions(SetOptions):
    """What leaves.

    publish_sensitive : publish the sensitive columns, too, as they are
    suppress : the most rows that may be left out
    """

    publish_sensitive: bool = False
    suppress: int = 0

    def read(self, data: str, options: TableOptions, k: int,
             people: Snapshot | None) -> tuple[Labelled, Promise]:
        """Read the table, check it against the ledger, and return it with its promise."""
        before = people.before if people else ()
        table = options.opened(data, k, before)
        if people:
            recognise(table, people.before, people.seal)
        _demand(not self.publish_sensitive or table.sensitive,
                "--publish-sensitive needs a sensitive column: give --sensitive COLUMN, or leave "
                "it out")
        promise = self.promise(options, table, k, self.suppress)
        if self.publish_target:  # also if no attacker knows it
            demand_rule(table, replace(promise.rule, labelled=True))
        return table, promise

    def form(self, table: Labelled, rule: Rule) -> Form:
        """Return the form in which the choice leaves."""
        plan: dict[str, Json] = {
            "method": self.method or "profile", "profile": self.purpose,
            "weights": None if self.purpose else self.weights or MUTUAL, "k": rule.k,
            "model": rule.model, "l_diversity": rule.l_diversity, "suppress": rule.suppress,
            **({"counted": table.counts} if table.counts else {})}
        return Form(plan, self.publish_target, self.publish_sensitive)


@dataclass(frozen=True, kw_only=True)
class SnapshotOptions:
    """Whose rows these are.

    ledger : the ledger that notes what was published
    population : the people of the table
    snapshot : the state of their table, such as 2026-spring
    head : a small file that keeps the ledger's newest entry: an older copy of the ledger is
        refused.  It is made if it does not exist
    fingerprint_key : the secret by which a ledger on a server recognises a table; the first
        publication makes it
    first : nothing about these people was published or granted before
    other_people : the person who confirms that this snapshot is about other people
    """

    ledger: File | None = None
    population: Name | None = None
    snapshot: Name | None = None
    head: Annotated[File | None, RARE] = None
    fingerprint_key: Annotated[File | None, RARE] = None
    first: bool = False
    other_people: Annotated[Name | None, RARE] = None

    def demand(self) -> None:
        """Refuse an incomplete account, and options of a ledger without a ledger."""
        noted = sum(bool(each) for each in (self.ledger, self.population, self.snapshot))
        _demand(noted in (0, 3),
                "--ledger, --population and --snapshot go together; give all three or none")
        _demand(noted or not (self.first or self.other_people or self.head or self.fingerprint_key),
                "--first, --other-people, --head and --fingerprint-key need a ledger; add "
                "--ledger, --population and --snapshot")

    def people(self) -> Snapshot | None:
        """Return the people of the ledger; None without a ledger."""
        if not self.ledger:
            return None
        return people_of(
            Ledger(self.ledger, population=str(self.population), head=self.head),
            str(self.snapshot), signed=self.other_people, first=self.first,
            key=self.fingerprint_key)
