"""Private: what the pages of all private releases say; and the page of chosen columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from privsieve._version import __version__
from privsieve.public.canonical import canonical, digest, exact
from privsieve.public.plan import SENTENCES, UNIT, conversion, sought
from privsieve.public.planned import beforehand, settings
from privsieve.public.shown import declaration
from privsieve.release import NoisyCounts, Release, Selection, number
from privsieve.report.page import (
    Piece,
    TwoFiles,
    bar,
    belief,
    clean,
    count,
    name,
    names,
    percent,
)

_PACKAGE = Path(__file__).parents[1]
#: How sure somebody is before, in the table of beliefs.
_BEFORE = (Fraction(1, 2), Fraction(1, 10), Fraction(1, 100))
_NOUNS = {words: noun for noun, words in UNIT.items()}


@dataclass(frozen=True)
class PrivatePage(TwoFiles):
    """What all private releases say alike."""

    def __post_init__(self) -> None:
        """Refuse a domain that is not the certified one."""
        if digest(canonical(self.domain)) != self.certificate["domain_sha256"]:
            raise ValueError("the domain of the release is not the certified one")

    @property
    def domain(self) -> Mapping[str, Any]:
        """The domain."""
        found: Mapping[str, Any] = self.release["domain"]
        return found

    @property
    def converted(self) -> Mapping[str, Any] | None:
        """What was charged where the population protects another change than the release."""
        ledger = self.certificate["ledger"]
        said: Mapping[str, Any] | None = ledger and ledger["charged"]
        return said if said and conversion(said, self.certificate) else None

    @property
    def conversion(self) -> str:
        """That, in a sentence."""
        return conversion(self.converted or {}, self.certificate) or ""

    @property
    def charged_noun(self) -> str:
        """What the population protects."""
        return _NOUNS[(self.converted or {})["unit"]]

    @cached_property
    def epsilon(self) -> Fraction:
        """The cost, exactly."""
        return exact(self.claim["epsilon"], "epsilon")

    @property
    def delta(self) -> bool:
        """Whether a small chance of more is part of the promise."""
        return bool(self.claim["delta"] != "0")

    @property
    def noun(self) -> str:
        """One unit."""
        return _NOUNS[self.claim["unit"]]

    @property
    def replaced(self) -> bool:
        """Whether a unit is replaced, and does not come or go."""
        return bool(self.claim["neighbours"] == "replace-one")

    @property
    def free(self) -> bool:
        """Whether all columns were asked for, so that no row was read."""
        return self.epsilon == 0

    @property
    def target(self) -> Mapping[str, Any] | None:
        """The target as the domain declares it."""
        found: Mapping[str, Any] | None = self.domain["target"]
        return found

    @property
    def about(self) -> Markup | str:
        """The name of the target, or a word for it."""
        return name(self.target["name"]) if self.target else "the outcome"

    @property
    def units(self) -> str:
        """The public number of units."""
        return count(int(self.release["plan"]["units"]))

    @property
    def forecast(self) -> Mapping[str, Any]:
        """Public numbers that were known before a row was read."""
        found: Mapping[str, Any] = self.release["forecast"]
        return found

    @cached_property
    def settings(self) -> list[tuple[str, Markup]]:
        """The settings of the plan, for experts."""
        return [(clean(key), name(value)) for key, value in
                settings(self.release["plan"]["settings"])]

    @property
    def assumptions(self) -> list[Markup]:
        """Words of the certificate and what they say; one of another version stands alone."""
        return [Markup("{}: {}").format(name(word), SENTENCES[str(word)])
                if str(word) in SENTENCES else name(word) for word in self.claim["assumes"]]

    @cached_property
    def proofs(self) -> list[tuple[str, str]]:
        """The theorem's proof and those that it rests on, if this version made the release."""
        if self.certificate["software"].get("privsieve") != __version__:
            return []
        heading, texts = f"# {self.claim['theorem']}\n".encode(), _proofs()
        wanted = [file for file, text in texts.items() if text.startswith(heading)]
        for file in wanted:  # grows while it is read
            rests = re.findall(rb"(?m)^rests on: (.*)$", texts[file])
            wanted += [other for line in rests for other in line.decode().split(", ")
                       if other in texts and other not in wanted]
        return [(file, digest(texts[file])) for file in sorted(wanted)]

    @property
    def even(self) -> list[str]:
        """How sure somebody can become who was in two minds."""
        return [percent(end) for end in belief(self.epsilon, _BEFORE[0])]

    @property
    def beliefs(self) -> Iterator[list[str]]:
        """How sure somebody can become, by how sure they were."""
        for before in _BEFORE:
            least, most = belief(self.epsilon, before)
            yield [bar(f"{100 * before.numerator // before.denominator} %",
                       [Piece(float(least), float(most))], float(100 * before)),
                   percent(least), percent(most)]

    @cached_property
    def _declared(self) -> dict[str, str]:
        parts = [*self.domain["columns"], self.target]
        return {part["name"]: declaration(part) for part in parts if part}

    def declared(self, column: str) -> str:
        """What the domain declares of a column or the target."""
        return self._declared[column]

    def declaration(self, column: str) -> str | Markup:
        """The same, as a cell shows it."""
        said = self.declared(column)
        return clean(said) if len(said) <= 128 else f"{clean(said[:120])}…"


