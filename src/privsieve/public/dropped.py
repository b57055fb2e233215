"""Dropped: options, verbs and names that were removed, each with its replacement.

docs/decisions/030 gives the reasons.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SITES = ("releases of several sites are gone: put their tables together with a database, or make "
          "one release at each site")
_TUNING = ("private tuning is gone: name one method, which has few options; docs/"
           "choosing-a-method.md says which one fits")
_ROTATION = ("statements that one key takes the place of another are gone: revoke the old key, and "
             "tell those who check the fingerprint of the new one")
_TARGETS = ("one choice for several targets is gone: make one release for each target, for a share "
            "of epsilon each")
_PRICES = ("costs of columns and a price are gone: say how many columns to choose (k, or --top), "
           "and name those that are too dear with never")
_BESIDE = ("counts and figures beside a choice are gone: release the table of the chosen columns "
           "by class (NoisyHistogram(n_features_to_select=k), or privsieve synthesize --top K), "
           "which chooses and counts in one charge")
_FRACTION = "--fraction is gone: --top takes a fraction of the columns, too, such as --top 0.1"
_NOISE = ("Laplace noise of a choice is gone: leave the option out, and the noise is exponential, "
          "which finds as many columns")
_SCORE = ('the scores "disagreement" and "mutual-information" are gone: write '
          'score="class-counts", which sees the same columns under both kinds of neighbours')
_BOOTSTRAP = ("samples drawn with repetition are gone: leave the option out; as printed, they are "
              "experiments/papers/felp.py, which is not private")
_AVERAGE = ('averages over classes are gone: write class_prior="centred", or "auto", which centres '
            "more than two classes")
_SPREAD = ('cuts at a noisy spread are gone: write numeric="median-cut", which sees what moves the '
           "middle of a target, and not what only spreads it")
_DUPLICATES = ("near-duplicates are not searched for any more: say whose row each is (sources=, "
               "--source)")
_ANYWAY = ("anyway is gone: what inspect says stops no fit any more, so leave it out (select, "
           "regress and synthesize take --anyway where a forecast warns)")
_EXPLORE = "the page of what each k costs is a verb: privsieve explore DATA --out FILE"
_BRIDGE = "a table for another tool is a verb: privsieve bridge sdcmicro DATA, or arx"
_FUNCTION = ("a function of a session is gone: take PrivateKernelRidge, whose release answers any "
             "number of predictions, or predict_batch, whose release can predict later")
_COMPLETION = ('the verb is gone: write eval "$(_PRIVSIEVE_COMPLETE=bash_source privsieve)" into '
               "~/.bashrc, or zsh_source into ~/.zshrc; docs/command-line.md")
_ORPHANS = "the verb is gone: privsieve ledger show lists charges without a release"
_CHECK = ("the option is gone: privsieve verify checks the page of a release folder with all else "
          "that lies in it")
_ABSENT = "--absent is gone: the option is called --absences"
_BIN = "--bin is gone: --bins takes COLUMN=N, too, once for each column"
_FIGURE = "figures are an extra: from privsieve.extras.plot import PlanDisplay, ReleaseDisplay"
_VERBOSE = ("lines on stderr about the search for neighbours are gone: leave verbose out; the "
            "weights are the same")
_SETS = ("votes, and sets of three and four columns, are gone: leave out joint, or write rounds, "
         "which name each column by what those before it leave unexplained")
_TYPICAL = ("typical is gone: RuleSieve needs no bounds; where a method does, write low and high, "
            "four spreads to either side of the centre")
_CONTAINMENT = ("there is one estimator of publishable columns: "
                'PublishableColumns(method="greedy"), "maximal" or "exact"')
_RATES = ('the weights "excess" and "youden" are gone: write "mutual-information", which finds '
          "columns that predict better, or give a number for each item")
_FORMAT = "--format is gone: the table is written as CSV, which any program reads and recounts"
_POLYNOMIAL = ('polynomials are gone: write kernel="rbf", which bends as well, or "cosine"')
#: Renamed options.
_RENAMED = {"order": "depth", "class_share": "class_prior", "resamples": "repeats"}
#: Removed values of options; one may be the name of another option.
VALUES = {
    "laplace": _NOISE,
    "disagreement": _SCORE,
    "mutual-information": _SCORE,
    "bootstrap": _BOOTSTRAP,
    "average": _AVERAGE,
    "median-and-spread": _SPREAD,
    "votes": _SETS,
    "triple": _SETS,
    "quad": _SETS,
    "excess": _RATES,
    "youden": _RATES,
    "polynomial": _POLYNOMIAL,
}
_SEED = ("there is no seed: anyone who knows it can subtract the noise, and the release protects "
         "nobody.  Each fit draws new noise; to have a result again, save the release")
#: Removed methods, verbs, names and options, and others that people look for.
DROPPED = {
    "random_state": _SEED,
    "seed": _SEED,
    "sum": _SITES,
    "combine": _SITES,
    "private-tuning": _TUNING,
    "PrivateTuning": _TUNING,
    "candidates": _TUNING,
    "near_duplicates": _DUPLICATES,
    "typical": _TYPICAL,
    "release_function": _FUNCTION,
    "rotate": _ROTATION,
    "rotated": _ROTATION,
    "fraction": _FRACTION,
    "sure": _BESIDE,
    "independent_rows": _BESIDE,
    "describe": _BESIDE,
    "targets": _TARGETS,
    "target": _TARGETS,
    "over": _TARGETS,
    "costs": _PRICES,
    "cost": _PRICES,
    "price": _PRICES,
    "mechanism": _NOISE,
    "sampling": _BOOTSTRAP,
    **{old: f"{old} is gone: the option is called {now}" for old, now in _RENAMED.items()},
    "anyway": _ANYWAY,
    "explore": _EXPLORE,
    "population_size": _EXPLORE,
    "seconds": _EXPLORE,
    "export": _BRIDGE,
    "by_path": _BRIDGE,
    "verbose": _VERBOSE,
    "completion": _COMPLETION,
    "bin": _BIN,
    "check": _CHECK,
    "absent": _ABSENT,
    "orphans": _ORPHANS,
    "thermometer": "--thermometer is gone: --cut cuts a column into bins",
    "GreedyContainment": _CONTAINMENT,
    "MaximalContainment": _CONTAINMENT,
    "ExactContainment": _CONTAINMENT,
    "format": _FORMAT,
    "PlanDisplay": _FIGURE,
    "ReleaseDisplay": _FIGURE,
}


def explain(name: object, otherwise: str) -> str:
    """Return the replacement of a dropped name or value, or `otherwise` for others.

    >>> explain("sum", "")[:36], explain("add", "no such verb")
    ('releases of several sites are gone: ', 'no such verb')
    """
    return {**VALUES, **DROPPED}.get(name, otherwise) if isinstance(name, str) else otherwise


def is_of_first(certificate: Mapping[str, Any]) -> bool:
    """Return whether version 0.1.0 wrote a certificate, which is not supported.

    >>> is_of_first({"software": {"privsieve": "0.1.0"}})
    True
    """
    software = certificate.get("software")
    return isinstance(software, Mapping) and software.get("privsieve") == "0.1.0"


#: The error about a release of version 0.1.0.
OF_FIRST = ("this release was made by version 0.1.0, which was never released; make the release "
            "again, with a new ledger")
