"""Attackers: what an attacker may know about a person, according to a claim, in words.

The guarantee, the page and the form use these words.  `roles` of a claim name columns of the table.
The claimed columns are items of these columns; `origins` names the column of each item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from privsieve.public.canonical import quoted

#: The name of each role.
PRESENCES = "known, presences only"
BOTH = "known, presences and absences"
SENSITIVE = "sensitive, not published"
SENSITIVE_OUT = "sensitive, published, declared unknown"
TARGET_KNOWN = "target, published, known"
TARGET_UNKNOWN = "target, published, declared unknown"
TARGET_INSIDE = "target, not published"
#: The knowledge of each attacker, by its key in a release.
WHO = {
    "known": "what the columns' roles declare knowable",
    "known_class": "what the roles declare knowable, and the class ({target})",
    "all": "all cells of a person",
    "all_class": "all cells and the class ({target})",
    "everything": "everything published about a person",
}
#: The unit that k counts, singular and plural, by the word of a claim; rows if it has none.
COUNTED = {"sources": ("source", "sources"), "persons": ("person", "people")}
#: The unit that a publication protects.
UNITS = {"row": "one row of the table", "source": "one source of rows",
         "person": "one person, who may have any number of rows"}
#: The most names in a sentence; of more names it gives the number.
_FEW = 6
#: Average probabilities are stored in units of 1 / this.
_PARTS = 10**9


def spoken(claim: Mapping[str, Any]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each role that columns have, in words, with these columns.

    >>> spoken({"columns": ["a"], "origins": ["a"], "model": "containment", "target": "ill",
    ...         "sensitive": [], "roles": {"presences": ["a"], "both": [], "sensitive": [],
    ...                                    "target": "ill", "target_known": True}})
    (('known, presences only', ('a',)), ('target, published, known', ('ill',)))
    """
    roles = claim["roles"]
    used, out = set(claim["origins"]), claim["sensitive"]
    columns = {
        PRESENCES: [name for name in roles["presences"] if name in used],
        BOTH: [name for name in roles["both"] if name in used],
        SENSITIVE_OUT: out,
        SENSITIVE: [name for name in roles["sensitive"] if name not in out],
    }
    if roles["target"] is not None:
        inside = claim["target"] is None
        outside = TARGET_KNOWN if roles["target_known"] else TARGET_UNKNOWN
        columns[TARGET_INSIDE if inside else outside] = [roles["target"]]
    return tuple((role, tuple(names)) for role, names in columns.items() if names)


def limits(claim: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the limits of every group, each in words and with its value in the claim."""
    settings, classes = claim["limits"], claim["l_diversity"]
    known = (("different values, at least", classes if classes > 1 else None),
             ("share of one value, at most", settings["share"]),
             ("entropy l, at least", settings["entropy"]),
             ("distance from the whole table, at most", settings["closeness"]))
    return [(words, str(limit)) for words, limit in known if limit is not None]


def counted(claim: Mapping[str, Any]) -> tuple[str, str]:
    """Return the unit that k counts, and its plural.

    >>> counted({"counted": "persons"}), counted({})
    (('person', 'people'), ('row', 'rows'))
    """
    return COUNTED.get(str(claim.get("counted")), ("row", "rows"))


def promise(claim: Mapping[str, Any]) -> str:
    """Return the promise about published columns, in one sentence.

    >>> promise({"columns": ["a", "b=1"], "origins": ["a", "b"], "model": "containment", "k": 5,
    ...          "target": "ill", "sensitive": [], "absent": ["b=1"],
    ...          "roles": {"presences": ["a"], "both": ["b"], "sensitive": [], "target": "ill",
    ...                    "target_known": True}})[:93]
    'An attacker who knows any things that a person has, what a person lacks of b, and the class o'
    """
    rows = (f"matching rows of at least {{}} different {counted(claim)[1]}"
            if claim.get("counted") else "at least {} matching rows")
    unknown = tuple(name for role, names in spoken(claim)
                    if role in (TARGET_UNKNOWN, SENSITIVE_OUT) for name in names)
    declared = (" The publisher declared, without a check, that no outsider knows "
                f"{_named(unknown)} of a person." if unknown else "")
    return (f"An attacker who knows {known(claim)}, among the {len(claim['columns']):,} columns, "
            f"finds {rows.format(claim['k'])}.{declared} This is not differential privacy, and "
            "does not protect against other knowledge.")


def known(claim: Mapping[str, Any]) -> str:
    """Return the knowledge of the attacker of the guarantee, as the object of "knows"."""
    by_role = dict(spoken(claim))
    both, presences = by_role.get(BOTH, ()), by_role.get(PRESENCES, ())
    parts = ["what a person has and lacks" if both and not presences
             else "any things that a person has"]
    if both and presences:
        parts.append(f"what a person lacks of {_named(both)}")
    if TARGET_KNOWN in by_role:
        parts.append(f"the class of a person ({by_role[TARGET_KNOWN][0]})")
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, and {parts[-1]}"


def describe_sizes(sizes: Mapping[int, int], k: int) -> dict[str, Any]:
    """Return a release's figures about groups: `sizes` counts the rows in groups of each size.

    The average probability to find a row is exact, and rounded up.

    >>> describe_sizes({1: 1, 3: 2}, 2)["bins"]
    [[1, 1, 1], [2, None, 2]]
    """
    rows = sum(sizes.values())
    share = sum(Fraction(count, size) for size, count in sizes.items()) / rows
    average = -int(-share * _PARTS // 1)
    starts = [1, k]
    power = 1
    while power <= max(sizes):
        starts += [start for start in (power, 2 * power, 5 * power) if k < start <= max(sizes)]
        power *= 10
    ends = [*(start - 1 for start in starts[1:]), None]
    return {
        "level": min(sizes), "alone": sizes.get(1, 0),
        "below": sum(count for size, count in sizes.items() if size < k),
        "average": f"{average // _PARTS}.{average % _PARTS:09d}",
        "bins": [[low, high, sum(count for size, count in sizes.items()
                                 if low <= size and (high is None or size <= high))]
                 for low, high in zip(starts, ends, strict=True)]}


def _named(names: Sequence[str]) -> str:
    """Join a few names for a sentence, or give the number of many."""
    texts = [name if name.isprintable() else quoted(name) for name in names]
    if len(texts) > _FEW:
        return f"{len(texts)} columns"
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
