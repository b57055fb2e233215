"""Law: what users see changes on purpose only."""

from __future__ import annotations

import warnings

import pytest

import net


@pytest.mark.parametrize("name", net.methods())
def test_what_is_seen_of_a_method_is_as_it_was(name):
    """Release, certificate, page and texts of a method have their digests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        now = net.of_method(*net.methods()[name])

    assert [] == net.changes({name: net.read().get(name, {})}, {name: now})


def test_what_is_seen_of_a_verb_is_as_it_was(tmp_path):
    """Exit code, stdout and stderr of a call of each verb have their digests."""
    now = net.of_verbs(tmp_path)
    before = {name: known for name, known in net.read().items() if name in now}

    assert [] == net.changes(before, now)


def test_the_net_holds_what_there_is():
    """No digest is left of a method that is gone."""
    verbs = {name for name in net.read() if name.startswith("privsieve ")}

    assert set(net.methods()) == set(net.read()) - verbs


def test_a_change_is_seen():
    """A text that differs in one word has another digest; one that differs in what is drawn not."""
    drawn = f"sha256:{'0' * 64} at 2026-01-01T00:00:00Z"

    assert net.short("a release") != net.short("a Release")
    assert net.short(drawn) == net.short(drawn.replace("0", "1"))
