"""Certificate: the fields of a certificate, and of the release of a publication, with their types.

Other fields are refused.  Fields that follow from a plan are not declared here: `verify` makes the
plan again and compares.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from privsieve.check.reasons import Unreadable
from privsieve.public.canonical import LARGEST, canonical, link
from privsieve.public.dropped import OF_FIRST, is_of_first
from privsieve.public.event import Event
from privsieve.public.plan import FORMAT, LONGEST_QUERY

#: The kind of certificates that promise a level instead of epsilon.
CONTAINMENT = "containment"
#: The format of a release.
RELEASE_FORMAT = "privsieve-release/1"

Name = Annotated[str, Meta(max_length=128)]
Names = tuple[Name, ...]
SomeNames = Annotated[Names, Meta(min_length=1)]
People = Annotated[str, Meta(max_length=1024)]
Amount = Annotated[str, Meta(pattern=r"^(0|[1-9][0-9]{0,17})(\.[0-9]{0,17}[1-9])?\Z")]
Count = Annotated[str, Meta(pattern=r"^(0|[1-9][0-9]{0,18})\Z")]
Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
Part = Annotated[str, Meta(pattern=r"^[0-9]{1,9}(\.[0-9]{1,9})?\Z")]
Positive = Annotated[int, Meta(ge=1, le=LARGEST)]
Counted = Annotated[int, Meta(ge=0, le=2**40)]
Unit = Literal["one row of the table", "one line of the file", "one person with all their rows"]
Neighbours = Literal["replace-one", "add-remove"]


class Closed(Struct, frozen=True, forbid_unknown_fields=True):
    """A form without other fields than the declared ones."""


class Software(Closed, frozen=True):
    """The software that wrote a certificate."""

    privsieve: Annotated[str, Meta(
        pattern=r"^[0-9]{1,4}(\.[0-9]{1,4}){1,3}([a-z.+][a-z0-9.]{0,30})?\Z")]


class PlaceFields(Closed, frozen=True):
    """The place of an entry in the chain of a ledger."""

    seq: Positive
    prev: Digest
    hash: Digest


# --- releases that cost epsilon -----------------------------------------------------------------

class Claim(Closed, frozen=True):
    """The promise of a release."""

    kind: Name
    account: Literal["pure", "approximate"]
    epsilon: Amount
    delta: Amount
    unit: Unit
    neighbours: Neighbours
    mechanism: Annotated[str, Meta(pattern=r"^[a-z-]{1,40}/[0-9]{1,3}\Z")]
    theorem: Name
    assumes: SomeNames


class Planned(Closed, frozen=True):
    """The requested options, and the plan."""

    method: Name
    epsilon: Amount
    delta: Amount
    options: dict[Name, Any] = msgspec.field(name="asked")
    settings: dict[Name, Any]
    event: Event
    units: Count
    query: Annotated[str, Meta(pattern=r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f]+\Z",
                               max_length=LONGEST_QUERY)] | UnsetType = UNSET


class Charged(Closed, frozen=True):
    """The charge, in the change that the account protects."""

    unit: Unit
    neighbours: Neighbours
    rows_per_person: Positive | None
    factor: Count
    epsilon: Amount
    delta: Amount
    rho: Amount | None


class ChargeFields(Closed, frozen=True):
    """The entries of a ledger that paid for a release."""

    request: Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]
    reserved_at: Annotated[str, Meta(
        pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z\Z")]
    reserve: PlaceFields
    commit: PlaceFields
    head: Digest
    rho: Amount | None
    charged: Charged


class Certificate(Closed, frozen=True):
    """The certificate of a release: promise, plan, charge and digest."""

    format: Literal["privsieve-certificate/1"]
    claim: Claim
    plan: Planned
    release_sha256: Digest
    domain_sha256: Digest
    software: Software
    population: People | None
    ledger: ChargeFields | None
    key: None
    signature: None


# --- a publication ------------------------------------------------------------------------------

Model = Literal["containment", "k-anonymity"]
CountedUnits = Literal["persons", "sources"]


class Publishing(Closed, frozen=True):
    """The method by which published columns were chosen."""

    method: Literal["profile", "greedy", "maximal", "exact"]
    profile: Literal["few", "strict", "most"] | None
    weights: Literal["mutual-information", "hamming", "even", "distinct", "class-errors"] | None
    k: Annotated[int, Meta(ge=2, le=2**40)]
    model: Model
    l_diversity: Annotated[int, Meta(ge=1, le=2**40)]
    suppress: Counted
    counted: CountedUnits | UnsetType = UNSET


class RolesFields(Closed, frozen=True):
    """The role of each column of the table."""

    presences: Names
    both: Names
    sensitive: Names
    target: Name | None
    target_known: bool


class LimitsFields(Closed, frozen=True):
    """The limits on what groups reveal."""

    share: Part | None
    entropy: Part | None
    closeness: Part | None
    ordered: Names


class Contained(Closed, frozen=True):
    """The promise about a published table."""

    kind: Literal["containment"]
    k: Annotated[int, Meta(ge=2, le=LARGEST)]
    level: Annotated[int, Meta(ge=2, le=LARGEST)]
    model: Model
    absent: Names
    l_diversity: Positive
    suppressed: Annotated[int, Meta(ge=0, le=LARGEST)]
    columns: SomeNames
    target: Name | None
    table_sha256: Digest
    rows: Positive
    origins: Names
    roles: RolesFields
    sensitive: Names
    limits: LimitsFields
    fingerprint: Digest | None
    counted: CountedUnits | UnsetType = UNSET


class Noted(Closed, frozen=True):
    """The entry of a ledger that notes a publication."""

    snapshot: People
    publish: PlaceFields
    head: Digest


class PublicationCertificate(Closed, frozen=True):
    """The certificate of a publication."""

    format: Literal["privsieve-certificate/1"]
    claim: Contained
    plan: Publishing
    release_sha256: Digest
    software: Software
    population: People | None
    ledger: Noted | None
    key: None
    signature: None


class CrowdFields(Closed, frozen=True):
    """The sizes of the groups that an attacker finds."""

    average: Part
    below: Counted
    level: Positive
    alone: Counted
    bins: Annotated[tuple[tuple[Positive, Positive | None, Counted], ...], Meta(min_length=1)]


#: The knowledge of an attacker.
Known = Literal["known", "known_class", "all", "all_class", "everything"]


class Told(Closed, frozen=True):
    """What groups reveal about a column."""

    column: Name
    role: Literal["target", "sensitive"]
    ordered: bool
    rows: Counted
    values: Positive
    share: Part
    above: tuple[tuple[Part, Counted], ...]
    distinct: Positive
    entropy: Part
    closeness: Part


class Measured(Closed, frozen=True):
    """The measured figures of the published table."""

    rows: Positive
    patterns: Positive
    promised: Literal["known", "known_class"]
    strangers: dict[Known, CrowdFields]
    one_class: Counted | None
    items: Annotated[tuple[tuple[Name, Counted, Counted | None], ...], Meta(min_length=1)]
    disclosure: tuple[Told, ...]


class PublicationRelease(Closed, frozen=True):
    """The release of a publication."""

    format: Literal["privsieve-release/1"]
    kind: Literal["containment"]
    columns: SomeNames
    selected: SomeNames
    partial: dict[Name, SomeNames]
    complete: bool
    plan: Publishing
    measured: Measured


Shape = TypeVar("Shape", bound=Struct)


def demand_fields(body: Mapping[str, Any], form: type[Shape], what: str, of: str) -> Shape:
    """Return a file in its form, or name the place of a fault without quoting the file.

    >>> demand_fields({"privsieve": 1}, Software, "the file", "a test")
    Traceback (most recent call last):
    privsieve.check.reasons.Unreadable: the file does not have the fields of a test, at privsieve
    """
    try:
        return msgspec.convert(body, form)
    except msgspec.ValidationError as error:
        fault = str(error)
    place = re.search(r"`\$\.([a-z0-9_.]+)[^`]*`\Z", fault)
    words = place[1].split(".") if place else []
    known = _declared(Struct)  # the error shows only these words of a file
    at = ".".join(word for word in words if word in known) or "the file"
    unknown = ": a field that is not declared" if "unknown field" in fault else ""
    raise Unreadable(f"{what} does not have the fields of {of}, at {at}{unknown}")


def _declared(form: type[Struct]) -> set[str]:
    """Return the names of all fields of all forms."""
    return {*form.__struct_encode_fields__}.union(*map(_declared, form.__subclasses__()))


def demand_certificate(body: Mapping[str, Any]) -> None:
    """Refuse a file that is not a certificate of a known kind."""
    if is_of_first(body):
        raise Unreadable(OF_FIRST)
    if body.get("format", FORMAT) != FORMAT:
        raise Unreadable(f"the certificate is not a {FORMAT}; a newer privsieve may read it")
    claim = body.get("claim")
    contained = isinstance(claim, Mapping) and claim.get("kind") == CONTAINMENT
    demand_fields(body, PublicationCertificate if contained else Certificate, "the certificate",
                  FORMAT)
    if (body["population"] is None) != (body["ledger"] is None):
        raise Unreadable("the certificate names only one of population and ledger; it must name "
                         "both or neither")


def bound(known: Mapping[str, Any], kind: str, content: Mapping[str, Any]) -> bool:
    """Return whether a ledger's entry with this content has the hash in the certificate."""
    payload = canonical({**content, "kind": kind, "seq": known["seq"]})
    try:
        return bool(link(known["prev"], payload) == known["hash"])
    except ValueError:  # prev is not a hash
        return False
