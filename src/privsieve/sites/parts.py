"""Parts: a site's sum under its masks, and the combiner's sum of all of them.

A site's message is one line that all can read, of public facts alone, and a text that the combiner
can open: the masked words.  All that the line says, and who sealed the text, is checked before the
charge.  The words are added after it: the combiner reads the rows of a study when it adds them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any, Self

import numpy as np

from privsieve._version import __version__
from privsieve.errors import ParameterError, ReleaseFailed, SchemaError
from privsieve.frozen import dataclass
from privsieve.public.canonical import canonical, digest, parsed
from privsieve.public.plan import Plan
from privsieve.rows import Source, resolve
from privsieve.rows.batch import Batch, Passes, batches, demand_readable
from privsieve.rows.room import Room
from privsieve.rows.source import Type, foreign
from privsieve.sites.masks import SiteKey, masked, opened, sealed, stream
from privsieve.sites.study import COMBINER, MOST_SITES, Study, put, read
from privsieve.summaries.flat import Words, flat, shaped

FORMAT = "privsieve-sum/1"
#: A head is a few hundred bytes; a nonce and a tag are 28.
_MOST_HEAD = 4096
#: The last bits of a key say the site, so that keys of two sites are never the same.
_SITE_BITS = (MOST_SITES - 1).bit_length()
_FAILED = ("the sum failed, and nothing was sent: the table is damaged, or the machine failed; "
           "try again")


def send(study: Study, key_file: str | Path, source: Source, *, agreed: str,
         room: Room | None = None) -> int:
    """A site's sum of the present round, masked and sealed into the study's folder; the round.

    agreed : what all owners said to each other that the study and its keys are.
    """
    key = SiteKey.read(key_file)
    demand_agreed(study, agreed)
    name = study.owner(key)
    if name == COMBINER:
        raise ParameterError("this is the combiner's key, and the combiner has no rows in the "
                             "study; a site that combines has two keys")
    at = study.round(name)
    _demand_rows(study, name, source)
    once = marker(key_file, study, at)
    if once.exists() or study.sent(name, at).exists():
        raise ParameterError(f"site {name} has sent its sum of round {at}; a second one under the "
                             "same masks would show how the two differ: if it is lost or wrong, "
                             "begin a new study")
    noted = _noted(marker(key_file, study, 1)) if at > 1 else None
    before, note = _told(study, name, key, at), Note(key.own(study.use("rows", 0)))
    # [silent] what fails while rows are there has one text
    words = foreign(lambda: _summed(study, (name, key, note), source, before, room or Room()),
                    SchemaError(_FAILED))
    if noted not in (None, note.said):
        raise SchemaError("the table is not the one that was summed in round 1, or its rows stand "
                          "in another order, and nothing was sent; name the table as it was then, "
                          "or begin a new study")
    head = canonical(_head(study, name, at, source.record))
    use = study.use("mask", at, _rests_on(before))
    text = masked(words, key, list(study.keys.values()), use).astype("<u8").tobytes()
    data = sealed(text, head, key, study.combiner, study.use("sum", at))
    # [once] durable before anything leaves: these masks are never used for other words
    put(once, note.said, 0o600)
    put(study.sent(name, at), head + b"\n" + data)
    return at


def marker(key_file: str | Path, study: Study, at: int) -> Path:
    """The file beside a private key that says that a round was done with it."""
    return Path(f"{os.fspath(key_file)}.{study.agreed[:16]}.{at}")


class Note:
    """A digest of a site's rows, which nobody makes without its key.

    >>> rows, cut = Batch.empty(2), Note(bytes(32))
    >>> list(map(len, cut.taken([rows, rows]))), cut.said == Note(bytes(32)).said
    ([0, 0], True)
    """

    def __init__(self, secret: bytes) -> None:
        self._codes, self._labels = blake2b(key=secret), blake2b(key=secret)

    def taken(self, rows: Iterable[Batch]) -> Iterator[Batch]:
        """The same rows, noted as they pass."""
        for batch in rows:
            # Row by row: however they are cut.
            self._codes.update(np.ascontiguousarray(batch.codes).data)
            self._labels.update(np.ascontiguousarray(batch.label).data)
            yield batch

    @property
    def said(self) -> bytes:
        """Of all rows that passed."""
        return f"{self._codes.hexdigest()}{self._labels.hexdigest()}".encode()


def _noted(first: Path) -> bytes:
    """What was noted of the rows in the first round: places were found among these."""
    try:
        return first.read_bytes()
    except OSError:
        raise ParameterError(f"{first.name}, which round 1 left beside the site's key, cannot be "
                             "read, and without it nobody can say that the table is the same; put "
                             "it beside the key, or begin a new study") from None


# [agreed]
def demand_agreed(study: Study, agreed: str) -> None:
    """Refuse another study, or other keys, than those that were agreed on."""
    if agreed != study.agreed:
        raise ParameterError(
            "what was agreed on is another study than the one in the folder, or one with other "
            "keys: somebody may sit between the sites; compare with the others what privsieve "
            "combine show prints, over another way than the folder")
# [/agreed]


def _demand_rows(study: Study, name: str, source: Source) -> None:
    """Refuse a table that does not fit the study's domain, or has another number of rows."""
    shape = source.shape(count_rows=study.domain.rows_are_public)
    resolve(study.domain, shape, strict=False)
    said = study.sites[name]
    if said is not None and shape.rows not in (None, said):
        raise SchemaError(f"the table has {shape.rows} {source.record}s, and the study says "
                          f"{said} of site {name}; name the table that was meant, or begin a new "
                          "study")
    demand_readable(source, study.domain)


