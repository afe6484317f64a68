"""lengths: chunk lengths in a model's tokens, how much text its limit cuts off, and whether it reads up to that
limit; reported before embedding."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from bakeoff.config.plan import PluginSpec
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline.chunk import ChunkedCorpus, embedded_texts, text_blocks
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.embed import TEXTS, EmbedWorkSpec, chunk_keys, vector_identity
from bakeoff.protocols import (
    Embedder,
    ResourceRequest,
    SupportsFit,
    SupportsTokens,
    VectorModel,
    vector_kind,
)
from bakeoff.runtime.events import WarningRaised
from bakeoff.runtime.shards import LoadedPlugin
from bakeoff.storage.arrow_take import ArrowTaker
from bakeoff.storage.row_cache import BatchRows, RowCache
from bakeoff.types import Role

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

VERSION = "2"
WORTH_SAYING = 0.01
BATCH = 2048
SAME = 1e-6
"""Largest difference between the numbers of two equal vectors."""
FEWEST_WORDS = 20
"""A text with fewer words does not show whether its end is read."""


@dataclass(frozen=True, slots=True)
class TokenLengths:
    """Chunk lengths in one model's tokens: minimum, quartiles, maximum; `cut` is the share of tokens beyond
    its limit. `read` is set if the model ignores its text after that many tokens, fewer than it declares."""

    chunker: str
    embedder: str
    max_tokens: int | None
    quantiles: tuple[int, int, int, int, int]
    cut: float
    cut_chunks: float
    read: int | None = None


def token_lengths(
    part: PluginSpec, embedder: VectorModel, chunking: ChunkedCorpus, context: StageContext
) -> TokenLengths | None:
    """Token lengths of a chunking for a model; None if the model can't count tokens."""
    if not isinstance(embedder, SupportsTokens) or isinstance(embedder, SupportsFit):
        return None
    key = fingerprint(
        "lengths", VERSION, vector_identity(part, embedder, Role.DOCUMENT), chunking.fingerprint
    )

    def write(folder: Path) -> None:
        counts = _counts(part, embedder, chunking, context)
        summary = _summary(chunking.label, part.label, embedder.info.max_tokens, counts)
        if len(counts) and vector_kind(embedder) == "dense":
            longest = max(range(len(counts)), key=counts.__getitem__)
            text = embedded_texts(chunking.chunks.slice(longest, 1))[0]
            summary = replace(summary, read=tokens_read(cast(Embedder, embedder), text))
        (folder / "lengths.json").write_text(json.dumps(asdict(summary)))

    stored = json.loads((context.cache.keep("lengths", key, write) / "lengths.json").read_text())
    found = TokenLengths(**{**stored, "quantiles": tuple(stored["quantiles"])})
    if found.cut >= WORTH_SAYING:
        context.emit(WarningRaised(truncation_note(found)))
    if found.read is not None:
        context.emit(WarningRaised(unread_note(found)))
    return found


def tokens_read(embedder: Embedder, text: str) -> int | None:
    """Tokens of a text after which a model ignores it, if these are fewer than it declares; else None."""
    import numpy as np

    limit, count = embedder.info.max_tokens, cast(SupportsTokens, embedder).count_tokens
    words, prompt = text.split(), embedder.info.document_prompt

    def tokens(end: int) -> int:
        return count([prompt + " ".join(words[:end])])[0]

    if limit is None or len(words) < FEWEST_WORDS:
        return None
    most = bisect_right(range(len(words) + 1), limit, key=tokens) - 1
    if most < FEWEST_WORDS:
        return None
    ends = [" ".join(words[:most]), " ".join(words[: most - most // 10])]
    whole, shorter = (embedder.embed([end], Role.DOCUMENT)[0] for end in ends)
    if not np.abs(whole - shorter).max() <= SAME:  # NaN is reported when the corpus is embedded
        return None
    read = words_read(embedder, words[:most])
    return tokens(read) if read > 1 else None  # a model with one vector for every text is another error


def words_read(embedder: Embedder, words: Sequence[str]) -> int:
    """Number of words in the shortest prefix with the same vector as all words."""
    import numpy as np

    def start(count: int) -> np.ndarray:
        return embedder.embed([" ".join(words[:count])], Role.DOCUMENT)[0]

    vector = start(len(words))
    noise = max(SAME, 2 * float(np.abs(vector - start(len(words))).max()))
    low, high = 1, len(words)
    while low < high:
        middle = (low + high) // 2
        if float(np.abs(start(middle) - vector).max()) <= noise:
            high = middle
        else:
            low = middle + 1
    return low


@dataclass(frozen=True, slots=True)
class TokenCountWorkSpec(EmbedWorkSpec):
    """Serialisable description of token counting, for worker processes."""

    def open(self) -> LoadedPlugin:
        """Load the model."""
        embedder = self.load()
        return LoadedPlugin(lambda rows: _token_rows(cast(SupportsTokens, embedder), rows), embedder.close)


def _counts(
    part: PluginSpec, embedder: VectorModel, chunking: ChunkedCorpus, context: StageContext
) -> list[int]:
    """Count the tokens of each chunk, on the workers if there are any."""
    counter, rows = cast(SupportsTokens, embedder), ArrowTaker(chunking.chunks.select(list(TEXTS)))
    order = TokenCountWorkSpec(type(embedder), part.params, embedder.info)
    label = f"count tokens of {part.label} · {chunking.label}"
    spread = context.spread(order, rows, label, ResourceRequest(apart=True))
    if spread is None:
        return [n for texts in text_blocks(chunking.chunks) for n in counter.count_tokens(texts)]
    pool = RowCache(
        context.cache, "tokens", fingerprint("tokens", vector_identity(part, embedder, Role.DOCUMENT))
    )
    keys = chunk_keys(chunking.chunks)
    pool.fill(keys, lambda at: _token_rows(counter, rows(at)), batch=BATCH, spread=spread)
    return [n for block in pool.gather(keys) for n in block["tokens"].to_pylist()]


def _token_rows(counter: SupportsTokens, rows: pa.Table) -> BatchRows:
    import pyarrow as pa

    counts = counter.count_tokens(embedded_texts(rows))
    return BatchRows([1] * len(counts), pa.table({"tokens": pa.array(counts, pa.int32())}))


def truncation_note(lengths: TokenLengths) -> str:
    """Sentence on how much text a model truncates."""
    return (
        f"{lengths.embedder} reads {lengths.max_tokens} tokens: {lengths.cut:.0%} of the text of {lengths.chunker} "
        f"chunks is cut off ({lengths.cut_chunks:.0%} of the chunks; their median is {lengths.quantiles[2]} tokens)."
    )


def unread_note(found: TokenLengths) -> str:
    """Sentence on a model that reads fewer tokens than it declares."""
    return (
        f"{found.embedder} declares {found.max_tokens} tokens, but ignores a text after about {found.read}: the end of "
        "longer chunks can't be found. Check how the model was exported."
    )


def _summary(chunker: str, embedder: str, limit: int | None, counts: list[int]) -> TokenLengths:
    import numpy as np

    tokens = np.asarray(counts, np.int64)
    low, q1, median, q3, high = (
        int(v) for v in np.quantile(tokens, [0, 0.25, 0.5, 0.75, 1], method="nearest")
    )
    beyond = np.maximum(tokens - limit, 0) if limit is not None else np.zeros_like(tokens)
    cut = float(beyond.sum() / max(int(tokens.sum()), 1))
    return TokenLengths(
        chunker, embedder, limit, (low, q1, median, q3, high), cut, float((beyond > 0).mean())
    )
