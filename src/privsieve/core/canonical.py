"""One way to write JSON, so that a digest means the same everywhere.

RFC 8785 for the values that we allow: strings, integers, booleans, null, lists, objects.
Floats are refused: their canonical form is where implementations differ.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

Json = str | int | bool | None | Sequence["Json"] | Mapping[str, "Json"]

#: RFC 8785 numbers are doubles; larger integers would not survive a reader in another language.
LARGEST = 2**53 - 1


def canonical(value: Json) -> bytes:
    """The RFC 8785 form of a value.

    >>> canonical({"b": [1, None], "a": "ä"}).decode()
    '{"a":"ä","b":[1,null]}'
    """
    return _write(value).encode("utf-8")  # a lone surrogate has no form: UnicodeEncodeError


def digest(data: bytes) -> str:
    """SHA-256 in lower-case hexadecimal.

    >>> digest(b"")[:8]
    'e3b0c442'
    """
    return hashlib.sha256(data).hexdigest()


def _write(value: Json) -> str:
    if value is None or isinstance(value, (bool, str)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        if abs(value) > LARGEST:
            raise TypeError(f"{value} is beyond 2**53 - 1; write it as a string")
        return str(value)
    if isinstance(value, Mapping):
        # RFC 8785 sorts by UTF-16 code units.
        keys = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{_write(key)}:{_write(value[key])}" for key in keys) + "}"
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return "[" + ",".join(_write(item) for item in value) + "]"
    raise TypeError(f"{type(value).__name__} has no canonical form; use a string or an integer")
