"""A forger who knows the format: after each edit he makes all copies, digests and hashes fit.

What a file says twice is edited in both places, so that only what it means can give him away.
"""

from __future__ import annotations

import contextlib
import copy
from fractions import Fraction

from privsieve.public.canonical import EPSILON_UNITS, RHO_UNITS, canonical, decimal, digest, link


class Forger:
    """A release, its certificate, and what he has made of both."""

    def __init__(self, release, certificate):
        self.true = {"release": release, "certificate": certificate}

    def edited(self, act, which, path, value=None):
        """One edit, refitted; None where nothing is left of it."""
        body = copy.deepcopy(self.true)
        try:
            act(body[which], path, copy.deepcopy(value))  # of another folder: that one stays true
        except (TypeError, KeyError, IndexError):
            return None
        with contextlib.suppress(Exception):  # what cannot be made to fit stays as it is
            refit(body["release"], body["certificate"], which, path)
        return None if same(body, self.true) else body


def same(value, other):
    """Whether two values are the same JSON."""
    return repr(_sorted(value)) == repr(_sorted(other))


def _sorted(value):
    if isinstance(value, dict):
        return sorted((str(key), _sorted(single_value)) for key, single_value in value.items())
    return [_sorted(single_value)
            for single_value in value] if isinstance(value, list | tuple) else value


def refit(release, signed, which, path):
    """Make copies, digests and hashes fit an edit of one of the two files."""
    head = path[0] if path else None
    if which == "release" and head == "plan":
        signed["plan"] = release["plan"]
    elif head == "plan":
        release["plan"] = signed["plan"]
    plan, claim = signed["plan"], signed["claim"]
    if which == "certificate" and head == "claim":
        for name, other in (("epsilon", "epsilon"), ("delta", "delta"), ("mechanism", "method")):
            if name in claim and other in plan:
                plan[other] = release["plan"][other] = claim[name]
    if "epsilon" in plan and "epsilon" in claim:
        claim |= {"epsilon": plan["epsilon"], "delta": plan["delta"], "mechanism": plan["method"]}
        if path != ("claim", "account"):
            claim["account"] = "pure" if plan["delta"] == "0" else "approximate"
    if "noise" in release and "noise_each" in release.get("forecast", ()):
        if path == ("forecast", "noise_each"):
            release["noise"]["each"] = release["forecast"]["noise_each"]
        else:
            release["forecast"]["noise_each"] = release["noise"]["each"]
    if "domain" in release and path != ("domain_sha256",):
        signed["domain_sha256"] = digest(canonical(release["domain"]))
    if path != ("release_sha256",):
        signed["release_sha256"] = digest(canonical(release))
    if signed["ledger"] is not None and head != "ledger":
        _recharge(signed)
    if signed["ledger"] is not None:
        rehash(signed)


def _recharge(signed):
    """The charge as the ledger's own arithmetic would have it, where the factor is 1."""
    known, claim = signed["ledger"], signed["claim"]
    if "charged" not in known or known["charged"]["factor"] != "1":
        return
    known["charged"] |= {"epsilon": claim["epsilon"], "delta": claim["delta"],
                         "neighbours": claim["neighbours"]}
    if claim["delta"] == "0":
        units = -(-Fraction(claim["epsilon"])**2 * RHO_UNITS // 2)
        known["rho"] = known["charged"]["rho"] = decimal(units, RHO_UNITS)


def rehash(signed):
    """Write the hashes of the ledger's entries anew."""
    known = signed["ledger"]
    common = {"population": signed["population"]}
    if "publish" in known:
        claim = signed["claim"]
        entries = {"publish": {
            **common, "snapshot": known["snapshot"], "columns": claim["columns"], "k": claim["k"],
            "model": claim["model"],
            "claim": {**claim, "release_sha256": signed["release_sha256"]}}}
    else:
        common["request"] = known["request"]
        terms = {name: signed[name] for name in ("claim", "plan", "domain_sha256", "software")}
        entries = {
            "reserve": {**common, "units": int(Fraction(signed["claim"]["epsilon"])
                                               * EPSILON_UNITS),
                        "delta": signed["claim"]["delta"], "claim": terms,
                        "reserved_at": known["reserved_at"],
                        **{name: known[name] for name in ("rho", "charged") if name in known}},
            "commit": {**common, "release_sha256": signed["release_sha256"]}}
    for kind, content in entries.items():
        place = known[kind]
        if kind == "commit" and place["seq"] == known["reserve"]["seq"] + 1:
            place["prev"] = known["reserve"]["hash"]
        place["hash"] = link(place["prev"], canonical(
            {**content, "kind": kind, "seq": place["seq"]}))
        known["head"] = place["hash"]


# --- edits --------------------------------------------------------------------------------------

def at(body, path):
    """The value at a path."""
    for step in path:
        body = body[step]
    return body


def put(body, path, value):
    """Another value."""
    at(body, path[:-1])[path[-1]] = value


def drop(body, path, _):
    """Nothing."""
    del at(body, path[:-1])[path[-1]]


def add(body, path, value):
    """A field that nobody declared, or one part more."""
    here = at(body, path)
    if isinstance(here, dict):
        here["rows"] = here["more"] = value
    elif isinstance(here, list):
        here.append(copy.deepcopy(here[-1]) if here else value)
    else:
        raise TypeError


def swap(body, path, place):
    """Two neighbours of a list change places."""
    here = at(body, path)
    here[place], here[place + 1] = here[place + 1], here[place]


def others(value):
    """Other values of the same type, and of other types."""
    if isinstance(value, bool):
        return [not value, None, "x"]
    if isinstance(value, int):
        return [value + 1, value - 1, -5, 2**53 - 1, str(value), True, 10**400]
    if value is None:
        return ["x", 0, False]
    if isinstance(value, str):
        return [*_texts(value), "", "x" * 600, "a\x1b[31m", None, 7, [value]]
    return [None, "x", 3, {} if isinstance(value, list) else []]


def _texts(value):
    texts = [value + "0", value[:-1], value.upper(), "anything"]
    try:
        number = Fraction(value)
    except (ValueError, ZeroDivisionError):
        return texts
    if number.denominator == 1 and "." not in value:
        return [*texts, str(int(number) + 1), str(2 * int(number)), "5000"]
    return [*texts, f"{float(number) * 2:g}", f"{float(number) / 8:g}", "5000",
            value[:-1] + str((int(value[-1]) + 1) % 10)]


def edits(release, certificate, spots):
    """Every single edit of both files: what is done, which file, where, and the value."""
    for which, body in (("release", release), ("certificate", certificate)):
        for path in spots(body):
            value = at(body, path)
            if path:
                yield drop, which, path, None
                for other in others(value):
                    yield put, which, path, other
            if isinstance(value, dict | list):
                yield add, which, path, [["a", "row"], [3, 4]]
            if isinstance(value, list):
                for place in range(min(len(value), 4) - 1):
                    yield swap, which, path, place
