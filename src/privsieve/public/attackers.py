"""Attackers: what a claim says that an outsider may know about a person, in words.

The guarantee, the page and the form all use these words.  `roles` of a claim name columns of the
table; the claimed columns are items made of them (`origins`, one for each).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from privsieve.public.canonical import quoted

#: How each role is called.
PRESENCES = "known, presences only"
BOTH = "known, presences and absences"
SENSITIVE = "sensitive, not published"
SENSITIVE_OUT = "sensitive, published, declared unknown"
TARGET_KNOWN = "target, published, known"
TARGET_UNKNOWN = "target, published, declared unknown"
TARGET_INSIDE = "target, not published"
#: What each attacker knows, by the key under which a release stores the measurement.
WHO = {
    "known": "what may be known of the columns",
    "known_class": "that and the class ({target})",
    "all": "all cells of a person",
    "all_class": "all cells and the class ({target})",
    "everything": "all that is published of a person",
}
#: What k counts, by the word of a claim (rows where it has none): the word for it, and for many.
COUNTED = {"sources": ("source", "sources"), "persons": ("person", "people")}
#: The same as what a publication protects.
UNITS = {"row": "one row of the table", "source": "one source of rows",
         "person": "one person, who may have any number of rows"}
#: So many names stand in a sentence; of more only the number.
_FEW = 6
#: Averages of chances have this many decimal parts.
_PARTS = 10**9


def spoken(claim: Mapping[str, Any]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each role that some column has, in words, and these columns.

    >>> spoken({"columns": ["a"], "origins": ["a"], "model": "containment", "target": "ill",
    ...         "sensitive": [], "roles": {"presences": ["a"], "both": [], "sensitive": [],
    ...                                    "target": "ill", "target_known": True}})
    (('known, presences only', ('a',)), ('target, published, known', ('ill',)))
    """
    roles = claim["roles"]
    used, out = set(claim["origins"]), claim["sensitive"]
    found = {
        PRESENCES: [name for name in roles["presences"] if name in used],
        BOTH: [name for name in roles["both"] if name in used],
        SENSITIVE_OUT: out,
        SENSITIVE: [name for name in roles["sensitive"] if name not in out],
    }
    if roles["target"] is not None:
        inside = claim["target"] is None
        said = TARGET_KNOWN if roles["target_known"] else TARGET_UNKNOWN
        found[TARGET_INSIDE if inside else said] = [roles["target"]]
    return tuple((role, tuple(names)) for role, names in found.items() if names)


def limits(claim: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The limits that every group keeps, in words, and digits of the claim."""
    asked, classes = claim["limits"], claim["l_diversity"]
    known = (("different values, at least", classes if classes > 1 else None),
             ("share of one value, at most", asked["share"]),
             ("entropy l, at least", asked["entropy"]),
             ("distance to the whole table, at most", asked["closeness"]))
    return [(words, str(limit)) for words, limit in known if limit is not None]


def counted(claim: Mapping[str, Any]) -> tuple[str, str]:
    """What k counts, and its plural.

    >>> counted({"counted": "persons"}), counted({})
    (('person', 'people'), ('row', 'rows'))
    """
    return COUNTED.get(str(claim.get("counted")), ("row", "rows"))


def promise(claim: Mapping[str, Any]) -> str:
    """What is promised of published columns, in one sentence.

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
    declared = (" It is declared, and was not checked, that no outsider knows "
                f"{_named(unknown)} of a person." if unknown else "")
    return (f"An attacker who knows {known(claim)}, among the {len(claim['columns']):,} columns, "
            f"finds {rows.format(claim['k'])}.{declared} This is not differential privacy, and "
            "does not protect against other knowledge.")


def known(claim: Mapping[str, Any]) -> str:
    """Return what the attacker of the guarantee may know, as the object of "knows"."""
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
    """Return what a release says of groups: `sizes` are the rows with a group of each size.

    The average chance that a row is found is exact, and rounded up.

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
    """Names in a sentence: all of few, else how many."""
    shown = [name if name.isprintable() else quoted(name) for name in names]
    if len(shown) > _FEW:
        return f"{len(shown)} columns"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
