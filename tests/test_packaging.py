"""Law: packages.  The wheel, the recipe and the R package have one version and the same needs."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import privsieve as ps

ROOT = Path(ps.__file__).parents[2]
#: The Python of an environment with rattler-build, which is not one of our own.
READERS = Path(os.environ.get("PRIVSIEVE_READERS") or ROOT / "build" / "readers" / "bin" / "python")
RENDER = """
import sys
from rattler_build import Stage0Recipe, VariantConfig
variant = VariantConfig.from_yaml(
    "{c_stdlib: [sysroot], cxx_compiler: [gxx], python: ['3.11.* *_cpython', '3.13.* *_cpython']}")
for variant in Stage0Recipe.from_file(sys.argv[1]).render(variant):
    print(variant.recipe.package.name, variant.recipe.package.version)
"""
HOSTS = re.compile(r"\b(?:https?://|[\w-]+\.(?:org|io|com)/)")


def text(name):
    """The text of a file of the project."""
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "pattern"), [
    ("CITATION.cff", r"^version: (\S+)$"),
    ("r/DESCRIPTION", r"^Version: (\S+)$"),
    ("recipe/recipe.yaml", r'^  version: "(\S+)"$'),
    ("CHANGELOG.md", r"^## (\d\S+)$"),
])
def test_one_version(name, pattern):
    """Each file that names the version names that of the package."""
    assert ps.__version__ == re.search(pattern, text(name), re.MULTILINE)[1]


def test_the_version_has_notes():
    """The version has a page of release notes."""
    assert f"# Version {ps.__version__}\n" in text(f"docs/releases/{ps.__version__}.md")


def test_the_recipe_needs_what_the_package_needs():
    """The recipe lists the dependencies of the package, with the same lowest versions."""
    project = tomllib.loads(text("pyproject.toml"))
    run = re.search(r"^  run:\n(.*?)^  run_constraints:", text("recipe/recipe.yaml"),
                    re.MULTILINE | re.DOTALL)[1]
    needed = {line.strip("- ").replace(" ", "") for line in run.splitlines()} - {"python"}
    host = text("recipe/recipe.yaml").replace(" ", "")

    assert set(project["project"]["dependencies"]) == needed
    assert all(f"-{need}\n".replace("scikit_build_core", "scikit-build-core") in host
               for need in project["build-system"]["requires"])


def test_the_recipe_names_no_address():
    """The recipe builds from this tree, and names no host."""
    assert HOSTS.search(text("recipe/recipe.yaml")) is None
    assert "path: .." in text("recipe/recipe.yaml")


@pytest.mark.skipif(not READERS.exists(), reason=(
    "rattler-build is not installed in build/readers; PRIVSIEVE_READERS may name a Python"))
def test_the_recipe_renders():
    """rattler-build renders the recipe for each Python."""
    done = subprocess.run([READERS, "-c", RENDER, ROOT / "recipe" / "recipe.yaml"],
                          capture_output=True, text=True, check=False)

    assert 0 == done.returncode, done.stderr[-2000:]
    assert {f"privsieve {ps.__version__}"} == set(done.stdout.splitlines())
