"""Blocks: many names said in one, as in `q01..q95` or `{sys,dia}_{1..3}`, and said so again.

What a block means is read off the block alone.  A pattern that took whatever the table happens to
hold (`q*`) would let the file decide what is public; so there is none in a domain file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, product

from privsieve.errors import DomainError
from privsieve.public.canonical import quoted

#: More names than a table may have columns are refused.
MOST = 100_000
#: A longer word is no block; as a name it is refused.
_LONGEST = 1000
#: A run of fewer names is shorter, or clearer, name by name.
_RUN = 3
_RANGE = r"(?s)(.*?)([0-9]{1,9})(\D*)\.\.\1([0-9]{1,9})\3"
_BRACES = r"\{([^{}]*)\}"


def expanded(pattern: str) -> list[str]:
    """The names that a word says: itself, a range, or each way through its braces.

    >>> expanded("q08..q11"), expanded("{sys,dia}_{1..2}"), expanded("a..b{c}")
    (['q08', 'q09', 'q10', 'q11'], ['sys_1', 'sys_2', 'dia_1', 'dia_2'], ['a..b{c}'])
    """
    if len(pattern) > _LONGEST:
        return [pattern]
    found = re.fullmatch(_RANGE, pattern)
    if found is not None:
        before, first, after, last = found.groups()
        return [f"{before}{number}{after}" for number in _counted(pattern, first, last)]
    pieces, many = [], 1
    for at, piece in enumerate(re.split(_BRACES, pattern)):
        ways = [piece] if at % 2 == 0 else _ways(pattern, piece)
        many *= len(ways)
        _check_many(pattern, many)
        pieces.append(ways)
    return ["".join(one) for one in product(*pieces)]


def names_of(block: object) -> list[str]:
    """All names of `names = ...`, which is a word or a list of words."""
    words = [block] if isinstance(block, str) else block
    if not isinstance(words, list) or not words or not all(isinstance(one, str) for one in words):
        raise DomainError(f"names is {quoted(block)}; write a name, a range or a list of them, for "
                          'example names = ["age", "q01..q95"]')
    found = list(chain.from_iterable(map(expanded, words)))
    _check_many(str(words[0]), len(found))
    return found


def written(names: Sequence[str]) -> list[str] | None:
    """The words of a block that says these names; None where a name alone would say others.

    >>> written(["age", "q08", "q09", "q10", "q12"]), written(["a{1,2}"])
    (['age', 'q08..q10', 'q12'], None)
    """
    if any(expanded(name) != [name] for name in names):
        return None
    return [word for run in _runs(names) for word in (
        [f"{run[0]}..{run[-1]}"] if len(run) >= _RUN else run)]


def _runs(names: Sequence[str]) -> Iterator[list[str]]:
    """The names, cut where the next one does not count on."""
    run: list[str] = []
    for name in names:
        if run and not _says([*run, name]):
            yield run
            run = []
        run.append(name)
    if run:
        yield run


def _says(run: Sequence[str]) -> bool:
    """Whether the last name counts on in the range that begins with the first."""
    found = re.fullmatch(_RANGE, f"{run[0]}..{run[-1]}")
    return found is not None and found[4] == str(int(found[2]) + len(run) - 1).zfill(len(found[2]))


def _counted(pattern: str, first: str, last: str) -> list[str]:
    """The numbers of a range, as wide as the first."""
    low, high = int(first), int(last)
    if low > high:
        raise DomainError(f"the range {quoted(pattern)} runs down; write the smaller number first")
    _check_many(pattern, high - low + 1)
    return [str(number).zfill(len(first)) for number in range(low, high + 1)]


def _ways(pattern: str, inside: str) -> list[str]:
    """What may stand in the place of a brace; itself where it offers no choice."""
    numbers = re.fullmatch(r"([0-9]{1,9})\.\.([0-9]{1,9})", inside)
    if numbers is not None:
        return _counted(pattern, *numbers.groups())
    return inside.split(",") if "," in inside else ["{" + inside + "}"]


def _check_many(pattern: str, many: int) -> None:
    if many > MOST:
        raise DomainError(f"the block {quoted(pattern)} says more than {MOST} names")
