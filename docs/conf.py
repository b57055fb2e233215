"""The site: these pages as they are, organised by `index.md`; `make docs` builds it.

The root of the repository is the source, so that a link between two files leads to the same place
here, in an editor and in a repository's viewer.  What the sidebar shows is read from the lists of
`index.md`: there is no second table of contents.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "docs" / "_ext")]

from privsieve import __version__  # noqa: E402

project = "privsieve"
author = "The privsieve developers"
copyright = f"{author}.  Apache 2.0"  # noqa: A001 - Sphinx calls it so
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "contents",
              "docstrings", "proofs", "notebooks"]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**", "experiments/**.md", "src/**.proof.md",
                    "examples/*.md", "examples/*.ipynb"]
exclude_patterns = [".*", "build", "demo", "out", "docs/_*", "tests", "benchmarks"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
default_role = "code"
smartquotes = False
autodoc_typehints = "none"

myst_heading_anchors = 4
myst_links_external_new_tab = False

html_theme = "furo"
html_title = "privsieve"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(ROOT / "docs" / "_static" / "scorer.js")
html_copy_source = False
html_show_sourcelink = False
html_additional_pages = {"index": "redirect.html"}
templates_path = ["_templates"]
html_theme_options = {
    "navigation_with_keys": True,
    # The tokens of the reports' pages, so that both look like one hand.
    "light_css_variables": {
        "font-stack": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif",
        "font-stack--monospace": "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
        "color-brand-primary": "#0b5a9d", "color-brand-content": "#0b5a9d",
        "color-brand-visited": "#0b5a9d",
        "color-foreground-primary": "#14181b", "color-foreground-secondary": "#4a545b",
        "color-foreground-muted": "#4a545b",
        "color-background-primary": "#fff", "color-background-secondary": "#f2f4f5",
        "color-background-border": "#d3d9dc",
        "color-api-name": "#0b5a9d", "color-api-pre-name": "#4a545b",
    },
    "dark_css_variables": {
        "color-brand-primary": "#74b6ee", "color-brand-content": "#74b6ee",
        "color-brand-visited": "#74b6ee",
        "color-foreground-primary": "#e9edef", "color-foreground-secondary": "#b3bcc2",
        "color-foreground-muted": "#b3bcc2",
        "color-background-primary": "#121517", "color-background-secondary": "#1d2226",
        "color-background-border": "#353d42",
        "color-api-name": "#74b6ee", "color-api-pre-name": "#b3bcc2",
    },
}
