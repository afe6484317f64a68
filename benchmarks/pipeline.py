"""Overhead of a run beyond embedding and parsing, and the cost of a run with a warm cache.

CPU seconds of this process in one run; the parts are done again alone, on the same texts.
Run: python benchmarks/pipeline.py
"""

from __future__ import annotations

import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import tree_sitter
import tree_sitter_python
import yaml

from bakeoff import registry
from bakeoff.config.experiment import load
from bakeoff.config.plan import Plan
from bakeoff.examples import find
from bakeoff.pipeline.chunk import chunk_corpus, embedded_texts
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.read import read_documents
from bakeoff.runs.run import run
from bakeoff.storage.cache import Cache
from bakeoff.types import Role
from common import Row, show

FOLDERS = ["asyncio/*.py", "email/*.py", "http/*.py", "json/*.py", "logging/*.py", "urllib/*.py"]


def main() -> int:
    """Run cold, warm, and the parts alone."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, home = Path(scratch), Path(scratch) / "home"
        plan = load(_experiment(folder))
        _warm_weights(plan)
        cold = _timed(lambda: run(plan, out=folder / "cold", home=home))
        warm = _timed(lambda: run(plan, out=folder / "warm", home=home))
        parts = _parts(plan, Cache(home / "cache"))
    return show(
        [
            Row("cold run / (embedding + parsing), CPU s", cold[0], parts[0], "<= 1.15"),
            Row("cold run / (embedding + parsing), wall s", cold[1], parts[1], "<= 1.15"),
            Row("warm rerun / cold run, CPU s", warm[0], cold[0], "<= 0.25"),
            Row("warm rerun / cold run, wall s", warm[1], cold[1], "<= 0.25"),
        ]
    )


def _experiment(folder: Path) -> Path:
    """Part of the stdlib example: the same questions as far as their files are in the part."""
    queries = yaml.safe_load((find("stdlib").experiment.parent / "queries.yaml").read_text())
    kept = tuple(pattern.split("/")[0] + "/" for pattern in FOLDERS)
    chosen = [q for q in queries["queries"] if _inside(q["truth"], kept)]
    (folder / "queries.yaml").write_text(yaml.safe_dump({"queries": chosen}))
    experiment = {
        "name": "pipeline",
        "corpus": {"folder": sysconfig.get_paths()["stdlib"], "include": FOLDERS},
        "queries": "queries.yaml",
        "chunkers": ["line", "semantic"],
        "embedders": ["wordllama", "minilm"],
        "modes": ["dense", "bm25", "hybrid"],
    }
    (folder / "bakeoff.yaml").write_text(yaml.safe_dump(experiment))
    return folder / "bakeoff.yaml"


def _inside(truth: object, folders: tuple[str, ...]) -> bool:
    if isinstance(truth, dict):
        return all(_inside(value, folders) for key, value in truth.items() if key != "grade")
    if isinstance(truth, list):
        return all(_inside(value, folders) for value in truth)
    return isinstance(truth, str) and truth.startswith(folders)


def _warm_weights(plan: Plan) -> None:
    """Make the model's graph before anything is measured: it is made once a machine."""
    for system in plan.systems:
        if system.embedder is not None:
            embedder = registry.load("embedders", system.embedder.name)(system.embedder.params)
            embedder.embed(["warm"], Role.DOCUMENT)
            embedder.close()


def _parts(plan: Plan, cache: Cache) -> tuple[float, float]:
    """Embedding every text with both models, and parsing every file once: CPU and wall seconds."""
    context = StageContext(cache)
    corpus = read_documents(plan.source, registry.load("sources", "folder")(plan.source.params), context)
    chunkers = {system.chunker.label: system.chunker for system in plan.systems}.values()
    chunkings = [chunk_corpus(p, corpus, context) for p in chunkers]
    texts = [embedded_texts(chunking.chunks) for chunking in chunkings]
    models = {s.embedder.label: s.embedder for s in plan.systems if s.embedder}.values()
    documents = [text.encode() for text in corpus.documents["text"].to_pylist()]

    def work() -> None:
        parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_python.language()))
        for document in documents:
            parser.parse(document)
        for model in models:
            embedder = registry.load("embedders", model.name)(model.params)
            for batch in texts:
                embedder.embed(batch, Role.DOCUMENT)
            embedder.close()

    return _timed(work)


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


if __name__ == "__main__":
    sys.exit(main())
