"""A reader who does what a page says: files are written, lines are run, Python goes on."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import shutil
import sys
import tempfile
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from unittest import mock

import pytest

from privsieve.cli import run
from privsieve.errors import DomainError
from privsieve.public.domain_file import parse

#: A fenced block: its language, what else stands on the fence, and its text.
BLOCK = re.compile(r"^```(\w*)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: What no test can run, by how it begins, with the reason.
NOT_RUN = {
    "pip install": "changes the environment; the tests run over an installed package",
    "make": "sets up an environment of its own; .ci/run runs the same words",
    "javac": "needs the library of ARX; tests/extras/test_bridges.py parses the program",
    "java": "needs the library of ARX, as above",
    "privsieve start": "asks questions; tests/test_start.py answers them",
    "python experiments/": "takes minutes to hours, on data that are not ours to give on; "
                           "tests/test_experiments.py runs short ones",
}
#: A demo takes seconds: it is made once, and copied for the other pages that begin with it.
DEMO: list[tempfile.TemporaryDirectory[str]] = []
#: What is searched for five minutes where nobody says otherwise is searched for a few seconds.
SHORTER = ("--seconds", "5")


def lines(body):
    """The commands of a block, each as its words; a line that ends in a backslash goes on."""
    return [words for line in body.replace("\\\n", " ").splitlines()
            if (words := shlex.split(line, comments=True))]


def not_run(words):
    """By what a command is excused; None where it has to run."""
    return next((start for start in NOT_RUN if " ".join(words).startswith(start)), None)


class Reader:
    """A reader in a folder, which is the one that we are in."""

    def __init__(self, folder):
        self.folder, self.space, self.held = folder, {"__name__": "page"}, ExitStack()
        self.library = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.held.close()

    def read(self, text):
        """Do what a page says, from its beginning to its end."""
        for language, name, body in BLOCK.findall(text):
            if name.startswith("src/"):  # a file of the package, shown
                continue
            if name:
                (self.folder / name).write_text(body, encoding="utf-8")
            elif language == "sh":
                for words in lines(body):
                    self.shell(words)
            elif language == "python":
                exec(compile(body, "page", "exec"), self.space)
            elif language == "toml":
                self.declare(body)

    def declare(self, body):
        """A piece of a domain file is one, and a draft that was looked at is refused as such."""
        if "private = true" in body:
            with pytest.raises(DomainError, match="private"):
                parse(body)
        else:
            parse(body)

    def shell(self, words):
        """Run one command line; it has to succeed."""
        if not_run(words):
            return
        if words[-2:-1] == [">"]:
            with Path(words[-1]).open("w", encoding="utf-8") as file, redirect_stdout(file):
                self.shell(words[:-2])
        elif words[0] == "cd":
            os.chdir(words[1])
        elif words[:3] == ["privsieve", "demo", "--out"]:
            if not DEMO:
                place = tempfile.TemporaryDirectory()
                assert run(["demo", "--out", f"{place.name}/demo"]) == 0, words
                DEMO.append(place)
            shutil.copytree(f"{DEMO[0].name}/demo", words[3])
        elif words[:2] == ["privsieve", "inspect"] and "--private-output" not in words:
            from test_cli import on_terminal

            assert on_terminal(*words[1:], LINES="999")[0] == 0, words
        elif words[0] == "privsieve":
            assert run([*words[1:], *(SHORTER if words[1] == "explore" else ())]) == 0, words
        elif words[0] == "Rscript":
            self.r(words[1:])
        else:
            assert words[0] == "python", words
            assert words[1].endswith(".py"), words
            with mock.patch.object(sys, "argv", words[1:]):
                runpy.run_path(words[1], run_name="__main__")

    def r(self, words):
        """Run R, with a stand-in for the packages that it asks for."""
        from bridge_tables import rscript, sdcmicro_library

        if self.library is None:
            place = self.held.enter_context(tempfile.TemporaryDirectory())
            self.library = sdcmicro_library(Path(place))
        code, _, output = rscript(*words, env=self.library)
        assert code == 0, output
