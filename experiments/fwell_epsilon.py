"""Figures 1 to 12 of Yang & Li 2014: accuracy by epsilon, on the best tenth of the columns.

    python experiments/fwell_epsilon.py [--short] [--only wdbc]

The paper draws epsilon from 1e-8 to 1, with its own noise.  Here the noise is printed and true, up
to 100, beside no noise and a guess.  `--short` takes three folds of the small tables and three
epsilons, a minute; without it ten minutes.  A run that is cut off goes on.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import local_learning as local
import protocol
from panels import Panel, save
from papers.private_fwell import gamma_noise, printed_sensitivity
from privsieve.local.solver import minimise
from rule_sieve_needs import PART, need

if TYPE_CHECKING:
    from collections.abc import Iterable

    from local_learning import Fold, Method

    #: By method and epsilon: for each fold, accuracy of 3NN and of the machine, and the share.
    Found = dict[tuple[str, str], list[list[float]]]
    Curves = dict[str, list[tuple[float, float]]]

#: In the order of the paper's figures.
NAMES = ("basehock", "lung_gordon", "sonar", "soybean", "waveform", "wdbc")
EPSILONS = ("1e-8", "1e-6", "1e-4", "1e-3", "0.01", "0.1", "1", "10", "100")
#: The printed noise alone is followed farther, until it lets FWELL's columns through.
FAR = tuple(f"{10 ** (i / 2):.6g}" for i in range(-6, 17))


@dataclass(frozen=True)
class Asked:
    """How much is measured."""

    folds: int
    draws: int
    epsilons: tuple[str, ...]


FULL, SHORT = Asked(local.FOLDS, 10, EPSILONS), Asked(3, 1, ("0.01", "1", "100"))
SMALL = ("sonar", "soybean", "wdbc")


def measured(name: str, methods: dict[str, Method], options: Asked, memory: str) -> Found:
    """All cells of a table; those that are remembered are not computed."""
    known, results = protocol.Memory(f"{memory}_{name}"), {}
    for fold in local.folds(name, options.folds):
        k, draws = local.tenth(fold.train[0]), local.enough(options.draws, fold)
        for method in methods.items():
            for epsilon in local.grid(method[0], options.epsilons):
                values = known.cell((fold.number, draws, method[0], epsilon), partial(
                    local.drawn, fold, method, epsilon, k, draws))
                if values:
                    results.setdefault((method[0], epsilon), []).append(values)
        print(name, fold.number, flush=True)
    return results


def table(name: str, results: Found, options: Asked) -> str:
    """The accuracies of one data set, and the share of FWELL's columns, with errors."""
    text = f"## {local.TITLES[name]}\n\n"
    for place, what in enumerate((*local.CLASSIFIERS, "share of FWELL's own columns")):
        text += (f"| {what} | no epsilon | {' | '.join(options.epsilons)} |\n"
                 + "|---" * (len(options.epsilons) + 2) + "|\n")
        for method in dict.fromkeys(method for method, _ in results):
            cells = [local.cell([fold[place] for fold in results[method, epsilon]])
                     if (method, epsilon) in results else "" for epsilon in ("", *options.epsilons)]
            text += f"| {method} | {' | '.join(cells)} |\n"
        text += "\n"
    return text


def curves(results: Found, place: int, ends: tuple[float, ...]) -> Curves:
    """Means over folds; what has no epsilon is a level line between the ends."""
    drawn: Curves = {}
    for (method, epsilon), folds in results.items():
        height = float(np.mean([fold[place] for fold in folds]))
        for x in (float(epsilon),) if epsilon else ends:
            drawn.setdefault(method, []).append((x, height))
    return drawn


def drawing(first: int, results: dict[str, Found], options: Asked) -> list[Panel]:
    """A panel for each classifier and table, numbered as the paper's figures from `first`."""
    ends = float(options.epsilons[0]), float(options.epsilons[-1])
    panels = []
    for place, classifier in enumerate(local.CLASSIFIERS):
        for name, cells in results.items():
            drawn = curves(cells, place, ends)
            heights = [height for points in drawn.values() for _, height in points]
            number = f"{first + place * len(NAMES) + NAMES.index(name)}: " if first else ""
            panels.append(Panel(f"{number}{local.TITLES[name]}, {classifier}", drawn,
                                min(heights), max(heights)))
    return panels


