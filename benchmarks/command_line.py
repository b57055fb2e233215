"""The command line against bare Python, and against the usual script for the same job.

A folder is verified as a whole: both files, the page and the signatures of a maker and an approver.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from measure import Goal, bare, program

PEER = """
import sys
import pandas as pd
from sklearn.feature_selection import SelectKBest, mutual_info_classif
table = pd.read_csv(sys.argv[1])
X, y = table.drop(columns="diagnosis"), table["diagnosis"]
chosen = SelectKBest(mutual_info_classif, k=3).fit(X, y)
print("\\n".join(X.columns[chosen.get_support()]))
"""


def write_wdbc(folder):
    """scikit-learn's breast cancer table as a CSV file, and its domain."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    names = [str(name).replace(" ", "_") for name in data.feature_names]
    lines = [",".join([*names, "diagnosis"])]
    lines += [",".join([*map(repr, map(float, row)), str(label)])
              for row, label in zip(data.data, data.target, strict=True)]
    (folder / "wdbc.csv").write_text("\n".join(lines) + "\n")
    text = ['[table]\nunit = "row"\n']
    for name, high in zip(names, data.data.max(axis=0), strict=True):
        text.append(f'[[column]]\nname = "{name}"\nkind = "number"\nlow = 0\n'
                    f"high = {float(high)!r}\n")
    text.append('[target]\nname = "diagnosis"\nkind = "label"\nvalues = [0, 1]\n')
    (folder / "domain.toml").write_text("\n".join(text))


def goals(*, short):
    """--help and select, in CPU time of whole processes."""
    runs = 5 if short else 15
    program_path = Path(sys.executable).parent / "privsieve"
    folder = Path(tempfile.mkdtemp())
    try:
        write_wdbc(folder)
        (folder / "peer.py").write_text(PEER)
        program([program_path, "ledger", "grant", "--ledger", "budget.db", "--population", "wdbc",
                 "--epsilon", "900"], 0, folder)
        nothing = bare(runs)
        help_text = program([program_path, "--help"], runs, folder)
        select = select_time(program_path, folder, runs)
        verify = program([program_path, "verify", "out"], runs, folder)
        signed = signed_time(program_path, folder, runs)
        peer = program([sys.executable, "peer.py", "wdbc.csv"], 3, folder)
    finally:
        shutil.rmtree(folder)
    detail = f"bare {nothing * 1e3:.1f} ms, ours "
    return [
        Goal("--help / bare Python", help_text / nothing, 5, f"{detail}{help_text * 1e3:.1f} ms"),
        Goal("verify / bare Python", verify / nothing, 11, f"{detail}{verify * 1e3:.1f} ms"),
        Goal("select 569 x 30 CSV / bare Python", select / nothing, 28,
             f"{detail}{select * 1e3:.1f} ms"),
        Goal("verify a signed folder / bare Python", signed / nothing, 13,
             f"{detail}{signed * 1e3:.1f} ms"),
        Goal("select 569 x 30 CSV / pandas + scikit-learn", select / peer, 1 / 4,
             f"script {peer * 1e3:.0f} ms, ours {select * 1e3:.1f} ms"),
    ]


def signed_time(program_path, folder, runs):
    """To verify the folder of a selection that two keys have signed, and both are wanted."""
    for name, role in (("maker", "maker"), ("anna", "approver")):
        program([program_path, "key", "make", f"{name}.pem"], 0, folder)
        program([program_path, "key", "show", f"{name}.pem", "--out", f"{name}.pub"], 0, folder)
        program([program_path, "sign", "out", "--key", f"{name}.pem", "--as", role], 0, folder)
    return program([program_path, "verify", "out", "--signed-by", "maker=maker.pub",
                    "--signed-by", "approver=anna.pub"], runs, folder)


def select_time(program_path, folder, runs):
    """A whole selection, ledger and release folder included; a new folder each time."""
    script = folder / "select.sh"
    script.write_text(f"""#!/bin/sh
rm -rf out
exec "{program_path}" select wdbc.csv --domain domain.toml --epsilon 1 --top 3 \\
    --ledger budget.db --population wdbc --out out
""")
    return program(["/bin/sh", script], runs, folder)
