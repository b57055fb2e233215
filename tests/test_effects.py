"""Laws of options: each has an effect, a word, a place in a release, and a check that knows it.

An option that some list by hand forgets would be taken, paid for, and do nothing.
"""

from __future__ import annotations

from dataclasses import fields

import pytest

import privsieve as ps
from every_method import COSTS, ESTIMATORS, Method
from privsieve.cli import regress, select, synthesize
from privsieve.cli.options import flag, method_options
from privsieve.errors import PrivsieveError
from privsieve.methods import METHODS, options_of
from privsieve.methods.choosing import Choosing
from privsieve.methods.histogram.noisy_histogram import CHOICE
from privsieve.public.option import PLACED, abouts

#: A value of each option that is not its default, and what it is given with.
VALUES = {
    "epsilon": ("0.5", {}), "allow_weak": (True, {"epsilon": 11}), "n_features_to_select": (3, {}),
    "delta": ("1e-6", {}), "ordered": (True, {}), "always": (["age"], {}),
    "never": (["age"], {}), "groups": ({"who": ["age", "stay"]}, {}),
    "fewer": ("auto", {}), "class_prior": ("0.5", {}), "depth": (1, {}), "joint": ("pair", {}),
    "numeric": ("median-cut", {}), "max_ops": (1, {}), "block": (4, {}), "repeats": (3, {}),
    "reference": (None, {}), "votes": ("clip", {}), "tau": ("0.3", {"votes": "clip"}),
    "score": ("class-counts", {}), "lam": ("0.5", {}), "clip": ("0.5", {}), "beta": ("0.5", {}),
    "kernel": ("cosine", {}), "gamma": ("0.5", {}), "degree": (2, {"kernel": "cosine"}),
    "features": (30, {}),
    "feature_seed": (3, {}), "columns": (["age"], {}), "bins": (3, {}), "target": (False, {}),
    "share": ("0.2", {}), "choice": ({"depth": 1}, {})}
#: What takes a table of its own, and is tried where it is at home.
ELSEWHERE = {"delta", "reference"}
#: Each option of each method.
OPTIONS = [(method, name) for method in METHODS for name in abouts(options_of(method))]


NUMBERS = [Method("rule-sieve", ps.RuleSieve, {"n_features_to_select": 2, "numeric": way}, COSTS)
           for way in ("auto", "ranks", "median-cut")]


def verified(estimator, known, place):
    """What `verify` says against the release of an estimator, fitted to its method's table."""
    frame = known.table()
    estimator.fit(frame[list(known.domain.names)], frame[known.domain.target.name])
    estimator.release_.save(place)
    return ps.verify(place).reasons


def plan_of(method, options):
    """What a plan is, or None where it is refused."""
    try:
        planned = method.plan(**options)
    except (PrivsieveError, ValueError):
        return None
    return planned.json(), planned.cost, planned.forecast


def test_every_option_is_tried():
    """A new option needs a value here."""
    assert {name for _, name in OPTIONS} == set(VALUES)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("method", "option"), [
    (method, option) for method, option in OPTIONS if option not in ELSEWHERE])
def test_an_option_has_an_effect_that_verifies(method, option, tmp_path):
    """Some plan of its method is another one with it, and the release of that plan is valid."""
    value, other = VALUES[option]
    for known in (estimator for estimator in ESTIMATORS if estimator.name == method):
        with_it = {**known.options, **other, option: value}
        planned = plan_of(known, with_it)
        if planned is not None and planned != plan_of(known, other):
            break
    else:
        pytest.fail("it is without effect, or refused, wherever it is given")

    assert () == verified(known.estimator(**with_it), known, tmp_path / "out")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("epsilon", ["0.2", "0.9"])
@pytest.mark.parametrize("method", [*ESTIMATORS, *NUMBERS], ids=repr)
def test_what_every_method_releases_is_valid(method, epsilon, tmp_path):
    """At a cost that no forecast includes by itself, too."""
    assert () == verified(method.estimator(epsilon=epsilon), method, tmp_path / "out")


@pytest.mark.parametrize(("method", "option"), OPTIONS)
def test_an_option_has_a_word(method, option):
    """On the command line it is the method's, or all verbs share it."""
    verbs = {word for verb in (select, regress, synthesize) for param in verb.command.params
             for word in param.opts}
    words = {option.name: option for option in method_options(method)}
    known = next(field for field in fields(options_of(method)) if field.name == option)

    assert option in words or option in ("max_ops", "choice")
    assert flag(known) in {*verbs, None} or words[option].opts == [flag(known)]


def test_lists_of_options_are_the_fields():
    """What a table lets a choice be asked, and what a choice is among, forget none."""
    own = set(abouts(options_of("rule-sieve"))) - set(abouts(Choosing))
    unsaid = {name for name, about in abouts(Choosing).items() if about.unsaid}

    assert own == set(CHOICE)
    assert unsaid == {*PLACED, "fewer"}
