"""Memory of chunking and static embedding of 1,000,000 chunks: read, chunk, count tokens, embed, map.

A corpus of text files is made on disk; then a process of its own runs the stages on an empty cache while another
watches it. Counted is the highest memory of that process with its children that is their own (RssAnon), in MB;
beside it stands all that is resident, with the pages of mapped files. Linux only.
Run with: python benchmarks/candidates_memory.py [CHUNKS]
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

from common import Row, show
from own_memory import watch_memory

CHUNKS = 1_000_000
A_DOCUMENT = 500
LINES = 3
LIMIT = 1500.0
WORDS = (
    "tax",
    "refund",
    "engine",
    "window",
    "paper",
    "river",
    "ledger",
    "signal",
    "wheel",
    "garden",
    "number",
)


def main() -> int:
    """Make the corpus, watch the stages and print the rows."""
    chunks = int(sys.argv[1]) if len(sys.argv) > 1 else CHUNKS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _corpus(folder / "docs", chunks)
        begin = time.perf_counter()
        resident, own = watch_memory([sys.executable, __file__, "work", str(folder), str(chunks)])
        print(f"{chunks:,} chunks in {time.perf_counter() - begin:.0f} s")
    return show(
        [
            Row("peak own memory (RssAnon) with children, MB, against 1,500", own, LIMIT, "<= 1"),
            Row(
                "resident with mapped files, which the system may take back, MB, against 1,500",
                resident,
                LIMIT,
            ),
        ]
    )


def work(folder: Path, expected: int) -> None:
    """Read, chunk, count and embed, as a run does before it measures."""
    from bakeoff import registry
    from bakeoff.config.plan import PluginSpec
    from bakeoff.pipeline.chunk import chunk_corpus
    from bakeoff.pipeline.context import StageContext
    from bakeoff.pipeline.embed import embed_chunks
    from bakeoff.pipeline.lengths import token_lengths
    from bakeoff.pipeline.read import read_documents
    from bakeoff.storage.cache import Cache

    def part(kind: str, name: str, **params: object) -> tuple[PluginSpec, object]:
        plugin = registry.load(kind, name)
        chosen = plugin.Params(**params)
        return PluginSpec(kind, name, name, chosen), plugin(chosen)

    context = StageContext(Cache(folder / "cache"))
    corpus = read_documents(*part("sources", "folder", folder=folder / "docs"), context)  # type: ignore[arg-type]
    cut, _ = part("chunkers", "line", doc_lines=LINES, overlap=0)
    chunking = chunk_corpus(cut, corpus, context)  # type: ignore[arg-type]
    assert chunking.chunks.num_rows == expected, chunking.chunks.num_rows
    model, embedder = part("embedders", "wordllama", dims=64)
    token_lengths(model, embedder, chunking, context)  # type: ignore[arg-type]
    vectors = embed_chunks(model, embedder, chunking, context)  # type: ignore[arg-type]
    assert vectors.matrix.shape == (expected, 64)


def _corpus(folder: Path, chunks: int) -> None:
    folder.mkdir()
    draw = random.Random(5)
    for number in range(chunks // A_DOCUMENT):
        lines = (f"{number}.{at} {' '.join(draw.choices(WORDS, k=9))}." for at in range(A_DOCUMENT * LINES))
        (folder / f"{number:05}.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["work"]:
        work(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        sys.exit(main())
