"""The net: digests of what a user sees of each method and verb, with noise that repeats itself.

A change of the code that is not meant to change what users see leaves them as they are.  After a
change on purpose, `python tests/net.py` writes them again and names what changed: the names go into
the commit.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace
from io import BytesIO, TextIOWrapper
from itertools import product
from pathlib import Path
from unittest import mock

from every_method import CHARGING, ROWS
from privsieve import __version__
from privsieve.cli import run
from privsieve.errors import PrivsieveError
from privsieve.fit import SOFTWARE, fit
from privsieve.ledger.chain import certificate
from privsieve.noise import streams
from privsieve.public.canonical import canonical, digest
from privsieve.public.plan import terms
from privsieve.release import Release
from privsieve.report import html
from privsieve.rows import open_source

FILE = Path(__file__).parent / "golden" / "net.json"
UNITS = ("row", "person")
NEIGHBOURS = ("replace-one", "add-remove")
#: Their numbers are solved in doubles, to a certified error: other machines may round otherwise.
SOLVED = ("output-fwell", "objective-fwell", "felp", "kernel-ridge", "kernel-ridge-session")
#: What differs from run to run: digests and names that are drawn, times, versions.
DRAWN = re.compile(r"sha256:[0-9a-f]{8,}|[0-9a-f]{64}|[0-9a-f]{32}|[A-Za-z0-9+/=]{40,}"
                   r"|\d{4}-\d\d-\d\dT[\d:.+]+Z?|\b" + re.escape(__version__) + r"\b")


class Replayed(streams.Noise):
    """Noise that repeats itself and looks like the system's, so that a release is whole."""

    __slots__ = ("_source",)

    def __init__(self, seed):
        self._source = streams.replay(seed)

    def bytes(self, count):
        """The next bytes."""
        return self._source.bytes(count)


#: Replaces the source of noise: each release begins anew.
REPLAYED = mock.Mock(side_effect=lambda: Replayed(7))


def short(text, *, solved=False):
    """Twelve digits of the digest of a text, without what is drawn or solved."""
    text = DRAWN.sub("*", text)
    if solved:
        text = re.sub(r"-?\d[\d.,e+-]*", "#", text)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def name_of(method):
    """A method with its options, in words."""
    return " ".join([method.name, *(f"{key}={value}" for key, value in method.options.items()),
                     "of a number" if method.numbers else ""]).strip()


def domain_of(method, unit, neighbours):
    """The ward of a method, with this unit and these neighbours."""
    options = {"person": "id", "rows_per_person": 2,
               "persons": ROWS // 2} if unit == "person" else {}
    if neighbours == "add-remove" and unit == "row":
        options["rows"] = ROWS
    return replace(method.domain, neighbours=neighbours, **options)


def of_method(method, unit, neighbours):
    """The digest of each thing that is seen of one release, or of its refusal."""
    try:
        table = method.table().assign(id=[f"p{i // 2}" for i in range(ROWS)])
        domain = domain_of(method, unit, neighbours)
        columns = [*domain.names, *(["id"] if domain.person else [])]
        X, y = table[columns], table[domain.target.name]
        with mock.patch.object(streams, "system", REPLAYED):
            if method.name == "kernel-ridge-session":
                release = method.estimator(domain=domain).fit(X, y).release_
                texts = {"release": canonical(release.body).decode(), "repr": repr(release)}
                return {key: short(text, solved=True) for key, text in texts.items()}
            plan = method.estimator(domain=domain).plan(rows=ROWS)
            body = fit(plan, open_source(X, y)).body
    except PrivsieveError as error:
        return {"refused": short(str(error))}
    signed = certificate(terms(plan, SOFTWARE), digest(canonical(body)))
    release, solved = Release(body, signed), method.name in SOLVED
    texts = {"release": canonical(body).decode(), "certificate": canonical(signed).decode(),
             "page": html(body, signed).decode(), "repr": repr(release),
             "notebook": release._repr_html_(), "plan": repr(plan)}
    return {key: short(text, solved=solved) for key, text in texts.items()}


def methods():
    """Every case of a method, by its name."""
    return {f"{name_of(method)}, {unit}, {neighbours}": (method, unit, neighbours)
            for method, unit, neighbours in product(CHARGING, UNITS, NEIGHBOURS)}


@contextmanager
def inside(folder):
    """Work in a folder."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def written(stream):
    """What was written to a stream of text."""
    stream.flush()
    return stream.buffer.getvalue().decode()


def of_verbs(folder):
    """The digests of exit code, stdout and stderr of a call of each verb, as text and as JSON."""
    from test_terminal import CALLS, filled

    digests = {}
    for form, options in (("text", ()), ("json", ("--json",))):
        place = Path(folder) / form
        place.mkdir()
        filled(place)
        with inside(place), mock.patch.object(streams, "system", REPLAYED):
            for call in CALLS:
                if call[0] in ("doctor", "audit", "explore"):
                    continue
                out, err = (TextIOWrapper(BytesIO(), "utf-8", newline="") for _ in range(2))
                with redirect_stdout(out), redirect_stderr(err):
                    code = run([*call, *options])
                # What is drawn beyond the release: rows of a table, keys, attacks.
                solved = call[0] in ("regress", "predict", "synthesize", "key", "publish", "check",
                                     "bridge", "union")
                digests[f"privsieve {' '.join(map(str, call))}, {form}"] = {
                    "code": str(code), "out": short(written(out), solved=solved),
                    "err": short(written(err), solved=solved)}
    return digests


def cast(folder):
    """All digests, by case."""
    return {**{name: of_method(*case) for name, case in methods().items()}, **of_verbs(folder)}


def changes(before, now):
    """The names of what differs: a case and a thing each."""
    return sorted(f"{case}: {digest}" for case in {**before, **now}
                  for digest in {**before.get(case, {}), **now.get(case, {})}
                  if before.get(case, {}).get(digest) != now.get(case, {}).get(digest))


def read():
    """The digests as they were written."""
    return json.loads(FILE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        now = cast(folder)
    print(*changes(read() if FILE.exists() else {}, now), sep="\n", file=sys.stderr)
    FILE.write_text(json.dumps(now, indent=0, sort_keys=True) + "\n", encoding="utf-8")
