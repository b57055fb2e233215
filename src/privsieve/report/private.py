"""Private: the values on the pages of all releases with an epsilon; each kind adds its own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from privsieve._version import __version__
from privsieve.public.canonical import canonical, digest, exact, factor
from privsieve.public.plan import NOUNS, PLURALS, SENTENCES, UNIT, conversion, unit_text
from privsieve.report.figures import belief, percent
from privsieve.report.frame import Known, known_of
from privsieve.report.plans import declaration, settings
from privsieve.telling.document import Bar, DataTable, Fact, Piece, Text, literal, name

_PACKAGE = Path(__file__).parents[1]
#: How sure an attacker is before the release, in the table of beliefs.
_BEFORE = (Fraction(1, 2), Fraction(1, 10), Fraction(1, 100))


class Range(NamedTuple):
    """How sure an attacker can become, in per cent."""

    low: str
    high: str


def private(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> Known:
    """Return what the pages of all releases with an epsilon may fill in."""
    domain, claim, ledger = release["domain"], certificate["claim"], certificate["ledger"]
    if digest(canonical(domain)) != certificate["domain_sha256"]:
        raise ValueError("the domain of the release is not the certified one")
    target, noun = domain["target"], NOUNS[claim["unit"]]
    epsilon = exact(claim["epsilon"], "epsilon")
    pure = claim["delta"] == "0" and claim["account"] == "pure"
    charged = ledger and ledger["charged"]
    converted = conversion(charged, certificate) if charged else None
    return {
        **known_of(release, certificate), "domain": domain, "target": target, "noun": noun,
        "nouns": PLURALS[noun], "unit": unit_text(claim["unit"]),
        "weight": domain.get("weight"),
        "lines": claim["unit"] == UNIT["line"],
        "d": len(release["columns"]), "units": int(release["plan"]["units"]), "epsilon": epsilon,
        "times": factor(epsilon),
        # how sure an undecided attacker can become, where such a range holds
        "even": Range(*map(percent, belief(epsilon, _BEFORE[0]))) if epsilon and pure else None,
        "beliefs": lambda: _beliefs(epsilon),
        "converted": charged if converted else None, "conversion": (converted or "").rstrip(". "),
        "charged_nouns": lambda: PLURALS[NOUNS[charged["unit"]]],
        "fixed_units": claim["neighbours"] == "replace-one" and noun != "person",
        "about": name(target["name"]) if target else Text("the outcome"),
        "target_declared": lambda: declaration(target),
        "planned": [Fact(literal(key), name(value)) for key, value in
                    settings(release["plan"]["settings"])],
        "warning": (release.get("warning") or "").rstrip(". "),
        # an assumption of another version has no sentence here
        "assumed": Text("\n".join(
            f"{name(word)}: {SENTENCES[str(word)]}" if str(word) in SENTENCES else name(word)
            for word in claim["assumes"])),
        "proofs": _proofs(certificate),
    }


def declarations(release: Mapping[str, Any], caption: str, columns: Sequence[str]) -> DataTable:
    """Return a table of columns with their declarations in the domain."""
    domain = release["domain"]
    declared = {column["name"]: declaration(column)
                for column in (*domain["columns"], domain["target"]) if column}
    rows = [[name(column), literal(text if len(text) <= 128 else f"{text[:120]}…")]
            for column in columns for text in [declared[column]]]
    return DataTable(caption, ("Column", "Declared in the domain"), rows, words=2)


def _beliefs(epsilon: Fraction) -> DataTable:
    """Return a table of how sure an attacker can become, by how sure the attacker was."""
    ends = [(before, *belief(epsilon, before)) for before in _BEFORE]
    return DataTable("How sure the attacker can be afterwards", (
        "Sure before (line), and the range afterwards", "At least", "At most"), [
            [Bar(f"{100 * before.numerator // before.denominator} %",
                 [Piece(float(least), float(most))], float(100 * before)),
             percent(least), percent(most)] for before, least, most in ends])


def _proofs(certificate: Mapping[str, Any]) -> Text:
    """Return the digests of the theorem's proofs, if this version made the release."""
    if certificate["software"].get("privsieve") != __version__:
        return Text()
    heading, texts = f"# {certificate['claim']['theorem']}\n".encode(), _proof_texts()
    wanted = [file for file, text in texts.items() if text.startswith(heading)]
    for file in wanted:  # grows while it is read
        rests = re.findall(rb"(?m)^rests on: (.*)$", texts[file])
        wanted += [other for line in rests for other in line.decode().split(", ")
                   if other in texts and other not in wanted]
    return Text("".join(f"\n{name(file)} `{literal(digest(texts[file]))}`"
                        for file in sorted(wanted)))


@cache
def _proof_texts() -> dict[str, bytes]:
    """Return all proofs, by their paths in the package."""
    return {path.relative_to(_PACKAGE).as_posix(): path.read_bytes()
            for path in sorted(_PACKAGE.rglob("*.proof.md"))}
