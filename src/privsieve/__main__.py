"""The command `privsieve`, which is also `python -m privsieve`."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from contextlib import suppress
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and leave with its exit code."""
    # What is imported stays: to look through it again and again is time.
    gc.set_threshold(100_000)
    codes: list[int] = []
    atexit.register(_end, codes)  # first in, last out: all others have ended before
    from privsieve.cli import run

    codes.append(run())
    sys.exit(codes[0])


def _end(codes: list[int]) -> None:
    """Leave at once: Python need not take apart piece by piece what goes with the process."""
    if codes:
        with suppress(OSError, ValueError):  # what cannot be written Python says as ever
            for stream in filter(None, (sys.stdout, sys.stderr)):
                stream.flush()
            os._exit(codes[0])


if __name__ == "__main__":
    main()
