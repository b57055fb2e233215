"""One way to write JSON, so that a digest means the same everywhere.

RFC 8785 for the values that we allow: strings, integers, booleans, null, lists, objects.
Floats are refused: their canonical form is where implementations differ.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from privsieve.public.shown import quoted

Json = str | int | bool | None | Sequence["Json"] | Mapping[str, "Json"]

#: RFC 8785 numbers are doubles; larger integers would not survive a reader in another language.
LARGEST = 2**53 - 1
#: What we write is nested less than a dozen times.
LARGEST_DEPTH = 64


def canonical(value: Json) -> bytes:
    """The RFC 8785 form of a value.

    >>> canonical({"b": [1, None], "a": "ä"}).decode()
    '{"a":"ä","b":[1,null]}'
    """
    try:
        return _write(value).encode("utf-8")  # a lone surrogate has no form: UnicodeEncodeError
    except RecursionError:
        raise TypeError("it is nested too deeply for a canonical form") from None


def parsed(data: bytes | str) -> Any:
    """The value of a JSON text of ours; ValueError where it has no canonical form.

    >>> parsed(b'{"a": [1, null]}')
    {'a': [1, None]}
    """
    text = data.decode("utf-8") if isinstance(data, bytes) else data
    try:
        found = json.loads(text, parse_int=_integer, parse_float=_float, parse_constant=_float)
        level = [found]
        for _ in range(LARGEST_DEPTH):
            level = [part for one in level if isinstance(one, list | dict)
                     for part in (one.values() if isinstance(one, dict) else one)]
    except RecursionError:
        level = [None]
    if level:
        raise ValueError("it is nested too deeply")
    if "\\u" in text:
        canonical(found)  # half a character can be written as an escape alone
    return found


def _integer(text: str) -> int:
    if len(text) > 17 or abs(int(text)) > LARGEST:
        raise ValueError("a number is beyond 2**53 - 1")
    return int(text)


def _float(_text: str) -> float:
    raise ValueError("a number is no integer")


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
            raise TypeError(f"{quoted(value)} is beyond 2**53 - 1; write it as a string")
        return str(value)
    if isinstance(value, Mapping):
        # RFC 8785 sorts by UTF-16 code units.
        keys = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{_write(key)}:{_write(value[key])}" for key in keys) + "}"
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return "[" + ",".join(_write(item) for item in value) + "]"
    raise TypeError(f"{type(value).__name__} has no canonical form; use a string or an integer")
