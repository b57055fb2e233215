"""Dropped: options, verbs and names that were removed, each with its replacement.

docs/decisions/030 gives the reasons.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SITES = ("releases of several sites were removed: join the tables in a database, or make one "
          "release at each site")
_TUNING = ("private tuning was removed: name one method; docs/choosing-a-method.md helps you to "
           "choose it")
_ROTATION = ("statements that one key replaces another were removed: revoke the old key, and send "
             "the new fingerprint to the people who check releases")
_TARGETS = ("one choice for several targets was removed: make one release for each target, each "
            "with a share of epsilon")
_PRICES = ("costs of columns and prices were removed: give the number of columns (k, or --top), "
           "and exclude expensive columns with never")
_BESIDE = ("counts in a release of columns were removed: release a table of the chosen columns by "
           "class (NoisyHistogram(n_features_to_select=k), or privsieve synthesize --top K), "
           "which chooses and counts in one charge")
_FRACTION = "--fraction was removed: --top also takes a fraction, such as --top 0.1"
_NOISE = ("Laplace noise of a choice was removed: omit the option; exponential noise finds as many "
          "columns")
_SCORE = ('the scores "disagreement" and "mutual-information" were removed: write '
          'score="class-counts", which finds the same columns under both kinds of neighbours')
_BOOTSTRAP = ("sampling with replacement was removed: omit the option; the version of the paper, "
              "which is not private, is in experiments/papers/felp.py")
_AVERAGE = ('averages over classes were removed: write class_prior="centred" or "auto" '
            "(auto centres more than two classes)")
_SPREAD = ('cuts at a noisy spread were removed: write numeric="median-cut"; it finds columns that '
           "move the middle of the target, not columns that change only its spread")
_DUPLICATES = ("the search for near-duplicates was removed: name the source of each row (sources=, "
               "--source)")
_ANYWAY = ("anyway was removed: an inspection no longer stops a fit, so omit it (select, regress "
           "and synthesize take --anyway after a warning of the forecast)")
_EXPLORE = "the page that compares each k has a command: privsieve explore DATA --out FILE"
_BRIDGE = "tables for other tools have a command: privsieve bridge sdcmicro DATA, or arx"
_FUNCTION = ("release_function was removed: use PrivateKernelRidge, whose release answers any "
             "number of predictions, or predict_batch, whose release can predict later")
_COMPLETION = ('completion was removed: write eval "$(_PRIVSIEVE_COMPLETE=bash_source privsieve)" '
               "into ~/.bashrc (zsh_source into ~/.zshrc); see docs/command-line.md")
_ORPHANS = "the command was removed: privsieve ledger show lists charges without a release"
_CHECK = ("the option was removed: privsieve verify checks the page and all other files of a "
          "release folder")
_ABSENT = "--absent was renamed: write --absences"
_BIN = "--bin was removed: --bins also takes COLUMN=N, once for each column"
_FIGURE = "figures moved to an extra: from privsieve.extras.plot import PlanDisplay, ReleaseDisplay"
_VERBOSE = ("lines on stderr about the search for neighbours were removed: omit verbose; the "
            "weights are the same")
_SETS = ("votes and sets of three or four columns were removed: omit joint, or write rounds, "
         "which choose each column by what earlier columns leave unexplained")
_TYPICAL = ("typical was removed: RuleSieve needs no bounds; for other methods write low and high, "
            "four spreads below and above the centre")
_CONTAINMENT = ("one estimator finds publishable columns: "
                'PublishableColumns(method="greedy"), "maximal" or "exact"')
_RATES = ('the weights "excess" and "youden" were removed: write "mutual-information", which finds '
          "columns that predict better, or give a number for each item")
_FORMAT = "--format was removed: the table is a CSV file, which any program can read and recount"
_POLYNOMIAL = ('polynomials were removed: write kernel="rbf", which also fits curves, or "cosine"')
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
_SEED = ("there is no seed: anyone who knows it could subtract the noise.  Each fit draws new "
         "noise; save the release to keep its result")
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
    **{old: f"{old} was renamed: write {now}" for old, now in _RENAMED.items()},
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
    "thermometer": "--thermometer was removed: --cut cuts a column into bins",
    "GreedyContainment": _CONTAINMENT,
    "MaximalContainment": _CONTAINMENT,
    "ExactContainment": _CONTAINMENT,
    "format": _FORMAT,
    "PlanDisplay": _FIGURE,
    "ReleaseDisplay": _FIGURE,
}


def explain(name: object, otherwise: str) -> str:
    """Return the replacement of a dropped name or value, or `otherwise` for others.

    >>> explain("sum", "")[:39], explain("add", "no such verb")
    ('releases of several sites were removed:', 'no such verb')
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
