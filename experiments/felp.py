"""Figures 1 and 2 of Liu 2018: FELP by epsilon, and by the number of columns at epsilon .01.

    python experiments/felp.py [--short] [--only wdbc] [--by features]

FELP is the mean of FWELL over 20 bootstrap samples of nine tenths of the rows (FWELL-EN), with the
printed noise; beside it no noise, a selection and a FELP whose noise is true, and a guess.
`--short` takes three folds of the small tables, a minute; without it ten minutes.  A run that is
cut off goes on.
"""

from __future__ import annotations

import argparse

import fwell_epsilon as by_epsilon
import fwell_features as by_number
import local_learning as local
import protocol
from panels import save

#: The paper's Breast may be either of two tables.
NAMES = ("arcene", "soybean", "wdbc", "breast_w", "breast_cancer")
SMALL = ("soybean", "wdbc")

HEAD = """\
{what} of Liu 2018: mean over {folds} of ten folds (standard error, which counts that folds share
rows), {draws} draws of noise in each, for Arcene 3 at most. Lambda is tuned on the rows that
choose; it is .1 where the noise is true. "Printed noise" is not private. Breast is not described in
the paper: both tables of the name.

"""
#: Of each half its module, the caption of its table, and the title of its figure.
HALVES = {
    "epsilon": (by_epsilon, "Figure 1 (the best tenth of the columns, by epsilon)",
                "FELP: accuracy by epsilon"),
    "features": (by_number, "Figure 2 (by the number of columns, epsilon .01)",
                 "FELP: accuracy by the number of columns, ε 0.01"),
}


def main() -> None:
    """Measure what is asked for, write it down and draw it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", action="append", choices=NAMES)
    parser.add_argument("--by", action="append", choices=HALVES, help="one half; default: both")
    options = parser.parse_args()
    names = options.only or (SMALL if options.short else NAMES)
    protocol.require(*names)
    for half in options.by or HALVES:
        module, what, title = HALVES[half]
        request, stem = module.SHORT if options.short else module.FULL, f"felp_{half}"
        results = {name: module.measured(name, local.ENSEMBLES, request, stem) for name in names}
        text = HEAD.format(what=what, folds=request.folds, draws=request.draws)
        drawn = (by_epsilon.drawing(0, results, request) if half == "epsilon"
                 else by_number.drawing(0, results))
        for name, cells in results.items():
            text += (by_epsilon.table(name, cells, request) if half == "epsilon"
                     else by_number.table(name, cells))
        protocol.write(stem + "_some" * bool(options.only), text, short=options.short)
        if not (options.short or options.only):
            save(protocol.RESULTS / stem, drawn, title)


if __name__ == "__main__":
    main()
