"""Checks whether a model is fit for comparison: its vectors, speed, how much text it reads, and reproducibility."""

from __future__ import annotations

import time
from bisect import bisect_right
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from bakeoff.errors import EmbedderError
from bakeoff.pipeline.canary import POOLED_BY_GRAPH, same_direction
from bakeoff.pipeline.lengths import words_read
from bakeoff.protocols import Embedder, SupportsDeclaredPooling, SupportsTokens
from bakeoff.types import ModelInfo, Role

if TYPE_CHECKING:
    import numpy as np

QUERIES = 20
TEXTS = 64
MOST_WORDS = 4096
WORDS_WITHOUT_LIMIT = 2048
_NEAR_ONE = 1e-3
_REPEATS = 1e-3
_SLACK_TOKENS = 2
_VOCABULARY = [
    "time",
    "year",
    "people",
    "way",
    "day",
    "man",
    "thing",
    "woman",
    "life",
    "child",
    "world",
    "school",
    "state",
    "family",
    "student",
    "group",
    "country",
    "problem",
    "hand",
    "part",
    "place",
    "case",
    "week",
    "company",
    "system",
    "program",
    "question",
    "work",
    "government",
    "number",
    "night",
    "point",
    "home",
    "water",
    "room",
    "mother",
    "area",
    "money",
    "story",
    "fact",
    "month",
    "lot",
    "right",
    "study",
    "book",
    "eye",
    "job",
    "word",
    "business",
    "issue",
    "side",
    "kind",
    "head",
    "house",
]
_TRIPLES = (
    (
        "a cat sleeps on the sofa",
        "the kitten is napping on the couch",
        "quarterly tax returns are due in April",
    ),
    ("how do I reset my password", "steps to recover a forgotten login", "the river floods every spring"),
    ("the car would not start this morning", "my vehicle failed to start today", "she plays the violin"),
    ("the doctor prescribed a medicine", "the physician ordered a drug", "the bridge is made of steel"),
    ("remove an item from a list", "delete an element of an array", "the orchestra tuned its instruments"),
)


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """One check: its result, and whether it is as it should be; `fine` is None for a plain figure."""

    name: str
    seen: str
    fine: bool | None = None


def check(embedder: Embedder) -> list[ModelCheck]:
    """Run all checks, most interesting first; raises what the embedder raises.

    Unusable vectors end the check: the others would compare them.
    """
    rows = embedder.embed([text for text, _, _ in _TRIPLES], Role.DOCUMENT)
    if fault := _fault(rows):
        return [ModelCheck("vectors", fault, False), *_pooling(embedder)]
    return [
        _shape(rows, embedder.info.dims),
        *_pooling(embedder),
        _norms(embedder),
        _paraphrases(embedder),
        _repeats(embedder),
        _batches(embedder),
        _check_truncation(embedder),
        _rate(embedder),
        _latency(embedder),
    ]


def _sentences(count: int, words: int = 40) -> list[str]:
    """Distinct texts."""
    return [
        " ".join(_word(number * 7 + at * (number % 5 + 1)) for at in range(words)) for number in range(count)
    ]


def _word(number: int) -> str:
    return _VOCABULARY[number % len(_VOCABULARY)]


def _shape(rows: np.ndarray, dims: int) -> ModelCheck:
    import numpy as np

    fine = rows.shape == (len(_TRIPLES), dims) and rows.dtype == np.float32
    seen = (
        f"{dims} numbers each" if fine else f"{rows.shape} {rows.dtype}, {dims} float32 numbers are declared"
    )
    return ModelCheck("vectors", seen, fine)


def _fault(rows: np.ndarray) -> str:
    """Why vectors of unrelated texts can't be compared at all; '' if they can."""
    import numpy as np

    if unusable := int((~np.isfinite(rows).all(axis=1)).sum()):
        return f"{unusable} of {len(rows)} are not finite (NaN): damaged weights, or an overflow"
    return f"the same for {len(rows)} unrelated texts: is the pooling wrong?" if same_direction(rows) else ""


def _pooling(embedder: Embedder) -> list[ModelCheck]:
    """Whether token vectors are pooled as the model was trained, if that is known."""
    declared = embedder.declared_pooling() if isinstance(embedder, SupportsDeclaredPooling) else ""
    used = embedder.info.pooling
    if not declared or used == declared:
        return []
    return [
        ModelCheck("pooling", f"{used}, but the model was trained with {declared}", used == POOLED_BY_GRAPH)
    ]