def noise_of(fold: Fold, draws: int) -> list[list[float]]:
    """For the tuned lambda and for 1: lambda, noise in weights at .01, and shares by `FAR`."""
    w, lam = fold.tuned(local.MINIMISER)
    return [_noise(fold, w, lam, draws),
            _noise(fold, minimise(local.clipped(*fold.train), 1.0).w, 1.0, draws)]


def _noise(fold: Fold, w: np.ndarray, lam: float, draws: int) -> list[float]:
    claim = printed_sensitivity(len(fold.train[1]), lam)
    own = set(local.best(w, local.tenth(fold.train[0])).tolist())
    shares = []
    for epsilon in map(float, FAR):
        noisy = [w + gamma_noise(len(w), epsilon / claim, fold.seed("far", lam, i))
                 for i in range(draws)]
        shares.append(np.mean([len(own & set(local.best(v, len(own)).tolist())) / len(own)
                               for v in noisy]))
    return [lam, float(len(w) * claim / 0.01 / np.linalg.norm(w)), *map(float, shares)]


def needed(names: Iterable[str], options: Asked) -> str:
    """What the printed noise leaves at epsilon .01, and what the claim would take."""
    text = NEEDS
    for name in names:
        known = protocol.Memory(f"fwell_noise_{name}")
        rows = np.array([known.cell((fold.number, options.draws), partial(
            noise_of, fold, options.draws)) for fold in local.folds(name, options.folds)])
        rows_there, d = protocol.scaled(name)[0].shape
        n, chance = rows_there * (1 - 1 / local.FOLDS), max(1, d // 10) / d
        level = chance + PART * (1 - chance)
        by = [need([float(e) for e in FAR], rows[:, i, 2:].mean(axis=0), level) for i in (0, 1)]
        long = rows[:, :, 1].mean(axis=0)
        text += (f"| {local.TITLES[name]} | {n:.0f} | {d} | {8 * d / n / 0.01:.3g} "
                 f"| {np.median(rows[:, 0, 0]):g} | {long[0]:.3g} | {by[0]:.2g} "
                 f"| {long[1]:.3g} | {by[1]:.2g} | {n * by[1] / 0.01:.2g} |\n")
    return text + "\n"


HEAD = """\
Figures 1 to 12 of Yang & Li 2014. Accuracy on the best tenth of the columns: mean over {folds} of
ten folds (standard error, which counts that folds share rows), {draws} draws of noise in each, in
wide tables 3 at most. Lambda is tuned on the rows that choose, as in the paper; that and the bounds
of the columns cost epsilon that nobody counted. "Printed noise" is not private. True noise has a
lambda of .1, where it has one, and the same bounds, taken as public.

"""

NEEDS = """\
## What the claim would need

Noise and weights are compared by their lengths, for the minimiser with the printed noise at epsilon
.01; 8d/(n epsilon) is the least for any lambda. "Four fifths": the epsilon at which the noise lets
through four fifths of the way from a guess to all of the columns that the same weights name without
noise. The noise depends on n epsilon only: this many rows would do at epsilon .01, lambda 1.

| data | rows that choose | columns | 8d/(n .01) | lambda, tuned (median) | noise / weights \
| four fifths from epsilon | lambda 1: noise / weights | four fifths from epsilon | rows for that \
at .01 |
|---|---|---|---|---|---|---|---|---|---|
"""


def main() -> None:
    """Measure what is asked for, write it down and draw it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", action="append", choices=NAMES)
    options = parser.parse_args()
    request = SHORT if options.short else FULL
    names = options.only or (SMALL if options.short else NAMES)
    protocol.require(*names)
    results = {name: measured(name, local.METHODS, request, "fwell_epsilon") for name in names}
    text = HEAD.format(folds=request.folds, draws=request.draws)
    text += needed(names, request)
    text += "".join(table(name, cells, request) for name, cells in results.items())
    protocol.write("fwell_epsilon" + "_some" * bool(options.only), text, short=options.short)
    if not (options.short or options.only):
        save(protocol.RESULTS / "fwell_epsilon", drawing(1, results, request),
             "Accuracy by epsilon: printed, true, no noise")


if __name__ == "__main__":
    main()
