"""The pool: what people judge. Each (query, passage) occurs once, however many systems returned it.

Overlap rule: passages of one query and document are one item where each of them shares at least half of the shorter
of the two with the longest passage of the item, and none of them is of the same chunker as another unless it is the
same span. Nothing is chained: a passage that overlaps only a neighbour of the longest passage is a separate item. The
text shown runs from the first to the last character of its passages, so that nothing a system returned is hidden.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from bakeoff.errors import DataError, SettingError
from bakeoff.fingerprint import bytes_fingerprint, fingerprint
from bakeoff.measures.labels import Label
from bakeoff.review.choices import LabelScheme
from bakeoff.stats.number_format import questions
from bakeoff.types import TableRow

OVERLAP = 0.5
STORED_DEPTH = 10
"""A run keeps the text of this many results per query."""
ID_LENGTH = 16
VERSION = 1


@dataclass(frozen=True, slots=True)
class ReturnedPassage:
    """A rank at which a system returned a passage of an item; `start` and `end` are those of the passage."""

    system: str
    rank: int
    chunk_id: str
    start: int
    end: int
    score: float
    section: str = ""


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """One passage to judge for one query; `start` and `end` are characters of the document.

    `words` are to be marked in the text, `rules` name what filled it in as KEYWORD_MATCH (none: it is open),
    `returned` says who returned it where and is empty where reviewers are blind.
    """

    id: str
    query_id: str
    query_text: str
    category: str
    document_id: str
    start: int
    end: int
    section: str
    text: str
    words: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    returned: tuple[ReturnedPassage, ...] = ()

    @property
    def auto(self) -> Label:
        """The rules' judgment: KEYWORD_MATCH, or none."""
        return Label.KEYWORD_MATCH if self.rules else Label.UNJUDGED

    @property
    def text_hash(self) -> str:
        """The hash of the text a reviewer sees."""
        return text_hash(self.text)

    def blind(self) -> ReviewItem:
        """The item without the systems, ranks and scores behind it (F47)."""
        return replace(self, returned=())


@dataclass(frozen=True, slots=True)
class PassageView:
    """An item as shown to a reviewer: the first time (0) or as a hidden repetition (1)."""

    item: ReviewItem
    repeat: int = 0


