"""lengths: how long chunks are for a model, and how much of their text its limit cuts off; told before embedding."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from bakeoff.events import Warned
from bakeoff.fingerprint import fingerprint
from bakeoff.plan import Part
from bakeoff.protocols import Embedder, SupportsTokens
from bakeoff.stages.chunk import Chunking, text_blocks
from bakeoff.stages.embed import identity
from bakeoff.stages.work import Workshop
from bakeoff.types import Role

WORTH_SAYING = 0.01


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
    counter: SupportsTokens = embedder
    key = fingerprint("lengths", identity(part, embedder, Role.DOCUMENT), chunking.fingerprint)

    def write(folder: Path) -> None:
        counts = [n for texts in text_blocks(chunking.chunks) for n in counter.count_tokens(texts)]
        found = _summary(chunking.label, part.label, embedder.info.max_tokens, counts)
        (folder / "lengths.json").write_text(json.dumps(asdict(found)))

    stored = json.loads((shop.cache.make("lengths", key, write) / "lengths.json").read_text())
    found = Lengths(**{**stored, "quantiles": tuple(stored["quantiles"])})
    if found.cut >= WORTH_SAYING:
        shop.emit(Warned(sentence(found)))
    return found


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
