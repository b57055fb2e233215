"""Acro: a release as an output that the SACRO viewer lists, for who checks what leaves a TRE.

The form of results.json is that of ACRO 0.4.11 (`Records.finalise_json`): one output, of the type
"custom", to be reviewed.  The viewer opens a copy of the folder with this file in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from privsieve.public.plan import sentence
from privsieve.report.officer import what
from privsieve.report.page import clean, clean_sentence

#: The version whose form this is; the viewer takes it and later ones.
VERSION = "0.4.11"
#: Of a release without a ledger nothing says when it was made.
_NO_TIME = "1970-01-01T00:00:00"


def results(release: Mapping[str, Any], certificate: Mapping[str, Any], files: Iterable[str],
            unchecked: Iterable[str] = ()) -> bytes:
    """results.json of one folder: the names of what was checked in it, and of what was not."""
    claim, uid = certificate["claim"], f"privsieve-{certificate['release_sha256'][:12]}"
    made = (certificate["ledger"] or {}).get("reserved_at")
    method = claim.get("mechanism", claim.get("model"))
    checked = ("Checked by privsieve verify when this file was made; what it cannot check stands "
               "in the officer's form (privsieve export officer)")
    output = {
        "uid": uid, "status": "review", "type": "custom", "properties": {},
        "files": [{"name": name, "sdc": {}} for name in sorted(files)],
        "outcome": {}, "command": f"privsieve: {clean(method)}",
        "summary": f"review; {what(release, claim)}",
        "timestamp": clean(made).removesuffix("Z") if made else _NO_TIME,
        "comments": [clean_sentence(sentence(certificate)), checked, *(
            f"Not checked, and not listed: {clean(name)}" for name in unchecked)],
        "exception": ""}
    said = {"version": VERSION, "results": {uid: output}}
    return f"{json.dumps(said, indent=4)}\n".encode()
