"""Check a built site: every link inside leads somewhere, and no page loads anything from outside.

`python docs/_ext/check_site.py docs/_build`; nothing is fetched.
"""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: What a browser fetches by itself.
LOADED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """The places of one page, where its links lead, and what it loads."""

    def __init__(self, text: str) -> None:
        """Read the text of a page."""
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Note a place, a link, or what is loaded."""
        values = {name: value for name, value in attrs if value}
        self.places |= {values[name] for name in ("id", "name") if name in values}
        if tag in LOADED and LOADED[tag] in values:
            self.loaded.append(values[LOADED[tag]])
        elif tag == "a" and "href" in values:
            self.links.append(values["href"])


@cache
def page(path: Path) -> Page:
    """A page of the site, read once."""
    return Page(path.read_text(encoding="utf-8"))


def wrong(path: Path) -> list[str]:
    """Return what is wrong with the links of one page."""
    faults = []
    for link in page(path).loaded + page(path).links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            if link in page(path).loaded and parts.scheme != "data":
                faults.append(f"loads {link}")
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if not target.is_file():
            faults.append(f"no file: {link}")
        elif parts.fragment and target.suffix == ".html" and (
                unquote(parts.fragment) not in page(target).places):
            faults.append(f"no such place: {link}")
    return faults


def main(site: Path) -> int:
    """Print what is wrong; 0 if nothing is."""
    pages = sorted(site.resolve().rglob("*.html"))
    faults = [f"{path.relative_to(site.resolve())}: {fault}" for path in pages
              for fault in wrong(path)]
    if not pages:
        faults = [f"{site}: no pages"]
    print("\n".join(faults) or f"{len(pages)} pages, every link inside leads somewhere")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
