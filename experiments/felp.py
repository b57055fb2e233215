"""Figures 1 and 2 of Liu 2018: FELP by epsilon, and by the number of columns at epsilon .01.

    python experiments/felp.py [--short] [--only wdbc]

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
Figures 1 and 2 of Liu 2018: mean over {folds} of ten folds (standard error, which counts that folds
share rows), {draws} draws of noise in each for figure 1 and {few} for figure 2, for Arcene 3 at
most. Lambda is tuned on the rows that choose; it is .1 where the noise is true. "Printed noise" is
not private. Breast is not described in the paper: both tables of the name.

"""


def main() -> None:
    """Measure what is asked for, write it down and draw it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", action="append", choices=NAMES)
    options = parser.parse_args()
    request = by_epsilon.SHORT if options.short else by_epsilon.FULL
    names = options.only or (SMALL if options.short else NAMES)
    protocol.require(*names)
    first = {name: by_epsilon.measured(name, local.ENSEMBLES, request, "felp_epsilon")
             for name in names}
    number = by_number.SHORT if options.short else by_number.FULL
    second = {name: by_number.measured(name, local.ENSEMBLES, number, "felp_features")
              for name in names}
    text = HEAD.format(folds=request.folds, draws=request.draws, few=number.draws)
    text += "# By epsilon: the best tenth of the columns\n\n"
    text += "".join(by_epsilon.table(name, curve, request) for name, curve in first.items())
    text += "# By the number of columns: epsilon .01\n\n"
    text += "".join(by_number.table(name, curve) for name, curve in second.items())
    protocol.write("felp" + "_some" * bool(options.only), text, short=options.short)
    if not (options.short or options.only):
        save(protocol.RESULTS / "felp_epsilon", by_epsilon.drawing(0, first, request),
             "FELP: accuracy by epsilon")
        save(protocol.RESULTS / "felp_features", by_number.drawing(0, second),
             "FELP: accuracy by the number of columns, ε 0.01")


if __name__ == "__main__":
    main()
