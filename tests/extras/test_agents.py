"""Law: tools for agents.  They read no row, charge nothing and write nothing."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from privsieve.cli import run
from privsieve.extras.agents.tools import TOOLS, describe
from privsieve.ledger.ledger import Ledger

SECRET = "SENTINEL-4711"
DOMAIN = """
[table]
unit = "row"
[[column]]
names = ["age", "ward"]
kind = "flag"
[target]
name = "ill"
kind = "label"
values = [0, 1]
"""
ACCOUNT = {"ledger": "budget.db", "population": "clinic"}
PLAN = {"domain": "domain.toml", "rows": 500, "top": 1, "epsilon": 0.5}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table, a domain file and a ledger, in which the tools run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "domain.toml").write_text(DOMAIN)
    (tmp_path / "table.csv").write_text(f"age,ward,ill\n{SECRET},1,0\n1,{SECRET},1\n")
    Ledger("budget.db", population="clinic").grant(epsilon=2)
    return tmp_path


def contents(folder):
    """The digest of each file of the folder."""
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def call(tool, **arguments):
    """Call a tool and return its exit code."""
    return run(["tools", tool, json.dumps(arguments)])


def test_the_schemas_name_every_argument(capsys):
    """Each tool has a closed JSON Schema, with a description and a type for each argument."""
    assert 0 == run(["tools", "--json"])
    tools = json.loads(capsys.readouterr().out)["tools"]

    assert list(TOOLS) == [tool["name"] for tool in tools]
    for tool in tools:
        schema = tool["inputSchema"]
        assert ("object", False) == (schema["type"], schema["additionalProperties"])
        assert set(TOOLS[tool["name"]]) == set(schema["properties"])
        assert set(schema["required"]) <= set(schema["properties"])
        assert all(each["description"] and each["type"] for each in schema["properties"].values())
    assert ["data"] == describe("domain")["inputSchema"]["required"]


def test_a_call_reads_no_row_and_changes_no_file(folder, capsys):
    """A draft and plans leave every file as it was, and show no cell."""
    before = contents(folder)
    assert 0 == call("domain", data="table.csv", target="ill", classes="0,1", unit="row",
                     numbers=True)
    assert "[[column]]" in json.loads(capsys.readouterr().out)["draft"]
    assert 0 == call("plan", **PLAN, data=None)
    assert "0.5" == json.loads(capsys.readouterr().out)["cost"]
    assert 0 == call("plan", **PLAN, never=["age"], **ACCOUNT)
    assert "2" == json.loads(capsys.readouterr().out)["left"]
    assert 0 == call("plan", **{**PLAN, "rows": None}, data="table.csv")
    text = "".join(capsys.readouterr())

    assert SECRET not in text
    assert before == contents(folder)


def test_a_file_that_does_not_exist_changes_no_ledger(folder, capsys):
    """A call with a missing table, domain file or ledger is refused, and makes no file."""
    before = contents(folder)
    for tool, arguments in (
            ("domain", {"data": "missing.csv"}),
            ("plan", {**PLAN, "data": "missing.csv", **ACCOUNT}),
            ("plan", {**PLAN, "domain": "missing.toml"}),
            ("plan", {**PLAN, "ledger": "missing.db", "population": "clinic"})):
        assert 0 != call(tool, **arguments)

    assert "" == capsys.readouterr().out
    assert before == contents(folder)


@pytest.mark.parametrize(("tool", "arguments"), [
    ("domain", {"data": "table.csv", "look": True}),
    ("domain", {"data": "table.csv", "levels": True}),
    ("domain", {"data": "table.csv", "no-header": True}),
    ("domain", {"data": "table.csv", "out": "draft.toml"}),
    ("domain", {"data": "table.csv", "code-book": "table.csv"}),
    ("domain", {"data": "sql:SELECT * FROM 'table.csv'"}),
    ("domain", {"data": "--look"}),
    ("plan", {**PLAN, "head": "head"}),
    ("plan", {**PLAN, "connect": "attach.sql"}),
    ("select", {**PLAN, **ACCOUNT, "data": "table.csv"}),
])
def test_what_reads_rows_or_writes_is_refused(folder, capsys, tool, arguments):
    """Options that read rows, run SQL or write files, and other verbs, are no tools."""
    before = contents(folder)

    assert call(tool, **arguments) in (2, 3)
    assert "" == capsys.readouterr().out
    assert before == contents(folder)


@pytest.mark.parametrize("text", ["[1]", "3", "{", '"data"'])
def test_arguments_are_an_object(text, capsys):
    """Anything but a JSON object is refused in one sentence."""
    assert 2 == run(["tools", "domain", text])
    assert "is not a JSON object" in capsys.readouterr().err
