"""Entries: whether what a certificate says is what its ledger's entries hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privsieve.public.canonical import canonical, link


def bound(known: Mapping[str, Any], kind: str, content: Mapping[str, Any]) -> bool:
    """Whether a ledger's entry of this content has the hash that a certificate knows of it."""
    payload = canonical({**content, "kind": kind, "seq": known["seq"]})
    try:
        return bool(link(known["prev"], payload) == known["hash"])
    except ValueError:  # prev is no hash
        return False
