"""Waiting: for what others put into the folder of a study, till the last round is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep

import click

from privsieve.cli import INTERRUPTED, words
from privsieve.cli.progress import shown
from privsieve.errors import ParameterError

#: Seconds between two looks, and till nobody is expected any more: a day.
PAUSE, LONGEST = 1.0, 86_400.0

#: Of `sum add` and `combine add`.
all_rounds = click.option(
    "--all-rounds", is_flag=True,
    help="Wait for each next round, a day at most, and go on till the last one. Ctrl-C ends it, "
         "and the same command goes on.")


def wait(there: Callable[[], bool], what: str) -> None:
    """Look for it again and again.

    >>> wait(lambda: True, "nothing")
    """
    end = monotonic() + LONGEST
    with shown() as progress:
        progress.stage(f"waiting for {what}")
        while not there():
            if monotonic() > end:
                raise ParameterError(f"{what} did not come within a day; what was sent and charged "
                                     "stands, and the same command goes on")
            sleep(PAUSE)


@contextmanager
def stopped_by_hand() -> Iterator[None]:
    """Ctrl-C ends it without a word about what was charged: a round before may have been."""
    try:
        yield
    except KeyboardInterrupt:
        words.say("stopped", "what was sent and charged stands; the same command goes on")
        raise click.exceptions.Exit(INTERRUPTED) from None
