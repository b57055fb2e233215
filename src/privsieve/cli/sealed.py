"""Sealed: what a machine must not let out while a process holds rows."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from privsieve.errors import ReleaseFailed


class Seal:
    """Ctrl-C, held while its outcome would be in doubt: whether the charge was made."""

    def __init__(self) -> None:
        self._obeyed = signal.getsignal(signal.SIGINT)
        self.hold()

    def hold(self) -> None:
        """Ignore Ctrl-C: the charge is being made, or its release is being shown."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def allow(self) -> None:
        """Obey Ctrl-C: it is known whether the charge was made."""
        signal.signal(signal.SIGINT, self._obeyed)


@contextmanager
def sealed() -> Iterator[Seal]:
    """No core dump, no traceback, and no Ctrl-C of which nobody knows what it cost."""
    _no_core()
    seal = Seal()
    hooks = sys.excepthook, sys.unraisablehook
    sys.excepthook = sys.unraisablehook = _constant
    try:
        yield seal
    finally:
        seal.allow()
        sys.excepthook, sys.unraisablehook = hooks


def _no_core() -> None:
    with suppress(ImportError, OSError, ValueError):
        import resource  # not on every system

        _soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))


def _constant(*_error: object) -> None:
    """What an error that nobody catches may say: nothing of its own."""
    sys.stderr.write(f"privsieve: {ReleaseFailed()}\n")
