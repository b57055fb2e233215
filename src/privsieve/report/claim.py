"""Claim: what every private release says alike: claim, charge, settings, proofs and digests."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from privsieve._version import __version__
from privsieve.ledger.certificate import UNIT, conversion, sentence
from privsieve.public.canonical import canonical, digest
from privsieve.public.cost import exact

#: A proof that names another.
_REFERENCE = re.compile(r"(?:([a-z_/]+)/)?([a-z_]+\.proof\.md)")


class Column(NamedTuple):
    """A name, and what the domain declares of it; None where the release does not say."""

    name: str
    declared: str | None


class Converted(NamedTuple):
    """What a charge came to where the population protects another change than the release."""

    sentence: str
    epsilon: str
    factor: str
    noun: str


class Charge(NamedTuple):
    """Who was charged, and where that stands in the ledger."""

    population: str
    date: str
    request: str
    reserve: str
    commit: str
    head: str
    converted: Converted | None


class Claim(NamedTuple):
    """What the certificate claims, in its own terms."""

    sentence: str
    epsilon: Fraction
    text: str
    delta: str
    account: str
    unit: str
    noun: str
    replaced: bool
    mechanism: str
    theorem: str
    assumes: tuple[str, ...]


class Common(NamedTuple):
    """What the pages of all kinds share; made of release.json and certificate.json."""

    short: str
    columns: tuple[Column, ...]
    target: Column | None
    claim: Claim
    units: str | None
    rows_per_person: int | None
    warning: str | None
    charge: Charge | None
    settings: tuple[tuple[str, str], ...]
    proofs: tuple[tuple[str, str], ...]
    software: tuple[tuple[str, str], ...]
    digests: tuple[tuple[str, str], ...]

    @property
    def free(self) -> bool:
        """Whether all columns were asked for, so that no row was read."""
        return self.claim.epsilon == 0

    def declared(self, names: Iterable[str]) -> tuple[Column, ...]:
        """What was declared of these, be they columns or the target; None where nothing stands."""
        known = {one.name: one.declared for one in (*self.columns, self.target) if one}
        return tuple(Column(name, known.get(name)) for name in names)


def common_of(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> Common:
    """What a release and its certificate say; what is not in the two files becomes None."""
    plan, domain = release["plan"], release.get("domain")
    if domain is not None and digest(canonical(domain)) != certificate["domain_sha256"]:
        raise ValueError("the domain of the release is not the certified one")
    declared = {one["name"]: _declared(one) for one in domain["columns"]} if domain else {}
    digests = (("certificate.json", digest(canonical(certificate))),
               ("release.json", certificate["release_sha256"]),
               ("the domain, as JSON", certificate["domain_sha256"]))
    return Common(
        short=certificate["release_sha256"][:12],
        columns=tuple(Column(name, declared.get(name)) for name in release["columns"]),
        target=_target(domain),
        claim=_claim(certificate),
        units=plan.get("units"),
        rows_per_person=domain["rows_per_person"] if domain else None,
        warning=release.get("warning"),
        charge=_charge(certificate),
        settings=tuple(settings(plan["settings"])),
        proofs=_proofs(certificate),
        software=tuple((str(name), str(of)) for name, of in
                       sorted(certificate["software"].items())),
        digests=digests)


def _claim(certificate: Mapping[str, Any]) -> Claim:
    claim = certificate["claim"]
    nouns = {words: noun for noun, words in UNIT.items()}
    return Claim(
        sentence=sentence(certificate), epsilon=exact(claim["epsilon"], "epsilon"),
        text=claim["epsilon"], delta=claim["delta"], account=claim["account"], unit=claim["unit"],
        noun=nouns[claim["unit"]], replaced=claim["neighbours"] == "replace-one",
        mechanism=claim["mechanism"], theorem=claim["theorem"], assumes=tuple(claim["assumes"]))


def _charge(certificate: Mapping[str, Any]) -> Charge | None:
    ledger = certificate["ledger"]
    if ledger is None:
        return None
    return Charge(certificate["population"], ledger["reserved_at"][:10], ledger["request"],
                  str(ledger["reserve"]["seq"]), str(ledger["commit"]["seq"]), ledger["head"],
                  _converted(certificate))


def _converted(certificate: Mapping[str, Any]) -> Converted | None:
    said = certificate["ledger"].get("charged")
    # A certificate of version 0.1.0 knows no conversion.
    words = None if said is None else conversion(said, certificate)
    if words is None:
        return None
    nouns = {unit: noun for noun, unit in UNIT.items()}
    return Converted(words, said["epsilon"], said["factor"], nouns[said["unit"]])


def _target(domain: Mapping[str, Any] | None) -> Column | None:
    if domain is None or domain["target"] is None:
        return None
    return Column(domain["target"]["name"], _declared(domain["target"]))


def _declared(column: Mapping[str, Any]) -> str:
    """What the domain says of a column, in words."""
    kind = column["kind"]
    if kind == "flag":
        return "yes or no"
    if kind in ("category", "label"):
        values = [str(value) for value in column["values"]]
        more = ", …" if len(values) > 12 else ""
        return f"one of {len(values)}: {', '.join(values[:12])}{more}"
    low, high = (str(column[end]).removesuffix(".0").removesuffix("T00:00:00")
                 for end in ("low", "high"))
    return f"{kind}, {low} to {high}{', on a log scale' if column.get('scale') == 'log' else ''}"


def settings(told: object, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Settings as names and words; what stands inside another has both names."""
    if isinstance(told, Mapping):
        for name, value in sorted(told.items()):
            yield from settings(value, f"{prefix} {name}".strip())
    elif isinstance(told, list | tuple) and any(isinstance(one, Mapping) for one in told):
        for at, value in enumerate(told, 1):
            yield from settings(value, f"{prefix} {at}")
    elif isinstance(told, list | tuple):
        yield prefix, ", ".join(map(str, told))
    else:
        yield prefix, {None: "none", True: "yes", False: "no"}[told] if (
            told is None or isinstance(told, bool)) else str(told)


def _proofs(certificate: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The theorem's proof and those that it names, if this version made the release."""
    if certificate["software"].get("privsieve") != __version__:
        return ()
    package = Path(__file__).parents[1]
    texts = {path.relative_to(package).as_posix(): path.read_bytes()
             for path in package.rglob("*.proof.md")}
    heading = f"# {certificate['claim']['theorem']}\n".encode()
    wanted = [file for file, text in texts.items() if text.startswith(heading)]
    for file in wanted:  # grows while it is read
        wanted += [other for other in _named(texts[file].decode(), file, texts)
                   if other not in wanted]
    return tuple((file, digest(texts[file])) for file in sorted(wanted))


def _named(text: str, file: str, known: Collection[str]) -> list[str]:
    """The proofs that one names: with their folder, or alone; the one beside it goes first.

    >>> known = ["local/limits.proof.md", "noise/streams.proof.md", "local/noise.proof.md"]
    >>> _named("see `limits.proof.md`, (noise/streams.proof.md)", "local/x.proof.md", known)
    ['local/limits.proof.md', 'noise/streams.proof.md']
    """
    found = []
    for folder, proof in _REFERENCE.findall(text):
        places = [one for one in known if one.endswith(f"/{proof}")]
        beside = f"{folder or file.rpartition('/')[0]}/{proof}"
        found += [beside] if beside in places else places
    return list(dict.fromkeys(found))
