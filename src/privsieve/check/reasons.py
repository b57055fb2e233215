"""Reasons: sentences that say why a claim does not hold, without quoting a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


class Unreadable(Exception):
    """A file in a wrong form; the text says what is wrong without quoting the file."""


def failed(checks: Mapping[str, bool]) -> Iterator[str]:
    """Yield the texts of the checks that failed.

    >>> list(failed({"it is late": True, "it rains": False}))
    ['it rains']
    """
    return (reason for reason, holds in checks.items() if not holds)