def _norms(embedder: Embedder) -> ModelCheck:
    import numpy as np

    norms = np.linalg.norm(embedder.embed(_sentences(8), Role.DOCUMENT), axis=1)
    unit = bool(np.abs(norms - 1).max() < _NEAR_ONE)
    declared = "normalised" if embedder.info.normalised else "not normalised"
    return ModelCheck(
        "length",
        f"{norms.min():.4f} to {norms.max():.4f}, declared as {declared}",
        unit == embedder.info.normalised,
    )


def _paraphrases(embedder: Embedder) -> ModelCheck:
    gaps = [_gap(embedder.embed(list(triple), Role.DOCUMENT)) for triple in _TRIPLES]
    nearer = sum(gap > 0 for gap in gaps)
    seen = f"nearer than an unrelated text in {nearer} of {len(gaps)}, smallest cosine gap {min(gaps):.2f}"
    return ModelCheck("paraphrases", seen, nearer == len(gaps))


def _gap(rows: np.ndarray) -> float:
    import numpy as np

    text, same, other = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return float(text @ same - text @ other)


def _repeats(embedder: Embedder) -> ModelCheck:
    texts = _sentences(8)
    return _difference("repeated", embedder.embed(texts, Role.QUERY), embedder.embed(texts, Role.QUERY))


def _batches(embedder: Embedder) -> ModelCheck:
    import numpy as np

    texts = [*_sentences(3, words=5), *_sentences(3, words=60)]
    alone = np.concatenate([embedder.embed([text], Role.DOCUMENT) for text in texts])
    return _difference("alone or together", alone, embedder.embed(texts, Role.DOCUMENT))


def _difference(name: str, first: np.ndarray, second: np.ndarray) -> ModelCheck:
    import numpy as np

    largest = float(np.abs(first - second).max())
    return ModelCheck(
        name, "bit-identical" if largest == 0 else f"differs by at most {largest:.1e}", largest < _REPEATS
    )


def _check_truncation(embedder: Embedder) -> ModelCheck:
    """How much of a long text is read: the shortest prefix with the same vector as the whole."""
    info = embedder.info
    count = min(2 * info.max_tokens, MOST_WORDS) if info.max_tokens else WORDS_WITHOUT_LIMIT
    words = [_word(at * at + at // 7) for at in range(count)]
    try:
        read = words_read(embedder, words)
    except EmbedderError as exc:
        return _refusal_check(embedder, words, exc)
    whole = read == count
    text = " ".join(words[:read])
    tokens = embedder.count_tokens([text])[0] if isinstance(embedder, SupportsTokens) else None
    return _cut_check(info, count, whole, read, tokens)


def _refusal_check(embedder: Embedder, words: list[str], refusal: EmbedderError) -> ModelCheck:
    """A text above the limit may be rejected; a model that rejects one within it reads less than it declares."""
    limit = embedder.info.max_tokens
    if limit is not None and isinstance(embedder, SupportsTokens):
        count = embedder.count_tokens
        most = bisect_right(range(len(words)), limit, key=lambda end: count([" ".join(words[:end])])[0]) - 1
        within = " ".join(words[:most])
        try:
            embedder.embed([within], Role.DOCUMENT)
        except EmbedderError as exc:
            tokens = count([within])[0]
            text = f"{limit:,} tokens are declared, a text of {tokens:,} was refused: {exc}"
            return ModelCheck("long texts", text, False)
    return ModelCheck("long texts", f"{len(words):,} words were refused: {refusal}")


def _cut_check(info: ModelInfo, count: int, whole: bool, read: int, tokens: int | None) -> ModelCheck:
    limit = info.max_tokens
    size = f"{tokens:,} tokens" if tokens is not None else f"{read:,} words"
    if whole:
        fine = None if limit is None or tokens is None else tokens <= limit + _SLACK_TOKENS
        return ModelCheck("long texts", f"all {count:,} words are read", fine)
    limit_note = f", {limit:,} are declared" if limit is not None else ""
    fine = None if limit is None or tokens is None else abs(tokens - limit) <= _SLACK_TOKENS
    return ModelCheck("long texts", f"truncated after {size} of {count:,} words{limit_note}", fine)


def _rate(embedder: Embedder) -> ModelCheck:
    texts = _sentences(TEXTS)
    begin = time.perf_counter()
    embedder.embed(texts, Role.DOCUMENT)
    rate = len(texts) / (time.perf_counter() - begin)
    return ModelCheck("throughput", f"{rate:,.0f} texts/s ({TEXTS} texts of 40 words)")


def _latency(embedder: Embedder) -> ModelCheck:
    texts = _sentences(QUERIES, words=8)
    seconds = []
    for text in texts:
        begin = time.perf_counter()
        embedder.embed([text], Role.QUERY)
        seconds.append((time.perf_counter() - begin) * 1000)
    return ModelCheck("latency", f"{median(seconds):.2f} ms per query (median of {len(seconds)})")