@dataclass(frozen=True, slots=True)
class ReviewPool:
    """The items of a run in a seeded, shuffled order, what reviewers choose from, and what a reader should know."""

    run: str
    k: int
    seed: int
    systems: tuple[str, ...]
    items: tuple[ReviewItem, ...]
    notes: tuple[str, ...] = ()
    labels: LabelScheme = LabelScheme.MATCHES
    """Pools from before grades have no scheme: they were judged by matches."""

    def item(self, item_id: str) -> ReviewItem | None:
        """The item of an id, or None."""
        return self.by_id().get(item_id)

    def by_id(self) -> dict[str, ReviewItem]:
        """All items by id."""
        return {item.id: item for item in self.items}

    @property
    def open(self) -> tuple[ReviewItem, ...]:
        """The items no rule decided."""
        return tuple(item for item in self.items if not item.rules)

    @property
    def summary(self) -> str:
        """How many passages people judge, in the words of every screen."""
        filled = len(self.items) - len(self.open)
        rest = f"; rules filled in {filled:,} more" if filled else ""
        passages = f"{len(self.open):,} passage{'' if len(self.open) == 1 else 's'}"
        return f"{passages} to judge for {questions(len(self.queries))}{rest}"

    @property
    def queries(self) -> tuple[str, ...]:
        """The ids of the queries that have items, sorted."""
        return tuple(sorted({item.query_id for item in self.items}))

    def showings(
        self, reviewer: str, *, repeats: float = 0.0, auto: bool = False, blind: bool = True
    ) -> list[PassageView]:
        """What a reviewer sees: query by query, each in the reviewer's own seeded order, open items only unless `auto`.

        A share `repeats` of the first half comes once more, unannounced: it measures self-agreement.
        """
        chance = random.Random(f"{self.seed}/{reviewer}")
        chosen = [item for item in self.items if auto or not item.rules]
        order = list(dict.fromkeys(item.query_id for item in chosen))
        chance.shuffle(order)
        chance.shuffle(chosen)
        turn = {query: place for place, query in enumerate(order)}
        chosen.sort(key=lambda item: turn[item.query_id])
        count = round(repeats * len(chosen))
        again = chance.sample(chosen[: max(count, len(chosen) // 2)], count)
        views = [PassageView(item) for item in chosen] + [PassageView(item, 1) for item in again]
        return [replace(one, item=one.item.blind()) for one in views] if blind else views

    def fingerprint(self) -> str:
        """The fingerprint of the items and their texts."""
        return fingerprint("pool", sorted((item.id, item.text_hash) for item in self.items))


def text_hash(text: str) -> str:
    """The hash that detects a changed passage."""
    return bytes_fingerprint(text.encode("utf-8", "surrogatepass"))


def item_id(query_id: str, document_id: str, start: int, end: int) -> str:
    """The stable id of a span for a query."""
    return fingerprint("item", query_id, document_id, start, end)[:ID_LENGTH]


# --- passages → items -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PooledPassage:
    """A chunk with its text, as a run keeps it."""

    chunk_id: str
    document_id: str
    start: int
    end: int
    section: str
    text: str
    chunker: str = ""


@dataclass(slots=True)
class PassageGroup:
    """Passages that become one item; the first is the longest."""

    passages: list[PooledPassage]

    def takes(self, passage: PooledPassage) -> bool:
        """Whether a passage belongs to this item by the overlap rule."""
        first = self.passages[0]
        if (first.start, first.end) == (passage.start, passage.end):
            return True
        if any(one.chunker == passage.chunker and not _same(one, passage) for one in self.passages):
            return False
        shared = min(first.end, passage.end) - max(first.start, passage.start)
        return shared > 0 and shared >= OVERLAP * min(first.end - first.start, passage.end - passage.start)

    @property
    def start(self) -> int:
        """The first character of the item."""
        return min(one.start for one in self.passages)

    @property
    def end(self) -> int:
        """The character after the item's last."""
        return max(one.end for one in self.passages)

    def text(self) -> str:
        """The full text of the item, assembled from its passages."""
        longest = self.passages[0]
        text, start, end = longest.text, longest.start, longest.end
        for one in self.passages[1:]:
            if one.start < start:
                text, start = one.text[: start - one.start] + text, one.start
            if one.end > end:
                text, end = text + one.text[len(one.text) - (one.end - end) :], one.end
        return text


def group_passages(passages: Iterable[PooledPassage]) -> list[PassageGroup]:
    """The passages of one query as items, by the overlap rule."""
    groups: dict[str, list[PassageGroup]] = {}
    for passage in sorted(passages, key=_by_length):
        near = groups.setdefault(passage.document_id, [])
        home = next((group for group in near if group.takes(passage)), None)
        if home is None:
            near.append(PassageGroup([passage]))
        else:
            home.passages.append(passage)
    return [group for near in groups.values() for group in near]


def _by_length(passage: PooledPassage) -> tuple[int, str, int, str, str]:
    return (
        passage.start - passage.end,
        passage.document_id,
        passage.start,
        passage.chunker,
        passage.chunk_id,
    )


def _same(one: PooledPassage, other: PooledPassage) -> bool:
    return (one.start, one.end) == (other.start, other.end)


# --- stored pools -----------------------------------------------------------------------------------


def write_pool(pool: ReviewPool, path: Path) -> None:
    """Store a pool next to its ledger, so that every reviewer judges the same items."""
    import json

    from bakeoff.storage.cache import write_file

    path.parent.mkdir(parents=True, exist_ok=True)
    data = {"bakeoff": "pool", "version": VERSION, "fingerprint": pool.fingerprint(), **asdict(pool)}
    write_file(path, json.dumps(data, ensure_ascii=False, indent=1).encode() + b"\n")


def read_pool(path: Path) -> ReviewPool:
    """A stored pool; an edited one is refused."""
    import json

    if not path.is_file():
        raise SettingError(f"{path} does not exist. Make the pool with: bakeoff review export RUN")
    try:
        data = json.loads(path.read_bytes())
        if data.pop("bakeoff") != "pool" or data.pop("version") != VERSION:
            raise DataError(
                f"{path} is not a pool of this version of bakeoff. Make it again: bakeoff review export RUN"
            )
        stored = data.pop("fingerprint")
        items = tuple(_item(row) for row in data.pop("items"))
        labels = LabelScheme(data.pop("labels", LabelScheme.MATCHES))
        systems, notes = tuple(data.pop("systems")), tuple(data.pop("notes"))
        pool = ReviewPool(**data, systems=systems, notes=notes, items=items, labels=labels)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
        raise DataError(
            f"{path} is damaged ({exc}). Make it again with: bakeoff review export RUN --force"
        ) from exc
    if pool.fingerprint() != stored:
        raise DataError(f"{path} was changed after it was written. Make it again: bakeoff review export RUN")
    return pool


def _item(row: TableRow) -> ReviewItem:
    returned = tuple(ReturnedPassage(**one) for one in row["returned"])
    lists = {key: tuple(row[key]) for key in ("words", "rules")}
    return ReviewItem(**{**row, **lists, "returned": returned})