# [head]
def _head(study: Study, name: str, at: int, record: str) -> dict[str, Any]:
    """What a message says of itself: all of it is known before a row is read."""
    return {"format": FORMAT, "study": study.agreed, "domain_sha256": study.domain.digest(),
            "plan_sha256": digest(canonical(study.plan.json())), "site": name, "round": at,
            "words": study.words[at - 1], "record": record, "software": __version__}
# [/head]


def _summed(study: Study, site: tuple[str, SiteKey, Note], source: Source, before: list[Words],
            room: Room) -> Words:
    """The words of a site's part of a stage."""
    name, key, note = site
    read_rows = batches(source, study.domain, rows=study.sites[name], entropy=os.urandom,
                        room=room)
    rows = Passes(_placed(note.taken(read_rows), study.first(name)), room)
    at, found = len(before), _founds(study, before)
    words = flat(study.stages.once(at, rows, _ties(study, name, key), found))
    if len(words) != study.words[at]:
        raise ReleaseFailed
    return words


# [own-order]
def _ties(study: Study, name: str, key: SiteKey) -> Any:
    """The order of ties: of several rounds a site's own, for their counts tell who is where."""
    if len(study.words) == 1 or not study.stages.placed:
        return study.tie_key
    from privsieve.summaries.placed import Order

    return OwnTies(study, name, key, Order(study.plan.units).bits)
# [/own-order]


@dataclass(frozen=True, eq=False, repr=False)
class OwnTies:
    """Keys of a site's rows: of each column others, distinct, and in every round the same.

    bits : how long a key is.
    """

    study: Study
    name: str
    key: SiteKey
    bits: int
    _made: dict[int, Words] = field(default_factory=dict)

    # [own-ties]
    def keys(self, rows: Words, column: int) -> Words:
        """The keys of the rows at these positions."""
        if column not in self._made:
            self._made[column] = self._of(column)
        mine = rows - np.uint64(self.study.first(self.name))
        return self._made[column][mine.astype(np.int64)]

    def _of(self, column: int) -> Words:
        many, site = self.study.sites[self.name], list(self.study.sites).index(self.name)
        assert many is not None
        for tried in count():
            drawn = stream(self.key.own(self.study.use("ties", column, str(tried))), many)
            found = drawn >> np.uint64(64 - self.bits + _SITE_BITS) << np.uint64(_SITE_BITS)
            # All of them anew, where two are the same: that tells nothing of the others.
            if len(np.unique(found)) == many:
                return found | np.uint64(site)
        raise AssertionError
    # [/own-ties]


def _placed(rows: Iterable[Batch], first: int) -> Iterator[Batch]:
    """Rows at their positions among those of all sites."""
    for batch in rows:
        row = batch.row + np.uint64(first)
        yield replace(batch, row=row, unit=row if batch.unit is batch.row else batch.unit)


def _founds(study: Study, before: list[Words]) -> tuple[Any, ...]:
    """What the stages before came to, as summaries."""
    found: tuple[Any, ...] = ()
    for at, words in enumerate(before):
        found = (*found, shaped(study.stages.each[at]([], study.tie_key, found), words))
    return found


def _rests_on(before: list[Words]) -> str:
    """The digest of what the rounds before came to; masks for other sums do not cancel."""
    return digest(b"".join(words.astype("<u8").tobytes() for words in before)) if before else ""


def _told(study: Study, name: str, key: SiteKey, at: int) -> list[Words]:
    """What the rounds before came to, as the combiner sealed it for this site."""
    if at == 1:
        return []
    sizes = study.words[:at - 1]
    data = read(study.told(name, at), 8 * sum(sizes) + _MOST_HEAD)
    text = opened(data, b"", key, study.combiner, study.use("found", at))
    if text is None or len(text) != 8 * sum(sizes):
        raise ParameterError(f"{study.told(name, at).name} was not sealed by the combiner for "
                             "this site and round; let privsieve combine add write it again")
    return np.split(np.frombuffer(text, "<u8").astype(np.uint64), np.cumsum(sizes)[:-1])


