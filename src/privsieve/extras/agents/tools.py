"""`privsieve tools`: `domain` and `plan` as tools that an AI agent may call.

The lists below hold every argument of a tool.  Options that read rows, run SQL or write files are
not in them, so that no call can read a row or change a ledger.
"""

from __future__ import annotations

import json

import click

from privsieve.cli import verbs
from privsieve.cli.verb import Outcome, verb
from privsieve.errors import ParameterError
from privsieve.public.canonical import Json

_TABLE = ("data", "unit", "person", "rows-per-person", "persons")
#: The arguments of each tool, as the command line names them.
TOOLS = {
    "domain": (*_TABLE, "target", "classes", "numbers", "csv-delimiter", "csv-decimal",
               "csv-encoding"),
    "plan": (*_TABLE, "domain", "rows", "epsilon", "top", "at-most", "method", "always", "never",
             "group", "ledger", "population"),
}


@verb('plan \'{"domain": "domain.toml", "rows": 20000, "unit": "row", "top": 6}\'')
def command(tool: str | None = None, arguments: str = "{}") -> Outcome | None:
    """Print the tools for AI agents with their JSON Schemas, or call TOOL.

    ARGUMENTS is a JSON object.  No tool reads a row of a table or charges a ledger.
    """
    if tool is not None:
        call(tool, arguments)
        return None
    facts: dict[str, Json] = {"tools": [describe(name) for name in TOOLS]}
    return Outcome(facts, lambda: click.echo(json.dumps(facts, indent=2)))


def describe(tool: str) -> dict[str, Json]:
    """Return a tool in the form of the Model Context Protocol: name, description, schema."""
    own, params = _command(tool)
    properties: dict[str, Json] = {word: _schema(param) for word, param in params.items()}
    required: list[Json] = [word for word, param in params.items() if param.required]
    return {"name": tool, "description": f"{own.help} This tool prints JSON.",
            "inputSchema": {"type": "object", "properties": properties, "required": required,
                            "additionalProperties": False}}


def call(tool: str, arguments: str) -> None:
    """Run a verb with these arguments, and print its JSON."""
    if tool not in TOOLS:
        raise ParameterError(f"{tool!r} is not a tool; the tools are {' and '.join(TOOLS)}")
    try:
        values = {word: value for word, value in dict(json.loads(arguments)).items()
                  if value is not None}
    except (ValueError, TypeError):
        raise ParameterError('ARGUMENTS is not a JSON object; write {"name": value}') from None
    own, params = _command(tool)
    if unknown := sorted(set(values) - set(params)):
        raise ParameterError(f"{unknown[0]!r} is not an argument of the tool {tool}; its arguments "
                             f"are {', '.join(params)}")
    data = [str(values.pop("data"))] if "data" in values else []
    if data and data[0].startswith("sql:"):
        raise ParameterError("a tool does not run SQL; name a file")
    words = [f"--{word}" if each is True else f"--{word}={each}" for word, value in values.items()
             for each in (value if isinstance(value, list) else [value]) if each is not False]
    own.main([*words, "--json", "--", *data], f"privsieve {tool}", standalone_mode=False)


def _command(tool: str) -> tuple[click.Command, dict[str, click.Parameter]]:
    """Return a verb and the parameters that its tool has, by their words."""
    context = click.Context(verbs)
    own = verbs.resolve_command(context, [tool])[1]
    assert own is not None
    params = {param.opts[0].lstrip("-"): param for param in own.get_params(click.Context(own))}
    return own, {word: params[word] for word in TOOLS[tool]}


def _schema(param: click.Parameter) -> Json:
    """Return the JSON Schema of a parameter."""
    kind: dict[str, Json] = {"type": ["string", "number"]}
    if isinstance(param.type, click.Choice):
        kind = {"type": "string", "enum": list(param.type.choices)}
    elif isinstance(param.type, click.types.BoolParamType):
        kind = {"type": "boolean"}
    elif isinstance(param.type, click.types.IntParamType):
        kind = {"type": "integer"}
    kind = {"type": "array", "items": kind} if param.multiple else kind
    about = getattr(param, "help", "") or "The table: a file whose first line names the columns."
    return {**kind, "description": about}
