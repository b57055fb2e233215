"""Memory: where a session holds what it knows of the rows, and nowhere else."""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, NamedTuple, NoReturn
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from privsieve.methods.ridge.gram import Doubles


class Model(NamedTuple):
    """Rows as points, and the coefficients of the function: private."""

    points: Doubles
    c: Doubles

    def __repr__(self) -> str:
        return object.__repr__(self)  # its fields are private


class Memory:
    """What a session knows of the rows; it stays in one process and is forgotten.

    keeps : whether rows that are met are remembered: not after `forget`, nor for a plan alone
    whole : of each released function the whitened numbers without noise
    """

    __slots__ = ("keeps", "lock", "model", "process", "whole")

    def __init__(self, *, keeps: bool = True) -> None:
        self.keeps = keeps
        self.model: Model | None = None
        self.whole: WeakKeyDictionary[object, Doubles] = WeakKeyDictionary()
        self.lock = threading.Lock()
        self.process = os.getpid()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a session's memory holds rows; it is neither copied nor pickled")

    @property
    def open(self) -> bool:
        """Whether rows may be asked: not after `forget`, and not in another process."""
        return self.model is not None and self.process == os.getpid()

    @property
    def turn(self) -> AbstractContextManager[object]:
        """One thread at a time; a lock that was held at a fork would stay so in the child."""
        return self.lock if self.process == os.getpid() else nullcontext()

    def learn(self, model: Model) -> Model:
        """Remember, unless that is over; of two threads that solved, the first one's holds."""
        with self.turn:
            if self.model is None and self.keeps:
                self.model = model
            return self.model or model

    def forget(self) -> None:
        """Forget the rows, for good."""
        with self.turn:
            self.keeps, self.model = False, None
            self.whole.clear()
