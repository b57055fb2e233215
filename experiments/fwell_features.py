"""Figures 13 to 24 of Yang & Li 2014: accuracy by the number of columns, at epsilon .01.

    python experiments/fwell_features.py [--short] [--only wdbc]

Columns are added one by one, best first.  A noisy vector orders them all at once; BlockFWELL is
asked anew for each number of columns, and each point of its curve has the whole epsilon.  `--short`
takes three folds of the small tables, a minute; without it ten minutes.  A run that is cut off goes
on.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import local_learning as local
import protocol
from fwell_epsilon import NAMES, SMALL, Asked
from panels import Panel, save

if TYPE_CHECKING:
    from local_learning import Fold, Method

    #: By curve: for each fold and number of columns, accuracy of 3NN and of the machine, the share.
    Found = dict[str, list[list[list[float]]]]

EPSILON = "0.01"
#: The same at an epsilon at which something can be found.
LARGER = {"BlockFWELL, true noise": "1"}
#: Above this number of columns, some numbers only.
EACH, SOME = 60, 8
FULL, SHORT = Asked(local.FOLDS, 5, (EPSILON,)), Asked(3, 1, (EPSILON,))


def counts(d: int) -> list[int]:
    """The numbers of columns: each, or in a wide table some up to a tenth, evenly in logarithms.

    >>> counts(4), counts(5000)[:5], counts(5000)[-1]
    ([1, 2, 3, 4], [1, 2, 6, 14, 35], 500)
    """
    if d <= EACH:
        return list(range(1, d + 1))
    return sorted({round(k) for k in np.geomspace(1, d // 10, SOME)})


def drawn(fold: Fold, method: tuple[str, Method], epsilon: str, draws: int) -> list[list[float]]:
    """The mean quality for each number of columns."""
    return [local.drawn(fold, method, epsilon, k, draws) for k in counts(fold.train[0].shape[1])]


def measured(name: str, methods: dict[str, Method], options: Asked, memory: str) -> Found:
    """All curves of a table; cells that are remembered are not computed."""
    known, results = protocol.Memory(f"{memory}_{name}"), {}
    for fold in local.folds(name, options.folds):
        draws = local.enough(options.draws, fold)
        for method in methods.items():
            first = local.grid(method[0], options.epsilons)
            for epsilon in dict.fromkeys((*first, LARGER.get(method[0], first[0]))):
                label = f"{method[0]}, ε {epsilon}" if epsilon not in first else method[0]
                results.setdefault(label, []).append(known.cell(
                    (fold.number, draws, method[0], epsilon),
                    partial(drawn, fold, method, epsilon, draws)))
        print(name, fold.number, flush=True)
    return results


def table(name: str, results: Found) -> str:
    """Accuracies at some numbers of columns, with errors, and the mean over all of them."""
    numbers = counts(protocol.scaled(name)[0].shape[1])
    numbers_shown = sorted({int(i) for i in np.linspace(0, len(numbers) - 1, 7)})
    text = f"## {local.TITLES[name]}\n\n"
    for place, what in enumerate(local.CLASSIFIERS):
        text += (f"| {what}, columns | {' | '.join(str(numbers[i]) for i in numbers_shown)} | mean "
                 f"of {len(numbers)} |\n" + "|---" * (len(numbers_shown) + 2) + "|\n")
        for label, folds in results.items():
            values = np.array(folds)[:, :, place]
            cells = [local.cell(values[:, i]) for i in numbers_shown]
            text += f"| {label} | {' | '.join(cells)} | {local.cell(values.mean(axis=1))} |\n"
        text += "\n"
    return text


def drawing(first: int, results: dict[str, Found]) -> list[Panel]:
    """A panel for each classifier and table, numbered as the paper's figures from `first`."""
    panels = []
    for place, classifier in enumerate(local.CLASSIFIERS):
        for name, curves in results.items():
            numbers = counts(protocol.scaled(name)[0].shape[1])
            heights = {label: np.array(folds)[:, :, place].mean(axis=0)
                       for label, folds in curves.items()}
            every = np.concatenate(list(heights.values()))
            number = f"{first + place * len(NAMES) + NAMES.index(name)}: " if first else ""
            panels.append(Panel(f"{number}{local.TITLES[name]}, {classifier}", {
                label: list(zip(map(float, numbers), map(float, height), strict=True))
                for label, height in heights.items()}, float(every.min()), float(every.max())))
    return panels


HEAD = """\
Figures 13 to 24 of Yang & Li 2014. Accuracy by the number of columns, epsilon .01 where nothing
else is said: mean over {folds} of ten folds (standard error, which counts that folds share rows),
{draws} draws of noise in each, in wide tables 3 at most. Each point of BlockFWELL is a release with
the whole epsilon; a noisy vector orders all columns at once.

"""


def main() -> None:
    """Measure what is asked for, write it down and draw it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", action="append", choices=NAMES)
    options = parser.parse_args()
    names = options.only or (SMALL if options.short else NAMES)
    protocol.require(*names)
    request = SHORT if options.short else FULL
    results = {name: measured(name, local.METHODS, request, "fwell_features") for name in names}
    text = HEAD.format(folds=request.folds, draws=request.draws)
    text += "".join(table(*result) for result in results.items())
    protocol.write("fwell_features" + "_some" * bool(options.only), text, short=options.short)
    if not (options.short or options.only):
        save(protocol.RESULTS / "fwell_features", drawing(13, results),
             "Accuracy by the number of columns, ε 0.01")


if __name__ == "__main__":
    main()
