"""Study: what several sites are asked together, in a folder that all of them can reach.

::

    study.json, domain.toml     what is asked, of whom, and the domain: written once
    NAME.pub, combiner.pub      the public keys
    NAME.1.sum                  what a site sends in a round: masked, and sealed for the combiner
    NAME.2.found                what a round came to, sealed for a site, where it needs that

Nothing in the folder is secret, and no name of a file says anything of rows.  The digest of the
study and of all keys is what its owners agree on, over another way than the folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from privsieve._version import __version__
from privsieve.errors import ParameterError
from privsieve.frozen import dataclass
from privsieve.methods import plan as planned
from privsieve.public.canonical import Json, canonical, digest, parsed
from privsieve.public.domain import LARGEST_ROWS, Domain
from privsieve.public.domain_file import LARGEST_FILE as LARGEST_DOMAIN
from privsieve.public.plan import Plan
from privsieve.sites.masks import SiteKey, SitePublic, Use
from privsieve.summaries.flat import lengths
from privsieve.summaries.stages import Stages

FORMAT = "privsieve-study/1"
STUDY, DOMAIN, COMBINER = "study.json", "domain.toml", "combiner"
#: Each pair of sites makes a mask.
MOST_SITES = 64
#: Where the number of rows of a site is private, its positions begin at a multiple of this.
_APART = 2**44
_LARGEST_FILE = 2**20
_NAME = "[a-z0-9][a-z0-9-]{0,39}"
_FIELDS = {"format", "method", "options", "plan", "domain_sha256", "sites", "tie_key",
           "sites_see_sums", "software"}


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """What is asked, and of whom; `plan` still lacks the keys of the sites (see `keyed`).

    words : how many the sum of each round has.
    """

    place: Path
    said: Mapping[str, Any]
    domain: Domain
    plan: Plan
    words: list[int]

    @classmethod
    def begin(cls, place: str | Path, asked: tuple[str, Domain, Mapping[str, Any]],
              sites: Mapping[str, int | None], *, see: bool = False, tie_key: int | None = None,
              ) -> Self:
        """Make the folder of a new study.

        asked : method, domain, and options with epsilon.
        sites : the number of rows of each, by its name; None where it is private.
        see : whether sites may see what the rounds before the last came to.
        """
        method, domain, options = asked
        _demand_sites(sites, domain)
        plain = {name: str(value) if isinstance(value, Fraction) else value
                 for name, value in options.items()}
        plan = _planned(method, domain, plain, sites)
        _sizes(plan, see=see)
        if tie_key is None:
            tie_key = int.from_bytes(os.urandom(8))
        said: dict[str, Json] = {
            "format": FORMAT, "method": method, "options": plain, "plan": plan.json(),
            "domain_sha256": domain.digest(), "tie_key": str(tie_key), "sites_see_sums": see,
            "sites": [{"name": name, "rows": rows} for name, rows in sites.items()],
            "software": __version__}
        try:
            data = canonical(said)
        except TypeError:
            raise ParameterError("an option of the study is no text, number, flag or list of "
                                 "these; write it as the command line does") from None
        folder = Path(place)
        try:
            folder.mkdir()
        except OSError:
            raise ParameterError("the folder of the study cannot be made, or exists; name one "
                                 "that does not, where all sites can reach it") from None
        domain.to_toml(folder / DOMAIN)
        put(folder / STUDY, data)
        return cls.read(folder)

    @classmethod
    def read(cls, place: str | Path) -> Self:
        """The study in a folder; one that this version would not begin so is refused."""
        folder = Path(place)
        data = read(folder / STUDY)  # of a folder that is none this is said, and no domain file
        domain = Domain.from_toml(folder / DOMAIN)
        try:
            said = parsed(data)
            good = isinstance(said, dict) and said["format"] == FORMAT and set(said) == _FIELDS
            sites = {str(one["name"]): one["rows"] for one in said["sites"]} if good else {}
            tie_key = int(said["tie_key"])
        except (ValueError, TypeError, LookupError, AttributeError):
            good = False
        if not good or not 0 <= tie_key < 2**64 or len(sites) < len(said["sites"]):
            raise ParameterError("study.json is not as privsieve writes it; take the folder that "
                                 "privsieve combine study made")
        if said["software"] != __version__:
            raise ParameterError(f"the study was begun with privsieve {said['software']}, and "
                                 f"this is {__version__}; all sites take the same version")
        _demand_sites(sites, domain)
        if domain.digest() != said["domain_sha256"]:
            raise ParameterError("the domain of the study's folder is not the one that the study "
                                 "was begun with; take the folder as it was")
        plan = _planned(said["method"], domain, said["options"], sites)
        if canonical(plan.json()) != canonical(said["plan"]):
            raise ParameterError("the plan of the study does not follow from what it asks for; "
                                 "begin it anew")
        words = _sizes(plan, see=said["sites_see_sums"] is True)
        return cls(folder, said, domain, plan, words)

    @cached_property
    def sites(self) -> dict[str, int | None]:
        """The number of rows of each site, by its name; None where it is private."""
        return {one["name"]: one["rows"] for one in self.said["sites"]}

    def first(self, name: str) -> int:
        """The position of a site's first row: as if all tables were one, in the sites' order."""
        before = list(self.sites)[:list(self.sites).index(name)]
        rows = [self.sites[one] for one in before]
        # [positions] public and distinct, wherever a row is
        return sum(_APART if many is None else many for many in rows)

    @property
    def tie_key(self) -> int:
        """The fresh number that all orders of ties are made with; it needs no secrecy."""
        return int(self.said["tie_key"])

    @property
    def stages(self) -> Stages:
        """The passes over the rows, each of which is a sum of a fixed number of integers."""
        assert isinstance(self.plan.summarise, Stages)
        return self.plan.summarise.adding

    @cached_property
    def combiner(self) -> SitePublic:
        """The public key of the combiner."""
        return self._key(COMBINER)

    @cached_property
    def keys(self) -> dict[str, SitePublic]:
        """The public keys of all sites, by their names."""
        lacks = [name for name in self.sites if not self.pub(name).exists()]
        if lacks:
            raise ParameterError(f"of the study's sites {', '.join(lacks)} did not join yet: "
                                 "privsieve sum join makes a site's key")
        found = {name: self._key(name) for name in self.sites}
        if len({*found.values(), self.combiner}) <= len(found):
            raise ParameterError("two of the study have one key, and their masks would hide "
                                 "nothing; each makes its own with privsieve sum join")
        return found

    @cached_property
    def agreed(self) -> str:
        """The digest of the study and of all keys: who agrees on it means the same."""
        keys = {name: key.raw.hex() for name, key in {**self.keys, COMBINER: self.combiner}.items()}
        # The domain file also says how a CSV file is written; the domain's digest does not.
        said = digest(read(self.place / DOMAIN, LARGEST_DOMAIN))
        return digest(canonical({"study": dict(self.said), "domain_file": said, "keys": keys}))

    def keyed(self) -> Plan:
        """The plan with the fingerprints of the sites' keys: what is charged and certified."""
        return replace(self.plan, sites=tuple(key.fingerprint for key in self.keys.values()))

    def use(self, word: Any, at: int, rests_on: str = "") -> Use:
        """What a secret of this study is for."""
        return Use(word, self.agreed, at, rests_on)

    def join(self, name: str, key: SitePublic) -> None:
        """Put a site's public key into the folder."""
        if name not in self.sites:
            raise ParameterError(f"the study has no site {name!r}; its sites are "
                                 f"{', '.join(self.sites)}")
        others = [self._key(one) for one in (*self.sites, COMBINER) if self.pub(one).exists()]
        if key in others:
            raise ParameterError("the key is of another one of the study already; each makes its "
                                 "own")
        put(self.pub(name), key.pem)

    def pub(self, name: str) -> Path:
        """Where a public key lies."""
        return self.place / f"{name}.pub"

    def sent(self, name: str, at: int) -> Path:
        """Where a site's message of a round lies."""
        return self.place / f"{name}.{at}.sum"

    def told(self, name: str, at: int) -> Path:
        """Where that lies which a site needs for a round."""
        return self.place / f"{name}.{at}.found"

    def round(self, name: str) -> int:
        """The round that a site is in."""
        at = 1
        while at < len(self.words) and self.told(name, at + 1).exists():
            at += 1
        return at

    def owner(self, key: SiteKey) -> str:
        """Whose key it is."""
        for name, public in {**self.keys, COMBINER: self.combiner}.items():
            if public == key.public:
                return name
        raise ParameterError(f"the key {key.public.fingerprint} is none of the study's; name the "
                             "file that privsieve sum join made for it")

    def _key(self, name: str) -> SitePublic:
        return SitePublic.of_pem(read(self.pub(name)))


