"""Private: what the pages of all private releases say; and the page of chosen columns."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from markupsafe import Markup

from privsieve._version import __version__
from privsieve.ledger.certificate import UNIT, conversion
from privsieve.public.canonical import canonical, digest
from privsieve.public.cost import exact
from privsieve.public.plan import SENTENCES
from privsieve.release import Selection, number
from privsieve.report.charts import CostMark, Piece, bar, costs
from privsieve.report.page import TwoFiles, belief, clean, count, name, percent

#: A proof that names another.
_REFERENCE = re.compile(r"(?:([a-z_/]+)/)?([a-z_]+\.proof\.md)")
#: How sure somebody is before, in the table of beliefs.
_BEFORE = (Fraction(1, 2), Fraction(1, 10), Fraction(1, 100))
_NOUNS = {words: noun for noun, words in UNIT.items()}


@dataclass(frozen=True)
class PrivatePage(TwoFiles):
    """What all private releases say alike."""

    def __post_init__(self) -> None:
        """Refuse a domain that is not the certified one."""
        if self.domain is not None and (
                digest(canonical(self.domain)) != self.certificate["domain_sha256"]):
            raise ValueError("the domain of the release is not the certified one")

    @property
    def domain(self) -> Mapping[str, Any] | None:
        """The domain; None where the release does not say it."""
        return self.release.get("domain")

    @property
    def converted(self) -> Mapping[str, Any] | None:
        """What was charged where the population protects another change than the release."""
        # A certificate of version 0.1.0 knows no conversion.
        said = (self.certificate["ledger"] or {}).get("charged")
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
        return self.domain["target"] if self.domain else None

    @property
    def about(self) -> Markup | str:
        """The name of the target, or a word for it."""
        return name(self.target["name"]) if self.target else "the outcome"

    @property
    def units(self) -> str | None:
        """The public number of units."""
        units = self.release["plan"].get("units")
        return None if units is None else count(int(units))

    @property
    def forecast(self) -> Mapping[str, Any]:
        """Public numbers that were known before a row was read."""
        return self.release.get("forecast") or {}

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
        """The theorem's proof and those that it names, if this version made the release."""
        if self.certificate["software"].get("privsieve") != __version__:
            return []
        package = Path(__file__).parents[1]
        texts = {path.relative_to(package).as_posix(): path.read_bytes()
                 for path in package.rglob("*.proof.md")}
        heading = f"# {self.claim['theorem']}\n".encode()
        wanted = [file for file, text in texts.items() if text.startswith(heading)]
        for file in wanted:  # grows while it is read
            wanted += [other for other in named_proofs(texts[file].decode(), file, texts)
                       if other not in wanted]
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
        parts = [*self.domain["columns"], self.target] if self.domain else []
        return {part["name"]: _declaration(part) for part in parts if part}

    def declared(self, column: str) -> str | None:
        """What the domain declares of a column or the target; None where nothing stands."""
        return self._declared.get(column)

    def declaration(self, column: str) -> str | Markup:
        """The same, as a cell shows it."""
        said = self.declared(column)
        if said is None:
            return "This release does not say what was declared."
        return clean(said) if len(said) <= 128 else f"{clean(said[:120])}…"


@dataclass(frozen=True)
class SelectionPage(PrivatePage):
    """What a page says of chosen columns."""

    @property
    def ordered(self) -> bool:
        """Whether the order was paid for."""
        return self.release["plan"]["settings"].get("ordered") is True

    @cached_property
    def chosen(self) -> Sequence[str]:
        """The names, from A to Z where their order was not paid for."""
        selected = Selection.read(self.release).selected
        return selected if self.ordered else sorted(selected, key=lambda one: (one.casefold(), one))

    @property
    def forecast(self) -> Mapping[str, Any]:
        """Per cent of the best columns that would be found, from public numbers alone."""
        return super().forecast if "found_percent" in super().forecast else {}

    @property
    def right(self) -> int | None:
        """How many of the names would be right on a usual table."""
        usual = dict(self.gaps).get(str(self.forecast.get("usual_gap"))) if self.forecast else None
        return None if self.free or usual is None else usual * len(self.chosen) // 100

    @property
    def gaps(self) -> list[tuple[str, int]]:
        """What is found, by the share of units by which the best columns stand out."""
        return _increasing(self.forecast["found_percent"])

    @property
    def costs(self) -> list[CostMark]:
        """What is found, by cost, at the usual gap; empty where the release does not say."""
        if self.forecast.get("usual_gap") is None:
            return []
        return [CostMark(text, found, text == self.claim["epsilon"]) for text, found in
                _increasing(self.forecast.get("by_cost", {}))]

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
        return f"{share * len(self.chosen) // 100} of {len(self.chosen)}"


def page(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> bytes:
    """The page of chosen columns."""
    return SelectionPage(release, certificate).document("private", "selection", costs=costs)


def settings(said: object, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Settings as names and words; what stands inside another has both names."""
    if isinstance(said, Mapping):
        for key, value in sorted(said.items()):
            yield from settings(value, f"{prefix} {key}".strip())
    elif isinstance(said, list | tuple) and any(isinstance(one, Mapping) for one in said):
        for at, value in enumerate(said, 1):
            yield from settings(value, f"{prefix} {at}")
    elif isinstance(said, list | tuple):
        yield prefix, ", ".join(map(str, said))
    else:
        yield prefix, {None: "none", True: "yes", False: "no"}[said] if (
            said is None or isinstance(said, bool)) else str(said)


def named_proofs(text: str, file: str, known: Collection[str]) -> list[str]:
    """The proofs that one names: with their folder, or alone; the one beside it goes first.

    >>> known = ["local/limits.proof.md", "noise/streams.proof.md", "local/noise.proof.md"]
    >>> named_proofs("see `limits.proof.md`, (noise/streams.proof.md)", "local/x.proof.md", known)
    ['local/limits.proof.md', 'noise/streams.proof.md']
    """
    wanted = []
    for folder, proof in _REFERENCE.findall(text):
        places = [one for one in known if one.endswith(f"/{proof}")]
        beside = f"{folder or file.rpartition('/')[0]}/{proof}"
        wanted += [beside] if beside in places else places
    return list(dict.fromkeys(wanted))


def _declaration(column: Mapping[str, Any]) -> str:
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


def _increasing(shares: Mapping[str, Any]) -> list[tuple[str, int]]:
    return sorted(((key, int(share)) for key, share in shares.items()),
                  key=lambda one: exact(one[0], "the forecast"))


def _hundredths(gap: str) -> str:
    """A share of rows, in per cent."""
    share = number(gap) * 100
    return f"{share.numerator} %" if share.denominator == 1 else f"{float(share):g} %"
