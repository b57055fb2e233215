"""Law: experiments.  A program without its data says so and ends with code 2; data.md names all."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import evidence_data
import paper_data
import protocol

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
#: Programs that read tables, with arguments.
PROGRAMS = {
    "containment_figure": [[], ["--only", "pu1"]],
    "containment_roles": [[], ["--short"]],
    "containment_tables": [[], ["--short", "--only", "adult19"]],
    "evidence": [[]],
    "felp": [[], ["--only", "arcene"]],
    "fewer_columns": [[], ["--only", "sonar"]],
    "fwell_epsilon": [[], ["--only", "soybean"], ["--short"]],
    "fwell_features": [[], ["--only", "soybean"]],
    "fwell_objective": [[], ["--only", "sonar"]],
    "joint_choice": [[], ["--only", "real"], ["--case", "sonar", "3", "1"]],
    "numeric_redundancy": [[], ["--only", "real"]],
    "paper_data": [["tables"]],
    "rule_sieve_beside": [[], ["--only", "sonar"]],
    "rule_sieve_needs": [[], ["--only", "soybean, 19 classes"]],
    "selection_tables": [[], ["sonar"]],
    "synthetic_rows": [[], ["--only", "adult19"]],
    "unseen": [["no-such-folder"], ["."]],
}
#: What a program calls to read a table.
READS = re.compile(r"protocol\.(?:load|scaled|read_frame|require|end_without_data)\("
                   r"|local\.folds\(")


def programs():
    """The programs that call a reader of tables."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in EXPERIMENTS.glob("*.py")}
    return {name for name, text in texts.items() if READS.search(text) and "__main__" in text}


def test_every_program_that_reads_tables_is_tried():
    """No program that reads a table is missing above."""
    assert set(PROGRAMS) == programs()


@pytest.mark.parametrize(("name", "arguments"), [
    (name, arguments) for name, each in PROGRAMS.items() for arguments in each],
    ids=lambda value: value if isinstance(value, str) else " ".join(value))
def test_a_program_without_data_says_so(name, arguments, tmp_path, monkeypatch, capsys):
    """It prints one sentence, ends with code 2 and writes nothing."""
    module = importlib.import_module(name)
    monkeypatch.chdir(tmp_path)
    for place in ("DATA", "RESULTS", "CACHE"):
        monkeypatch.setattr(protocol, place, tmp_path / place.lower())
    monkeypatch.setattr(evidence_data, "DATA", tmp_path / "packages")
    monkeypatch.setattr(paper_data, "DATA", tmp_path / "packages")
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
    with pytest.raises(SystemExit) as ended:
        module.main()
    printed = capsys.readouterr()

    assert (2, "") == (ended.value.code, printed.out)
    assert re.fullmatch(r"no (?:table|folder) .*\n", printed.err)
    assert [] == list(tmp_path.iterdir())


def test_the_code_reaches_the_shell(tmp_path):
    """The variable PRIVSIEVE_DATA is read, and the program ends with code 2."""
    program = EXPERIMENTS / "fwell_epsilon.py"
    environment = {**os.environ, "PRIVSIEVE_DATA": str(tmp_path),
                   "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, program, "--only", "soybean"], check=False,
                           env=environment, capture_output=True, text=True)

    assert (2, "") == (ended.returncode, ended.stdout)
    assert (f"no table soybean in {tmp_path}: set PRIVSIEVE_DATA to a folder that has it "
            "(see experiments/data.md)\n") == ended.stderr


def test_wdbc_needs_no_folder(tmp_path, monkeypatch):
    """Scikit-learn ships WDBC."""
    monkeypatch.setattr(protocol, "DATA", tmp_path)
    protocol.require("wdbc")

    assert (569, 31) == protocol.read_frame("wdbc").shape


def test_every_table_is_described():
    """data.md has a row for each table that a program reads."""
    rows = re.findall(r"^\| `(\w+)` \|", (EXPERIMENTS / "data.md").read_text("utf-8"), re.MULTILINE)
    text = "".join((EXPERIMENTS / f"{name}.py").read_text("utf-8") for name in PROGRAMS)

    assert len(rows) == len(set(rows))
    assert set() == {name for name in rows if f'"{name}"' not in text}
    import containment_roles
    import containment_tables
    import felp
    import fewer_columns
    import fwell_epsilon
    import selection_tables

    needed = {*containment_roles.DATA, *(table.data for table in containment_tables.TABLES),
              *felp.NAMES, *fwell_epsilon.NAMES, *selection_tables.REAL,
              *(case.name for case in fewer_columns.CASES if not case.make)}
    assert set() == needed - set(rows)


def test_the_cuts_of_adult_are_those_of_the_data():
    """The script makes `adult19` from `adult`, where a folder of data has both."""
    folder = protocol.DATA
    if not (folder / "adult").is_dir():
        pytest.skip("adult: PRIVSIEVE_DATA names no folder of data")
    cut = paper_data.cut_adult(protocol.read_frame("adult"))

    assert cut.equals(protocol.read_frame("adult19").astype(cut.dtypes))