@dataclass(frozen=True, eq=False, repr=False)
class Combined:
    """The sites' messages, checked and not added: an engine of `fit`.

    rounds : per round, the masked words of each site.
    record : what one record is; a line, if it is one at any site.
    paid : whether a round before made the charge.
    once : the file that says that the last round was added; None where the ledger's charge does.
    """

    study: Study
    key: SiteKey
    rounds: list[list[Words]]
    record: str
    paid: bool = False
    once: Path | None = None

    @classmethod
    def of(cls, study: Study, key_file: str | Path, *, agreed: str) -> Self:
        """The messages of all rounds up to the present one; what does not fit is refused."""
        key = SiteKey.read(key_file)
        demand_agreed(study, agreed)
        if study.owner(key) != COMBINER:
            raise ParameterError("this is the key of a site, and sums are sealed for the combiner; "
                                 "name the key that privsieve combine study made")
        present = min(study.round(name) for name in study.sites)
        heads: list[Mapping[str, Any]] = []
        rounds = [[_received(study, name, key, at, heads) for name in study.sites]
                  for at in range(1, present + 1)]
        once = marker(key_file, study, present) if present > 1 else None
        record = "line" if any(head["record"] == "line" for head in heads) else "row"
        return cls(study, key, rounds, record, once=once)

    @property
    def present(self) -> int:
        """The round that all sites have sent."""
        return len(self.rounds)

    @property
    def last(self) -> bool:
        """Whether a release can be made of it."""
        return self.present == len(self.study.words)

    def source(self) -> Source:
        """The sites as a source: nothing of it is read but by `stages`."""
        names = self.study.domain.names
        other: Type = "other"
        types = (other,) * len(names)
        return Source(names, types, "header" if self.record == "line" else "name", None,
                      lambda _positions, _size: iter(()), engine=self)

    def stages(self, _plan: Plan, _key: int) -> Any:
        """The summary of all sites' rows; its ties are in the order of the study's own key."""
        # [charged] `fit` asks for it after the charge
        if self.once is not None:
            put(self.once, b"", 0o600)
        return self.study.stages.ended(_founds(self.study, self._added()))

    def tell(self) -> None:
        """Seal what the rounds so far came to, for each site."""
        text = b"".join(words.astype("<u8").tobytes() for words in self._added())
        at = self.present + 1
        for name, other in self.study.keys.items():
            data = sealed(text, b"", self.key, other, self.study.use("found", at))
            if not self.study.told(name, at).exists():
                put(self.study.told(name, at), data)

    def _added(self) -> list[Words]:
        # [added] the masks of each pair cancel
        return [np.sum(words, axis=0, dtype=np.uint64) for words in self.rounds]


#: What a message says, and what it means if it says something else than the study.
_SAID = {
    "study": "of another study, or of one with other keys",
    "domain_sha256": "made for another domain",
    "plan_sha256": "made for another plan",
    "site": "another site's",
    "round": "of another round",
    "words": "of another length",
    "software": "made by another version of privsieve",
}


# [received]
def _received(study: Study, name: str, key: SiteKey, at: int,
              heads: list[Mapping[str, Any]]) -> Words:
    """A site's masked words of a round; before the charge, and nothing of it is added."""
    path, left = study.sent(name, at), ("nothing was charged" if at == 1 else
                                        "the study's charge stands, and nothing was added")
    refused: Callable[[str], ParameterError] = lambda why: ParameterError(  # noqa: E731  # a sentence with an end
        f"{path.name} {why}; {left}")
    if not path.exists():
        raise ParameterError(f"site {name} has not sent its sum of round {at} (privsieve sum add), "
                             f"and without it nothing can be added; {left}")
    size = 8 * study.words[at - 1]
    head, _, data = read(path, size + _MOST_HEAD).partition(b"\n")
    try:
        said = parsed(head)
        plain = isinstance(said, dict) and said.get("format") == FORMAT and (
            said.get("record") in ("row", "line"))
    except ValueError:
        plain = False
    if not plain:
        raise refused("is no message of a site as privsieve writes it")
    due = _head(study, name, at, said["record"])
    for known, what in _SAID.items():
        if said.get(known) != due[known]:
            raise refused(f"is {what}")
    text = opened(data, head, key, study.keys[name], study.use("sum", at))
    if text is None or len(text) != size:
        raise refused("was not sealed by its site for this combiner, or was changed")
    heads.append(said)
    return np.frombuffer(text, "<u8").astype(np.uint64)
# [/received]
