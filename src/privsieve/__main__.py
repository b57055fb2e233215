"""The command `privsieve`, which is also `python -m privsieve`."""

from __future__ import annotations

import sys
from typing import NoReturn

from privsieve.cli import run


def main() -> NoReturn:
    """Run the command line and leave with its exit code."""
    sys.exit(run())


if __name__ == "__main__":
    main()
