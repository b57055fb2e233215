"""Proof and code are one change: digests, labels and files agree."""

from __future__ import annotations

import contextlib

import pytest

from proofs import SRC, complaints, digest, main

PROOFS = sorted(SRC.rglob("*.proof.md"))


@pytest.mark.parametrize("proof", PROOFS, ids=lambda path: path.name)
def test_proofs_and_code_agree(proof):
    """Every covered function is the one that was proved, and every cited label is in the code."""
    assert complaints(proof) == []


def test_there_are_proofs():
    """The walk finds the proofs."""
    assert {"streams.proof.md", "race.proof.md"} <= {path.name for path in PROOFS}


CODE = '''"""A module."""


def double(x):
    """Twice."""
    # [twice] as was proved
    if x:
        return 2 * x
    return 0


class Pair:
    """Two."""

    def sum(self):
        """Both."""
        return 2
'''
KERNEL = """int f(int x) {
    // [twice]
    return 2 * x;  // doubled
    // [/twice]
}
"""


@pytest.fixture
def src(tmp_path):
    """A source tree with one module, one kernel and one proof that agrees."""
    package = tmp_path / "privsieve"
    (package / "kernels").mkdir(parents=True)
    (package / "two.py").write_text(CODE)
    (package / "kernels" / "native.cpp").write_text(KERNEL)
    targets = ["privsieve.two.double", "privsieve.two.Pair.sum", "kernels/native.cpp#twice"]
    lines = [f"covers: {target} @ {digest(target, tmp_path)}" for target in targets]
    (package / "two.proof.md").write_text("\n".join([*lines, "Proof. [twice] adds. See [x](y)."]))
    return tmp_path


def edit(src, name, old, new):
    """Replace text in a file of the package, and say what the proof's test would."""
    path = src / "privsieve" / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return complaints(src / "privsieve" / "two.proof.md", src)


@pytest.mark.parametrize(("name", "old", "new"), [
    ("two.py", "as was proved", "see there"), ("two.py", "Twice.", "Two times."),
    ("two.py", "2 * x", "2  *  x"), ("two.py", '    """Both."""\n', ""),
    ("kernels/native.cpp", "// doubled", "/* twice */"),
    ("kernels/native.cpp", "2 * x", "2*x"), ("kernels/native.cpp", "f(", "g("),
])
def test_words_and_layout_are_free(src, name, old, new):
    """Comments, docstrings and layout change no digest."""
    assert edit(src, name, old, new) == []


@pytest.mark.parametrize(("name", "old", "new", "message"), [
    ("two.py", "2 * x", "3 * x", "privsieve.two.double changed: read privsieve/two.proof.md"),
    ("two.py", "    return 0", "        return 0", "privsieve.two.double changed"),
    ("two.py", "return 2\n", "return 3\n", "privsieve.two.Pair.sum changed"),
    ("two.py", "def double", "def twice", "covers what is not there: double: found 0 times"),
    ("kernels/native.cpp", "2 * x", "3 * x", "kernels/native.cpp#twice changed"),
    ("kernels/native.cpp", "// [/twice]", "", "covers what is not there: twice"),
    ("two.proof.md", "[twice]", "[thrice]", "cites [thrice], which no comment"),
    ("two.proof.md", "covers:", "about:", "covers nothing"),
    ("two.proof.md", "privsieve.two.double", "privsieve.three.double", "is not there"),
])
def test_changes_are_said(src, name, old, new, message):
    """A change of code, a missing label or a missing function names the proof to read again."""
    complaints = edit(src, name, old, new)

    assert len(complaints) == 1
    assert message in complaints[0]


def test_a_label_lost_in_both_files_is_said(src):
    """A cited label must be in a comment of the code, not elsewhere."""
    edit(src, "kernels/native.cpp", "twice", "double")
    edit(src, "two.proof.md", "#twice", "#double")

    assert any("[twice]" in message for message in edit(src, "two.py", "# [twice]", "# twice"))


def test_a_proof_lies_beside_its_module(src):
    """A proof without a module is said."""
    proof = src / "privsieve" / "two.proof.md"
    moved = proof.rename(proof.with_name("three.proof.md"))

    assert complaints(moved, src) == ["privsieve/three.proof.md lies beside no three.py"]


def test_the_lines_of_a_new_proof_are_printed(src, capsys):
    """Of a module without a proof all functions are printed; a name of nothing is said."""
    (src / "privsieve" / "fresh.py").write_text(CODE)
    main("fresh", src)
    main("two.double", src)
    printed = capsys.readouterr().out.splitlines()
    proof = src / "privsieve" / "fresh.proof.md"
    proof.write_text("\n".join(printed[:2]))

    assert [f"covers: privsieve.{name} @ {digest(f'privsieve.{name}', src)}" for name in (
        "fresh.double", "fresh.Pair.sum", "two.double")] == printed
    assert [] == complaints(proof, src)
    for name in ("nosuch", "privsieve.two.nosuch", "a/b", ""):
        with pytest.raises(SystemExit, match="name a module without its folder") if name else (
                contextlib.nullcontext()):
            main(name, src)
