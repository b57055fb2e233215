"""Count what plain English forbids: names that say nothing, words that nobody uses, long sentences.

`python tests/plain.py PATH ...` prints each place with a better word; `--count` prints one line of
figures for each group of texts.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
#: Names that say nothing about their value, and what to write instead.
BETTER = {
    "one": "the noun: column, option, row, path",
    "found": "the noun that was searched: columns, matches, level",
    "said": "the noun: settings, text, answer, cell",
    "told": "the noun: text, message, facts",
    "made": "the noun that was made: release, page, table",
    "asked": "request, settings, options",
    "given": "arguments, options, values",
    "shown": "text, cells, rows",
    "part": "the noun: chunk, batch, section, term",
    "more": "the noun: extra_columns, others, rest",
    "standing": "always_included, kept, fixed",
    "settled": "resolved, planned, fixed",
    "worth": "score, value",
    "_of": "a verb with its object",
}
#: Words that no reader uses in this way, and what to write instead.
WORDS = {
    r"hubs?": "a row that is the nearest neighbour of many",
    r"crowds?": "group of at least k rows",
    r"strangers?": "attacker",
    r"wish(?:es)?": "choice",
    r"whoever": "anyone who",
    r"in whatever": "always",
    r"whatever the rows": "always",
    r"comes? to": "is, equals, or costs",
    r"so (?:many|much)": "the number",
    r"who wants?": "if you want",
    r"nobody looked": "estimated from the table's size",
    r"for ever": "permanently",
    r"aught|nought": "anything, nothing",
    r"none but": "only",
    r"nor does (?:it|he|she)": "a sentence of its own",
    r"is worth": "scores, or matters",
    r"stands? (?:in|beside|once|below|above|there|written)": "is in, is next to, means",
    r"speaks? of": "describes",
    r"what (?:it|they) (?:is|are) told": "the arguments",
}
#: The same in texts for users only: code and proofs need the word.
USERS = {
    r"races?": "noisy top-k selection",
    r"(?<!git )branch(?:es)?": "column, rule or group",
    r"a look": "an inspection",
}
#: What a user reads; decisions, proofs and results are for reviewers.
REVIEWERS = ("decisions", "proofs", "results", "papers", "reference")
PASSIVE = re.compile(r"\b(?:is|are|was|were|be|been|being)\s+(?:\w+ly\s+|not\s+)?(?:\w+ed|"
                     r"written|read|made|done|given|taken|known|shown|kept|left|drawn|chosen|"
                     r"seen|found|told|said|built|sent|held|paid|cut|put|set|lost|sold|spent)\b",
                     re.IGNORECASE)


class Place(NamedTuple):
    """A word in a file, and what to write instead."""

    path: Path
    line: int
    word: str
    better: str


def names(tree):
    """Yield each name that a module binds, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef |
                        ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.lineno, node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr
        elif isinstance(node, ast.alias) and node.asname:
            yield node.lineno, node.asname


def bad_names(path):
    """List the names of a Python file that say nothing about their value."""
    return [Place(path, line, name, BETTER.get(name) or BETTER[name.strip("_")])
            for line, name in names(ast.parse(path.read_text(encoding="utf-8")))
            if name in BETTER or name.strip("_") in BETTER]


def texts(path):
    """Yield the line and the words of each docstring, comment and text, or paragraph of a page."""
    source = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        fenced = re.sub(r"^(`{3,}).*?^\1$", lambda code: "\n" * code[0].count("\n"), source,
                        flags=re.MULTILINE | re.DOTALL)
        line = 1
        for paragraph in re.split(r"(\n\s*\n)", fenced):
            if paragraph.strip():
                yield line, paragraph
            line += paragraph.count("\n")
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, re.sub(r"^\s*(?:>>>|\.\.\.).*$", "", node.value, flags=re.MULTILINE)
    for line, comment in enumerate(source.splitlines(), 1):
        if comment.lstrip().startswith("#"):
            yield line, comment.lstrip(" #:")


def is_for_users(path):
    """Return whether a page or a text of the product is for its users."""
    return (path.suffix != ".py" and not path.name.endswith(".proof.md")
            and not set(path.parts) & set(REVIEWERS))


def bad_words(path):
    """List the words of a file that no reader uses in this way."""
    words = WORDS | (USERS if is_for_users(path) else {})
    every = re.compile(r"\b(?:" + "|".join(f"(?P<w{i}>{word})" for i, word in enumerate(words))
                       + r")\b", re.IGNORECASE)
    better = list(words.values())
    for line, text in texts(path):
        plain = re.sub(r"`[^`]*`|\]\([^)]*\)", lambda code: " " * len(code[0]), text)
        for match in every.finditer(plain):
            yield Place(path, line + plain[:match.start()].count("\n"), match[0],
                        better[int(match.lastgroup[1:])])


def sentences(path):
    """Yield the words of each sentence of a file, without code and tables."""
    for _, text in texts(path):
        prose = re.sub(r"`[^`]*`", "code", re.sub(r"^\s*\|.*$", "", text, flags=re.MULTILINE))
        for sentence in re.split(r"[.!?:;]\s+|\n\s*\n|\n\s*[-*#]", prose):
            words = re.findall(r"[A-Za-z][\w'-]*", sentence)
            if len(words) > 2:
                yield words, sentence


def groups():
    """The files of each group of texts."""
    source = ROOT / "src" / "privsieve"
    pages = [path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts]
    return {
        "README": [ROOT / "README.md"],
        "pages for users": [path for path in pages if is_for_users(path)],
        "pages for reviewers": [path for path in pages if not is_for_users(path)],
        "texts of reports": sorted((source / "report" / "words").glob("*.txt")),
        "code": sorted(source.rglob("*.py")),
        "tests": [ROOT / "conftest.py", *(
            path for folder in ("tests", "benchmarks", "experiments")
            for path in sorted((ROOT / folder).rglob("*.py")) if path != Path(__file__))],
    }


def count():
    """Print one line of figures for each group."""
    print("group                 words  per sentence  over 25  passive  bad words  bad names")
    for group, paths in groups().items():
        every = [pair for path in paths for pair in sentences(path)]
        words = sum(len(each) for each, _ in every)
        print(f"{group:<20}{words:>7}{words / len(every):>14.1f}"
              f"{sum(len(each) > 25 for each, _ in every) / len(every):>8.1%}"
              f"{sum(bool(PASSIVE.search(text)) for _, text in every) / len(every):>9.1%}"
              f"{sum(len(list(bad_words(path))) for path in paths):>11}"
              f"{sum(len(bad_names(path)) for path in paths if path.suffix == '.py'):>11}")


def main(paths):
    """Print each place of some files or folders, or the figures of all."""
    if paths == ["--count"]:
        count()
        return
    for start in map(Path, paths):
        for path in [start] if start.is_file() else sorted(start.rglob("*")):
            if path.suffix in (".py", ".md", ".txt"):
                for place in [*(bad_names(path) if path.suffix == ".py" else ()), *bad_words(path)]:
                    print(f"{path}:{place.line}: {place.word}: {place.better}")


if __name__ == "__main__":
    main(sys.argv[1:])
