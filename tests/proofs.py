"""Digests of proved code: `python tests/proofs.py top_k` prints the lines that a proof needs.

A proof file `x.proof.md` lies beside `x.py` and says which functions it covers, each with a digest.
Print a new digest only after reading the proof against the changed function.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from pathlib import Path

SRC = Path(__file__).parents[1] / "src"
#: `covers: privsieve.noise.race.top_k @ 0123456789ab` or `covers: kernels/native.cpp#label @ …`
COVERS = re.compile(r"^covers: (\S+) @ (\S+)$", re.MULTILINE)
#: A label in a proof: `[noise-scale]`, but no link `[text](address)`.
CITED = re.compile(r"\[([a-z][a-z0-9-]*)\](?!\()")
#: A comment of Python or C++.
COMMENT = re.compile(r"(?:#|//)(.*)")


def file_of(target: str, src: Path = SRC) -> Path:
    """The file in which a covered function or text stands."""
    if "#" in target:
        return src / "privsieve" / target.partition("#")[0]
    parts = target.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        path = src.joinpath(*parts[:cut])
        for place in (path.with_suffix(".py"), path / "__init__.py"):
            if place.is_file():
                return place
    raise LookupError(f"{target}: no module under {src.name} has this name")


def digest(target: str, src: Path = SRC) -> str:
    """Twelve hex digits of SHA-256 of what is covered, without comments, docstrings and layout."""
    path = file_of(target, src)
    text = path.read_text(encoding="utf-8")
    if "#" in target:
        bare = _between(text, target.partition("#")[2])
    else:
        module = ".".join(path.relative_to(src).with_suffix("").parts).removesuffix(".__init__")
        bare = _function(text, target.removeprefix(module + "."))
    return hashlib.sha256(bare.encode()).hexdigest()[:12]


def _function(text: str, name: str) -> str:
    node: ast.AST = ast.parse(text)
    for name_part in name.split("."):
        nodes = [n for n in node.body if getattr(n, "name", None) == name_part]
        if len(nodes) != 1:
            raise LookupError(f"{name}: found {len(nodes)} times")
        node = nodes[0]
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(inner):
            inner.body = inner.body[1:] or [ast.Pass()]
    # Layout is Python's syntax: it is made canonical, not removed.
    return ast.unparse(node)


def _between(text: str, label: str) -> str:
    """Code between two comments `[label]` and `[/label]`, comments and white space removed."""
    lines = text.splitlines()
    marks = [[i for i, line in enumerate(lines) if re.search(rf"(?://|#).*\[{mark}\]", line)]
             for mark in (label, "/" + label)]
    if [len(at) for at in marks] != [1, 1]:
        raise LookupError(f"{label}: one opening and one closing label are needed")
    body = "\n".join(lines[marks[0][0] + 1 : marks[1][0]])
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL)
    return re.sub(r"\s+", "", re.sub(r"//.*", "", body))


def complaints(proof: Path, src: Path = SRC) -> list[str]:
    """What a proof file and the code beside it disagree on; empty if they agree."""
    name, text = proof.relative_to(src), proof.read_text(encoding="utf-8")
    beside = proof.with_name(proof.name.removesuffix(".proof.md") + ".py")
    if not beside.is_file():
        return [f"{name} lies beside no {beside.name}"]
    covered = COVERS.findall(text)
    if not covered:
        return [f"{name} covers nothing"]
    problems, files = [], {beside}
    for target, written in covered:
        try:
            true = digest(target, src)
            files.add(file_of(target, src))
        except (LookupError, OSError) as error:
            problems.append(f"{name} covers what is not there: {error}")
            continue
        if true != written:
            problems.append(f"{target} changed: read {name} again, then write @ {true}")
    known = {label for path in files for label in labels(path)}
    problems += [f"{name} cites [{label}], which no comment of the code has"
                 for label in sorted(set(CITED.findall(text)) - known)]
    return problems


def labels(path: Path) -> set[str]:
    """The labels in the comments of a file."""
    comments = COMMENT.findall(path.read_text(encoding="utf-8"))
    return {label for comment in comments for label in CITED.findall(comment)}


def functions(path: Path, src: Path = SRC) -> list[str]:
    """What a proof of a module may cover: its functions, and those of its classes."""
    module = ".".join(path.relative_to(src).with_suffix("").parts)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts = [(node.name, node) for node in tree.body if hasattr(node, "name")]
    parts += [(f"{name}.{own_node.name}", own_node) for name, node in parts
              if isinstance(node, ast.ClassDef) for own_node in node.body
              if hasattr(own_node, "name")]
    return [f"{module}.{name}" for name, node in parts if isinstance(node, ast.FunctionDef)]


def main(wanted: str, src: Path = SRC) -> None:
    """Print what is covered under a name, or all that a proof of a new module may cover."""
    covered = {target for proof in src.rglob("*.proof.md")
               for target, _ in COVERS.findall(proof.read_text(encoding="utf-8"))}
    targets = sorted(t for t in covered if wanted in t) or [
        target for path in sorted(src.rglob(f"{wanted}.py")) for target in functions(path, src)]
    try:
        for target in targets or [wanted]:
            print(f"covers: {target} @ {digest(target, src)}")
    except LookupError as error:
        sys.exit(f"{error}; name a module without its folder (class_counts), or a function in "
                 "full (privsieve.noise.race.top_k)")


if __name__ == "__main__":
    main(*sys.argv[1:2] or [""])
