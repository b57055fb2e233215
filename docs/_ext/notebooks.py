"""A notebook becomes a page: run in a fresh folder beside `made_up.py`, with what it said.

Its cells are Python whose last line may be a table or a figure, so a program runs them, and no
kernel is needed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from myst_parser.parsers.sphinx_ import MystParser

#: Runs cells of code in order, and says as JSON what each of them printed, and what its last
#: expression is: a figure, a table of HTML, or a text, as a notebook shows it.
RUN = """
import ast, contextlib, io, json, sys

def shown(value):
    if (figure := getattr(value, "figure_", None)) is not None:
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
        text = drawn.getvalue()
        return ["html", text[text.index("<svg"):]]
    if hasattr(value, "_repr_html_"):
        return ["html", value._repr_html_()]
    return ["text", "" if value is None else repr(value)]

space, said = {"__name__": "notebook"}, []
for cell in json.load(sys.stdin):
    tree, value = ast.parse(cell), None
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(tree, "cell", "exec"), space)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), space)
    said.append([["text", out.getvalue()], shown(value)])
print(json.dumps(said))
"""


def performed(code: list[str], tables: Path) -> list[list[list[str]]]:
    """What each cell printed and showed; one that fails fails the build."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(tables, folder)
        path = os.pathsep.join(each for each in sys.path if each)
        done = subprocess.run([sys.executable, "-c", RUN], input=json.dumps(code), cwd=folder,  # noqa: S603
                              env={**os.environ, "PYTHONPATH": path, "MPLBACKEND": "agg"},
                              check=True, text=True,
                              stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def page(cells: list[dict], tables: Path) -> str:
    """The cells of a notebook and what they said, as Markdown."""
    source = ["".join(cell["source"]) for cell in cells]
    outputs = iter(performed([text for text, cell in zip(source, cells, strict=True)
                              if cell["cell_type"] == "code"], tables))
    parts = []
    for text, cell in zip(source, cells, strict=True):
        if cell["cell_type"] == "code":
            parts.append(f"```python\n{text}\n```")
            parts += [fenced(form, out) for form, out in next(outputs) if out.strip()]
        else:
            parts.append(text)
    return "\n\n".join(parts)


def fenced(form: str, out: str) -> str:
    """What a cell said, as a block; a table or a figure may scroll by itself."""
    if form == "text":
        return f"```text\n{out.rstrip()}\n```"
    return f'````{{raw}} html\n<div class="shown" tabindex="0">{out.strip()}</div>\n````'


class Notebook(MystParser):
    """Reads `.ipynb` as the Markdown that its cells and outputs make."""

    supported = ("notebook",)

    def parse(self, inputstring, document):
        """Run the notebook, and read its outputs."""
        tables = Path(document["source"]).with_name("made_up.py")
        super().parse(page(json.loads(inputstring)["cells"], tables), document)


def setup(app):
    """Notebooks are pages, too."""
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(Notebook)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
