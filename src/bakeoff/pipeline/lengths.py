"""lengths: chunk lengths in a model's tokens, and how much text its limit cuts off; reported before
embedding."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from bakeoff.config.plan import PluginSpec
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline.chunk import ChunkedCorpus, embedded_texts, text_blocks
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.embed import TEXTS, EmbedWorkSpec, chunk_keys, vector_identity
from bakeoff.protocols import ResourceRequest, SupportsFit, SupportsTokens, VectorModel
from bakeoff.runtime.events import WarningRaised
from bakeoff.runtime.shards import LoadedPlugin
from bakeoff.storage.arrow_take import ArrowTaker
from bakeoff.storage.row_cache import BatchRows, RowCache
from bakeoff.types import Role

if TYPE_CHECKING:
    import pyarrow as pa

WORTH_SAYING = 0.01
BATCH = 2048


@dataclass(frozen=True, slots=True)
class TokenLengths:
    """Chunk lengths in one model's tokens: minimum, quartiles, maximum; `cut` is the share of tokens beyond
    its limit."""

    chunker: str
    embedder: str
    max_tokens: int | None
    quantiles: tuple[int, int, int, int, int]
    cut: float
    cut_chunks: float


def token_lengths(
    part: PluginSpec, embedder: VectorModel, chunking: ChunkedCorpus, context: StageContext
) -> TokenLengths | None:
    """Token lengths of a chunking for a model; None if the model can't count tokens."""
    if not isinstance(embedder, SupportsTokens) or isinstance(embedder, SupportsFit):
        return None
    key = fingerprint("lengths", vector_identity(part, embedder, Role.DOCUMENT), chunking.fingerprint)

    def write(folder: Path) -> None:
        counts = _counts(part, embedder, chunking, context)
        summary = _summary(chunking.label, part.label, embedder.info.max_tokens, counts)
        (folder / "lengths.json").write_text(json.dumps(asdict(summary)))

    stored = json.loads((context.cache.keep("lengths", key, write) / "lengths.json").read_text())
    found = TokenLengths(**{**stored, "quantiles": tuple(stored["quantiles"])})
    if found.cut >= WORTH_SAYING:
        context.emit(WarningRaised(truncation_note(found)))
    return found


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
