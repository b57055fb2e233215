"""RuleSieve in the figures by epsilon of Yang & Li 2014, Li, Yang & Ji 2016 and Liu 2018.

    python experiments/rule_sieve_beside.py [--only wdbc]

measures RuleSieve alone, on the folds of `fwell_epsilon.py` and `felp.py`, and draws their figures
again with its curve: the other curves come from the newest stored tables.  A run that is cut off
goes on; `--only` measures some tables and draws nothing.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import felp
import fwell_epsilon as by_epsilon
import fwell_objective
import local_learning as local
import protocol
from panels import Panel, save

if TYPE_CHECKING:
    #: Curves by table and classifier, as a figure has them.
    Figure = dict[tuple[str, str], by_epsilon.Curves]

NAMES = tuple(dict.fromkeys((*by_epsilon.NAMES, *felp.NAMES)))
#: A figure, its title, its tables in order, and the number of its first panel.
FIGURES = {
    "fwell_epsilon": ("Accuracy by epsilon: printed, true, no noise", by_epsilon.NAMES, 1),
    "fwell_objective": ("Noise in objective or weights", fwell_objective.NAMES, 0),
    "felp_epsilon": ("FELP: accuracy by epsilon", felp.NAMES, 0),
}
HEAD = """\
RuleSieve with its defaults, except `max_ops` 2^31, on the folds, the numbers of columns and the
bounds of the figures by epsilon: mean over {folds} of ten folds (standard error), {draws} draws of
noise in each, in wide tables 3 at most. Its epsilon holds for any rows.

"""


def read_curves(text: str) -> Figure:
    r"""Return the curves of a stored result by epsilon; what has no epsilon is a level line.

    >>> text = ("## WDBC\n| SVM | no epsilon | 0.1 | 1 |\n|---|---|---|---|\n"
    ...         "| A |  | 0.8 (0.1) |  |\n| B | 0.9 (0.1) |  |  |\n")
    >>> read_curves(text)["WDBC", "SVM"]
    {'A': [(0.1, 0.8)], 'B': [(0.1, 0.9), (1.0, 0.9)]}
    """
    figure: Figure = {}
    title, epsilons, curves = "", [], {}
    for line in text.partition("# By the number of columns")[0].splitlines():
        title = line[3:] if line.startswith("## ") else title
        head, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        if cells[:1] == ["no epsilon"]:
            epsilons = [float(cell) for cell in cells[1:]]
            curves = figure.setdefault((title, head), {})
        elif len(cells) == len(epsilons) + 1 and not head.startswith("---"):
            level, *rest = cells
            curves[head] = [(epsilon, float(cell.split()[0]))
                            for epsilon, cell in zip(epsilons, rest, strict=True) if cell]
            if level:
                curves[head] = [(epsilon, float(level.split()[0]))
                                for epsilon in (epsilons[0], epsilons[-1])]
    return figure


def draw(stem: str, beside: Figure) -> None:
    """Draw a figure with the curves of its newest stored table and those of RuleSieve."""
    title, names, first = FIGURES[stem]
    stored = sorted(protocol.RESULTS.glob(f"{stem.removesuffix('_epsilon')}*_????-??-??.md"))
    newest = [path for path in stored if path.stem[:-11] in (stem, stem.removesuffix("_epsilon"))]
    curves = read_curves(newest[-1].read_text("utf-8"))
    drawings = []
    for place, classifier in enumerate(local.CLASSIFIERS):
        for at, name in enumerate(names):
            key = (local.TITLES[name], classifier)
            drawn = curves[key] | beside.get(key, {})
            heights = [height for points in drawn.values() for _, height in points]
            number = f"{first + place * len(names) + at}: " if first else ""
            drawings.append(Panel(f"{number}{', '.join(key)}", drawn, min(heights), max(heights)))
    save(protocol.RESULTS / stem, drawings, title)


def main() -> None:
    """Measure RuleSieve, write it down and draw the figures again."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", choices=NAMES)
    options = parser.parse_args()
    names = options.only or NAMES
    protocol.require(*names)
    size, method = by_epsilon.FULL, {local.RULE_SIEVE: local.METHODS[local.RULE_SIEVE]}
    text = HEAD.format(folds=size.folds, draws=size.draws)
    for name in names:
        cells = by_epsilon.measured(name, method, size, "rule_sieve_beside")
        text += by_epsilon.table(name, cells, size)
    protocol.write("rule_sieve_beside" + "_some" * bool(options.only), text, short=False)
    if not options.only:
        for stem in FIGURES:
            draw(stem, read_curves(text))


if __name__ == "__main__":
    main()
