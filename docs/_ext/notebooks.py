"""A notebook becomes a page: run in a fresh folder beside `made_up.py`, with what it said.

Its cells are Python that prints, so a program runs them, and no kernel is needed.
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

#: Runs cells of code in order, and says as JSON what each of them printed.
RUN = """
import contextlib, io, json, sys
space, said = {"__name__": "notebook"}, []
for cell in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(cell, "cell", "exec"), space)
    said.append(out.getvalue())
print(json.dumps(said))
"""


def performed(code: list[str], tables: Path) -> list[str]:
    """What each cell printed; one that fails fails the build."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(tables, folder)
        path = os.pathsep.join(each for each in sys.path if each)
        done = subprocess.run([sys.executable, "-c", RUN], input=json.dumps(code), cwd=folder,  # noqa: S603
                              env={**os.environ, "PYTHONPATH": path}, check=True, text=True,
                              stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def page(cells: list[dict], tables: Path) -> str:
    """The cells of a notebook and what they said, as Markdown."""
    source = ["".join(cell["source"]) for cell in cells]
    said = iter(performed([text for text, cell in zip(source, cells, strict=True)
                           if cell["cell_type"] == "code"], tables))
    parts = []
    for text, cell in zip(source, cells, strict=True):
        if cell["cell_type"] == "code":
            parts.append(f"```python\n{text}\n```")
            out = next(said).rstrip()
            parts += [f"```text\n{out}\n```"] if out else []
        else:
            parts.append(text)
    return "\n\n".join(parts)


class Notebook(MystParser):
    """Reads `.ipynb` as the Markdown that its cells and outputs make."""

    supported = ("notebook",)

    def parse(self, inputstring, document):
        """Run the notebook, and read what it comes to."""
        tables = Path(document["source"]).with_name("made_up.py")
        super().parse(page(json.loads(inputstring)["cells"], tables), document)


def setup(app):
    """Notebooks are pages, too."""
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(Notebook)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
