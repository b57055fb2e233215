"""Faults of a machine: system calls and statements that fail, one of them or all from one on."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import contextmanager

CALLS = ("open", "write", "fsync", "rename", "unlink", "mkdir", "rmdir")
#: What a full disk refuses.
WRITES = ("write", "mkdir", "INSERT", "UPDATE", "COMMIT")
#: How a call fails: without its effect, after its effect; or all from this one on fail: those that
#: need room, or every one.
HOW = ("before", "after", "full", "gone")


class Machine:
    """A machine on which call number `at` fails; it counts the calls and keeps their names."""

    def __init__(self, at=None, how="before"):
        self.at, self.how, self.names = at, how, []

    def fails(self, name, creates):
        """Whether the next call fails."""
        self.names.append(name)
        number = len(self.names) - 1
        if self.at is None or self.how in ("before", "after", "kill"):
            return number == self.at
        if self.how == "full" and not (name in WRITES or (name == "open" and creates)):
            return False
        return number >= self.at

    def does(self, name, call, error, creates=False):
        """Do a call, or fail."""
        if not self.fails(name, creates):
            return call()
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "after":
            call()
        raise error


def _system(machine, name):
    real = getattr(os, name)

    def call(*args, **options):
        creates = name == "open" and bool(args[1] & os.O_CREAT)
        return machine.does(name, lambda: real(*args, **options), OSError(28, "no space"), creates)

    return call


def _database(machine):
    class Connection(sqlite3.Connection):
        def execute(self, statement, *arguments):
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR
            word = statement.split()[0]
            return machine.does(word, lambda: super(Connection, self).execute(statement,
                                                                              *arguments),
                                error)

    def connect(*args, **options):
        return real(*args, **{"factory": Connection, **options})

    real = sqlite3.connect
    return connect


@contextmanager
def faulty(monkeypatch, machine):
    """The system as this machine has it."""
    with monkeypatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, _system(machine, name))
        patch.setattr(sqlite3, "connect", _database(machine))
        yield machine