def _planned(method: object, domain: Domain, options: Mapping[str, Any],
             sites: Mapping[str, int | None]) -> Plan:
    rows = [many for many in sites.values() if many is not None]
    return planned(str(method), domain, rows=sum(rows) if rows else None, **options)


def _sizes(plan: Plan, *, see: bool) -> list[int]:
    """How many words each round has; refused where a sum of sites cannot make the summary."""
    if not isinstance(plan.summarise, Stages):
        raise ParameterError(f"{plan.method} needs all rows in one place, and several sites can "
                             "only add up sums; take noisy-top-k, rule-sieve, noisy-histogram or "
                             "kernel-ridge")
    if not plan.cost.epsilon:
        raise ParameterError("what is asked costs nothing and needs no row of any site; ask "
                             "privsieve select")
    found = lengths(plan.summarise.adding, plan.domain, plan.method)
    if len(found) > 1 and not see:
        raise ParameterError(
            f"{plan.method} needs {len(found)} rounds, and after the first each site has to be "
            "told exact sums of all rows, without noise: if all sites may see them, say "
            "--sites-see-sums; else take a method of one round")
    return found


def _demand_sites(sites: Mapping[str, int | None], domain: Domain) -> None:
    """Refuse sites that are none, and units of which one could be at two sites."""
    if not 2 <= len(sites) <= MOST_SITES:
        raise ParameterError(f"the study has {len(sites)} sites; name 2 to {MOST_SITES}, once each")
    for name, rows in sites.items():
        if not re.fullmatch(_NAME, name) or name == COMBINER:
            raise ParameterError(f"a site is called {name!r}; write 1 to 40 small letters, digits "
                                 f"and dashes, and not {COMBINER}")
        whole = isinstance(rows, int) and not isinstance(rows, bool)
        if domain.rows_are_public and not (whole and 1 <= (rows or 0) <= LARGEST_ROWS):
            raise ParameterError(f"the number of rows of site {name} is missing; where a row is "
                                 f"replaced it is public: write {name}=ROWS")
        if not domain.rows_are_public and rows is not None:
            raise ParameterError(f"the number of rows of site {name} is given, and under "
                                 f"add-remove it is private; write {name} alone")
    if domain.person is not None:
        raise ParameterError("a person may have rows at two sites, and nobody could count them "
                             "once; protect rows, or bring the rows of persons to one place")


def read(path: Path, most: int = _LARGEST_FILE) -> bytes:
    """What a file of the study holds."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            data = file.read(most + 1)
    except (OSError, ValueError):
        raise ParameterError(f"{path.name} is not in the folder of the study, or cannot be read; "
                             "name the folder that privsieve combine study made") from None
    if len(data) > most:
        raise ParameterError(f"{path.name} is larger than any that privsieve writes; take the "
                             "folder as it was left")
    return data


def put(path: Path, data: bytes, mode: int = 0o644) -> None:
    """A new file, whole or not at all; nothing is overwritten."""
    if os.path.lexists(path):
        raise ParameterError(f"{path.name} is there already, and nothing is overwritten")
    hidden = path.with_name(f".{os.urandom(8).hex()}")
    try:
        handle = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        hidden.rename(path)
    except OSError:
        hidden.unlink(missing_ok=True)
        raise ParameterError(f"{path.name} cannot be written; its folder must exist and be "
                             "writable") from None
