"""Extras: parts that most users do not need, each in a folder with its tests and its page.

The core imports none of them; `privsieve.entries` says where each begins.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from privsieve.errors import ParameterError


def library(name: str, extra: str, purpose: str) -> Any:
    """Import a library that an extra needs, or say how to install it.

    >>> library("no_such_library", "spark", "a Spark frame")
    Traceback (most recent call last):
    privsieve.errors.ParameterError: a Spark frame needs no_such_library, which is not installed: \
pip install "privsieve[spark]"
    """
    try:
        return import_module(name)
    except ImportError:
        raise ParameterError(f"{purpose} needs {name}, which is not installed: pip install "
                             f'"privsieve[{extra}]"') from None