class CostMark(NamedTuple):
    """A cost, the percentage that is found at it, and whether it is that of this release."""

    text: str
    percent: int
    this: bool


@dataclass(frozen=True)
class SelectionPage(PrivatePage):
    """What a page says of chosen columns."""

    @property
    def ordered(self) -> bool:
        """Whether the order was paid for."""
        return self.release["plan"]["settings"].get("ordered") is True

    @cached_property
    def beforehand(self) -> list[Markup]:
        """What was fixed in public, before a row was read."""
        return [Markup("<b>{}:</b> {}{}; {}.").format(
                    label.capitalize(), names(fixed),
                    Markup(" ({})").format(name(group)) if group else "", how)
                for label, fixed, how, group in beforehand(self.release["plan"]["settings"])]

    @property
    def sought(self) -> int:
        """How many of the chosen were not in from the beginning; a group counts once."""
        return sought(self.release["plan"]["settings"])

    @cached_property
    def chosen(self) -> Sequence[str]:
        """The names, from A to Z where their order was not paid for."""
        selected = Selection.read(self.release).selected
        return selected if self.ordered else sorted(selected, key=lambda one: (one.casefold(), one))

    @cached_property
    def counts(self) -> NoisyCounts | None:
        """The noisy counts of the classes, where some were drawn."""
        return Selection.counts_of(self.release)

    @property
    def class_rows(self) -> list[list[Markup | str]]:
        """Each class with a bar, and about how many units it has."""
        assert self.counts is not None
        return [[bar(clean(one), [Piece(0, 100 * many / max(1, self.counts.units))]), count(many)]
                for one, many in zip(self.counts.names, self.counts.about, strict=True)]

    @property
    def missing(self) -> str:
        """That the target was not found, in words; empty where it was."""
        return "" if self.counts is None else self.counts.missing(self.noun)

    @property
    def most(self) -> int | None:
        """How many were asked for at most, where fewer may be named."""
        said = self.release["plan"]["settings"].get("at_most")
        return said if type(said) is int else None

    @property
    def counted(self) -> tuple[str, str]:
        """What the forecast counts: the best columns that are found, or names that are right."""
        return ("best columns", "found") if self.most is None else ("names", "right")

    @property
    def advice(self) -> str | None:
        """What was said before the charge where few of the names would be right."""
        said = self.forecast.get("advice")
        return said if isinstance(said, str) else None

    @property
    def forecast(self) -> Mapping[str, Any]:
        """Per cent of the names that would be right, from public numbers alone."""
        return super().forecast if "found_percent" in super().forecast else {}

    @property
    def after_coding(self) -> str | None:
        """Which gap the forecast means, and which columns cannot be found."""
        said = self.forecast.get("after_coding")
        return f"{said[:1].upper()}{said[1:]}" if isinstance(said, str) else None

    @property
    def right(self) -> int | None:
        """How many of the names would be right on a usual table."""
        return Release(self.release, None).right

    @cached_property
    def gaps(self) -> list[tuple[str, int]]:
        """What is found, by the share of units by which the best columns stand out."""
        return _increasing(self.forecast["found_percent"])

    @cached_property
    def costs(self) -> list[CostMark]:
        """What is found, by cost, at the usual gap."""
        return [CostMark(text, found, text == self.claim["epsilon"]) for text, found in
                _increasing(self.forecast["by_cost"])]

    @property
    def cost_rows(self) -> list[list[str]]:
        """The same in numbers."""
        return [[f"{one.text}{', this release' if one.this else ''}", self._found(one.percent),
                 f"{one.percent} %"] for one in self.costs]

    @property
    def gap_rows(self) -> list[list[Markup | str]]:
        """What is found at the cost of this release; a line marks guessing."""
        guessing = int(self.forecast["guessing_percent"])
        return [[bar(f"{_hundredths(gap)} of the {self.noun}s", [Piece(0, share)], guessing),
                 self._found(share), f"{share} %"] for gap, share in self.gaps]

    @property
    def usual(self) -> str:
        """The usual gap, in per cent of the units."""
        return _hundredths(self.forecast["usual_gap"])

    def _found(self, share: int) -> str:
        return f"{share * self.sought // 100} of {self.sought}"


def page(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> bytes:
    """The page of chosen columns."""
    return SelectionPage(release, certificate).document("private", "selection")


@cache
def _proofs() -> dict[str, bytes]:
    """All proofs, by their files as they lie in the package."""
    return {path.relative_to(_PACKAGE).as_posix(): path.read_bytes()
            for path in sorted(_PACKAGE.rglob("*.proof.md"))}


def _increasing(shares: Mapping[str, Any]) -> list[tuple[str, int]]:
    return sorted(((key, int(share)) for key, share in shares.items()),
                  key=lambda one: exact(one[0], "the forecast"))


def _hundredths(gap: str) -> str:
    """A share of rows, in per cent."""
    return f"{float(100 * number(gap)):g} %"
