"""Blocks: many column names in one word, such as `q01..q95` or `{sys,dia}_{1..3}`.

The names follow from the block alone.  A pattern such as `q*` would let the table decide which
columns are public, so domain files have none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, product

from privsieve.errors import DomainError
from privsieve.public.canonical import quoted

#: More names than a table may have columns are refused.
MOST = 100_000
#: Longer words are not read as blocks, and are refused as names.
_LONGEST = 1000
#: The shortest run that is written as a range.
_RUN = 3
_RANGE = r"(?s)(.*?)([0-9]{1,9})(\D*)\.\.\1([0-9]{1,9})\3"
_BRACES = r"\{([^{}]*)\}"


def expanded(pattern: str) -> list[str]:
    """Return the names of a word: the word itself, a range, or each combination of its braces.

    >>> expanded("q08..q11"), expanded("{sys,dia}_{1..2}"), expanded("a..b{c}")
    (['q08', 'q09', 'q10', 'q11'], ['sys_1', 'sys_2', 'dia_1', 'dia_2'], ['a..b{c}'])
    """
    if len(pattern) > _LONGEST:
        return [pattern]
    match = re.fullmatch(_RANGE, pattern)
    if match is not None:
        before, first, after, last = match.groups()
        return [f"{before}{number}{after}" for number in _counted(pattern, first, last)]
    pieces, many = [], 1
    for at, piece in enumerate(re.split(_BRACES, pattern)):
        ways = [piece] if at % 2 == 0 else _ways(pattern, piece)
        many *= len(ways)
        _check_many(pattern, many)
        pieces.append(ways)
    return ["".join(choice) for choice in product(*pieces)]


def names_of(block: object) -> list[str]:
    """Return all names of `names = ...`, which is a word or a list of words."""
    words = [block] if isinstance(block, str) else block
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise DomainError(f"names is {quoted(block)}; write a name, a range or a list of them, for "
                          'example names = ["age", "q01..q95"]')
    names = list(chain.from_iterable(map(expanded, words)))
    _check_many(str(words[0]), len(names))
    return names


def written(names: Sequence[str]) -> list[str] | None:
    """Return the words of a block for some names; None if one name would be read as a block.

    >>> written(["age", "q08", "q09", "q10", "q12"]), written(["a{1,2}"])
    (['age', 'q08..q10', 'q12'], None)
    """
    if any(expanded(name) != [name] for name in names):
        return None
    return [word for run in _runs(names) for word in (
        [f"{run[0]}..{run[-1]}"] if len(run) >= _RUN else run)]


def _runs(names: Sequence[str]) -> Iterator[list[str]]:
    """Yield runs of names that count up by one."""
    run: list[str] = []
    for name in names:
        if run and not _counts_up([*run, name]):
            yield run
            run = []
        run.append(name)
    if run:
        yield run


def _counts_up(run: Sequence[str]) -> bool:
    """Return whether the last name continues the range that begins with the first."""
    match = re.fullmatch(_RANGE, f"{run[0]}..{run[-1]}")
    if match is None:
        return False
    return match[4] == str(int(match[2]) + len(run) - 1).zfill(len(match[2]))


def _counted(pattern: str, first: str, last: str) -> list[str]:
    """Return the numbers of a range, padded to the width of the first."""
    low, high = int(first), int(last)
    if low > high:
        raise DomainError(f"the range {quoted(pattern)} counts down; write the smaller number "
                          "first")
    _check_many(pattern, high - low + 1)
    return [str(number).zfill(len(first)) for number in range(low, high + 1)]


def _ways(pattern: str, inside: str) -> list[str]:
    """Return the texts that a brace can become; the brace itself if it offers no choice."""
    numbers = re.fullmatch(r"([0-9]{1,9})\.\.([0-9]{1,9})", inside)
    if numbers is not None:
        return _counted(pattern, *numbers.groups())
    return inside.split(",") if "," in inside else ["{" + inside + "}"]


def _check_many(pattern: str, many: int) -> None:
    if many > MOST:
        raise DomainError(f"the block {quoted(pattern)} has more than {MOST} names; write fewer")
