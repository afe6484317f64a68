"""The experiment that is run again and again: random words, and as many systems as asked for."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

DOCUMENTS, QUERIES, WORDS = 300, 40, 120
STORES = {
    "exact": "exact",
    "faiss": "faiss",
    "pgvector": "{pgvector: {build: {index: none}}}",
    "redis": "{redis: {query: {ef: 500}}}",
}
EMBEDDED = ("exact", "faiss")


def write(folder: Path, systems: int, servers: Sequence[str]) -> tuple[Path, int]:
    """Write documents, queries and bakeoff.yaml; its path, and its systems: as many as asked for, or a few more."""
    dice = random.Random(3)
    words = ["".join(dice.choices("abcdefghiklmnoprstu", k=dice.randint(3, 9))) for _ in range(4000)]
    texts = [dice.choices(words, k=WORDS) for _ in range(DOCUMENTS)]
    _documents(folder / "docs", texts)
    asked = [
        f'  - {{id: q{n}, text: "{" ".join(dice.sample(texts[n], 5))}", truth: {{documents: ["{n}.md"]}}}}\n'
        for n in range(QUERIES)
    ]
    (folder / "queries.yaml").write_text("queries:\n" + "".join(asked))
    stores = [STORES[name] for name in (*EMBEDDED, *servers)]
    chunkers = max(1, -(-systems // (len(stores) + 1)))  # each chunker: every store by dense, and bm25 once
    cut = ", ".join(f"{{line: {{doc_lines: {4 + n}}}}}" for n in range(chunkers))
    path = folder / "bakeoff.yaml"
    path.write_text(
        f"name: soak\ncorpus: {{folder: docs}}\nqueries: queries.yaml\nchunkers: [{cut}]\n"
        f"embedders: [{{wordllama: {{dims: 64}}}}]\nstores: [{', '.join(stores)}]\nmodes: [dense, bm25]\ndepth: 20\n"
    )
    return path, chunkers * (len(stores) + 1)


def _documents(folder: Path, texts: list[list[str]]) -> None:
    folder.mkdir()
    for number, text in enumerate(texts):
        lines = "\n".join(" ".join(text[i : i + 10]) for i in range(0, WORDS, 10))
        (folder / f"{number}.md").write_text(f"# {text[0]}\n\n{lines}\n")
