"""Reasons: sentences that say why something does not hold, and quote nothing of a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


class Unreadable(Exception):
    """A file that is not what it should be; its text says what is wrong, and quotes nothing."""


def failed(checks: Mapping[str, bool]) -> Iterator[str]:
    """The reasons that do not hold.

    >>> list(failed({"it is late": True, "it rains": False}))
    ['it rains']
    """
    return (reason for reason, holds in checks.items() if not holds)
