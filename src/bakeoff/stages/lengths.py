"""lengths: how long chunks are for a model, and how much of their text its limit cuts off; told before embedding."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from bakeoff.events import Warned
from bakeoff.fingerprint import fingerprint
from bakeoff.plan import Part
from bakeoff.pool import Pool, Rows
from bakeoff.protocols import Embedder, Needs, SupportsTokens
from bakeoff.shards import Opened
from bakeoff.stages.chunk import Chunking, embedded_texts, text_blocks
from bakeoff.stages.embed import TEXTS, EmbedOrder, chunk_keys, identity
from bakeoff.stages.work import Workshop
from bakeoff.taking import Taker
from bakeoff.types import Role

if TYPE_CHECKING:
    import pyarrow as pa

WORTH_SAYING = 0.01
BATCH = 2048


@dataclass(frozen=True, slots=True)
class Lengths:
    """Tokens of the chunks for one model: minimum, quartiles, maximum; `cut` is the share beyond its limit."""

    chunker: str
    embedder: str
    max_tokens: int | None
    quantiles: tuple[int, int, int, int, int]
    cut: float
    cut_chunks: float


def lengths(part: Part, embedder: Embedder, chunking: Chunking, shop: Workshop) -> Lengths | None:
    """The token lengths of a chunking for a model, or None for a model that cannot count."""
    if not isinstance(embedder, SupportsTokens):
        return None
    key = fingerprint("lengths", identity(part, embedder, Role.DOCUMENT), chunking.fingerprint)

    def write(folder: Path) -> None:
        counts = _counts(part, embedder, chunking, shop)
        found = _summary(chunking.label, part.label, embedder.info.max_tokens, counts)
        (folder / "lengths.json").write_text(json.dumps(asdict(found)))

    stored = json.loads((shop.cache.keep("lengths", key, write) / "lengths.json").read_text())
    found = Lengths(**{**stored, "quantiles": tuple(stored["quantiles"])})
    if found.cut >= WORTH_SAYING:
        shop.emit(Warned(sentence(found)))
    return found


@dataclass(frozen=True, slots=True)
class TokensOrder(EmbedOrder):
    """Counting the tokens of chunks, for workers."""

    def open(self) -> Opened:
        """Load the model."""
        embedder = self.load()
        return Opened(lambda rows: _token_rows(cast(SupportsTokens, embedder), rows), embedder.close)


def _counts(part: Part, embedder: Embedder, chunking: Chunking, shop: Workshop) -> list[int]:
    """The tokens of each chunk, counted here, or by the workers there are."""
    counter, rows = cast(SupportsTokens, embedder), Taker(chunking.chunks.select(list(TEXTS)))
    order = TokensOrder(type(embedder), part.params, embedder.info)
    label = f"count tokens of {part.label} · {chunking.label}"
    spread = shop.spread(order, rows, label, Needs(apart=True))
    if spread is None:
        return [n for texts in text_blocks(chunking.chunks) for n in counter.count_tokens(texts)]
    pool = Pool(shop.cache, "tokens", fingerprint("tokens", identity(part, embedder, Role.DOCUMENT)))
    keys = chunk_keys(chunking.chunks)
    pool.fill(keys, lambda at: _token_rows(counter, rows(at)), batch=BATCH, spread=spread)
    return [n for block in pool.gather(keys) for n in block["tokens"].to_pylist()]


def _token_rows(counter: SupportsTokens, rows: pa.Table) -> Rows:
    import pyarrow as pa

    counts = counter.count_tokens(embedded_texts(rows))
    return Rows([1] * len(counts), pa.table({"tokens": pa.array(counts, pa.int32())}))


def sentence(found: Lengths) -> str:
    """What a model does not see, in a sentence."""
    return (
        f"{found.embedder} reads {found.max_tokens} tokens: {found.cut:.0%} of the text of {found.chunker} chunks is "
        f"cut off ({found.cut_chunks:.0%} of the chunks; their median is {found.quantiles[2]} tokens)."
    )


def _summary(chunker: str, embedder: str, limit: int | None, counts: list[int]) -> Lengths:
    import numpy as np

    tokens = np.asarray(counts, np.int64)
    low, q1, median, q3, high = (
        int(v) for v in np.quantile(tokens, [0, 0.25, 0.5, 0.75, 1], method="nearest")
    )
    beyond = np.maximum(tokens - limit, 0) if limit is not None else np.zeros_like(tokens)
    cut = float(beyond.sum() / max(int(tokens.sum()), 1))
    return Lengths(chunker, embedder, limit, (low, q1, median, q3, high), cut, float((beyond > 0).mean()))
